#!/usr/bin/env bash
# Installs what the build and the tests need and this machine lacks (Debian 12 and its relatives, as root or with
# sudo). Where nothing is missing it needs neither. The CUDA toolkit is optional and never installed.
# Usage: scripts/install-dependencies.sh [PACKAGE CONTENT]...: those instead of the list below.
set -euo pipefail

# A Debian package and how to recognise its content where it came from elsewhere: a command, or a header.
needed="
g++                 g++
cmake               cmake
ninja-build         ninja
make                make
git                 git
libeigen3-dev       eigen3/Eigen/Core
libcli11-dev        CLI/CLI.hpp
libfmt-dev          fmt/format.h
nlohmann-json3-dev  nlohmann/json.hpp
libtomlplusplus-dev toml++/toml.h
libssl-dev          openssl/evp.h
libsimdjson-dev     simdjson.h
libhdf5-dev         hdf5/serial/hdf5.h
libboost-math-dev   boost/math/distributions/students_t.hpp
libgtest-dev        gtest/gtest.h
libgmock-dev        gmock/gmock.h
librandom123-dev    Random123/philox.h
libbenchmark-dev    benchmark/benchmark.h
python3-dev         python3.11/Python.h
python3-venv        /usr/share/doc/python3-venv
locales             /usr/share/i18n/locales/de_DE
"

if [ $# -gt 0 ]; then needed=$(printf '%s %s\n' "$@"); fi

present() {
  [[ $(dpkg-query --show --showformat '${Status}' "$1" 2>/dev/null) == *"ok installed" ]] && return
  case $2 in
    */*) echo "#include <$2>" | "${CXX:-g++}" -std=c++20 -E -x c++ - >/dev/null 2>&1 ;;
    *) command -v "$2" >/dev/null ;;
  esac
}

missing=()
while read -r package content; do
  [ -z "$package" ] || present "$package" "$content" || missing+=("$package")
done <<<"$needed"
[ ${#missing[@]} -gt 0 ] || exit 0

refuse() {
  echo "install-dependencies: $1; install these Debian packages or their equals: ${missing[*]}" >&2
  exit 1
}

command -v apt-get >/dev/null || refuse "no apt-get here"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  # sudo may ask for a password only where somebody can type it.
  { command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; } || refuse "neither root nor sudo"
  as_root=(sudo)
fi

echo "Installing ${missing[*]}"
apt_get() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$@"; }
apt_get update || refuse "apt-get update failed"
apt_get install --yes --no-install-recommends "${missing[@]}" >/dev/null || refuse "apt-get install failed"
