"""Exports of other programs as tables of outcomes: `pandora import KIND SOURCE` and `pandora.Trace.from_export`.

The module of each kind says in its first lines which shape it expects, and where that is documented. It has `read`,
which finds answers; `LOOKS`, sets of names of which one is in its files, to recognise them when a table cannot be read;
`TAKES`, the options that it uses; and `LACKS`, the values that its format does not hold. reader.py reads files within
bounded memory, rows.py makes the table.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib
import itertools
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from ..arguments import number, path, refused, text, texts
from ..errors import DataError, OutputError, UsageError
from ..offline.errors import Refusal
from ..prices import Prices
from ..trace import frame_of_parquet
from .reader import Reader, data_files, is_parquet
from .rows import Rows, Settings

__all__ = ["KINDS", "Rows", "Settings", "export", "from_python", "recognised", "write_whole"]

KINDS = (
    "lm-eval",
    "promptfoo",
    "alpaca-eval",
    "llmrouter",
    "openai-batch",
    "litellm",
    "langfuse",
    "helicone",
    "routerbench",
)

_HEAD = 64 << 10  # bytes of a file that are enough to recognise it
_FILES = 8  # of a folder


def _module(kind: str) -> Any:
    return importlib.import_module(f".{kind.replace('-', '_')}", __name__)


@contextlib.contextmanager
def export(kind: str, source: str, settings: Settings) -> Iterator[tuple[Rows, list[str]]]:
    """The answers in an export of one of KINDS, with notes on what was left out.

    Raises Refusal for an option that the kind does not use. Raises DataError if something must be given or joined, and,
    with file and record, if something has the wrong shape.
    """
    module = _module(kind)
    for option in fields(Settings):
        if getattr(settings, option.name) != option.default and option.name not in module.TAKES:
            used = [other for other in KINDS if option.name in _module(other).TAKES]
            raise Refusal(option.name, None, f"is not of {kind}", f"leave it out; it is of {', '.join(used)}")
    if not os.path.exists(source):
        raise DataError(f"{source}: there is no such file or folder")
    reader = Reader()
    with contextlib.closing(Rows(source, settings)) as rows:
        with reader.errors():
            module.read(reader, source, settings, rows)
        if reader.twice:
            rows.leave_out("records that stand twice", reader.twice)
        yield rows, rows.finish()


def from_python(kind: str, source: str, given: Mapping[str, Any]) -> tuple[dict[str, list[Any]], list[str]]:
    """The columns of a long table, and notes. `given`: the arguments of pandora.Trace.from_export."""
    what, prices, per_token = "Trace.from_export", given["prices"], given["characters_per_token"]
    if kind not in KINDS:
        raise refused(f"{what}: kind", kind, f"one of {', '.join(KINDS)}")
    metric = given["metric"]
    settings = Settings(
        text(f"{what}: filter", given["filter"]),
        tuple(texts(f"{what}: metric", [metric] if isinstance(metric, str) and metric else metric)),
        prices if prices is None else Prices(dict(prices)) if isinstance(prices, Mapping) else Prices.read(prices),
        None if per_token is None else number(f"{what}: characters_per_token", per_token),
        "" if given["quality"] == "" else path(f"{what}: quality", given["quality"]),
    )
    if settings.characters_per_token is not None and not settings.characters_per_token > 0.0:
        raise refused(f"{what}: characters_per_token", per_token, "a number above 0, such as 4")
    with export(kind, source, settings) as (rows, notes):
        return rows.columns(), notes


@contextlib.contextmanager
def write_whole(path: str) -> Iterator[Any]:
    """Opens a file for writing. It appears only when everything is written; otherwise the old file stays."""
    partial = f"{path}.{os.getpid()}.partial"
    try:
        with open(partial, "x", encoding="utf-8", errors="replace", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        if isinstance(error, OSError):
            raise OutputError(f"{path}: could not be written ({error.strerror}); make room, or name another") from None
        raise


def recognised(path: str) -> str:
    """For a file or folder that is no table: what it looks like, and how to import it; empty if that is unknown."""
    for file in itertools.islice(data_files(path), _FILES):
        try:
            names = _names(file)
        except (OSError, EOFError, DataError, UsageError):
            continue
        if {"quality", "cost"} <= names:  # it is a table, and only some of its rows are wrong
            return ""
        for kind in KINDS:
            module = _module(kind)
            if any(looks <= names for looks in module.LOOKS):
                command = f"pandora import {kind} {shlex.quote(path)} --out table.jsonl"
                return f"{path}: looks like {kind}: {command}; {module.LACKS}"
    return ""


def _names(file: str) -> set[str]:
    """The names of members or columns in the first 64 KiB, and in a pickle of pandas its signs."""
    if is_parquet(file):
        return set(map(str, frame_of_parquet(file).columns))
    if not os.path.isfile(file):  # reading a pipe would wait
        raise OSError
    with gzip.open(file) if file.lower().endswith(".gz") else open(file, "rb") as opened:
        read = opened.read(_HEAD)
    is_pickle = read[:1] == b"\x80"
    start = read.decode("latin-1" if is_pickle else "utf-8", "replace").lstrip("\ufeff \t\r\n")
    is_json = start[:1] in ("{", "[")
    found = re.findall(r'"(\w+)"\s*:', start) if is_json else re.findall(r"\w+", start.partition("\n")[0])
    return {*found, *(["a pickle of pandas"] if is_pickle and b"pandas" in read else [])}
