#!/usr/bin/env bash
# LinUCB on real tables, its ridge and c_b chosen on the calibration tables (docs/beyond.md): prints rows of summary.csv.
# usage: linucb.sh TABLES WORK     (the program is `pandora`, or $PANDORA)
set -euo pipefail
tables=$(realpath "$1") studies=$(realpath "$(dirname "$0")")
pandora=$(command -v pandora || realpath "$PANDORA")
mkdir -p "$2"
cd "$2"
cp "$studies"/rivals.toml "$studies"/linucb-choose.toml .
for table in "$tables"/paretobandit_*k4.jsonl; do ln -sf "$table" .; done
for environment in four5 four50; do
  for t0 in 0 200; do
    choice=$environment-$t0
    "$pandora" tune linucb-choose.toml --environment "$environment" --t0 "$t0" --budget 1000 --quiet --force --out "$choice.json" >/dev/null
    eval "$pandora" run rivals.toml --environment "$environment" --t0 "$t0" "$(jq -r '.races[0].run_options' "$choice.json")" \
      --quiet --force --out "$choice" >/dev/null
    [ -n "${header-}" ] || { header=1 && sed -n '1s/^/tuned,/p' "$choice/summary.csv"; }
    sed -n '/linucb/s/^/yes,/p' "$choice/summary.csv"
  done
done
"$pandora" run rivals.toml --environment four5,four50 --policy linucb_online --quiet --force --out plain >/dev/null
sed -n '/linucb/s/^/no,/p' plain/summary.csv
