"""Fits to a log of decisions: a cascade of thresholds, or a router for the first calls.

Thresholds are searched by importance weights. The promise is the estimated worth of cascades that were searched on
other prompts. If the log says which rules made it, they are kept unless a cascade is surely better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Optional

import numpy as np

from .. import _core
from ..errors import DataError
from ..spelling import option
from .apart import fit_log_apart
from .call_log import Openings
from .choose import SINGLE, Choice, Picked
from .crossfit import Progress
from .deploy import Use, file_of, members_of_order, use_of
from .errors import Refusal
from .estimate import CROSS_FITTED, UNKNOWN, Estimate, Interval, no_surer, unpaired
from .fit import Fit, fit_source
from .groups import FOLDS, Floats
from .kinds import Aim, Candidate
from .learners.isotonic import IsotonicMap
from .notes import Note, Topic, typed_notes
from .options import FitSettings
from .paths import LEAST_EFFECTIVE, LoggedWalks, PolicyEstimate, require_possible
from .policies.order import Order
from .record import FitReport, FitResult, finish_fit
from .sources.evaluator import NONE
from .sources.first_calls import FirstCalls
from .sources.log import LONGEST, LogSearch, LogSource, PreparedLog, Searched, faults_of_first_calls
from .worth import DollarTail, Worth


@dataclass(frozen=True)
class LogFit(Fit):
    """A fit of thresholds: the choice is between the best cascade and the best single model."""

    policy: Order
    calibration: list[IsotonicMap] = field(default_factory=list)  #: of the log's models; empty where the truth is seen
    notes: list[str] = field(default_factory=list)

    @property
    def gain(self) -> Interval:
        """What the cascade gains over the single model, in utility per prompt."""
        return self.kinds["thresholds"].gain


def fit_log(table: _core.TraceTable, settings: FitSettings, progress: Progress) -> FitResult:
    """Fits thresholds to a log of decisions or, if it cannot or another kind is asked for, a router to first calls."""
    aim = settings.aim
    if aim.is_bound or not (settings.tries("thresholds") or settings.tries("router")):
        remedy = f"give {option('price')}, and {option('kind')} thresholds, router (with {option('context')}) or auto"
        raise Refusal("", None, "a log is fitted at a price, by thresholds or a router", remedy)
    if settings.tries("thresholds"):
        source = LogSource.of_table(table, settings.evaluator, Openings(settings.openings), settings.judge)
        fit = fit_thresholds_to_log(source, aim, settings.context, progress)
        others = range(len(fit.models)) if settings.explore > 0.0 else ()
        used = list(dict.fromkeys([*fit.policy.order, *others]))
        members = members_of_order(fit.policy, fit.models, used, fit.calibration)
        file = {"price": fit.price, "evaluator": settings.evaluator, **members}
        use = Use([], [], 1.0)  # a log does not say it; all calls of a cascade of several models are judged
        return finish_fit(FitReport(fit, settings, use, fit.notes, table), file)
    return _router(table, settings, progress)


def fit_thresholds_to_log(
    source: LogSource, aim: Aim, context: Sequence[str] = (), progress: Optional[Progress] = None
) -> LogFit:
    """Thresholds, or the best single model where no gain is sure."""
    progress = progress or Progress()
    progress.expect(1 + FOLDS)
    if source.log.openings is Openings.APART:
        searched = fit_log_apart(source, aim.value)
    else:
        searched = _searched(source, aim.value, progress)
    return _fit_of(source, aim, context, searched)


def _can_estimate(policy: PolicyEstimate, source: LogSource, name: str, notes: list[str]) -> bool:
    """Whether the log carries an estimate of a policy.

    If not: a note where the log says its rules, which are then kept; else DataError.
    """
    fault = policy.support.fault(name, True, source.log.openings)
    if fault and source.reader.log_rules is None:
        raise DataError(f"{source.name}: {fault}")
    if fault:
        notes.append(fault)
    return not fault


def _search_by_fold(
    source: LogSource, price: float, progress: Progress
) -> tuple[LoggedWalks, LoggedWalks, list[Optional[Order]]]:
    """Searches for each fold on the other folds. Returns the logged walks of the cascades and of the single models that
    it found, and the orders of the cascades (None if the log tells too little).
    """
    log = source.log
    cascade_walks, single_walks = LoggedWalks.unknown(log, LONGEST), LoggedWalks.unknown(log, 1)
    orders: list[Optional[Order]] = []
    for fold in range(FOLDS):
        prepared = PreparedLog(source, np.flatnonzero(log.folds != fold))
        search = LogSearch(prepared, price)
        cascade, single = search.best(), search.best(longest=1)
        progress.step()
        orders.append(cascade)
        if cascade is None or single is None:
            if source.reader.log_rules is not None:
                continue  # of this fold nothing is said
            search.refuse_few()
        in_fold = np.flatnonzero(log.folds == fold)
        cascade_walks.put(in_fold, prepared.walks(cascade))
        single_walks.put(in_fold, LoggedWalks.alone(log, single.order[0]))
    return cascade_walks, single_walks, orders


def _searched(source: LogSource, price: float, progress: Progress) -> Searched:
    log, reader = source.log, source.reader
    prepared = PreparedLog(source, np.arange(log.rows))
    search = LogSearch(prepared, price)
    cascade, single = search.best(), search.best(longest=1)
    progress.step()
    if cascade is None or single is None:
        search.refuse_few()
    cascade_walks, single_walks, orders = _search_by_fold(source, price, progress)
    of_single = reader.estimate(LoggedWalks.alone(log, single.order[0]), chosen=True)
    of_cascades, of_singles = (reader.estimate(walks, chosen=True) for walks in (cascade_walks, single_walks))
    if all(order == single for order in [cascade, *orders]):  # by construction, so that nothing is gained
        of_cascades = of_single
    notes: list[str] = []
    name = log.models[single.order[0]]
    tells_cascade = _can_estimate(of_cascades, source, "the cascades that were searched on other prompts", notes)
    tells_single = _can_estimate(of_singles, source, "the single models that were chosen on other prompts", notes)
    tells = tells_cascade, tells_single and _can_estimate(of_single, source, name + " alone", notes)
    notes += _notes_of_search(source, search, name)
    effective = f"{of_cascades.support.effective_prompts:.0f}"
    text = (
        f"fitted to a log by importance weights, of {LONGEST} models at the most; promised by doubly robust estimates "
        f"of cascades that were searched on other prompts, from {effective} effective prompts"
    )
    notes.append(Note(text, Topic.LOG, effective))
    on_fit_rows = of_single if of_cascades is of_single else reader.estimate(prepared.walks(cascade), chosen=True)
    maps, values = prepared.calibration, on_fit_rows.values
    return Searched(cascade, single, maps, values, of_cascades, of_singles, of_single, notes, *tells)


def _notes_of_search(source: LogSource, search: LogSearch, single: str) -> list[str]:
    log = source.log
    notes: list[str] = []
    effective = [search.effective_alone(model) for model in range(len(log.models))]
    few = [f"{name} ({count:.1f})" for name, count in zip(log.models, effective) if count < LEAST_EFFECTIVE]
    if few:
        text = f"of the models alone {single} is the surest; too few effective decisions tell of {', '.join(few)}"
        notes.append(Note(text, Topic.FEW_DECISIONS, ", ".join(few)))
    if log.openings is Openings.IN_ORDER:
        faults = zip(faults_of_first_calls(log), effective)
        notes += [fault for fault, count in faults if fault and count >= LEAST_EFFECTIVE]
    if not log.has_second_calls:
        text = (
            "every decision made one call, which tells nothing of a second one: see "
            f"{option('openings', 'apart')}, or {option('kind', 'router')} with a context"
        )
        notes.append(Note(text, Topic.ONE_CALL))
    return notes


def _fit_of(source: LogSource, aim: Aim, context: Sequence[str], found: Searched) -> LogFit:
    price, log, reader = aim.value, source.log, source.reader

    def worth(policy: PolicyEstimate, beside: PolicyEstimate, deployed: Optional[Floats] = None) -> Worth:
        return policy.worth(beside, price, CROSS_FITTED, deployed)

    single = cascade = Worth.unknown()
    if found.tells_single:
        # The worth of this model, but no more than is sure of the models that the searches without a fold chose.
        single, of_folds = (worth(policy, policy) for policy in (found.single_estimate, found.fold_singles_estimate))
        utility, quality = no_surer(single.utility, of_folds.utility), no_surer(single.quality, of_folds.quality)
        single = replace(single, utility=utility, quality=quality)
    gain = Estimate(math.nan, np.full(log.groups.count, math.nan))
    if found.tells_cascade:
        cascade = worth(found.cascade_estimate, found.single_estimate, found.cascade_on_fit_rows)
        if not found.tells_single:
            cascade = replace(cascade, gain=UNKNOWN, saving=UNKNOWN)
        else:
            gain = (found.cascade_estimate.utility(price) - found.single_estimate.utility(price)).widened()
            if found.cascade_estimate is found.single_estimate:
                gain = replace(gain, variance=0.0)
    log_rules, single_over_rules, cascade_over_rules = None, UNKNOWN, UNKNOWN  # these two are gains
    if reader.log_rules is not None:
        rules = reader.log_rules.estimate()
        log_rules = rules.worth(rules, price)
        if found.tells_single:
            singles = found.single_estimate, found.fold_singles_estimate
            single_over_rules = min((worth(policy, rules).gain for policy in singles), key=lambda gain: gain.low)
        if found.tells_cascade:
            cascade_over_rules = worth(found.cascade_estimate, rules).gain
    pays = _pays(found, cascade.gain, single_over_rules, cascade_over_rules)
    if log_rules is not None:
        log_rules = replace(log_rules, gain=cascade_over_rules if pays else single_over_rules)
    if pays:
        require_possible(found.cascade_estimate.quality, source.name, "the cascades that were searched", CROSS_FITTED)
    elif found.tells_single:
        name = f"{source.models[found.single_order.order[0]]} alone"
        require_possible(found.single_estimate.quality, source.name, name, CROSS_FITTED)
    notes = source.notes + found.notes
    if context:
        router = option("kind", "router")
        text = f"context: not used; thresholds of a log are the same for every prompt ({router} uses it)"
        notes.append(Note(text, Topic.NO_CONTEXT))
    kind = "thresholds" if pays else SINGLE
    return LogFit(
        source.models,
        log.groups,
        aim,
        price,
        Choice({SINGLE: Picked(0), "thresholds": Picked(1)}, "thresholds", gain, pays=pays, kind=kind),
        found.cascade_order if pays else found.single_order,
        cascade if pays else single,
        single,
        found.single_order.order[0],
        {"thresholds": cascade},
        DollarTail(0.0, log.groups.count, 0, 0.0, 0.0),  # a log does not say it
        cascade.calls.value if pays else 0.0,
        out_of_fold=True,
        log_rules=log_rules,
        calibration=found.calibration,
        notes=typed_notes(notes),
    )


def _pays(found: Searched, gain: Interval, single_over_rules: Interval, cascade_over_rules: Interval) -> bool:
    """Whether the cascade is taken: it is surely better, or more surely better than the rules that made the log."""
    surer = cascade_over_rules.low > single_over_rules.low and not gain.value <= 0.0
    single_is_worse = single_over_rules.high < 0.0 and not cascade_over_rules.high < 0.0
    return len(found.cascade_order.order) > 1 and (gain.low > 0.0 or surer or single_is_worse or not found.tells_single)


def _router(table: _core.TraceTable, settings: FitSettings, progress: Progress) -> FitResult:
    """A router, whose answers nobody judges, or the surest single model."""
    aim = settings.aim
    source = FirstCalls(table, settings.evaluator, settings.context, aim.value, settings.judge)
    candidates = [Candidate(SINGLE, aim.value, source.single), Candidate("router", aim.value)]
    fit = fit_source(source, aim, ["router"], False, progress, candidates)
    log = LogSource.of_table(table, settings.evaluator, Openings.IN_ORDER, settings.judge)
    if log.reader.log_rules is not None:
        rules = log.reader.log_rules.estimate()
        log_rules = rules.worth(rules, aim.value)
        fit = replace(fit, log_rules=replace(log_rules, gain=unpaired(fit.promise.utility, log_rules.utility)))
    notes = list(source.notes)
    if fit.choice.kind == SINGLE and settings.context:
        notes.append(Note("context: not used; one model alone is the same for every prompt", Topic.NO_CONTEXT))
    blind = replace(settings, evaluator=NONE, judge_usd=None, openings="in_order")
    prepared = source.prepare()
    file = file_of(fit.policy, fit.price, blind, prepared)
    return finish_fit(FitReport(fit, blind, use_of(fit, file, prepared), notes, table), file)
