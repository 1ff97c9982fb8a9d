"""Measures how often intervals hold the truth, on 200 tables for each law, for every estimator and interval.

usage: python coverage.py [TABLES] [PROMPTS]      prints a table; by default 200 tables of 500 prompts
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from calibrate import folds, judge_calibrated, outcomes_of_actions
from intervals import (
    Floats,
    Interval,
    Ratio,
    best_interval,
    bootstrap_interval,
    drawn_clusters,
    hall_interval,
    mean_of,
    t_interval,
    t_kurtosis_interval,
)
from laws import (
    CLASSES,
    Law,
    Table,
    cascade_truth,
    draw,
    epsilon_greedy,
    label,
    log_openings,
    log_router,
    router_truth,
    softmax,
)
from off_policy import (
    cell_estimates,
    effective_size,
    fewest_hits,
    forecasts,
    importance,
    labelled_path,
    path_estimates,
    path_weights,
    router_estimates,
    self_normalised_dr,
    walk_cascade,
)

Answers = dict[tuple[str, str], tuple[list[Ratio], float]]  # (quantity, estimator): parts, truth
Experiment = Callable[[Law, int, np.random.Generator, dict[str, float]], Answers]

ROUTER = np.eye(3)[[0, 1, 1, 2]]  # the target policy chooses by class of difficulty
BASE = np.array([1, 1, 1, 1])
PREFERENCE = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]])
ORDER, ACCEPT = (0, 1, 2), (0.7, 0.5, 0.0)


def utility(price: float, quality: Ratio, dollars: Ratio) -> list[Ratio]:
    """quality - price x dollars."""
    return [quality, dollars.times(-price)]


def router_answers(
    law: Law,
    table: Table,
    probability: Floats,
    rng: np.random.Generator,
    told: dict[str, float],
    clip: float = math.inf,
) -> Answers:
    """The quality and dollars of ROUTER, and its gain in utility over model 1 alone."""
    log = log_router(table, probability, rng)
    fold, answers = folds(table.cluster), {}
    single = np.eye(3)[np.ones(CLASSES, dtype=int)]
    truths = [router_truth(law, policy) for policy in (ROUTER, single)]
    predicted = [outcomes_of_actions(log.context, log.action, y, 3, fold) for y in (log.quality, log.cost)]
    weight = importance(ROUTER[table.kind], log, clip)
    told["effective"] += effective_size(weight) / len(log.action)
    told["hits"] += fewest_hits(weight, log.action, ROUTER[table.kind])
    gain = (truths[0][0] - truths[1][0]) - law.price * (truths[0][1] - truths[1][1])

    def parts_of(policy: Floats, which: int, name: str) -> list[Ratio]:
        arguments = policy[table.kind], log, (log.quality, log.cost)[which], predicted[which], clip
        return self_normalised_dr(*arguments) if name == "sndr" else [router_estimates(*arguments)[name]]

    for name in ("ips", "snips", "dr", "sndr"):
        mine, other = ([parts_of(policy, which, name) for which in (0, 1)] for policy in (ROUTER, single))
        answers["quality", name] = mine[0], truths[0][0]
        answers["dollars", name] = mine[1], truths[0][1]
        parts = mine[0] + [part.times(-law.price) for part in mine[1]]
        parts += [part.times(-1) for part in other[0]] + [part.times(law.price) for part in other[1]]
        answers["gain", name] = parts, gain
    return answers


def greedy(law: Law, prompts: int, rng: np.random.Generator, told: dict[str, float]) -> Answers:
    """A router's log: it calls model 1, and with epsilon = 0.2 any model."""
    table = draw(law, prompts, rng)
    return router_answers(law, table, epsilon_greedy(table, BASE, 0.2, 3), rng, told)


def greedy_clipped(law: Law, prompts: int, rng: np.random.Generator, told: dict[str, float]) -> Answers:
    """The same with weights clipped at 10."""
    table = draw(law, prompts, rng)
    return router_answers(law, table, epsilon_greedy(table, BASE, 0.2, 3), rng, told, clip=10.0)


def soft(law: Law, prompts: int, rng: np.random.Generator, told: dict[str, float]) -> Answers:
    """A router's log, drawn by softmax from preferences that depend on the class."""
    table = draw(law, prompts, rng)
    return router_answers(law, table, softmax(table, PREFERENCE, 0.4), rng, told)


def cell_answers(law: Law, prompts: int, rng: np.random.Generator, depends: bool) -> Answers:
    """A cascade on a table that has scores and dollars in all cells, and labels in 30% of them."""
    table = draw(law, prompts, rng)
    labelled, probability = label(table, rng, depends)
    fold = folds(table.cluster)
    predicted = judge_calibrated(table.score, table.quality, labelled, probability, fold)
    everything = log_openings(table, np.ones(3), rng)
    walk = walk_cascade(ORDER, ACCEPT, everything, table.score)
    truth, alone = cascade_truth(law, ORDER, ACCEPT), cascade_truth(law, (1,), (0.0,))
    dollars = mean_of(walk.dollars[:, -1], table.cluster)
    single = mean_of(table.cost[:, 1], table.cluster)
    mine, other = (
        cell_estimates(d, table.quality, labelled, probability, predicted, table.cluster)
        for d in (walk.deployed, np.ones(len(table.cluster), dtype=np.int64))
    )
    answers: Answers = {("dollars", "mean"): ([dollars], truth[1])}
    for name in ("complete", "ips", "snips", "dr"):
        answers["quality", name] = [mine[name]], truth[0]
        parts = utility(law.price, mine[name], dollars)
        parts += [part.times(-1) for part in utility(law.price, other[name], single)]
        answers["gain", name] = parts, truth[0] - alone[0] - law.price * (truth[1] - alone[1])
    return answers


def cells(law: Law, prompts: int, rng: np.random.Generator, told: dict[str, float]) -> Answers:
    """Labels that do not depend on scores."""
    return cell_answers(law, prompts, rng, depends=False)


def cells_by_score(law: Law, prompts: int, rng: np.random.Generator, told: dict[str, float]) -> Answers:
    """Labels that are rarer if the judge is sure. Here the estimator `complete` is wrong by design."""
    return cell_answers(law, prompts, rng, depends=True)


def openings(law: Law, prompts: int, rng: np.random.Generator, told: dict[str, float]) -> Answers:
    """A cascade from a log. It opens models with probability 0.9, 0.5 and 0.3, and labels half of the opened ones."""
    table = draw(law, prompts, rng)
    log = log_openings(table, np.array([0.9, 0.5, 0.3]), rng, label_share=0.5)
    fold, rows = folds(table.cluster), np.arange(len(table.cluster))
    guess = judge_calibrated(log.score, log.quality, log.labelled, log.probability * log.label_probability, fold)
    walk = walk_cascade(ORDER, ACCEPT, log, log.score)
    truth = cascade_truth(law, ORDER, ACCEPT)
    spent = np.column_stack([walk.dollars[:, :-1], walk.dollars[:, -1]])
    dollars = path_estimates(walk.step, forecasts(spent, walk.step, walk.dollars[:, -1], fold), table.cluster)
    quality = path_estimates(*labelled_path(walk, log, guess[rows, walk.deployed], fold), table.cluster)
    told["effective"] += effective_size(path_weights(walk.step)[:, -1]) / len(rows)
    answers: Answers = {}
    for name in ("ips", "snips", "dr"):
        answers["quality", name] = [quality[name]], truth[0]
        answers["dollars", name] = [dollars[name]], truth[1]
        answers["utility", name] = utility(law.price, quality[name], dollars[name]), truth[0] - law.price * truth[1]
    return answers


LIGHT = Law()
HEAVY = Law(tail="lognormal", sigma=1.0)
PARETO = Law(tail="pareto")
SEVERAL = (1, 1, 2, 3, 8)
EXPERIMENTS: list[tuple[str, Law, Experiment, float]] = [  # the last: a factor on the number of prompts
    ("labels 30%", LIGHT, cells, 1),
    ("labels by score", LIGHT, cells_by_score, 1),
    ("labels 30%, Pareto 2.5, clusters", Law(tail="pareto", requests=SEVERAL), cells, 0.5),
    ("epsilon 0.2, a fifth", LIGHT, greedy, 0.2),
    ("epsilon 0.2", LIGHT, greedy, 1),
    ("epsilon 0.2, four times", LIGHT, greedy, 4),
    ("epsilon 0.2, clipped at 10", LIGHT, greedy_clipped, 1),
    ("epsilon 0.2, clusters", Law(requests=SEVERAL), greedy, 0.5),
    ("epsilon 0.2, lognormal 1.0", HEAVY, greedy, 1),
    ("epsilon 0.2, lognormal 1.0, four times", HEAVY, greedy, 4),
    ("epsilon 0.2, Pareto 2.5, four times", PARETO, greedy, 4),
    ("softmax", LIGHT, soft, 1),
    ("softmax, lognormal 1.0", HEAVY, soft, 1),
    ("softmax, lognormal 1.5, four times", Law(sigma=1.5), soft, 4),
    ("softmax, Pareto 2.5, clusters", Law(tail="pareto", requests=SEVERAL), soft, 0.5),
    ("openings", LIGHT, openings, 1),
    ("openings, lognormal 1.0, clusters", Law(sigma=1.0, requests=SEVERAL), openings, 0.5),
    ("openings, lognormal 1.0, four times", HEAVY, openings, 4),
]


def intervals_of(parts: Sequence[Ratio], counts: Floats) -> dict[str, Interval]:
    """All intervals of an estimate, by name."""
    return {
        "t": t_interval(parts),
        "t_jack": t_interval(parts, jackknifed=True),
        "t_kurt": t_kurtosis_interval(parts),
        "hall": hall_interval(parts),
        "boot": bootstrap_interval(parts, counts),
        "best": best_interval(parts),
    }


def run(name: str, law: Law, experiment: Experiment, tables: int, prompts: int, seed: int) -> None:
    """Prints a line for each quantity and estimator: coverage of each interval in %, width, bias in standard errors."""
    hits: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    told = {"effective": 0.0, "hits": 0.0}
    counts = drawn_clusters(prompts, np.random.default_rng(seed))  # the same for all tables
    for number in range(tables):
        rng = np.random.default_rng([seed, number])
        for key, (parts, truth) in experiment(law, prompts, rng, told).items():
            found = intervals_of(parts, counts)
            hits[key].append(
                [float(interval.holds(truth)) for interval in found.values()]
                + [found["t"].high - found["t"].low, found["best"].high - found["best"].low, found["t"].value - truth]
            )
    effective = f", effective rows {told['effective'] / tables:.0%}" if told["effective"] else ""
    effective += f", {told['hits'] / tables:.0f} effective calls of the rarest model" if told["hits"] else ""
    print(f"\n{name}: {tables} tables of {prompts} prompts{effective}")
    print(f"{'':18}" + "".join(f"{kind:>8}" for kind in found) + f"{'width t':>10}{'best/t':>8}{'bias/se':>9}")
    for (quantity, estimator), rows in sorted(hits.items()):
        values = np.array(rows)
        mean, spread = values.mean(axis=0), values[:, -1].std(ddof=1) / math.sqrt(tables)
        print(
            f"{quantity + ' ' + estimator:18}"
            + "".join(f"{100 * hit:8.1f}" for hit in mean[:-3])
            + f"{mean[-3]:10.3g}{mean[-2] / mean[-3]:8.2f}{mean[-1] / spread:9.1f}"
        )


def main() -> None:
    """Runs all experiments."""
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    prompts = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    print(f"95% intervals; a coverage of 95 has a standard error of {100 * math.sqrt(0.95 * 0.05 / tables):.1f} here")
    for seed, (name, law, experiment, share) in enumerate(EXPERIMENTS):
        run(name, law, experiment, tables, max(int(prompts * share), 40), seed)


if __name__ == "__main__":
    main()
