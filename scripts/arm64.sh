#!/usr/bin/env bash
# The program for arm64, cross-compiled, and under qemu-user the tests that compare its numbers: with the reference engine, with lanes
# that are followed, and with what x86 has in every byte. For a Debian system of its own, since libraries of arm64 take the places
# of this machine's: scripts/bare-root.sh bookworm scripts/arm64.sh
set -euo pipefail
cd "$(dirname "$0")/.."
dpkg --add-architecture arm64
apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends g++-aarch64-linux-gnu cmake ninja-build qemu-user python3-minimal \
  libeigen3-dev libcli11-dev nlohmann-json3-dev librandom123-dev \
  {libfmt-dev,libtomlplusplus-dev,libssl-dev,libsimdjson-dev,zlib1g-dev,libhdf5-dev,libboost-dev,libgtest-dev,libgmock-dev}:arm64 >/dev/null
build=build-arm64
cmake -S . -B $build -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/packaging/arm64.cmake" -DCMAKE_BUILD_TYPE=Release -DPANDORA_WERROR=ON \
  -DPANDORA_CUDA=OFF -DPANDORA_MPI=OFF -DPANDORA_NATIVE=OFF
cmake --build $build
qemu-aarch64 $build/pandora --version
qemu-aarch64 $build/tests/pandora_tests --gtest_brief=1 --gtest_filter='*Reference*:*Follow*:Elementary*:Philox*:-*Slow*:*Gpu*:*EveryBlockLength*'
golden=tests/host/studies/run/golden
for study in study changed; do
  qemu-aarch64 $build/pandora run $golden/$study.toml --quiet --backend cpu --out $build/golden --force
  sum=$(sha256sum <$build/golden/summary.csv | cut -d' ' -f1)
  grep -q "$sum" $golden/digests.csv || { echo "arm64: summary.csv of $golden/$study.toml is none of digests.csv: $sum" >&2; exit 1; }
done
