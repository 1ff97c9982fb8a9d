"""Quality against dollars: cascades over a range of prices, the models alone, and mixtures of them.

Fitted on one table and judged on another, also which models are mixed.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import DataError, OutputError
from ..rendering.document import NUMBERS
from .check import require_prices
from .choose import SINGLE
from .crossfit import Progress, crossfit
from .estimate import Estimate, Interval
from .groups import Floats, Groups
from .identified import is_log
from .kinds import Candidate, price_grid, rounded
from .learners.isotonic import applied
from .metrics import MEANINGS, Compared, Forecasts, Points, hull
from .notes import Topic, table_notes
from .options import FitSettings, require_few_models
from .outcomes import CALLS, QUALITY, USD, Outcomes, utility
from .policies import KINDS, Order, Policy, indices
from .policies.indices import LearnedIndices
from .record import json_object
from .sheet import Sheet
from .sources.table import PreparedTable, TableSource
from .text import UNKNOWN, digits, interval_text, usd_text
from .words import evaluator_text

#: Points of mixtures between two models.
MIXTURES = 16
#: How often the grid of prices is refined. Each refinement halves the steps that are far apart.
REFINEMENTS = 2
#: Neighbouring points farther apart than this share of the range of all points get a price between them.
FAR = 0.1
#: What the renderer ends with where a file could not be written.
NOT_WRITTEN = 6


@dataclass(frozen=True)
class Point:
    """A policy on the table that is tested on."""

    name: str  #: the model, or the models in order with their thresholds
    price: float  #: of a cascade the greatest one that it was fitted for; NaN of a model alone
    numbers: Floats  #: 3 x rows, as Walk has them
    called: npt.NDArray[np.bool_]  #: rows x models
    quality: Interval
    usd_per_1000: Interval
    calls: float
    #: Quality less that of the mixture of models for the same dollars; NaN below the cheapest.
    above_mixture: float = math.nan

    @staticmethod
    def of(name: str, price: float, policy: Policy, outcomes: Outcomes, groups: Groups) -> Point:
        """With intervals over prompts."""
        walk = policy.walk(outcomes)
        called = (walk.called[:, :, None] == np.arange(outcomes.models)).any(axis=1)
        quality = Estimate.mean(walk.numbers[QUALITY], groups, (0.0, 1.0)).interval()
        usd = (1000.0 * Estimate.mean(walk.numbers[USD], groups)).interval()
        return Point(name, price, walk.numbers, called, quality, usd, float(np.mean(walk.numbers[CALLS])))

    @property
    def outcome(self) -> tuple[Floats, Floats]:
        """By row: quality, dollars."""
        return self.numbers[QUALITY], self.numbers[USD]


@dataclass(frozen=True)
class Mixture:
    """Two models, one of which is called for each prompt by chance; the dear one with probability `share`."""

    cheap: int
    dear: int
    share: float
    quality: float
    usd_per_1000: float


@dataclass(frozen=True)
class Frontier:
    """Points on the table that was tested on."""

    source: TableSource  #: that was fitted on
    test: TableSource
    seen: Floats  #: rows x models: what policies see of answers there
    kind: str  #: or "auto", of several
    judge_usd: Optional[float]  #: as it was given
    cascades: list[Point]  #: by price, descending; those that do not differ stand once
    singles: list[Point]  #: by model
    mixtures: list[Mixture]  #: along the hull of the table that was fitted on, the cheapest first

    @property
    def points(self) -> list[tuple[str, Point]]:
        """The cascades and the models, each with what it is."""
        return [("cascade", point) for point in self.cascades] + [("single", point) for point in self.singles]

    @property
    def seen_by(self) -> str:
        """The evaluator in words."""
        return evaluator_text(self.source.evaluator, self.judge_usd)

    @property
    def models(self) -> list[str]:
        """Names."""
        return self.source.models

    @cached_property
    def steps(self) -> list[int]:
        """Of `cascades`: each dearer and better than the one before."""
        out: list[int] = []
        for k in sorted(range(len(self.cascades)), key=lambda k: self.cascades[k].usd_per_1000.value):
            if not out or self.cascades[k].quality.value > self.cascades[out[-1]].quality.value:
                out.append(k)
        return out

    @property
    def weak(self) -> int:
        """The cheapest model of the hull."""
        return self.mixtures[0].cheap

    @property
    def strong(self) -> int:
        """The best model of the table that was fitted on."""
        return self.mixtures[-1].dear

    @cached_property
    def metrics(self) -> dict[str, Interval]:
        """Those of the field, by name."""
        cascades, singles = ([point.outcome for point in points] for points in (self.cascades, self.singles))
        calls_strong = [point.called[:, self.strong] for point in self.cascades]
        compared = Compared(cascades, singles, calls_strong, self.weak, self.strong, self.test.groups)
        if self.test.shown is None:
            return compared.field_metrics()
        raw, calibrated = (Forecasts(scores, self.test.quality) for scores in (self.test.shown, self.seen))
        return compared.field_metrics((raw, calibrated))


def find_frontier(
    source: TableSource,
    test: TableSource,
    kinds: Sequence[str],
    prices: Sequence[float] = (),
    judge_usd: Optional[float] = None,
    progress: Optional[Progress] = None,
) -> Frontier:
    """Cascades of `kinds`, fitted on `source` at these prices, or at those of price_grid() and between them.

    `test`: the same models, evaluator, context and dollars of judging, on other prompts. `judge_usd`: as it was given,
    for people. DataError where the tables have prompts in common or differ in their models.
    """
    require_few_models(source.name, source.models, source.quality, source.usd, 0.0, "fitted")
    _core.require_apart(source.table, test.table)
    require_prices(prices, "finite numbers that are not negative")
    if test.models != source.models:
        test = TableSource(test.table.select_models(source.models), test.evaluator, test.context, test.judge_usd)
    prepared = source.prepare()
    outcomes = on_other(prepared, test)
    points: list[Point] = []
    refinements_left, asked = (0, list(prices)) if len(prices) else (REFINEMENTS, price_grid(source.usd))
    progress = progress or Progress()
    while asked:
        progress.expect(len(asked))
        for candidate in best_candidates(source, kinds, asked, progress):
            points.append(_point(candidate, prepared, outcomes, test))
            progress.step()
        points.sort(key=lambda point: -point.price)
        asked, refinements_left = prices_between(points) if refinements_left > 0 else [], refinements_left - 1
    singles = [
        Point.of(name, math.nan, Order((model,)), outcomes, test.groups) for model, name in enumerate(source.models)
    ]
    mixtures = mixtures_of(source, singles)
    different = [*points[:1], *(b for a, b in zip(points, points[1:]) if not np.array_equal(a.outcome, b.outcome))]
    cascades, singles = (
        [replace(point, above_mixture=above_mixture(point, mixtures)) for point in points_of_kind]
        for points_of_kind in (different, singles)
    )
    kind = "auto" if len(kinds) > 1 else kinds[0]
    return Frontier(source, test, outcomes.seen, kind, judge_usd, cascades, singles, mixtures)


def frontier_of_tables(
    table: _core.TraceTable,
    test: _core.TraceTable,
    settings: FitSettings,
    prices: Sequence[float] = (),
    progress: Optional[Progress] = None,
) -> Frontier:
    """Fitted on one table and judged on the other. Of the settings the aim is not used."""
    settings.require_sound()
    for given in (test, table):
        if is_log(given):
            raise DataError(
                f"{given.source}: is a log of decisions, in which models that were not called say nothing; `pandora "
                "cascade fit` and `pandora cascade test` take logs"
            )
    how = settings.evaluator, settings.used_context, settings.judge
    source, other = (TableSource(given, *how) for given in (table, test))
    kinds = settings.of_estimates().kinds if source.estimated else settings.kinds
    return find_frontier(source, other, kinds, prices, settings.judge_usd, progress)


def best_candidates(
    source: TableSource, kinds: Sequence[str], prices: Sequence[float], progress: Progress
) -> list[Candidate]:
    """At each price the kind that is tried or, of several and the models alone, what is worth most by cross-fitting."""
    if len(kinds) < 2:
        return [Candidate(kinds[0], price) for price in prices]
    each = [(SINGLE, model) for model in range(len(source.models))] + [(kind, 0) for kind in kinds]
    candidates = [Candidate(kind, price, model) for price in prices for kind, model in each]
    fits = crossfit(source, candidates, False, progress)
    worth = [float(np.sum(utility(fits.candidate(k), candidate.price))) for k, candidate in enumerate(candidates)]
    best_of_each = np.argmax(np.reshape(worth, (len(prices), len(each))), axis=1)
    return [candidates[k * len(each) + int(number)] for k, number in enumerate(best_of_each)]


def on_other(prepared: PreparedTable, other: TableSource) -> Outcomes:
    """Another table as a policy meets it that was fitted on this one: by its calibration and its features."""
    seen = other.quality
    if other.shown is not None:
        seen = applied(prepared.calibration, other.shown)
    psi = None
    if prepared.features is not None and prepared.features.size > 0:
        psi = other.psi_of(prepared.features)
        if prepared.psi_range:
            psi = np.clip(psi, *np.array(prepared.psi_range, np.float32).T)
    return Outcomes(seen, other.quality, other.usd, psi, other.judge_usd)


def mixtures_of(source: TableSource, singles: Sequence[Point]) -> list[Mixture]:
    """The models of the fitting table's hull, and mixtures of each with the next, as they do on the other table."""
    sums = Points(source.usd.sum(axis=0), source.quality.sum(axis=0))
    corners = zip(*hull(sums))
    models = [int(np.flatnonzero((sums.usd == usd) & (sums.quality == quality))[0]) for usd, quality in corners]

    def mixture(cheap: int, dear: int, share: float) -> Mixture:
        a, b = singles[cheap], singles[dear]
        quality = a.quality.value + share * (b.quality.value - a.quality.value)
        usd = a.usd_per_1000.value + share * (b.usd_per_1000.value - a.usd_per_1000.value)
        return Mixture(cheap, dear, share, quality, usd)

    shares = [k / MIXTURES for k in range(1, MIXTURES + 1)]
    return [mixture(models[0], models[0], 0.0)] + [mixture(a, b, s) for a, b in zip(models, models[1:]) for s in shares]


def above_mixture(point: Point, mixtures: Sequence[Mixture]) -> float:
    """Above lines from each mixture to the next, which on another table need not ascend; NaN below the cheapest."""
    usd, best = point.usd_per_1000.value, mixtures[0].quality
    if usd < mixtures[0].usd_per_1000 * (1.0 - 1e-12):
        return math.nan
    for a, b in zip(mixtures, mixtures[1:]):
        width, beyond = b.usd_per_1000 - a.usd_per_1000, usd - a.usd_per_1000
        share = min(max(beyond / width, 0.0), 1.0) if width > 0.0 else float(usd >= b.usd_per_1000)
        if share > 0.0:
            best = a.quality + share * (b.quality - a.quality)
    return point.quality.value - best


def prices_between(points: Sequence[Point]) -> list[float]:
    """Between neighbours, by price, that lie far apart in dollars or quality."""
    places = np.array([(point.usd_per_1000.value, point.quality.value) for point in points])
    far = (np.abs(np.diff(places, axis=0)) > FAR * np.ptp(places, axis=0)).any(axis=1)
    out = []
    for k in np.flatnonzero(far).tolist():
        more, less = points[k].price, points[k + 1].price
        between = rounded(math.sqrt(more * less), 3) if less > 0.0 else 0.0
        if less < between < more:
            out.append(between)
    return out


def _point(candidate: Candidate, prepared: PreparedTable, outcomes: Outcomes, test: TableSource) -> Point:
    if candidate.kind == indices.KIND.name:
        learned = KINDS[candidate.kind].fit(prepared, candidate, None)
        assert isinstance(learned, LearnedIndices)
        shown, cost = test.quality if test.shown is None else test.shown, outcomes.usd + outcomes.judge_usd
        policy: Policy = LearnedIndices(learned.estimator, outcomes.psi, candidate.price * cost, shown)
        name = f"indices at price {candidate.price:g}"
    else:
        policy = KINDS[candidate.kind].fit(prepared, candidate, None)
        name = policy.text(test.models)
    return Point.of(name, candidate.price, policy, outcomes, test.groups)


def frontier_columns(frontier: Frontier) -> dict[str, list[Any]]:
    """The columns of frontier.csv: a row for each cascade, model and mixture."""
    names = ("kind", "name", "price", "usd_per_1000", "usd_low", "usd_high", "quality", "quality_low", "quality_high")
    rows: list[tuple[Any, ...]] = [
        (kind, p.name, p.price, *p.usd_per_1000, *p.quality, p.calls, p.above_mixture) for kind, p in frontier.points
    ]
    for m in frontier.mixtures:
        name, no_ends = frontier.models[m.cheap], (math.nan, math.nan)
        if m.cheap != m.dear:
            name = f"{1.0 - m.share:.4g} {name} + {m.share:.4g} {frontier.models[m.dear]}"
        rows.append(("mixture", name, math.nan, m.usd_per_1000, *no_ends, m.quality, *no_ends, 1.0, 0.0))
    columns = {name: list(values) for name, values in zip((*names, "calls", "above_mixture"), zip(*rows))}
    judge_usd = math.nan if frontier.judge_usd is None else frontier.judge_usd
    return {**columns, "evaluator": [frontier.source.evaluator] * len(rows), "judge_usd": [judge_usd] * len(rows)}


def frontier_csv(frontier: Frontier) -> str:
    """frontier.csv."""
    columns = frontier_columns(frontier)
    lines = ([x if isinstance(x, str) else digits(x) for x in row] for row in zip(*columns.values()))
    return str(_core.csv([list(columns), *lines]))


def rows_csv(frontier: Frontier) -> str:
    """rows.csv: what becomes of each prompt by each cascade and model alone."""
    lines = [["kind", "price", "prompt", "called", "quality", "usd"]]
    for kind, point in frontier.points:
        for prompt, called, quality, usd in zip(frontier.test.table.prompts, point.called, *point.outcome):
            models = "|".join(model for model, is_called in zip(frontier.models, called) if is_called)
            lines.append([kind, f"{point.price:g}", prompt, models, digits(quality), digits(usd)])
    return str(_core.csv(lines))


def frontier_steps(frontier: Frontier) -> Sheet:
    """What each step to the next better cascade costs."""
    out = Sheet(
        f"Cascades of the kind {frontier.kind} on {frontier.test.name}, {frontier.seen_by}. Each has more quality than "
        "all cheaper ones; the last columns compare it with the row above.",
        ["", "price", "$ per 1,000", "quality", "above mixture", "more $", "more quality", "$ per 0.01"],
    )
    before: Optional[Point] = None
    for number, step in enumerate(frontier.steps, 1):
        point = frontier.cascades[step]
        out.notes.append(f"{number}: {point.name}")
        more = [UNKNOWN] * 3
        if before is not None:
            usd = point.usd_per_1000.value - before.usd_per_1000.value
            by_row = point.numbers[QUALITY] - before.numbers[QUALITY]
            gain = Estimate.mean(by_row, frontier.test.groups, (-1.0, 1.0)).interval()
            more = [_usd(usd), interval_text(gain, 4), _usd(0.01 * usd / gain.value if gain.value > 0.0 else math.nan)]
        above = f"{point.above_mixture:.4f}" if math.isfinite(point.above_mixture) else UNKNOWN
        out.add(number, f"{point.price:g}", usd_text(point.usd_per_1000), interval_text(point.quality, 4), above, *more)
        before = point
    out.notes.append(
        '"above mixture" is the quality above that of calling one of two models at random for the same dollars. "more '
        '$" (per 1,000 prompts) and "more quality" (per prompt) compare with the row above. "$ per 0.01" is the cost '
        "of 0.01 more quality for 1,000 prompts, so in dollars for 10 more right answers. Intervals are 95% "
        "over prompts."
    )
    out.notes += table_notes(frontier.test.table, Topic.JUDGE)
    return out


def metrics_sheet(frontier: Frontier, explained: bool) -> Sheet:
    """`explained`: notes say what each is."""
    out = Sheet(
        f"Metrics of the literature on {frontier.test.name}: weak model {frontier.models[frontier.weak]}, strong model "
        f"{frontier.models[frontier.strong]}",
        ["metric", "value"],
    )
    for name, value in frontier.metrics.items():
        out.add(name, usd_text(value) if name.startswith("usd") else interval_text(value, 4))
        if explained:
            out.notes.append(f"{name}: {MEANINGS[name]}")
    if not explained:
        out.notes.append("docs/metrics.md explains them; you need none of them to choose a cascade.")
    out.notes.append("The 95% intervals over prompts are percentiles of 400 bootstrap draws from a fixed seed.")
    return out


def frontier_json(frontier: Frontier) -> dict[str, Any]:
    """The cascades and models of frontier.csv, the steps as positions among the cascades, and the metrics."""
    of_points = ("name", "price", "usd_per_1000", "quality", "calls", "above_mixture")
    ends = {"weak": frontier.models[frontier.weak], "strong": frontier.models[frontier.strong]}
    return json_object(
        {
            "fitted_on": frontier.source.name,
            "tested_on": frontier.test.name,
            "kind": frontier.kind,
            "evaluator": frontier.source.evaluator,
            "judge_usd": frontier.judge_usd,
            "prompts": frontier.test.groups.count,
            "points": [{"kind": kind, **{name: getattr(p, name) for name in of_points}} for kind, p in frontier.points],
            "steps": frontier.steps,
            "metrics": {**ends, **frontier.metrics},
        }
    )


def frontier_numbers(frontier: Frontier) -> dict[str, Any]:
    """What pandora.rendering makes the figure and the page of: numbers.json."""
    sheets = {"steps": frontier_steps(frontier), "metrics": metrics_sheet(frontier, True)}
    return {
        "generator": NUMBERS,
        "of": "frontier",
        **frontier_json(frontier),
        "evaluator": frontier.seen_by,
        "mixtures": [[mixture.usd_per_1000, mixture.quality] for mixture in frontier.mixtures],
        "tables": [{**json.loads(sheet.found()["whole"]), "label": label} for label, sheet in sheets.items()],
    }


def write_frontier(folder: str, frontier: Frontier, rows: bool, formats: Sequence[str]) -> str:
    """frontier.csv, rows.csv where `rows`, and numbers.json with the report of it; why not all of that was rendered.

    Empty where it was.
    """
    numbers = json.dumps(frontier_numbers(frontier), ensure_ascii=False, separators=(",", ":"))
    files = {"frontier.csv": frontier_csv(frontier), "numbers.json": numbers + "\n"}
    for name, text in {**files, **({"rows.csv": rows_csv(frontier)} if rows else {})}.items():
        _core.write_file(os.path.join(folder, name), text)
    return _rendered(Path(folder), formats)


def _rendered(folder: Path, formats: Sequence[str]) -> str:
    """By a process of its own, as the program has it: what is missing there, or fails, leaves the numbers."""
    for name in ("report.html", "report.tex", "report.json"):
        (folder / name).unlink(missing_ok=True)
    script = os.environ.get("PANDORA_RENDERER", str(Path(__file__).parents[1] / "rendering" / "render.py"))
    words = [script, "--format", ",".join(formats)]
    python = [os.environ.get("PANDORA_PYTHON", sys.executable), "-X", "utf8", "-B"]
    try:
        ended = subprocess.run([*python, *words, "--", str(folder)], stdin=subprocess.DEVNULL, capture_output=True)
        code, problem = ended.returncode, ended.stderr.decode(errors="replace").strip()
    except OSError as error:
        code, problem = 1, f"{python[0]}: {error.strerror}"
    if code == NOT_WRITTEN:
        raise OutputError(problem)
    if code == 0:
        return ""
    again = shlex.join(["python3", *words, str(folder.absolute())])
    why = problem or f"the renderer ended with code {code}"
    return f"{folder}: not all was rendered: {why}; its numbers are in numbers.json; then run `{again}`"


def _usd(x: float) -> str:
    return usd_text(Interval(x, math.nan, math.nan))
