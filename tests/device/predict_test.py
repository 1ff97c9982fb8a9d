#!/usr/bin/env python3
"""What scripts/predict-device.py says of the code that ran on an H200 lies within a fifth of what that took."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

PREDICT = Path(__file__).resolve().parents[2] / "scripts/predict-device.py"


def main() -> None:
    sys.path.insert(0, str(PREDICT.parent))
    measured = runpy.run_path(str(PREDICT))["SECONDS"]
    done = subprocess.run([sys.executable, PREDICT, "--json"], capture_output=True, text=True, check=True)
    cards = json.loads(done.stdout)["seconds"]
    for schedule, stages in measured.items():
        for stage, seconds in stages.items():
            predicted = cards["H200"][schedule][stage]
            assert 0.8 < predicted / seconds < 1.2, (schedule, stage, predicted, seconds)
            # Both cards took the same on 26 November 2026 but for what had changed in between.
            assert abs(cards["H100"][schedule][stage] / predicted - 1) < 0.02, (schedule, stage)


if __name__ == "__main__":
    main()
