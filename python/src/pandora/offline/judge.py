"""Tests a cascade on a table on which it was not fitted, beside one model alone: the output of `pandora cascade test`.

Every prompt goes through the cascade as in a service, without learning and exploring. For a full table, values are
plain means; for a table with some known qualities, and for a log of decisions, they are estimated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import DataError, UsageError
from ..live import RunningCascade
from ..live.learning import Learning
from ..spelling import option, typed
from .apart import NOTE as APART_NOTE
from .apart import estimate_apart
from .call_log import Bools, CallLog, Openings
from .errors import Refusal
from .estimate import Estimate, Interval
from .groups import Floats, Groups, Ints
from .identified import identified
from .learners.isotonic import IsotonicMap, applied
from .members import aim_of_record, judge_usd_of, record_of
from .notes import Topic, table_notes
from .options import OPTIONS, require_log_for
from .outcomes import USD, Outcomes, along, columns_called, nearest_rank
from .paths import Estimator, LoggedWalks, LogReader, LogSupport, PolicyEstimate, require_possible
from .plain import judging_text
from .policies import Policy
from .policies.indices import LearnedIndices
from .policies.order import Order, best_single
from .policies.router import Plans, walked
from .record import json_object
from .sheet import Sheet
from .sources.evaluator import NONE, TRUTH, shown_of
from .sources.labels import QualityEstimates, dependence_notes, label_note
from .sources.log import LogSource, faults_of_first_calls
from .text import interval_text, nearest_text, saving_text, share_text, usd_text
from .words import calls_one_model, evaluator_text, eyes_text, orders_of, tail_text
from .worth import DollarTail, Worth


@dataclass(frozen=True)
class Found:
    """The results of a cascade and of one model alone on a table."""

    worth: Worth
    alone: Worth
    effective_prompts: float  #: by the weights of the cascade's estimates; all prompts of a full table
    judged_calls: float  #: of the cascade, per prompt
    notes: list[str]
    tail: Optional[DollarTail] = None  #: of the cascade, if values are plain means
    latency: Optional[dict[str, Any]] = None  #: as in the output of `--format json`
    log_rules: Optional[Worth] = None  #: the rules that made a log; `gain`: that of the cascade over them


class Meeting:
    """A cascade and a table, with the cascade's models and features found in the table."""

    def __init__(
        self,
        cascade: RunningCascade,
        table: _core.TraceTable,
        evaluator: Optional[str],
        judge_usd: Optional[float],
        openings: Openings = Openings.IN_ORDER,
    ) -> None:
        self.cascade, self.table, self.arrays, self.openings = cascade, table, _core.TableArrays(table), openings
        self.file: dict[str, Any] = cascade.members.described()
        self.record = record_of(self.file)
        self.models: list[str] = self.file["models"]
        self.price, self.fitted_for = float(self.file["price"]), str(self.file["evaluator"])
        self.evaluator = evaluator or self.fitted_for
        if self.evaluator == NONE and not calls_one_model(self.file):
            raise Refusal("evaluator", NONE, "the cascade looks at scores", "name a judge, or quality")
        self.told_judge_usd = judge_usd if judge_usd is not None else judge_usd_of(self.record)
        self.judge_usd = self.told_judge_usd or 0.0
        self.columns = [self._column(name) for name in self.models]
        self.groups = Groups.of_table(table)
        #: rows x the table's models; None if the cascade looks at no answers
        self.shown = np.array(self.arrays.quality) if self.evaluator == TRUTH else shown_of(table, self.evaluator)

    def _column(self, name: str) -> int:
        models = list(self.table.models)
        if name in models:
            return models.index(name)
        raise DataError(
            f"{self.table.source}: has no model {name} of the cascade{nearest_text(name, models)}; give a "
            f"table with all of {', '.join(self.models)}"
        )

    @cached_property
    def psi(self) -> Optional[npt.NDArray[np.float32]]:
        """Rows x m: 1 and at least one feature, which may be 0; None if the cascade uses none."""
        if self.file.get("features") is not None:
            features = _core.FeatureMap.parse(json.dumps(self.file["features"]))
            numbers = _core.features_apply(features, self.table)
            none = np.zeros((len(numbers), 0 if numbers.shape[1] else 1), np.float32)
            return np.column_stack([np.ones(len(numbers), np.float32), numbers, none]).astype(np.float32)
        if not self.file.get("order") and int(self.file.get("index_features") or 1) != 1:
            raise UsageError(
                f"the cascade is given {self.file['index_features']} numbers for each prompt, and not the features "
                "that they are; a table cannot test it"
            )
        return None

    @cached_property
    def calls(self) -> tuple[Ints, Ints, Bools]:
        """The table's models that are called, in order and then -1; the model whose answer is deployed; and by row
        whether answers are judged. Values that a log does not know count as 0, because there the walk only has to end.
        """
        usd = np.ascontiguousarray(np.nan_to_num(self.arrays.usd)[:, self.columns])
        shown = np.zeros(usd.shape) if self.shown is None else np.nan_to_num(self.shown)[:, self.columns]
        members, psi = self.cascade.members, self.psi
        seen = applied(members.calibration, shown) if members.calibration else shown
        if psi is not None and members.psi_range is not None:
            psi = np.clip(psi, members.psi_range[:, 0], members.psi_range[:, 1])
        outcomes = Outcomes(seen, np.zeros(usd.shape), usd, psi, self.judge_usd)
        policy = policy_of(self.cascade, outcomes, np.ascontiguousarray(shown))
        called, deployed, judged = walked(policy, outcomes)
        return columns_called(called, self.columns), columns_called(deployed, self.columns), judged

    def numbers(self, quality: Floats) -> Floats:
        """3 x rows for the cascade, if every answer's dollars are known. quality: rows x the table's models."""
        called, deployed, judged = self.calls
        calls = (called >= 0).sum(axis=1)
        spent = along(called, self.arrays.usd).sum(axis=1) + calls * np.where(judged, self.judge_usd, 0.0)
        return np.stack([quality[np.arange(len(quality)), deployed], spent, calls])

    def alone(self, model: int, quality: Floats) -> Floats:
        """3 x rows for a model alone, which needs no judge."""
        usd = np.array(self.arrays.usd)[:, model]
        return np.stack([quality[:, model], usd, np.ones(len(usd))])

    @property
    def judged_calls(self) -> float:
        """Per prompt."""
        called, _, judged = self.calls
        return float(np.mean((called >= 0).sum(axis=1) * judged))

    def calibration(self) -> list[IsotonicMap]:
        """Calibrations of the table's models. For models that are not in the cascade, scores are qualities."""
        out = [IsotonicMap(np.empty(0), np.empty(0)) for _ in self.table.models]
        for column, map_of_model in zip(self.columns, self.cascade.members.calibration):
            out[column] = map_of_model
        return out


@dataclass(frozen=True)
class JudgedCascade:
    """A test of a cascade."""

    cascade: str  #: the file
    meeting: Meeting
    against: str  #: the model alone
    chosen_here: bool  #: whether it is the best model on this very table
    estimator: Estimator
    found: Found

    @cached_property
    def same_table(self) -> bool:
        """Whether the cascade was fitted on this table."""
        return bool(self.meeting.record.get("digest") == self.meeting.table.digest())

    @property
    def promise(self) -> Optional[Worth]:
        """The promise of the fit."""
        promise = self.meeting.record.get("promise")
        return Worth.of_json(promise) if isinstance(promise, dict) else None

    @property
    def judges_nothing(self) -> bool:
        """Whether it routes without looking at an answer."""
        return bool(self.meeting.file.get("plans")) and self.found.judged_calls == 0.0

    @property
    def gone_at(self) -> float:
        """Dollars of judging an answer at which the gain is gone: 0 where there is none, or nothing is judged."""
        gain, dearer = self.found.worth.gain, self.meeting.price * self.found.judged_calls
        return gain.value / dearer if gain.value > 0.0 and dearer > 0.0 else 0.0

    @cached_property
    def verdict(self) -> str:
        """One sentence, as `--format json` has it."""
        meeting = self.meeting
        eyes = "no answer is judged"
        if not self.judges_nothing:
            eyes = eyes_text(meeting.evaluator, meeting.told_judge_usd, self.gone_at)
        bound = _bound_sentence(self)
        assumed = "; if models' answers are independent" if meeting.openings is Openings.APART else ""
        return f"{_sentence(self)}{'; ' if bound else ''}{bound}; {eyes}{assumed}"

    @property
    def told(self) -> str:
        """The same in short sentences, as people read it."""
        meeting, judging = self.meeting, "no answer is judged"
        if not self.judges_nothing and meeting.evaluator != NONE:
            gone_at = self.gone_at or math.nan
            judging = judging_text(meeting.told_judge_usd, gone_at, "the gain is gone", "The test")
        sentences = [_sentence(self, told=True), _bound_sentence(self), judging.removesuffix(".")]
        if meeting.openings is Openings.APART:
            sentences.append("This presumes that models' answers are independent")
        return " ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences if sentence)


def policy_of(cascade: RunningCascade, outcomes: Outcomes, shown: Floats) -> Policy:
    """The policy of a running cascade, in the form of a fit's policies, so that a test walks rows as a fit does.

    It follows the rules without exploring; positions are those of the cascade's models. `outcomes` and `shown`, the
    evaluator's values, are for all rows, by those models.
    """
    members = cascade.members
    if isinstance(cascade.indices, Learning):
        there = sum(1 << model for model in range(len(members.models)) if model not in members.removed)
        cost = np.ascontiguousarray(members.price * (outcomes.usd + outcomes.judge_usd))
        return LearnedIndices(cascade.indices.copied_estimator(), outcomes.psi, cost, shown, there)
    if members.predictor is None:
        return members.plans[0]
    calling = [number for number, plan in enumerate(members.plans) if plan.order]
    return Plans(tuple(members.plans[number] for number in calling), members.predictor.of_plans(calling), members.price)


def judge_cascade(
    cascade: RunningCascade,
    file: str,
    table: _core.TraceTable,
    against: Optional[str] = None,
    evaluator: Optional[str] = None,
    judge_usd: Optional[float] = None,
    estimator: Optional[str] = None,
    openings: str = "in_order",
) -> JudgedCascade:
    """Tests the cascade. `against`: a model of the table; by default the fit's best single model, or this table's if
    the cascade has none. `evaluator` replaces the cascade's own, and `judge_usd` the fit's. `file` is for messages.
    `estimator`: how values are estimated; by default the best that the table allows.

    Raises DataError if the table lacks a model of the cascade, the model to compare with, or something that evaluator
    and features need, or if it cannot tell. Raises Refusal for an estimator that the table does not allow.
    """
    for name, value in (("judge_usd", judge_usd), ("estimator", estimator), ("openings", openings)):
        OPTIONS[name].check(value)
    if table.rows == 0:
        raise DataError(f"{table.source}: has no prompt")
    meeting = Meeting(cascade, table, evaluator, judge_usd, Openings(openings))
    is_log, models = bool(meeting.arrays.is_log), list(table.models)
    require_log_for(openings, is_log, estimator or "")
    single = meeting.record.get("single")
    fitted = single.get("model") if isinstance(single, dict) else None
    named = against or (fitted if isinstance(fitted, str) else "")
    if named and named not in models:
        raise DataError(
            f"{table.source}: has no model {named}{nearest_text(named, models)}; "
            f"{'' if against else 'it was the best single model of the fit; '}name one of the table's with "
            f"{option('against')}"
        )
    can = identified(table)
    chosen = Estimator(estimator or can.best)
    if chosen.value not in can.estimators:
        problem = f"not from {table.source}, which identifies {', '.join(can.estimators)}"
        raise Refusal("estimator", chosen.value, problem, "; ".join(can.reasons))
    if named:
        model = models.index(named)
    elif chosen is Estimator.PLUGIN:
        (model,) = best_single(np.array(meeting.arrays.quality), np.array(meeting.arrays.usd), meeting.price).order
    else:
        raise DataError(
            f"{table.source}: cannot say which single model is the best, as not all is known; name one with "
            f"{option('against')}"
        )
    if chosen is Estimator.PLUGIN:
        found = _plain(meeting, model)
    elif is_log:
        found = _logged(meeting, model, chosen)
    else:
        found = _labelled(meeting, model, chosen)
    return JudgedCascade(file, meeting, models[model], not named, chosen, found)


def _plain(meeting: Meeting, model: int) -> Found:
    """For a full table: plain means."""
    quality, groups = np.array(meeting.arrays.quality), meeting.groups
    cascade_numbers, alone = meeting.numbers(quality), meeting.alone(model, quality)
    if _is_alone(meeting.file, meeting.table.models[model]):
        cascade_numbers = alone  # certainly not better
    latency, notes = _latency_on_table(meeting, model), []
    if latency is not None:
        of_model = latency["alone"]
        notes.append(
            f"seconds of the calls one after the other: {latency['p50']:.3g} in the median and {latency['p95']:.3g} at "
            f"the 95th per cent of prompts; {meeting.table.models[model]} alone: {of_model['p50']:.3g} and "
            f"{of_model['p95']:.3g}"
        )
    beside = alone, meeting.price, groups, 1.0
    worths = Worth.of(cascade_numbers, *beside), Worth.of(alone, *beside)
    tail = DollarTail.of(cascade_numbers[USD], groups)
    return Found(*worths, float(groups.count), meeting.judged_calls, notes, tail, latency)


def _latency_on_table(meeting: Meeting, model: int) -> Optional[dict[str, Any]]:
    """Seconds of a prompt's calls, one after the other, of the cascade and of the model alone: the median and the 95th
    percentile (nearest rank) over the rows in which all latencies of calls are known.
    """
    if meeting.arrays.latency is None:
        return None
    seconds = np.array(meeting.arrays.latency)
    cascade, alone = along(meeting.calls[0], seconds).sum(axis=1), seconds[:, model]
    known = ~np.isnan(cascade + alone)
    if not known.any():
        return None
    ranks = [{"p50": nearest_rank(x[known], 0.5), "p95": nearest_rank(x[known], 0.95)} for x in (cascade, alone)]
    return {**ranks[0], "alone": ranks[1]}


def _labelled(meeting: Meeting, model: int, estimator: Estimator) -> Found:
    """For a table with some known qualities: scores and dollars determine what is called and deployed."""
    table, groups = meeting.table, meeting.groups
    known = np.array(meeting.arrays.quality)
    estimates = QualityEstimates.of_table(table, meeting.evaluator, groups)
    estimated = estimates.estimated()
    weight = np.where(np.isnan(known), 0.0, 1.0 / estimates.probability)
    rows = np.arange(len(known))

    def estimate(numbers: Floats, deployed: Ints) -> PolicyEstimate:
        weights = weight[rows, deployed]
        quality = Estimate.jackknife_mean(estimated[rows, deployed], groups)
        if estimator is not Estimator.DR:
            below = weights if estimator is Estimator.SNIPS else np.ones(len(rows))
            quality = Estimate.jackknife_ratio(weights * np.nan_to_num(known[rows, deployed]), below, groups)
        usd, calls = (Estimate.jackknife_mean(by_row, groups) for by_row in numbers[1:])
        return PolicyEstimate(quality, usd, calls, LogSupport.over(groups, weights, np.ones(len(rows))))

    cascade_estimate = estimate(meeting.numbers(estimated), meeting.calls[1])
    alone = estimate(meeting.alone(model, estimated), np.full(len(rows), model))
    bias = dependence_notes(known, estimates.score, estimates.probability, np.ones(known.shape, bool), groups)
    return _beside(meeting, model, estimator.value, cascade_estimate, alone, [label_note(table), *bias])


def _logged(meeting: Meeting, model: int, estimator: Estimator) -> Found:
    """For a log of decisions."""
    source = LogSource.of_table(meeting.table, meeting.evaluator, meeting.openings, meeting.judge_usd)
    if meeting.openings is Openings.APART:
        if meeting.file["kind"] != "thresholds":
            raise Refusal("openings", "apart", "is of cascades of thresholds alone", "leave it out for this kind")
        order = tuple(meeting.columns[meeting.models.index(name)] for name in meeting.file["order"])
        calibration = meeting.calibration() if meeting.file.get("calibration") else ()
        cascade_estimate = estimate_apart(source, Order(order, tuple(meeting.file["thresholds"])), calibration)
        alone = estimate_apart(source, Order((model,)), ())
        return _beside(meeting, model, "the models' laws", cascade_estimate, alone, [APART_NOTE])
    answer_values = source.reader.guess
    if meeting.shown is not None:
        answer_values = applied(meeting.calibration(), meeting.shown)
    reader = LogReader(source.log, source.reader.guess, answer_values, estimator)
    cascade_estimate = reader.estimate(LoggedWalks.of(source.log, *meeting.calls), chosen=False)
    alone = reader.estimate(LoggedWalks.alone(source.log, model), chosen=False)
    reasons = identified(meeting.table).reasons
    if meeting.openings is Openings.INDEPENDENT:  # under independent calls, problems of first calls do not matter
        faults = faults_of_first_calls(CallLog.of_table(meeting.table, Openings.IN_ORDER))
        reasons = [reason for reason in reasons if reason not in faults]
    log_rules = None
    if reader.log_rules is not None:
        rules = reader.log_rules.estimate()
        gain = cascade_estimate.worth(rules, meeting.price).gain
        log_rules = replace(rules.worth(rules, meeting.price), gain=gain)
    notes = [*source.notes, *reasons]
    return _beside(meeting, model, estimator.value, cascade_estimate, alone, notes, log_rules)


def _beside(
    meeting: Meeting,
    model: int,
    how: str,
    cascade_estimate: PolicyEstimate,
    alone: PolicyEstimate,
    notes: list[str],
    log_rules: Optional[Worth] = None,
) -> Found:
    """DataError if the table cannot tell. A cascade that can be compared with the rules that made the log need not be
    compared with a model that they seldom call.
    """
    name, price, against = meeting.table.source, meeting.price, meeting.table.models[model] + " alone"
    fault = cascade_estimate.support.fault("the cascade", meeting.arrays.is_log, meeting.openings)
    if fault:
        raise DataError(f"{name}: {fault}")
    fault = alone.support.fault(against, meeting.arrays.is_log, meeting.openings)
    if fault and log_rules is None:
        raise DataError(f"{name}: {fault}; name another model with {option('against')}")
    require_possible(cascade_estimate.quality, name, "the cascade")
    if _is_alone(meeting.file, meeting.table.models[model]):
        cascade_estimate = alone
    worth, of_model = cascade_estimate.worth(alone, price), alone.worth(alone, price)
    if fault:
        notes.append(fault)
        of_model = Worth.unknown()
        worth = replace(worth, gain=of_model.gain, saving=of_model.gain)
    effective = cascade_estimate.support.effective_prompts
    notes.append(f"estimated by {how} from {effective:.0f} effective prompts of {meeting.groups.count}")
    looks = not calls_one_model(meeting.file) and bool(np.any(meeting.calls[2]))
    return Found(worth, of_model, effective, worth.calls.value if looks else 0.0, typed(notes), log_rules=log_rules)


def _is_alone(file: Mapping[str, Any], model: str) -> bool:
    """Whether the cascade is that model by construction, and not only by its outcomes on a table."""
    orders = [order for order, _ in orders_of(file)]
    return bool(orders) and all(order == [model] for order in orders)


def _sentence(judged: JudgedCascade, told: bool = False) -> str:
    """Which of the two is better. `told`: for people, who read of a loss where the gain is negative."""
    found = judged.found
    if _is_alone(judged.meeting.file, judged.against):
        return (
            f"the cascade is {judged.against} alone: quality {interval_text(found.worth.quality, 4)} at "
            f"${usd_text(found.worth.usd_per_1000)} per 1,000 prompts"
        )
    gain, rival = found.worth.gain, f"{judged.against} alone"
    saves = f" and {saving_text(found.worth.saving)}"
    if found.log_rules is not None:
        gain, rival, saves = found.log_rules.gain, "the rules that made the log, without exploring", ""
    how = "better than" if gain.low > 0.0 else "worse than" if gain.high < 0.0 else "not told apart from"
    brings = f"gains {interval_text(gain, 4)}"
    if told and gain.high < 0.0:
        brings = f"loses {interval_text(Interval(-gain.value, -gain.high, -gain.low), 4)}"
    return f"the cascade is {how} {rival}: it {brings} in utility per prompt at price {judged.meeting.price:g}{saves}"


def _bound_sentence(judged: JudgedCascade) -> str:
    aim = aim_of_record(judged.meeting.record)
    if not aim.is_bound:
        return ""
    usd, quality = judged.found.worth.usd_per_1000.value / 1000.0, judged.found.worth.quality.value
    holds = usd <= aim.value if aim.on_usd else quality >= aim.value
    number = f"{usd:.3g}" if aim.on_usd else f"{quality:.4f}"
    return f"{aim} {'holds' if holds else 'does not hold'} here: {number}"


def judged_json(judged: JudgedCascade) -> dict[str, Any]:
    """The output of `--format json`: docs/cascade-json.md lists the members."""
    found, meeting = judged.found, judged.meeting
    sometimes = {"latency": found.latency, "promise": judged.promise, "running": found.log_rules}
    return json_object(
        {
            **vars(found.worth),
            **{name: value for name, value in sometimes.items() if value is not None},
            "cascade": judged.cascade,
            "table": meeting.table.source,
            "rows": meeting.table.rows,
            "prompts": meeting.groups.count,
            "price": meeting.price,
            "evaluator": meeting.evaluator,
            "judge_usd": meeting.told_judge_usd,
            "against": judged.against,
            "alone": found.alone,
            "same_table": judged.same_table,
            "estimator": judged.estimator,
            "effective_prompts": found.effective_prompts,
            "verdict": judged.verdict,
        }
    )


def judged_sheet(judged: JudgedCascade) -> Sheet:
    """The printed table."""
    found, meeting = judged.found, judged.meeting
    seen_by = evaluator_text(meeting.evaluator, meeting.told_judge_usd)
    out = Sheet(
        f"{judged.cascade} on {meeting.table.source}: {meeting.groups.count} prompts, price {meeting.price:g}, "
        f"{seen_by}; 95% intervals over prompts",
        ["", "utility", "quality", "$ per 1,000", "calls"],
    )
    rows = {"cascade": found.worth, "promised": judged.promise, "running cascade": found.log_rules}
    for name, worth in {**rows, f"{judged.against} alone": found.alone}.items():
        if worth is not None:
            quality, usd = interval_text(worth.quality, 4), usd_text(worth.usd_per_1000)
            out.add(name, interval_text(worth.utility, 4), quality, usd, interval_text(worth.calls, 2))
    out.add("gain", interval_text(found.worth.gain, 4), "", "", "", rule=True)
    out.add("saving", share_text(found.worth.saving), "", "", "")
    notes = out.notes
    notes += [*found.notes, *table_notes(meeting.table, Topic.JUDGE, Topic.LATENCY_UNIT)]
    if judged.same_table:
        notes.append("The cascade was fitted on this table, so it looks better here than on other prompts.")
    if meeting.evaluator != meeting.fitted_for:
        notes.append(
            f"The cascade and its promise were fitted with the evaluator {meeting.fitted_for}; this test uses "
            f"{meeting.evaluator}."
        )
    if judged.chosen_here:
        notes.append(f"The cascade names no best single model; {judged.against} is the best one on this table.")
    if found.tail is not None and found.tail.heavy:
        notes.append(f"intervals of dollars and savings may be too narrow: {tail_text(found.tail)}")
    notes.append(judged.told)
    return out
