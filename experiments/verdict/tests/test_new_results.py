"""A folder that the engine of today writes."""

from __future__ import annotations

import pathlib

import pytest
from pandora_verdict import read_panels, verdicts

import pandora

STUDY = {
    "replications": 4,
    "periods": 400,
    "T0": [0, 20],
    "environments": ["uniform"],
    "regimes": ["A", "B"],
    "policies": ["online_plugin", "dow", "query_all"],
    "hyperparameters": {"c_rho": [0.1, 1], "c_theta": [0.1]},
    "oracle": {"samples": 2000, "grid": [9, 5, 9], "order_contexts": 50},
}


def test_panels_are_what_the_package_reads(tmp_path: pathlib.Path) -> None:
    results = pandora.run(
        {**STUDY, "vary": {"estimation.refit": ["geometric:1.5", "geometric:2"]}}, out=tmp_path / "r", progress=False
    )
    panels = read_panels(tmp_path / "r")
    assert [(panel.setting.split("=")[-1], panel.name) for panel in panels] == [
        (setting, f"{regime} uniform") for setting in ("geometric:1.5", "geometric:2") for regime in "AB"
    ]
    for panel in panels:
        assert panel.order and panel.utility and not panel.utility.is_published  # 400 periods are not the paper's
        for entry in panel.entries:
            best = results.regret(entry.policy, entry.reward, regime=panel.regime, T0=entry.T0, setting=panel.setting)
            assert entry.regrets.values == pytest.approx(best, rel=1e-9)
    (first, _) = verdicts(panels)
    assert first.findings and not first.numbers


def test_cost_levels_are_expected_costs(tmp_path: pathlib.Path) -> None:
    """Of the boxes that `query_all` opens in every period, over the contexts and costs that it met."""
    results = pandora.run({**STUDY, "periods": 4000}, out=tmp_path / "r", progress=False)
    for panel in read_panels(tmp_path / "r"):
        paid = results.numbers("cost", "query_all", regime=panel.regime, T0=0) / 4000 / 3
        assert panel.costs[0].values == pytest.approx(paid, rel=0.02)
