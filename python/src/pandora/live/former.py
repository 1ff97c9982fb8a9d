"""The learned state in files of cascades of versions 1 and 2: a sealed text of CBOR."""

from __future__ import annotations

import base64
import json
import math
import struct
from hashlib import sha256
from typing import Any

import numpy as np

from .members import Json, Members
from .request import Call, PassedOver, UnderWay

_STOPS = "best_reaches_scores_left", "last_reaches_threshold", "after_first", "never"


def unsealed(kind: str, data: bytes) -> Any:
    """The content that the engine's seal() wrote (host/ground/files/sealed_file.hpp). ValueError for anything else."""
    head, _, content = data.partition(b"\n")
    words = head.decode("ascii", "replace").split(" ")
    if words[:2] != ["pandora", kind] or len(words) != 6 or words[4] != sha256(content).hexdigest():
        raise ValueError("its checksum differs")
    try:
        value, end = _cbor(content, 0)
    except (IndexError, struct.error, RecursionError):
        raise ValueError("it is truncated") from None
    if end != len(content):
        raise ValueError("it has more than it should")
    return value


def _cbor(data: bytes, at: int) -> tuple[Any, int]:
    """The value that begins at a place, and the place of its end."""
    major, minor, at = data[at] >> 5, data[at] & 31, at + 1
    if major == 7:
        if minor in (20, 21, 22):
            return {20: False, 21: True, 22: None}[minor], at
        form, size = {25: (">e", 2), 26: (">f", 4), 27: (">d", 8)}[minor]
        return struct.unpack(form, data[at : at + size])[0], at + size
    count = minor
    if minor >= 24:
        size = 1 << (minor - 24)
        count, at = int.from_bytes(data[at : at + size], "big"), at + size
    if major in (0, 1):
        return (count if major == 0 else -1 - count), at
    if major in (2, 3):
        found = data[at : at + count]
        if len(found) < count:
            raise IndexError
        return (found if major == 2 else found.decode()), at + count
    if major not in (4, 5) or count > len(data):
        raise ValueError("it is no state")
    out: list[Any] = []
    for _ in range(count * (major - 3)):
        value, at = _cbor(data, at)
        out.append(value)
    return (out if major == 4 else dict(zip(out[::2], out[1::2]))), at


def _doubles(packed: bytes) -> list[float]:
    return [x for (x,) in struct.iter_unpack("<d", packed)]


def former_state(members: Members, text: str) -> Json:
    """The state in the form of version 3. Requests that were not deployed are left out, because nobody continues
    them.
    """
    state = unsealed("cascade", base64.b64decode(text, validate=True))
    named = ("requests", "calls", "deployed", "feedbacks", "dropped_open", "dropped_waiting", "failures", "cancelled")
    counts = dict(zip(named, state["counts"]))
    counts.update(zip(("dollars", "quality"), _doubles(state["sums"])))
    rests = ("failures", "rests_until", "tried_by", "trial")
    states = [dict(zip(rests, one)) for one in state.get("failures") or [[0, 0, 0, 0]] * len(members.models)]
    requests = [[one["id"], _request(members, one).to_json()] for one in state["requests"] if one["deployed"]]
    last = state["last_id"]
    out = {"last_id": last, "periods": last, "learning": state["learning"], "counts": counts, "models": states,
           "requests": requests}  # fmt: skip
    if members.learns:
        out["current"] = state["current"] or None
        out["estimator"] = base64.b64encode(state["estimator"]).decode()
    return json.loads(json.dumps(out))  # type: ignore[no-any-return]


def _request(members: Members, one: Json) -> UnderWay:
    calls = []
    for call in one["calls"]:
        dollars, quality, shown = _doubles(call["numbers"])
        latency, propensity, deployed = _doubles(call["logged"]) if "logged" in call else (math.nan, 1.0, 0.0)
        scores = tuple(_doubles(call["scores"])) if "scores" in call else (shown,)
        seconds = None if math.isnan(latency) else latency
        calls.append(Call(call["model"], dollars, scores, shown, quality, seconds, propensity, deployed))
    listed = not members.learns
    thresholds = _doubles(one["threshold"])[: len(one["walk"])] if listed and "threshold" in one else []
    if thresholds:
        thresholds[-1] = math.inf
    psi = [x for (x,) in struct.iter_unpack("<f", one["psi"])]
    score, prediction, width, bonus = (_doubles(one[name]) for name in ("score", "prediction", "width", "bonus"))
    number = one["number"] if "number" in one else one["id"]
    return UnderWay(
        number, one["period"], np.array(psi, np.float32), list(one["walk"]), thresholds, _STOPS[one["stop"]],
        score, prediction, width, bonus, first_of_ties=listed, calls=calls,
        passed_over=[PassedOver(x["model"], x["dollars"], x["reason"]) for x in one.get("passed_over", [])],
        best=one["chosen"], done=one["done"], resting=_bits(one.get("resting", 0)), only="only" in one,
        explored=one.get("explored", False), deployed=one["deployed"], id=one["id"],
    )  # fmt: skip


def _bits(mask: int) -> frozenset[int]:
    return frozenset(k for k in range(16) if mask >> k & 1)
