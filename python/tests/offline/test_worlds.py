"""Compares promises with the truth of made-up worlds (tests/worlds): one of each kind, or 40 with
PANDORA_WORLDS=all.
"""

from __future__ import annotations

import os
import sys
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "worlds"))

import promises
from laws import WORLDS, Law, one_call, sides, tosses

COUNT = 40 if os.environ.get("PANDORA_WORLDS") == "all" else 1
LAWS = list(dict.fromkeys(world.law for world in WORLDS.values()))


@pytest.mark.parametrize("name", WORLDS)
def test_promises_hold_the_truth(name: str) -> None:
    line = promises.line(name, [promises.outcome((name, number)) for number in range(COUNT)])
    assert line.endswith(",yes"), f"{promises.HEADER}\n{line}"


@pytest.mark.parametrize(("name", "number"), [("null-routed", 2), ("null-routed", 6), ("tosses", 13)])
def test_dollars_are_those_of_the_deployed_policy(name: str, number: int) -> None:
    """The fits of folds may have dearer or cheaper plans by chance, so their dollars alone do not count."""
    assert promises.outcome((name, number)).usd


@pytest.mark.parametrize("law", LAWS, ids=lambda law: str(law.__name__))
def test_exact_draws_have_the_means_of_drawn_answers(law: Law) -> None:
    """This also holds for products with values that policies see: a model's score, and another model's answer."""

    def moments(exact: bool) -> list[np.ndarray]:
        found = law(np.random.default_rng(exact), 40_000, exact)
        seen = [found.score, found.quality[:, :1]] if law is not sides else []  # routers see no scores
        return [found.quality, *(found.quality[:, -1:] * of for of in seen), found.usd]

    for exact, drawn in zip(moments(True), moments(False)):
        error = np.hypot(exact.std(axis=0), drawn.std(axis=0)) / 100.0  # over 10,000 sessions
        assert np.all(np.abs(exact.mean(axis=0) - drawn.mean(axis=0)) <= 4.0 * error)


def test_logs_have_the_probabilities_that_they_tell() -> None:
    draw = np.random.default_rng(5)
    for recorded in (one_call, tosses):
        world = next(world for world in WORLDS.values() if world.recorded is recorded)
        found = recorded(draw, world.law(draw, 20_000, False))
        decisions, models = len(set(found["prompt_id"])), np.array(found["model"])
        assert decisions == (20_000 if recorded is one_call else pytest.approx(0.875 * 20_000, rel=0.01))
        for model in set(models):
            assert np.sum(1.0 / found["propensity"][models == model]) == pytest.approx(20_000, rel=0.05)


def test_a_world_follows_from_its_name_and_number() -> None:
    one, again = (astuple(promises.outcome(("router", 3)))[1:] for _ in range(2))
    assert one == again
    digests = {promises.table(name, number).digest() for name in ("ordinary", "heavy") for number in (0, 1, 0)}
    assert len(digests) == 4


def test_the_truth_hardly_depends_on_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the null worlds the values of single models are known, and their gains are 0."""
    found = []
    for number in (10**9, 10**9 + 1):
        monkeypatch.setattr(promises, "FRESH", number)
        quality, usd = promises.table("ordinary", number).quality().mean(axis=0), promises.table("null-auto", number)
        found.append(quality)
        assert usd.cost().mean(axis=0) == pytest.approx(0.001)
        assert usd.quality().mean(axis=0) == pytest.approx(0.7, abs=0.004)
    assert found[0] == pytest.approx(found[1], abs=0.004)
