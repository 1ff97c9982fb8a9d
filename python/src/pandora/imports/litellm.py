"""litellm: spend logs of LiteLLM's proxy, as /spend/logs and /spend/logs/v2 answer, or its table LiteLLM_SpendLogs.

The shape, as litellm/proxy/schema.prisma of https://github.com/BerriAI/litellm has it (model LiteLLM_SpendLogs), as a
list, an object a line, or CSV::

    {"request_id", "call_type", "spend": dollars, "model", "prompt_tokens", "completion_tokens", "startTime", "endTime",
     "status", "cache_hit": "True", "session_id", "messages": "{}" unless prompts are stored, ...}

A log has no quality, and one model per request. Requests with the same stored messages are one prompt, so that models
are compared on the same messages. The cost of a failed request is added to the answer of the same session (or messages)
and model. A spend of 0 is either a cache hit, which is left out, or comes from a model without a price, which --prices
can give.
"""

from __future__ import annotations

from ..errors import DataError
from ..spelling import option
from .reader import Reader, decoded, key_of, number, qualities, seconds_between, text_of, word
from .rows import Rows, Settings

LACKS = (
    "it has no quality (--quality joins it by request_id), and one model a request, so nothing is compared unless "
    "prompts were stored; a spend of 0 is a cache hit's, or of a model without a price"
)
LOOKS = ({"request_id", "spend", "model"},)
TAKES = ("prices", "quality")


def read(reader: Reader, source: str, settings: Settings, rows: Rows) -> None:
    """Raises DataError without qualities, ValueError for a record of another shape."""
    if not settings.quality:
        raise DataError(
            f"{source}: spend logs have no quality, and one model a request, which compares nothing "
            "(docs/traces.md#which-log-can-answer-what says what such a log can tell); give "
            f"{option('quality')}, a file with id (the request_id) and quality; a spend of 0 is a cache hit's, or "
            "of a model without a price"
        )
    for record in reader.distinct(source, "data"):
        request, model = word(record, "request_id"), word(record, "model")
        if not request or "spend" not in record:
            raise ValueError("has no request_id and spend, which every spend log has")
        if word(record, "cache_hit").lower() == "true":
            rows.leave_out("answers from a cache, which are no calls")
            continue
        text, session = text_of(decoded(record.get("messages")) or {}), word(record, "session_id")
        failed = word(record, "status").lower() == "failure"
        usd = number(record, "spend") or None  # 0 means that no price is known
        usage = {name: number(record, name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
        rows.add(
            f"text {key_of(text)}" if text else f"request {request}", model,
            None, usd if failed else rows.dollars(model, usd, usage),
            seconds_between(record.get("startTime"), record.get("endTime")), {"prompt": text} if text else {},
            name=request, group=key_of(session, text) if session or text else request, request=request, ids=[request],
            failed=failed,
        )  # fmt: skip
    rows.join(qualities(reader, settings.quality))
