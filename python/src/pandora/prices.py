"""The cost of calls by their tokens: the prices that `pandora trace check --prices` reads, for imports and services."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Optional, Union

from . import _core
from .arguments import number, numbers, refused, text
from .errors import DataError, UsageError

#: One model's: dollars for a million tokens in and out, or numbers by the names that a file of prices has.
Price = Union["_core.TokenPrice", Mapping[str, Any], Any]
_LITELLM = "litellm"
_EXAMPLE = '(0.15, 0.6) or {"in": 0.15, "out": 0.6, "cached": 0.075}, dollars for a million tokens'


class Prices:
    """Dollars of calls by their tokens, for each model.

    `models`: (0.15, 0.6), dollars for a million tokens of prompts and of answers, or a dict of ``in``, ``out``,
    ``cached``, ``cache_write``, ``reasoning`` and ``batch``, or of LiteLLM's names, such as ``input_cost_per_token``.

    >>> prices = Prices({"gpt": {"in": 1.4, "out": 4.4, "cached": 0.26}})
    >>> prices.dollars("gpt", {"prompt_tokens": 27147, "cached_tokens": 27146, "completion_tokens": 351})
    0.00860376
    """

    def __init__(self, models: Mapping[str, Price]) -> None:
        self.models = {text("prices: the name", name): price_of(name, price) for name, price in models.items()}

    @classmethod
    def read(cls, path: Union[str, os.PathLike[str]]) -> Prices:
        """A list of prices (docs/service-tables.md), or "litellm". Raises UsageError with file, line and remedy."""
        if path == _LITELLM:
            return cls(_of_litellm())
        return cls(dict(_core.price_list(os.fspath(path))))

    @classmethod
    def of(cls, given: Any) -> Prices:
        """From a caller's argument: such prices, a dict, the path of a list, "litellm", or None."""
        if isinstance(given, Prices):
            return given
        if isinstance(given, (str, os.PathLike)):
            return cls.read(given)
        if given is not None and not isinstance(given, Mapping):
            raise refused("prices", given, f'a dict such as {{"model": (0.15, 0.6)}}, a file, or "{_LITELLM}"')
        return cls(given or {})

    def dollars(self, model: str, usage: Mapping[str, Any]) -> float:
        """The dollars of one call.

        `usage`: prompt_tokens and completion_tokens, and if known cached_tokens, cache_write_tokens, reasoning_tokens,
        total_tokens and batch (1 or 0), also as providers name and nest them. Raises DataError for a model without a
        price, and for missing or impossible counts.
        """
        if model not in self.models:
            near = _core.nearest_text(_core.nearest(model, list(self.models)))
            raise DataError(f"no price is given for model {model}{near}; give a list of prices that has every model")
        counts = list(_counts(usage))
        for needed in ("prompt_tokens", "completion_tokens"):
            if needed not in (name for name, _ in counts):
                raise DataError(f"the usage of a call of model {model} has no {needed}: a price is one of both")
        return _core.token_dollars(self.models[model], counts)


def price_of(model: str, price: Price) -> _core.TokenPrice:
    """Raises UsageError for what is no price."""
    if isinstance(price, _core.TokenPrice):
        return price
    if isinstance(price, Mapping):
        named = list(_numbers(model, price))
    else:
        named = list(zip(("in", "out", ""), numbers(f"prices: {model}", price)))
    for _, usd in named:
        if not usd >= 0.0:
            raise UsageError(f"prices: {usd:g} of model {model}: give dollars for a million tokens, from 0 on")
    found: Optional[_core.TokenPrice] = _core.price_named(named)
    if found is None:
        raise refused(f"prices: {model}", price, _EXAMPLE)
    return found


def _numbers(model: str, price: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in price.items():
        if name == "batch" and isinstance(value, (list, tuple)) and len(value) == 2:
            yield "batch_in", number(f"prices: {model}", value[0])
            yield "batch_out", number(f"prices: {model}", value[1])
        elif value is not None:
            yield name, number(f"prices: {model}: {name}", value)


def _counts(usage: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Numbers by name, those of inner dicts too."""
    for name, value in usage.items():
        if isinstance(value, Mapping):
            yield from _counts(value)
        elif isinstance(value, (int, float)):
            yield name, float(value)


def _of_litellm() -> dict[str, _core.TokenPrice]:
    """The list of the package that is installed, which is not loaded: that takes seconds, and asks the network."""
    found = importlib.util.find_spec("litellm")
    folders = (found.submodule_search_locations if found else None) or []
    files = [os.path.join(folder, "model_prices_and_context_window_backup.json") for folder in folders]
    for file in filter(os.path.isfile, files):
        with open(file, encoding="utf-8") as opened:
            listed = json.load(opened)
        break
    else:
        raise UsageError(
            "prices litellm: the package litellm is not installed here; install it (pip install litellm), or give a "
            "file with dollars for a million tokens of each model"
        )
    out: dict[str, _core.TokenPrice] = {}
    for name, entry in listed.items():
        named = [(key, float(value)) for key, value in entry.items() if isinstance(value, (int, float))]
        price = _core.price_named(named)
        if price is not None:
            out[name] = price
            out.setdefault(f"{entry.get('litellm_provider')}/{name}", price)
    return out
