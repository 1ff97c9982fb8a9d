"""A fit to a table or a log, whole: settings checked, the source chosen, what is deployed, what is told of it."""

from __future__ import annotations

from typing import Any, Callable, Union

import numpy as np

from .. import _core
from ..table import Table
from .choose import SINGLE
from .deploy import every_row, file_of, own_router, running, use_of
from .estimator_router import RoutedByEstimator
from .feedback import dependence_notes
from .fit import Fit, fit_source
from .leaks import suspected_leaks
from .learners.estimators import require_estimator
from .options import FitSettings, require_few_models, require_latency, require_log_for
from .outcomes import QUALITY
from .policies.router import Plans
from .progress import Progress
from .record import Told
from .sources.labels import label_note
from .sources.table import PreparedTable, TableSource
from .tables import cascade_tables
from .text import notes_on
from .words import rare_note

Deployed = Union[_core.Cascade, RoutedByEstimator]
Fitted = tuple[Deployed, list[Table], dict[str, Any]]


def fit_table(table: _core.TraceTable, settings: FitSettings, progress: Progress) -> Fitted:
    """Raises Refusal and DataError where nothing can be fitted."""
    if settings.router is not None:
        require_estimator("router", settings.router)
    settings.require_sound()
    arrays = _core.TableArrays(table)
    require_latency(settings.aim, table.source, table.models, arrays.latency, arrays.is_log)
    require_log_for(settings.openings, arrays.is_log)
    if arrays.is_log:
        from .log_fit import fit_log  # a log is read otherwise

        return fit_log(table, settings, progress)
    if np.isnan(arrays.quality).any():
        settings = settings.of_estimates()
    at = 0.0 if settings.aim.is_bound else settings.aim.value
    require_few_models(table.source, table.models, np.nan_to_num(arrays.quality), arrays.usd, at, "fitted")
    source = TableSource(
        table,
        settings.evaluator,
        settings.context if settings.uses_context else (),
        settings.judge,
        settings.aim.max_latency is not None,
        settings.router,
    )
    settings.require_binding(source.usd)
    found = fit_source(source, settings.aim, settings.kinds, settings.as_asked, progress)
    return _told(found, source, settings)


def _told(found: Fit, source: TableSource, settings: FitSettings) -> Fitted:
    prepared = source.prepare(every_row(source), whole=True)
    policy = found.policy
    file = file_of(policy, found.price, settings, prepared)
    told = Told(
        found, settings, use_of(found, file, prepared), notes_of(found, source, settings, prepared), source.table
    )
    if isinstance(policy, Plans) and own_router(policy) is not None:
        return fitted(told, file, lambda whole: RoutedByEstimator(whole, policy))
    return fitted(told, file, lambda whole: running(whole, prepared))


def fitted(told: Told, file: dict[str, Any], made: Callable[[dict[str, Any]], Deployed]) -> Fitted:
    """What runs, its tables and its record. `made`: of the members of a file."""
    record = told.record(file)
    whole = {**file, "about": record}
    cascade = made(whole)
    sheets = cascade_tables(whole, cascade.counts(), "cascade")
    return cascade, [sheet.table() for sheet in sheets], record


def notes_of(found: Fit, source: TableSource, settings: FitSettings, prepared: PreparedTable) -> list[str]:
    """What was left out, what is assumed, and what is not sure."""
    table, choice, out = source.table, found.choice, []
    if source.estimates is not None:
        of, every = source.estimates, np.ones(source.quality.shape, bool)
        out += [*table.notes, label_note(table)]
        out += dependence_notes(of.quality, of.score, of.probability, every, source.groups)
    else:
        if table.dropped > 0:
            out.append(table.notes[-1])
        out += notes_on(table, *(("quality",) if source.latency is None else ("quality", "latency")))
    for kind, seconds in found.slow.items():
        out.append(
            f"{kind}: not deployed; calls in series take {seconds:.4g} seconds at the 95th per cent, more than "
            f"{settings.aim.max_latency:g}"
        )
    if choice.kind == SINGLE and settings.kind in ("auto", "indices") and not settings.estimated:
        out.append(
            "one model alone learns nothing while it runs; `pandora cascade new` makes a cascade that learns from "
            "nothing"
        )
    if settings.context:
        if choice.kind in (SINGLE, "thresholds"):
            same = "one model alone is" if choice.kind == SINGLE else "thresholds are"
            out.append(f"context: not used; {same} the same for every prompt")
        if source.estimates is None:  # which answer is best, single estimates do not say
            out += suspected_leaks(table, settings.context, source.quality, source.usd, found.price)
    if settings.router is not None:
        out.append(f"a router is {type(settings.router).__name__}, an estimator of the caller's: it cannot be saved")
    if source.estimates is None:
        whole = found.policy.walk(prepared.outcomes).numbers[QUALITY]
        rare = rare_note(found.promise, whole, source.groups)
        out += [rare] if rare else []
    return out
