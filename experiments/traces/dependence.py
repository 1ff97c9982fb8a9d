"""Whether a longer calibration helps where models' answers to a prompt depend on each other, and where they do not.

usage: dependence.py tables TABLES WORK    puts the study and its tables into WORK: ParetoBandit's, and the same with the rows of
                                           each model permuted over the prompts, by itself
       dependence.py gaps FOLDER           regret against hindsight per prompt x 1000 at every T_0, and less that at the least T_0
                                           on the same orders of prompts, as CSV; intervals are 95%, t over orders
       dependence.py correlations WORK     of the qualities of each two models, as CSV
"""

import csv
import json
import random
import shutil
import sys
from itertools import combinations
from pathlib import Path

PARTS = "val", "test"


def rows(path: Path):
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def tables(source: Path, work: Path) -> None:
    work.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).with_name("dependence.toml"), work)
    draws = random.Random(1)
    for part in PARTS:
        name = f"paretobandit_{part}_k4.jsonl"
        shutil.copy(source / name, work)
        found = rows(source / name)
        kept = [row["arms"] for row in found]
        for row in found:
            row["arms"] = {}
        for model in kept[0]:
            places = list(range(len(kept)))
            draws.shuffle(places)
            for row, place in zip(found, places):
                row["arms"][model] = kept[place][model]
        (work / f"permuted_{part}_k4.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))


def gaps(folder: Path) -> None:
    import h5py
    import numpy as np
    from scipy.stats import t as student

    def half_width(values):
        return student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5

    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("environment policy reward T0 orders gap_x1000 half_width_95 less_least less_least_half_width_95".split())
    with h5py.File(folder / "results.h5") as f:
        for group in f.values():
            curve, periods = group["curve"][..., -1], group["checkpoints"][-1]
            policies = [name.decode() for name in group["lanes/policy"]]
            names = [name.decode() for name in group["lanes/name"]]
            T0 = group["lanes/T0"][:]
            hindsight = policies.index("oracle")  # the benchmark
            found = {}
            for k, name in enumerate(policies):
                if k != hindsight:
                    reward = "unknown" if "/unknown" in names[k] else "known"
                    found[name, reward, int(T0[k])] = 1000 / periods * (curve[hindsight] - curve[k])
            for (name, reward, t0), values in found.items():
                first = min(t for n, r, t in found if (n, r) == (name, reward))
                row = [group.attrs["environment"], name, reward, t0, len(values), f"{values.mean():.4f}", f"{half_width(values):.4f}"]
                less = values - found[name, reward, first]
                out.writerow(row + ([f"{less.mean():.4f}", f"{half_width(less):.4f}"] if t0 != first else ["", ""]))


def correlations(work: Path) -> None:
    import numpy as np

    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("table model other correlation".split())
    for kind in "paretobandit", "permuted":
        found = rows(work / f"{kind}_test_k4.jsonl")
        for a, b in combinations(found[0]["arms"], 2):
            r = np.corrcoef([[row["arms"][model]["reward"] for row in found] for model in (a, b)])[0, 1]
            out.writerow([kind, a, b, f"{r:.4f}"])


if __name__ == "__main__":
    {"tables": tables, "gaps": gaps, "correlations": correlations}[sys.argv[1]](*map(Path, sys.argv[2:]))
