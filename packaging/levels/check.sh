#!/usr/bin/env bash
# The program of all levels, built and installed: what it starts on processors that qemu-user plays, that levels agree in every byte of a
# small study of all policies, read each other's files, and do not go on with each other's results.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/install-dependencies.sh
scripts/install-dependencies.sh qemu-user qemu-x86_64
build=build-levels golden=tests/host/studies/run/golden
cmake -S packaging/levels -B $build -G Ninja -DPANDORA_CUDA=OFF
cmake --build $build
rm -rf $build/installed $build/files
cmake --install $build --prefix $build/installed >/dev/null
program=$build/installed/bin/pandora
for pair in Nehalem:v2 Haswell-v4:v3 EPYC-Rome:v3; do
  qemu-x86_64 -cpu ${pair%:*} $program --version 2>/dev/null | grep -e "-march=x86-64-${pair#*:}"
done
best=$($program --version | sed -n 's/.*-march=x86-64-\(v.\).*/\1/p')
for level in v2 v3 v4; do
  [[ $level > $best ]] && continue
  export PANDORA_LEVEL=$level
  scripts/across.sh write $build/files/$level $program >/dev/null
  $program run $golden/changed.toml --quiet --backend cpu --out $build/files/$level/changed >/dev/null
  for results in results changed; do
    sum=$(sha256sum <$build/files/$level/$results/summary.csv | cut -d' ' -f1)
    grep -q "$sum" $golden/digests.csv || { echo "level $level: $results/summary.csv is none of $golden/digests.csv" >&2; exit 1; }
  done
done
for level in v2 $best; do
  PANDORA_LEVEL=$level scripts/across.sh read $build/files/v2 $program
  PANDORA_LEVEL=$level scripts/across.sh read $build/files/$best $program
done
code=0
PANDORA_LEVEL=$best $program run $golden/study.toml --quiet --backend cpu --out $build/files/v2/results --resume 2>$build/refused || code=$?
[ $code = 5 ] || [ "$best" = v2 ] || { echo "results of v2 were gone on with by $best: $code" >&2; cat $build/refused; exit 1; }
echo "levels up to $best: one choice each, the same bytes, files read"
