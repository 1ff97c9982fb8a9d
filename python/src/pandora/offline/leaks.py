"""Finds columns of a context that only the outcomes can have told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, Optional

import numpy as np

from .. import _core
from .groups import FOLDS, Floats, Ints
from .notes import Note, Topic

#: A column tells the best model if it does so for this share of the prompts, and errs seldom compared with one model
#: for all.
NEARLY_ALWAYS, MISSES = 0.95, 0.25
#: The number of prompts from which an agreement with an outcome is no chance; how many prompts are looked at; into how
#: many parts numbers are cut; and how many numbers of a list are looked at one by one.
LEAST_PROMPTS, MOST_PROMPTS, PARTS, MOST_LISTED = 30, 20_000, 16, 32
#: The share of an outcome's variance from which a column repeats the outcome.
IN_OTHER_WORDS = 0.999


def suspected_leaks(
    table: _core.TraceTable, context: Sequence[str], quality: Floats, usd: Floats, price: float
) -> list[Note]:
    """A note on each column of the context, of any type, whose value alone nearly always tells a prompt's best
    model, by quality or by utility at the price, or which repeats a quality or a score.

    quality, usd: rows x models.
    """
    out = []
    for spec in context:
        name = spec[len("raw:") :] if spec.startswith("raw:") else spec
        if name not in table.columns:
            continue
        column: Any = table.column(name)
        if not isinstance(column, np.ndarray):
            column = np.array(["" if x is None else str(x) for x in column])
        told = _told(column, table.models, quality, usd, price) or _in_other_words(column, table, quality)
        if told:
            text = (
                f"context {name} tells {told}: was it computed from the outcomes? What is not known before a call "
                "makes promises that nothing keeps"
            )
            out.append(Note(text, Topic.LEAK, name))
    return out


def _told(column: Any, models: Sequence[str], quality: Floats, usd: Floats, price: float) -> Optional[str]:
    """For how many prompts the column tells the best model, if that is nearly all."""
    some = _some_of(len(column))
    codes = [(code, some) for code in _codes(column[some], models)]
    if column.ndim == 1:  # an unknown value counts as a value, too
        codes.insert(0, (_numbered(column), np.arange(len(column))))
    for value, rows in codes:
        for usd_price in (0.0, price):
            utility = quality[rows] - usd_price * usd[rows]
            best = utility == utility.max(axis=1, keepdims=True)
            told, one = share_told(value, best), share_told(np.zeros(len(value), np.int64), best)
            if told >= NEARLY_ALWAYS and 1.0 - told <= MISSES * (1.0 - one) and one < 1.0:
                return f"the best model of {100.0 * told:.1f}% of the prompts (one model for all: {100.0 * one:.1f}%)"
    return None


def _codes(column: Any, models: Sequence[str]) -> Iterator[Ints]:
    """Whole numbers in place of a column's values: groups of numbers of about one size; which number of a list is the
    greatest, or the least; or the model that a text names.
    """
    if column.ndim > 1:
        some = np.nan_to_num(column)
        yield some.argmax(axis=1)
        yield some.argmin(axis=1)
        for number in column.T[:MOST_LISTED]:
            yield from _codes(number, models)
    elif column.dtype.kind == "f":
        yield np.floor(_ranks(column) * (PARTS / (len(column) + 1.0))).astype(np.int64)
    else:
        named = np.zeros(len(column), np.int64)
        for model in np.argsort([len(name) for name in models]):  # of two names in one text the longer one counts
            named[np.char.find(column, models[model]) >= 0] = model + 1
        yield named


def _in_other_words(column: Any, table: _core.TraceTable, quality: Floats) -> Optional[str]:
    """The outcome with which a column rises or falls, or whose values it tells apart."""
    rows = _some_of(len(column))
    if len(rows) < LEAST_PROMPTS:
        return None
    values = column[rows].T[:MOST_LISTED] if column.ndim > 1 else [column[rows]]
    ranked = [_ranks(value) for value in values if value.dtype.kind == "f" and not np.isnan(value).any()]
    numbered = [_numbered(value) for value in values]
    few = [number for number in numbered if number.max() < len(rows) // 5]
    for outcome, told in _outcomes(table, quality[rows], rows):
        _, counts = np.unique(outcome, return_counts=True)
        if len(rows) - counts.max() < LEAST_PROMPTS // 5:  # hardly any rows differ
            continue
        ranks = _ranks(outcome)
        for value in ranked:
            if np.ptp(value) > 0.0 and abs(np.corrcoef(value, ranks)[0, 1]) >= IN_OTHER_WORDS:
                return told
        for number in few:
            within = outcome - (np.bincount(number, outcome) / np.bincount(number))[number]
            if 1.0 - within.var() / outcome.var() >= IN_OTHER_WORDS:
                return told
    return None


def _some_of(rows: int) -> Ints:
    """The rows that are looked at."""
    return np.linspace(0, rows - 1, min(rows, MOST_PROMPTS)).astype(np.int64)


def _outcomes(table: _core.TraceTable, quality: Floats, rows: Ints) -> Iterator[tuple[Floats, str]]:
    for name, of_model in zip(table.models, quality.T):
        yield of_model, f"the quality of {name}"
    yield quality.max(axis=1), "the greatest quality"
    yield quality.mean(axis=1), "the mean quality"
    for a, b in combinations(range(len(table.models)), 2):
        yield quality[:, a] - quality[:, b], f"by how much {table.models[a]} is better than {table.models[b]}"
    for judge in table.scores:
        for model, score in zip(table.models, table.score(judge)[rows].T):
            yield score, f"the {judge} of {model}"


def _numbered(values: Any) -> Ints:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _ranks(values: Floats) -> Floats:
    """Ranks from 1 on; equal values get their mean."""
    _, number, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2.0)[number], float)


def share_told(value: Ints, best: np.ndarray) -> float:
    """The share of rows whose best model is the one that is most often the best among other rows with the same value.

    `best`: rows x models, whether a model is (one of) the best. A value that no other row has tells nothing.
    """
    rows, models = np.arange(len(best)), best.shape[1]
    counts = np.zeros((int(value.max()) + 1, FOLDS, models))
    np.add.at(counts, (value, rows % FOLDS), best.astype(float))
    others = counts.sum(axis=1)[value] - counts[value, rows % FOLDS]
    most = np.argmax(others, axis=1)
    return float(np.mean((others[rows, most] > 0.0) & best[rows, most]))
