"""How much DOW's regret depends on a ridge: ratios to one value of it, lane by lane, as CSV.

usage: ridges.py BASE LABEL=FOLDER...     (folders of a study that varies one ridge; BASE is the value that ratios are to)
       ridges.py bound                    what the proof of the theorem minimises, without constants, as ratios

Intervals are 95%: jackknife over replications and Student's t.
"""

import csv
import sys
from pathlib import Path

import h5py
import numpy as np
from scipy.stats import t as student


def regrets(folder: Path):
    """(ridge, lane) -> regret per period x 1000 of every replication."""
    found = {}
    with h5py.File(folder / "results.h5") as f:
        for setting in f.values():
            for group in setting.values():
                (ridge,) = (float(value) for key, value in group.attrs.items() if key.startswith("vary."))
                curve, periods = group["curve"][..., -1], group["checkpoints"][-1]
                for k, name in enumerate(group["lanes/name"]):
                    if "oracle" not in name.decode():
                        found[ridge, name.decode()] = 1000 / periods * (curve[0] - curve[k])
    return found


def ratio(a, b):
    n = len(a)
    without = (a.sum() - a) / (b.sum() - b)
    return a.mean() / b.mean(), student.ppf(0.975, n - 1) * np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())


def bound(eta_0: float, eta_1: float, A: int = 3, m: int = 101, d: int = 10) -> float:
    return (
        d * np.sqrt(1 + 1 / eta_0)
        + np.sqrt(eta_0)
        + A * np.sqrt(m * (1 + 1 / eta_1)) * (np.sqrt(m + eta_1) + np.sqrt(d) + np.sqrt(eta_0))
    )


def main(base: str, *arguments: str) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    if base == "bound":
        out.writerow(["which", "ridge", "ratio"])
        for ridge in 0.1, 1, 10, 100, 1000:
            out.writerow(["eta_1", ridge, f"{bound(0.33, ridge) / bound(0.33, 10):.4f}"])
        for ridge in 0.0033, 0.033, 0.33, 3.3, 33:
            out.writerow(["eta_0", ridge, f"{bound(ridge, 10) / bound(0.33, 10):.4f}"])
        return
    out.writerow("which lane ridge replications regret_x1000 ratio ratio_half_width_95".split())
    for argument in arguments:
        label, _, folder = argument.rpartition("=")
        found = regrets(Path(folder))
        for (ridge, lane), values in found.items():
            mean, half = ratio(values, found[float(base), lane])
            out.writerow([label, lane.split("/", 1)[1], ridge, len(values), f"{values.mean():.4f}", f"{mean:.4f}", f"{half:.4f}"])


if __name__ == "__main__":
    main(*sys.argv[1:])
