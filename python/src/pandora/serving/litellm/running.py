"""One request of a client: the models that are called, the reports to the store, and the client's answer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Optional

import litellm

from ...errors import Error, UsageError
from .. import BudgetSpent, Store
from . import calling
from .asking import Asked
from .configuration import Settings
from .errors import ToldError, is_of_client, refused, told_of
from .judging import fault_of, question, score_of, tool_calls_of
from .streaming import Live
from .tracing import Told, span, usage_of

_MOST_UNJUDGED = 5  # answers in a row after which the judge counts as down


@dataclass
class Service:
    """An open cascade of the configuration."""

    settings: Settings
    store: Store
    unjudged: int = 0  #: answers on which the judge failed
    unjudged_in_a_row: int = 0
    faults: Counter[str] = field(default_factory=Counter)  #: of invalid answers, by their reason


@dataclass
class Run:
    """A request under way. `calls`: the calls so far, for the answer's member `cascade`."""

    service: Service
    asked: Asked
    calls: list[dict[str, Any]] = field(default_factory=list)
    usages: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    spare: Any = None  #: an answer that could not be judged, or was not valid
    spare_is_faulty: bool = False
    problem: Optional[BaseException] = None  #: the error for the client if no model answers
    deployed: Optional[str] = None
    span: Optional[Told] = None  #: of the request

    def __post_init__(self) -> None:
        if self.service.settings.judge is not None and "audio" in (self.asked.parameters.get("modalities") or ()):
            raise refused("modalities", "modalities: answers are judged as text; leave out audio", "unsupported_value")
        try:
            self.request = self.service.store.begin(self.asked.text, self.asked.columns, session=self.asked.session)
        except BudgetSpent as error:
            raise ToldError(429, str(error), code="budget_spent") from None
        except UsageError as error:
            raise refused("columns", str(error), "missing_columns") from None
        except Error:
            raise ToldError(503, "requests cannot be kept at present; try again later", code="not_kept") from None

    @property
    def id(self) -> str:
        """Of the answer."""
        return f"cascade-{self.request.number}"

    @property
    def dollars(self) -> float:
        """The dollars of all calls and their judges, as far as they are known."""
        return float(sum(call["dollars"] or 0.0 for call in self.calls))

    @property
    def member(self) -> dict[str, Any]:
        """The answer's member `cascade`."""
        own = next((call for call in reversed(self.calls) if call["model"] == self.deployed), self.calls[-1])
        return {
            "request": self.request.number, "deployed": self.deployed, "dollars": self.dollars,
            "usage": own.get("usage"), "calls": self.calls,
        }  # fmt: skip

    async def answer(self) -> Any:
        """The response, which LiteLLM gives to the client. Raises ToldError, or an error of LiteLLM's."""
        async with aclosing(self.played(live=False)) as pieces:
            async for piece in pieces:
                found = piece
        return found

    async def played(self, live: bool) -> AsyncGenerator[Any, None]:
        """Pieces of a stream if an answer is not judged and may be `live`; otherwise only the response, at the end."""
        name = self.service.settings.name
        with span(name) as told:
            self.span = told
            told.update({"gen_ai.response.id": self.id, "pandora.request": self.request.number})
            try:
                async with aclosing(self._played(live)) as pieces:
                    async for piece in pieces:
                        yield piece
            except BaseException:
                with suppress(UsageError):
                    self.request.cancel()
                raise
            finally:
                usage = usage_of(calling.total(self.usages))
                told.update({"gen_ai.response.model": self.deployed, "pandora.dollars": self.dollars, **usage})

    async def _played(self, live: bool) -> AsyncGenerator[Any, None]:
        while (model := self.request.next()) is not None:
            if live and not self.answers and not self.request.needs_score:
                stream = Live(self.id)
                async with aclosing(self._streamed(model, stream)) as pieces:
                    async for piece in pieces:
                        yield piece
                if stream.begun:  # the part that the client has cannot be taken back
                    self._deploy()
                    for piece in stream.rest(self.member, calling.total(self.usages)):
                        yield piece
                    return
            else:
                await self._called(model)
            if self._is_enough():
                break
        if self.answers:
            self._deploy()
            response = self.answers[self.deployed or ""]
        elif self.spare is not None:
            self.request.cancel()
            response = self.spare
        else:
            raise told_of(self.problem or UsageError("the cascade calls no model"), calling.hidden) from None
        response.id = self.id
        response.usage = litellm.Usage(**calling.total(self.usages))
        response.cascade = self.member
        response._hidden_params["response_cost"] = self.dollars
        yield response

    def _deploy(self) -> None:
        with suppress(UsageError):  # it was passed over, but the client has it all the same
            self.deployed = self.request.deploy()
        if self.deployed is None:
            self.request.cancel()

    def _is_enough(self) -> bool:
        """Whether the request ends here, regardless of the rules."""
        if self.calls[-1].get("tools") == "first":
            return True
        # If the judge is down, other models' answers would cost money and not be judged either.
        is_down = self.service.unjudged_in_a_row >= _MOST_UNJUDGED
        return is_down and self.spare is not None and not self.answers

    async def _called(self, model: str) -> None:
        """A model answers, is judged, and the store is told."""
        call = self._begun(model)
        began = time.monotonic()
        with span(model, self.span) as told:
            try:
                response = await self._call(model, stream=False)
            except Exception as problem:  # whatever a provider raises
                return self._failed(call, problem, time.monotonic() - began, told)
            call["seconds"] = time.monotonic() - began
            self._paid(call, response, calling.dollars_of(response))
            told.update(usage_of(call["usage"]))
        await self._judged(call, response)

    def _begun(self, model: str) -> dict[str, Any]:
        call: dict[str, Any] = {"model": model, "dollars": 0.0}
        self.calls.append(call)
        return call

    async def _call(self, model: str, stream: bool) -> Any:
        asked = self.asked
        streaming = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
        called = self.service.settings.called(model)
        return await calling.call(called, asked.messages, **asked.parameters, **asked.for_call(), **streaming)

    def _failed(self, call: dict[str, Any], problem: BaseException, seconds: float, told: dict[str, Any]) -> None:
        """A call raised an exception: the next model may answer."""
        told["error.type"] = call["failure"] = type(problem).__name__
        call["seconds"] = seconds
        if self.problem is None or not is_of_client(problem):  # the same request may be answered later
            self.problem = problem
        if is_of_client(problem):
            self.request.skip()
        else:
            self.request.fail(call["failure"])

    def _paid(self, call: dict[str, Any], response: Any, dollars: Optional[float]) -> None:
        call["dollars"] = dollars
        usage = getattr(response, "usage", None)
        call["usage"] = {} if usage is None else calling.total([usage.model_dump(exclude_none=True)])
        self.usages.append(call["usage"])

    async def _judged(self, call: dict[str, Any], response: Any) -> None:
        tools, parameters = self.service.settings.tools, self.asked.parameters
        is_call = any(tool_calls_of(choice.message) for choice in response.choices)
        fault = fault_of(response, parameters, check_tools=tools != "first")
        if is_call and tools != "judge":
            call["tools"] = tools
        if call["dollars"] is None:
            # An unknown cost is not 0: nothing is learned, and the answer is used if there is no other.
            calling.warn_once(call["model"])
            self.request.skip()
            self._spared(response, better=fault is None)
            return
        if fault is not None:
            call["failure"] = fault
            self.service.faults[fault] += 1
            # This counts as no failure of the model; otherwise clients could make it rest for everybody.
            self.request.skip(call["dollars"])
            self._spared(response, better=False)
            return
        score: Any = ()
        if self.request.needs_score:
            if "tools" in call:
                score = 1.0
            else:
                score = await self._score(call, response)
                if score is None:
                    self.request.skip(call["dollars"])
                    self._spared(response, better=True)
                    return
        self.request.observe(call["dollars"], score, latency=call["seconds"])
        call["score"] = None if score == () else score
        self.answers[call["model"]] = response

    def _spared(self, response: Any, better: bool) -> None:
        """Keeps an answer in case there is no other: the first one, but preferably one without a fault."""
        if self.spare is None or (better and self.spare_is_faulty):
            self.spare, self.spare_is_faulty = response, not better

    async def _score(self, call: dict[str, Any], response: Any) -> Optional[float]:
        """The judge's score; its dollars and usage belong to the call. None if it did not judge."""
        judge, service = self.service.settings.judge, self.service
        if judge is None:
            name = service.settings.name
            raise UsageError(f'cascade {name} looks at scores: name its judge in cascades.toml, judge = "..."')
        asked = question(judge, self.asked.messages, self.asked.parameters, response)
        with span(judge.model, self.span) as told:
            try:
                said = await calling.call(judge.model, asked, **self.asked.for_call())
                usage = calling.total([said.usage.model_dump(exclude_none=True)])
                self.usages.append(usage)
                told.update(usage_of(usage))
                dollars = calling.dollars_of(said)
                if dollars is None:
                    calling.warn_once(judge.model, "they are counted as free")
                call["dollars"] += dollars or 0.0
                score = score_of(str(said.choices[0].message.content))
            except Exception as problem:
                told["error.type"] = type(problem).__name__
                call["failure"] = f"the judge: {type(problem).__name__}"
                service.unjudged += 1
                service.unjudged_in_a_row += 1
                return None
        service.unjudged_in_a_row = 0
        return score

    async def _streamed(self, model: str, stream: Live) -> AsyncGenerator[Any, None]:
        """Pieces of an answer that nobody judges, as they come; nothing if there is none."""
        call = self._begun(model)
        began = time.monotonic()
        with span(model, self.span) as told:
            try:
                async with aclosing(stream.pieces(await self._call(model, stream=True))) as pieces:
                    async for piece in pieces:
                        call.setdefault("first_token", time.monotonic() - began)
                        yield piece
            except Exception as problem:
                self._failed(call, problem, time.monotonic() - began, told)
                if stream.begun:
                    raise told_of(problem, calling.hidden) from None
                return
            call["seconds"] = time.monotonic() - began
            response = stream.response(self.asked.messages)
            self._paid(call, response, stream.dollars(response))
            told.update(usage_of(call["usage"]))
        if not stream.begun:
            await self._judged(call, response)
        elif call["dollars"] is None:
            calling.warn_once(model)
            self.request.skip()
        else:
            self.request.observe(call["dollars"], (), latency=call["seconds"])
