"""The commands: their output, files, refusals and exit codes."""

from __future__ import annotations

import csv
import io
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import pandora
from pandora import _core
from pandora.live import text_of
from pandora.offline import api, commands, table_fit

Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with fit.csv and new.csv, wide tables of two models. A spreadsheet would run their names as formulas."""
    where = tmp_path_factory.mktemp("commands")
    for name, seed in (("fit.csv", 3), ("new.csv", 4)):
        draw = np.random.default_rng(seed)
        quality = (draw.random((200, 2)) < [0.6, 0.9]).astype(int)
        score = np.clip(0.2 + 0.6 * quality + 0.15 * draw.normal(size=(200, 2)), 0.0, 1.0).round(3)
        with (where / name).open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(
                ["prompt", "=small", "=small|total_cost", "=small|score", "large", "large|total_cost", "large|score"]
            )
            for k in range(200):
                cells = [[quality[k, m], (0.001, 0.02)[m], score[k, m]] for m in range(2)]
                rows.writerow([f"{name} {k}", *cells[0], *cells[1]])
    return where


def run(*words: str) -> int:
    return commands.main([str(word) for word in words])


def fit(folder: pathlib.Path, *more: str, out: str = "c.json") -> int:
    words = ("--price", "10", "--evaluator", "score", "--kind", "thresholds", "--force", "--out", str(folder / out))
    return run("cascade", "fit", str(folder / "fit.csv"), *words, *more)


def test_fit_prints_and_writes(folder: pathlib.Path, capsys: Output) -> None:
    assert fit(folder) == 0
    said = capsys.readouterr().out
    assert (
        said.endswith(f"cascade in {folder / 'c.json'}\n") and "\nCall =small first and accept an answer whose " in said
    )
    assert max(map(len, said.splitlines())) < 200
    cascade = pandora.Cascade.load(folder / "c.json")
    assert fit(folder, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == cascade.about
    assert run("cascade", "show", str(folder / "c.json")) == 0
    assert capsys.readouterr().out == said[: said.index("cascade in ")]


def test_it_is_the_fit_of_python(folder: pathlib.Path, capsys: Output) -> None:
    assert fit(folder, "--judge-usd", "0.0001", "--explore", "0.1") == 0
    capsys.readouterr()
    of_file = pandora.Cascade.load(folder / "c.json")
    table = pandora.Trace(folder / "fit.csv")._table
    cascade, _, record = api.fit(table, price=10.0, evaluator="score", kind="thresholds", judge_usd=0.0001, explore=0.1)
    assert of_file.about == record and of_file.explore == 0.1
    cascade.set_explore(0.1)
    assert text_of(cascade) == (folder / "c.json").read_text()


def test_other_formats(folder: pathlib.Path, capsys: Output) -> None:
    assert fit(folder, "--format", "csv") == 0
    first, second = capsys.readouterr().out.split("\n\n")
    (model, *_) = csv.DictReader(io.StringIO(first))
    assert model["model"] == "'=small" and model["called"] == "100.0%"
    assert [row[""] for row in csv.DictReader(io.StringIO(second))] == ["best single", "thresholds", "promise"]
    assert fit(folder, "--format", "markdown") == 0
    assert "| =small |" in capsys.readouterr().out
    assert run("cascade", "show", str(folder / "c.json"), "--format", "json") == 0
    file = json.loads(capsys.readouterr().out)
    assert file["kind"] == "thresholds" and "state" not in file and file["about"]["pays"]


def test_tests_checks_and_frontiers(folder: pathlib.Path, capsys: Output) -> None:
    assert fit(folder) == 0
    capsys.readouterr()
    assert run("cascade", "test", str(folder / "c.json"), str(folder / "new.csv"), "--format", "json") == 0
    tested = json.loads(capsys.readouterr().out)
    assert tested["against"] in ("=small", "large") and tested["gain"]["low"] > 0.0
    assert run("cascade", "test", str(folder / "c.json"), str(folder / "new.csv")) == 0
    assert "The cascade is better than " in capsys.readouterr().out
    assert (
        run("trace", "check", str(folder / "fit.csv"), "--evaluator", "score", "--price", "10", "--format", "json") == 0
    )
    assert len(json.loads(capsys.readouterr().out)["prices"]) == 1
    where = folder / "frontier"
    words = ["--evaluator", "score", "--out", str(where), "--price", "5,20", "--rows"]
    assert run("cascade", "frontier", str(folder / "fit.csv"), "--test", str(folder / "new.csv"), *words) == 0
    out, err = capsys.readouterr()
    assert out.endswith(f"points of mixtures in {where / 'frontier.csv'}\n")
    report = json.loads((where / "report.json").read_text())
    assert report["title"] == "Quality against dollars" and report["generator"] == "pandora report 1"
    drawn = [where / "report.html", where / "report.tex", where / "figures" / "frontier.svg"]
    assert all(file.exists() for file in drawn) or "not all was rendered" in err
    assert (where / "tables" / "steps.csv").exists() and (where / "figures" / "frontier.csv").exists()
    for name in ("frontier.csv", "rows.csv"):
        assert "=small" in (where / name).read_text()
        rows = csv.reader(io.StringIO((where / name).read_text()))
        assert not any(cell.startswith("=") for row in rows for cell in row), name
    assert run("cascade", "frontier", str(folder / "fit.csv"), "--test", str(folder / "new.csv"), *words) == 2
    assert "is not empty; name a fresh folder, or use it with --force" in capsys.readouterr().err


FIT = "cascade fit {fit} --price 1 --evaluator score"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("cascade fit {fit} --evaluator score", 2, "nothing says what the cascade is for; give one of --price"),
        ("cascade fit {fit} --price -1 --evaluator score", 2, "--price -1: out of range; give utility"),
        ("cascade fit {fit} --price 1", 2, "fit.csv has score, and quality is a yardstick"),
        ("cascade fit {fit} --max-usd 5 --evaluator score", 2, "for none --price 0"),
        ("cascade fit {fit} --price 1 --evaluator score:x", 3, 'has no score "x"'),
        ("cascade fit no.csv --price 1 --evaluator score", 3, "no.csv: cannot be read"),
        (f"{FIT} --max-latency 2", 3, "leave out --max-latency"),
        (f"{FIT} --out {{fit}}", 2, "is the input"),
        (f"{FIT} --out {{fit}}/x", 2, "cannot be written"),
        (f"{FIT} --out {{folder}}", 2, "there is a folder"),
        (f"{FIT} --out=", 2, "--out: names no file"),
        (f"{FIT} --scale x", 2, "--scale x: is no range"),
        (f"{FIT} --prices no", 2, "no: cannot be read"),
        (f"{FIT} --format xml", 2, "--format xml: unknown; use text, json"),
        (f"{FIT} --models huge", 3, 'has no model "huge"; its models are'),
        (f"{FIT} --missing guess", 2, "--missing guess: unknown; use refuse, drop or failed"),
        (f"{FIT} --out again.csv --force", 2, "is the input {fit} itself; name another file"),
        ("cascade frontier {fit} --test {fit} --out o", 2, "no evaluator is given"),
        (
            "cascade frontier front/frontier.csv --test {fit} --evaluator score --out front --force",
            2,
            "is the input front/frontier.csv itself",
        ),
        ("cascade test no.json {fit}", 3, "no.json: cannot be read"),
        ("cascade test c.json {fit} --evaluator truth", 2, "--evaluator truth: unknown"),
        ("trace check {fit} --evaluator truth", 2, "--evaluator truth: unknown"),
        ("trace check {fit} --price 5,nan", 2, "--price nan: is no number"),
        ("trace check {fit} --price cheap", 2, "--price cheap: is no number"),
        ("trace check {fit} --free-calls yes", 2, "--free-calls yes: unknown; use refused or allowed"),
        ("trace check {fit} --scale score=5:1", 2, "scale score=5:1: is no range"),
        ("trace check no.csv", 3, "no.csv: cannot be read"),
        ("cascade show {fit}", 3, "is not JSON"),
        ("cascade shwo {fit}", 2, "cascade shwo: unknown command; the nearest is show"),
        ("", 2, "a command is missing; `pandora --help` lists the commands"),
    ],
)
def test_errors_are_one_sentence(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: Output, words: str, code: int, told: str
) -> None:
    monkeypatch.chdir(folder)
    if not (folder / "front").exists():
        (folder / "front").mkdir()
        (folder / "front" / "frontier.csv").write_text((folder / "fit.csv").read_text())
        os.link(folder / "fit.csv", folder / "again.csv")
        assert fit(folder) == 0 and capsys.readouterr()
    assert run(*words.format(fit=folder / "fit.csv", folder=folder).split()) == code
    out, err = capsys.readouterr()
    assert (
        told.format(fit=folder / "fit.csv") in err
        and err.startswith("pandora: ")
        and err.count("\n") == 1
        and out == ""
    )
    assert not (folder / "cascade.json").exists()


def test_a_check_takes_a_log_as_it_is(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    """The log has a judge from 1 to 5, tokens in place of dollars, cached answers, and two answers or none to a
    prompt.
    """
    if sys.version_info < (3, 11):
        pytest.skip("TOML is read from Python 3.11 on")
    monkeypatch.chdir(folder)
    pathlib.Path("list.toml").write_text("[prices]\nsmall = { in = 0.15, out = 0.6 }\nlarge = [2, 10]\n")
    rows = [f"{k};{m};0.5;{1 + k % 5};{100 * (k != 3)};0" for k in range(30) for m in ("small", "large") for _ in "12"]
    header = "prompt_id;model;quality;score;prompt_tokens;completion_tokens"
    pathlib.Path("raw.csv").write_text("\n".join([header, *rows, ""]))
    options = ["--scale score=1:5", "--prices list.toml", "--free-calls allowed", "--repeats allowed"]

    def checked(table: str, *options: str) -> dict[str, Any]:
        assert run("trace", "check", table, "--format", "json", *" ".join(options).split()) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    found = checked("raw.csv", *options)
    assert (found["rows"], found["prompts"]) == (60, 30)
    told = ("such as score=1:5", "prompt_tokens and completion_tokens and prices", "free_calls", "repeats are allowed")
    for without, part in enumerate(told):
        some = " ".join(option for k, option in enumerate(options) if k != without)
        assert run("trace", "check", "raw.csv", *some.split()) == 3
        assert part in capsys.readouterr().err
    pathlib.Path("hole.csv").write_text(
        "".join(["prompt_id,model,quality,cost\n", *(f"{k},a,{k % 2},1\n{k},b,1,2\n" for k in range(9)), "9,a,1,1\n"])
    )
    assert run("trace", "check", "hole.csv") == 3 and "--missing drop" in capsys.readouterr().err
    assert run("trace", "check", "hole.csv", "--missing", "drop") == 0 and "left out" in capsys.readouterr().out
    found = checked("hole.csv", "--missing drop", "--price 1.5", "--models b,a")
    assert (found["dropped"], found["rows"], found["models"], len(found["prices"])) == (1, 9, ["b", "a"], 1)


def test_new_cascades_are_shown(folder: pathlib.Path, capsys: Output) -> None:
    plain = pandora.Cascade.new(["a", "b"], price=1.0, evaluator="score")
    plain.set_explore(0.05)
    learner = pandora.Cascade.new(["a", "b"], price=1.0, evaluator="score", psi=2, forget=50.0)
    for cascade, told in (
        (plain, ["indices, price 1, evaluator score", "It explores with probability 0.05 at each step."]),
        (
            learner,
            ["indices that depend on the prompt", "comes with 2 numbers", "After 50 requests a sample counts for half"],
        ),
    ):
        cascade.save(folder / "n.json")
        assert run("cascade", "show", str(folder / "n.json")) == 0
        assert "It was not fitted, so nothing is promised." in " ".join(capsys.readouterr().out.split())
        assert run("cascade", "show", str(folder / "n.json"), "--details") == 0
        said = " ".join(capsys.readouterr().out.split())
        assert all(part in said for part in told), said


def test_what_is_there_is_replaced_with_force_alone(folder: pathlib.Path, capsys: Output) -> None:
    (folder / "there.json").write_text("x")
    words = ["--price", "10", "--evaluator", "score", "--kind", "thresholds", "--out", str(folder / "there.json")]
    assert run("cascade", "fit", str(folder / "fit.csv"), *words) == 2
    assert "is there already; name another file, or replace it with --force" in capsys.readouterr().err
    assert (folder / "there.json").read_text() == "x"
    in_python = r'^out=".*there.json": is there already; name another file, or replace it with mode="replace"$'
    with pytest.raises(pandora.UsageError, match=in_python):
        _core.claim_file(words[-1], False, [])
    assert run("cascade", "fit", str(folder / "fit.csv"), *words, "--force") == 0
    (folder / "link.json").symlink_to(folder / "there.json")
    assert fit(folder, out="link.json") == 2
    assert "there is a link" in capsys.readouterr().err


def test_an_interrupted_fit_writes_nothing(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "fit_table", interrupt)
    assert fit(folder, out="never.json") == 130
    assert (
        capsys.readouterr().err == "pandora: interrupted; nothing was written\n"
        and not (folder / "never.json").exists()
    )


def test_rules_of_a_log_that_are_to_be_kept_stay(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    def keeps(*given: Any) -> Any:
        cascade, record = fit_table(*given)
        return cascade, {**record, "running": {"keep": True}}

    fit_table = table_fit.fit_table
    monkeypatch.setattr(commands, "fit_table", keeps)
    (folder / "runs.json").write_text("x")
    assert fit(folder, out="runs.json") == 0 and (folder / "runs.json").read_text() == "x"
    assert f"{folder / 'runs.json'} is not replaced; name another file to keep this cascade" in capsys.readouterr().out
    assert fit(folder, out="fresh.json") == 0 and pandora.Cascade.load(folder / "fresh.json").kind == "thresholds"


def test_a_defect_is_told_as_one(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("of something")

    monkeypatch.setattr(commands, "fit_table", fail)
    assert fit(folder, out="never.json") == 1
    assert "defect: ZeroDivisionError: of something; please report it" in capsys.readouterr().err


def program(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pandora.offline", *words], text=True, stderr=subprocess.PIPE, check=False, **more
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no disk that is always full")
def test_a_full_disk_is_told(folder: pathlib.Path, capsys: Output) -> None:
    assert fit(folder) == 0
    capsys.readouterr()
    with open("/dev/full", "w") as full:
        found = program("cascade", "show", str(folder / "c.json"), stdout=full)
    assert found.returncode == 6
    assert (
        found.stderr == "pandora: standard output could not be written (No space left on device); is its disk full?\n"
    )


def test_it_is_a_program_of_one_thread_that_needs_no_locale(folder: pathlib.Path, capsys: Output) -> None:
    assert fit(folder) == 0
    said = capsys.readouterr().out
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    found = program(
        "cascade", "show", str(folder / "c.json"), stdout=subprocess.PIPE, env={**environment, "LC_ALL": "C"}
    )
    assert found.returncode == 0 and found.stderr == "" and found.stdout == said[: said.index("cascade in ")]
    asked = "import sys; sys.argv = ['-m']; import os, pandora; print(os.environ.get('OPENBLAS_NUM_THREADS'))"
    for threads, wanted in (({}, "1\n"), ({"OPENBLAS_NUM_THREADS": "2"}, "2\n")):
        out = subprocess.run(
            [sys.executable, "-c", asked], env={**environment, **threads}, capture_output=True, text=True, check=True
        )
        assert out.stdout == wanted


def test_prices_of_tokens(folder: pathlib.Path, capsys: Output) -> None:
    if sys.version_info < (3, 11):
        pytest.skip("TOML is read from Python 3.11 on")
    draw = np.random.default_rng(3)
    with (folder / "tokens.jsonl").open("w") as file:
        for k in range(100):
            for model in ("a", "b"):
                row = {"prompt_id": str(k), "model": model, "quality": float(draw.random() < 0.7), "prompt_tokens": 100}
                file.write(json.dumps({**row, "completion_tokens": int(draw.integers(100, 1000))}) + "\n")
    (folder / "prices.toml").write_text('[prices]\na = [0.15, 0.6]\n"b" = { in = 3.0, out = 15 }\n')
    words = ["--price", "10", "--evaluator", "quality", "--kind", "thresholds", "--format", "json"]
    words += ["--out", str(folder / "tokens.json"), "--prices", str(folder / "prices.toml")]
    assert run("cascade", "fit", str(folder / "tokens.jsonl"), *words) == 0
    assert json.loads(capsys.readouterr().out)["single"]["usd_per_1000"]["value"] > 0.0
    (folder / "prices.toml").write_text("a = 3\n")
    assert run("cascade", "fit", str(folder / "tokens.jsonl"), *words, "--force") == 2
    assert 'the price of "a" is invalid: give { in = 0.15, out = 0.6 }' in capsys.readouterr().err
