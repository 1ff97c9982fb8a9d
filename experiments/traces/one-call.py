#!/usr/bin/env python3
"""Cascades from logs of one call a decision, made of a table whose outcomes are all known.

usage: one-call.py PANDORA FIT.jsonl TEST.jsonl MODEL SEEDS PRICE...      nested JSON lines (docs/traces.md)

A log calls MODEL with probability 0.8, else one of all models by chance. CSV, a row for each price: the gain over MODEL on
the test table of thresholds that are fitted to all outcomes, the mean and the least of those that are fitted to SEEDS logs
(--openings apart, the evaluator quality), and the gain that they promise; of how many logs the interval of utility holds what
the table says: `held_single` doubly robust estimates of each model alone (the model with the fewest), `held_cascade` those of
the fitted thresholds.
"""
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

pandora, fit, test, usual, seeds = *sys.argv[1:5], int(sys.argv[5])
rows = [json.loads(line) for line in Path(fit).read_text().splitlines()]
cells = [row.get("models", row.get("arms")) for row in rows]
models = sorted(cells[0])


def log(seed: int, file: Path) -> None:
    """One decision for each prompt."""
    draw = random.Random(seed)
    with file.open("w") as out:
        for k, row in enumerate(cells):
            model = draw.choice(models) if draw.random() < 0.2 else usual
            quality = row[model].get("quality", row[model].get("reward"))
            propensity = 0.2 / len(models) + 0.8 * (model == usual)
            print(json.dumps({"prompt_id": str(k), "model": model, "quality": quality, "cost": row[model]["cost"],
                              "propensity": propensity}), file=out)  # fmt: skip


def cascade(*words: str) -> dict:
    """The output of a command."""
    return json.loads(subprocess.run([pandora, "cascade", *words, "--evaluator", "quality", "--format", "json"],
                                     capture_output=True, text=True, check=True).stdout)  # fmt: skip


def gain(price: str, table: str, *options: str) -> tuple[float, float]:
    """The gain on the test table, and the promised gain."""
    file = f"{folder}/cascade.json"
    promised = cascade("fit", table, "--price", price, "--kind", "thresholds", "--out", file, "--force", *options)
    return cascade("test", file, test, "--against", usual)["gain"]["value"], promised["promise"]["gain"]["value"]


def held(file: str, *options: str) -> bool:
    """Whether the log's interval contains the table's value."""
    told, truth = (cascade("test", file, table, "--against", usual, *more)["utility"]
                   for table, more in ((f"{folder}/log.jsonl", options), (fit, ())))  # fmt: skip
    return told["low"] <= truth["value"] <= told["high"]


with tempfile.TemporaryDirectory() as folder:
    print("price,gain_of_table,gain_of_logs,least,promised,held_single,held_cascade")
    for price in sys.argv[6:]:
        found, told, singles = [], 0, dict.fromkeys(models, 0)
        for model in models:
            cascade("fit", fit, "--price", price, "--models", model, "--out", f"{folder}/{models.index(model)}.json", "--force")
        for seed in range(seeds):
            log(seed, Path(folder, "log.jsonl"))
            found.append(gain(price, f"{folder}/log.jsonl", "--openings", "apart"))
            told += held(f"{folder}/cascade.json", "--openings", "apart")
            for model in models:
                singles[model] += held(f"{folder}/{models.index(model)}.json")
        gains, promised = zip(*found)
        numbers = gain(price, fit)[0], sum(gains) / seeds, min(gains), sum(promised) / seeds
        print(price, *(f"{x:.5f}" for x in numbers), min(singles.values()), told, sep=",", flush=True)
