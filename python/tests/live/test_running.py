"""Running cascades: exploration, calls that fail, models that rest, come and go, and files."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Optional

import numpy as np
import pytest
from stores import NAMES
from stores import members_in_order as in_order

import pandora
from pandora import _core
from pandora.errors import LaneFailure
from pandora.live import Members, RunningCascade, new_members, parse, text_of
from pandora.live.learning import Learning
from pandora.live.members import MOST_PSI

REFUSED = pandora.UsageError


def learner(models: Sequence[str] = NAMES, price: float = 2.0, psi: int = 2, **more: Any) -> Members:
    """A cascade of the kind indices. It learns the quality from feedback, or knows it with evaluator="quality"."""
    return new_members(models, price, **{"evaluator": "score", "policy": "dow", "c_theta": 0.1, "psi": psi, **more})


def routed(**more: Any) -> Members:
    """psi = (1, x). Below x = 0 it calls "cheap" alone. Above, it calls "cheap" and then, below a score of 0.7,
    "dear".
    """
    router = {"learner": "ridge", "quality": [0.5, 0.5, 0.0, 0.25], "dollars": [0.0] * 4}
    plans = [{"order": ["cheap"], "thresholds": []}, {"order": ["cheap", "dear"], "thresholds": [0.7]}]
    given = {"kind": "routed", "models": ["dear", "cheap"], "price": 2.0, "evaluator": "score", "index_features": 2}
    return Members.of_json({**given, "plans": plans, "router": router, **more})


def same_numbers(members: Members, saved: Optional[str] = None) -> RunningCascade:
    """A new cascade, or one from a saved text. Its requests always have the numbers 1, 2, ..."""
    cascade = RunningCascade(members) if saved is None else parse(saved, "memory")
    cascade.epoch = 0
    return cascade


def reloaded(cascade: RunningCascade) -> RunningCascade:
    return same_numbers(cascade.members, text_of(cascade))


def end(cascade: RunningCascade, request: int, score: float = 0.9) -> str:
    while (model := cascade.next(request)) is not None:
        cascade.observe(request, model, 0.1, [score])
    return cascade.deploy(request)


def serve(
    cascade: RunningCascade, requests: int, seed: int, fails: Callable[[str], bool] = lambda model: False
) -> list[Any]:
    """Serves made-up requests with feedback. Returns the calls, the deployed models and the explanations."""
    draw, out = random.Random(seed), []
    for _ in range(requests):
        request = cascade.begin([1.0, *(draw.uniform(-1.0, 1.0) for _ in range(cascade.members.m - 1))])
        quality = {model: draw.random() for model in [*NAMES, "new", "late"]}
        while (model := cascade.next(request)) is not None:
            if fails(model):
                cascade.fail(request, model)
            else:
                cascade.observe(request, model, 0.05, [quality[model]])
                out.append(model)
        out.append(cascade.deploy(request))
        out.append(cascade.explain(request)["models"])
        cascade.feedback(request, quality[out[-2]])
    return out


# ---- exploration ----


def courses(order: list[int], threshold: float, scores: list[float], explore: float) -> dict[tuple[int, ...], float]:
    """The probability of each course of a request by the rules of docs/learning.md, written from that page alone. A
    course has the called models, and then the deployed one. `threshold` belongs to the first model.
    """
    found: dict[tuple[int, ...], float] = defaultdict(float)

    def deploy(called: list[int], likely: float) -> None:
        best = max(called, key=lambda model: (scores[model], -called.index(model)))
        each = explore / len(called) if len(called) > 1 else 0.0
        for model in called:
            found[(*called, model)] += likely * (each + (1.0 - each * len(called)) * (model == best))

    def go_on(called: list[int], likely: float) -> None:
        left = [model for model in range(3) if model not in called]
        rules = next((model for model in order if model not in called), None)
        stops = rules is None or (order[0] in called and scores[order[0]] >= threshold)
        for model in left:
            go_on([*called, model], likely * (explore / len(left) + (1.0 - explore) * (not stops and model == rules)))
        if stops:
            deploy(called, likely * (1.0 - explore if left else 1.0))

    go_on([], 1.0)
    return dict(found)


@pytest.mark.parametrize("first", [0.5, 0.8])
def test_courses_of_requests_have_their_probabilities(first: float) -> None:
    """Calls also report their own probabilities."""
    scores, requests = [first, 0.9, 0.6], 6000
    likely = courses([0, 1], 0.7, scores, 0.4)
    assert sum(likely.values()) == pytest.approx(1.0, abs=1e-12)
    cascade = RunningCascade(in_order(NAMES[:2], [0.7], 0.4))
    lines: list[Any] = []
    cascade.log = lines.append
    seen: Counter[tuple[int, ...]] = Counter()
    for _ in range(requests):
        request, course = cascade.begin([1.0]), []
        while (model := cascade.next(request)) is not None:
            course.append(NAMES.index(model))
            cascade.observe(request, model, 0.1, [scores[course[-1]]])
        seen[(*course, NAMES.index(cascade.deploy(request)))] += 1
    assert set(seen) <= set(likely)
    for one, probability in likely.items():
        expected = requests * probability
        assert abs(seen[one] - expected) <= 4.5 * math.sqrt(expected * (1.0 - probability)) + 1e-9, one
    for line in lines:  # the log has the page's probability for each first call
        call = line["calls"][0]
        assert call["propensity"] == pytest.approx(0.4 / 3 + 0.6 * (call["model"] == "small"))
        assert sum(one["deploy_propensity"] for one in line["calls"]) == pytest.approx(1.0)


@pytest.mark.parametrize("members", [in_order(NAMES[:2], [0.6], 0.5), learner(explore=0.5), routed(explore=0.5)])
def test_saved_and_loaded_at_any_step_it_goes_on_to_the_same_bytes(members: Members) -> None:
    steady, moved, draw = same_numbers(members), same_numbers(members), random.Random(4)
    for t in range(40):
        psi = [1.0, draw.uniform(-1, 1)][: members.m]
        request = steady.begin(psi)
        assert moved.begin(psi) == request
        while True:
            moved = reloaded(moved)
            assert moved.explain(request) == steady.explain(request)
            model = steady.next(request)
            assert moved.next(request) == model
            if model is None:
                break
            fails, score = draw.random() < 0.1, draw.random()
            for one in (steady, moved):
                one.fail(request, model, 0.1, "busy") if fails else one.observe(request, model, 0.1, [score])
        if not steady.explain(request)["calls"]:  # all models have failed
            steady.cancel(request)
            moved.cancel(request)
            continue
        assert moved.deploy(request) == steady.deploy(request)
        if t % 3 > 0:
            steady.feedback(request, 0.5)
            moved.feedback(request, 0.5)
    assert text_of(moved) == text_of(steady)


def test_models_that_are_removed_are_not_drawn() -> None:
    cascade = RunningCascade(in_order(NAMES[:2], [0.6], 1.0))
    under_way = [cascade.begin([1.0]) for _ in range(30)]
    cascade.remove_model("large")
    for request in under_way:
        called = []
        while (model := cascade.next(request)) is not None:
            called.append(model)
            cascade.observe(request, model, 0.1, [0.9])
        assert sorted(called) == ["medium", "small"]
    cascade.set_explore(0.0)
    request = cascade.begin([1.0])
    assert cascade.next(request) == "small"
    cascade.observe(request, "small", 0.1, [0.9])
    assert cascade.next(request) is None and '"explore"' not in text_of(cascade)
    with pytest.raises(REFUSED, match="explore 1.5: give a probability"):
        cascade.set_explore(1.5)


def test_without_a_judge_one_model_is_called_perhaps_a_drawn_one() -> None:
    cascade, called = RunningCascade(in_order(["medium"], [], 0.5, evaluator="none")), Counter[Optional[str]]()
    for _ in range(600):
        request = cascade.begin([1.0])
        assert not cascade.needs_score(request)
        model = cascade.next(request)
        assert model is not None
        cascade.observe(request, model, 0.1)
        assert cascade.next(request) is None and cascade.deploy(request) == model
        called[model] += 1
    assert abs(called["medium"] - 400) < 4 * math.sqrt(600 * 2 / 9)
    assert abs(called["large"] - 100) < 4 * math.sqrt(600 * 5 / 36)


# ---- failures and rests ----


@pytest.mark.parametrize("members", [in_order(NAMES, [0.8, 0.4]), learner()])
@pytest.mark.parametrize("gone", NAMES)
def test_a_request_goes_on_as_if_the_model_that_failed_were_not_there(members: Members, gone: str) -> None:
    failing = RunningCascade(replace(members, failures_until_rest=0))
    without = RunningCascade(members)
    without.remove_model(gone)
    told = serve(failing, 60, 5, lambda model: model == gone)
    assert [one for one in told if isinstance(one, str)] == [o for o in serve(without, 60, 5) if isinstance(o, str)]
    assert failing.counts()["failures"] > 0


def test_a_model_that_fails_again_and_again_rests_and_is_tried_by_one_request() -> None:
    cascade = RunningCascade(in_order(NAMES[:2], [0.8], failures_until_rest=3, requests_of_rest=4))

    def begin(wanted: str) -> int:
        request = cascade.begin([1.0])
        assert cascade.next(request) == wanted
        return request

    for _ in range(3):
        request = begin("small")
        cascade.fail(request, "small", 0.01, "time-out")
        end(cascade, request)
    for _ in range(4):
        end(cascade, begin("medium"))
    # If two requests are open, the first one tries the resting model. The trial fails, so the next four skip it.
    first, second = begin("small"), begin("medium")
    cascade.fail(first, "small")
    end(cascade, first), end(cascade, second)
    for _ in range(4):
        end(cascade, begin("medium"))
    # A cancelled trial does not count. A trial that succeeds ends the rest, also if the cascade was saved meanwhile.
    cascade.cancel(begin("small"))
    cascade = parse(text_of(cascade), "memory")
    third = begin("small")
    cascade.observe(third, "small", 0.1, [0.1])
    begin("small")
    assert cascade.states[0].rests_until == 0
    assert (cascade.counts()["failures"], cascade.counts()["cancelled"]) == (4, 1)


def test_where_all_rest_they_are_called_all_the_same() -> None:
    cascade = RunningCascade(in_order(["medium"], [], failures_until_rest=1))
    request = cascade.begin([1.0])
    cascade.fail(request, "medium", 0.02)
    assert cascade.next(request) is None and "cancel it" in cascade.explain(request)["stopped"]
    with pytest.raises(REFUSED, match="every model that it could call has failed"):
        cascade.deploy(request)
    assert parse(text_of(cascade), "memory").explain(request) == cascade.explain(request)
    cascade.cancel(request)
    with pytest.raises(REFUSED, match="is forgotten"):
        cascade.cancel(request)
    assert cascade.counts()["dollars"] == 0.02 and cascade.next(cascade.begin([1.0])) == "medium"


def test_nothing_is_learned_of_what_was_given_up() -> None:
    cascade = RunningCascade(learner())
    serve(cascade, 40, 5)

    def predicted() -> list[Any]:
        request = cascade.begin([1.0, 0.3])
        found = [(m["prediction"], m["width"]) for m in cascade.explain(request)["models"]]
        cascade.cancel(request)
        return found

    before, request = predicted(), cascade.begin([1.0, 0.3])
    cascade.observe(request, str(cascade.next(request)), 0.5, [0.0])
    if (model := cascade.next(request)) is not None:
        cascade.skip(request, model)
    cascade.cancel(request)
    assert predicted() == before and cascade.counts()["failures"] == 0
    request = cascade.begin([1.0, 0.3])
    name = str(cascade.next(request))
    for refused in (
        lambda: cascade.fail(request, "unheard"),
        lambda: cascade.fail(request, name, -1.0),
        lambda: cascade.observe(request, name, 0.1, [0.5], -1.0),
        lambda: cascade.observe(request, name, 0.1, []),
        lambda: cascade.observe(request, name, 0.1, [1.5]),
        lambda: cascade.deploy(request),
    ):
        with pytest.raises(REFUSED):
            refused()
    cascade.observe(request, name, 0.5, [0.0])
    cascade.deploy(request)
    for refused in (lambda: cascade.cancel(request), lambda: cascade.skip(request, name)):
        with pytest.raises(REFUSED, match="is deployed already"):
            refused()


@pytest.mark.parametrize("answers", [True, False])
def test_a_request_may_be_of_one_model_alone(answers: bool) -> None:
    cascade = RunningCascade(in_order(NAMES[:2], [0.8], 0.5))
    request = cascade.begin([1.0])
    cascade.only(request, "large")
    assert cascade.next(request) == "large"  # although it is not in the order
    if answers:
        cascade.observe(request, "large", 0.1, [0.1])
        assert cascade.next(request) is None and cascade.deploy(request) == "large"
        with pytest.raises(REFUSED, match="has called a model"):
            cascade.only(request, "large")
    else:
        cascade.fail(request, "large")
        assert cascade.next(request) in ("small", "medium")
        with pytest.raises(REFUSED, match="was passed over"):
            cascade.only(request, "large")


# ---- models and prices ----


@pytest.mark.parametrize("members", [learner(["a"]), learner(["a"], policy="shrunk_weitzman", evaluator="quality")])
def test_a_model_that_is_added_at_once_is_a_model_from_the_start(members: Members) -> None:
    three = RunningCascade(new_members(NAMES, 2.0, members.evaluator, psi=2, c_theta=0.1,
                           policy="dow" if members.learns_reward else "shrunk_weitzman"))  # fmt: skip
    grown = RunningCascade(replace(members, models=("small",), trial_calls=0))
    for name in NAMES[1:]:
        grown.add_model(name)
    assert serve(grown, 60, 7) == serve(three, 60, 7)


@pytest.mark.parametrize("members", [learner(), learner(policy="shrunk_weitzman", evaluator="quality")])
def test_models_come_late_go_and_come_back(members: Members) -> None:
    cascade = same_numbers(members)
    serve(cascade, 40, 7)
    cascade.add_model("late")
    request = cascade.begin([1.0, 0.5])
    told = cascade.explain(request)["models"]
    assert told[3]["width"] > told[0]["width"] and cascade.next(request) == "late"  # the new model's trial
    again = reloaded(cascade)
    assert serve(again, 60, 8) == serve(cascade, 60, 8) and text_of(again) == text_of(cascade)
    request = cascade.begin([1.0, 0.5])
    first, position = str(cascade.next(request)), cascade.position(str(cascade.next(request)))
    score = cascade.explain(request)["models"][position]["score"]
    cascade.remove_model(first)
    assert cascade.next(request) != first  # the open request goes on without this model
    assert parse(text_of(cascade), "memory").models()[position] == (first, True)
    cascade.add_model(first)
    assert cascade.explain(cascade.begin([1.0, 0.5]))["models"][position]["score"] == pytest.approx(score, abs=0.05)
    assert first not in [one for one in serve(_without(cascade, first), 30, 9) if isinstance(one, str)]


def _without(cascade: RunningCascade, name: str) -> RunningCascade:
    cascade.remove_model(name)
    return cascade


@pytest.mark.parametrize("members", [learner(), learner(policy="shrunk_weitzman", evaluator="quality")])
def test_a_price_makes_over_what_was_learned(members: Members) -> None:
    exact = json.loads(_core.estimation("every:1", 0.0, 0))
    changed = RunningCascade(replace(members, estimation=exact))
    wanted = RunningCascade(replace(members, estimation=exact, price=6.0))
    draw = random.Random(4)
    for t in range(60):
        psi, dollars, score = [1.0, draw.uniform(-1, 1)], draw.uniform(0.0, 0.05), draw.random()
        for one in (changed, wanted):
            one.calibrate(t + 1, psi, NAMES[t % 3], dollars, [score], 0.5)
    changed.begin([1.0, 0.5])
    changed.set_price(6.0)
    own, other = (c.explain(c.begin([1.0, 0.5]))["models"] for c in (changed, wanted))
    for one, two in zip(own, other):  # learned ridges still remember the old price a little
        assert one["prediction"] == pytest.approx(two["prediction"], abs=1e-7 if members.learns_reward else 0.003)
    before = text_of(changed)
    changed.set_price(6.0)
    for price, said in ((0.0, "both must be positive"), (1e300, "at most 1e9")):
        with pytest.raises(REFUSED, match=said):
            changed.set_price(price)
    assert text_of(changed) == before


def test_thresholds_and_routers_go_on_without_a_model_and_hold_for_their_price() -> None:
    cascade = RunningCascade(in_order(["large", "small", "medium"], [0.9, 0.5]))
    request = cascade.begin([1.0])
    cascade.observe(request, "large", 0.1, [0.3])
    cascade.remove_model("small")
    assert cascade.next(request) == "medium" and cascade.members.plans[0].thresholds == (0.9,)
    cascade.remove_model("medium")
    assert cascade.next(request) is None and cascade.deploy(request) == "large"
    refusals: list[tuple[Callable[[], Any], str]] = [
        (lambda: cascade.remove_model("large"), "it calls large alone"),
        (lambda: cascade.add_model("d"), "fit again on a table that has it"),
        (lambda: cascade.set_price(2.0), "thresholds hold for the price"),
    ]
    for refused, said in refusals:
        with pytest.raises(REFUSED, match=said):
            refused()
    router = RunningCascade(routed(plans=[{"order": ["dear"], "thresholds": []},
                                          {"order": ["cheap", "dear"], "thresholds": [0.7]}]))  # fmt: skip
    request = router.begin([1.0, -0.5])
    assert router.next(request) == "dear"
    router.remove_model("dear")
    assert router.next(request) == "cheap" and not router.needs_score(router.begin([1.0, 0.5]))
    again = parse(text_of(router), "memory")
    before = text_of(again)
    assert before == text_of(router)
    refusals = [
        (lambda: again.remove_model("cheap"), "it calls cheap alone"),
        (lambda: again.add_model("d"), "the router does not say when to call d"),
        (lambda: again.set_price(1.0), "a router holds for the price"),
    ]
    for refused, said in refusals:
        with pytest.raises(REFUSED, match=said):
            refused()
    assert text_of(again) == before


def test_a_router_chooses_where_it_begins_and_its_thresholds_go_on() -> None:
    cascade = RunningCascade(routed())
    request = cascade.begin([1.0, -0.5])
    cascade.observe(request, "cheap", 0.1)  # without a score
    assert cascade.next(request) is None and cascade.deploy(request) == "cheap"
    assert cascade.explain(request)["calls"][0]["quality"] is None
    request = cascade.begin([1.0, 0.5])
    told = cascade.explain(request)["models"]
    assert told[1]["prediction"] == pytest.approx(0.625, abs=1e-7) and told[0]["prediction"] is None
    assert told[1]["score"] == 0.7
    with pytest.raises(REFUSED, match="0 scores; the evaluator score shows 1"):
        cascade.observe(request, "cheap", 0.1)
    cascade.observe(request, "cheap", 0.1, [0.6])
    assert cascade.next(request) == "dear"
    assert text_of(parse(text_of(cascade), "under way")) == text_of(cascade)
    cascade.observe(request, "dear", 0.2, [0.5])
    assert cascade.deploy(request) == "cheap"
    request = cascade.begin([1.0, 0.5])
    cascade.observe(request, "cheap", 0.1, [0.75])
    assert cascade.next(request) is None


@pytest.mark.parametrize("members", [learner(["old"]), learner(["old"], policy="shrunk_weitzman", evaluator="quality")])
def test_an_open_request_goes_by_models_that_have_come_since(members: Members) -> None:
    cascade = RunningCascade(members)
    request = cascade.begin([1.0, 0.5])
    cascade.add_model("new")
    cascade.remove_model("old")
    again = parse(text_of(cascade), "memory")
    for one in (cascade, again):
        with pytest.raises(REFUSED, match="model old is not the one to call next, new"):
            one.observe(request, "old", 0.01, [0.5])
        one.observe(request, "new", 0.01, [0.5])
        assert one.deploy(request) == "new"
        one.feedback(request, 0.5)
    assert text_of(again) == text_of(cascade)


def test_a_newcomer_that_is_better_is_adopted_and_a_worse_one_costs_its_trial() -> None:
    def calls(quality: float, dollars: float, seed: int) -> int:
        cascade = RunningCascade(learner(NAMES[:2], 5.0, 3, policy="shrunk_weitzman", evaluator="quality", c=0.05))
        draw, found = random.Random(seed), 0
        worth = {"small": (0.55, 0.01), "medium": (0.7, 0.03), "new": (quality, dollars)}
        for t in range(900):
            if t == 300:
                cascade.add_model("new")
            hard = draw.uniform(-1, 1)
            request = cascade.begin([1.0, hard, draw.uniform(-1, 1)])
            while (model := cascade.next(request)) is not None:
                q, usd = worth[model]
                seen = min(1.0, max(0.0, q - 0.2 * hard + draw.uniform(-0.3, 0.3)))
                cascade.observe(request, model, usd * draw.uniform(0.7, 1.3), [seen])
                found += model == "new"
            cascade.deploy(request)
        return found

    assert sum(calls(0.8, 0.01, seed) > 300 for seed in range(3)) >= 2
    assert max(calls(0.4, 0.03, seed) for seed in range(3)) <= 40


# ---- whole calls, contexts, memory ----


@pytest.mark.parametrize("schedule", ["geometric:1.5", "tracking", "every:1"])
@pytest.mark.parametrize("evaluator", ["quality", "score"])
def test_calls_happen_whole_or_not_at_all(schedule: str, evaluator: str) -> None:
    """Some psi are 1e7, as a fit may have seen them. With them no estimate can be solved."""
    ends = np.array([[1.0, 1.0], [-1e9, 1e9], [-1e9, 1e9]], np.float32)
    cascade = RunningCascade(replace(learner(NAMES[:2], 2.0, 3, evaluator=evaluator, refit=schedule), psi_range=ends))
    draw, failures = random.Random(3), 0

    def whole(call: Callable[[], Any]) -> Any:
        nonlocal failures
        before = text_of(cascade)
        try:
            return call() or True
        except (LaneFailure, REFUSED) as problem:
            failures += isinstance(problem, LaneFailure)
            assert text_of(cascade) == before
            return None

    for t in range(40):
        scale = 1e7 if t % 5 == 4 else 1.0
        psi = [1.0, scale * draw.uniform(-1, 1), scale]
        if (request := whole(lambda psi=psi: cascade.begin(psi))) is None:  # type: ignore[misc]
            continue
        while (model := cascade.next(request)) is not None:
            dollars, score = draw.uniform(0, 0.1), draw.random()
            if not whole(lambda r=request, m=model, d=dollars, s=score: cascade.observe(r, m, d, [s])):  # type: ignore[misc]
                break
        if cascade.next(request) is None and whole(lambda r=request: cascade.deploy(r)):  # type: ignore[misc]
            whole(lambda r=request: cascade.feedback(r, 0.5))  # type: ignore[misc]
        if t % 20 == 10:
            whole(lambda: cascade.set_price(draw.uniform(1, 100)))
        if t == 30:
            whole(lambda: cascade.add_model("c"))
    assert failures > 0


def test_contexts_that_no_estimate_can_be_solved_of_are_refused() -> None:
    for members in (learner(psi=3), learner(psi=3, policy="shrunk_weitzman", refit="every:1")):
        cascade, draw = RunningCascade(members), random.Random(3)
        for t in range(60):  # every second psi is at the bound
            far = MOST_PSI if t % 2 else 1.0
            request = cascade.begin([1.0, far * draw.choice([-1, 1]), far * draw.uniform(-1, 1)])
            end(cascade, request, draw.random())
            cascade.feedback(request, draw.random())
        before = text_of(cascade)
        for psi, said in (
            ([1.0, 1e7, 0.0], r"number 2 of psi is 1e\+07; give numbers between -1000 and"),
            ([1.0, float("nan"), 0.0], "a number that is not finite"),
            ([1.0, 0.0], "psi has 2 numbers; this cascade takes 3"),
        ):
            with pytest.raises(REFUSED, match=said):
                cascade.begin(psi)
        assert text_of(cascade) == before


def test_contexts_are_clipped_to_what_the_fit_saw() -> None:
    ends = np.array([[1.0, 1.0], [-2.0, 3.0]], np.float32)
    cascade = RunningCascade(replace(learner(), psi_range=ends))
    serve(cascade, 40, 1)
    again = parse(text_of(cascade), "memory")
    scores = {
        x: [m["prediction"] for m in again.explain(again.begin([1.0, x]))["models"]] for x in (-1e9, -2.0, 3.0, 1e9)
    }
    assert scores[1e9] == scores[3.0] != scores[-2.0] == scores[-1e9] and '"psi_range"' in text_of(cascade)


def test_what_is_held_fits_into_a_file() -> None:
    def most(members: Members) -> int:
        return Learning(members).most_held

    wide = learner([f"model{a}" for a in range(16)], 1.0, 100, evaluator="quality")
    assert 30_000 < most(wide) < 100_000 and most(learner(most_samples=0)) > 900_000
    with pytest.raises(REFUSED, match="a saved cascade has 512 MiB, which 16 models with contexts of 1600"):
        RunningCascade(replace(wide, index_features=1600))
    with pytest.raises(REFUSED, match="16 models are the most"):
        RunningCascade(wide).add_model("one")
    few = RunningCascade(replace(in_order(NAMES, [0.8, 0.4]), most_requests=4))
    few.epoch = 0
    requests = [few.begin([1.0]) for _ in range(10)]
    for request in requests[6:]:
        end(few, request)
    more = few.begin([1.0])
    assert (few.counts()["dropped_open"], few.counts()["dropped_waiting"]) == (6, 1)
    for request in (1, requests[6]):
        with pytest.raises(REFUSED, match=f"request {request} is forgotten"):
            few.feedback(request, 0.5)
    with pytest.raises(REFUSED, match="there was no request"):
        few.next(more + 1)


@pytest.mark.parametrize("forget", [1.0, 19.0])
@pytest.mark.parametrize("policy", ["dow", "shrunk_weitzman"])
def test_with_samples_that_are_forgotten_it_is_saved_too(forget: float, policy: str) -> None:
    """So many requests are open between two lessons that all samples are forgotten."""

    def played(every: int) -> str:
        cascade = same_numbers(learner(policy=policy, forget=forget))
        draw, under_way = random.Random(7), []
        for t in range(120):
            if t % every == every - 1:
                cascade = reloaded(cascade)
            under_way.append(cascade.begin([1.0, draw.uniform(-3, 3)]))
            while len(under_way) > (38 if t % 97 < 40 else 3):
                request = under_way.pop(draw.randrange(len(under_way)))
                while (model := cascade.next(request)) is not None:
                    cascade.observe(request, model, draw.uniform(0, 0.1), [draw.random()])
                cascade.deploy(request)
                if draw.random() < 0.7:
                    cascade.feedback(request, draw.random())
        return text_of(cascade)

    assert played(13) == played(10_000)


def test_feedback_in_any_order_teaches_the_same() -> None:
    def quality(backwards: bool) -> float:
        cascade = RunningCascade(learner(c=0.0, c_theta=0.0))
        waiting = []
        for t in range(20):
            request = cascade.begin([1.0, math.sin(t)])
            cascade.observe(request, str(cascade.next(request)), 0.1, [0.3 + 0.4 * (t % 2)])
            cascade.deploy(request)
            waiting.append((request, t % 4 / 3.0))
        for request, value in reversed(waiting) if backwards else waiting:
            cascade.feedback(request, value)
        probe = cascade.begin([1.0, 0.5])
        cascade.observe(probe, str(cascade.next(probe)), 0.1, [0.7])
        return float(cascade.explain(probe)["calls"][0]["quality"])

    forwards = quality(False)
    assert quality(True) == pytest.approx(forwards, abs=1e-9) and abs(forwards - 0.5) > 1e-3


def test_a_new_cascade_looks_beyond_its_first_model() -> None:
    """Without a bonus on rewards, ties go to the first model, and the cascade learns only about this model."""
    for policy in ("shrunk_weitzman", "dow"):
        first = {}
        for c_theta in (1.0, 0.0):
            cascade, draw = RunningCascade(learner(price=1.0, psi=1, policy=policy, c_theta=c_theta)), random.Random(5)
            found = 0
            for t in range(400):
                request = cascade.begin([1.0])
                called = 0
                while (model := cascade.next(request)) is not None:
                    cascade.observe(request, model, 0.02 if model == "small" else 0.01, [draw.uniform(0.4, 0.6)])
                    called += 1
                assert t > 0 or called == 3  # the first request calls every model
                deployed = cascade.deploy(request)
                found += deployed == "small"
                cascade.feedback(request, 0.6 if deployed == "small" else 0.9)
            first[c_theta] = found
        assert first[1.0] < 50 and first[0.0] > 350


# ---- numbers, forks, files ----


def test_numbers_that_were_lost_with_a_kill_are_no_one_elses() -> None:
    first = RunningCascade(learner())
    kept = first.begin([1.0, 0.1])
    end(first, kept)
    saved, lost = text_of(first), []
    for _ in range(20):
        lost.append(first.begin([1.0, 0.2]))
        end(first, lost[-1])
    again, worker = parse(saved, "memory"), parse(saved, "memory")
    others = [one.begin([1.0, 0.3]) for one in (again, worker) for _ in range(20)]
    assert len({*lost, *others, kept}) == 61 and max(lost) < 2**53
    before = text_of(again)
    for request in lost:
        with pytest.raises(REFUSED, match="it began in another process, or was lost with one since"):
            again.feedback(request, 1.0)
    assert text_of(again) == before
    again.feedback(kept, 1.0)
    worker.feedback(kept, 1.0)


def test_numbers_go_on_in_another_epoch_when_their_places_are_through() -> None:
    cascade = RunningCascade(replace(in_order(NAMES[:2], [0.7]), most_requests=4))
    cascade.begin([1.0])
    cascade.last_id = (1 << 20) - 2
    last = [cascade.begin([1.0]) for _ in range(3)]
    assert (
        last[1] % (1 << 20) == 0 and last[2] == last[1] + 1 and last[1] >> 20 != last[0] >> 20 == last[0] // (1 << 20)
    )
    assert cascade.next(last[1]) == cascade.next(last[2]) == "small"
    with pytest.raises(REFUSED, match="there was no request"):
        cascade.next(last[2] + 1)
    assert parse(text_of(cascade), "memory").next(last[2]) == "small"


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # from Python 3.12 on
def test_a_forked_child_has_a_whole_cascade_and_numbers_of_its_own() -> None:
    cascade, enough = RunningCascade(learner(most_samples=100)), threading.Event()

    def learns() -> None:
        k = 0
        while not enough.is_set():
            k += 1
            request = cascade.begin([1.0, k % 7 / 7.0])
            end(cascade, request)
            cascade.feedback(request, 0.5)

    thread = threading.Thread(target=learns)
    thread.start()
    try:
        for _ in range(8):
            own = cascade.begin([1.0, 0.5])
            child = os.fork()
            if child == 0:
                code = 1
                with contextlib.suppress(BaseException):
                    whole = parse(text_of(cascade), "memory").counts()["requests"] == cascade.counts()["requests"]
                    request = cascade.begin([1.0, 0.5])
                    end(cascade, request)
                    cascade.feedback(request, 0.5)
                    code = 0 if whole and request >> 20 != own >> 20 else 2
                os._exit(code)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        enough.set()
        thread.join()


def test_files_that_are_not_whole_are_refused() -> None:
    cascade = RunningCascade(learner())
    serve(cascade, 20, 7)
    cascade.begin([1.0, 0.0])
    text, draw = text_of(cascade), random.Random(5)
    for cut in range(0, len(text) - 2, len(text) // 30 + 1):
        with pytest.raises(pandora.DataError, match=r"c\.json: "):
            parse(text[:cut], "c.json")
    for changed, said in (
        (text.replace('"price": 2.0', '"price": 3.0'), "its digest differs"),
        (text.replace('"version": 3', '"version": 9'), "another version"),
        ("[]", "is no cascade"),
        ("{]", "is not JSON"),
    ):
        with pytest.raises(pandora.DataError, match=said):
            parse(changed, "c.json")
    for _ in range(100):
        at = draw.randrange(len(text) - 1)
        flipped = text[:at] + chr(ord(text[at]) ^ (1 << draw.randrange(7))) + text[at + 1 :]
        with contextlib.suppress(pandora.DataError):  # a change of blanks is no damage
            assert text_of(parse(flipped, "c.json")) == text


def test_a_cascade_is_copied_and_pickled() -> None:
    import copy
    import pickle

    cascade = pandora.Cascade.new(["a", "b", "c"], price=1.0, evaluator="score", psi=2)
    with cascade.begin([1.0, 0.5]) as request:
        for _ in request:
            request.observe(0.1, 0.5)
    for twin in (copy.copy(cascade), copy.deepcopy(cascade), pickle.loads(pickle.dumps(cascade))):
        assert text_of(twin._live) == text_of(cascade._live)
        twin.remove_model("a")
    assert cascade.models == ["a", "b", "c"]
