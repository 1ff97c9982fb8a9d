#!/usr/bin/env bash
# One archive of what scripts/gpu-check.sh needs, for a GPU machine without compilers: program, tests, benchmark, the script, and
# libraries that are not part of every system.
# Usage: scripts/gpu-pack.sh BUILD_DIR ARCHIVE.txz      (`make gpu-pack` builds for other processors and packs)
# There, with CUDA's cuBLAS and cuRAND where the loader finds them:
#   tar xJf ARCHIVE.txz && cd gpu-check && LD_LIBRARY_PATH=$PWD/lib:$LD_LIBRARY_PATH ./gpu-check.sh .
set -euo pipefail
build=$1 archive=$(realpath "$2")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
to=$root/gpu-check
mkdir -p "$to/tests" "$to/lib"
cp "$(dirname "$0")/gpu-check.sh" "$to"
for program in pandora tests/pandora_tests tests/pandora_device_bench tests/pandora_device_cycles; do
  cp "$build/$program" "$to/$program"
  strip "$to/$program"
  ldd "$build/$program" | awk '/=> \// {print $3}'
done | sort -u | grep -vE '/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s|cublas|cublasLt|curand|cudart))\.' |
  xargs -r cp -L -t "$to/lib"
tar cJf "$archive" -C "$root" gpu-check
ls -l "$archive"
