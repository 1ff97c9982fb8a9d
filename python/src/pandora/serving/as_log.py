"""The decisions of a database as a log of decisions, for checks, fits and tests."""

from __future__ import annotations

import json
import os
import tempfile

from .. import _core
from ..errors import DataError
from .database import DamageError, Database, require_file

#: The members of a line of a decision log (docs/learning.md). The rest of an event explains it and is for learning.
_OF_A_LINE = (
    "request", "time", "evaluator", "features", "psi", "candidates", "calls", "deployed", "rules", "only", "session",
    "failed", "prompt", "columns",
)  # fmt: skip


def read_decisions(url: str, options: _core.TraceOptions) -> _core.TraceTable:
    """All stored decisions with their feedback. DataError if there are none, or the database is damaged."""
    require_file(url)
    with tempfile.TemporaryDirectory(prefix="pandora-log-") as folder:
        path = os.path.join(folder, "decisions-000000001.jsonl")
        with Database(url, check=False) as kept, open(path, "w", encoding="utf-8") as file:
            name, count = kept.name, 0
            if damages := kept.verify():
                raise DamageError(name, damages)
            for row in kept.events(["decision", "feedback"]):
                payload = json.loads(row.payload)
                if row.kind == "decision":
                    line = {key: payload[key] for key in _OF_A_LINE if key in payload}
                    for call in line["calls"]:
                        call.pop("estimate", None)
                    count += 1
                else:
                    line = {"request": row.request, "time": row.time, "quality": payload}
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
        if count == 0:
            raise DataError(f"{name}: has no decisions yet")
        try:
            table = _core.read_trace(folder, options, None)
        except DataError as problem:
            raise DataError(str(problem).replace(path, name).replace(folder, name)) from None
    table.source = name
    return table
