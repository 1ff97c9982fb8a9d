"""The quality that four rivals and the program reach within budgets of dollars, fitted on one table, tested on another.

usage: python rival_table.py PANDORA FIT.jsonl TEST.jsonl      nested JSON lines with a judge's score (docs/traces.md)

Prints CSV. Each policy has points over a range of prices, on the test table. For each budget, the best point counts, or
the best random choice between two points (router_rivals.best_at). For every policy this choice looks at the test table.
The rivals' context has the hashed words of the prompt in 16 places, and the logarithm of its length. The context of
`auto` is text:16,length. Judging costs nothing, or $0.20 for 1,000 calls. `less_auto` is the quality minus that of
`auto`, with its standard error, paired by prompt.
"""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
import tempfile
from collections import defaultdict

import numpy as np
from router_rivals import Table, Told, best_at, hashed_words, rivals, told

BUDGETS = (0.10, 0.20, 0.30, 0.50, 2.0, 5.0)  # dollars per 1,000 prompts
PRICES = np.concatenate([[0.0], np.geomspace(0.5, 20000, 24)])


def read(path: str) -> Table:
    """Reads a table with a quality, dollars and a score in every cell. A missing score is replaced by the quality."""
    with open(path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    models = sorted(rows[0].get("models", rows[0].get("arms")))
    cells = [[row.get("models", row.get("arms"))[model] for model in models] for row in rows]
    quality = np.array([[cell.get("quality", cell.get("reward")) for cell in row] for row in cells], dtype=float)
    cost = np.array([[cell["cost"] for cell in row] for row in cells], dtype=float)
    score = np.array([[cell.get("score", q) for cell, q in zip(row, truth)] for row, truth in zip(cells, quality)])
    texts = [row["prompt"] for row in rows]
    return Table(quality, cost, score, np.column_stack([hashed_words(texts), [math.log1p(len(t)) for t in texts]]))


def auto(pandora: str, fit: str, test: str, judge: float) -> list[Told]:
    """The cascades of `pandora cascade frontier --kind auto`, and the models alone, as points."""
    found: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        options = ["--evaluator", "score", "--kind", "auto", "--context", "text:16,length", "--judge-usd", str(judge)]
        prices = ",".join(f"{price:g}" for price in PRICES)
        subprocess.run(
            [
                *(pandora, "cascade", "frontier", fit, "--test", test, *options),
                *("--price", prices, "--rows", "--out", folder + "/f"),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with open(folder + "/f/rows.csv", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                point = row["kind"], row["price"], row["called"] if row["kind"] == "single" else ""
                found[point].append((float(row["quality"]), float(row["usd"])))
    return [told("auto", quality, usd, np.zeros(1), 0.0) for quality, usd in (np.array(rows).T for rows in found.values())]


def main() -> None:
    """Prints a row for each policy and budget."""
    pandora, files = sys.argv[1], sys.argv[2:4]
    out = csv.writer(sys.stdout)
    out.writerow(["judge_usd_per_1000", "policy", "usd_per_1000", "quality", "less_auto", "error"])
    fit, test = (read(file) for file in files)
    for judge in (0.0, 0.0002):
        points: dict[str, list[Told]] = defaultdict(list)
        for price in PRICES:
            for one in rivals(fit, test, float(price), judge):
                points[one.name].append(one)
        points["auto"] = auto(pandora, files[0], files[1], judge)
        for name, told_of in points.items():
            for budget in BUDGETS:
                quality = best_at(budget, told_of)
                less = quality - best_at(budget, points["auto"])
                numbers = quality.mean(), less.mean(), less.std() / math.sqrt(len(less))
                out.writerow([1000 * judge, name, budget, *(f"{x:.5f}" for x in numbers)])


if __name__ == "__main__":
    main()
