"""The report of a frontier: the files that pandora.rendering makes a page of."""

from __future__ import annotations

import json
from typing import Any

from .frontier import Frontier, digits, frontier_figure, frontier_steps, frontier_title, metrics_sheet
from .sheet import Sheet, csv_cell

#: As pandora.rendering.render knows it.
GENERATOR = "pandora report 1"

_COLUMNS = ("x", "y", "low", "high", "x_low", "x_high")


def frontier_files(frontier: Frontier) -> dict[str, str]:
    """What stands in each file, by its path in the report's folder: report.json, its figure's and its tables' CSV."""
    sheets = {"steps": frontier_steps(frontier), "metrics": metrics_sheet(frontier, True)}
    figure = frontier_figure(frontier)
    told = [{name: value for name, value in of.items() if name not in _COLUMNS} for of in figure["series"]]
    title, subtitle = frontier_title(frontier)
    section = {
        "heading": "Cascades, models and mixtures",
        "paragraphs": [],
        "commands": [],
        "tables": [_sheet_json(name, sheet) for name, sheet in sheets.items()],
        "figures": [{**figure, "series": told}],
        "preformatted": "",
        "sections": [],
        "folded": False,
    }
    report = {"generator": GENERATOR, "title": title, "subtitle": subtitle, "sections": [section]}
    return {
        "report.json": json.dumps(report, indent=1, sort_keys=True, ensure_ascii=False) + "\n",
        "figures/frontier.csv": _figure_csv(figure),
        **{f"tables/{name}.csv": sheet.csv() for name, sheet in sheets.items()},
    }


def _sheet_json(name: str, sheet: Sheet) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for number, row in enumerate(sheet.rows):
        if isinstance(row, str):
            rows.append({"heading": row})
            continue
        bold = [place for place, cell in enumerate(row) if cell.bold]
        rows.append({"cells": [cell.text for cell in row], "bold": bold, "rule_above": number in sheet.rules})
    return {
        "name": name,
        "title": sheet.title,
        "columns": sheet.columns,
        "row_headers": sheet.headers,
        "notes": sheet.notes,
        "rows": rows,
    }


def _figure_csv(figure: dict[str, Any]) -> str:
    """A row for each point: the number of its series from 1 and its label, and its numbers."""
    out = ",".join(("series", "label", *_COLUMNS)) + "\n"
    for number, series in enumerate(figure["series"], 1):
        for place in range(len(series["y"])):
            values = [series[name][place] if series[name] else None for name in _COLUMNS]
            cells = ["" if value is None else digits(value) for value in values]
            out += ",".join((str(number), csv_cell(series["label"]), *cells)) + "\n"
    return out


__all__ = ["frontier_files"]
