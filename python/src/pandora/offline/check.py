"""What a table says of its models and judges, and what routing on it can pay."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

import numpy as np

from .. import _core
from ..errors import DataError
from ..indices import reservation_index
from ..spelling import typed
from .choose import difference
from .errors import Refusal
from .estimate import UNKNOWN, Estimate, Interval, cross_fitted
from .groups import FOLDS, Floats, Groups, Ints
from .identified import Identified, estimated_means, identified, is_log, unlabelled
from .kinds import Aim, AimKind
from .learners.isotonic import applied, calibrations
from .options import OPTIONS, require_few_models
from .outcomes import Outcomes, utility
from .policies.order import LARGE, Order, best_order, best_single
from .record import json_object
from .sheet import Sheet
from .sources.evaluator import NONE, TRUTH, judges_of
from .sources.table import TableSource
from .text import interval_text, number_text, order_text
from .worth import Worth

#: The gain of a policy over itself.
NOTHING = Interval(0.0, 0.0, 0.0)


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
        index = reservation_index(seen.T, price * usd.mean(axis=0))
        order = np.argsort(-index, kind="stable")
        return ModelIndices(tuple(order.tolist()), tuple(index[order].tolist()))

    def numbers(self, outcomes: Outcomes) -> Floats:
        """3 x rows: quality, dollars, calls."""
        order, rows = list(self.order), np.arange(len(outcomes.quality))
        seen = outcomes.seen[:, order]
        enough = np.maximum.accumulate(seen, axis=1) >= (*self.indices[1:], -math.inf)
        last = enough.argmax(axis=1)  # position of the last call
        best = np.where(np.arange(len(order)) <= last[:, None], seen, -math.inf).argmax(axis=1)
        usd = outcomes.usd[:, order].cumsum(axis=1)[rows, last]
        return np.stack([outcomes.quality[:, order][rows, best], usd, last + 1.0])


@dataclass(frozen=True)
class FoldFit:
    """What was fitted on some rows."""

    single: int
    cascade: Order
    index: ModelIndices

    @staticmethod
    def on(outcomes: Outcomes, price: float) -> FoldFit:
        """On all of these."""
        (single,) = best_single(outcomes.quality, outcomes.usd, price).order
        index = ModelIndices.fit(outcomes.seen, outcomes.usd, price)
        return FoldFit(single, best_order(outcomes, price, LARGE), index)


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
    #: The gain of the better of the two over the best single model. The other folds choose which, for each fold.
    routing_gain: Interval
    fitted: FoldFit  #: on all rows: what to deploy
    folds: int

    @property
    def by_cascade(self) -> bool:
        """Whether the cascade has the greater utility, else the index policy."""
        return self.fixed_cascade.utility.value > self.index_policy.utility.value

    @property
    def pays(self) -> bool:
        """Whether the gain is sure."""
        return self.routing_gain.low > 0.0


@dataclass(frozen=True)
class Check:
    """What `pandora trace check` says of a table."""

    table: _core.TraceTable
    evaluator: str
    prompts: int  #: different ones
    facts: dict[str, Any]  #: by table_facts() and, of models whose qualities are not all known, estimated_means()
    headrooms: list[Headroom]  #: by price
    can: Identified

    @property
    def verdicts(self) -> list[str]:
        """By price."""
        return [verdict(headroom, self.table.models, self.evaluator) for headroom in self.headrooms]


def check_table(table: _core.TraceTable, evaluator: str = TRUTH, prices: Sequence[float] = (5.0, 50.0)) -> Check:
    """Of a log, which has no headroom, what its calls say.

    `evaluator`: what is seen of an answer when its model was called. Where some qualities are not known, nobody can
    look at them: the first judge's score is looked at then. Refuses another evaluator or price; DataError for a table
    of fewer than two prompts or too many models.
    """
    first_price = prices[0] if len(prices) else 0.0
    usable = np.nan_to_num(table.quality()), np.nan_to_num(table.cost())
    require_few_models(table.source, table.models, *usable, first_price, "checked")
    log, holes = is_log(table), unlabelled(table) > 0
    if evaluator == TRUTH and holes and table.scores:
        evaluator = judges_of(table)[0]
    if evaluator == TRUTH and table.judged_by:
        evaluator = table.judged_by.replace("score_", "score:")
    groups = Groups.of_table(table)
    means = estimated_means(table, evaluator) if log or holes else []
    headrooms, of_judges = [], {}
    if not log:
        require_prices(prices, "a number from 0 to 1e9, such as 5")
        if not table.models or not table.rows:
            raise DataError(
                f"{table.source}: has {table.rows} prompts and {len(table.models)} models; give at least one of each"
            )
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
        seen = [source.quality] * (folds + 1)
        if source.shown is not None:
            seen = calibrated_by_fold(source.shown, source.quality, groups.of_row % folds, folds)
            if not source.estimated:  # facts are by what is known
                of_judges = {name: seen for judge, name in zip(judges_of(table), table.scores) if judge == evaluator}
        headrooms = measure_headroom(source, seen, prices)
    facts = table_facts(table, groups, of_judges)
    for model, mean in zip(facts["models"], means):
        model |= {"estimated_quality": mean.quality, "times_as_wide": mean.widening}
    return Check(table, evaluator, groups.count, facts, headrooms, identified(table))


def calibrated_by_fold(score: Floats, quality: Floats, fold: Ints, folds: int) -> list[Floats]:
    """By fold, rows x models: the qualities that scores tell of, by maps without that fold; the last by all rows."""
    maps = (calibrations(score, quality, np.flatnonzero(fold != without)) for without in range(folds + 1))
    return [applied(of_fold, score) for of_fold in maps]


def table_facts(
    table: _core.TraceTable, groups: Groups, of_judges: Optional[Mapping[str, Sequence[Floats]]] = None
) -> dict[str, Any]:
    """What a table with at least one row holds, before any routing: `facts` of check_json(), NaN for what is unknown.

    `of_judges`: calibrations() of some scores, where they are there already.
    """
    quality, usd_per_1000 = table.quality(), 1000.0 * table.cost()
    folds = min(FOLDS, groups.count)
    fold, judges = groups.of_row % folds, []
    for name in table.scores:
        if name.replace("score_", "score:") == table.judged_by.replace("score_", "score:"):
            continue  # it is the quality
        score: Floats = table.score(name)
        seen = (of_judges or {}).get(name) or calibrated_by_fold(score, quality, fold, folds)
        judges.append({"score": name, **_judge_facts(table.models, score, quality, fold, seen)})
    models = zip(table.models, map(_range, quality.T), map(_range, usd_per_1000.T))
    return {
        "models": [dict(zip(("model", "quality", "usd_per_1000"), facts)) for facts in models],
        "correlation": [[correlation(a, b) for b in quality.T] for a in quality.T],
        "judges": judges,
    }


def _range(values: Floats) -> dict[str, float]:
    """Of what is known of a column."""
    known = values[~np.isnan(values)]
    numbers = map(float, (known.mean(), known.min(), known.max()) if len(known) else [math.nan] * 3)
    return dict(zip(("mean", "least", "greatest"), numbers))


def _judge_facts(
    models: Sequence[str], score: Floats, quality: Floats, fold: Ints, seen: Sequence[Floats]
) -> dict[str, Any]:
    """How well a judge's score tells the quality of answers; NaN where scores or qualities do not vary.

    score, quality: rows x models; `seen`: by calibrations(). `explained`: the share of the quality's variance within
    models that the calibrated score explains, on prompts that it was not calibrated on: 1 - sum (quality - calibrated
    score)^2 / sum (quality - mean of the model)^2. Below 0 where the score is worse than the mean. `tenths`: of answers
    whose scores are in [k / 10, (k + 1) / 10), of the last one with 1, how many there are, and means.
    """
    with np.errstate(invalid="ignore"):
        by_mean, by_score = (np.append(sums.sum(), sums) for sums in _squared_errors(score, quality, fold, seen))
        whole, *explained = (1.0 - by_score / np.where(by_mean > 0.0, by_mean, np.nan)).tolist()
        known = ~np.isnan(score + quality)
        tenth = np.minimum((10.0 * score[known]).astype(np.int64), 9)
        answers = np.bincount(tenth, minlength=10)
        means = [(np.bincount(tenth, cells[known], 10) / answers).tolist() for cells in (score, quality)]
    each = zip(models, map(correlation, score.T, quality.T), explained)
    return {
        "correlation": correlation(score.ravel(), quality.ravel()),
        "explained": whole,
        "models": [dict(zip(("model", "correlation", "explained"), facts)) for facts in each],
        "tenths": [dict(zip(("answers", "score", "quality"), facts)) for facts in zip(answers.tolist(), *means)],
    }


def correlation(a: Floats, b: Floats) -> float:
    """Pearson's, of the pairs that are known; NaN where one does not vary."""
    known = ~np.isnan(a + b)
    a, b = a[known], b[known]
    if not len(a) or np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return math.nan
    return float(np.corrcoef(a, b)[0, 1])


def _squared_errors(score: Floats, quality: Floats, fold: Ints, seen: Sequence[Floats]) -> tuple[Floats, Floats]:
    """By model, of its mean and of the calibrated score, both on the prompts of each fold by what the others say."""
    by_mean, by_score = np.zeros((2, quality.shape[1]))
    known = ~np.isnan(quality)
    for without in range(len(seen) - 1 if len(seen) > 2 else 0):
        rows = fold == without
        others, judged = known & ~rows[:, None], known[rows] & ~np.isnan(score[rows])
        with np.errstate(invalid="ignore"):
            mean = np.where(others, quality, 0.0).sum(axis=0) / others.sum(axis=0)
        for total, guess in ((by_mean, mean), (by_score, seen[without][rows])):
            total += np.where(judged, (quality[rows] - guess) ** 2, 0.0).sum(axis=0)
    return by_mean, by_score


def measure_headroom(source: TableSource, seen: Sequence[Floats], prices: Sequence[float]) -> list[Headroom]:
    """At each price. `seen`: by fold, rows x models, what fits without it see; the last of fits on all rows.

    crossfit.crossfit does not do it: a check takes tables of two prompts and more, which have fewer folds, and one of
    its policies, ModelIndices, is no kind of cascade.
    """
    folds = len(seen) - 1
    fold = source.groups.of_row % folds
    judged = np.empty((len(prices), 3, 3, len(fold)))  # prices x single, cascade, index x numbers x rows
    fits: list[list[FoldFit]] = [[] for _ in prices]  # the last on all rows
    for without in range(folds + 1):
        others, held = np.flatnonzero(fold != without), np.flatnonzero(fold == without)
        outcomes = Outcomes(seen[without], source.quality, source.usd)
        fitted_on, unseen = outcomes.take(others), outcomes.take(held)
        for p, price in enumerate(prices):
            fit = FoldFit.on(fitted_on, price)
            fits[p].append(fit)
            walks = [order.walk(unseen).numbers for order in (Order((fit.single,)), fit.cascade)]
            judged[p][:, :, held] = (*walks, fit.index.numbers(unseen))
    return [_conclude(source, price, judged[p], fits[p], fold) for p, price in enumerate(prices)]


def _conclude(source: TableSource, price: float, judged: Floats, fits: Sequence[FoldFit], fold: Ints) -> Headroom:
    groups, (single, cascade, index), fitted, folds = source.groups, judged, fits[-1], len(fits) - 1
    one = len(source.models) == 1
    # What is the single model in every fold gains nothing, which is no estimate.
    same = one or all(fit.cascade.order == (fit.single,) for fit in fits)

    def gain(numbers: Floats, is_single: bool) -> Interval:
        aim = Aim(AimKind.PRICE, price)
        over_single = difference(numbers, single, aim, price, groups).widened(cross_fitted(folds))
        return NOTHING if is_single else over_single.interval()

    def worth(numbers: Floats, is_single: bool) -> Worth:
        return replace(Worth.of(numbers, single, price, groups, 1.0), gain=gain(numbers, is_single))

    lead = utility(cascade, price) - utility(index, price)
    in_others = (1.0 - np.eye(folds)) @ np.bincount(fold, lead, folds)  # sums of folds: exactly 0 where all are equal
    better = np.where(in_others[fold] > 0.0, cascade, index)
    hindsight = Estimate.mean(source.quality[:, fitted.single], groups, (0.0, 1.0))
    hindsight -= price * Estimate.mean(source.usd[:, fitted.single], groups)
    worths = worth(single, True), worth(cascade, same), worth(index, one)
    bound = Worth.unknown() if source.estimated else worth(_best_answers(source, price), one)
    routing_gain = gain(better, one or bool(same and (in_others > 0.0).all()))
    return Headroom(price, *worths, bound, hindsight.interval(), routing_gain, fitted, folds)


def _best_answers(source: TableSource, price: float) -> Floats:
    """3 x rows: every prompt's answer of the greatest utility, opened alone."""
    best = np.argmax(source.quality - price * source.usd, axis=1)
    cells = np.arange(len(best)), best
    return np.stack([source.quality[cells], source.usd[cells], np.ones(len(best))])


def verdict(h: Headroom, models: Sequence[str], evaluator: str, for_people: bool = False) -> str:
    """One sentence: what routing pays at this price, or that no cascade is better than the best single model.

    `for_people`: the same in short sentences.
    """
    single = models[h.fitted.single]
    policy = "the fixed cascade" if h.by_cascade else "the index policy"
    gain, bound = interval_text(h.routing_gain, 4), h.bound.gain.value
    if for_people:
        pays = "Calling several models pays" if h.pays else f"No cascade is surely better than {single}"
        out = (
            f"{pays} at price {h.price:g} with evaluator {evaluator}: {policy} gains {gain} utility per prompt over "
            f"{single}, the best single model."
        )
        return out if math.isnan(bound) else f"{out} No choice of models can gain more than {bound:.4f}, the bound."
    with_judge = f"with this evaluator ({evaluator})"
    if math.isnan(bound):
        pays = "routing pays" if h.pays else "no cascade is better"
        return f"{pays} at price {h.price:g} {with_judge}: {policy} gains {gain} in utility per prompt over {single}"
    if h.pays:
        return (
            f"routing can pay up to {bound:.4f} in utility per prompt at price {h.price:g}: so much is the bound above "
            f"{single}; {policy} gains {gain} {with_judge}"
        )
    return (
        f"no cascade is better than {single} {with_judge} at price {h.price:g}: {policy} gains {gain} in utility per "
        f"prompt, and the bound is {bound:.4f} above"
    )


def require_prices(prices: Sequence[float], wanted: str) -> None:
    """Refuses what is no utility per dollar. `wanted`: which numbers are."""
    for price in prices:
        if not 0.0 <= price <= OPTIONS["prices"].most:
            raise Refusal("price", float(price), "out of range", f"give utility per dollar, {wanted}")


def check_json(check: Check) -> dict[str, Any]:
    """docs/routing.md lists the members. Numbers that do not exist are null."""
    table = check.table
    return json_object(
        {
            "table": table.source,
            "rows": table.rows,
            "prompts": check.prompts,
            "dropped": table.dropped,
            "notes": list(table.notes),
            "models": list(table.models),
            "evaluator": check.evaluator,
            "facts": check.facts,
            "estimators": check.can.estimators,
            "reasons": typed(check.can.reasons),
            "prices": [_price_json(h, sentence, table.models) for h, sentence in zip(check.headrooms, check.verdicts)],
            "verdict": "; ".join(check.verdicts),
        }
    )


def _price_json(h: Headroom, sentence: str, models: Sequence[str]) -> dict[str, Any]:
    cascade, index = h.fitted.cascade, h.fitted.index

    def worth(policy: Worth, **more: Any) -> dict[str, Any]:
        """The utility, with other numbers beside its value and ends."""
        others = {name: getattr(policy, name) for name in ("gain", "quality", "usd_per_1000")}
        return {**policy.utility._asdict(), **others, "calls": policy.calls.value, **more}

    def names(order: Sequence[int]) -> list[str]:
        return [models[model] for model in order]

    by = "fixed_cascade" if h.by_cascade else "index_policy"
    return {
        "price": h.price,
        "best_single": worth(h.best_single, model=models[h.fitted.single], in_hindsight=h.single_in_hindsight),
        "fixed_cascade": worth(h.fixed_cascade, order=names(cascade.order), thresholds=cascade.thresholds),
        "index_policy": worth(h.index_policy, order=names(index.order), indices=index.indices),
        "bound": worth(h.bound),
        "routing": {"policy": by, "gain": h.routing_gain, "pays": h.pays},
        "verdict": sentence,
    }


def check_sheets(check: Check) -> list[Sheet]:
    """The models, their correlations, the judges and the headroom at each price."""
    models, facts = check.table.models, check.facts
    title = "Correlation of the models' qualities (the index policy presumes models that err independently, near 0)"
    correlations = Sheet(title, ["model", *(str(b + 1) for b in range(len(models)))])
    for a, row in enumerate(facts["correlation"]):
        correlations.add(f"{a + 1} {models[a]}", *(number_text(x, 2) for x in row))
    judges = Sheet(
        "Judges: correlation of score and quality, and how much of the variance of each model's quality the calibrated "
        "score explains",
        ["score", "model", "correlation", "explained"],
        headers=2,
    )
    out = [_models_sheet(check), correlations, *([judges] if facts["judges"] else [])]
    for judge in facts["judges"]:
        for by_model in ({**judge, "model": "all"}, *judge["models"]):
            first = "score" in by_model
            numbers = number_text(by_model["correlation"], 2), number_text(by_model["explained"], 2)
            judges.add(by_model.get("score", ""), by_model["model"], *numbers, rule=first and bool(judges.rows))
        title = f'What the judge "{judge["score"]}" says: mean quality of the answers by their score'
        tenths = Sheet(title, ["score", "answers", "mean score", "mean quality"])
        for k, tenth in enumerate(judge["tenths"]):
            means = number_text(tenth["score"], 3), number_text(tenth["quality"], 3)
            tenths.add(f"{k / 10:.1f} to {(k + 1) / 10:.1f}", tenth["answers"], *means)
        out.append(tenths)
    return out + [_headroom_sheet(check, h) for h in check.headrooms]


def _models_sheet(check: Check) -> Sheet:
    table, models = check.table, check.facts["models"]
    estimated = any("times_as_wide" in model for model in models)
    log = is_log(table)
    made = int(np.count_nonzero(~np.isnan(table.cost())))  # calls; a log has no cost of others
    calls = f", {made} calls" if log else ""
    out = Sheet(
        f"{table.rows} prompts, {len(table.models)} models{calls}: quality, and dollars per 1,000 prompts",
        ["model", "quality", "least", "greatest", "$ per 1,000", "least", "greatest"],
    )
    out.columns += ["estimated quality", "times as wide"] if estimated else []
    for facts in models:
        cells = [number_text(x, 4) for x in facts["quality"].values()]
        cells += [_dollars(x) for x in facts["usd_per_1000"].values()]
        if estimated:
            cells += [interval_text(facts["estimated_quality"], 4), number_text(facts["times_as_wide"], 2)]
        out.add(facts["model"], *cells)
    if check.prompts < table.rows:
        out.notes.append(
            f"{table.rows - check.prompts} rows repeat the prompt of another row, so intervals count {check.prompts} "
            "different prompts."
        )
    if log or estimated:
        out.notes += [
            f"Estimators of `pandora cascade test` that this table allows: {', '.join(check.can.estimators)}.",
            *typed(check.can.reasons),
        ]
    if log:
        out.notes.append(
            "Quality and dollars are plain means over the calls that were made. The log's decisions chose these calls, "
            "so the means do not compare models. A check of a log uses no price; `pandora cascade fit` says what pays."
        )
    if estimated:
        out.notes.append(
            'The "estimated quality" of each model alone has a 95% interval. It takes into account with what '
            'probability each quality became known. "times as wide" compares it with the interval if every quality '
            "were known."
        )
    out.notes += table.notes
    return out


def _headroom_sheet(check: Check, h: Headroom) -> Sheet:
    models, cascade, index = check.table.models, h.fitted.cascade, h.fitted.index
    out = Sheet(
        f"Price {h.price:g}: utility = quality - {h.price:g} x dollars, evaluator {check.evaluator}; 95% intervals "
        f"over {check.prompts} prompts",
        ["policy", "utility", "gain over best single", "quality", "$ per 1,000", "calls"],
    )
    for name in ("best_single", "fixed_cascade", "index_policy", "bound"):
        worth: Worth = getattr(h, name)
        gain = UNKNOWN if worth is h.best_single else worth.gain
        means = worth.quality.value, worth.usd_per_1000.value, worth.calls.value
        told_means = number_text(means[0], 4), _dollars(means[1]), number_text(means[2], 2)
        out.add(name.replace("_", " "), interval_text(worth.utility, 4), interval_text(gain, 4), *told_means)
    scale = "" if check.evaluator == TRUTH else " (with stops on the calibrated score)"
    orders = ("fixed cascade", cascade.order, cascade.thresholds), ("index policy", index.order, index.indices[1:])
    out.notes = [
        f"The table is of policies that were fitted and judged on different prompts, in {h.folds} folds. Fitted on all "
        f"prompts{scale}, they are:",
        f"  best single: {models[h.fitted.single]}, {interval_text(h.single_in_hindsight, 4)} on the prompts that "
        "chose it",
        *(f"  {name}: {order_text([models[m] for m in order], stops)}" for name, order, stops in orders),
        verdict(h, models, check.evaluator, for_people=True),
    ]
    return out


def _dollars(x: float) -> str:
    return f"{x:.2g}" if x != 0.0 and abs(x) < 0.1 else number_text(x, 2)
