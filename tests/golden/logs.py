"""Logs of decisions of made-up worlds: the models that were called, the probabilities of these calls, and their
outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from draws import Draw, Law, Prompt, lines

Row = dict[str, Any]
# Functions that say with which probability a call's quality is known, from a draw and the answer.
Labels = Callable[[Row], float]
# An order of models, and thresholds on their scores.
Rules = tuple[list[str], dict[str, float]]


def call_row(prompt: Prompt, decision: str, model: str, propensity: float, labels: Labels | None, draw: Draw) -> Row:
    answer = dict(prompt.answers[model])
    row: Row = {"prompt_id": prompt.name, **prompt.columns, "decision": decision, "model": model, **answer}
    row["propensity"] = float(f"{propensity:.6g}")
    if labels is not None:
        known = float(f"{labels(answer):.6g}")
        row["label_propensity"] = known
        if not draw.chance(known):
            row["quality"] = None
    return row


def drawn(draw: Draw, names: list[str], weights: list[float]) -> tuple[str, float]:
    """Draws one of some by weights. Also returns its probability."""
    at, total = draw.uniform() * sum(weights), 0.0
    for name, weight in zip(names, weights):
        total += weight
        if at < total:
            return name, weight / sum(weights)
    return names[-1], weights[-1] / sum(weights)


def in_order(
    law: Law,
    seed: int,
    count: int,
    more: float,
    weights: Callable[[Prompt], list[float]],
    labels: Labels | None = None,
    each: int = 1,
) -> list[Row]:
    """Calls models one after the other. Weights choose the first; another call follows with probability `more`.

    `each`: decisions for each prompt.
    """
    draw, rows = Draw(seed), []
    prompts = law.prompts(seed + 500_000, (count + each - 1) // each)
    for number in range(count):
        prompt = prompts[number % len(prompts)]
        left = list(prompt.answers)
        model, propensity = drawn(draw, left, weights(prompt))
        while True:
            rows.append(call_row(prompt, f"d{number}", model, propensity, labels, draw))
            left.remove(model)
            if not left or not draw.chance(more):
                break
            model, propensity = draw.one_of(left), more / len(left)
    return rows


def by_tosses(law: Law, seed: int, count: int, chances: dict[str, float], labels: Labels | None = None) -> list[Row]:
    """Decides for each model by a toss of its own whether to call it."""
    draw, rows = Draw(seed), []
    for number, prompt in enumerate(law.prompts(seed + 500_000, count)):
        for model, chance in chances.items():
            if draw.chance(chance):
                rows.append(call_row(prompt, f"d{number}", model, chance, labels, draw))
    return rows


def without(rows: list[Row], *names: str) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def of_service(
    law: Law,
    seed: int,
    count: int,
    rules: Callable[[Prompt], Rules],
    explore: float,
    told: float,
    one_call: bool = False,
    first: int = 1,
) -> str:
    """The log of a service that runs a cascade: an order of models with thresholds on scores, and some feedback.

    `one_call`: the service runs a router, which sees no answer. `told`: the probability that feedback comes.
    """
    draw, out = Draw(seed), []
    for number, prompt in enumerate(law.prompts(seed + 500_000, count), first):
        order, thresholds = rules(prompt)
        queue, names = list(order), list(prompt.answers)
        calls: list[Row] = []
        explored, by_rules, best = False, 1.0, ""
        while True:
            left = [name for name in names if name not in [call["model"] for call in calls]]
            stops = bool(calls) and (
                one_call or prompt.answers[best]["score"] >= thresholds.get(calls[-1]["model"], 0.0)
            )
            if not left or (one_call and calls):
                break
            next_of_rules = None if stops or not queue else queue[0]
            model = next_of_rules
            if draw.chance(explore):
                model = draw.one_of(left)
            if model is None:
                by_rules *= 1.0 - explore
                break
            propensity = explore / len(left) + (1.0 - explore if model == next_of_rules else 0.0)
            explored = explored or model != next_of_rules
            by_rules *= propensity
            if model in queue:
                queue.remove(model)
            answer = prompt.answers[model]
            calls.append({"model": model, "propensity": propensity, "dollars": answer["cost"], "latency": None})
            if not one_call:
                calls[-1]["score"] = answer["score"]
            if best == "" or answer["score"] > prompt.answers[best]["score"]:
                best = model
        several = len(calls) > 1
        for call in calls:
            call["deploy_propensity"] = (explore / len(calls) if several else 0.0) + (
                (1.0 - explore if several else 1.0) if call["model"] == best else 0.0
            )
        deployed = draw.one_of(calls)["model"] if several and draw.chance(explore) else best
        chance = next(call["deploy_propensity"] for call in calls if call["model"] == deployed)
        line = {
            "request": number,
            "time": 1764132601.5 + number,
            "evaluator": "none" if one_call else "score",
            "features": "",
            "psi": [1, *[value for value in prompt.columns.values() if isinstance(value, float)]],
            "candidates": names,
            "calls": calls,
            "deployed": deployed,
            "rules": 0.0 if explored or deployed != best else by_rules * chance,
        }
        out.append(line)
        if draw.chance(told):
            out.append(
                {"request": number, "time": 1764132611.5 + number, "quality": prompt.answers[deployed]["quality"]}
            )
    return lines(rounded(out))


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, list):
        return [rounded(one) for one in value]
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return value
