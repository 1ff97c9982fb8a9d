"""Spans of OpenTelemetry with its attributes for generative AI, if it is installed.

They hold names, counts and kinds of failures, but never the text of a prompt, an answer or an exception: a provider's
text may quote a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Optional

try:
    from opentelemetry import trace as _traces
except ImportError:  # without it there are no spans
    _traces = None


class Told(dict[str, Any]):
    """Attributes of a span, which it gets when it ends; spans of calls name it as their `parent`."""

    context: Any = None


@contextmanager
def span(model: str, parent: Optional[Told] = None) -> Iterator[Told]:
    """A span around a request or a call."""
    told = Told({"gen_ai.operation.name": "chat", "gen_ai.request.model": model})
    if _traces is None:
        yield told
        return
    # It is not made the current span, because a stream's pieces are requested from several contexts.
    made = _traces.get_tracer("pandora").start_span(f"chat {model}", context=parent.context if parent else None)
    told.context = _traces.set_span_in_context(made)
    try:
        yield told
    except BaseException as error:
        told.setdefault("error.type", type(error).__name__)
        raise
    finally:
        if "error.type" in told:
            made.set_status(_traces.Status(_traces.StatusCode.ERROR))
        made.set_attributes({name: value for name, value in told.items() if value is not None})
        made.end()


def usage_of(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of a usage as OpenAI has it."""
    return {
        "gen_ai.usage.input_tokens": usage.get("prompt_tokens"),
        "gen_ai.usage.output_tokens": usage.get("completion_tokens"),
    }
