#!/usr/bin/env python3
"""Measures how often a Monitor gives a false alarm, and how soon it notices that one of three models falls.
usage: alarms.py RUNS      (python of `make python`)

README.md has the results of 400 runs, and docs/operating.md uses them.
"""
import sys

import numpy as np

from pandora.serving import Monitor

MODELS = ["a", "b", "c"]


def alarmed(seed, requests, change=None, share=1.0):
    """The request of the first alarm, or None. From the request `change` on, answers of "a" are worse by 0.1.

    `share`: the share of requests that have feedback.
    """
    draw, monitor = np.random.default_rng(seed), Monitor(MODELS, price=1.0, alpha=0.05, against="c", share=0.1)
    models, estimated = draw.choice(3, size=requests, p=[0.5, 0.3, 0.2]), draw.uniform(0.2, 0.9, requests)
    control, heard = draw.random(requests) < 0.1, draw.random(requests) < share
    quality = estimated + draw.normal(0, 0.25, requests)
    for k in np.flatnonzero(heard):
        model = 2 if control[k] else models[k]
        seen = quality[k] - (0.1 if change is not None and k >= change and model == 0 else 0.0)
        monitor.see("abc"[model], estimated[k], min(1.0, max(0.0, seen)), 0.01, bool(control[k]))
        if monitor.alarms:
            return k
    return None


def feedbacks(seed, spread, before, most=20_000):
    """The number of feedbacks until a fall by 0.1 is reported, and the number that the monitor predicted.

    `before`: feedbacks before the fall. `spread`: the standard deviation of quality if its mean is 0.5; with a spread
    of 0.5, answers are right or wrong.
    """
    draw, monitor, n = np.random.default_rng(seed), Monitor(MODELS, price=1.0), before + most
    expected = draw.uniform(0.2, 0.9, n)
    mean = expected - 0.1 * (np.arange(n) >= before)
    sure = 0.25 / spread**2 - 1.0
    quality = draw.beta(sure * mean, sure * (1.0 - mean)) if sure > 0.0 else draw.random(n) < mean
    for k in range(n):
        if k == before:
            says = monitor.state()["models"]["a"]["feedbacks_for_a_fall_of_0.1"]
        monitor.see("a", expected[k], float(quality[k]), 0.01)
        if monitor.alarms:
            return k + 1 - before, says if k >= before else 0
    return np.inf, says


def main(runs):
    false_alarms = sum(alarmed(seed, 20_000) is not None for seed in range(runs))
    print(f"no change: {false_alarms} of {runs} runs of 20,000 requests with an alarm\n")
    print("| feedback | requests before the fall | told after, median | 90% | requests, median | 90% |\n" + "|---" * 6 + "|")
    for share, change in ((1.0, 4000), (0.05, 4000), (0.05, 80_000)):
        most = 4000 if share == 1.0 else 300_000
        found = [alarmed(1000 + seed, change + most, change, share) for seed in range(runs // 4)]
        waits = [np.inf if at is None else at - change for at in found if at is None or at >= change]
        median, most = np.median(waits), np.quantile(waits, 0.9, method="higher")
        of_a = 0.45 * share  # the control takes a tenth of the requests
        print(f"| {share:.0%} | {change:,} | {of_a * median:.0f} feedbacks of the model | {of_a * most:.0f} | {median:,.0f} "
              f"| {most:,.0f} |", flush=True)
    print("\n| deviation of quality | feedbacks before the fall | median | 90% | the monitor said |\n" + "|---" * 5 + "|")
    for spread in (0.1, 0.25, 0.5):
        for before in (200, 500, 1000, 2000, 4000):
            found = np.array([feedbacks(seed, spread, before) for seed in range(runs // 4)])
            found = found[found[:, 0] > 0]
            print(f"| {spread} | {before} | {np.median(found[:, 0]):.0f} | {np.quantile(found[:, 0], 0.9, method='higher'):.0f} "
                  f"| {np.mean(found[:, 1]):.0f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
