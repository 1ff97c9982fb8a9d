"""How figures look: one colour, dash and marker for each policy, in all figures."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

# Apart in lightness as well as in hue, and told apart by every common form of colour blindness (after Okabe and Ito).
COLOURS = ("#0060A8", "#D04A00", "#00936A", "#B0609A", "#D98E00", "#4AA3DF", "#000000")
GREY = "#707070"
DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2)),
    (0, (1.5, 1.5)),
    (0, (6, 1.5, 1.5, 1.5)),
    (0, (3.5, 1.5)),
    (0, (6, 1.5, 1.5, 1.5, 1.5, 1.5)),
    (0, (9, 2.5)),
)
MARKERS = "os^DvPX*hpd<>8H"

RC = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E0E0E0",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
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


def _look(colour: int, dash: int, marker: str) -> Look:
    return Look(COLOURS[colour], DASHES[dash], marker)


KNOWN = {
    "oracle": _look(6, 0, "*"),
    "dow": _look(0, 0, "o"),
    "online_plugin": _look(1, 1, "s"),
    "static_plugin": _look(4, 2, "^"),
    "linucb_online": _look(2, 3, "D"),
    "linucb_static": _look(5, 4, "v"),
    "frugalgpt": _look(3, 5, "P"),
    "shrunk_weitzman": _look(6, 6, "X"),
    "thompson_weitzman": _look(5, 1, "h"),
    "epsilon_greedy_weitzman": _look(1, 3, "p"),
    "empirical_weitzman": _look(4, 1, "P"),
    "atsidakou": _look(2, 1, "d"),
    "frugal_order": _look(3, 1, "<"),
    "frugal_stop": _look(3, 3, ">"),
    "liu": _look(4, 4, "8"),
    "informed_weitzman": _look(0, 2, "H"),
    "adaptive_oracle": _look(6, 2, "d"),
    "best_single": Look(GREY, DASHES[1], "o"),
    "random_order": Look(GREY, DASHES[2], "s"),
    "query_all": Look(GREY, DASHES[3], "^"),
}


def nth_look(place: int) -> Look:
    """That of a series that is no policy's, by its place in the figure."""
    return Look(COLOURS[place % 7], DASHES[place % 7], MARKERS[place % len(MARKERS)])


def looks(names: Iterable[str]) -> dict[str, Look]:
    """One for each policy. A name that is not known gets one by its digest, and another only if that is taken."""
    colours = COLOURS[:-1]  # black are those that all are compared with
    free = [
        Look(c, d, MARKERS[(3 * i + k) % len(MARKERS)]) for k, d in enumerate(DASHES) for i, c in enumerate(colours)
    ]
    taken = {look[:2] for look in KNOWN.values()}
    free = [look for look in free if look[:2] not in taken]
    out: dict[str, Look] = {}
    for name in sorted(set(names) - {""}):
        if name in KNOWN:
            out[name] = KNOWN[name]
            continue
        start = zlib.crc32(name.encode())
        out[name] = next(
            (look for k in range(len(free)) if (look := free[(start + k) % len(free)]) not in out.values()),
            free[start % len(free)],
        )
    return out


def part_colour(part: int, parts: int) -> str:
    """Of a part of a bar: dark to light in even steps, so that parts are told apart in grey."""
    anchors = ((20, 40, 90), (40, 100, 140), (80, 160, 150), (180, 205, 130), (252, 240, 190))
    place = 1.0 if parts < 2 else 4.0 * part / (parts - 1)
    low = min(int(place), 3)
    mixed = (a + (place - low) * (b - a) for a, b in zip(anchors[low], anchors[low + 1]))
    return "#" + "".join(f"{round(value):02X}" for value in mixed)
