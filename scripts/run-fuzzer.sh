#!/usr/bin/env bash
# run-fuzzer.sh NAME RUNS: one of the fuzzers of build-fuzz on its corpus, for FUZZ_SECONDS at most. Its last lines are printed, or all of them if it
# fails. An input of `files` is read in many ways and takes five times as long as others: it has half as many.
set -euo pipefail
name=$1 runs=$2
build=build-fuzz corpus=build-fuzz/corpus/$1
mkdir -p "$corpus"
options=(-max_len=1024)
case $name in
  study) options=(-max_len=400); cp experiments/*.toml "$corpus" ;;
  files) options+=(-len_control=0); runs=$((runs / 2)) ;;
  traces) corpus+=" tests/fuzz/seeds/traces" ;;
esac
# shellcheck disable=SC2086 — folders without spaces
"$build/tests/fuzz/${name}_fuzz" -runs="$runs" "${options[@]}" -seed="${SEED:-1}" -max_total_time="${FUZZ_SECONDS:-0}" -print_final_stats=1 $corpus >"$build/$name.log" 2>&1 ||
  { cat "$build/$name.log" >&2; echo "the fuzzer of $name has found something: its input is the file whose name is printed above" >&2; exit 1; }
sed -n '/DONE/,$p' "$build/$name.log" | sed "s/^/$name: /"
