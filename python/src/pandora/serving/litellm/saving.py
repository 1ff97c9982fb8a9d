"""The saving of a cascade against one model alone, from the dollars of its own requests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Optional

_NORMAL_95 = 1.959964


def saved_of(metrics: Mapping[str, Any]) -> Optional[dict[str, Any]]:
    """Dollars in all, with a 95% interval if the metrics have sums of squares; None if too little is known.

    `metrics` are a store's. The model is the one with the most expensive calls. Its cost alone is assumed to be the
    mean of its calls, so a cascade that sends it hard prompts makes it look more expensive.
    """
    called = {one["model"]: one for one in metrics.get("models", ()) if one.get("calls")}
    if not called or not metrics.get("deployed"):
        return None
    name = max(called, key=lambda one: float(called[one]["dollars"]) / called[one]["calls"])
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
