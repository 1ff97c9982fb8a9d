"""The record of a fit: the JSON that a cascade's file keeps as `about`. docs/cascade-json.md lists the members."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, Optional

from .. import _core
from ..live import RunningCascade
from .choose import SINGLE
from .deploy import Use, build_cascade
from .estimate import Interval
from .fit import Fit, runner_up
from .groups import FOLDS
from .notes import topics_json
from .options import FitSettings
from .policies import KINDS
from .sources.table import PreparedTable
from .words import eyes_text, fit_verdict, is_sure, why_of

#: The running cascade, and its record.
FitResult = tuple[RunningCascade, dict[str, Any]]


@dataclass(frozen=True)
class FitReport:
    """A fit with the information besides its numbers."""

    fit: Fit
    settings: FitSettings
    use: Use
    notes: list[str]
    table: _core.TraceTable

    @property
    def judged_calls(self) -> float:
        """Judged calls per prompt of the deployed cascade."""
        return self.fit.calls * self.use.judged

    @property
    def break_even_judge(self) -> float:
        """Dollars for judging an answer, beyond those that were counted, at which the verdict's claim is gone; 0:
        unknown.

        Judging costs the same for each judged call, so the claim falls linearly: a gain in utility by the price, a
        saving by the dollars themselves, and so does the rest under a bound on dollars.
        """
        choice, aim = self.fit.choice, self.fit.aim
        if self.fit.keeps_log_rules or not (choice.pays and choice.chosen.met and self.judged_calls > 0.0):
            return 0.0
        if aim.on_usd:
            return (aim.value - choice.chosen.bound) / self.judged_calls
        if aim.is_bound:
            return choice.gain.value / 1000.0 / self.judged_calls if choice.single.met else 0.0
        return choice.gain.value / (self.fit.price * self.judged_calls) if self.fit.price > 0.0 else 0.0

    def verdict(self, file: dict[str, Any]) -> str:
        """One sentence. `file`: the cascade's members."""
        fit, settings = self.fit, self.settings
        if fit.choice.kind != SINGLE and self.judged_calls == 0.0:
            eyes = "no answer is judged"
        else:
            claim = "room under the bound" if fit.aim.on_usd else "gain"
            eyes = eyes_text(settings.evaluator, settings.judge_usd, self.break_even_judge, claim)
        assumed = "; if models' answers are independent" if settings.openings == "apart" else ""
        sentence = fit_verdict(fit, settings.evaluator, file)
        if fit.latency is not None:
            sentence += f"; calls in series take at most {fit.latency:.4g} seconds for 95% of the prompts"
        return f"{sentence}; {eyes}{assumed}"

    def record(self, file: dict[str, Any]) -> dict[str, Any]:
        """As JSON; null for unknown values."""
        fit, settings, choice, aim, tail = self.fit, self.settings, self.fit.choice, self.fit.aim, self.fit.tail
        out: dict[str, Any] = {
            **{name: getattr(settings, name) for name in ("evaluator", "context", "judge_usd")},
            **{name: getattr(fit, name) for name in ("models", "price", "promise", "kinds", "gain", "out_of_fold")},
            **{name: getattr(self.use, name) for name in ("never", "shares")},
            "table": self.table.source,
            "digest": self.table.digest(),
            "rows": len(fit.groups.of_row),
            "prompts": fit.groups.count,
            "aim": {"kind": aim.kind, "value": aim.value},
            "folds": FOLDS,
            "choice": choice.kind,
            "cascade": choice.cascade,
            "pays": choice.pays and not fit.keeps_log_rules,
            "single": {**as_json(fit.single), "model": fit.models[fit.single_model]},
            "notes": self.notes,
            "topics": topics_json(self.notes),
            "verdict": self.verdict(file),
            "why": why_of(fit),
            "judged_calls": self.judged_calls,
            "runner_up": runner_up(fit),
            "dollar_tail": {
                **{name: getattr(tail, name) for name in ("heavy", "skewness", "dearest", "share")},
                "least_prompts": math.ceil(tail.least_prompts),
            },
        }
        if choice.rival is not None and choice.difference is not None:
            out["compared"] = sorted((choice.cascade, choice.rival), key=list(KINDS).index, reverse=True)
            out["difference"] = {**as_json(choice.difference.interval()), "error": choice.difference.error}
        if aim.max_latency is not None:
            out["latency"] = {"most": aim.max_latency, "p95": fit.latency}
        if aim.is_bound:
            met, bound, sure = choice.chosen.met, choice.chosen.bound, is_sure(aim, tail)
            reached, missed = (bound, 0.0 if met else abs(bound - aim.value)) if sure else (None, None)
            out["bound"] = {"met": sure and met, "reached": reached, "missed_by": missed}
        if fit.log_rules is not None:  # other members have the gain and the saving over the best single model
            rules = as_json(fit.log_rules)
            del rules["saving"]
            out["running"] = {"fit_gains": rules.pop("gain"), "keep": fit.keeps_log_rules, **rules}
        if self.break_even_judge > 0.0:
            out["break_even_judge_usd"] = self.break_even_judge
        return json_object(out)


def finish_fit(report: FitReport, file: dict[str, Any], prepared: Optional[PreparedTable] = None) -> FitResult:
    """The running cascade from the members of its file, and its record. `prepared`: from which indices are learned."""
    record = report.record(file)
    return build_cascade({**file, "about": record}, prepared, report.fit.policy), record


def as_json(value: Any) -> Any:
    """A value as JSON has it: NaN and infinities become None, objects are sorted by name."""
    if isinstance(value, Interval):
        value = value._asdict()
    elif is_dataclass(value):
        value = {member.name: getattr(value, member.name) for member in fields(value)}
    if isinstance(value, dict):
        return json_object(value)
    if isinstance(value, (list, tuple)):
        return [as_json(one) for one in value]
    if isinstance(value, Enum):
        return value.value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_object(members: dict[str, Any]) -> dict[str, Any]:
    """A dict as a JSON object, sorted by name."""
    return {name: as_json(members[name]) for name in sorted(members)}


def json_text(value: Any) -> str:
    """Indented, for people and programs."""
    return json.dumps(as_json(value), indent=2, ensure_ascii=False) + "\n"
