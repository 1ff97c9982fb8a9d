#!/usr/bin/env bash
# Checks that the stand-in finds faults. Plants one fault in a copy of the sources, builds the checked tests with it and
# runs them. They must end with the defect that belongs to the fault.
# usage: mutant.sh NAME BUILD_FOLDER       mutant.sh --list       mutant.sh --check, whether every fault can still be planted
set -euo pipefail
cd "$(dirname "$0")/../.."
here=tests/cuda_stand_in

# fault NAME FILE CHANGE DEFECT [TESTS [SETTING...]]: CHANGE is a change of FILE by perl. DEFECT is a pattern that the
# report, or the failure of the test, must match. TESTS are the tests that run; SETTING is for the stand-in.
faults() {
  fault race-in-a-team kernels/lane/gram.hpp 's/(V::store\(g\.row \+ i, row\);\n  \}\n)  team\.sync\(\);/$1/' 'race: '
  fault race-of-blocks kernels/cuda/cuda_backend.cuh 's/item, static_cast<int>\(blockIdx\.x\)\)/item, 0)/g' 'race: '
  fault no-wait-for-a-copy kernels/cuda/runtime.cu 's/  wait\("running on the device"\);\n//' 'FAILED|fault: the host' '*AFixedDevice*'
  fault short-array host/lanes/engine/layout.hpp 's/(block\.prediction = arena\.take<Real>\()width\)/$1B - 1)/' 'bounds: .* between arrays'
  fault short-allocation host/lanes/engine/run_lanes.hpp 's/memory_\(backend\.allocate\(bytes_\)\)/memory_(backend.allocate(bytes_ - 1024))/' 'memory of no array|bounds: |fault: '
  fault never-written host/lanes/engine/run_lanes.hpp 's/    backend_\.zero\(memory_\.get\(\), bytes_\);[^\n]*\n//' 'uninitialised: '
  fault barrier-for-one kernels/lane/stages.hpp 's/(if \(a == 0 && team\.rank\(\) == 0\)) lane\.progress->next = 0;/if (team.rank() == 0) { lane.progress->next = 0; team.sync(); }/' '__syncthreads: '
  fault barriers-apart kernels/lane/walk.hpp 's/(void add_sample\(int a, int row\) \{\n.*?\n)    team_\.sync\(\);/$1    if (team_.rank() < 7)\n      team_.sync();\n    else\n      team_.sync();/s' 'threads wait at different places'
  fault shuffle-of-some kernels/lane/walk.hpp 's/(void add_sample\(int a, int row\) \{\n)/$1#if defined(__CUDA_ARCH__)\n    if (team_.rank() < 5) (void)__shfl_sync(0xffffffffu, 1, 0);\n#endif\n/' 'warp barrier: ' '*ALaneAlone*'
  fault shared-memory-unset kernels/solve/tiled_newton.hpp 's/memory\(\)\.point\(\)\[k\] = k < width_ \? /if (k != 3) memory().point()[k] = k < width_ ? /' 'uninitialised: '
  fault shared-memory-race kernels/solve/tiled_hessian.hpp 's/team_\.sync\(\);(\n      copy\(first \+ kStrip, )/$1/' 'race: |uninitialised: ' '*ReplaysEvery*' STAND_IN_BLOCK=128
  fault shared-memory-beyond kernels/lane/cohort.hpp 's/(std::size_t shared_bytes\(\) const \{ return shared_bytes\(problem\.shape, problem\.refit\));/$1 \/ 8;/' 'bounds: |memory of no array|fault: '
  fault conflict-of-banks kernels/products/square_tiles.hpp 's/kTileSide \* kTileSide \+ 4/kTileSide * kTileSide/' 'FAILED' '*FewConflicts*'
  fault host-reads-device host/lanes/engine/run_lanes.hpp 's/(    std::vector<LaneTally> tallies\(layout_->lanes\.size\(\)\);)/$1\n    if (reinterpret_cast<volatile int*>(layout_->tallies)[0] == 7) return {};/' 'fault: the host' '*AFixedDevice*'
  fault host-reads-device-without-keys host/lanes/engine/run_lanes.hpp 's/(    std::vector<LaneTally> tallies\(layout_->lanes\.size\(\)\);)/$1\n    if (reinterpret_cast<volatile int*>(layout_->tallies)[0] == 7) return {};/' 'fault: the host' '*AFixedDevice*' STAND_IN_KEYS=0
  fault device-reads-host host/lanes/engine/run_lanes.hpp 's/layout_->device_lanes \+ first\}/const_cast<LaneView<Real>*>(layout_->lanes.data()) + first}/' 'owner: |fault: '
  fault wrong-device kernels/cuda/cuda_backend.cu 's/: selected_\(device\)/: selected_(0)/' 'FAILED' '*AFixedDevice*'
  fault freed-too-early host/lanes/engine/run_lanes.hpp 's/(    start\(\);\n)/$1    memory_ = {};\n/' 'freed|fault: '
  fault leak kernels/cuda/runtime.cu 's/  cudaFree\(p_\);\n//' 'leak: ' '*AFixedDevice*'
  fault results-overlap kernels/cuda/cuda_backend.cuh 's/item < matrices \? 0 : item - matrices\)/0)/' 'two results of a batch overlap' '*LargeMatrices*'
  fault launch-of-none kernels/cuda/cuda_backend.cuh 's/min\(items, resident\),/min(items, resident) - 1,/' 'invalid configuration'
  fault second-wave kernels/cuda/cuda_backend.cuh 's/min\(items, resident\),/min(items, 64 * resident),/' 'a second wave' '*ReplaysEvery*' STAND_IN_MULTIPROCESSORS=1
  fault too-many-threads kernels/cuda/cuda_backend.cuh 's/std::min\(block_threads_, threads_of<Body>\(\)\)/1024/' 'invalid configuration|start: invalid argument'
  fault too-many-registers kernels/cuda/cuda_backend.cuh 's/std::min\(block_threads_, threads_of<Body>\(\)\)/1024/' 'too many resources|FAILED' '*ReplaysEvery*' STAND_IN_BLOCK=1024
  fault undefined-shift kernels/lane/stages.hpp 's/lane\.progress->due >> a & 1/lane.progress->due >> (a + 32) \& 1/' 'runtime error: shift exponent'
  fault misaligned host/lanes/engine/layout.hpp 's/(block\.pending_scale = )(arena\.take<Real>\()B\);/$1reinterpret_cast<Real*>(reinterpret_cast<std::size_t>($2B + 1)) + 2);/' 'alignment: |runtime error: .*misaligned'
}

if [ "$1" = --list ]; then
  fault() { echo "$1"; }
  faults
  exit
fi

planted() { perl -0pe "$change" "$file"; }
moved() { echo "mutant.sh: $1: its place in $file has moved, so nothing is planted; write its change anew" >&2; }

if [ "$1" = --check ]; then  # builds nothing; CI does this every time
  count=0 gone=0
  fault() {
    local file=$2 change=$3
    count=$((count + 1))
    if planted | cmp -s "$file" -; then moved "$1"; gone=$((gone + 1)); fi
  }
  faults
  for page in docs/gpu-results.md $here/README.md; do
    grep -q "\b$count planted faults" $page || { echo "$page does not say that there are $count planted faults" >&2; gone=$((gone + 1)); }
  done
  [ $gone = 0 ] || exit 1
  echo "$count faults can be planted"
  exit
fi

wanted=$1 build=$(realpath "$2")  # commands of the build run in its folder
found=
fault() {
  [ "$1" = "$wanted" ] || return 0
  found=1 file=$2 change=$3 defect=$4 tests=${5:-'*ReplaysEvery*'}
  shift $(($# < 5 ? $# : 5))
  settings=("$@")
}
faults
[ -n "$found" ] || { echo "no such mutant: $wanted" >&2; exit 2; }

mutants=$build/$here/mutants/$wanted
rm -rf "$mutants"
mkdir -p "$mutants/$(dirname "$file")"
planted >"$mutants/$file"
if cmp -s "$file" "$mutants/$file"; then moved "$wanted"; exit 1; fi

# Compiles the device objects that depend on the file again, so that they include the copy in place of the original.
# Then links the program with these objects first, because the linker takes the first copy of an inline function.
first=
link=$(ninja -C "$build" -t commands "$here/tests_checked" | tail -1)
for object in "$build/$here"/checked_*.o; do
  grep -qE "${file//./\\.}([^h]|$)" "$object.d" || continue  # so that x.cu does not match x.cuh
  name=$(basename "$object")
  command=$(ninja -C "$build" -t commands "$here/$name" | tail -1)
  command=${command//-DPANDORA_HAVE_CUDA/-I$mutants;-DPANDORA_HAVE_CUDA}
  command=${command//$here\/$name/$here\/mutants\/$wanted\/$name}
  case $file in *.cu) command=${command//$PWD\/$file/$mutants\/$file} ;; esac
  (cd "$build" && eval "$command")
  link=${link// $here\/$name/}
  first+=" $here/mutants/$wanted/$name"
done
link=${link/ $here\/CMakeFiles/$first $here\/CMakeFiles}
link=${link/-o $here\/tests_checked/-o $here\/mutants\/$wanted\/tests}
(cd "$build" && eval "$link")

# The limit is on processor time, so that other work on the machine does not count. ctest ends a mutant that waits for
# ever.
code=0
(ulimit -t 600; exec env REQUIRE_GPU=1 STAND_IN_FIRST=1 "${settings[@]}" "$mutants/tests" --gtest_filter="$tests") \
  >"$mutants/log" 2>&1 || code=$?
if [ "$code" != 0 ] && grep -qE "$defect" "$mutants/log"; then
  echo "$wanted: found: $(grep -m1 -E "$defect" "$mutants/log" | cut -c1-200)"
  rm "$mutants/tests" "$mutants"/*.o
else
  echo "$wanted: NOT FOUND (exit status $code, wanted: $defect)" >&2
  cut -c1-300 "$mutants/log" | tail -20 >&2
  exit 1
fi
