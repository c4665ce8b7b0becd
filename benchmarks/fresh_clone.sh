#!/usr/bin/env bash
# Clone the committed state into a temporary folder; `make demo` and the CI script must do all the rest.
# Prints how long `make demo` takes with an empty pip cache, downloads apart, and how much it installs.
# With the argument `demo` it stops there.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git clone --quiet "$root" "$folder/frith"
cd "$folder/frith"
unset VIRTUAL_ENV FRITH_FULL PYTHONPATH
export PIP_CACHE_DIR="$folder/cache"
python3 -m venv "$folder/fetch"
SECONDS=0
"$folder/fetch/bin/python" -m pip download --quiet --disable-pip-version-check -d "$folder/wheels" '.[data,plot]' pip
download=$SECONDS
TIMEFORMAT="make demo: %R s, in which processes computed for %U s and the system for %S s"
time make demo
echo "before it: $download s to download; $(du -sm .venv | cut -f1) MB are installed"
[ "${1:-}" = demo ] || bash .ci/run
