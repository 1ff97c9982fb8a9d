"""Reads files of other programs one record at a time: JSON in its forms, CSV and Parquet. Memory is bounded except for
Parquet.

JSON is read with the standard library's decoder on a window of the file. A streaming library (ijson) takes as long,
refuses the NaN that Python programs write, and accepts records of unlimited length, as in a damaged file.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import json
import math
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, Optional, TextIO

from ..errors import DataError
from ..trace import frame_of_parquet

#: The most characters of a record, as of a row of a table.
MOST = 16 << 20
_PIECE = 1 << 20
_TOO_LONG = f"is longer than {MOST >> 20} MiB"
_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)  # NaN, which Python writes for unknown values
#: The names that a file may have, also with ".gz".
_DATA = re.compile(r"\.((jsonl|ndjson|json|csv)(\.gz)?|parquet|pq)$", re.IGNORECASE)


def data_files(path: str) -> list[str]:
    """The file itself, or the files of a folder and of the folders in it, in the order of their names."""
    if not os.path.isdir(path):
        return [path]
    found = [
        os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names if _DATA.search(name.lower())
    ]
    return sorted(found)


def is_parquet(path: str) -> bool:
    """By its name."""
    return path.lower().endswith((".parquet", ".pq"))


def _plain(cell: Any) -> Any:
    """A cell of a data frame as JSON: times in ISO 8601, and maps, which come as pairs, as objects."""
    if hasattr(cell, "isoformat"):
        return cell.isoformat()
    cell = cell.tolist() if hasattr(cell, "tolist") else cell
    if isinstance(cell, list) and cell and all(isinstance(pair, tuple) and len(pair) == 2 for pair in cell):
        return dict(cell)
    return cell


def _of_parquet(path: str) -> Iterator[dict[str, Any]]:
    frame = frame_of_parquet(path)
    names = list(map(str, frame.columns))
    for cells in frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None):
        yield dict(zip(names, map(_plain, cells)))


class _Window:
    """A part of a JSON file, read as far as needed."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._text, self._at, self._ended = file, "", 0, False

    def _read_on(self) -> bool:
        """Reads at least as much as is waiting, so that a long record is not decoded often. False at the end."""
        waiting = self._text[self._at :]
        if len(waiting) > MOST:
            raise ValueError(_TOO_LONG)
        piece = "" if self._ended else self._file.read(max(_PIECE, len(waiting)))
        self._text, self._at, self._ended = waiting + piece, 0, not piece
        return bool(piece)

    def peek(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            blanks = _BLANKS.match(self._text, self._at)
            self._at = blanks.end() if blanks else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_on():
                return ""

    def take(self, char: str) -> None:
        """Moves past a character. Raises ValueError if there is another one."""
        found = self.peek()
        if found != char:
            raise ValueError(f"has {json.dumps(found)} where {char} belongs" if found else f"ends where {char} belongs")
        self._at += 1

    def value(self) -> Any:
        """Reads a value of any type."""
        self.peek()
        while True:
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
                if end < len(self._text) or self._ended or isinstance(found, (dict, list, str)):
                    if end - self._at > MOST:
                        raise ValueError(_TOO_LONG)
                    self._at = end
                    return found
                problem = ""  # more digits of a number may follow
            except json.JSONDecodeError as error:
                near = self._text[error.pos : error.pos + 30]
                cut = not near.strip() or error.msg.startswith("Unterminated")
                problem = "the file ends within it" if cut else f"is no JSON ({error.msg}: {json.dumps(near)})"
            if not self._read_on() and problem:
                raise ValueError(problem)

    def members(self) -> Iterator[str]:
        """The names in an object; the caller reads the value of each."""
        self.take("{")
        first = True
        while self.peek() != "}":
            if not first:
                self.take(",")
            name, first = self.value(), False
            self.take(":")
            yield str(name)
        self.take("}")

    def items(self) -> Iterator[Any]:
        """The values in a list."""
        self.take("[")
        first = True
        while self.peek() != "]":
            if not first:
                self.take(",")
            first = False
            yield self.value()
        self.take("]")

    def records(self, inside: tuple[str, ...]) -> Iterator[Any]:
        """The items of a list, or of the list in the members `inside`; without one, the object itself.

        After such an inner list nothing more is read.
        """
        if self.peek() == "[":
            yield from self.items()
        elif not inside or self.peek() != "{":
            yield self.value()
        else:
            rest: dict[str, Any] = {}
            for name in self.members():
                if name == inside[0] and self.peek() in ("{", "["):
                    yield from self.records(inside[1:])
                    self._text, self._at, self._ended = "", 0, True
                    return
                rest[name] = self.value()
            yield rest


class Reader:
    """Reads files, and knows the file and the record at which it is."""

    def __init__(self) -> None:
        self._place = ""
        self._seen: set[str] = set()
        self.twice = 0  #: records that distinct() left out

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turns errors inside into one DataError with the record's place."""
        try:
            yield
        except RecursionError:
            raise DataError(f"{self._place}: is nested too deep; is it what the program wrote?") from None
        except (ValueError, EOFError, OSError, zlib.error, csv.Error) as error:
            told = " ".join(str(getattr(error, "strerror", None) or error).split())[:200]
            raise DataError(f"{self._place}: {told or 'cannot be read'}") from None

    def _open(self, path: str) -> TextIO:
        self._place = path
        if not os.path.isfile(path):  # reading a pipe would wait
            raise ValueError("there is no such regular file")
        if path.lower().endswith(".gz"):
            return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
        return open(path, encoding="utf-8-sig", newline="")

    def records(self, path: str, *inside: str) -> Iterator[dict[str, Any]]:
        """The objects in a file: one after the other, in a list, or in the members `inside`; or the rows of CSV and
        Parquet.

        Parquet is read as a whole.
        """
        if is_parquet(path):
            yield from self._numbered(path, _of_parquet(path))
            return
        with self._open(path) as file:
            window = _Window(file)
            if window.peek() not in ("", "{", "["):
                file.seek(0)
                yield from self._numbered(path, csv.DictReader(_lines(file)))
                return
            number = 0
            while window.peek():
                for record in self._numbered(path, window.records(inside), number):
                    number += 1
                    yield record

    def distinct(self, path: str, *inside: str) -> Iterator[dict[str, Any]]:
        """Like records(), over any number of files. A record that occurs twice, because exports overlap, is returned
        once.
        """
        for record in self.records(path, *inside):
            key = key_of(record)
            if key in self._seen:
                self.twice += 1
            else:
                self._seen.add(key)
                yield record

    def _numbered(self, path: str, found: Iterator[Any], before: int = 0) -> Iterator[dict[str, Any]]:
        self._place = f"{path}: record {before + 1}"
        for number, record in enumerate(found, before + 1):
            self._place = f"{path}: record {number}"
            if not isinstance(record, dict):
                raise ValueError("is no object")
            yield record
            self._place = f"{path}: record {number + 1}"


def _lines(file: TextIO) -> Iterator[str]:
    csv.field_size_limit(MOST)
    while True:
        line = file.readline(MOST + 1)
        if not line:
            return
        if len(line) > MOST:
            raise ValueError(_TOO_LONG)
        yield line


def decoded(value: Any) -> Any:
    """A value that may be JSON in a text, as in a CSV file or a column of a database."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        with contextlib.suppress(ValueError):
            return _DECODER.decode(value)
    return value


def member(record: Any, *names: str) -> Any:
    """The member of nested objects; None if one of them does not have it."""
    for name in names:
        record = decoded(record)
        if not isinstance(record, dict):
            return None
        record = record.get(name)
    return record


def number(record: Mapping[str, Any], *names: str) -> Optional[float]:
    """The first of these members that has a value. Raises ValueError unless it is a finite number."""
    for name in names:
        value = record.get(name)
        if value is None or value == "":
            continue
        try:
            found = float(value) if isinstance(value, (int, float, str)) else math.nan
        except (ValueError, OverflowError):
            found = math.nan
        if not math.isfinite(found):
            raise ValueError(f"{name}: {json.dumps(value)[:60]} is no number")
        return found
    return None


def word(record: Mapping[str, Any], *names: str) -> str:
    """The first of these members that has a value, as a text; empty if there is none."""
    for name in names:
        value = record.get(name)
        if value is not None and value != "":
            return value if isinstance(value, str) else json.dumps(value)
    return ""


def _moment(value: Any) -> Optional[float]:
    if isinstance(value, (int, float)):
        return float(value)
    if not isinstance(value, str):
        return None
    parts = re.fullmatch(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)?", value.strip())
    if parts is None:
        return None
    zone = "" if parts[4] in (None, "Z") else parts[4].replace(":", "")
    found = datetime.strptime(f"{parts[1]} {parts[2]}{zone or '+0000'}", "%Y-%m-%d %H:%M:%S%z")
    return found.astimezone(timezone.utc).timestamp() + float(parts[3] or 0)


def seconds_between(start: Any, end: Any) -> Optional[float]:
    """Seconds between two times in ISO 8601 (without a zone: UTC), or in seconds; None if one is unknown."""
    first, last = _moment(start), _moment(end)
    return None if first is None or last is None else round(last - first, 6)


def key_of(*parts: Any) -> str:
    """A short name for values, different for different values, so that texts need not be kept."""
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=12).hexdigest()


def text_of(content: Any) -> str:
    """The text of a prompt for people: a text, or the texts of messages and of their parts."""
    content = decoded(content)
    if isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        return "\n".join(filter(None, map(text_of, content)))
    if isinstance(content, dict):
        for name in ("messages", "content", "text", "input", "prompt", "question", "query"):
            if content.get(name):
                return text_of(content[name])
    return "" if content in (None, {}) else json.dumps(content, ensure_ascii=False)


def qualities(reader: Reader, path: str) -> dict[Any, float]:
    """Qualities to be joined to an export that has none, of a CSV file or JSON with id, quality and perhaps model.

    They are by id, or by (id, model) if the file names models. Raises ValueError if a row has no id or quality.
    """
    found: dict[Any, float] = {}
    for record in reader.records(path):
        one, model = word(record, "id", "prompt_id", "request_id", "custom_id"), word(record, "model")
        quality = number(record, "quality")
        if not one or "quality" not in record:
            raise ValueError("has no id and quality, by which qualities are joined")
        key = (one, model) if model else one
        if quality is not None and found.setdefault(key, quality) != quality:
            raise ValueError(f"id {one} stands twice, with another quality")
    return found
