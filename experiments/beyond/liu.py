#!/usr/bin/env python3
"""The table of liu.sh: mean regret x 1000 with its 95% half-width, and paired ratios to the tuned DOW. usage: liu.py WORK"""

import csv
import json
import sys
from pathlib import Path

import h5py
import numpy as np
from scipy import stats

work = Path(sys.argv[1])
writer = csv.writer(sys.stdout)
writer.writerow(["environment", "policy", "tuned", "keys", "regret_x1000", "half_width", "ratio", "ratio_half_width"])


def best(folder, environment, policy):
    """The regrets x 1000 of the policy's lane with the least mean, by replication, and its hyperparameter."""
    with h5py.File(work / folder / "results.h5") as file:
        group = file[f"{environment}_B"]
        lanes = group["lanes"]
        here = (lanes["policy"].asstr()[:] == policy) & (lanes["reward"].asstr()[:] == "known")
        utility = group["utility"][:]
        regrets = 1000 * (utility[0] - utility[here]) / group.attrs["periods"]
        least = np.argmin(regrets.mean(axis=1))
        return regrets[least], lanes["hyperparameter"].asstr()[:][here][least]


for environment in ("gaussian", "uniform", "linear"):
    plain = "plain-linear" if environment == "linear" else "plain"
    rows = []
    for policy in ("dow", "liu"):
        choice = json.loads((work / f"{environment}-{policy}.json").read_text())
        keys = next(race["run_options"] for race in choice["races"] if race["reward"] == "known")
        keys = " ".join(part.strip("'").partition(".")[2] for part in keys.split() if "=" in part)
        rows.append((policy, "yes", keys, best(f"{environment}-{policy}", environment, policy)[0]))
        regrets, hyperparameter = best(plain, environment, policy)
        rows.append((policy, "no", hyperparameter, regrets))
    rows.append(("shrunk_weitzman", "no", *best(plain, environment, "shrunk_weitzman")[::-1]))
    base = rows[0][3]
    for policy, tuned, keys, regrets in rows:
        t = stats.t.ppf(0.975, len(regrets) - 1) / np.sqrt(len(regrets))
        ratio = regrets.mean() / base.mean()
        error = np.std(regrets - ratio * base, ddof=1) / base.mean()  # delta method, on common tapes
        half, ratio_half = t * np.std(regrets, ddof=1), t * error
        writer.writerow([environment, policy, tuned, keys, *(f"{x:.6g}" for x in (regrets.mean(), half, ratio, ratio_half))])
