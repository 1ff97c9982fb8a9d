"""How much a cost depends on the output, given the request, in the paper's regime B, as CSV (docs/findings.md).

usage: output-costs.py [REPLICATIONS]     (numpy alone: the law of Section 6, without the program)

c_a(x, omega) = c_{0,a} G(beta_{0,a}' x) + c_{1,a} G(beta_{1,a}' |omega|). `mean_G` is the mean of the last G; `deviation_over_mean` that of the
standard deviation of a cost given x over its mean, over boxes, 20 contexts and replications, each from 2,000 shocks; `centred` has
beta_{1,a} = 8 (v - vbar) / |v - vbar|. Half-widths are 95%, t over replications.
"""

import csv
import sys

import numpy as np
from scipy.stats import t as student

BOXES, SIZE, CONTEXTS, SHOCKS = 3, 100, 20, 2000


def shocks(law: str, rng: np.random.Generator):
    if law == "uniform":
        return rng.uniform(-1, 1, (SHOCKS, SIZE))
    found = np.empty((0, SIZE))
    while len(found) < SHOCKS:
        if law == "gaussian":
            drawn, radius = rng.standard_normal((SHOCKS, SIZE)), 11.65
        else:
            drawn, radius = np.sqrt(0.6) * rng.standard_t(5, (SHOCKS, SIZE)), 13.56
        found = np.concatenate([found, drawn[np.linalg.norm(drawn, axis=1) <= radius]])
    return found[:SHOCKS]


def logistic(z):
    return 1 / (1 + np.exp(-z))


def half_width(values) -> float:
    return student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5


def main(replications: int) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("environment output_costs replications mean_G deviation_over_mean half_width_95".split())
    for law in "uniform", "gaussian", "student_t5":
        for kind in "paper", "centred":
            rng, level, spread = np.random.default_rng(1), [], []
            for _ in range(replications):
                xi, x = np.abs(shocks(law, rng)), rng.uniform(-1, 1, (CONTEXTS, SIZE))
                ratios, means = [], []
                for _ in range(BOXES):
                    alpha, beta0, v = (v / np.linalg.norm(v) for v in rng.uniform(0, 1, (3, SIZE)))
                    beta1 = v if kind == "paper" else 8 * (v - v.mean()) / np.linalg.norm(v - v.mean())
                    c0, c1 = rng.uniform(0, 1, 2)
                    part = logistic(np.outer(0.5 + logistic(x @ alpha), xi @ beta1))
                    cost = c0 * logistic(x @ beta0)[:, None] + c1 * part
                    ratios.append((cost.std(axis=1) / cost.mean(axis=1)).mean())
                    means.append(part.mean())
                spread.append(np.mean(ratios))
                level.append(np.mean(means))
            out.writerow([law, kind, replications, f"{np.mean(level):.5f}", f"{np.mean(spread):.6f}", f"{half_width(spread):.6f}"])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
