"""promptfoo: what `promptfoo eval --output results.json` writes, or results.jsonl.

The shape, as https://www.promptfoo.dev/docs/configuration/outputs describes it and EvaluateResult in src/types/index.ts
of https://github.com/promptfoo/promptfoo has it::

    {"results": {"results": [{"testIdx", "provider": {"id", "label"}, "prompt": {"raw", "label"}, "score", "success",
        "failureReason", "error", "cost", "latencyMs", "response": {"cached",
        "tokenUsage": {"prompt", "completion"}}}]}}

or one result per line. A test with one of several prompt templates is a prompt of the table. The provider is the model.
A call whose failureReason is 2, an error, has no answer. Variables are not read, because they often hold the expected
answer.
"""

from __future__ import annotations

from typing import Any

from .reader import Reader, key_of, member, number, text_of, word
from .rows import Rows, Settings

LACKS = "it has quality, dollars and seconds of each answer (--prices where promptfoo knows no price)"
LOOKS = ({"provider", "latencyMs"}, {"evalId", "results"})
TAKES = ("prices",)

_ERROR = 2  # ResultFailureReason.ERROR


def read(reader: Reader, source: str, settings: Settings, rows: Rows) -> None:
    """Raises ValueError for a record of another shape."""
    templates: dict[str, int] = {}
    providers: dict[str, str] = {}
    cached = 0
    for record in reader.records(source, "results", "results"):
        provider, prompt = record.get("provider"), record.get("prompt")
        if provider is None or not ("score" in record or "success" in record):
            raise ValueError("is no result of promptfoo: it has no provider, or neither score nor success")
        label = word(prompt, "label", "display", "id") if isinstance(prompt, dict) else ""
        template = templates.setdefault(label, len(templates))
        test = word(record, "testIdx") or key_of(record.get("vars"))
        failed = _failed(record)
        quality = number(record, "score")
        if quality is None and not failed:
            quality = float(bool(record.get("success")))
        model, response = _model(provider, providers), record.get("response")
        usage = {
            name: member(response, "tokenUsage", of)
            for name, of in (("prompt_tokens", "prompt"), ("completion_tokens", "completion"))
        }
        usd = number(record, "cost")
        usd = usd if failed else rows.dollars(model, usd, usage)
        seconds = number(record, "latencyMs")
        cached += member(response, "cached") is True
        rows.add(
            test + (f"#{template + 1}" if template else ""), model, quality, usd,
            None if seconds is None else seconds / 1000.0,
            {"prompt": text_of(member(prompt, "raw") or prompt)}, failed=failed,
        )  # fmt: skip
    if len(templates) > 1:
        rows.say(f"prompt templates, each with a test a prompt of its own: {len(templates)}")
    if cached:
        rows.say(f"answers from promptfoo's cache, whose dollars and seconds are not a call's (--no-cache): {cached}")


def _failed(record: dict[str, Any]) -> bool:
    """Whether no answer came. A failed assertion is an "error" too, but there is an answer."""
    if "failureReason" in record:
        return bool(record["failureReason"] == _ERROR)
    return bool(record.get("error")) and member(record, "response", "output") is None


def _model(provider: Any, known: dict[str, str]) -> str:
    """The provider's id, with its label if several providers have the same id."""
    if not isinstance(provider, dict):
        return str(provider)
    label, name = word(provider, "label"), word(provider, "id", "label")
    return name if known.setdefault(name, label) == label else f"{name} ({label})"
