"""Draws figures, which are dicts as report.json has them with the numbers of their series, by matplotlib.

Series have label, policy, reward and lists or arrays x, y, low, high, x_low, x_high; what is empty is not there.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional

import numpy as np

from . import layout, style

__all__ = ["draw", "draw_alone", "own_settings"]

_REFERENCE = {"color": "#606060", "linewidth": 0.8, "linestyle": (0, (4, 4))}
_MOST_BANDS = 4  # more of them cover each other: whiskers at a few places stand in for them


def draw_alone(figure: Mapping[str, Any], looks: Mapping[str, style.Look], picture: Any) -> Any:
    """Draws into `picture`, an empty figure of matplotlib, which gets the size that all of it needs; the axes."""
    with own_settings():
        axes = picture.add_axes((0.2, 0.2, 0.7, 0.7))
        page = layout.Page(picture, axes, figure["width_cm"] / 2.54)
        lying = figure["kind"] == "bars" and not page.fits_below(figure["categories"])
        _draw(figure, looks, axes, lying)
        _square(figure, axes)
        page.arrange(figure, lying)
    return axes


def draw(figure: Mapping[str, Any], looks: Mapping[str, style.Look], axes: Any) -> Any:
    """Draws into axes of somebody's, whose size stays, with the legend inside."""
    import matplotlib

    with matplotlib.rc_context({"text.parse_math": False}):
        lying = figure["kind"] == "bars" and max(map(len, figure["categories"]), default=0) > 8
        _draw(figure, looks, axes, lying)
        _square(figure, axes)
        axes.set_title(figure["title"] or figure.get("heading", ""), fontsize="medium")
        if axes.get_legend_handles_labels()[1]:
            axes.legend(fontsize="small", frameon=False)
    return axes


@contextlib.contextmanager
def own_settings() -> Iterator[None]:
    """Those of `style` on the defaults of matplotlib, whatever this machine and user have set."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(style.RC)
        yield


def _draw(figure: Mapping[str, Any], looks: Mapping[str, style.Look], axes: Any, lying: bool) -> None:
    kind = figure["kind"]
    if kind == "bars":
        _bars(figure, axes, lying)
    else:
        floor = {name: _floor(figure, name) for name in ("x", "y")}
        for k, series in enumerate(figure["series"]):
            look = looks[series["policy"]] if series.get("policy") else style.nth_look(k)
            _Points(figure, k, _clipped(series, floor), look).draw(axes)
        _scales(figure, axes, floor)
    for line in figure["references"]:
        at = axes.axvline if line["vertical"] != lying else axes.axhline
        at(line["at"], zorder=1, label=line["label"] or None, **_REFERENCE)
    axes.set_xlabel(figure["y_label"] if lying else figure["x_label"])
    axes.set_ylabel("" if lying else figure["y_label"])


def _floor(figure: Mapping[str, Any], name: str) -> Optional[float]:
    """Where a logarithmic axis begins at the latest: intervals stretch it by a factor of ten at most."""
    if not figure[f"log_{name}"]:
        return None
    return min((v for series in figure["series"] for v in series[name] if v > 0), default=1.0) / 10


def _clipped(series: Mapping[str, Any], floor: Mapping[str, Optional[float]]) -> dict[str, Any]:
    out = dict(series)
    for axis, names in (("x", ("x", "x_low", "x_high")), ("y", ("y", "low", "high"))):
        for name in names:
            values = np.array([math.nan if v is None else v for v in series.get(name, ())], dtype=float)
            least = floor[axis]
            if least is not None and len(values):
                if name == "y":
                    values[values <= 0] = math.nan
                elif name != "x":
                    values = np.maximum(values, least)
            out[name] = values
    return out


class _Points:
    """One series of lines, markers or both."""

    def __init__(self, figure: Mapping[str, Any], place: int, series: Mapping[str, Any], look: style.Look) -> None:
        self.figure, self.place, self.series, self.look = figure, place, series, look
        self.count = len(figure["series"])
        hollow = series.get("reward") == "known"
        self.marker = {
            "marker": look.marker,
            "markerfacecolor": "white" if hollow else look.colour,
            "markeredgecolor": look.colour,
            "markeredgewidth": 0.8,
        }

    def draw(self, axes: Any) -> None:
        {"lines": self._line, "line_points": self._joined, "scatter": self._scatter}[self.figure["kind"]](axes)

    def _line(self, axes: Any) -> None:
        s, look = self.series, self.look
        every = (0.03 + 0.14 * self.place / max(self.count, 1), 0.17)
        few = len(s["x"]) < 8
        axes.plot(
            s["x"], s["y"], color=look.colour, linestyle=look.dash, label=s["label"], zorder=3,
            markevery=None if few else every, **self.marker,
        )  # fmt: skip
        if not len(s["low"]):
            return
        if self.count <= _MOST_BANDS:
            axes.fill_between(s["x"], s["low"], s["high"], color=look.colour, alpha=0.12, linewidth=0, zorder=1)
            for edge in ("low", "high"):
                axes.plot(s["x"], s[edge], color=look.colour, alpha=0.45, linewidth=0.4, zorder=1)
        else:
            self._whiskers(axes)

    def _whiskers(self, axes: Any) -> None:
        s = self.series
        low, high = np.nanmin(s["x"]), np.nanmax(s["x"])
        shares = [(k + 0.5 + 0.8 * self.place / self.count) / 5 for k in range(5)]
        if self.figure["log_x"] and low > 0:
            wanted = [low * (high / low) ** share for share in shares if share <= 1]
        else:
            wanted = [low + (high - low) * share for share in shares if share <= 1]
        at = sorted({int(np.argmin(np.abs(s["x"] - x))) for x in wanted})
        axes.errorbar(
            s["x"][at], s["y"][at], yerr=[e[at] for e in _errors(s, "y", "low", "high") or []],
            fmt="none", ecolor=self.look.colour, elinewidth=0.7, zorder=2,
        )  # fmt: skip

    def _joined(self, axes: Any) -> None:
        from matplotlib.transforms import ScaledTranslation

        s, look = self.series, self.look
        more = {}
        if self.figure["apart"]:  # by points of the page, so that every axis bears it
            shift = 2.0 * (self.place - (self.count - 1) / 2) / 72
            more["transform"] = axes.transData + ScaledTranslation(shift, 0, axes.figure.dpi_scale_trans)
        axes.errorbar(
            s["x"], s["y"], yerr=_errors(s, "y", "low", "high"), color=look.colour, linestyle=look.dash,
            elinewidth=0.7, label=s["label"], zorder=3, **self.marker, **more,
        )  # fmt: skip

    def _scatter(self, axes: Any) -> None:
        s, look = self.series, self.look
        if s.get("line"):
            axes.plot(s["x"], s["y"], color=look.colour, linestyle=look.dash, label=s["label"], zorder=2)
            return
        axes.errorbar(
            s["x"], s["y"], xerr=_errors(s, "x", "x_low", "x_high"), yerr=_errors(s, "y", "low", "high"),
            color=look.colour, linestyle="none", elinewidth=0.6, label=s["label"], zorder=3, **self.marker,
        )  # fmt: skip
        above = True  # in turn above and below, so that those of near points stand apart
        for x, y, mark in zip(s["x"], s["y"], s.get("marks", ())):
            if mark:
                axes.annotate(mark, (x, y), (3, 3 if above else -8), textcoords="offset points", fontsize=6.5, zorder=4)
                above = not above


def _errors(series: Mapping[str, Any], at: str, low: str, high: str) -> Optional[list[Any]]:
    if not len(series[low]):
        return None
    return [np.maximum(series[at] - series[low], 0.0), np.maximum(series[high] - series[at], 0.0)]


def _scales(figure: Mapping[str, Any], axes: Any, floor: Mapping[str, Optional[float]]) -> None:
    for name in ("x", "y"):
        every = [v for series in figure["series"] for v in series[name] if v is not None and math.isfinite(v)]
        axis = axes.xaxis if name == "x" else axes.yaxis
        if not figure[f"log_{name}"]:
            layout.linear_ticks(axis, every, at_values=name == "x" and figure["kind"] == "line_points")
            continue
        least = floor[name]
        assert least is not None
        positive = sorted({v for v in every if v > 0}) or [1.0, 10.0]
        zero = name == "x" and any(v == 0 for v in every)
        set_scale = axes.set_xscale if name == "x" else axes.set_yscale
        if zero:
            set_scale("symlog", linthresh=positive[0], linscale=0.4)
        else:
            set_scale("log")
            low, high = axis.get_view_interval()
            limit = axes.set_xlim if name == "x" else axes.set_ylim
            limit(max(low, least), high)
            if positive[-1] / positive[0] < 1.2:
                limit(positive[0] / 2, positive[-1] * 2)
        few = figure["kind"] == "line_points" and name == "x" and len(positive) <= 8
        layout.log_ticks(axis, positive, zero, at_values=few)
        if zero:  # the middle of the way to the first value
            axes.set_xlim(left=-0.25 * positive[0])
    if figure["kind"] == "lines" and not figure["log_x"]:
        axes.margins(x=0.01)


def _square(figure: Mapping[str, Any], axes: Any) -> None:
    """The line y = x, and both axes alike."""
    if not figure["diagonal"]:
        return
    low = min(axes.get_xlim()[0], axes.get_ylim()[0])
    high = max(axes.get_xlim()[1], axes.get_ylim()[1])
    axes.plot((low, high), (low, high), zorder=1, label="y = x", **_REFERENCE)
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)


def _bars(figure: Mapping[str, Any], axes: Any, lying: bool) -> None:
    series: Sequence[Mapping[str, Any]] = figure["series"]
    places = np.arange(len(figure["categories"]))
    below = np.zeros(len(places))
    width = 0.72 if figure["stacked"] else 0.8 / len(series)
    for k, one in enumerate(series):
        y = np.array([math.nan if v is None else v for v in one["y"]], dtype=float)
        shift = 0.0 if figure["stacked"] else (k - (len(series) - 1) / 2) * width
        bar = axes.barh if lying else axes.bar
        style_of = {"color": style.part_colour(k, len(series)), "edgecolor": "black", "linewidth": 0.4}
        foot = {"left" if lying else "bottom": below.copy()} if figure["stacked"] else {}
        bar(places + shift, y, width, label=one["label"], zorder=2, **style_of, **foot)
        if len(one.get("low", ())):
            spread = _errors({n: np.array(one[n], dtype=float) for n in ("y", "low", "high")}, "y", "low", "high")
            at = (below + y, places + shift) if lying else (places + shift, below + y)
            axes.errorbar(*at, **{"xerr" if lying else "yerr": spread}, fmt="none", ecolor="black", elinewidth=0.7)
        if figure["stacked"]:
            below = below + np.nan_to_num(y)
    if figure["log_y"]:
        (axes.set_xscale if lying else axes.set_yscale)("log")
    values = axes.xaxis if lying else axes.yaxis
    if figure["log_y"]:
        layout.log_ticks(values, sorted({v for s in series for v in s["y"] if v and v > 0}) or [1.0], False, False)
    else:
        layout.linear_ticks(values, [], at_values=False)
    names = axes.yaxis if lying else axes.xaxis
    names.set_ticks(places, figure["categories"])
    names.set_tick_params(length=0)
    names.grid(False)
    if lying:
        axes.invert_yaxis()
