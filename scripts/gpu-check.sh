#!/usr/bin/env bash
# Everything that only a GPU can show: tests against the CPU, compute-sanitizer, benchmarks, the whole paper. Prints a
# short table at the end; the logs lie in the output folder. Usage: scripts/gpu-check.sh [BUILD_DIR [OUT_DIR]]
#
# BUILD_DIR holds pandora, tests/pandora_tests and tests/bench/pandora_device_bench, as `make gpu-check` builds them;
# on a GPU machine without compilers they may come from elsewhere.
set -uo pipefail
build=${1:-build-gpu}
out=${2:-results/gpu-check}
mkdir -p "$out"
failed=0
summary=()

# step NAME LOG COMMAND...: runs it, keeps its output, and notes the time and the verdict.
step() {
  local name=$1 log=$out/$2 start verdict
  shift 2
  start=$(date +%s.%N)
  if "$@" >"$log" 2>&1; then verdict=ok; else verdict="FAILED ($?)"; failed=1; fi
  summary+=("$(printf '%-34s %8.1f s  %s' "$name" "$(echo "$(date +%s.%N) $start" | awk '{print $1 - $2}')" "$verdict")")
  echo "${summary[-1]}"
}

"$build/pandora" devices || exit
"$build/pandora" devices | grep -q ': usable$' || { echo "gpu-check needs a usable GPU" >&2; exit 4; }
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv

export REQUIRE_GPU=1
step "device tests" tests.log "$build/tests/pandora_tests" --gtest_filter='*Gpu*'
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck synccheck; do
    step "compute-sanitizer $tool" "$tool.log" compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "$build/tests/pandora_tests" --gtest_filter='DeviceGpu.OddShapes'
  done
else
  echo "compute-sanitizer is not on PATH: memcheck, racecheck and synccheck were not run"
  failed=1
fi
step "benchmark" benchmark.log "$build/tests/bench/pandora_device_bench"
step "whole paper, geometric:1.5" geometric.log "$build/pandora" reproduce --backend cuda --replications 50 \
  --out "$out/geometric" --force
step "whole paper, tracking" tracking.log "$build/pandora" reproduce --backend cuda --replications 50 --refit tracking \
  --out "$out/tracking" --force

echo
printf '%s\n' "${summary[@]}"
cat "$out/benchmark.log"
echo "logs in $out"
exit $failed
