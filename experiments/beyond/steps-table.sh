#!/usr/bin/env bash
# The table of the folders that steps.sh made, as CSV.
# usage: steps-table.sh WORK
set -euo pipefail
exec python3 "$(dirname "$0")/steps.py" "$1" "DOW=dow" "bonus and openings=logratio" \
  "slope ridge=slopes-30,slopes-100,slopes-300,slopes-1000" \
  "best DOW=forced-30,forced-100,forced-300,forced-1000,slopes-30,slopes-100,slopes-300,slopes-1000" \
  "joint fit, ridges 1=joint-1" "joint fit, ridges 300=joint-300" "one learned ridge=one" "shrunk_weitzman=two" "pooled=pooled" \
  "intercepts alone=intercepts" "liu=rivals/liu" "thompson_weitzman=rivals/thompson_weitzman" \
  "epsilon_greedy_weitzman=rivals/epsilon_greedy_weitzman" "empirical_weitzman=rivals/empirical_weitzman" --best "best DOW"
