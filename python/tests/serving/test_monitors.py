"""Alarms: how often they are false, how soon they come after a change, and that they go on where they were saved."""

from __future__ import annotations

import json
from typing import Any, Optional

import numpy as np
import pytest

import pandora
from pandora.serving import Monitor
from pandora.serving.monitor import _Difference


def alarmed(seed: int, requests: int, change: Optional[tuple[int, float]] = None) -> Optional[int]:
    """The request of the first alarm. From the request in `change` on, answers of "a" differ by the given amount."""
    draw = np.random.default_rng(seed)
    monitor = Monitor(["a", "b", "c"], price=1.0)
    models = draw.choice(3, size=requests, p=[0.5, 0.3, 0.2])
    estimated = draw.uniform(0.2, 0.9, requests)
    quality = estimated + draw.normal(0.0, 0.25, requests)
    for k in range(requests):
        if change is not None and k >= change[0] and models[k] == 0:
            quality[k] += change[1]
        monitor.see("abc"[models[k]], estimated[k], float(np.clip(quality[k], 0.0, 1.0)), 0.01)
        if monitor.alarms:
            assert "a are" in monitor.alarms[0] or change is None
            return k
    return None


def test_a_fall_is_told_soon_and_nothing_is_told_without_one() -> None:
    told = [alarmed(seed, 3500, (2000, -0.1)) for seed in range(20)]
    assert sum(t is not None and t >= 2000 for t in told) >= 17
    told = [alarmed(seed, 3500, (2000, 0.15)) for seed in range(10)]
    assert sum(t is not None and t >= 2000 for t in told) >= 8
    assert sum(alarmed(seed, 3000) is not None for seed in range(100, 140)) <= 5  # at most 2 are expected


def test_the_difference_lies_in_all_intervals() -> None:
    missed, widths = 0, []
    for seed in range(60):
        draw = np.random.default_rng(seed)
        difference = _Difference(share=0.2, alpha=0.05)
        bad = False
        for control in draw.random(2500) < 0.2:
            difference.see(bool(control), float(draw.uniform(0.0, 1.0) - 0.1 * control))
            _, low, high = difference.interval
            bad |= not low <= 0.1 <= high
        missed += bad
        widths.append(high - low)
    assert missed <= 8  # at most 3 are expected; 8 is three standard errors more
    assert max(widths) < 0.25


def test_a_cascade_that_is_worse_than_a_model_is_told() -> None:
    draw = np.random.default_rng(1)
    monitor = Monitor(["a", "b"], price=1.0, against="b", share=0.3)
    for k in range(4000):
        control = monitor.is_control(k)
        monitor.see("b" if control else "a", 0.5, float(draw.uniform(0.3, 0.7) + 0.2 * control), 0.01, control)
        if monitor.alarms:
            break
    assert any("worse than b alone" in alarm for alarm in monitor.alarms)
    low, high = (monitor.state()["cascade_less"][name] for name in ("low", "high"))
    assert Monitor(["a", "b"], price=1.0, against="b").state()["cascade_less"]["low"] is None
    assert low < -0.2 < high < 0.0
    assert abs(np.mean([monitor.is_control(k) for k in range(20_000)]) - 0.3) < 0.02


def test_settings_that_are_none_are_refused() -> None:
    wrongs: list[dict[str, Any]] = [{"models": []}, {"models": "small"}, {"models": ["a", "a"]}, {"price": -1}]
    for wrong in [*wrongs, {"price": float("nan")}, {"alpha": 0}, {"against": "z"}]:
        with pytest.raises(pandora.UsageError, match="Monitor: " + next(iter(wrong))):
            Monitor(**{"models": ["a", "b"], "price": 1.0, **wrong})


def test_answers_that_are_nearly_always_right_give_no_false_alarms() -> None:
    told = 0
    for seed in range(40):
        draw, monitor = np.random.default_rng(seed), Monitor(["a", "b", "c"], 1.0)
        for right in draw.random(4000) < 0.99:
            monitor.see("a", 0.99, float(right), 0.0)
        told += bool(monitor.alarms)
    assert told <= 4


def test_a_monitor_that_is_saved_goes_on_to_the_last_digit() -> None:
    draw, requests = np.random.default_rng(3), 3000
    models, control = draw.choice(3, size=requests, p=[0.5, 0.3, 0.2]), draw.random(requests) < 0.1
    estimated = draw.uniform(0.2, 0.9, requests)
    quality = np.clip(estimated + draw.normal(0.0, 0.2, requests) - 0.2 * (np.arange(requests) > 2000), 0.0, 1.0)
    whole, saved = (Monitor(["a", "b", "c"], price=1.0, against="c", share=0.1) for _ in range(2))
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
