"""Draws figures with matplotlib. Figures are dicts as in report.json, with the numbers of their series.

Series have label, policy, reward and lists or arrays x, y, low, high, x_low, x_high; an empty list means that there are
none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Optional

import matplotlib
import matplotlib.style
import numpy as np
from matplotlib.transforms import ScaledTranslation

from . import layout, style

Figure = Mapping[str, Any]
Series = Mapping[str, Any]

_REFERENCE = {"color": "#606060", "linewidth": 0.8, "linestyle": (0, (4, 4))}
_MOST_BANDS = 4  # more bands would cover each other: whiskers at a few places replace them


def draw_alone(figure: Figure, looks: Mapping[str, style.Look], picture: Any) -> Any:
    """Draws into `picture`, an empty figure of matplotlib, which gets the size that everything needs; returns the
    axes.
    """
    with own_settings():
        axes = picture.add_axes((0.2, 0.2, 0.7, 0.7))
        page = layout.Page(picture, axes, figure["width_cm"] / 2.54)
        lying = figure["kind"] == "bars" and not page.fits_below(figure["categories"])
        _draw(figure, looks, axes, lying)
        page.arrange(figure, lying)
    return axes


def draw(figure: Figure, looks: Mapping[str, style.Look], axes: Any) -> Any:
    """Draws into a caller's axes, whose size stays, with the legend inside."""
    with matplotlib.rc_context({"text.parse_math": False}):
        lying = figure["kind"] == "bars" and max(map(len, figure["categories"]), default=0) > 8
        _draw(figure, looks, axes, lying)
        axes.set_title(figure["title"] or figure.get("heading", ""), fontsize="medium")
        if axes.get_legend_handles_labels()[1]:
            axes.legend(fontsize="small", frameon=False)
    return axes


def own_settings() -> Any:
    """A context with the settings of `style` on matplotlib's defaults, whatever this machine and user have set."""
    return matplotlib.style.context(["default", style.RC])


def _draw(figure: Figure, looks: Mapping[str, style.Look], axes: Any, lying: bool) -> None:
    if figure["kind"] == "bars":
        _bars(figure, axes, lying)
    else:
        draw_series = {"lines": _line, "line_points": _joined, "scatter": _scatter}[figure["kind"]]
        floor = {name: _floor(figure, name) for name in ("x", "y")}
        for k, series in enumerate(figure["series"]):
            look = looks[series["policy"]] if series.get("policy") else style.nth_look(k)
            draw_series(axes, figure, k, _clipped(series, floor), look)
        for name in ("x", "y"):
            _scale(figure, name, axes, floor[name])
        if figure["kind"] == "lines" and not figure["log_x"]:
            axes.margins(x=0.01)
    for line in figure["references"]:
        at = axes.axvline if line["vertical"] != lying else axes.axhline
        at(line["at"], zorder=1, label=line["label"] or None, **_REFERENCE)
    axes.set_xlabel(figure["y_label"] if lying else figure["x_label"])
    axes.set_ylabel("" if lying else figure["y_label"])
    if figure["diagonal"]:  # the line y = x, and both axes alike
        both = [*axes.get_xlim(), *axes.get_ylim()]
        ends = (min(both), max(both))
        axes.plot(ends, ends, zorder=1, label="y = x", **_REFERENCE)
        axes.set(xlim=ends, ylim=ends)


def _floor(figure: Figure, name: str) -> Optional[float]:
    """The greatest value at which a logarithmic axis may begin: intervals extend it by at most a factor of ten."""
    if not figure[f"log_{name}"]:
        return None
    return min((v for series in figure["series"] for v in series[name] if v > 0), default=1.0) / 10


def _array(values: Any) -> Any:
    return np.array([math.nan if v is None else v for v in values], dtype=float)


def _clipped(series: Series, floor: Mapping[str, Optional[float]]) -> dict[str, Any]:
    """The series as arrays for a logarithmic axis: numbers that it cannot show are NaN."""
    out = dict(series)
    for name, axis in (("x", "x"), ("x_low", "x"), ("x_high", "x"), ("y", "y"), ("low", "y"), ("high", "y")):
        values, least = _array(series.get(name, ())), floor[axis]
        if least is not None and name == "y":
            values[values <= 0] = math.nan
        elif least is not None and name != "x":
            values = np.maximum(values, least)
        out[name] = values
    return out


def _errors(series: Series, at: str = "y", low: str = "low", high: str = "high") -> Any:
    """How far intervals reach below and above; None where there are none."""
    if not len(series[low]):
        return None
    return [np.maximum(series[at] - series[low], 0.0), np.maximum(series[high] - series[at], 0.0)]


def _markers(series: Series, look: style.Look) -> dict[str, Any]:
    inside = "white" if series.get("reward") == "known" else look.colour
    return {"marker": look.marker, "markerfacecolor": inside, "markeredgecolor": look.colour, "markeredgewidth": 0.8}


def _line(axes: Any, figure: Figure, place: int, series: Series, look: style.Look) -> None:
    count, x = len(figure["series"]), series["x"]
    few = np.isfinite(series["y"]).sum() < 8
    axes.plot(
        x, series["y"], color=look.colour, linestyle=look.dash, label=series["label"], zorder=3,
        markevery=None if few else (0.03 + 0.14 * place / count, 0.17), **_markers(series, look),
    )  # fmt: skip
    if not len(series["low"]):
        return
    if count <= _MOST_BANDS:
        axes.fill_between(x, series["low"], series["high"], color=look.colour, alpha=0.12, linewidth=0, zorder=1)
        for edge in ("low", "high"):
            axes.plot(x, series[edge], color=look.colour, alpha=0.45, linewidth=0.4, zorder=1)
        return
    low, high = np.nanmin(x), np.nanmax(x)
    shares = [(k + 0.5 + 0.8 * place / count) / 5 for k in range(5)]
    if figure["log_x"] and low > 0:
        wanted = [low * (high / low) ** share for share in shares if share <= 1]
    else:
        wanted = [low + (high - low) * share for share in shares if share <= 1]
    at = sorted({int(np.argmin(np.abs(x - one))) for one in wanted})
    whiskers = [ends[at] for ends in _errors(series)]
    axes.errorbar(x[at], series["y"][at], yerr=whiskers, fmt="none", ecolor=look.colour, elinewidth=0.7, zorder=2)


def _joined(axes: Any, figure: Figure, place: int, series: Series, look: style.Look) -> None:
    more = {}
    if figure["apart"]:  # by points of the page, so that every axis bears it
        shift = 2.0 * (place - (len(figure["series"]) - 1) / 2) / 72
        more["transform"] = axes.transData + ScaledTranslation(shift, 0, axes.figure.dpi_scale_trans)
    axes.errorbar(
        series["x"], series["y"], yerr=_errors(series), color=look.colour, linestyle=look.dash, elinewidth=0.7,
        label=series["label"], zorder=3, **_markers(series, look), **more,
    )  # fmt: skip


def _scatter(axes: Any, figure: Figure, place: int, series: Series, look: style.Look) -> None:
    x, y = series["x"], series["y"]
    if series.get("line"):
        axes.plot(x, y, color=look.colour, linestyle=look.dash, label=series["label"], zorder=2)
        return
    axes.errorbar(
        x, y, xerr=_errors(series, "x", "x_low", "x_high"), yerr=_errors(series), color=look.colour,
        linestyle="none", elinewidth=0.6, label=series["label"], zorder=3, **_markers(series, look),
    )  # fmt: skip
    marked = [point for point in zip(x, y, series.get("marks", ())) if point[2]]
    for k, (at_x, at_y, mark) in enumerate(marked):  # in turn above and below, so that near ones stand apart
        offset = (3, -8 if k % 2 else 3)
        axes.annotate(mark, (at_x, at_y), offset, textcoords="offset points", fontsize=6.5, zorder=4)


def _scale(figure: Figure, name: str, axes: Any, least: Optional[float]) -> None:
    """The scale and ticks of an axis; `least`: where it begins at the latest, None of a linear one."""
    every = [v for series in figure["series"] for v in series[name] if v is not None and math.isfinite(v)]
    axis, at_values = getattr(axes, f"{name}axis"), name == "x" and figure["kind"] == "line_points"
    if least is None:
        layout.linear_ticks(axis, every, at_values)
        return
    positive = sorted({v for v in every if v > 0}) or [1.0, 10.0]
    zero = name == "x" and 0 in every
    if zero:
        axes.set_xscale("symlog", linthresh=positive[0], linscale=0.4)
    else:
        axes.set(**{f"{name}scale": "log"})
        low, high = axis.get_view_interval()
        ends = (max(low, least), high)
        if positive[-1] / positive[0] < 1.2:
            ends = (positive[0] / 2, positive[-1] * 2)
        axes.set(**{f"{name}lim": ends})
    layout.log_ticks(axis, positive, zero, at_values and len(positive) <= 8)
    if zero:  # the middle of the way to the first value
        axes.set_xlim(left=-0.25 * positive[0])


def _bars(figure: Figure, axes: Any, lying: bool) -> None:
    series, stacked = figure["series"], figure["stacked"]
    names, values = (axes.yaxis, axes.xaxis) if lying else (axes.xaxis, axes.yaxis)
    places = np.arange(len(figure["categories"]))
    below = np.zeros(len(places))
    width = 0.72 if stacked else 0.8 / len(series)
    for k, one in enumerate(series):
        y = _array(one["y"])
        at = places if stacked else places + (k - (len(series) - 1) / 2) * width
        foot = {"left" if lying else "bottom": below} if stacked else {}
        (axes.barh if lying else axes.bar)(
            at, y, width, label=one["label"], zorder=2, color=style.part_colour(k, len(series)), edgecolor="black",
            linewidth=0.4, **foot,
        )  # fmt: skip
        if len(one.get("low", ())):
            spread = _errors({name: _array(one[name]) for name in ("y", "low", "high")})
            point, error = ((below + y, at), "xerr") if lying else ((at, below + y), "yerr")
            axes.errorbar(*point, **{error: spread}, fmt="none", ecolor="black", elinewidth=0.7)
        if stacked:
            below = below + np.nan_to_num(y)
    if figure["log_y"]:
        axes.set(**{"xscale" if lying else "yscale": "log"})
        layout.log_ticks(values, sorted({v for s in series for v in s["y"] if v and v > 0}) or [1.0], False, False)
    else:
        layout.linear_ticks(values, [], at_values=False)
    names.set_ticks(places, figure["categories"])
    names.set_tick_params(length=0)
    names.grid(False)
    if lying:
        axes.invert_yaxis()
