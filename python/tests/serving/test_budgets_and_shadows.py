"""Budgets, shadows, monitors with a control arm, and shares, which accompany a store's requests."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from stores import MODELS, answer, deployed, in_order, learned, new, opened, require_replayed, rows, until

import pandora
from pandora.serving import Budget, BudgetSpent, Monitor, Shadow, Store, share_of

pytest_plugins = ["database_fixtures"]
pytestmark = pytest.mark.usefixtures("quick")


def spend(store: Store, requests: int, every: int, factors: Sequence[float] = (1.0,)) -> tuple[float, float]:
    """Serves requests while the models' dollars jump. Each block's version is adopted before the next block. Returns
    the dollars, and the greatest price.
    """
    draw, greatest = random.Random(7), 0.0
    for k in range(requests):
        answer(store, draw, feedback=False, factor=factors[k * len(factors) // requests])
        if k % every == every - 1:
            assert store.settle()
            greatest = max(greatest, store.metrics()["price"])
    return float(store.metrics()["dollars"]), greatest


def test_a_budget_is_kept_also_where_prices_jump(sqlite_url: str) -> None:
    """Dual ascent promises: mean spending is at most budget x (1 + log(greatest price / price) every / (step n))."""
    usd, every, n = 0.004, 25, 1500
    with opened(sqlite_url, new(MODELS), budget=Budget(usd, price=1.0, every=every)) as store:
        spent, greatest = spend(store, n, every, [4.0, 0.25, 1.0, 4.0])
        assert store.metrics()["budget"]["present"] == store.metrics()["price"] == store.cascade.price
        assert 0.5 * usd < spent / n <= usd * (1.0 + math.log(greatest) * every / (0.2 * n)) * (1.0 + 1e-9)
        assert 2.0 < greatest < 100.0 / usd
        require_replayed(store)
    with opened(sqlite_url) as store:  # it goes on at its last price
        assert store.metrics()["budget"]["usd_per_request"] == usd and store.metrics()["price"] == store.cascade.price


def test_the_bound_of_a_budget_holds_whatever_is_spent() -> None:
    """Spending need not follow the price, as when models' dollars jump. Blocks have several lengths."""
    draw, kept = random.Random(42), 0
    for _ in range(100):
        budget = Budget(0.002, price=2.0, every=draw.choice([1, 10, 100]), step=draw.choice([0.05, 0.2, 2.0]))
        spent, greatest, n, factor = 0.0, 2.0, 3000, 1.0
        for k in range(n):
            if k % 300 == 0:
                factor = draw.choice([0.25, 1.0, 4.0, 16.0])
            dear = draw.random() < 1.0 / (1.0 + budget.present / 100.0)  # a high price makes dear calls rare
            dollars = factor * (0.004 if dear else 0.0002)
            spent += dollars
            budget.spend(dollars)
            greatest = max(greatest, budget.present)
        assert greatest <= 100.0 / 0.002
        if greatest < 100.0 / 0.002:  # otherwise no price would have kept the budget
            kept += 1
            assert spent / n <= 0.002 * (1.0 + math.log(greatest / 2.0) * budget.every / (budget.step * n)) * (1 + 1e-9)
    assert kept > 30


def test_a_budget_that_does_not_bind_leaves_the_price(sqlite_url: str) -> None:
    with opened(sqlite_url, new(MODELS), budget=Budget(0.02, price=1.0, every=20)) as store:
        spend(store, 100, 20)
        assert store.metrics()["price"] == 1.0
        for wrong in (0.002, "0.002"):
            with pytest.raises(pandora.UsageError, match="Store: budget"):
                store.keep_to(wrong)  # type: ignore[arg-type]
        store.keep_to(Budget(0.0001, price=1.0, every=5))
        spend(store, 50, 5)
        assert store.metrics()["price"] == store.cascade.price > 2.0
        store.keep_to(None)
        assert store.cascade.price == 1.0 == store.metrics()["price"] and "budget" not in store.metrics()
        store.keep_to(Budget(0.004, price=2.0, every=50))
        assert store.cascade.price == 2.0 == store.metrics()["price"]
        require_replayed(store)


def test_a_budget_needs_a_price_that_can_move(sqlite_url: str) -> None:
    with pytest.raises(pandora.UsageError, match="thresholds hold for the price of their fit"):
        opened(sqlite_url, in_order(), budget=Budget(0.01, price=10.0))
    with opened(sqlite_url) as store:  # the database is free again
        assert "budget" not in store.metrics()
    wrongs: list[dict[str, Any]] = [{"usd_per_request": 0.0}, {"price": -1.0}, {"every": 0}, {"step": float("nan")}]
    for wrong in [*wrongs, {"step": 1e3}, {"stop_usd": 0.0}]:
        with pytest.raises(pandora.UsageError, match=next(iter(wrong))):
            Budget(**{"usd_per_request": 0.01, "price": 1.0, **wrong})


def test_a_price_that_what_was_learned_cannot_be_made_over_to_stops_nobody(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The learner goes on. The price stays, and the change is tried again after the next block."""

    def refused(*_: Any) -> None:
        raise pandora.UsageError("cascade: price 7: what was learned cannot be made over to it (made up)")

    with opened(sqlite_url, new(MODELS), budget=Budget(0.0001, price=1.0, every=5)) as store:
        with monkeypatch.context() as patch:
            patch.setattr("pandora.live.learning.Learning.set_price", refused)
            spend(store, 10, 5)
            with pytest.raises(pandora.UsageError, match="made up"):
                store.set_price(7.0)
        assert store.metrics()["refused"] == 3 and store.metrics()["price"] == 1.0
        spend(store, 10, 5)
        assert store.metrics()["price"] > 1.0 and store.metrics()["learner"]["failure"] is None


def test_the_dollars_of_a_day_may_be_a_hard_stop(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget(0.5, price=1.0, stop_usd=1.0)
    with opened(sqlite_url, new(["a"]), budget=budget) as store, opened(sqlite_url, sync_seconds=3600.0) as away:

        def pay(on: Store, dollars: float, how: str) -> None:
            request = on.begin([1.0, 0.5])
            request.next()
            request.observe(dollars, 0.5)
            request.cancel() if how == "cancels" else request.deploy()

        pay(store, 0.3, "deploys")
        pay(store, 0.3, "cancels")
        assert store.settle() and store.metrics()["dollars"] == pytest.approx(0.6)
        pay(away, 0.45, "deploys")  # it counts here at once, and for others when it is written
        with pytest.raises(BudgetSpent, match=r"\$1.05 of today's \$1 are spent; the next day begins at 0:00 UTC"):
            until(lambda: away.begin([1.0, 0.5]).cancel())
        pay(store, 0.1, "deploys")
        assert away.settle()
        with pytest.raises(BudgetSpent):
            until(lambda: store.begin([1.0, 0.5]).cancel())
        tomorrow = time.time() + 86400.0
        monkeypatch.setattr("pandora.serving.store.time.time", lambda: tomorrow)
        pay(store, 0.2, "deploys")  # the next day
        assert store.settle()


# ---- shadows ----


def test_a_shadow_sees_and_does_not_decide(sqlite_url: str) -> None:
    mine = new(["large"])
    shadow, draw = Shadow(mine), random.Random(3)
    with opened(sqlite_url, new(MODELS), shadow=shadow) as store:
        for k in range(100):
            deployed = answer(store, draw)
            assert deployed in MODELS and (k > 0 or deployed == "large")
        assert store.settle()
        found = store.metrics()["shadow"]
        assert found == {name: value for name, value in shadow.state().items() if value} and found["requests"] == 100
        assert mine.counts["requests"] == 0  # a copy of the shadow sees the requests
        with opened(sqlite_url, shadow=Shadow(new(["small"]))) as other:  # the workers' numbers are summed
            for _ in range(10):
                answer(other, draw)
            assert other.settle() and other.metrics()["shadow"]["requests"] == 110
        require_replayed(store)
    called = found["answered"]  # the requests for which the large model was called
    assert 0 < called <= 100 and found["calls"] == called and found["live_calls"] >= called
    assert 0 < found["same_answer"] <= called and 0.0 < found["usd"] <= found["live_usd"]
    with pytest.raises(pandora.UsageError, match="Shadow: cascade"):
        Shadow("cascade.json")  # type: ignore[arg-type]


def test_a_shadow_has_the_models_and_the_evaluator_of_its_store(sqlite_url: str) -> None:
    with pytest.raises(pandora.UsageError, match="Store: the shadow's models are none of the cascade's, small, large"):
        opened(sqlite_url, new(MODELS), shadow=Shadow(new(["other"])))
    with pytest.raises(pandora.UsageError, match="Store: the shadow's evaluator is quality, the cascade's score"):
        opened(sqlite_url, shadow=Shadow(new(MODELS, evaluator="quality")))
    wider = Shadow(new(MODELS, psi=3))
    with opened(sqlite_url, shadow=wider) as store:
        answer(store, random.Random(3))  # a refusal of the shadow does not touch the request
        request = store.begin([1.0, 0.5])
        request.next()
        request.cancel()
    assert wider.state()["refused"] == wider.state()["requests"] == 1 and not wider._calls


# ---- monitors ----


def test_a_store_gives_some_requests_to_the_model_alone(sqlite_url: str) -> None:
    cascade = new(["a", "b"])
    monitor = Monitor(cascade.models, cascade.price, against="b", share=0.5)
    alone = by_rules = 0
    with opened(sqlite_url, cascade, monitor=monitor) as store, opened(sqlite_url) as other:
        for k in range(60):
            called = []
            with (store, other)[k % 2].begin([1.0, 0.5]) as request:
                for model in request:
                    request.observe(0.01, 0.5)
                    called.append(model)
            assert not monitor.is_control(request.number) or called == ["b"]
            alone += monitor.is_control(request.number)
            by_rules += called[0] == "a"  # the rules call "a" first, and the control does not
            assert (store, other)[k % 5 == 4].feedback(request.number, 0.5)
        assert store.flush() and other.flush() and store.settle()
        assert other.settle() and other.metrics()["feedbacks"] == 60  # also those that the other worker took
        state = store.metrics()["monitor"]
        assert sum(found["feedbacks"] for found in state["models"].values()) == 60  # over all workers
        assert state["settings"] == monitor.settings and state["cascade_less"]["model"] == "b"
        require_replayed(store)
    assert 10 < alone < 50 and by_rules > 0
    with opened(sqlite_url) as store:  # it goes on after a restart
        assert store.monitor is not None and store.monitor["models"] == state["models"]
        store.watch(None)
        assert store.monitor is None


def test_a_control_request_whose_model_fails_goes_by_the_cascade(sqlite_url: str) -> None:
    cascade = new(["a", "b"])
    monitor = Monitor(cascade.models, cascade.price, against="b", share=0.5)
    with opened(sqlite_url, cascade, monitor=monitor) as store:
        for _ in range(40):
            with store.begin([1.0, 0.5]) as request:
                for model in request:
                    request.fail("down") if model == "b" else request.observe(0.01, 0.5)
            assert request.deployed == "a" and store.feedback(request.number, 0.5)
        assert store.settle()
        found = store.learned().monitor
        assert found is not None and found._difference.arms[1][0] == 0
        assert store.metrics()["monitor"]["models"]["a"]["feedbacks"] == 40
        store.remove_model("b")
        assert store.explain(deployed(store, psi=[1.0, 0.5]))["deployed"] == "a"


def test_alarms_survive_restarts(sqlite_url: str) -> None:
    monitor = Monitor(["small", "large"], price=1.0)
    with opened(sqlite_url, in_order(evaluator="score"), monitor=monitor, sync_seconds=0.5) as store:
        for k in range(700):
            store._put(
                "feedback", float(k < 200), deployed(store, 0.9)
            )  # like feedback(), but without waiting for the disk
        assert store.settle()
        told = store.metrics()["monitor"]["alarms"]
        assert len(told) == 1 and "small" in told[0]
        assert len(rows(store, "feedback")) == 700
    with opened(sqlite_url) as store:
        assert store.metrics()["monitor"]["alarms"] == told
        assert store.metrics()["monitor"]["models"]["small"]["feedbacks_for_a_fall_of_0.1"] > 100
        assert learned(store)


def test_keys_have_shares() -> None:
    shares = np.array([share_of(f"user {k}") for k in range(20000)])
    assert share_of("user 3") == shares[3] and abs(shares.mean() - 0.5) < 4 / np.sqrt(12 * 20000)
    assert abs((shares < 0.1).mean() - 0.1) < 4 * np.sqrt(0.09 / 20000)
