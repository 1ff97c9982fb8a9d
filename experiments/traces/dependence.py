"""Whether a longer calibration helps where models' answers to a prompt depend on each other, and where they do not.

usage: dependence.py gaps FOLDER          regret against hindsight per prompt x 1000 at every T_0, and less that at the least T_0 on
                                          the same orders of prompts, as CSV; intervals are 95%, t over orders
       dependence.py correlations TABLE   of the qualities of each two models, as CSV
"""

import csv
import json
import sys
from itertools import combinations
from pathlib import Path


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


def correlations(table: Path) -> None:
    import numpy as np

    rows = [json.loads(line)["arms"] for line in table.read_text().splitlines()]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("model other correlation".split())
    for pair in combinations(rows[0], 2):
        r = np.corrcoef([[row[model]["reward"] for row in rows] for model in pair])[0, 1]
        out.writerow([*pair, f"{r:.4f}"])


if __name__ == "__main__":
    {"gaps": gaps, "correlations": correlations}[sys.argv[1]](*map(Path, sys.argv[2:]))
