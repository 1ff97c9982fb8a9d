"""Fits a cascade: cross-validation chooses the kind, and the promise holds for other prompts.

The candidates are at the price of the fit, or at prices around the highest or lowest one that keeps a bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Optional

import numpy as np

from ..spelling import option
from .choose import SINGLE, Choice, Chooser, choose_nested, decide, difference
from .crossfit import CrossFit, Progress, crossfit
from .errors import Refusal
from .estimate import CROSS_FITTED, Estimate, Interval
from .groups import FOLDS, Floats, Groups
from .kinds import Aim, Candidate, price_grid, rounded
from .notes import Topic, table_notes
from .outcomes import CALLS, USD
from .policies import KINDS, Order, Policy
from .policies.router import only_model
from .sources.table import TableSource
from .worth import DollarTail, Worth

#: The parts of a bound on latency to which thresholds are fitted, because calls for other prompts may take longer.
IN_TIME = (1.0, 0.97, 0.9)
#: How many prices one cross-fit tries. After the first failure no more are needed, so it tries few at a time.
AT_ONCE = 4


@dataclass(frozen=True)
class Fit:
    """The cascade that is deployed, and its promise for other prompts."""

    models: list[str]
    groups: Groups  #: groups of the fitted rows
    aim: Aim
    price: float  #: the price, as given or as found under a bound
    choice: Choice  #: with a gain of choices that did not see the prompts on which they are judged
    policy: Policy  #: the deployed policy, fitted on all rows
    promise: Worth
    single: Worth
    single_model: int
    kinds: dict[str, Worth]  #: by kind that was tried
    tail: DollarTail  #: of the deployed policy
    #: Judged calls per prompt of the deployed cascade; 0, not 1, if it is one model alone, because nothing is judged
    #: then.
    calls: float
    out_of_fold: bool  #: whether the promise was read out of fold rather than corrected
    never: list[int] = field(default_factory=list)  #: models that no fit of a fold calls
    latency: Optional[float] = None  #: seconds: the 95th percentile, under a bound on it
    slow: dict[str, float] = field(
        default_factory=dict
    )  # by kind that was left out for its latency, its 95th percentile
    log_rules: Optional[Worth] = None  #: the rules that made a log; `gain`: that of the deployed policy over them

    @property
    def gain(self) -> Interval:
        """The gain of the best kind over the best single model, in the aim's units."""
        return self.choice.gain.interval()

    @property
    def keeps_log_rules(self) -> bool:
        """Whether to keep the rules that made the log, because nothing is surely better."""
        return self.log_rules is not None and not self.log_rules.gain.low > 0.0


def fit_source(
    source: TableSource,
    aim: Aim,
    kinds: Sequence[str],
    as_asked: bool,
    progress: Optional[Progress] = None,
    candidates: Optional[Sequence[Candidate]] = None,
) -> Fit:
    """The best of the kinds, or the best single model if no gain is sure.

    `as_asked`: deploys the only kind that is tried in any case. `candidates`: replace those of the kinds.
    """
    progress = progress or Progress()
    progress.expect(1 + FOLDS * (FOLDS + 1) // 2)
    candidates = candidates or candidates_of(source, aim, kinds, progress)
    fits = crossfit(source, candidates, True, progress, timed=aim.max_latency is not None)
    nested = choose_nested(fits, aim, as_asked)
    choice, groups = nested.choice, source.groups
    price = candidates[choice.picked[choice.cascade].number].price

    def honest(chosen: Sequence[int]) -> Floats:
        """`chosen`: the candidate on all rows, and without each fold."""
        return fits.honest(fits.whole[chosen[0]], fits.by_fold[np.arange(FOLDS), chosen[1:]], choice.cascade)

    def same(a: Sequence[int], b: Sequence[int]) -> bool:
        """Whether two choices (on all rows, then without each fold) name the same policies, or always call the same
        single model.
        """
        for policies, number_a, number_b in zip([fits.policies, *fits.fold_policies], a, b):
            model_a, model_b = only_model(policies[number_a]), only_model(policies[number_b])
            if number_a != number_b and (model_a is None or model_a != model_b):
                return False
        return True

    def gain(numbers: Floats) -> Estimate:
        return difference(numbers, single, aim, price, groups).widened()

    single_numbers = nested.single
    single = honest(single_numbers)
    cascade = single if same(nested.cascade, single_numbers) else honest(nested.cascade)
    choice = decide(replace(choice, gain=gain(cascade)), aim)
    if as_asked:
        choice = replace(choice, kind=choice.cascade)
    policy = fits.policies[choice.chosen.number]
    if choice.kind == "thresholds" and isinstance(policy, Order) and len(policy.order) == 1:
        choice = replace(choice, kind=SINGLE, pays=False)
        policy = fits.policies[choice.chosen.number]
    deploys_single, kept_numbers = choice.kind == SINGLE, [choice.chosen.number, *nested.kept]
    kept_is_single = same(kept_numbers, single_numbers) or (deploys_single and fits.reads_out_of_fold(choice.cascade))
    kept = single if kept_is_single else honest(kept_numbers)
    if deploys_single and kept is not single:
        single, single_numbers = kept, kept_numbers
    elif not deploys_single:
        choice = replace(choice, gain=gain(kept))
    latency, slow = _latency_of_choice(fits, choice, aim, as_asked)

    def worth(numbers: Floats, number: int, kind: str) -> Worth:
        """The value of a candidate that is read as this kind is."""
        deployed = fits.whole[number] if fits.reads_out_of_fold(kind) else None
        return Worth.of(numbers, single, price, groups, CROSS_FITTED, deployed)

    number_by_kind = {kind: picked.number for kind, picked in choice.picked.items() if kind != SINGLE}
    numbers_by_kind = {
        kind: single if same([number] * (FOLDS + 1), single_numbers) else fits.candidate(number)
        for kind, number in number_by_kind.items()
    }
    return Fit(
        source.models,
        groups,
        aim,
        price,
        choice,
        policy,
        worth(kept, choice.chosen.number, choice.cascade),
        worth(single, choice.single.number, choice.cascade),
        candidates[choice.single.number].model,
        {kind: worth(numbers, number_by_kind[kind], kind) for kind, numbers in numbers_by_kind.items()},
        DollarTail.of(fits.whole[choice.chosen.number, USD], groups),
        0.0 if deploys_single else float(kept[CALLS].mean()),
        fits.reads_out_of_fold(choice.cascade),
        _never(fits, choice),
        latency,
        slow,
    )


def runner_up(fit: Fit) -> str:
    """The kind that would have come next: one that keeps the bound, otherwise the one with the greatest value."""

    def rank(kind: str) -> tuple[bool, float]:
        worth = fit.single if kind == SINGLE else fit.kinds[kind]
        if not fit.aim.is_bound:
            value = worth.utility.value
        else:
            value = worth.quality.value if fit.aim.on_usd else -worth.usd_per_1000.value
        return fit.choice.picked[kind].met, value

    others = [kind for kind in KINDS if kind in fit.choice.picked and kind != fit.choice.kind]
    return max(others, key=rank)


def _never(fits: CrossFit, choice: Choice) -> list[int]:
    if choice.cascade != "thresholds":
        return []
    number = choice.picked["thresholds"].number
    orders = [policies[number] for policies in fits.fold_policies]
    called = {model for order in orders if isinstance(order, Order) for model in order.order}
    return [model for model in range(len(fits.source.models)) if model not in called]


def _latency_of_choice(
    fits: CrossFit, choice: Choice, aim: Aim, as_asked: bool
) -> tuple[Optional[float], dict[str, float]]:
    """The 95th percentile of seconds of the deployed policy, and by kind of those that are too slow.

    Raises Refusal if nothing keeps the bound.
    """
    if fits.latency is None or aim.max_latency is None:
        return None, {}
    if not choice.chosen.in_time:
        least = min(
            float(seconds)
            for candidate, seconds in zip(fits.candidates, fits.latency)
            if not as_asked or candidate.kind == choice.kind
        )
        raise Refusal(
            "max_latency",
            aim.max_latency,
            "no cascade keeps it; the least 95th per cent of the latency of calls in series that was found is "
            f"{math.ceil(least * 1e4) / 1e4:.4g} seconds",
            f"give at least that,{' another ' + option('kind') if as_asked else ''} or faster models"
            + "".join(f" ({note})" for note in table_notes(fits.source.table, Topic.LATENCY_UNIT)),
        )
    slow = {kind: float(fits.latency[picked.number]) for kind, picked in choice.picked.items() if not picked.in_time}
    return float(fits.latency[choice.chosen.number]), slow


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
