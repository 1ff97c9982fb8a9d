#!/usr/bin/env bash
# Rivals on real tables (docs/beyond.md): chooses DOW's keys on the calibration tables, then judges all on the others.
# usage: rivals.sh TABLES WORK     (the program is `pandora`, or $PANDORA; it goes on after a break)
set -euo pipefail
tables=$(realpath "$1") studies=$(realpath "$(dirname "$0")")
pandora=$(command -v pandora || realpath "$PANDORA")
mkdir -p "$2"
cd "$2"
cp "$studies"/rivals.toml "$studies"/rivals-choose.toml .
for table in "$tables"/paretobandit_*.jsonl; do ln -sf "$table" .; done

run() { "$pandora" run "$@" --quiet --resume >/dev/null; }
run rivals.toml --out rivals
run rivals.toml --policy shrunk_weitzman --set hyperparameters.c_shrunk_theta=1 --out bonus
for environment in four5 four50 three5 three50; do
  for t0 in 0 200; do
    choice=tuned-$environment-$t0
    [ -s "$choice.json" ] || "$pandora" tune rivals-choose.toml --environment "$environment" --t0 "$t0" --budget 8000 --quiet \
      --force --out "$choice.json" >/dev/null
    for reward in known unknown; do
      options=$(jq -r ".races[] | select(.reward == \"$reward\").run_options" "$choice.json")
      [ -n "$options" ] || continue
      for bonus in 0 1; do
        [ "$bonus" = 0 ] || [ "$reward" = unknown ] || continue
        folder=$choice-$reward-$bonus
        eval run rivals.toml --environment "$environment" --t0 "$t0" "${options/dow/dow,shrunk_weitzman,best_single}" \
          --set hyperparameters.c_shrunk_theta="$bonus" --out "$folder"
      done
    done
  done
done

# All paired differences in one table, with the folder that a row is from.
{
  header=
  for folder in tuned-*-*-*-*/; do
    folder=${folder%/}
    reward=$(cut -d- -f4 <<<"$folder")
    for rival in "dow/$reward" best_single; do
      for first in "shrunk_weitzman/$reward" "dow/$reward"; do
        [ "$first" != "$rival" ] || continue
        "$pandora" compare "$folder" --policy "$first,$rival" --format csv >compared.csv
        [ -n "$header" ] || { header=1 && sed -n '1s/^/folder,/p' compared.csv; }
        sed "1d;s/^/${folder%-*}-c_shrunk_theta=${folder##*-},/" compared.csv
      done
    done
  done
} >differences.csv
for file in tuned-*.json; do
  jq -r --arg file "${file%.json}" '.races[] | [$file, .reward, .run_options] | @csv' "$file"
done >choices.csv
