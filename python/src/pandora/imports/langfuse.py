"""langfuse: observations and scores of Langfuse, as its export to blob storage writes them, or its API answers.

The shape, as https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields documents the files of
observations/ (observations_v2/) and scores/, in Parquet, JSON, JSONL or CSV; the API writes traceId for trace_id::

    {"id", "trace_id", "type": "GENERATION", "start_time", "end_time", "level", "input", "provided_model_name",
     "usage_details": {"input", "output"}, "total_cost": dollars}
    {"id", "trace_id", "observation_id", "name", "value": number, "data_type"}

Only generations are calls. The generations of a model with the same input in a trace are one request, with all its
dollars. Generations with the same input, in any trace, are one prompt. A score belongs to an observation, or to a trace
in which only one model answered; with several models it is unclear whose answer it rates. Seconds are computed from the
times, because the unit of `latency` depends on the export's age. The downloads of Langfuse's pages are not documented
and not read.
"""

from __future__ import annotations

from typing import Any

from .helicone import require_quality
from .reader import Reader, data_files, decoded, key_of, member, number, qualities, seconds_between, text_of, word
from .rows import Rows, Settings

LACKS = "it has one model a request, and quality only where there are scores beside (--metric, else --quality)"
LOOKS = (
    {"trace_id", "start_time", "type"}, {"traceId", "startTime", "type"},
    {"trace_id", "observation_id", "data_type", "value"},
)  # fmt: skip
TAKES = ("metric", "prices", "quality")


def read(reader: Reader, source: str, settings: Settings, rows: Rows) -> None:
    """Raises DataError without qualities, ValueError for a record of another shape."""
    of_trace: dict[str, str] = {}
    scores: dict[str, dict[str, float]] = {}
    for path in data_files(source):
        for record in reader.distinct(path, "data"):
            trace = word(record, "trace_id", "traceId")
            if "value" in record and "name" in record:
                if word(record, "data_type", "dataType") in ("NUMERIC", "BOOLEAN", ""):
                    value = number(record, "value")
                    if value is not None:
                        one = word(record, "observation_id", "observationId") or f"trace {trace}"
                        scores.setdefault(word(record, "name"), {})[one] = value
            elif record.get("type") == "GENERATION" and trace:
                _take(record, trace, of_trace, rows)
            elif "type" not in record and "timestamp" not in record:
                raise ValueError("is no observation (trace_id, type), no score (name, value) and no trace")
            else:
                rows.leave_out("records that are no generation")
    if settings.quality:
        return rows.join(qualities(reader, settings.quality))
    chosen = [name for name in settings.metric or scores if name in scores]
    if len(chosen) == 1:
        shared = {f"trace {trace}" for trace, model in of_trace.items() if not model}
        known = {one: value for one, value in scores[chosen[0]].items() if one not in shared}
        rows.join(known)
        if len(known) < len(scores[chosen[0]]):
            rows.leave_out("scores of a trace with several models", len(scores[chosen[0]]) - len(known))
    require_quality(rows, source, chosen or list(settings.metric), "observation's or trace's id", "observations")
    return None


def _take(record: dict[str, Any], trace: str, of_trace: dict[str, str], rows: Rows) -> None:
    """Takes a generation. `of_trace`: the model of each trace, or nothing if there are several."""
    model = word(record, "provided_model_name", "providedModelName", "model")
    if of_trace.setdefault(trace, model) != model:
        of_trace[trace] = ""
    text, one = text_of(record.get("input")), word(record, "id")
    failed = record.get("level") == "ERROR"
    cost = {"total": member(record, "cost_details", "total"), "totals": member(record, "costDetails", "total")}
    usd = number({**cost, **record}, "total_cost", "totalCost", "calculatedTotalCost", "total", "totals")
    times = [
        record.get(name) or record.get(other) for name, other in (("start_time", "startTime"), ("end_time", "endTime"))
    ]
    rows.add(
        f"text {key_of(text)}" if text else f"trace {trace}", model,
        None, usd if failed else rows.dollars(model, usd, _usage(record)), seconds_between(*times),
        {"prompt": text} if text else {},
        name=one, group=key_of(trace, text), request=trace, ids=[f"trace {trace}", trace, one], failed=failed,
    )  # fmt: skip


def _usage(record: dict[str, Any]) -> dict[str, Any]:
    """Tokens of all kinds whose names begin with input, and with output."""
    found = decoded(record.get("usage_details") or record.get("usageDetails") or record.get("usage"))
    counts = {name: x for name, x in found.items() if isinstance(x, (int, float))} if isinstance(found, dict) else {}
    usage = {}
    for of, start in (("prompt_tokens", "input"), ("completion_tokens", "output")):
        parts = [x for name, x in counts.items() if name.startswith(start)]
        usage[of] = sum(parts) if parts else None
    cached = counts.get("input_cached_tokens", counts.get("cache_read_input_tokens"))
    return usage if cached is None else {**usage, "cached_tokens": cached}
