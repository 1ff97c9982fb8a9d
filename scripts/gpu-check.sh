#!/usr/bin/env bash
# Everything that only a GPU can show: tests against the CPU, compute-sanitizer, benchmarks, the whole paper. Prints a
# short table at the end; the logs lie in the output folder.
# Usage: scripts/gpu-check.sh [BUILD_DIR [OUT_DIR [STEP...]]]
# Steps, in their order: tests benchmark geometric tracking memcheck racecheck synccheck.
#
# BUILD_DIR holds pandora, tests/pandora_tests and tests/pandora_device_bench, as `make gpu-check` builds them; on
# a GPU machine without compilers they may come from elsewhere, then built with PANDORA_NATIVE=OFF. PAPER_ARGS and
# BENCHMARK_ARGS change the sizes of the whole paper and of the benchmark; TESTS_SECONDS is the time that the device tests
# have (300) and SANITIZER_SECONDS that of each compute-sanitizer (600), for dry runs and for machines lent by the minute.
set -uo pipefail
read -ra paper <<<"${PAPER_ARGS---replications 50}"
read -ra sizes <<<"${BENCHMARK_ARGS---replications 25}"
build=${1:-build-gpu}
out=${2:-results/gpu-check}
shift $(($# < 2 ? $# : 2))
steps=${*:-tests benchmark geometric tracking memcheck racecheck synccheck}
mkdir -p "$out"
failed=0
summary=()

# step NAME LOG SECONDS COMMAND...: runs it, keeps its output, and notes the time and the verdict.
step() {
  local name=$1 log=$out/$2 limit=$3 start verdict
  shift 3
  start=$(date +%s.%N)
  if timeout "$limit" "$@" >"$log" 2>&1; then verdict=ok; else verdict="FAILED ($?)"; failed=1; fi
  summary+=("$(printf '%-34s %8.1f s  %s' "$name" "$(echo "$(date +%s.%N) $start" | awk '{print $1 - $2}')" "$verdict")")
  echo "${summary[-1]}"
}

if ldd "$build/pandora" "$build/tests/pandora_tests" | grep 'not found'; then
  echo "libraries are missing" >&2
  exit 4
fi
"$build/pandora" devices || exit
"$build/pandora" devices | grep -q ': usable$' || { echo "gpu-check needs a usable GPU" >&2; exit 4; }
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv

export REQUIRE_GPU=1
for step in $steps; do
  case $step in
    tests) step "device tests" tests.log "${TESTS_SECONDS:-300}" "$build/tests/pandora_tests" --gtest_filter='*Gpu*' ;;
    benchmark) step "benchmark" benchmark.log 600 "$build/tests/pandora_device_bench" "${sizes[@]}" ;;
    geometric) step "whole paper, geometric:1.5" geometric.log 900 "$build/pandora" reproduce --backend cuda \
      "${paper[@]}" --out "$out/geometric" --force ;;
    tracking) step "whole paper, tracking" tracking.log 900 "$build/pandora" reproduce --backend cuda \
      "${paper[@]}" --refit tracking --out "$out/tracking" --force ;;
    memcheck | racecheck | synccheck)
      if command -v compute-sanitizer >/dev/null; then
        step "compute-sanitizer $step" "$step.log" "${SANITIZER_SECONDS:-600}" \
          compute-sanitizer --tool "$step" --error-exitcode 9 "$build/tests/pandora_tests" \
          --gtest_filter='DeviceGpu.OddShapes:DeviceGpu.WalksByAWarpAreThoseOfRecordedLanes'
      else
        echo "$step was not run: compute-sanitizer is not on PATH"
        failed=1
      fi
      ;;
    *) echo "unknown step: $step" >&2; exit 2 ;;
  esac
done

echo
printf '%s\n' "${summary[@]}"
if [ -f "$out/benchmark.log" ]; then cat "$out/benchmark.log"; fi
echo "logs in $out"
exit $failed
