"""A request from its beginning to its feedback: the calls that it made, and the models that it would call next."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

Psi = npt.NDArray[np.float32]
Json = dict[str, Any]

#: Rules of stopping, as the engine names them (kernels/rules/spec.hpp).
BEST_REACHES_SCORES, LAST_REACHES_THRESHOLD, AFTER_FIRST, NEVER = (
    "best_reaches_scores_left", "last_reaches_threshold", "after_first", "never",
)  # fmt: skip
DEPLOYING = -1  # the step of draws in which an answer is chosen


@dataclass
class Call:
    """A model that was called and answered."""

    model: int
    dollars: float
    scores: tuple[float, ...]  #: the values that the evaluator showed, as observed
    shown: float  #: the quality to which the score is calibrated; NaN if nothing was shown
    quality: float  #: the quality that the rules assume for the answer
    latency: Optional[float]  #: seconds
    propensity: float  #: the probability of the call, given everything seen before
    deploy_propensity: float = 0.0  #: the probability of deploying its answer, given all calls


@dataclass
class PassedOver:
    """A model that gave no answer, or was skipped."""

    model: int
    dollars: float
    reason: str


@dataclass
class UnderWay:
    """`order`: the models that were called, in order, and then those that would be called next.

    If the rules use thresholds, `thresholds` has for each of them the estimated quality from which nothing more is
    called (inf: there is none). Otherwise `score` has each model's index, by the model's position.
    """

    number: int
    period: int  #: 1, 2, ... of the cascade
    psi: Psi
    order: list[int] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    stop: str = NEVER
    score: list[float] = field(default_factory=list)
    prediction: list[float] = field(default_factory=list)
    width: list[float] = field(default_factory=list)
    bonus: list[float] = field(default_factory=list)
    first_of_ties: bool = True  #: among equal qualities, deploys the first answer; otherwise that of the first model
    calls: list[Call] = field(default_factory=list)
    passed_over: list[PassedOver] = field(default_factory=list)
    best: Optional[int] = None  #: the model of the best answer; after deploying, that of the deployed one
    done: bool = False  #: whether the rules call nothing more
    next: Optional[int] = None
    propensity: float = 1.0  #: the probability of calling `next`
    resting: frozenset[int] = frozenset()  #: models that rested when it began
    only: bool = False  #: it calls only the model that was named for it
    explored: bool = False  #: whether a call differed from the rules
    deployed: bool = False
    id: int = 0  #: 1, 2, ... of the requests of this object
    version: int = 0  #: the version of the cascade that it used
    session: Optional[str] = None
    prompt: Json = field(default_factory=dict)  #: its text and columns, if they are logged

    @property
    def models(self) -> int:
        """How many models there were when it began."""
        return len(self.score)

    def copied(self) -> UnderWay:
        """A copy that is independent of this one."""
        return replace(
            self, order=list(self.order), thresholds=list(self.thresholds), calls=list(self.calls),
            passed_over=list(self.passed_over),
        )  # fmt: skip

    def call_of(self, model: int) -> Optional[Call]:
        """The call of that model."""
        return next((call for call in self.calls if call.model == model), None)

    def is_passed_over(self, model: int) -> bool:
        """Whether the model gave no answer to this request."""
        return any(over.model == model for over in self.passed_over)

    def opened(self, call: Call) -> None:
        """Records that the next model in the order was called."""
        place = len(self.calls)
        self.calls.append(call)
        before = None if self.best is None else self.call_of(self.best)
        if before is None or self._is_better(call, before):
            self.best = call.model
        self.done = self.done or self._stops(place)

    def _is_better(self, call: Call, best: Call) -> bool:
        if call.quality == best.quality:
            return not self.first_of_ties and call.model < best.model
        return call.quality > best.quality

    def _stops(self, place: int) -> bool:
        """Whether nothing more is called after the answer at that place in the order."""
        if place + 1 >= len(self.order) or self.stop == AFTER_FIRST:
            return True
        if self.stop == LAST_REACHES_THRESHOLD:
            return self.calls[place].quality >= self.thresholds[place]
        if self.stop == NEVER:
            return False
        best = self.call_of(self.best if self.best is not None else -1)
        return best is not None and best.quality >= max(self.score[a] for a in self.order[place + 1 :])

    def go_on_without(self, model: int) -> bool:
        """Removes a model that was not called yet; returns whether it was in the order."""
        called = len(self.calls)
        if model not in self.order[called:]:
            return False
        place = self.order.index(model, called)
        del self.order[place]
        if self.thresholds:
            del self.thresholds[place]
            if self.thresholds:
                self.thresholds[-1] = math.inf
        if called:
            self.done = self._stops(called - 1)
        return True

    def bring_forward(self, model: int) -> None:
        """Puts a model that is called out of turn before the remaining ones, with its threshold."""
        place = len(self.calls)
        if not self.done and self.order[place : place + 1] == [model]:
            return
        self.explored = True
        if model in self.order[place:]:
            at = self.order.index(model, place)
        else:
            at = len(self.order)
            self.order.append(model)
            if self.stop == LAST_REACHES_THRESHOLD or self.thresholds:
                self.thresholds.append(math.inf)
        self.order.insert(place, self.order.pop(at))
        if self.thresholds:
            self.thresholds[-1] = math.inf
            self.thresholds.insert(place, self.thresholds.pop(at))

    def choose_next(self, left: Sequence[int], explore: float, draws: Draws) -> None:
        """Decides the next step: that of the rules or, with probability `explore`, one of the remaining models."""
        by_rules = None if self.done else self.order[len(self.calls)]
        self.next, self.propensity = by_rules, 1.0
        if explore == 0.0 or not left:
            return
        coin, which = draws(self, len(self.calls) + len(self.passed_over))
        if coin < explore:
            self.next = _one_of(left, which)
        self.propensity = explore / len(left) + (1.0 - explore if self.next == by_rules else 0.0)

    def choose_deployed(self, explore: float, draws: Draws) -> int:
        """Returns the best answer or, with probability `explore`, any one; stores the probability of each."""
        assert self.best is not None
        if len(self.calls) < 2 or self.only:
            explore = 0.0
        for call in self.calls:
            call.deploy_propensity = explore / len(self.calls) + (1.0 - explore if call.model == self.best else 0.0)
        coin, which = draws(self, DEPLOYING)
        return _one_of([call.model for call in self.calls], which) if coin < explore else self.best

    def went_by_rules(self, explore: float, left: int) -> float:
        """The probability with which it followed the rules in all of its steps; 0 if it did not.

        `left`: how many other models it could have called.
        """
        if self.explored or self.only or self.best is None:
            return 0.0
        probability = math.prod(call.propensity for call in self.calls)
        call = self.call_of(self.best)
        deployed = 0.0 if call is None else call.deploy_propensity
        if deployed < max(one.deploy_propensity for one in self.calls):
            return 0.0
        return probability * deployed * (1.0 - explore if left else 1.0)

    # ---- as JSON ----

    def to_json(self) -> Json:
        """Everything, for of_json()."""
        out = {name: _plain(getattr(self, name)) for name in UnderWay.__dataclass_fields__}
        return {name: value for name, value in out.items() if value not in ([], {}, None)}

    @staticmethod
    def of_json(json: Json) -> UnderWay:
        """Raises TypeError, ValueError or KeyError for anything that to_json() has not written."""
        given = dict(json)
        out = UnderWay(
            int(given.pop("number")), int(given.pop("period")), np.array(given.pop("psi"), np.float32),
            calls=[Call(**{**_numbers(one), "scores": tuple(one["scores"])}) for one in given.pop("calls", [])],
            passed_over=[PassedOver(**one) for one in given.pop("passed_over", [])],
            resting=frozenset(given.pop("resting", [])),
        )  # fmt: skip
        for name in ("thresholds", "score", "prediction", "width", "bonus"):
            setattr(out, name, [_number(x) for x in given.pop(name, [])])
        for name, value in given.items():
            if type(getattr(out, name)) not in (type(value), type(None)) and not isinstance(value, (int, float)):
                raise ValueError(name)
            setattr(out, name, value)
        return out


_TEXTS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (Call, PassedOver)):
        return _plain(vars(value))
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    return [_plain(member) for member in value] if isinstance(value, (list, tuple)) else value


def _number(value: Any) -> Any:
    return _TEXTS[value] if isinstance(value, str) else value


def _numbers(call: Json) -> Json:
    return {name: _number(value) for name, value in call.items()}


#: the two uniform numbers in [0, 1) of each step of a request: for a coin, and for the choice of a model
Draws = Callable[[UnderWay, int], tuple[float, float]]


def draws_of_number(request: UnderWay, step: int) -> tuple[float, float]:
    """The draws for the request's number."""
    digest = blake2b(b"%d %d" % (request.number, step), digest_size=16, person=b"pandora explores").digest()
    return tuple(int.from_bytes(digest[k : k + 8], "big") / 2.0**64 for k in (0, 8))  # type: ignore[return-value]


def _one_of(models: Sequence[int], uniform: float) -> int:
    return models[min(int(uniform * len(models)), len(models) - 1)]
