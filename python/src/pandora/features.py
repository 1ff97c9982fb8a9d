"""Features of prompts, psi(x), which are fitted without outcomes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _core
from .arguments import path, refused, text, texts
from .errors import UsageError
from .trace import Trace, table_of


class Features:
    """Turns prompts into numbers, for `Cascade.new(features=...)`. `Features.fit` makes it.

    >>> texts = ["add two numbers", "a poem of the sea", "subtract two numbers", "a poem of the wind"]
    >>> features = Features.fit(texts, "text:2")
    >>> features.names
    ['text:0', 'text:1']
    """

    def __init__(self, json: str, names: Sequence[str], notes: Sequence[str]) -> None:
        #: the text that `pandora trace features` writes
        self.json = json
        #: a name for each number of a prompt; psi consists of 1 and these numbers
        self.names = list(names)
        #: what was dropped, in one sentence each
        self.notes = list(notes)

    @classmethod
    def fit(
        cls,
        texts_of_prompts: Sequence[str],
        specs: Union[str, Sequence[str]] = "text:16",
        *,
        columns: Optional[Mapping[str, Sequence[Any]]] = None,
    ) -> Features:
        """Fits features to texts, such as those of past requests, without any outcome.

        `specs` are as `context` of `Cascade.fit`: "text:K", "length", a column, "raw:NAME", or a list of them.
        `columns` are lists of numbers, texts or lists of numbers, with a value for each text. Raises UsageError for an
        invalid spec, and DataError if a column is missing or a raw column lacks a value.
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
        """Saves a file for `pandora cascade new --features`."""
        with open(path("Features.save: file", file), "w", encoding="utf-8") as out:
            out.write(self.json + "\n")

    def __repr__(self) -> str:
        return f"<pandora.Features {', '.join(self.names[:4])}{', ...' if len(self.names) > 4 else ''}>"
