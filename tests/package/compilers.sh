#!/usr/bin/env bash
# What configuring says to a compiler that is too old, and to a C++ library that lacks what is used: one sentence each.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/install-dependencies.sh g++-11 g++-11 clang-16 clang++-16 libc++-16-dev /usr/lib/llvm-16/include/c++/v1/vector \
  libc++abi-16-dev /usr/lib/llvm-16/lib/libc++abi.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# refused SENTENCE OPTION...
refused() {
  local said sentence=$1
  shift
  if said=$(cmake -S . -B "$work/build" -G Ninja --fresh -DPANDORA_CUDA=OFF "$@" 2>&1); then echo "$* was accepted" >&2; exit 1; fi
  [[ $(tr -s ' \n' ' ' <<<"$said") == *"$sentence"* ]] || { echo "$*: $said" >&2; exit 1; }
}
refused '(GNU 11' -DCMAKE_C_COMPILER=gcc-11 -DCMAKE_CXX_COMPILER=g++-11
refused 'is too old: GCC 12, clang 14 or later is needed' -DCMAKE_C_COMPILER=gcc-11 -DCMAKE_CXX_COMPILER=g++-11
refused 'lacks std::jthread, std::from_chars for numbers or std::legendre' -DCMAKE_C_COMPILER=clang-16 \
  -DCMAKE_CXX_COMPILER=clang++-16 -DCMAKE_CXX_FLAGS=-stdlib=libc++
