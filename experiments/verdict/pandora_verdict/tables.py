"""Tables as text, Markdown, LaTeX or CSV, in the form of those that `pandora show` prints."""

from __future__ import annotations

import csv
import functools
import io
import math
import runpy
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

from .sample import Estimate


@dataclass(frozen=True)
class Cell:
    """A text, bold or not."""

    text: str
    bold: bool = False


@dataclass
class Table:
    """A row is a list of cells, or a text: a line across the whole table."""

    label: str
    title: str
    columns: list[str]
    rows: list[Union[str, list[Cell]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    headers: int = 1  # leading columns that name the row: repeated wherever the table is split

    def add(self, *cells: Union[str, Cell]) -> None:
        """A row of texts and cells."""
        self.rows.append([cell if isinstance(cell, Cell) else Cell(cell) for cell in cells])


def number(value: float, decimals: int = 2) -> str:
    """`---` where nothing is known."""
    text = f"{value:.{decimals}f}"
    return "---" if not math.isfinite(value) else text[1:] if text.startswith("-") and not text.strip("-0.") else text


def plus_minus(estimate: Estimate, decimals: int = 2) -> str:
    """Such as 9.31±0.35; a half-width that is 0 or not known is left out."""
    if math.isnan(estimate.mean):
        return "---"
    text = f"{estimate.mean:.{decimals}f}"
    return f"{text}±{estimate.half_width:.{decimals}f}" if estimate.half_width > 0.0 else text


def p_value(p: float) -> str:
    """Four decimals, or < 1e-4."""
    return "---" if math.isnan(p) else "< 1e-4" if p < 1e-4 else f"{p:.4f}"


def as_text(table: Table, width: int, bold: bool) -> str:
    """At most `width` columns wide: what does not fit goes below, with the row headers repeated."""
    columns = range(len(table.columns))
    rows = [row for row in table.rows if not isinstance(row, str)]
    widths = [max([len(table.columns[c])] + [len(row[c].text) for row in rows]) for c in columns]
    fixed = sum(widths[: table.headers]) + 2 * (table.headers - 1)
    pieces: list[list[int]] = []
    for c in columns[table.headers :]:
        if pieces and fixed + sum(2 + widths[k] for k in [*pieces[-1], c]) <= width:
            pieces[-1].append(c)
        else:
            pieces.append([c])
    parts = [_wrapped(table.title, width)]
    for k, piece in enumerate(pieces or [[]]):
        shown = [*columns[: table.headers], *piece]
        lines = [_line([Cell(table.columns[c]) for c in shown], shown, widths, table.headers, False)]
        lines.append("  ".join("-" * widths[c] for c in shown))
        for row in table.rows:
            if isinstance(row, str):
                lines.append(_wrapped(row, width).rstrip("\n"))
            else:
                lines.append(_line([row[c] for c in shown], shown, widths, table.headers, bold))
        parts.append(("\n" if k > 0 else "") + "\n".join(lines) + "\n")
    return "".join(parts + [_wrapped(note, width) for note in table.notes])


def _wrapped(text: str, width: int) -> str:
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False) + "\n"


def _line(cells: Sequence[Cell], shown: Sequence[int], widths: Sequence[int], headers: int, bold: bool) -> str:
    padded = [
        cell.text.ljust(widths[c]) if c < headers else cell.text.rjust(widths[c]) for cell, c in zip(cells, shown)
    ]
    shown_bold = (f"\033[1m{text}\033[0m" if bold and cell.bold else text for text, cell in zip(padded, cells))
    return "  ".join(shown_bold).rstrip(" ")


def as_markdown(table: Table) -> str:
    """A table of GitHub's Markdown."""

    def escaped(text: str) -> str:
        return "".join("\\" + c if c in "|*_<`" else c for c in text)

    rule = "".join("---|" if c < table.headers else "---:|" for c in range(len(table.columns)))
    lines = [f"**{escaped(table.title)}**", "", "| " + " | ".join(map(escaped, table.columns)) + " |", "|" + rule]
    for row in table.rows:
        if isinstance(row, str):
            lines.append(f"| *{escaped(row)}* |" + "|" * (len(table.columns) - 1))
        else:
            texts = [f"**{escaped(cell.text)}**" if cell.bold else escaped(cell.text) for cell in row]
            lines.append("| " + " | ".join(texts) + " |")
    return "\n".join(lines + [line for note in table.notes for line in ("", escaped(note))]) + "\n"


@functools.cache
def _rendering() -> Any:
    """pandora.rendering.tables, by its script, which takes no extension module: in a checkout, or installed beside."""
    here = Path(__file__).resolve()
    scripts = (place / "pandora/rendering/render.py" for place in (here.parents[3] / "python/src", here.parents[1]))
    return runpy.run_path(str(next(script for script in scripts if script.exists())))["tables"]


def as_latex(table: Table) -> str:
    """Environments of LaTeX, each below a comment with the packages it needs."""
    rows = [
        {"heading": row}
        if isinstance(row, str)
        else {"cells": [c.text for c in row], "bold": [k for k, c in enumerate(row) if c.bold], "rule_above": False}
        for row in table.rows
    ]
    return str(_rendering().as_latex({**vars(table), "rows": rows, "row_headers": table.headers}))


def as_csv(records: Sequence[dict[str, object]]) -> str:
    """Objects with the same keys; nothing where nothing is known, 1 and 0 for yes and no, nine digits."""

    def text(value: object) -> str:
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return ""
        if isinstance(value, float):
            return f"{value:.9g}"
        return str(int(value)) if isinstance(value, bool) else str(value)

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if records:
        writer.writerow(records[0])
    writer.writerows([text(value) for value in record.values()] for record in records)
    return out.getvalue()
