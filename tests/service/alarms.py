#!/usr/bin/env python3
"""How often a Monitor gives an alarm where nothing changes, and how soon where one of three models falls: the figures of docs/serving.md.
usage: alarms.py RUNS      (python of `make python`; 400 runs take four minutes)
"""
import sys

import numpy as np

from pandora.serving import Monitor

CHANGE = 4000


def alarmed(seed, requests, fall):
    """The request at which there was an alarm, or None; from CHANGE on answers of "a" are worse by `fall`."""
    draw, monitor = np.random.default_rng(seed), Monitor(["a", "b", "c"], price=1.0, alpha=0.05, against="c", share=0.1)
    models, estimated = draw.choice(3, size=requests, p=[0.5, 0.3, 0.2]), draw.uniform(0.2, 0.9, requests)
    control = draw.random(requests) < 0.1
    quality = estimated + draw.normal(0, 0.25, requests)
    for k in range(requests):
        model = 2 if control[k] else models[k]
        seen = quality[k] - (fall if k >= CHANGE and model == 0 else 0.0)
        monitor.see("abc"[model], estimated[k], min(1.0, max(0.0, seen)), 0.01, bool(control[k]))
        if monitor.alarms:
            return k
    return None


runs = int(sys.argv[1])
false_alarms = sum(alarmed(seed, 20_000, 0.0) is not None for seed in range(runs))
waits = [at - CHANGE for at in (alarmed(1000 + seed, CHANGE + 2000, 0.1) for seed in range(100)) if at is not None]
print(f"no change: {false_alarms} of {runs} runs with an alarm; a fall of 0.1: told within 1,500 requests in "
      f"{sum(0 <= wait <= 1500 for wait in waits)} of 100, after {np.median(waits):.0f} in the median")
