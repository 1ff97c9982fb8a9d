"""The library's functions on arrays for fits, compared with plain numpy and with the library itself."""

from __future__ import annotations

import gc
import itertools
import json
import signal
from pathlib import Path
from typing import Any, Optional

import numpy as np
import numpy.typing as npt
import pytest
from made_up_logs import hashed_groups

import pandora
from pandora import _core
from pandora.live import Members, RunningCascade, parse, text_of
from pandora.live.learning import Estimates, Learning
from pandora.offline import api
from pandora.offline.judge import Meeting
from pandora.offline.sources.log import sums_ended_at
from pandora.trace import table_of

Numbers = npt.NDArray[np.float64]
MODELS = ["small", "middle", "large"]


def world(rows: int = 160, seed: int = 5) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    hard = draw.random(rows)
    quality = np.clip(np.array([0.7, 0.85, 0.95]) - np.outer(hard, [0.6, 0.35, 0.1]), 0, 1)
    quality = np.clip(quality + 0.1 * draw.standard_normal((rows, 3)), 0, 1)
    quality = np.where(quality < 0.55, 0.5 * quality, 1.0)  # so that a cheap answer can be as good as a dear one
    words = ["add", "sum", "poem", "sea", "proof", "prime"]
    return {
        "models": MODELS,
        "quality": quality,
        "cost": np.array([0.0005, 0.002, 0.01]) * (0.5 + draw.random((rows, 3))),
        "scores": {"score": np.clip(quality + 0.1 * draw.standard_normal((rows, 3)), 0, 1)},
        "prompts": [f"p{k}" for k in range(rows)],
        "columns": {
            "prompt": [f"{words[int(6 * h)]} {words[k % 6]} {k % 40}" for k, h in enumerate(hard)],
            "hardness": hard,
            "place": np.column_stack([hard, 1 - hard]).tolist(),
        },
    }


@pytest.fixture(scope="module")
def table() -> _core.TraceTable:
    return table_of(pandora.Trace(world()))


def log_table(path: Path) -> _core.TraceTable:
    rows: list[dict[str, Any]] = [
        {"decision": "d0", "model": "a", "quality": 0.5, "cost": 0.1, "score": 0.4, "propensity": 1.0},
        {"decision": "d0", "model": "b", "quality": 0.75, "cost": 0.2, "score": 0.8, "propensity": 0.5},
        {"decision": "d1", "model": "a", "quality": None, "cost": 0.3, "score": 0.2, "propensity": 1.0},
    ]
    more = [{**row, "prompt_id": row["decision"], "label_propensity": 0.5} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in more))
    return table_of(pandora.Trace(path))


# Tables.


def test_tables_are_seen_without_a_copy(table: _core.TraceTable) -> None:
    given, arrays = world(), _core.TableArrays(table)
    np.testing.assert_array_equal(arrays.quality, given["quality"])
    np.testing.assert_array_equal(arrays.usd, given["cost"])
    np.testing.assert_array_equal(arrays.score("score"), given["scores"]["score"])
    np.testing.assert_array_equal(arrays.numbers("hardness"), given["columns"]["hardness"])
    np.testing.assert_array_equal(arrays.numbers("place"), given["columns"]["place"])
    assert arrays.latency is None and arrays.label_propensity is None
    assert not arrays.is_log
    assert arrays.propensity is None and arrays.place is None and arrays.by_rules is None
    for again in (arrays, _core.TableArrays(table)):
        assert np.shares_memory(again.quality, arrays.quality)
    for array in (arrays.quality, arrays.score("score"), arrays.numbers("place")):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0.0
    with pytest.raises(pandora.DataError, match="scor"):
        arrays.score("scores")
    with pytest.raises(pandora.DataError, match="holds texts"):
        arrays.numbers("prompt")
    with pytest.raises(pandora.DataError, match="has no column"):
        arrays.numbers("nothing")


def test_views_keep_their_table() -> None:
    given = world()
    views = [_core.TableArrays(table_of(pandora.Trace(given))).quality for _ in range(20)]
    gc.collect()
    world(2000)  # so that it takes the freed memory
    for view in views:
        np.testing.assert_array_equal(view, given["quality"])


def test_cells_that_are_not_known_are_nan() -> None:
    given = world(4)
    given["quality"][1, 2] = np.nan
    given["latency"] = np.where(np.eye(4, 3) > 0, np.nan, 2.0)
    arrays = _core.TableArrays(table_of(pandora.Trace(given)))
    np.testing.assert_array_equal(arrays.quality, given["quality"])
    assert arrays.latency is not None
    np.testing.assert_array_equal(arrays.latency, given["latency"])


def test_logs_say_what_was_called(tmp_path: Path) -> None:
    arrays = _core.TableArrays(log_table(tmp_path / "log.jsonl"))
    assert arrays.is_log and arrays.by_rules is None and arrays.latency is None
    nan = np.nan
    assert arrays.propensity is not None and arrays.place is not None and arrays.label_propensity is not None
    np.testing.assert_array_equal(arrays.propensity, [[1, 0.5], [1, nan]])
    np.testing.assert_array_equal(arrays.place, [[1, 2], [1, nan]])
    np.testing.assert_array_equal(arrays.quality, [[0.5, 0.75], [nan, nan]])
    np.testing.assert_array_equal(arrays.usd, [[0.1, 0.2], [0.3, nan]])
    np.testing.assert_array_equal(arrays.score("score"), [[0.4, 0.8], [0.2, nan]])


def test_rows_of_one_prompt_are_a_group_in_the_order_of_a_hash(table: _core.TraceTable) -> None:
    of_row, count = _core.group_prompts(table)
    texts: Any = table.column("prompt")
    expected = hashed_groups(texts)
    assert count == expected.count < table.rows
    np.testing.assert_array_equal(of_row, expected.of_row)
    nameless = {key: value for key, value in world(30).items() if key != "columns"}
    of_row, count = _core.group_prompts(table_of(pandora.Trace(nameless)))
    assert count == 30
    np.testing.assert_array_equal(of_row, hashed_groups([f"p{k}" for k in range(30)]).of_row)


# Thresholds.


def utility(seen: Numbers, quality: Numbers, usd: Numbers, price: float, order: Any, thresholds: Any) -> float:
    total = 0.0
    for row in range(len(seen)):
        spent, most, worth = 0.0, -np.inf, 0.0
        for position, model in enumerate(order):
            spent += usd[row, model]
            if seen[row, model] > most:
                most, worth = seen[row, model], quality[row, model]
            if position < len(thresholds) and seen[row, model] >= thresholds[position]:
                break
        total += worth - price * spent
    return total / len(seen)


def best_utility(seen: Numbers, quality: Numbers, usd: Numbers, price: float, first: Optional[int]) -> float:
    best = -np.inf
    for length in range(1 if first is None else 2, 4):
        for order in itertools.permutations(range(3), length):
            if first is not None and order[0] != first:
                continue
            for thresholds in itertools.product(*(np.unique(seen[:, m])[1:] for m in order[:-1])):
                best = max(best, utility(seen, quality, usd, price, order, thresholds))
    return float(best)


@pytest.mark.parametrize("first", [None, 0, 2])
def test_thresholds_are_the_best_of_all(first: Optional[int]) -> None:
    for seed in range(8):
        draw = np.random.default_rng(seed)
        seen = draw.integers(0, 5, (40, 3)) / 4.0
        quality, usd = 0.6 * seen + 0.4 * draw.random((40, 3)), draw.random((40, 3)) * [0.02, 0.04, 0.06]
        order, thresholds = _core.fit_thresholds(seen, quality, usd, 4.0, 6000, 50e6, first)
        assert order.dtype == np.int64 and len(thresholds) == len(order) - 1
        assert first is None or (order[0] == first and len(order) > 1)
        found = utility(seen, quality, usd, 4.0, order, thresholds)
        assert found == pytest.approx(best_utility(seen, quality, usd, 4.0, first), abs=1e-8)


def test_thresholds_take_arrays_of_any_layout_and_no_other_shapes() -> None:
    draw = np.random.default_rng(1)
    seen, quality, usd = draw.random((30, 3)), draw.random((30, 3)), 0.1 * draw.random((30, 3))
    expected = _core.fit_thresholds(seen, quality, usd, 1.0, 6000, 50e6)
    found = _core.fit_thresholds(np.asfortranarray(seen), quality, usd, 1.0, 6000, 50e6, None)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    for wrong in ({"seen": seen[:29]}, {"usd": usd[:, :2]}, {"first": 3}, {"price": -1.0}, {"most_prompts": 0}):
        arguments: dict[str, Any] = {"seen": seen, "quality": quality, "usd": usd, "price": 1.0}
        arguments.update({"most_prompts": 100, "most_steps": 1e6, **wrong})
        with pytest.raises(pandora.UsageError):
            _core.fit_thresholds(**arguments)


def grid(seen: Numbers) -> Numbers:
    distinct = np.unique(seen)
    return (
        distinct[1:] if len(distinct) <= 17 else np.unique(np.sort(seen)[(np.arange(1, 17) * len(seen) + 15) // 16 - 1])
    )


def test_a_search_by_sums_of_a_twin_finds_the_same_thresholds() -> None:
    """There are few values, so that many candidates are equally good. The first of the best wins."""
    for seed in range(10):
        draw = np.random.default_rng(seed)
        seen, quality = draw.integers(0, 4, (50, 3)) / 3.0, draw.integers(0, 3, (50, 3)) / 2.0
        usd = draw.integers(0, 3, (50, 3)) / 16.0
        best, order_of, thresholds_of = -np.inf, [0], []
        for length in (1, 2, 3):
            for order in itertools.permutations(range(3), length):
                most, worth, spent, values = np.full(50, -np.inf), np.zeros(50), np.zeros(50), []
                for model in order:
                    better = seen[:, model] > most
                    most, worth = np.where(better, seen[:, model], most), np.where(better, quality[:, model], worth)
                    spent = spent + usd[:, model]
                    values.append(worth - spent)
                grids = [grid(seen[:, m]) for m in order[:-1]]
                reached = [np.searchsorted(g, seen[:, m], side="right") for g, m in zip(grids, order)]
                counts = [len(g) for g in grids]
                sums = sum(sums_ended_at(k, reached, counts, [by_row])[0] for k, by_row in enumerate(values)) / 50
                if sums.max() > best + 1e-9:
                    best = float(sums.max())
                    at = np.unravel_index(int(np.argmax(sums.ravel() > best - 1e-9)), sums.shape)
                    order_of, thresholds_of = list(order), [g[k] for g, k in zip(grids, at)]
        found, thresholds = _core.fit_thresholds(seen, quality, usd, 1.0, 6000, 50e6)
        assert found.tolist() == order_of
        assert thresholds.tolist() == thresholds_of


# Features.


def test_features_of_all_rows_are_those_of_prompts(table: _core.TraceTable) -> None:
    specs, all_rows = ["text:3", "length", "place", "raw:hardness"], np.arange(table.rows)
    counts = _core.CountedTexts(table)
    fitted = _core.features_fit(table, specs, all_rows, counts)
    again = _core.features_fit(table, specs, all_rows)
    assert (fitted.json, fitted.names, fitted.notes) == (again.json, again.names, again.notes)
    assert _core.FeatureMap.parse(fitted.json).json == fitted.json
    numbers = _core.features_apply(fitted, table, counts)
    assert numbers.dtype == np.float32 and numbers.shape == (table.rows, fitted.size) == (table.rows, 7)
    np.testing.assert_array_equal(numbers, _core.features_apply(fitted, table))
    np.testing.assert_array_equal(numbers[:, -1], np.float32(world()["columns"]["hardness"]))
    columns = world()["columns"]
    for row in (0, 7, 159):
        one = fitted.apply(columns["prompt"][row], {name: columns[name][row] for name in ("hardness", "place")})
        assert one.dtype == np.float32
        np.testing.assert_array_equal(one, numbers[row])


def test_features_of_some_rows_look_at_no_other(table: _core.TraceTable) -> None:
    rows = np.arange(0, table.rows, 2)
    counts, specs = _core.CountedTexts(table), ["text:2", "hardness"]
    fitted = _core.features_fit(table, specs, rows, counts)
    assert fitted.json == _core.features_fit(table.select_rows(rows.tolist()), specs, np.arange(len(rows))).json
    whole = _core.features_fit(table, specs, np.arange(table.rows), counts)
    near = _core.features_fit(table, specs, rows, counts, whole)  # starts elsewhere, and ends at the same place
    a, b = _core.features_apply(fitted, table, counts), _core.features_apply(near, table, counts)
    np.testing.assert_array_equal(a[:, 2], b[:, 2])
    for j in range(2):
        assert np.corrcoef(a[:, j], b[:, j])[0, 1] > 0.95
    with pytest.raises(pandora.UsageError, match="no row 160"):
        _core.features_fit(table, specs, np.array([0, 160]))
    with pytest.raises(pandora.UsageError, match="a row at least"):
        _core.features_fit(table, specs, np.array([], np.int64))
    with pytest.raises(pandora.UsageError, match="stands twice"):
        _core.features_fit(table, ["hardness", "hardness"], rows)
    with pytest.raises(pandora.DataError, match="has no column"):
        _core.features_fit(table, ["hardnes"], rows)
    with pytest.raises(pandora.UsageError, match="another table"):
        _core.features_fit(table.select_rows([0, 1]), specs, np.array([0]), counts)
    with pytest.raises(pandora.UsageError, match="not JSON"):
        _core.FeatureMap.parse("{")


# Cascades.


def fit(table: _core.TraceTable, kind: str, evaluator: str, context: list[str]) -> RunningCascade:
    return api.fit(table, price=20.0, evaluator=evaluator, context=context, kind=kind, judge_usd=0.0)[0]


@pytest.mark.parametrize("kind", ["thresholds", "router", "routed", "indices"])
@pytest.mark.parametrize("evaluator", ["quality", "score"])
def test_a_test_of_rows_does_what_requests_do(table: _core.TraceTable, kind: str, evaluator: str) -> None:
    """Runs one request after the other by the fitted cascade, as its file has it."""
    fitted = fit(table, kind, evaluator, [] if kind == "thresholds" else ["hardness", "text:2"])
    again = parse(text_of(fitted), "memory")
    assert text_of(again) == text_of(fitted)
    meeting = Meeting(fitted, table, None, 0.0)
    called, deployed, judged = meeting.calls
    assert text_of(again) == text_of(fitted)
    again.set_learning(False)
    shown = meeting.arrays.quality if evaluator == "quality" else meeting.arrays.score("score")
    for row in range(table.rows):
        request = again.begin([1.0] if meeting.psi is None else meeting.psi[row])
        assert judged[row] == again.needs_score(request)
        order = []
        while (model := again.next(request)) is not None:
            order.append(MODELS.index(model))
            at = (row, order[-1])
            again.observe(request, model, meeting.arrays.usd[at], [shown[at]] if judged[row] else [], np.nan)
        assert called[row].tolist() == order + [-1] * (called.shape[1] - len(order))
        assert MODELS[deployed[row]] == again.deploy(request)
    assert kind != "thresholds" or (called[:, 1] >= 0).any()


@pytest.mark.parametrize("learned", [False, True])
def test_indices_are_learned_from_rows(table: _core.TraceTable, learned: bool) -> None:
    arrays, rows = _core.TableArrays(table), np.arange(table.rows)
    shown = arrays.score("score") if learned else arrays.quality
    psi = np.ones((table.rows, 1), np.float32)
    if learned:
        numbers = _core.features_apply(_core.features_fit(table, ["hardness"], rows), table)
        psi = np.column_stack([psi, numbers])

    def taught(some: Any, near: Optional[Any] = None) -> Any:
        rules = _core.lane_rules("shrunk_weitzman", learned, 0.0, len(some), 0.0)
        made = _core.IndexEstimator(rules, _core.estimation(), 3, psi.shape[1], 6 if learned else 0, "[1, 0, 0, 0]")
        made.teach(psi, 20.0 * arrays.usd, shown, arrays.quality, some, near)
        return made

    def run(of: Any, some: Any, there: int = 7) -> Any:
        return of.run(psi, 20.0 * arrays.usd, shown, some, there)

    # Learns row by row, from each answer.
    whole = taught(rows)
    rules = _core.lane_rules("shrunk_weitzman", learned, 0.0, len(rows), 0.0)
    alone = _core.IndexEstimator(rules, _core.estimation(), 3, psi.shape[1], 6 if learned else 0, "[1, 0, 0, 0]")
    for row in rows:
        for a in range(3):
            phi = [0.0] * 6 if learned else []
            if learned:
                phi[2 * a : 2 * a + 2] = [1.0, _core.logit_of_score(shown[row, a])]
            output = (a, phi, 20.0 * arrays.usd[row, a], shown[row, a])
            alone.calibrate(int(row) + 1, psi[row], output, arrays.quality[row, a])
    assert alone.saved() == whole.saved()
    called, deployed = run(whole, rows)
    assert called.dtype == np.int8 and deployed.dtype == np.int32
    assert len(np.unique(deployed)) > 1 and (called[:, 1] >= 0).any()
    without, _ = run(taught(rows), rows, there=3)
    assert (without != 2).all() and (called == 2).any()
    # A fold's fit that starts from the whole table's estimates ends at the same point as alone.
    some, held_out = rows[rows % 5 != 0], rows[rows % 5 == 0]
    for own, near in zip(run(taught(some), held_out), run(taught(some, whole), held_out)):
        assert len(own) == len(held_out)
        np.testing.assert_array_equal(own, near)


def test_what_an_estimator_saves_answers_without_its_samples(table: _core.TraceTable) -> None:
    fitted = fit(table, "indices", "score", ["hardness"])
    members, psi = fitted.members, np.array([1.0, 0.3], np.float32)
    assert isinstance(fitted.indices, Learning)
    asked = fitted.indices.ask(1, 1, psi)
    whole, light = (fitted.indices.estimator.saved(with_samples) for with_samples in (True, False))
    assert len(light) < len(whole) / 3
    for estimates in (Estimates(members, whole), Estimates(members, light)):
        assert estimates.ask(1, 1, psi) == asked
    with pytest.raises(pandora.DataError, match="what was learned"):
        Estimates(members, light[:-1])


def test_estimators_refuse_what_cannot_be(table: _core.TraceTable) -> None:
    rules, quality, usd = _core.lane_rules("dow", False, 0.1, 0, 0.0), table.quality(), table.cost()
    made = _core.IndexEstimator(rules, _core.estimation(), 3, 1, 0, "[1, 0, 0, 0]")
    with pytest.raises(pandora.UsageError, match="shown is 160 x 2"):
        made.teach(None, usd, quality[:, :2], quality, np.arange(9))
    with pytest.raises(pandora.UsageError, match="psi must be 160 x 1"):
        made.teach(np.ones((160, 2), np.float32), usd, quality, quality, np.arange(9))
    with pytest.raises(pandora.UsageError, match="no row 160"):
        made.teach(None, usd, quality, quality, np.array([160]))
    with pytest.raises(pandora.UsageError, match="psi has 2 numbers"):
        made.begin(1, np.ones(2, np.float32))
    with pytest.raises(pandora.UsageError, match="an output of box 3"):
        made.reward((3, [], 0.1, 0.5))
    with pytest.raises(pandora.UsageError, match="policy other"):
        _core.lane_rules("other", False, 0.1, 0, 0.0)


def test_members_that_cannot_be_are_refused() -> None:
    sound = {"kind": "thresholds", "models": MODELS, "price": 5.0, "evaluator": "quality"}
    sound.update(order=["small", "large"], thresholds=[0.5])
    Members.of_json(sound)
    wrong: list[Any] = [
        {"kind": "other"},
        {"price": "dear"},
        {"price": -1.0},
        {"order": ["small", "none"]},
        {"thresholds": []},
        {"calibration": [{"scores": [0.5], "qualities": []}] * 3},
        {"version": 1},
        {"anything": 1},
        {"kind": "indices", "rules": {}},
        {"kind": "router", "plans": [{"order": ["small"], "thresholds": []}], "router": {}},
        {"features": {}},
        {"models": "small"},
        {"models": [1, 2]},
        {"explore": 2.0},
        {"exploration": ["a"]},
        {"psi_range": [[0.0, 1.0]]},
    ]
    for change in wrong:
        with pytest.raises(pandora.UsageError, match=r"^(cascade|the features)"):
            RunningCascade(Members.of_json({**sound, **change}))
    nothing: list[Any] = ["", [], None]
    for given in nothing:
        with pytest.raises(pandora.UsageError, match="^cascade: "):
            Members.of_json(given)


def test_a_long_search_can_be_interrupted() -> None:
    draw = np.random.default_rng(2)
    seen, quality, usd = (draw.random((3000, 6)) for _ in range(3))
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    interrupts = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore SIGINT in the background
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises((KeyboardInterrupt, pandora.Interrupted)):
            _core.fit_thresholds(seen, quality, usd, 0.01, 3000, 1e18)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.signal(signal.SIGINT, interrupts)
