"""The published numbers against made-up replications: naive twins of z and counts, and coverage."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Optional

import numpy as np
import pytest
from made_up import panel_of
from pandora_verdict.counts import as_published, counts
from pandora_verdict.numbers import by_row, grouped, judge, summarise
from pandora_verdict.panels import Panel
from pandora_verdict.sample import Sample


def test_every_number_has_its_z() -> None:
    panel = panel_of(np.random.default_rng(1), 60)
    numbers = judge(panel)
    assert len(numbers) == 29 + 2  # the paper's regime A, uniform: 29 regrets, utility, boxes
    for number in numbers:
        entry = panel.find(number.row, number.T0 or 0)
        own = entry.regrets if entry else panel.boxes if number.kind == "boxes_queried" else panel.utility
        assert own is not None and own.values is not None
        half_width = 1.96 * np.std(own.values, ddof=1) / math.sqrt(60)
        # The paper gives the boxes without an error: that of 50 replications that scatter as ours.
        theirs = half_width * math.sqrt(60 / 50) if number.kind == "boxes_queried" else number.published.half_width
        difference, joint = np.mean(own.values) - number.published.mean, math.hypot(half_width, theirs)
        assert number.plain.z == pytest.approx(1.96 * difference / joint)
        assert number.plain.inside == (abs(difference) <= joint)
    found = counts([panel], numbers)
    assert [(count.of, len(count.sets)) for count in found] == [(29, 0), (29, 0), (31, 0), (31, 0)]


def test_of_few_replications_less_is_said() -> None:
    panel = panel_of(np.random.default_rng(6), 30)
    for n, plain, adjusted in ((9, False, False), (10, True, False), (29, True, False), (30, True, True)):
        for number in judge(panel.take(np.arange(n))):
            assert math.isnan(number.plain.z) != plain
            assert math.isnan(number.adjusted.ours.mean) != adjusted


def test_a_set_of_fifty_chooses_its_own_hyperparameters() -> None:
    panel = panel_of(np.random.default_rng(2), 150, "B", "gaussian", [0])
    first = np.arange(150) < 50  # choice 0 is best over all, 1 in the first fifty
    published = panel.entries[2].regrets.published
    choices = tuple(Sample.of(np.where(first, a, b), published) for a, b in ((8.0, 2.0), (5.0, 4.0), (9.0, 9.0)))
    panel = replace(panel, entries=tuple(replace(e, choices=choices) for e in panel.entries if e.name == "dow/known"))
    assert panel.entries[0].regrets is choices[0]
    few = panel.take(np.arange(50))
    found = as_published(panel, few)
    assert found.entries[0].regrets.published == pytest.approx((5.0, 0.0))
    assert few.utility and found.utility
    assert found.utility.published == pytest.approx([round(100 * value) / 100 for value in few.utility.as_published])


def _inside(panel: Panel, ours: list[int], theirs: Optional[list[int]]) -> int:
    """Regrets inside, from nothing, if the sets `theirs` had been published and `ours` were ours."""
    inside, set_of = 0, np.arange(panel.n) // 50
    for entry in panel.entries:
        sides = [entry.regrets.published] * 2
        for side, sets in enumerate((ours, theirs)):
            if sets is not None:
                found = [c.values[np.isin(set_of, sets)] for c in entry.choices if c.values is not None]
                best = min(found, key=np.mean)
                mean, half = float(np.mean(best)), 1.96 * float(np.std(best, ddof=1)) / math.sqrt(len(best))
                sides[side] = (mean, half) if side == 0 else (round(100 * mean) / 100, round(100 * half) / 100)  # type: ignore[call-overload]
        (a, wide_a), (b, wide_b) = sides
        inside += abs(a - b) <= math.hypot(wide_a, wide_b)
    return inside


def test_counts_of_sets_are_those_of_their_twin() -> None:
    random = np.random.default_rng(3)
    panels = [panel_of(random, 170), panel_of(random, 160, "B", "student_t5")]
    found = counts(panels, [number for panel in panels for number in judge(panel)])
    assert [count.what for count in found[3:]] == ["all numbers", *["regrets, 50 of ours"] * 2]
    # The last replications, which make no set of 50, are among the others.
    others = [[k for k in range(4) if k != own] for own in range(3)]
    assert found[0].sets == tuple(sum(_inside(p, others[k], [k]) for p in panels) for k in range(3))
    assert found[4].sets == tuple(sum(_inside(p, [(k + 1) % 3], [k]) for p in panels) for k in range(3))
    assert found[4].published == pytest.approx(sum(_inside(p, [k], None) for p in panels for k in range(3)) / 3)


def test_ratios_are_covered_where_instances_are_shared() -> None:
    """Errors of the published numbers move together over T_0, which a sum of independent ones would not see."""
    random, trials = np.random.default_rng(4), 300
    covered, too_narrow, widths = np.zeros(2), 0, np.zeros(2)
    for _ in range(trials):
        panel = panel_of(random, 200, "A", "gaussian")
        numbers = judge(as_published(panel.take(np.arange(50, 200)), panel.take(np.arange(50))))
        row = by_row(numbers)["online_plugin", "known"]  # without a choice of hyperparameters
        assert len(row) == 4
        ratios = [summarise(row, adjusted).ratio for adjusted in (False, True)]
        covered += [abs(ratio.mean - 1) <= ratio.half_width for ratio in ratios]
        widths += [ratio.half_width for ratio in ratios]
        alone = [
            math.hypot(1.96 * n.plain.standard_error, n.published.half_width) / (4 * n.published.mean) for n in row
        ]  # as if the four cells shared nothing
        too_narrow += abs(ratios[0].mean - 1) > math.hypot(*alone)
    assert covered / trials == pytest.approx([0.95] * 2, abs=3 * math.sqrt(0.95 * 0.05 / trials))
    assert too_narrow / trials > 0.12
    assert widths[1] < 0.9 * widths[0]


def test_adjusted_numbers_have_z_of_variance_one() -> None:
    """The header of the sample that was published explains part of its luck."""
    random, trials = np.random.default_rng(5), 400
    squares = np.zeros(2)
    for _ in range(trials):
        panel = panel_of(random, 150, T0=[0])
        number = judge(as_published(panel.take(np.arange(50, 150)), panel.take(np.arange(50))))[0]
        squares += np.square([number.plain.z, number.adjusted.z]) / trials
        assert number.adjusted.published_half_width < number.plain.published_half_width
    # z^2 of estimated errors has a mean of about 1 + 2 / 50 and, as 1 for normal z, a standard deviation of sqrt(2).
    assert squares == pytest.approx([1.04] * 2, abs=3 * math.sqrt(2 / trials))


def test_groups_are_of_what_their_keys_say() -> None:
    random = np.random.default_rng(7)
    numbers = [n for regime in "AB" for n in judge(panel_of(random, 40, regime))]
    groups = grouped(numbers, lambda number: (number.regime, number.T0))
    assert list(groups) == [(regime, T0) for regime in "AB" for T0 in (0, 50, 100, 1000)]
    group, own = summarise(groups["B", 50], False), groups["B", 50]
    assert group.rms_z == pytest.approx(math.sqrt(np.mean([n.plain.z**2 for n in own])))
    assert group.ratio.mean == pytest.approx(np.mean([n.plain.ours.mean / n.published.mean for n in own]))
    assert group.inside == sum(n.plain.inside for n in own)
