#!/usr/bin/env bash
# Compiles a .cu file for the stand-in: both passes, into one object file.
# usage: compile.sh OBJECT SOURCE FLAGS HOST_FLAGS DEVICE_FLAGS   (flags are separated by semicolons)
set -euo pipefail
object=$1 source=$2
IFS=';' read -ra flags <<<"$3"
IFS=';' read -ra host_flags <<<"$4"
IFS=';' read -ra device_flags <<<"$5"
${CXX:-g++} "${flags[@]}" "${host_flags[@]}" -x c++ -c "$source" -o "$object.host.o"
${CXX:-g++} "${flags[@]}" "${device_flags[@]}" -D__CUDA_ARCH__=900 -x c++ -c "$source" -o "$object.device.o" \
  -MD -MF "$object.d" -MT "$object"
ld -r --force-group-allocation "$object.device.o" -o "$object.joined.o"
nm --defined-only --extern-only "$object.joined.o" | awk '{print $3, "device." $3}' >"$object.names"
objcopy --redefine-syms="$object.names" "$object.joined.o" "$object.device.o"
ld -r "$object.host.o" "$object.device.o" -o "$object"
rm "$object.host.o" "$object.device.o" "$object.joined.o" "$object.names"
