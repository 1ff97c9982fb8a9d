#!/usr/bin/env python3
"""Tables of the names and forms of those that docs/rivals.md reads and that are no part of this repository.

Usage: scripts/made-up-tables.py FOLDER. What is in them is made up: they let the page's commands be run, no more.
"""

import json
import pathlib
import random
import sys

folder = pathlib.Path(sys.argv[1])
random.seed(1)
MODELS = {"small": (0.6, 4e-5), "large": (0.8, 6e-4), "dear": (0.85, 3e-2), "fast": (0.75, 4e-3)}
WORDS = "write count explain prove translate list the a number story proof python French water energy".split()


def clipped(mean: float) -> float:
    return round(min(1.0, max(0.0, random.gauss(mean, 0.2))), 3)


def row(models: list[str], judged: bool) -> dict[str, object]:
    answers = {}
    for name in models:
        quality, cost = clipped(MODELS[name][0]), MODELS[name][1] * random.uniform(0.5, 1.5)
        seen = {"quality": quality, "score": clipped(quality)} if judged else {"reward": quality}
        answers[name] = seen | {"cost": cost}
    return {"prompt": " ".join(random.choices(WORDS, k=random.randint(4, 30))), "models" if judged else "arms": answers}


# A quarter of the first of each pair is for calibration, of 200 prompts.
for name, models, judged, size in [
    ("val_k4", 4, False, 820),
    ("test_k4", 4, False, 100),
    ("judged_val_k3", 3, True, 820),
    ("judged_test_k3", 3, True, 100),
]:
    rows = (row(list(MODELS)[:models], judged) for _ in range(size))
    (folder / f"paretobandit_{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
