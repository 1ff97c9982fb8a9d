"""Compares the commands with the results of the C++ fits on made-up worlds (tests/golden), to 1e-6.

Intended differences stand in tests/golden/differences.py. By default some of the worlds are compared, and all with
PANDORA_GOLDEN=all.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import math
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import numpy as np
import pytest

GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "golden"
sys.path.insert(0, str(GOLDEN))

from cases import all_cases  # noqa: E402
from differences import DIFFERENCES, GIVEN_UP, NOTES, REWORDED, SWITCHED_OFF  # noqa: E402
from make import result_of  # noqa: E402
from worlds import WORLDS  # noqa: E402

from pandora.live.request import UnderWay  # noqa: E402
from pandora.offline import (  # noqa: E402
    call_log,
    commands,
    crossfit,
    deploy,
    estimate,
    judge,
    paths,
    table_fit,
    words,
    worth,
)
from pandora.offline.policies.order import Order  # noqa: E402
from pandora.offline.policies.router import walked  # noqa: E402

SPREAD = (
    "three tiny rarely-fails complements gaps independent classes judges heavy latency-gaps sessions labels-20 "
    "log-in-order log-in-order-labels log-tosses log-tosses-table log-running log-apart log-one-call"
)
EVERY = os.environ.get("PANDORA_GOLDEN") == "all"
TOLERANCE = 1e-6


def stand_ins(patch: pytest.MonkeyPatch) -> None:
    """Functions that do the same as the C++ fits, for parts that were changed on purpose."""
    mean = estimate.Estimate.mean

    def without_range(by_row: Any, groups: Any, range: Optional[tuple[float, float]] = None) -> estimate.Estimate:
        return mean(by_row, groups)

    done = {
        "exact ends": (estimate.Estimate, "mean", staticmethod(without_range)),
        "ranges": (estimate.Estimate, "mean", staticmethod(without_range)),  # the exact ends depend on them
        "no call": (call_log, "_decisions_by_row", lambda propensity, sampling: np.ones(len(propensity))),
        "judge in logs": (call_log, "_without_judge", lambda usd, judge_usd: (usd, next(iter(NOTES)))),
        "dollars": (worth, "stretched", lambda interval, to: interval),
        "dearer": (crossfit.CrossFit, "dearer", lambda fits, own, read: np.zeros(len(own))),
        "few failures": (table_fit, "rare_note", lambda *_: None),
        "one stands out": (estimate, "SKEWED", math.inf),
    }
    assert done.keys() | {"first in the file"} == SWITCHED_OFF.keys()
    for module in (deploy, judge):
        patch.setattr(module, "walked", first_in_the_file)
    patch.setattr(
        UnderWay, "_is_better", lambda _, call, best: (call.quality, -call.model) > (best.quality, -best.model)
    )
    for of, name, stand_in in done.values():
        patch.setattr(of, name, stand_in)
    patch.setattr(words, "too_few_text", lambda *_: "")
    patch.setattr(paths, "stretched", done["dollars"][2])


def first_in_the_file(policy: Any, outcomes: Any) -> Any:
    """Like walked(), but among answers of equal quality it deploys that of the model that is first in the file."""
    walk = Order.walk

    def other_walk(order: Order, outcomes: Any) -> Any:
        out = walk(order, outcomes)
        rows = np.arange(len(out.deployed))
        best = outcomes.seen[rows, out.deployed]
        for model in sorted(order.order, reverse=True):
            called = (out.called == model).any(axis=1)
            out.deployed[called & (outcomes.seen[:, model] == best)] = model
        return out

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Order, "walk", other_walk)
        return walked(policy, outcomes)


def found_of(case: Any, folder: Path) -> dict[str, Any]:
    """The result in the form that make.py keeps."""
    # A model that costs nothing in any row used to be read without a message.
    reads_free = case.world in ("free-model", "all-free") and "--free-calls" not in case.argv and case.argv[1] != "show"
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = commands.main([*case.argv, *(("--free-calls", "allowed") if reads_free else ())])
    return result_of(case, code, out.getvalue(), err.getvalue(), folder)


def as_now(golden: dict[str, Any]) -> dict[str, Any]:
    """The kept result without the numbers and words that no longer exist."""
    text = json.dumps({name: value for name, value in golden.items() if name != "knife_edge"})
    for was, now in REWORDED.items():
        text = text.replace(was, now)
    golden = json.loads(text)
    if "text" in golden:
        golden["text"] = re.sub(
            r"\n(Under other circumstances|Without one model)(.|\n)*?(?=cascade in |\Z)", "", golden["text"]
        )
    if isinstance(golden.get("result"), dict):
        golden["result"] = {
            name: value
            for name, value in golden["result"].items()
            if not any(re.fullmatch(path, f"/result/{name}") for path in GIVEN_UP)
        }
    return golden


def told_by_both(value: Any) -> Any:
    """The notes without those that only one of the two versions has."""
    return [note for note in value if not str(note).startswith(tuple(NOTES))]


def unlike(a: Any, b: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The paths at which two values differ by more than rounding."""
    if path.endswith("/notes"):
        a, b = told_by_both(a), told_by_both(b)
    if isinstance(a, dict) and isinstance(b, dict):
        for name in sorted(a.keys() | b.keys()):
            yield from unlike(a.get(name, "(none)"), b.get(name, "(none)"), f"{path}/{name}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for place, (x, y) in enumerate(zip(a, b)):
            yield from unlike(x, y, f"{path}/{place}")
    elif all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in (a, b)):
        if not abs(a - b) <= TOLERANCE * max(1.0, abs(a), abs(b)):
            yield path, a, b
    elif a != b:
        yield path, a, b


@pytest.fixture(scope="module")
def golden() -> dict[str, dict[str, Any]]:
    with gzip.open(GOLDEN / "golden.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {one["case"]: one for one in map(json.loads, lines)}


@pytest.mark.filterwarnings("ignore")  # from cascades that see the quality
@pytest.mark.parametrize("name", [world.name for world in WORLDS if EVERY or world.name in SPREAD.split()])
def test_the_same_as_before(
    golden: dict[str, dict[str, Any]], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    next(world for world in WORLDS if world.name == name).write(tmp_path)
    if name in ("two", "log-tosses-table"):  # they use a table of another world
        next(world for world in WORLDS if world.name == "three").write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PANDORA_RENDERER", "none")
    monkeypatch.setenv("COLUMNS", "80")
    stand_ins(monkeypatch)
    wrong, needed = [], set()
    cases = [case for case in all_cases() if case.world == name]
    for case in cases:
        for path, was, now in unlike(as_now(golden[case.name]), found_of(case, tmp_path)):
            by = [number for number, one in enumerate(DIFFERENCES) if one.explains(case.name, path)]
            needed |= {(case.name, number) for number in by}
            if not by:
                wrong.append(f"{case.name} ({' '.join(case.argv)}){path}: {was!r:.300} was, {now!r:.300} is")
    stale = [
        f"{case.name}: no longer differs: {one.reason}"
        for case in cases
        for number, one in enumerate(DIFFERENCES)
        if case.name in one.cases.split() and (case.name, number) not in needed
    ]
    assert not wrong + stale, "\n".join((wrong + stale)[:40])


def test_differences_are_of_cases_that_exist() -> None:
    names = {case.name for case in all_cases()}
    assert {case for one in DIFFERENCES for case in one.cases.split()} <= names
