"""The places of everything in a figure. All texts are measured, so that none leaves the figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

PAD = 0.06  # inches at the edges
_STEPS = [1, 2, 2.5, 5, 10]  # between ticks, times powers of ten
_DIGITS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def number_text(value: float) -> str:
    """30,000, 0.05, 2×10⁻⁵: short, and without the e of programs.

    >>> [number_text(v) for v in (30000, 0.05, 2e-5, 1e7, -3.0, 0)]
    ['30,000', '0.05', '2×10⁻⁵', '10⁷', '−3', '0']
    """
    if value == 0 or abs(value) < 1e-300:
        return "0"
    sign, size = "−" if value < 0 else "", abs(value)
    if 0.000999 <= size < 999999.5:
        return sign + (f"{size:,.10g}" if size >= 999.5 else f"{size:.6g}")
    digits, _, exponent = f"{size:.5e}".partition("e")
    digits = digits.rstrip("0").rstrip(".")
    power = "10" + str(int(exponent)).translate(_DIGITS)
    return sign + (power if digits == "1" else f"{digits}×{power}")


def _show(axis: Any, at: Sequence[float]) -> None:
    axis.set_major_locator(FixedLocator(list(at)))
    axis.set_minor_locator(NullLocator())


def linear_ticks(axis: Any, values: Sequence[float], at_values: bool) -> None:
    """Integers have ticks at integers: at these themselves, where there are few."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: number_text(round(value, 12))))
    distinct = sorted(set(values))
    if at_values and 0 < len(distinct) <= 10:
        _show(axis, distinct)
    else:
        integer = len(distinct) > 0 and distinct[-1] - distinct[0] > 1 and all(v == int(v) for v in distinct)
        axis.set_major_locator(MaxNLocator(6, steps=_STEPS, integer=integer))


def log_ticks(axis: Any, positive: Sequence[float], zero: bool, at_values: bool) -> None:
    """Ticks at powers of ten if there are several; otherwise more numbers between them, or the values themselves."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value)))
    if at_values:
        _show(axis, ([0.0] if zero else []) + list(positive))
        return
    low, high = (positive[0], positive[-1]) if zero else axis.get_view_interval()
    first, last = math.floor(math.log10(max(low, 1e-300))), math.ceil(math.log10(max(high, 1e-299)))
    inside = [k for k in range(first, last + 1) if low <= 10.0**k <= high]
    stride = max(1, math.ceil(len(inside) / 6))
    decades = [k for k in range(first, last + 1) if k % stride == 0]
    for numbered in ((1,), (1, 2, 5), (1, 2, 3, 4, 5, 6, 8)):
        at = [m * 10.0**k for k in decades for m in numbered if low <= m * 10.0**k <= high]
        if len(at) >= 3:
            break
    else:  # so little of the axis that it is nearly linear
        at = [v for v in MaxNLocator(5, steps=_STEPS).tick_values(low, high) if low <= v <= high]
    _show(axis, ([0.0] if zero else []) + at)
    axis.set_minor_formatter(NullFormatter())
    if stride == 1:
        axis.set_minor_locator(FixedLocator([m * 10.0**k for k in range(first, last + 1) for m in range(2, 10)]))


class Page:
    """A figure of fixed width, whose height grows with its parts. Lengths are in inches."""

    def __init__(self, picture: Any, axes: Any, width: float) -> None:
        self.picture, self.axes, self.width = picture, axes, width
        # Any back end measures by it; the numbers are for large pixels alone.
        self._renderer = RendererAgg(100, 100, picture.dpi)

    # ---- texts -----------------------------------------------------------------------------------------------------

    def text_width(self, text: str, size: Any) -> float:
        """Of one line."""
        font = FontProperties(family="DejaVu Sans", size=size)
        return float(self._renderer.get_text_width_height_descent(text, font, False)[0] / self.picture.dpi)

    def wrapped(self, text: str, width: float, size: Any) -> str:
        """In lines of that width, broken between words, and inside a word that is longer."""
        lines: list[str] = []
        for word in text.replace("× 1000", "×\u00a01000").split(" "):
            if lines and self.text_width(f"{lines[-1]} {word}", size) <= width:
                lines[-1] += f" {word}"
                continue
            while len(word) > 1 and self.text_width(word, size) > width:
                fits = next((k for k in range(len(word) - 1, 1, -1) if self.text_width(word[:k], size) <= width), 1)
                lines.append(word[:fits])
                word = word[fits:]
            lines.append(word)
        return "\n".join(lines)

    def _room_below(self, count: int) -> float:
        return 0.92 * (self.width - 0.7) / max(count, 1)

    def fits_below(self, categories: Sequence[str]) -> bool:
        """Whether categories can stand below their bars: in three lines at most, words whole."""
        room = self._room_below(len(categories))
        return all(
            all(self.text_width(word, 7) <= room for word in name.split())
            and self.wrapped(name, room, 7).count("\n") < 3
            for name in categories
        )

    # ---- places ----------------------------------------------------------------------------------------------------

    def arrange(self, figure: Mapping[str, Any], lying: bool) -> None:
        """Sets the figure's height, the place of its axes and of the legend below them, once all is drawn."""
        axes, dpi = self.axes, self.picture.dpi
        x_label, y_label = axes.get_xlabel(), axes.get_ylabel()
        height = min(0.6 * self.width, 2.75)
        if figure["kind"] == "bars":
            names = self._wrap_categories(lying)
            if lying:
                most = max(name.count("\n") + 1 for name in names)
                each = max(0.13 * most + 0.05, 0.07 * (1 if figure["stacked"] else len(figure["series"])) + 0.06)
                height = max(each * len(names), 0.7)
        title = self.wrapped(figure["title"], self.width - 2 * PAD, 7.5)
        legend = self._legend([one["label"] for one in figure["series"]])
        legend_height = legend.get_window_extent(self._renderer).height / dpi + 0.04 if legend else 0.0
        title_height = 0.14 * (title.count("\n") + 1) + 0.04 if title else 0.0
        left, right, bottom, top = 0.5, 0.1, 0.4, 0.1
        for _ in range(4):
            across = max(self.width - left - right, 0.8)
            down = across if figure["diagonal"] else height
            axes.set_xlabel(self.wrapped(x_label, across, 7.5))
            axes.set_ylabel(self.wrapped(y_label, down, 7.5))
            total = bottom + down + top
            self.picture.set_size_inches(self.width, total)
            axes.set_position((left / self.width, bottom / total, across / self.width, down / total))
            box, before = axes.get_tightbbox(self._renderer), (left, right, bottom, top)
            left = max(left - box.x0 / dpi + PAD, PAD)
            right = max(right + box.x1 / dpi - self.width + PAD, PAD)
            bottom = bottom - box.y0 / dpi + legend_height + PAD
            top = max(top + box.y1 / dpi - total + title_height + PAD, PAD)
            if all(abs(new - old) < 0.01 for new, old in zip((left, right, bottom, top), before)):
                break
        self._thin()
        if title:
            self.picture.text(0.5, 1 - PAD / total, title, ha="center", va="top", fontsize=7.5)
        if legend:
            legend.set_bbox_to_anchor((0.5, PAD / total), transform=self.picture.transFigure)

    def _wrap_categories(self, lying: bool) -> list[str]:
        axis = self.axes.yaxis if lying else self.axes.xaxis
        labels = [label.get_text() for label in axis.get_ticklabels()]
        room = 0.42 * self.width if lying else self._room_below(len(labels))
        names = [self.wrapped(label, room, 7) for label in labels]
        axis.set_ticks(axis.get_ticklocs(), names)
        return names

    def _legend(self, order: Sequence[str]) -> Any:
        """Below the axes, in as many columns as fit; texts are broken where not even one does."""
        found = list(zip(*self.axes.get_legend_handles_labels()))
        found.sort(key=lambda entry: order.index(entry[1]) if entry[1] in order else len(order))
        if not found:
            return None
        room = self.width - 2 * PAD
        labels = [self.wrapped(label, room - 0.5, 7) for _, label in found]
        widest = max(self.text_width(line, 7) for label in labels for line in label.split("\n"))
        columns = max(1, min(len(labels), 5, int((room + 0.1) / (widest + 0.42))))
        while True:
            legend = self.picture.legend(
                [handle for handle, _ in found], labels, loc="lower center", bbox_to_anchor=(0.5, 0.0), ncols=columns,
                borderaxespad=0, borderpad=0.1, handlelength=2.6, columnspacing=1.2, handletextpad=0.5,
                labelspacing=0.25,
            )  # fmt: skip
            if columns == 1 or legend.get_window_extent(self._renderer).width / self.picture.dpi <= room:
                return legend
            legend.remove()
            columns -= 1

    def _thin(self) -> None:
        """Leaves out numbers of an axis that would overlap the one before; their ticks stay."""
        for axis, is_x in ((self.axes.xaxis, True), (self.axes.yaxis, False)):
            if not is_x and axis.get_inverted():
                continue
            end = -math.inf
            for tick in sorted(axis.get_major_ticks(), key=lambda tick: tick.get_loc()):
                box = tick.label1.get_window_extent(self._renderer)
                low, high = (box.x0 - 0.03 * self.picture.dpi, box.x1) if is_x else (box.y0, box.y1)
                if tick.label1.get_text():
                    tick.label1.set_visible(low >= end)
                    end = high if low >= end else end
