"""The paper's findings as statements, on regrets that are made to agree or not; the price of an unknown reward."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from made_up import panel_of, published_regret
from pandora_verdict.findings import Finding, findings, prices
from pandora_verdict.sample import NOTHING, Sample, student_factor

ENVIRONMENTS = ("uniform", "gaussian", "student_t5")
# What the paper says, in both regimes.
AS_IN_THE_PAPER = {
    "online_plugin/known": 9.0, "online_plugin/unknown": 9.3, "dow/known": 7.0, "dow/unknown": 7.3,
    "online_plugin/known 1000": 5.6, "online_plugin/unknown 1000": 5.8, "dow/known 1000": 5.0,
    "dow/unknown 1000": 5.2, "static_plugin": 60.0, "frugalgpt/known 50": 30.0, "frugalgpt/known 1000": 6.0,
}  # fmt: skip
IN_B = {
    **AS_IN_THE_PAPER, "frugalgpt/known 1000": 20.0, "online_plugin/known": 7.1, "online_plugin/unknown": 7.4,
    "online_plugin/known 1000": 5.1, "online_plugin/unknown 1000": 5.3,
}  # fmt: skip


def counted(found: list[Finding]) -> dict[str, tuple[int, ...]]:
    """Cells, and those in which it holds, is open, fails."""
    return {f.label: (len(f.cells), *(f.count(holds) for holds in ("yes", "open", "no"))) for f in found}


def test_they_hold_where_they_are_made_to() -> None:
    random = np.random.default_rng(9)
    a = panel_of(random, 40, T0=(0, 50, 1000), means=AS_IN_THE_PAPER)
    b = panel_of(random, 40, "B", T0=(0, 50, 1000), means=IN_B)
    b = replace(b, order=tuple(Sample.of(mean + 0.1 * (np.arange(40) == 3)) for mean in (2.0, 0.9, 0.1)))
    found = findings([a, b])
    # In regime A at T_0 = 1000 FrugalGPT (6.0) is above the worst online policy (5.8).
    cells = {"1a": 6, "2": 4, "3a": 1, "3b": 1, "3c": 2, "3d": 1, "4a": 6, "4b": 2, "5": 12, "6a": 6, "6b": 4, "6c": 6}
    # Static Plug-in at 60 is below LinUCB at 100, and above FrugalGPT.
    assert counted(found) == {"1b": (4, 0, 0, 4), **{label: (n, n, 0, 0) for label, n in cells.items()}}
    assert all(cell.means_agree for finding in found if finding.label != "1b" for cell in finding.cells)


def test_they_fail_and_stay_open_where_they_are_made_to() -> None:
    means = {
        **AS_IN_THE_PAPER,
        "linucb_online 0": 8.0,  # above DOW, below the plug-in
        "frugalgpt/known 1000": 12.0,  # more than 1.5 times DOW's 5.0
        "frugalgpt/known 50": 9.32,  # less than 1.5 times the worst online policy's 9.3
        "dow/unknown": 7.85,  # 0.85 = 0.17% of 500 above the known one: open
        "dow/known 1000": 5.58,  # level with the plug-in: open
    }
    found = findings([panel_of(np.random.default_rng(9), 40, T0=(0, 50, 1000), means=means)])
    expected = {"1a": (3, 1, 1, 1), "2": (2, 2, 0, 0), "3a": (1, 0, 0, 1), "3b": (1, 0, 0, 1), "4a": (3, 2, 0, 1),
                "5": (6, 4, 2, 0), "6a": (6, 5, 1, 0)}  # fmt: skip
    counts = counted(found)
    assert {label: counts[label] for label in expected} == expected
    cell = found[0].cells[0]
    assert (cell.cell, cell.compared) == ("A uniform, T0=0", "online_plugin/unknown less linucb_online")
    assert cell.difference.mean == pytest.approx(1.3, abs=0.1)


def test_differences_are_paired() -> None:
    panel = panel_of(np.random.default_rng(9), 40, means=AS_IN_THE_PAPER)
    cell = next(finding for finding in findings([panel]) if finding.label == "6a").cells[0]
    pair = [panel.find(f"{policy}/known", 0) for policy in ("dow", "online_plugin")]
    assert pair[0] and pair[1] and pair[0].regrets.values is not None and pair[1].regrets.values is not None
    values = pair[0].regrets.values - pair[1].regrets.values
    assert cell.difference.mean == pytest.approx(values.mean())
    assert cell.difference.half_width == pytest.approx(2.022691 * np.std(values, ddof=1) / math.sqrt(40), rel=1e-6)
    assert cell.published_agree is True  # 7.59 < 9.31


def test_by_their_means_the_published_numbers_agree_as_they_do() -> None:
    """Counted by hand in Tables 1 and 2."""
    random = np.random.default_rng(10)
    panels = [panel_of(random, 4, regime, environment) for regime in "AB" for environment in ENVIRONMENTS]
    agree = {f.label: (sum(bool(c.published_agree) for c in f.cells), len(f.cells)) for f in findings(panels)}
    expected = {"5": (48, 48), "6a": (24, 24), "4a": (24, 24), "3a": (3, 3)}
    assert {label: agree[label] for label in expected} == expected
    # The worst online policy has 6.13, 5.40, 6.80 in A at T_0 = 1000, FrugalGPT 5.55, 6.20, 5.13.
    assert agree["1a"] == (22, 24)


def test_a_price_is_the_mean_over_cells_with_errors_by_replication() -> None:
    random = np.random.default_rng(11)
    panels = [panel_of(random, 100), panel_of(random, 80, "A", "gaussian")]
    found = prices(panels)
    assert [(price.policy, price.regime, price.cells) for price in found] == [
        ("online_plugin", "A", 8),
        ("dow", "A", 8),
    ]
    mean = variance = published = theirs = 0.0
    for panel in panels:
        by_replication = np.zeros(panel.n)
        for T0 in (0, 50, 100, 1000):
            for reward, sign in (("unknown", 1), ("known", -1)):
                entry = panel.find(f"online_plugin/{reward}", T0)
                own = published_regret("A", panel.environment, "online_plugin", reward, T0)
                assert entry and own and entry.regrets.values is not None
                by_replication += sign * entry.regrets.values / 8
                published += sign * own.mean / 8
        sample = Sample.of(by_replication)
        mean += sample.mean
        variance += sample.standard_error**2
        theirs += sample.standard_error**2 * panel.n / 50
    price = found[0]
    assert price.standard_error == pytest.approx(math.sqrt(variance))
    assert price.ours == pytest.approx(
        (mean, student_factor(min(panel.n for panel in panels) - 1) * math.sqrt(variance))
    )
    assert price.published == pytest.approx((published, 1.96 * math.sqrt(theirs)))
    assert price.z == pytest.approx((mean - published) / math.sqrt(variance + theirs))
    assert price.p == pytest.approx(math.erfc(abs(price.z) / math.sqrt(2)))
    # Of a horizon that is not the paper's there is no published price.
    other = replace(
        panels[0],
        entries=tuple(
            replace(e, choices=tuple(replace(c, published=NOTHING) for c in e.choices)) for e in panels[0].entries
        ),
    )
    (without, *_) = prices([other])
    assert without.published is None and math.isnan(without.z) and math.isnan(without.p)
