#!/usr/bin/env bash
# The least of HDF5 that results.h5 needs: without compression, MPI and network drivers,
# whose libraries make a wheel four times as large. It goes with the sources that it was made for. usage: packaging/wheel/hdf5.sh PREFIX
set -euo pipefail
prefix=$(realpath -m "$1") sources=$(realpath "$(dirname "$0")/../../host")
[ ! -e "$prefix/lib/libhdf5.so" ] || exit 0
version=1.10.8 digest=7b38e58ff83b13fd8959a90b13bf896bc318ba096c940ab0847abf3ad41a0b31
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Debian keeps the sources of what it distributes.
curl --fail --silent --show-error --location --output "$work/hdf5.tar.gz" \
  "http://deb.debian.org/debian/pool/main/h/hdf5/hdf5_$version+repack1.orig.tar.gz"
echo "$digest  $work/hdf5.tar.gz" | sha256sum --check --quiet
mkdir "$work/hdf5"
tar -xzf "$work/hdf5.tar.gz" -C "$work/hdf5" --strip-components=1
cd "$work/hdf5"
# Of its functions those that this program names, also under the names that macros make of them; what these do not call is left out.
{
  echo "{ global: H5open; H5check_version; *_g;"
  grep -rhoE '\bH5[A-Z][a-z][A-Za-z0-9_]*' "$sources" | sort -u | sed 's/.*/  &; &2;/'
  echo "local: *; };"
} >"$work/exports"
[ -z "${FOR_ARM64-}" ] || export CC=aarch64-linux-gnu-gcc  # its configure script runs what it compiles: qemu-user does
CFLAGS="-Os -ffunction-sections -fdata-sections -w -Wno-error=implicit-int" LDFLAGS="-Wl,--gc-sections,-s,--version-script=$work/exports" ./configure --quiet --prefix="$prefix" \
  --disable-static --disable-hl --disable-tests --disable-tools --disable-deprecated-symbols --without-zlib --without-szlib >/dev/null
make --silent -j"$(nproc)" -C src install >/dev/null
make --silent -C bin install >/dev/null
