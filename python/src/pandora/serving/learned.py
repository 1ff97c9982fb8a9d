"""The result of all events up to a place in the learner's order (serving/database/README.md).

It is a cascade, its learned state, counts, monitor and budget.

The same order of events gives the same result, byte for byte on the same level of instructions: nothing here uses a
clock or random draws, or knows which process works. Workers and learners hold one such object; workers decide by its
`content`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from typing import Optional

import numpy as np

from ..errors import Error, LaneFailure
from ..live.file import packed, parse, unpacked
from ..live.learning import Learning, Lesson, as_psi
from ..live.members import Json, Members
from ..live.request import Call
from ..live.running import ModelState, RunningCascade, with_model, with_price, without_model
from .database import Row
from .monitor import Monitor
from .traffic import Budget

#: The most early feedback (without a decision yet), and the most published cascades to which one can go back.
MOST_EARLY, MOST_BEFORE = 100_000, 3
_MOST_COMMANDS = 50  # the most commands whose outcome is stored


@dataclass
class Totals:
    """Counts of one model, or of all requests."""

    calls: int = 0
    deployed: int = 0
    failures: int = 0
    feedbacks: int = 0
    quality: float = 0.0  #: the sum over all feedback
    dollars: float = 0.0
    #: the sum of the squares: for a model over its calls, for all requests over requests; None if unknown
    dollars_squared: Optional[float] = 0.0

    def pay(self, dollars: float) -> None:
        """Counts the cost of a call or a request."""
        self.dollars += dollars
        if self.dollars_squared is not None:
            self.dollars_squared += dollars * dollars


@dataclass
class Counts(Totals):
    """Counts of all requests."""

    requests: int = 0  #: that were deployed or cancelled
    cancelled: int = 0
    #: lessons that could not be learned, because estimates could not be solved or the cascade was another one
    unlearned: int = 0
    refused: int = 0  #: commands that could not be carried out at their place in the order


#: Finds a request's decision: (request, place) -> the decision if its place is before `place`, otherwise None.
Lookup = Callable[[int, int], Optional[Json]]


@dataclass
class Learned:
    """See the module. `edition`: the number of the cascade that decides now; `editions`: how many were published.
    Lessons come only from decisions of the current edition.
    """

    members: Members
    learning: Optional[Learning]
    edition: int = 1
    editions: int = 1
    period: int = 0  #: decisions of this edition
    trial: list[int] = field(default_factory=list)  #: calls of each model until its index decides
    counts: Counts = field(default_factory=Counts)
    by_model: dict[str, Totals] = field(default_factory=dict)
    early: dict[str, float] = field(default_factory=dict)  #: feedback without a decision yet, by request
    #: the cascades to which rollback() can go back, the latest last, packed
    before: list[str] = field(default_factory=list)
    monitor: Optional[Monitor] = None
    budget: Optional[Budget] = None
    shadow: dict[str, float] = field(default_factory=dict)
    day: str = ""  #: of the latest decision, UTC
    day_usd: float = 0.0  #: of that day
    #: the latest commands by id: why each was refused, or "" if it was carried out
    commands: dict[str, str] = field(default_factory=dict)
    #: why a state must be saved: "publish", "rollback", "members" or "save"; empty: it need not
    due: str = ""

    # ---- beginning, saving ----

    @staticmethod
    def of_cascade(cascade: RunningCascade) -> Learned:
        """The state with which a cascade begins when it is published, with what it has learned."""
        learning = cascade.indices if isinstance(cascade.indices, Learning) else None
        out = Learned(cascade.members, learning, period=cascade.periods)
        out.trial = [state.trial for state in cascade.states]
        counts = cascade.counts_now
        for name in ("requests", "calls", "deployed", "failures", "feedbacks", "cancelled", "dollars", "quality"):
            setattr(out.counts, name, getattr(counts, name))
        if counts.dollars > 0.0:
            out.counts.dollars_squared = None
        out._solve()
        return out

    def _solve(self) -> None:
        """If no period has begun yet (the cascade comes from a calibration), solves the estimates, so that workers can
        use them.
        """
        if self.learning is not None and self.learning.current is None and self.period == 0:
            one = np.zeros(self.members.m, np.float32)
            one[0] = 1.0
            self.learning.turn_to(0, 0, one)

    def cascade(self) -> RunningCascade:
        """A copy of the cascade with the same learned state."""
        saved = None if self.learning is None else self.learning.estimator.saved()
        out = RunningCascade(self.members, saved)
        if isinstance(out.indices, Learning) and self.learning is not None:
            out.indices.current = self.learning.current
        out.periods = self.period
        out.states = [ModelState(trial=trial) for trial in self.trial]
        for name in ("requests", "calls", "deployed", "failures", "feedbacks", "cancelled", "dollars", "quality"):
            setattr(out.counts_now, name, getattr(self.counts, name))
        return out

    def saved(self) -> bytes:
        """Everything, as bytes."""
        out: Json = {name: getattr(self, name) for name in _PLAIN}
        out["early"], out["commands"] = list(self.early.items()), list(self.commands.items())  # in their order
        out["members"] = self.members.to_json()
        if self.learning is not None:
            out["estimator"], out["current"] = packed(self.learning.estimator.saved()), self.learning.current
        out["counts"] = asdict(self.counts)
        out["by_model"] = {name: asdict(totals) for name, totals in self.by_model.items()}
        out["monitor"] = None if self.monitor is None else self.monitor.saved()
        out["budget"] = None if self.budget is None else self.budget.saved()
        return json.dumps(out, sort_keys=True).encode()

    @staticmethod
    def restored(state: bytes) -> Learned:
        """Restores saved()."""
        given: Json = json.loads(state)
        members, learning = Members.of_json(given["members"]), None
        if members.learns:
            learning = Learning(members, unpacked(given["estimator"]))
            learning.current = given["current"]
        out = Learned(members, learning)
        for name in _PLAIN:
            setattr(out, name, given[name])
        out.early, out.commands = dict(given["early"]), dict(given["commands"])
        out.counts = Counts(**given["counts"])
        out.by_model = {name: Totals(**totals) for name, totals in given["by_model"].items()}
        out.monitor = None if given["monitor"] is None else Monitor.restored(given["monitor"])
        out.budget = None if given["budget"] is None else Budget.restored(given["budget"])
        return out

    def content(self, members_state: int) -> bytes:
        """All that workers need in order to decide, as bytes. The members are not in it: workers read them from the
        saved state of the number `members_state`.
        """
        out: Json = {
            "members": members_state,
            "edition": self.edition,
            "period": self.period,
            "price": self.members.price,
            "trial": self.trial,
            "counts": asdict(self.counts),
            "by_model": {name: asdict(totals) for name, totals in self.by_model.items()},
            "day": self.day,
            "day_usd": self.day_usd,
            "commands": self.commands,
            "can_roll_back": bool(self.before),
        }
        if self.learning is not None:
            out["estimates"] = packed(self.learning.estimator.saved(False))
            out["unsolved_refits"] = self.learning.estimator.unsolved_refits
        if self.monitor is not None:
            out["monitor"] = {**self.monitor.state(), "settings": self.monitor.settings}
        if self.budget is not None:
            out["budget"] = self.budget.saved()
        if self.shadow:
            out["shadow"] = self.shadow
        return json.dumps(out, sort_keys=True).encode()

    # ---- events ----

    def apply(self, row: Row, lookup: Lookup) -> None:
        """Applies an event; commands that cannot be carried out are counted."""
        payload = json.loads(row.payload)
        if row.kind == "decision" and row.request is not None:
            self._decision(row.request, payload)
        elif row.kind == "feedback" and row.request is not None:
            self._feedback(row.request, float(payload), lookup(row.request, row.place or 0))
        elif row.kind == "cancelled":
            self._cancelled(payload)
        elif row.kind in _COMMANDS:
            refused = self._refused(_COMMANDS[row.kind], payload)
            self.commands[payload.get("id", "")] = refused
            while len(self.commands) > _MOST_COMMANDS:
                del self.commands[next(iter(self.commands))]

    def _refused(self, command: Callable[[Learned, Json], None], payload: Json) -> str:
        """Carries out a command. Returns why that was impossible (and counts it as refused), or ""."""
        try:
            command(self, payload)
        except Error as problem:
            self.counts.refused += 1
            return str(problem)
        return ""

    def _totals(self, name: str) -> Totals:
        return self.by_model.setdefault(name, Totals())

    def _spend(self, payload: Json) -> float:
        """Counts the calls of a request; returns its dollars."""
        spent = 0.0
        for call in payload.get("calls", []):
            totals = self._totals(call["model"])
            totals.calls += 1
            totals.pay(call["dollars"])
            spent += call["dollars"]
            self.counts.calls += 1
            if call["model"] in self.members.models:
                position = self.members.models.index(call["model"])
                self.trial[position] = max(0, self.trial[position] - 1)
        for over in payload.get("failed", []):
            totals, failed = self._totals(over["model"]), over["reason"] != "skipped"
            totals.failures += failed
            totals.pay(over["dollars"])
            spent += over["dollars"]
            self.counts.failures += failed
        self.counts.pay(spent)
        day = datetime.fromtimestamp(payload.get("time", 0.0), timezone.utc).date().isoformat()
        if day > self.day:
            self.day, self.day_usd = day, 0.0
        self.day_usd += spent if day == self.day else 0.0
        self.counts.requests += 1
        return spent

    def _cancelled(self, payload: Json) -> None:
        self._spend(payload)
        self.counts.cancelled += 1

    def _decision(self, request: int, payload: Json) -> None:
        if payload.get("imported"):  # it was counted and learned before; its feedback may still come
            return
        spent = self._spend(payload)
        self.counts.deployed += 1
        self._totals(payload["deployed"]).deployed += 1
        for name, value in payload.get("shadow", {}).items():
            self.shadow[name] = self.shadow.get(name, 0) + value
        if payload["edition"] == self.edition:
            self.period += 1
            if self.learning is not None:
                self._learn(payload, [call_of(self.members, call) for call in payload["calls"]], None)
        if self.budget is not None and self.learning is not None:
            price = self.budget.spend(spent)
            if price is not None and price != self.members.price:
                self._refused(Learned._set_price, {"price": price})
        early = self.early.pop(str(request), None)
        if early is not None:
            self._heard(payload, early)

    def _learn(self, payload: Json, calls: list[Call], quality: Optional[float]) -> None:
        assert self.learning is not None
        try:
            # `self.period`, not the worker's own count: workers lag, so several requests carry the same period.
            self.learning.learn(Lesson(payload["request"], self.period, as_psi(payload["psi"]), calls, quality))
        except LaneFailure:
            self.counts.unlearned += 1

    def _feedback(self, request: int, quality: float, payload: Optional[Json]) -> None:
        if payload is None:
            self.early[str(request)] = quality
            while len(self.early) > MOST_EARLY:
                del self.early[next(iter(self.early))]
        else:
            self._heard(payload, quality)

    def _heard(self, payload: Json, quality: float) -> None:
        self.counts.feedbacks += 1
        self.counts.quality += quality
        totals = self._totals(payload["deployed"])
        totals.feedbacks += 1
        totals.quality += quality
        if self.monitor is not None:
            calls = [{**call, "quality": call.get("estimate")} for call in payload["calls"]]
            self.monitor.see_explained({**payload, "calls": calls}, quality)
        if self.learning is None or not self.members.needs_feedback or payload["edition"] != self.edition:
            return
        deployed = [call for call in payload["calls"] if call["model"] == payload["deployed"]]
        self._learn(payload, [call_of(self.members, deployed[0])], quality)

    # ---- commands ----

    def _add_model(self, payload: Json) -> None:
        members = with_model(self.members, payload["model"])
        if len(members.models) > len(self.members.models):
            if self.learning is not None:
                self.learning.add_model(members)
            self.trial.append(members.trial_calls)
        self._have(members)

    def _remove_model(self, payload: Json) -> None:
        self._have(without_model(self.members, payload["model"]))

    def _set_price(self, payload: Json) -> None:
        members = with_price(self.members, payload["price"])
        if members.price != self.members.price:
            if self.learning is not None:
                self.learning.set_price(members)
            self.members = members

    def _set_explore(self, payload: Json) -> None:
        self._have(replace(self.members, explore=payload["explore"]))

    def _have(self, members: Members) -> None:
        self.members, self.due = members, self.due or "members"
        if self.learning is not None:
            self.learning.members = members

    def _publish(self, payload: Json) -> None:
        fresh = Learned.of_cascade(parse(payload["file"], "the published cascade"))
        before, self.before = self.before, []
        self.before = [*before, packed(zlib.compress(self.saved()))][-MOST_BEFORE:]
        self.editions += 1
        self._become(fresh, self.editions, "publish")

    def _rollback(self, _: Json) -> None:
        if not self.before:
            raise Error("there is no cascade to go back to")
        *self.before, state = self.before
        was = Learned.restored(zlib.decompress(unpacked(state)))
        self._become(was, was.edition, "rollback")

    def _become(self, other: Learned, edition: int, why: str) -> None:
        self.members, self.learning, self.trial = other.members, other.learning, other.trial
        self.period, self.edition, self.due = other.period, edition, why

    def _watch(self, payload: Json) -> None:
        self.monitor = None if payload["monitor"] is None else Monitor(**payload["monitor"])

    def _keep_to(self, payload: Json) -> None:
        budget = None if payload["budget"] is None else Budget(**payload["budget"])
        price = self.members.price if self.budget is None else self.budget.price
        if budget is not None:
            price = max(price, budget.price)
        if price != self.members.price and self.learning is not None:
            self._set_price({"price": price})
        if budget is not None:
            budget.present = self.members.price
        self.budget = budget

    def _save(self, _: Json) -> None:
        self.due = self.due or "save"


_PLAIN = "edition", "editions", "period", "trial", "before", "shadow", "day", "day_usd"
_COMMANDS: Mapping[str, Callable[[Learned, Json], None]] = {
    "add_model": Learned._add_model, "remove_model": Learned._remove_model, "set_price": Learned._set_price,
    "set_explore": Learned._set_explore, "publish": Learned._publish, "rollback": Learned._rollback,
    "watch": Learned._watch, "keep_to": Learned._keep_to, "save": Learned._save,
}  # fmt: skip


def call_of(members: Members, call: Json) -> Call:
    """A call of a decision, in the form for learning."""
    position = members.models.index(call["model"])
    scores = tuple(call["scores"]) if "scores" in call else (call["score"],) if "score" in call else ()
    shown = float("nan")
    if scores and not members.reads_phi:
        shown = scores[0]
        if members.calibration:
            shown = float(members.calibration[position](np.array(shown)))
    return Call(position, call["dollars"], scores, shown, shown, call.get("latency"), call["propensity"])
