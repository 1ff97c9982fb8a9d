"""Figures as data: dicts with the numbers of their series, from which `drawing` makes pictures.

A series has label, policy, reward and lists x, y, low, high, x_low, x_high, which are empty or as long as y; NaN is a
value that is missing.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

COLUMNS = ("x", "y", "low", "high", "x_low", "x_high")
MOST = {"lines": 7, "line_points": 7, "scatter": 15, "bars": 12}  # the most that can be told apart in grey


def rows(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Rows of columns in the form of numbers.json; unknown numbers are NaN."""
    return [
        {name: math.nan if value is None else value for name, value in zip(columns, row)}
        for row in zip(*columns.values())
    ]


def figure(kind: str, name: str, x_label: str, y_label: str, caption: str, **more: Any) -> dict[str, Any]:
    """One without series. `kind`: lines (bands), line_points (few x, error bars), scatter or bars (by category)."""
    return {
        "kind": kind, "name": name, "title": "", "caption": caption, "x_label": x_label, "y_label": y_label,
        "x_key": "", "log_x": False, "log_y": False, "stacked": False, "diagonal": False, "categories": [],
        "width_cm": 8.5, "references": [], "series": [], **more,
    }  # fmt: skip


def series(label: str, policy: str = "", reward: str = "", **more: Any) -> dict[str, Any]:
    """A series without points, of a policy or of none; a policy looks the same in all figures."""
    return {"label": label, "policy": policy, "reward": reward, "line": False, **{c: [] for c in COLUMNS}, **more}


def add_point(one: dict[str, Any], x: float, mean: float, half: float, x_half: float = math.nan) -> None:
    """A point with its interval; an unknown half-width draws none."""
    half = 0.0 if math.isnan(half) else half
    for name, value in zip(COLUMNS, (x, mean, mean - half, mean + half)):
        one[name].append(value)
    if not math.isnan(x_half):
        one["x_low"].append(x - x_half)
        one["x_high"].append(x + x_half)


def spans_a_decade(values: Sequence[float]) -> bool:
    """Whether positive values lie so far apart that a logarithmic axis shows them better; 0 is ignored."""
    found = [value for value in values if value != 0 and math.isfinite(value)]
    return all(value > 0 for value in found) and bool(found) and max(found) >= 10 * min(found)


def choose_axes(one: dict[str, Any]) -> None:
    """Makes axes logarithmic if the values of a figure of lines span a decade or more."""
    x, y = ([value for s in one["series"] for value in s[name]] for name in ("x", "y"))
    one["log_x"] = spans_a_decade(x)
    one["log_y"] = spans_a_decade(y) and not any(value <= 0 for value in y)


def add_if_any(figures: list[dict[str, Any]], one: dict[str, Any]) -> None:
    """The figure, if it has a series with points. Of curves it keeps the first ones, no more than axes can show."""
    one["series"] = [s for s in one["series"] if s["y"]]
    most = MOST[one["kind"]]
    if one["kind"] in ("lines", "line_points") and len(one["series"]) > most:
        others = "; ".join(s["label"] for s in one["series"][most:])
        one["caption"] += f" The first {most} of {len(one['series'])} policies, left out: {others}."
        del one["series"][most:]
    if one["series"]:
        figures.append(one)


def _notes(one: Mapping[str, Any]) -> Iterator[str]:
    """Notes besides the caption: what the axes cannot show, and where x = 0 stands."""
    out, clipped, zero = [], [], False
    for s in one["series"]:
        x = s["x"] or [1.0] * len(s["y"])
        hidden = [(one["log_y"] and b <= 0) or (one["log_x"] and a < 0) for a, b in zip(x, s["y"])]
        if any(hidden):
            out.append(f"{sum(hidden)} of {s['label']}")
        ends = [s["low"]] * one["log_y"] + [s["x_low"]] * one["log_x"]
        if any(value <= 0 and not gone for low in ends for value, gone in zip(low, hidden)):
            clipped.append(s["label"])
        zero = zero or (one["log_x"] and 0 in x)
    if out:
        yield f"A logarithmic axis cannot show values that are not positive; left out: {'; '.join(out)}."
    if clipped:
        yield f"Intervals that reach zero or below end at the edge of the axes: {'; '.join(clipped)}."
    if zero:
        yield "Zero has a place of its own at the left of the logarithmic axis."
    if _apart(one):
        yield "Markers of different series are set slightly apart so that their intervals can be read."


def _apart(one: Mapping[str, Any]) -> bool:
    return one["kind"] == "line_points" and len(one["series"]) > 1 and any(s["low"] for s in one["series"])


def finished(one: Mapping[str, Any]) -> dict[str, Any]:
    """The figure with its notes in the caption, and with a text for readers who cannot see it."""
    if not re.fullmatch("[A-Za-z0-9_-]+", one["name"]):
        raise ValueError(f"figure {one['name']}: the name must be of letters, digits, _ and -")
    if len(one["series"]) > MOST[one["kind"]]:
        raise ValueError(f"figure {one['name']}: has more series than can be told apart")
    caption = one["caption"] or one["title"]
    for note in _notes(one):
        caption += (" " if caption.endswith(".") else ". " if caption else "") + note
    spoken = one["title"] or one["name"]
    if one["x_label"] and one["y_label"]:
        spoken += f": {one['y_label']} against {one['x_label']}"
    spoken += "; " + ", ".join(s["label"] for s in one["series"])
    return {**one, "caption": caption, "spoken": spoken, "apart": _apart(one)}


def whole(value: float) -> str:
    """All digits; nothing for what is not known."""
    return repr(float(value)).removesuffix(".0") if math.isfinite(value) else ""


def numbers_csv(one: Mapping[str, Any]) -> str:
    """A row per point: the number of its series from 1 and its label, x or the category, y, and ends of intervals."""
    columns = [name for name in COLUMNS if any(s[name] for s in one["series"])]
    bars = one["kind"] == "bars"
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    write(["series", "label", *(["category"] if bars else []), *columns])
    for k, s in enumerate(one["series"], 1):
        for i in range(len(s["y"])):
            values = [whole(s[name][i]) if s[name] else "" for name in columns]
            write([k, s["label"], *([one["categories"][i]] if bars else []), *values])
    return out.getvalue()
