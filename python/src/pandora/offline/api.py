"""The functions behind pandora.Cascade and pandora.Trace: plain values in, plain values and tables out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Optional

from .. import _core
from ..live import RunningCascade
from ..table import Table
from .cascade_sheets import cascade_sheets
from .check import check_json, check_sheets, check_table
from .crossfit import Progress
from .frontier import frontier_columns, frontier_numbers, frontier_of_tables, frontier_steps
from .judge import judge_cascade, judged_json, judged_sheet
from .kinds import Aim, AimKind
from .options import FitSettings, aim_of
from .table_fit import fit_table


def fit(
    table: _core.TraceTable,
    *,
    price: Optional[float] = None,
    max_usd: Optional[float] = None,
    min_quality: Optional[float] = None,
    max_latency: Optional[float] = None,
    progress: Optional[Callable[[int, int], None]] = None,
    **options: Any,
) -> tuple[RunningCascade, list[Table], dict[str, Any]]:
    """A cascade with its printed tables and the record in its file.

    `options`: members of FitSettings. `progress(done, total)` is called after each fit; an exception from it ends the
    fits.
    """
    settings = FitSettings.of(aim_of(price, max_usd, min_quality, max_latency), options)
    cascade, record = fit_table(table, settings, Progress(progress))
    return cascade, show(cascade), record


def test(
    cascade: RunningCascade,
    table: _core.TraceTable,
    against: str = "",
    evaluator: str = "",
    judge_usd: Optional[float] = None,
    estimator: str = "",
    openings: str = "in_order",
) -> tuple[dict[str, Any], Table]:
    """Results of a cascade on a table, as JSON and as a table."""
    judged = judge_cascade(cascade, "cascade", table, against, evaluator, judge_usd, estimator, openings)
    return judged_json(judged), judged_sheet(judged).table()


def frontier(
    table: _core.TraceTable,
    test: _core.TraceTable,
    *,
    evaluator: str = "",
    context: Sequence[str] = (),
    kind: str = "thresholds",
    judge_usd: Optional[float] = None,
    prices: Sequence[float] = (),
) -> tuple[dict[str, list[Any]], Table, dict[str, Any]]:
    """Quality against dollars, fitted on one table and judged on the other: frontier.csv, its steps, numbers.json."""
    settings = FitSettings(Aim(AimKind.PRICE, 0.0), evaluator, tuple(context), kind, judge_usd)
    found = frontier_of_tables(table, test, settings, prices)
    return frontier_columns(found), frontier_steps(found).table(), frontier_numbers(found)


def check(table: _core.TraceTable, evaluator: str, prices: Sequence[float]) -> tuple[dict[str, Any], list[Table]]:
    """The contents of a table, and what routing between its models can gain, as JSON and as tables."""
    found = check_table(table, evaluator, prices)
    return check_json(found), [sheet.table() for sheet in check_sheets(found)]


def show(cascade: RunningCascade) -> list[Table]:
    """A running cascade as tables."""
    file = cascade.members.described()
    return [sheet.table() for sheet in cascade_sheets(file, cascade.counts(), "cascade")]
