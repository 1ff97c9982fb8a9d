"""A running cascade as a file: JSON that people read, with what was learned as one member."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict
from typing import Any, Optional

from ..errors import DataError, Error
from ..offline.learners.predictors import Predictor
from .learning import Learning
from .members import Json, Members, digest_of, literal
from .request import UnderWay
from .running import Counts, ModelState, RunningCascade

#: Of the format: 1, 2 with plans, 3 where something was learned or requests have begun.
VERSIONS = 1, 2, 3
MOST_BYTES = 1 << 30


def text_of(cascade: RunningCascade) -> str:
    """The file's text; a cascade that is saved at any time and loaded goes on as if nothing had been."""
    with cascade.lock:
        file = cascade.members.to_json()
        state = _state_of(cascade)
        file["version"] = 3 if state is not None else 2 if cascade.members.predictor is not None else 1
        file["state"] = state
    file["digest"] = digest_of(file)
    return json.dumps(file, indent=2, sort_keys=True) + "\n"


def _state_of(cascade: RunningCascade) -> Optional[Json]:
    if not cascade.members.learns and cascade.last_id == 0:
        return None
    state: Json = {
        "last_id": cascade.last_id,
        "periods": cascade.periods,
        "learning": cascade.learning,
        "counts": asdict(cascade.counts_now),
        "models": [asdict(one) for one in cascade.states],
        "requests": [[id, request.to_json()] for id, request in cascade.requests.items()],
    }
    if isinstance(cascade.indices, Learning):
        current = cascade.indices.current  # of one that is forgotten nothing more will be learned
        state["current"] = current if current is not None and cascade.knows(current) else None
        state["estimator"] = packed(cascade.indices.estimator.saved())
    return state


def packed(data: bytes) -> str:
    """Bytes as a text that JSON holds."""
    return base64.b64encode(data).decode()


def unpacked(text: str) -> bytes:
    """Them back; ValueError for another text."""
    return base64.b64decode(text, validate=True)


def load(path: str) -> RunningCascade:
    """DataError for a file that is not a whole cascade, or was changed by hand."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise DataError(f"{path}: has more than 1 GiB, which no cascade has")
        return parse(data.decode(), path)
    except OSError as problem:
        raise DataError(f"{path}: cannot be read ({problem.strerror})") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: is no text, and no cascade") from None


def parse(text: str, name: str, predictor: Optional[Predictor] = None) -> RunningCascade:
    """Of a file's text; `name` is for messages."""
    file = checked(text, name)
    try:
        members = Members.of_json({k: v for k, v in file.items() if k not in ("version", "state")}, predictor)
        return _with_state(members, file["state"])
    except Error as problem:
        raise DataError(f"{name}: {problem}") from None
    except (KeyError, TypeError, ValueError) as problem:
        raise DataError(f"{name}: has a state that cannot be ({problem}); save it again") from None


def checked(text: str, name: str) -> Json:
    """The members of a file, without its digest. DataError for a file that is not whole."""
    try:
        file = json.loads(text, parse_float=literal)
    except (ValueError, RecursionError):
        raise DataError(f"{name}: is not JSON; give a file that `pandora cascade fit` or a service wrote") from None
    if not (isinstance(file, dict) and "version" in file and "digest" in file):
        raise DataError(f"{name}: is no cascade")
    if file["version"] not in VERSIONS:
        raise DataError(f"{name}: is a cascade of another version of the format")
    if file.pop("digest") != digest_of(file):
        raise DataError(f"{name}: was changed or is damaged (its digest differs); fit again, or save it again")
    file.setdefault("state", None)
    return file


def _with_state(members: Members, state: Any) -> RunningCascade:
    if state is None:
        return RunningCascade(members)
    if isinstance(state, str):
        from .former import former_state

        state = former_state(members, state)
    saved = unpacked(state["estimator"]) if members.learns else None
    cascade = RunningCascade(members, saved)
    if isinstance(cascade.indices, Learning):
        cascade.indices.current = state["current"]
    cascade.last_id, cascade.learning = int(state["last_id"]), bool(state["learning"])
    cascade.periods = int(state["periods"])
    cascade.counts_now = Counts(**state["counts"])
    cascade.states = [ModelState(**one) for one in state["models"]]
    if len(cascade.states) != len(members.models):
        raise ValueError("it is of other models")
    for id, one in state["requests"]:
        request = UnderWay.of_json(one)
        positions = [*request.order, *(call.model for call in request.calls)]
        if not 0 < id <= cascade.last_id or not all(0 <= a < len(members.models) for a in positions):
            raise ValueError("a request that never began")
        cascade.put(id, request)
    return cascade
