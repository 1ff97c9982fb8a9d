"""Estimates the value of a cascade with thresholds on scores, from a log with a row for each call.

usage: python long_log.py LOG.jsonl ORDER ACCEPT [--price P] [--independent] [--fold-count K]
       ORDER: models, separated by commas; ACCEPT: a score for each model, of which the last is not used

The log's columns:
    prompt_id         the cluster
    model, cost       the called model, and the dollars of the call
    quality           empty if it is not known
    score             the judge's score
    propensity        the probability that this model was called, given all that was seen before
    decision          the request to which the call belongs; without this column, prompt_id
    label_propensity  the probability that the quality became known, given the call; without this column it is 1, and
                      every call must have a quality

The rows of a decision stand in the order of its calls. A logged call counts if the t-th call of the decision is the
t-th model of the cascade's walk. With --independent, each model was called by a toss of its own, and the order of calls
does not matter.

Prints IPS, SNIPS and DR of quality, dollars per 1,000 decisions, calls and utility, with the interval `best`, as JSON.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from calibrate import folds, judge_calibrated
from intervals import Floats, Interval, best_interval
from off_policy import (
    Openings,
    Refused,
    Support,
    forecasts,
    labelled_path,
    path_estimates,
    path_weights,
    support,
    walk_cascade,
)

Row = dict[str, Any]


def openings_of(rows: Sequence[Row], order: Sequence[str], independent: bool = False) -> Openings:
    """The log as an array, decisions x models of the cascade. A call at another place than the cascade's is ignored."""
    decisions: dict[Any, list[Row]] = {}
    for row in rows:
        decisions.setdefault(row.get("decision", row["prompt_id"]), []).append(row)
    prompts: dict[Any, int] = {}
    shape = len(decisions), len(order)
    opened, labelled = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    probability, label_probability = np.ones(shape), np.ones(shape)
    score, cost, quality = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    cluster = np.zeros(len(decisions), dtype=np.int64)
    for at, calls in enumerate(decisions.values()):
        cluster[at] = prompts.setdefault(calls[0]["prompt_id"], len(prompts))
        for place, call in enumerate(calls):
            if call["model"] not in order or (not independent and order.index(call["model"]) != place):
                continue
            cell = at, order.index(call["model"])
            opened[cell], probability[cell] = True, call["propensity"]
            score[cell], cost[cell] = call["score"], call["cost"]
            label_probability[cell] = call.get("label_propensity", 1.0)
            labelled[cell] = call.get("quality") is not None
            quality[cell] = call["quality"] if labelled[cell] else 0.0
    if not np.all((probability > 0) & (probability <= 1) & (label_probability > 0) & (label_probability <= 1)):
        raise Refused("propensities must lie in (0, 1]")
    if np.any(opened & ~labelled & (label_probability == 1)):
        raise Refused("calls without a quality need a label_propensity below 1")
    return Openings(cluster, opened, probability, score, cost, quality, labelled, label_probability)


def estimate(log: Openings, accept: Sequence[float], price: float, fold_count: int = 5) -> dict[str, Any]:
    """All estimates of the cascade that calls the log's models in order."""
    fold, rows = folds(log.cluster, fold_count), np.arange(len(log.cluster))
    walk = walk_cascade(range(log.score.shape[1]), accept, log, log.score)
    guess = judge_calibrated(log.score, log.quality, log.labelled, log.probability * log.label_probability, fold)
    parts = {
        "quality": path_estimates(*labelled_path(walk, log, guess[rows, walk.deployed], fold), log.cluster),
        "dollars": _so_far(walk.step, walk.dollars, fold, log),
        "calls": _so_far(walk.step, walk.calls, fold, log),
    }
    found: dict[str, Any] = {"support": vars(_support(walk.step, log))}
    for name in ("ips", "snips", "dr"):
        per_1000 = [parts["dollars"][name].times(1000)]
        utility = [parts["quality"][name], parts["dollars"][name].times(-price)]
        one = {"quality": [parts["quality"][name]], "usd_per_1000": per_1000, "calls": [parts["calls"][name]]}
        found[name] = {key: _json(key, best_interval(value)) for key, value in {**one, "utility": utility}.items()}
    return found


def _so_far(step: Floats, seen: Floats, fold: Any, log: Openings) -> Any:
    return path_estimates(step, forecasts(seen, step, seen[:, -1], fold), log.cluster)


def _support(step: Floats, log: Openings) -> Support:
    return support(path_weights(step)[:, -1], log.cluster)


def _json(key: str, interval: Interval) -> dict[str, float]:
    """An interval for JSON, cut to its range: quality is in [0, 1], and utility is at most 1."""
    low, high = interval.low, interval.high
    if key == "quality":
        low = min(interval.value, max(low, 0.0))
    if key in ("quality", "utility"):
        high = max(interval.value, min(high, 1.0))
    return {"value": interval.value, "low": low, "high": high}


def main() -> None:
    """Runs the command."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("log")
    arguments.add_argument("order")
    arguments.add_argument("accept")
    arguments.add_argument("--price", type=float, default=0.0)
    arguments.add_argument("--independent", action="store_true")
    arguments.add_argument("--fold-count", type=int, default=5)
    given = arguments.parse_args()
    with open(given.log, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    log = openings_of(rows, given.order.split(","), given.independent)
    print(
        json.dumps(estimate(log, [float(x) for x in given.accept.split(",")], given.price, given.fold_count), indent=1)
    )


if __name__ == "__main__":
    main()
