"""What a fit says of itself: the JSON that a cascade's file keeps as `about`. docs/cascades.md lists the members."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from .choose import SINGLE
from .deploy import Use
from .fit import Fit, runner_up
from .groups import FOLDS
from .kinds import AimKind
from .options import FitSettings
from .policies import KINDS
from .words import eyes_text, fit_verdict, is_sure, latency_text
from .worth import interval_json


@dataclass(frozen=True)
class Told:
    """A fit with what is told of it beside its numbers."""

    fit: Fit
    settings: FitSettings
    use: Use
    notes: list[str]
    table: str  #: the file
    digest: str

    @property
    def judged_calls(self) -> float:
        """Of what is deployed, per prompt."""
        return self.fit.calls * self.use.judged

    @property
    def break_even_judge(self) -> float:
        """Dollars of judging an answer, more than were counted, at which what the verdict claims is gone; 0: not known.

        Judging costs as much for each judged call, so the claim goes down in a line: a gain in utility by the price, a
        saving by the dollars themselves, what is left under a bound on dollars likewise.
        """
        choice, aim = self.fit.choice, self.fit.aim
        if not choice.pays or not choice.chosen.met or not self.judged_calls > 0.0:
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
        return f"{fit_verdict(fit, settings.evaluator, file)}{latency_text(fit.latency)}; {eyes}"

    def record(self, file: dict[str, Any]) -> dict[str, Any]:
        """As JSON; null for what is not known."""
        fit, settings, choice, aim = self.fit, self.settings, self.fit.choice, self.fit.aim
        models = fit.source.models
        out: dict[str, Any] = {
            "table": self.table,
            "digest": self.digest,
            "rows": len(fit.source.groups.of_row),
            "prompts": fit.source.groups.count,
            "models": models,
            "aim": {"kind": aim.kind.value, "value": aim.value},
            "price": fit.price,
            "evaluator": settings.evaluator,
            "context": list(settings.context),
            "judge_usd": settings.judge_usd,
            "folds": FOLDS,
            "out_of_fold": fit.fits.reads_out_of_fold(choice.cascade),
            "choice": choice.kind,
            "cascade": choice.cascade,
            "gain": interval_json(choice.gain.interval()),
            "pays": choice.pays,
            "promise": fit.promise.json(),
            "single": {**fit.single.json(), "model": models[fit.single_model]},
            "kinds": {kind: fit.kinds[kind].json() for kind in KINDS if kind in fit.kinds},
            "never": self.use.never,
            "shares": [asdict(share) for share in self.use.shares],
            "notes": self.notes,
            "verdict": self.verdict(file),
            "runner_up": runner_up(fit),
            "dollar_tail": {
                "heavy": fit.tail.heavy,
                "skewness": fit.tail.skewness,
                "dearest": fit.tail.dearest,
                "share": fit.tail.share,
                "least_prompts": math.ceil(fit.tail.least_prompts),
            },
        }
        if choice.rival is not None and choice.difference is not None:
            later, earlier = sorted((choice.cascade, choice.rival), key=list(KINDS).index, reverse=True)
            out["compared"] = [later, earlier]
            out["difference"] = {**interval_json(choice.difference.interval()), "error": choice.difference.error}
        if aim.max_latency is not None:
            out["latency"] = {"most": aim.max_latency, "p95": fit.latency}
        if aim.is_bound:
            picked, sure = choice.chosen, is_sure(aim, fit.tail)
            missed = 0.0 if picked.met else abs(picked.bound - aim.value)
            out["bound"] = {
                "met": sure and picked.met,
                "reached": picked.bound if sure else None,
                "missed_by": missed if sure else None,
            }
        if self.break_even_judge > 0.0:
            out["break_even_judge_usd"] = self.break_even_judge
        told: dict[str, Any] = known(out)
        return told


def known(value: Any) -> Any:
    """As JSON has it: None for numbers that are not finite, members in the order of their names."""
    if isinstance(value, dict):
        return {name: known(value[name]) for name in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [known(one) for one in value]
    if isinstance(value, AimKind):
        return value.value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_text(value: Any) -> str:
    """Indented, for people and programs."""
    return json.dumps(known(value), indent=2, ensure_ascii=False) + "\n"
