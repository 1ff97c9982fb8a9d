"""Values that are read from a folder equal those in its files."""

from __future__ import annotations

import csv
import locale
import pathlib
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pandora
from conftest import SMALL


def rows_of(folder: str, name: str) -> list[dict[str, str]]:
    with pathlib.Path(folder, name).open() as file:
        return list(csv.DictReader(file))


def number(text: str) -> float:
    return float(text) if text else float("nan")


def test_columns_are_those_of_the_files(example: str) -> None:
    r = pandora.open(example)
    for name, table in (
        ("summary.csv", r.summary(hyperparameter="all")),
        ("curves.csv", r.curves()),
        ("boxes.csv", r.boxes()),
        ("depth.csv", r.depth()),
        ("oracle.csv", r.oracle),
        ("oracle_order.csv", r.oracle_order),
        ("choices.csv", r.choices),
        ("failures.csv", r.failures),
    ):
        rows = rows_of(example, name)
        assert len(table) == len(rows)
        header = pathlib.Path(example, name).read_text().splitlines()[0].split(",")
        assert [column for column in table.columns if column in header] == header
        for column in header:
            said = [row[column] for row in rows]
            if table[column].dtype == object:
                assert table[column].tolist() == said
            else:
                expected = [number(text) for text in said]
                np.testing.assert_allclose(table[column].astype(float), expected, atol=6e-7, err_msg=column)


def test_summary_and_curves_select_the_same_lanes(example: str) -> None:
    r = pandora.open(example)
    lane = ["environment", "regime", "T0", "policy", "reward", "hyperparameter"]

    def lanes(table: pandora.Table) -> list[tuple[Any, ...]]:
        rows = [row for row in table.rows() if row["policy"] != "oracle"]  # the oracle has no curve of regret
        return list(dict.fromkeys(tuple(row[name] for name in lane) for row in rows))

    selections: list[dict[str, Any]] = [
        {},
        {"policy": "dow", "T0": 0},
        {"policy": "dow/known", "environment": ["gaussian"], "regime": "B"},
        {"policy": ["dow", "online_plugin"], "reward": "unknown", "T0": [0, 50]},
        {"policy": "dow", "reward": "known", "hyperparameter": r.best("dow/known")["hyperparameter"][0]},
        {"policy": "dow", "hyperparameter": "all"},
    ]
    for asked in selections:
        found = lanes(r.summary(**asked))
        assert found and found == lanes(r.curves(**asked)) == lanes(r.boxes(**asked)) == lanes(r.depth(**asked)), asked
    assert lanes(r.summary("dow", "known", "uniform", "A", 0)) == lanes(r.curves("dow", "known", "uniform", "A", 0))
    assert len(r.summary()) < len(r.summary(hyperparameter="all")) and r.summary()["best"].all()
    for method in (r.summary, r.curves):
        with pytest.raises(pandora.UsageError, match="policy 'dew'"):
            method("dew")


def test_the_summary_without_brackets_warns(example: str) -> None:
    r = pandora.open(example)
    every = r.summary(hyperparameter="all")
    for before in (
        lambda: r.summary["policy"].tolist() == every["policy"].tolist(),
        lambda: len(r.summary.where(policy="dow")) == len(r.summary("dow", hyperparameter="all")),
        lambda: r.summary.columns == every.columns,
        lambda: len(r.summary) == len(every),
        lambda: "policy" in r.summary,
        lambda: [row["lane"] for row in r.summary.rows()] == every["lane"].tolist(),
        lambda: str(r.summary) == str(every),
        lambda: r.summary._repr_html_() == every._repr_html_(),
    ):
        with pytest.warns(DeprecationWarning, match=r'summary\(hyperparameter="all"\)') as told:
            assert before()
        assert {pathlib.Path(one.filename).name for one in told} == {"test_results.py"}


def test_replications_average_to_the_summary(example: str) -> None:
    r = pandora.open(example)
    for row in r.summary(environment="gaussian", regime="B", hyperparameter="all").rows():
        regrets = r.regret(row["policy"], row["reward"], "gaussian", "B", row["T0"], row["hyperparameter"])
        assert regrets.shape == (4,)
        assert regrets.mean() == pytest.approx(row["regret_x1000"], abs=1e-9)
        error = regrets.std(ddof=1) / 2
        assert error == pytest.approx(row["standard_error_x1000"], abs=1e-9)
        assert 3.1824463053 * error == pytest.approx(row["half_width_95_x1000"], abs=1e-9)


def test_what_is_left_open_must_be_unique(example: str) -> None:
    r = pandora.open(example)
    with pytest.raises(pandora.UsageError, match="name a environment, one of uniform, gaussian"):
        r.regret("dow", reward="known", T0=0)
    with pytest.raises(pandora.UsageError, match="'dew'.*oracle, online_plugin, dow"):
        r.regret("dew")
    best = r.best("dow/known", environment="uniform", regime="A", T0=0)
    chosen = best["hyperparameter"][0]
    np.testing.assert_array_equal(
        r.regret("dow/known", environment="uniform", regime="A", T0=0),
        r.regret("dow", "known", "uniform", "A", 0, hyperparameter=chosen),
    )


def test_estimates_have_their_shapes(example: str) -> None:
    found = pandora.open(example).estimates("dow", "unknown", "uniform", "A", 50)
    assert found["rho"].shape == (4, 3, 101)
    assert found["theta"].shape == (4, 10)
    assert np.isfinite(found["theta"]).all()


def test_compare_overview_and_tables(example: str) -> None:
    r = pandora.open(example)
    paired = r.compare("dow", "online_plugin", T0=0, environment="uniform")
    assert set(paired["a"]) == {"dow/known", "dow/unknown"}
    row = next(paired.where(a="dow/known", regime="A").rows())
    asked: dict[str, Any] = {"environment": "uniform", "regime": "A", "T0": 0}
    difference = r.regret("dow/known", **asked) - r.regret("online_plugin/known", **asked)
    assert row["difference_x1000"] == pytest.approx(difference.mean(), rel=1e-5)
    assert "policy" in r.overview
    assert set(r.overview["policy"]) >= {"DOW, known"}
    assert "<table" in r._repr_html_()
    assert "uniform" in str(r)
    assert r.compare(r, "dow")["difference_x1000"].tolist() == [0.0] * 16


def test_compare_decides_whether_to_keep_a_rule(example: str) -> None:
    r = pandora.open(example)
    asked: dict[str, Any] = {"keep": "dow/known", "against": "online_plugin/known"}
    kept = r.compare(**asked, margin=1000, environment="uniform")
    assert set(kept["decision"]) == {"keep"}
    assert set(kept["margin_x1000"]) == {1000.0}
    assert "worse by less than 1000" in str(kept)
    paired = r.compare(asked["keep"], asked["against"], environment="uniform")
    assert kept["replications"].tolist() == paired["replications"].tolist()
    for wrong, said in (
        ({**asked, "margin": -1}, "margin=-1: give a number of at least 0"),
        ({**asked, "margin": "1"}, "margin '1': give a number"),
        (asked, "margin=.*is missing"),
        ({**asked, "margin": 1, "T0": 3}, "T0=3"),
        ({"a": "dow", **asked, "margin": 1}, "leave out all others"),
        ({"a": r, **asked, "margin": 1}, "leave out all others"),
        ({"keep": "dew", "against": "dow", "margin": 1}, 'keep="dew": the results have no such policy'),
    ):
        with pytest.raises(pandora.UsageError, match=said):
            r.compare(**wrong)


def test_lanes_are_explained(example: str) -> None:
    r = pandora.open(example)
    by_name = r.lane(
        r.summary("dow", T0=0, hyperparameter="all")["lane"][0], environment="gaussian", regime="B", replication=2
    )
    found = by_name.explain(3, 4)
    assert found["lane"].startswith("gaussian/B/2/0/dow/")
    assert [p["period"] for p in found["periods"]] == [3, 4]
    best = r.lane(policy="dow/known", environment="gaussian", regime="B", T0=0)
    assert r.lane(policy="dow", reward="known", environment="gaussian", regime="B", T0=0).name == best.name
    assert best.explain(1)["reward_known"] is True
    assert "regret" in best.replay()
    with pytest.raises(pandora.UsageError, match="period=201"):
        best.explain(201)


def test_an_unfinished_folder_is_read(example: str, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "part"
    shutil.copytree(example, folder)
    for part in (folder / "parts").glob("*-uniform-A-00001.part"):
        part.unlink()
    r = pandora.open(folder)
    assert r.unfinished == "unfinished: 15 of 16 parts are complete"
    regrets = r.regret("online_plugin/known", environment="uniform", regime="A", T0=0)
    assert np.isnan(regrets).tolist() == [False, True, False, False]
    assert r.summary(environment="uniform", regime="A", hyperparameter="all")["replications"].tolist() == [3] * 14


def test_what_is_damaged_is_a_warning(example: str, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(example, folder)
    part = next((folder / "parts").glob("*-uniform-A-00001.part"))
    part.write_bytes(part.read_bytes()[:-1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pandora.PandoraWarning)
        assert "15 of 16" in pandora.open(folder).unfinished
    with pytest.raises(pandora.DataError, match="holds no results") as found:
        pandora.open(tmp_path)
    assert found.value.exit_code == 3


@pytest.fixture
def plt() -> Iterator[Any]:
    pytest.importorskip("matplotlib").use("agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def test_figures_draw_in_the_colours_of_the_report(example: str, plt: Any) -> None:
    r = pandora.open(example)
    figures = r.figures()
    assert "curves-known-uniform-A" in figures
    assert [s["colour"] for s in figures["curves-known-uniform-A"].series] == ["#D04A00", "#0060A8"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for figure in figures.values():
            axes = figure.draw()
            assert axes.get_xlabel()
            plt.close(axes.figure)
        drawn = r.plot("curves", known=False)
    assert drawn.axes[0].get_legend_handles_labels()[1] == ["Online plug-in, unknown", "DOW, unknown"]
    with pytest.raises(pandora.UsageError, match="no figure 'nothing'"):
        r.plot("nothing")


def test_figures_are_of_the_policies_that_are_named(example: str, plt: Any) -> None:
    r = pandora.open(example)
    for asked, named in (
        ("dow", {"dow"}),
        ("dow/known", {"dow"}),
        (["online_plugin", "dow"], {"dow", "online_plugin"}),
    ):
        figures = r.figures(policy=asked)
        assert "curves-known-uniform-A" in figures and "depth-uniform-A" in figures
        assert {series["policy"] for one in figures.values() for series in one.series} - {"", "oracle"} == named
    assert "curves-unknown-uniform-A" not in r.figures(policy="dow/known")
    assert "difference-online_plugin-known-uniform-A" in r.figures(policy=("online_plugin", "dow"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = r.plot("curves", known=False, policy="dow")
    assert drawn.axes[0].get_legend_handles_labels()[1] == ["DOW, unknown"]
    with pytest.raises(pandora.UsageError, match="policy 'dew'.*dow/unknown"):
        r.plot("curves", policy=["dow", "dew"])


def test_figures_of_differences_and_of_keys_that_vary(
    example: str, single: dict[str, Any], tmp_path: pathlib.Path, plt: Any
) -> None:
    r = pandora.open(example)
    assert "difference-online_plugin-known-uniform-A" in r.figures()
    drawn = r.plot("difference-online_plugin", known=False, environment="gaussian")
    assert drawn.axes[0].get_legend_handles_labels()[1] == ["DOW, unknown"]
    study = {**single, "output.instances": False, "vary": {"periods": [100, 200], "estimation.eta_index": [1, 2, 4]}}
    varied = pandora.run(study, out=tmp_path / "varied", progress=False)
    eta = "eta_1, ridge of the index fit and of V (estimation.eta_index)"
    for kind, label, points in (
        ("", "horizon T (periods)", [100, 200]),
        ("vary-2", eta, [1, 2, 4]),
        ("estimation.eta_index", eta, [1, 2, 4]),
    ):
        axes = varied.plot(kind, known=True).axes[0]
        assert axes.get_xlabel().split() == label.split()  # the label may be split into lines
        assert list(axes.get_lines()[0].get_xdata()) == points
    with pytest.raises(pandora.UsageError, match="no figure 'curves'.*vary-2-known-uniform-B"):
        varied.plot("curves")


def test_scenarios_lead_the_columns(single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    study = {
        **single,
        "periods": 60,
        "scenario": {"base": {}, "late": {"feedback.delay": 20}, "swapped": {"environment.uniform.drift": "swap:30"}},
    }
    r = pandora.run(study, out=tmp_path / "listed", progress=False)
    assert r.settings == ["scenario=base", "scenario=late", "scenario=swapped"]
    assert list(r.summary().columns)[:2] == ["setting", "scenario"]
    assert list(dict.fromkeys(r.summary()["scenario"])) == ["base", "late", "swapped"]
    here: dict[str, Any] = {"policy": "dow", "reward": "unknown", "T0": 0, "hyperparameter": "c_rho=1;c_theta=0.1"}
    late, base = (r.regret(**here, setting=f"scenario={name}") for name in ("late", "base"))
    assert not np.array_equal(late, base)
    with pytest.raises(pandora.UsageError, match="feedback.dely.*nearest is feedback.delay"):
        pandora.run({**single, "scenario": {"late": {"feedback.dely": 20}}}, out=tmp_path / "wrong", progress=False)


def test_tables_go_to_pandas(example: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandora.open(example).summary(hyperparameter="all").to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.groupby("policy").size()["oracle"] == 8


def test_no_p_value_below_1e_4_is_printed() -> None:
    table = pandora.Table({"p_holm": np.array([3e-41, 0.02, np.nan]), "share": np.array([3e-41, 0.02, 0.5])})
    assert [line.split() for line in repr(table).splitlines()[1:]] == [
        ["<", "1e-4", "3e-41"],
        ["0.02", "0.02"],
        ["0.5"],
    ]
    assert "&lt; 1e-4" in table._repr_html_()
    assert table["p_holm"][0] == 3e-41


@pytest.fixture
def decimal_comma(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process with a decimal comma, as Qt leaves it in Germany. The test makes the locale, because it may be
    missing.
    """
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", tmp_path / "de_DE.UTF-8"], check=True)
    monkeypatch.setenv("LOCPATH", str(tmp_path))
    before = locale.setlocale(locale.LC_ALL)
    locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
    assert locale.localeconv()["decimal_point"] == ","
    yield
    locale.setlocale(locale.LC_ALL, before)


def test_a_decimal_comma_around_python_changes_no_number(
    example: str, tmp_path: pathlib.Path, request: pytest.FixtureRequest
) -> None:
    paper: dict[str, Any] = {**SMALL, "replications": 2, "periods": 30000, "T0": [0], "environments": ["uniform"]}
    paper.update(regimes=["A"], policies=["online_plugin"], hyperparameters={"c_rho": [0.1], "c_theta": [0.1]})

    def numbers(folder: str) -> list[Any]:
        r = pandora.run(paper, out=tmp_path / folder, progress=False)
        tables = [r.best(), r.summary(hyperparameter="all"), r.overview, *r.tables, pandora.open(example).curves()]
        return [{name: table[name] for name in table.columns} for table in tables]

    before = numbers("before")
    np.testing.assert_equal(np.sort(before[0]["published_x1000"]), [9.31, 10.17])
    request.getfixturevalue("decimal_comma")
    np.testing.assert_equal(numbers("after"), before)


def test_decisions_are_those_of_the_sums_and_of_explain(tmp_path: pathlib.Path) -> None:
    study = {"replications": 2, "periods": 300, "T0": [0], "policies": ["dow"], "regimes": ["A"]}
    kept = {
        "environments": ["uniform"],
        "output.decisions": True,
        "oracle.samples": 2000,
        "hyperparameters.c_rho": [0.1],
    }
    results = pandora.run({**study, **kept}, out=str(tmp_path / "kept"))
    lane: dict[str, Any] = {"policy": "dow", "reward": "known"}
    found = results.decisions(**lane, replication=1)
    opened, queried, deployed = found["opened"], found["queried"], found["deployed"]
    assert opened.shape == (300, 3) and opened.dtype == np.int8 and found["cost"].dtype == np.float32
    counts = [int((opened == box).sum()) for box in range(3)]
    assert counts == results.numbers("queries_of_box", **lane)[1].tolist()
    assert [int((deployed == box).sum()) for box in range(3)] == results.numbers("deployments_of_box", **lane)[
        1
    ].tolist()
    assert np.bincount(queried, minlength=4)[1:].tolist() == results.numbers("depth", **lane)[1].tolist()
    assert found["cost"].sum() == pytest.approx(results.numbers("cost", **lane)[1], rel=1e-5)
    assert found["reward"].sum() == results.numbers("realised_quality", **lane)[1]
    told = results.lane(policy="dow", reward="known", replication=1).explain(1, 50)["periods"]
    for t, period in enumerate(told):
        boxes = [query["box"] - 1 for query in period["policy"]["queries"]]
        assert opened[t, : queried[t]].tolist() == boxes and (opened[t, queried[t] :] == -1).all()
        assert deployed[t] == period["policy"]["deployed"] - 1
    with pytest.raises(pandora.DataError, match="output.decisions = true"):
        results.decisions(**lane, replication=2)
    plain = pandora.run({**study, **kept, "output.decisions": False}, out=str(tmp_path / "plain"))
    with pytest.raises(pandora.DataError, match="output.decisions = true"):
        plain.decisions(**lane)


def test_decisions_of_wider_actions_have_openings_unopened_boxes_and_the_outside_option(tmp_path: pathlib.Path) -> None:
    results = pandora.run(
        {
            "replications": 1,
            "periods": 200,
            "T0": [10],
            "policies": ["dow", "hindsight"],
            "regimes": ["A"],
            "environments": ["uniform"],
            "oracle.samples": 2000,
            "output.decisions": True,
            "hyperparameters.c_rho": [0.1],
            "actions.openings": 2,
            "actions.uninspected": True,
            "actions.outside": 0.5,
        },
        out=str(tmp_path / "wider"),
    )
    lane: dict[str, Any] = {"policy": "dow", "reward": "known"}
    found = results.decisions(**lane)
    assert found["opened"].shape == (200, 7)
    counts = [int((found["opened"] == box).sum()) for box in range(3)]
    assert counts == results.numbers("queries_of_box", **lane)[0].tolist()
    assert ((found["queried"] == 0) == (found["cost"] == 0)).all()
    outside = found["deployed"] == 3
    assert outside.any() and (found["reward"][outside] == 0.5).all()
    deployed = [int((found["deployed"] == box).sum()) for box in range(3)]
    assert deployed == results.numbers("deployments_of_box", **lane)[0].tolist()
    unopened = results.decisions(policy="hindsight")
    assert (unopened["queried"] == 0).all() and (unopened["deployed"] < 3).any()
