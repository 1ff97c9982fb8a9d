"""Imports folders of the former store, which was written in C++. tests/serving/former has three that it wrote.

waiting: a snapshot of thresholds that explore, with requests that wait for feedback. indices: a snapshot and the
journal after it, as a kill left it; the journal adds a model, removes a model and changes the price. beside: the same,
with refits beside the calls. The files with these names have the former store's own answers.
"""

from __future__ import annotations

import json
import pathlib
import shutil
from typing import Any

import pytest
from stores import in_order, new, opened, require_replayed, rows, text

import pandora
from pandora.serving import former_store
from pandora.serving.database import Database

pytest_plugins = ["database_fixtures"]
pytestmark = pytest.mark.usefixtures("quick")
DATA = pathlib.Path(__file__).parent / "former"


def copied(tmp_path: pathlib.Path, name: str) -> tuple[pathlib.Path, dict[str, Any]]:
    shutil.copytree(DATA / name, tmp_path / name)
    return tmp_path / name, json.loads((DATA / f"{name}.json").read_text())


@pytest.mark.parametrize("name", ["waiting", "indices", "beside"])
def test_a_folder_is_imported_once_as_it_was(tmp_path: pathlib.Path, name: str) -> None:
    folder, said = copied(tmp_path, name)
    near = 1e-12  # copied estimates sum widths in another order
    with opened(folder) as store:
        metrics = store.metrics()
        for count in ("requests", "calls", "deployed", "feedbacks", "failures", "cancelled", "dollars", "quality"):
            assert metrics[count] == pytest.approx(said["counts"][count], rel=1e-12), count
        assert [model["model"] for model in metrics["models"] if model["removed"]] == said["removed"]
        assert {str(request) for _, request, _ in rows(store, "decision")} == set(said["waiting"])
        for request, (deployed, calls) in said["waiting"].items():
            told = store.explain(int(request))
            assert told["deployed"] == deployed
            assert [[call["model"], call["dollars"]] for call in told["calls"]] == [call[:2] for call in calls]
            for call, (_, _, quality) in zip(told["calls"], calls):
                assert call["quality"] == pytest.approx(quality, abs=near)
        if "probe" in said:
            assert metrics["price"] == said["price"]
            told = store.explain(store.begin([1.0, 0.25]).number)
            for model, (prediction, width) in zip(told["models"], said["probe"]):
                assert model["prediction"] == pytest.approx(prediction, abs=near)
                assert model["width"] == pytest.approx(width, abs=near)
        first, *others = map(int, said["waiting"])
        assert store.feedback(first, 0.5) and store.settle()
        assert store.metrics()["feedbacks"] == metrics["feedbacks"] + 1 and store.metrics()["unlearned"] == 0
        before = text(store)
    with pytest.warns(pandora.PandoraWarning, match="goes on with the cascade that it has"):
        opened(folder, new()).close()
    with opened(folder) as store:
        assert text(store) == before and len(rows(store, "decision")) == len(said["waiting"])
        for request in others:
            assert store.feedback(request, 1.0)
        with pytest.raises(pandora.UsageError, match="there is no request 7"):
            store.feedback(7, 1.0, seconds=0.1)
        assert store.settle() and store.metrics()["feedbacks"] == metrics["feedbacks"] + len(others) + 1
        require_replayed(store)


def test_an_import_that_a_kill_broke_off_is_made_again(tmp_path: pathlib.Path) -> None:
    folder, said = copied(tmp_path, "indices")
    Database(f"sqlite:///{folder}/kept.db").close()  # as if it had been killed at once
    url, imported = former_store.imported_into(str(folder))
    assert imported is not None  # as if it had been killed before the first state
    with opened(folder) as store:
        assert store.metrics()["requests"] == said["counts"]["requests"]
        assert len(rows(store, "decision")) == len(said["waiting"])
    assert former_store.imported_into(str(folder)) == (url, None)


def test_what_is_no_whole_folder_is_told(tmp_path: pathlib.Path) -> None:
    folder, said = copied(tmp_path, "indices")
    calls = next(folder.glob("calls-*.jsonl"))
    whole = calls.read_bytes()
    lines = whole.split(b"\n")
    calls.write_bytes(b"\n".join([*lines[:5], b"\0" * 30, *lines[6:]]))
    with pytest.raises(pandora.DataError, match=r"calls-\d+\.jsonl: line 6 is damaged; import a copy"):
        opened(folder)
    calls.write_bytes(whole[:-9])  # as if a kill had cut it off
    with opened(folder) as store:
        assert store.metrics()["requests"] == said["counts"]["requests"]
    folder, _ = copied(tmp_path / "second", "indices")
    snapshot = next(folder.glob("cascade-*.json"))
    kept = snapshot.read_bytes()
    snapshot.write_bytes(kept.replace(b'"price"', b'"prize"'))
    with pytest.raises(pandora.DataError, match=r"cascade-\d+\.json: was changed or is damaged"):
        opened(folder)
    snapshot.unlink()
    with pytest.raises(pandora.DataError, match="has calls and no snapshot that they follow"):
        opened(folder, new())
    with pytest.raises(pandora.DataError, match="cannot be read"):
        opened(snapshot.with_name("calls-129.jsonl"), new())


def test_another_folder_begins_with_the_cascade_that_is_given(tmp_path: pathlib.Path) -> None:
    with pytest.raises(pandora.UsageError, match="holds no cascade"):
        opened(tmp_path / "made")
    with opened(tmp_path / "made", in_order()) as store:
        assert store.cascade.kind == "thresholds" and (tmp_path / "made" / "kept.db").exists()
        assert (tmp_path / "made").stat().st_mode & 0o777 == 0o700
