#!/usr/bin/env bash
# What kernels need by the real compiler: lines "symbol registers static-shared-bytes".
# usage: resources.sh NVCC SOURCE_FOLDER OUTPUT FILE...
set -euo pipefail
nvcc=$1 folder=$2 output=$3
shift 3
eigen=$(pkg-config --cflags-only-I eigen3 2>/dev/null | sed 's/^-I//') || eigen=
for file in "$@"; do
  "$nvcc" -std=c++20 -arch=sm_90 --expt-relaxed-constexpr --fmad=false -Xptxas -v -cubin -I"$folder" -I"$folder/include" \
    -I"${eigen:-/usr/include/eigen3}" -DPANDORA_HAVE_CUDA -DPANDORA_CUDA_ARCHITECTURES='"90"' -DPANDORA_CUBLAS='""' \
    -DPANDORA_CUBLAS_FOLDER='""' "$file" -o /dev/null
done 2>&1 | awk '
  /error/ { print > "/dev/stderr"; failed = 1 }
  /Compiling entry function/ { split($0, part, "\047"); symbol = part[2] }
  /Used [0-9]+ registers/ {
    match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5, RLENGTH - 5); shared = 0
    if (match($0, /[0-9]+ bytes smem/)) shared = substr($0, RSTART, RLENGTH) + 0
    print symbol, registers, shared
  }
  END { exit failed }' >"$output"
