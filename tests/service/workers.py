#!/usr/bin/env python3
"""Measures the cost of deciding by versions, with many workers. The service is simulated, and its truth is known.
usage: workers.py SEEDS REQUESTS [POLICY] [SHARE OF REQUESTS WITH FEEDBACK]      (python of `make python`)

README.md has the table and the processor time. The clock is simulated too. Twenty requests a second come to random
workers. A call takes a second on average, and feedback comes a minute after the answer on average. A decision is
written a second after it was made. The learner reads all that is written at once. It publishes a version every half
second, which every worker adopts two seconds later. "At once" is a single process, which learns from a decision when it
is made and decides by it from then on. After half of the requests a new model comes, on trial at first. After three
quarters another model is down for a minute.
"""

from __future__ import annotations

import heapq
import itertools
import json
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
from scipy import stats

from pandora.live import RunningCascade, new_members
from pandora.live.explaining import decision_payload
from pandora.live.file import unpacked
from pandora.live.learning import Estimates
from pandora.live.members import Members
from pandora.serving.database import Row
from pandora.serving.learned import Learned

PRICE, FEATURES = 5.0, 4
MODELS = "small", "middle", "large", "largest", "new"
DOLLARS, WORTH = np.array([0.001, 0.004, 0.012, 0.03, 0.006]), np.array([-0.4, 0.2, 0.8, 1.5, 0.9])
PER_SECOND, CALL_SECONDS, FEEDBACK_SECONDS = 20.0, 1.0, 60.0
SYNC_SECONDS, PUBLISH_SECONDS, ADOPT_SECONDS = 1.0, 0.5, 2.0
DOWN, DOWN_SECONDS = "large", 60.0
EARLY = 1000  # requests whose regret is printed


class Requests(NamedTuple):
    """n requests, with the answers that each of the A models would give."""

    psi: np.ndarray  #: n x (1 + FEATURES)
    quality: np.ndarray  #: n x A, 0 or 1
    score: np.ndarray  #: n x A, the judge's scores
    dollars: np.ndarray  #: n x A
    seconds: np.ndarray  #: n x A, how long each call takes
    feedback: np.ndarray  #: n, seconds from the answer to its feedback; inf: there is none
    worker: np.ndarray  #: n, in [0, 1): chooses the worker


def requests(seed: int, n: int, share: float) -> Requests:
    """Draws n requests. Each model has its own slopes of quality in the features. The judge is more often right than
    not.
    """
    draw, size = np.random.default_rng(seed), (n, len(MODELS))
    slopes = draw.normal(0.0, 1.0, (FEATURES, len(MODELS)))
    x = draw.uniform(-1.0, 1.0, (n, FEATURES))
    right = draw.random(size) < 1.0 / (1.0 + np.exp(-(WORTH + x @ slopes)))
    score = 1.0 / (1.0 + np.exp(-(3.0 * right - 1.5 + draw.normal(0.0, 1.2, size))))
    feedback = np.where(draw.random(n) < share, draw.exponential(FEEDBACK_SECONDS, n), np.inf)
    return Requests(
        np.column_stack([np.ones(n), x]), right.astype(float), score, DOLLARS * draw.lognormal(0.0, 0.3, size),
        draw.exponential(CALL_SECONDS, size), feedback, draw.random(n),
    )  # fmt: skip


class Service:
    """Workers and their learner, on a clock of their own."""

    def __init__(self, learned: Learned, workers: int, at_once: bool) -> None:
        self.learned, self.at_once = learned, at_once
        self.live = [RunningCascade(learned.members, estimates=self._estimates()) for _ in range(workers)]
        for k, live in enumerate(self.live):
            live.epoch, live.learning, live.edition = (1 << 32) + k, False, 1
        self._events: list[tuple[float, int, Any, tuple[Any, ...]]] = []
        self._ties = itertools.count()
        self._decisions: dict[Optional[int], Any] = {}
        self._place = self._published = 0

    def _estimates(self) -> Any:
        if self.at_once:
            return self.learned.learning
        content = json.loads(self.learned.content(1))
        return Estimates(self.learned.members, unpacked(content["estimates"]))

    def _at(self, when: float, do: Any, *given: Any) -> None:
        heapq.heappush(self._events, (when, next(self._ties), do, given))

    def run(self, given: Requests) -> np.ndarray:
        """The utility of each request."""
        self.given, self.utility, self.left = given, np.full(len(given.psi), np.nan), len(given.psi)
        for k in range(len(given.psi)):
            self._at(k / PER_SECOND, self._begin, k)
        self._at(len(given.psi) / PER_SECOND / 2.0, self._written, "add_model", None, {"model": "new", "id": "new"})
        if not self.at_once:
            self._at(PUBLISH_SECONDS, self._publish)
        while self.left:
            now, _, do, these = heapq.heappop(self._events)
            do(now, *these)
        return self.utility

    def _begin(self, now: float, k: int) -> None:
        live = self.live[int(self.given.worker[k] * len(self.live))]
        self._call(now, live, live.begin(self.given.psi[k]), k)

    def _call(self, now: float, live: RunningCascade, number: int, k: int) -> None:
        model = live.next(number)
        if model is None:
            return self._deploy(now, live, number, k)
        seconds = self.given.seconds[k, MODELS.index(model)]
        self._at(now + seconds, self._answered, live, number, k, model)

    def _answered(self, now: float, live: RunningCascade, number: int, k: int, model: str) -> None:
        a, down = MODELS.index(model), len(self.given.psi) / PER_SECOND * 0.75
        if model == DOWN and down <= now < down + DOWN_SECONDS:
            self._failed(now, live, number, model)
            return self._call(now, live, number, k)
        live.observe(number, model, self.given.dollars[k, a], [self.given.score[k, a]])
        self._call(now, live, number, k)

    def _failed(self, now: float, live: RunningCascade, number: int, model: str) -> None:
        state = live.states[live.position(model)]
        before = state.rests_until
        live.fail(number, model)
        if state.rests_until > before:  # the other workers are told
            self._at(now + SYNC_SECONDS + PUBLISH_SECONDS, self._rest, live, model)

    def _rest(self, _: float, first: RunningCascade, model: str) -> None:
        for live in self.live:
            if live is not first:
                live.rest(model)

    def _deploy(self, now: float, live: RunningCascade, number: int, k: int) -> None:
        request = live.request_of(number)
        deployed = MODELS.index(live.deploy(number))
        payload = {**decision_payload(live, request), "time": now}
        live.forget(number)
        self.utility[k] = self.given.quality[k, deployed] - PRICE * sum(call.dollars for call in request.calls)
        self.left -= 1
        self._at(now + SYNC_SECONDS * (not self.at_once), self._written, "decision", number, payload)
        if np.isfinite(self.given.feedback[k]):
            quality = self.given.quality[k, deployed]
            self._at(now + self.given.feedback[k], self._written, "feedback", number, quality)

    def _written(self, now: float, kind: str, number: Optional[int], payload: Any) -> None:
        self._place += 1
        if kind == "decision":
            self._decisions[number] = payload
        row = Row(1, self._place, self._place, now, kind, number, json.dumps(payload), b"")
        self.learned.apply(row, lambda request, _: self._decisions.get(request))
        if kind == "add_model" and self.at_once:
            self._adopt(now, *self._version())

    def _publish(self, now: float) -> None:
        if self._place > self._published:
            self._published = self._place
            self._at(now + ADOPT_SECONDS, self._adopt, *self._version())
        self._at(now + PUBLISH_SECONDS, self._publish)

    def _version(self) -> tuple[Members, Any, list[int], int]:
        return self.learned.members, self._estimates(), list(self.learned.trial), self.learned.period

    def _adopt(self, _: float, members: Members, estimates: Any, trial: list[int], period: int) -> None:
        for live in self.live:
            live.adopt(members, estimates, trial)
            live.periods = max(live.periods, period)


def fresh(policy: str) -> Learned:
    """A cascade that has learned nothing."""
    members = new_members(MODELS[:-1], PRICE, "score", policy, psi=1 + FEATURES)
    return Learned.of_cascade(RunningCascade(members))


def utilities(policy: str, given: Requests) -> dict[str, np.ndarray]:
    """The utility of each request for one process that learns at once, and for several numbers of workers."""
    out = {"at once": Service(fresh(policy), 1, at_once=True).run(given)}
    return out | {str(k): Service(fresh(policy), k, at_once=False).run(given) for k in (1, 8, 40)}


def told(values: Sequence[float], digits: int = 4) -> str:
    """A mean over seeds with its 95% interval."""
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.{digits}f} ± {half:.{digits}f}"


def regret(run: np.ndarray, at_once: np.ndarray) -> float:
    """The regret of the first requests, against the mean of `at once` in the quarter before the new model comes."""
    n = len(run)
    return float(np.sum(at_once[n // 4 : n // 2].mean() - run[:EARLY]))


def main(seeds: int, n: int, policies: Sequence[str], shares: Sequence[float]) -> None:
    """Prints a row for each policy, share of feedback and number of workers."""
    print("| policy | feedback | workers | utility | less one at once | less one worker | regret of the first 1,000 |")
    print("|---|---|---|---|---|---|---|")
    for policy, share in itertools.product(policies, shares):
        runs = [utilities(policy, requests(seed, n, share)) for seed in range(seeds)]
        for name in runs[0]:
            less = [told([np.mean(run[name] - run[other]) for run in runs]) for other in ("at once", "1")]
            utility = told([np.mean(run[name]) for run in runs])
            early = told([regret(run[name], run["at once"]) for run in runs], 1)
            print(f"| {policy} | {share:.0%} | {name} | {utility} | {less[0]} | {less[1]} | {early} |", flush=True)
    print(f"{seeds} seeds of {n} requests, {time.process_time():.0f} s of processor time")


if __name__ == "__main__":
    main(
        int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:4] or ["shrunk_weitzman", "dow"],
        [float(share) for share in sys.argv[4:5]] or [1.0, 0.05],
    )  # fmt: skip
