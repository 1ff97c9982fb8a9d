"""A folder of a store of before, with snapshots and a journal of calls, as what a database begins with."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import Any, NamedTuple, Optional

from ..errors import DataError, Error
from ..live.explaining import decision_payload
from ..live.file import load
from ..live.members import Json
from ..live.running import RunningCascade
from .learned import Learned

_SNAPSHOT, _CALLS = re.compile(r"cascade-(\d+)\.json"), re.compile(r"calls-(\d+)\.jsonl")


class Imported(NamedTuple):
    """What a folder held."""

    learned: Learned
    decisions: list[Json]  #: payloads of requests whose feedback may come


def imported_into(folder: str) -> tuple[str, Optional[Imported]]:
    """The URL of the database kept.db in the folder and, where that is not there yet, what the folder holds."""
    kept = os.path.join(os.path.abspath(folder), "kept.db")
    url = f"sqlite:///{kept}"
    if os.path.exists(kept):
        return url, None
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        os.makedirs(folder, mode=0o700)
        return url, None
    except OSError as problem:
        raise DataError(f"{folder}: cannot be read ({problem.strerror})") from None
    snapshots = sorted(int(found[1]) for found in map(_SNAPSHOT.fullmatch, names) if found)
    if not snapshots:
        return url, None
    cascade = load(os.path.join(folder, f"cascade-{snapshots[-1]}.json"))
    cascade.epoch = 0
    calls = sorted(int(found[1]) for found in map(_CALLS.fullmatch, names) if found)
    for first in calls:
        if first >= snapshots[-1]:
            _make_again(cascade, os.path.join(folder, f"calls-{first}.jsonl"))
    cascade.edition = 1
    waiting = [request for request in cascade.requests.values() if request.deployed]
    decisions = [{**decision_payload(cascade, request), "imported": True} for request in waiting]
    return url, Imported(Learned.of_cascade(cascade), decisions)


def _make_again(cascade: RunningCascade, path: str) -> None:
    """The calls of a journal's file. Of a last line that a kill cut off nothing is left."""
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            call = json.loads(line)
            if not isinstance(call, dict):
                raise ValueError
        except ValueError:
            if number >= len(lines) - 1:
                return
            raise DataError(f"{path}: line {number} is damaged; import a copy of the folder") from None
        _make(cascade, call)


def _make(cascade: RunningCascade, call: Json) -> None:
    """One of them, as it was answered then; those that were refused are so again."""
    op, request = call.get("op"), call.get("request", 0)
    if op == "epoch":
        cascade.epoch = call["epoch"]
        return
    with suppress(Error):
        if op == "begin":
            if "psi" in call:
                cascade.begin(call["psi"])
            else:
                cascade.begin_prompt(call.get("text", ""), call.get("columns", {}))
        elif op in ("observe", "fail", "skip"):
            _called(cascade, op, request, call)
        elif op == "only":
            cascade.only(request, call["model"])
        elif op == "deploy":
            cascade.deploy(request)
        elif op == "cancel":
            cascade.cancel(request)
        elif op == "feedback":
            cascade.feedback(request, call["quality"])
        elif op in ("add_model", "remove_model"):
            getattr(cascade, op)(call["model"])
        elif op in ("set_price", "set_explore"):
            getattr(cascade, op)(call[op[4:]])


def _called(cascade: RunningCascade, op: str, request: int, call: Json) -> None:
    # Where it explored, another model was drawn then than is drawn now.
    cascade.request_of(request).next = cascade.position(call["model"])
    scores: Any = call.get("scores", [call["score"]] if "score" in call else [])
    if op == "observe":
        cascade.observe(request, call["model"], call["dollars"], scores, call.get("latency", float("nan")))
    elif op == "fail":
        cascade.fail(request, call["model"], call.get("dollars", 0.0), call.get("reason", ""))
    else:
        cascade.skip(request, call["model"], call.get("dollars", 0.0))
