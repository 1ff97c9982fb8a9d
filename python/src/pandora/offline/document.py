"""A report as files: report.json, tables/*.csv and figures/*.csv, and what the renderer makes of them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from ..errors import OutputError
from .files import write_text
from .record import known
from .sheet import Sheet, csv_lines
from .text import digits

_GENERATOR = "pandora report 1"  # the number is that of the form of report.json
_FORMATS = ("svg", "pdf", "png")
_NUMBERS = ("x", "y", "low", "high", "x_low", "x_high")
_MOST_SECONDS = 600.0


@dataclass(frozen=True)
class Section:
    """Tables by name, and figures as pandora.Figure takes them."""

    heading: str
    sheets: dict[str, Sheet] = field(default_factory=dict)
    figures: list[dict[str, Any]] = field(default_factory=list)


def write_document(
    folder: str, title: str, subtitle: str, sections: Sequence[Section], formats: Sequence[str]
) -> Optional[str]:
    """Writes the files and has them rendered; why not all was rendered and what to do, None where it was.

    What stood there under these names is removed first. Raises OutputError.
    """
    where = Path(folder)
    figures = {figure["name"]: figure for section in sections for figure in section.figures}
    stale = [where / name for name in ("report.html", "report.tex", "report.json")]
    stale += [where / "figures" / f"{name}.{ending}" for name in figures for ending in _FORMATS]
    try:
        for name in ("tables", "figures"):
            (where / name).mkdir(exist_ok=True)
        for path in stale:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{error.filename}: could not be written ({error.strerror}); name another folder") from None
    texts = {f"tables/{name}.csv": sheet.csv() for section in sections for name, sheet in section.sheets.items()}
    texts |= {f"figures/{name}.csv": figure_csv(figure) for name, figure in figures.items()}
    # The generator is one of the first lines.
    document = {"generator": _GENERATOR, "sections": [_section_json(section) for section in sections]}
    whole = json.dumps({**document, "subtitle": subtitle, "title": title}, indent=1, ensure_ascii=False)
    for name, text in {**texts, "report.json": whole + "\n"}.items():
        write_text(str(where / name), text)
    return _rendered(folder, formats)


def figure_csv(figure: dict[str, Any]) -> str:
    """A row for each point, with the columns that some series has."""
    columns = [name for name in _NUMBERS if any(series.get(name) for series in figure["series"])]
    rows = [["series", "label", *columns]]
    for number, series in enumerate(figure["series"], 1):
        values = [series.get(name) or [None] * len(series["y"]) for name in columns]
        rows += [[str(number), str(series["label"]), *map(digits, point)] for point in zip(*values)]
    return csv_lines(rows)


def _section_json(section: Section) -> dict[str, Any]:
    figures = [
        {**figure, "series": [{k: v for k, v in series.items() if k not in _NUMBERS} for series in figure["series"]]}
        for figure in section.figures
    ]
    return {
        "heading": section.heading,
        **{name: [] for name in ("paragraphs", "commands", "sections")},
        "tables": [_table_json(name, sheet) for name, sheet in section.sheets.items()],
        "figures": known(figures),
        "preformatted": "",
        "folded": False,
    }


def _table_json(name: str, sheet: Sheet) -> dict[str, Any]:
    return {
        "name": name,
        "title": sheet.title,
        "columns": sheet.columns,
        "row_headers": sheet.headers,
        "notes": sheet.notes,
        "rows": [
            {"cells": row, "bold": [], "rule_above": number in sheet.rules} for number, row in enumerate(sheet.rows)
        ],
    }


def _rendered(folder: str, formats: Sequence[str]) -> Optional[str]:
    """By the renderer, a program of its own, which needs matplotlib and jinja2."""
    script = os.environ.get("PANDORA_RENDERER") or str(Path(__file__).resolve().parents[1] / "rendering" / "render.py")
    python = os.environ.get("PANDORA_PYTHON") or sys.executable
    words = [script, os.path.abspath(folder), "--format", ",".join(formats)]
    why = f"there is no renderer {script}"
    if os.path.exists(script):
        try:
            done = subprocess.run(
                [python, "-X", "utf8", "-B", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=_MOST_SECONDS,
                check=False,
            )
            if done.returncode == 0:
                return None
            why = done.stdout.strip() or f"the renderer ended with {done.returncode}"
        except (OSError, subprocess.TimeoutExpired) as problem:
            why = str(problem)
    return (
        f"{folder}: not all was rendered: {why}; report.json and the CSV files are there; then run "
        f"`python3 {shlex.join(words)}`"
    )
