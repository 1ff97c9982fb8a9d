"""What the four rivals keep at budgets of dollars: fitted on one table of outcomes, told on another.

usage: python rival_table.py FIT.jsonl TEST.jsonl [JUDGE_USD]      nested JSON lines (docs/traces.md)

For each rival: its points over a range of prices, on the test table; at each budget the best of them, or chance between
two (router_rivals.quality_at). The choice among points looks at the test table for all rivals alike. Context: hashed
words of the prompt in 16 places, and the logarithm of its length.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict

import numpy as np
from router_rivals import Table, Told, hashed_words, quality_at, rivals

BUDGETS = (0.10, 0.20, 0.30, 0.50, 2.0, 5.0)  # dollars per 1,000 prompts
PRICES = np.concatenate([[0.0], np.geomspace(0.5, 20000, 24)])


def read(path: str) -> Table:
    """A table with a quality, dollars and a score in every cell; where there is no score, the quality is it."""
    with open(path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    models = sorted(rows[0].get("models", rows[0].get("arms")))
    cells = [[row.get("models", row.get("arms"))[model] for model in models] for row in rows]
    quality = np.array([[cell.get("quality", cell.get("reward")) for cell in row] for row in cells], dtype=float)
    cost = np.array([[cell["cost"] for cell in row] for row in cells], dtype=float)
    score = np.array([[cell.get("score", q) for cell, q in zip(row, truth)] for row, truth in zip(cells, quality)])
    texts = [row["prompt"] for row in rows]
    return Table(quality, cost, score, np.column_stack([hashed_words(texts), [math.log1p(len(t)) for t in texts]]))


def main() -> None:
    """A line for each rival, a column for each budget; the standard error is of the mean quality on the test table."""
    fit, test = read(sys.argv[1]), read(sys.argv[2])
    judge = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
    points: dict[str, list[Told]] = defaultdict(list)
    for price in PRICES:
        for one in rivals(fit, test, float(price), judge):
            points[one.name].append(one)
    error = test.quality.std() / math.sqrt(len(test.quality))
    print(f"quality at $ per 1,000 prompts; judge ${judge:g} a call; standard error about {error:.4f}")
    print(f"{'':12}" + "".join(f"{budget:>8.2f}" for budget in BUDGETS))
    for name, told in points.items():
        print(f"{name:12}" + "".join(f"{quality_at(budget, told):8.4f}" for budget in BUDGETS))


if __name__ == "__main__":
    main()
