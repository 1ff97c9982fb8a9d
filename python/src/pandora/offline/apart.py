"""Fits and tests on a log that use each model's calls separately. They assume that models' answers to a prompt are
independent, like the paper's boxes (Section 2).

A call then tells about its model in whatever decision it was made, and logs with one call per decision tell about
cascades, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import DataError
from ..spelling import option
from .call_log import Bools
from .estimate import Estimate
from .groups import FOLDS, Floats, Ints
from .learners.isotonic import IsotonicMap
from .notes import Note, Topic
from .outcomes import Outcomes, utility
from .paths import LogSupport, PolicyEstimate
from .policies.order import LARGE, Order, best_order
from .sources.log import LogSource, PreparedLog, Searched, faults_of_first_calls, require_first_calls, surest

#: The number of groups of prompts for the jackknife.
LAW_GROUPS = 50
#: The least number of a model's calls for an estimate of its law.
LEAST_CALLS = 10

NOTE = Note(
    "assumed: models' answers to a prompt are independent; where they are right and wrong together, far less is kept "
    "than is promised",
    Topic.INDEPENDENT,
)


@dataclass(frozen=True)
class Law:
    """A model's calls as draws of its answers, ascending in `seen`. `quality` is estimated where it is unknown."""

    group: Ints  #: of the prompt, below LAW_GROUPS
    seen: Floats
    quality: Floats
    usd: Floats
    weight: Floats

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.weight.sum())

    @property
    def enough(self) -> bool:
        """Whether calls remain without any one group."""
        return len(self.group) > 0 and bool(np.any(self.group != self.group[0]))

    def take(self, which: Bools) -> Law:
        """These calls."""
        return Law(self.group[which], self.seen[which], self.quality[which], self.usd[which], self.weight[which])


def means_of(order: Order, laws: Sequence[Law], judge_usd: float) -> Floats:
    """Mean quality, dollars and calls if models' answers are drawn independently from their laws: exactly, by the law
    of the best answer so far. `judge_usd` is added to each call of a cascade of several models.
    """
    out = np.zeros(3)
    judge = judge_usd if len(order.order) > 1 else 0.0
    # The law of the best answer so far, for the prompts that go on.
    best_seen, mass, quality_mass = np.array([-np.inf]), np.ones(1), np.zeros(1)
    for position, model in enumerate(order.order):
        law, calls = laws[model], float(mass.sum())
        threshold = order.thresholds[position] if position < len(order.thresholds) else -np.inf
        share = law.weight / law.total
        accepted = law.seen >= threshold
        out[1] += calls * float(share @ (law.usd + judge))
        out[2] += calls
        # Cases in which this answer is better; of equal answers the earlier is the best.
        below = np.append(0.0, np.cumsum(mass))[np.searchsorted(best_seen, law.seen, "left")]
        out[0] += float(np.sum((share * below * law.quality)[accepted]))
        # Cases in which the best answer so far stays the best.
        reached = np.searchsorted(law.seen, best_seen, "right")
        out[0] += float(quality_mass @ np.append(0.0, np.cumsum(share * accepted))[reached])
        passed = np.append(0.0, np.cumsum(share * ~accepted))[reached]
        new = ~accepted & (below > 0.0)
        seen = np.concatenate([best_seen[passed > 0.0], law.seen[new]])
        mass_next = np.concatenate([(mass * passed)[passed > 0.0], (share * below)[new]])
        quality_mass_next = np.concatenate([(quality_mass * passed)[passed > 0.0], (share * below * law.quality)[new]])
        by_seen = np.argsort(seen, kind="stable")
        best_seen, mass, quality_mass = seen[by_seen], mass_next[by_seen], quality_mass_next[by_seen]
    return out


def fit_apart(laws: Sequence[Law], price: float, judge_usd: float, rows: int) -> Order:
    """The best order on a table of `rows` prompts, whose answers are drawn evenly from each model's law, in an order of
    its own for each model. Any fixed order is fine, because answers are independent. A single model needs no judge.
    """
    models = [model for model, law in enumerate(laws) if len(law.seen)]
    draw = np.random.default_rng(1)
    answers = np.empty((3, rows, len(models)))
    for column, model in enumerate(models):
        law = laws[model]
        steps = (np.arange(rows) + 0.5) * law.total / rows
        # By the first calls whose weights reach so far.
        drawn = np.minimum(np.searchsorted(np.cumsum(law.weight), steps, "left"), len(law.seen) - 1)
        answers[:, draw.permutation(rows), column] = law.seen[drawn], law.quality[drawn], law.usd[drawn]
    seen, quality, usd = answers
    outcomes = Outcomes(seen, quality, usd, None, judge_usd)
    cascade = best_order(outcomes, price, LARGE)
    utility_alone = np.mean(quality - price * usd, axis=0)
    if utility_alone.max() >= float(np.mean(utility(cascade.walk(outcomes).numbers, price))):
        cascade = Order((int(np.argmax(utility_alone)),))
    return Order(tuple(models[model] for model in cascade.order), cascade.thresholds)


def cautious_single(laws: Sequence[Law], price: float) -> Order:
    """The model with the greatest mean utility less CAUTION standard errors."""

    def mean_and_error(law: Law) -> tuple[float, float]:
        if not len(law.seen):
            return -np.inf, 0.0
        share, utility = law.weight / law.total, law.quality - price * law.usd
        mean = float(share @ utility)
        return mean, float(np.sqrt(np.sum((share * (utility - mean)) ** 2)))

    return Order((surest(*zip(*map(mean_and_error, laws))),))


def jackknifed(parts: Sequence[tuple[Order, Sequence[Law]]], judge_usd: float, support: LogSupport) -> PolicyEstimate:
    """The estimate of `means_of` over all parts. Groups are left out in turn: a part uses those whose number modulo the
    number of parts is its own.
    """
    value, influence = np.zeros(3), np.zeros((3, LAW_GROUPS))
    for first, (order, laws) in enumerate(parts):
        groups = np.arange(first, LAW_GROUPS, len(parts))
        count = len(groups)
        value += count / LAW_GROUPS * means_of(order, laws, judge_usd)
        others = np.empty((count, 3))
        for place, group in enumerate(groups):
            others[place] = means_of(order, [law.take(law.group != group) for law in laws], judge_usd)
        influence[:, groups] = -(count - 1.0) / LAW_GROUPS * (others - others.mean(axis=0)).T
    quality, usd, calls = (Estimate(float(mean), moved) for mean, moved in zip(value, influence))
    return PolicyEstimate(quality, usd, calls, support)


def laws_of(source: LogSource, calibration: Sequence[IsotonicMap], takes: Bools) -> list[Law]:
    """The law of each model; `takes`: by group, whether its calls are used."""
    log = source.log
    group = log.groups.of_row % LAW_GROUPS
    out = []
    for model in range(len(log.models)):
        rows = np.flatnonzero(log.called[:, model] & takes[group])
        seen = np.zeros(len(rows)) if source.shown is None else source.shown[rows, model]
        if calibration:
            seen = calibration[model](seen)
        by_seen = np.argsort(seen, kind="stable")
        rows = rows[by_seen]
        weight = log.sampling[rows] / log.propensity[rows, model]
        out.append(Law(group[rows], seen[by_seen], source.reader.estimated[rows, model], log.usd[rows, model], weight))
    return out


def fit_log_apart(source: LogSource, price: float) -> Searched:
    """DataError if no model was called often enough, or if first calls are no valid sample of a model's calls."""
    log, judge = source.log, source.judge_usd
    require_first_calls(log)
    fold_of = np.arange(LAW_GROUPS) % FOLDS
    in_fold = [laws_of(source, (), fold_of == fold) for fold in range(FOLDS)]
    left_out = [m for m in range(len(log.models)) if not all(laws[m].enough for laws in in_fold)]
    if len(left_out) == len(log.models):
        raise DataError(
            f"{log.name}: has too few decisions: no model was called often enough in every fold; log more, or explore "
            f"more ({option('explore')})"
        )

    def laws(calibration: Sequence[IsotonicMap], takes: Bools) -> list[Law]:
        all_laws = laws_of(source, calibration, takes)
        return [law.take(np.zeros(len(law.seen), bool)) if m in left_out else law for m, law in enumerate(all_laws)]

    calibration = PreparedLog(source, np.arange(log.rows)).calibration
    whole = laws(calibration, np.ones(LAW_GROUPS, bool))
    cascade, single = fit_apart(whole, price, judge, log.rows), cautious_single(whole, price)
    of_folds = []  # by fold: orders and laws of its cascade, of its single model, and of `single`
    for fold in range(FOLDS):
        maps = PreparedLog(source, np.flatnonzero(log.groups.folds != fold)).calibration
        training, held = laws(maps, fold_of != fold), laws(maps, fold_of == fold)
        orders = fit_apart(training, price, judge, log.rows), cautious_single(training, price), single
        of_folds.append([(order, held) for order in orders])
    of_cascades, of_singles, of_single = (jackknifed(parts, judge, LogSupport(mean=1.0)) for parts in zip(*of_folds))
    notes: list[str] = [NOTE]
    if log.has_second_calls:
        notes.append(
            "decisions made several calls, which tell how models' answers hang together: "
            f"{option('openings', 'in_order')} or independent looks at that"
        )
    text = "fitted to what a log says of each model by itself; promised by cascades that were searched on other prompts"
    notes.append(Note(text, Topic.METHOD))
    if left_out:
        notes.append(f"called too seldom, and left out: {', '.join(log.models[model] for model in left_out)}")
    on_fit_rows = means_of(cascade, whole, judge)
    return Searched(cascade, single, calibration, on_fit_rows, of_cascades, of_singles, of_single, notes)


def estimate_apart(source: LogSource, order: Order, calibration: Sequence[IsotonicMap]) -> PolicyEstimate:
    """The estimate for an order that was not fitted to this log. DataError if a model was called too seldom."""
    log = source.log
    laws, faults = laws_of(source, calibration, np.ones(LAW_GROUPS, bool)), faults_of_first_calls(log)
    for model in order.order:
        if faults[model]:
            raise DataError(f"{log.name}: {faults[model]}")
    for model in order.order:
        if len(laws[model].seen) < LEAST_CALLS or not laws[model].enough:
            raise DataError(
                f'{log.name}: has too few calls of model "{log.models[model]}": {len(laws[model].seen)}; log more'
            )
    effective = min(laws[m].total ** 2 / float(np.sum(laws[m].weight ** 2)) for m in order.order)
    return jackknifed([(order, laws)], log.judge_usd, LogSupport(effective_prompts=effective, mean=1.0))
