"""Answers as streams, in pieces that LiteLLM's proxy passes on completely.

LiteLLM ends a provider's stream with the first piece that says why it ended, so that piece comes last here, after the
usage and the member `cascade`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Optional

import litellm
from litellm.types.utils import Delta, ModelResponseStream, StreamingChoices

from . import calling


class Live:
    """An answer that is passed on as it comes."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.begun = False  #: whether the client has received a part of it
        self.stream: Any = None
        self.chunks: list[Any] = []  # all of them, for the usage and the cost
        self.why: Optional[str] = None

    async def pieces(self, stream: Any) -> AsyncGenerator[Any, None]:
        """Pieces of a model's stream that have something in them."""
        self.stream, held = stream, []
        try:
            async for chunk in stream:
                self.chunks.append(chunk)
                choices = [choice for choice in chunk.choices if choice.finish_reason]
                self.why = choices[0].finish_reason if choices and self.why is None else self.why
                if not any(_has_something(choice.delta) for choice in chunk.choices):
                    # An empty answer may consist of the role only; the client gets nothing of it.
                    if not self.begun and chunk.choices and not choices:
                        held.append(chunk)
                    continue
                self.begun = True
                for one in [*held, chunk]:
                    yield _piece(self.id, one)
                held = []
        finally:
            if close := getattr(stream, "aclose", None):
                await close()

    def response(self, messages: Sequence[Any]) -> Any:
        """All of it as one response."""
        return litellm.stream_chunk_builder(self.chunks, messages=list(messages))

    def dollars(self, response: Any) -> Optional[float]:
        """The cost, by the prices of the entry that was called; None if they are unknown."""
        hidden = getattr(self.stream, "_hidden_params", None) or {}
        log = getattr(self.stream, "logging_obj", None)
        cost = None if log is None or response is None else log.response_cost_calculator(result=response)
        return calling.dollars_of(SimpleNamespace(_hidden_params={**hidden, "response_cost": cost}))

    def rest(self, member: Mapping[str, Any], usage: Mapping[str, Any]) -> Iterator[Any]:
        """What follows the answer."""
        return ending(self.id, member, usage, self.why)


def whole(response: Any) -> Iterator[Any]:
    """A response as pieces."""
    for choice in response.choices:
        message = choice.message.model_dump(exclude_none=True)
        for k, call in enumerate(message.get("tool_calls") or ()):
            call["index"] = k  # clients need it to join the pieces of several calls
        yield _made(response.id, index=choice.index, delta=Delta(**message))
    usage = response.usage.model_dump(exclude_none=True)
    yield from ending(response.id, response.cascade, usage, response.choices[0].finish_reason)


def ending(id: str, member: Mapping[str, Any], usage: Mapping[str, Any], why: Optional[str]) -> Iterator[Any]:
    """The member `cascade`, the usage, and the reason why it ended."""
    last = _made(id)
    last.cascade = member
    last.provider_specific_fields = {}  # the proxy would omit unknown members from a plain piece
    yield last
    used = _made(id)
    used.usage = litellm.Usage(**usage)
    yield used
    yield _made(id, finish_reason=why or "stop")


def _made(id: str, **choice: Any) -> Any:
    """A piece with one choice, by default the first one, with nothing in it."""
    return ModelResponseStream(id=id, choices=[StreamingChoices(**{"index": 0, "delta": Delta(), **choice})])


def _piece(id: str, chunk: Any) -> Any:
    chunk.id = id
    for choice in chunk.choices:
        choice.finish_reason = None
    return chunk


def _has_something(delta: Any) -> bool:
    names = "content", "tool_calls", "function_call", "reasoning_content", "thinking_blocks", "audio", "images"
    return any(getattr(delta, name, None) for name in names)
