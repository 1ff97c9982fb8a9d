#!/usr/bin/env bash
# Checks which program the launcher of packaging/levels starts. Scripts take the places of the three programs. The test
# runs on this processor and on processors that qemu-user emulates.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/libexec"
"${CC:-cc}" -O1 -Wall -Wextra -Werror -o "$work/bin/pandora" "$root/packaging/levels/launcher.c"
for level in v2 v3 v4; do
  printf '#!/bin/sh\necho %s "$@"\n' $level >"$work/libexec/pandora-$level"
  chmod +x "$work/libexec/pandora-$level"
done

# expect WANTED_OUTPUT WANTED_EXIT_CODE COMMAND...
expect() {
  local output=$1 wanted=$2 said code=0
  shift 2
  said=$("$@" 2>&1 | grep -v '^qemu.*warning') || code=$?
  [[ $code = "$wanted" && $said == $output ]] || { echo "$*: '$said' and $code, not '$output' and $wanted" >&2; exit 1; }
}

for processor in "Nehalem v2" "Haswell-v4 v3" "EPYC-Rome v3"; do
  read -r name level <<<"$processor"
  expect "$level run --out x y" 0 qemu-x86_64 -cpu "$name" "$work/bin/pandora" run --out "x y"
done
expect 'v2 a' 0 env PANDORA_LEVEL=v2 qemu-x86_64 -cpu Haswell-v4 "$work/bin/pandora" a
expect 'pandora: PANDORA_LEVEL=v4: this processor has v3; leave it out, or give that' 4 \
  env PANDORA_LEVEL=v4 qemu-x86_64 -cpu Haswell-v4 "$work/bin/pandora"
expect '*older than x86-64-v2*' 4 qemu-x86_64 -cpu Conroe "$work/bin/pandora"
expect 'pandora: PANDORA_LEVEL=3: give v2, v3 or v4' 2 env PANDORA_LEVEL=3 "$work/bin/pandora"
rm "$work/libexec/pandora-v2"
expect '*libexec/pandora-v2: No such file*install the program again' 4 env PANDORA_LEVEL=v2 "$work/bin/pandora"
ln -s "$work/bin/pandora" "$work/link"
best=$(env PANDORA_LEVEL= "$work/link")
grep -q "^flags.* avx512vl" /proc/cpuinfo && [ "$best" = v4 ] || [ "$best" != v4 ]
