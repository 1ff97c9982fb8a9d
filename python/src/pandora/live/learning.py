"""What a cascade of the kind indices learns: the engine's estimator, period by period."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Optional

import numpy as np

from .. import _core
from ..errors import LaneFailure
from .members import Members, refusal
from .request import Call, Psi

#: Bytes of what a saved cascade has learned, and samples of each model for which there must be room.
MOST_STATE, LEAST_SAMPLES = 512 << 20, 1000

Output = tuple[int, list[float], float, float]  # the box, phi, its cost in utility and mu


class Asked(NamedTuple):
    """The numbers of each model for the request that was asked about."""

    indices: list[float]
    prediction: list[float]  #: rho_hat' psi
    width: list[float]  #: ||psi||_{V^-1}
    bonus: list[float]  #: the bonus in its index


class Lesson(NamedTuple):
    """What is learned from a request: the answers that it saw, or the quality of the deployed one."""

    id: int  #: identifies the request
    period: int
    psi: Psi
    calls: Sequence[Call]  #: for a quality only the deployed call
    quality: Optional[float] = None


def output_of(members: Members, call: Call) -> Output:
    """A call in the form of the estimator."""
    phi: list[float] = []
    if members.learns_reward:
        phi = list(call.scores)
        if not members.reads_phi:
            phi = [0.0] * members.d
            phi[2 * call.model] = 1.0
            phi[2 * call.model + 1] = _core.logit_of_score(call.scores[0])
    return call.model, phi, members.price * call.dollars, call.shown


class Learning:
    """The estimator of a cascade's members.

    It answers questions about one request at a time, and learns from it. Before it turns to another request, it ends
    the period of the earlier one with all that was learned. `most_held`: samples of a model, beyond which the older
    half is forgotten, so that the learned state fits into a file.
    """

    def __init__(self, members: Members, saved: Optional[bytes] = None) -> None:
        self.members = members
        self.estimator = new_estimator(members)
        self.current: Optional[int] = None  #: the request whose period the estimator is in
        self.most_held = 0
        self._bound()
        if saved is not None:
            self.estimator.restore(saved)

    def _bound(self) -> None:
        # The fewer numbers a waiting request has, the less room it needs.
        self.most_held = self.estimator.most_samples_within(MOST_STATE * 3 // 4)
        most = self.members.estimation["most_samples"]
        if self.most_held < LEAST_SAMPLES and (most == 0 or most > self.most_held):
            raise refusal(
                f"a saved cascade has {MOST_STATE >> 20} MiB, which {len(self.members.models)} models with contexts of "
                f"{self.members.m} numbers fill with {self.most_held} samples of each; give fewer numbers, such as "
                "text:64"
            )
        if most == 0 or most > self.most_held:
            self.estimator.keep_at_most(self.most_held)

    def turn_to(self, id: int, period: int, psi: Psi) -> None:
        """Turns to the request about which it is asked, and from which it learns, from here on. LaneFailure if the
        estimates cannot be solved with what was learned from the request before; then nothing has changed.
        """
        if self.current != id:
            with self._whole():
                self._turn_to(id, period, psi)

    def _turn_to(self, id: int, period: int, psi: Psi) -> None:
        if self.current == id:
            return
        if self.estimator.unsettled:
            self.estimator.end_period()
        self.estimator.begin(period, psi)
        self.current = id

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Everything inside happens, or nothing."""
        current, most_held, estimator = self.current, self.most_held, self.estimator
        estimator.mark()
        try:
            yield
        except BaseException:
            estimator.roll_back()
            self.current, self.most_held = current, most_held
            raise
        estimator.commit()

    def ask(self, id: int, period: int, psi: Psi) -> Asked:
        """The estimates for a request."""
        self.turn_to(id, period, psi)
        return Asked(*self.estimator.ask())

    def reward(self, id: int, period: int, psi: Psi, call: Call) -> float:
        """The estimated quality of an answer."""
        self.turn_to(id, period, psi)
        return float(self.estimator.reward(output_of(self.members, call)))

    def learn(self, lesson: Lesson) -> None:
        """Learns from the lesson, completely or not at all. LaneFailure if estimates cannot be solved with it."""
        estimator = self.estimator
        with self._whole():
            self._turn_to(lesson.id, lesson.period, lesson.psi)
            outputs = [output_of(self.members, call) for call in lesson.calls]
            if lesson.quality is not None:
                estimator.learn_reward(outputs[0], lesson.quality)
            else:
                estimator.learn_outputs(outputs)
                if not self.members.needs_feedback and estimator.unsettled:
                    estimator.end_period()

    def copied_estimator(self) -> Any:
        """A copy of the estimator."""
        copy = new_estimator(self.members)
        copy.restore(self.estimator.saved())
        return copy

    def calibrate(self, period: int, psi: Psi, call: Call, quality: Optional[float]) -> None:
        """A sample from before the first request."""
        name = self.members.models[call.model]
        if self.estimator.samples(call.model) >= self.most_held:
            raise refusal(f"{name} has {self.estimator.samples(call.model)} samples, and a file has room for no more")
        self.estimator.calibrate(period, psi, output_of(self.members, call), quality)

    def set_price(self, members: Members) -> None:
        """Converts what was learned to the members' price."""
        factor = members.price / self.members.price
        problem = f"price {members.price:g}: what was learned cannot be made over to it"
        self._change(members, lambda: self.estimator.scale_costs(factor), problem)

    def add_model(self, members: Members) -> None:
        """The members have a new model."""

        def change() -> None:
            new_estimator(members)  # raises if it would take too much memory
            self.estimator.add_box(members.d - self.members.d)
            self._bound()

        self._change(members, change, f"{members.models[-1]} cannot be taken in")

    def _change(self, members: Members, change: Callable[[], object], problem: str) -> None:
        try:
            with self._whole():
                if self.estimator.unsettled:
                    self.estimator.end_period()
                change()
        except LaneFailure as error:
            raise refusal(f"{problem} ({error})") from None
        self.members = members


class Estimates:
    """The estimates by which a process decides while another process learns: a copy that answers but does not learn."""

    def __init__(self, members: Members, saved: bytes) -> None:
        """`saved`: bytes of the learner's estimator, with or without samples."""
        self.members = members
        estimator = new_estimator(members)
        estimator.restore(saved)
        self.estimator = estimator.estimates()

    def ask(self, _: int, period: int, psi: Psi) -> Asked:
        """The estimates for a request."""
        self.estimator.begin(period, psi)
        return Asked(*self.estimator.ask())

    def reward(self, _: int, __: int, ___: Psi, call: Call) -> float:
        """The estimated quality of an answer."""
        return float(self.estimator.reward(output_of(self.members, call)))


def new_estimator(members: Members) -> Any:
    """An estimator that has learned nothing. UsageError if the members' rules are invalid."""
    assert members.rules is not None
    if members.d > 64:
        raise refusal(f"{len(members.models)} models make {members.d} reward features, more than 64")
    estimation = dict(members.estimation)
    return _core.IndexEstimator(
        json.dumps(members.rules), json.dumps(estimation), len(members.models), members.m, members.d,
        json.dumps(list(members.exploration)),
    )  # fmt: skip


def as_psi(numbers: Any) -> Psi:
    """Float32, contiguous."""
    return np.ascontiguousarray(numbers, np.float32)
