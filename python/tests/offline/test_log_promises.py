"""Compares promises of fits to logs, and results of tests, with the truth of the worlds behind the logs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from made_up_logs import MODELS, Row, World, by_tosses, full, in_order, labelled, source_of, standard_error
from trace_law import TraceLaw, by_hardness, holds, least_held

import pandora
from pandora import _core
from pandora.live import Members, RunningCascade
from pandora.offline import api, check
from pandora.offline.apart import fit_log_apart
from pandora.offline.call_log import CallLog, Openings
from pandora.offline.groups import Floats, Groups
from pandora.offline.identified import estimated_means, identified
from pandora.offline.judge import Meeting, judge_cascade
from pandora.offline.paths import LoggedWalks, LogReader, LogSupport, PolicyEstimate
from pandora.offline.sources.first_calls import first_call_estimates
from pandora.offline.sources.labels import QualityEstimates
from pandora.offline.sources.log import faults_of_first_calls

PRICE = 20.0


def table_of(rows: list[Row]) -> _core.TraceTable:
    return pandora.Trace({name: [row.get(name) for row in rows] for name in rows[0]}, name="log")._table


def fit(table: _core.TraceTable, **given: Any) -> Any:
    return api.fit(table, **given)


def independent(seed: int, rows: int) -> World:
    """The qualities of models are independent of each other."""
    drawn = [TraceLaw(0.2).draw(rows, 3 * seed + model) for model in range(3)]

    def column(of: str) -> Floats:
        found = [trace.scores["score"] if of == "score" else getattr(trace, of) for trace in drawn]
        return np.column_stack([values[:, model] for model, values in enumerate(found)])

    return World(column("quality"), column("score"), column("cost"))


def thresholds() -> Any:
    file = {"kind": "thresholds", "models": MODELS, "price": PRICE, "evaluator": "score"}
    return RunningCascade(Members.of_json({**file, "order": MODELS, "thresholds": [0.6, 0.6]}))


def worth_in(world: _core.TraceTable, of: Any) -> tuple[float, float, float]:
    """The mean quality, dollars and utility on a table, for a cascade or for a model by its name."""
    meeting, quality = Meeting(thresholds() if isinstance(of, str) else of, world, None, 0.0), world.quality()
    found = meeting.alone(MODELS.index(of), quality) if isinstance(of, str) else meeting.numbers(quality)
    mean, usd = found[:2].mean(axis=1).tolist()
    return mean, usd, mean - PRICE * usd


def one_call(seed: int, rows: int) -> _core.TraceTable:
    """A log with one call in each decision. 70% of the qualities are known."""
    log = in_order(independent(1000 + seed, rows), seed, (0.5, 0.3, 0.2), 0.0)
    return table_of(labelled(log, seed, lambda row: 0.7))


def test_one_call_a_decision_tells_of_cascades_where_models_are_independent() -> None:
    count, given = 18, {"price": PRICE, "evaluator": "score"}
    truth = table_of(full(independent(1, 20_000)))  # its answers are independent
    held = dict.fromkeys(("utility", "gain", "saving", "test"), 0)
    by_log = by_table = 0.0
    for seed in range(count):
        cascade, _, record = fit(one_call(seed, 1000), openings="apart", **given)
        (_, usd, utility), (_, alone_usd, alone) = (worth_in(truth, of) for of in (cascade, record["single"]["model"]))
        for name, value in (("utility", utility), ("gain", utility - alone), ("saving", 1.0 - usd / alone_usd)):
            held[name] += holds(record["promise"][name], value)
        judged = judge_cascade(cascade, "c", one_call(500 + seed, 1000), "large", openings="apart")
        held["test"] += holds(judged.found.worth.utility, utility)
        assert any(note.startswith("assumed: models' answers to a prompt are indep") for note in record["notes"])
        if seed < 4:
            whole = fit(table_of(full(independent(1000 + seed, 1000))), kind="thresholds", **given)[0]
            by_log, by_table = by_log + utility - alone, by_table + worth_in(truth, whole)[2] - alone
    assert min(held.values()) >= least_held(count), held
    assert by_log >= 0.9 * by_table > 0.0
    # With `in_order` the log tells nothing about second calls, so none is made.
    assert len(fit(one_call(1, 1000), **given)[0].members.plans[0].order) == 1


def test_models_apart_are_promised_by_cascades_that_did_not_see_the_prompts() -> None:
    """Models are equal and scores tell nothing, so every cascade has a quality of 0.6."""
    found = []
    for seed in range(40):
        draw = np.random.default_rng(seed)
        quality, score = (draw.random((200, 3)) < 0.6).astype(float), draw.random((200, 3)).round(2)
        log = in_order(World(quality, score, np.full((200, 3), 0.001)), seed, (0.4, 0.3, 0.3), 0.0)
        fit_apart = fit_log_apart(source_of(log, Openings.APART), 5.0)
        assert fit_apart is not None
        found.append(fit_apart.cascade_estimate.quality.value)
    assert abs(np.mean(found) - 0.6) < 3.0 * standard_error(found)


def test_models_apart_that_cannot_be_told_of_are_refused() -> None:
    cascade = thresholds()
    with pytest.raises(pandora.DataError, match="has too few decisions"):
        fit(one_call(9, 12), price=PRICE, evaluator="score", openings="apart")
    for rows, told in ((12, "has too few calls of model"), (80, "effective prompts, and 30 are needed")):
        with pytest.raises(pandora.DataError, match=told):
            judge_cascade(cascade, "c", one_call(9, rows), "large", openings="apart")


def test_a_model_whose_weights_are_not_sound_speaks_for_nothing() -> None:
    sound = in_order(independent(10, 600), 10, (0.5, 0.3, 0.2), 0.0)
    assert faults_of_first_calls(CallLog.of_table(table_of(sound), Openings.IN_ORDER)) == [""] * 3
    first = next(row for row in sound if row["model"] == "middle")
    for wrong, told in (
        ({id(first): 1e-5}, "are those of 1.0 effective prompts, and 30 are needed"),
        ({id(row): 0.5 for row in sound if row["model"] == "middle"}, "have the mean 0."),
    ):
        table = table_of([{**row, "propensity": wrong.get(id(row), row["propensity"])} for row in sound])
        log = CallLog.of_table(table, Openings.IN_ORDER)
        faults = dict(zip(log.models, faults_of_first_calls(log)))
        assert f"first calls of middle (1 / propensity) {told}" in faults.pop("middle") and not any(faults.values())
        means = dict(zip(log.models, (mean.quality.value for mean in estimated_means(table, "score"))))
        assert math.isnan(means.pop("middle")) and not any(map(math.isnan, means.values()))
        assert any("first calls of middle" in reason for reason in identified(table).reasons)
        for refused in (
            lambda log=log: first_call_estimates(log, log.quality),
            lambda table=table: fit(table, price=PRICE, evaluator="score", openings="apart"),
        ):
            with pytest.raises(pandora.DataError, match="first calls of middle"):
                refused()


def test_of_a_log_without_holes_estimates_are_the_plain_means() -> None:
    world, cascade = World.drawn(3, 300), thresholds()
    plain = judge_cascade(cascade, "c", table_of(full(world)), "large")
    log = table_of(by_tosses(world, 3, (1.0, 1.0, 1.0)))
    assert plain.estimator.value == "plugin"
    for how in ("ips", "snips", "dr"):
        found = judge_cascade(cascade, "c", log, "large", estimator=how, openings="independent").found
        assert found.effective_prompts == pytest.approx(300.0)
        for name in ("utility", "gain", "saving", "calls"):
            assert getattr(found.worth, name).value == pytest.approx(getattr(plain.found.worth, name).value)
    # The log's calls have the cascade's order of the three models. Models alone may stand anywhere.
    in_place = judge_cascade(cascade, "c", log, "small", estimator="dr").found.worth
    assert in_place.utility.value == pytest.approx(plain.found.worth.utility.value)
    with pytest.raises(pandora.DataError, match="no decision calls what large alone calls"):
        judge_cascade(cascade, "c", log, "large")


def some_known(rows: list[Row], seed: int) -> _core.TraceTable:
    return table_of(labelled(rows, seed, lambda row: 0.3, told=False))


@pytest.mark.parametrize("kind", ["labels", "tosses"])
def test_intervals_of_every_estimator_hold_the_truth_and_the_doubly_robust_ones_are_narrower(kind: str) -> None:
    count, cascade, world = 40, thresholds(), table_of(full(World.drawn(1, 20_000)))
    (quality, usd, utility), alone = worth_in(world, cascade), worth_in(world, "large")[2]
    truth = {"quality": quality, "usd_per_1000": 1000.0 * usd, "utility": utility, "gain": utility - alone}
    held = {(how, name): 0 for how in ("ips", "snips", "dr") for name in truth}
    width = dict.fromkeys(("ips", "snips", "dr"), 0.0)
    for seed in range(count):
        drawn, openings = World.drawn(2000 + seed, 400), "in_order" if kind == "labels" else "independent"
        log = (
            some_known(full(drawn), seed)
            if kind == "labels"
            else table_of(labelled(by_tosses(drawn, seed, (1.0, 0.6, 0.6)), seed, lambda row: 0.7))
        )
        for how in width:
            found = judge_cascade(cascade, "c", log, "large", estimator=how, openings=openings).found.worth
            width[how] += found.quality.high - found.quality.low
            for name, value in truth.items():
                held[how, name] += holds(getattr(found, name), value)
    assert min(held.values()) >= least_held(count), held
    assert width["dr"] < min(width["ips"], width["snips"])


def test_a_fit_to_a_log_is_nearly_as_good_as_to_all_answers() -> None:
    truth, given = table_of(full(World.drawn(1, 20_000))), {"price": PRICE, "evaluator": "score"}
    gains = np.zeros(2)
    for seed in range(4):
        world = World.drawn(3000 + seed, 1200)
        log = table_of(labelled(by_tosses(world, seed, (1.0, 0.6, 0.6)), seed, lambda row: 0.7))
        fits = fit(log, openings="independent", **given), fit(table_of(full(world)), kind="thresholds", **given)
        gains += [worth_in(truth, cascade)[2] - worth_in(truth, "small")[2] for cascade, _, _ in fits]
        holes = some_known(full(world), seed)
        cascade, _, record = fit(holes, kind="thresholds", **given)
        assert judge_cascade(cascade, "c", holes).same_table and record["digest"] == holes.digest()
    assert gains[0] >= 0.9 * gains[1] > 0.0


def test_a_quality_above_one_is_refused_by_tests_and_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    log, estimate = table_of(by_tosses(World.drawn(3, 600), 3, (1.0, 0.6, 0.6))), LogReader.estimate

    def above(reader: LogReader, walks: LoggedWalks, chosen: bool) -> PolicyEstimate:
        found = estimate(reader, walks, chosen)
        return replace(found, quality=replace(found.quality, value=found.quality.value + 1.0))

    monkeypatch.setattr(LogReader, "estimate", above)
    with pytest.raises(pandora.DataError, match=r"says that the quality of the cascade is 1\."):
        judge_cascade(thresholds(), "c", log, "large", openings="independent")
    with pytest.raises(pandora.DataError, match="answers whose quality is known are not like the others"):
        fit(log, price=PRICE, evaluator="score", openings="independent")


def test_rare_labels_that_were_not_drawn_are_no_wrong_propensities() -> None:
    """An answer that the rules pass over is deployed, and gets feedback, only by exploring. So few answers weigh
    much.
    """
    draw, rows = np.random.default_rng(4), 600
    p = np.where(np.arange(rows) % 5 < 2, 0.025, 0.975)
    log = CallLog.of_table(table_of(in_order(World.drawn(4, rows), 4)), Openings.IN_ORDER)
    refused = [0, 0]
    for _ in range(300):
        for wrong, chance in enumerate((p, np.minimum(1.0, 2.0 * p))):
            weights = np.where(draw.random(rows) < chance, 1.0 / p, 0.0)
            refused[wrong] += LogSupport.of_labels(np.ones(rows), p, weights, log).is_off
    assert refused[0] <= 1 and refused[1] >= 50


def test_an_estimated_quality_is_the_judges_word_corrected_where_the_truth_is_known() -> None:
    """The estimate is g + L (q - g) / p. There are two scores, so g is two means, computed by hand."""
    row = np.arange(60)
    score = np.where(row % 2 == 0, 0.2, 0.8)
    quality = np.where(row % 3 == 0, math.nan, np.where(row % 2 == 0, 0.1, 0.6) + 0.01 * (row % 5))
    columns = {"models": ["m"], "quality": quality[:, None], "cost": np.ones((60, 1))}
    table = pandora.Trace({**columns, "scores": {"score": score[:, None]}})._table
    found = QualityEstimates.of_table(table, "score", Groups.of_table(table)).estimated(np.zeros(60, bool))[:, 0]
    for k in range(60):
        g = np.nanmean(quality[(row % 2 == k % 2) & (row % 5 != k % 5)])
        assert found[k] == pytest.approx(g + (0.0 if k % 3 == 0 else (quality[k] - g) / (40.0 / 60.0)))


def test_labels_and_calls_that_are_not_there_make_intervals_wider() -> None:
    """With labels on a quarter of the answers, intervals are twice as wide, unless a judge knows the rest. With calls
    of one random model of three, they are wider by the root of three.
    """
    draw, rows = np.random.default_rng(8), 3000
    for noise, known, one, wider in ((1.0, 0.25, False, 2.0), (0.0, 0.25, False, 1.0), (1.0, 1.0, True, 3.0**0.5)):
        full_table = TraceLaw(noise).draw(rows, 8)
        called, kept = draw.integers(0, 3, rows), draw.random((rows, 3)) < known
        cells = [(row, m) for row in range(rows) for m in range(3) if not one or m == called[row]]
        columns: dict[str, Any] = {
            "prompt_id": [f"p{row}" for row, _ in cells],
            "model": [full_table.models[m] for _, m in cells],
            "quality": [full_table.quality[at] if kept[at] else None for at in cells],
            "cost": [full_table.cost[at] for at in cells],
            "score": [full_table.scores["score"][at] for at in cells],
            **({"propensity": [1.0 / 3.0] * len(cells)} if one else {}),
        }
        for facts in check.check_table(pandora.Trace(columns)._table, "score", []).facts["models"]:
            m, of = full_table.models.index(facts["model"]), facts["estimated_quality"]
            assert facts["times_as_wide"] == pytest.approx(wider, abs=0.1)
            assert abs(of.value - full_table.quality[:, m].mean()) < 2.0 * (of.high - of.value)


# Routers.


def called(world: pandora.Trace, seed: int, dear: Any, known: float = 1.0) -> _core.TraceTable:
    """A log with one call for each prompt. Hardness decides the probability of the dear model."""
    draw, rows, hard = np.random.default_rng(seed), np.arange(world.rows), np.asarray(world.column("hardness"))
    p = np.broadcast_to(np.asarray(dear(hard), float), hard.shape)
    at = (draw.random(hard.shape) < p).astype(int)
    columns = {
        "prompt_id": world.prompts,
        "model": [world.models[m] for m in at],
        "quality": [q if draw.random() < known else None for q in world.quality[rows, at].tolist()],
        "cost": world.cost[rows, at].tolist(),
        "propensity": np.where(at == 1, p, 1.0 - p).tolist(),
        "hardness": hard.tolist(),
    }
    return pandora.Trace(columns)._table


def test_routers_are_fitted_to_logs_of_one_call() -> None:
    count, given = 6, {"price": 10.0, "evaluator": "none", "kind": "router", "context": ["hardness"]}
    held, gains, routers = dict.fromkeys(("utility", "usd_per_1000", "gain"), 0), np.zeros(2), 0

    truth = by_hardness(20_000, 99)
    alone = dict(zip(truth.models, (truth.quality - 10.0 * truth.cost).mean(axis=0)))

    def worth(cascade: Any) -> tuple[float, float]:
        quality, usd, _ = Meeting(cascade, truth._table, None, 0.0).numbers(truth.quality).mean(axis=1)
        return float(quality - 10.0 * usd), float(1000.0 * usd)

    for seed in range(count):
        world = by_hardness(600, 200 + seed)
        log = called(world, seed, lambda hard: 0.3 + 0.4 * hard, 1.0 if seed % 2 == 0 else 0.6)
        cascade, _, record = fit(log, **given)
        utility, usd = worth(cascade)
        routers += cascade.members.kind == "router"
        for name, value in zip(held, (utility, usd, utility - alone[record["single"]["model"]])):
            held[name] += holds(record["promise"][name], value)
        if seed < 2:
            gains += [utility - max(alone.values()), worth(fit(world._table, **given)[0])[0] - max(alone.values())]
    assert min(held.values()) >= least_held(count), held
    assert routers >= 4  # otherwise no gain is sure
    assert gains[0] >= 0.85 * gains[1] > 0.0
    with pytest.raises(pandora.DataError, match="a router needs at least 10 of each model"):
        fit(called(by_hardness(15, 1), 1, lambda hard: 0.5), **given)


def test_first_calls_of_a_rare_model_have_its_mean() -> None:
    """The means of other folds come from the log, however rare a model is."""
    world = by_hardness(4000, 5)
    table = called(world, 3, lambda hard: 0.05)
    for name, found in zip(table.models, estimated_means(table, "none")):
        truth = world.quality[:, ("small", "large").index(name)].mean()
        assert abs(found.quality.value - truth) < 2.0 * (found.quality.high - found.quality.value)
        assert found.quality.high - found.quality.low < 0.1  # from 200 calls with a deviation of 0.17
