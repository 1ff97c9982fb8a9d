"""Random public calls, with kills, reopenings and refused calls. Acknowledged events are there, and are learned
once.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from players import Player
from stores import new, opened, require_replayed, rows, serve

import pandora
from pandora.serving import Budget, Monitor, Store

pytest_plugins = ["database_fixtures"]
LONG = os.environ.get("PANDORA_DATABASE") == "all"  # a night allows long tests


def quality_of(request: int) -> float:
    return request % 11 / 10.0


def commands(store: Store, draw: random.Random) -> list[tuple[str, Callable[[], Any]]]:
    names = [*store.cascade_models(), "more", "other"]
    cascade = new(draw.sample(names, 2), price=draw.uniform(0.5, 2.0), policy=draw.choice(["dow", "shrunk_weitzman"]))
    budget = Budget(draw.uniform(0.001, 0.1), price=1.0, every=draw.randrange(1, 9))
    return [
        ("add_model", lambda: store.add_model(draw.choice(names))),
        ("remove_model", lambda: store.remove_model(draw.choice(names))),
        ("set_price", lambda: store.set_price(draw.choice([0.0, draw.uniform(0.5, 5.0)]))),
        ("set_explore", lambda: store.set_explore(draw.choice([0.0, 0.3, 1.5]))),
        ("publish", lambda: store.publish(cascade)),
        ("rollback", lambda: store.rollback()),
        ("save", lambda: store.save()),
        ("watch", lambda: store.watch(Monitor([draw.choice(names)], 1.0, against=None))),
        ("keep_to", lambda: store.keep_to(draw.choice([None, budget]))),
    ]


def refused(store: Store, draw: random.Random, known: list[int]) -> None:
    """Makes calls that are refused, some of them in the middle of a request."""
    request = store.begin([1.0, draw.uniform(-1, 1)])
    model = str(request.next())
    calls: list[Callable[[], Any]] = [
        lambda: store.begin([1.0]),
        lambda: request.observe(-1.0, 0.5, model=model),
        lambda: request.observe(0.1, 2.0, model=model),
        lambda: request.fail(model="nobody"),
        lambda: request.deploy(),
        lambda: store.feedback(request.number, 0.5),
        lambda: store.feedback(draw.choice(known), 2.0) if known else None,
        lambda: store.add_model(""),
    ]
    for call in draw.sample(calls, 3):
        with contextlib.suppress(pandora.UsageError):
            call()
    request.observe(0.01, 0.5, model=model)
    if draw.random() < 0.5:
        request.cancel()


def playing(url: str, seed: int, known: list[int]) -> Callable[..., None]:
    """Makes random calls without end, and reports the acknowledged ones."""

    def work(tell: Callable[[Any], None], _: Any) -> None:
        draw, numbers = random.Random(seed), list(known)
        store = opened(url)
        tell(["opened"])
        while True:
            what = draw.random()
            with contextlib.suppress(pandora.UsageError):  # the call may be refused
                if what < 0.5:
                    number = serve(store, draw.getrandbits(30))
                    numbers.append(number)
                    tell(["number", number])
                elif what < 0.8 and numbers:
                    number = draw.choice(numbers)
                    if store.feedback(number, quality_of(number), seconds=0.1):  # some requests were lost with a kill
                        tell(["feedback", number])
                elif what < 0.88:
                    name, command = draw.choice(commands(store, draw))
                    command()
                    tell(["command", name])
                elif what < 0.95:
                    refused(store, draw, numbers)
                else:
                    store.close()
                    store = opened(url)

    return work


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("seed", range(200 if LONG else 10))
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # from Python 3.12 on
def test_nothing_that_was_acknowledged_is_lost_or_learned_twice(database_url: str, seed: int) -> None:
    draw = random.Random(seed)
    opened(database_url, new()).close()
    known: list[int] = []
    told: list[Any] = []
    for kill in range(3):
        player = Player(playing(database_url, 10 * seed + kill, known))
        enough = draw.randrange(1, 40)
        while len(player.lines) < enough:
            assert player.read(60.0), "it ended"
        player.kill()
        told += player.lines
        known += [line[1] for line in player.lines if line[0] == "number"]
    with opened(database_url) as store:
        assert store.settle()
        found = Counter((kind, request) for kind, request, _ in rows(store))
        decisions = {request for kind, request in found if kind == "decision"}
        feedback = {request for kind, request in found if kind == "feedback"}
        assert all(count == 1 for (kind, _), count in found.items() if kind in ("decision", "feedback", "cancelled"))
        assert {line[1] for line in told if line[0] == "feedback"} <= feedback <= decisions
        for kind, count in Counter(line[1] for line in told if line[0] == "command").items():
            if kind != "watch":  # if nothing differs, no row is written
                assert found[kind, None] >= count
        metrics = store.metrics()
        assert metrics["feedbacks"] == len(feedback) and metrics["deployed"] == len(decisions)
        assert metrics["quality"] == pytest.approx(sum(map(quality_of, feedback)))
        assert metrics["learner"]["failure"] is None and metrics["unlearned"] == 0
        require_replayed(store)
