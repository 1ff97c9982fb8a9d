"""Policies of one's own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Optional, Union

import numpy as np

from . import _core
from ._core import LaneSetup, Output, Request, WeitzmanEstimator
from .arguments import number, refused, text
from .code import code_of
from .errors import UsageError
from .table import Table

__all__ = ["IndexPolicy", "LaneSetup", "Output", "Policy", "Request", "WeitzmanEstimator", "policies", "register"]


class Policy:
    """A policy as code: derive from it, write the five calls, and give the class to :func:`pandora.run`.

    For every lane (a replication, a T0, a reward setting and one value of each hyperparameter) one object is made. It
    is told of the calibration by :meth:`calibrate`; then in each period come :meth:`begin`, :meth:`next` and
    :meth:`opened` by turns until next returns None or every box is open, :meth:`deploy`, and :meth:`learn`. Boxes are
    counted from 0.

    An exception ends the lane, with its text in ``Results.failures``, and nothing else. Lanes in Python take turns
    (they hold the GIL); all others run beside them.
    """

    #: its name in studies and results, of letters, digits, _ and -; empty: that of the class
    name: ClassVar[str] = ""
    #: in tables; empty: the name
    title: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    #: the settings that it runs in: "known" (outputs show mu), "unknown" (they do not), "none" (it uses no evaluator)
    rewards: ClassVar[Sequence[str]] = ("known",)
    #: the values of each hyperparameter that __init__ takes, numbers or texts; a study may name others, under
    #: [hyperparameters.NAME] for the policy of that name alone
    hyperparameters: ClassVar[Mapping[str, Union[Sequence[float], Sequence[str]]]] = {}
    #: names of globals, closure variables and attributes that results do not depend on, such as a log: left out of the
    #: digest of the code, by which results know it
    not_in_digest: ClassVar[Sequence[str]] = ()
    #: does not run at T0 = 0
    needs_calibration: ClassVar[bool] = False
    #: is told the oracle's indices (Request.sigma), and competes with nobody
    yardstick: ClassVar[bool] = False
    #: False: the lane is the same for all T0 and is simulated once
    uses_calibration: ClassVar[bool] = True

    def __init__(self, lane: LaneSetup, **hyperparameters: Any) -> None:
        self.lane = lane
        self.boxes = lane.boxes

    def calibrate(self, request: Request, output: Output, reward: Optional[float]) -> None:
        """A period in which `output.box` was queried and deployed.

        With T0 = 0 every box is queried once at x_0, and there is no reward.
        """

    def begin(self, request: Request) -> None:
        """A period begins."""

    def next(self) -> Optional[int]:
        """The box to open next, one that is there and not yet open in this period; None to stop once one is open."""
        raise NotImplementedError(f"{type(self).__name__} defines no next()")

    def opened(self, output: Output) -> None:
        """The box that next() named was opened."""

    def deploy(self) -> int:
        """The box to deploy, one of the open ones."""
        raise NotImplementedError(f"{type(self).__name__} defines no deploy()")

    def learn(self, reward: float) -> None:
        """The realised reward of the deployed output, 0 or 1 in the paper's model.

        None where a study's [feedback] keeps it back, which it does to policies that have learn_late alone.
        """

    def learn_late(self, period: int, reward: float) -> None:
        """The reward of an earlier period (1, 2, ...), which comes at the end of this one; called before learn.

        Only a policy that overrides it runs in studies whose [feedback] delays rewards or leaves some out.
        """

    def ranking(self) -> list[int]:
        """The boxes that it would have opened next, if it has such an order; only the parts of the regret need it."""
        return []

    def opens_of(self, outputs: Sequence[Output], worth: Sequence[float]) -> Optional[int]:
        """How many of the outputs, those of all boxes in the oracle's order, its own stopping would open.

        Asked after deploy. An output that it has not opened is NaN, and worth `worth[box]`, mu*, to it. None: as many
        as it opened in its own order. Only the parts of the regret need it.
        """
        return None

    def scores(self) -> list[float]:
        """The A numbers by which it ranked the boxes in this period, if it has such; `explain` shows them."""
        return []

    def generator(self) -> np.random.Generator:
        """A generator for the policy's own draws: the same for all lanes of a replication, so that results repeat."""
        return np.random.default_rng(self.lane.random_words)


class IndexPolicy(Policy):
    """Weitzman's rule with scores of one's own.

    Boxes are opened in the order of :meth:`score` until the best mu so far reaches every score left; the best is
    deployed. Override score, and learn_from to learn; prepare, reward_of and stops where they differ.
    """

    def prepare(self, request: Request) -> None:
        """A period begins, before any score is asked for."""

    def score(self, box: int) -> float:
        """The number that a box is given when a period begins."""
        raise NotImplementedError(f"{type(self).__name__} defines no score()")

    def reward_of(self, output: Output) -> float:
        """The mu of an opened output, or an estimate of it where the reward is unknown."""
        return output.mu

    def stops(self, best: float, left: float) -> bool:
        """Whether to stop; the best output has `best`, the largest score of the boxes left is `left`."""
        return best >= left

    def learn_from(self, opened: Sequence[Output], deployed: int, reward: float) -> None:
        """Ends the period: the outputs that were opened, in order, of which that of `deployed` brought `reward`."""

    def begin(self, request: Request) -> None:
        """Scores and order of the period."""
        self.request = request
        self.prepare(request)
        self._scores = [self.score(box) for box in range(self.boxes)]
        there = [box for box in range(self.boxes) if request.is_there(box)]
        self._order = sorted(there, key=lambda box: -self._scores[box])
        self._open: list[Output] = []
        self._values: dict[int, float] = {}
        self._best, self._best_mu = 0, -math.inf

    def next(self) -> Optional[int]:
        """The first box of the order that is not open, or None."""
        left = self._order[len(self._open) :]
        if not left or (self._open and self.stops(self._best_mu, max(self._scores[box] for box in left))):
            return None
        return left[0]

    def opened(self, output: Output) -> None:
        """Keeps the best; of equal ones the box with the least number."""
        mu = self._values[output.box] = self.reward_of(output)
        if not self._open or mu > self._best_mu or (mu == self._best_mu and output.box < self._best):
            self._best, self._best_mu = output.box, mu
        self._open.append(output)

    def deploy(self) -> int:
        """The best."""
        return self._best

    def learn(self, reward: float) -> None:
        """Hands on what was opened."""
        self.learn_from(self._open, self._best, reward)

    def ranking(self) -> list[int]:
        """The order of the period."""
        return self._order

    def opens_of(self, outputs: Sequence[Output], worth: Sequence[float]) -> Optional[int]:
        """Until `stops` says so in that order."""
        order, best = [output.box for output in outputs], -math.inf
        for opened in range(1, len(order)):
            box = order[opened - 1]
            best = max(best, self._values.get(box, worth[box]))
            if self.stops(best, max(self._scores[other] for other in order[opened:])):
                return opened
        return len(order)

    def scores(self) -> list[float]:
        """The scores of the period."""
        return self._scores


_REWARDS = ("known", "unknown", "none")
_registered: dict[str, tuple[type[Policy], str]] = {}


def name_of(policy: type[Policy]) -> str:
    """The name of a policy in studies."""
    return policy.name or policy.__name__


def _grid(what: str, values: Any) -> tuple[list[float], list[str]]:
    """The values of a hyperparameter, which are numbers or texts."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise refused(what, values, "a list of different finite numbers, or of different texts")
    given = list(values)
    if given and all(isinstance(value, str) for value in given):
        grid, known = [], [text(what, value) for value in given]
    else:
        grid, known = [number(what, int(value) if isinstance(value, bool) else value) for value in given], []
    if len(set(given)) < len(given) or not given or not all(math.isfinite(value) for value in grid):
        raise refused(what, values, "different finite numbers, or different texts")
    return grid, known


def register(policy: type[Policy]) -> type[Policy]:
    """Makes a policy known to studies and results; :func:`pandora.run` does it with those that it is given.

    A class that was changed takes the place of the one of its name. Results know the code that made them, with the
    values that it can reach: going on with others is refused (:class:`MismatchError`). A value that cannot be told from
    others, such as an open file, is a UsageError. It can stand above a class as a decorator.
    """
    if not (isinstance(policy, type) and issubclass(policy, Policy)):
        raise UsageError(f"policies: {policy!r} is no class derived from pandora.Policy")
    name, rewards = name_of(policy), tuple(policy.rewards)
    if not rewards or any(reward not in _REWARDS for reward in rewards):
        raise UsageError(f"policy {name}: rewards {rewards}: use some of {', '.join(_REWARDS)}")
    grids = [
        (key, f"Of policy {name}", *_grid(f"policy {name}: hyperparameter {key}", values))
        for key, values in policy.hyperparameters.items()
    ]
    code = code_of(f"policy {name}", policy)
    said = repr((code, policy.title, policy.summary, rewards, grids, policy.yardstick))
    if _registered.get(name) != (policy, said):
        _core.register_policy(
            type=policy, name=name, title=policy.title, summary=policy.summary, code=code, rewards=list(rewards),
            hyperparameters=grids, needs_calibration=policy.needs_calibration,
            uses_calibration=policy.uses_calibration, yardstick=policy.yardstick,
        )  # fmt: skip
        _registered[name] = (policy, said)
    return policy


def policies() -> Table:
    """All policies: name, title, what they do, and whether they run only where a study names them.

    >>> "dow" in policies()["policy"]
    True
    """
    names = ("policy", "title", "summary", "by_name_only")
    return Table({name: list(values) for name, values in zip(names, zip(*_core.policies()))}, "policies")
