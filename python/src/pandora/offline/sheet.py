"""Tables for people: as text for a terminal, Markdown or CSV, and as pandora.Table."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any, Optional

from .. import _core
from ..table import Table, of_program
from .text import UNKNOWN, printable


@dataclass
class Sheet:
    """Rows of texts below headings. The first columns, `headers`, name the row.

    `rules`: numbers of rows with a thin rule above them.
    """

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rules: list[int] = field(default_factory=list)
    headers: int = 1

    def add(self, *cells: object, rule: bool = False) -> None:
        """A row. `rule`: with a thin rule above it."""
        if rule:
            self.rules.append(len(self.rows))
        self.rows.append([str(cell) for cell in cells])

    def text(self, width: int = 80) -> str:
        """Of at most `width` columns: what does not fit goes below, with the headers again; nothing is cut."""
        return self.printed.text(width) if self.columns else self._paragraphs(width)

    def markdown(self) -> str:
        """A table of Markdown."""
        return self.printed.markdown() if self.columns else self._paragraphs(None)

    def _paragraphs(self, width: Optional[int]) -> str:
        """The title and the notes, where there is no table."""
        texts = map(printable, (self.title, *self.notes))
        if width is None:
            return "\n\n".join(texts) + "\n"
        return "".join(textwrap.fill(text, width, break_on_hyphens=False) + "\n" for text in texts)

    def csv(self) -> str:
        """CSV: headings and rows, with nothing in place of "---"; notes are left out."""
        return _core.csv([self.columns, *(["" if cell == UNKNOWN else cell for cell in row] for row in self.rows)])

    def table(self) -> Table:
        """As Python has it."""
        return of_program(self.found())

    def found(self) -> dict[str, Any]:
        """As table.of_program takes it: columns of numbers as arrays, where all cells are numbers."""
        return {**self.printed.found(), "notes": list(self.notes)}

    @property
    def printed(self) -> _core.PrintedTable:
        """For the engine. Titles, headings and cells contain names from files; none of them can control a terminal."""
        title, *columns = map(printable, (self.title, *self.columns))
        rows = [list(map(printable, row)) for row in self.rows]
        return _core.PrintedTable(title, columns, rows, self.rules, list(map(printable, self.notes)), self.headers)
