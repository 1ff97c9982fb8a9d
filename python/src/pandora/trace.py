"""Tables of outcomes: prompts x models, each with its quality and its cost."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import numpy.typing as npt

from . import _core
from .arguments import cell, number, numbers, path, refused, text, texts
from .errors import DataError, UsageError
from .table import Table, of_program

if TYPE_CHECKING:
    import pandas

__all__ = ["Trace", "TraceCheck"]

Numbers = npt.NDArray[np.float64]
Source = Union[str, "os.PathLike[str]", Mapping[str, Any], "pandas.DataFrame"]

_COSTS = ("total_cost", "cost")


class TraceCheck:
    """What a table holds and what routing on it can pay: `.verdicts` by price, `.tables`, `.values` as plain data."""

    def __init__(self, found: dict[str, Any], tables: Sequence[Mapping[str, Any]]) -> None:
        #: as `pandora trace check --format json` prints it
        self.values = found
        self.tables = [of_program(table) for table in tables]

    @property
    def verdicts(self) -> list[str]:
        """A sentence for each price."""
        return [part["verdict"] for part in self.values["prices"]]

    def __repr__(self) -> str:
        return "\n".join(repr(table) for table in self.tables)

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self.tables)


class Trace:
    """A table of outcomes from a file, a data frame or arrays.

    `source` is a path (CSV or JSON lines as `pandora trace check` reads them; Parquet where pandas can read it), a
    data frame in the wide form (columns M and M|total_cost or M|cost for every model M) or the long one (prompt_id,
    model, quality, cost, scores), or a dict of arrays: ``quality`` and ``cost`` (prompts x models), ``models`` (names),
    and if there are such ``scores`` (a dict of arrays, or one), ``prompts`` (names) and ``columns`` (a dict of
    lists: numbers, texts or lists of numbers of a prompt). Qualities and scores lie in [0, 1], costs are dollars;
    NaN is a missing cell.

    >>> trace = Trace({"models": ["small", "large"], "quality": [[0.4, 0.9], [0.8, 0.8], [0.9, 1.0]],
    ...                "cost": [[0.001, 0.01]] * 3, "columns": {"prompt": ["a", "b", "c"]}})
    >>> trace.models, trace.rows, trace.quality[0].tolist()
    (['small', 'large'], 3, [0.4, 0.9])

    Raises DataError where a cell is missing (unless ``missing="drop"``) or not to be trusted.
    """

    def __init__(
        self, source: Source, *, models: Sequence[str] = (), missing: str = "refuse", name: str = "trace"
    ) -> None:
        wanted = texts("Trace: models", models)
        text("Trace: missing", missing)
        text("Trace: name", name)
        if isinstance(source, (str, os.PathLike)):
            file = path("Trace:", source)
            if file.endswith((".parquet", ".pq")):
                import pandas

                self._table = _of_frame(pandas.read_parquet(file), file, wanted, missing)
            else:
                self._table = _core.read_trace(file, wanted, missing)
        elif isinstance(source, Mapping):
            self._table = _of_arrays(source, name, wanted, missing)
        elif all(hasattr(source, member) for member in ("columns", "iloc", "groupby")):
            self._table = _of_frame(source, name, wanted, missing)
        else:
            raise refused("Trace:", source, "a path, a data frame of pandas or a dict of arrays")

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
    def scores(self) -> dict[str, Numbers]:
        """By the judge's name: rows x models, in [0, 1]."""
        return {name: self._table.score(name) for name in self._table.scores}

    @property
    def columns(self) -> list[str]:
        """What the table says of a prompt beside its outcomes."""
        return self._table.columns

    def column(self, name: str) -> Any:
        """A list of texts, or an array of numbers (rows, or rows x numbers of a list)."""
        return self._table.column(text("Trace.column: name", name))

    @property
    def digest(self) -> str:
        """SHA-256 of the content, whatever form it was read from."""
        return self._table.digest()

    @property
    def notes(self) -> list[str]:
        """What of the source was left out."""
        return self._table.notes

    def select(self, models: Sequence[str]) -> Trace:
        """The same prompts with these models alone, in this order. Raises UsageError for none."""
        wanted = texts("Trace.select: models", models)
        if not wanted:
            raise UsageError(f"Trace.select: no models: give one or more of {', '.join(self.models)}")
        return Trace._of(self._table.select_models(wanted))

    def take(self, rows: Union[Sequence[int], Sequence[bool], npt.NDArray[Any]]) -> Trace:
        """These rows, in this order: whole numbers from 0 on, or a truth value for each row (a mask).

        >>> trace = Trace({"models": ["m"], "quality": [[0.1], [0.5], [0.9]], "cost": [[1.0]] * 3})
        >>> trace.take([2, 0]).quality.tolist(), trace.take(trace.quality[:, 0] > 0.4).rows
        ([[0.9], [0.1]], 2)

        Raises UsageError for a row that is not there, a mask of another length, and no rows.
        """
        return Trace._of(self._table.select_rows(_rows(rows, self.rows)))

    def split(self, share: float = 0.5) -> tuple[Trace, Trace]:
        """Two parts: a row is in the first with probability `share`, by a digest of its prompt; equal prompts together.

        >>> table = {"models": ["m"], "quality": [[0.5]] * 100, "cost": [[1.0]] * 100}
        >>> first, second = Trace(table).split(0.3)
        >>> first.rows + second.rows
        100

        Raises DataError where a part would have no rows.
        """
        first, second = self._table.split_rows(number("Trace.split: share", share))
        return self.take(first), self.take(second)

    def check(self, price: Union[float, Sequence[float]] = (5.0, 50.0), evaluator: str = "quality") -> TraceCheck:
        """What the table holds, and what routing between its models can pay at a price or several.

        As `pandora trace check`: best single model, index policy, fixed cascade and bound, each judged on prompts that
        it was not fitted on, with 95% intervals over prompts.
        """
        prices = numbers("Trace.check: price", price)
        if not prices:
            raise UsageError("Trace.check: no price: give one or more")
        return TraceCheck(*self._table.check(text("Trace.check: evaluator", evaluator), prices))

    def __repr__(self) -> str:
        return f"Trace({self._table.source}: {self.rows} prompts, models {', '.join(self.models)})"


def _rows(rows: Any, count: int) -> list[int]:
    wanted = "a list of whole numbers, or a mask with a truth value for each row"
    try:
        found = np.asarray(rows if hasattr(rows, "__len__") else list(rows))
    except (TypeError, ValueError):
        raise refused("Trace.take: rows", rows, wanted) from None
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


def _matrix(values: Any, what: str, source: str) -> Numbers:
    try:
        out = np.ascontiguousarray(values)
    except ValueError:
        out = np.empty(0)
    if out.ndim != 2:
        raise DataError(f"{source}: {what} is not an array of prompts x models")
    if out.dtype.kind in "USM" or out.dtype.kind == "m":
        raise DataError(f"{source}: {what} holds {out.dtype} in place of numbers")
    try:
        return np.ascontiguousarray(out, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{source}: {what} holds what is no number: {error}") from None


def _build(
    source: str,
    models: Sequence[str],
    prompts: Sequence[Any],
    answers: Mapping[str, Any],
    columns: Mapping[str, Sequence[Any]],
    wanted: Sequence[str],
    missing: str,
) -> _core.TraceTable:
    matrices = [(name, _matrix(values, name, source)) for name, values in answers.items()]
    lists = [(text("Trace: the name of a column", name), _plain(name, values)) for name, values in columns.items()]
    names = [text("Trace: a prompt's name", str(p)) for p in prompts]
    table = _core.trace_of_arrays(source, list(models), names, matrices, lists, missing)
    return table.select_models(list(wanted)) if len(wanted) > 0 else table


def _plain(name: str, values: Any) -> list[Any]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise refused(f"Trace: column {name}", values, "a list with a value for each prompt")
    found = values.tolist() if hasattr(values, "tolist") else list(values)
    return [cell(f"Trace: column {name}, row {row}:", value) for row, value in enumerate(found, 1)]


def _of_arrays(source: Mapping[str, Any], name: str, wanted: Sequence[str], missing: str) -> _core.TraceTable:
    for needed in ("models", "quality", "cost"):
        if needed not in source:
            raise UsageError(f"Trace: a dict of arrays needs models, quality and cost; {needed} is not there")
    unknown = set(source) - {"models", "quality", "cost", "scores", "prompts", "columns"}
    if unknown:
        raise UsageError(
            f"Trace: {', '.join(sorted(map(str, unknown)))}: unknown; "
            "use models, quality, cost, scores, prompts, columns"
        )
    scores = source.get("scores", {})
    if not isinstance(scores, Mapping):
        scores = {"score": scores}
    scores = {text("Trace: the name of a score", key): values for key, values in scores.items()}
    answers = {"quality": source["quality"], "cost": source["cost"], **scores}
    prompts, columns = source.get("prompts", ()), source.get("columns", {})
    if isinstance(prompts, (str, bytes)) or not isinstance(prompts, Iterable):
        raise refused("Trace: prompts", prompts, "a list of names")
    if not isinstance(columns, Mapping):
        raise refused("Trace: columns", columns, "a dict with a list for each column")
    return _build(name, texts("Trace: models", source["models"]), list(prompts), answers, columns, wanted, missing)


def _floats(part: Any, source: str, what: str) -> Numbers:
    try:
        found: Numbers = part.to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{source}: {what} holds what is no number: {error}") from None
    return found


def _of_frame(frame: pandas.DataFrame, name: str, wanted: Sequence[str], missing: str) -> _core.TraceTable:
    names = [str(column) for column in frame.columns]
    if "model" in names:
        return _of_long(frame, name, wanted, missing)
    models = [column for column in names if any(f"{column}|{cost}" in names for cost in _COSTS)]
    if not models:
        raise DataError(
            f"{name}: is no table of outcomes: give columns M and M|cost for every model M, or prompt_id, "
            "model, quality and cost"
        )
    cost = [next(f"{m}|{c}" for c in _COSTS if f"{m}|{c}" in names) for m in models]
    answers = {"quality": _floats(frame[models], name, "quality"), "cost": _floats(frame[cost], name, "cost")}
    for score in sorted({column.split("|", 1)[1] for column in names if "|score" in column}):
        if all(f"{m}|{score}" in names for m in models):
            answers[score] = _floats(frame[[f"{m}|{score}" for m in models]], name, score)
    rest = [column for column in names if column not in models and column.split("|")[0] not in models]
    return _finish(frame, name, models, answers, rest, wanted, missing)


def _of_long(frame: pandas.DataFrame, name: str, wanted: Sequence[str], missing: str) -> _core.TraceTable:
    names = [str(column) for column in frame.columns]
    quality = next((column for column in ("quality", "reward") if column in names), None)
    cost = next((column for column in _COSTS if column in names), None)
    prompt = next((column for column in ("prompt_id", "sample_id", "id", "prompt") if column in names), None)
    if quality is None or cost is None or prompt is None:
        raise DataError(f"{name}: is no table of outcomes: a long one has prompt_id, model, quality and cost")
    models = list(dict.fromkeys(str(m) for m in frame["model"]))
    prompts = list(dict.fromkeys(frame[prompt].tolist()))
    row_of, model_of = {p: k for k, p in enumerate(prompts)}, {m: k for k, m in enumerate(models)}
    rows = np.array([row_of[p] for p in frame[prompt].tolist()])
    columns = np.array([model_of[str(m)] for m in frame["model"]])
    if len(set(zip(rows.tolist(), columns.tolist()))) < len(rows):
        raise DataError(f"{name}: a prompt has the same model twice")
    answers = {}
    scores = [column for column in names if column == "score" or column.startswith(("score_", "score:"))]
    for what in (quality, cost, *scores):
        answers["quality" if what == quality else "cost" if what == cost else what] = values = np.full(
            (len(prompts), len(models)), np.nan
        )
        values[rows, columns] = _floats(frame[what], name, what)
    first = np.unique(rows, return_index=True)[1]
    rest = [column for column in names if column not in {"model", quality, cost, *scores}]
    constant = [column for column in rest if frame.groupby(prompt)[column].nunique(dropna=False).max() <= 1]
    return _finish(frame.iloc[first], name, models, answers, constant, wanted, missing)


def _finish(
    frame: pandas.DataFrame,
    name: str,
    models: Sequence[str],
    answers: Mapping[str, Any],
    rest: Sequence[str],
    wanted: Sequence[str],
    missing: str,
) -> _core.TraceTable:
    prompt = next((column for column in ("prompt_id", "sample_id", "id") if column in rest), None)
    prompts = [] if prompt is None else frame[prompt].astype(str).tolist()
    columns = {column: frame[column] for column in rest if column != prompt}
    return _build(name, models, prompts, answers, columns, wanted, missing)


def table_of(source: Union[Trace, Source]) -> _core.TraceTable:
    """The table of a Trace, or of what one is made of."""
    return source._table if isinstance(source, Trace) else Trace(source)._table


def tables_of(found: Sequence[Mapping[str, Any]]) -> list[Table]:
    """Tables that the program makes."""
    return [of_program(table) for table in found]
