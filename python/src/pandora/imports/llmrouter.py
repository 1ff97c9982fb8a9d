"""llmrouter: the routing data of LLMRouter (ulab-uiuc), which its pipeline makes and on which its routers are trained.

The shape, as llmrouter/data/README.md of https://github.com/ulab-uiuc/LLMRouter has it ("Routing Data JSONL")::

    {"task_name", "query", "ground_truth", "metric", "choices", "task_id", "model_name", "response", "token_num",
     "input_tokens", "output_tokens", "response_time": seconds, "performance": 0 to 1, "embedding_id", ...}

with a line for each model's answer to a query. As there, task_name, query, ground_truth and metric together identify a
query. There are no dollars; they are computed from the tokens.
"""

from __future__ import annotations

from .reader import Reader, data_files, key_of, number, text_of, word
from .rows import Rows, Settings

LACKS = "it has tokens and no dollars (--prices)"
LOOKS = ({"model_name", "performance", "query"}, {"model_name", "performance", "task_name"})
TAKES = ("prices",)


def read(reader: Reader, source: str, settings: Settings, rows: Rows) -> None:
    """Raises ValueError for a record of another shape."""
    for path in data_files(source):
        for record in reader.records(path):
            if "query" not in record or "model_name" not in record:
                raise ValueError("has no query and model_name; scores of whole tasks are no routing data")
            model = word(record, "model_name")
            usage = {
                "prompt_tokens": number(record, "input_tokens"),
                "completion_tokens": number(record, "output_tokens"),
            }
            key = key_of(*(record.get(name) for name in ("task_name", "query", "ground_truth", "metric")))
            columns = {"prompt": text_of(record["query"]), "task": word(record, "task_name")}
            usd = rows.dollars(model, None, usage)
            quality, seconds = number(record, "performance"), number(record, "response_time")
            name = f"q{rows.prompts_so_far}"
            rows.add(key, model, quality, usd, seconds, columns, name=name)
