"""Stores for tests: cascades, made-up requests, and views of a database."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pandora
import pandora.serving
from pandora.live import Members, RunningCascade, text_of
from pandora.live.learning import Learning
from pandora.serving import Store
from pandora.serving.store import replayed

MODELS = {"small": (0.001, 0.6), "large": (0.01, 0.9)}  # dollars, quality
NAMES = ["small", "medium", "large"]


def new(models: Any = ("a", "b", "c"), price: float = 1.0, **more: Any) -> pandora.Cascade:
    return pandora.Cascade.new(list(models), price=price, **{"evaluator": "score", "psi": 2, **more})


def members_in_order(
    order: Any = ("small", "large"), thresholds: Any = (0.7,), explore: float = 0.0, **more: Any
) -> Members:
    """The members of a cascade with thresholds over NAMES."""
    plain = {"kind": "thresholds", "models": NAMES, "price": 1.0, "evaluator": "score"}
    given = {**plain, "order": list(order), "thresholds": list(thresholds), "explore": explore, **more}
    return Members.of_json(given)


def in_order(**given: Any) -> pandora.Cascade:
    """A cascade with such members."""
    return pandora.Cascade(RunningCascade(members_in_order(**given)))


def opened(url: Any, cascade: Any = None, **more: Any) -> Store:
    return pandora.serving.open(url, cascade, **{"sync_seconds": 0.02, **more})


def deployed(store: Any, score: float = 0.5, psi: Any = (1.0,)) -> int:
    """The number of a request whose answers all have that score."""
    with store.begin(list(psi)) as request:
        for _ in request:
            request.observe(0.01, score)
    return int(request.number)


def serve(store: Any, seed: int, dims: int = 2) -> int:
    """Serves a request by its seed, and returns its number. Some models fail. If all fail, the request is cancelled."""
    draw = random.Random(seed)
    request = store.begin([1.0, draw.uniform(-1, 1)][:dims])
    called = 0
    for _ in request:
        if draw.random() < 0.1:
            request.fail("busy")
        elif draw.random() < 0.05:
            request.skip()
        else:
            request.observe(dollars=0.01 * draw.random(), score=draw.random(), latency=draw.random())
            called += 1
    request.deploy() if called else request.cancel()
    return int(request.number)


def answer(store: Any, draw: random.Random, feedback: bool = True, factor: float = 1.0) -> str:
    """Serves a request with MODELS. Returns the model whose answer was deployed."""
    request = store.begin([1.0, draw.uniform(-1, 1)])
    for model in request:
        dollars, quality = MODELS[model]
        seen = min(1.0, max(0.0, draw.gauss(quality, 0.2)))
        request.observe(dollars=factor * dollars * draw.uniform(0.5, 1.5), score=seen)
    deployed = str(request.deploy())
    if feedback:
        store.feedback(request.number, MODELS[deployed][1])
    return deployed


def learned(store: Store) -> bytes:
    """Everything that was learned from the rows."""
    return store.learned().saved()


def text(store: Store) -> str:
    return text_of(store.cascade._live)


def estimator(cascade: pandora.Cascade) -> bytes:
    assert isinstance(cascade._live.indices, Learning)
    return bytes(cascade._live.indices.estimator.saved())


def rows(store: Store, kind: str = "") -> list[Any]:
    """The kinds and requests of the rows in the database, for one kind or for all."""
    found = store._database._connection.execute("SELECT kind, request, payload FROM pandora_events ORDER BY time")
    return [row for row in found if kind in ("", row[0])]


def until(true: Callable[[], Any], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def require_replayed(store: Store) -> None:
    """Requires that a replay of all rows gives the learner's state, byte for byte."""
    store.save()
    state = store._database.newest_state()
    assert state is not None
    assert replayed(store._database, from_beginning=True).saved() == state.state
    assert store._database.verify() == []
