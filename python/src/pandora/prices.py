"""What calls cost by their tokens: the prices that `pandora trace check --prices` reads, for imports and services."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Union

from . import _core
from .errors import DataError


class Prices:
    """Dollars per million tokens of each model."""

    def __init__(self, models: Mapping[str, tuple[float, float]]) -> None:
        self.models = dict(models)

    @classmethod
    def read(cls, path: Union[str, os.PathLike[str]]) -> Prices:
        """A list of prices (docs/traces.md). Raises UsageError with file, line and remedy."""
        return cls(dict(_core.price_list(os.fspath(path))))

    def dollars(self, model: str, usage: Mapping[str, float]) -> float:
        """Of one call; `usage`: prompt_tokens, completion_tokens. Raises DataError for a model without a price."""
        if model not in self.models:
            raise DataError(f"no price is given for model {model}: add it to the prices")
        into, out = self.models[model]
        return (usage["prompt_tokens"] * into + usage["completion_tokens"] * out) / 1e6
