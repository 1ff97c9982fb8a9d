#!/usr/bin/env bash
# Installs what the build and the tests need and this machine lacks, where there is apt-get and root or sudo (Debian 12, 13 and
# their relatives). Elsewhere it says what is missing in the words of other package managers, and goes on where CMake can decide:
# libraries may stand where only CMake finds them. The CUDA toolkit is optional and never installed.
# Usage: scripts/install-dependencies.sh [PACKAGE CONTENT]...: those instead of the list below.
set -euo pipefail

# A Debian package; how to recognise its content where it came from elsewhere: a command, a header (any of several, with |),
# py:MODULE (modules with + where one Python must have them all) or the header of Python itself; and its name for dnf (Fedora),
# pacman (Arch), conda (conda-forge) and Spack.
needed="
g++                 g++                               gcc-c++             gcc              gxx            gcc
cmake               cmake                             cmake               cmake            cmake          cmake
ninja-build         ninja                             ninja-build         ninja            ninja          ninja
make                make                              make                make             make           gmake
git                 git                               git                 git              git            git
libeigen3-dev       eigen3/Eigen/Core|Eigen/Core      eigen3-devel        eigen            eigen          eigen
libcli11-dev        CLI/CLI.hpp                       cli11-devel         cli11            cli11          cli11
libfmt-dev          fmt/format.h                      fmt-devel           fmt              fmt            fmt
nlohmann-json3-dev  nlohmann/json.hpp                 json-devel          nlohmann-json    nlohmann_json  nlohmann-json
libtomlplusplus-dev toml++/toml.h                     tomlplusplus-devel  tomlplusplus     tomlplusplus   tomlplusplus
libssl-dev          openssl/evp.h                     openssl-devel       openssl          openssl        openssl
libsimdjson-dev     simdjson.h                        simdjson-devel      simdjson         simdjson       simdjson
zlib1g-dev          zlib.h                            zlib-devel          zlib             zlib           zlib
libhdf5-dev         hdf5/serial/hdf5.h|hdf5.h         hdf5-devel          hdf5             hdf5           hdf5
libboost-math-dev   boost/math/distributions/students_t.hpp boost-devel   boost            libboost-headers boost+math
libgtest-dev        gtest/gtest.h                     gtest-devel         gtest            gtest          googletest
libgmock-dev        gmock/gmock.h                     gmock-devel         gtest            gmock          googletest+gmock
librandom123-dev    Random123/philox.h                Random123-devel     random123        random123      random123
libbenchmark-dev    benchmark/benchmark.h             google-benchmark-devel benchmark     benchmark      benchmark
python3-dev         py/Python.h                       python3-devel       python           python         python
python3-venv        py:ensurepip                      python3             python           python         python
locales             /usr/share/i18n/locales/de_DE     glibc-locale-source glibc            -              -
"
[ $# -eq 0 ] || needed=$(printf '%s %s\n' "$@")

read -ra compiler <<<"${CXX:-g++}"  # with its launcher, where CXX names one
present() {
  [[ $(dpkg-query --show --showformat '${Status}' "$1" 2>/dev/null) == *"ok installed" ]] && return
  local header
  case $2 in
    /*) [ -e "$2" ] ;;
    g++) command -v "${compiler[@]: -1}" >/dev/null ;;
    py/Python.h) python3 -c "import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path('include') + '/Python.h'))" 2>/dev/null ;;
    py:*) python3 -c "import importlib.util as u, sys; sys.exit(any(u.find_spec(m) is None for m in '${2#py:}'.split('+')))" 2>/dev/null ;;
    *.h | *.hpp | */*)
      for header in ${2//|/ }; do
        echo "#include <$header>" | CPATH=${CPATH-}${CONDA_PREFIX:+:$CONDA_PREFIX/include} \
          "${compiler[@]}" -std=c++20 -E -x c++ - >/dev/null 2>&1 && return
      done
      return 1 ;;
    *) command -v "$2" >/dev/null ;;
  esac
}

missing=() others=() commands=()  # Debian's names, the lines of the table, and what no CMake can find
while read -r package content rest; do
  [ -z "$package" ] || present "$package" "$content" && continue
  missing+=("$package") others+=("$rest")
  [[ $content == */* || $content == *.h || $content == py:* ]] || commands+=("$content")
done <<<"$needed"
[ ${#missing[@]} -gt 0 ] || exit 0

# named COLUMN: what is missing, in the words of the package manager of that column.
named() {
  local line seen=" " word
  for line in "${others[@]}"; do
    read -ra words <<<"$line"
    word=${words[$1 - 1]:--}
    [[ $word = - || $seen = *" $word "* ]] || { printf ' %s' "$word"; seen+="$word "; }
  done
}

refuse() {
  {
    echo "install-dependencies: $1; not found here: ${missing[*]}. Whoever may install packages can say:"
    echo "  apt-get install ${missing[*]}"
    [ -z "$(named 1)" ] || printf '  %s\n' "dnf install$(named 1)" "pacman -S$(named 2)" \
      "conda install -c conda-forge$(named 3)" "spack install$(named 4)"
    [[ " ${missing[*]} " != *" g++ "* ]] || echo "Without a compiler (${compiler[*]}) no header can be looked for: some may be here."
    [ ${#commands[@]} -gt 0 ] || echo "The build goes on: CMake says whether it finds them elsewhere (CMAKE_PREFIX_PATH)."
  } >&2
  [ ${#commands[@]} -eq 0 ] || exit 1
  exit 0
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
failed() { echo "install-dependencies: apt-get $1 failed; wanted: ${missing[*]}" >&2; exit 1; }
apt_get update || failed update
apt_get install --yes --no-install-recommends "${missing[@]}" >/dev/null || failed install
