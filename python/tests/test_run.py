"""Runs from Python equal runs from the command line."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

import pandora
from conftest import SMALL, Program, toml_of


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def manifest_of(folder: pathlib.Path) -> dict[str, Any]:
    """The manifest without the parts that always differ: the command, times, and the digest over them."""
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    del found["sha256"]
    for session in found["sessions"]:
        for key in ("command", "started", "ended", "wall_seconds"):
            del session[key]
    return found


def test_the_folder_is_that_of_the_command_line(program: Program, tmp_path: pathlib.Path) -> None:
    (tmp_path / "study.toml").write_text(toml_of(SMALL))
    program("run", "study.toml", "--out", "line", "--quiet", "--threads", "2", cwd=tmp_path)
    pandora.run(tmp_path / "study.toml", out=tmp_path / "file", threads=2, progress=False)
    pandora.run(SMALL, out=tmp_path / "dict", threads=2, progress=False)
    expected = contents(tmp_path / "line")
    for name in ("file", "dict"):
        own = contents(tmp_path / name)
        assert own.keys() == expected.keys()
        assert [n for n in own if own[n] != expected[n] and n != "manifest.json"] == []
        assert manifest_of(tmp_path / name) == manifest_of(tmp_path / "line")


def test_a_call_goes_on_and_extends(single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    shown: list[tuple[int, int]] = []
    first = pandora.run(single, out=tmp_path / "r", progress=lambda done, total: shown.append((done, total)))
    assert shown and shown[-1][0] <= shown[-1][1]
    before = (tmp_path / "r" / "summary.csv").read_bytes()
    pandora.run(single, out=tmp_path / "r", progress=False)
    assert (tmp_path / "r" / "summary.csv").read_bytes() == before
    grown = {**single, "replications": 3}
    assert pandora.run(grown, out=tmp_path / "r", progress=False).replications == 3
    assert first.replications == 2
    with pytest.raises(pandora.MismatchError, match="results can grow but not shrink"):
        pandora.run(single, out=tmp_path / "r", progress=False)
    with pytest.raises(pandora.MismatchError, match="study.seed is 1 there and 2 here"):
        pandora.run({**grown, "seed": 2}, out=tmp_path / "r", progress=False)
    with pytest.raises(
        pandora.UsageError,
        match='is not empty; name a fresh folder, add mode="resume" to go on with its results, or mode="replace"',
    ):
        pandora.run(grown, out=tmp_path / "r", progress=False, mode="fresh")
    assert pandora.run({**grown, "seed": 2}, out=tmp_path / "r", progress=False, mode="replace").replications == 3


def test_shards_are_unfinished_results(single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    r = pandora.run(single, out=tmp_path / "r", progress=False, shard="0/2")
    assert r.unfinished == "unfinished: 1 of 2 parts are complete"


def test_ctrl_c_ends_cleanly_and_a_second_call_resumes(tmp_path: pathlib.Path) -> None:
    script = """
import signal, sys, time, pandora
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background of a shell ignores it

class Slow(pandora.Policy):  # a lane in Python ends at its next period
    def begin(self, request):
        self.is_open = False
        if self.lane.replication > 1:
            time.sleep(0.01)
    def next(self): return None if self.is_open else 0
    def opened(self, output): self.is_open = True
    def deploy(self): return 0

study = {"replications": 40, "periods": 2000, "T0": [0], "environments": ["uniform"], "regimes": ["B"],
         "policies": ["query_all"], "oracle": {"samples": 2000}, "output": {"order": False}}
try:
    pandora.run(study, out=sys.argv[1], policies=[Slow], threads=1, progress=False)
except KeyboardInterrupt as stopped:
    assert isinstance(stopped, pandora.Interrupted) and stopped.exit_code == 130
    print(stopped, flush=True)
    assert "unfinished" in pandora.open(sys.argv[1]).unfinished
    sys.exit(130)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "r")], stdout=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        assert process.stdout is not None
        while not list((tmp_path / "r" / "parts").glob("*.part")):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait() == 130
    assert "interrupted; " in rest and 'go on with mode="resume" out="' in rest
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert manifest["state"] == "interrupted" and 0 < manifest["parts_there"] < 40


def test_what_a_progress_function_raises_ends_the_run(single: dict[str, Any], tmp_path: pathlib.Path) -> None:
    def stop(done: int, total: int) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):  # long before the last one
        pandora.run({**single, "replications": 3000}, out=tmp_path / "r", progress=stop)
    assert pandora.open(tmp_path / "r").unfinished != ""


def test_errors_have_the_program_s_text_and_code(program: Program, tmp_path: pathlib.Path) -> None:
    (tmp_path / "study.toml").write_text("periods = 0\n")
    with pytest.raises(subprocess.CalledProcessError) as said:
        program("run", "study.toml", "--quiet", cwd=tmp_path)
    with pytest.raises(pandora.UsageError) as raised:
        pandora.run(tmp_path / "study.toml", progress=False)
    assert said.value.returncode == raised.value.exit_code == 2
    assert said.value.stderr == f"pandora: {raised.value}\n".replace(str(tmp_path) + "/", "")
    for error, code in (
        (pandora.UsageError, 2),
        (pandora.DataError, 3),
        (pandora.ResourceError, 4),
        (pandora.MismatchError, 5),
        (pandora.OutputError, 6),
        (pandora.Interrupted, 130),
    ):
        assert issubclass(error, pandora.Error) and error.exit_code == code


def test_studies_are_dicts_of_any_form(tmp_path: pathlib.Path) -> None:
    from pandora.study import config_of

    nested = config_of(
        {
            "oracle": {"samples": 3000},
            "environment": {"own": {"law": "gaussian", "u": 0.2, "stream": 9}},
            "environments": ["own"],
            "seed": 2**64 - 1,
            "T0": np.array([0, 5]),
        }
    )
    dotted = config_of(
        {
            "oracle.samples": 3000,
            "environment.own.law": "gaussian",
            "environment.own.u": np.float64(0.2),
            "environment.own.stream": 9,
            "environments": ("own",),
            "seed": 2**64 - 1,
            "T0": [0, 5],
        }
    )
    assert nested.toml() == dotted.toml()
    assert 'seed = "18446744073709551615"' in nested.toml()
    with pytest.raises(pandora.UsageError, match="unknown key perods.*periods"):
        config_of({"perods": 5})
    with pytest.raises(pandora.UsageError, match="T0 = None: give a number"):
        config_of({"T0": None})
    with pytest.raises(pandora.UsageError, match="cannot be read|no such file|not there|is missing"):
        config_of(tmp_path / "none.toml")


def test_lanes_and_explain_of_a_study(single: dict[str, Any], program: Program, tmp_path: pathlib.Path) -> None:
    names = pandora.lanes(single)
    (tmp_path / "study.toml").write_text(toml_of(single))
    assert names == program("lanes", tmp_path / "study.toml").split()
    lane = names[-1]
    said = program("explain", tmp_path / "study.toml", "--lane", lane, "--period", "2:3", "--format", "json")
    assert pandora.explain(single, lane, 2, 3) == json.loads(said)


def test_tune_and_calibrate(single: dict[str, Any], program: Program, tmp_path: pathlib.Path) -> None:
    (tmp_path / "study.toml").write_text(toml_of(single))
    found = pandora.tune(single, budget=16, progress=False)
    program("tune", "study.toml", "--budget", "16", "--quiet", "--out", "t.json", cwd=tmp_path)
    assert found.details == json.loads((tmp_path / "t.json").read_text())
    assert found.winners["policy"].tolist() == ["dow", "dow"]
    assert len(found.candidates) == 4
    table = pandora.calibrate(single, boxes=1.5, replications=4, contexts=20, progress=False)
    assert table["environment"].tolist() == ["uniform"]
    assert 0.0 < table["u"][0] < 1.0
    assert table["boxes_per_period"][0] == pytest.approx(1.5, abs=0.05)
    assert table["u_of_study"][0] == 0.23


def test_a_table_of_outcomes_is_an_environment(program: Program, tmp_path: pathlib.Path) -> None:
    root = pathlib.Path(__file__).resolve().parents[2]
    study = root / "experiments" / "traces" / "exported.toml"
    r = pandora.run(study, out=tmp_path / "own", progress=False)
    program("run", study, "--out", "line", "--quiet", cwd=tmp_path)
    for name in ("summary.csv", "results.h5", "study.toml"):
        assert (tmp_path / "own" / name).read_bytes() == (tmp_path / "line" / name).read_bytes()
    row = next(r.best().rows())
    assert 0.0 < row["utility"] < 1.0 and row["calls"] >= 1.0 and row["told"] in (0, 1)
    assert "prompt" in r.lane(policy=row["policy"], T0=row["T0"]).explain(1)["periods"][0]
