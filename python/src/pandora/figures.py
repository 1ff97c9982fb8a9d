"""The figures of a report, drawn by matplotlib in the report's colours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

import numpy as np

__all__ = ["Figure"]

_DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2)),
    (0, (1.5, 1.5)),
    (0, (6, 1.5, 1.5, 1.5)),
    (0, (3.5, 1.5)),
    (0, (6, 1.5, 1.5, 1.5, 1.5, 1.5)),
    (0, (9, 2.5)),
)
_MARKERS = "os^DvPX*hpd<>8H"


class Figure:
    """A figure as data: series with their intervals and colours, axes, a caption.

    `series` are dicts with label, colour, x, y, low and high (ends of the 95% interval), x_low and x_high.
    """

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.name: str = found["name"]
        self.heading: str = found["heading"]
        self.kind: str = found["kind"]
        self.caption: str = found["caption"]
        self.x_label: str = found["x_label"]
        self.series: list[dict[str, Any]] = found["series"]
        self._found = found

    def __repr__(self) -> str:
        return f"<pandora.Figure {self.name}: {self.heading}; {self.caption}>"

    def draw(self, axes: Any = None) -> Any:
        """Draws into the axes of matplotlib, or into a new figure; returns the axes."""
        found = self._found
        if axes is None:
            import matplotlib.pyplot as plt

            width = found["width_cm"] / 2.54 * 1.5
            _, axes = plt.subplots(figsize=(width, 0.68 * width), layout="constrained")
        {"bars": self._bars, "scatter": self._scatter}.get(self.kind, self._lines)(axes)
        if found["log_x"]:
            axes.set_xscale("symlog" if self._has_zero("x") else "log", **self._threshold("x"))
        if found["log_y"]:
            axes.set_yscale("log")
        if found["diagonal"]:
            axes.axline((1, 1), (2, 2), color="#606060", linewidth=0.8, linestyle=(0, (4, 4)))
        for at, vertical, label in found["references"]:
            style = {"color": "#606060", "linewidth": 0.8, "linestyle": (0, (4, 4)), "label": label or None}
            axes.axvline(at, **style) if vertical else axes.axhline(at, **style)
        axes.set_xlabel(found["x_label"])
        axes.set_ylabel(found["y_label"])
        axes.set_title(found["title"] or self.heading, fontsize="medium")
        axes.legend(fontsize="small", frameon=False)
        return axes

    def _has_zero(self, name: str) -> bool:
        return any(bool(np.any(series[name] <= 0)) for series in self.series)

    def _threshold(self, name: str) -> dict[str, float]:
        if not self._has_zero(name):
            return {}
        positive = [x for series in self.series for x in series[name] if x > 0]
        return {"linthresh": min(positive, default=1.0), "linscale": 0.5}

    def _lines(self, axes: Any) -> None:
        for series in self.series:
            place = series["style"]
            dash = _DASHES[place % len(_DASHES)]
            if self.kind == "lines":
                axes.plot(series["x"], series["y"], color=series["colour"], linestyle=dash, label=series["label"])
                if len(series["low"]):
                    axes.fill_between(
                        series["x"], series["low"], series["high"], color=series["colour"], alpha=0.15, linewidth=0
                    )
            else:
                axes.errorbar(
                    series["x"],
                    series["y"],
                    yerr=_errors(series, "y", "low", "high"),
                    color=series["colour"],
                    linestyle=dash,
                    marker=_MARKERS[place % len(_MARKERS)],
                    label=series["label"],
                )

    def _scatter(self, axes: Any) -> None:
        for series in self.series:
            axes.errorbar(
                series["x"],
                series["y"],
                xerr=_errors(series, "x", "x_low", "x_high"),
                yerr=_errors(series, "y", "low", "high"),
                color=series["colour"],
                linestyle="none",
                marker=_MARKERS[series["style"] % len(_MARKERS)],
                label=series["label"],
            )

    def _bars(self, axes: Any) -> None:
        places = np.arange(len(self._found["categories"]))
        below = np.zeros(len(places))
        width = 0.8 if self._found["stacked"] else 0.8 / len(self.series)
        for k, series in enumerate(self.series):
            shift = 0.0 if self._found["stacked"] else (k - (len(self.series) - 1) / 2) * width
            axes.bar(
                places + shift,
                series["y"],
                width,
                bottom=below if self._found["stacked"] else None,
                color=series["colour"],
                label=series["label"],
                edgecolor="black",
                linewidth=0.4,
            )
            below = below + np.nan_to_num(series["y"])
        axes.set_xticks(places, self._found["categories"], rotation=30, ha="right", fontsize="small")


def _errors(series: Mapping[str, Any], at: str, low: str, high: str) -> Optional[list[Any]]:
    if not len(series[low]):
        return None
    return [np.maximum(series[at] - series[low], 0.0), np.maximum(series[high] - series[at], 0.0)]
