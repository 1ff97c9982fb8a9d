"""A cascade whose decisions, feedback and learned states are rows of a database, for one process of one or of forty."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
import time
import warnings
import weakref
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Optional, Union

from .. import arguments
from ..arguments import integer, number, refused, text
from ..cascade import _MOST_NUMBER, Cascade, Prompt, Request, beginning
from ..errors import DataError, PandoraWarning, UsageError
from ..live.explaining import decision_payload, session_digest
from ..live.file import load, text_of, unpacked
from ..live.learning import Estimates
from ..live.members import Json, Members, require_probability
from ..live.request import UnderWay
from ..live.running import ModelState, RunningCascade, require_quality, with_model, with_price, without_model
from ..offline.learners.estimators import EstimatorPredictor
from . import database
from .database import Database, DatabaseAway, FeedbackRemoved, Outbox, OutboxFull, Version
from .database.connection import Closes
from .former_store import imported_into
from .learned import Learned
from .learning import LearningThread, decision_before
from .monitor import Monitor
from .traffic import Budget, Shadow, share_of

_MOST_RECENT = 10_000  # decisions that can be explained without the database
_MOST_SESSIONS = 100_000
_COMMAND_SECONDS = 10.0  # how long a command waits until it has taken effect
_OPEN_SECONDS = 60.0  # how long a process waits for another one's first version, which may be starting too
_RESTS = "rest", "pin"  # small events that other workers look for
_ALL: weakref.WeakSet[Store] = weakref.WeakSet()


class BudgetSpent(UsageError):
    """The dollars of the day are spent (Budget.stop_usd); requests are refused until the next day begins."""


class _Requests:
    """The backend of a Request: the cascade with which it began."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def _of(self, request: int) -> RunningCascade:
        return self._store._cascade_of(request)

    def next(self, request: int) -> Optional[str]:
        return self._of(request).next(request)

    def needs_score(self, request: int) -> bool:
        return self._of(request).needs_score(request)

    def observe(self, request: int, model: str, dollars: float, scores: Sequence[float], latency: float) -> None:
        self._of(request).observe(request, model, dollars, scores, latency)
        self._shadow(request, model, dollars, scores)

    def fail(self, request: int, model: str, dollars: float, reason: str) -> None:
        cascade = self._of(request)
        position = cascade.position(model)
        rested = cascade.states[position].rests_until
        cascade.fail(request, model, dollars, reason)
        if cascade.states[position].rests_until > rested:
            self._store._note("rest", {"model": model})
        self._shadow(request, model, dollars, None)

    def skip(self, request: int, model: str, dollars: float) -> None:
        self._of(request).skip(request, model, dollars)
        self._shadow(request, model, dollars, None)

    def _shadow(self, request: int, model: str, dollars: float, scores: Optional[Sequence[float]]) -> None:
        if self._store.shadow is not None:
            self._store.shadow.observe(request, model, dollars, scores)

    def cancel(self, request: int) -> None:
        self._store._cancel(request)

    def deploy(self, request: int) -> str:
        return self._store._deploy(request)

    def feedback(self, request: int, quality: float) -> None:
        self._store.feedback(request, quality)

    def explain(self, request: int) -> Json:
        return self._store.explain(request)


class Store(Closes):
    """A cascade that runs with a database, in the only process or in one of many workers.

    It decides by the newest version that it has adopted, and never waits for the database. Events go into an outbox,
    which writes them within `sync_seconds`. One of all processes learns, in the order of the table, and publishes
    versions; every process is ready to do so. Threads and event loops may use it. A forked child has its own outbox and
    requests.

    `url`: ``sqlite:///file.db``, for processes of one machine, ``postgresql://...``, or the folder of an earlier store,
    which is imported once into kept.db there. `cascade`, a `Cascade` or the path of its file, is the beginning if the
    database has none. Decisions are written within `sync_seconds`, and lost if the process is killed before. `monitor`,
    `budget` and `shadow` accompany its requests. `prompts`: decisions contain the prompts' texts and columns; otherwise
    only the numbers that features make of them. `keep_days`: older rows are removed once a state contains them.
    `learns`: whether this process may be the one that learns.

    >>> import pandora, pandora.serving
    >>> new = pandora.Cascade.new(["small", "large"], price=1.0, evaluator="score")
    >>> with pandora.serving.open(f"sqlite:///{tmp}/kept.db", new) as store:
    ...     with store.begin([1.0]) as request:
    ...         for model in request:
    ...             request.observe(dollars=0.01, score=0.9)
    ...     store.feedback(request.number, 1.0)
    True
    """

    def __init__(
        self,
        url: Union[str, os.PathLike[str]],
        cascade: Union[Cascade, str, os.PathLike[str], None] = None,
        sync_seconds: float = 1.0,
        *,
        monitor: Optional[Monitor] = None,
        budget: Optional[Budget] = None,
        shadow: Optional[Shadow] = None,
        prompts: bool = False,
        keep_days: Optional[float] = None,
        learns: bool = True,
    ) -> None:
        where, imported = os.fspath(url), None
        if "://" not in where:
            where, imported = imported_into(arguments.path("open: url", where))
        for name, given, own in (("monitor", monitor, Monitor), ("budget", budget, Budget), ("shadow", shadow, Shadow)):
            if given is not None and not isinstance(given, own):
                raise refused(f"open: {name}", given, f"a {own.__name__}")
        if keep_days is not None and not number("open: keep_days", keep_days) > 0.0:
            raise refused("open: keep_days", keep_days, "days above 0, or None")
        self.url, self.shadow, self.prompts, self._cautioned = where, shadow, prompts, False
        self._lock = threading.RLock()
        self._database = Database(where)
        try:
            first = self._first(cascade) if imported is None else imported
            self._outbox = Outbox(where, sync_seconds)
        except BaseException:
            self._database.close()
            raise
        self._changed = threading.Condition()
        self._closing = False
        self._version: Optional[Version] = None
        self._content: Json = {}
        self._members_state = 0
        self._live: Optional[RunningCascade] = None
        self._retired: list[RunningCascade] = []  # of earlier editions, with requests under way
        self._recent: OrderedDict[int, Json] = OrderedDict()
        self._pins: OrderedDict[str, str] = OrderedDict()  # the model of each session
        self._seen_place = 0  # of rests and pins
        self._spent: deque[tuple[float, float]] = deque()  # when and how much, by tenths of a second, since the version
        self._calls = _Requests(self)
        self._learning = LearningThread(where, first, keep_days) if learns else None
        try:
            self._adopt_first(cascade)
            if first is not None:
                self._warn_of_another(first.members)
            if shadow is not None:
                shadow.require_like(self.cascade)
            threading.Thread(target=self._adopt_all, name="pandora-adopts", daemon=True).start()
            _ALL.add(self)
            if monitor is not None:
                self.watch(monitor)
            if budget is not None and budget.settings != self._settings("budget"):
                self.keep_to(budget)
        except BaseException:
            self.close()
            raise

    def _settings(self, name: str) -> Optional[Json]:
        """The version's monitor or budget."""
        found = self._content.get(name)
        if found is None:
            return None
        names = ("usd_per_request", "price", "every", "step", "stop_usd")
        return {one: found[one] for one in names} if name == "budget" else found.get("settings")

    def _first(self, cascade: Union[Cascade, str, os.PathLike[str], None]) -> Optional[Learned]:
        """The initial content of an empty database. A database with content does not need the file."""
        if cascade is None:
            return None
        if isinstance(cascade, Cascade):
            return Learned.of_cascade(Cascade._parsed(_as_file(cascade))._live)
        try:
            return Learned.of_cascade(load(arguments.path("open: cascade", cascade)))
        except DataError:
            if self._database.newest() == 0:
                raise
            return None

    def _adopt_first(self, cascade: Any) -> None:
        until = time.monotonic() + _OPEN_SECONDS
        while self._live is None:
            version = self._database.newer_than(0)
            if version is not None:
                self._adopt(version, self._database)
            elif cascade is None and self._learning is not None and self._learning.has_nothing:
                raise UsageError(f"{self._database.name}: holds no cascade; give one to begin with")
            elif self._learning is not None and self._learning.failure is not None:
                raise self._learning.failure
            elif time.monotonic() > until:
                raise DatabaseAway(f"{self._database.name}: no process has published a cascade; let one learn")
            else:
                time.sleep(0.02)

    def _warn_of_another(self, given: Members) -> None:
        """Warns if the database continues another cascade than the given one."""
        if differs := _difference(self.members, given):
            warnings.warn(
                f"{self._database.name}: goes on with the cascade that it has; {differs}: publish() replaces it",
                PandoraWarning, stacklevel=3,
            )  # fmt: skip

    # ---- adopting versions ----

    def _adopt_all(self) -> None:
        """The work of a thread: takes new versions, and the rests and sessions of other workers."""
        connection: Optional[Database] = None
        while not self._closing:
            try:
                connection = connection or Database(self.url, check=False)
                version = connection.wait_newer(0 if self._version is None else self._version.number, 0.5)
                if version is not None:
                    self._adopt(version, connection)
                self._hear(connection)
            except Exception as problem:  # the database is away: decisions go on with the present version
                with self._changed:
                    self._away = str(problem)
                if not self._closing:
                    time.sleep(0.5)
        if connection is not None:
            connection.close()

    _away: Optional[str] = None

    def _adopt(self, version: Version, kept: Database) -> None:
        content = json.loads(version.content)
        members = None
        if content["members"] != self._members_state:
            state = kept.state(content["members"])
            if state is None:
                return  # a newer version has come meanwhile
            members = Members.of_json(json.loads(state.state)["members"])
        with self._lock:
            live = self._live
            if members is None:
                assert live is not None
                members = live.members
            members = members if members.price == content["price"] else replace(members, price=content["price"])
            estimates = Estimates(members, unpacked(content["estimates"])) if "estimates" in content else None
            if live is None or content["edition"] != self._content["edition"]:
                if live is not None:
                    self._retired = [one for one in [*self._retired, live] if one.requests]
                live = self._live = RunningCascade(members, estimates=estimates)
                live.logs_prompts, live.edition = self.prompts, content["edition"]
                live.states = [ModelState(trial=left) for left in content["trial"]]
            else:
                live.adopt(members, estimates, content["trial"])
            live.periods = max(live.periods, content["period"])
            live.version = version.number
            self._content, self._version, self._members_state = content, version, content["members"]
            while self._spent and self._spent[0][0] <= version.time:
                self._spent.popleft()
        with self._changed:
            self._away = None
            self._changed.notify_all()

    def _hear(self, connection: Database) -> None:
        """Rests and sessions of other workers."""
        if self._seen_place == 0 and self._version is not None:
            self._seen_place = max(self._version.place - 2000, 0)
        for row in connection.rows_after(self._seen_place, _RESTS):
            payload = json.loads(row.payload)
            self._seen_place = row.place or self._seen_place
            if row.worker == self._outbox.worker:
                continue
            if row.kind == "pin":
                self._pin(payload["session"], payload["model"])
            elif time.time() - row.time < 60.0 and self._live is not None:
                self._live.rest(payload["model"])

    def _pin(self, session: str, model: str) -> None:
        with self._lock:
            self._pins[session] = model
            self._pins.move_to_end(session)
            if len(self._pins) > _MOST_SESSIONS:
                self._pins.popitem(last=False)

    def _put(self, kind: str, payload: Any, request: Optional[int] = None) -> int:
        return self._outbox.put(database.event(kind, payload, request))

    def _note(self, kind: str, payload: Any, request: Optional[int] = None) -> None:
        """Like _put(); if no more can be kept the request goes on, and metrics count the loss."""
        with contextlib.suppress(OutboxFull):
            self._put(kind, payload, request)

    def _opened(self) -> RunningCascade:
        if self._closing or self._live is None:
            raise UsageError("Store: it is closed; open it again")
        return self._live

    # ---- requests ----

    def begin(
        self, prompt: Prompt = "", columns: Optional[Mapping[str, Any]] = None, session: Optional[str] = None
    ) -> Request:
        """Begins a request, like `Cascade.begin`; it never waits for the database.

        `session`: the key of the request's conversation. Its turns first call the model whose answer the previous turn
        deployed, and follow the rules if that answer is not accepted. A digest of the key is stored. BudgetSpent if the
        day's dollars are spent.
        """
        opened = self._opened()
        if not self._cautioned:
            self._cautioned = True
            if caution := opened.caution():
                warnings.warn(caution, PandoraWarning, stacklevel=2)
        self._require_dollars()
        given = beginning("Store.begin:", prompt, columns)
        what = {"prompt": given[0], "columns": given[1]} if isinstance(given, tuple) else None
        digest = None if session is None else session_digest(text("begin: session", session))
        number = 0
        while number == 0:  # another cascade, of other features, may be adopted meanwhile
            live = self._opened()
            taken = live.context_of(*given) if isinstance(given, tuple) else given
            with self._lock:
                if live is self._live:
                    number = live.begin(taken, what, digest)
                    pinned = None if digest is None else self._pins.get(digest)
        watched = self._content.get("monitor", {}).get("settings", {})
        control = watched.get("against")
        if control is not None and share_of(number) < watched["share"]:
            with contextlib.suppress(UsageError):  # it rests, or was removed: the request goes to the cascade
                live.only(number, control)
        elif pinned is not None:
            live.pin(number, pinned)
        if self.shadow is not None:
            self.shadow.begin(number, prompt, columns)
        return Request(self._calls, number)

    def _require_dollars(self) -> None:
        budget = self._content.get("budget")
        if budget is None or budget["stop_usd"] is None:
            return
        now = time.time()
        with self._lock:
            spent = sum(usd for when, usd in self._spent if when // 86400 == now // 86400)
            if self._content["day"] == time.strftime("%Y-%m-%d", time.gmtime(now)):
                spent += self._content["day_usd"]
        if spent >= budget["stop_usd"]:
            raise BudgetSpent(
                f"${spent:.4g} of today's ${budget['stop_usd']:g} are spent; the next day begins at 0:00 UTC"
            )

    def _spend(self, request: UnderWay) -> None:
        """Dollars of a request that has ended, until a version contains them."""
        usd = sum(call.dollars for call in request.calls) + sum(over.dollars for over in request.passed_over)
        with self._lock:
            now = time.time()
            if self._spent and int(10.0 * self._spent[-1][0]) == int(10.0 * now):
                usd += self._spent.pop()[1]
            self._spent.append((now, usd))

    def _cascade_of(self, request: int) -> RunningCascade:
        live = self._opened()
        if live.knows(request):
            return live
        for retired in self._retired:
            if retired.knows(request):
                return retired
        if request in self._recent:
            raise UsageError(f"cascade: request {request} is deployed already")
        return live  # it says why it does not know the request

    def _deploy(self, request: int) -> str:
        live = self._cascade_of(request)
        with live.lock:
            asked = live.request_of(request)
            prompt = asked.prompt  # which is dropped when it is deployed
            deployed = live.deploy(request)
            payload = {**decision_payload(live, asked), **prompt}
            live.forget(request)
        self._spend(asked)
        if self.shadow is not None:
            payload["shadow"] = self.shadow.deploy(request, deployed)
        with self._lock:
            self._recent[request] = payload
            if len(self._recent) > _MOST_RECENT:
                self._recent.popitem(last=False)
        self._note("decision", payload, request)
        if asked.session is not None and self._pins.get(asked.session) != deployed:
            self._pin(asked.session, deployed)
            self._note("pin", {"session": asked.session, "model": deployed})
        return deployed

    def _cancel(self, request: int) -> None:
        live = self._cascade_of(request)
        with live.lock:
            asked, members = live.request_of(request), live.members
            live.cancel(request)
        self._spend(asked)
        if self.shadow is not None:
            self.shadow.cancel(request)
        calls = [{"model": members.models[call.model], "dollars": call.dollars} for call in asked.calls]
        failed = [
            {"model": members.models[over.model], "dollars": over.dollars, "reason": over.reason}
            for over in asked.passed_over
        ]
        self._note("cancelled", {"time": time.time(), "calls": calls, "failed": failed}, request)

    def request(self, number: int) -> Request:
        """A request by its `Request.number`: one under way in this process, or one that any process deployed."""
        return Request(self._calls, integer("Store.request: number", number, _MOST_NUMBER))

    def cancel(self, number: int) -> None:
        """Ends a request without deploying."""
        self._cancel(integer("Store.cancel: number", number, _MOST_NUMBER))

    def feedback(self, number: int, quality: float, seconds: float = 2.0) -> bool:
        """Takes the quality, in [0, 1], of the answer that was deployed for a request, by any worker and at any time.

        True once it is committed. False if it is not after that many seconds because the database is away: it is queued
        and will be committed. The same feedback again changes nothing. FeedbackConflict for another quality than
        before, FeedbackRemoved for a request that is no longer stored, UsageError for one that nobody deployed.
        """
        asked = integer("Store.feedback: number", number, _MOST_NUMBER)
        value = arguments.number(f"request {number}: quality", quality)
        require_quality(f"request {number}: ", value)
        until = time.monotonic() + seconds
        self._opened()
        away = not self._is_deployed(asked, until)
        ticket = self._put("feedback", value, asked)
        return self._outbox.flush(0.0 if away else max(until - time.monotonic(), 0.05), ticket)

    def _is_deployed(self, request: int, until: float) -> bool:
        """Whether the request is known; False if the database is away. UsageError if nobody deployed it."""
        if request in self._recent:
            return True
        if any(one.knows(request) for one in [self._opened(), *self._retired]):
            raise UsageError(f"cascade: request {request} is not deployed yet")
        while True:
            try:
                rows = self._database.rows_of(request)
            except DatabaseAway:
                return False
            if any(row.kind == "decision" for row in rows):
                return True
            if any(row.kind == "cancelled" for row in rows):
                raise UsageError(f"cascade: request {request} was cancelled")
            if self._database.is_removed(request):
                raise FeedbackRemoved(request, "the request is older than what is kept (keep_days)")
            if time.monotonic() > until - 0.05:
                raise self._unknown(request)
            time.sleep(0.05)

    def _unknown(self, request: int) -> UsageError:
        return UsageError(
            f"cascade: there is no request {request}: nobody deployed it, or it was lost with its process within the "
            f"{self._outbox.sync_seconds:g} seconds before it was written"
        )

    def explain(self, number: int) -> dict[str, Any]:
        """Why a request went as it did, as in `Request.explain`; for a deployed one with its `feedback`."""
        asked = integer("Store.explain: number", number, _MOST_NUMBER)
        for one in [self._opened(), *self._retired]:
            if one.knows(asked):
                return one.explain(asked)
        payload, rows = self._recent.get(asked), []
        with contextlib.suppress(DatabaseAway) if payload is not None else contextlib.nullcontext():
            rows = self._database.rows_of(asked)
        for row in rows:
            if row.kind == "decision":
                payload = json.loads(row.payload)
        if payload is None:
            raise self._unknown(asked)
        quality = next((float(row.payload) for row in rows if row.kind == "feedback"), None)
        calls = [
            {"model": call["model"], "dollars": call["dollars"], "quality": call["estimate"]}
            for call in payload["calls"]
        ]
        named = ("request", "evaluator", "judge_usd", "models", "deployed", "stopped", "version", "time")
        return {**{name: payload[name] for name in named}, "calls": calls, "next": None, "feedback": quality}

    # ---- commands ----

    def _command(self, kind: str, payload: Json) -> None:
        """Puts an event that changes the cascade of all workers, and waits until this worker has adopted the result.

        UsageError if it is refused at its place in the order, because another worker's call came before it.
        """
        self._opened()
        id = secrets.token_hex(8)
        ticket = self._put(kind, {"id": id, **payload})
        until = time.monotonic() + _COMMAND_SECONDS
        if not self._outbox.flush(_COMMAND_SECONDS, ticket):
            raise DatabaseAway(f"{self._database.name}: is away; {kind} is queued, and takes effect when it is back")
        if self._learning is not None:
            self._learning.wake()
        with self._changed:
            while not self._changed.wait_for(lambda: id in self._content["commands"], 0.1):
                failure = None if self._learning is None else self._learning.failure
                if isinstance(failure, DataError):  # this process does not learn, nor can another one
                    raise DataError(f"{failure}; {kind} is written, and takes no effect there")
                if time.monotonic() > until:
                    told = f"{kind} is written, and no process has learned of it yet"
                    raise DatabaseAway(f"{self._database.name}: {told}")
            if problem := self._content["commands"][id]:
                raise UsageError(problem)

    def add_model(self, name: str) -> None:
        """Adds a model, or brings back one that was removed; all workers call it within two seconds."""
        with_model(self.members, text("Store.add_model: name", name))
        self._command("add_model", {"model": name})

    def remove_model(self, name: str) -> None:
        """Removes a model: it is never called again."""
        without_model(self.members, text("Store.remove_model: name", name))
        self._command("remove_model", {"model": name})

    def set_price(self, price: float) -> None:
        """Changes the price and converts all that was learned to it."""
        value = number("Store.set_price: price", price)
        with_price(self.members, value)
        self._command("set_price", {"price": value})

    def set_explore(self, explore: float) -> None:
        """As `Cascade.set_explore`."""
        value = number("Store.set_explore: explore", explore)
        require_probability(value)
        self._command("set_explore", {"explore": value})

    def publish(self, cascade: Union[Cascade, str, os.PathLike[str]]) -> int:
        """Replaces the cascade by another one, or its file, for all workers; returns the version that begins with it.

        Requests under way end with the cascade with which they began. rollback() goes back, with everything learned
        until now.
        """
        if isinstance(cascade, Cascade):
            file = _as_file(cascade)
        else:
            file = text_of(load(arguments.path("Store.publish: cascade", cascade)))
        self._command("publish", {"file": file})
        assert self._version is not None
        return self._version.number

    def rollback(self) -> int:
        """Goes back to the cascade before the last publish(), as it was then; returns the version that begins with
        it.
        """
        if not self._content["can_roll_back"]:
            raise UsageError("Store.rollback: no cascade was published in the place of another one")
        self._command("rollback", {})
        assert self._version is not None
        return self._version.number

    def watch(self, monitor: Optional[Monitor]) -> None:
        """Sets another monitor, for all workers' feedback; None: no monitor."""
        if monitor is not None and not isinstance(monitor, Monitor):
            raise refused("Store: monitor", monitor, "a Monitor")
        there = self.cascade_models()
        if monitor is not None and (missing := [name for name in monitor.models if name not in there]):
            raise UsageError(f"Store: the monitor's model {missing[0]} is none of the cascade's, {', '.join(there)}")
        settings = None if monitor is None else monitor.settings
        if settings != self._settings("monitor"):
            self._command("watch", {"monitor": settings})

    def keep_to(self, budget: Optional[Budget]) -> None:
        """Sets another budget; without one the price returns to its value where no budget binds."""
        if budget is not None and not isinstance(budget, Budget):
            raise refused("Store: budget", budget, "a Budget, or None")
        if budget is not None:
            budget.require_kind(self.members.kind)
            with_price(self.members, self.members.price)  # which moves of all indices but those of payoffs
        self._command("keep_to", {"budget": None if budget is None else budget.settings})

    def save(self) -> None:
        """Saves a whole state now, after which a restart begins; otherwise one is saved after 20,000 events."""
        self._command("save", {})

    # ---- what it says of itself ----

    @property
    def members(self) -> Members:
        """The members of the cascade, as this worker has it."""
        return self._opened().members

    def cascade_models(self) -> list[str]:
        """Names of the models that are not removed."""
        return [name for name, removed in self._opened().models() if not removed]

    @property
    def cascade(self) -> Cascade:
        """A copy of the cascade from all that is written, for tests and files: its learned state is replayed."""
        return Cascade(self.learned().cascade())

    def learned(self) -> Learned:
        """The result of all events that have a place, from the newest state on."""
        self._opened()
        return replayed(self._database)

    def metrics(self) -> dict[str, Any]:
        """Counts of all workers since the cascade began; for each model its counts and whether it rests here.

        Also the states of monitor, shadow and budget, the version, and the contents of the outbox.
        """
        live = self._opened()
        with self._lock:
            content, version = self._content, self._version
        models = []
        for position, (name, removed) in enumerate(live.models()):
            rests = live.states[position].rests_until > live.periods
            totals = content["by_model"].get(name, {})
            models.append({"model": name, "removed": removed, "rests": rests, **totals})
        out = {**content["counts"], "models": models, "price": live.members.price, "edition": content["edition"]}
        out.update({name: content[name] for name in ("monitor", "budget", "shadow") if name in content})
        out["unsolved_refits"] = content.get("unsolved_refits", 0)
        if version is not None:
            out["version"] = {"number": version.number, "time": version.time, "level": version.level,
                              "origin": version.origin, "can_roll_back": content["can_roll_back"]}  # fmt: skip
        out["outbox"] = self._outbox.metrics()
        out["learner"] = None if self._learning is None else self._learning.metrics()
        out["away"] = self._away
        return out

    @property
    def monitor(self) -> Optional[dict[str, Any]]:
        """The monitor's state: alarms, and the evidence for each model."""
        found: Optional[dict[str, Any]] = self._content.get("monitor")
        return found

    def flush(self, seconds: float = 10.0) -> bool:
        """Waits until everything from here is committed; False if it is not."""
        return self._outbox.flush(seconds)

    def settle(self, seconds: float = 30.0) -> bool:
        """Waits until this worker decides by everything that it has written; False if it does not."""
        until = time.monotonic() + seconds
        if not self._outbox.flush(seconds):
            return False
        while time.monotonic() < until:
            if self._learning is not None:
                self._learning.wake()
            place = self._database.last_place()
            if place is not None and self._version is not None and self._version.place >= place:
                return True
            time.sleep(0.02)
        return False

    def close(self) -> None:
        """Writes everything, and lets another process learn."""
        if self._closing:
            return
        self._closing = True
        self._outbox.close()
        if self._learning is not None:
            self._learning.close()
        self._database.close()

    def __reduce__(self) -> Any:
        raise TypeError("a Store has its database, and is not copied or pickled; pickle its `cascade`")


def replayed(kept: Database, from_beginning: bool = False) -> Learned:
    """The result of all rows that have a place, from the newest state on or, for checks, from the oldest."""
    state = kept.state(max(kept.begins, 1)) if from_beginning else kept.newest_state()
    if state is None:
        raise UsageError(f"{kept.name}: holds no cascade")
    learned = Learned.restored(state.state)

    for row in kept.replay(state):
        learned.apply(row, lambda request, place: decision_before(kept.rows_of(request), place))
    learned.due = ""
    return learned


def saved_cascade(url: str) -> Cascade:
    """The cascade of the newest whole state of a database, also if rows or newer states are damaged; a new database can
    begin with it. It lacks what was learned after that state.

    DataError if no state is whole. No process needs to have the database open.
    """
    database.require_file(url)
    with Database(url, check=False) as kept:
        for number in kept.states():
            with contextlib.suppress(DataError):
                if (state := kept.state(number)) is not None:
                    return Cascade(Learned.restored(state.state).cascade())
    raise DataError(f"{kept.name}: has no whole state of a cascade; bring back a copy of it")


def _as_file(cascade: Cascade) -> str:
    predictor = cascade._live.members.predictor
    if isinstance(predictor, EstimatorPredictor):
        raise UsageError(
            f"its router is a {predictor.learner}, which no database holds; fit without router=, or serve it by "
            "pandora.Cascade alone"
        )
    return text_of(cascade._live)


def _difference(there: Members, given: Members) -> str:
    """How a cascade differs from one that continues, in words; "" if it may be the same, at another price."""
    if more := [name for name in given.models if name not in there.models]:
        return f"the one that is given has another model, {more[0]}"
    if given.evaluator != there.evaluator:
        return f"the one that is given sees {given.evaluator}, not {there.evaluator}"
    if given.kind != there.kind:
        return f"the one that is given is of the kind {given.kind}"
    if given.about != there.about:
        return "the one that is given is of another fit"
    return ""


open = Store  # as pandora.serving.open names it


def _after_fork_in_child() -> None:
    """A child has a store of its own only if it opens one."""
    for store in list(_ALL):
        store._closing = True


os.register_at_fork(after_in_child=_after_fork_in_child)
