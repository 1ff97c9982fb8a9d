"""A verdict for programs: a quantity under each name, for CSV and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .contrasts import Contrast
from .numbers import Judgement
from .sample import NOTHING
from .verdict import Row, Verdict

Record = dict[str, Any]


def without_unknown(record: Record) -> Record:
    """Replaces unknown numbers by None."""
    unknown = [k for k, v in record.items() if v == "" or (isinstance(v, float) and not math.isfinite(v))]
    return {**record, **dict.fromkeys(unknown)}


def _named(names: str, *values: Any) -> Record:
    return dict(zip(names.split(), values))


def _judgement(before: str, judged: Judgement) -> Record:
    inside = None if math.isnan(judged.z) else judged.inside
    names = "ours half_width_95 standard_error published_half_width_95 z inside_joint_95"
    record = _named(names, *judged.ours, judged.standard_error, judged.published_half_width, judged.z, inside)
    return {before + name: value for name, value in record.items()}


def number_records(found: Verdict) -> list[Record]:
    """A record for each number."""
    names = "number regime environment policy reward T0 published"
    return [
        _named(names, n.kind, n.regime, n.environment, n.policy, n.reward, n.T0, n.published.mean)
        | _judgement("", n.plain)
        | _judgement("adjusted_", n.adjusted)
        for n in found.numbers
    ]


def group_record(row: Row) -> Record:
    """The names of the row, and the summary of its regrets."""
    out = {**row.names, "cells": row.plain.of}
    for before, group in (("", row.plain), ("adjusted_", row.adjusted)):
        unknown = before != "" and math.isnan(group.rms_z)
        out[f"{before}inside_joint_95"] = None if unknown else group.inside
        out[f"{before}ratio"], out[f"{before}ratio_half_width_95"] = group.ratio
        out[f"{before}rms_z"] = group.rms_z
    return out


def count_records(found: Verdict) -> list[Record]:
    """A record for each set; the first is the paper."""
    names = "numbers adjusted of published inside_joint_95 rms_z"
    out = []
    for count in found.counts:
        sets = [("paper", count.published, count.rms_z)]
        sets += [(f"set {k}", *of) for k, of in enumerate(zip(count.sets, count.sets_rms_z), 1)]
        for name, inside, rms_z in sets:
            told = None if math.isnan(rms_z) else float(inside)
            out.append(_named(names, count.what, count.adjusted, count.of, name, told, rms_z))
    return out


def finding_records(found: Verdict) -> list[Record]:
    """A record for each cell."""
    names = "finding statement cell compared difference_of difference half_width_95 holds means_agree"
    return [
        _named(names, f.label, f.statement, c.cell, c.compared, f.difference, *c.difference, c.holds, c.means_agree)
        | {"published_means_agree": c.published_agree}
        for f in found.findings
        for c in f.cells
    ]


def price_records(found: Verdict) -> list[Record]:
    """A record for each policy and regime."""
    names = "policy regime cells ours half_width_95 standard_error published published_half_width_95 z p"
    return [
        _named(names, p.policy, p.regime, p.cells, *p.ours, p.standard_error, *(p.published or NOTHING), p.z, p.p)
        for p in found.prices
    ]


def records(found: Sequence[Verdict], part: str) -> list[Record]:
    """One of the parts, with a name for each quantity; None for unknown numbers."""
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


def contrast_records(one: Contrast) -> Record:
    """A record of it."""
    names = "regret_x1000 half_width_95 other_x1000 other_half_width_95 difference_x1000 difference_half_width_95"
    return _named(f"cell row {names}", one.cell, one.row, *one.here, *one.there, *one.difference)
