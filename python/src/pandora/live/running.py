"""A cascade that runs: which model to call next for a request, when to stop, which answer to deploy."""

from __future__ import annotations

import json
import math
import os
import secrets
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any, Optional, Union

import numpy as np

from .. import _core
from ..spelling import option
from . import explaining
from .learning import MOST_STATE, Asked, Estimates, Learning, Lesson, as_psi
from .members import MOST_PRICE, MOST_PSI, Json, Members, refusal, require_probability
from .request import (
    AFTER_FIRST,
    BEST_REACHES_SCORES,
    LAST_REACHES_THRESHOLD,
    NEVER,
    Call,
    Draws,
    PassedOver,
    Psi,
    UnderWay,
    draws_of_number,
)

MOST_CALL_USD = 1e6
_LONGEST_REASON = 60
_OF_AN_EPOCH = 1 << 20
_FIRST_EPOCH = 1 << 32
_STOPS = BEST_REACHES_SCORES, LAST_REACHES_THRESHOLD, AFTER_FIRST, NEVER
_ALL: weakref.WeakSet[RunningCascade] = weakref.WeakSet()
_FORKING: list[RunningCascade] = []  # cascades that wait for a fork in progress


@dataclass
class Counts:
    """Counts of requests, calls and feedback since the cascade began. Its file keeps them."""

    requests: int = 0
    calls: int = 0
    deployed: int = 0
    feedbacks: int = 0
    failures: int = 0
    cancelled: int = 0
    dropped_open: int = 0  #: requests that were forgotten before they were deployed
    dropped_waiting: int = 0  #: requests that were forgotten before their feedback came
    unlogged: int = 0  #: lines that a decision log lost
    unlearned: int = 0  #: lessons that could not be learned because estimates could not be solved
    dollars: float = 0.0  #: of all calls
    quality: float = 0.0  #: the sum over all feedback


@dataclass
class ModelState:
    """What is known about a model besides estimates."""

    failures: int = 0  #: failures in a row, up to the latest call
    rests_until: int = 0  #: the period from which it is tried again; 0: it does not rest
    tried_by: int = 0  #: the request that tries it then
    trial: int = 0  #: calls until its index decides


class RunningCascade:
    """The requests of one cascade. Threads may share it; a forked child continues with a copy.

    A cascade of the kind indices holds a `Learning` and learns from its own requests; if another process learns, it
    holds `Estimates`. UsageError for a request that is not known (any more), a step out of turn or a number out of
    range. After any exception everything is as it was before the call. Models are given by name.
    """

    def __init__(self, members: Members, saved: Optional[bytes] = None, estimates: Optional[Estimates] = None) -> None:
        """`saved`: the learned state with which a `Learning` continues. `estimates`: those of another process, for a
        cascade that does not learn itself.
        """
        self.lock = threading.RLock()
        self.members = members
        self.indices: Union[Learning, Estimates, None] = None
        if members.learns:
            self.indices = estimates or Learning(members, saved)
        self.states = [ModelState() for _ in members.models]
        self.counts_now = Counts()
        self.requests: OrderedDict[int, UnderWay] = OrderedDict()  # by their ids, 1, 2, ...
        self._ids: dict[int, int] = {}  # by their numbers
        self.last_id = self.periods = (
            0  # the latest request's id and period; periods also count other workers' requests
        )
        self.epoch: Optional[int] = None  # for the numbers of requests; drawn when the first one begins
        self._process = os.getpid()
        self.learning = True
        self.draws: Draws = draws_of_number
        self.version = self.edition = 0  # of the cascade in the database; 0 without one
        # In a file, the open requests take at most a quarter of MOST_STATE; the learned samples take the rest
        # (Learning.most_held).
        of_a_request = 12 * members.m + 600 * len(members.models)
        self.most_requests = max(1, min(members.most_requests, MOST_STATE // 4 // of_a_request))
        #: called with each decision and feedback, as a line of a decision log
        self.log: Optional[Callable[[Json], None]] = None
        self.logs_prompts = False
        self._read_features()
        _ALL.add(self)

    def _read_features(self) -> None:
        features = self.members.features
        self._features = None if features is None else _core.FeatureMap.parse(json.dumps(features))
        #: SHA-256 of the features, for decision logs
        self.features_digest = "" if self._features is None else sha256(self._features.json.encode()).hexdigest()
        sources: list[Json] = [] if features is None else features["sources"]
        used = [] if features is None else [sources[column["source"]] for column in features["columns"]]
        self._columns = {source["column"] for source in sources if "column" in source}
        self._needed = sorted({source["column"] for source in used if "column" in source})
        self._needs_text = any("column" not in source for source in used)

    # ---- what a request begins with ----

    def context_of(self, text: str, columns: Json) -> Psi:
        """Psi of a prompt: 1 and its features. UsageError if its text or a column is missing."""
        if self._features is None and self.members.m > 1:
            raise refusal(
                f"it has no features of prompts; a request begins with psi, {self.members.m} numbers of which the "
                "first is 1"
            )
        for name in columns:
            if name not in self._columns:
                raise refusal(f"no feature is made of a column {name}; leave it out")
        missing = ["the prompt's text"] if self._needs_text and not text else []
        absent = [name for name in self._needed if name not in columns]
        missing += [f"the column {name}" for name in absent]
        if missing:
            null = f" (a value that is not known: {option('', 'null')})" if absent else ""
            raise refusal(
                f"the features are made of {', '.join(missing)}; give {'it' if len(missing) == 1 else 'them'}{null}"
            )
        psi = np.zeros(self.members.m, np.float32)
        psi[0] = 1.0
        if self._features is not None:
            numbers = self._features.apply(text, columns)
            psi[1 : 1 + len(numbers)] = numbers
        return psi

    def taken(self, given: Any) -> Psi:
        """Psi as used for decisions: within the range of the fit or, without a fit, within the range that estimates
        allow.
        """
        psi, ends = as_psi(given), self.members.psi_range
        if psi.shape != (self.members.m,):
            raise refusal(f"psi has {psi.size} numbers; this cascade takes {self.members.m}")
        if not np.isfinite(psi).all():
            raise refusal("psi has a number that is not finite")
        if ends is not None:
            return np.clip(psi, ends[:, 0], ends[:, 1])
        if self.members.learns and (np.abs(psi) > MOST_PSI).any():
            j = int(np.argmax(np.abs(psi) > MOST_PSI))
            names = [] if self._features is None else self._features.names
            name = f", {names[j - 1]}," if 0 < j <= len(names) else ""
            raise refusal(
                f"number {j + 1} of psi{name} is {psi[j]:g}; give numbers between -{MOST_PSI:g} and {MOST_PSI:g}, "
                "which estimates can be solved of: divided by what is usual for them, or their logarithms"
            )
        return psi

    def begin_prompt(self, text: str, columns: Json) -> int:
        """Begins a request with its prompt's text and the columns that features use; returns its number."""
        return self.begin(self.context_of(text, columns), {"prompt": text, "columns": columns})

    def begin(self, psi: Any, prompt: Optional[Json] = None, session: Optional[str] = None) -> int:
        """Begins a request with psi; returns its number."""
        taken = self.taken(psi)
        with self.lock:
            number = self._next_number()
            period = min(self.periods + 1, 2**31 - 1)
            request = UnderWay(number, period, taken, id=self.last_id + 1, version=self.version, session=session)
            if prompt is not None and self.logs_prompts:
                request.prompt = {name: value for name, value in prompt.items() if value}
            request.resting = self._resting(period)
            self._rank(request)
            self.last_id += 1
            self.periods = period
            self.put(request)
            for model, state in enumerate(self.states):
                if state.rests_until > 0 and not self._is_absent(request, model):
                    state.tried_by = self.last_id
            self.counts_now.requests += 1
            while len(self.requests) > self.most_requests:
                self._drop(next(iter(self.requests)))
            return number

    def _next_number(self) -> int:
        """A number below 2^53 that no other request has: epoch x 2^20 plus the lower 20 bits of the id; with epoch 0
        the id alone.

        Each object draws an epoch, also in a forked child, and a new one when its numbers are used up.
        """
        last, count = self.last_id, (self.last_id + 1) % _OF_AN_EPOCH
        if self.epoch is None or (self.epoch and (self._process != os.getpid() or (count == 0 and last > 0))):
            self.epoch, self._process = _FIRST_EPOCH | secrets.randbits(32), os.getpid()
        return last + 1 if self.epoch == 0 else self.epoch * _OF_AN_EPOCH + count

    def _drop(self, id: int) -> None:
        request = self.requests.pop(id)
        self._ids.pop(request.number, None)
        if request.deployed:
            self.counts_now.dropped_waiting += 1
        else:
            self.counts_now.dropped_open += 1

    # ---- ranking ----

    def _is_absent(self, request: UnderWay, model: int) -> bool:
        return model in self.members.removed or model in request.resting or request.is_passed_over(model)

    def _resting(self, period: int) -> frozenset[int]:
        """Models that rest while the request of that period begins. From rests_until on, one request at a time tries a
        model.
        """
        out = set()
        for model, state in enumerate(self.states):
            if state.rests_until == 0:
                continue
            tried = self.requests.get(state.tried_by)
            is_tried = tried is not None and not tried.deployed and not self._is_absent(tried, model)
            if period < state.rests_until or is_tried:
                out.add(model)
        return frozenset(out)

    def _rank(self, request: UnderWay) -> None:
        """The order in which the rules would call models, for a request that has called none."""
        members = self.members
        request.score = [0.0] * len(members.models)
        request.prediction = request.width = request.bonus = []
        request.thresholds, request.done = [], False
        if members.learns:
            self._rank_by_indices(request)
        else:
            plan = self._plan_of(request) if members.predictor is not None else members.plans[0]
            request.order, request.stop = list(plan.order), LAST_REACHES_THRESHOLD
            request.thresholds = [*plan.thresholds, math.inf]
            if len(plan.order) == 1:
                request.stop = AFTER_FIRST
        for model in range(len(members.models)):
            if self._is_absent(request, model):
                request.go_on_without(model)
        if not request.order and request.resting:
            request.resting = frozenset()  # a resting model is better than none
            return self._rank(request)
        request.done = not request.order
        self._choose_next(request)

    def _rank_by_indices(self, request: UnderWay) -> None:
        members, rules = self.members, self.members.rules
        assert self.indices is not None and rules is not None
        asked: Asked = self.indices.ask(request.id, request.period, request.psi)
        trial = [state.trial > 0 for state in self.states]
        request.score = [_core.forced_score if forced else x for forced, x in zip(trial, asked.indices)]
        request.prediction, request.width, request.bonus = asked.prediction, asked.width, asked.bonus
        request.first_of_ties = False
        request.order = sorted(range(len(request.score)), key=lambda model: -request.score[model])
        request.stop = _STOPS[rules["stop"]]
        if rules["order"] or rules["epsilon"] > 0.0:
            draw = (request.number - 1) % 2**32
            streams = json.dumps(list(members.exploration)), json.dumps(list(members.random_order))
            order, request.stop, permutation = _core.period_rules(self.indices.estimator, draw, *streams)
            if order == "random":
                request.order = list(permutation)

    def _plan_of(self, request: UnderWay) -> Any:
        """The plan with the greatest predicted utility, the first of equal ones, among those that call a model."""
        members = self.members
        assert members.predictor is not None
        quality, usd = members.predictor.predict(request.psi[None, 1:])
        utility = (quality - members.price * usd)[0].tolist()
        prediction = [math.nan] * len(members.models)
        request.width, request.bonus = list(prediction), list(prediction)
        best = None
        for plan, worth in zip(members.plans, utility):
            if all(self._is_absent(request, model) for model in plan.order):
                continue
            if not prediction[plan.order[0]] >= worth:
                prediction[plan.order[0]] = worth
            if best is None or worth > best[1]:
                best = plan, worth
        request.prediction = prediction
        return best[0] if best is not None else next(plan for plan in members.plans if plan.order)

    def _choose_next(self, request: UnderWay) -> None:
        """Chooses the next model by the rules, or at random with the probability `explore`. A cascade that looks at no
        answers explores only with its first call.
        """
        explore = 0.0 if request.only or (not self.members.sees and request.calls) else self.members.explore
        left = []
        if explore > 0.0:
            called = {call.model for call in request.calls}
            left = [a for a in range(request.models) if a not in called and not self._is_absent(request, a)]
        request.choose_next(left, explore, self.draws)

    # ---- steps ----

    def request_of(self, number: int) -> UnderWay:
        """The request of that number. UsageError says why there is none."""
        id = self._ids.get(number)
        if id is not None:
            return self.requests[id]
        own = number // _OF_AN_EPOCH == self.epoch if self.epoch else number < _FIRST_EPOCH * _OF_AN_EPOCH
        if self.epoch is None or not own or self._process != os.getpid():
            raise refusal(
                f"there is no request {number} here: it has had its feedback or was cancelled, or it began in another "
                "process, or was lost with one since the last save"
            )
        place, last = (number % _OF_AN_EPOCH, self.last_id % _OF_AN_EPOCH) if self.epoch else (number, self.last_id)
        if number == 0 or place > last:
            raise refusal(f"there was no request {number}")
        raise refusal(
            f"request {number} is forgotten: it has had its feedback, was cancelled, or {self.most_requests} "
            "newer ones have come"
        )

    def _to_call(self, number: int, model: str) -> tuple[UnderWay, int]:
        """The request, if that model is the one to call next."""
        request = self.request_of(number)
        if request.deployed:
            raise refusal(f"request {number} is deployed already")
        if request.next is None:
            raise refusal(f"request {number} calls no further model; deploy it")
        position = self.position(model)
        if position != request.next:
            raise refusal(
                f"request {number}: model {model} is not the one to call next, {self.members.models[request.next]}"
            )
        return request, position

    def position(self, model: str) -> int:
        """The position of the model with that name. UsageError if there is none."""
        if model not in self.members.models:
            raise refusal(f"there is no model {model}")
        return self.members.models.index(model)

    def next(self, number: int) -> Optional[str]:
        """The model to call next; None if it is time to deploy."""
        with self.lock:
            model = self.request_of(number).next
            return None if model is None else self.members.models[model]

    def needs_score(self, number: int) -> bool:
        """Whether the score of an answer matters, so that it must be judged."""
        with self.lock:
            return self._needs_score(self.request_of(number))

    def _needs_score(self, request: UnderWay) -> bool:
        return self.members.learns or len(request.order) > 1 or (self.members.explore > 0.0 and self.members.sees)

    def _require_dollars(self, dollars: float) -> None:
        price = self.members.price
        if not (0.0 <= dollars <= MOST_CALL_USD and price * dollars <= MOST_CALL_USD):
            raise refusal(f"{dollars:g} dollars: give a number from 0 to a million, also as utility at price {price:g}")

    def _call(self, model: int, dollars: float, scores: Sequence[float], latency: float, needed: bool) -> Call:
        """Makes a call from a report, after checking dollars, latency and scores (UsageError)."""
        members = self.members
        self._require_dollars(dollars)
        if not (math.isnan(latency) or 0.0 <= latency <= 1e9):
            raise refusal(f"latency {latency:g}: give seconds, from 0 on")
        if needed or len(scores):
            wanted = members.reward_features if members.reads_phi else 1
            if len(scores) != wanted:
                raise refusal(f"{len(scores)} scores; the evaluator {members.evaluator} shows {wanted}")
            for score in scores:
                if not math.isfinite(score) or (not members.reads_phi and not 0.0 <= score <= 1.0):
                    wanted_one = "a finite number" if members.reads_phi else "one in [0, 1]"
                    raise refusal(f"score {score:g}: give {wanted_one}")
        if members.reads_phi and not members.learns_reward:
            raise refusal(f"rules that know the quality cannot take it from the evaluator {members.evaluator}")
        shown = math.nan
        if len(scores) and not members.reads_phi:
            shown = scores[0] if not members.calibration else float(members.calibration[model](np.array(scores[0])))
        seconds = None if math.isnan(latency) else float(latency)
        # Scores that are used as phi are rounded to float32, as phi is.
        exact = tuple(float(np.float32(x)) for x in scores) if members.reads_phi else tuple(map(float, scores))
        return Call(model, float(dollars), exact, shown, shown, seconds, 1.0)

    def observe(
        self, number: int, model: str, dollars: float, scores: Sequence[float] = (), latency: float = math.nan
    ) -> None:
        """Reports the call of the model that next() returned."""
        with self.lock:
            request, position = self._to_call(number, model)
            call = self._call(position, dollars, scores, latency, self._needs_score(request))
            call.propensity = request.propensity
            if self.indices is not None:
                call.quality = self.indices.reward(request.id, request.period, request.psi, call)
            after = request.copied()
            after.bring_forward(position)
            after.opened(call)
            self._choose_next(after)
            self.put(after)
            self.counts_now.calls += 1
            self.counts_now.dollars += dollars
            state = self.states[position]
            state.failures = state.rests_until = 0
            state.trial = max(0, state.trial - 1)

    def fail(self, number: int, model: str, dollars: float = 0.0, reason: str = "") -> None:
        """The model that next() returned gave no answer: the request goes on without it, and nothing is learned."""
        with self.lock:
            position = self._pass_over(number, model, dollars, reason)
            self.counts_now.failures += 1
            state, until = self.states[position], self.members.failures_until_rest
            state.failures += 1
            if until and state.failures >= until:
                state.rests_until = self.periods + self.members.requests_of_rest + 1
                state.tried_by = 0

    def skip(self, number: int, model: str, dollars: float = 0.0) -> None:
        """The same for a model that is not called for this request, or whose answer could not be judged. This is no
        failure.
        """
        with self.lock:
            self._pass_over(number, model, dollars, "skipped")

    def _pass_over(self, number: int, model: str, dollars: float, reason: str) -> int:
        request, position = self._to_call(number, model)
        self._require_dollars(dollars)
        after = request.copied()
        after.passed_over.append(PassedOver(position, float(dollars), reason[:_LONGEST_REASON]))
        if not after.done:
            after.go_on_without(position)
        if not after.order:
            after.only = False
            self._rank(after)
        else:
            self._choose_next(after)
        self.put(after)
        self.counts_now.dollars += dollars
        return position

    def put(self, request: UnderWay) -> None:
        """Adds a request, or puts it in the place of an earlier copy."""
        self.requests[request.id] = request
        self._ids[request.number] = request.id

    def only(self, number: int, model: str) -> None:
        """A request without calls calls only that model; if the model fails, the request follows the rules."""
        with self.lock:
            request = self.request_of(number)
            if request.deployed or request.calls:
                raise refusal(f"request {number} has called a model already")
            position = self.position(model)
            if position >= request.models or self._is_absent(request, position):
                raise refusal(f"request {number}: model {model} is not there, rests or was passed over")
            request.order, request.done, request.next = [position], False, position
            request.thresholds = [math.inf] if request.thresholds else []
            request.propensity, request.only = 1.0, True

    def cancel(self, number: int) -> None:
        """Ends a request without deploying; nothing is learned from it."""
        with self.lock:
            if self.request_of(number).deployed:
                raise refusal(f"request {number} is deployed already")
            self.forget(number)
            self.counts_now.cancelled += 1

    def knows(self, number: int) -> bool:
        """Whether it has a request of that number."""
        return number in self._ids

    def forget(self, number: int) -> None:
        """Removes a request that is over."""
        with self.lock:
            del self.requests[self._ids.pop(number)]

    def pin(self, number: int, model: str) -> None:
        """A request without calls begins with that model, if it can be called, and then follows the rules."""
        with self.lock:
            request = self.request_of(number)
            position = self.members.models.index(model) if model in self.members.models else -1
            if position not in request.order or request.calls or self._is_absent(request, position):
                return
            after = request.copied()
            place = after.order.index(position)
            if after.stop == LAST_REACHES_THRESHOLD:  # models before it are passed over
                after.order, after.thresholds = after.order[place:], after.thresholds[place:]
            else:
                after.order = [position, *(a for a in after.order if a != position)]
            after.explored, after.next, after.propensity = True, position, 1.0
            self.put(after)

    def rest(self, model: str) -> None:
        """Makes the model rest, as it does in another process."""
        with self.lock:
            if model in self.members.models:
                state = self.states[self.position(model)]
                state.rests_until, state.tried_by = self.periods + self.members.requests_of_rest + 1, 0

    def adopt(self, members: Members, estimates: Optional[Estimates], trial: Sequence[int]) -> None:
        """Decides from now on by the estimates of another process for the same models, and perhaps more models."""
        with self.lock:
            for position in sorted(members.removed - self.members.removed):
                self._remove(position, replace(self.members, removed=self.members.removed | {position}))
            self.members, self.indices = members, estimates
            # The adopted estimates do not contain the latest calls of a trial, which this process has counted itself.
            for state, left in zip(self.states, trial):
                state.trial = min(state.trial, left)
            self.states += [ModelState(trial=left) for left in trial[len(self.states) :]]

    def deploy(self, number: int) -> str:
        """Ends the request with the best answer, learns from what was seen, and returns the model."""
        with self.lock:
            request = self.request_of(number)
            if request.deployed:
                raise refusal(f"request {number} is deployed already")
            if not request.calls:
                raise refusal(
                    f"request {number} has called no model yet"
                    if request.next is not None
                    else f"request {number}: every model that it could call has failed or was skipped; cancel it"
                )
            if isinstance(self.indices, Learning) and self.learning:
                self.indices.learn(Lesson(request.id, request.period, request.psi, request.calls))
            explore = self.members.explore if self.members.sees else 0.0
            request.best = request.choose_deployed(explore, self.draws)
            request.next, request.deployed = None, True
            self.counts_now.deployed += 1
            self._log(lambda: explaining.decision_line(self, request))
            request.prompt = {}
            return self.members.models[request.best]

    def feedback(self, number: int, quality: float) -> None:
        """Takes the quality of the deployed answer, in [0, 1]; once."""
        with self.lock:
            request = self.request_of(number)
            if not request.deployed or request.best is None:
                raise refusal(f"request {number} is not deployed yet")
            require_quality(f"request {number}: ", quality)
            call = request.call_of(request.best)
            assert call is not None
            if isinstance(self.indices, Learning) and self.learning and self.members.needs_feedback:
                self.indices.learn(Lesson(request.id, request.period, request.psi, [call], quality))
            self.counts_now.feedbacks += 1
            self.counts_now.quality += quality
            self.forget(number)
            self._log(lambda: explaining.feedback_line(number, quality))

    def _log(self, line: Callable[[], Json]) -> None:
        """Writes a line to the decision log. If that fails, the line is counted as unlogged and decisions go on."""
        if self.log is None:
            return
        try:
            self.log(line())
        except Exception:
            self.counts_now.unlogged += 1

    def calibrate(
        self, period: int, psi: Any, model: str, dollars: float, scores: Sequence[float], quality: Optional[float]
    ) -> None:
        """A sample from before the first request; samples of one prompt have one period."""
        with self.lock:
            if not isinstance(self.indices, Learning):
                raise refusal(f"{'thresholds' if self.members.kind == 'thresholds' else 'routers'} are fitted, they do "
                              "not learn")  # fmt: skip
            if self.last_id > 0:
                raise refusal("samples from before come before the first request")
            taken, position = self.taken(psi), self.position(model)
            call = self._call(position, dollars, scores, math.nan, True)
            if quality is not None:
                require_quality("", quality)
            self.indices.calibrate(period, taken, call, quality)

    # ---- changes ----

    def set_learning(self, on: bool) -> None:
        """Sets whether requests change the estimates."""
        with self.lock:
            self.learning = on

    def set_explore(self, explore: float) -> None:
        """At each step, with that probability, calls a random model; a random answer is deployed with the same
        probability.
        """
        require_probability(explore)
        with self.lock:
            self.members = replace(self.members, explore=explore)
            for request in self.requests.values():
                if not request.deployed:
                    self._choose_next(request)

    def add_model(self, name: str) -> None:
        """Adds a model, or brings back one that was removed."""
        with self.lock:
            members = with_model(self.members, name)
            back = members.models == self.members.models
            if not back and isinstance(self.indices, Learning):
                self.indices.add_model(members)
            self.members = members
            if back:
                state = self.states[self.position(name)]
                state.failures = state.rests_until = 0
            else:
                self.states.append(ModelState(trial=members.trial_calls))

    def remove_model(self, name: str) -> None:
        """Removes a model: it is never called again."""
        with self.lock:
            self._remove(self.members.models.index(name) if name in self.members.models else -1,
                         without_model(self.members, name))  # fmt: skip

    def _remove(self, position: int, members: Members) -> None:
        with self.lock:
            before, self.members = self.members, members
            changed = []
            try:
                for request in self.requests.values():
                    after = request.copied()
                    planned = not after.done and not after.deployed and after.go_on_without(position)
                    if not planned and after.next != position:
                        continue
                    if not after.order:
                        self._rank(after)  # it takes the models into account that came since it began
                    else:
                        self._choose_next(after)
                    changed.append(after)
            except BaseException:
                self.members = before
                raise
            for after in changed:
                self.put(after)

    def set_price(self, price: float) -> None:
        """Changes the price and converts all that was learned to it."""
        with self.lock:
            members = with_price(self.members, price)
            if price == self.members.price:
                return  # solving again would change the last digit
            if isinstance(self.indices, Learning):
                self.indices.set_price(members)
            self.members = members

    # ---- what it says of itself ----

    def caution(self) -> str:
        """What a caller of observe() must know before the first live request; empty: nothing."""
        if self.members.evaluator != "quality" or self.members.calls_one_model:
            return ""
        return (
            "cascade: its evaluator is quality, a free and perfect judge, so that `score` in observe must be the true "
            "quality of the answer; where that is not known at run time, make it anew with a judge as evaluator"
        )

    def explain(self, number: int) -> Json:
        """Why a request went as it did: models with prediction, width, bonus and score, calls, and why it stopped."""
        with self.lock:
            return explaining.explanation(self.members, self.request_of(number))

    def counts(self) -> Json:
        """Counts of requests, calls and feedback since the cascade began, and of refits that were not solved."""
        with self.lock:
            learning = self.indices.estimator.unsolved_refits if self.indices is not None else 0
            return {**asdict(self.counts_now), "unsolved_refits": learning}

    def models(self) -> list[tuple[str, bool]]:
        """Names, and whether each was removed."""
        return [(name, position in self.members.removed) for position, name in enumerate(self.members.models)]


def require_quality(what: str, quality: float) -> None:
    """UsageError unless the quality is in [0, 1]."""
    if not 0.0 <= quality <= 1.0:
        raise refusal(f"{what}quality {quality:g}: give one in [0, 1]")


def with_model(members: Members, name: str) -> Members:
    """With another model, or with a removed one back. UsageError if there is no room for it, or it cannot be
    learned.
    """
    if name in members.models:
        position = members.models.index(name)
        if position not in members.removed:
            raise refusal(f"model {name} is there already")
        return replace(members, removed=members.removed - {position})
    if not members.learns:
        says = "thresholds do not" if members.kind == "thresholds" else "the router does not"
        raise refusal(f"{says} say when to call {name}; fit again on a table that has it")
    if not name:
        raise refusal("a model needs a name")
    if len(members.models) == 16:
        raise refusal(f"16 models are the most; {name} is one more")
    return members.with_model(name)


def without_model(members: Members, name: str) -> Members:
    """The members with that model removed. Its position stays, so other models keep theirs."""
    position = members.models.index(name) if name in members.models else -1
    if position < 0 or position in members.removed:
        raise refusal(f"there is no model {name}")
    removed = members.removed | {position}
    if members.learns:
        if len(removed) == len(members.models):
            raise refusal(f"{name} is the only model that is left; add another one first")
        return replace(members, removed=removed)
    plans = tuple(plan.without(position) for plan in members.plans)
    if not any(plan.order for plan in plans):
        raise refusal(f"it calls {name} alone; fit again on other models")
    return replace(members, removed=removed, plans=plans)


def with_price(members: Members, price: float) -> Members:
    """The members at another price. UsageError for kinds that are fitted to one price, and for indices that have
    learned payoffs.
    """
    if not members.learns:
        holds = "thresholds hold" if members.kind == "thresholds" else "a router holds"
        were = "they were" if members.kind == "thresholds" else "it was"
        raise refusal(f"{holds} for the price that {were} fitted for; fit again with {option('price')}")
    if not members.learns_reward and members.needs_feedback:
        raise refusal("what was learned of payoffs holds for one price; learn anew")
    if not (0.0 < price <= MOST_PRICE and members.price > 0.0):
        raise refusal(f"price {price:g} in place of {members.price:g}: both must be positive, and at most 1e9")
    return replace(members, price=price)


def _before_fork() -> None:
    _FORKING[:] = list(_ALL)
    for one in _FORKING:
        one.lock.acquire()


def _after_fork() -> None:
    while _FORKING:
        _FORKING.pop().lock.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
