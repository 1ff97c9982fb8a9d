"""Texts and tables as LaTeX that pdflatex compiles with standard fonts."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

TEXT_WIDTH = 471.0  # points, of the document's page
MOST_LINES = 44  # of a table on a page
_GAP = 8.0  # points between columns
_MOST_NAME = 130.0  # points of a column of names; longer ones are broken
_DIGIT = 4.1  # points, of a character of \footnotesize, a little more than its mean

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#",
    "_": r"\_\allowbreak{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$",
    '"': "''",
    "±": r"$\pm$", "×": r"$\times$", "−": "$-$", "≤": r"$\le$", "≥": r"$\ge$", "→": r"$\to$", "←": r"$\leftarrow$",
    "·": r"$\cdot$", "…": r"\ldots{}", "½": "$1/2$", "°": r"$^\circ$", "≈": r"$\approx$", "≠": r"$\ne$",
    "∞": r"$\infty$", "∈": r"$\in$", "∑": r"$\sum$", "√": r"$\surd$", "∝": r"$\propto$", "✓": r"$\surd$",
    "–": "--", "—": "---", "‘": "`", "’": "'", "“": "``", "”": "''", "•": r"$\bullet$", "§": r"\S{}", "\u00a0": "~",
    "\u202f": r"\,", "\u2010": "-", "\u2011": "-", "′": "$'$", "ℓ": r"$\ell$",
}  # fmt: skip
_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega"
_CAPITALS = "gamma delta theta lambda xi pi sigma phi psi omega"  # others are Latin letters
_TOKENS = re.compile(
    r"(?P<code>`[^`]+`)"
    r"|\b(?P<bonus>c_[a-z]+(?:_[a-z]+)?)\b"
    r"|\b(?P<letter>[TdR]_[0xwB])\b"
    r"|(?P<calibration>\bT(?:0\b|₀))"
    r"|(?P<mean>μ\*|\bmu\*)"
    r"|(?P<super>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ]+)|(?P<sub>[₀₁₂₃₄₅₆₇₈₉]+)"
)


def _sign(sign: str) -> str:
    if sign in _SPECIAL:
        return _SPECIAL[sign]
    if " " <= sign <= "~" or sign == "\n":
        return sign
    if greek := re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", unicodedata.name(sign, "")):
        letter = greek[2].lower().replace("lamda", "lambda")
        if letter in (_GREEK if greek[1] == "SMALL" else _CAPITALS).split():
            return f"$\\{letter if greek[1] == 'SMALL' else letter.capitalize()}$"
    if "À" <= sign <= "ÿ" and sign not in "ÐÞðþ":
        return sign
    if unicodedata.combining(sign):
        return ""
    plain = unicodedata.normalize("NFKD", sign)
    # An unknown sign becomes a question mark: a document that compiles is better than none.
    return "".join(map(_sign, plain)) if plain != sign else "?"


def escaped(text: str) -> str:
    """Every sign in a form that compiles."""
    return "".join(map(_sign, unicodedata.normalize("NFC", text)))


def _token(match: re.Match[str]) -> str:
    kind, found = str(match.lastgroup), match[0]
    if kind == "code":
        return r"\texttt{" + escaped(found[1:-1]).replace("/", r"/\allowbreak{}") + "}"
    if kind == "bonus":
        names = (f"\\{name}" if name in _GREEK.split() else f"\\mathrm{{{name}}}" for name in found.split("_")[1:])
        return f"$c_{{{','.join(names)}}}$"
    digits = unicodedata.normalize("NFKD", found).replace("\u2212", "-")
    return {
        "letter": f"${found}$", "calibration": "$T_0$", "mean": r"$\mu^*$", "super": f"$^{{{digits}}}$",
        "sub": f"$_{{{digits}}}$",
    }[kind]  # fmt: skip


def text(value: str) -> str:
    r"""A text in which backquotes mark code, with quantities as in the paper.

    >>> text("c_rho of DOW, T₀ = 50, 10⁻³, 5 %")
    '$c_{\\rho}$ of DOW, $T_0$ = 50, 10$^{-3}$, 5 \\%'
    """
    out, end = "", 0
    for match in _TOKENS.finditer(value):
        out += escaped(value[end : match.start()]) + _token(match)
        end = match.end()
    return out + escaped(value[end:])


def lines(value: str, columns: int = 96) -> str:
    """Lines as they stand, for verbatim: longer ones are broken."""
    out: list[str] = []
    for line in value.splitlines():
        plain = "".join(c if " " <= c <= "~" or "À" <= c <= "ÿ" else "?" for c in line.replace("\t", "  "))
        out += [plain[k : k + columns] for k in range(0, len(plain), columns)] or [""]
    return "\n".join(out).replace(r"\end{verbatim}", r"\end {verbatim}")


def width(table: Mapping[str, Any], columns: Sequence[int]) -> float:
    r"""Points that these columns take in \footnotesize, about."""
    return sum(_column_width(table, c) + _GAP for c in columns)


def _column_width(table: Mapping[str, Any], c: int) -> float:
    texts = [table["columns"][c], *(row["cells"][c] for row in table["rows"] if "cells" in row)]
    whole = _DIGIT * max(map(characters, texts))
    return min(whole, _MOST_NAME) if c < table["row_headers"] else whole


def characters(value: str) -> int:
    """How many are seen."""
    return sum(not unicodedata.combining(c) for c in value)


def some_cells(row: Mapping[str, Any], columns: Sequence[int]) -> Mapping[str, Any]:
    """Of a row the cells in these columns, each with whether it is bold; a heading as it is."""
    return {**row, "cells": [(row["cells"][c], c in row["bold"]) for c in columns]} if "cells" in row else row


def pieces(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The table in pieces that a page has room for: columns beside the names of the rows, then rows."""
    count, heads = len(table["columns"]), min(table["row_headers"], len(table["columns"]))
    names = list(range(heads))
    groups: list[list[int]] = [[]]
    for c in range(heads, count):
        if groups[-1] and width(table, [*names, *groups[-1], c]) > TEXT_WIDTH:
            groups.append([])
        groups[-1].append(c)
    title = re.sub(r"^Table \d+: (.)", lambda match: match[1].upper(), table["title"])  # LaTeX counts by itself
    long = rf">{{\raggedright\arraybackslash}}p{{{_MOST_NAME:.0f}pt}}"
    names_form = "".join("l" if _column_width(table, c) < _MOST_NAME else long for c in names)
    out: list[dict[str, Any]] = []
    for group in groups:
        columns = names + group
        for page in _pages(table):
            out.append({
                "title": title + (" (continued)" if out else ""),
                "label": table["name"] if not out else "",
                "columns": [table["columns"][c] for c in columns],
                "form": names_form + "r" * len(group),
                "width": round(min(max(width(table, columns) - _GAP, 220.0), TEXT_WIDTH - _GAP)),
                "rows": [some_cells(row, columns) for row in page],
                "notes": [],
            })  # fmt: skip
    out[-1]["notes"] = table["notes"]
    return out


def _pages(table: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    pages: list[list[Mapping[str, Any]]] = [[]]
    left = MOST_LINES
    for row in table["rows"]:
        names = row.get("cells", ())[: table["row_headers"]]
        lines_of = max((math.ceil(_DIGIT * characters(name) / _MOST_NAME) for name in names), default=2)
        if pages[-1] and lines_of > left:
            pages.append([])
            left = MOST_LINES
        pages[-1].append(row)
        left -= lines_of
    return pages
