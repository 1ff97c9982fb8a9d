"""Fits to a log of decisions: the cascade of thresholds that it speaks for, or a router of first calls.

Thresholds are searched by importance weights; promised is what cascades do that were searched on other prompts. Where
the log says what made it, that is kept unless something is surely better.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

import numpy as np

from .. import _core
from ..table import Table
from .apart import NOTE as APART_NOTE
from .apart import fit_log_apart
from .call_log import Openings
from .choose import SINGLE, Choice, Picked
from .deploy import file_of, use_of
from .errors import Refusal
from .estimate import CROSS_FITTED, UNKNOWN, Estimate, Interval
from .fit import Fit, fit_source
from .groups import FOLDS
from .kinds import Aim, Candidate
from .learners.isotonic import IsotonicMap
from .options import FitSettings
from .paths import LEAST_EFFECTIVE, LoggedWalks, PolicyEstimate, lacking, require_possible
from .policies.order import Order
from .progress import Progress
from .record import Told, known
from .sources.evaluator import NONE
from .sources.first_calls import FirstCalls
from .sources.log import LONGEST, LogSearch, LogSource, PreparedLog, faults_of_first_calls
from .tables import cascade_tables
from .text import interval_text, saving_text
from .words import eyes_text, gain_text, order_text, what_is_used
from .worth import Worth, interval_json

#: What runs, its tables and its record.
Fitted = tuple[_core.Cascade, list[Table], dict[str, Any]]


@dataclass(frozen=True)
class LogFit:
    """What is deployed, and what is promised of it on other prompts."""

    source: LogSource
    aim: Aim
    price: float
    choice: Choice  #: of the best single model and thresholds
    gain: Interval  #: in utility, of the cascade over the single model
    policy: Order  #: what is deployed
    calibration: list[IsotonicMap]  #: of the log's models; empty where the truth is seen
    promise: Worth
    single: Worth
    single_model: int
    kinds: dict[str, Worth]
    running: Optional[Worth]  #: the rules that made the log; its `gain` is that of what is deployed over them
    #: Dollars of judging an answer, more than were counted, at which the gain is gone; 0: not known.
    break_even_judge: float
    notes: list[str]

    @property
    def keeps_running(self) -> bool:
        """Whether the rules that made the log are to be kept."""
        return self.running is not None and not self.running.gain.low > 0.0


@dataclass(frozen=True)
class RouterFit:
    """A router of first calls. `running`: as `LogFit` has it."""

    source: FirstCalls
    fit: Fit
    running: Optional[Worth]
    notes: list[str]

    @property
    def keeps_running(self) -> bool:
        """Whether the rules that made the log are to be kept."""
        return self.running is not None and not self.running.gain.low > 0.0


@dataclass(frozen=True)
class Searched:
    """What a log is taken to say: the best cascade and the best single model, with which calibration, what such
    searches bring on prompts that they did not see, and what that single model brings.
    """

    best: Order
    alone: Order
    calibration: list[IsotonicMap]
    cascade: PolicyEstimate
    single: PolicyEstimate  #: as each fold's search has it
    named: PolicyEstimate  #: the same in all of them
    notes: list[str]
    tells_cascade: bool = True  #: whether the log can say what they bring
    tells_alone: bool = True


def fit_log(table: _core.TraceTable, settings: FitSettings, progress: Progress) -> Fitted:
    """A cascade with the tables that are printed of it and the record that its file keeps."""
    aim = settings.aim
    if aim.is_bound or not (settings.tries("thresholds") or settings.tries("router")):
        raise Refusal(
            "",
            None,
            "a log is fitted at a price, by thresholds or a router",
            "give {price}, and {kind} thresholds, router (with {context}) or auto",
        )
    if settings.tries("thresholds"):
        source = LogSource.of_table(table, settings.evaluator, Openings(settings.openings), settings.judge)
        found = fit_thresholds_to_log(source, aim, settings.context, progress)
        return _told(found, settings, table)
    router = fit_router_to_log(table, settings.evaluator, aim, settings.context, settings.judge, progress)
    return _router_told(router, settings, table)


def fit_thresholds_to_log(
    source: LogSource, aim: Aim, context: Sequence[str] = (), progress: Optional[Progress] = None
) -> LogFit:
    """Thresholds, or the best single model where no gain is sure."""
    progress = progress or Progress()
    progress.expect(1 + FOLDS)
    if source.log.openings is Openings.APART:
        found = _searched_apart(source, aim.value)
    else:
        found = _searched(source, aim.value, progress)
    return _fit_of(source, aim, context, found)


def fit_router_to_log(
    table: _core.TraceTable,
    evaluator: str,
    aim: Aim,
    context: Sequence[str],
    judge_usd: float = 0.0,
    progress: Optional[Progress] = None,
) -> RouterFit:
    """A router judged by nobody, or the surest single model."""
    source = FirstCalls.of_table(table, evaluator, context, aim.value, judge_usd)
    candidates = [Candidate(SINGLE, aim.value, source.single), Candidate("router", aim.value)]
    fit = fit_source(source, aim, ["router"], False, progress, candidates)
    running = None
    log = LogSource.of_table(table, evaluator, Openings.IN_ORDER, judge_usd)
    if log.reader.running is not None:
        rules = log.reader.running.estimate()
        running = rules.worth(rules, aim.value)
        running = replace(running, gain=_unpaired(fit.promise.utility, running.utility))
    return RouterFit(source, fit, running, source.notes)


def _tells(policy: PolicyEstimate, source: LogSource, name: str, notes: list[str]) -> bool:
    """Whether the log can say what a policy brings. Where it says what made it, that is to be kept if it cannot; else
    it is refused.
    """
    fault = policy.support.fault(name, True, source.log.openings)
    if fault and source.reader.running is None:
        raise lacking(source.name, fault)
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
    return Searched(best, alone, prepared.calibration, cascade, single, named, notes, tells_cascade, tells_alone)


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
            "every decision made one call, which tells nothing of a second one: see --openings apart, or --kind router "
            "with a context"
        )
    return notes


def _searched_apart(source: LogSource, price: float) -> Searched:
    found = fit_log_apart(source, price)
    if found is None:
        raise lacking(
            source.name,
            "has too few decisions: no model was called often enough in every fold; log more, or explore more "
            "(--explore)",
        )
    notes = [APART_NOTE]
    if source.log.has_second_calls:
        notes.append(
            "decisions made several calls, which tell how models' answers hang together: --openings in_order or "
            "independent looks at that"
        )
    notes.append(
        "fitted to what a log says of each model by itself; promised by cascades that were searched on other prompts"
    )
    if found.left_out:
        notes.append(f"called too seldom, and left out: {', '.join(source.models[model] for model in found.left_out)}")
    return Searched(found.best, found.alone, found.calibration, found.cascade, found.single, found.named, notes)


def _fit_of(source: LogSource, aim: Aim, context: Sequence[str], found: Searched) -> LogFit:
    price, reader = aim.value, source.reader
    single = Worth.unknown()
    if found.tells_alone:
        # What this model brings, but no more than is sure of the models that searches without a fold chose.
        single = found.named.worth(found.named, price, CROSS_FITTED)
        of_folds = found.single.worth(found.single, price, CROSS_FITTED)
        single = replace(
            single,
            utility=single.utility._replace(low=min(single.utility.low, of_folds.utility.low)),
            quality=single.quality._replace(low=min(single.quality.low, of_folds.quality.low)),
        )
    cascade, gain = Worth.unknown(), Estimate(math.nan, np.full(source.groups.count, math.nan))
    if found.tells_cascade:
        cascade = found.cascade.worth(found.named, price, CROSS_FITTED)
        if found.tells_alone:
            gain = (found.cascade.utility(price) - found.named.utility(price)).widened()
            if found.cascade is found.named:
                gain = replace(gain, variance=0.0)
        else:
            cascade = replace(cascade, gain=UNKNOWN, saving=UNKNOWN)
    running, over = None, [UNKNOWN, UNKNOWN]  # the gain over the rules that made the log: of a model, of the cascade
    if reader.running is not None:
        rules = reader.running.estimate()
        running = rules.worth(rules, price)
        if found.tells_alone:
            alone = [of.worth(rules, price, CROSS_FITTED).gain for of in (found.named, found.single)]
            over[0] = min(alone, key=lambda gain: gain.low)
        if found.tells_cascade:
            over[1] = found.cascade.worth(rules, price, CROSS_FITTED).gain
    pays = _pays(found, cascade.gain, over)
    if running is not None:
        running = replace(running, gain=over[pays])
    promised, name = (found.cascade, "the cascades that were searched") if pays else (found.named, "")
    if pays or found.tells_alone:
        require_possible(
            promised.quality, source.name, name or f"{source.models[found.alone.order[0]]} alone", CROSS_FITTED
        )
    keeps = running is not None and not running.gain.low > 0.0
    dearer = price * cascade.calls.value
    notes = source.notes + found.notes
    if context:
        notes.append("context: not used; thresholds of a log are the same for every prompt (--kind router uses it)")
    kind = "thresholds" if pays else SINGLE
    return LogFit(
        source,
        aim,
        price,
        Choice({SINGLE: Picked(0), "thresholds": Picked(1)}, "thresholds", gain, pays=pays, kind=kind),
        cascade.gain,
        found.best if pays else found.alone,
        found.calibration,
        cascade if pays else single,
        single,
        found.alone.order[0],
        {"thresholds": cascade},
        running,
        cascade.gain.value / dearer if pays and dearer > 0.0 and not keeps else 0.0,
        notes,
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


def _told(fit: LogFit, settings: FitSettings, table: _core.TraceTable) -> Fitted:
    models, choice = fit.source.models, fit.choice
    names = [models[model] for model in fit.policy.order]
    others = [name for name in models if name not in names] if settings.explore > 0.0 else []
    file: dict[str, Any] = {
        "kind": "thresholds",
        "models": [*names, *others],
        "price": fit.price,
        "evaluator": settings.evaluator,
        "order": names,
        "thresholds": list(fit.policy.thresholds),
    }
    if fit.calibration:
        file["calibration"] = [fit.calibration[models.index(name)].to_json() for name in file["models"]]
    eyes = eyes_text(settings.evaluator, settings.judge_usd, fit.break_even_judge)
    assumed = "; if models' answers are independent" if settings.openings == "apart" else ""
    record: dict[str, Any] = {
        "table": table.source,
        "digest": table.digest(),
        "rows": fit.source.log.rows,
        "prompts": fit.source.log.groups.count,
        "models": models,
        "aim": {"kind": fit.aim.kind.value, "value": fit.aim.value},
        "price": fit.price,
        "evaluator": settings.evaluator,
        "context": list(settings.context),
        "judge_usd": settings.judge_usd,
        "folds": FOLDS,
        "out_of_fold": True,
        "choice": choice.kind,
        "cascade": choice.cascade,
        "gain": interval_json(fit.gain),
        "pays": choice.pays and not fit.keeps_running,
        "promise": fit.promise.json(),
        "single": {**fit.single.json(), "model": models[fit.single_model]},
        "kinds": {kind: worth.json() for kind, worth in fit.kinds.items()},
        "never": [],
        "shares": [],
        "notes": fit.notes,
        "runner_up": SINGLE if choice.pays else "thresholds",
        "dollar_tail": {"heavy": False, "skewness": 0.0, "dearest": 0, "share": 0.0, "least_prompts": 0},
        "verdict": f"{_verdict(fit, settings.evaluator, file)}; {eyes}{assumed}",
    }
    if fit.running is not None:
        record["running"] = running_json(fit.running, fit.keeps_running)
    if fit.break_even_judge > 0.0:
        record["break_even_judge_usd"] = fit.break_even_judge
    return _deployed(file, known(record))


def _router_told(found: RouterFit, settings: FitSettings, table: _core.TraceTable) -> Fitted:
    fit, source = found.fit, found.source
    blind = replace(settings, evaluator=NONE, judge_usd=None)
    prepared = source.prepare(np.arange(len(source.quality)), whole=True)
    file = file_of(fit.policy, fit.price, blind, prepared)
    notes = list(found.notes)
    if fit.choice.kind == SINGLE and settings.context:
        notes.append("context: not used; one model alone is the same for every prompt")
    told = Told(fit, blind, use_of(fit, file, prepared), notes, table.source, table.digest())
    record = told.record(file)
    if found.running is not None:
        keeps = found.keeps_running
        record["running"], record["pays"] = running_json(found.running, keeps), record["pays"] and not keeps
        record["verdict"] = f"{running_verdict(found.running, keeps, what_is_used(file))}; no answer is judged"
    return _deployed(file, known(record))


def _deployed(file: dict[str, Any], record: dict[str, Any]) -> Fitted:
    cascade = _core.cascade_of(json.dumps({**file, "about": record}))
    sheets = cascade_tables({**file, "about": record}, cascade.counts(), "cascade")
    return cascade, [sheet.table() for sheet in sheets], record


def _verdict(fit: LogFit, evaluator: str, file: Mapping[str, Any]) -> str:
    what, single = order_text(file), fit.source.models[fit.single_model]
    if fit.running is not None:
        return running_verdict(fit.running, fit.keeps_running, what)
    gains = gain_text(fit.aim, fit.gain)
    if fit.choice.pays:
        saves = saving_text(fit.promise.saving)
        return f"use {what}: it gains {gains} over the best single model, {single}, and {saves}"
    if len(fit.source.models) == 1:
        return f"use {single} alone, the only model"
    return (
        f"use {single} alone: no cascade is better with this evaluator ({evaluator}) at price {fit.price:g}: "
        f"thresholds gain {gains}"
    )


def running_verdict(running: Worth, keeps: bool, what: str) -> str:
    """Of a fit to the log of a cascade: it is held against the rules that made the log."""
    unknown = math.isnan(running.gain.value)
    gain = "the log cannot tell of them" if unknown else f"the gain is {interval_text(running.gain, 4)}"
    if keeps:
        return (
            f"keep the rules that made the log: without exploring they brought {interval_text(running.utility, 4)} in "
            f"utility per prompt, and nothing is sure to bring more; what comes nearest: {what}, {gain}"
        )
    return (
        f"use {what}: it gains {interval_text(running.gain, 4)} in utility per prompt over the rules that made the "
        "log, without exploring"
    )


def running_json(running: Worth, keeps: bool) -> dict[str, Any]:
    """As records have it: gain and saving stand elsewhere for those over the best single model."""
    out = running.json()
    out.update(fit_gains=out.pop("gain"), keep=keeps)
    del out["saving"]
    return out


__all__ = ["LogFit", "RouterFit", "fit_log", "fit_router_to_log", "fit_thresholds_to_log"]
