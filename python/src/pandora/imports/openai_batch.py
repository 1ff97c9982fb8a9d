"""openai-batch: input and output files of OpenAI's Batch API, in a folder, or an output file alone.

The shapes, as https://platform.openai.com/docs/api-reference/batch has them (BatchRequestInput, BatchRequestOutput)::

    {"custom_id", "method", "url", "body": {"model", "messages" or "input", ...}}                              input
    {"id", "custom_id", "response": {"status_code", "body": {"model", "usage", ...}}, "error"}   output and errors

Lines of an output come in any order, so all are joined by custom_id, which is the prompt. A request whose response is
null or has another status than 200 has no answer. A file has one model; outputs of several make several models.
"""

from __future__ import annotations

from ..errors import DataError
from ..spelling import option
from .reader import Reader, data_files, member, qualities, text_of, word
from .rows import Rows, Settings

LACKS = "it has no quality (--quality joins it by custom_id), and tokens in place of dollars (--prices)"
LOOKS = ({"custom_id", "response", "error"}, {"custom_id", "url", "body"})
TAKES = ("prices", "quality")


def read(reader: Reader, source: str, settings: Settings, rows: Rows) -> None:
    """Raises DataError without qualities, ValueError for a record of another shape."""
    if not settings.quality:
        raise DataError(
            f"{source}: output of a batch has answers and no quality, and is of one model; give {option('quality')}, a "
            "file with id (the custom_id), quality and, where it differs by model, model; put outputs of several "
            "models into one folder to compare them"
        )
    outputs: list[str] = []
    asked: dict[str, int] = {}  # for each custom_id the hash of its text
    for path in data_files(source):
        for first in reader.records(path):
            if "response" in first:
                outputs.append(path)
            elif "custom_id" in first and "body" in first:
                for record in reader.records(path):
                    one, text = word(record, "custom_id"), text_of(record.get("body"))
                    if asked.setdefault(one, hash(text)) != hash(text):
                        raise ValueError(f"custom_id {one} asks something else than before; import such batches apart")
                    rows.prompt(one, "", {"prompt": text})
            else:
                raise ValueError("is of no batch: it has neither custom_id and body nor custom_id and response")
            break
    for at, path in enumerate(outputs):
        for record in reader.records(path):
            prompt = word(record, "custom_id")
            if not prompt or "response" not in record:
                raise ValueError("has no custom_id and response, which every line of an output has")
            body = member(record, "response", "body")
            model = word(body, "model") if isinstance(body, dict) else ""
            if member(record, "response", "status_code") != 200 or not model:
                rows.prompt(prompt)
                continue
            usage = dict(body["usage"]) if isinstance(body.get("usage"), dict) else {}
            usage["batch"] = 1  # some price lists have a separate price for batches
            for of, name in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")):
                usage.setdefault(of, usage.pop(name, None))  # under the names of the endpoint /v1/responses
            usd = rows.dollars(model, None, usage)
            rows.add(prompt, model, None, usd, request=f"{at}:{prompt}", ids=[prompt])
    rows.join(qualities(reader, settings.quality))
