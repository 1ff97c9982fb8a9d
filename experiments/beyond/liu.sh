#!/usr/bin/env bash
# liu and DOW tuned alike (docs/beyond.md): keys chosen on seed 101, judged on seed 1, beside both as they are.
# usage: liu.sh WORK     (the program is `pandora`, or $PANDORA; it goes on after a break)
set -euo pipefail
pandora=$(command -v pandora || realpath "$PANDORA")
mkdir -p "$1"
run() { "$pandora" run "$@" --regime B --t0 0 --replications 100 --set output.hdf5=true --quiet --resume >/dev/null; }
plain=(--policy dow,liu,shrunk_weitzman --set hyperparameters.c_liu=[0.01,0.03,0.1] --set hyperparameters.c_rho=[0.01,0.1])
run experiments/beyond.toml --environment gaussian,uniform "${plain[@]}" --out "$1/plain"
run experiments/outputs.toml --environment linear "${plain[@]}" --out "$1/plain-linear"
for environment in gaussian uniform linear; do
  for policy in liu dow; do
    choice=$1/$environment-$policy
    [ -s "$choice.json" ] || "$pandora" tune experiments/liu.toml --seed 101 --environment "$environment" --policy "$policy" \
      --budget 400 --quiet --out "$choice.json" >/dev/null
    eval run experiments/liu.toml --environment "$environment" \
      "$(jq -r '.races[] | select(.reward == "known").run_options' "$choice.json")" --out "$choice"
  done
done
