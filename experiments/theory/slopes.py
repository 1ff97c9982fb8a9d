"""Slopes of cumulative regret on logarithms, with 95% intervals of the jackknife over replications and Student's t, as CSV.

usage: slopes.py time FOLDER...              in T: over the last decade of the horizon, the one before, and their difference
       slopes.py size KEY VALUE,VALUE... WORK   in a size: of the regret at the horizon of the folders WORK/KEY=VALUE
       slopes.py powers T                    of log(T)^2, log(T)^3 and sqrt(T) over the same two decades

The folders hold `results.h5`. `per_period` is the regret x 1000 per period in the last decade.
"""

import csv
import sys
from pathlib import Path

import h5py
import numpy as np
from scipy.stats import t as student


def lanes(folder: Path):
    """(environment, regime, policy, reward) -> (checkpoints, cumulative regret: replication x checkpoint)."""
    found = {}
    with h5py.File(folder / "results.h5") as f:
        for group in f.values():
            curve, t = group["curve"][:], group["checkpoints"][:]
            policies = [name.decode() for name in group["lanes/policy"]]
            oracle = policies.index("oracle")
            for k, name in enumerate(group["lanes/name"]):
                if k != oracle:
                    reward = "unknown" if "/unknown" in name.decode() else "known"
                    key = (group.attrs["environment"], group.attrs["regime"], policies[k], reward)
                    assert key not in found, f"{folder} has several lanes of {key}"
                    found[key] = t, curve[oracle] - curve[k]
    return found


def jackknife(estimate, *samples):
    """estimate(mean of each sample) and half-widths; replications are left out of all samples together."""
    n = len(samples[0])
    without = np.array([estimate(*(np.delete(s, r, axis=0).mean(axis=0) for s in samples)) for r in range(n)])
    half = student.ppf(0.975, n - 1) * np.sqrt((n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    return np.atleast_1d(estimate(*(s.mean(axis=0) for s in samples))), np.atleast_1d(half)


def slope(x, y) -> float:
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def decades(t):
    return [(t >= t[-1] / 10 ** (k + 1)) & (t <= t[-1] / 10**k) for k in (1, 0)]


def main(kind: str, *arguments: str) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    if kind == "time":
        what = ["before", "last", "change", "per_period"]
        out.writerow("folder environment regime policy reward replications horizon".split() + [n for w in what for n in (w, f"{w}_half_width_95")])
        for folder in map(Path, arguments):
            for key, (t, regret) in lanes(folder).items():

                def estimate(mean):
                    before, last = (slope(t[d], mean[d]) for d in decades(t))
                    rate = 1e3 * (mean[-1] - np.interp(t[-1] / 10, t, mean)) / (0.9 * t[-1])
                    return np.array([before, last, last - before, rate])

                pairs = zip(*jackknife(estimate, regret))
                out.writerow([folder.name, *key, len(regret), t[-1], *(f"{n:.4f}" for pair in pairs for n in pair)])
    elif kind == "size":
        name, values, work = arguments[0], arguments[1].split(","), Path(arguments[2])
        out.writerow("size policy reward replications slope slope_half_width_95".split())
        found = [lanes(work / f"{name}={value}") for value in values]
        size = np.array([float(value) + (name == "context") for value in values])
        symbol = {"context": "m", "boxes": "A", "reward_features": "d"}[name]
        for key in found[0]:
            ends = [folder[key][1][:, -1] for folder in found]
            (estimate,), (half,) = jackknife(lambda *means: slope(size, means), *ends)
            out.writerow([symbol, *key[2:], len(ends[0]), f"{estimate:.4f}", f"{half:.4f}"])
    else:
        T = float(arguments[0])
        t = np.unique(np.logspace(np.log10(T / 100), np.log10(T), 200))
        out.writerow("function before last".split())
        for name, y in ("log(T)^2", np.log(t) ** 2), ("log(T)^3", np.log(t) ** 3), ("sqrt(T)", np.sqrt(t)):
            out.writerow([name, *(f"{slope(t[d], y[d]):.4f}" for d in decades(t))])


if __name__ == "__main__":
    main(*sys.argv[1:])
