#!/usr/bin/env python3
"""Tests that scripts/check-device.py refuses bad machine code: a generic load, a branch or local memory in a marked
loop, too many instructions or registers, marks without limits, limits without marks, and launches that do not fit.
"""

import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
CHECK = SCRIPTS / "check-device.py"

KERNEL = """
template <class Body>
__global__ void __launch_bounds__(128) run_blocks(Body body, const float* in, float* out, int n) { body(in, out, n); }

struct Sum {
  __device__ void operator()(const float* in, float* out, int n) const {
    __shared__ float room[1024];
    room[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    const float* from = FROM;
    float sum = 0.0f, few[64] = {};
#pragma unroll 1
    for (int k = 0; k < n; ++k) {  // loop: sum
      sum = fmaf(from[k & 127], in[k], sum);
      STEP;
    }
    for (int k = 0; k < 64; ++k) sum += few[k];
    out[threadIdx.x] = sum;
  }
};
template __global__ void run_blocks<Sum>(Sum, const float*, float*, int);
"""

LIMITS = """
[kernel."Sum"]
registers = 40
[loop."sum"]
instructions = 16
generic = 0
local = 0
branches = 0
latency = 120
"""


def told(name: str, start: str = "room", step: str = "", limits: str = LIMITS, marked: bool = True) -> str:
    """The complaints of the check about a kernel whose loop reads from `start` and also does `step`."""
    with tempfile.TemporaryDirectory() as folder:
        source, limit_file = Path(folder) / f"check_{name}.cu", Path(folder) / "limits.toml"
        text = KERNEL if marked else KERNEL.replace("  // loop: sum", "")
        source.write_text(text.replace("FROM", start).replace("STEP", step))
        limit_file.write_text(limits)
        done = subprocess.run([sys.executable, CHECK, "--limits", limit_file, source], capture_output=True, text=True)
    assert (done.returncode == 0) == (not done.stderr.strip()), done
    return done.stderr.strip()


def main() -> None:
    sys.path.insert(0, str(SCRIPTS))
    from device import listing

    if not shutil.which("nvcc"):
        sys.exit(77)
    listing.nvdisasm()
    assert told("clean") == ""
    assert "loop sum: 1 generic, more than 0" in told("generic", start="n > 5 ? room : in + 5")
    divides = "for (int j = 0; j < out[threadIdx.x]; ++j) sum += in[j]"
    assert "branches, more than 0" in told("branch", step=divides)
    assert "local, more than 0" in told("local", step="few[int(in[k]) & 63] += sum; sum += few[int(in[k + n]) & 63]")
    longer = told("longer", step="sum = sum / in[k + n]; out[k] = sum")
    assert "instructions, more than 16" in longer and "latency, more than 120" in longer, longer
    assert "registers, more than 8" in told("clean", limits=LIMITS.replace("registers = 40", "registers = 8"))
    assert told("clean", limits=LIMITS.split("[loop")[0]) == "loop sum: marked, and has no limits"
    assert told("unmarked", marked=False) == "loop sum: limits, and no mark in the sources"
    design = LIMITS + "design = { latency = 60 }\n"
    assert told("clean", limits=design) == "loop sum: a limit of 120 latency where the design has 60, and no reason"
    assert told("clean", limits=design + 'reason = "a reason"\n') == ""

    check = runpy.run_path(str(CHECK))
    assert list(check["room"]("Sum", listing.Launch(128, 4, 48 << 10), 128)) == []
    assert list(check["room"]("Sum", listing.Launch(128, 4, 48 << 10), 140)) == [
        "Sum: 3 blocks of 128 threads fit with 140 registers, not 4"
    ]
    assert list(check["room"]("Sum", listing.Launch(128, 4, 60 << 10), 128)) == [
        "Sum: 3 blocks of 128 threads fit with 61440 bytes of shared memory, not 4"
    ]


if __name__ == "__main__":
    main()
