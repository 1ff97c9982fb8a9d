"""Worlds whose truth is known: laws of prompts and answers, and the tables and logs that record them.

An answer is right (quality 1) or wrong (0). A judge's score is 1 / (1 + exp(-z)), with z normal around +-sharp, so that
the probability of a right answer follows from its score. A law is drawn in two ways. A usual draw is like a table. An
`exact` draw replaces qualities and dollars by their expectations given all that a policy can see. Means over exact
draws are the truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Answers:
    """The answers of all models to all prompts, rows x models. `columns`: features of the prompts, by name."""

    quality: Floats
    usd: Floats
    score: Floats
    columns: Mapping[str, Floats | list[str]]


#: Takes a generator, a number of prompts, and whether the draw is exact.
Law = Callable[[np.random.Generator, int, bool], Answers]
Recorder = Callable[[np.random.Generator, Answers], Mapping[str, Any]]


def answers(
    draw: np.random.Generator,
    exact: bool,
    right: Floats,
    usd: Floats,
    sharp: float,
    columns: Mapping[str, Floats | list[str]],
    length: Floats | float = 1.0,
    mean_length: float = 1.0,
    looks: bool = True,
) -> Answers:
    """right: rows x models, the probability of a right answer. usd: dollars of an answer of length 1, by model.
    `looks`: whether policies see scores.
    """
    quality = (draw.random(right.shape) < right).astype(float)
    z = sharp * (2.0 * quality - 1.0) + draw.normal(size=right.shape)
    spent = usd * length * draw.uniform(0.5, 1.5, right.shape)
    if exact:
        quality = right / (right + (1.0 - right) * np.exp(-2.0 * sharp * z)) if looks else right
        spent = np.broadcast_to(usd * mean_length, right.shape)
    return Answers(quality, spent, 1.0 / (1.0 + np.exp(-z)), columns)


def evenly(draw: np.random.Generator, count: int, exact: bool) -> Floats:
    """Rows x 1, uniform in [0, 1). An exact draw has one number in each of `count` equal parts."""
    if exact:
        return (draw.permutation(count)[:, None] + draw.random((count, 1))) / count
    return draw.random((count, 1))


def null(draw: np.random.Generator, prompts: int, exact: bool) -> Answers:
    """Three equal models, a judge, and six features that are noise. Nothing can be gained."""
    right = np.repeat(draw.uniform(0.4, 1.0, (prompts, 1)), 3, axis=1)
    columns = {f"x{k}": draw.uniform(-1.0, 1.0, prompts) for k in range(6)}
    return answers(draw, exact, right, np.full(3, 0.001), 0.0, columns)


def sides(draw: np.random.Generator, prompts: int, exact: bool) -> Answers:
    """Two models, each better on one side of a feature. This world is for routers, which see no score."""
    x = 2.0 * evenly(draw, prompts, exact) - 1.0
    right = 0.55 + 0.2 * draw.random((prompts, 1)) + 0.2 * x * np.array([1.0, -1.0])
    columns = {"x": x[:, 0], "z": draw.normal(size=prompts)}
    return answers(draw, exact, right, np.array([0.001, 0.002]), 1.0, columns, looks=False)


def ladder(draw: np.random.Generator, prompts: int, exact: bool, tail: bool = False, each: int = 1) -> Answers:
    """Three models, the dearer the better, and a feature that says how hard a prompt is.

    `tail`: dollars have infinite variance. `each`: the mean number of prompts in a session. The prompts of a session
    are about equally hard, and hard sessions are longer.
    """
    sessions = prompts // each
    hard = evenly(draw, sessions, exact)
    sizes = 1 + draw.binomial(2 * (each - 1), hard[:, 0])
    of = np.repeat(np.arange(sessions), sizes)
    hard = hard[of]
    right = 1.0 / (1.0 + np.exp(-(np.array([1.2, 2.2, 3.4]) - 3.5 * hard)))
    columns: dict[str, Floats | list[str]] = {"x": hard[:, 0] + 0.2 * draw.normal(size=len(of))}
    if each > 1:
        columns["prompt"] = [f"session {session}" for session in of]
    length = draw.random((len(of), 1)) ** -0.5 if tail else 1.0  # it is above t with probability t^-2
    usd = np.array([0.001, 0.003, 0.009])
    return answers(draw, exact, right, usd, 1.2, columns, length, 2.0 if tail else 1.0)


def heavy(draw: np.random.Generator, prompts: int, exact: bool) -> Answers:
    """A ladder whose dollars have a heavy tail."""
    return ladder(draw, prompts, exact, tail=True)


def sessions(draw: np.random.Generator, prompts: int, exact: bool) -> Answers:
    """A ladder of sessions of 1 to 7 prompts."""
    return ladder(draw, prompts, exact, each=4)


def rare(draw: np.random.Generator, prompts: int, exact: bool) -> Answers:
    """Two models that hardly ever fail."""
    right = np.broadcast_to([0.98, 0.995], (prompts, 2))
    return answers(draw, exact, right, np.array([0.001, 0.01]), 1.5, {})


def apart(draw: np.random.Generator, prompts: int, exact: bool) -> Answers:
    """Three models whose answers are independent of each other."""
    right = np.array([0.5, 0.65, 0.75]) + draw.uniform(-0.2, 0.2, (prompts, 3))
    return answers(draw, exact, right, np.array([0.001, 0.003, 0.006]), 1.2, {})


def whole(draw: np.random.Generator, of: Answers) -> Mapping[str, Any]:
    """Records every answer."""
    rows, models = of.usd.shape
    return {
        "models": [f"m{model}" for model in range(models)],
        "prompts": [f"p{row}" for row in range(rows)],
        "quality": of.quality,
        "cost": of.usd,
        "scores": of.score,
        "columns": of.columns,
    }


def labelled(share: float) -> Recorder:
    """Records every answer, and the quality of a share of them."""

    def recorded(draw: np.random.Generator, of: Answers) -> Mapping[str, Any]:
        known = draw.random(of.quality.shape) < share
        return {**whole(draw, of), "quality": np.where(known, of.quality, np.nan)}

    return recorded


def calls(of: Answers, made: npt.NDArray[np.bool_], propensity: Floats) -> Mapping[str, Any]:
    """Records the calls that were made, as a log."""
    row, model = np.nonzero(made)
    cells = {"quality": of.quality, "cost": of.usd, "score": of.score, "propensity": propensity}
    return {
        "prompt_id": [f"p{number}" for number in row],
        "model": [f"m{number}" for number in model],
        **{name: of_all[row, model] for name, of_all in cells.items()},
        **{name: np.asarray(values)[row] for name, values in of.columns.items()},
    }


def one_call(draw: np.random.Generator, of: Answers) -> Mapping[str, Any]:
    """Records one answer for each prompt, of a random model. If there is a column x, its sign changes the
    probabilities.
    """
    models = of.usd.shape[1]
    p = np.full(of.usd.shape, 1.0 / models)
    if "x" in of.columns:
        p = np.where((np.asarray(of.columns["x"], float) > 0.0)[:, None], [0.3, 0.7], [0.7, 0.3])
    drawn = (draw.random((len(p), 1)) > np.cumsum(p, axis=1)).sum(axis=1)
    return calls(of, np.arange(models) == drawn[:, None], p)


def tosses(draw: np.random.Generator, of: Answers) -> Mapping[str, Any]:
    """Calls each model by a toss of its own. One in eight decisions calls no model and has no row."""
    p = np.broadcast_to([0.6, 0.5, 0.375], of.usd.shape)
    return calls(of, draw.random(p.shape) < p, p)


@dataclass(frozen=True)
class World:
    """A law, its number of prompts, the way of recording, and the options of the fit. `fresh`: the prompts of an exact
    draw, so many that the truth's error is below a tenth of a fit's error.
    """

    law: Law
    prompts: int
    asked: Mapping[str, Any]
    recorded: Recorder = field(default=whole)
    fresh: int = 50_000


def _worlds() -> dict[str, World]:
    score, noise = {"evaluator": "score"}, {"context": [f"x{k}" for k in range(6)]}
    routed = {**score, "kind": "router", "context": ["x", "z"]}
    router = {"price": 20.0, **routed}
    auto = {**score, "context": ["x"]}
    nulls: dict[str, Mapping[str, Any]] = {
        kind: {"kind": kind, "price": 50.0, **score, **({} if kind == "thresholds" else noise)}
        for kind in ("thresholds", "router", "routed", "indices", "auto")
    }
    return {
        **{f"null-{kind}": World(null, 400, asked, fresh=20_000) for kind, asked in nulls.items()},
        "router": World(sides, 400, router, fresh=10_000),
        "router-20": World(sides, 1000, router, labelled(0.2), 10_000),
        "router-5": World(sides, 4000, router, labelled(0.05), 10_000),
        "router-usd": World(sides, 400, {"max_usd": 0.0015, **routed}, fresh=10_000),
        "rare-60": World(rare, 60, {"price": 5.0, **score}),
        "rare-150": World(rare, 150, {"price": 5.0, **score}),
        "rare-150-quality": World(rare, 150, {"min_quality": 0.9, **score}),
        "heavy": World(heavy, 400, {"price": 20.0, **auto}),
        "heavy-usd": World(heavy, 400, {"max_usd": 0.01, **score}),
        "sessions": World(sessions, 400, {"price": 20.0, **auto}),
        "one-call-router": World(sides, 2000, router, one_call, 10_000),
        "one-call-apart": World(apart, 2000, {"price": 20.0, **score, "openings": "apart"}, one_call),
        "tosses": World(ladder, 2000, {"price": 20.0, **score, "openings": "independent"}, tosses),
        "ordinary": World(ladder, 400, {"price": 20.0, **auto}),
        "ordinary-usd": World(ladder, 400, {"max_usd": 0.005, **score}),
        "labels-20-usd": World(ladder, 1000, {"max_usd": 0.005, **score}, labelled(0.2)),
        "ordinary-quality": World(ladder, 400, {"min_quality": 0.65, **score}),
    }


#: The kinds of worlds by name. Each can be drawn any number of times.
WORLDS = _worlds()
