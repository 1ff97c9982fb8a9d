"""A cascade in front of LiteLLM: `CascadeLLM` calls models through it, and is a provider of it itself.

store = pandora.serving.Store("kept", "cascade.json")
llm = CascadeLLM(store, {"small": {"model": "openai/gpt-5-nano"}, "large": {"model": "openai/gpt-5"}},
                 judge=llm_judge({"model": "openai/gpt-5-nano"}))
litellm.custom_provider_map = [{"provider": "cascade", "custom_handler": llm}]
answer = await litellm.acompletion(model="cascade/any", messages=[...])
llm.feedback(answer.id, 1.0)
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, Callable, NamedTuple, Optional

import litellm

try:
    from opentelemetry import trace as _traces
except ImportError:  # it is not installed: no spans
    _traces = None
from litellm.types.utils import GenericStreamingChunk, ModelResponse

from ..cascade import Request
from ..errors import DataError, UsageError
from ..prices import OF_LITELLM, Prices
from . import Store

__all__ = ["Answer", "CascadeLLM", "llm_judge", "number_of", "text_of"]

Messages = Sequence[Mapping[str, Any]]
#: of a prompt and an answer: the score, in [0, 1], and the dollars that judging cost
Judge = Callable[[str, str], Coroutine[Any, Any, tuple[float, float]]]

_BEGINNING = "cascade-"  # of an answer's id; the request's number follows
_MOST_UNJUDGED = 5  # answers in a row, after which the judge is taken to be down


class Answer(NamedTuple):
    """What a client gets: LiteLLM's response of the deployed model, and how it came about."""

    response: ModelResponse
    request: int  #: the request's number
    deployed: Optional[str]  #: None where no answer could be judged, and the last one was given
    calls: list[dict[str, Any]]  #: model, dollars, seconds; score or failure


def _span(name: str) -> AbstractContextManager[Any]:
    """A span of OpenTelemetry where that is installed, else None; without a provider of the process it goes nowhere."""
    return nullcontext() if _traces is None else _traces.get_tracer("pandora").start_as_current_span(name)


def text_of(messages: Messages) -> str:
    """The text of the last message of a user, which is what the features of a prompt are made of."""
    for message in reversed(messages):
        content = message.get("content")
        if message.get("role") == "user" and content is not None:
            return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
    return ""


def number_of(answer: str) -> int:
    """The request's number by the `id` of its answer."""
    number = answer[len(_BEGINNING) :] if isinstance(answer, str) and answer.startswith(_BEGINNING) else ""
    if not (number.isascii() and number.isdigit()):
        raise UsageError(f"{answer!r} is no id of an answer of a cascade, such as {_BEGINNING}7124838092242945")
    return int(number)


def llm_judge(
    upstream: Mapping[str, Any],
    instructions: str = "How good is the answer to the question? Say a number from 0 to 10 and nothing else.",
) -> Judge:
    """A model as a judge: `upstream` as in `CascadeLLM`. ValueError where it says anything else than a number."""
    call = _Upstream("the judge", upstream)

    async def judge(prompt: str, answer: str) -> tuple[float, float]:
        asked = f"{instructions}\n\nQuestion:\n{prompt}\n\nAnswer:\n{answer}"
        response, dollars = await call([{"role": "user", "content": asked}])
        said = str(response.choices[0].message.content)
        found = re.fullmatch(r"\W*(\d+(?:\.\d+)?)\W*(?:/ *10\W*)?", said)
        if found is None or float(found[1]) > 10 or "-" in said:
            raise ValueError(f"the judge says {said[:80]!r}, which is not a number from 0 to 10 and nothing else")
        return float(found[1]) / 10, dollars

    return judge


class _Upstream:
    """A model by its parameters for litellm.acompletion, but for its prices where LiteLLM is not to know them.

    `prices`: as `pandora.prices.Prices` takes those of a model, [in, out] or a dict; or LiteLLM's names of prices among
    the parameters.
    """

    def __init__(self, name: str, parameters: Mapping[str, Any]) -> None:
        self.name = name
        self.parameters = {"max_retries": 0, **parameters}  # of the client: `timeout` is that of one try
        own = {key: self.parameters.pop(key) for key in parameters if OF_LITELLM.fullmatch(key)}
        given = self.parameters.pop("prices", own or None)
        self.prices = None if given is None else Prices({name: given})
        if "model" not in self.parameters:
            raise UsageError(f'{name}: says no "model", such as openai/gpt-5-nano')
        if self.prices is None:
            try:
                litellm.cost_per_token(model=self.parameters["model"], prompt_tokens=1, completion_tokens=1)
            except Exception as problem:
                raise self._unpriced() from problem

    async def __call__(self, messages: Messages, **parameters: Any) -> tuple[ModelResponse, float]:
        response = await litellm.acompletion(messages=list(messages), **{**parameters, **self.parameters})
        if self.prices is not None:
            return response, self._dollars(self.prices, response.usage.model_dump())
        dollars = response._hidden_params.get("response_cost")
        if dollars is None:
            raise self._unpriced()
        return response, float(dollars)

    def _dollars(self, prices: Prices, usage: dict[str, Any]) -> float:
        try:
            return prices.dollars(self.name, usage)
        except DataError:  # details that cannot be; the call was made, and is to be paid
            return prices.dollars(self.name, {key: usage[key] for key in ("prompt_tokens", "completion_tokens")})

    def _unpriced(self) -> UsageError:
        return UsageError(
            f"{self.name}: LiteLLM knows no price of {self.parameters['model']}; give prices = [in, out], dollars per "
            "million tokens"
        )


class CascadeLLM(litellm.CustomLLM):  # type: ignore[misc]
    """A store's cascade over LiteLLM's models.

    `models`: of each model of the cascade the parameters for litellm.acompletion ("model", "api_base", "timeout", ...)
    and perhaps `prices`, dollars per million tokens in and out, or a dict with ``cached`` and the like
    (pandora.prices), where LiteLLM has none. `judge` is needed where the
    cascade looks at scores; what it costs is counted. `prompt_of` makes of messages the text that the features were
    fitted on.

    A call that raises is a failure of its model; an answer that cannot be judged is passed over, and given where there
    is no other. Where the judge has failed five times in a row, a request ends with the first answer that it cannot
    judge, until it judges one again. A request whose task is cancelled is cancelled. What blocks is done in threads,
    never in the event loop.
    """

    def __init__(
        self,
        store: Store,
        models: Mapping[str, Mapping[str, Any]],
        judge: Optional[Judge] = None,
        prompt_of: Callable[[Messages], str] = text_of,
    ) -> None:
        super().__init__()
        self.store = store
        self.judge = judge
        self.prompt_of = prompt_of
        self._unjudged = 0  # answers in a row
        #: answers on which the judge failed
        self.unjudged = 0
        self._upstreams = {name: _Upstream(f"model {name}", parameters) for name, parameters in models.items()}
        for model in store.metrics()["models"]:
            if not model["removed"] and model["model"] not in models:
                raise UsageError(f"model {model['model']} is in the cascade, and nothing says how to call it")

    async def answer(
        self, messages: Messages, columns: Optional[Mapping[str, Any]] = None, **parameters: Any
    ) -> Answer:
        """The answer to messages; `columns` are of the prompt, `parameters` go to every model (temperature, ...)."""
        with _span("pandora.cascade") as span:
            answer = await self._answer(messages, columns, parameters)
            if span is not None:
                for call in answer.calls:
                    span.add_event("pandora.call", {f"pandora.{k}": v for k, v in call.items() if v is not None})
                span.set_attribute("pandora.request", answer.request)
                span.set_attribute("pandora.deployed", answer.deployed or "")
                span.set_attribute("pandora.dollars", sum(call["dollars"] for call in answer.calls))
            return answer

    async def _answer(
        self, messages: Messages, columns: Optional[Mapping[str, Any]], parameters: Mapping[str, Any]
    ) -> Answer:
        prompt = self.prompt_of(messages)
        request = await self.store.aside(self.store.begin, prompt, columns)
        calls: list[dict[str, Any]] = []
        answers: dict[str, ModelResponse] = {}
        last: Any = UsageError("the cascade calls no model")  # an answer without a score, or what went wrong
        try:
            while (model := await self.store.aside(request.next)) is not None:
                response = await self._call(request, model, prompt, messages, parameters, calls)
                if isinstance(response, ModelResponse) and "score" in calls[-1]:
                    answers[model] = response
                elif not isinstance(last, ModelResponse):
                    last = response
                if isinstance(last, ModelResponse) and not answers and self._unjudged >= _MOST_UNJUDGED:
                    break  # other models' answers would be paid for, and not be judged either
            deployed = await self.store.aside(request.deploy) if answers else None
        except BaseException:
            with suppress(UsageError):
                request.cancel()
            raise
        if deployed is None:
            request.cancel()
            if isinstance(last, Exception):
                raise last
        response = last if deployed is None else answers[deployed]
        response.id = f"{_BEGINNING}{request.number}"
        return Answer(response, request.number, deployed, calls)

    async def _call(
        self,
        request: Request,
        model: str,
        prompt: str,
        messages: Messages,
        parameters: Mapping[str, Any],
        calls: list[dict[str, Any]],
    ) -> Any:
        """A model's response, or what it raised; the request has been told."""
        call: dict[str, Any] = {"model": model, "dollars": 0.0}
        calls.append(call)
        began = time.monotonic()
        try:
            response, call["dollars"] = await self._upstreams[model](messages, **parameters)
        except UsageError:
            raise
        except Exception as problem:  # whatever a provider raises
            call.update(seconds=time.monotonic() - began, failure=type(problem).__name__)
            if isinstance(problem, litellm.BadRequestError):  # what is asked of it, such as too long a prompt
                await self.store.aside(request.skip)
            else:
                await self.store.aside(request.fail, call["failure"])
            return problem
        call["seconds"] = time.monotonic() - began
        score: Any = ()
        if await self.store.aside(lambda: request.needs_score):
            if self.judge is None:
                raise UsageError("the cascade looks at scores: give CascadeLLM a judge")
            try:
                said = response.choices[0].message.content
                if said is None:
                    raise ValueError("an answer without text")
                score, dollars = await self.judge(prompt, str(said))
                call["dollars"] += dollars
                self._unjudged = 0
            except Exception as problem:
                self._unjudged += 1
                self.unjudged += 1
                call["failure"] = f"the judge: {type(problem).__name__}"
                await self.store.aside(request.skip, call["dollars"])
                return response
        await self.store.aside(request.observe, call["dollars"], score, None, call["seconds"])
        call["score"] = None if score == () else score
        return response

    def feedback(self, answer: str, quality: float) -> None:
        """The quality of an answer, in [0, 1], by its response's `id`."""
        self.store.feedback(number_of(answer), quality)

    async def acompletion(self, *args: Any, **given: Any) -> ModelResponse:
        """As LiteLLM calls it."""
        return (await self.answer(given["messages"], **_passed_on(given))).response

    def completion(self, *args: Any, **given: Any) -> ModelResponse:
        """As LiteLLM calls it; not from within an event loop."""
        return asyncio.run(self.acompletion(*args, **given))

    async def astreaming(self, *args: Any, **given: Any) -> AsyncIterator[GenericStreamingChunk]:
        """The final answer, in one piece: before a cascade has stopped it has none."""
        yield _chunk(await self.acompletion(*args, **given))

    def streaming(self, *args: Any, **given: Any) -> Iterator[GenericStreamingChunk]:
        """The same, not from within an event loop."""
        yield _chunk(self.completion(*args, **given))


def _passed_on(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in (given.get("optional_params") or {}).items() if name != "stream"}


def _chunk(response: ModelResponse) -> GenericStreamingChunk:
    answer = response.choices[0]
    return GenericStreamingChunk(
        text=str(answer.message.content), tool_use=None, is_finished=True, finish_reason=answer.finish_reason or "stop",
        usage=None, index=0, provider_specific_fields=None,
    )  # fmt: skip
