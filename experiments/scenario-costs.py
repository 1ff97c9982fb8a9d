#!/usr/bin/env python3
"""What each scenario of a study costs each policy: its regret less that of the same policy in another scenario, replication by replication.

usage: scenario-costs.py FOLDER [--less LANE]... [--t0 T0]... [--utility]     FOLDER is what `pandora run` wrote; needs h5py and scipy

A LANE is SCENARIO/POLICY/REWARD, where * stands for the row's own: `base/*/*`, which is the default, sets each lane against itself in the
scenario `base`; `swap/dow/unknown` sets every lane against that one. CSV, regrets per period x 1000: the mean and
the paired difference with 95% intervals by Student's t, and in how many replications the two differ at all. --utility: utilities in
place of regrets, also those of the benchmark.
"""

import argparse
import csv
import sys

import h5py
import numpy as np
from scipy.stats import t

COLUMNS = (
    "environment,regime,T0,scenario,policy,reward,replications,regret_x1000,half_width_95_x1000,queries_per_period,"
    "queries_per_period_half_width_95,less,difference_x1000,difference_half_width_95_x1000,replications_that_differ"
)


def read_cells(path, of_utility):
    """(environment, regime, T0) -> (scenario, policy, reward) -> (regrets or utilities x 1000, openings per period), by replication."""
    cells = {}
    with h5py.File(path) as file:
        for setting in file.values():
            for group in setting.values():
                if "vary.scenario" not in group.attrs:
                    sys.exit("scenario-costs: the study has no scenarios")
                text = {name: group[f"lanes/{name}"].asstr()[:] for name in ("policy", "reward")}
                periods = group.attrs["periods"]
                utility, queries = group["utility"][:], group["queries_of_box"][:].sum(axis=2) / periods
                failed = group["failure"][:] != 0
                value = utility if of_utility else utility[0] - utility
                regret = np.where(failed | failed[0], np.nan, 1000 * value / periods)
                starts = sorted(set(group["lanes/T0"][:].tolist()))
                for lane, start in enumerate(group["lanes/T0"][:].tolist()):
                    if not group["lanes/best"][lane] and not (of_utility and lane == 0):
                        continue
                    key = group.attrs["vary.scenario"], text["policy"][lane], text["reward"][lane]
                    for T0 in [start] if group["lanes/calibrates"][lane] else starts:
                        cell = cells.setdefault((group.attrs["environment"], group.attrs["regime"], T0), {})
                        cell[key] = regret[lane], queries[lane]
    return cells


def mean_and_error(values):
    values = values[~np.isnan(values)]
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return len(values), values.mean(), error


def half(n, error):
    """Half of the width of the 95% interval."""
    return t.ppf(0.975, n - 1) * error if n > 1 else np.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--less", action="append", default=[])
    parser.add_argument("--t0", action="append", type=int, default=[])
    parser.add_argument("--utility", action="store_true")
    options = parser.parse_args()

    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow((COLUMNS.replace("regret", "utility") if options.utility else COLUMNS).split(","))
    for (environment, regime, T0), lanes in sorted(read_cells(f"{options.folder}/results.h5", options.utility).items()):
        if options.t0 and T0 not in options.t0:
            continue
        for less in options.less or ["base/*/*"]:
            for key, (regret, queries) in lanes.items():
                other = tuple(own if named == "*" else named for named, own in zip(less.split("/"), key, strict=True))
                n, mean, error = mean_and_error(regret)
                opened_n, opened, opened_error = mean_and_error(queries)
                row = [environment, regime, T0, *key, n, f"{mean:.6f}", f"{half(n, error):.6f}", f"{opened:.6f}", f"{half(opened_n, opened_error):.6f}"]
                if other in lanes and other != key:
                    difference = regret - lanes[other][0]
                    n, mean, error = mean_and_error(difference)
                    row += ["/".join(other), f"{mean:.6f}", f"{half(n, error):.6f}", int((np.abs(difference) > 1e-9).sum())]
                else:
                    row += ["", "", "", ""]
                rows.writerow(row)


if __name__ == "__main__":
    main()
