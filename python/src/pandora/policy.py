"""Policies that users write."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Optional, Union

import numpy as np

from . import _core
from ._core import LaneSetup, Output, Request
from .arguments import number, refused, text
from .code import code_of
from .errors import UsageError
from .table import Table


class Policy:
    """A policy as code: derive from it, write the five calls, and give the class to :func:`pandora.run`.

    Every lane (a replication, a T0, a reward setting and one value of each hyperparameter) gets an object of its own.
    :meth:`calibrate` brings it the calibration. Then in each period come :meth:`begin`; :meth:`next` and :meth:`opened`
    in turn until next returns None or every box is open; :meth:`deploy`; and :meth:`learn`. Boxes are counted from 0.

    An exception ends only the lane, with its text in ``Results.failures``. Lanes in Python take turns (they hold the
    GIL); all others run beside them.
    """

    #: its name in studies and results, of letters, digits, _ and -; empty: the class's name
    name: ClassVar[str] = ""
    #: its title in tables; empty: the name
    title: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    #: the reward settings in which it runs: "known" (outputs show mu), "unknown" (they do not), "none" (it uses no
    #: evaluator)
    rewards: ClassVar[Sequence[str]] = ("known",)
    #: the values of each hyperparameter that __init__ takes, numbers or texts; a study may set others, under
    #: [hyperparameters.NAME] for the policy of that name only
    hyperparameters: ClassVar[Mapping[str, Union[Sequence[float], Sequence[str]]]] = {}
    #: names of globals, closure variables and attributes on which results do not depend, such as a log; they are left
    #: out of the digest of the code by which results are identified
    not_in_digest: ClassVar[Sequence[str]] = ()
    #: True: it does not run at T0 = 0
    needs_calibration: ClassVar[bool] = False
    #: True: it sees the oracle's indices (Request.sigma) and does not compete
    yardstick: ClassVar[bool] = False
    #: False: the lane is the same for all T0 and is simulated once
    uses_calibration: ClassVar[bool] = True

    def __init__(self, lane: LaneSetup, **hyperparameters: Any) -> None:
        self.lane = lane
        self.boxes = lane.boxes

    def calibrate(self, request: Request, output: Output, reward: Optional[float]) -> None:
        """Takes a calibration period, in which `output.box` was queried and deployed.

        With T0 = 0 every box is queried once at x_0, and there is no reward.
        """

    def begin(self, request: Request) -> None:
        """Called when a period begins."""

    def next(self) -> Optional[int]:
        """Returns the box to open next, or None to stop. The box must be there and not yet open; None needs an open
        box.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no next()")

    def opened(self, output: Output) -> None:
        """Called after the box that next() returned was opened."""

    def deploy(self) -> Optional[int]:
        """Returns the box to deploy, one of the open ones.

        Where a study's [actions] allow it, the box need not be open, or None ends the period without one.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no deploy()")

    def learn(self, reward: float) -> None:
        """Takes the realised reward of the deployed output, 0 or 1 in the paper's model.

        It is None if a study's [feedback] withholds it, which happens only to policies that have learn_late.
        """

    def learn_late(self, period: int, reward: float) -> None:
        """Takes the reward of an earlier period (1, 2, ...), which comes at the end of this one; called before learn.

        Only policies that override it run in studies whose [feedback] delays or omits rewards.
        """

    def ranking(self) -> list[int]:
        """The boxes that it would have opened next, if it has such an order. Only the parts of the regret need it."""
        return []

    def opens_of(self, outputs: Sequence[Output], worth: Sequence[float]) -> Optional[int]:
        """How many boxes its own stopping rule would open if boxes came in the oracle's order, that of `outputs`.

        Called after deploy. Outputs that it has not opened are NaN; it should value them at `worth[box]`, which is mu*.
        None: as many as it opened in its own order. Only the parts of the regret need it.
        """
        return None

    def scores(self) -> list[float]:
        """The A numbers by which it ranked the boxes in this period, if it has such numbers; `explain` shows them."""
        return []

    def generator(self) -> np.random.Generator:
        """A generator for the policy's own draws. It is the same for all lanes of a replication, so that results
        repeat.
        """
        return np.random.default_rng(self.lane.random_words)


class IndexPolicy(Policy):
    """Weitzman's rule with a policy's own scores.

    It opens boxes in the order of :meth:`score` until the best mu so far reaches every remaining score, and deploys the
    best output. Override score, and learn_from to learn; also prepare, reward_of and stops if they differ.
    """

    def prepare(self, request: Request) -> None:
        """Called when a period begins, before any score is asked for."""

    def score(self, box: int) -> float:
        """Returns the score of a box for the period."""
        raise NotImplementedError(f"{type(self).__name__} defines no score()")

    def reward_of(self, output: Output) -> float:
        """The mu of an opened output, or an estimate of it where the reward is unknown."""
        return output.mu

    def stops(self, best: float, left: float) -> bool:
        """Whether to stop; the best output has the value `best`, and `left` is the largest score of the other boxes."""
        return best >= left

    def learn_from(self, opened: Sequence[Output], deployed: int, reward: float) -> None:
        """Ends the period: `opened` outputs in order, and the reward of the box `deployed`."""

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
    """The values of a hyperparameter, numbers or texts."""
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
    """Makes a policy known to studies and results; :func:`pandora.run` does this with the policies that it gets.

    A changed class replaces the one of its name. Results store the code that made them, with the values that it can
    reach; continuing with other code is refused (:class:`MismatchError`). A value without a digest, such as an open
    file, is a UsageError. It can be used as a decorator of a class.
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
