"""Compares a folder of results with everything that Section 6.2 publishes, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from .counts import Count, counts
from .findings import Finding, Price, findings, prices
from .numbers import Group, Judgement, Key, Number, by_row, grouped, judge, summarise
from .panels import LEAST_FOR_COMPARISON, Panel

PARTS = ("numbers", "rows", "counts", "findings", "prices")
GROUP_KEYS = ("setting", "environment", "regime", "policy", "reward", "T0")


@dataclass(frozen=True)
class Row:
    """Regrets that belong together, such as a row of Tables 1 and 2: unadjusted and adjusted."""

    names: dict[str, Any]
    plain: Group
    adjusted: Group


@dataclass(frozen=True)
class Verdict:
    """The comparison for one setting."""

    setting: str  # empty where nothing varies
    replications: int  # of the study
    least: int  # that count in the panel with the fewest
    costs: bool  # whether means are adjusted for the costs
    numbers: list[Number]
    rows: list[Row]
    counts: list[Count]
    findings: list[Finding]
    prices: list[Price]


def verdicts(panels: Sequence[Panel], kept: Optional[Mapping[Key, Judgement]] = None) -> list[Verdict]:
    """One for each setting. `kept`: adjusted numbers of a folder whose single replications are not kept."""
    out = []
    for setting in dict.fromkeys(panel.setting for panel in panels):
        own = [panel for panel in panels if panel.setting == setting]
        least = min(panel.n for panel in own)
        numbers = [number for panel in own for number in judge(panel, kept or {})]
        # With fewer replications a half-width is a guess, and so is the count of numbers inside.
        told = len(numbers) > 0 and least >= LEAST_FOR_COMPARISON
        rows = [_row({"policy": p, "reward": r}, of) for (p, r), of in by_row(numbers).items()] if told else []
        found = (numbers, rows, counts(own, numbers) if told else [], findings(own), prices(own))
        replications = max(panel.replications for panel in own)
        out.append(Verdict(setting, replications, least, all(panel.costs for panel in own), *found))
    return out


def _row(names: dict[str, Any], numbers: Sequence[Number]) -> Row:
    return Row(names, summarise(numbers, False), summarise(numbers, True))


def group_rows(found: Sequence[Verdict], keys: Sequence[str]) -> list[Row]:
    """The regrets of all settings, grouped by the keys (GROUP_KEYS); without a key, all of them."""
    groups = grouped((n for verdict in found for n in verdict.numbers), lambda n: tuple(getattr(n, k) for k in keys))
    return [_row(dict(zip(keys, values)), numbers) for values, numbers in groups.items()]
