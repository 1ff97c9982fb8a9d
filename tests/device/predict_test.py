#!/usr/bin/env python3
"""Tests that the seconds that scripts/predict-device.py predicts for the code that ran on an H200 are within a fifth of
the measured ones, and that its simulator of a scheduler gives known results for simple code.
"""

import json
import runpy
import subprocess
import sys
from pathlib import Path

PREDICT = Path(__file__).resolve().parents[2] / "scripts/predict-device.py"


def simple_code() -> None:
    from device import machine

    one = machine.decode("1" * 200)
    assert machine.simulate([one]).issued > 0.99
    four_cycles = machine.decode("4" * 200)  # each instruction waits for the one before
    assert abs(machine.simulate([four_cycles]).issued - 0.25) < 0.01
    assert machine.simulate([four_cycles] * 4).issued > 0.98
    assert abs(machine.simulate([one] * 4, streamed=True).issued - 1 / machine.FETCH) < 0.01
    double = machine.decode("D010-00" * 100 + "D01--01" * 100)
    assert abs(machine.simulate([double] * 4, 2).issued - 0.5) < 0.02
    assert abs(machine.simulate([double] * 4, 64).issued - 1 / 64) < 0.001
    load = machine.decode("N110-00A01--01")  # and an instruction that waits for it
    assert machine.alone(load) == machine.FIRST_LEVEL + 1
    assert machine.decode(machine.encode(double + load)) == double + load


def shares_of_a_cohort() -> None:
    """While two lanes walk, two of a block's four warps wait. Loops over periods are found around those over rows."""
    from types import SimpleNamespace

    from device import cohorts, listing

    slots = {"advance": 100, "walk": 100, "solve": 200}
    assert cohorts.busy_warps(slots, 4) == 1
    assert abs(cohorts.busy_warps(slots, 2) - 0.8) < 1e-12
    code = [listing.Instruction(16 * k, "", "LDS" if k % 10 == 5 else "DFMA" if k in (3, 43) else "IADD")
            for k in range(200)]
    rows = [code[4:6], code[14:16], code[44:46], code[54:56], code[104:106], code[114:116], code[124:126]]
    kernel = SimpleNamespace(loops=[(0, 16 * 199), (0, 16 * 30), (16 * 40, 16 * 80), (16 * 100, 16 * 130)],
                             within=lambda a, b: [one for one in code if a <= one.address <= b])
    assert list(cohorts.loops_over_periods(kernel, rows).values()) == [[1, 1], [1, 1], [1, 1, 1]]
    learned, known = cohorts.periods_of(kernel, rows, tracks=False)
    assert learned[0].address in (0, 16 * 40) and known[0].address in (0, 16 * 40)


def code_outside_of_loops() -> None:
    """Of a line that was inlined twice the longer copy counts; marked loops, bodies and other files do not."""
    from types import SimpleNamespace

    from device import cohorts, listing

    phase = SimpleNamespace(files=("solve.hpp",))
    frames = ([(("solve.hpp", 5), ("run.cu", 1))] * 2 + [(("solve.hpp", 5), ("run.cu", 2))] * 3 +
              [(("dot.hpp", 9), ("solve.hpp", 7), ("run.cu", 1))] * 4 + [(("solve.hpp", 8), ("run.cu", 1))] * 5 +
              [(("solve.hpp", 20), ("run.cu", 1))] * 6 + [(("other.hpp", 5), ("run.cu", 1))] * 7)
    code = [listing.Instruction(16 * k, "", "IADD", frames=one) for k, one in enumerate(frames)]
    found = cohorts.straight_code(SimpleNamespace(code=code), phase, [(16 * 9, 16 * 13)],
                                  [listing.Place("solve.hpp", 19, 21)])
    assert [one.address // 16 for one in found] == [2, 3, 4, 5, 6, 7, 8]


def main() -> None:
    sys.path.insert(0, str(PREDICT.parent))
    simple_code()
    shares_of_a_cohort()
    code_outside_of_loops()
    measured = runpy.run_path(str(PREDICT))["SECONDS"]
    done = subprocess.run([sys.executable, PREDICT, "--json"], capture_output=True, text=True, check=True)
    cards = json.loads(done.stdout)["seconds"]
    for schedule, stages in measured.items():
        for stage, seconds in stages.items():
            predicted = cards["H200"][schedule][stage]
            assert 0.8 < predicted / seconds < 1.2, (schedule, stage, predicted, seconds)
            # On 26 November 2026 both cards took equally long in the stages that had not changed in between.
            assert abs(cards["H100"][schedule][stage] / predicted - 1) < 0.02, (schedule, stage)


if __name__ == "__main__":
    main()
