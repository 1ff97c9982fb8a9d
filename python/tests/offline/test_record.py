"""The record of a fit, its printed output, and the cascade that runs."""

from __future__ import annotations

import json
import pathlib
import pickle
from typing import Any

import numpy as np
import pytest

import pandora
import pandora.serving
from pandora import _core
from pandora.live import load, text_of
from pandora.offline import api
from pandora.offline.cascade_sheets import cascade_sheets
from pandora.offline.estimate import Interval
from pandora.offline.fit import fit_source
from pandora.offline.judge import judge_cascade, judged_json
from pandora.offline.kinds import Aim, AimKind
from pandora.offline.options import FitSettings
from pandora.offline.plain import verdict_text
from pandora.offline.sheet import Sheet
from pandora.offline.sources.table import TableSource
from pandora.offline.text import (
    interval_text,
    number_text,
    printable,
    saving_text,
    share_text,
    usd_text,
)
from pandora.offline.words import bound_text, eyes_text, fit_verdict, tail_text, too_few_text
from pandora.offline.worth import DollarTail

MEMBERS = {
    "table", "digest", "rows", "prompts", "models", "aim", "price", "evaluator", "context", "judge_usd", "folds",
    "out_of_fold", "choice", "cascade", "gain", "pays", "promise", "single", "kinds", "never", "shares", "notes",
    "verdict", "runner_up", "dollar_tail", "why", "topics", "judged_calls",
}  # fmt: skip


def made_up(rows: int = 300, seed: int = 3, **more: Any) -> pandora.Trace:
    """Two small models, each right on its side of x, a large model that is often right, and a judge that helps a
    little.
    """
    draw = np.random.default_rng(seed)
    x = draw.normal(size=rows)
    right = np.column_stack([np.where(x > 0, 0.9, 0.2), np.where(x > 0, 0.2, 0.9), np.full(rows, 0.8)])
    quality = (draw.random((rows, 3)) < right).astype(float)
    score = np.clip(0.2 + 0.6 * quality + 0.15 * draw.normal(size=(rows, 3)), 0.0, 1.0)
    return pandora.Trace(
        {
            "models": ["left", "right", "large"],
            "quality": quality,
            "cost": np.array([0.001, 0.001, 0.02]) * (1.0 + 0.2 * draw.random((rows, 3))),
            "scores": {"score": score},
            "columns": {"x": x.tolist()},
            **more,
        },
        name="t",
    )


@pytest.fixture(scope="module")
def trace() -> pandora.Trace:
    return made_up()


def fitted(trace: pandora.Trace, **given: Any) -> tuple[Any, list[pandora.Table], dict[str, Any]]:
    return api.fit(trace._table, **{"price": 10.0, "evaluator": "score", **given})


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ({"kind": "thresholds"}, {"break_even_judge_usd"}),
        ({"kind": "router", "evaluator": "none", "context": ["x"]}, set()),
        ({"kind": "routed", "context": ["x"]}, {"break_even_judge_usd"}),
        ({"kind": "indices", "evaluator": "quality"}, {"break_even_judge_usd"}),
        ({"context": ["x"]}, {"compared", "difference", "break_even_judge_usd"}),
    ],
)
def test_the_record_is_what_the_file_keeps(
    trace: pandora.Trace, tmp_path: pathlib.Path, given: dict[str, Any], more: set[str]
) -> None:
    cascade, tables, record = fitted(trace, **given)
    assert set(record) == MEMBERS | more and list(record) == sorted(record)
    assert cascade.members.about == record
    pandora.Cascade(cascade).save(tmp_path / "c.json")
    file = json.loads((tmp_path / "c.json").read_text())
    assert file["about"] == record and file["kind"] == (record["choice"] if record["pays"] else file["kind"])
    assert sum(share["deployed"] for share in record["shares"]) == pytest.approx(1.0)
    assert [share["model"] for share in record["shares"]] == file["models"]
    loaded = load(str(tmp_path / "c.json"))
    sheets = cascade_sheets(loaded.members.to_json(), loaded.counts(), "cascade")
    assert [sheet.text(100) for sheet in sheets] == [repr(table) + "\n" for table in tables]
    assert sheets[1].notes[-1] == verdict_text(file, record)


def test_bounds_in_the_record(trace: pandora.Trace) -> None:
    _, _, record = fitted(trace, price=None, max_usd=0.01, kind="thresholds")
    assert record["bound"]["met"] and record["bound"]["missed_by"] == 0.0 and record["bound"]["reached"] <= 0.01
    assert record["aim"] == {"kind": "max_usd", "value": 0.01}
    assert record["verdict"].startswith("at most 0.01 dollars per prompt is kept: with 95% confidence it is at most $")
    _, tables, record = fitted(trace, price=None, min_quality=0.999, kind="thresholds")
    assert not record["bound"]["met"] and record["bound"]["missed_by"] > 0.0
    assert (
        "is missed by" in record["verdict"] and "prompts cannot show that, even without a failure" in record["verdict"]
    )
    assert any(note.startswith("The price that was found for the bound is ") for note in tables[1].notes)


def test_latency_is_told_and_refused() -> None:
    timed = made_up(latency=np.tile([1.0, 1.5, 3.0], (300, 1)))
    _, _, record = fitted(timed, max_latency=2.0)
    assert record["latency"]["most"] == 2.0 and record["latency"]["p95"] <= 2.0
    assert "; calls in series take at most" in record["verdict"]
    with pytest.raises(
        pandora.UsageError, match=r"max_latency=0\.5: no cascade keeps it; .* give at least that, or faster"
    ):
        fitted(timed, max_latency=0.5)


@pytest.mark.parametrize("evaluator", ["score", "quality"])
@pytest.mark.parametrize("kind", ["thresholds", "router", "routed", "indices"])
def test_what_runs_does_what_was_fitted(trace: pandora.Trace, kind: str, evaluator: str) -> None:
    context = () if kind == "thresholds" else ("x",)
    settings = FitSettings(Aim(AimKind.PRICE, 10.0), evaluator, context, kind, 1e-4)
    source = TableSource(trace._table, evaluator, context, settings.judge)
    fit = fit_source(source, settings.aim, settings.kinds, settings.as_asked)
    cascade, _, _ = api.fit(trace._table, price=10.0, evaluator=evaluator, context=context, kind=kind, judge_usd=1e-4)
    prepared = source.prepare()
    outcomes = prepared.outcomes
    psi = None if kind == "thresholds" else outcomes.psi
    cascade.set_learning(False)
    walk = fit.policy.walk(outcomes)
    for row in range(len(walk.deployed)):
        request = cascade.begin([1.0] if psi is None else psi[row])
        called = []
        while (model := cascade.next(request)) is not None:
            called.append(source.models.index(model))
            dollars, score = outcomes.usd[row, called[-1]] + 1e-4, prepared.shown[row, called[-1]]
            cascade.observe(request, model, dollars, [score])
        assert called == walk.called[row][walk.called[row] >= 0].tolist()
        assert source.models.index(cascade.deploy(request)) == walk.deployed[row]


def test_all_models_are_in_a_cascade_that_explores(trace: pandora.Trace) -> None:
    cascade, _, record = fitted(trace, kind="thresholds", explore=0.1, evaluator="quality")
    assert [name for name, _ in cascade.models()] == trace.models and len(record["shares"]) == 3
    assert pandora.Cascade.fit(trace, price=10.0, evaluator="quality", kind="thresholds", explore=0.1).explore == 0.1


def test_indices_go_on_learning_as_asked(trace: pandora.Trace) -> None:
    cascade, _, _ = fitted(trace, kind="indices", forget=500.0, c=0.2)
    file = json.loads(text_of(cascade))
    assert file["estimation"]["forget"] == 500.0 and file["rules"]["c_rho"] == 0.2 and file["rules"]["T0"] == 300
    _, tables, _ = fitted(trace, kind="indices", forget=500.0, c=0.2)
    assert "After 500 requests a sample counts for half." in tables[0].notes


def test_one_model_alone_is_told(trace: pandora.Trace) -> None:
    cascade, _, record = fitted(trace.select(["left"]))
    assert record["verdict"].startswith("use left alone, the only model") and record["runner_up"] in (
        "thresholds",
        "indices",
    )
    assert [cascade.members.models[a] for a in cascade.members.plans[0].order] == ["left"]
    assert any(note.startswith("one model alone learns nothing") for note in record["notes"])
    _, _, record = fitted(trace, price=1000.0, kind="thresholds", context=())
    assert record["choice"] in ("best single", "thresholds")


def test_labels_in_part_are_told(trace: pandora.Trace) -> None:
    draw = np.random.default_rng(5)
    quality, score = trace.quality.copy(), trace.scores["score"]
    quality[draw.random(quality.shape) > np.where(score > 0.5, 0.8, 0.2)] = np.nan
    table = {"models": trace.models, "quality": quality, "cost": trace.cost, "scores": {"score": score}}
    _, _, record = fitted(pandora.Trace(table))
    assert record["out_of_fold"] and "indices" not in record["kinds"]
    assert any(note.startswith("quality is known of ") for note in record["notes"])
    assert any(note.startswith("which qualities are known depends on the score") for note in record["notes"])
    with pytest.raises(pandora.UsageError, match="some qualities are not known"):
        fitted(pandora.Trace(table), kind="indices")


def test_few_failures_are_told() -> None:
    quality = np.ones((60, 2))
    quality[0, 0] = 0.0
    trace = pandora.Trace({"models": ["a", "b"], "quality": quality, "cost": [[0.001, 0.02]] * 60})
    _, _, record = fitted(trace, evaluator="quality")
    assert record["promise"]["quality"]["high"] == 1.0 and record["promise"]["quality"]["low"] < 0.95
    assert any("of 60 prompts differ" in note and "is not sure beyond" in note for note in record["notes"])


def test_the_same_policy_gains_nothing_and_another_one_with_the_same_outcomes_nothing_for_sure() -> None:
    nothing = {"value": 0.0, "low": 0.0, "high": 0.0}
    table: dict[str, Any] = {"models": ["a", "twin"], "quality": np.ones((60, 2)), "cost": np.full((60, 2), 0.001)}
    table["columns"] = {"x": np.linspace(-1.0, 1.0, 60).tolist()}
    trace = pandora.Trace(table)
    cascade, _, record = fitted(trace, evaluator="quality")
    assert record["kinds"]["thresholds"]["gain"] == record["promise"]["gain"] == nothing
    indices = record["kinds"]["indices"]["gain"]
    assert indices["value"] == 0.0 and indices["low"] < -0.05 and indices["high"] > 0.05
    of_thresholds = fitted(trace, evaluator="quality", kind="thresholds")[2]
    assert of_thresholds["gain"] == nothing and "gain 0.0000 [0.0000, 0.0000]" in of_thresholds["verdict"]
    routed = fitted(trace, kind="router", context=["x"], evaluator="none")
    assert routed[2]["gain"] == routed[2]["kinds"]["router"]["gain"] == nothing
    for of in (cascade, routed[0]):
        own = judged_json(judge_cascade(of, "c", trace._table, "a"))
        assert own["gain"] == nothing and own["verdict"].startswith("the cascade is a alone")
    other = judged_json(judge_cascade(cascade, "c", trace._table, "twin"))
    assert other["gain"]["value"] == 0.0 and other["gain"]["low"] < -0.05 and other["gain"]["high"] > 0.05
    assert other["verdict"].startswith("the cascade is not told apart from twin alone")


class Line:
    """A custom estimator."""

    def fit(self, features: Any, targets: Any) -> Line:
        self.weights = np.linalg.lstsq(np.column_stack([np.ones(len(features)), features]), targets, rcond=None)[0]
        return self

    def predict(self, features: Any) -> Any:
        return np.column_stack([np.ones(len(features)), features]) @ self.weights


@pytest.mark.parametrize("kind", ["router", "routed"])
def test_a_router_by_an_estimator_runs_and_is_saved_beside_its_file(
    trace: pandora.Trace, tmp_path: pathlib.Path, kind: str
) -> None:
    cascade = pandora.Cascade.fit(trace, price=10.0, evaluator="score", context="x", kind=kind, router=Line())
    assert cascade.kind == kind and cascade.about is not None and cascade.about["pays"]
    assert cascade.begin("", {"x": 2.0}).next() == "left" and cascade.begin("", {"x": -2.0}).next() == "right"
    assert cascade.begin([1.0, 2.0]).next() == "left"
    tested = cascade.test(made_up(seed=4))
    assert tested.gain.low > 0.0 and "t" in repr(tested) and "Line" in repr(cascade)
    called = sum(share["called"] for share in cascade.about["shares"])
    assert cascade.test(trace).calls.value == pytest.approx(called)
    with pytest.raises(pandora.UsageError, match="whose router is a Line is saved by Cascade.save alone"):
        pickle.dumps(cascade)
    cascade.save(tmp_path / "c.json")
    with pytest.raises(pandora.UsageError, match="its router is a Line, which .*c.json.joblib holds as a pickle"):
        pandora.Cascade.load(tmp_path / "c.json")
    again = pandora.Cascade.load(tmp_path / "c.json", trusted=True)
    assert again.test(trace).values == cascade.test(trace).values
    with pytest.raises(pandora.UsageError, match="which no database holds"):
        pandora.serving.open(f"sqlite:///{tmp_path}/kept.db", again)
    beside = tmp_path / "c.json.joblib"
    beside.write_bytes(beside.read_bytes()[:-1])
    with pytest.raises(pandora.DataError, match="is not the file that was saved beside"):
        pandora.Cascade.load(tmp_path / "c.json", trusted=True)
    beside.unlink()
    with pytest.raises(pandora.DataError, match="No such file"):
        pandora.Cascade.load(tmp_path / "c.json", trusted=True)
    with pytest.raises(pandora.UsageError, match="router"):
        pandora.Cascade.fit(trace, price=10.0, evaluator="score", context="x", router="forest")


def test_progress_is_told_and_can_end_a_fit(trace: pandora.Trace) -> None:
    heard: list[tuple[int, int]] = []
    fitted(trace, kind="thresholds", progress=lambda d, t: heard.append((d, t)))
    assert heard[-1] == (16, 16) and [done for done, _ in heard] == list(range(1, 17))

    def end(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(trace, kind="thresholds", progress=end)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (number_text(-0.0001, 2), "0.00"),
        (number_text(float("nan"), 2), "---"),
        (interval_text(Interval(0.5, 0.25, 0.75), 2), "0.50 [0.25, 0.75]"),
        (interval_text(Interval(0.5, float("nan"), float("nan")), 2), "0.50"),
        (interval_text(Interval(-0.0, -0.0, 0.0), 2), "0.00 [0.00, 0.00]"),
        (usd_text(Interval(0.00123, 0.001, 0.002)), "0.00123 [0.00100, 0.00200]"),
        (usd_text(Interval(123.4, 100.0, 150.0)), "123.40 [100.00, 150.00]"),
        (share_text(Interval(0.12, 0.1, 0.14)), "12.0% [10.0%, 14.0%]"),
        (saving_text(Interval(-0.12, -0.14, -0.1)), "costs 12.0% [10.0%, 14.0%] more"),
        (saving_text(Interval(float("nan"), 0.0, 0.0)), "costs what is not known"),
        (
            eyes_text("score", None, 0.0012),
            "evaluator score: judging is taken to be free; at $0.0012 a call the gain is gone",
        ),
        (eyes_text("score", 0.0002, 1.0), "evaluator score at $0.0002 a call"),
        (eyes_text("none", None, 1.0), "no answer is judged"),
        (printable("a\nb\x1b[31m\u202e\udcff"), "a b\\x1b[31m\\u{202e}\\xff"),
        (printable("a\n\tb\r", 0), "a\n\tb "),
    ],
)
def test_numbers_and_words(said: str, wanted: str) -> None:
    assert said == wanted


def test_bounds_in_words() -> None:
    tail = DollarTail(2.0, 300, 3, 0.1, 0.001)
    aim = Aim(AimKind.MAX_USD, 0.001)
    assert bound_text(aim, True, 0.00094, tail) == (
        "at most 0.001 dollars per prompt is kept: with 95% confidence it is at most $0.00094"
    )
    assert bound_text(aim, False, 0.0012, tail).startswith(
        "at most 0.001 dollars per prompt is missed by $0.0002: with"
    )
    heavy = DollarTail(5.0, 300, 3, 0.4, 0.00123)
    assert bound_text(aim, True, 0.00094, heavy) == (
        "whether at most 0.001 dollars per prompt is kept cannot be said with any confidence, for "
        f"{tail_text(heavy)}; on these prompts it costs $0.00123"
    )
    assert tail_text(heavy) == (
        "the dearest 3 of 300 prompts carry 40% of the dollars; a skewness of 5 asks for 625 prompts and more"
    )
    quality = Aim(AimKind.MIN_QUALITY, 0.99)
    assert too_few_text(quality, 300) == " (300 prompts cannot show that, even without a failure; about 560 could)"
    assert too_few_text(quality, 600) == "" and too_few_text(aim, 10) == ""


def test_verdicts_in_words(trace: pandora.Trace) -> None:
    source = TableSource(trace._table, "quality")
    fit = fit_source(source, Aim(AimKind.PRICE, 10.0), ["thresholds", "indices"], False)
    file = {"kind": "thresholds", "order": ["left", "large"], "thresholds": [0.55]}
    said = fit_verdict(fit, "quality", file)
    assert said.startswith("use left (accepted from 0.55), large: it gains ") and "over the best single model, " in said


def test_csv_that_no_spreadsheet_runs() -> None:
    cells = {
        "=HYPERLINK(1)": "'=HYPERLINK(1)", "@x": "'@x", "-2+3": "'-2+3", "-2.5": "-2.5", "-": "'-",
        "-0.5 [-0.6, -0.4]": '"-0.5 [-0.6, -0.4]"', "-5% [-6%, -4%]": '"-5% [-6%, -4%]"', '=a,"b"': '"\'=a,""b"""',
    }  # fmt: skip
    assert _core.csv([list(cells)]) == ",".join(cells.values()) + "\n"
    sheet = Sheet("t", ["model", "usd", "note"])
    sheet.add("=cmd", "1.2", "---")
    assert sheet.csv() == "model,usd,note\n'=cmd,1.2,\n"


def test_sheets() -> None:
    sheet = Sheet("A title of some words", ["", "first", "second"], notes=["a note"])
    sheet.add("row", "1.5", "[x]")
    sheet.add("other", "---", "*y*", rule=True)
    assert sheet.text(80) == (
        "A title of some words\n       first  second\n-----  -----  ------\nrow      1.5     [x]\n"
        "other    ---     *y*\na note\n"
    )
    narrow = sheet.text(14)
    assert "second" in narrow and max(map(len, narrow.splitlines())) <= 14
    assert "| other | --- | \\*y\\* |" in sheet.markdown() and '<tr class="rule">' in sheet.table()._repr_html_()
    table = sheet.table()
    assert table.columns == ["column 1", "first", "second"] and table["first"][0] == 1.5 and np.isnan(table["first"][1])
    assert repr(table) == sheet.text(100).rstrip("\n")


def test_tables_of_records_that_anybody_wrote() -> None:
    file = {
        "kind": "thresholds", "models": ["a"], "order": ["a"], "thresholds": [], "price": 1.0, "evaluator": "score",
        "about": {
            "promise": {}, "aim": 3, "notes": [1, "n"], "shares": "x", "single": [], "dollar_tail": {"heavy": True},
        },
    }  # fmt: skip
    first, second = cascade_sheets(file, {"requests": 3, "calls": 4, "dollars": 0.5, "feedbacks": 1}, "f")
    assert "It has had 3 requests with 4 calls for $0.5, and 1 feedbacks." in first.notes
    assert "n" in second.notes and second.rows[0][1] == "---"
    (alone,) = cascade_sheets({**file, "about": None}, {}, "f")
    assert (
        alone.notes[-1].startswith("It was not fitted by") and alone.title == "f: one model, price 1, evaluator score"
    )
