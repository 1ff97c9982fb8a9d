"""The choice between candidates, by what each does on prompts that it was not fitted on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np

from .crossfit import CrossFit
from .estimate import CROSS_FITTED, Estimate
from .groups import FOLDS, Floats, Groups
from .kinds import Aim, AimKind, Candidate
from .outcomes import QUALITY, TIE, USD
from .policies import KINDS
from .policies.single import SINGLE as SINGLE


@dataclass(frozen=True)
class Picked:
    """The best candidate of a kind. `met`: it keeps the bound; `in_time`: that on latency.

    `bound`: what dollars per prompt do not exceed, or quality does not fall below, with 95% confidence.
    """

    number: int
    met: bool = True
    in_time: bool = True
    bound: float = 0.0

    @property
    def bounds_kept(self) -> tuple[bool, bool]:
        """In time, and keeping the bound: as ranks, since being late is the worse failure."""
        return self.in_time, self.met


@dataclass(frozen=True)
class Choice:
    """`picked`: the best candidate by kind. `cascade`: the best kind but the single model. `kind`: the deployed one.

    `gain`: that of `cascade` over the single model, in the units of the aim. `rival`: the kind that `cascade` was
    compared with. `difference`: of these two, the one that is later in KINDS less the earlier one.
    """

    picked: dict[str, Picked]
    cascade: str
    gain: Estimate
    rival: Optional[str] = None
    difference: Optional[Estimate] = None
    pays: bool = False
    kind: str = SINGLE

    @property
    def single(self) -> Picked:
        """The best single model."""
        return self.picked[SINGLE]

    @property
    def chosen(self) -> Picked:
        """The candidate that is deployed."""
        return self.picked[self.kind]


def difference(a: Floats, b: Floats, aim: Aim, price: float, groups: Groups) -> Estimate:
    """An estimate of how much more `a` (3 x rows) is worth than `b`.

    Exactly 0 where both are the same array, that is the same policy. Rare differences in quality widen the interval
    (estimate._unseen).
    """
    if a is b:
        return Estimate.mean(np.zeros(a.shape[-1]), groups)
    quality = Estimate.mean(a[QUALITY] - b[QUALITY], groups, (-1.0, 1.0))
    usd = Estimate.mean(a[USD] - b[USD], groups)
    if aim.kind is AimKind.PRICE:
        return quality - price * usd
    return quality if aim.on_usd else -1000.0 * usd


@dataclass(frozen=True)
class Chooser:
    """Chooses by numbers, candidates x 3 x rows.

    `dearer`: as CrossFit has it. `widening`: the factor by which intervals of fitted candidates are wider.
    """

    candidates: Sequence[Candidate]
    numbers: Floats
    groups: Groups
    aim: Aim
    dearer: Floats
    latency: Optional[Floats] = None
    widening: float = CROSS_FITTED

    def choose(self) -> Choice:
        """The best kind. If it leads by at most one standard error, the best of the simpler kinds."""
        tried_kinds = {candidate.kind for candidate in self.candidates}
        picked = {kind: self._pick(kind) for kind in KINDS if kind in tried_kinds}
        tried = [kind for kind in picked if kind != SINGLE]

        def rank(kind: str) -> tuple[tuple[bool, bool], float]:
            return picked[kind].bounds_kept, self._mean(picked[kind])

        best = max(tried, key=rank)
        as_good = [
            kind
            for kind in tried
            if KINDS[kind].needs < KINDS[best].needs  # a simpler one
            and picked[kind].bounds_kept == picked[best].bounds_kept
            and (lead := self._difference(picked[best], picked[kind])).value <= lead.error
        ]
        cascade = max(as_good, key=rank) if as_good else best
        others = [kind for kind in tried if kind != cascade]
        rival = None if not others else best if cascade != best else max(others, key=rank)
        held = None
        if rival is not None:
            later, earlier = sorted((cascade, rival), key=list(KINDS).index, reverse=True)
            held = self._difference(picked[later], picked[earlier])
        gain = self._difference(picked[cascade], picked[SINGLE])
        return decide(Choice(picked, cascade, gain, rival, held), self.aim)

    def _mean(self, picked: Picked) -> float:
        price = self.candidates[picked.number].price
        return float(np.mean(self.aim.objective(self.numbers[picked.number], price)))

    def _difference(self, a: Picked, b: Picked) -> Estimate:
        price = self.candidates[a.number].price  # under a price, at the same price
        estimate = difference(self.numbers[a.number], self.numbers[b.number], self.aim, price, self.groups)
        return estimate.widened(self.widening)

    def _pick(self, kind: str) -> Picked:
        """Under a bound candidates are tried in their order, from the one that keeps it most easily, until one does
        not; the last that did is picked: a fixed sequence of tests. Those that are not in time are passed over.
        """
        best: Optional[Picked] = None
        for number, candidate in enumerate(self.candidates):
            if candidate.kind != kind:
                continue
            now = self._judged(number)
            if best is None:
                best = now
            elif kind == SINGLE or not self.aim.is_bound:
                best = now if self._is_better(now, best) else best
            elif now.in_time and (now.met or not best.in_time):
                best = now
            if kind != SINGLE and not now.met:
                break
        assert best is not None
        return best

    def _is_better(self, a: Picked, b: Picked) -> bool:
        """Whether `a` is better: by its worth if both keep the bounds, else by coming nearer to them."""
        if a.bounds_kept != b.bounds_kept:
            return a.bounds_kept > b.bounds_kept
        if a.met or abs(a.bound - b.bound) < TIE:  # as many prompts fail
            return self._mean(a) > self._mean(b)
        return a.bound < b.bound if self.aim.on_usd else a.bound > b.bound

    def _judged(self, number: int) -> Picked:
        in_time = self.latency is None or bool(self.latency[number] <= (self.aim.max_latency or math.inf))
        if not self.aim.is_bound:
            return Picked(number, True, in_time)
        if self.aim.on_usd:
            estimate = Estimate.mean(self.numbers[number, USD], self.groups)
        else:
            estimate = Estimate.mean(self.numbers[number, QUALITY], self.groups, (0.0, 1.0))
        if self.candidates[number].kind != SINGLE:  # nothing is fitted where a model is named
            estimate = estimate.widened(self.widening)
        bound = estimate.bound(upper=self.aim.on_usd)
        if self.aim.on_usd:
            bound += float(self.dearer[number]) + estimate.one_more()
        met = bound <= self.aim.value if self.aim.on_usd else bound >= self.aim.value
        return Picked(number, met, in_time, bound)


def decide(choice: Choice, aim: Aim) -> Choice:
    """Chooses between the single model and the cascade.

    If both keep the bound, the gain decides. Otherwise the one that keeps the bound, or comes nearer to it, is taken.
    """
    single, cascade = choice.single, choice.picked[choice.cascade]
    takes_single = single.met
    if single.met and cascade.met:
        takes_single = not choice.gain.interval().low > 0.0
    elif not single.met and not cascade.met:
        takes_single = single.bound <= cascade.bound if aim.on_usd else single.bound >= cascade.bound
    if single.in_time != cascade.in_time:
        takes_single = single.in_time
    return replace(choice, pays=not takes_single, kind=SINGLE if takes_single else choice.cascade)


@dataclass(frozen=True)
class NestedChoice:
    """A choice, and the numbers of the candidates that the same procedure chooses without each fold.

    `cascade`, `single`: the choice on all rows, then those without each fold. `kept`: what each fit without a fold
    deploys: the single model where the choice without that fold takes it. Not so where the kind was asked for by name
    (the fit on all rows deploys it anyway) or is read out of fold (a fold's single model would tell nothing of it):
    then `kept` is `cascade`.
    """

    choice: Choice
    kept: list[int]
    cascade: list[int]
    single: list[int]


def choose_nested(fits: CrossFit, aim: Aim, as_asked: bool) -> NestedChoice:
    """The choice by all folds, and those without each."""
    groups, folds, candidates = fits.groups, fits.groups.folds, fits.candidates
    honest = np.stack([fits.candidate(number) for number in range(len(candidates))])
    dearer = fits.dearer(fits.whole, honest)
    choice = Chooser(candidates, honest, groups, aim, dearer, fits.latency).choose()
    out = NestedChoice(choice, [], [choice.picked[choice.cascade].number], [choice.single.number])
    for fold in range(FOLDS):
        rows = np.flatnonzero(folds != fold)
        kept_groups = groups.take(rows)
        # Fewer rows give wider intervals: this scales them to those of the whole table.
        widening = CROSS_FITTED * math.sqrt(kept_groups.count / groups.count)
        latency = None if fits.latency_without is None else fits.latency_without[fold]
        fitted, unseen = fits.by_fold[fold][:, :, rows], fits.without[fold][:, :, rows]
        dearer = fits.dearer(fitted, unseen)
        fold_choice = Chooser(candidates, unseen, kept_groups, aim, dearer, latency, widening).choose()
        cascade, single = fold_choice.picked[choice.cascade].number, fold_choice.single.number
        takes_single = fold_choice.kind == SINGLE and not as_asked and not fits.reads_out_of_fold(choice.cascade)
        out.kept.append(single if takes_single else cascade)
        out.cascade.append(cascade)
        out.single.append(single)
    return out
