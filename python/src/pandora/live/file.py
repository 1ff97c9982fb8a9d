"""A running cascade as a file: JSON that people can read, with the learned state as one member."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any, Optional

from .. import _core
from ..errors import DataError, Error, OutputError, UsageError
from ..offline.learners.estimators import EstimatorPredictor
from ..offline.learners.predictors import Predictor
from .learning import Learning
from .members import Json, Members, digest_of, literal
from .request import UnderWay
from .running import Counts, ModelState, RunningCascade

#: Versions of the format: 1; 2 with plans; 3 if something was learned or requests have begun.
VERSIONS = 1, 2, 3
MOST_BYTES = 1 << 30


def text_of(cascade: RunningCascade) -> str:
    """The file's text. A cascade that is saved at any time and loaded continues as if nothing had happened."""
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
        current = cascade.indices.current  # nothing more will be learned from a forgotten request
        state["current"] = current if current is not None and cascade.knows(current) else None
        state["estimator"] = packed(cascade.indices.estimator.saved())
    return state


def packed(data: bytes) -> str:
    """Bytes as a text that JSON holds."""
    return base64.b64encode(data).decode()


def unpacked(text: str) -> bytes:
    """The bytes again; ValueError for another text."""
    return base64.b64decode(text, validate=True)


def save(cascade: RunningCascade, path: str) -> None:
    """Saves whole or not at all. A router that is a caller's estimator goes into a file PATH.joblib beside it."""
    predictor = cascade.members.predictor
    if not isinstance(predictor, EstimatorPredictor):
        return _core.write_file(path, text_of(cascade))
    data, versions = predictor.dumped()
    beside = f"{path}.joblib"
    saved_as = {"file": os.path.basename(beside), "sha256": sha256(data).hexdigest(), "versions": versions}
    with cascade.lock:
        before = cascade.members
        try:
            cascade.members = replace(before, predictor=replace(predictor, saved_as=saved_as))
            text = text_of(cascade)
        finally:
            cascade.members = before
    try:
        with open(f"{beside}.tmp", "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{beside}.tmp", beside)
    except OSError as problem:
        raise OutputError(f"{beside}: cannot be written ({problem.strerror}); save it in another folder") from None
    _core.write_file(path, text)


def load(path: str, trusted: bool = False) -> RunningCascade:
    """Raises DataError for a file that is not a whole cascade, or was changed by hand.

    `trusted`: whether an estimator beside it may be loaded, which runs the code in that file; UsageError without it.
    """
    text = read_text(path)
    router = checked(text, path).get("router")
    if not isinstance(router, dict) or "file" not in router:
        return parse(text, path)
    beside = os.path.join(os.path.dirname(path), os.path.basename(str(router["file"])))
    if not trusted:
        raise UsageError(
            f"{path}: its router is a {router['learner']}, which {beside} holds as a pickle, and loading that runs "
            "what is in it; where you trust who wrote it, use pandora.Cascade.load(path, trusted=True)"
        )
    try:
        with open(beside, "rb") as file:
            data = file.read()
    except OSError as problem:
        raise DataError(f"{beside}: cannot be read ({problem.strerror})") from None
    if sha256(data).hexdigest() != router["sha256"]:
        raise DataError(f"{beside}: is not the file that was saved beside {path} (its digest differs)")
    saved_as = {name: router[name] for name in ("file", "sha256", "versions")}
    return parse(text, path, EstimatorPredictor.of_dump(data, saved_as))


def read_text(path: str) -> str:
    """The text of a file. DataError if it cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise DataError(f"{path}: has more than 1 GiB, which no cascade has")
        return data.decode()
    except OSError as problem:
        raise DataError(f"{path}: cannot be read ({problem.strerror})") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: is no text, and no cascade") from None


def parse(text: str, name: str, predictor: Optional[Predictor] = None) -> RunningCascade:
    """The cascade of a file's text; `name` is for messages."""
    file = checked(text, name)
    try:
        members = Members.of_json({k: v for k, v in file.items() if k not in ("version", "state")}, predictor)
        return _with_state(members, file["state"])
    except Error as problem:
        raise DataError(f"{name}: {problem}") from None
    except (KeyError, TypeError, ValueError) as problem:
        raise DataError(f"{name}: has a state that cannot be ({problem}); save it again") from None


def checked(text: str, name: str) -> Json:
    """The members of a file, without its digest. DataError for a file that is incomplete."""
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
        request = UnderWay.of_json({**one, "id": id})
        positions = [*request.order, *(call.model for call in request.calls)]
        if not 0 < id <= cascade.last_id or not all(0 <= a < len(members.models) for a in positions):
            raise ValueError("a request that never began")
        cascade.put(request)
    return cascade
