"""What a table says of its models and judges, and what routing on it can pay."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import DataError
from .choose import difference
from .errors import Refusal
from .estimate import UNKNOWN, Estimate, Interval
from .groups import FOLDS, Floats, Groups, Ints
from .identified import EstimatedMean, Identified, estimated_means, identified, is_log, unlabelled
from .kinds import Aim, AimKind
from .learners.isotonic import IsotonicMap
from .options import require_few_models
from .outcomes import CALLS, QUALITY, USD, Outcomes, utility
from .policies.order import Effort, Order, best_order
from .sheet import Sheet
from .sources.evaluator import NONE, TRUTH
from .sources.table import TableSource
from .text import interval_text, number_text
from .worth import Worth, interval_json

#: Utility per dollar.
MOST_PRICE = 1e9
#: The gain of a policy over itself.
NOTHING = Interval(0.0, 0.0, 0.0)
#: Of a search for a cascade.
EFFORT = Effort(prompts=20_000, steps=400_000_000)


@dataclass(frozen=True)
class Range:
    """Of what is known of a column."""

    mean: float
    least: float
    greatest: float

    @staticmethod
    def of(values: Floats, factor: float = 1.0) -> Range:
        """Times the factor; NaN where nothing is known."""
        known = values[~np.isnan(values)]
        if not len(known):
            return Range(math.nan, math.nan, math.nan)
        return Range(*(factor * float(x) for x in (known.mean(), known.min(), known.max())))


@dataclass(frozen=True)
class ScoreFacts:
    """How well a judge's score tells the quality of answers; NaN where scores or qualities do not vary.

    `explained`: the share of the quality's variance within models that the calibrated score explains, on prompts that
    it was not calibrated on: 1 - sum (quality - calibrated score)^2 / sum (quality - mean of the model)^2. Below 0
    where the score is worse than the mean.
    """

    correlation: float
    explained: float


@dataclass(frozen=True)
class JudgeFacts:
    """Of one judge. Tenths: answers whose scores are in [k / 10, (k + 1) / 10), the last one with 1."""

    name: str
    all: ScoreFacts
    models: list[ScoreFacts]
    answers: Ints  #: by tenth
    score: Floats  #: means; NaN without answers
    quality: Floats


@dataclass(frozen=True)
class TableFacts:
    """What a table holds, before any routing."""

    prompts: int  #: different ones
    quality: list[Range]  #: by model
    usd_per_1000: list[Range]
    correlation: Floats  #: of the models' qualities, models x models
    judges: list[JudgeFacts]


class Calibrations:
    """Maps of a judge's scores to qualities, of each model its own, fitted without a fold or on all rows.

    What a map is fitted to are sums by score; those of all rows less those of a fold are those of the others, so that
    scores are sorted once.
    """

    def __init__(self, score: Floats, quality: Floats, fold: Ints, folds: int) -> None:
        self.folds, self._models = folds, score.shape[1]
        known = ~np.isnan(score + quality)
        self._maps: list[list[IsotonicMap]] = []  #: by fold, the last on all rows, and model
        self._distinct: list[tuple[Floats, Ints]] = []
        by_model = []
        for model in range(self._models):
            rows = np.flatnonzero(known[:, model])
            at, places = np.unique(score[:, model], return_inverse=True)
            self._distinct.append((at, places))
            cells = fold[rows] * len(at) + places[rows]
            shape = (folds, len(at))
            count = np.bincount(cells, minlength=folds * len(at)).reshape(shape)
            sums = np.bincount(cells, quality[rows, model], folds * len(at)).reshape(shape)
            own = np.vstack([count, np.zeros_like(count[:1])]), np.vstack([sums, np.zeros_like(sums[:1])])
            by_model.append([self._map(at, count.sum(0) - c, sums.sum(0) - s) for c, s in zip(*own)])
        self._maps = [list(maps) for maps in zip(*by_model)]

    @staticmethod
    def _map(at: Floats, count: npt.NDArray[np.integer], sums: Floats) -> IsotonicMap:
        some = count > 0
        return IsotonicMap.fit(at[some], sums[some] / count[some], count[some].astype(float))

    def seen(self, fold: int) -> Floats:
        """Rows x models: the qualities that scores tell of, by maps without that fold; `folds` is none."""
        columns = []
        for (at, places), of in zip(self._distinct, self._maps[fold]):
            columns.append(of(at)[places] if len(of.scores) else np.full(len(places), np.nan))
        return np.column_stack(columns)


@dataclass(frozen=True)
class ModelIndices:
    """Weitzman's policy without a context: models in the order of their indices, until the best seen reaches the next.

    The first model is called in any case. The best seen answer is deployed, the first of equal ones.
    """

    order: tuple[int, ...]
    indices: tuple[float, ...]  #: of `order`, descending, in units of quality

    @staticmethod
    def fit(seen: Floats, usd: Floats, price: float) -> ModelIndices:
        """Of the models' marginal laws, at a cost of price x the mean of dollars. seen, usd: rows x models.

        The order is optimal where the models' answers are independent (Weitzman 1979).
        """
        index = np.array([reservation_value(of, price * cost) for of, cost in zip(seen.T, usd.mean(axis=0).tolist())])
        order = np.argsort(-index, kind="stable")
        return ModelIndices(tuple(order.tolist()), tuple(index[order].tolist()))

    def numbers(self, outcomes: Outcomes) -> Floats:
        """3 x rows: quality, dollars, calls."""
        rows = len(outcomes.quality)
        out, best, goes_on = np.zeros((3, rows)), np.full(rows, -np.inf), np.arange(rows)
        for position, model in enumerate(self.order):
            seen = outcomes.seen[goes_on, model]
            out[USD, goes_on] += outcomes.usd[goes_on, model]
            out[CALLS, goes_on] += 1.0
            better = seen > best[goes_on]
            rows_better = goes_on[better]
            best[rows_better] = seen[better]
            out[QUALITY, rows_better] = outcomes.quality[rows_better, model]
            if position + 1 < len(self.order):
                goes_on = goes_on[~(best[goes_on] >= self.indices[position + 1])]
        return out


def reservation_value(values: Floats, cost: float) -> float:
    """The sigma with mean((value - sigma)^+) = cost: seen already, it makes opening worth nothing more.

    Below the least value it is mean - cost; at a cost of 0 the greatest value. By Newton's method from the left on a
    convex, decreasing function of pieces: exact after the last piece is found.
    """
    count = len(values)
    sigma, active = float(values.mean()) - cost, count
    while True:
        values = values[values > sigma]
        if not 0 < len(values) < active:
            return sigma
        active = len(values)
        sigma = (float(values.sum()) - count * cost) / active


@dataclass(frozen=True)
class Fitted:
    """What was fitted on some rows."""

    single: int
    cascade: Order
    index: ModelIndices

    @staticmethod
    def on(outcomes: Outcomes, price: float) -> Fitted:
        """On all of these."""
        single = int(np.argmax(np.sum(outcomes.quality - price * outcomes.usd, axis=0)))
        some = outcomes
        if len(outcomes.quality) > EFFORT.prompts:  # as the search would take them
            some = outcomes.take(np.arange(EFFORT.prompts) * len(outcomes.quality) // EFFORT.prompts)
        return Fitted(single, best_order(some, price, EFFORT), ModelIndices.fit(outcomes.seen, outcomes.usd, price))


@dataclass(frozen=True)
class Headroom:
    """What routing can pay at a price, utility per dollar.

    Policies are fitted once for each fold, on the prompts outside it, and judged in it: calibration of the scores,
    order, thresholds, indices and the choice of the single model. Gains are over the best single model and count how
    they would have come out on another table; all else has intervals over prompts alone.
    """

    price: float
    best_single: Worth
    fixed_cascade: Worth
    index_policy: Worth
    #: Every prompt's best answer, known beforehand and opened alone; NaN where qualities are estimated.
    bound: Worth
    single_in_hindsight: Interval  #: utility of the single model that was chosen on the same rows
    by_cascade: bool  #: whether the cascade has the greater utility, else the index policy
    #: Of the better of the two over the best single model. Which one that is, is decided for each fold on the others.
    routing_gain: Interval
    fitted: Fitted  #: on all rows: what to deploy
    folds: int

    @property
    def pays(self) -> bool:
        """Whether the gain is sure."""
        return self.routing_gain.low > 0.0


@dataclass(frozen=True)
class Check:
    """What `pandora trace check` says of a table."""

    table: _core.TraceTable
    evaluator: str
    facts: TableFacts
    headrooms: list[Headroom]  #: by price
    verdicts: list[str]  #: by price
    means: list[EstimatedMean]  #: of the models, where not all qualities are known; else none
    can: Identified


def check_table(table: _core.TraceTable, evaluator: str = TRUTH, prices: Sequence[float] = (5.0, 50.0)) -> Check:
    """Of a log, which has no headroom, what its calls say.

    `evaluator`: what is seen of an answer when its model was called. Where some qualities are not known, nobody can
    look at them: the first judge's score is looked at then. Refuses another evaluator or price; DataError for a table
    of fewer than two prompts or too many models.
    """
    quality: Floats = table.quality()
    at = prices[0] if len(prices) else 0.0
    require_few_models(table.source, table.models, np.nan_to_num(quality), np.nan_to_num(table.cost()), at, "checked")
    log, holes = is_log(table), unlabelled(table) > 0
    if evaluator == TRUTH and holes and table.scores:
        evaluator = "score" if table.scores[0] == "score" else f"score:{table.scores[0]}"
    groups = Groups.of_table(table)
    means = estimated_means(table, evaluator) if log or holes else []
    headrooms: list[Headroom] = []
    of_judges: dict[str, Calibrations] = {}
    if not log:
        require_prices(prices, "a number from 0 to 1e9, such as 5")
        require_table(table)
        if evaluator == NONE:
            remedy = "use quality (the truth), score, or score:NAME for one of several judges"
            raise Refusal("evaluator", NONE, "unknown", remedy)
        source = TableSource(table, evaluator)
        if groups.count < 2:
            raise DataError(
                f"{table.source}: has {groups.count} prompt{'' if groups.count == 1 else 's'}: nothing is left to "
                "judge on what is fitted on others; give a table of at least 2 different prompts, better hundreds"
            )
        folds = min(FOLDS, groups.count)
        calibrations = None
        if source.shown is not None:
            calibrations = Calibrations(source.shown, source.quality, groups.of_row % folds, folds)
            if not source.estimated:  # facts are by what is known
                of_judges = {name: calibrations for name in table.scores if _names(evaluator, name)}
        headrooms = measure_headroom(source, calibrations, folds, prices)
    facts = table_facts(table, groups, quality, of_judges)
    verdicts = [verdict(headroom, table.models, evaluator) for headroom in headrooms]
    return Check(table, evaluator, facts, headrooms, verdicts, means, identified(table))


def table_facts(
    table: _core.TraceTable, groups: Groups, quality: Floats, calibrations: Optional[dict[str, Calibrations]] = None
) -> TableFacts:
    """Of a table with at least one row. `calibrations`: of some judges, where they are there already."""
    usd: Floats = table.cost()
    models = range(quality.shape[1])
    known = calibrations or {}
    return TableFacts(
        groups.count,
        [Range.of(quality[:, model]) for model in models],
        [Range.of(usd[:, model], 1000.0) for model in models],
        np.array([[correlation(quality[:, a], quality[:, b]) for b in models] for a in models]),
        [_judge_facts(name, table.score(name), quality, groups, known.get(name)) for name in table.scores],
    )


def correlation(a: Floats, b: Floats) -> float:
    """Pearson's, of the pairs that are known; NaN where one does not vary."""
    known = ~np.isnan(a + b)
    a, b = a[known], b[known]
    if not len(a) or not (a != a[0]).any() or not (b != b[0]).any():
        return math.nan
    a, b = a - a.mean(), b - b.mean()
    return float(np.dot(a, b) / math.sqrt(float(np.dot(a, a)) * float(np.dot(b, b))))


def _judge_facts(
    name: str, score: Floats, quality: Floats, groups: Groups, calibrations: Optional[Calibrations]
) -> JudgeFacts:
    of_mean, of_score = _squared_errors(score, quality, groups, calibrations)

    def explained(mean: float, by_score: float) -> float:
        return 1.0 - by_score / mean if mean > 0.0 else math.nan

    known = ~np.isnan(score + quality)
    tenth = np.minimum((10.0 * score[known]).astype(np.int64), 9)
    answers = np.bincount(tenth, minlength=10)
    with np.errstate(invalid="ignore"):
        means = [np.bincount(tenth, of[known], 10) / answers for of in (score, quality)]
    return JudgeFacts(
        name,
        ScoreFacts(correlation(score.ravel(), quality.ravel()), explained(float(of_mean.sum()), float(of_score.sum()))),
        [
            ScoreFacts(correlation(score[:, model], quality[:, model]), explained(*pair))
            for model, pair in enumerate(zip(of_mean.tolist(), of_score.tolist()))
        ],
        answers,
        *means,
    )


def _squared_errors(
    score: Floats, quality: Floats, groups: Groups, calibrations: Optional[Calibrations]
) -> tuple[Floats, Floats]:
    """By model, of its mean and of the calibrated score, both on the prompts of each fold by what the others say."""
    folds, models = min(FOLDS, groups.count), quality.shape[1]
    out = np.zeros(models), np.zeros(models)
    if folds < 2:
        return out
    fold = groups.of_row % folds
    maps = calibrations or Calibrations(score, quality, fold, folds)
    known = ~np.isnan(quality)
    filled = np.nan_to_num(quality)
    sums = np.stack([filled[fold == f].sum(axis=0) for f in range(folds)])
    counts = np.stack([known[fold == f].sum(axis=0) for f in range(folds)])
    for f in range(folds):
        with np.errstate(invalid="ignore"):
            mean = (sums.sum(axis=0) - sums[f]) / (counts.sum(axis=0) - counts[f])
        rows = fold == f
        judged = quality[rows] - np.where(np.isnan(score[rows]), np.nan, 0.0)
        seen = maps.seen(f)[rows]
        for total, guess in zip(out, (mean, seen)):
            error = (judged - guess) ** 2
            total += np.where(np.isnan(judged), 0.0, error).sum(axis=0)
    return out


def measure_headroom(
    source: TableSource, calibrations: Optional[Calibrations], folds: int, prices: Sequence[float]
) -> list[Headroom]:
    """At each price. `calibrations`: of what the evaluator shows; None where that is the truth."""
    fold = source.groups.of_row % folds
    judged = np.empty((len(prices), 3, 3, len(fold)))  # prices x single, cascade, index x numbers x rows
    fits: list[list[Fitted]] = [[] for _ in prices]  # the last on all rows
    for without in range(folds + 1):
        training, held = np.flatnonzero(fold != without), np.flatnonzero(fold == without)
        seen = source.quality if calibrations is None else calibrations.seen(without)
        outcomes = Outcomes(seen, source.quality, source.usd)
        some = outcomes if without == folds else outcomes.take(training)
        others = outcomes.take(held)
        for p, price in enumerate(prices):
            fit = Fitted.on(some, price)
            fits[p].append(fit)
            if without == folds:
                continue
            numbers = Order((fit.single,)).walk(others).numbers, fit.cascade.walk(others).numbers
            for policy, of in enumerate((*numbers, fit.index.numbers(others))):
                judged[p, policy][:, held] = of
    return [_conclude(source, price, judged[p], fits[p], fold) for p, price in enumerate(prices)]


def _conclude(source: TableSource, price: float, judged: Floats, fits: Sequence[Fitted], fold: Ints) -> Headroom:
    groups, (single, cascade, index), fitted, folds = source.groups, judged, fits[-1], len(fits) - 1
    one = len(source.models) == 1
    # What is the single model in every fold gains nothing, which is no estimate.
    same = True, one or all(fit.cascade.order == (fit.single,) for fit in fits), one
    widening = math.sqrt(1.0 + folds / (folds - 1.0))  # of what was fitted on other folds (Nadeau and Bengio 2003)

    def gain(numbers: Floats) -> Interval:
        at = Aim(AimKind.PRICE, price)
        return difference(numbers, single, at, price, groups).widened(widening).interval()

    def worth(numbers: Floats, is_single: bool) -> Worth:
        of = Worth.of(numbers, single, price, groups, 1.0)
        return replace(of, gain=NOTHING if is_single else gain(numbers))

    worths = [worth(numbers, is_single) for numbers, is_single in zip(judged, same)]
    lead = utility(cascade, price) - utility(index, price)
    in_others = (1.0 - np.eye(folds)) @ np.bincount(fold, lead, folds)  # sums of folds: exactly 0 where all are equal
    better = np.where(in_others[fold] > 0.0, cascade, index)
    in_hindsight = source.quality[:, fitted.single], source.usd[:, fitted.single]
    hindsight = Estimate.mean(in_hindsight[0], groups, (0.0, 1.0)) - price * Estimate.mean(in_hindsight[1], groups)
    return Headroom(
        price,
        worths[0],
        worths[1],
        worths[2],
        Worth.unknown() if source.estimated else worth(_best_answers(source, price), one),
        hindsight.interval(),
        worths[1].utility.value > worths[2].utility.value,
        NOTHING if one or (same[1] and (in_others > 0.0).all()) else gain(better),
        fitted,
        folds,
    )


def _best_answers(source: TableSource, price: float) -> Floats:
    """3 x rows: every prompt's answer of the greatest utility, opened alone."""
    best = np.argmax(source.quality - price * source.usd, axis=1)
    at = np.arange(len(best)), best
    return np.stack([source.quality[at], source.usd[at], np.ones(len(best))])


def verdict(headroom: Headroom, models: Sequence[str], evaluator: str) -> str:
    """One sentence: what routing pays at this price, or that no cascade is better than the best single model."""
    single, h = models[headroom.fitted.single], headroom
    policy = "the fixed cascade" if h.by_cascade else "the index policy"
    gain, bound = interval_text(h.routing_gain, 4), h.bound.gain.value
    if math.isnan(bound):
        return (
            f"{'routing pays' if h.pays else 'no cascade is better'} at price {h.price:g} with this evaluator "
            f"({evaluator}): {policy} gains {gain} in utility per prompt over {single}"
        )
    if h.pays:
        return (
            f"routing can pay up to {bound:.4f} in utility per prompt at price {h.price:g}: so much is the bound above "
            f"{single}; {policy} gains {gain} with this evaluator ({evaluator})"
        )
    return (
        f"no cascade is better than {single} with this evaluator ({evaluator}) at price {h.price:g}: {policy} gains "
        f"{gain} in utility per prompt, and the bound is {bound:.4f} above"
    )


def require_prices(prices: Sequence[float], wanted: str) -> None:
    """Refuses what is no utility per dollar. `wanted`: which numbers are."""
    for price in prices:
        if not 0.0 <= price <= MOST_PRICE:
            raise Refusal("price", float(price), "out of range", f"give utility per dollar, {wanted}")


def require_table(table: _core.TraceTable) -> None:
    """DataError for a table without prompts or models."""
    if not table.models or not table.rows:
        raise DataError(
            f"{table.source}: has {table.rows} prompts and {len(table.models)} models; give at least one of each"
        )


def check_json(check: Check) -> dict[str, Any]:
    """docs/commands.md lists the members. Numbers that do not exist are null."""
    table = check.table
    models: list[dict[str, Any]] = [
        {"model": name, "quality": _range_json(quality), "usd_per_1000": _range_json(usd)}
        for name, quality, usd in zip(table.models, check.facts.quality, check.facts.usd_per_1000)
    ]
    for model, mean in zip(models, check.means):
        model["estimated_quality"] = interval_json(mean.quality)
        model["times_as_wide"] = _known(mean.widening)
    facts = {
        "models": models,
        "correlation": [[_known(x) for x in row] for row in check.facts.correlation.tolist()],
        "judges": [_judge_json(judge, table.models) for judge in check.facts.judges],
    }
    return {
        "table": table.source,
        "rows": table.rows,
        "prompts": check.facts.prompts,
        "dropped": table.dropped,
        "notes": list(table.notes),
        "models": list(table.models),
        "evaluator": check.evaluator,
        "facts": facts,
        "estimators": check.can.estimators,
        "reasons": check.can.reasons,
        "prices": [_price_json(h, told, table.models) for h, told in zip(check.headrooms, check.verdicts)],
        "verdict": "; ".join(check.verdicts),
    }


def _judge_json(judge: JudgeFacts, models: Sequence[str]) -> dict[str, Any]:
    return {
        "score": judge.name,
        **_score_json(judge.all),
        "models": [{"model": name, **_score_json(facts)} for name, facts in zip(models, judge.models)],
        "tenths": [
            {"answers": int(answers), "score": _known(score), "quality": _known(quality)}
            for answers, score, quality in zip(judge.answers, judge.score.tolist(), judge.quality.tolist())
        ],
    }


def _price_json(h: Headroom, told: str, models: Sequence[str]) -> dict[str, Any]:
    cascade, index = h.fitted.cascade, h.fitted.index
    return {
        "price": h.price,
        "best_single": {
            **_worth_json(h.best_single),
            "model": models[h.fitted.single],
            "in_hindsight": interval_json(h.single_in_hindsight),
        },
        "fixed_cascade": {
            **_worth_json(h.fixed_cascade),
            "order": [models[model] for model in cascade.order],
            "thresholds": list(cascade.thresholds),
        },
        "index_policy": {
            **_worth_json(h.index_policy),
            "order": [models[model] for model in index.order],
            "indices": list(index.indices),
        },
        "bound": _worth_json(h.bound),
        "routing": {
            "policy": "fixed_cascade" if h.by_cascade else "index_policy",
            "gain": interval_json(h.routing_gain),
            "pays": h.pays,
        },
        "verdict": told,
    }


def _worth_json(worth: Worth) -> dict[str, Any]:
    """The utility, with other numbers beside its value and ends."""
    out = interval_json(worth.utility)
    for name in ("gain", "quality", "usd_per_1000"):
        out[name] = interval_json(getattr(worth, name))
    return {**out, "calls": _known(worth.calls.value)}


def _score_json(facts: ScoreFacts) -> dict[str, Any]:
    return {"correlation": _known(facts.correlation), "explained": _known(facts.explained)}


def _range_json(of: Range) -> dict[str, Any]:
    return {"mean": _known(of.mean), "least": _known(of.least), "greatest": _known(of.greatest)}


def _known(x: float) -> Optional[float]:
    return x if math.isfinite(x) else None


def check_sheets(check: Check) -> list[Sheet]:
    """The models, their correlations, the judges and the headroom at each price."""
    out = [_models_sheet(check), _correlation_sheet(check)]
    if check.facts.judges:
        out.append(_judges_sheet(check))
    out += [_calibration_sheet(judge) for judge in check.facts.judges]
    return out + [_headroom_sheet(check, h, told) for h, told in zip(check.headrooms, check.verdicts)]


def _models_sheet(check: Check) -> Sheet:
    table, facts = check.table, check.facts
    out = Sheet(
        f"{table.rows} prompts, {len(table.models)} models: quality, and dollars per 1,000 prompts",
        ["model", "quality", "least", "greatest", "$ per 1,000", "least", "greatest"],
    )
    out.columns += ["estimated quality", "times as wide"] if check.means else []
    for model, name in enumerate(table.models):
        quality, usd = facts.quality[model], facts.usd_per_1000[model]
        cells = [number_text(x, 4) for x in (quality.mean, quality.least, quality.greatest)]
        cells += [_dollars(x) for x in (usd.mean, usd.least, usd.greatest)]
        if check.means:
            mean = check.means[model]
            cells += [interval_text(mean.quality, 4), number_text(mean.widening, 2)]
        out.add(name, *cells)
    if facts.prompts < table.rows:
        out.notes.append(
            f"{table.rows - facts.prompts} rows have the prompt of another row; intervals count {facts.prompts} "
            "different prompts"
        )
    log = is_log(table)
    if log or check.means:
        out.notes.append(f"estimators for it: {', '.join(check.can.estimators)}")
        out.notes += check.can.reasons
    if log:
        out.notes.append(
            "quality and dollars are plain means over the calls that were made and what is known of them, which "
            "depends on what was decided: they do not compare models; prices are not used, as `pandora cascade fit` "
            "says what pays"
        )
    if check.means:
        out.notes.append(
            "estimated quality: of the model alone, with its 95% interval, by what is known and with what probability; "
            "it is so many times as wide as were all answers of as many prompts known"
        )
    out.notes += table.notes
    return out


def _correlation_sheet(check: Check) -> Sheet:
    out = Sheet("Correlation of the models' qualities (indices are optimal for independent models)", ["model"])
    out.columns += [str(b + 1) for b in range(len(check.table.models))]
    for a, name in enumerate(check.table.models):
        out.add(f"{a + 1} {name}", *(number_text(x, 2) for x in check.facts.correlation[a].tolist()))
    return out


def _judges_sheet(check: Check) -> Sheet:
    out = Sheet(
        "Judges: correlation of score and quality, and the share of the quality's variance within a model that the "
        "calibrated score explains",
        ["score", "model", "correlation", "explained"],
        headers=2,
    )
    for number, judge in enumerate(check.facts.judges):
        rows = [(judge.name, "all", judge.all), *(("", m, f) for m, f in zip(check.table.models, judge.models))]
        for score, model, facts in rows:
            told = number_text(facts.correlation, 2), number_text(facts.explained, 2)
            out.add(score, model, *told, rule=number > 0 and model == "all" and score == judge.name)
    return out


def _calibration_sheet(judge: JudgeFacts) -> Sheet:
    out = Sheet(
        f"What {judge.name} says: mean quality of the answers by their score",
        ["score", "answers", "mean score", "mean quality"],
    )
    for k, answers in enumerate(judge.answers.tolist()):
        told = number_text(float(judge.score[k]), 3), number_text(float(judge.quality[k]), 3)
        out.add(f"{k / 10:.1f} to {(k + 1) / 10:.1f}", answers, *told)
    return out


def _headroom_sheet(check: Check, h: Headroom, told: str) -> Sheet:
    models = check.table.models
    out = Sheet(
        f"Price {h.price:g}: utility = quality - {h.price:g} x dollars, evaluator {check.evaluator}; 95% intervals "
        f"over {check.facts.prompts} prompts",
        ["policy", "utility", "gain over best single", "quality", "$ per 1,000", "calls"],
    )
    policies = ("best single", h.best_single), ("fixed cascade", h.fixed_cascade)
    for name, worth in (*policies, ("index policy", h.index_policy), ("bound", h.bound)):
        gain = interval_text(UNKNOWN if worth is h.best_single else worth.gain, 4)
        means = (
            number_text(worth.quality.value, 4),
            _dollars(worth.usd_per_1000.value),
            number_text(worth.calls.value, 2),
        )
        out.add(name, interval_text(worth.utility, 4), gain, *means)
    scale = "" if check.evaluator == TRUTH else "; stops are on the calibrated score"
    cascade, index = h.fitted.cascade, h.fitted.index
    out.notes += [
        f"fitted and judged on different prompts, in {h.folds} folds; fitted on all prompts{scale}:",
        f"  best single: {models[h.fitted.single]}, {interval_text(h.single_in_hindsight, 4)} in hindsight",
        f"  fixed cascade: {_with_stops(models, cascade.order, cascade.thresholds)}",
        f"  index policy: {_with_stops(models, index.order, index.indices[1:])}",
        f"verdict: {told}",
    ]
    return out


def _with_stops(models: Sequence[str], order: Sequence[int], stops: Sequence[float]) -> str:
    """An order with what is asked between its models."""
    told = [f"{models[model]} (stop from {stop:.4g})" for model, stop in zip(order, stops)]
    return ", ".join([*told, models[order[-1]]])


def _dollars(x: float) -> str:
    return f"{x:.2g}" if x != 0.0 and abs(x) < 0.1 else number_text(x, 2)


def _names(evaluator: str, score: str) -> bool:
    """Whether the evaluator is this judge."""
    name = "score" if evaluator == "score" else evaluator[len("score:") :]
    return score in (name, f"score_{name}", f"score:{name}")


__all__ = [
    "Calibrations",
    "Check",
    "Fitted",
    "Headroom",
    "JudgeFacts",
    "ModelIndices",
    "Range",
    "ScoreFacts",
    "TableFacts",
    "check_json",
    "check_sheets",
    "check_table",
    "correlation",
    "measure_headroom",
    "require_prices",
    "require_table",
    "reservation_value",
    "table_facts",
    "verdict",
]
