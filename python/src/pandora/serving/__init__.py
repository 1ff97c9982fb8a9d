"""Cascades in production: `Store` is a cascade in a folder, which survives kills.

>>> import pandora, pandora.serving
>>> new = pandora.Cascade.new(["small", "large"], price=1.0, evaluator="score")
>>> with pandora.serving.Store(tmp / "kept", new) as store:
...     with store.begin([1.0]) as request:
...         for model in request:
...             request.observe(dollars=0.01, score=0.9)
...     store.feedback(request.number, 1.0)
>>> with pandora.serving.Store(tmp / "kept") as store:  # as it was
...     store.metrics()["requests"]
1
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import isfinite
from typing import Any, Callable, Optional, TypeVar, Union

import numpy as np
import numpy.typing as npt

from .. import _core, arguments
from ..arguments import integer, number, refused, text
from ..cascade import _MOST_NUMBER, Cascade, Prompt, Request, beginning
from ..errors import PandoraWarning, UsageError
from .monitor import Monitor
from .traffic import Budget, Shadow, share_of

__all__ = ["Budget", "Monitor", "Shadow", "Store", "share_of"]

_Found = TypeVar("_Found")


class _Calls:
    """What a Request asks of a cascade, as calls of a store."""

    def __init__(self, store: _core.Store) -> None:
        self.store: Optional[_core.Store] = store
        self.monitor: Optional[Monitor] = None
        self.budget: Optional[Budget] = None
        self.shadow: Optional[Shadow] = None
        self.lock = threading.Lock()

    def opened(self) -> _core.Store:
        if self.store is None:
            raise UsageError("Store: it is closed; open its folder again")
        return self.store

    def call(self, op: str, **what: Any) -> dict[str, Any]:
        for name, value in what.items():
            for x in value if isinstance(value, list) else [value]:
                if isinstance(x, float) and not isfinite(x):
                    raise refused(f"{op}: {name}", value, "finite numbers")
        found: dict[str, Any] = json.loads(self.opened().call(json.dumps({"op": op, **what})))
        return found

    def begin(self, psi: npt.NDArray[np.float32]) -> dict[str, Any]:
        if not np.isfinite(psi).all():
            raise refused("begin: psi", psi[~np.isfinite(psi)][0].item(), "finite numbers")
        found: dict[str, Any] = json.loads(self.opened().begin(psi))
        return found

    def next(self, request: int) -> Optional[str]:
        model: Optional[str] = self.call("next", request=request)["next"]
        return model

    def needs_score(self, request: int) -> bool:
        return bool(self.call("needs_score", request=request)["needs_score"])

    def observe(self, request: int, model: str, dollars: float, scores: Sequence[float], latency: float) -> None:
        known = {"latency": latency} if latency == latency else {}
        self.call("observe", request=request, model=model, dollars=dollars, scores=list(scores), **known)
        if self.shadow is not None:
            self.shadow.observe(request, model, dollars, scores)

    def fail(self, request: int, model: str, dollars: float, reason: str) -> None:
        self.call("fail", request=request, model=model, dollars=dollars, reason=reason)
        if self.shadow is not None:
            self.shadow.observe(request, model, dollars, None)

    def skip(self, request: int, model: str, dollars: float) -> None:
        self.call("skip", request=request, model=model, dollars=dollars)
        if self.shadow is not None:
            self.shadow.observe(request, model, dollars, None)

    def cancel(self, request: int) -> None:
        self.call("cancel", request=request)
        if self.shadow is not None:
            self.shadow.cancel(request)

    def deploy(self, request: int) -> str:
        deployed = str(self.call("deploy", request=request)["deployed"])
        if self.shadow is not None:
            self.shadow.deploy(request, deployed)
        if self.budget is not None and self.budget.due():
            before = self.budget.present
            price = self.budget.next_price(self.call("counts")["dollars"])
            if price != before:
                self.call("set_price", price=price)
        return deployed

    def feedback(self, request: int, quality: float) -> None:
        monitor = self.monitor
        explained = {} if monitor is None else self.explain(request)
        self.call("feedback", request=request, quality=quality)
        if monitor is not None:
            with self.lock:
                monitor.see_explained(explained, quality)

    def explain(self, request: int) -> dict[str, Any]:
        return self.call("explain", request=request)


class Store:
    """A cascade in a folder: every call that was answered is kept, also where the process is killed.

    `cascade`, a `Cascade` or the path of its file, is what it begins with where the folder has none; a PandoraWarning
    says where the folder goes on with another one: of another fit or evaluator, or without its models. What was
    answered is on the disk after `sync_seconds` at the latest (0: before it is answered); a kill loses nothing, a
    power failure what is younger. An open request that nobody asks for in `timeout_seconds` is cancelled (0: never).
    With `decisions` what was decided is logged in the folder `decisions` (Cascade.log_to), which `pandora.Trace`
    reads; "prompts": with the prompts' texts and columns. A `monitor` sees all feedback; where it compares the
    cascade with a model alone, it chooses by a digest of a request's number which requests that model gets. It begins
    anew when the store is opened. A `budget` moves the price so that dollars per request keep to it; a `shadow` is
    another cascade that sees the requests and decides nothing.

    With `refit` "beside" no call waits for a refit: decisions go by the estimates that were adopted last, as soon as a
    thread of the store has learned from what was told. What is decided then depends on when that was; with "inline"
    calls learn at once, and equal calls give equal decisions.

    One process has a folder open; a second one gets a UsageError that names the first. It is safe to use from several
    threads, and does not wait for snapshots. Files that are not its own stay as they are. Its own are for their owner
    alone (mode 0600), and hold the numbers that features make of a prompt, not its text or columns.
    """

    def __init__(
        self,
        folder: Union[str, os.PathLike[str]],
        cascade: Union[Cascade, str, os.PathLike[str], None] = None,
        sync_seconds: float = 1.0,
        *,
        timeout_seconds: float = 0.0,
        refit: str = "inline",
        decisions: Union[bool, str] = False,
        monitor: Optional[Monitor] = None,
        budget: Optional[Budget] = None,
        shadow: Optional[Shadow] = None,
    ) -> None:
        for name, own in (("budget", Budget), ("shadow", Shadow), ("monitor", Monitor)):
            beside = {"budget": budget, "shadow": shadow, "monitor": monitor}[name]
            if beside is not None and not isinstance(beside, own):
                raise refused(f"Store: {name}", beside, f"a {own.__name__}")
        if not isinstance(decisions, (bool, np.bool_)) and decisions != "prompts":
            raise refused("Store: decisions", decisions, 'True, False or "prompts"')
        if refit not in ("inline", "beside"):
            raise refused("Store: refit", refit, '"inline" or "beside"')
        given = "" if cascade is None or isinstance(cascade, Cascade) else arguments.path("Store: cascade", cascade)
        store = _core.Store(
            arguments.path("Store: folder", folder), given,
            cascade._live.text() if isinstance(cascade, Cascade) else "", number("Store: sync_seconds", sync_seconds),
            number("Store: timeout_seconds", timeout_seconds), refit == "beside", bool(decisions),
            decisions == "prompts",
        )  # fmt: skip
        self._calls = _Calls(store)
        self._cautioned = False
        # Where calls wait for the disk, it writes for several of them at once.
        self._threads = ThreadPoolExecutor(1 if sync_seconds > 0 else 16, thread_name_prefix="pandora-store")
        if passed_over := self._calls.opened().passed_over():
            warnings.warn(passed_over, PandoraWarning, stacklevel=2)
        try:
            if shadow is not None:
                shadow.require_like(self.cascade)
                self._calls.shadow = shadow
            if budget is not None:
                self.keep_to(budget)
            if monitor is not None:
                self.watch(monitor)
        except UsageError:
            self.close()
            raise

    @property
    def monitor(self) -> Optional[Monitor]:
        """What watches the feedback."""
        return self._calls.monitor

    def watch(self, monitor: Monitor) -> None:
        """Another monitor watches from now on."""
        if not isinstance(monitor, Monitor):
            raise refused("Store: monitor", monitor, "a Monitor")
        there = [model["model"] for model in self._calls.call("models")["models"]]
        if missing := [name for name in monitor.models if name not in there]:
            raise UsageError(f"Store: the monitor's model {missing[0]} is none of the cascade's, {', '.join(there)}")
        self._calls.monitor = monitor

    def keep_to(self, budget: Optional[Budget]) -> None:
        """Another budget holds from now on; without one the price is again what it was where none binds."""
        if budget is not None and not isinstance(budget, Budget):
            raise refused("Store: budget", budget, "a Budget, or None")
        before, there = self._calls.budget, self.cascade
        price = there.price if before is None else before.price
        if budget is not None:
            budget.begin(there.kind, price, self._calls.call("counts")["dollars"])
            price = budget.present
        self._calls.budget = None
        if price != there.price:
            self.set_price(price)
        self._calls.budget = budget

    def begin(self, prompt: Prompt = "", columns: Optional[Mapping[str, Any]] = None) -> Request:
        """A request arrives, as `Cascade.begin`."""
        if not self._cautioned:
            self._cautioned = True
            if caution := self._calls.opened().caution():
                warnings.warn(caution, PandoraWarning, stacklevel=2)
        given = beginning("Store.begin:", prompt, columns)
        if isinstance(given, tuple):
            begun = self._calls.call("begin", text=given[0], columns=given[1])
        else:
            begun = self._calls.begin(np.atleast_1d(given))
        number, monitor = int(begun["request"]), self.monitor
        if monitor is not None and monitor.is_control(number):
            with suppress(UsageError):  # it rests, or was removed: the request goes by the cascade
                self._calls.call("only", request=number, model=monitor.against)
        if self._calls.shadow is not None:
            self._calls.shadow.begin(number, prompt, columns)
        return Request(self._calls, number)

    async def aside(self, call: Callable[..., _Found], *given: Any) -> _Found:
        """In an event loop, which goes on: `await store.aside(store.begin, psi)`, `await store.aside(request.next)`.

        They run in one thread (in 16 with `sync_seconds=0`): calls of a store follow each other anyhow, and each
        thread more is one that the event loop waits for to get the interpreter's lock back.
        """
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *given)

    def request(self, number: int) -> Request:
        """A request that began before, also before a restart, by its `Request.number`."""
        return Request(self._calls, integer("Store.request: number", number, _MOST_NUMBER))

    def feedback(self, number: int, quality: float) -> None:
        """The quality of the answer that was deployed for a request, by its `Request.number`."""
        self.request(number).feedback(quality)

    def add_model(self, name: str) -> None:
        """A model more, or one back that was removed."""
        self._calls.call("add_model", model=text("Store.add_model: name", name))

    def remove_model(self, name: str) -> None:
        """Is never called again."""
        self._calls.call("remove_model", model=text("Store.remove_model: name", name))

    def set_price(self, price: float) -> None:
        """Makes over what was learned to another price."""
        self._calls.call("set_price", price=number("Store.set_price: price", price))

    def set_explore(self, explore: float) -> None:
        """As `Cascade.set_explore`."""
        self._calls.call("set_explore", explore=number("Store.set_explore: explore", explore))

    def metrics(self) -> dict[str, Any]:
        """Counts since the cascade began, of each model whether it rests, and what monitor, shadow and budget know."""
        found = {**self._calls.call("counts"), **self._calls.call("models")}
        if self.monitor is not None:
            with self._calls.lock:
                found["monitor"] = self.monitor.state()
        if self._calls.shadow is not None:
            found["shadow"] = self._calls.shadow.state()
        if self._calls.budget is not None:
            found["price"] = self._calls.budget.present
        return found

    def save(self) -> None:
        """A snapshot now, beside calls of other threads. They are made all the time; nothing is lost without it."""
        self._calls.opened().save()

    @property
    def cascade(self) -> Cascade:
        """A copy of the cascade as it is."""
        return Cascade._parsed(self._calls.opened().text())

    @property
    def resumed(self) -> bool:
        """Whether the folder had a cascade."""
        return self._calls.opened().resumed()

    @property
    def calls_made_again(self) -> int:
        """Since the last snapshot, when it was opened."""
        return self._calls.opened().calls_made_again()

    def close(self) -> None:
        """Leaves a snapshot and, when calls under way have ended, the folder to others."""
        self._calls.store = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a Store has its folder alone, and is not copied or pickled; pickle its `cascade`")
