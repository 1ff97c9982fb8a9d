"""Sentences on a fit: the cascade that is deployed, what it gains, whether it keeps a bound, what its evaluator sees.

They stand in the record of a fit, which programs read, so their words stay. plain.py says the same to people.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any, Optional

import numpy as np

from .choose import SINGLE
from .estimate import CROSS_FITTED, Estimate, Interval, most_share
from .fit import Fit
from .groups import Floats, Groups
from .kinds import Aim, AimKind
from .notes import Note, Topic
from .sources.evaluator import NONE
from .text import interval_text, order_text, saving_text, share_text, usd_text
from .worth import DollarTail, Worth


def evaluator_text(evaluator: str, judge_usd: Optional[float]) -> str:
    """Such as "evaluator score at $0.0002 a call"; without dollars "evaluator score, judging taken to be free"."""
    if evaluator == NONE:
        return "no answer judged"
    if judge_usd is not None:
        return f"evaluator {evaluator} at ${judge_usd:.3g} a call"
    return f"evaluator {evaluator}, judging taken to be free"


def eyes_text(evaluator: str, judge_usd: Optional[float], gone_at: float, claim: str = "gain") -> str:
    """The same in a verdict. `gone_at`: dollars of judging an answer at which the `claim` is gone; 0: not known."""
    if evaluator == NONE:
        return "no answer is judged"
    if judge_usd is not None:
        return evaluator_text(evaluator, judge_usd)
    gone = f"; at ${gone_at:.2g} a call the {claim} is gone" if gone_at > 0.0 else ""
    return f"evaluator {evaluator}: judging is taken to be free{gone}"


def tail_text(tail: DollarTail) -> str:
    """How unevenly dollars are spread over prompts."""
    return (
        f"the dearest {tail.dearest} of {tail.prompts} prompts carr{'ies' if tail.dearest == 1 else 'y'} "
        f"{100.0 * tail.share:.0f}% of the dollars; a skewness of {tail.skewness:.2g} asks for "
        f"{np.ceil(tail.least_prompts):.0f} prompts and more"
    )


def gain_text(aim: Aim, gain: Interval) -> str:
    """The gain in the units of the aim: dollars that are saved, quality or utility."""
    if aim.kind is AimKind.MIN_QUALITY:
        return f"${usd_text(gain)} per 1,000 prompts"
    return interval_text(gain, 4) + (" in quality" if aim.is_bound else " in utility per prompt")


def is_sure(aim: Aim, tail: DollarTail) -> bool:
    """Whether a bound can be trusted: a bound on dollars cannot, if few prompts carry much of the dollars."""
    return not aim.on_usd or not tail.heavy


def bound_text(aim: Aim, met: bool, bound: float, tail: DollarTail) -> str:
    """Such as "at most 0.001 dollars per prompt is kept: with 95% confidence it is at most $0.00094"."""
    if not is_sure(aim, tail):
        return (
            f"whether {aim} is kept cannot be said with any confidence, for {tail_text(tail)}; on these prompts it "
            f"costs ${tail.mean:.3g}"
        )

    def number(x: float) -> str:
        return f"${x:.3g}" if aim.on_usd else f"{x:.4f}"

    reached = f"at {'most' if aim.on_usd else 'least'} {number(bound)}"
    if met:
        return f"{aim} is kept: with 95% confidence it is {reached}"
    return (
        f"{aim} is missed by {number(abs(bound - aim.value))}: with 95% confidence what comes nearest has {reached}"
        + too_few_text(aim, tail.prompts)
    )


def too_few_text(aim: Aim, prompts: int) -> str:
    """What to add if so few prompts cannot show the quality, even if no answer to them failed; else "".

    Clopper and Pearson bound the quality of answers without a failure (`estimate.Estimate`), widened for a fit.
    """
    if aim.kind is not AimKind.MIN_QUALITY or not 0.0 < aim.value < 1.0:
        return ""

    def shows(count: float) -> bool:
        return 1.0 - CROSS_FITTED * most_share(0, count) >= aim.value

    if shows(prompts):
        return ""
    least = float(prompts)
    while not shows(least):
        least *= 1.02
    step = 10.0 ** max(math.floor(math.log10(least)) - 1, 0)
    about = math.ceil(least / step) * step
    return f" ({prompts} prompts cannot show that, even without a failure; about {about:.0f} could)"


def orders_of(file: Mapping[str, Any]) -> list[tuple[list[str], list[float]]]:
    """The models in order with their thresholds, for each plan of a router; empty for indices. `file`: its members."""
    plans = [file, *(file.get("plans") or [])]
    return [(plan["order"], plan.get("thresholds") or []) for plan in plans if plan.get("order")]


def calls_one_model(file: Mapping[str, Any]) -> bool:
    """Whether the cascade calls one model for every prompt, so that no answer is looked at."""
    return file["kind"] != "indices" and all(len(order) == 1 for order, _ in orders_of(file))


def orders_text(file: Mapping[str, Any]) -> str:
    """With "|" between a router's plans."""
    return " | ".join(order_text(*order) for order in orders_of(file))


def plans_text(file: Mapping[str, Any]) -> str:
    """How a router predicts, and its plans."""
    router = file.get("router")
    by = str(router.get("learner", "")) if isinstance(router, dict) else ""
    stops = (
        " If the estimated quality of an answer reaches the number of its model, no further model is called, and the "
        "best answer so far is deployed."
    )
    return (
        f"For each prompt, the router ({by}) takes the plan with the greatest predicted utility: {orders_text(file)}. "
        f"A plan of one model needs no judge.{'' if calls_one_model(file) else stops}"
    )


class Why(str, Enum):
    """The reason of a verdict."""

    LOG_RULES = "it is compared with the rules that made the log"
    ONLY_MODEL = "it is the only model"
    CASCADES_MISS = "no cascade keeps the bound"
    CASCADES_SLOW = "the best cascade takes too long"
    NO_GAIN = "no cascade is surely better"
    ASKED_FOR = "this kind was asked for"
    NEAREST = "it comes nearest to the bound"
    SINGLES_MISS = "no single model keeps the bound"
    BETTER = "it is surely better than the best single model"


def why_of(fit: Fit) -> Why:
    """Why the fit deploys this policy: one model for the reasons from ONLY_MODEL to NO_GAIN, else a cascade."""
    aim, choice = fit.aim, fit.choice
    cascade, chosen = choice.picked[choice.cascade], choice.chosen
    if fit.log_rules is not None:
        return Why.LOG_RULES
    if choice.kind == SINGLE:
        if len(fit.models) == 1:
            return Why.ONLY_MODEL
        if aim.is_bound and not cascade.met:
            return Why.CASCADES_MISS
        return Why.CASCADES_SLOW if aim.max_latency is not None and not cascade.in_time else Why.NO_GAIN
    if not choice.pays:
        return Why.ASKED_FOR
    if aim.is_bound and not (choice.single.met and chosen.met):
        return Why.SINGLES_MISS if chosen.met and is_sure(aim, fit.tail) else Why.NEAREST
    return Why.BETTER


def fit_verdict(fit: Fit, evaluator: str, file: Mapping[str, Any]) -> str:
    """What to use, and why. `file`: the cascade's members."""
    if fit.log_rules is not None:
        return rules_verdict(fit.log_rules, fit.keeps_log_rules, what_is_used(file))
    aim, choice, why = fit.aim, fit.choice, why_of(fit)
    single, chosen = fit.models[fit.single_model], choice.chosen
    bound = bound_text(aim, chosen.met, chosen.bound, fit.tail) + "; " if aim.is_bound else ""
    gains, saves = gain_text(aim, fit.gain), aim.kind is AimKind.MIN_QUALITY
    if choice.kind == SINGLE:
        reasons = {
            Why.ONLY_MODEL: ", the only model",
            Why.CASCADES_MISS: "",
            Why.CASCADES_SLOW: f": {choice.cascade} gain {gains} at price {fit.price:g}, but take too long",
            Why.NO_GAIN: f": no cascade is better with this evaluator ({evaluator}) at price {fit.price:g}: "
            f"{choice.cascade} {'save' if saves else 'gain'} {gains}",
        }
        return f"{bound}use {single} alone{reasons[why]}"
    use = f"{bound}use {what_is_used(file)}"
    if why is Why.ASKED_FOR:
        return (
            f"{use}, as was asked for, although it is not sure to be better than {single} alone: "
            f"{'saving' if saves else 'gain'} {gains}"
        )
    if why is Why.SINGLES_MISS:
        return f"{use}: no single model keeps the bound"
    if why is Why.NEAREST:
        return f"{use}: {'' if is_sure(aim, fit.tail) else 'by what is seen '}it comes nearest"
    if saves:
        share = share_text(fit.promise.saving)
        return f"{use}: against the best single model, {single}, it saves {gains}, {share} of its dollars"
    return f"{use}: it gains {gains} over the best single model, {single}, and {saving_text(fit.promise.saving)}"


def rules_verdict(log_rules: Worth, keeps: bool, what: str) -> str:
    """The verdict of a fit to the log of a cascade, which is compared with the rules that made the log."""
    gains = interval_text(log_rules.gain, 4)
    if not keeps:
        return f"use {what}: it gains {gains} in utility per prompt over the rules that made the log, without exploring"
    gain = "the log cannot tell of them" if math.isnan(log_rules.gain.value) else f"the gain is {gains}"
    return (
        f"keep the rules that made the log: without exploring they brought {interval_text(log_rules.utility, 4)} in "
        f"utility per prompt, and nothing is sure to bring more; what comes nearest: {what}, {gain}"
    )


def what_is_used(file: Mapping[str, Any]) -> str:
    """The cascade in a verdict."""
    if file["kind"] == "indices":
        return "indices of each prompt"
    if file.get("plans"):
        return f"for each prompt, by its context, one of {orders_text(file)}"
    return orders_text(file)


def rare_note(promise: Worth, by_row: Floats, groups: Groups) -> Optional[Note]:
    """A note if the quality of hardly any prompt differs from the others, so that chance alone could explain it."""
    estimate = Estimate.mean(by_row, groups, (0.0, 1.0))
    if estimate.unseen == (0.0, 0.0):
        return None
    differ = estimate.differing
    text = (
        f"{differ or 'none'} of {groups.count} prompts differ{'s' if differ == 1 else ''} in quality: the promise "
        f"counts what so few cannot show, and is not sure beyond {interval_text(promise.quality, 4)}"
    )
    return Note(text, Topic.FEW_DIFFER, groups.count)
