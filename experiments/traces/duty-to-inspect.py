#!/usr/bin/env python3
"""What it costs on a real table that a cascade must judge each answer before it may deploy it.

usage: duty-to-inspect.py PANDORA FIT.jsonl TEST.jsonl      nested JSON lines with a judge's score (docs/traces.md)

Fits two kinds on the first table and values them on the second, with the same context and the same judge, at several
prices. `thresholds` must open a model before it deploys its answer: it calls and judges it. `routed` may also deploy one
model by the prompt alone, without a judge. Both pay for every call; only judging can be saved. CSV, a row for each cost
of judging and each price: the utility per prompt x 1000 of each kind, and by how much `routed` has more, paired by
prompt, with the 95% half-width.
"""
import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

JUDGE_USD_PER_1000 = 0.0, 0.1, 0.5, 2.0
PRICES = 5, 20, 100
pandora, fit, test = sys.argv[1:4]


def rows_of(kind: str, judge_usd: float) -> dict[int, np.ndarray]:
    """Price -> (quality, dollars) of every prompt of the test table."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [pandora, "cascade", "frontier", fit, "--test", test, "--kind", kind, "--evaluator", "score",
             "--context", "text:16,length", "--judge-usd", str(judge_usd), "--price", ",".join(map(str, PRICES)),
             "--rows", "--out", f"{folder}/f"], check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        with Path(folder, "f/rows.csv").open() as file:
            rows = list(csv.DictReader(file))
    return {price: np.array([[float(row["quality"]), float(row["usd"])] for row in rows
                             if row["kind"] == kind and float(row["price"]) == price]) for price in PRICES}  # fmt: skip


out = csv.writer(sys.stdout)
out.writerow("judge_usd_per_1000 price thresholds_x1000 routed_x1000 difference_x1000 half_width_95_x1000".split())
for judge in JUDGE_USD_PER_1000:
    thresholds, routed = (rows_of(kind, judge / 1000) for kind in ("thresholds", "routed"))
    for price in PRICES:
        first, second = (1000 * (of[price] @ [1.0, -price]) for of in (thresholds, routed))
        difference = second - first
        error = 1.96 * difference.std(ddof=1) / len(difference) ** 0.5
        out.writerow([judge, price, *(f"{x:.2f}" for x in (first.mean(), second.mean(), difference.mean(), error))])
