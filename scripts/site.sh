#!/usr/bin/env bash
# site.sh: builds the documentation into build/_site/html (a name that Go passes over) by MkDocs, and prints its first
# page. A link that leads nowhere, a public name without a page and any other warning fail. The programs are in the
# virtual environment of venv.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$(./scripts/venv.sh)
"$bin/python" scripts/site.py build/_site/pages
config=$PWD/docs/mkdocs.yml
pushd build/_site >/dev/null # where the cache of notebooks is
NO_MKDOCS_2_WARNING=1 "$bin/python" -m mkdocs build --strict --clean --config-file "$config" >log 2>&1 ||
	{ cat log >&2; exit 1; }
popd >/dev/null
printf '%s\n' build/_site/html/index.html
