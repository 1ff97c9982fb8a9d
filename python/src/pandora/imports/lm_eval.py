"""lm-eval: what `lm_eval --log_samples --output_path results` of EleutherAI's lm-evaluation-harness writes.

The shape, as lm_eval/loggers/evaluation_tracker.py of https://github.com/EleutherAI/lm-evaluation-harness writes it and
docs/interface.md there describes it::

    results/MODEL/samples_TASK_TIME.jsonl    a line for each document and answer filter, of
        {"doc_id", "doc", "target", "arguments": {"gen_args_0": {"arg_0": PROMPT, ...}}, "resps": [[ANSWER]],
         "filtered_resps", "filter", "metrics": [METRIC], METRIC: number, "doc_hash"}

The folder's name is the model; task and doc_id are the prompt; the latest file of a task is used. Older versions have
no "filter" and no "metrics". There are no dollars and no tokens: both are estimated from characters.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from ..errors import DataError
from ..spelling import option
from .reader import Reader, data_files, number, text_of, word
from .rows import Rows, Settings

LACKS = "it has no dollars and no tokens (--prices prices them by characters)"
LOOKS = ({"doc_id", "resps", "filtered_resps"},)
TAKES = ("filter", "metric", "prices", "characters_per_token")
CHARACTERS_PER_TOKEN = 4.0  #: of English, as tokenizers' makers say

_FILE = re.compile(r"samples_(.+?)(?:_(\d{4}-\d\d-\d\dT[\d.-]+))?\.jsonl(?:\.gz)?$")
_OF_DOCUMENTS = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}


def read(reader: Reader, source: str, settings: Settings, rows: Rows) -> None:
    """Raises DataError."""
    files: list[tuple[str, str, str, str]] = []
    for path in data_files(source):
        name = _FILE.search(os.path.basename(path))
        if name:
            model = os.path.basename(os.path.dirname(os.path.abspath(path)))
            files.append((name[1], model, name[2] or "", path))
    if not files:
        raise DataError(f"{source}: has no files called samples_TASK_TIME.jsonl; run lm_eval with --log_samples")
    models = ", ".join(sorted({model for _, model, _, _ in files}))
    per_token = characters_per_token(source, "lm-evaluation-harness", models, settings, rows)
    files.sort()
    chosen = {}
    for task, _, _, path in files:
        if task not in chosen:
            chosen[task] = _choice(reader, task, path, settings)
    documents: dict[str, Any] = {}
    for task, model, _, path in files:
        wanted, metric = chosen[task]
        for record in reader.records(path):
            if word(record, "filter") != wanted:
                continue
            prompt = f"{task}/{word(record, 'doc_id')}"
            document = hash(word(record, "doc_hash"))
            if documents.setdefault(prompt, document) != document:
                raise ValueError(
                    f"document {prompt} is another one than in an earlier file (doc_hash); import them apart"
                )
            asked, answered = map(_characters, (record.get("arguments"), record.get("resps")))
            usage = {"prompt_tokens": asked / per_token, "completion_tokens": answered / per_token}
            columns = {"prompt": _prompt(record), "task": task}
            usd = rows.dollars(model, None, usage)
            rows.add(prompt, model, number(record, metric), usd, None, columns, replaces=True)


def characters_per_token(source: str, program: str, models: str, settings: Settings, rows: Rows) -> float:
    """For exports without dollars and tokens. Raises DataError if `models` have no prices."""
    if settings.prices is None:
        raise DataError(
            f"{source}: has no dollars and no tokens, as {program} logs none; give {option('prices')}, a TOML file "
            f"with dollars for a million tokens in and out of {models}, and {option('characters_per_token')}"
        )
    if settings.characters_per_token is not None:
        return settings.characters_per_token
    rows.say(f"a token is taken for {CHARACTERS_PER_TOKEN:g} characters (characters_per_token), since none are logged")
    return CHARACTERS_PER_TOKEN


def _choice(reader: Reader, task: str, path: str, settings: Settings) -> tuple[str, str]:
    """The filter and the metric of a task, from one of its files."""
    filters: dict[str, None] = {}
    metrics: dict[str, None] = {}
    for record in reader.records(path):
        filters.setdefault(word(record, "filter"))
        metrics.update(dict.fromkeys(_metrics(record)))
    if not metrics:
        raise DataError(f"{path}: has no records with a metric that is a number")
    found, several, remedies = [], [], []
    for what, there, named in (("filter", filters, (settings.filter,)), ("metric", metrics, settings.metric)):
        one = [name for name in there if name in named] or list(there)
        found.append(one[0] if len(one) == 1 else "")
        if len(one) != 1:
            several.append(f"{what}s ({', '.join(there)})")
            remedies.append(f"one by {option(what)}")
    if several:
        raise DataError(f"{path}: task {task} has several {' and '.join(several)}; name {' and '.join(remedies)}")
    return found[0], found[1]


def _metrics(record: dict[str, Any]) -> Iterator[str]:
    named = record.get("metrics")
    for name in named if isinstance(named, list) else [x for x in record if x not in _OF_DOCUMENTS]:
        if isinstance(record.get(name), (int, float)):
            yield str(name)


def _characters(value: Any) -> int:
    """Counts characters of the texts in lists and objects. Settings of a generation, such as stop words, do not
    count.
    """
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(_characters, value))
    if isinstance(value, dict):
        return sum(_characters(inner) for name, inner in value.items() if str(name).startswith(("gen_args_", "arg_")))
    return 0


def _prompt(record: dict[str, Any]) -> str:
    """The prompt that the model got first; if it was asked for each choice, the text before the choices."""
    arguments = record.get("arguments")
    for _ in range(2):  # gen_args_0, arg_0; versions before 0.4.3 have lists
        if isinstance(arguments, dict):
            arguments = next(iter(arguments.values()), None)
        elif isinstance(arguments, list):
            arguments = arguments[0] if arguments else None
    return text_of(arguments if arguments is not None else record.get("doc"))
