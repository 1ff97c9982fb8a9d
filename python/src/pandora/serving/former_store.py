"""Imports a folder of an earlier store, with snapshots and a journal of calls, as the beginning of a database."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import Any, Optional, cast

from ..errors import DataError, Error
from ..live.explaining import decision_payload
from ..live.file import load
from ..live.learning import Learning, Lesson
from ..live.members import Json
from ..live.request import DEPLOYING, UnderWay
from ..live.running import RunningCascade
from .database import Database, chained, event, new_worker
from .database.chain import START
from .learned import Learned

#: Calls of a journal that are repeated as they stand, with the members that they need.
_STEPS: dict[str, tuple[str, ...]] = {"only": ("model",), "deploy": (), "cancel": (), "feedback": ("quality",)}
_CHANGES = {"add_model": "model", "remove_model": "model", "set_price": "price", "set_explore": "explore"}
_SNAPSHOT, _CALLS = re.compile(r"cascade-(\d+)\.json"), re.compile(r"calls-(\d+)\.jsonl")


def imported_into(folder: str) -> tuple[str, Optional[Learned]]:
    """The URL of the database kept.db in the folder and, if it has no state yet, its initial content.

    The database gets decisions for which feedback may still come. It replaces the folder once its first state is saved;
    if a process is killed before, the next one imports again.
    """
    path = os.path.join(os.path.abspath(folder), "kept.db")
    url = f"sqlite:///{path}"
    if os.path.exists(path):
        with Database(url) as kept:
            if kept.newest_state() is not None:
                return url, None
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        os.makedirs(folder, mode=0o700)
        return url, None
    except OSError as problem:
        raise DataError(f"{folder}: cannot be read ({problem.strerror})") from None
    snapshots = sorted(int(found[1]) for found in map(_SNAPSHOT.fullmatch, names) if found)
    calls = sorted(int(found[1]) for found in map(_CALLS.fullmatch, names) if found)
    if not snapshots and calls:
        raise DataError(f"{folder}: has calls and no snapshot that they follow; import a copy of the whole folder")
    if not snapshots:
        return url, None
    cascade = load(os.path.join(folder, f"cascade-{snapshots[-1]}.json"))
    again = _Again(cascade)
    for first in calls:
        if first >= snapshots[-1]:
            again.make_all(os.path.join(folder, f"calls-{first}.jsonl"))
    again.end()
    cascade.edition = 1
    with Database(url) as kept:
        if next(kept.events(["decision"]), None) is None:
            waiting = [request for request in cascade.requests.values() if request.deployed]
            payloads = [{**decision_payload(cascade, request), "imported": True} for request in waiting]
            kept.append(chained(new_worker(), 0, START, [event("decision", one, one["request"]) for one in payloads]))
    return url, Learned.of_cascade(cascade)


class _Again:
    """Repeats the calls of a journal, with the same random draws. With refits beside calls, lessons wait until the
    journal says that they were adopted.
    """

    def __init__(self, cascade: RunningCascade) -> None:
        self.cascade = cascade
        self.waiting: list[Lesson] = []
        cascade.epoch, cascade.draws = 0, self._draws

    def _draws(self, request: UnderWay, step: int) -> tuple[float, float]:
        seed, environment, regime, replication = self.cascade.members.exploration
        block = 1 << 16 if step == DEPLOYING else step
        words = _philox(seed, [block, request.period, 2 | 22 << 8 | environment << 16 | regime << 24, replication])
        return (words[0] + 0.5) / 2.0**32, (words[1] + 0.5) / 2.0**32

    def adopt(self, more: Optional[int] = None) -> None:
        """Learns that many lessons; None: all."""
        due = self.waiting[:more]
        del self.waiting[: len(due)]
        for lesson in due:
            with suppress(Error):
                Learning.learn(cast(Learning, self.cascade.indices), lesson)

    def end(self) -> None:
        """Learns all waiting lessons, and from then on at once."""
        self.adopt()
        if self.cascade.indices is not None:
            vars(self.cascade.indices).pop("learn", None)

    def make_all(self, path: str) -> None:
        """The lines of a file. A last line that a kill cut off is ignored."""
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
            self._make(call)

    def _make(self, call: Json) -> None:
        """Repeats one call with the same answer; a refused call is refused again."""
        op, request, cascade = call.get("op"), call.get("request", 0), self.cascade
        if op == "epoch":
            self.end()
            cascade.epoch = call["epoch"]
            if isinstance(cascade.indices, Learning) and call.get("beside"):
                vars(cascade.indices)["learn"] = self.waiting.append
            return
        if op == "adopt":
            return self.adopt(call["more"])
        with suppress(Error):
            if op == "begin":
                if "psi" in call:
                    cascade.begin(call["psi"])
                else:
                    cascade.begin_prompt(call.get("text", ""), call.get("columns", {}))
            elif op in ("observe", "fail", "skip"):
                self._called(op, request, call)
            elif op in _STEPS:
                getattr(cascade, op)(request, *(call[name] for name in _STEPS[op]))
            elif op in _CHANGES:
                self.adopt()
                getattr(cascade, op)(call[_CHANGES[op]])

    def _called(self, op: str, request: int, call: Json) -> None:
        cascade = self.cascade
        # If estimates differ in the last digit, another model may come next than in the original run.
        cascade.request_of(request).next = cascade.position(call["model"])
        scores: Any = call.get("scores", [call["score"]] if "score" in call else [])
        if op == "observe":
            cascade.observe(request, call["model"], call["dollars"], scores, call.get("latency", float("nan")))
        elif op == "fail":
            cascade.fail(request, call["model"], call.get("dollars", 0.0), call.get("reason", ""))
        else:
            cascade.skip(request, call["model"], call.get("dollars", 0.0))


def _philox(seed: int, words: list[int]) -> list[int]:
    """Philox 4x32-10, the earlier program's generator (kernels/random/philox.hpp)."""
    low = 0xFFFFFFFF
    key0, key1 = seed & low, seed >> 32
    for _ in range(10):
        first, second = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [(second >> 32) ^ words[1] ^ key0, second & low, (first >> 32) ^ words[3] ^ key1, first & low]
        key0, key1 = (key0 + 0x9E3779B9) & low, (key1 + 0xBB67AE85) & low
    return words
