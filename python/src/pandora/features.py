"""Features of prompts: psi(x), without outcomes to fit them on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _core
from .arguments import path, refused, text, texts
from .errors import UsageError
from .trace import Trace, table_of

__all__ = ["Features"]


class Features:
    """Numbers that prompts become, for `Cascade.new(features=...)`; made by `Features.fit`.

    >>> texts = ["add two numbers", "a poem of the sea", "subtract two numbers", "a poem of the wind"]
    >>> features = Features.fit(texts, "text:2")
    >>> features.names
    ['text:0', 'text:1']
    """

    def __init__(self, json: str, names: Sequence[str], notes: Sequence[str]) -> None:
        #: as `pandora trace features` writes them
        self.json = json
        #: one for each number of a prompt; psi is 1 and these
        self.names = list(names)
        #: what was dropped, a sentence each
        self.notes = list(notes)

    @classmethod
    def fit(
        cls,
        texts_of_prompts: Sequence[str],
        specs: Union[str, Sequence[str]] = "text:16",
        *,
        columns: Optional[Mapping[str, Sequence[Any]]] = None,
    ) -> Features:
        """Of texts such as those of past requests, without any outcome.

        `specs` as `context` of `Cascade.fit`: "text:K", "length", a column, "raw:NAME", or a list of them; `columns`
        are lists of numbers, texts or lists of numbers, a value for each text. Raises UsageError for a spec that is
        none, DataError where a column is missing or not a value of a raw one.
        """
        what = "Features.fit:"
        prompts = texts(f"{what} texts", texts_of_prompts)
        if not prompts:
            raise refused(f"{what} texts", texts_of_prompts, "a text at least")
        if columns is not None and "prompt" in columns:
            raise UsageError(f'{what} the column "prompt" is the texts themselves; leave it out of columns')
        named = [text(f"{what} specs", specs)] if isinstance(specs, str) else texts(f"{what} specs", specs)
        nothing = np.zeros((len(prompts), 1))
        trace = Trace(
            {"models": ["any"], "quality": nothing, "cost": nothing, "columns": {"prompt": prompts, **(columns or {})}},
            name="Features.fit",
            free_calls=True,
        )
        fitted = _core.features_fit(table_of(trace), named, np.arange(len(prompts)))
        return cls(fitted.json, fitted.names, fitted.notes)

    def save(self, file: Union[str, os.PathLike[str]]) -> None:
        """As a file for `pandora cascade new --features`."""
        with open(path("Features.save: file", file), "w", encoding="utf-8") as out:
            out.write(self.json + "\n")

    def __repr__(self) -> str:
        return f"<pandora.Features {', '.join(self.names[:4])}{', ...' if len(self.names) > 4 else ''}>"
