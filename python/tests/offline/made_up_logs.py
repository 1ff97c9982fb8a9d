"""Prompts with known answers, logs of decisions on them, and the arrays that the library reads from such files."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from pandora.offline.call_log import CallLog, Openings
from pandora.offline.groups import Floats, Groups, Ints
from pandora.offline.outcomes import Outcomes
from pandora.offline.policies.order import Order
from pandora.offline.sources.log import LogSource

MODELS = ["small", "middle", "large"]
Row = dict[str, Any]


@dataclass(frozen=True)
class World:
    """All answers to all prompts: rows x models."""

    quality: Floats
    score: Floats
    usd: Floats

    @staticmethod
    def drawn(seed: int, rows: int) -> World:
        """Dearer models are better, the judge sees this with noise, and hard prompts are hard for all models."""
        draw = np.random.default_rng(seed)
        hard = draw.random((rows, 1))
        right = draw.random((rows, 3)) < np.clip(0.95 - 0.7 * hard + 0.22 * np.arange(3), 0.0, 1.0)
        quality = right.astype(np.float64)
        judged = np.clip(0.5 + 0.3 * (quality - 0.5) + draw.normal(0.0, 0.2, (rows, 3)), 0.0, 1.0)
        score = np.asarray(np.round(judged, 3), np.float64)
        usd = np.round(0.0004 * 3.0 ** np.arange(3) * (0.5 + hard + draw.random((rows, 3))), 7)
        return World(quality, score, usd)

    def outcomes(self, judge_usd: float = 0.0) -> Outcomes:
        """The outcomes for a policy that sees scores."""
        return Outcomes(self.score, self.quality, self.usd, None, judge_usd)

    def worth(self, order: Order, judge_usd: float = 0.0) -> Floats:
        """The mean quality, dollars and calls of an order."""
        found: Floats = order.walk(self.outcomes(judge_usd)).numbers.mean(axis=1)
        return found


def in_order(world: World, seed: int, first: tuple[float, ...] = (0.5, 0.3, 0.2), more: float = 0.6) -> list[Row]:
    """Draws a first call by these probabilities, and each further call, of any model left, with probability `more`."""
    draw, out = np.random.default_rng(seed), []
    for prompt in range(len(world.quality)):
        left, p = list(range(3)), list(first)
        while left:
            ends = np.cumsum(p)
            model = left[int(np.searchsorted(ends / ends[-1], draw.random(), "right"))]
            out.append(_call(world, prompt, model, p[left.index(model)]))
            left.remove(model)
            if draw.random() >= more:
                break
            p = [more / len(left)] * len(left) if left else []
    return out


def by_tosses(world: World, seed: int, p: tuple[float, ...], by_hardness: float = 0.0) -> list[Row]:
    """Calls each model by a toss of its own. Decisions without a call have no row."""
    draw, out = np.random.default_rng(seed), []
    for prompt in range(len(world.quality)):
        shift = by_hardness * (float(world.usd[prompt, 0]) / 0.0008 - 1.0)
        for model in range(3):
            chance = round(min(1.0, max(0.05, p[model] + shift)), 6)
            if draw.random() < chance:
                out.append(_call(world, prompt, model, chance))
    return out


def service(
    world: World, seed: int, order: Order, explore: float, judge_usd: float = 0.0, told: float = 0.8
) -> list[Row]:
    """The log of a cascade that explores, a row for each call. A decision's first row has `rules` and `deployed`."""
    draw, out = np.random.default_rng(seed), []
    for prompt in range(len(world.quality)):
        calls: list[Row] = []
        queue, by_rules, explored, best = list(order.order), 1.0, False, -1
        while len(calls) < 3:
            stops = bool(calls) and _stops(world, prompt, order, calls, best)
            wanted = None if stops or not queue else queue[0]
            left = [m for m in range(3) if MODELS[m] not in [call["model"] for call in calls]]
            model = int(draw.choice(left)) if draw.random() < explore else wanted
            if model is None:
                by_rules *= 1.0 - explore
                break
            p = explore / len(left) + (1.0 - explore if model == wanted else 0.0)
            explored, by_rules = explored or model != wanted, by_rules * p
            if model in queue:
                queue.remove(model)
            calls.append({**_call(world, prompt, model, p), "dollars": float(world.usd[prompt, model]) + judge_usd})
            if best < 0 or world.score[prompt, model] > world.score[prompt, best]:
                best = model
        several = len(calls) > 1
        names = [call["model"] for call in calls]
        deployed = int(draw.integers(len(calls))) if several and draw.random() < explore else names.index(MODELS[best])
        known = draw.random() < told
        for place, call in enumerate(calls):
            is_best = call["model"] == MODELS[best]
            chance = (explore / len(calls) + (1.0 - explore) * is_best) if several else 1.0
            call["label_propensity"] = chance
            if place != deployed or not known:
                call["quality"] = None
            call["deployed"] = place == deployed
            if place == deployed:
                call["rules"] = 0.0 if explored or not is_best else by_rules * chance
            call["cost"] = call.pop("dollars")
        out += calls
    share = sum(row["quality"] is not None for row in out) / len(world.quality)
    for row in out:
        row["label_propensity"] *= share
    return out


def _stops(world: World, prompt: int, order: Order, calls: list[Row], best: int) -> bool:
    last = MODELS.index(calls[-1]["model"])
    if last not in order.order[: len(order.thresholds)]:
        return last in order.order
    return bool(world.score[prompt, last] >= order.thresholds[order.order.index(last)])


def _call(world: World, prompt: int, model: int, p: float) -> Row:
    return {
        "prompt_id": f"p{prompt}",
        "model": MODELS[model],
        "quality": float(world.quality[prompt, model]),
        "cost": float(world.usd[prompt, model]),
        "score": float(world.score[prompt, model]),
        "propensity": p,
    }


def full(world: World, latency: bool = False) -> list[Row]:
    """Every model's answer to every prompt."""
    rows = [_call(world, prompt, model, 1.0) for prompt in range(len(world.quality)) for model in range(3)]
    for row in rows:
        del row["propensity"]
        if latency:
            row["latency"] = 1000.0 * row["cost"]
    return rows


def written(path: Path, rows: list[Row]) -> Path:
    """Writes rows as JSON lines. `service`: in the form in which a service writes them."""
    if not any("deployed" in row for row in rows):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    decisions: dict[str, list[Row]] = {}
    for row in rows:
        decisions.setdefault(row["prompt_id"], []).append(row)
    share = sum(row["quality"] is not None for row in rows) / len(decisions)
    lines: list[Row] = []
    for number, calls in enumerate(decisions.values(), 1):
        (deployed,) = [call for call in calls if call["deployed"]]
        of_calls = [
            {**{name: call[name] for name in ("model", "propensity", "score")}, "dollars": call["cost"],
             "latency": None, "deploy_propensity": call["label_propensity"] / share}
            for call in calls
        ]  # fmt: skip
        line = {"request": number, "time": 1e9 + number, "evaluator": "score", "features": "", "psi": [1]}
        last = {"candidates": MODELS, "calls": of_calls, "deployed": deployed["model"], "rules": deployed["rules"]}
        lines.append({**line, **last})
        if deployed["quality"] is not None:
            lines.append({"request": number, "time": 2e9 + number, "quality": deployed["quality"]})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def labelled(rows: list[Row], seed: int, p: Any, told: bool = True) -> list[Row]:
    """Hides some qualities. `p`: from a row the probability that its quality is known. `told`: add it to the row."""
    draw, out = np.random.default_rng(seed), []
    for row in rows:
        chance = float(p(row))
        known = draw.random() < chance
        out.append(
            {**row, "quality": row["quality"] if known else None, **({"label_propensity": chance} if told else {})}
        )
    return out


def arrays_of(rows: list[Row]) -> dict[str, Any]:
    """The arrays of the reader of tables, decisions x models, both in the order of their appearance."""
    prompts = list(dict.fromkeys(row["prompt_id"] for row in rows))
    models = list(dict.fromkeys(row["model"] for row in rows))
    number = {name: at for at, name in enumerate(prompts)}
    names = ["quality", "cost", "score", "propensity", "place", "label_propensity", "rules"]
    cells = {name: np.full((len(prompts), len(models)), np.nan) for name in names}
    calls, dropped = np.zeros(len(prompts)), np.zeros(len(prompts))
    for row in rows:
        at, model = number[row["prompt_id"]], models.index(row["model"])
        calls[at] += 1
        cells["place"][at, model] = calls[at]
        for name in names:
            if row.get(name) is not None:
                cells[name][at, model] = row[name]
        dropped[at] = row.get("pdrop", 0.0)
    return {**cells, "prompts": prompts, "models": models, "pdrop": dropped}


def log_of(rows: list[Row], openings: Openings = Openings.IN_ORDER, judge_usd: float = 0.0) -> tuple[CallLog, Floats]:
    """The log of these rows, and its scores."""
    of = arrays_of(rows)
    told = {name: of[name] for name in ("label_propensity", "rules", "pdrop") if any(name in row for row in rows)}
    label_propensity, rules, dropped = map(told.get, ("label_propensity", "rules", "pdrop"))
    cells = of["quality"], of["cost"], of["place"], of["propensity"], label_propensity
    of_log = openings, rules, judge_usd, True, dropped
    return CallLog.of_arrays("log", of["models"], hashed_groups(of["prompts"]), *cells, *of_log), of["score"]


def source_of(
    rows: list[Row], openings: Openings = Openings.IN_ORDER, evaluator: str = "score", judge_usd: float = 0.0
) -> LogSource:
    """The source that a fit uses."""
    log, score = log_of(rows, openings, judge_usd)
    shown: Optional[Floats] = log.quality if evaluator == "quality" else None if evaluator == "none" else score
    return LogSource(log, evaluator, shown, score)


def hashed_groups(names: list[str]) -> Groups:
    """The groups of `_core.group_prompts`, which are numbered in the order of a hash."""
    hashes = [_mixed(_mixed(_fnv(name.encode()))) for name in names]
    ranks: npt.NDArray[np.int64]
    distinct, ranks = np.unique(np.array(hashes, np.uint64), return_inverse=True)
    of_row: Ints = ranks.astype(np.int64)
    return Groups(of_row, len(distinct))


def _fnv(data: bytes) -> int:
    state = 0xCBF29CE484222325
    for byte in data:
        state = ((state ^ byte) * 0x100000001B3) % 2**64
    return state


def _mixed(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % 2**64
    return x ^ (x >> 31)


def standard_error(values: list[float]) -> float:
    """The standard error of their mean."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))
