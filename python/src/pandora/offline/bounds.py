"""The candidates of a fit: at its price, or at prices around the highest or lowest one that keeps a bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .choose import SINGLE, Chooser
from .crossfit import crossfit
from .kinds import Aim, Candidate, price_grid, rounded
from .policies import KINDS
from .progress import Progress
from .sources.table import TableSource

#: The parts of a bound on latency to which thresholds are fitted, because calls for other prompts may take longer.
IN_TIME = (1.0, 0.97, 0.9)
#: How many prices one cross-fit tries. After the first failure no more are needed, so it tries few at a time.
AT_ONCE = 4


def candidates_of(source: TableSource, aim: Aim, kinds: Sequence[str], progress: Progress) -> list[Candidate]:
    """The candidates of each kind and of each model alone."""
    if aim.is_bound:
        return _around_the_bound(source, aim, kinds, progress)
    out = [Candidate(SINGLE, aim.value, model) for model in range(len(source.models))]
    out += [Candidate(kind, aim.value) for kind in kinds]
    if aim.max_latency is not None and "thresholds" in kinds:
        out += [Candidate("thresholds", aim.value, 0, part * aim.max_latency) for part in IN_TIME]
    return out


def _around_the_bound(source: TableSource, aim: Aim, kinds: Sequence[str], progress: Progress) -> list[Candidate]:
    coarse = price_grid(source.usd)
    coarse = coarse[::-1] if aim.on_usd else [0.0, *coarse]  # from the one that keeps the bound most easily
    out: list[Candidate] = []
    for pricing_kind in ("thresholds", "router"):
        tried = [kind for kind in kinds if KINDS[kind].priced_by == pricing_kind]
        if not tried:
            continue
        kept = coarse[_last_kept(source, aim, pricing_kind, coarse, progress)]
        out = out or [Candidate(SINGLE, kept, model) for model in range(len(source.models))]
        out += [Candidate(kind, price) for kind in tried for price in _prices_around(kept, coarse, aim)]
    return out


def _prices_around(kept: float, coarse: list[float], aim: Aim) -> list[float]:
    """Prices from the side where the bound is easily kept to where it was not kept any more."""
    around, prices = kept or 0.5 * coarse[1], [coarse[0]]
    for factor in (8.0, 4.0, 2.0, 1.41, 1.0, 0.84, 0.71, 0.59, 0.5):
        price = rounded(around * factor if aim.on_usd else around / factor, 3)
        if price < prices[-1] if aim.on_usd else price > prices[-1]:
            prices.append(price)
    return prices


def _last_kept(source: TableSource, aim: Aim, kind: str, prices: list[float], progress: Progress) -> int:
    """The place of the last price at which the kind keeps the bound; 0 if no price does."""
    untimed = replace(aim, max_latency=None)
    for first in range(0, len(prices), AT_ONCE):
        batch = prices[first : first + AT_ONCE]
        # Candidate 0 is a model alone, which Chooser needs; candidate k + 1 is batch[k].
        candidates = [Candidate(SINGLE, 0.0, 0), *(Candidate(kind, price) for price in batch)]
        fits = crossfit(source, candidates, False, progress)
        honest = np.stack([fits.candidate(number) for number in range(len(candidates))])
        dearer = fits.dearer(fits.whole, honest)
        picked = Chooser(candidates, honest, fits.groups, untimed, dearer).choose().picked[kind]
        if not picked.met:
            return max(first - 1, 0)
        if picked.number < len(batch):  # not the last of the batch: the next one failed
            return first + picked.number - 1
    return len(prices) - 1
