#!/usr/bin/env bash
# A wheel, built here and tested in a bare Debian 12 without compilers, HDF5 and MPI, by each of its levels; as root.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/install-dependencies.sh
scripts/install-dependencies.sh curl curl
packaging/wheel/build.sh build-wheel/out
wheel=$(ls -t build-wheel/out/*.whl | head -1)
bytes=$(stat -c %s "$wheel")
[ "$bytes" -le 8388608 ] || { echo "$wheel has $bytes bytes, more than 8 MiB" >&2; exit 1; }
TAKE=$wheel PACKAGES=python3,python3-venv,locales scripts/bare-root.sh bookworm packaging/wheel/use.sh
