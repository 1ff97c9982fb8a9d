"""One store has many worker processes. Some of them are killed, and so are the learner and the database."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Optional

import pytest
from players import Player
from stores import new, opened, require_replayed, rows

import pandora
from pandora.serving import DatabaseAway

pytest_plugins = ["database_fixtures"]
LONG = os.environ.get("PANDORA_DATABASE") == "all"  # a night allows long tests


def working(url: str, seed: int, pause: float) -> Callable[..., None]:
    """Serves requests without end, and gives feedback when it is ordered. Reports decisions and acknowledged
    feedback.
    """

    def work(tell: Callable[[Any], None], orders: Callable[[], list[Any]]) -> None:
        draw, waiting = random.Random(seed), list[int]()
        store = None
        while store is None:
            try:
                store = opened(url, sync_seconds=0.1)
            except DatabaseAway:
                time.sleep(0.1)
        tell(["opened", seed])
        decides = True
        while decides or waiting:
            given = orders()
            decides = decides and "stop" not in given
            waiting += [one for one in given if one != "stop"]
            if waiting and (not decides or draw.random() < 0.2):
                number = waiting.pop(0)
                try:
                    if store.feedback(number, number % 3 / 2.0, seconds=0.5):
                        tell(["feedback", number])
                    else:
                        waiting.append(number)  # it is queued; the same feedback again changes nothing
                except pandora.UsageError:
                    tell(["unknown", number])  # the decision was lost with its process
            if decides:
                with store.begin([1.0, draw.uniform(-1, 1)]) as request:
                    for _ in request:
                        request.observe(0.01 * draw.random(), draw.random())
                tell(["decision", request.number])
                time.sleep(pause)
        tell(["closed", store.flush(60.0)])
        store.close()

    return work


def play(url: str, workers: int, requests: int, kills: int, server: Optional[Any], pause: float) -> None:
    draw = random.Random(workers)
    opened(url, new()).close()
    seeds = iter(range(10**6))
    players = [Player(working(url, next(seeds), pause)) for _ in range(workers)]
    told: list[Any] = []
    decided, ordered, killed = 0, list[int](), 0

    def hear(player: Player, lines: list[Any]) -> int:
        told.extend(lines)
        found = [line[1] for line in lines if line[0] == "decision"]
        ordered.extend(number for number in found if draw.random() < 0.05)
        return len(found)

    end = time.monotonic() + 1800.0
    while decided < requests:
        assert time.monotonic() < end
        time.sleep(0.02)
        for player in players:
            decided += hear(player, player.read())
        while len(ordered) > 5:  # feedback comes late, and to any worker
            draw.choice(players).order(ordered.pop(0))
        if killed < kills and decided > (killed + 1) * requests / (kills + 1):
            if server is not None and killed % 10 == 9:
                server.stop()
                time.sleep(0.5)
                server.start()
            else:  # this also hits the first worker, which learns
                at = 0 if killed % 4 == 3 else draw.randrange(len(players))
                dead = players.pop(at)
                decided += hear(dead, dead.kill())
                players.append(Player(working(url, next(seeds), pause)))
            killed += 1
    for number in ordered:
        draw.choice(players).order(number)
    for player in players:
        player.order("stop")
    for player in players:
        hear(player, player.kill(None))
    assert killed == kills
    answers = Counter(line[0] for line in told)
    assert answers["closed"] == workers and all(line[1] for line in told if line[0] == "closed")
    with opened(url) as store:
        assert store.settle(300.0)
        found = Counter((kind, request) for kind, request, _ in rows(store) if request is not None)
        assert set(found.values()) == {1}
        decisions = {request for kind, request in found if kind == "decision"}
        feedback = {request for kind, request in found if kind == "feedback"}
        acknowledged = {line[1] for line in told if line[0] == "feedback"}
        assert acknowledged <= feedback and len(acknowledged) >= 0.03 * requests
        # Feedback on decisions that were lost with their process is accepted only while the database is away.
        assert feedback <= decisions or server is not None
        assert feedback - decisions <= {line[1] for line in told if line[0] == "decision"}
        ended = {line[1] for player in players for line in player.lines if line[0] == "decision"}
        assert ended <= decisions  # workers that ended by themselves lose nothing
        metrics = store.metrics()
        assert metrics["deployed"] == len(decisions) and metrics["feedbacks"] == len(feedback & decisions)
        assert metrics["quality"] == pytest.approx(sum(number % 3 / 2.0 for number in feedback & decisions))
        require_replayed(store)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # from Python 3.12 on
@pytest.mark.parametrize("workers", [8, 40] if LONG else [3])
def test_workers_that_are_killed_lose_nothing_that_was_answered(
    database_url: str, workers: int, request: pytest.FixtureRequest
) -> None:
    server = None if database_url.startswith("sqlite") else request.getfixturevalue("postgres")
    requests, kills = (20_000, 40) if LONG else (300, 3)
    play(database_url, workers, requests, kills, server, workers / 300.0 if LONG else 0.003)
