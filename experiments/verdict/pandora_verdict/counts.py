"""How many numbers are inside, and how many would be if 50 of our own replications had been published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional, TypeVar

import numpy as np

from .numbers import PRINTED, Group, Number, judge, summarise
from .panels import PAPER_REPLICATIONS, Panel
from .sample import Estimate, Sample

S = TypeVar("S", Sample, Optional[Sample])


@dataclass(frozen=True)
class Count:
    """The number of regrets inside, for the paper's and for each set of 50 of our replications in its place.

    "50 of ours": a set is compared with one other set. The paper's count is then the mean over our sets, as if each
    were all that we had.
    """

    what: str  # such as "regrets"
    adjusted: bool
    of: int
    published: float  # of the paper's, inside
    rms_z: float
    sets: tuple[int, ...]
    sets_rms_z: tuple[float, ...]


def _printed(own: S, few: Optional[Sample]) -> S:
    """`own`, with the mean and half-width of `few` to two decimals in place of the published ones."""
    if own is None or few is None or not own.is_published:
        return own
    printed = (math.floor(value / PRINTED + 0.5) * PRINTED for value in few.as_published)
    return replace(own, published=Estimate(*printed))


def as_published(panel: Panel, few: Panel) -> Panel:
    """The panel with the numbers of `few` in place of the published ones."""
    return replace(
        panel,
        utility=_printed(panel.utility, few.utility),
        boxes=_printed(panel.boxes, few.boxes),
        order=tuple(_printed(*both) for both in zip(panel.order, few.order)),
        entries=tuple(
            replace(own, choices=tuple(_printed(choice, other.regrets) for choice in own.choices))
            for own, other in zip(panel.entries, few.entries)
        ),
    )


def counts(panels: Sequence[Panel], numbers: Sequence[Number]) -> list[Count]:
    """Counts of the paper's numbers; from 100 replications on, also of disjoint sets of 50 of ours."""
    least = min(panel.n for panel in panels) // PAPER_REPLICATIONS
    sets = range(least if least >= 2 and all(panel.which is not None for panel in panels) else 0)
    members = [np.arange(panel.n) // PAPER_REPLICATIONS for panel in panels]
    others, following, alone = [], [], []
    for k in sets:
        few = [panel.take(np.flatnonzero(own == k)) for panel, own in zip(panels, members)]
        rest = [panel.take(np.flatnonzero(own != k)) for panel, own in zip(panels, members)]
        then = [panel.take(np.flatnonzero(own == (k + 1) % len(sets))) for panel, own in zip(panels, members)]
        others.append([number for p, set_ in zip(rest, few) for number in judge(as_published(p, set_))])
        following.append([number for p, set_ in zip(then, few) for number in judge(as_published(p, set_))])
        alone.append([number for set_ in few for number in judge(set_)])
    out = []
    for what, all_of_them in (("regrets", False), ("all numbers", True)):
        for adjusted in (False, True):
            found = [_summary(judged, all_of_them, adjusted) for judged in others]
            paper = _summary(numbers, all_of_them, adjusted)
            out.append(_count(what, adjusted, paper.inside, paper.rms_z, paper, found))
    for adjusted in (False, True) if sets else ():
        papers = [_summary(judged, False, adjusted) for judged in alone]
        mean, rms = (float(np.mean([getattr(paper, key) for paper in papers])) for key in ("inside", "rms_z"))
        found = [_summary(judged, False, adjusted) for judged in following]
        out.append(_count("regrets, 50 of ours", adjusted, mean, rms, papers[0], found))
    return [count for count in out if count.of > 0]


def _summary(numbers: Sequence[Number], all_of_them: bool, adjusted: bool) -> Group:
    return summarise([number for number in numbers if all_of_them or number.is_regret], adjusted)


def _count(what: str, adjusted: bool, inside: float, rms_z: float, paper: Group, sets: Sequence[Group]) -> Count:
    return Count(what, adjusted, paper.of, inside, rms_z, tuple(s.inside for s in sets), tuple(s.rms_z for s in sets))
