#!/usr/bin/env bash
# Clone the committed state into a temporary folder; `make demo` and the CI script must do all the rest.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git clone --quiet "$root" "$folder/frith"
cd "$folder/frith"
unset VIRTUAL_ENV FRITH_FULL PYTHONPATH
make demo
bash .ci/run
