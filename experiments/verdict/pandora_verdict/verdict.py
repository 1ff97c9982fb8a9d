"""A folder of results against everything that Section 6.2 publishes: what is found, as data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from .counts import Count, counts
from .findings import Finding, Price, findings, prices
from .numbers import Group, Judgement, Key, Number, by_row, grouped, judge, summarise
from .panels import LEAST_FOR_COMPARISON, Panel
from .sample import Estimate

PARTS = ("numbers", "rows", "counts", "findings", "prices")
GROUP_KEYS = ("setting", "environment", "regime", "policy", "reward", "T0")
Record = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """Regrets that belong together, such as a row of Tables 1 and 2: unadjusted and adjusted."""

    names: dict[str, Any]
    plain: Group
    adjusted: Group


@dataclass(frozen=True)
class Verdict:
    """All of it for one setting."""

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
    """One for each setting. `kept`: adjusted numbers of a folder whose single replications are not kept any more."""
    out = []
    for setting in dict.fromkeys(panel.setting for panel in panels):
        own = [panel for panel in panels if panel.setting == setting]
        least = min(panel.n for panel in own)
        numbers = [number for panel in own for number in judge(panel, kept or {})]
        # Of fewer replications a half-width is a guess, and so is what is inside.
        told = len(numbers) > 0 and least >= LEAST_FOR_COMPARISON
        rows = [_row({"policy": p, "reward": r}, of) for (p, r), of in by_row(numbers).items()] if told else []
        out.append(
            Verdict(
                setting,
                max(panel.replications for panel in own),
                least,
                all(panel.costs for panel in own),
                numbers,
                rows,
                counts(own, numbers) if told else [],
                findings(own),
                prices(own),
            )
        )
    return out


def _row(names: dict[str, Any], numbers: Sequence[Number]) -> Row:
    return Row(names, summarise(numbers, False), summarise(numbers, True))


def group_rows(found: Sequence[Verdict], keys: Sequence[str]) -> list[Row]:
    """The regrets of all settings, grouped by the keys (GROUP_KEYS); without a key, all of them."""
    groups = grouped((n for verdict in found for n in verdict.numbers), lambda n: tuple(getattr(n, k) for k in keys))
    return [_row(dict(zip(keys, values)), numbers) for values, numbers in groups.items()]


def without_unknown(record: Record) -> Record:
    """None where nothing is known."""
    unknown = [k for k, v in record.items() if v == "" or (isinstance(v, float) and not math.isfinite(v))]
    return {**record, **dict.fromkeys(unknown)}


def _judgement(before: str, judged: Judgement) -> Record:
    return {
        f"{before}ours": judged.ours.mean,
        f"{before}half_width_95": judged.ours.half_width,
        f"{before}published_half_width_95": judged.published_half_width,
        f"{before}z": judged.z,
        f"{before}inside_joint_95": None if math.isnan(judged.z) else judged.inside,
    }


def number_records(found: Verdict) -> list[Record]:
    """A record for each number."""
    return [
        {
            "number": n.kind,
            "regime": n.regime,
            "environment": n.environment,
            "policy": n.policy,
            "reward": n.reward,
            "T0": n.T0,
            "published": n.published.mean,
            **_judgement("", n.plain),
            **_judgement("adjusted_", n.adjusted),
        }
        for n in found.numbers
    ]


def group_record(row: Row) -> Record:
    """Names, and what the regrets say together."""
    out = {**row.names, "cells": row.plain.of}
    for before, group in (("", row.plain), ("adjusted_", row.adjusted)):
        unknown = before != "" and math.isnan(group.rms_z)
        out[f"{before}inside_joint_95"] = None if unknown else group.inside
        out[f"{before}ratio"], out[f"{before}ratio_half_width_95"] = group.ratio
        out[f"{before}rms_z"] = group.rms_z
    return out


def count_records(found: Verdict) -> list[Record]:
    """A record for each set; the first is the paper."""
    out = []
    for count in found.counts:
        sets = [("paper", count.published, count.rms_z)]
        sets += [(f"set {k}", *of) for k, of in enumerate(zip(count.sets, count.sets_rms_z), 1)]
        for name, inside, rms_z in sets:
            told = None if math.isnan(rms_z) else float(inside)
            lead = {"numbers": count.what, "adjusted": count.adjusted, "of": count.of, "published": name}
            out.append({**lead, "inside_joint_95": told, "rms_z": rms_z})
    return out


def finding_records(found: Verdict) -> list[Record]:
    """A record for each cell."""
    return [
        {
            "finding": finding.label,
            "statement": finding.statement,
            "cell": cell.cell,
            "compared": cell.compared,
            "difference_of": finding.difference,
            "difference": cell.difference.mean,
            "half_width_95": cell.difference.half_width,
            "holds": cell.holds,
            "means_agree": cell.means_agree,
            "published_means_agree": cell.published_agree,
        }
        for finding in found.findings
        for cell in finding.cells
    ]


def price_records(found: Verdict) -> list[Record]:
    """A record for each policy and regime."""
    return [
        {
            "policy": price.policy,
            "regime": price.regime,
            "cells": price.cells,
            "ours": price.ours.mean,
            "half_width_95": price.ours.half_width,
            "published": price.published and price.published.mean,
            "published_half_width_95": price.published and price.published.half_width,
            "z": price.z,
            "p": price.p,
        }
        for price in found.prices
    ]


def records(found: Sequence[Verdict], part: str) -> list[Record]:
    """One of the parts with a quantity under each name; None where nothing is known."""
    made = {
        "numbers": number_records,
        "rows": lambda one: [group_record(row) for row in one.rows],
        "counts": count_records,
        "findings": finding_records,
        "prices": price_records,
    }[part]
    lead = [{"setting": one.setting} if len(found) > 1 else {} for one in found]
    return [
        without_unknown({**before, "replications": one.least, **record})
        for before, one in zip(lead, found)
        for record in made(one)
    ]


@dataclass(frozen=True)
class Contrast:
    """A row's regrets less those of the same row at another T_0, or in another setting, on the same tapes."""

    cell: str
    row: str
    here: Estimate
    there: Estimate
    difference: Estimate  # the 95% interval of Student's t, paired


def contrasts(panels: Sequence[Panel], T0: Optional[int]) -> list[Contrast]:
    """Against the same row at T0; without T0, against that of the first setting."""
    out = []
    for panel in panels:
        alike = (p for p in panels if (p.environment, p.regime) == (panel.environment, panel.regime))
        base = panel if T0 is not None else next(alike)
        for entry in panel.entries:
            other = base.find(entry.name, entry.T0 if T0 is None else T0)
            if other is None or other is entry:
                continue
            pair = [entry.regrets, other.regrets]
            if panel.which is not None and base.which is not None:
                _, *which = np.intersect1d(panel.which, base.which, return_indices=True)
                pair = [sample.take(own) for sample, own in zip(pair, which)]
            cell = f"{panel.setting}: {panel.name}" if panel.setting else panel.name
            differ = pair[0].less(pair[1]).t_interval
            out.append(Contrast(f"{cell}, T0={entry.T0}", entry.name, pair[0].interval, pair[1].interval, differ))
    return out


def contrast_records(one: Contrast) -> Record:
    """A record of it."""
    out: Record = {"cell": one.cell, "row": one.row}
    out["regret_x1000"], out["half_width_95"] = one.here
    out["other_x1000"], out["other_half_width_95"] = one.there
    out["difference_x1000"], out["difference_half_width_95"] = one.difference
    return out
