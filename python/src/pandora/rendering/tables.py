"""Tables from the program (`table_json`) as HTML, LaTeX in the paper's layout, and CSV."""

from __future__ import annotations

import csv
import html
import io
import itertools
from collections.abc import Mapping
from typing import Any

from . import latex

# The most columns beside the row headers on a page of LaTeX; fewer if a cell is long, such as a value with a published
# one.
MOST_COLUMNS, MOST_LONG_COLUMNS, LONG_CELL = 8, 3, 16


def as_html(table: Mapping[str, Any]) -> str:
    """An element of a page, with its notes below."""

    def cell(row: Mapping[str, Any], c: int, text: str) -> str:
        inner = f"<b>{html.escape(text)}</b>" if c in row["bold"] else html.escape(text)
        return f'<th scope="row">{inner}</th>' if c < table["row_headers"] else f"<td>{inner}</td>"

    out = [f"<table>\n<caption>{html.escape(table['title'])}</caption>" if table["title"] else "<table>"]
    names = [' class="names"' if c < table["row_headers"] else "" for c in range(len(table["columns"]))]
    heads = (f'<th scope="col"{name}>{html.escape(text)}</th>' for name, text in zip(names, table["columns"]))
    out.append(f"<thead><tr>{''.join(heads)}</tr></thead>\n<tbody>")
    for row in table["rows"]:
        if "cells" in row:
            cells = "".join(cell(row, c, text) for c, text in enumerate(row["cells"]))
            out.append(f'<tr class="rule">{cells}</tr>' if row["rule_above"] else f"<tr>{cells}</tr>")
        else:
            heading = f'<th colspan="{len(table["columns"])}">{html.escape(row["heading"])}</th>'
            out.append(f'<tr class="heading">{heading}</tr>')
    out.append("</tbody>\n</table>")
    return "\n".join([*out, *(f'<p class="note">{html.escape(note)}</p>' for note in table["notes"]), ""])


def as_csv(table: Mapping[str, Any]) -> str:
    """CSV with all digits, without notes, and without headings of rows unless a column is named for them."""
    headed = [table["heading_column"]] if table["heading_column"] else []
    out, heading = io.StringIO(), ""
    write = csv.writer(out, lineterminator="\n").writerow
    write([*headed, *table["columns"]])
    for row in table["rows"]:
        heading = row.get("heading", heading)
        if "cells" in row:
            write([*(heading for _ in headed), *row["exact"]])
    return out.getvalue()


def _pieces(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Pieces with no more columns than fit on a page, each with the row headers; notes go to the last."""
    heads, count = min(table["row_headers"], len(table["columns"])), len(table["columns"])
    longest = max((latex.characters(text) for row in table["rows"] for text in row.get("cells", ())[heads:]), default=0)
    most = MOST_LONG_COLUMNS if longest > LONG_CELL else MOST_COLUMNS
    pieces = []
    for first in range(heads, max(count, heads + 1), most):
        at = [*range(heads), *range(first, min(first + most, count))]
        continued = {"title": f"{table['title']} (continued)", "label": ""} if first > heads else {}
        pieces.append({
            **table, "heads": heads, "columns": [table["columns"][c] for c in at],
            "rows": [latex.some_cells(row, at) for row in table["rows"]],
            "notes": table["notes"] if first + most >= count else [], **continued,
        })  # fmt: skip
    return pieces


def _cell(cell: tuple[str, bool]) -> str:
    return rf"\textbf{{{latex.text(cell[0])}}}" if cell[1] else latex.text(cell[0])


def _lines(table: Mapping[str, Any]) -> list[str]:
    heads, count = table["heads"], len(table["columns"])
    out: list[str] = []
    after_cells = False
    for _, group in itertools.groupby(table["rows"], lambda row: row["cells"][0][0] if "cells" in row else None):
        rows = list(group)  # of one first cell
        for k, row in enumerate(rows):
            if "cells" not in row:
                out += [r"\midrule"] if out else []
                out.append(rf"\multicolumn{{{count}}}{{l}}{{{latex.text(row['heading'])}}}\\")
                out.append(rf"\cmidrule(lr){{1-{count}}}")
            else:
                first, *others = map(_cell, row["cells"])
                if heads > 1:
                    first = "" if k else rf"\emph{{{first}}}"
                    first = rf"\multirow{{{len(rows)}}}{{*}}{{{first}}}" if len(rows) > 1 and not k else first
                out += [rf"\cmidrule(lr){{{heads}-{count}}}"] if row["rule_above"] and after_cells else []
                out.append(" & ".join([first, *others]) + r"\\")
            after_cells = "cells" in row
    return out


def as_latex(table: Mapping[str, Any]) -> str:
    """A table environment, several where there are many columns. A comment above names the packages that it needs."""
    out: list[str] = []
    for piece in _pieces(table):
        form = "l" * piece["heads"] + "c" * (len(piece["columns"]) - piece["heads"])
        label = [rf"\label{{tab:{piece['label']}}}"] if piece["label"] else []
        out += [
            r"% needs \usepackage{booktabs,multirow}", r"\begin{table}[htp!]", r"\centering", r"\scriptsize",
            rf"\caption{{{latex.text(piece['title'])}}}", *label, rf"\begin{{tabular}}{{{form}}}", r"\toprule",
            " & ".join(map(latex.text, piece["columns"])) + r"\\", r"\midrule", *_lines(piece),
            r"\bottomrule", r"\end{tabular}", *(rf"\par\smallskip {latex.text(note)}" for note in piece["notes"]),
            r"\end{table}",
        ]  # fmt: skip
    return "\n".join([*out, ""])
