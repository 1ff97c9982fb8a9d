"""`cascade test` on full tables, on tables with labels on some answers, and on logs of decisions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import numpy as np
import pytest
from made_up_logs import MODELS, Row, World, by_tosses, full, in_order, labelled, service, written

import pandora
from pandora import _core
from pandora.errors import DataError
from pandora.live import Members, RunningCascade, parse, text_of
from pandora.offline import api
from pandora.offline.errors import Refusal
from pandora.offline.judge import JudgedCascade, judge_cascade, judged_json, judged_sheet
from pandora.offline.policies.order import Order

#: From the C++ program of November 2026, for the logs below: quality, dollars per 1,000, calls, utility, ends of gain.
#: "fit toss": among equally good thresholds the lowest counts; in one fold C++ took another, by the last digits of its
#: sums. "fit live": a single model gains nothing over itself; C++ counted the noise of its labels.
_PINNED = """
fit toss: 0.885090423 3.156461204 1.617092443 0.758831974 0.007970117 0.092267263
fit live: 0.787411084 1.792987958 1.0 0.715691566 0.0 0.0 0.754850277 -0.103381945
order ips: 0.837584568 2.765726917 1.239166667 0.726955491 -0.169947145 0.199401672 122.713999286
order snips: 0.884601585 2.998077958 1.343270099 0.764678467 -0.091991188 0.118093523 122.713999286
order dr: 0.848043886 3.047313849 1.372159983 0.726151332 -0.098349987 0.072881 122.713999286
labels ips: 0.931693462 3.009684444 1.34 0.811306085 -0.007648914 0.194709367 365.768625433
labels snips: 0.918089643 3.009684444 1.34 0.797702265 0.045754901 0.113766617 365.768625433
labels dr: 0.919275591 3.009684444 1.34 0.798888213 0.047301366 0.113436873 365.768625433
live ips: 0.907179761 2.787202478 1.395588235 0.795691662 -0.020775274 0.38187461 550.17864556 0.754850277 0.115371638
live snips: 0.897350767 2.762824614 1.383381924 0.786837783 0.008789264 0.098138887 550.17864556 0.754850277 0.06144467
live dr: 0.885853326 2.761638308 1.383428844 0.775387794 0.025997687 0.110301023 550.17864556 0.754850277 0.049104732
full: 0.875555556 3.131412222 1.346666667 0.750299067 0.020671068 0.069365732 9.3491 5.4497
apart: 0.881812349 3.071726202 1.374682348 0.758943301 0.025433892 0.110464136 440.0
"""
PINNED = {name: [*map(float, row.split())] for name, row in (line.split(":") for line in _PINNED.strip().splitlines())}
Judge = Callable[..., JudgedCascade]


def evenly(row: Row) -> float:
    return 0.3 + 0.5 * float(row["score"])


def rows_of(name: str) -> list[Row]:
    """The rows of a table or log, by its name."""
    if name == "toss":
        return by_tosses(World.drawn(1, 1500), 7, (1.0, 0.6, 0.5))
    if name == "order":
        return labelled(in_order(World.drawn(2, 1500), 3, (0.6, 0.2, 0.2), 0.8), 4, evenly)
    if name == "one":
        return in_order(World.drawn(6, 1500), 7, (0.4, 0.3, 0.3), 0.0)
    if name == "labels":
        return labelled(full(World.drawn(3, 900)), 5, lambda row: 0.4, told=False)
    if name == "live":
        return service(World.drawn(5, 3000), 8, Order((1, 0, 2), (0.6, 0.6)), 0.3)
    return full(World.drawn(4, 900), latency=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("judged")


def table(folder: Path, name: str, rows: Optional[list[Row]] = None) -> _core.TraceTable:
    return pandora.Trace(written(folder / f"{name}.jsonl", rows_of(name) if rows is None else rows))._table


@pytest.fixture(scope="module")
def fitted(folder: Path) -> tuple[Any, dict[str, Any]]:
    cascade, _, record = api.fit(
        table(folder, "toss"), price=40, evaluator="score", kind="thresholds", openings="independent", judge_usd=0.0003
    )
    return cascade, record


@pytest.fixture(scope="module")
def judge(folder: Path, fitted: tuple[Any, dict[str, Any]]) -> Judge:
    """Tests the fitted cascade on a table by its name, beside a model."""

    def judged(name: str, against: Optional[str] = "large", rows: Optional[list[Row]] = None, **how: Any) -> Any:
        return judge_cascade(fitted[0], "c", table(folder, name, rows), against, **how)

    return judged


def six(found: dict[str, Any]) -> list[float]:
    means = [found[name]["value"] for name in ("quality", "usd_per_1000", "calls", "utility")]
    return [*means, found["gain"]["low"], found["gain"]["high"]]


def test_fits_to_logs_are_those_of_before(folder: Path, fitted: tuple[Any, dict[str, Any]]) -> None:
    assert six(fitted[1]["promise"]) == pytest.approx(PINNED["fit toss"], abs=1e-8)
    _, tables, record = api.fit(table(folder, "live"), price=40, evaluator="score", kind="thresholds")
    rules = record["running"]
    found = [*six(record["promise"]), rules["utility"]["value"], rules["fit_gains"]["low"]]
    assert found == pytest.approx(PINNED["fit live"], abs=1e-8)
    assert rules["keep"] and record["verdict"].startswith("keep the rules that made the log")
    assert "gain" not in rules
    assert any("running cascade" in repr(one) for one in tables)


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
@pytest.mark.parametrize("name", ["order", "labels", "live"])
def test_tests_are_those_of_before(judge: Judge, name: str, estimator: str) -> None:
    judged = judge(name, judge_usd=0.0 if name == "live" else None, estimator=estimator)
    values = judged_json(judged)
    found = [*six(values), values["effective_prompts"]]
    if "running" in values:
        found += [values["running"]["utility"]["value"], values["running"]["gain"]["high"]]
    assert found == pytest.approx(PINNED[f"{name} {estimator}"], abs=1e-8)
    assert values["estimator"] == estimator
    assert any(f"estimated by {estimator} from" in note for note in judged.found.notes)


def test_of_a_full_table_values_are_plain_means(judge: Judge, fitted: tuple[Any, dict[str, Any]]) -> None:
    judged = judge("full", None)
    values = judged_json(judged)
    latency = values["latency"]
    found = [*six(values), latency["p95"], latency["alone"]["p50"]]
    assert found == pytest.approx(PINNED["full"], abs=1e-8)
    of_worth = "quality usd_per_1000 calls utility gain saving"
    of_test = (
        "cascade table rows prompts price evaluator judge_usd against alone same_table estimator effective_prompts"
    )
    assert set(values) == set(f"{of_worth} {of_test} verdict latency promise".split())
    assert values["estimator"] == "plugin" and values["against"] == "large" and not values["same_table"]
    assert values["judge_usd"] == 0.0003
    # Runs one request at a time through the cascade itself.
    live, prompts = parse(text_of(fitted[0]), "c"), World.drawn(4, 900)
    quality, usd = [], []
    for prompt in range(900):
        request, spent = live.begin(np.ones(1, np.float32)), 0.0
        while (model := live.next(request)) is not None:
            k = MODELS.index(model)
            spent += prompts.usd[prompt, k] + 0.0003
            live.observe(request, model, prompts.usd[prompt, k], [prompts.score[prompt, k]], 0.0)
        quality.append(prompts.quality[prompt, MODELS.index(live.deploy(request))])
        usd.append(spent)
    assert judged.found.worth.quality.value == pytest.approx(np.mean(quality))
    assert judged.found.worth.usd_per_1000.value == pytest.approx(1000.0 * np.mean(usd))


def test_models_apart_are_those_of_before(judge: Judge) -> None:
    judged = judge("one", openings="apart")
    values = judged_json(judged)
    # The flat parts of two models' calibrations may differ in their last bits, which decides whose answer is deployed.
    assert [*six(values), values["effective_prompts"]] == pytest.approx(PINNED["apart"], abs=5e-4)
    assert judged.verdict.endswith("; if models' answers are independent")
    assert judged.found.notes[0].startswith("assumed: models' answers to a prompt are independent")


def test_what_is_printed(judge: Judge) -> None:
    judged = judge("full", None, evaluator="quality")
    sheet = judged_sheet(judged)
    assert sheet.title.startswith("c on ")
    assert "900 prompts, price 40, evaluator quality at $0.0003 a call" in sheet.title
    assert [row[0] for row in sheet.rows] == ["cascade", "promised", "large alone", "gain", "saving"]
    assert sheet.columns == ["", "utility", "quality", "$ per 1,000", "calls"]
    assert any(
        note.startswith("The cascade and its promise were fitted with the evaluator score") for note in sheet.notes
    )
    assert sheet.notes[-1] == judged.told
    assert any(note.startswith("seconds of the calls one after the other") for note in sheet.notes)
    of_service = judged_sheet(judge("live", judge_usd=0.0))
    assert [row[0] for row in of_service.rows][:4] == ["cascade", "promised", "running cascade", "large alone"]


def test_what_a_cascade_is_held_against(folder: Path, judge: Judge) -> None:
    assert judge("full", "small").against == "small"
    with pytest.raises(DataError, match="has no model larg; the nearest is large; name one of the table's"):
        judge("full", "larg")
    made = {"kind": "thresholds", "price": 40, "evaluator": "score"}
    nameless = RunningCascade(
        Members.of_json({**made, "models": ["small", "large"], "order": ["small", "large"], "thresholds": [0.7]})
    )
    judged = judge_cascade(nameless, "c", table(folder, "full"))
    assert judged.chosen_here and judged.promise is None
    assert any("names no best single model" in note for note in judged_sheet(judged).notes)
    with pytest.raises(DataError, match="cannot say which single model is the best"):
        judge_cascade(nameless, "c", table(folder, "order"))
    alone = RunningCascade(Members.of_json({**made, "models": ["large"], "order": ["large"], "thresholds": []}))
    found = judge_cascade(alone, "c", table(folder, "full"), "large", judge_usd=0.01)
    assert found.verdict.startswith("the cascade is large alone: quality 0.")
    assert found.found.worth.usd_per_1000.value == pytest.approx(1000.0 * World.drawn(4, 900).usd[:, 2].mean())
    assert found.found.worth.gain == (0.0, 0.0, 0.0)


def test_what_cannot_be_told_is_refused(judge: Judge) -> None:
    def refused(**arguments: Any) -> str:
        with pytest.raises((Refusal, DataError)) as error:
            judge(**arguments)
        return str(error.value)

    assert "which identifies ips, snips, dr" in refused(name="order", estimator="plugin")
    assert "which identifies plugin" in refused(name="full", estimator="dr")
    assert "unknown; use plugin, ips, snips or dr" in refused(name="full", estimator="best")
    assert "is of logs of decisions" in refused(name="full", openings="independent")
    assert "has an estimate of its own" in refused(name="one", openings="apart", estimator="dr")
    assert "the cascade looks at scores" in refused(name="full", evaluator="none")
    few = refused(name="one")
    assert "no decision of the log makes its call number 2" in few and 'openings="apart"' in few
    with pytest.raises(DataError, match="has no model small of the cascade.*; give a table with all of"):
        judge("two", rows=[row for row in rows_of("full") if row["model"] != "small"])


def test_a_model_that_the_log_seldom_calls_is_not_needed_where_it_knows_its_rules(judge: Judge) -> None:
    rows = service(World.drawn(9, 2500), 10, Order((1, 0, 2), (0.6, 0.6)), 0.03)
    judged = judge("seldom", rows=rows, judge_usd=0.0)
    assert np.isnan(judged.found.worth.gain.value) and judged.found.log_rules is not None
    values = judged_json(judged)
    assert values["alone"]["quality"]["value"] is None and values["running"]["gain"]["value"] is not None
    assert "the rules that made the log, without exploring" in judged.verdict
    assert any("effective prompts do what large alone does" in note for note in judged.found.notes)


def test_the_judge_is_not_charged_to_a_model_alone(judge: Judge) -> None:
    """A service whose dollars include the judge's. The large model alone costs $4.00, and not $6.00."""
    world, judge_usd = World.drawn(11, 4000), 0.002
    world = World(world.quality, world.score, np.full((4000, 3), [0.001, 0.0025, 0.004]))
    rows = service(world, 12, Order((1, 0, 2), (0.6, 0.6)), 0.4, judge_usd)
    judged = judge("service-judge", rows=rows, judge_usd=judge_usd)
    assert judged.found.alone.usd_per_1000.value == pytest.approx(4.0, abs=1e-6)
    assert judged.found.log_rules is not None
    charged = judged.found.log_rules.usd_per_1000.value
    truth = 1000.0 * world.worth(Order((1, 0, 2), (0.6, 0.6)), judge_usd)[1]
    assert charged == pytest.approx(truth, rel=0.05)


def test_decisions_that_called_nothing_are_counted(judge: Judge) -> None:
    world = World.drawn(13, 3000)
    silent = by_tosses(world, 14, (0.5, 0.5, 0.5))
    judged = judge("silent", rows=silent, estimator="ips", openings="independent")
    whole = judge("whole", rows=full(world))
    quality, truth = judged.found.worth.quality, whole.found.worth.quality.value
    assert quality.low <= truth <= quality.high and quality.value < truth + 0.06
    assert any("12.5% of all" in note for note in judged.found.notes)
    assert not any("first calls" in note for note in judged.found.notes)


def test_thinned_logs_and_leaning_labels_are_told(judge: Judge) -> None:
    world = World.drawn(15, 3000)
    rows = in_order(world, 16, (0.6, 0.2, 0.2), 0.8)
    draw, kept = np.random.default_rng(17), []
    by_prompt: dict[str, list[Row]] = {}
    for row in rows:
        by_prompt.setdefault(row["prompt_id"], []).append(row)
    for calls in by_prompt.values():
        dropped = 0.6 if calls[-1]["quality"] < 0.5 else 0.0
        if draw.random() >= dropped:
            kept += [{**call, "pdrop": dropped} for call in calls]
    whole = judge("sampled", rows=full(world)).found.worth.quality.value
    judged = judge("thinned", rows=kept).found
    assert judged.worth.quality.low <= whole <= judged.worth.quality.high
    assert any(note.startswith("pdrop: the log was thinned") for note in judged.notes)
    thumbs = labelled(full(world), 18, lambda row: 0.4 if row["quality"] < 0.5 else 0.25, told=False)
    told = "which qualities are known depends on the score"
    assert any(told in note for note in judge("thumbs", rows=thumbs).found.notes)
    assert not any("depends on the score" in note for note in judge("labels").found.notes)


def test_the_table_of_the_fit_is_known_again(judge: Judge) -> None:
    judged = judge("toss", openings="independent")
    assert judged.same_table
    assert any("The cascade was fitted on this table" in note for note in judged_sheet(judged).notes)
