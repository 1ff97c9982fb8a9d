"""A verdict as tables for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Union

import numpy as np

from .contrasts import Contrast
from .counts import Count
from .numbers import LEAST_FOR_ADJUSTMENT, Judgement, Number
from .panels import LEAST_FOR_COMPARISON
from .sample import Estimate
from .tables import Cell, Table, number, p_value, plus_minus
from .verdict import Row, Verdict

FEW_REPLICATIONS = 20
NAMES = {
    "oracle_utility_x1000": "oracle's utility",
    "boxes_queried": "boxes opened by the oracle",
    "permutations": "permutations",
    "max_mass": "greatest mass",
    "min_mass": "least mass",
}


def verdict_tables(found: Verdict, only: str = "") -> list[Table]:
    """Tables of numbers, rows, counts, findings, findings that do not hold, and prices; `only`: one of them by name."""
    exceptions = any(finding.count("yes") < len(finding.cells) for finding in found.findings)
    made = [
        ("numbers", found.numbers, _numbers),
        ("rows", found.rows, _rows),
        ("counts", found.counts, _counts),
        ("findings", found.findings, _findings),
        ("findings", exceptions, _exceptions),
        ("prices", found.prices, _prices),
    ]
    tables = [make(found) for part, there, make in made if there and only in ("", part)]
    for table in tables:
        table.title = f"{found.setting}: {table.title}" if found.setting else table.title
    return tables


def _warning(found: Verdict) -> list[str]:
    """A warning about standard errors of few replications."""
    text = "z takes standard errors at their word: of {} replications they are often too small, and |z| too large."
    return [text.format(found.least)] if found.least < FEW_REPLICATIONS else []


def _z(judged: Judgement) -> Cell:
    return Cell(number(judged.z), not math.isnan(judged.z) and not judged.inside)


def _name(n: Number) -> str:
    return f"{n.row}, T0={n.T0}" if n.is_regret else NAMES[n.kind]


def _numbers(found: Verdict) -> Table:
    table = Table(
        "numbers",
        f"Published numbers: ours of {found.least} replications ± 95% (Student's t), the paper's ± 1.96 standard "
        "errors, and the difference in standard errors of both",
        ["number", "ours", "published", "z", "adjusted", "published ", "z adjusted"],
    )
    panel = ""
    for n in found.numbers:
        if f"{n.regime} {n.environment}" != panel:
            panel = f"{n.regime} {n.environment}"
            table.rows.append(f"regime {panel}")
        decimals = 3 if n.kind in ("boxes_queried", "max_mass", "min_mass") else 2
        cells: list[Union[str, Cell]] = []
        for judged in (n.plain, n.adjusted):
            published = Estimate(n.published.mean, judged.published_half_width)
            cells += [plus_minus(judged.ours, decimals), plus_minus(published), _z(judged)]
        table.add(_name(n), *cells)
    costs = ", corrected for the costs that we happened to draw" if found.costs else ""
    table.notes = [
        "Regrets and utilities x 1000. Bold: outside the joint 95% interval. Regrets are those of the hyperparameter "
        "with the least mean, on either side.",
        "adjusted: what our replications predict for 50 whose oracle has the published utility and boxes"
        f"{costs}; the published half-width is then what these leave open. From {LEAST_FOR_ADJUSTMENT} replications "
        "on.",
        "boxes: the paper gives no half-width; what our scatter gives in 50 replications stands in.",
    ]
    few = f"z is told from {LEAST_FOR_COMPARISON} replications on."
    table.notes += [few] if found.least < LEAST_FOR_COMPARISON else _warning(found)
    return table


def group_table(label: str, title: str, rows: Sequence[Row], names: Sequence[str]) -> Table:
    """Rows with names of their own, and the summary of each row's regrets."""
    columns = ["inside", "ratio", "rms of z", "inside, adjusted", "ratio, adjusted", "rms of z, adjusted"]
    table = Table(label, title, [*names, *columns], headers=len(names))
    for row in rows:
        cells = []
        for group in (row.plain, row.adjusted):
            unknown = group is row.adjusted and math.isnan(group.rms_z)
            inside = "---" if unknown else f"{group.inside} of {group.of}"
            cells += [inside, plus_minus(group.ratio, 3), number(group.rms_z)]
        named = names[0] in row.names
        lead = [str(row.names[name]) for name in names] if named else ["/".join(filter(None, row.names.values()))]
        table.add(*lead, *cells)
    table.notes = [
        "The four T_0 of a panel share instances: the errors of its published numbers are taken to be correlated over "
        "T_0 as ours are, which the paper's one oracle utility per panel suggests; panels are independent."
    ]
    return table


def _rows(found: Verdict) -> Table:
    title = "Ours / published, mean over the cells of a row, ± 95% (Student's t) by the standard errors of both"
    return group_table("rows", title, found.rows, ["row"])


def _counts(found: Verdict) -> Table:
    table = Table(
        "counts",
        "Numbers inside the joint 95% interval, and how many would be if 50 of our own replications had been published",
        ["numbers", "of", "inside, paper", "own sets", "mean", "least", "greatest", "at or below", "rms z, paper",
         "rms z, own sets"],
    )  # fmt: skip
    for count in found.counts:
        paper = "---" if math.isnan(count.rms_z) else f"{count.published:.4g}"
        name = count.what + (", adjusted" if count.adjusted else "")
        table.add(name, str(count.of), paper, str(len(count.sets)), *_of_sets(count))
    table.notes = [
        "own sets: disjoint sets of 50 of our replications, each in the place of the published numbers (its best "
        "hyperparameters chosen on it, printed to two decimals) against our other replications.",
        "50 of ours: the paper's count is the mean over our sets, each as if it were all that we had; own sets are "
        "judged against one other.",
    ]
    if found.counts and not found.counts[0].sets:
        table.notes.append("Sets take 100 replications at least.")
    return table


def _of_sets(count: Count) -> list[str]:
    rms = number(count.rms_z)
    if not count.sets:
        return ["---"] * 4 + [rms, "---"]
    below = sum(inside <= count.published for inside in count.sets)
    mean = number(float(np.mean(count.sets)), 1)
    return [mean, str(min(count.sets)), str(max(count.sets)), str(below), rms, number(float(np.mean(count.sets_rms_z)))]


def _findings(found: Verdict) -> Table:
    table = Table(
        "findings",
        "The findings of Section 6.2: in how many cells the 95% interval says that they hold, leaves it open, or says "
        "that they fail",
        ["finding", "cells", "holds", "open", "fails", "by means", "published means"],
    )
    for finding in found.findings:
        table.rows.append(f"{finding.label}: {finding.statement}")
        means = sum(cell.means_agree for cell in finding.cells)
        told = [cell.published_agree for cell in finding.cells if cell.published_agree is not None]
        judged = [finding.count(holds) for holds in ("yes", "open", "no")]
        counts = [len(finding.cells), *(["---"] * 3 if finding.count("") else judged), means]
        table.add(finding.label, *map(str, counts), f"{sum(told)} of {len(told)}" if told else "---")
    table.notes = [
        "by means: cells in which the means alone agree. Each interval stands by itself: of many cells in which a "
        "claim is just false, one in forty seems to hold.",
        'The paper says "generally", "low", "comparable", "substantially", "small": the statements say what is meant '
        "here. CSV and JSON have every cell.",
    ]
    return table


def _exceptions(found: Verdict) -> Table:
    table = Table(
        "exceptions",
        "Cells in which a finding does not hold or is open: differences, paired over replications, with 95% intervals",
        ["cell", "difference", "judgement", "published means", "compared"],
    )
    for finding in found.findings:
        cells = [cell for cell in finding.cells if cell.holds in ("no", "open")]
        if cells:
            table.rows.append(f"{finding.label}: {finding.difference}")
        for cell in cells:
            published = {None: "---", True: "agree", False: "do not agree"}[cell.published_agree]
            judged = "fails" if cell.holds == "no" else cell.holds
            table.add(cell.cell, plus_minus(cell.difference), judged, published, cell.compared)
    return table


def _prices(found: Verdict) -> Table:
    table = Table(
        "prices",
        "The price of an unknown reward: regret x 1000, unknown less known, mean over the cells of a regime, ours ± "
        "95% (Student's t), the paper's ± 1.96 standard errors",
        ["policy", "regime", "cells", "ours", "published", "z", "p"],
        headers=2,
    )
    for price in found.prices:
        published = plus_minus(price.published, 3) if price.published else "---"
        ours = plus_minus(price.ours, 3)
        table.add(price.policy, price.regime, str(price.cells), ours, published, number(price.z), p_value(price.p))
    table.notes = [
        "The paper gives no error of a difference: its standard error is what the scatter of ours, over replications "
        "that share all draws, gives in 50 replications.",
        *_warning(found),
    ]
    return table


def contrast_table(found: Sequence[Contrast], against: str) -> Table:
    """Paired differences with their intervals."""
    title = f"Regret x 1000 less that of the same row at {against}, paired over replications, with 95% intervals"
    table = Table("contrasts", title, ["cell", "row", "regret", against, "difference"], headers=2)
    for one in found:
        table.add(one.cell, one.row, *map(plus_minus, (one.here, one.there, one.difference)))
    return table
