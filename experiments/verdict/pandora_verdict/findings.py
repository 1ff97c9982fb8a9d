"""The six findings of Section 6.2 as statements about cells, and the price of an unknown reward."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Optional

from .panels import PAPER_REPLICATIONS, Panel
from .sample import UNKNOWN, Estimate, Sample, student_factor

LARGE_CALIBRATION, SMALL_CALIBRATION = 1000, 100  # T_0 of which the findings speak
SUBSTANTIALLY = 1.5  # times a regret: "substantially worse" from here on, "comparable" below
LARGEST_INCREASE = 0.17  # percent of the oracle's utility, as the paper says

ONLINE = ("online_plugin/known", "online_plugin/unknown", "dow/known", "dow/unknown")
LINUCB = ("linucb_online", "linucb_static")
BASELINES = (*LINUCB, "frugalgpt/known")


@dataclass(frozen=True)
class FindingCell:
    """A finding in one cell."""

    cell: str  # such as "A uniform, T0=50"
    compared: str  # whose regrets, such as "dow/known less frugalgpt/known"
    difference: Estimate  # the 95% interval of Student's t; paired over replications but where it says otherwise
    holds: str  # yes, open or no: by the 95% interval of what is claimed; empty: there is none
    means_agree: bool  # whether the means alone agree with the claim
    published_agree: Optional[bool]  # whether the published means do


@dataclass(frozen=True)
class Finding:
    """A statement that one of the six findings makes about every cell of a kind."""

    label: str  # of the paper's order, with a letter where a finding makes several statements
    statement: str  # with the words of the paper made definite
    difference: str  # what is below 0 or above, x 1000 where it is of regrets
    cells: tuple[FindingCell, ...]

    def count(self, holds: str) -> int:
        """In how many cells it holds, is open ("open") or fails ("no")."""
        return sum(cell.holds == holds for cell in self.cells)


def below_zero(claim: Estimate) -> str:
    """Whether a number that is claimed to be below 0 is, by its interval."""
    if math.isnan(claim.half_width):
        return ""
    low, high = claim.mean - claim.half_width, claim.mean + claim.half_width
    return "yes" if high < 0.0 else "no" if low > 0.0 else "open"


def _cell(name: str, compared: str, shown: Sample, margin: Sample) -> FindingCell:
    """From what is shown, and from a margin that is claimed to be below 0."""
    holds, agree = below_zero(margin.interval), margin.mean < 0.0
    return FindingCell(name, compared, shown.interval, holds, agree, _published_agree(margin))


def _published_agree(margin: Sample) -> Optional[bool]:
    return margin.published.mean < 0.0 if margin.is_published else None


def _at(panel: Panel, T0: int) -> str:
    return f"{panel.name}, T0={T0}"


def _order(
    panel: Panel, these: Sequence[str], those: Sequence[str], factor: float, at: Sequence[int], other: Sequence[int]
) -> Iterator[FindingCell]:
    """Every one of these has less regret, `factor` times, than every one of those.

    The worst against the best, which the choice of both makes harder to establish.
    """
    left = [entry for entry in panel.entries if entry.T0 in at and entry.name in these]
    right = [entry for entry in panel.entries if entry.T0 in other and entry.name in those]
    if not left or not right:
        return
    worst = max(left, key=lambda entry: entry.regrets.mean)
    best = min(right, key=lambda entry: entry.regrets.mean)
    # What is published has a worst and a best of its own.
    published = [[e.regrets.published.mean for e in side if e.regrets.is_published] for side in (left, right)]
    worst_of = Estimate(max(published[0], default=UNKNOWN), UNKNOWN)
    best_of = Estimate(min(published[1], default=UNKNOWN), UNKNOWN)
    a, b = replace(worst.regrets, published=worst_of), replace(best.regrets, published=best_of)
    when = "" if worst.T0 == best.T0 else f" at T0={best.T0}"
    yield _cell(_at(panel, worst.T0), f"{worst.name} less {best.name}{when}", a.less(b), a.less(b, 1.0 / factor))


def _orders(
    panels: Sequence[Panel],
    these: Sequence[str],
    those: Sequence[str],
    factor: float = 1.0,
    at: Callable[[int], bool] = lambda T0: True,
) -> Iterator[FindingCell]:
    """The same for each T_0 of `at`."""
    for panel in panels:
        for T0 in filter(at, panel.calibrations):
            yield from _order(panel, these, those, factor, [T0], [T0])


def _cold_start(panels: Sequence[Panel]) -> Iterator[FindingCell]:
    for panel in panels:
        small = [T0 for T0 in panel.calibrations if T0 <= SMALL_CALIBRATION]
        for name in ("dow/known", "dow/unknown"):
            yield from _order(panel, [name], ["static_plugin", *BASELINES], 1.0, [0], small)


def _comparable_frugal(panels: Sequence[Panel]) -> Iterator[FindingCell]:
    """Within a factor of each other: both margins are below 0."""
    for panel in panels:
        dow, frugal = (panel.find(name, LARGE_CALIBRATION) for name in ("dow/known", "frugalgpt/known"))
        if dow is None or frugal is None:
            continue
        margins = [a.regrets.less(b.regrets, SUBSTANTIALLY) for a, b in ((dow, frugal), (frugal, dow))]
        holds = [below_zero(margin.interval) for margin in margins]
        agree = [_published_agree(margin) for margin in margins]
        yield FindingCell(
            _at(panel, LARGE_CALIBRATION),
            "frugalgpt/known less dow/known",
            frugal.regrets.less(dow.regrets).interval,
            min(holds, key=["", "no", "open", "yes"].index),
            all(margin.mean < 0.0 for margin in margins),
            None if None in agree else all(agree),
        )


def _more_than_one(panels: Sequence[Panel], boxes: bool) -> Iterator[FindingCell]:
    """Boxes per period, or permutations of the oracle's order."""
    for panel in panels:
        found = panel.boxes if boxes else panel.order[0] if panel.order else None
        if found is not None:
            more = found.less(1.0)
            yield _cell(panel.name, "oracle", more, more.negative())


def _small_price(panels: Sequence[Panel]) -> Iterator[FindingCell]:
    for panel in panels:
        for T0 in panel.calibrations:
            for policy in ("online_plugin", "dow"):
                known, unknown = (panel.find(f"{policy}/{reward}", T0) for reward in ("known", "unknown"))
                if known is None or unknown is None or panel.utility is None:
                    continue
                price = unknown.regrets.less(known.regrets)
                margin = price.less(panel.utility, 0.01 * LARGEST_INCREASE)
                yield _cell(_at(panel, T0), policy, price, margin)


def _advantages(panel: Panel, T0: Optional[int] = None) -> Iterator[tuple[int, str, Sample]]:
    """By how much DOW is ahead of the plug-in, at each T_0 or at that one."""
    for own in panel.calibrations if T0 is None else [T0]:
        for reward in ("known", "unknown"):
            dow, plug_in = (panel.find(f"{policy}/{reward}", own) for policy in ("dow", "online_plugin"))
            if dow is not None and plug_in is not None:
                yield own, reward, plug_in.regrets.less(dow.regrets)


def _dow_ahead(panels: Sequence[Panel]) -> Iterator[FindingCell]:
    for panel in panels:
        for T0, reward, ahead in _advantages(panel):
            yield _cell(_at(panel, T0), reward, ahead.negative(), ahead.negative())


def _most_at_small(panels: Sequence[Panel]) -> Iterator[FindingCell]:
    for panel in panels:
        for _, reward, late in _advantages(panel, LARGE_CALIBRATION):
            for T0, own, early in _advantages(panel):
                if own == reward and T0 <= SMALL_CALIBRATION:
                    yield _cell(_at(panel, T0), reward, early.less(late), late.less(early))


def _less_in_b(in_a: Sequence[Panel], in_b: Sequence[Panel]) -> Iterator[FindingCell]:
    """The regimes share no draws: not paired, and the two variances add."""
    for panel, other in ((a, b) for a in in_a for b in in_b if a.environment == b.environment):
        found = {(T0, reward): ahead for T0, reward, ahead in _advantages(other)}
        for T0, reward, a in _advantages(panel):
            b = found.get((T0, reward))
            if b is None:
                continue
            half_width = math.hypot(a.interval.half_width, b.interval.half_width)
            difference = Estimate(a.mean - abs(b.mean), half_width)
            holds = below_zero(Estimate(-difference.mean, half_width))
            published = abs(b.published.mean) < abs(a.published.mean) if a.is_published and b.is_published else None
            name = f"{panel.environment}, T0={T0}"
            yield FindingCell(name, reward, difference, holds, difference.mean > 0.0, published)


def findings(panels: Sequence[Panel]) -> list[Finding]:
    """All of them that the panels have cells for."""
    a, b = ([panel for panel in panels if panel.regime == regime] for regime in "AB")
    worst, less = "the worst online Weitzman policy less", "less regret than LinUCB and FrugalGPT"
    frugal = f"FrugalGPT has at least {SUBSTANTIALLY} times the regret of every online Weitzman policy"
    after = f"T_0 = {LARGE_CALIBRATION}"
    # fmt: off
    found: list[tuple[str, str, str, Iterable[FindingCell]]] = [
        ("1a", f"the four online Weitzman policies have {less}", "the worst of the four less the best baseline",
         _orders(panels, ONLINE, BASELINES)),
        ("1b", f"Static Plug-in Weitzman has {less}", "Static Plug-in less the best baseline",
         _orders(panels, ["static_plugin"], BASELINES)),
        ("2", f"DOW at T_0 = 0 has less regret than Static Plug-in, LinUCB and FrugalGPT at any T_0 up to "
         f"{SMALL_CALIBRATION}",
         "DOW less the best of these", _cold_start(panels)),
        ("3a", f"regime A, {after}: FrugalGPT and DOW, known, are within a factor {SUBSTANTIALLY} of each other",
         "FrugalGPT less DOW", _comparable_frugal(a)),
        ("3b", f"regime A, T_0 below 1000: {frugal}", f"{worst} FrugalGPT",
         _orders(a, ONLINE, ["frugalgpt/known"], SUBSTANTIALLY, lambda T0: T0 < LARGE_CALIBRATION)),
        ("3c", f"regime B, every T_0: {frugal}", f"{worst} FrugalGPT",
         _orders(b, ONLINE, ["frugalgpt/known"], SUBSTANTIALLY)),
        ("3d", "regime B: the oracle's order varies with the context: more than one permutation occurs",
         "permutations less 1", _more_than_one(b, boxes=False)),
        ("4a", f"both LinUCB have at least {SUBSTANTIALLY} times the regret of every online Weitzman policy",
         f"{worst} the better LinUCB", _orders(panels, ONLINE, LINUCB, SUBSTANTIALLY)),
        ("4b", "the oracle opens more than one box per period", "boxes less 1", _more_than_one(panels, boxes=True)),
        ("5", f"not knowing the reward costs the online Weitzman policies at most {LARGEST_INCREASE}% of "
         "the oracle's utility",
         "unknown less known", _small_price(panels)),
        ("6a", "regime A: DOW has less regret than Online Plug-in Weitzman", "DOW less plug-in", _dow_ahead(a)),
        ("6b", f"regime A: DOW is further ahead of the plug-in at each T_0 up to {SMALL_CALIBRATION} than at "
         f"{LARGE_CALIBRATION}",
         f"DOW's advantage at T_0 less that at {LARGE_CALIBRATION}", _most_at_small(a)),
        ("6c", "DOW and the plug-in differ less in regime B than DOW is ahead in regime A",
         "DOW's advantage in A less the absolute difference in B, not paired", _less_in_b(a, b)),
    ]
    # fmt: on
    out = [Finding(label, statement, difference, tuple(cells)) for label, statement, difference, cells in found]
    return [finding for finding in out if finding.cells]


@dataclass(frozen=True)
class Price:
    """By how much more is lost where the reward is unknown, mean over the cells of a regime.

    Ours has the interval of Student's t, with the degrees of freedom of one panel. The half-width of the published one
    is 1.96 standard errors: what the scatter of ours, over replications that share all draws, gives in 50. z of the
    difference, p two-sided by the normal law; NaN without a published price.
    """

    policy: str
    regime: str
    cells: int
    ours: Estimate
    standard_error: float
    published: Optional[Estimate]
    z: float
    p: float


def prices(panels: Sequence[Panel]) -> list[Price]:
    """Of the plug-in and DOW in either regime."""
    found = [
        _price([p for p in panels if p.regime == regime], policy, regime)
        for policy in ("online_plugin", "dow")
        for regime in "AB"
    ]
    return [price for price in found if price is not None]


def _price(panels: Sequence[Panel], policy: str, regime: str) -> Optional[Price]:
    cells, mean, published, variance, of_fifty, least = 0, 0.0, 0.0, 0.0, 0.0, math.inf
    for panel in panels:
        total: Optional[Sample] = None  # over T_0, by replication
        for T0 in panel.calibrations:
            known, unknown = (panel.find(f"{policy}/{reward}", T0) for reward in ("known", "unknown"))
            if known is not None and unknown is not None:
                cells += 1
                less = known.regrets.less(unknown.regrets)
                total = less.negative() if total is None else total.less(less)
        if total is not None:
            mean += total.mean
            published += total.published.mean
            variance += total.standard_error**2
            of_fifty += total.standard_error**2 * total.n / PAPER_REPLICATIONS
            least = min(least, total.n)
    if cells == 0:
        return None
    error = math.sqrt(variance) / cells
    ours = Estimate(mean / cells, student_factor(least - 1) * error)
    if math.isnan(published):
        return Price(policy, regime, cells, ours, error, None, UNKNOWN, UNKNOWN)
    theirs = Estimate(published / cells, 1.96 * math.sqrt(of_fifty) / cells)
    joint = math.hypot(1.96 * error, theirs.half_width)
    z = 1.96 * (ours.mean - theirs.mean) / joint if joint != 0.0 else UNKNOWN
    return Price(policy, regime, cells, ours, error, theirs, z, math.erfc(abs(z) / math.sqrt(2.0)))
