"""Choices between made-up candidates, and the parts of a fit by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pandora.offline.choose import SINGLE, Choice, Chooser
from pandora.offline.estimate import CROSS_FITTED, Estimate, corrected
from pandora.offline.groups import Floats, Groups
from pandora.offline.kinds import Aim, AimKind, Candidate, price_grid, rounded
from pandora.offline.outcomes import Outcomes
from pandora.offline.policies.order import Order, best_in_time, readable
from pandora.offline.record import as_json
from pandora.offline.worth import DollarTail, Worth, interval_of_json

ROWS = 100
#: The standard error of values that vary by 0.2 to both sides over these rows, widened as after cross-fitting.
ERROR = CROSS_FITTED * 0.2 / math.sqrt(ROWS - 1)


def each_its_own(rows: int) -> Groups:
    return Groups(np.arange(rows), rows)


def choice(aim: tuple[str, float], *made_up: tuple[Any, ...]) -> Choice:
    """The choice among candidates (kind, price, quality, dollars). A fifth number: quality varies by it to both
    sides.
    """
    sign = np.where(np.arange(ROWS) % 2 == 0, 1.0, -1.0)
    candidates = [Candidate(kind, price, model) for model, (kind, price, *_) in enumerate(made_up)]
    rows = [
        [quality + (spread[0] if spread else 0.0) * sign, np.full(ROWS, usd), np.ones(ROWS)]
        for _, _, quality, usd, *spread in made_up
    ]
    aims, dearer = Aim(AimKind(aim[0]), aim[1]), np.zeros(len(rows))
    return Chooser(candidates, np.array(rows), each_its_own(ROWS), aims, dearer).choose()


@pytest.mark.parametrize(("lead", "kind"), [(0.025, "thresholds"), (0.035, "indices")])
def test_the_simpler_kind_unless_the_other_leads_by_its_error(lead: float, kind: str) -> None:
    found = choice(
        ("price", 1.0), (SINGLE, 1.0, 0.5, 0.0), ("thresholds", 1.0, 0.7, 0.0), ("indices", 1.0, 0.7 + lead, 0.0, 0.2)
    )
    assert (found.kind, found.rival) == (kind, "thresholds" if kind == "indices" else "indices")
    assert found.difference is not None and found.difference.value == pytest.approx(lead)
    assert found.difference.error == pytest.approx(ERROR) == pytest.approx(0.0302, abs=1e-4)


@pytest.mark.parametrize(
    ("router", "thresholds", "kind"), [(0.705, 0.7, "router"), (0.7, 0.705, "thresholds"), (0.65, 0.66, "routed")]
)
def test_the_best_of_those_that_need_less(router: float, thresholds: float, kind: str) -> None:
    """Among kinds that are simpler than the best and perhaps as good, the better one is compared with the best."""
    found = choice(
        ("price", 1.0),
        (SINGLE, 1.0, 0.5, 0.0),
        ("router", 1.0, router, 0.0),
        ("thresholds", 1.0, thresholds, 0.0),
        ("routed", 1.0, 0.73, 0.0, 0.2),
    )
    assert found.kind == kind and found.rival == ("thresholds" if kind == "routed" else "routed")
    assert found.difference is not None
    assert found.difference.value == pytest.approx(0.73 - (router if kind == "router" else thresholds))


@pytest.mark.parametrize(("lead", "kind"), [(-0.001, "router"), (0.001, "thresholds")])
def test_a_router_and_thresholds_go_by_their_worth(lead: float, kind: str) -> None:
    """One needs a context and no judge, and the other a judge and no context. So neither of them is simpler."""
    made_up = (SINGLE, 1.0, 0.5, 0.0), ("router", 1.0, 0.7, 0.0), ("thresholds", 1.0, 0.7 + lead, 0.0, 0.2)
    assert choice(("price", 1.0), *made_up).kind == kind


@pytest.mark.parametrize(("gain", "kind"), [(0.05, SINGLE), (0.07, "thresholds")])
def test_one_model_where_the_gain_may_be_nothing(gain: float, kind: str) -> None:
    found = choice(("price", 10.0), (SINGLE, 10.0, 0.5, 0.01), ("thresholds", 10.0, 0.5 + gain, 0.01, 0.2))
    interval = found.gain.interval()
    assert interval.value == pytest.approx(gain) and interval.high - interval.low == pytest.approx(0.12, abs=0.001)
    assert (found.kind, found.cascade, found.pays) == (kind, "thresholds", kind != SINGLE)


def test_prices_are_tried_until_one_does_not_keep_the_bound() -> None:
    made_up = [
        (SINGLE, 1.0, 0.4, 0.001),
        (SINGLE, 1.0, 0.6, 0.01),
        ("thresholds", 4.0, 0.5, 0.001),
        ("thresholds", 2.0, 0.6, 0.002),
        ("thresholds", 1.0, 0.8, 0.004),
        ("thresholds", 0.5, 0.9, 0.002),  # after one that fails, later ones are not tried
    ]
    found = choice(("max_usd", 0.003), *made_up)
    picked = found.picked["thresholds"]
    assert (picked.number, picked.met) == (3, True) and picked.bound == pytest.approx(0.002)
    assert found.single.number == 0  # the other single model is too dear
    assert found.kind == "thresholds" and found.gain.value == pytest.approx(0.2)  # a gain in quality
    found = choice(("max_usd", 0.02), *made_up)
    assert (found.picked["thresholds"].number, found.single.number) == (5, 1)


def test_a_bound_on_quality_is_kept_by_the_cheapest_with_confidence() -> None:
    found = choice(
        ("min_quality", 0.79),
        (SINGLE, 1.0, 0.9, 0.02),
        ("thresholds", 0.0, 0.9, 0.009, 0.2),
        ("thresholds", 1.0, 0.85, 0.005, 0.2),
        ("thresholds", 2.0, 0.82, 0.001, 0.2),  # 0.82 - 1.66 x 0.0302 is below 0.79
    )
    assert found.picked["thresholds"].number == 2 and found.kind == "thresholds"
    assert found.picked["thresholds"].bound == pytest.approx(0.85 - 1.6604 * ERROR, abs=1e-4)
    assert found.gain.value == pytest.approx(15.0)  # the dollars that it saves on 1,000 prompts


def test_where_nothing_keeps_the_bound_the_nearest_is_taken() -> None:
    made_up = [
        (SINGLE, 1.0, 0.6, 0.002),
        (SINGLE, 1.0, 0.7, 0.003),
        ("thresholds", 0.0, 0.8, 0.004),
        ("thresholds", 1.0, 0.75, 0.003),
    ]
    for aim, kind, number in ((("min_quality", 0.9), "thresholds", 2), (("max_usd", 0.001), SINGLE, 0)):
        found = choice(aim, *made_up)
        assert (found.kind, found.chosen.number, found.chosen.met) == (kind, number, False)
    # If only one candidate keeps the bound, it needs no gain.
    assert choice(("min_quality", 0.75), made_up[0], made_up[2]).kind == "thresholds"


def test_a_promise_is_corrected_by_what_folds_do_better_on_all_rows_than_in_their_own() -> None:
    folds, whole = np.arange(5), np.array([[0.1, 0.5, 0.3, 0.9, 0.7], [1.0, 2.0, 3.0, 4.0, 5.0]])
    by_fold = np.stack([whole] * 5)
    assert corrected(whole, by_fold, folds) == pytest.approx(whole)
    by_fold[folds, 0, folds] -= 0.25  # a fifth of this on all rows, so 0.25 - 0.05
    by_fold[:, 1] = folds[:, None]
    assert corrected(whole, by_fold, folds)[0] == pytest.approx(whole[0] - 0.2)
    assert corrected(whole, by_fold, folds)[1] == pytest.approx(whole[1])  # cheaper fits correct nothing


def two_models(rows: int, dear: float, noise: float = 0.0) -> Outcomes:
    """A cheap model with qualities between 0 and 1, and a model for $0.10 whose answers have the quality `dear`."""
    draw = np.random.default_rng(1)
    quality = np.column_stack([draw.random(rows), dear + draw.uniform(-noise, noise, rows)])
    return Outcomes(quality, quality, np.full((rows, 2), [0.0, 0.1]))


@pytest.mark.parametrize(
    ("outcomes", "fitted", "told"),
    [
        (two_models(400, 0.85), 0.74837, 0.75),  # a second call pays below 0.75, where the curve is flat
        (two_models(400, 0.85), 0.75163, 0.75),
        (two_models(400, 0.85), 0.75, 0.75),
        (two_models(100_000, 0.8785, 0.1), 0.7785, 0.78),  # 0.75 and 0.8 are clearly worse, and 0.78 is not
    ],
)
def test_thresholds_have_few_digits_where_they_do_as_well(outcomes: Outcomes, fitted: float, told: float) -> None:
    assert readable(Order((0, 1), (fitted,)), outcomes, 1.0).thresholds == (told,)


def test_a_fitted_threshold_stays_where_every_other_loses() -> None:
    even = np.arange(200) % 2 == 0  # at 0.123 the dear one is much worse, at 0.122 much better
    quality = np.column_stack([np.where(even, 0.123, 0.122), np.where(even, 0.0, 1.0)])
    outcomes = Outcomes(quality, quality, np.full((200, 2), [0.0, 0.1]))
    assert readable(Order((0, 1), (0.123,)), outcomes, 1.0).thresholds == (0.123,)


def test_prices_span_what_dollars_can_mean() -> None:
    usd = np.array([[0.0, 0.001, 0.01], [0.0, 0.001, 0.03]] * 2)
    prices = price_grid(usd)
    assert prices[0] == pytest.approx(0.1)  # at this price the dearest model's $0.02 count 0.002
    assert prices[-1] >= 1000.0 > prices[-2]  # at this price the cheapest paid answer costs all of the quality
    assert all(b / a == pytest.approx(2.0, abs=0.1) for a, b in zip(prices, prices[1:]))
    assert price_grid(np.zeros((4, 3))) == [1.0]
    told = [rounded(*of) for of in ((0.2718, 2), (28.8136, 3), (34567.0, 2), (1.0, 3), (0.00012345, 3))]
    assert told == [0.27, 28.8, 35000.0, 1.0, 0.000123]


@pytest.mark.parametrize("most", [0.9, 1.4, 2.0, 2.6, 3.3])
def test_orders_in_time_are_nearly_the_best_of_two_models(most: float) -> None:
    """Compares with every order of two models and every threshold of a grid that keep the bound."""
    draw = np.random.default_rng(9)
    quality = np.clip(np.array([0.6, 0.75, 0.9]) + draw.normal(0.0, 0.25, (600, 3)), 0.0, 1.0)
    usd, seconds = (
        0.001 * np.full((600, 3), [1.0, 2.0, 5.0]),
        np.array([0.4, 0.8, 1.6]) * draw.uniform(0.5, 1.5, (600, 3)),
    )
    outcomes = Outcomes(quality, quality, usd, latency=seconds)

    def rated(order: Order) -> tuple[float, float]:
        walk = order.walk(outcomes)
        assert walk.seconds is not None
        late = np.sort(walk.seconds)[math.ceil(0.95 * 600) - 1]
        return float(late), float(np.mean(walk.numbers[0] - walk.numbers[1]))

    orders = [Order((a,)) for a in range(3)]
    orders += [Order((a, b), (k / 50,)) for a in range(3) for b in range(3) if a != b for k in range(51)]
    best = max(utility for late, utility in map(rated, orders) if late <= most)
    late, utility = rated(best_in_time(outcomes, 1.0, most))
    assert late <= most and utility >= best - 0.005


def test_a_saving_has_the_interval_of_a_ratio() -> None:
    """Its error comes from leaving out one prompt at a time."""
    draw = np.random.default_rng(3)
    alone = draw.uniform(0.5, 1.5, 400)
    usd = alone * draw.uniform(0.0, 0.4, 400)
    found = Estimate.saving(usd, alone, each_its_own(400))
    left_out = 1.0 - (usd.sum() - usd) / (alone.sum() - alone)
    assert found.value == pytest.approx(1.0 - usd.sum() / alone.sum())
    assert found.error == pytest.approx(left_out.std() * math.sqrt(399), rel=0.01)
    low, high = found.interval()[1:]
    assert high - found.value == pytest.approx(found.value - low)
    assert all(map(math.isnan, Estimate.saving(usd, np.zeros(400), each_its_own(400)).interval()))


def test_bounds_of_one_side_are_those_of_students_t_and_follow_a_tail() -> None:
    values: Floats = np.arange(11.0)
    even, tailed = (
        Estimate.mean(values, each_its_own(11)),
        Estimate.mean(np.append(values[:-1], 40.0), each_its_own(11)),
    )
    assert even.bound(True) == pytest.approx(5.0 + 1.8125 * even.error, abs=1e-3)  # t with 10 degrees of freedom
    assert even.bound(False) == pytest.approx(5.0 - 1.8125 * even.error, abs=1e-3)
    assert even.interval().high == pytest.approx(5.0 + 2.2281 * even.error, abs=1e-3)
    for upper, t in ((True, 1.8125), (False, -1.8125)):  # both move upwards
        assert tailed.bound(upper) > tailed.value + t * tailed.error + 0.1 * tailed.error


def test_bounds_count_one_more_of_a_prompt_that_stands_out() -> None:
    draw = np.random.default_rng(3)

    def means(law: Floats) -> list[Estimate]:
        return [Estimate.mean(usd, each_its_own(len(usd))) for usd in law]

    normal = means(draw.normal(10.0, 1.0, (200, 100)))
    ordinary = means(np.where(draw.random((200, 400)) < 0.2, 0.01, 0.002) * draw.uniform(0.5, 1.5, (200, 400)))
    assert not any(mean.one_more() for mean in normal) and sum(mean.one_more() > 0.0 for mean in ordinary) <= 20
    # Samples from a lognormal law whose skewness seems small enough for a bound.
    seeming = [mean for mean in means(draw.lognormal(0.0, 1.0, (800, 400))) if 25.0 * mean.skewness**2 <= 400.0]
    truth, least = math.exp(0.5), 0.95 * len(seeming) - 3.0 * math.sqrt(0.95 * 0.05 * len(seeming))
    assert len(seeming) > 300 and all(mean.one_more() >= 0.0 for mean in seeming)
    assert sum(mean.bound(True) >= truth for mean in seeming) < least
    assert sum(mean.bound(True) + mean.one_more() >= truth for mean in seeming) >= least
    usd: Floats = np.append(np.ones(399), 41.0)
    assert Estimate.mean(usd, each_its_own(400)).one_more() == pytest.approx((41.0 - 1.1) / 400.0)


def test_a_tail_of_dollars_is_told_by_its_dearest_prompts() -> None:
    usd: Floats = np.where(np.arange(300) % 2 == 0, 1.0, 2.0)
    assert not DollarTail.of(usd, each_its_own(300)).heavy
    usd[[7, 90, 200]] = 100.0
    tail = DollarTail.of(usd, each_its_own(300))
    assert tail.heavy and tail.dearest == 3 and tail.share == pytest.approx(300.0 / (446.0 + 300.0), abs=0.005)
    assert DollarTail.of(usd, Groups(np.arange(300) % 10, 10)).prompts == 10  # the rows of a prompt are one observation
    assert not DollarTail.of(np.full(300, 0.5), each_its_own(300)).heavy


def test_worth_by_hand() -> None:
    own, alone = (
        np.array([[1.0, 0.5, 0.0], [0.01, 0.02, 0.03], [1.0, 2.0, 2.0]]),
        np.array([[0.5] * 3, [0.1] * 3, [1.0] * 3]),
    )
    worth, fitted = (Worth.of(own, alone, 10.0, each_its_own(3), of) for of in (1.0, CROSS_FITTED))
    found = [getattr(worth, name).value for name in ("quality", "usd_per_1000", "calls", "utility", "gain", "saving")]
    assert found == pytest.approx([0.5, 20.0, 5.0 / 3.0, 0.3, 0.3 - (0.5 - 1.0), 0.8])
    assert CROSS_FITTED == 1.5
    assert fitted.usd_per_1000.high - 20.0 == pytest.approx(1.5 * (worth.usd_per_1000.high - 20.0))
    told = as_json(worth)
    assert Worth.of_json(told) == worth and interval_of_json(told["gain"]) == worth.gain


def test_rows_that_are_taken_keep_their_prompts() -> None:
    taken = Groups(np.array([2, 0, 2, 1, 0]), 3).take(np.array([0, 2, 4]))
    assert taken.count == 2 and taken.of_row.tolist() == [0, 0, 1]


def naive_walk(order: Order, outcomes: Outcomes, row: int) -> tuple[list[int], int, list[float], float]:
    """For a row: the called models, the deployed one, its quality, the dollars, calls and seconds."""
    assert outcomes.latency is not None
    called: list[int] = []
    deployed, usd, seconds = order.order[0], 0.0, 0.0
    for place, model in enumerate(order.order):
        called.append(model)
        usd += outcomes.usd[row, model] + (outcomes.judge_usd if len(order.order) > 1 else 0.0)
        seconds += outcomes.latency[row, model]
        shown = [float(outcomes.seen[row, m]) for m in called]
        known = [x for x in shown if not np.isnan(x)]
        if known:
            deployed = called[shown.index(max(known))]
        if place < len(order.thresholds) and shown[-1] >= order.thresholds[place]:
            break
    return called, deployed, [float(outcomes.quality[row, deployed]), usd, float(len(called))], seconds


@pytest.mark.parametrize("order", [Order((1,)), Order((2, 0), (0.5,)), Order((0, 3, 1, 2), (0.75, 0.5, 0.25))])
def test_a_walk_is_that_of_a_naive_one(order: Order) -> None:
    random = np.random.default_rng(5)
    seen = random.integers(0, 5, (400, 4)) / 4.0  # with equal values
    seen[random.random(seen.shape) < 0.1] = np.nan
    quality, usd, latency = random.random((3, 400, 4))
    outcomes = Outcomes(seen, quality, usd, judge_usd=0.125, latency=latency)
    walk = order.walk(outcomes)
    assert walk.seconds is not None
    for row in range(400):
        called, deployed, numbers, seconds = naive_walk(order, outcomes, row)
        assert [model for model in walk.called[row].tolist() if model >= 0] == called
        assert walk.deployed[row] == deployed and walk.numbers[:, row].tolist() == numbers
        assert walk.seconds[row] == seconds
