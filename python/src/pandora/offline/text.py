"""Numbers, names and sentences as people read them."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence

from .estimate import Interval

UNKNOWN = "---"


def number_text(x: float, decimals: int) -> str:
    """With so many decimals; "---" for what is unknown, no minus before a zero."""
    if not math.isfinite(x):
        return UNKNOWN
    text = f"{x:.{decimals}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def interval_text(x: Interval, decimals: int) -> str:
    """Such as "0.9450 [0.9410, 0.9490]"; without ends of a single prompt."""
    if not math.isfinite(x.value):
        return UNKNOWN
    value, low, high = (end + 0.0 for end in x)  # -0.0 is 0
    if not math.isfinite(low):
        return f"{value:.{decimals}f}"
    return f"{value:.{decimals}f} [{low:.{decimals}f}, {high:.{decimals}f}]"


def usd_text(x: Interval) -> str:
    """Dollars, with three digits that count, from two to nine decimals."""
    size = abs(x.value)
    decimals = min(max(2 - math.floor(math.log10(size)), 2), 9) if size > 0.0 and math.isfinite(size) else 2
    return interval_text(x, decimals)


def share_text(x: Interval) -> str:
    """Such as "12.0% [10.0%, 14.0%]"."""
    if not math.isfinite(x.value):
        return UNKNOWN
    if not math.isfinite(x.low):
        return f"{100.0 * x.value:.1f}%"
    return f"{100.0 * x.value:.1f}% [{100.0 * x.low:.1f}%, {100.0 * x.high:.1f}%]"


def saving_text(x: Interval) -> str:
    """Of a share of a model's dollars: "saves 12.0% ... of its dollars", "costs 3.0% ... more"."""
    if not math.isfinite(x.value):
        return "costs what is not known"
    if x.value >= 0.0:
        return f"saves {share_text(x)} of its dollars"
    return f"costs {share_text(Interval(-x.value, -x.high, -x.low))} more"


def nearest(word: str, names: Iterable[str], most: int = 3) -> list[str]:
    """Names that a word was probably meant to be, the nearest first."""
    by_lower = {name.lower(): name for name in names}
    part = [name for low, name in by_lower.items() if len(word) >= 3 and word.lower() in low]
    near = [by_lower[low] for low in difflib.get_close_matches(word.lower(), by_lower, most, 0.6)]
    return list(dict.fromkeys([*near, *part]))[:most]


def nearest_text(found: Sequence[str]) -> str:
    """For messages: "; the nearest is a"; empty where none is near."""
    if not found:
        return ""
    return f"; the nearest {'is' if len(found) == 1 else 'are'} {', '.join(found)}"


#: Characters that steer a terminal, and lone surrogates, which stand for bytes of a file's name.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def printable_lines(text: str) -> str:
    """Lines and tabs stay; what else steers a terminal is spelt out."""
    return _STEERING.sub(_escaped, text)


def printable(text: str, most: int = 1000) -> str:
    """One line; of a longer text both ends, as what is wrong stands at the beginning and the remedy at the end."""
    if len(text) > most:
        left_out = len(text) - most
        text = f"{text[: most // 2]}...({left_out} characters left out)...{text[-(most - most // 2) :]}"
    return printable_lines(text.replace("\n", " ").replace("\t", " "))


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code == 0x0D:
        return " "
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{{{code:x}}}"
