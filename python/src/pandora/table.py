"""Tables: columns by name."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
import numpy.typing as npt

from . import _core
from .errors import UsageError
from .rendering.tables import as_html

if TYPE_CHECKING:
    import pandas


def _column(values: Any) -> npt.NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values.astype("l") if values.dtype.kind == "i" else values
    if len(values) > 0 and isinstance(values[0], bool):
        return np.array(values, dtype=bool)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


class Table:
    """Columns by name, all of one length: numbers as arrays, texts as arrays of str. NaN stands for unknown numbers.

    >>> t = Table({"policy": ["dow", "oracle"], "regret_x1000": np.array([3.5, 0.0])})
    >>> t["policy"][0], float(t["regret_x1000"].max()), len(t)
    ('dow', 3.5, 2)
    >>> t.where(policy="oracle")["regret_x1000"]
    array([0.])
    """

    def __init__(
        self, columns: Mapping[str, Any], title: str = "", text: str = "", html: str = "", notes: Sequence[str] = ()
    ) -> None:
        self._columns = {name: _column(values) for name, values in columns.items()}
        self.title = title
        self._text = text
        self._html = html
        self._notes = list(notes)
        if len({len(values) for values in self._columns.values()}) > 1:
            raise UsageError("Table: columns of different lengths")

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    @property
    def notes(self) -> list[str]:
        """The notes below the table; for rows with regrets, whether one is lower than the benchmark allows."""
        if self._notes or not {"regret_x1000", "half_width_95_x1000", "replications", "regime"} <= set(self._columns):
            return list(self._notes)
        of = ("environment", "regime", "policy", "regret_x1000", "half_width_95_x1000", "replications")
        note = _core.benchmark_note(*(self[name].tolist() for name in of))
        return [note] if note else []

    def __len__(self) -> int:
        return next((len(values) for values in self._columns.values()), 0)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        try:
            return self._columns[name]
        except KeyError:
            raise KeyError(f"{name}: the columns are {', '.join(self._columns)}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows one after the other, as dicts of plain numbers and texts."""
        for k in range(len(self)):
            yield {name: v[k] if v.dtype == object else v[k].item() for name, v in self._columns.items()}

    def where(self, **wanted: Any) -> Table:
        """The rows in which every named column has the value, or one of the values of a list; None accepts all."""
        keep = np.ones(len(self), dtype=bool)
        for name, value in wanted.items():
            if value is None:
                continue
            column = self[name]
            values = list(value) if isinstance(value, (list, tuple, set, np.ndarray)) else [value]
            keep &= np.array([any(x == v for v in values) for x in column], dtype=bool)
        return self.take(np.flatnonzero(keep))

    def take(self, rows: Sequence[int] | npt.NDArray[Any]) -> Table:
        """The rows of these numbers, in this order."""
        index = np.asarray(rows, dtype=np.intp)
        return Table({name: values[index] for name, values in self._columns.items()}, self.title)

    def only(self, columns: Sequence[str]) -> Table:
        """These columns."""
        return Table({name: self[name] for name in columns}, self.title)

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of pandas, where that is installed (``pip install "./python[pandas]"``)."""
        import pandas

        return pandas.DataFrame(self._columns)

    def __repr__(self) -> str:
        if self._text:
            return self._text.rstrip("\n")
        shown = [[_cell(v[k], name) for name, v in self._columns.items()] for k in range(min(len(self), 20))]
        widths = [max([len(name)] + [len(row[c]) for row in shown]) for c, name in enumerate(self._columns)]
        lines = [" ".join(name.rjust(w) for name, w in zip(self._columns, widths))]
        lines += [" ".join(cell.rjust(w) for cell, w in zip(row, widths)) for row in shown]
        if len(shown) < len(self):
            lines.append(f"... {len(self)} rows")
        return "\n".join(([self.title] if self.title else []) + lines + self.notes)

    def _repr_html_(self) -> str:
        if self._html:
            return self._html
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._columns)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{html.escape(_cell(v[k], name))}</td>" for name, v in self._columns.items())
            + "</tr>"
            for k in range(min(len(self), 60))
        )
        rest = f"<p>{len(self)} rows</p>" if len(self) > 60 else ""
        rest += "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<table><caption>{html.escape(self.title)}</caption><tr>{head}</tr>{body}</table>{rest}"


def _cell(value: Any, column: str) -> str:
    if isinstance(value, (float, np.floating)):
        if column.startswith("p_") and value < 1e-4:  # no law is known so well that far out
            return "< 1e-4"
        return "" if np.isnan(value) else f"{value:.6g}"
    return str(value)


def _numbers(texts: Sequence[str]) -> Optional[npt.NDArray[np.float64]]:
    """The numbers of cells with all their digits, NaN for empty ones; None if one is not a number."""
    if any("_" in text or text.strip() != text for text in texts):  # these would be accepted by float()
        return None
    try:
        return np.array([float(text) if text else np.nan for text in texts])
    except ValueError:
        return None


def _columns(table: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays of numbers if all cells are numbers, otherwise texts; nothing in place of "---"."""
    found: dict[str, Any] = {}
    rows = [row for row in table["rows"] if "cells" in row]
    if table["heading_column"]:
        heading, found[table["heading_column"]] = "", []
        for row in table["rows"]:
            heading = row.get("heading", heading)
            if "cells" in row:
                found[table["heading_column"]].append(heading)
    for c, name in enumerate(table["columns"]):
        numbers = _numbers([row["exact"][c] for row in rows])
        known = numbers is not None and (c >= table["row_headers"] or not np.isnan(numbers).all())
        texts = ["" if row["cells"][c] == "---" else row["cells"][c] for row in rows]
        found[name or f"column {c + 1}"] = numbers if known else texts
    return found


def of_program(found: Mapping[str, Any]) -> Table:
    """A table that the program makes."""
    whole = json.loads(found["whole"])
    return Table(_columns(whole), found["title"], found["text"], as_html(whole), found["notes"])


class Shown:
    """An object that is shown as tables: those in its `tables` unless it says otherwise."""

    tables: list[Table]
    _between = "\n"

    def _shown(self) -> list[Table]:
        return self.tables

    def __repr__(self) -> str:
        return self._between.join(map(repr, self._shown()))

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self._shown())
