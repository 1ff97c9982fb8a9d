"""Numbers, names and sentences for people."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Callable, Optional

from .. import _core
from .estimate import Interval

UNKNOWN = "---"


def digits(x: Optional[float]) -> str:
    """All digits; empty for an unknown number."""
    return repr(float(x)).removesuffix(".0") if x is not None and math.isfinite(x) else ""


def number_text(x: float, decimals: int) -> str:
    """With that many decimals; "---" for unknown numbers; no minus sign before a zero."""
    return f"{round(x, decimals) + 0.0:.{decimals}f}" if math.isfinite(x) else UNKNOWN


def _with_ends(x: Interval, text: Callable[[float], str]) -> str:
    if not math.isfinite(x.value):
        return UNKNOWN
    return text(x.value) + (f" [{text(x.low)}, {text(x.high)}]" if math.isfinite(x.low) else "")


def interval_text(x: Interval, decimals: int) -> str:
    """Such as "0.9450 [0.9410, 0.9490]"; without ends for a single prompt."""
    return _with_ends(x, lambda end: f"{end + 0.0:.{decimals}f}")  # -0.0 is 0


def usd_text(x: Interval) -> str:
    """Dollars with three significant digits, from two to nine decimals."""
    size = abs(x.value)
    decimals = min(max(2 - math.floor(math.log10(size)), 2), 9) if size > 0.0 and math.isfinite(size) else 2
    return interval_text(x, decimals)


def share_text(x: Interval) -> str:
    """Such as "12.0% [10.0%, 14.0%]"."""
    return _with_ends(x, lambda end: f"{100.0 * end:.1f}%")


def saving_text(x: Interval) -> str:
    """Of a share of a model's dollars: "saves 12.0% ... of its dollars", "costs 3.0% ... more"."""
    if not math.isfinite(x.value):
        return "costs what is not known"
    if x.value >= 0.0:
        return f"saves {share_text(x)} of its dollars"
    return f"costs {share_text(Interval(-x.value, -x.high, -x.low))} more"


def order_text(models: Sequence[str], stops: Sequence[float]) -> str:
    """Models in order with the number from which each ends it: "a (accepted from 0.9), b"."""
    from_where = [f" (accepted from {stop:.4g})" for stop in stops]
    return ", ".join(model + stop for model, stop in zip_longest(models, from_where, fillvalue=""))


def listed(names: Sequence[str]) -> str:
    """A list as the command line reads it; a name with a comma is put in quotes."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(names)
    return out.getvalue()


def nearest_text(word: str, names: Iterable[str]) -> str:
    """For messages: "; the nearest is a"; empty where none is near."""
    return str(_core.nearest_text(_core.nearest(word, list(names))))


def printable(text: str, most: int = 1000) -> str:
    """Spells out characters that control a terminal, and bytes that are no text. The result is one line; a longer text
    keeps both ends, because the problem stands at the beginning and the remedy at the end. `most` = 0: keeps lines and
    tabs, and everything.
    """
    sound = re.sub("[\ud800-\udc7f\udd00-\udfff]", "\ufffd", text)
    return str(_core.printable(sound.encode("utf-8", "surrogateescape"), most))
