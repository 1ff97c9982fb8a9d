"""Cascades as a provider of LiteLLM: `cascade/NAME` is the table NAME of cascades.toml."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from typing import Any, Optional, Union

import litellm
from litellm.integrations.custom_logger import CustomLogger
from litellm.types.utils import ModelResponse

from ... import serving
from ...cascade import Cascade
from ...errors import Error, UsageError
from ..database import DatabaseAway
from ..traffic import share_of
from . import calling, streaming
from .asking import ALLOWED, asked_of, check_messages
from .configuration import Cascades, Settings, read
from .errors import ToldError, refused
from .running import Run, Service

PROVIDER = "cascade"
_CHAT = ("completion", "acompletion")
_BEGINNING = "cascade-"  # of an answer's id; the request's number follows
_AGAIN_SECONDS = 5.0  # after which what could not be opened is tried again
_PING_SECONDS = (
    10  # after this time a silent stream sends something, unless the entry has keepalive_seconds: nginx waits for 60
)


def number_of(answer: Any) -> int:
    """The request's number by the `id` of its answer. Raises UsageError."""
    number = answer[len(_BEGINNING) :] if isinstance(answer, str) and answer.startswith(_BEGINNING) else ""
    if not (number.isascii() and number.isdigit() and len(number) < 20):
        raise UsageError(f"{answer!r} is no id of an answer of a cascade, such as {_BEGINNING}7124838092242945")
    return int(number)


class CascadeLLM(litellm.CustomLLM):  # type: ignore[misc]
    """The cascades of a file, by default the one that PANDORA_CASCADES names. They are opened at the first use.

    `cascades`: a file's path, or the result of `configuration.read`. If no model answers a request, the client gets the
    last failure, in our own words if the operator has to act.
    """

    def __init__(self, cascades: Union[str, os.PathLike[str], Cascades, None] = None) -> None:
        super().__init__()
        self._given = cascades
        self._services: Optional[dict[str, Service]] = None
        self._problem: Optional[tuple[float, Error]] = None  # until when it is not tried again, and why
        self._lock = threading.Lock()

    @property
    def services(self) -> Mapping[str, Service]:
        """Opens the cascades, which may take seconds. Raises Error, and the same one again for some seconds."""
        with self._lock:
            if self._problem is not None and time.monotonic() < self._problem[0]:
                raise self._problem[1]
            if self._services is None:
                cascades = self._given if isinstance(self._given, Mapping) else read(self._given)
                opened: dict[str, Service] = {}
                try:
                    for name, settings in cascades.items():
                        opened[name] = Service(settings, _opened(settings))
                except BaseException as error:
                    for service in opened.values():
                        service.store.close()
                    if isinstance(error, Error):
                        self._problem = time.monotonic() + _AGAIN_SECONDS, error
                    raise
                self._services, self._problem = opened, None
            return self._services

    def close(self) -> None:
        """Closes the stores; the next request opens them again."""
        with self._lock:
            for service in (self._services or {}).values():
                service.store.close()
            self._services = None

    def prepare(self, router: Any) -> None:
        """Opens the cascades for a proxy's router, and completes its entries that are cascades.

        Raises UsageError if an entry names a cascade, or a cascade a model, that does not exist.
        """
        services, names = self.services, set(router.get_model_names())
        litellm.logging_callback_manager.add_litellm_callback(_Checks(router))
        for entry in router.get_model_list() or ():
            params = entry["litellm_params"]
            provider, _, name = str(params.get("model")).partition("/")
            if provider != PROVIDER:
                continue
            if name not in services:
                raise UsageError(f"model_list: cascade/{name} is no cascade; there are {', '.join(services)}")
            params.setdefault("keepalive_seconds", _PING_SECONDS)
            params["allowed_openai_params"] = sorted({*ALLOWED, *(params.get("allowed_openai_params") or ())})
        for service in services.values():
            settings = service.settings
            models = [model["model"] for model in service.store.metrics()["models"] if not model["removed"]]
            called = {settings.called(model): model for model in models}
            if settings.judge is not None:
                called[settings.judge.model] = "its judge"
            for model, own in called.items():
                if model not in names:
                    key = "judge" if own == "its judge" else "models"
                    raise UsageError(
                        f"cascade {settings.name}: {own} is {model}, which is no model_name of the proxy; "
                        f"mend `{key}` in cascades.toml: the proxy has {', '.join(sorted(names))}"
                    )

    def service(self, name: str, key: str = "") -> Service:
        """The service of that name, or the one with which it shares requests. Raises ToldError."""
        try:
            services = self.services
        except Error as error:
            calling.log.error("%s", error)
            if isinstance(error, DatabaseAway):
                again = {"Retry-After": f"{_AGAIN_SECONDS:.0f}"}
                message = "the cascades' database is away; try again later"
                raise ToldError(503, message, code="database_away", headers=again) from None
            raise ToldError(
                500, "the cascades cannot be opened; the proxy's log says why", code="configuration"
            ) from None
        if name not in services:
            raise refused("model", f"cascade/{name} is no cascade of cascades.toml", "model_not_found")
        draw = share_of(f"{name} {key}")
        for other, share in services[name].settings.share.items():
            if draw < share:
                return services[other]
            draw -= share
        return services[name]

    def explain(self, answer: str) -> dict[str, Any]:
        """Why the request of an answer, given by its id, went as it did. Raises UsageError for an unknown id."""
        return self._found(number_of(answer))[1]

    def feedback(self, answer: str, quality: float, seconds: float = 2.0) -> bool:
        """Takes the quality of an answer, given by its id, in [0, 1]. True if it is stored, False if it waits for the
        database.

        It blocks for up to `seconds`. Raises UsageError, of which FeedbackConflict and FeedbackRemoved are subclasses.
        """
        number, until = number_of(answer), time.monotonic() + seconds
        services = list(self.services.values())
        while len(services) > 1:
            try:
                services = [self._found(number)[0]]
            except UsageError:  # another worker may have decided it just now
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
        return bool(services[0].store.feedback(number, quality, max(until - time.monotonic(), 0.1)))

    def _found(self, number: int) -> tuple[Service, dict[str, Any]]:
        """The service with that request, and the request's explanation."""
        problem: Optional[UsageError] = None
        for service in self.services.values():
            try:
                return service, {"cascade": service.settings.name, **service.store.explain(number)}
            except UsageError as error:
                problem = error
        raise problem or UsageError("there are no cascades")

    async def _prepared(self) -> None:
        """Opens the cascades outside the event loop; errors are reported when a service is used."""
        if self._services is None:
            with suppress(Error):
                await asyncio.to_thread(lambda: self.services)

    @contextmanager
    def _run(self, given: Mapping[str, Any]) -> Iterator[Run]:
        """Answers a request. A defect is only logged, because LiteLLM would send its traceback to the client."""
        try:
            yield self._begun(given)
        except Exception as error:
            if isinstance(error, ToldError):
                raise
            calling.log.exception("a request of cascade %s", given.get("model"))
            raise ToldError(500, "the cascade has failed; the proxy's log says why", code="internal_error") from None

    def _begun(self, given: Mapping[str, Any]) -> Run:
        service = self.service(str(given["model"]))
        asked = asked_of(given, service.settings)
        return Run(self.service(service.settings.name, asked.key), asked)

    async def acompletion(self, *args: Any, **given: Any) -> ModelResponse:
        """As LiteLLM calls it."""
        await self._prepared()
        with self._run(given) as run:
            return await run.answer()

    async def astreaming(self, *args: Any, **given: Any) -> AsyncGenerator[Any, None]:
        """LiteLLM calls this. An answer that nobody judges is streamed as the model gives it, any other comes at the
        end.
        """
        await self._prepared()
        with self._run(given) as run:
            async with aclosing(run.played(live=True)) as pieces:
                async for piece in pieces:
                    for one in streaming.whole(piece) if isinstance(piece, ModelResponse) else (piece,):
                        yield one
            if (log := given.get("logging_obj")) is not None:
                log._provider_reported_cost = run.dollars  # of all calls, for which no list of prices has an entry

    def completion(self, *args: Any, **given: Any) -> ModelResponse:
        """As LiteLLM calls it; not from within an event loop."""
        return asyncio.run(self.acompletion(*args, **given))

    def streaming(self, *args: Any, **given: Any) -> Iterator[Any]:
        """The same, not from within an event loop."""

        async def pieces() -> list[Any]:
            return [piece async for piece in self.astreaming(*args, **given)]

        yield from asyncio.run(pieces())


def _opened(settings: Settings) -> Any:
    beside: dict[str, Any] = {}
    if settings.monitor is not None:
        monitor = dict(settings.monitor)
        if "models" not in monitor or "price" not in monitor:
            cascade = Cascade.load(settings.cascade) if settings.cascade else None
            if cascade is None:
                raise UsageError(f"cascade {settings.name}: its monitor needs models and price, or a cascade's file")
            monitor = {"models": cascade.models, "price": cascade.price, **monitor}
        beside["monitor"] = serving.Monitor(**monitor)
    if settings.budget is not None:
        beside["budget"] = serving.Budget(**settings.budget)
    if settings.shadow is not None:
        beside["shadow"] = serving.Shadow(Cascade.load(settings.shadow))
    return serving.open(settings.url, settings.cascade, settings.sync_seconds, **beside)


class _Checks(CustomLogger):  # type: ignore[misc]
    """Checks requests of cascades before LiteLLM, which answers 500 to some messages that no model takes."""

    def __init__(self, router: Any) -> None:
        super().__init__()
        self.router = router

    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any, data: Any, call_type: Any) -> None:
        """As the proxy calls it. Raises ToldError."""
        entries = self.router.get_model_list(model_name=data.get("model")) if call_type in _CHAT else None
        if any(str(entry["litellm_params"].get("model")).startswith(f"{PROVIDER}/") for entry in entries or ()):
            check_messages(data.get("messages"))


handler = CascadeLLM()


def _close_with_proxy() -> None:
    """Closes the stores when the proxy has answered its last request.

    Its server ends its processes by a signal, so atexit does not work, and an app's shutdown handlers are read before
    its configuration.
    """
    server: Any = sys.modules["litellm.proxy.proxy_server"]
    ended = getattr(server, "proxy_shutdown_event", None)

    async def closed(*args: Any, **given: Any) -> None:
        await asyncio.to_thread(handler.close)
        if ended is not None:
            await ended(*args, **given)

    server.proxy_shutdown_event = closed


def _begin_in_proxy() -> None:
    """For a proxy whose configuration names `handler`: adds routes now, and entries and stores once it has its
    router.
    """
    from . import routes

    routes.add_to_proxy()
    _close_with_proxy()

    async def prepared() -> None:
        for _ in range(600):
            if (router := calling.router()) is not None:
                break
            await asyncio.sleep(0.1)
        else:
            return
        try:
            await asyncio.to_thread(handler.prepare, router)
        except Error as error:
            calling.log.error("%s", error)

    # The loop holds its tasks only weakly.
    handler._preparing = asyncio.get_running_loop().create_task(prepared())
