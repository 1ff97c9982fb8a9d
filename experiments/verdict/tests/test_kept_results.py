"""What the package prints of kept results: of two runs, and of the folders in experiments/results."""

from __future__ import annotations

import csv
import io
import json
import math
import pathlib
import shutil

import h5py
import numpy as np
import pytest
from made_up import RESULTS
from pandora_verdict import read_kept, read_panels, records, verdicts
from pandora_verdict.__main__ import main
from pandora_verdict.numbers import summarise
from pandora_verdict.verdict import PARTS

# Excerpts of the results.h5 of two runs at the paper's horizon, 100 replications of a panel and 12 of six, beside what
# `pandora verdict` printed of them while it was a command of the program.
# SETTINGS: excerpts of the summary.csv of studies with settings.
KEPT = pathlib.Path(__file__).parent / "kept"
ONE, SIX, SETTINGS = KEPT / "one-panel", KEPT / "six-panels", KEPT / "settings"


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("style", ["text", "markdown", "latex"])
def test_tables_are_those_of_the_program(
    style: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert printed(capsys, ONE, "--format", style) == (ONE / f"verdict.{style}").read_text()


@pytest.mark.parametrize("kept", sorted(KEPT.glob("*/*.part.csv")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_csv_is_that_of_the_program(kept: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, kept.parent, "--part", kept.name.split(".")[0], "--format", "csv")
    for ours, theirs in zip(csv.reader(io.StringIO(found)), csv.reader(io.StringIO(kept.read_text()))):
        for a, b in zip(ours, theirs):  # the last of nine digits is another machine's
            assert a == b or float(a) == pytest.approx(float(b), rel=3e-8, abs=1e-11)
    assert found.count("\n") == kept.read_text().count("\n")


def test_folders_of_one_environment_each_are_one_study(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [tmp_path / name for name in ("uniform", "gaussian", "student_t5")]
    for part in parts:
        shutil.copytree(SIX, part)
        for name in ("summary", "oracle", "oracle_order"):
            file = part / f"{name}.csv"
            header, *rows = file.read_text().splitlines(keepends=True)
            file.write_text(header + "".join(row for row in rows if part.name in row))
    for kept in ("counts", "findings", "prices", "rows"):
        whole, joined = (printed(capsys, *of, "--part", kept, "--format", "csv") for of in ([SIX], parts))
        assert joined == whole
    assert main([str(SIX), str(parts[1])]) == 3
    assert f"{parts[1]}: A gaussian is also in {SIX}" in capsys.readouterr().err
    assert main([str(ONE), *map(str, parts[1:])]) == 3
    assert f"{parts[1]}: has 12 replications, {ONE} has 100" in capsys.readouterr().err


def test_the_first_replications_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    only = (
        "--only",
        "policy=online_plugin",
        "--only",
        "reward=known",
        "--only",
        "T0=0",
        "--format",
        "csv",
        "--skip",
        "40",
    )
    (row, *_) = csv.DictReader(io.StringIO(printed(capsys, ONE, *only)))
    with h5py.File(ONE / "results.h5") as file:
        (group,) = file.values()
        lane = list(group["lanes/name"].asstr()[:]).index("0/online_plugin/known")
        utility = 1000.0 * group["utility"][:, 40:] / group.attrs["periods"]
    assert (row["number"], row["replications"]) == ("regret_x1000", "60")
    assert float(row["ours"]) == pytest.approx(np.mean(utility[0] - utility[lane]), rel=1e-7)
    with pytest.raises(SystemExit):
        main([str(RESULTS / "seed-7-500"), "--skip", "40"])


def test_json_has_what_csv_has(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, ONE, "--format", "json"))
    assert set(found) == set(PARTS)
    rows = list(csv.DictReader(io.StringIO((ONE / "numbers.part.csv").read_text())))
    assert [row["z"] for row in found["numbers"]] == pytest.approx([float(row["z"]) for row in rows])
    assert found["numbers"][-1]["T0"] is None


@pytest.mark.parametrize(
    ("folder", "regrets", "numbers", "adjusted"),
    [
        ("full-geometric-1.5", 155, 184, None),
        ("seed-7-500", 170, 200, (157, 187)),
        ("seed-7-tracking", 1, 1, None),
    ],
)
def test_stored_folders_have_the_counts_that_the_documents_state(
    folder: str, regrets: int, numbers: int, adjusted: tuple[int, int]
) -> None:
    path = RESULTS / folder
    (found,) = verdicts(read_panels(path), read_kept(path))
    counts = {(count.what, count.adjusted): count for count in found.counts}
    assert counts["regrets", False].of == (96 if "7-tracking" in folder else 174)
    assert counts["regrets", False].published == regrets
    assert counts["all numbers", False].published == numbers
    for what, count in zip(("regrets", "all numbers"), adjusted or ()):
        assert counts[what, True].published == count


@pytest.mark.parametrize("folder", ["seed-7-500", "seed-7-tracking"])
def test_stored_numbers_are_made_again_from_the_stored_summary(folder: str) -> None:
    """All but the adjusted ones, which take single replications, from means of six decimals and their errors."""
    kept = list(csv.DictReader(io.StringIO((RESULTS / folder / "numbers.csv").read_text())))
    made = {tuple(str(r[k]) for k in ("number", "regime", "environment", "policy", "reward", "T0")): r
            for r in records(verdicts(read_panels(RESULTS / folder)), "numbers")}  # fmt: skip
    assert len(made) == len([row for row in kept if row["number"] == "regret_x1000" or "500" in folder])
    for row in kept:
        name = tuple(row[k] or "None" for k in ("number", "regime", "environment", "policy", "reward", "T0"))
        if name not in made:
            assert row["number"] != "regret_x1000" and folder == "seed-7-tracking"  # it has no oracle.csv
            continue
        own = made[name]
        assert own["replications"] == int(row["replications"])
        assert own["inside_joint_95"] == (row["inside_joint_95"] == "1")
        for column in ("published", "ours", "half_width_95", "standard_error", "published_half_width_95"):
            assert own[column] == pytest.approx(float(row[column]), abs=1.5e-6)
        assert own["z"] == pytest.approx(float(row["z"]), abs=3e-4)
        assert own["adjusted_ours"] is None


def test_of_kept_means_differences_are_told_without_intervals() -> None:
    (found,) = verdicts(read_panels(RESULTS / "seed-7-500"))
    assert [price.ours.mean for price in found.prices] == pytest.approx([0.26, 0.11, 0.34, 0.18], abs=0.005)
    assert all(math.isnan(price.p) for price in found.prices)
    assert {finding.count("") == len(finding.cells) for finding in found.findings if finding.label in "1a 6a"} == {True}
    assert all(math.isnan(row.plain.ratio.half_width) for row in found.rows)
    # What the oracle does has intervals of its own.
    assert [f.count("yes") for f in found.findings if f.label in ("3d", "4b")] == [3, 6]


def test_groups_of_the_conventions_are_those_of_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    """The rows of geometric:1.5 with eta_1 = 1 in docs/open-choices.md."""
    folder = SETTINGS / "conventions.csv"
    (key,) = {p.setting for p in read_panels(folder) if "geometric:1.5" in p.setting and p.setting.endswith("=1")}
    found = [n for v in verdicts(read_panels(folder)) if v.setting == key for n in v.numbers]
    ratio = [summarise([n for n in found if n.regime == regime], False).ratio.mean for regime in "AB"]
    assert ratio == pytest.approx([0.97, 1.03], abs=0.005)
    assert summarise(found, False).rms_z == pytest.approx(1.21, abs=0.005)
    out = printed(capsys, folder, "--by", "setting,regime", "--only", f"setting={key}", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [float(row["ratio"]) for row in rows] == pytest.approx(ratio)
    assert [row["cells"] for row in rows] == ["8", "8"]


def test_a_row_is_set_against_itself_at_another_calibration_and_in_another_setting(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed(capsys, ONE, "--against", "T0=0", "--only", "policy=dow", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    (panel,) = read_panels(ONE)
    entries = [panel.find("dow/known", T0) for T0 in (1000, 0)]
    difference = entries[0].regrets.less(entries[1].regrets)  # type: ignore[union-attr]
    assert [row["row"] for row in rows] == ["dow/known", "dow/unknown"]
    assert float(rows[0]["difference_x1000"]) == pytest.approx(difference.mean)
    assert float(rows[0]["difference_half_width_95"]) == pytest.approx(difference.interval.half_width)
    assert difference.interval.half_width == pytest.approx(1.98422 * difference.standard_error, rel=1e-5)
    assert "-1.9" in printed(capsys, ONE, "--against", "T0=0", "--format", "markdown")
    out = printed(capsys, SETTINGS / "balls.csv", "--against", "setting", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 5 * 8
    last = rows[-1]
    assert float(last["difference_x1000"]) == pytest.approx(float(last["regret_x1000"]) - float(last["other_x1000"]))


def test_files_without_standard_errors_have_half_widths_of_1_96_of_them(tmp_path: pathlib.Path) -> None:
    """As versions wrote them before half-widths were Student's: the same z, and intervals of Student's t."""
    for file in ("summary.csv", "oracle.csv", "oracle_order.csv", "numbers.csv"):
        with (RESULTS / "seed-7-500" / file).open(newline="") as opened:
            rows = list(csv.DictReader(opened))
        for row in rows:
            for name in [name for name in row if "standard_error" in name]:
                if error := row.pop(name):
                    row[name.replace("standard_error", "half_width_95")] = f"{1.96 * float(error):.9g}"
        with (tmp_path / file).open("w", newline="") as opened:
            writer = csv.DictWriter(opened, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    new, old = (verdicts(read_panels(path), read_kept(path))[0].numbers for path in (RESULTS / "seed-7-500", tmp_path))
    assert len(new) == len(old) == 204
    for a, b in zip(new, old):
        assert b.plain.z == pytest.approx(a.plain.z, rel=1e-7)
        assert b.plain.ours == pytest.approx(a.plain.ours, rel=1e-7)
        assert b.adjusted.z == a.adjusted.z
        assert b.adjusted.ours == pytest.approx(a.adjusted.ours, rel=1e-4)  # covariates have degrees of freedom, too


def test_a_stored_file_of_any_name_is_read() -> None:
    found = verdicts(read_panels(SETTINGS / "conventions.csv"))
    assert len(found) == 2
    assert all(len(one.numbers) == 16 for one in found)


def test_what_is_wrong_is_said_with_a_remedy(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refusal(code: int, *arguments: object) -> str:
        try:
            found = main([str(argument) for argument in arguments])
        except SystemExit as end:  # of argparse
            found = int(end.code or 0)
        assert found == code
        return capsys.readouterr().err

    assert "summary.csv" in refusal(3, tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    assert "pandora run --resume" in refusal(3, tmp_path)
    (tmp_path / "summary.csv").write_text("a,b\n1,2\n")
    assert "column regime" in refusal(3, tmp_path)
    shutil.copytree(ONE, tmp_path / "own")
    summary = tmp_path / "own" / "summary.csv"
    good = summary.read_text()
    for name in ("summary.csv", "oracle_order.csv"):
        table = tmp_path / "own" / name
        table.write_text(table.read_text().replace("uniform", "elsewhere"))
    assert "paper's environments" in refusal(3, tmp_path / "own")
    shutil.copytree(ONE, tmp_path / "own", dirs_exist_ok=True)
    (tmp_path / "own" / "results.h5").write_text("no HDF5")
    assert "results.h5: cannot be read" in refusal(3, tmp_path / "own")
    (tmp_path / "own" / "results.h5").unlink()
    summary.write_text(good.replace("online_plugin,known,100,0,30000,", "online_plugin,known,100,0,30000,x", 1))
    assert "summary.csv:3: regret_x1000 is 'x" in refusal(3, tmp_path / "own")
    summary.write_text(good)
    assert "invalid choice: 'number'" in refusal(2, ONE, "--part", "number")
    assert "--by rows: rows is none of setting" in refusal(2, ONE, "--by", "rows")
    assert "--against regime=A: give T0=N" in refusal(2, ONE, "--against", "regime=A")
    assert "--only box=1: give KEY=VALUE" in refusal(2, ONE, "--only", "box=1")
    assert "--only policy=liu: the results have no such row" in refusal(2, ONE, "--only", "policy=liu")
