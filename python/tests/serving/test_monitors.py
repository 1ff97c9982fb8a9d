"""Alarms: how often they are false, and how soon they come after a change."""

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


def test_it_is_saved_and_goes_on_to_the_same_bytes() -> None:
    draw = np.random.default_rng(1)
    steady = Monitor(["a", "b"], price=1.0, against="b", share=0.3)
    moved = Monitor.restored(json.loads(json.dumps(steady.saved())))
    for k in range(1500):
        seen = "ab"[k % 2], 0.9, float(draw.random() < 0.9 - 0.5 * (k > 700)), 0.01, bool(k % 2)
        for one in (steady, moved):
            one.see(*seen)
        if k % 97 == 0:
            moved = Monitor.restored(json.loads(json.dumps(moved.saved())))
    assert json.dumps(moved.saved()) == json.dumps(steady.saved()) and moved.state() == steady.state()
    assert moved.alarms


def test_answers_that_are_nearly_always_right_give_no_false_alarms() -> None:
    told = 0
    for seed in range(40):
        draw, monitor = np.random.default_rng(seed), Monitor(["a", "b", "c"], 1.0)
        for right in draw.random(4000) < 0.99:
            monitor.see("a", 0.99, float(right), 0.0)
        told += bool(monitor.alarms)
    assert told <= 4
