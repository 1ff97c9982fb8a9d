"""Whether DOW's widths cover, and the decomposition of its regret, period by period: what `pandora explain` tells, as CSV.

usage: widths.py [REPLICATIONS]      (the program is `pandora`, or $PANDORA)

One row per lane of experiments/theory/widths.toml. `constant` is the largest |error| / width over boxes, periods and replications,
over sqrt(m log T). A period is optimistic where the index estimate of every box and the estimated value of every opened output, with
their bonuses, are at least the true ones. The bound is the theorem's: estimated value less value of the deployed output, and estimated
index less index summed over opened boxes. `covered` is the share of opened outputs whose estimated value is at least the true one;
half-widths are 95%, t over replications.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy.stats import t as student

STUDY = Path(__file__).with_name("widths.toml")
LANES = [
    ("known", "c_rho=0.1"),
    ("known", "c_rho=2"),
    ("unknown", "c_rho=0.1;c_theta=0.1"),
    ("unknown", "c_rho=2;c_theta=1"),
    ("unknown", "c_rho=0.1;c_theta=1"),
    ("unknown", "c_rho=0.1;c_theta=3"),
    ("unknown", "c_rho=0.1;c_theta=10"),
]
COLUMNS = (
    "reward lane replications largest_error_over_width constant optimistic_percent regret_there_x1000 bound_there_x1000 "
    "bound_over_regret regret_x1000 regret_half_width_95 covered_percent covered_half_width_95 covered_late_percent"
).split()


def explain(reward: str, lane: str, replication: int) -> list:
    command = [shutil.which("pandora") or os.environ["PANDORA"], "explain", str(STUDY), "--period", "1:5000", "--format", "json"]
    command += ["--lane", f"linear/B/{replication}/0/dow/{reward}/{lane}"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["periods"]


def half_width(values) -> float:
    return student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5


def main(replications: int) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    for reward, lane in LANES:
        largest, optimistic, regret, bound, everywhere, covered, late = [], [], [], [], [], [], []
        for replication in range(replications):
            periods = explain(reward, lane, replication)
            T, m = len(periods), len(periods[0]["psi"])
            sigma, prediction, width, bonus = (
                np.array([[box[name] for box in p["boxes"]] for p in periods])
                for name in ("sigma", "prediction", "width", "bonus")
            )
            error = prediction - np.arctanh(sigma)
            largest.append(np.max(abs(error) / width))
            opened = [p["policy"]["queries"] for p in periods]
            good = (error + bonus >= 0).all(axis=1) & [all(q["estimate"] >= q["mu"] for q in queries) for queries in opened]
            optimistic.append(100 * good.mean())
            everywhere.append(1000 * periods[-1]["regret_so_far"] / T)
            above = [np.mean([q["estimate"] >= q["mu"] for q in queries]) for queries in opened]
            covered.append(100 * np.mean(above))
            late.append(100 * np.mean(above[T // 2 :]))
            for p, is_good, score in zip(periods, good, np.tanh(prediction + bonus)):
                if is_good:
                    regret.append(1000 * p["regret"])
                    by_box = {q["box"]: q for q in p["policy"]["queries"]}
                    deployed = by_box[p["policy"]["deployed"]]
                    over = sum(score[b - 1] - p["boxes"][b - 1]["sigma"] for b in by_box)
                    bound.append(1000 * (deployed["estimate"] - deployed["mu"] + over))
        known = reward == "known"
        numbers = [np.max(largest), np.max(largest) / np.sqrt(m * np.log(T)), np.mean(optimistic), np.mean(regret), np.mean(bound)]
        numbers += [np.mean(bound) / np.mean(regret), np.mean(everywhere), half_width(everywhere)]
        numbers += ["", "", ""] if known else [np.mean(covered), half_width(covered), np.mean(late)]
        out.writerow([reward, lane, replications, *(n if n == "" else f"{n:.5g}" for n in numbers)])
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
