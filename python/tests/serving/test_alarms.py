"""Alarms in a database go on to the last digit, and say how many feedbacks they need."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pandora.serving import Monitor


def test_a_monitor_that_is_saved_goes_on_to_the_last_digit() -> None:
    draw, requests = np.random.default_rng(3), 3000
    models, control = draw.choice(3, size=requests, p=[0.5, 0.3, 0.2]), draw.random(requests) < 0.1
    estimated = draw.uniform(0.2, 0.9, requests)
    quality = np.clip(estimated + draw.normal(0.0, 0.2, requests) - 0.2 * (np.arange(requests) > 2000), 0.0, 1.0)
    whole = Monitor(["a", "b", "c"], price=1.0, against="c", share=0.1)
    saved = Monitor(["a", "b", "c"], price=1.0, against="c", share=0.1)
    for k in range(requests):
        seen = "abc"[models[k]], float(estimated[k]), float(quality[k]), 0.01, bool(control[k])
        whole.see(*seen)
        saved.see(*seen)
        if k % 70 == 0:
            saved = Monitor.restored(json.loads(json.dumps(saved.saved())))
            assert saved.state() == whole.state()
    assert saved.saved() == whole.saved() and len(whole.alarms) >= 3


@pytest.mark.parametrize(("spread", "before"), [(0.1, 500), (0.25, 2000)])
def test_nine_in_ten_falls_are_told_after_as_many_feedbacks_as_it_says(spread: float, before: int) -> None:
    sure, told, says = 0.25 / spread**2 - 1.0, [], []
    for seed in range(40):
        draw, monitor = np.random.default_rng(seed), Monitor(["a"], price=1.0)
        mean = draw.uniform(0.3, 0.9, before + 1500)
        mean[before:] -= 0.1
        quality = draw.beta(sure * mean, sure * (1.0 - mean))
        mean[before:] += 0.1
        for k in range(before):
            monitor.see("a", float(mean[k]), float(quality[k]), 0.01)
        says.append(monitor.state()["models"]["a"]["feedbacks_for_a_fall_of_0.1"])
        for k in range(before, len(mean)):
            monitor.see("a", float(mean[k]), float(quality[k]), 0.01)
            if monitor.alarms:
                break
        told.append(k + 1 - before)
    assert 0.8 * np.mean(says) < np.quantile(told, 0.9) < 1.2 * np.mean(says)


def test_feedbacks_that_are_needed_are_fewer_behind_many() -> None:
    needed = []
    for count in (0, 200, 1000, 4000):
        draw, monitor = np.random.default_rng(1), Monitor(["a"], price=1.0)
        for quality in draw.beta(2.0, 2.0, count):
            monitor.see("a", 0.5, float(quality), 0.01)
        needed.append(monitor.state()["models"]["a"]["feedbacks_for_a_fall_of_0.1"])
    assert needed[0] > needed[1] >= needed[2] > needed[3] > 100
