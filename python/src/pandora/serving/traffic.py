"""Companions of a store's requests: a budget that they keep, a shadow cascade, and traffic that is split into two
parts.
"""

from __future__ import annotations

import copy
import hashlib
import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np

from ..arguments import integer, number, refused, text
from ..cascade import Cascade, Prompt
from ..errors import UsageError

_MOST_PRICE = 1e9  # of a cascade
_MOST_SHADOWED = 65_536  # requests, as many as a cascade remembers


def share_of(key: Union[str, int]) -> float:
    """A number in [0, 1) that is fixed for a key and evenly spread over keys, to give a share of users another cascade.

    >>> new = share_of("user 17") < 0.1  # is with the tenth that gets the new one
    """
    named = text("share_of: key", str(key) if isinstance(key, (int, np.integer)) else key)
    return int.from_bytes(hashlib.blake2b(named.encode(), digest_size=8).digest(), "big") / 2.0**64


class Budget:
    """Dollars per request that requests keep to on average, for cascades of the kind indices.

    `price`, utility per dollar, is the cascade's price if the budget does not bind. After every `every` deployed
    requests the price is multiplied by exp(step (spent / usd_per_request - 1)), but is never below `price`: dual ascent
    on the budget, in the logarithm of its multiplier. So over n requests the mean exceeds `usd_per_request` by at most
    the share log(greatest price / price) every / (step n), whatever happens to models' prices. The price is at most 100
    / usd_per_request, at which no quality is worth more than a hundredth of the budget; for calls that are more
    expensive even then the bound does not hold. `stop_usd`: dollars of a day (UTC) from which on requests are refused
    until the next day; None: never.
    """

    def __init__(
        self, usd_per_request: float, price: float, *, every: int = 100, step: float = 0.2,
        stop_usd: Optional[float] = None,
    ) -> None:  # fmt: skip
        self.usd = number("Budget: usd_per_request", usd_per_request)
        self.price = number("Budget: price", price)
        self.every = integer("Budget: every", every)
        self.step = number("Budget: step", step)
        self.stop_usd = None if stop_usd is None else number("Budget: stop_usd", stop_usd)
        more = () if self.stop_usd is None else (("stop_usd", self.stop_usd),)
        for name, value in (("usd_per_request", self.usd), ("price", self.price), ("step", self.step), *more):
            if not 0.0 < value < math.inf:
                raise refused(f"Budget: {name}", value, "a number above 0")
        if self.step > 10.0:
            raise refused("Budget: step", step, "at most 10, such as 0.2")
        if self.price > _MOST_PRICE:
            raise refused("Budget: price", price, "a number up to 1e9")
        if self.every < 1:
            raise refused("Budget: every", every, "1 or more")
        #: the current utility per dollar
        self.present = self.price
        self._deployed, self._spent = 0, 0.0  # of the block

    @property
    def settings(self) -> dict[str, Any]:
        """Its arguments."""
        return {"usd_per_request": self.usd, "price": self.price, "every": self.every, "step": self.step,
                "stop_usd": self.stop_usd}  # fmt: skip

    def require_kind(self, kind: str) -> None:
        """UsageError for a cascade whose price cannot move."""
        if kind != "indices":
            raise UsageError(f"Budget: {kind} hold for the price of their fit; fit with max_usd, or kind='indices'")

    def spend(self, dollars: float) -> Optional[float]:
        """Counts a deployed request and its dollars. Returns the new price if a block has ended, otherwise None."""
        self._deployed += 1
        self._spent += dollars
        if self._deployed < self.every:
            return None
        factor = math.exp(min(self.step * (self._spent / self.every / self.usd - 1.0), 50.0))
        most = min(max(self.price, 100.0 / self.usd), _MOST_PRICE)
        self.present = min(max(self.price, self.present * factor), most)
        self._deployed, self._spent = 0, 0.0
        return self.present

    def saved(self) -> dict[str, Any]:
        """Everything, as a JSON value."""
        return {**self.settings, "present": self.present, "deployed": self._deployed, "spent": self._spent}

    @staticmethod
    def restored(given: dict[str, Any]) -> Budget:
        """Restores saved()."""
        made = dict(given)
        present, deployed, spent = (made.pop(name) for name in ("present", "deployed", "spent"))
        out = Budget(**made)
        out.present, out._deployed, out._spent = present, deployed, spent
        return out


class Shadow:
    """A copy of another cascade that sees a store's requests and decides nothing.

    It knows only the calls that were made for a request. If it would make other calls, the request counts as not
    `answered` by it, and its dollars and answer are unknown; `pandora.Cascade.test` on the decision log of a store that
    explores estimates them. A request that it refuses, because a column is missing, is counted as `refused`. It does
    not learn. Its models are models of the store's cascade, and its evaluator is the same or none.
    """

    def __init__(self, cascade: Cascade) -> None:
        if not isinstance(cascade, Cascade):
            raise refused("Shadow: cascade", cascade, "a Cascade")
        self._cascade = copy.copy(cascade)
        self._cascade.set_learning(False)
        self._calls: OrderedDict[int, tuple[Prompt, Any, list[Any]]] = OrderedDict()
        self._lock = threading.Lock()
        counted = "requests", "answered", "refused", "same_answer", "calls", "live_calls"
        self._seen: dict[str, float] = dict.fromkeys(counted, 0)
        self._seen.update(usd=0.0, live_usd=0.0)

    def require_like(self, live: Cascade) -> None:
        """Whether its evaluator can use the live cascade's scores."""
        own = self._cascade
        if not set(own.models) & set(live.models):
            raise UsageError(f"Store: the shadow's models are none of the cascade's, {', '.join(live.models)}")
        if own.evaluator not in ("none", live.evaluator) and own.kind != "router":
            seen = f"the shadow's evaluator is {own.evaluator}, the cascade's {live.evaluator}"
            raise UsageError(f"Store: {seen}; fit it with the same")

    def begin(self, number: int, prompt: Prompt, columns: Any) -> None:
        """A request has begun."""
        with self._lock:
            self._calls[number] = prompt, columns, []
            if len(self._calls) > _MOST_SHADOWED:
                self._calls.popitem(last=False)

    def observe(self, number: int, model: str, dollars: float, scores: Optional[Sequence[float]]) -> None:
        """A call of the live request; without scores the call failed or was skipped."""
        with self._lock:
            if number in self._calls:
                self._calls[number][2].append((model, dollars, scores))

    def deploy(self, number: int, deployed: str) -> dict[str, float]:
        """The live request has ended; returns what it adds to state()."""
        with self._lock:
            before = dict(self._seen)
            self._deployed(number, deployed)
            return {name: value - before[name] for name, value in self._seen.items() if value != before[name]}

    def _deployed(self, number: int, deployed: str) -> None:
        prompt, columns, calls = self._calls.pop(number, ("", None, []))
        if not calls:
            return
        self._seen["requests"] += 1
        made = {model: (dollars, scores) for model, dollars, scores in calls}
        try:
            request = self._cascade.begin(prompt, columns)
        except UsageError:
            self._seen["refused"] += 1
            return
        own: list[float] = []
        while (model := request.next()) is not None and model in made:
            dollars, scores = made[model]
            own.append(dollars)
            if scores is None:
                request.fail(dollars=dollars)
            elif request.needs_score and not scores:  # nobody judged it
                break
            else:
                request.observe(dollars, scores)
        if model is not None or not request.explain()["calls"]:
            return request.cancel()
        self._seen["answered"] += 1
        self._seen["same_answer"] += request.deploy() == deployed
        self._seen["calls"] += len(own)
        self._seen["live_calls"] += len(calls)
        self._seen["usd"] += sum(own)
        self._seen["live_usd"] += sum(dollars for _, dollars, _ in calls)

    def cancel(self, number: int) -> None:
        """The live request was cancelled."""
        with self._lock:
            self._calls.pop(number, None)

    def state(self) -> dict[str, Any]:
        """Requests seen and answered; for answered ones its calls and dollars, and the live ones."""
        with self._lock:
            return dict(self._seen)
