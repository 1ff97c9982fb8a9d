"""What a request did, for logs and for people."""

from __future__ import annotations

import math
import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Optional

from .members import Json, Members
from .request import AFTER_FIRST, LAST_REACHES_THRESHOLD, UnderWay

if TYPE_CHECKING:
    from .running import RunningCascade


def explanation(members: Members, request: UnderWay) -> Json:
    """The result of `Request.explain`; None stands for a number that the rules do not have."""
    names, about = members.models, members.about
    thresholds = dict(zip(request.order, request.thresholds[: max(len(request.order) - 1, 0)]))
    models = []
    for model in range(request.models):
        score = request.score[model] if members.learns else thresholds.get(model, math.nan)
        of_rules = (request.prediction, request.width, request.bonus)
        numbers = [_known(values[model]) if values else None for values in of_rules]
        models.append({"model": names[model], **dict(zip(("prediction", "width", "bonus"), numbers)),
                       "score": _known(score)})  # fmt: skip
    return {
        "request": request.number,
        "evaluator": members.evaluator,
        "judge_usd": about.get("judge_usd") if isinstance(about, dict) else None,
        "models": models,
        "calls": [
            {"model": names[call.model], "dollars": call.dollars, "quality": _known(call.quality)}
            for call in request.calls
        ],
        "next": None if request.next is None else names[request.next],
        "deployed": names[request.best] if request.deployed and request.best is not None else None,
        "stopped": _why_stopped(members, request),
    }


def _known(number: float) -> Optional[float]:
    return number if math.isfinite(number) else None


def _why_stopped(members: Members, request: UnderWay) -> str:
    """A sentence; empty as long as another model is called."""
    if not request.done or request.next is not None:
        return "it was deployed before the cascade had stopped" if request.deployed else ""
    if not request.calls:
        return "every model that it could call has failed or was skipped; cancel it"
    if request.explored:
        return "the rules had stopped, though a model that was drawn (explore) was called in place of theirs"
    called = len(request.calls)
    if called == len(request.order) and request.stop != AFTER_FIRST:
        every = called == request.models or members.learns
        return "every model was called" if every else "the cascade is at its end"
    names, last = members.models, request.calls[-1]
    if request.stop == AFTER_FIRST:
        return "one model alone is called"
    if request.stop == LAST_REACHES_THRESHOLD:
        reached = request.thresholds[called - 1]
        return f"the answer of {names[last.model]}, {last.quality:.4f}, reaches its threshold {reached:g}"
    left = max(request.order[called:], key=lambda model: (request.score[model], -model))
    best = max(request.calls, key=lambda call: call.quality)
    return (
        f"the best answer, {best.quality:.4f} of {names[best.model]}, reaches the largest index left, "
        f"{request.score[left]:.4f} of {names[left]}"
    )


def decision_line(cascade: RunningCascade, request: UnderWay) -> Json:
    """A deployed request as a line of a decision log (docs/learning.md)."""
    members = cascade.members
    names = members.models
    assert request.best is not None
    absent = {over.model for over in request.passed_over} | request.resting | members.removed
    called = {call.model for call in request.calls}
    left = sum(model not in absent and model not in called for model in range(request.models))
    line: Json = {
        "request": request.number,
        "time": time.time(),
        "evaluator": members.evaluator,
        "features": cascade.features_digest,
        "psi": request.psi.tolist(),
        "candidates": [
            names[a] for a in range(request.models) if a not in request.resting and a not in members.removed
        ],
        "calls": [],
        "deployed": names[request.best],
        "rules": request.went_by_rules(members.explore if members.sees else 0.0, left),
    }
    if request.only:
        line["only"] = True
    if request.session is not None:
        line["session"] = request.session
    for call in request.calls:
        one: Json = {
            "model": names[call.model],
            "propensity": call.propensity,
            "dollars": call.dollars,
            "latency": call.latency,
            "deploy_propensity": call.deploy_propensity,
        }
        if len(call.scores) == 1:
            one["score"] = call.scores[0]
        elif call.scores:
            one["scores"] = list(call.scores)
        line["calls"].append(one)
    if request.passed_over:
        line["failed"] = [
            {"model": names[over.model], "dollars": over.dollars, "reason": over.reason} for over in request.passed_over
        ]
    return {**line, **request.prompt}


def decision_payload(cascade: RunningCascade, request: UnderWay) -> Json:
    """The line with the data that is needed to learn from it and to explain it: an event of a store."""
    line = decision_line(cascade, request)
    for one, call in zip(line["calls"], request.calls):
        one["estimate"] = _known(call.quality)
    why = explanation(cascade.members, request)
    return {
        **line,
        "edition": cascade.edition,
        "version": request.version,
        "period": request.period,
        **{name: why[name] for name in ("models", "stopped", "judge_usd")},
    }


def feedback_line(number: int, quality: float) -> Json:
    """The line of a feedback."""
    return {"request": number, "time": time.time(), "quality": quality}


def session_digest(key: Any) -> str:
    """Stands for a session's key in logs, which must not contain users' names."""
    return sha256(str(key).encode()).hexdigest()[:32]
