"""Fits a cascade: the kind is chosen by cross-validation, and what is promised holds for other prompts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Optional

import numpy as np

from .bounds import candidates_of
from .choose import SINGLE, Choice, choose_nested, decide, difference
from .crossfit import CrossFit, crossfit
from .errors import Refusal
from .estimate import CROSS_FITTED, Estimate, Interval
from .groups import FOLDS, Floats, Groups
from .kinds import Aim, Candidate
from .outcomes import CALLS, USD
from .policies import KINDS, Order, Policy
from .policies.router import only_model
from .progress import Progress
from .sources.table import TableSource
from .text import notes_on
from .worth import DollarTail, Worth


@dataclass(frozen=True)
class Fit:
    """What is deployed, and what is promised of it on other prompts."""

    models: list[str]
    groups: Groups  #: of the rows that were fitted on
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
    out_of_fold: bool  #: whether what is promised was read out of fold, and not corrected
    never: list[int] = field(default_factory=list)  #: models that no fit of a fold calls
    latency: Optional[float] = None  #: seconds: the 95th per cent, under a bound on it
    slow: dict[str, float] = field(default_factory=dict)  #: by kind, that of those that the bound leaves out
    running: Optional[Worth] = None  #: of a log the rules that made it; its `gain` is what is deployed gains over them

    @property
    def gain(self) -> Interval:
        """In worth, of the best kind but the single model over that."""
        return self.choice.gain.interval()

    @property
    def keeps_running(self) -> bool:
        """Whether the rules that made the log are to be kept, as nothing is surely better."""
        return self.running is not None and not self.running.gain.low > 0.0


def fit_source(
    source: TableSource,
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

    def honest(chosen: Sequence[int]) -> Floats:
        """`chosen`: the candidate on all rows, and without each fold."""
        return fits.honest(fits.whole[chosen[0]], fits.by_fold[np.arange(FOLDS), chosen[1:]], choice.cascade)

    def same(a: Sequence[int], b: Sequence[int]) -> bool:
        """Whether these are the same policies by construction, and not by what they bring alone."""
        models = [
            (own, other, only_model(policies[own]), only_model(policies[other]))
            for policies, own, other in zip([fits.policies, *fits.fold_policies], a, b)
        ]
        return all(own == other or (of is not None and of == it) for own, other, of, it in models)

    def gain(of: Floats) -> Estimate:
        return difference(of, single, aim, price, groups).widened()

    is_single = nested.single
    single = honest(is_single)
    cascade = single if same(nested.cascade, is_single) else honest(nested.cascade)
    choice = decide(replace(choice, gain=gain(cascade)), aim)
    if as_asked:
        choice = replace(choice, kind=choice.cascade)
    policy = fits.policies[choice.chosen.number]
    if choice.kind == "thresholds" and isinstance(policy, Order) and len(policy.order) == 1:
        choice = replace(choice, kind=SINGLE, pays=False)
        policy = fits.policies[choice.chosen.number]
    alone, is_kept = choice.kind == SINGLE, [choice.chosen.number, *nested.kept]
    is_alike = same(is_kept, is_single) or (alone and fits.reads_out_of_fold(choice.cascade))
    kept = single if is_alike else honest(is_kept)
    if alone and kept is not single:
        single, is_single = kept, is_kept
    elif not alone:
        choice = replace(choice, gain=gain(kept))
    latency, slow = _latency(fits, choice, aim, as_asked)

    def worth(of: Floats, number: int, kind: str) -> Worth:
        """Of a candidate that is read as this kind is."""
        own = fits.whole[number] if fits.reads_out_of_fold(kind) else None
        return Worth.of(of, single, price, groups, CROSS_FITTED, own)

    numbers = {kind: picked.number for kind, picked in choice.picked.items() if kind != SINGLE}
    of_kinds = {k: single if same([n] * (FOLDS + 1), is_single) else fits.candidate(n) for k, n in numbers.items()}
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
        {kind: worth(of, numbers[kind], kind) for kind, of in of_kinds.items()},
        DollarTail.of(fits.whole[choice.chosen.number, USD], groups),
        0.0 if alone else float(kept[CALLS].mean()),
        fits.reads_out_of_fold(choice.cascade),
        _never(fits, choice),
        latency,
        slow,
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
        raise Refusal(
            "max_latency",
            aim.max_latency,
            "no cascade keeps it; the least 95th per cent of the latency of calls in series that was found is "
            f"{math.ceil(least * 1e4) / 1e4:.4g} seconds",
            f"give at least that{', another {kind}' if as_asked else ','} or faster models"
            + "".join(f" ({note})" for note in notes_on(fits.source.table, "latency")),
        )
    slow = {kind: float(fits.latency[picked.number]) for kind, picked in choice.picked.items() if not picked.in_time}
    return float(fits.latency[choice.chosen.number]), slow
