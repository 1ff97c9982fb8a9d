"""What a cascade has saved against one model alone, by the dollars that its own requests cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Optional

_NORMAL_95 = 1.959964


def saved_of(metrics: Mapping[str, Any], against: Optional[str] = None) -> Optional[dict[str, Any]]:
    """Dollars in all, with a 95% interval where the metrics have sums of squares; None where too little is known.

    `metrics` are a store's. `against`: the model; without it the one whose calls cost most. What it would have cost
    alone is taken to be the mean of its calls, so a cascade that asks it hard prompts only makes it look dearer.
    """
    called = {one["model"]: one for one in metrics.get("models", ()) if one.get("calls")}
    if not called or not metrics.get("deployed"):
        return None
    name = against or max(called, key=lambda one: float(called[one]["dollars"]) / called[one]["calls"])
    if name not in called:
        return None
    n, calls = metrics["requests"], called[name]["calls"]
    mean = called[name]["dollars"] / calls
    value = n * mean - metrics["dollars"]
    out = {"against": name, "value": value, "low": None, "high": None}
    squares = called[name].get("dollars_squared"), metrics.get("dollars_squared")
    if None not in squares and calls > 1 and n > 1:
        of_call = max(squares[0] / calls - mean**2, 0.0) / calls
        of_request = max(squares[1] / n - (metrics["dollars"] / n) ** 2, 0.0) / n
        half = _NORMAL_95 * n * math.sqrt(of_call + of_request)
        out.update(low=value - half, high=value + half)
    return out
