"""Members of a cascade's file and of the record in it, which anybody may have written: what is not there is unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Optional

from .kinds import Aim, AimKind
from .notes import Topic


def record_of(file: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a fit wrote beside the cascade; empty if no fit did."""
    return object_of(file.get("about"))


def aim_of_record(record: Mapping[str, Any]) -> Aim:
    """A price where nothing else is said."""
    aim = object_of(record.get("aim"))
    kinds = {kind.value: kind for kind in AimKind}
    return Aim(kinds.get(str(aim.get("kind")), AimKind.PRICE), number_of(aim.get("value")))


def judge_usd_of(record: Mapping[str, Any]) -> Optional[float]:
    """Dollars of judging an answer, as the fit counted them; None where nobody said."""
    usd = number_of(record.get("judge_usd"))
    return usd if math.isfinite(usd) else None


def shares_of(record: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """How the models were used on the fitted prompts, by model."""
    shares = record.get("shares")
    return {str(share.get("model")): share for share in map(object_of, shares if isinstance(shares, list) else [])}


def share_of(shares: Mapping[str, Mapping[str, Any]], model: str, what: str) -> float:
    """The share of prompts for which the model was "called" or "deployed"; NaN where nobody says."""
    return number_of(shares.get(model, {}).get(what))


def object_of(value: Any) -> Mapping[str, Any]:
    """Empty for anything else."""
    return value if isinstance(value, dict) else {}


def text_of(value: Any) -> str:
    """A text, or a number as text."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:g}"
    return value if isinstance(value, str) else ""


def texts_of(value: Any) -> list[str]:
    """The texts of a list."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def topics_of(record: Mapping[str, Any]) -> list[tuple[Topic, list[str]]]:
    """The topics of a fit's notes with their values; a topic that is not known here is left out."""
    topics, known = record.get("topics"), {topic.value: topic for topic in Topic}
    told = map(object_of, topics if isinstance(topics, list) else [])
    return [(known[name], texts_of(one.get("values"))) for one in told if (name := text_of(one.get("topic"))) in known]


def number_of(value: Any) -> float:
    """NaN for anything else."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def count_of(value: Any) -> int:
    """A whole number from 0 on; 0 for anything else."""
    x = number_of(value)
    return int(x) if 0.0 <= x < 1e15 else 0
