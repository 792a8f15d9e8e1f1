#!/usr/bin/env bash
# viewer.sh: builds the script of the viewer (clearance.show) into build/viewer/bundle.js: python/viewer/viewer.js with
# three.js, bundled by esbuild. Both come from npm, by versions and checksums of python/viewer/package-lock.json.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source=$PWD/python/viewer
out=$PWD/build/viewer
want=$(cat "$source"/package-lock.json "$source"/viewer.js | sha256sum)
[[ "$(cat "$out/made-of" 2>/dev/null)" == "$want" && -s "$out/bundle.js" ]] && exit 0
command -v npm >/dev/null || { echo "viewer.sh: npm is not installed, so clearance.show cannot be built" >&2; exit 1; }
mkdir -p "$out"
cp "$source"/package.json "$source"/package-lock.json "$source"/viewer.js "$out"
cd "$out"
npm ci --silent --no-audit --no-fund --ignore-scripts >&2
node_modules/.bin/esbuild viewer.js --bundle --minify --format=iife --legal-comments=inline --log-level=warning \
	--outfile=bundled.js
sed 's#</script#<\\/script#g' bundled.js >bundle.js # which would end the element that contains it
printf '%s\n' "$want" >made-of
