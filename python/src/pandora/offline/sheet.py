"""Tables for people: as text for a terminal, Markdown, HTML or CSV, and as pandora.Table."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple, Optional

import numpy as np

from ..table import Table
from .text import UNKNOWN, printable, printable_lines

_GAP = 2
_NUMBER = r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|nan)"


class Cell(NamedTuple):
    """`exact`: what CSV and Python get in place of `text`, such as all digits."""

    text: str
    exact: str = ""
    bold: bool = False


def exact_cell(text: str, value: float, bold: bool = False) -> Cell:
    """With nine digits for CSV."""
    return Cell(text, f"{value:.9g}" if math.isfinite(value) else "", bold)


@dataclass
class Sheet:
    """Rows of cells below headings. The first columns, `headers`, name the row.

    A row that is one text is a line across the table. `rules`: numbers of rows with a thin rule above them.
    """

    title: str
    columns: list[str]
    rows: list[Any] = field(default_factory=list)  #: list[Cell] or str
    notes: list[str] = field(default_factory=list)
    rules: set[int] = field(default_factory=set)
    headers: int = 1
    heading_column: str = ""  #: of CSV: its first column, with the line above each row

    def add(self, *cells: object, rule: bool = False) -> None:
        """A row of texts or cells. `rule`: with a thin rule above it."""
        if rule:
            self.rules.add(len(self.rows))
        self.rows.append([cell if isinstance(cell, Cell) else Cell(str(cell)) for cell in cells])

    def text(self, width: int = 80, bold: bool = False) -> str:
        """Of at most `width` columns: what does not fit goes below, with the headers again; nothing is cut."""
        mended = self._mended()
        widths = [_width(column) for column in mended.columns]
        for row in mended._cells():
            widths = [max(w, _width(cell.text)) for w, cell in zip(widths, row)]
        fixed = sum(widths[: self.headers]) + _GAP * (self.headers - 1)
        out, first = _wrapped(mended.title, width), self.headers
        while True:
            last, used = first, fixed
            while last < len(widths) and (last == first or used + _GAP + widths[last] <= width):
                used += _GAP + widths[last]
                last += 1
            out += ("\n" if first > self.headers else "") + mended._piece(widths, first, last, width, bold)
            if last >= len(widths):
                break
            first = last
        return out + "".join(_wrapped(note, width) for note in mended.notes)

    def markdown(self) -> str:
        """A table of Markdown."""
        mended = self._mended()
        out = f"**{_in_markdown(mended.title)}**\n\n" if mended.title else ""
        out += "|" + "".join(f" {_in_markdown(column)} |" for column in mended.columns) + "\n"
        out += "|" + "".join("---|" if c < self.headers else "---:|" for c in range(len(mended.columns))) + "\n"
        for row in mended.rows:
            if isinstance(row, str):
                out += f"| *{_in_markdown(row)}* |" + "|" * (len(self.columns) - 1) + "\n"
                continue
            texts = [f"**{_in_markdown(c.text)}**" if c.bold else _in_markdown(c.text) for c in row]
            out += "|" + "".join(f" {text} |" for text in texts) + "\n"
        return out + "".join(f"\n{_in_markdown(note)}\n" for note in mended.notes)

    def html(self) -> str:
        """A table of HTML."""
        out = "<table>\n" + (f"<caption>{_in_html(self.title)}</caption>\n" if self.title else "") + "<thead><tr>"
        for c, column in enumerate(self.columns):
            names = ' class="names"' if c < self.headers else ""
            out += f'<th scope="col"{names}>{_in_html(column)}</th>'
        out += "</tr></thead>\n<tbody>\n"
        for number, row in enumerate(self.rows):
            if isinstance(row, str):
                out += f'<tr class="heading"><th colspan="{len(self.columns)}">{_in_html(row)}</th></tr>\n'
                continue
            out += '<tr class="rule">' if number in self.rules else "<tr>"
            for c, cell in enumerate(row):
                text = f"<b>{_in_html(cell.text)}</b>" if cell.bold else _in_html(cell.text)
                out += f'<th scope="row">{text}</th>' if c < self.headers else f"<td>{text}</td>"
            out += "</tr>\n"
        out += "</tbody>\n</table>\n"
        return out + "".join(f'<p class="note">{_in_html(note)}</p>\n' for note in self.notes)

    def csv(self) -> str:
        """Headings and rows, nothing in place of "---"; notes are left out."""
        heading, headed = "", [csv_cell(self.heading_column)] if self.heading_column else []
        out = ",".join([*headed, *(csv_cell(column) for column in self.columns)]) + "\n"
        for row in self.rows:
            if isinstance(row, str):
                heading = row
                continue
            cells = [csv_cell(cell.exact or ("" if cell.text == UNKNOWN else cell.text)) for cell in row]
            out += ",".join([*([csv_cell(heading)] if headed else []), *cells]) + "\n"
        return out

    def table(self) -> Table:
        """As Python has it."""
        found = self.found()
        return Table(found["columns"], found["title"], found["text"], found["html"], found["notes"])

    def found(self) -> dict[str, Any]:
        """As table.of_program takes it: columns of numbers as arrays, where all cells are numbers."""
        columns: dict[str, Any] = {}
        if self.heading_column:
            columns[self.heading_column] = self._headings()
        rows = self._cells()
        for c, column in enumerate(self.columns):
            cells = [row[c] for row in rows]
            numbers = [_number_in(cell) for cell in cells]
            known = [x for x in numbers if x is not None]
            all_numbers = len(known) == len(cells)
            if all_numbers and (c >= self.headers or any(x == x for x in known)):
                columns[column or f"column {c + 1}"] = np.array(known, dtype=float)
            else:
                columns[column or f"column {c + 1}"] = ["" if cell.text == UNKNOWN else cell.text for cell in cells]
        return {
            "columns": columns,
            "title": self.title,
            "text": self.text(100),
            "html": self.html(),
            "notes": list(self.notes),
        }

    def _headings(self) -> list[str]:
        heading, out = "", []
        for row in self.rows:
            if isinstance(row, str):
                heading = row
            else:
                out.append(heading)
        return out

    def _cells(self) -> list[list[Cell]]:
        return [row for row in self.rows if not isinstance(row, str)]

    def _mended(self) -> Sheet:
        """Titles, headings and cells hold names from files: none of them steers a terminal."""
        rows = [
            printable(row)
            if isinstance(row, str)
            else [Cell(printable(c.text), printable(c.exact), c.bold) for c in row]
            for row in self.rows
        ]
        columns, notes = [printable(c) for c in self.columns], [printable(n) for n in self.notes]
        return Sheet(printable(self.title), columns, rows, notes, self.rules, self.headers, self.heading_column)

    def _piece(self, widths: Sequence[int], first: int, last: int, width: int, bold: bool) -> str:
        """The headers, and columns from `first` to `last` - 1."""
        shown = [c for c in range(last) if c < self.headers or c >= first]

        def line(cell: Callable[[int], str]) -> str:
            return (" " * _GAP).join(cell(c) for c in shown).rstrip(" ") + "\n"

        def padded(text: str, c: int) -> str:
            blank = " " * (widths[c] - _width(text))
            return blank + text if c >= self.headers else text + blank

        def emphasised(cell: Cell, c: int) -> str:
            text = padded(cell.text, c)
            return f"\033[1m{text}\033[0m" if bold and cell.bold else text

        out = line(lambda c: padded(self.columns[c], c)) + line(lambda c: "-" * widths[c])
        for row in self.rows:
            if isinstance(row, str):
                out += _wrapped(row, width)
            else:
                out += line(lambda c, row=row: emphasised(row[c], c))  # type: ignore[misc]
        return out


def csv_cell(text: str) -> str:
    """One cell of CSV, in quotes where it needs them.

    A text that a spreadsheet would run as a formula, as it begins with = + - or @ and is no number or interval, has an
    apostrophe before it, by which spreadsheets know a text.
    """
    if text[:1] in ("=", "+", "-", "@", "\t", "\r") and not re.fullmatch(
        f"{_NUMBER}%?( \\[{_NUMBER}%?, {_NUMBER}%?\\])?", text
    ):
        text = "'" + text
    if not re.search('[,"\n\r]', text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _is_number(text: str) -> bool:
    return re.fullmatch(_NUMBER, text) is not None


def _number_in(cell: Cell) -> Optional[float]:
    """NaN for what is unknown; None of a text."""
    text = cell.exact or cell.text
    if text in ("", UNKNOWN):
        return math.nan
    return float(text) if _is_number(text) and not text.startswith("+") else None


def _width(text: str) -> int:
    """Columns of a terminal: characters but for marks that are put on others."""
    return sum(not "\u0300" <= c <= "\u036f" for c in text) if not text.isascii() else len(text)


def _wrapped(text: str, width: int) -> str:
    """Words in lines of at most `width`; a word that is longer keeps a line of its own."""
    out, line = "", ""
    for word in re.split("[ \t\n\v\f\r]+", text):
        if line and word and _width(line) + 1 + _width(word) > width:
            out, line = out + line + "\n", ""
        line += (" " if line and word else "") + word
    return out + line + "\n" if line else out


def _in_html(text: str) -> str:
    return html.escape(printable_lines(text), quote=False).replace('"', "&quot;")


def _in_markdown(text: str) -> str:
    return re.sub(r"([|*_<`])", r"\\\1", text)


__all__ = ["Cell", "Sheet", "csv_cell", "exact_cell"]
