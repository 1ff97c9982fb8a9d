"""A context that says what only the outcomes can have told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .groups import FOLDS, Floats, Ints

#: A column tells the best model if it does so for this share of the prompts, and misses few beside one model for all.
NEARLY_ALWAYS, MISSES = 0.95, 0.25


def suspected_leaks(
    table: _core.TraceTable, context: Sequence[str], quality: Floats, usd: Floats, price: float
) -> list[str]:
    """A sentence for each column of the context from whose value alone a prompt's best model can nearly always be told,
    by quality or by utility at the price. quality, usd: rows x models.
    """
    out = []
    for spec in context:
        name = spec[len("raw:") :] if spec.startswith("raw:") else spec
        column: Any = table.column(name) if name in table.columns else np.empty((0, 0))
        if getattr(column, "ndim", 1) > 1:
            continue
        texts = column if isinstance(column, np.ndarray) else ["" if x is None else str(x) for x in column]
        value = np.unique(texts, return_inverse=True)[1].astype(np.int64)  # what is not known is a value, too
        for usd_price in (0.0, price):
            utility = quality - usd_price * usd
            best = utility == utility.max(axis=1, keepdims=True)
            share, of_one = share_told(value, best), share_told(np.zeros(len(value), np.int64), best)
            if share >= NEARLY_ALWAYS and 1.0 - share <= MISSES * (1.0 - of_one) and of_one < 1.0:
                out.append(
                    f"context {name} tells the best model of {100.0 * share:.1f}% of the prompts (one model for all: "
                    f"{100.0 * of_one:.1f}%): was it computed from the outcomes? What is not known before a call makes "
                    "promises that nothing keeps"
                )
                break
    return out


def share_told(value: Ints, best: np.ndarray) -> float:
    """The share of rows whose best model is the one that is best most often where the value is the same, on other rows.

    `best`: rows x models, whether it is (one of) the best. A value that other rows do not have tells nothing.
    """
    rows, models = np.arange(len(best)), best.shape[1]
    counts = np.zeros((int(value.max()) + 1, FOLDS, models))
    np.add.at(counts, (value, rows % FOLDS), best.astype(float))
    others = counts.sum(axis=1)[value] - counts[value, rows % FOLDS]
    most = np.argmax(others, axis=1)
    return float(np.mean((others[rows, most] > 0.0) & best[rows, most]))
