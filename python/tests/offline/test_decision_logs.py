"""Logs of decisions: estimators compared with naive loops, logs with known truth, and refusals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from made_up_logs import (
    MODELS,
    Row,
    World,
    by_tosses,
    hashed_groups,
    in_order,
    labelled,
    log_of,
    service,
    source_of,
    standard_error,
)

from pandora.errors import DataError
from pandora.offline.apart import Law, cautious_single, fit_log_apart, means_of
from pandora.offline.call_log import CallLog, Openings
from pandora.offline.estimate import Estimate
from pandora.offline.groups import FOLDS, Floats
from pandora.offline.kinds import Aim, AimKind
from pandora.offline.log_fit import fit_thresholds_to_log
from pandora.offline.outcomes import Outcomes
from pandora.offline.paths import (
    PRIOR_RESIDUAL,
    Estimator,
    LabelNoise,
    LoggedWalks,
    LogReader,
    LogSupport,
    PolicyEstimate,
    require_possible,
)
from pandora.offline.policies.order import Order
from pandora.offline.sources.first_calls import first_call_estimates
from pandora.offline.sources.labels import dependence_notes
from pandora.offline.sources.log import LogSearch, LogSource, PreparedLog, faults_of_first_calls, sums_ended_at

PRICE = 40.0
AIM = Aim(AimKind.PRICE, PRICE)
CASCADE = Order((0, 1, 2), (0.62, 0.6))


def judged_on(
    rows: list[Row],
    order: Order = CASCADE,
    how: Estimator = Estimator.DR,
    openings: Openings = Openings.IN_ORDER,
    judge_usd: float = 0.0,
) -> PolicyEstimate:
    """Tests an order, whose models are numbered as in MODELS, on uncalibrated scores."""
    source = source_of(rows, openings, judge_usd=judge_usd)
    return estimate(source, order, how)


def estimate(source: LogSource, order: Order, how: Estimator = Estimator.DR) -> PolicyEstimate:
    assert source.shown is not None
    here = Order(tuple(source.models.index(MODELS[m]) for m in order.order), order.thresholds)
    walk = here.walk(Outcomes(source.shown, source.log.quality, source.log.usd))
    judged = np.full(source.log.rows, here.looks_at_answers)
    reader = LogReader(source.log, source.reader.guess, source.shown, how)
    return reader.estimate(LoggedWalks.of(source.log, walk.called, walk.deployed, judged), chosen=False)


def naive(source: LogSource, order: Order, how: Estimator) -> tuple[list[float], list[float]]:
    """Quality and dollars of each row, by loops over rows and calls. For SNIPS they are multiplied by the weights."""
    log, reader = source.log, source.reader
    assert source.shown is not None
    here = [source.models.index(MODELS[m]) for m in order.order]
    paths: list[dict[str, Any]] = []
    for row in range(log.rows):
        ratio, worth, usd, best, deployed, left = [], [0.0], [0.0], -math.inf, here[0], False
        for position, model in enumerate(here):
            place = log.place[row, model]
            if not (place == position + 1 if log.openings is Openings.IN_ORDER else place == place):
                ratio.append(0.0)
                left = True
                break
            ratio.append(1.0 / log.propensity[row, model])
            seen = float(source.shown[row, model])
            worth.append(max(worth[-1], seen))
            usd.append(usd[-1] + float(log.usd[row, model]) + log.judge_usd)
            if seen > best:
                best, deployed = seen, model
            if position < len(order.thresholds) and seen >= order.thresholds[position]:
                break
        while len(ratio) < len(here):
            ratio.append(1.0)
        while len(worth) <= len(here):
            worth.append(worth[-1])
            usd.append(usd[-1])
        guess = 0.0 if left else float(reader.guess[row, deployed])
        quality = float(log.quality[row, deployed])
        known = not left and quality == quality
        label = 1.0 if left else 1.0 / float(log.label_probability[row, deployed]) if known else 0.0
        end_of_path = quality if known else guess
        paths.append(dict(ratio=ratio, worth=worth, usd=usd, guess=guess, label=label, end=end_of_path))

    def weight(path: dict[str, Any], steps: int) -> float:
        return float(math.prod(path["ratio"][:steps]))

    def rest(row: int, step: int, seen: str, end: Callable[[dict[str, Any]], float]) -> float:
        others = [path for other, path in enumerate(paths) if log.folds[other] != log.folds[row]]
        total = sum(weight(path, len(here)) for path in others)
        return (
            sum(weight(path, len(here)) * (end(path) - path[seen][step]) for path in others) / total if total else 0.0
        )

    out: tuple[list[float], list[float]] = ([], [])
    for row, path in enumerate(paths):
        steps = len(here)
        last = weight(path, steps)
        if how is not Estimator.DR:
            out[0].append(last * path["label"] * path["end"])
            out[1].append(last * path["usd"][-1])
            continue
        for values, name in zip(out, ("worth", "usd")):

            def end(of: dict[str, Any], name: str = name) -> float:
                return float(of["guess"] if name == "worth" else of["usd"][-1])

            v = [path[name][t] + rest(row, t, name, end) for t in range(steps)] + [end(path)]
            value = v[0] + sum(weight(path, t + 1) * (v[t + 1] - v[t]) for t in range(steps))
            values.append(value + last * path["label"] * (path["end"] - v[-1]) if name == "worth" else value)
    return out


@pytest.mark.parametrize("how", [Estimator.IPS, Estimator.DR])
@pytest.mark.parametrize("openings", [Openings.IN_ORDER, Openings.INDEPENDENT])
def test_estimators_are_what_loops_say(how: Estimator, openings: Openings) -> None:
    world = World.drawn(1, 120)
    tosses = openings is Openings.INDEPENDENT
    rows = by_tosses(world, 2, (1.0, 0.7, 0.6)) if tosses else in_order(world, 2, (0.7, 0.2, 0.1), 0.8)
    source = source_of(labelled(rows, 3, lambda row: 0.6), openings, judge_usd=0.0002)
    found = estimate(source, CASCADE, how)
    quality, usd = naive(source, CASCADE, how)
    assert found.quality.value == pytest.approx(np.mean(quality), abs=1e-12)
    assert found.usd.value == pytest.approx(np.mean(usd), abs=1e-15)
    # The amount by which each prompt moves the estimate. Here every prompt has one row.
    whole = Estimate.mean(np.array(quality), source.log.groups)
    assert found.quality.error == pytest.approx(whole.error, rel=1e-9)


def test_weights_that_are_normalised_by_themselves_are_the_ratio_of_two_sums() -> None:
    source = source_of(in_order(World.drawn(4, 200), 5, (0.7, 0.2, 0.1), 0.8))
    weighted, _ = naive(source, CASCADE, Estimator.SNIPS)
    ones = replace(source.log, quality=np.where(np.isnan(source.log.quality), np.nan, 1.0))
    weights = LogReader(ones, np.ones_like(source.reader.guess), source.reader.answer_values, Estimator.IPS)
    assert source.shown is not None
    here = Order(tuple(source.models.index(MODELS[m]) for m in CASCADE.order), CASCADE.thresholds)
    walk = here.walk(Outcomes(source.shown, source.log.quality, source.log.usd))
    walks = LoggedWalks.of(source.log, walk.called, walk.deployed, np.ones(source.log.rows, bool))
    mean_weight = weights.estimate(walks, chosen=False).quality.value
    assert estimate(source, CASCADE, Estimator.SNIPS).quality.value == pytest.approx(np.mean(weighted) / mean_weight)


def test_sums_by_thresholds_are_those_of_loops() -> None:
    draw = np.random.default_rng(7)
    rows, counts = 50, [3, 4]
    reached = [draw.integers(0, count + 1, rows) for count in counts]
    values = [[draw.normal(size=rows), draw.random(rows)] for _ in range(3)]
    found = sum(sums_ended_at(position, reached, counts, of) for position, of in enumerate(values))
    for i, j in itertools.product(range(3), range(4)):
        for kind in range(2):
            total = 0.0
            for row in range(rows):
                position = 0 if reached[0][row] > i else 1 if reached[1][row] > j else 2
                total += values[position][kind][row]
            assert np.asarray(found)[kind, i, j] == pytest.approx(total, abs=1e-12)


def test_the_search_rates_every_order_as_a_walk_through_the_log_does() -> None:
    source = source_of(in_order(World.drawn(8, 500), 9, (0.6, 0.2, 0.2), 0.8))
    rows = np.arange(source.log.rows)
    prepared = PreparedLog(source, rows)
    search = LogSearch(prepared, PRICE)
    found = search.best()
    assert found is not None
    best, most = None, -math.inf
    reader = LogReader(source.log, source.reader.guess, source.reader.answer_values, Estimator.SNIPS)
    for length in (1, 2, 3):
        for order in itertools.permutations(range(3), length):
            all_made = np.all(source.log.place[:, order] == np.arange(1, length + 1), axis=1)
            if np.count_nonzero(all_made) < 10:
                continue
            for thresholds in itertools.product(*(search.thresholds[m].tolist() for m in order[:-1])):
                walks = prepared.walks(Order(order, thresholds))
                weights = np.where(walks.diverged, 0.0, 1.0)
                for t in range(walks.cells.shape[1]):
                    made = walks.cells[:, t] >= 0
                    at = np.maximum(walks.cells[:, t], 0)
                    weights = weights * np.where(made, 1.0 / np.where(made, source.log.propensity[rows, at], 1.0), 1.0)
                if not weights.any():
                    continue
                mean = weights.sum() / len(rows)
                spread = math.sqrt(max(0.0, (np.sum(weights**2) / weights.sum() - mean) / len(rows)))
                effective = weights.sum() ** 2 / np.sum(weights**2)
                least = 30.0 if length == 1 else max(30.0, 2.0 * math.sqrt(len(rows)))
                if abs(mean - 1.0) > 3.0 * spread + 1e-9 or effective < least:
                    continue
                utility = reader.estimated[rows, walks.deployed] - PRICE * np.where(
                    walks.cells >= 0, source.log.usd[rows[:, None], np.maximum(walks.cells, 0)], 0.0
                ).sum(axis=1)
                utility = np.where(weights > 0.0, utility, 0.0)
                value = np.sum(weights * utility) / weights.sum()
                error = math.sqrt(np.sum(weights**2 * (utility - value) ** 2)) / weights.sum()
                if value - 2.0 * error > most + 1e-12:
                    best, most = Order(order, tuple(thresholds)), value - 2.0 * error
    assert found == best


def test_laws_apart_are_those_of_all_combinations() -> None:
    draw = np.random.default_rng(3)
    laws = []
    for _ in range(3):
        seen = np.sort(np.round(draw.random(6), 1))
        laws.append(Law(np.arange(6), seen, draw.random(6), draw.random(6), 1.0 + draw.random(6)))
    order, judge = Order((2, 0, 1), (0.6, 0.5)), 0.25
    quality = usd = calls = 0.0
    for draws in itertools.product(range(6), repeat=3):
        p = math.prod(laws[m].weight[k] / laws[m].total for m, k in enumerate(draws))
        best, deployed, spent, made = -math.inf, 0.0, 0.0, 0
        for position, model in enumerate(order.order):
            law, k = laws[model], draws[model]
            spent, made = spent + law.usd[k] + judge, made + 1
            if law.seen[k] > best:
                best, deployed = law.seen[k], law.quality[k]
            if position < 2 and law.seen[k] >= order.thresholds[position]:
                break
        quality, usd, calls = quality + p * deployed, usd + p * spent, calls + p * made
    assert means_of(order, laws, judge) == pytest.approx([quality, usd, calls], abs=1e-12)
    alone = means_of(Order((1,)), laws, judge)
    assert alone == pytest.approx(
        [np.average(x, weights=laws[1].weight) for x in (laws[1].quality, laws[1].usd)] + [1.0]
    )


Maker = Callable[[World, int], list[Row]]


def many(make: Maker, how: Estimator, openings: Openings, count: int = 24) -> tuple[list[float], list[float], Floats]:
    """The estimates of a cascade's quality and dollars from many logs of one world, and the truth."""
    world = World.drawn(11, 400)
    found = [judged_on(make(world, 100 + seed), CASCADE, how, openings) for seed in range(count)]
    return [f.quality.value for f in found], [f.usd.value for f in found], world.worth(CASCADE)


LOGS: dict[str, tuple[Maker, Openings]] = {
    "in order": (lambda w, seed: in_order(w, seed, (0.6, 0.2, 0.2), 0.8), Openings.IN_ORDER),
    "labels": (
        lambda w, seed: labelled(in_order(w, seed, (0.6, 0.2, 0.2), 0.8), seed, lambda r: 0.3 + 0.5 * r["score"]),
        Openings.IN_ORDER,
    ),
    "tosses": (lambda w, seed: by_tosses(w, seed, (1.0, 0.6, 0.5)), Openings.INDEPENDENT),
    "tosses that may call nothing": (lambda w, seed: by_tosses(w, seed, (0.5, 0.5, 0.5)), Openings.INDEPENDENT),
    "tosses by the prompt": (lambda w, seed: by_tosses(w, seed, (0.5, 0.4, 0.5), 0.2), Openings.INDEPENDENT),
}


@pytest.mark.parametrize("how", [Estimator.IPS, Estimator.DR])
@pytest.mark.parametrize("kind", LOGS)
def test_estimates_are_unbiased(kind: str, how: Estimator) -> None:
    qualities, usd, truth = many(*LOGS[kind][:1], how, LOGS[kind][1])
    assert abs(np.mean(qualities) - truth[0]) < 3.0 * standard_error(qualities)
    assert abs(np.mean(usd) - truth[1]) < 3.0 * standard_error(usd)


def test_tosses_that_may_call_nothing_are_not_refused_and_not_told_too_high() -> None:
    world = World.drawn(12, 4000)
    rows = by_tosses(world, 13, (0.4, 0.4, 0.4))
    source = source_of(rows, Openings.INDEPENDENT)
    silent = 0.6**3
    assert source.log.rows < 4000 * (1.0 - silent) + 200
    found = estimate(source, CASCADE, Estimator.IPS)
    assert found.support.fault("it", True, Openings.INDEPENDENT) == ""
    assert found.support.mean == pytest.approx(1.0, abs=0.1)
    assert any("21.6%" in note and "no row" in note for note in source.notes)
    # If rows were taken for all decisions, the log would be refused, and its IPS would be too high by 1 / (1 - P).
    taken = LogSource(replace(source.log, stands_for=source.log.sampling), "score", source.shown, source.reader.guess)
    wrong = estimate(taken, CASCADE, Estimator.IPS)
    assert "propensities are wrong" in wrong.support.fault("it", True, Openings.INDEPENDENT)
    assert wrong.quality.value == pytest.approx(found.quality.value / (1.0 - silent), rel=1e-9)
    # The propensities in the rows must still be right.
    halved = [{**row, "propensity": row["propensity"] / 2.0} for row in rows]
    assert "and not 1" in judged_on(halved, CASCADE, Estimator.DR, Openings.INDEPENDENT).support.fault("it")


def test_what_a_row_stands_for_is_known_where_propensities_are_the_same_for_all_prompts() -> None:
    world = World.drawn(14, 500)
    log, _ = log_of(by_tosses(world, 15, (0.5, 0.25, 0.5)), Openings.INDEPENDENT)
    assert log.stands_for == pytest.approx(np.full(log.rows, 1.0 / (1.0 - 0.5 * 0.75 * 0.5)))
    log, _ = log_of(by_tosses(world, 15, (1.0, 0.25, 0.5), 0.2), Openings.INDEPENDENT)
    sure, _ = log_of(by_tosses(world, 15, (1.0, 0.25, 0.5)), Openings.INDEPENDENT)
    assert sure.stands_for == pytest.approx(np.ones(sure.rows))
    assert log.stands_for.sum() == pytest.approx(500, rel=0.05)


def thinned(count: int, seed: int, told: bool) -> list[Row]:
    """A log with one call in each decision, from which three of four failures were dropped, as a column says (case
    26).
    """
    draw, out = np.random.default_rng(seed), []
    for prompt in range(count):
        model = int(draw.random() < 0.5)
        right = bool(draw.random() < (0.6, 0.4)[model])
        dropped = 0.0 if right else 0.75
        if draw.random() < dropped:
            continue
        row: Row = {
            "prompt_id": f"p{prompt}",
            "model": MODELS[model],
            "quality": float(right),
            "cost": 0.001,
            "score": float(draw.random()),
            "propensity": 0.5,
        }
        out.append({**row, "pdrop": dropped} if told else row)
    return out


@pytest.mark.parametrize("how", [Estimator.IPS, Estimator.SNIPS, Estimator.DR])
def test_a_log_that_was_thinned_counts_what_was_dropped(how: Estimator) -> None:
    found = [judged_on(thinned(1200, seed, True), Order((0,)), how) for seed in range(30)]
    values = [f.quality.value for f in found]
    assert abs(np.mean(values) - 0.6) < 3.0 * standard_error(values) + 0.002
    held = [f.quality.robust_interval().low <= 0.6 <= f.quality.robust_interval().high for f in found]
    assert sum(held) >= 26
    assert all(not f.support.fault("a") for f in found)
    assert np.mean([judged_on(thinned(1200, seed, False), Order((0,)), how).quality.value for seed in range(5)]) > 0.8


def test_a_dropped_share_is_a_probability_and_is_told() -> None:
    rows = thinned(200, 1, True)
    log, _ = log_of(rows)
    assert any("thinned before it was written" in note for note in log.notes)
    rows[3]["pdrop"] = 1.0
    with pytest.raises(DataError, match="pdrop of row 4 is 1; it is the probability"):
        log_of(rows)


def test_the_judge_is_charged_to_policies_that_look_at_answers() -> None:
    """A service records a call's dollars with those of the judge. The large model alone pays only for itself."""
    world, judge = World.drawn(16, 3000), 0.0002
    rows = service(world, 17, Order((0, 2), (0.6,)), 0.3, judge)
    assert min(row["cost"] for row in rows) >= judge
    cascade = Order((0, 2), (0.6,))
    source = source_of(rows, judge_usd=judge)
    own, alone = estimate(source, cascade), estimate(source, Order((2,)))
    assert own.usd.robust_interval().low <= world.worth(cascade, judge)[1] <= own.usd.robust_interval().high
    assert alone.usd.robust_interval().low <= world.worth(Order((2,)))[1] <= alone.usd.robust_interval().high
    rules = source.reader.log_rules
    assert rules is not None and rules.looks
    of_rules = rules.estimate().usd.robust_interval()
    assert of_rules.low <= world.worth(cascade, judge)[1] <= of_rules.high
    assert any("taken to hold the judge's" in note for note in source.notes)
    # With the recorded dollars, the large model alone would pay for the judge, and the cascade twice.
    free = source_of(rows)
    assert estimate(free, Order((2,))).usd.value == pytest.approx(alone.usd.value + judge, rel=1e-6)
    assert own.usd.value == pytest.approx(estimate(free, cascade).usd.value, rel=1e-9)


def test_the_judge_is_not_charged_to_rules_that_call_one_model() -> None:
    world, judge = World.drawn(18, 3000), 0.002
    source = source_of(service(world, 19, Order((2,)), 0.3, judge), judge_usd=judge)
    rules = source.reader.log_rules
    assert rules is not None and not rules.looks
    usd = 1000.0 * rules.estimate().usd
    assert usd.value == pytest.approx(1000.0 * world.worth(Order((2,)))[1], rel=0.03)
    assert 1000.0 * estimate(source, Order((2,))).usd.value == pytest.approx(usd.value, rel=0.03)


def test_dollars_that_cannot_hold_the_judges_are_taken_as_they_are() -> None:
    world, judge = World.drawn(20, 1500), 0.0009
    rows = service(world, 21, Order((0, 2), (0.6,)), 0.3)
    assert min(row["cost"] for row in rows) < judge
    source = source_of(rows, judge_usd=judge)
    assert any("without the judge's" in note for note in source.notes)
    cascade = Order((0, 2), (0.6,))
    more = estimate(source, cascade).usd.value - estimate(source_of(rows), cascade).usd.value
    assert more == pytest.approx(judge * estimate(source, cascade).calls.value, rel=1e-6)
    assert source.reader.log_rules is not None and source.reader.log_rules.looks


def test_in_a_long_table_costs_are_the_models_own() -> None:
    rows, judge = in_order(World.drawn(22, 800), 23, (0.6, 0.2, 0.2), 0.8), 0.001
    with_judge, free = source_of(rows, judge_usd=judge), source_of(rows)
    assert estimate(with_judge, Order((1,))).usd.value == estimate(free, Order((1,))).usd.value
    more = estimate(with_judge, CASCADE).usd.value - estimate(free, CASCADE).usd.value
    assert more == pytest.approx(judge * estimate(free, CASCADE).calls.value, rel=1e-9)


def test_a_single_model_of_laws_apart_needs_no_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a dear judge makes every cascade worse, the search on drawn answers finds a model alone."""
    from pandora.offline import apart

    monkeypatch.setattr(apart, "best_order", lambda outcomes, price, effort: Order((0, 1), (0.99,)))
    source = source_of(in_order(World.drawn(24, 900), 25, (0.4, 0.3, 0.3), 0.0), Openings.APART, judge_usd=0.01)
    found = fit_log_apart(source, PRICE)
    assert found is not None
    assert len(found.cascade_order.order) == 1
    assert found.cascade_estimate.calls.value == pytest.approx(1.0)
    assert found.cascade_estimate.usd.value < 0.01


def test_a_probability_of_nothing_is_refused_with_what_to_do() -> None:
    rows = in_order(World.drawn(26, 100), 27)
    rows[5]["propensity"] = 1e-300
    with pytest.raises(DataError, match=r"propensity is 1e-300.* give\s+the probability with which it was drawn"):
        log_of(rows)
    rows = labelled(in_order(World.drawn(26, 100), 27), 1, lambda row: 0.5)
    rows[5]["label_propensity"] = 1e-300
    with pytest.raises(DataError, match="label_propensity is 1e-300"):
        log_of(rows)


def test_thumbs_that_go_with_the_score_are_told() -> None:
    """Qualities of bad answers are known four times as often."""
    world = World.drawn(28, 1500)
    rows = in_order(world, 29, (0.6, 0.2, 0.2), 0.8)

    def by_quality(row: Row) -> float:
        return 0.8 if row["quality"] < 0.5 else 0.2

    biased = source_of(labelled(rows, 30, by_quality, told=False))
    (note,) = [note for note in biased.notes if "depends on the score" in note]
    assert "of answers with a low score" in note and "too low" in note
    assert estimate(biased, CASCADE).quality.robust_interval().high < world.worth(CASCADE)[0] + 0.02
    reverse = source_of(labelled(rows, 30, lambda row: 1.0 - by_quality(row), told=False))
    assert any("of answers with a high score" in note for note in reverse.notes)
    for fair in (
        labelled(rows, 31, by_quality, told=True),
        labelled(rows, 32, lambda row: 0.3, told=False),
        labelled(rows, 33, lambda row: 0.2 + 0.6 * row["score"], told=True),
        rows,
    ):
        assert not any("depends on the score" in note for note in source_of(fair).notes)


def test_notes_of_thumbs_are_no_chance() -> None:
    draw, told = np.random.default_rng(1), 0
    groups = hashed_groups([f"p{k}" for k in range(300)])
    for _ in range(200):
        score, p = draw.random((300, 2)), np.full((300, 2), 0.3)
        quality = np.where(draw.random((300, 2)) < p, 1.0, np.nan)
        told += bool(dependence_notes(quality, score, p, np.ones((300, 2), bool), groups))
    assert told <= 2


def test_qualities_that_cannot_be_are_refused() -> None:
    groups = hashed_groups([f"p{k}" for k in range(50)])
    require_possible(Estimate.mean(np.full(50, 0.99), groups), "log", "it")
    with pytest.raises(DataError, match=r"says that the quality of it is 1\.450"):
        require_possible(Estimate.mean(np.full(50, 1.45), groups), "log", "it")


def test_what_a_log_cannot_tell_is_said() -> None:
    world = World.drawn(34, 600)
    one_call = judged_on(in_order(world, 35, (0.5, 0.3, 0.2), 0.0))
    assert "no decision of the log makes its call number 2" in one_call.support.fault("the cascade")
    never = judged_on(in_order(world, 36, (0.0, 0.5, 0.5), 0.5))
    assert never.support.fault("it") == "no decision calls what it calls: the log cannot tell"
    few = judged_on(in_order(world, 37, (0.04, 0.48, 0.48), 0.9))
    assert "effective prompts do what it does, too few" in few.support.fault("it")
    wrong = [{**row, "propensity": 0.5 * row["propensity"]} for row in in_order(world, 38, (0.6, 0.2, 0.2), 0.8)]
    assert "and not 1: propensities are wrong" in judged_on(wrong).support.fault("it")
    log, _ = log_of(wrong)
    assert all("propensities are wrong" in fault for fault in faults_of_first_calls(log))


def test_the_error_of_a_mean_below_one_is_that_of_more_weights() -> None:
    """If by chance few great weights were drawn, their mean and its error are both small."""
    weights = np.zeros(100)
    weights[7] = 25.0
    support = LogSupport.over(hashed_groups([f"p{k}" for k in range(100)]), weights, np.ones(100))
    assert support.mean == 0.25
    assert support.mean_error == pytest.approx(0.25 / math.sqrt(0.25))


def test_what_is_rarely_known_is_unsure_also_where_none_is_known() -> None:
    def noise(count: int, weight: float, p: float, less: Floats) -> LabelNoise:
        return LabelNoise.of(np.full(count, weight), np.full(count, p), less).total()

    assert noise(1, 3.0, 1.0, np.array([0.4])).unseen() == 0.0
    none = noise(4, 2.0, 0.25, np.full(4, np.nan))
    assert none.expected == pytest.approx(4 * 4.0 * 0.75 / 0.25)
    assert none.unseen() == pytest.approx(none.expected * PRIOR_RESIDUAL)
    known = np.where(np.arange(4000) % 4 == 0, 0.5, np.nan)
    many_known = noise(4000, 2.0, 0.25, known)
    assert many_known.unseen() / many_known.residual == pytest.approx(0.0, abs=1e-9)


def test_what_first_calls_bring_is_unbiased() -> None:
    world, found = World.drawn(39, 500), []
    for seed in range(40):
        rows = in_order(world, 200 + seed, (0.5, 0.3, 0.2), 0.5)
        log, score = log_of(rows)
        quality, usd, note = first_call_estimates(log, score)
        by_model = [log.models.index(name) for name in MODELS]
        found.append([*quality.mean(axis=0)[by_model], *(1000.0 * usd.mean(axis=0)[by_model])])
    assert "estimated from the first calls of 500 decisions" in note
    truth = [*world.quality.mean(axis=0), *(1000.0 * world.usd.mean(axis=0))]
    for k in range(6):
        values = [of[k] for of in found]
        assert abs(np.mean(values) - truth[k]) < 3.0 * standard_error(values)


@pytest.mark.parametrize("kind", ["in order", "labels", "tosses that may call nothing"])
def test_intervals_hold_the_truth(kind: str) -> None:
    """Coverage is at least 95% minus three standard errors, in small worlds. The truth is over all prompts."""
    truth, (make, openings) = World.drawn(1000, 200_000).worth(CASCADE), LOGS[kind]
    held = {"quality": 0, "usd": 0}
    count = 30
    for seed in range(count):
        found = judged_on(make(World.drawn(2000 + seed, 500), seed), CASCADE, Estimator.DR, openings)
        for name, value in zip(held, truth):
            interval = getattr(found, name).robust_interval()
            held[name] += interval.low <= value <= interval.high
    least = 0.95 - 3.0 * math.sqrt(0.05 * 0.95 / count)
    assert min(held.values()) >= least * count


@pytest.mark.parametrize("kind", ["in order", "labels", "tosses that may call nothing"])
def test_a_fit_keeps_its_promise(kind: str) -> None:
    fresh, (make, openings) = World.drawn(5000, 50_000), LOGS[kind]
    kept = 0
    for seed in range(5):
        source = source_of(make(World.drawn(6000 + seed, 1200), seed), openings)
        fit = fit_thresholds_to_log(source, AIM)
        order = Order(tuple(MODELS.index(source.models[m]) for m in fit.policy.order), fit.policy.thresholds)
        maps = [fit.calibration[source.models.index(name)] for name in MODELS]
        seen = np.column_stack([of(fresh.score[:, m]) for m, of in enumerate(maps)])
        quality, usd, _ = order.walk(Outcomes(seen, fresh.quality, fresh.usd)).numbers.mean(axis=1)
        kept += fit.promise.utility.low <= quality - PRICE * usd <= fit.promise.utility.high
        assert any("fitted to a log by importance weights" in note for note in fit.notes)
        assert fit.promise.quality.high <= 1.0
    assert kept >= 4


def test_a_log_with_too_few_decisions_is_refused() -> None:
    with pytest.raises(DataError, match="has too few decisions: 30 effective ones are needed"):
        fit_thresholds_to_log(source_of(in_order(World.drawn(40, 30), 41)), AIM)


@pytest.mark.parametrize(("share", "is_refused"), [(0.565, False), (0.75, True)])
def test_only_weights_that_chance_does_not_explain_refuse_a_log(share: float, is_refused: bool) -> None:
    """Two models are said to be called with probability 1/2. At 0.565, it is as if chance had called one too often."""
    rows = in_order(World.drawn(45, 400), 89, (share, 1.0 - share, 0.0), 0.0)
    rows = [{**row, "propensity": 0.5} for row in rows]
    standard_errors = (sum(row["model"] == MODELS[0] for row in rows) - 200.0) / 10.0
    assert standard_errors > 4.5 if is_refused else 3.0 < standard_errors < 3.5
    if is_refused:
        with pytest.raises(DataError, match="propensities are wrong"):
            fit_thresholds_to_log(source_of(rows), AIM)
    else:
        fit_thresholds_to_log(source_of(rows), AIM)


def test_rules_that_made_a_log_are_kept_where_nothing_is_surely_better() -> None:
    world = World.drawn(42, 2500)
    good = fit_thresholds_to_log(source_of(service(world, 43, Order((0, 1, 2), (0.6, 0.6)), 0.2)), AIM)
    assert good.keeps_log_rules and good.log_rules is not None
    dear = Order((2, 1, 0), (0.99, 0.99))
    poor = fit_thresholds_to_log(source_of(service(world, 44, dear, 0.35)), AIM)
    assert poor.log_rules is not None and not poor.keeps_log_rules and poor.log_rules.gain.low > 0.0
    truth = world.worth(dear)
    assert poor.log_rules.quality.low <= truth[0] <= poor.log_rules.quality.high


def test_the_surest_model_alone_is_taken() -> None:
    rare = Law(np.arange(2), np.zeros(2), np.ones(2), np.zeros(2), np.ones(2))
    many_calls = Law(np.arange(40), np.zeros(40), np.tile([1.0, 0.9], 20), np.zeros(40), np.ones(40))
    wild = Law(np.arange(4), np.zeros(4), np.array([1.0, 1.0, 1.0, 0.5]), np.zeros(4), np.ones(4))
    assert cautious_single([many_calls, wild], 0.0) == Order((0,))
    assert cautious_single([many_calls, rare], 0.0) == Order((1,))


def test_folds_of_a_log_are_by_appearance() -> None:
    log, _ = log_of(in_order(World.drawn(48, 37), 49))
    assert isinstance(log, CallLog)
    assert log.folds.tolist() == [row % FOLDS for row in range(37)]
