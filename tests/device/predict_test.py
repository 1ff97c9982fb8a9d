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


def main() -> None:
    sys.path.insert(0, str(PREDICT.parent))
    simple_code()
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
