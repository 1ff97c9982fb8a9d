"""helicone: the output of `npx @helicone/export` (JSONL, JSON or CSV), and the answers of /v1/request/query-clickhouse.

The shape, as https://docs.helicone.ai/rest/request/post-v1requestquery-clickhouse documents the answer, of which
https://docs.helicone.ai/tools/export writes `data`::

    {"request_id", "request_created_at", "response_created_at", "response_status", "request_model", "response_model",
     "delay_ms", "prompt_tokens", "completion_tokens", "cost": dollars, "scores": {NAME: number},
     "request_body": with --include-body}

CSV has response_id, model, cost, prompt_tokens, completion_tokens and the times. The unit of its column latency is not
documented; seconds are computed from the times of request and response. Requests with the same body are one prompt. A
status other than 2xx is a failed call, whose cost is added to an answer of the same model to the same prompt.
"""

from __future__ import annotations

from ..errors import DataError
from ..spelling import option
from .reader import Reader, decoded, key_of, member, number, qualities, seconds_between, text_of, word
from .rows import Rows, Settings

LACKS = "it has one model a request, and quality only where requests have scores (--metric, else --quality)"
LOOKS = ({"request_created_at", "response_status"},)
TAKES = ("metric", "prices", "quality")


def read(reader: Reader, source: str, settings: Settings, rows: Rows) -> None:
    """Raises DataError without qualities, ValueError for a record of another shape."""
    metrics: dict[str, None] = dict.fromkeys(settings.metric)
    for record in reader.distinct(source, "data"):
        request = word(record, "request_id", "response_id")
        if not request or "response_status" not in record:
            raise ValueError("has no request_id (in CSV response_id) and response_status, which every request has")
        model = word(record, "model_override", "response_model", "request_model", "model")
        scores = decoded(record.get("scores"))
        scores = scores if isinstance(scores, dict) else {}
        metrics.update(() if settings.metric else dict.fromkeys(scores))
        quality = number(scores, *list(metrics)[:1])
        text = text_of(member(record, "request_body"))
        delay = number(record, "delay_ms")
        usage = {name: number(record, name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
        failed = not 200 <= (number(record, "response_status") or 0) < 300
        usd = number(record, "cost", "costUSD")
        rows.add(
            f"text {key_of(text)}" if text else f"request {request}", model,
            quality, usd if failed else rows.dollars(model, usd, usage),
            seconds_between(record.get("request_created_at"), record.get("response_created_at"))
            if delay is None else delay / 1000.0,
            {"prompt": text} if text else {}, name=request, request=request, ids=[request], failed=failed,
        )  # fmt: skip
    if settings.quality:
        return rows.join(qualities(reader, settings.quality))
    require_quality(rows, source, list(metrics), "request_id", "requests")
    return None


def require_quality(rows: Rows, source: str, metrics: list[str], key: str, of: str) -> None:
    """Raises DataError if there is no score, or if there are several and none is named."""
    if len(metrics) > 1:
        raise DataError(f"{source}: {of} have several scores; name one by {option('metric')}: {', '.join(metrics)}")
    if len(rows) and not rows.known:
        named = f" called {metrics[0]}" if metrics else ""
        raise DataError(
            f"{source}: {of} have no scores{named}, and nothing else that is a quality; give {option('quality')}, a "
            f"file with id (the {key}) and quality"
        )
