"""Whether a cascade still does what it was fitted to do: alarms that may be looked at after every request.

>>> monitor = Monitor(["small", "large"], price=1.0, alpha=0.05)
>>> for k in range(400):  # the truth is what the judge says of it, give or take
...     monitor.see("small", estimated=0.7, quality=0.6 + 0.2 * (k % 2), dollars=0.001)
>>> monitor.alarms
[]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np

from ..arguments import number, refused, texts
from .traffic import share_of

_BETS = np.array([0.2, 0.4, 0.6, 0.9])  # shares of the greatest bet that keeps wealth positive
_EVERY, _MOST_STARTS = 100, 200
_FIRST = 10  # the k-th bet has the weight _FIRST / ((k + _FIRST - 1) (k + _FIRST)); all together have 1


class _Fall:
    """A test, after every number, of "the mean has not fallen"; alpha is the probability of a false alarm, ever.

    After each hundred numbers a bet begins. It bets that the mean is from now on below a lower bound of the mean so
    far. If that is not so, a bet's wealth is a nonnegative supermartingale. So is the weighted sum of all bets, which
    exceeds 2 / alpha with probability at most alpha / 2 (Ville). The other half of alpha belongs to the bounds, with
    the same weights. These are normal bounds, with room for values that are too rare to have been seen. Numbers lie in
    [-1, 1].
    """

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.count = 0
        self.sum = self.squares = 0.0
        self.bounds = np.empty(0)
        self.weights = np.empty(0)
        self.wealth = np.empty((0, len(_BETS)))
        self.evidence = 1.0
        self.told = False

    def see(self, x: float) -> bool:
        """Whether the alarm is given at this number; once."""
        if len(self.bounds):
            self.wealth *= 1.0 + np.outer((self.bounds - x) / (1.0 - self.bounds), _BETS)
            to_come = _FIRST / (self.count // _EVERY + _FIRST)  # whose wealth is 1
            self.evidence = float(self.weights @ self.wealth.mean(axis=1)) + to_come
        self.count += 1
        self.sum += x
        self.squares += x * x
        if self.count % _EVERY == 0:
            self._begin(self.count // _EVERY)
        if self.told or self.evidence < 2.0 / self.alpha:
            return False
        self.told = True
        return True

    def saved(self) -> dict[str, Any]:
        """Everything, as a JSON value."""
        return _plain(self)

    def restore(self, given: Mapping[str, Any]) -> None:
        """Restores saved()."""
        for name, value in given.items():
            setattr(self, name, np.array(value, float) if isinstance(value, list) else value)
        self.wealth = self.wealth.reshape(-1, len(_BETS))

    def needed(self, fall: float) -> int:
        """How many numbers after a fall of the mean report it with a probability of about 90%, at most a million.

        It assumes as many numbers before the fall as there are, or as many as come after it if that is more. The last
        bet before the fall decides, with the best of its shares. In simulated falls by 0.1 for one of three models
        (tests/service/README.md), with a standard deviation of quality of 0.25, nine in ten were reported after 757
        feedbacks when there were 500 before (this function says 665), 414 with 1,000 (497) and 343 with 4,000 (368);
        with a deviation of 0.1, after 180 with 1,000 (189). With feedback on a share of the requests it takes as many
        feedbacks.
        """
        spread = self.squares / self.count - (self.sum / self.count) ** 2 if self.count else 0.1
        after = np.geomspace(10.0, 1e6, 500)
        before = np.maximum(after, max(self.count, _EVERY))
        variance = np.full((len(after), 1), max(spread, 1e-4))
        k = before // _EVERY
        weight = _FIRST / ((k + _FIRST - 1) * (k + _FIRST))
        gap = _below(before, variance[:, 0], self.alpha * weight)[:, None]
        share = _BETS / (1.0 + gap)
        growth = share * (fall - gap) - share**2 * (variance + (fall - gap) ** 2) / 2.0
        many = after[:, None]
        wealth = many * growth - 1.28 * share * np.sqrt(variance * many * (1.0 + many / before[:, None]))
        told = (wealth >= np.log(2.0 * len(_BETS) / (self.alpha * weight))[:, None]).any(axis=1)
        return math.ceil(float(after[np.argmax(told)] if told.any() else after[-1]))

    def _begin(self, k: int) -> None:
        mean = self.sum / self.count
        variance = max(self.squares / self.count - mean * mean, 0.0)
        weight = _FIRST / ((k + _FIRST - 1) * (k + _FIRST))
        bound = mean - _below(self.count, variance, self.alpha * weight)
        self.bounds = np.append(self.bounds, bound)[-_MOST_STARTS:]
        self.weights = np.append(self.weights, weight)[-_MOST_STARTS:]
        self.wealth = np.vstack([self.wealth, np.ones(len(_BETS))])[-_MOST_STARTS:]


def _below(count: Any, variance: Any, alpha: Any) -> Any:
    """How far below the mean of that many numbers the bound lies."""
    rarity = np.log(2.0 / alpha) / count  # for values that were not seen yet, and may cost 1
    return np.sqrt(2.0 * rarity * (variance + rarity / 2.0))


def _plain(of: Any) -> dict[str, Any]:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(of).items()}


class _Difference:
    """A confidence sequence for the mean difference between two arms, to which requests are assigned at random.

    For many requests its intervals hold the difference at all times together with probability 1 - alpha (Waudby-Smith,
    Arbour, Sinha, Kennedy and Ramdas 2024). They are narrowest after some 1,000 requests.
    """

    def __init__(self, share: float, alpha: float) -> None:
        self.share, self.alpha = share, alpha
        self.count = 0
        self.sum = self.squares = 0.0
        self.arms = [[0, 0.0], [0, 0.0]]  # requests and the sum of their values: the cascade's, the control's

    def see(self, control: bool, value: float) -> None:
        means = [total / n if n else 0.0 for n, total in self.arms]  # of earlier ones only, so that it stays unbiased
        error = (value - means[control]) / (self.share if control else 1.0 - self.share)
        x = means[0] - means[1] + (-error if control else error)
        self.count += 1
        self.sum += x
        self.squares += x * x
        self.arms[control][0] += 1
        self.arms[control][1] += value

    @property
    def interval(self) -> tuple[float, float, float]:
        t, mean = self.count, self.sum / max(self.count, 1)
        if min(self.arms[0][0], self.arms[1][0]) < 20:
            return mean, -np.inf, np.inf
        variance = max(self.squares / t - mean * mean, 1e-12)
        rho = np.sqrt((-2.0 * np.log(self.alpha) + np.log(-2.0 * np.log(self.alpha) + 1.0)) / 1000.0)
        scale = t * rho * rho + 1.0
        half = np.sqrt(variance * 2.0 * scale / (t * t * rho * rho) * np.log(np.sqrt(scale) / self.alpha))
        return mean, mean - half, mean + half


class Monitor:
    """Watches feedback: whether the estimates of models' answers still hold, and whether the cascade pays.

    `models` and `price` are the cascade's. For each model it watches the quality of deployed answers minus the
    cascade's estimate of it, for a fall and for a rise. With `against`, a model, a share `share` of requests goes to
    that model alone (Store does this). The utility of the cascade minus that model's is then estimated from the
    feedback of both. `alarms` are sentences, each once. The probability of any alarm at all, however long nothing
    changes, is at most `alpha`, half of it for the models and half for the comparison. This holds for means of many
    answers: the first hundred of a model are only used for learning.
    """

    def __init__(
        self,
        models: Sequence[str],
        price: float,
        alpha: float = 0.05,
        against: Optional[str] = None,
        share: float = 0.05,
    ) -> None:
        models = texts("Monitor: models", models)
        price = number("Monitor: price", price)
        for what, value in (("alpha", alpha), ("share", share)):
            if not 0.0 < number(f"Monitor: {what}", value) < 1.0:
                raise refused(f"Monitor: {what}", value, "a number between 0 and 1")
        if not models or len(set(models)) < len(models):
            raise refused("Monitor: models", models, "different names, one at least")
        if not 0.0 <= price < float("inf"):
            raise refused("Monitor: price", price, "a number of 0 or more")
        if against is not None and against not in models:
            raise refused("Monitor: against", against, f"one of the models, {', '.join(models)}")
        own = alpha / (4 * len(models))
        #: which it watches
        self.models = models
        self.price, self.alpha, self.against, self.share = float(price), alpha, against, share
        self._tests = {model: (_Fall(own), _Fall(own)) for model in models}
        self._difference = _Difference(share, alpha / 2)
        self._worse = False
        #: sentences, in the order in which they became true
        self.alarms: list[str] = []

    @property
    def settings(self) -> dict[str, Any]:
        """Its arguments."""
        return {"models": list(self.models), "price": self.price, "alpha": self.alpha, "against": self.against,
                "share": self.share}  # fmt: skip

    def saved(self) -> dict[str, Any]:
        """Everything, as a JSON value."""
        tests = {model: [fall.saved() for fall in both] for model, both in self._tests.items()}
        return {**self.settings, "tests": tests, "difference": _plain(self._difference), "worse": self._worse,
                "alarms": list(self.alarms)}  # fmt: skip

    @staticmethod
    def restored(given: Mapping[str, Any]) -> Monitor:
        """Restores saved()."""
        made = dict(given)
        tests, difference, worse, alarms = (made.pop(name) for name in ("tests", "difference", "worse", "alarms"))
        out = Monitor(**made)
        for model, both in tests.items():
            for fall, one in zip(out._tests[model], both):
                fall.restore(one)
        vars(out._difference).update(difference)
        out._worse, out.alarms = worse, alarms
        return out

    def is_control(self, number: int) -> bool:
        """Whether the request of that number goes to the model `against` alone."""
        if self.against is None:
            return False
        return share_of(number) < self.share

    def see_explained(self, explained: Mapping[str, Any], quality: float) -> None:
        """Takes the feedback of a request, given the earlier result of Request.explain()."""
        calls, deployed = explained["calls"], explained["deployed"]
        control: Optional[bool] = self.is_control(int(explained["request"]))
        if control and [call["model"] for call in calls] != [self.against]:
            control = None  # the model did not answer, and the request went to the cascade: it belongs to neither arm
        found = next((call["quality"] for call in calls if call["model"] == deployed), None)
        estimated = float("nan") if found is None else float(found)
        dollars = sum(call["dollars"] for call in calls)
        self.see(deployed, estimated, quality, dollars, control)

    def see(
        self, model: str, estimated: float, quality: float, dollars: float, control: Optional[bool] = False
    ) -> None:
        """Takes a request's feedback: the model whose answer was deployed, the cascade's estimate of its quality, and
        the truth.

        `control`: whether the request went to the model alone; None leaves it out of the comparison.
        """
        if model in self._tests:
            fall, rise = self._tests[model]
            error = min(1.0, max(-1.0, quality - estimated)) if estimated == estimated else quality
            for test, x, how in ((fall, error, "worse"), (rise, -error, "better")):
                if test.see(x):
                    self.alarms.append(
                        f"answers of {model} are {how} than the cascade expects (after {test.count} rated answers): "
                        "check whether the judge still tells right answers from wrong ones, and fit again"
                    )
        if self.against is None or control is None:
            return
        self._difference.see(control, quality - self.price * dollars)
        if not self._worse and self._difference.interval[2] < 0.0:
            self._worse = True
            self.alarms.append(
                f"the cascade is worse than {self.against} alone: {self._difference.interval[0]:.3f} in utility per "
                f"request, and below {self._difference.interval[2]:.3f}; use {self.against}, or fit again"
            )

    def state(self) -> dict[str, Any]:
        """For each model the mean error and the evidence against no change; and the comparison (None: too early)."""
        out: dict[str, Any] = {"alarms": list(self.alarms), "models": {}}
        for model, (fall, rise) in self._tests.items():
            mean = fall.sum / fall.count if fall.count else None
            evidence = {"worse": fall.evidence, "better": rise.evidence, "alarm_at": 2.0 / fall.alpha}
            out["models"][model] = {
                "feedbacks": fall.count,
                "mean_error": mean,
                **evidence,
                "feedbacks_for_a_fall_of_0.1": fall.needed(0.1),
            }
        if self.against is not None:
            value, low, high = self._difference.interval
            known = {"low": low, "high": high} if high < np.inf else {"low": None, "high": None}
            out["cascade_less"] = {"model": self.against, "value": value, **known}
        return out
