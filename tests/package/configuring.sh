#!/usr/bin/env bash
# Checks that CMake refuses, with one sentence each, a compiler that is too old, a C++ library that lacks something that
# is used, and options with wrong values. Also checks that a folder that is configured again for other processors gets
# their mark.
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
refused 'PANDORA_LEVEL=v5: give one of v2, v3, v4' -DPANDORA_LEVEL=v5
refused 'PANDORA_GPUS=all: give one of HERE, ALL' -DPANDORA_GPUS=all
for pair in -DPANDORA_LEVEL=v4:v4 -DPANDORA_NATIVE=OFF\ -DPANDORA_LEVEL=: -DPANDORA_LEVEL=v3:v3 -DPANDORA_LEVEL=v2:v2; do
  # shellcheck disable=SC2086  # two options
  cmake -S . -B "$work/again" -G Ninja -DPANDORA_CUDA=OFF ${pair%:*} >/dev/null
  marks=$(grep -o -e '-z,x86-64-v.' "$work/again/build.ninja" | sort -u || true)
  [ "$marks" = "${pair#*:}" ] || [ "$marks" = "-z,x86-64-${pair#*:}" ] || { echo "$pair: marked $marks" >&2; exit 1; }
done
