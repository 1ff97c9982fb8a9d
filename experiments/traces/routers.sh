#!/usr/bin/env bash
# Routers on real tables (docs/beyond.md): fitted to all answers of the first part, on the second less the best single model
# in hindsight, per prompt x 1000. usage: routers.sh TABLES WORK > CSV     (the program is `pandora`, or $PANDORA)
set -euo pipefail
pandora=$(command -v pandora || realpath "$PANDORA")
mkdir -p "$2"
echo models,price,less_best_single_x1000,half_width_95_over_prompts_x1000
for table in k4 judged_k3; do
  fit=$1/paretobandit_${table/k/val_k}.jsonl test=$1/paretobandit_${table/k/test_k}.jsonl
  for price in 5 50; do
    "$pandora" cascade fit "$fit" --kind router --evaluator none --context text:16,length --price $price --out "$2/router.json" --force >/dev/null
    for model in $(head -1 "$test" | jq -r '(.models // .arms) | keys[]'); do
      "$pandora" cascade test "$2/router.json" "$test" --evaluator none --against "$model" --format json
    done | jq -rs --arg row "${table##*k},$price" 'min_by(.gain.value).gain | "\($row),\(1000 * .value),\(500 * (.high - .low))"'
  done
done
