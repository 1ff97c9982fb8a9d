"""Tables of outcomes: prompts x models, each with its quality and its cost."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _core
from .arguments import cell, number, numbers, path, refused, text, texts
from .errors import DataError, ResourceError, UsageError
from .prices import Prices
from .table import Shown, Table

if TYPE_CHECKING:
    import pandas

Numbers = npt.NDArray[np.float64]
Pairs = Mapping[str, Sequence[float]]
Source = Union[str, "os.PathLike[str]", Mapping[str, Any], "pandas.DataFrame"]


class TraceCheck(Shown):
    """The contents of a table and the possible gain of routing on it: `.verdicts` by price, `.tables`, `.values` as
    plain data.
    """

    def __init__(self, found: dict[str, Any], tables: list[Table]) -> None:
        #: the output of `pandora trace check --format json`
        self.values = found
        self.tables = tables

    @property
    def verdicts(self) -> list[str]:
        """A sentence for each price."""
        return [part["verdict"] for part in self.values["prices"]]


class Trace:
    """A table of outcomes from a file, a data frame or arrays.

    `source` is one of these:

    - a path: CSV, JSON lines or a folder as `pandora trace check` reads them; Parquet if pandas can read it
    - a data frame in the wide form (columns M and M|total_cost or M|cost for every model M) or the long one (prompt_id,
      model, quality, cost, scores)
    - a dict with the lists of a long table
    - a dict of arrays: ``quality`` and ``cost`` (prompts x models) and ``models`` (names). Optional are ``scores`` (a
      dict of arrays, or one; "gpt4" becomes "score:gpt4"), ``prompts`` (names), ``columns`` (a dict of lists: numbers,
      texts or lists of numbers of a prompt), ``latency``, ``prompt_tokens`` and ``completion_tokens`` (prompts x
      models)

    Qualities and scores lie in [0, 1]; costs are dollars, latencies seconds. None, NaN and masked cells are missing.

    - ``scale`` gives other ranges of qualities or of a judge's scores: ``{"score": (1, 5)}``.
    - ``prices`` give costs to answers that have only tokens. They are dollars per million tokens in and out, ``{"gpt":
      (0.15, 0.6)}`` or as `Prices` takes them, a file of prices, or "litellm".
    - ``free_calls`` accepts costs of 0.
    - ``repeats`` accepts further rows of a prompt and model in a long table as further answers.
    - ``quality`` names the column that is the answers' quality; it may be a judge's scores, such as "score".
    - ``prompt_key`` names the column, or several, whose values identify a prompt.

    >>> trace = Trace({"models": ["small", "large"], "quality": [[0.4, 0.9], [0.8, 0.8], [0.9, 1.0]],
    ...                "cost": [[0.001, 0.01]] * 3, "columns": {"prompt": ["a", "b", "c"]}})
    >>> trace.models, trace.rows, trace.quality[0].tolist()
    (['small', 'large'], 3, [0.4, 0.9])

    Raises DataError if a cell is missing or not plausible. ``missing="drop"`` leaves out prompts with missing cells,
    and ``missing="failed"`` only those without dollars or a score.
    """

    _left_out: Sequence[str] = ()  # by an import

    def __init__(
        self,
        source: Source,
        *,
        models: Sequence[str] = (),
        missing: str = "refuse",
        name: str = "trace",
        scale: Optional[Pairs] = None,
        prices: Union[Mapping[str, Any], Prices, str, os.PathLike[str], None] = None,
        free_calls: bool = False,
        repeats: bool = False,
        quality: str = "",
        prompt_key: Union[str, Sequence[str]] = (),
    ) -> None:
        for what, value in (("free_calls", free_calls), ("repeats", repeats)):
            if not isinstance(value, (bool, np.bool_)):
                raise refused(f"Trace: {what}", value, "True or False")
        key = texts("Trace: prompt_key", [prompt_key] if isinstance(prompt_key, str) else prompt_key)
        options = _core.TraceOptions(
            texts("Trace: models", models), text("Trace: missing", missing),
            _pairs("scale", scale, '{"score": (1, 5)}'), list(Prices.of(prices).models.items()),
            bool(free_calls), bool(repeats), text("Trace: quality", quality), key,
        )  # fmt: skip
        text("Trace: name", name)
        if isinstance(source, (str, os.PathLike)):
            file = path("Trace:", source)
            if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", file) and not is_url(file):
                raise UsageError(
                    f"Trace: {file}: is an address, and nothing here opens a connection; download the file"
                )
            self._table = read_table(file, options)
        elif isinstance(source, Mapping) and "model" in source and "models" not in source:
            self._table = _of_columns(source.items(), name, options)
        elif isinstance(source, Mapping):
            self._table = _of_arrays(source, name, options, bool(prices), quality, key)
        elif all(hasattr(source, member) for member in ("columns", "iloc", "groupby")):
            self._table = _of_frame(source, name, options)
        else:
            raise refused("Trace:", source, "a path, a data frame of pandas or a dict of arrays")

    @classmethod
    def from_export(
        cls,
        kind: str,
        source: Union[str, os.PathLike[str]],
        *,
        filter: str = "",
        metric: Sequence[str] = (),
        prices: Optional[Union[Pairs, str, os.PathLike[str]]] = None,
        characters_per_token: Optional[float] = None,
        quality: Union[str, os.PathLike[str]] = "",
        **options: Any,
    ) -> Trace:
        """Reads an export of another program, like `pandora import`; docs/field.md describes the kinds.

        `kind` is lm-eval, promptfoo, alpaca-eval, llmrouter, openai-batch, litellm, langfuse, helicone or routerbench;
        `source` is a file or a folder. ``filter`` and ``metric`` choose among several. ``prices`` is a file or a dict
        of dollars per million tokens. ``characters_per_token`` estimates tokens if none are logged. ``quality`` is a
        file with qualities to join. `options` are those of Trace, such as ``missing="drop"``. `notes` say what was left
        out.

        Raises DataError if the export does not have the kind's shape or something must be joined, and UsageError for an
        invalid argument.
        """
        from .imports import from_python

        given = {"filter": filter, "metric": metric, "prices": prices, "quality": quality}
        name = path("Trace.from_export:", source)
        columns, notes = from_python(kind, name, {**given, "characters_per_token": characters_per_token})
        trace = cls(columns, **{"name": name, **options})
        trace._left_out = notes
        return trace

    @classmethod
    def _of(cls, table: _core.TraceTable) -> Trace:
        trace = cls.__new__(cls)
        trace._table = table
        return trace

    @property
    def models(self) -> list[str]:
        """Names, in the order of the columns of `quality` and `cost`."""
        return self._table.models

    @property
    def rows(self) -> int:
        """How many prompts there are."""
        return self._table.rows

    def __len__(self) -> int:
        return self._table.rows

    @property
    def prompts(self) -> list[str]:
        """A name for each row."""
        return self._table.prompts

    @property
    def quality(self) -> Numbers:
        """Rows x models, in [0, 1]."""
        return self._table.quality()

    @property
    def cost(self) -> Numbers:
        """Rows x models, dollars."""
        return self._table.cost()

    @property
    def latency(self) -> Optional[Numbers]:
        """Rows x models, seconds, NaN where not known; None where no answer has one."""
        return self._table.latency()

    @property
    def scores(self) -> dict[str, Numbers]:
        """By the judge's name: rows x models, in [0, 1]."""
        return {name: self._table.score(name) for name in self._table.scores}

    @property
    def columns(self) -> list[str]:
        """Other columns of the table's prompts."""
        return self._table.columns

    def column(self, name: str) -> Any:
        """A list of texts, or an array of numbers (rows, or rows x numbers of a list)."""
        return self._table.column(text("Trace.column: name", name))

    @property
    def digest(self) -> str:
        """SHA-256 of the content; it does not depend on the form of the source."""
        return self._table.digest()

    @property
    def notes(self) -> list[str]:
        """What of the source was left out."""
        return [*self._left_out, *self._table.notes]

    def select(self, models: Sequence[str]) -> Trace:
        """The same prompts with only these models, in this order. Raises UsageError if there are none."""
        wanted = texts("Trace.select: models", models)
        if not wanted:
            raise UsageError(f"Trace.select: no models: give one or more of {', '.join(self.models)}")
        return Trace._of(self._table.select_models(wanted))

    def take(self, rows: Union[Sequence[int], Sequence[bool], npt.NDArray[Any]]) -> Trace:
        """These rows, in this order: whole numbers from 0 on, or a truth value for each row (a mask).

        >>> trace = Trace({"models": ["m"], "quality": [[0.1], [0.5], [0.9]], "cost": [[1.0]] * 3})
        >>> trace.take([2, 0]).quality.tolist(), trace.take(trace.quality[:, 0] > 0.4).rows
        ([[0.9], [0.1]], 2)

        Raises UsageError for a row that does not exist, a mask of another length, and an empty selection.
        """
        return Trace._of(self._table.select_rows(_rows(rows, self.rows)))

    def split(self, share: float = 0.5) -> tuple[Trace, Trace]:
        """Two parts: a row is in the first with probability `share`, by a digest of its prompt; equal prompts stay
        together.

        >>> table = {"models": ["m"], "quality": [[0.5]] * 100, "cost": [[1.0]] * 100}
        >>> first, second = Trace(table).split(0.3)
        >>> first.rows + second.rows
        100

        Raises DataError if a part would have no rows.
        """
        first, second = self._table.split_rows(number("Trace.split: share", share))
        return self.take(first), self.take(second)

    def check(self, price: Union[float, Sequence[float]] = (5.0, 50.0), evaluator: str = "quality") -> TraceCheck:
        """The contents of the table, and the possible gain of routing between its models at one or several prices.

        As `pandora trace check`: best single model, index policy, fixed cascade and bound, each judged on prompts on
        which it was not fitted, with 95% intervals over prompts.
        """
        prices = numbers("Trace.check: price", price)
        if not prices:
            raise UsageError("Trace.check: no price: give one or more")
        return TraceCheck(*offline().check(self._table, text("Trace.check: evaluator", evaluator), prices))

    def __repr__(self) -> str:
        return f"Trace({self._table.source}: {self.rows} prompts, models {', '.join(self.models)})"


def _pairs(what: str, given: Any, example: str) -> list[tuple[str, tuple[float, float]]]:
    """Two numbers for each name."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise refused(f"Trace: {what}", given, f"a dict such as {example}")
    found = []
    for key, values in given.items():
        name = text(f"Trace: {what}: the name", key)
        pair = numbers(f"Trace: {what}: {name}", values)
        if len(pair) != 2:
            raise refused(f"Trace: {what}: {name}", values, f"two numbers, as in {example}")
        found.append((name, (pair[0], pair[1])))
    return found


def _rows(rows: Any, count: int) -> list[int]:
    wanted = "a list of whole numbers, or a mask with a truth value for each row"
    try:
        found = np.asarray(rows if hasattr(rows, "__len__") else list(rows))
    except (TypeError, ValueError):
        raise refused("Trace.take: rows", rows, wanted) from None
    if np.ma.is_masked(rows):
        raise UsageError("Trace.take: rows: some are masked; fill them in, by rows.filled(False) where they are a mask")
    if found.dtype == np.bool_:
        if found.shape != (count,):
            raise UsageError(f"Trace.take: a mask of shape {found.shape} for {count} rows: give one value for each row")
        found = np.flatnonzero(found)
    if found.ndim != 1 or (found.size > 0 and found.dtype.kind not in "iu"):
        raise refused("Trace.take: rows", rows, wanted)
    if found.size == 0:
        raise UsageError("Trace.take: no rows: a table has at least one")
    if found.min() < 0:
        raise UsageError(f"Trace.take: row {found.min()}: rows are counted from 0 on; the last is {count - 1}")
    return [int(row) for row in found]


def _float(value: Any) -> float:
    """The values of an array of objects, such as those of data frames; ValueError for something that is not a
    number.
    """
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return math.nan
    if not isinstance(value, (Real, Decimal, np.bool_)):
        raise ValueError
    return float(value)


def _matrix(values: Any, what: str, source: str, models: Sequence[str]) -> Numbers:
    try:
        out = np.ma.asarray(values)  # masked values are unknown
    except (TypeError, ValueError):
        out = np.ma.empty(0)
    if out.ndim != 2:
        raise DataError(f"{source}: {what} is not an array of prompts x models")
    if out.dtype.kind in "biuf":
        return np.ascontiguousarray(np.ma.filled(out.astype(np.float64), np.nan))
    if out.dtype.kind != "O":
        raise DataError(f"{source}: {what} holds {out.dtype} in place of numbers")
    found, objects = np.empty(out.shape), out.data.copy()
    objects[np.ma.getmaskarray(out)] = None
    for at, value in np.ndenumerate(objects):
        try:
            found[at] = _float(value)
        except (ValueError, OverflowError):
            model = models[at[1]] if at[1] < len(models) else at[1] + 1
            raise DataError(
                f'{source}: row {at[0] + 1}, column "{model} > {what}": {reprlib.repr(value)} is not a number'
            ) from None
    return found


def _cells(what: str, values: Any) -> list[Any]:
    """The values of a column: numbers, texts, lists of numbers, None for unknown ones."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise refused(f"Trace: {what}", values, "a list with a value for each prompt")
    found = values.tolist() if hasattr(values, "tolist") else list(values)
    if not isinstance(found, list):  # an array without axes
        raise refused(f"Trace: {what}", values, "a list with a value for each prompt")
    return [
        value
        if type(value) is float or (type(value) is int and abs(value) < 2**64)
        else cell(f"Trace: {what}, row {row}:", value)
        for row, value in enumerate(found, 1)
    ]


def _require_same_labels(source: str, models: Sequence[str], given: Sequence[tuple[str, Any]]) -> None:
    """Refuses data frames and series among arrays if their labels contradict the positions of their values."""
    labelled = [(what, values) for what, values in given if hasattr(values, "iloc")]
    for what, values in labelled:
        names = [str(column) for column in getattr(values, "columns", ())]
        if names != list(models) and sorted(names) == sorted(models):
            raise DataError(
                f"{source}: the columns of {what} are {', '.join(names)}, and models {', '.join(models)}: "
                "give them in one order"
            )
        if len(values) == len(labelled[0][1]) and not values.index.equals(labelled[0][1].index):
            raise DataError(
                f"{source}: the rows of {labelled[0][0]} and of {what} have other labels (index): bring them in one "
                "order, or give both as arrays (to_numpy)"
            )


_OF_ANSWERS = ("quality", "cost", "latency", "prompt_tokens", "completion_tokens")
_OF_CALLS = ("cached_tokens", "cache_write_tokens", "reasoning_tokens", "total_tokens", "batch")


def _of_arrays(
    source: Mapping[str, Any], name: str, options: _core.TraceOptions, priced: bool, quality: str, key: list[str]
) -> _core.TraceTable:
    lacking = {"cost"} if priced and "prompt_tokens" in source else set()
    lacking |= {"quality"} if quality.startswith("score") and "scores" in source else set()
    for needed in ("models", "quality", "cost"):
        if needed not in source and needed not in lacking:
            raise UsageError(f"Trace: a dict of arrays needs models, quality and cost; {needed} is not there")
    known = ("models", *_OF_ANSWERS[:2], "scores", "prompts", "columns", *_OF_ANSWERS[2:], *_OF_CALLS)
    unknown = set(source) - set(known)
    if unknown:
        raise UsageError(f"Trace: {', '.join(sorted(map(str, unknown)))}: unknown; use {', '.join(known)}")
    scores, columns = source.get("scores", {}), source.get("columns", {})
    if not isinstance(scores, Mapping):
        scores = {"score": scores}
    if not isinstance(columns, Mapping):
        raise refused("Trace: columns", columns, "a dict with a list for each column")
    models = texts("Trace: models", source["models"])
    answers = [(what, source[what]) for what in (*_OF_ANSWERS, *_OF_CALLS) if what in source]
    answers += [(text("Trace: the name of a score", key), values) for key, values in scores.items()]
    prompts = source.get("prompts", ())
    if key:
        for column in key:
            if column not in columns:
                raise UsageError(f"Trace: prompt_key {column}: is no column; use {', '.join(columns) or 'prompts'}")
        prompts = [" | ".join(map(str, parts)) for parts in zip(*(columns[column] for column in key))]
    _require_same_labels(name, models, [*answers, ("prompts", prompts), *columns.items()])
    return _core.trace_of_arrays(
        name,
        models,
        _cells("prompts", prompts),
        [(what, _matrix(values, what, name, models)) for what, values in answers],
        len(scores),
        [(text("Trace: the name of a column", key), _cells(f"column {key}", columns[key])) for key in columns],
        options,
    )


def _of_frame(frame: pandas.DataFrame, name: str, options: _core.TraceOptions) -> _core.TraceTable:
    named = [level for level in frame.index.names if level is not None and level not in frame.columns]
    if named:  # what a groupby leaves
        frame = frame.reset_index(level=named)
    return _of_columns([(str(column), frame.iloc[:, k]) for k, column in enumerate(frame.columns)], name, options)


def _of_columns(columns: Iterable[tuple[str, Any]], name: str, options: _core.TraceOptions) -> _core.TraceTable:
    cells = [
        (
            text("Trace: the name of a column", key),
            _cells(f"column {key}", _as_texts(values) if key in _NESTED else values),
        )
        for key, values in columns
    ]
    if len({len(values) for _, values in cells}) > 1:
        raise UsageError("Trace: the columns of a long table have other lengths; give each a value for each row")
    return _core.trace_of_columns(name, cells, options)


_NESTED = ("models", "arms")


def _as_texts(values: Any) -> Any:
    """A column with a prompt's answers by model: dicts become JSON, as the reader takes them."""
    return [json.dumps(value) if isinstance(value, Mapping) else value for value in values]


def is_url(source: str) -> bool:
    """Whether it names a database of a service."""
    return source.startswith(("sqlite:///", "postgresql://", "postgres://"))


def read_table(file: str, options: _core.TraceOptions, progress: Optional[Any] = None) -> _core.TraceTable:
    """A table in a file or a folder of logs. `progress`: called with MiB read and in all, except for Parquet."""
    if "://" in file:
        from .serving.as_log import read_decisions

        if is_url(file):
            return read_decisions(file, options)
    try:
        if file.lower().endswith((".parquet", ".pq")):
            return _of_frame(frame_of_parquet(file), file, options)
        return _core.read_trace(file, options, progress)
    except (DataError, UsageError) as error:
        from .imports import recognised

        told = recognised(file)
        if told:
            raise DataError(told) from error
        raise


def frame_of_parquet(file: str) -> pandas.DataFrame:
    """A file of Parquet. Raises UsageError without pandas, DataError, ResourceError."""
    try:
        import pandas

        if not os.path.isfile(file):  # never opened: pandas would accept addresses too, and reading a pipe would wait
            raise FileNotFoundError(errno.ENOENT, "there is no such regular file")
        with open(file, "rb") as opened:
            return pandas.read_parquet(opened)
    except ImportError:
        raise UsageError(
            f"Trace: {file}: to read Parquet takes pandas and pyarrow, which are not here; install them "
            "(pip install pandas pyarrow), or convert the file to CSV"
        ) from None
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror or error})") from None
    except MemoryError:
        raise ResourceError(f"{file}: takes more memory than there is; take a part of its rows") from None
    except Exception as error:  # of as many classes as there are libraries
        told = " ".join(str(error).split())[:200]
        raise DataError(f"{file}: is no Parquet file that pandas can read ({type(error).__name__}: {told})") from None


def table_of(source: Union[Trace, Source]) -> _core.TraceTable:
    """The table of a Trace, or of a source from which one is made."""
    return source._table if isinstance(source, Trace) else Trace(source)._table


def offline() -> Any:
    """pandora.offline.api, imported when it is asked for: simulating needs nothing of it."""
    from .offline import api

    return api
