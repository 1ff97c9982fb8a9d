#!/usr/bin/env bash
# From DOW to shrunk_weitzman one step at a time (docs/beyond.md): a folder of results for each step, seed 101, regime B, T_0 = 0.
# usage: steps.sh STUDY REPLICATIONS ENVIRONMENTS WORK   (STUDY of experiments/; the program is `pandora`, or $PANDORA; goes on after a break)
set -euo pipefail
study=experiments/$1 replications=$2 environments=$3 work=$4
pandora=$(command -v pandora || realpath "$PANDORA")
mkdir -p "$work"
step() {
  folder=$1
  shift
  "$pandora" run "$study" --seed 101 --replications "$replications" --environment "$environments" --regime B --t0 0 \
    --oracle-cache "$work/oracle" --set output.hdf5=true --quiet --resume --out "$work/$folder" "$@" >/dev/null
}
fixed=(--policy shrunk_weitzman --set estimation.shrinkage=fixed)
step dow --policy dow --set hyperparameters.c_rho=[0.001,0.01,0.1]
step logratio --policy dow --set estimation.bonus=log_ratio --set estimation.forced_openings=5 \
  --set hyperparameters.c_rho=[0.01,0.03,0.1,0.2]
for eta in 30 100 300 1000; do
  step slopes-$eta --policy dow --set estimation.eta_slopes=$eta --set hyperparameters.c_rho=[0.01,0.1,0.2,0.3]
done
for eta in 30 100 300 1000; do
  step forced-$eta --policy dow --set estimation.eta_slopes=$eta --set estimation.forced_openings=5 \
    --set hyperparameters.c_rho=[0.01,0.1,0.2,0.3]
done
for ridge in 1 300; do
  step joint-$ridge "${fixed[@]}" --set estimation.ridge_mean=$ridge --set estimation.ridge_own=$ridge
done
step one --policy shrunk_weitzman --set estimation.shrinkage=one_level
step two --policy shrunk_weitzman
step pooled "${fixed[@]}" --set estimation.ridge_mean=100 --set estimation.ridge_own=1e12
step intercepts "${fixed[@]}" --set estimation.ridge_mean=1e12 --set estimation.ridge_own=1e12
step rivals --policy liu,thompson_weitzman,epsilon_greedy_weitzman,empirical_weitzman --set hyperparameters.c_liu=[0,0.01,0.03,0.1] \
  --set hyperparameters.c_thompson=[0.001,0.01,0.03,0.1,0.3] --set hyperparameters.epsilon=[0.001,0.01,0.03,0.1]
