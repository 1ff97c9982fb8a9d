"""Calls models: the proxy's own entries, by its router, or LiteLLM itself without a proxy."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import litellm

log = logging.getLogger("pandora.serving")
_SECRET = re.compile("key|token|secret|passw|credential", re.IGNORECASE)
_KEY = re.compile(r"(?i:bearer\s+)[^\s\"',;]+|\b(?:sk|pk|gsk|xai)-[\w*.-]{8,}|\bAIza[\w-]{10,}")
_warned: set[str] = set()


def router() -> Any:
    """The proxy's, which has its keys, retries, limits, prices and callbacks; None outside a proxy."""
    return getattr(sys.modules.get("litellm.proxy.proxy_server"), "llm_router", None)


async def call(model: str, messages: Sequence[Any], **parameters: Any) -> Any:
    """A model's response, or its stream."""
    caller = router() or litellm
    return await caller.acompletion(model=model, messages=list(messages), **parameters)


def dollars_of(response: Any) -> Optional[float]:
    """The cost of a response; None if its provider reported no usage, or no price is known. It is not free then."""
    hidden = getattr(response, "_hidden_params", None) or {}
    cost = hidden.get("response_cost")
    if cost or hidden.get("cache_hit"):
        return float(cost or 0.0)
    return 0.0 if is_free(hidden) else None


def is_free(hidden: Mapping[str, Any]) -> bool:
    """Whether the price of the model that answered is known to be 0."""
    for name in (hidden.get("model_id"), hidden.get("litellm_model_name")):
        prices = litellm.model_cost.get(name) if name else None
        if prices is not None and prices.get("input_cost_per_token") is not None:
            return not (prices["input_cost_per_token"] or prices.get("output_cost_per_token"))
    return False


def hidden(text: str) -> str:
    """A text without the operator's keys, which providers quote."""
    params = [entry["litellm_params"] for entry in (router().get_model_list() if router() else None) or ()]
    keys = {value for one in params for name, value in one.items() if _SECRET.search(name) and isinstance(value, str)}
    for key in sorted(keys, key=len, reverse=True):
        text = text.replace(key, "[key]") if len(key) > 5 else text
    return _KEY.sub("[key]", text)


def warn_once(model: str, then: str = "nothing is learned of them") -> None:
    """That it is not known what calls of a model cost, and what follows."""
    if model not in _warned:
        _warned.add(model)
        log.warning(
            "model %s: its provider tells no usage, or LiteLLM knows no price of it, so what calls cost is not known "
            "and %s; give its entry input_cost_per_token and output_cost_per_token (0 if it is free)",
            model,
            then,
        )


def total(usages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sum of usages, number by number, those of inner tables too."""
    out: dict[str, Any] = {}
    for usage in usages:
        for name, value in usage.items():
            if isinstance(value, Mapping):
                out[name] = total([out.get(name) or {}, value])
            elif isinstance(value, (int, float)) and not isinstance(value, bool) and name != "cost":
                out[name] = out.get(name, 0) + value
    return out
