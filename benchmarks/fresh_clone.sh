#!/usr/bin/env bash
# Clone the committed state into a temporary folder; `make demo` and the CI script must do all the rest.
# Prints how long `make demo` takes with an empty pip cache, and how much it installs. With the argument
# `demo` it stops there.
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
SECONDS=0
make demo
echo "make demo: $SECONDS s, and $download s before it to download; $(du -sm .venv | cut -f1) MB installed"
[ "${1:-}" = demo ] || bash .ci/run
