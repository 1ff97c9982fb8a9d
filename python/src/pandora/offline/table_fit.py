"""A complete fit to a table or a log: checks settings, chooses the source, and returns the cascade and its record."""

from __future__ import annotations

import numpy as np

from .. import _core
from .choose import SINGLE
from .crossfit import Progress
from .deploy import file_of, use_of
from .fit import Fit, fit_source
from .leaks import suspected_leaks
from .learners.estimators import require_estimator
from .log_fit import fit_log
from .notes import Note, Topic, table_notes
from .options import FitSettings, require_few_models, require_latency, require_log_for
from .outcomes import QUALITY
from .record import FitReport, FitResult, finish_fit
from .sources.labels import dependence_notes, label_note
from .sources.table import PreparedTable, TableSource
from .words import rare_note


def fit_table(table: _core.TraceTable, settings: FitSettings, progress: Progress) -> FitResult:
    """Fits a cascade to a table; a decision log goes to fit_log. Returns the running cascade and its record.

    Raises Refusal and DataError if nothing can be fitted.
    """
    if settings.router is not None:
        require_estimator("router", settings.router)
    settings.require_sound()
    arrays = _core.TableArrays(table)
    require_latency(settings.aim, table.source, table.models, arrays.latency, arrays.is_log)
    require_log_for(settings.openings, arrays.is_log)
    if arrays.is_log:
        return fit_log(table, settings, progress)
    if np.isnan(arrays.quality).any():
        settings = settings.of_estimates()
    price = 0.0 if settings.aim.is_bound else settings.aim.value
    require_few_models(table.source, table.models, np.nan_to_num(arrays.quality), arrays.usd, price, "fitted")
    context, timed = settings.used_context, settings.aim.max_latency is not None
    source = TableSource(table, settings.evaluator, context, settings.judge, timed, settings.router)
    settings.require_binding(source.usd)
    fit = fit_source(source, settings.aim, settings.kinds, settings.as_asked, progress)
    prepared = source.prepare()
    file = file_of(fit.policy, fit.price, settings, prepared)
    notes = notes_of(fit, source, settings, prepared)
    return finish_fit(FitReport(fit, settings, use_of(fit, file, prepared), notes, table), file, prepared)


def notes_of(fit: Fit, source: TableSource, settings: FitSettings, prepared: PreparedTable) -> list[str]:
    """Notes on what was left out, what is assumed, and what is uncertain."""
    table, choice, out = source.table, fit.choice, []
    if source.estimates is not None:
        estimates, all_called = source.estimates, np.ones(source.quality.shape, bool)
        out += [*table_notes(table), label_note(table)]
        out += dependence_notes(estimates.quality, estimates.score, estimates.probability, all_called, source.groups)
    else:
        out += table_notes(table, Topic.DROPPED)
        out += table_notes(table, Topic.JUDGE, *([] if source.latency is None else [Topic.LATENCY_UNIT]))
    for kind, seconds in fit.slow.items():
        text = (
            f"{kind}: not deployed; calls in series take {seconds:.4g} seconds at the 95th per cent, more than "
            f"{settings.aim.max_latency:g}"
        )
        out.append(Note(text, Topic.TOO_SLOW, kind, f"{seconds:.4g}"))
    if choice.kind == SINGLE and settings.kind in ("auto", "indices") and not settings.estimated:
        text = (
            "one model alone learns nothing while it runs; `pandora cascade new` makes a cascade that learns from "
            "nothing"
        )
        out.append(Note(text, Topic.NEVER_LEARNS))
    if settings.context:
        if choice.kind in (SINGLE, "thresholds"):
            same = "one model alone is" if choice.kind == SINGLE else "thresholds are"
            out.append(Note(f"context: not used; {same} the same for every prompt", Topic.NO_CONTEXT))
        if source.estimates is None:  # single estimates do not tell which answer is best
            out += suspected_leaks(table, settings.context, source.quality, source.usd, fit.price)
    if settings.router is not None:
        out.append(
            f"a router is {type(settings.router).__name__}, an estimator of the caller's: it is saved in a file beside "
            "the cascade's"
        )
    if source.estimates is None:
        whole = fit.policy.walk(prepared.outcomes).numbers[QUALITY]
        rare = rare_note(fit.promise, whole, source.groups)
        out += [rare] if rare else []
    return out
