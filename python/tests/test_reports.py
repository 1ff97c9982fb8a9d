"""The figures of a study, their content, and the report's document, from made-up numbers."""

from __future__ import annotations

import json
import math
import pathlib
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import pytest

from pandora.rendering import document, figures, render, study, tables

Lane = tuple[str, str, int, str]  # (policy, reward, T0, hyperparameters)
TITLES = {"online_plugin": "Online plug-in", "frugalgpt": "FrugalGPT", "dow": "DOW", "query_all": "Query all"}
THREE: dict[Lane, float] = {
    ("online_plugin", "known", 0, ""): 8.5, ("online_plugin", "unknown", 0, ""): 10.5,
    ("online_plugin", "known", 7, ""): 4.0, ("online_plugin", "unknown", 7, ""): 5.0,
    ("frugalgpt", "known", 7, ""): 30.0,
}  # fmt: skip
LEFT_OUT = " Without those that do not run at this T₀: "


def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def lane_row(lane: Lane, regret: float, best: bool = True, half: float = 0.5) -> dict[str, Any]:
    """A row of a lane. Per 1,000 periods, costs are 100, and the utility is 520 minus the regret."""
    names = ("policy", "reward", "T0", "hyperparameter")
    ends = {"half_width_95_x1000": half, "standard_error_x1000": half / 2, "cost_half_width_95_x1000": None}
    return {
        **dict(zip(names, lane)), "regime": "A", "environment": "uniform", "replications": 2 if best else 0,
        "best": best, "regret_x1000": regret, **ends, "cost_x1000": 100.0, "quality_x1000": 620.0 - regret,
        "quality_half_width_95_x1000": half, "published_x1000": None, "published_half_width_95_x1000": None,
        "wrong_order_x1000": 3.0, "too_early_x1000": 2.0,
    }  # fmt: skip


def group(lanes: Mapping[Lane, float], boxes: int = 3, setting: int = 0) -> dict[str, Any]:
    oracles = {("oracle", "known", T0, ""): 0.0 for T0 in sorted({lane[2] for lane in lanes} or {0})}
    rows = [lane_row(lane, regret, not math.isnan(regret)) for lane, regret in [*oracles.items(), *lanes.items()]]
    where = ("policy", "reward", "T0")
    best = [{name: row[name] for name in where} for row in rows if row["best"]]
    regret = {tuple(lane[:3]): mean for lane, mean in lanes.items() if not math.isnan(mean)}
    curves = [
        {**row, "period": t, "cumulative_regret": t * regret[tuple(row.values())] / 1000, "half_width_95": t / 1000}
        for row in best[len(oracles):] for t in (1, 10, 100)
    ]  # fmt: skip
    shares = [(k, [0.75, 0.25][k] if k < 2 else 0.0) for k in range(boxes)]
    names = ("queries_per_period", "deployments_per_period")
    return {
        "setting": setting, "environment": "uniform", "title": "Uniform", "regime": "A", "summary": columns(rows),
        "curves": columns(curves),
        "slopes": [{**row, "slope": 1.0, "half_width_95": None} for row in best[len(oracles):]],
        "boxes": columns([{**row, "box": k + 1, **dict.fromkeys(names, y)} for row in best for k, y in shares]),
        "depth": columns([{**row, "boxes_opened": k + 1, "share_of_periods": y} for row in best for k, y in shares]),
    }  # fmt: skip


def numbers_of(lanes: Mapping[Lane, float], T0: Sequence[int] = (0, 7), boxes: int = 3, **more: Any) -> dict[str, Any]:
    titles = [
        {"policy": policy, "reward": reward, "brief": f"{TITLES[policy]}, {reward}", "knows_reward": reward == "known"}
        for policy in TITLES
        for reward in ("known", "unknown")
    ]
    setting = {"varied": [], "boxes": boxes, "context": 100, "periods": 100, "replications": 2}
    table = {
        "label": "regret", "title": "Regret", "heading_column": "", "row_headers": 1, "notes": ["a note"],
        "columns": ["policy", "T0=0"],
        "rows": [{"heading": "uniform"},
                 {"cells": ["DOW", "1.2±0.1"], "exact": ["DOW", "1.23"], "bold": [1], "rule_above": False}],
    }  # fmt: skip
    return {
        "generator": "pandora numbers 1", "of": "study", "title": "", "seed": 1, "engine": "an engine",
        "regret": True, "of_table": False, "of_prompts": False, "unfinished": "", "study": "periods = 100\n",
        "manifest": {"program": {"version": "9"}}, "policies": [], "base": "", "shown": [], "T0": list(T0),
        "settings": [setting], "meanings": {}, "parts": [["wrong order", "wrong_order_x1000"]], "titles": titles,
        "groups": [group(lanes, boxes)], "pairs": {}, "tables": [table, table], **more,
    }  # fmt: skip


def drawn(numbers: Mapping[str, Any], T0: Optional[int] = None) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for part in study.study_figures(numbers, T0) for one in part["figures"]}


def labels(one: Mapping[str, Any]) -> list[str]:
    return [series["label"] for series in one["series"]]


def pair(b: str, T0: Optional[int], difference: float, **more: Any) -> dict[str, Any]:
    return {
        "a": "online_plugin/known", "b": b, "setting": "", "environment": "uniform", "regime": "A", "T0": T0,
        "replications": 4, "regret_b_x1000": 4.0, "difference_x1000": difference, "half_width_95_x1000": 0.25,
        "cross_fitted_difference_x1000": difference, "cross_fitted_half_width_95_x1000": None, "p_holm": 0.01, **more,
    }  # fmt: skip


def test_they_say_which_T0_they_show_and_who_does_not_run_there() -> None:
    usual = drawn(numbers_of(THREE))
    one = usual["curves-known-uniform-A"]
    assert "T₀ = 7," in one["caption"] and one["caption"].endswith(" A = 3, d_x = 100, T = 100, 2 replications.")
    assert labels(one) == ["Online plug-in, known", "FrugalGPT, known"]
    assert not any(LEFT_OUT in found["caption"] for found in usual.values())
    asked = drawn(numbers_of(THREE), 0)
    for name in ("curves-known", "curves-loglog-known", "quality-cost", "regret-parts", "queries", "depth"):
        caption = asked[f"{name}-uniform-A"]["caption"]
        assert "T₀ = 0" in caption and f"{LEFT_OUT}FrugalGPT, known." in caption
    assert LEFT_OUT not in asked["curves-unknown-uniform-A"]["caption"]


@pytest.mark.parametrize(
    ("lanes", "T0", "shown"),
    [({("dow", 0), ("dow", 50), ("dow", 1000)}, (0, 50, 1000), 0),  # T0 up to T / 100
     ({("dow", 0), ("dow", 1), ("frugalgpt", 1), ("dow", 50), ("frugalgpt", 50)}, (0, 1, 50), 1),
     ({("dow", 0), ("dow", 50), ("frugalgpt", 50), ("dow", 90), ("frugalgpt", 90)}, (90, 0, 50), 50)],
)  # fmt: skip
def test_the_usual_T0_is_one_at_which_all_run(lanes: set[tuple[str, int]], T0: Sequence[int], shown: int) -> None:
    found = {(policy, "known", at, ""): 1.0 for policy, at in lanes}
    assert study.usual_T0({**numbers_of({}, T0), "groups": [group(found)]}) == shown


def test_unknown_rewards_stand_apart_from_known_ones() -> None:
    found = drawn(numbers_of(THREE))
    for kind in ("curves", "curves-loglog", "t0"):
        for knows in ("known", "unknown"):
            assert all(f", {knows}" in label for label in labels(found[f"{kind}-{knows}-uniform-A"]))
    assert "that do not see μ*" in found["curves-unknown-uniform-A"]["caption"]


def test_curves_are_means_with_their_bands_and_slopes() -> None:
    found = drawn(numbers_of(THREE))
    (curve, _) = found["curves-known-uniform-A"]["series"]
    assert curve["x"] == [1, 10, 100] and curve["y"] == pytest.approx([0.004, 0.04, 0.4])
    assert curve["high"] == pytest.approx([0.005, 0.05, 0.5]) and curve["low"] == pytest.approx([0.003, 0.03, 0.3])
    assert labels(found["curves-loglog-known-uniform-A"])[0] == "Online plug-in, known, slope\u00a01.00"


def test_an_unknown_half_width_draws_no_interval() -> None:
    one = figures.series("x")
    figures.add_point(one, 3.0, 5.0, 0.25)
    figures.add_point(one, 4.0, 6.0, math.nan)
    assert (one["low"], one["high"], one["x_low"]) == ([4.75, 6.0], [5.25, 6.0], [])


def test_regret_against_T0_is_in_order_and_only_of_several() -> None:
    plug_in, frugal = drawn(numbers_of(THREE, (7, 0)))["t0-known-uniform-A"]["series"]
    assert (plug_in["x"], plug_in["y"], plug_in["high"]) == ([0, 7], [8.5, 4.0], [9.0, 4.5])
    assert (frugal["x"], frugal["y"]) == ([7], [30.0])
    assert "t0-known-uniform-A" not in drawn(numbers_of({("dow", "known", 7, ""): 1.0}, (7,)))


def test_hyperparameters_show_the_best_of_the_others() -> None:
    of = [("c_rho=0.1;c_theta=0.1", 20.0), ("c_rho=0.1;c_theta=1", 14.0), ("c_rho=1;c_theta=0.1", 4.0)]
    lanes = {("dow", "unknown", 0, text): regret for text, regret in of}
    lanes |= {("dow", "unknown", 0, "c_rho=2"): math.nan, ("dow", "known", 0, "c_rho=0.1"): 10.0}
    one = drawn(numbers_of(lanes, (0,)))["hyperparameters-uniform-A"]
    assert labels(one) == ["DOW, unknown (c_rho)"]  # the other policy has only one point
    assert (one["series"][0]["x"], one["series"][0]["y"]) == ([0.1, 1.0], [14.0, 4.0])


def test_quality_is_against_cost_with_the_oracle() -> None:
    one = drawn(numbers_of(THREE))["quality-cost-uniform-A"]
    assert labels(one) == ["Online plug-in, known", "Online plug-in, unknown", "FrugalGPT, known", "Oracle"]
    assert (one["series"][0]["x"], one["series"][0]["y"], one["series"][3]["y"]) == ([100.0], [616.0], [620.0])
    assert one["series"][0]["x_low"] == [100.0] and one["series"][0]["high"] == [616.5]


def test_a_policy_that_failed_everywhere_is_named_and_not_drawn() -> None:
    found = drawn(numbers_of({**THREE, ("online_plugin", "known", 7, ""): math.nan}), 7)
    assert labels(found["curves-known-uniform-A"]) == ["FrugalGPT, known"]
    assert ": Online plug-in, known." in found["quality-cost-uniform-A"]["caption"]
    assert found["depth-uniform-A"]["categories"] == ["Oracle", "Online plug-in, unknown", "FrugalGPT, known"]


def test_bars_are_shares_of_the_periods() -> None:
    found = drawn(numbers_of(THREE))
    queries, depth, parts = (found[f"{name}-uniform-A"] for name in ("queries", "depth", "regret-parts"))
    assert (queries["stacked"], depth["stacked"]) == (False, True)
    assert labels(queries) == ["box 1", "box 2", "box 3"] and labels(depth)[1] == "2 opened"
    assert depth["series"][1]["y"] == [0.25] * 4 and len(depth["categories"]) == 4
    assert labels(parts) == ["wrong order"] and parts["series"][0]["y"] == [3.0] * 3
    assert "queries-uniform-A" not in drawn(numbers_of(THREE, boxes=13))


def test_published_values_stand_against_reproduced_ones() -> None:
    numbers = numbers_of({("online_plugin", "known", 0, ""): 8.5}, (0,))
    summary = numbers["groups"][0]["summary"]
    summary["published_x1000"][1], summary["published_half_width_95_x1000"][1] = 9.31, 0.35
    assert study.study_figures(numbers)[0]["heading"] == "Published against reproduced"
    found = drawn(numbers)
    (value,) = found["published-A"]["series"]
    assert (value["x"], value["y"], value["x_high"]) == ([9.31], [8.5], [pytest.approx(9.66)])
    assert found["z-scores-A"]["series"][0]["y"] == [pytest.approx((8.5 - 9.31) / math.hypot(0.25, 0.35 / 1.96))]
    assert "published-B" not in found


def test_differences_show_each_policy_less_the_base() -> None:
    rows = [pair("dow/known", 0, 3.0), pair("dow/known", 50, 4.0), pair("theirs/known", 50, -6.0),
            pair("dow/known", None, 1.0), pair("dow/known", 7, 1.0, setting="periods=5"),
            pair("dow/known", 90, 1.0, replications=0)]  # fmt: skip
    one = drawn(numbers_of(THREE, pairs=columns(rows)))["difference-online_plugin-known-uniform-A"]
    assert labels(one) == ["DOW, known", "theirs/known"]  # a policy of another program has no title
    assert (one["series"][0]["x"], one["series"][0]["y"], one["series"][1]["y"]) == ([0, 50], [-3.0, -4.0], [6.0])
    assert one["series"][0]["high"] == [-2.75, -3.75] and not one["log_y"]
    assert "less that of Online plug-in, known" in one["caption"] and one["series"][1]["policy"] == "theirs"


def varied(
    *found: tuple[Sequence[tuple[str, str, Optional[float]]], Mapping[str, float]], **more: Any
) -> dict[str, Any]:
    settings = [{**numbers_of({})["settings"][0], "varied": [list(key) for key in keys]} for keys, _ in found]
    groups = [
        group({(p, "known", 7, ""): regret for p, regret in regrets.items()}, setting=k)
        for k, (_, regrets) in enumerate(found)
    ]
    return {**numbers_of({}), "settings": settings, "groups": groups, **more}


def test_keys_that_vary_have_a_figure_each() -> None:
    numbers = varied(([("periods", "100", 100.0)], {"dow": 8.0}), ([("periods", "1000", 1000.0)], {"dow": 3.0}))
    one = drawn(numbers, 7)["vary-1-known-uniform-A"]
    assert (one["kind"], one["x_label"], one["x_key"]) == ("line_points", "horizon T (periods)", "periods")
    assert (one["log_x"], one["log_y"]) == (True, False)
    assert (one["series"][0]["x"], one["series"][0]["y"], one["series"][0]["low"]) == ([100, 1000], [8, 3], [7.5, 2.5])
    assert "against periods of policies that see μ*, T₀ = 7, with 95% intervals. A = 3, d_x = 100, " in one["caption"]


def test_words_and_scenarios_are_bars_of_policies_that_have_them_all() -> None:
    keys = [[("estimation.refit", name, number)] for name, number in (("tracking", None), ("7", 7.0))]
    meanings = {"estimation.refit": "When estimates are solved: tracking, or every N"}
    found = drawn(varied((keys[0], {"dow": 8.0, "frugalgpt": 9.0}), (keys[1], {"dow": 4.0}), meanings=meanings), 7)
    one = found["vary-1-known-uniform-A"]
    assert (one["kind"], one["categories"]) == ("bars", ["tracking", "7"])
    assert one["x_label"] == "When estimates are solved (estimation.refit)"
    assert labels(one) == ["DOW, known"] and (one["series"][0]["x"], one["series"][0]["y"]) == ([], [8.0, 4.0])
    numbers = varied(*(([("scenario", str(k), float(k))], {"dow": 8.0}) for k in (1, 2)))
    numbers["settings"][1]["periods"] = 5  # a size that one setting replaces is not named for all
    one = drawn(numbers, 7)["vary-1-known-uniform-A"]
    assert (one["kind"], one["x_label"]) == ("bars", "scenario") and "T = " not in one["caption"]


def test_other_keys_stand_at_their_first_values() -> None:
    at = [([("periods", p, float(p)), ("eta", e, float(e))], {"dow": y})
          for p, e, y in (("100", "1", 1.0), ("100", "2", 2.0), ("200", "1", 3.0), ("200", "2", 4.0))]  # fmt: skip
    found = drawn(varied(*at), 7)
    assert found["vary-1-known-uniform-A"]["series"][0]["y"] == [1.0, 3.0]
    assert found["vary-2-known-uniform-A"]["series"][0]["y"] == [1.0, 2.0]
    assert "other keys at their first values" in found["vary-2-known-uniform-A"]["caption"]


def small(kind: str = "lines", count: int = 1, y: Sequence[float] = (2.0, 4.0), **more: Any) -> dict[str, Any]:
    series = [figures.series(f"policy {k + 1}", x=[0.0, 10.0], y=list(y), low=[-1.0, 3.0], high=[9.0, 9.0])
              for k in range(count)]  # fmt: skip
    return figures.figure(kind, "f", "x", "y", "Regret.", series=series, **more)


def test_of_many_curves_the_first_are_drawn_and_the_others_named() -> None:
    found: list[dict[str, Any]] = []
    for kind in ("lines", "scatter"):
        figures.add_if_any(found, small(kind, 9))
    figures.add_if_any(found, figures.figure("lines", "f", "x", "y", "", series=[figures.series("empty")]))
    assert [len(one["series"]) for one in found] == [7, 9]
    assert found[0]["caption"].endswith(" The first 7 of 9 policies, left out: policy 8; policy 9.")
    with pytest.raises(ValueError, match="told apart"):
        figures.finished(small("lines", 8))
    with pytest.raises(ValueError, match="letters, digits"):
        figures.finished({**small(), "name": "../up"})


def test_captions_say_what_logarithmic_axes_cannot_show() -> None:
    assert figures.finished(small())["caption"] == "Regret."
    assert "Zero has a place of its own" in figures.finished(small(log_x=True))["caption"]
    caption = figures.finished(small(log_y=True, y=(2.0, -4.0)))["caption"]
    assert "left out: 1 of policy 1." in caption and "end at the edge of the axes: policy 1." in caption
    assert "slightly apart" in figures.finished(small("line_points", 2))["caption"]
    spans = [figures.spans_a_decade(values) for values in ([0, 1, 10], [1, 9.9], [-1, 1, 10], [0], [])]
    assert spans == [True, False, False, False, False]


def test_numbers_have_all_digits() -> None:
    one = small("scatter", y=(1.0 / 3.0, math.nan))
    one["series"][0]["label"] = 'DOW, "known"'
    text = 'series,label,x,y,low,high\n1,"DOW, ""known""",0,0.3333333333333333,-1,9\n1,"DOW, ""known""",10,,3,9\n'
    assert figures.numbers_csv(one) == text
    bars = figures.figure("bars", "b", "", "", "", categories=["a", "b"], series=[figures.series("p", y=[1e16, 0.5])])
    assert figures.numbers_csv(bars) == "series,label,category,y\n1,p,a,1e+16\n1,p,b,0.5\n"


def test_a_frontier_has_cascades_mixtures_and_models() -> None:
    def point(kind: str, name: str, usd: float, price: Optional[float] = None) -> dict[str, Any]:
        ends = {"value": usd, "low": None, "high": usd + 1}
        return {"kind": kind, "name": name, "price": price, "usd_per_1000": ends, "quality": {**ends, "value": 0.5}}

    numbers = {
        "kind": "thresholds", "evaluator": "evaluator quality", "prompts": 9, "tested_on": "b", "fitted_on": "a",
        "points": [point("cascade", "c", 2.0, 40.0), point("cascade", "d", 1.0, 0.5), point("single", "m", 3.0)],
        "steps": [1], "mixtures": [[1.0, 0.4], [2.0, 0.6]],
    }  # fmt: skip
    one = study.frontier_figure(numbers)
    assert one["title"] == "Cascades (thresholds) with evaluator quality, prices 0.5 to 40 of utility per dollar"
    assert labels(one) == ["cascades (thresholds)", "mixtures of two models", "m"]
    assert one["series"][0]["marks"] == ["", "1"] and one["series"][1]["line"] and one["series"][2]["x"] == [3.0]
    many = {**numbers, "points": [point("single", f"m{k}", 1.0) for k in range(14)], "steps": []}
    assert labels(study.frontier_figure(many))[-1] == "models alone"


def test_a_document_says_what_was_compared_and_how_to_make_it_again() -> None:
    rows = [pair("dow/known", 0, 3.0), pair("dow/known", None, -1.0, p_holm=0.5)]
    numbers = numbers_of(THREE, pairs=columns(rows), unfinished="unfinished: 3 of 4 parts are complete", base="dow")
    made = document.document_of(numbers, 7, ["svg", "pdf"])
    assert made["title"] == "Online Pandora's box: results"
    assert made["subtitle"].startswith("2 replications of 100 periods, seed 1, an engine; pandora 9; unfinished: 3 of")
    headings = ["Tables", "Comparisons", "Figures", "How to make this again", "Manifest"]
    assert [section["heading"] for section in made["sections"]] == headings
    assert made["sections"][3]["commands"][1] == "pandora report results --t0 7 --base dow --figures svg,pdf"
    assert [table["name"] for table in made["sections"][0]["tables"]] == ["regret", "regret-2"]
    (rivals,) = made["sections"][1]["tables"]
    assert [row.get("heading") for row in rivals["rows"]] == ["uniform, A, T0=0", None, "uniform, A, any T0", None]
    cells = ["dow/known", "online_plugin/known", "4", "4.00", "-3.00", "0.25", "0.0100", "-3.00", "---"]
    assert rivals["rows"][1]["cells"] == cells and rivals["rows"][1]["bold"] == [4, 6]
    assert tables.as_csv(rivals).splitlines()[1].startswith('"uniform, A, T0=0",dow/known,online_plugin/known,4,4,-3,')
    alone = document.document_of(numbers_of(THREE), None, ["svg"])["sections"]
    assert "There is one policy, and nothing to compare it with." in alone[1]["paragraphs"] and not alone[1]["tables"]
    bare = document.document_of(numbers_of({}, regret=False), None, ["svg"])["sections"]
    assert [section["heading"] for section in bare] == ["Tables", *headings[3:]]


def write_numbers(folder: pathlib.Path, numbers: Mapping[str, Any]) -> pathlib.Path:
    folder.mkdir()
    (folder / "numbers.json").write_text(json.dumps(numbers), encoding="utf-8")
    return folder


def test_a_script_makes_a_report_of_a_folder_of_results(tmp_path: pathlib.Path) -> None:
    """The script works without the package, as on another machine."""
    pytest.importorskip("jinja2")
    folder = write_numbers(tmp_path / "report", numbers_of(THREE))
    (folder / "figures").mkdir()
    for name in ("curves-known-uniform-A.png", "depth-uniform-A.svg"):
        (folder / "figures" / name).write_text("of before")
    words = [sys.executable, str(render.__file__), str(tmp_path), "--t0", "0"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f" figures, report in {folder / 'report.html'}\n")
    made = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert made["generator"] == "pandora report 1" and "exact" not in made["sections"][0]["tables"][0]["rows"][1]
    assert "y" not in next(document.figures_of(made))["series"][0]
    assert (folder / "tables" / "regret-2.csv").read_text() == "policy,T0=0\nDOW,1.23\n"
    assert not (folder / "figures" / "curves-known-uniform-A.png").exists()
    assert "of before" not in (folder / "figures" / "depth-uniform-A.svg").read_text(encoding="utf-8")


def test_what_cannot_be_used_is_named(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_numbers(tmp_path / "other", {"generator": "another 2"})
    assert render.main([str(folder)]) == 2
    assert "generator is 'another 2'" in capsys.readouterr().err
    assert render.main([str(tmp_path)]) == 2
    assert "numbers.json: is not there; run `pandora report` on the results" in capsys.readouterr().err
    full = write_numbers(tmp_path / "full", numbers_of(THREE))
    (full / "tables").write_text("in the place of a folder")
    assert render.main([str(full)]) == 6
    assert "tables" in capsys.readouterr().err


def table(**more: Any) -> dict[str, Any]:
    rows = [["Reward known", "DOW_2", "1.25±0.50"], ["Reward known", 'Plug-in, "known"', "---"]]
    listed = [{"cells": cells, "exact": cells, "bold": [2 - k], "rule_above": k == 1} for k, cells in enumerate(rows)]
    return {
        "title": "Regret of 50% & more", "label": "tab", "heading_column": "", "row_headers": 2, "notes": ["a note"],
        "columns": ["", "policy", "T0=50"], "rows": [{"heading": "a panel"}, *listed], **more,
    }  # fmt: skip


def test_latex_has_groups_of_rows() -> None:
    text = tables.as_latex(table())
    assert text.startswith("% needs \\usepackage{booktabs,multirow}\n\\begin{table}[htp!]\n")
    assert "\\caption{Regret of 50\\% \\& more}\n\\label{tab:tab}\n\\begin{tabular}{llc}\n\\toprule\n" in text
    assert " & policy & $T_0$=50\\\\\n\\midrule\n\\multicolumn{3}{l}{a panel}\\\\\n\\cmidrule(lr){1-3}\n" in text
    assert "\\multirow{2}{*}{\\emph{Reward known}} & DOW\\_\\allowbreak{}2 & \\textbf{1.25$\\pm$0.50}\\\\\n" in text
    assert "\\cmidrule(lr){2-3}\n & \\textbf{Plug-in, ''known''} & ---\\\\\n\\bottomrule\n\\end{tabular}\n" in text
    assert text.endswith("\\par\\smallskip a note\n\\end{table}\n")


def test_latex_of_many_columns_is_several_tables() -> None:
    cells = ["DOW", *(f"x{c}" for c in range(10))]
    row = {"cells": cells, "exact": cells, "bold": [], "rule_above": False}
    wide = {"columns": ["policy", *(f"c{c}" for c in range(10))], "rows": [row], "row_headers": 1}
    first, second = tables.as_latex(table(**wide)).split("\\end{table}\n")[:2]
    assert "x7" in first and "x8" not in first and "a note" not in first
    assert "DOW & x8 & x9" in second and "(continued)" in second and "\\label" not in second


def test_html_is_escaped() -> None:
    text = tables.as_html(table())
    assert "<caption>Regret of 50% &amp; more</caption>" in text and '<th colspan="3">a panel</th>' in text
    assert "<td><b>1.25±0.50</b></td>" in text and '<p class="note">a note</p>' in text
    assert '<tr class="rule"><th scope="row">Reward known</th>' in text and "&quot;known&quot;" in text
