"""Fits a cascade: the kind is chosen by cross-validation, and what is promised holds for other prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

from .bounds import candidates_of
from .choose import SINGLE, Choice, choose_nested, decide, difference
from .crossfit import CrossFit, Source, crossfit
from .errors import refuse_late
from .estimate import CROSS_FITTED, Estimate
from .groups import FOLDS, Floats
from .kinds import Aim, Candidate
from .outcomes import CALLS, USD
from .policies import KINDS, Order, Policy
from .progress import Progress
from .worth import DollarTail, Worth


@dataclass(frozen=True)
class Fit:
    """What is deployed, and what is promised of it on other prompts."""

    source: Source
    aim: Aim
    price: float  #: that was asked for, or found
    choice: Choice  #: with a gain of choices that did not see the prompts that judge them
    policy: Policy  #: what is deployed, fitted on all rows
    promise: Worth
    single: Worth
    single_model: int
    kinds: dict[str, Worth]  #: of those that were tried
    tail: DollarTail  #: of what is deployed
    calls: float  #: of what is deployed, per prompt; 0 of a single model
    never: list[int]  #: models that no fit of a fold calls
    latency: Optional[float]  #: seconds: the 95th per cent, under a bound on it
    slow: dict[str, float]  #: by kind, that of those that the bound leaves out
    fits: CrossFit


def fit_source(
    source: Source,
    aim: Aim,
    kinds: Sequence[str],
    as_asked: bool,
    progress: Optional[Progress] = None,
    candidates: Optional[Sequence[Candidate]] = None,
) -> Fit:
    """The best of the kinds, or the best single model where no gain is sure.

    `as_asked`: the one kind that is tried is deployed in any case. `candidates`: instead of those of the kinds.
    """
    progress = progress or Progress()
    progress.expect(1 + FOLDS * (FOLDS + 1) // 2)
    candidates = candidates or candidates_of(source, aim, kinds, progress)
    fits = crossfit(source, candidates, True, progress, timed=aim.max_latency is not None)
    nested = choose_nested(fits, aim, as_asked)
    choice, groups = nested.choice, source.groups
    price = candidates[choice.picked[choice.cascade].number].price

    def honest(number: int, by_fold: Floats) -> Floats:
        return fits.honest(fits.whole[number], by_fold, choice.cascade)

    def gain(numbers: Floats) -> Estimate:
        return difference(numbers, single, aim, price, groups).widened()

    single = honest(choice.single.number, nested.single)
    choice = decide(replace(choice, gain=gain(honest(choice.picked[choice.cascade].number, nested.cascade))), aim)
    if as_asked:
        choice = replace(choice, kind=choice.cascade)
    policy = fits.policies[choice.chosen.number]
    if choice.kind == "thresholds" and isinstance(policy, Order) and len(policy.order) == 1:
        choice = replace(choice, kind=SINGLE, pays=False)
        policy = fits.policies[choice.chosen.number]
    alone = choice.kind == SINGLE
    if alone and fits.reads_out_of_fold(choice.cascade):
        kept = single
    else:
        kept = honest(choice.chosen.number, nested.kept)
    if alone:
        single = kept
    else:
        choice = replace(choice, gain=gain(kept))
    promise = Worth.of(kept, single, price, groups, CROSS_FITTED)
    latency, slow = _latency(fits, choice, aim, as_asked)
    return Fit(
        source,
        aim,
        price,
        choice,
        policy,
        promise,
        Worth.of(single, single, price, groups, CROSS_FITTED),
        candidates[choice.single.number].model,
        {
            kind: Worth.of(fits.candidate(picked.number), single, price, groups, CROSS_FITTED)
            for kind, picked in choice.picked.items()
            if kind != SINGLE
        },
        DollarTail.of(fits.whole[choice.chosen.number, USD], groups),
        0.0 if alone else float(kept[CALLS].mean()),
        _never(fits, choice),
        latency,
        slow,
        fits,
    )


def runner_up(fit: Fit) -> str:
    """The kind that would have come next: one that keeps the bound, or else, by its worth."""

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


def _latency(fits: CrossFit, choice: Choice, aim: Aim, as_asked: bool) -> tuple[Optional[float], dict[str, float]]:
    """Of what is deployed, and of the kinds that are not for it. UsageError where nothing keeps the bound."""
    if fits.latency is None or aim.max_latency is None:
        return None, {}
    if not choice.chosen.in_time:
        least = min(
            float(seconds)
            for candidate, seconds in zip(fits.candidates, fits.latency)
            if not as_asked or candidate.kind == choice.kind
        )
        raise refuse_late(aim.max_latency, least, as_asked)
    slow = {kind: float(fits.latency[picked.number]) for kind, picked in choice.picked.items() if not picked.in_time}
    return float(fits.latency[choice.chosen.number]), slow
