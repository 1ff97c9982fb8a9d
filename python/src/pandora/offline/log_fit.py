"""Fits to a log of decisions: the cascade of thresholds that it speaks for, or a router of first calls.

Thresholds are searched by importance weights; promised is what cascades do that were searched on other prompts. Where
the log says what made it, that is kept unless something is surely better.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Optional

import numpy as np

from .. import _core
from ..errors import DataError
from ..spelling import option, typed
from .apart import fit_log_apart
from .call_log import Openings
from .choose import SINGLE, Choice, Picked
from .deploy import Use, every_row, file_of, plan_of, use_of
from .errors import Refusal
from .estimate import CROSS_FITTED, UNKNOWN, Estimate, Interval
from .fit import Fit, fit_source
from .groups import FOLDS, Floats
from .kinds import Aim, Candidate
from .learners.isotonic import IsotonicMap
from .options import FitSettings
from .paths import LEAST_EFFECTIVE, LoggedWalks, PolicyEstimate, require_possible
from .policies.order import Order
from .progress import Progress
from .record import Told
from .sources.evaluator import NONE
from .sources.first_calls import FirstCalls
from .sources.log import LONGEST, LogSearch, LogSource, PreparedLog, Searched, faults_of_first_calls
from .table_fit import Fitted, fitted
from .worth import DollarTail, Worth


@dataclass(frozen=True)
class LogFit(Fit):
    """A fit of thresholds: the choice is between the best cascade and the best single model."""

    policy: Order
    calibration: list[IsotonicMap] = field(default_factory=list)  #: of the log's models; empty where the truth is seen
    notes: list[str] = field(default_factory=list)

    @property
    def gain(self) -> Interval:
        """In utility, of the cascade over the single model."""
        return self.kinds["thresholds"].gain


def fit_log(table: _core.TraceTable, settings: FitSettings, progress: Progress) -> Fitted:
    """A cascade with the tables that are printed of it and the record that its file keeps."""
    aim = settings.aim
    if aim.is_bound or not (settings.tries("thresholds") or settings.tries("router")):
        raise Refusal(
            "",
            None,
            "a log is fitted at a price, by thresholds or a router",
            f"give {option('price')}, and {option('kind')} thresholds, router (with {option('context')}) or auto",
        )
    if settings.tries("thresholds"):
        source = LogSource.of_table(table, settings.evaluator, Openings(settings.openings), settings.judge)
        found = fit_thresholds_to_log(source, aim, settings.context, progress)
        return _thresholds_told(found, settings, table)
    return _router(table, settings, progress)


def fit_thresholds_to_log(
    source: LogSource, aim: Aim, context: Sequence[str] = (), progress: Optional[Progress] = None
) -> LogFit:
    """Thresholds, or the best single model where no gain is sure."""
    progress = progress or Progress()
    progress.expect(1 + FOLDS)
    if source.log.openings is Openings.APART:
        found = fit_log_apart(source, aim.value)
    else:
        found = _searched(source, aim.value, progress)
    return _fit_of(source, aim, context, found)


def _tells(policy: PolicyEstimate, source: LogSource, name: str, notes: list[str]) -> bool:
    """Whether the log can say what a policy brings. Where it says what made it, that is to be kept if it cannot; else
    it is refused.
    """
    fault = policy.support.fault(name, True, source.log.openings)
    if fault and source.reader.running is None:
        raise DataError(f"{source.name}: {fault}")
    if fault:
        notes.append(fault)
    return not fault


def _held_out(
    source: LogSource, price: float, progress: Progress
) -> tuple[LoggedWalks, LoggedWalks, list[Optional[Order]]]:
    """What cascades and single models do on the folds that they were not searched on, and the cascades."""
    log = source.log
    cascade, single = LoggedWalks.unknown(log, LONGEST), LoggedWalks.unknown(log, 1)
    orders: list[Optional[Order]] = []
    for fold in range(FOLDS):
        prepared = PreparedLog(source, np.flatnonzero(log.folds != fold))
        search = prepared.search(price)
        best, alone = search.best(), search.best(longest=1)
        progress.step()
        orders.append(best)
        if best is None or alone is None:
            if source.reader.running is not None:
                continue  # of this fold nothing is said
            search.refuse_few()
        own = np.flatnonzero(log.folds == fold)
        cascade.put(own, prepared.walks(best))
        single.put(own, LoggedWalks.alone(log, alone.order[0]))
    return cascade, single, orders


def _searched(source: LogSource, price: float, progress: Progress) -> Searched:
    log, reader = source.log, source.reader
    prepared = PreparedLog(source, np.arange(log.rows))
    search = prepared.search(price)
    best, alone = search.best(), search.best(longest=1)
    progress.step()
    if best is None or alone is None:
        search.refuse_few()
    *walks, orders = _held_out(source, price, progress)
    named = reader.estimate(LoggedWalks.alone(log, alone.order[0]), chosen=True)
    cascade, single = (reader.estimate(of, chosen=True) for of in walks)
    if all(order == alone for order in [best, *orders]):  # by construction, so that nothing is gained
        cascade = named
    notes: list[str] = []
    name = log.models[alone.order[0]]
    tells_cascade = _tells(cascade, source, "the cascades that were searched on other prompts", notes)
    tells_alone = _tells(single, source, "the single models that were chosen on other prompts", notes) and _tells(
        named, source, name + " alone", notes
    )
    notes += _notes_of_search(source, search, name)
    notes.append(
        f"fitted to a log by importance weights, of {LONGEST} models at the most; promised by doubly robust estimates "
        f"of cascades that were searched on other prompts, from {cascade.support.effective_prompts:.0f} effective "
        "prompts"
    )
    own = (cascade if cascade is named else reader.estimate(prepared.walks(best), chosen=True)).values
    return Searched(best, alone, prepared.calibration, own, cascade, single, named, notes, tells_cascade, tells_alone)


def _notes_of_search(source: LogSource, search: LogSearch, alone: str) -> list[str]:
    log, notes = source.log, []
    effective = [search.effective_alone(model) for model in range(len(log.models))]
    few = [f"{name} ({of:.1f})" for name, of in zip(log.models, effective) if of < LEAST_EFFECTIVE]
    if few:
        notes.append(f"of the models alone {alone} is the surest; too few effective decisions tell of {', '.join(few)}")
    if log.openings is Openings.IN_ORDER:
        faults = zip(faults_of_first_calls(log), effective)
        notes += [fault for fault, of in faults if fault and of >= LEAST_EFFECTIVE]
    if not log.has_second_calls:
        notes.append(
            "every decision made one call, which tells nothing of a second one: see "
            f"{option('openings', 'apart')}, or {option('kind', 'router')} with a context"
        )
    return notes


def _fit_of(source: LogSource, aim: Aim, context: Sequence[str], found: Searched) -> LogFit:
    price, log, reader = aim.value, source.log, source.reader

    def worth(of: PolicyEstimate, beside: PolicyEstimate, own: Optional[Floats] = None) -> Worth:
        return of.worth(beside, price, CROSS_FITTED, own)

    single = cascade = Worth.unknown()
    if found.tells_alone:
        # What this model brings, but no more than is sure of the models that searches without a fold chose.
        single, of_folds = worth(found.named, found.named), worth(found.single, found.single)
        utility = single.utility._replace(low=min(single.utility.low, of_folds.utility.low))
        quality = single.quality._replace(low=min(single.quality.low, of_folds.quality.low))
        single = replace(single, utility=utility, quality=quality)
    gain = Estimate(math.nan, np.full(log.groups.count, math.nan))
    if found.tells_cascade:
        cascade = worth(found.cascade, found.named, found.own)
        if not found.tells_alone:
            cascade = replace(cascade, gain=UNKNOWN, saving=UNKNOWN)
        else:
            gain = (found.cascade.utility(price) - found.named.utility(price)).widened()
            if found.cascade is found.named:
                gain = replace(gain, variance=0.0)
    running, over = None, [UNKNOWN, UNKNOWN]  # the gain over the rules that made the log: of a model, of the cascade
    if reader.running is not None:
        rules = reader.running.estimate()
        running = rules.worth(rules, price)
        if found.tells_alone:
            over[0] = min((worth(of, rules).gain for of in (found.named, found.single)), key=lambda gain: gain.low)
        if found.tells_cascade:
            over[1] = worth(found.cascade, rules).gain
    pays = _pays(found, cascade.gain, over)
    if running is not None:
        running = replace(running, gain=over[pays])
    if pays:
        require_possible(found.cascade.quality, source.name, "the cascades that were searched", CROSS_FITTED)
    elif found.tells_alone:
        alone = f"{source.models[found.alone.order[0]]} alone"
        require_possible(found.named.quality, source.name, alone, CROSS_FITTED)
    notes = source.notes + found.notes
    if context:
        router = option("kind", "router")
        notes.append(f"context: not used; thresholds of a log are the same for every prompt ({router} uses it)")
    kind = "thresholds" if pays else SINGLE
    return LogFit(
        source.models,
        log.groups,
        aim,
        price,
        Choice({SINGLE: Picked(0), "thresholds": Picked(1)}, "thresholds", gain, pays=pays, kind=kind),
        found.best if pays else found.alone,
        cascade if pays else single,
        single,
        found.alone.order[0],
        {"thresholds": cascade},
        DollarTail(0.0, log.groups.count, 0, 0.0, 0.0),
        cascade.calls.value if pays else 0.0,
        out_of_fold=True,
        running=running,
        calibration=found.calibration,
        notes=typed(notes),
    )


def _pays(found: Searched, gain: Interval, over: Sequence[Interval]) -> bool:
    """The cascade where it is sure to be better, or is the surer one to be better than what made the log."""
    surer = over[1].low > over[0].low and not gain.value <= 0.0
    alone_is_worse = over[0].high < 0.0 and not over[1].high < 0.0
    return len(found.best.order) > 1 and (gain.low > 0.0 or surer or alone_is_worse or not found.tells_alone)


def _unpaired(a: Interval, b: Interval) -> Interval:
    """The difference of two that are not paired."""
    value = a.value - b.value
    return Interval(
        value,
        value - math.hypot(a.value - a.low, b.high - b.value),
        value + math.hypot(a.high - a.value, b.value - b.low),
    )


def _thresholds_told(fit: LogFit, settings: FitSettings, table: _core.TraceTable) -> Fitted:
    plan = plan_of(fit.policy, fit.models)
    others = [name for name in fit.models if name not in plan["order"]] if settings.explore > 0.0 else []
    names = [*plan["order"], *others]
    file = {"kind": "thresholds", "models": names, "price": fit.price, "evaluator": settings.evaluator, **plan}
    if fit.calibration:
        file["calibration"] = [fit.calibration[fit.models.index(name)].to_json() for name in names]
    return fitted(Told(fit, settings, Use([], [], 1.0), fit.notes, table), file, _running)


def _router(table: _core.TraceTable, settings: FitSettings, progress: Progress) -> Fitted:
    """A router judged by nobody, or the surest single model."""
    aim = settings.aim
    source = FirstCalls(table, settings.evaluator, settings.context, aim.value, settings.judge)
    candidates = [Candidate(SINGLE, aim.value, source.single), Candidate("router", aim.value)]
    fit = fit_source(source, aim, ["router"], False, progress, candidates)
    log = LogSource.of_table(table, settings.evaluator, Openings.IN_ORDER, settings.judge)
    if log.reader.running is not None:
        rules = log.reader.running.estimate()
        running = rules.worth(rules, aim.value)
        fit = replace(fit, running=replace(running, gain=_unpaired(fit.promise.utility, running.utility)))
    notes = list(source.notes)
    if fit.choice.kind == SINGLE and settings.context:
        notes.append("context: not used; one model alone is the same for every prompt")
    blind = replace(settings, evaluator=NONE, judge_usd=None, openings="in_order")
    prepared = source.prepare(every_row(source), whole=True)
    file = file_of(fit.policy, fit.price, blind, prepared)
    return fitted(Told(fit, blind, use_of(fit, file, prepared), notes, table), file, _running)


def _running(file: dict[str, Any]) -> _core.Cascade:
    cascade: _core.Cascade = _core.cascade_of(json.dumps(file))
    return cascade
