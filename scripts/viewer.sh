#!/usr/bin/env bash
# viewer.sh: builds the script of the viewer (clearance.show) into build/viewer/bundle.js: python/viewer/*.js with
# three.js, bundled by esbuild, and beside it the licence of three.js. Both come from npm, by versions and checksums of
# python/viewer/package-lock.json. It exits with 3 if npm is not installed and with 4 if the registry cannot be reached;
# build/viewer/missing then says so. Any other failure is one of the build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source=$PWD/python/viewer
out=$PWD/build/viewer
# This file has the flags. Names keep apart what is at the end of one file and at the beginning of the next.
want=$(sha256sum scripts/viewer.sh python/viewer/{package.json,package-lock.json,*.js})
[[ "$(cat "$out/made-of" 2>/dev/null)" == "$want" && -s "$out/bundle.js" && -s "$out/LICENSE" ]] && exit 0

mkdir -p "$out"
cd "$out"
rm -f bundle.js LICENSE made-of missing
# missing CODE REASON: ends with the code, because of something that is not part of the repository.
missing() {
	printf '%s\n' "$2" >missing
	echo "viewer.sh: $2, so clearance.show cannot be built" >&2
	exit "$1"
}
command -v npm >/dev/null || missing 3 "npm was not installed"
cp "$source"/{package.json,package-lock.json,*.js} .
if ! npm ci --loglevel=error --no-audit --no-fund --ignore-scripts --fetch-retries=1 --fetch-retry-mintimeout=1000 \
	--fetch-timeout=30000 >npm.log 2>&1; then
	cat npm.log >&2
	unreachable='ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT'
	code=$(grep -Eo "^npm (error|ERR!) code ($unreachable)\$" npm.log | head -n 1) || exit 1
	missing 4 "the registry of npm could not be reached (${code##* })"
fi
node_modules/.bin/esbuild viewer.js --bundle --minify --format=iife --legal-comments=inline --log-level=warning \
	--outfile=bundled.js
cp node_modules/three/LICENSE LICENSE
sed 's#</script#<\\/script#g' bundled.js >bundle.js # which would end the element that contains it
printf '%s\n' "$want" >made-of
