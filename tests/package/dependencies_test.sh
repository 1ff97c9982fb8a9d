#!/usr/bin/env bash
# Tests install-dependencies.sh on a machine without apt-get. It must name missing packages for other package managers.
# A missing library must not stop the build, because CMake may find it elsewhere, but a missing command must. Something
# that is there under another name must be found.
set -euo pipefail
script=$(cd "$(dirname "$0")/../.." && pwd)/scripts/install-dependencies.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
for name in bash env cat; do ln -s "$(command -v $name)" "$work/bin/$name"; done
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$work/bin/python3"

# run WANTED_EXIT_CODE PACKAGE CONTENT...: the output goes to $said.
run() {
  local wanted=$1 code=0
  shift
  said=$(PATH=$work/bin "$script" "$@" 2>&1) || code=$?
  [ "$code" = "$wanted" ] || { echo "exit code $code, not $wanted: $said" >&2; exit 1; }
}
nothing() { [ -z "$said" ] || { echo "said: $said" >&2; exit 1; }; }
says() { [[ $said == *"$1"* ]] || { echo "lacks '$1': $said" >&2; exit 1; }; }

run 1  # the usual list: without a compiler no header is found, and there is no cmake
for words in 'no apt-get here; not found here: g++ cmake' 'apt-get install g++' 'dnf install gcc-c++ cmake' 'pacman -S gcc cmake' \
  'conda install -c conda-forge gxx' 'spack install gcc'; do says "$words"; done
says 'Without a compiler (g++) no header can be looked for'
[[ $said == *eigen3-devel* && $said != *"build goes on"* ]]
ln -s "$(command -v g++)" "$work/bin/g++"
run 0 none-dev nowhere/none.hpp
says 'no apt-get here; not found here: none-dev.'
says 'The build goes on'
run 1 nobody no-such-command
says 'apt-get install nobody'
CXX="env g++" run 0 launched-dev 'nowhere/vector|vector'
nothing
run 0 one-dev 'nowhere/vector|vector' two cat three py:json four "$work"  # all there, the first as vector
nothing
mkdir -p "$work/conda/include" && : >"$work/conda/include/only_here.h"
CONDA_PREFIX=$work/conda run 0 here-dev only_here.h
nothing
