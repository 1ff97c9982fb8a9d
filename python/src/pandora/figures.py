"""Figures as data, drawn as in a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .rendering import style
from .rendering.figures import COLUMNS


class Figure:
    """A figure as data: series with their intervals and colours, axes, a caption.

    `series` are dicts with label, policy, reward, colour, x, y, low and high (ends of the 95% interval), x_low and
    x_high.
    """

    def __init__(self, found: Mapping[str, Any], policies: Iterable[str] = ()) -> None:
        self.name: str = found["name"]
        self.heading: str = found.get("heading", "")
        self.kind: str = found["kind"]
        self.caption: str = found["caption"]
        self.x_label: str = found["x_label"]
        #: the key of the study on the axis x; empty if x is no key
        self.x_key: str = found["x_key"]
        self._looks = style.looks([*policies, *(series["policy"] for series in found["series"])])
        self.series: list[dict[str, Any]] = [self._with_arrays(k, found) for k in range(len(found["series"]))]
        self._found = {**found, "series": self.series}

    def _with_arrays(self, place: int, found: Mapping[str, Any]) -> dict[str, Any]:
        series = found["series"][place]
        arrays = {name: np.array(series[name], dtype=float) for name in COLUMNS}
        if self.kind == "bars":
            colour = style.part_colour(place, len(found["series"]))
        else:
            colour = (self._looks[series["policy"]] if series["policy"] else style.nth_look(place)).colour
        return {**series, **arrays, "colour": colour}

    def __repr__(self) -> str:
        return f"<pandora.Figure {self.name}: {self.heading}; {self.caption}>"

    def draw(self, axes: Any = None) -> Any:
        """Draws into the axes of matplotlib, or into a new figure in the style of a report; returns the axes."""
        from .rendering import drawing

        if axes is not None:
            return drawing.draw(self._found, self._looks, axes)
        import matplotlib.pyplot as plt

        return drawing.draw_alone(self._found, self._looks, plt.figure(dpi=200))


def figures_of(groups: Iterable[Mapping[str, Any]]) -> dict[str, Figure]:
    """The figures of all groups by name. A policy looks the same in all of them."""
    found = [{**one, "heading": group["heading"]} for group in groups for one in group["figures"]]
    policies = [series["policy"] for one in found for series in one["series"]]
    return {one["name"]: Figure(one, policies) for one in found}
