"""Policies of several folders on the same tapes, step by step: regret, and ratios to two of the steps, as CSV.

usage: steps.py WORK "LABEL=FOLDER[/POLICY][,FOLDER...]"... [--best LABEL]

A step is one or more folders under WORK (with `results.h5`) and stands for the lane with the least mean regret in them, of POLICY where
it is named. `ratio` is to the first step, `ratio_to_best` to the step that --best names (default: the first). Regrets are
per period x 1000; intervals are 95%, Student's t over replications, of ratios by the jackknife over replications.
"""

import csv
import sys
from pathlib import Path

import h5py
import numpy as np
from scipy.stats import t as student


def lanes(folder: Path, policy: str):
    """(environment, reward) -> [(lane's name, regret of every replication)]."""
    found = {}
    with h5py.File(folder / "results.h5") as f:
        for group in f.values():
            curve, periods = group["curve"][..., -1], group["checkpoints"][-1]
            names = [name.decode() for name in group["lanes/name"]]
            policies = [name.decode() for name in group["lanes/policy"]]
            oracle = policies.index("oracle")
            for k, name in enumerate(names):
                if k != oracle and policy in ("", policies[k]):
                    reward = "unknown" if "/unknown" in name else "known"
                    regret = 1000 / periods * (curve[oracle] - curve[k])
                    found.setdefault((group.attrs["environment"], reward), []).append((name, regret))
    return found


def half_width(values) -> float:
    return student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5


def ratio(a, b):
    """The ratio of the means, and its half-width from leaving one replication out of both."""
    n = len(a)
    without = (a.sum() - a) / (b.sum() - b)
    return a.mean() / b.mean(), student.ppf(0.975, n - 1) * np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())


def main(arguments) -> None:
    work, arguments = Path(arguments[0]), arguments[1:]
    best_label = ""
    if "--best" in arguments:
        place = arguments.index("--best")
        best_label = arguments[place + 1]
        del arguments[place : place + 2]
    steps = {}
    for argument in arguments:
        label, _, folders = argument.rpartition("=")
        steps[label] = {}
        for item in folders.split(","):
            folder, _, policy = item.partition("/")
            for cell, found in lanes(work / folder, policy).items():
                steps[label].setdefault(cell, []).extend(found)
    first = next(iter(steps))
    least = {
        (label, cell): min(found, key=lambda lane: lane[1].mean())
        for label, cells in steps.items()
        for cell, found in cells.items()
    }
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(
        "step environment reward lane replications regret_x1000 half_width_95 ratio ratio_half_width_95 "
        "ratio_to_best ratio_to_best_half_width_95".split()
    )
    for (label, cell), (name, regret) in least.items():
        row = [label, *cell, name, len(regret), f"{regret.mean():.4f}", f"{half_width(regret):.4f}"]
        for base in first, best_label or first:
            if (base, cell) in least and len(least[base, cell][1]) == len(regret):
                row += [f"{value:.4f}" for value in ratio(regret, least[base, cell][1])]
            else:
                row += ["", ""]
        out.writerow(row)


if __name__ == "__main__":
    main(sys.argv[1:])
