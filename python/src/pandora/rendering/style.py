"""The look of figures: one colour, dash and marker for each policy, in all figures."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

# The colours differ in lightness as well as in hue, so that people with any common colour blindness can distinguish
# them (after Okabe and Ito).
COLOURS = ("#0060A8", "#D04A00", "#00936A", "#B0609A", "#D98E00", "#4AA3DF", "#000000")
GREY = "#707070"
_ON_OFF = ((6, 2), (1.5, 1.5), (6, 1.5, 1.5, 1.5), (3.5, 1.5), (6, 1.5, 1.5, 1.5, 1.5, 1.5), (9, 2.5))
DASHES: tuple[Any, ...] = ("-", *((0, lengths) for lengths in _ON_OFF))
MARKERS = "os^DvPX*hpd<>8H"

RC = {
    "font.family": "DejaVu Sans",
    **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize"), 7.5),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 7),
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E0E0E0",
    "grid.linewidth": 0.5,
    **{
        f"{axis}tick.{which}": points
        for axis in "xy"
        for which, points in (("major.width", 0.6), ("major.size", 2.5), ("minor.size", 1.5), ("minor.width", 0.4))
    },
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "errorbar.capsize": 1.5,
    "hatch.linewidth": 0.5,
    "text.parse_math": False,  # names of models and policies stand as they are, dollars too
    "svg.fonttype": "path",  # every machine shows the letters that were measured
    "svg.hashsalt": "pandora",  # the same figure has the same bytes
    "pdf.fonttype": 42,
    "figure.facecolor": "white",
}


class Look(NamedTuple):
    """How the lines and markers of one policy look."""

    colour: str
    dash: Any
    marker: str


#: by name the numbers of colour and dash, and the marker
_CHOSEN = {
    "oracle": (6, 0, "*"), "dow": (0, 0, "o"), "online_plugin": (1, 1, "s"), "static_plugin": (4, 2, "^"),
    "linucb_online": (2, 3, "D"), "linucb_static": (5, 4, "v"), "frugalgpt": (3, 5, "P"),
    "shrunk_weitzman": (6, 6, "X"), "thompson_weitzman": (5, 1, "h"), "epsilon_greedy_weitzman": (1, 3, "p"),
    "empirical_weitzman": (4, 1, "P"), "atsidakou": (2, 1, "d"), "frugal_order": (3, 1, "<"),
    "frugal_stop": (3, 3, ">"), "liu": (4, 4, "8"), "informed_weitzman": (0, 2, "H"), "adaptive_oracle": (6, 2, "d"),
    "best_single": (7, 1, "o"), "random_order": (7, 2, "s"), "query_all": (7, 3, "^"),
}  # fmt: skip
KNOWN = {name: Look((*COLOURS, GREY)[c], DASHES[d], marker) for name, (c, d, marker) in _CHOSEN.items()}


def nth_look(place: int) -> Look:
    """The style of a series that belongs to no policy, by its place in the figure."""
    return Look(COLOURS[place % 7], DASHES[place % 7], MARKERS[place % len(MARKERS)])


def looks(names: Iterable[str]) -> dict[str, Look]:
    """A style for each policy. An unknown name gets one by its digest, or another one if that is taken."""
    colours = COLOURS[:-1]  # black are those that all are compared with
    taken = {look[:2] for look in KNOWN.values()}
    free = [
        Look(colour, dash, MARKERS[(3 * i + k) % len(MARKERS)])
        for k, dash in enumerate(DASHES)
        for i, colour in enumerate(colours)
        if (colour, dash) not in taken
    ]
    out: dict[str, Look] = {}
    for name in sorted(set(names) - {""}):
        start = zlib.crc32(name.encode()) % len(free)
        own = [*free[start:], *free[:start]]
        out[name] = KNOWN.get(name) or next((look for look in own if look not in out.values()), own[0])
    return out


def part_colour(part: int, parts: int) -> str:
    """The colour of a part of a bar: dark to light in even steps, so that parts differ in grey."""
    anchors = ((20, 40, 90), (40, 100, 140), (80, 160, 150), (180, 205, 130), (252, 240, 190))
    place = 1.0 if parts < 2 else 4.0 * part / (parts - 1)
    low = min(int(place), 3)
    mixed = (a + (place - low) * (b - a) for a, b in zip(anchors[low], anchors[low + 1]))
    return "#" + "".join(f"{round(value):02X}" for value in mixed)
