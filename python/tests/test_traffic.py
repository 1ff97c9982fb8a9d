"""What goes along with requests: budgets, shadows, shares; features without outcomes; cascades as asked for."""

from __future__ import annotations

import pathlib
import random
import warnings
from typing import Optional

import numpy as np
import pytest

import pandora
from pandora.serving import Budget, Shadow, Store, share_of

MODELS = {"small": (0.001, 0.6), "large": (0.01, 0.9)}  # dollars, quality


def serve(store: Store, draw: random.Random, learns: bool = True) -> None:
    request = store.begin([1.0, draw.uniform(-1, 1)])
    for model in request:
        dollars, quality = MODELS[model]
        request.observe(dollars=dollars * draw.uniform(0.5, 1.5), score=min(1.0, max(0.0, draw.gauss(quality, 0.2))))
    deployed = request.deploy()
    if learns:
        request.feedback(MODELS[deployed][1])


def new(price: float) -> pandora.Cascade:
    return pandora.Cascade.new(list(MODELS), price=price, evaluator="score", psi=2)


def test_a_budget_is_kept(tmp_path: pathlib.Path) -> None:
    """Without it every request takes the large model; with it dollars are the budget's, within what is promised."""
    spent = {}
    for usd in (0.004, 0.02):
        budget = Budget(usd, price=1.0, every=50)
        draw = random.Random(7)
        with Store(tmp_path / str(usd), new(1.0), budget=budget) as store:
            for _ in range(8000):
                serve(store, draw)
            found = store.metrics()
            spent[usd] = found["dollars"] / 8000
            assert found["price"] == budget.present
    promised = np.log(1000.0) * 50 / (0.2 * 8000)  # were the price ever a thousandfold
    assert 0.004 * 0.9 < spent[0.004] < 0.004 * (1.0 + promised)
    assert 0.009 < spent[0.02] < 0.015 and budget.present == 1.0  # it does not bind
    with Store(tmp_path / "0.004", budget=Budget(0.004, price=1.0)) as store:  # it goes on at the price that it had
        assert store.metrics()["price"] > 10.0


def test_a_budget_needs_a_price_that_can_move(tmp_path: pathlib.Path) -> None:
    table = {"models": ["a", "b"], "quality": [[k % 3 / 2, 0.9] for k in range(60)], "cost": [[0.001, 0.02]] * 60}
    thresholds = pandora.Cascade.fit(table, price=10.0, evaluator="quality", kind="thresholds")
    with pytest.raises(pandora.UsageError, match="thresholds hold for the price of their fit"):
        Store(tmp_path / "kept", thresholds, budget=Budget(0.01, price=10.0))
    Store(tmp_path / "kept").close()  # and the folder is free again
    for wrong in ({"usd_per_request": 0.0}, {"price": -1.0}, {"every": 0}, {"step": float("nan")}, {"step": 1e3}):
        with pytest.raises(pandora.UsageError, match=next(iter(wrong))):
            Budget(**{"usd_per_request": 0.01, "price": 1.0, **wrong})  # type: ignore[arg-type]


def test_a_shadow_sees_and_does_not_decide(tmp_path: pathlib.Path) -> None:
    draws = random.Random(3), random.Random(3)
    with Store(tmp_path / "alone", new(1.0)) as store:
        for _ in range(300):
            serve(store, draws[0])
        alone = store.cascade._live.text()
    mine = new(1.0)
    Shadow(mine)  # a copy of it: it still learns where it decides
    draw = random.Random(3)
    with Store(tmp_path / "own", mine) as store:
        for _ in range(300):
            serve(store, draw)
        assert store.cascade._live.text() == alone
    same = pandora.Cascade.new(["large"], price=1.0, evaluator="score", psi=2)
    shadow = Shadow(same)
    with Store(tmp_path / "with", new(1.0), shadow=shadow) as store:
        for _ in range(300):
            serve(store, draws[1])
        assert store.cascade._live.text() == alone
        found = store.metrics()["shadow"]
    assert found == shadow.state() and found["requests"] == 300
    called = found["answered"]  # the requests for which the large model was called
    assert 0 < called <= 300 and found["calls"] == called and found["live_calls"] >= called
    assert 0 < found["same_answer"] <= called and 0.0 < found["usd"] <= found["live_usd"]
    with pytest.raises(pandora.UsageError, match="Shadow: cascade"):
        Shadow("cascade.json")  # type: ignore[arg-type]


def test_a_shadow_has_the_models_and_the_evaluator_of_its_store(tmp_path: pathlib.Path) -> None:
    other = pandora.Cascade.new(["other"], price=1.0, evaluator="score", psi=2)
    with pytest.raises(pandora.UsageError, match="Store: the shadow's models are none of the cascade's, small, large"):
        Store(tmp_path / "kept", new(1.0), shadow=Shadow(other))
    other = pandora.Cascade.new(list(MODELS), price=1.0, evaluator="quality", psi=2)
    with pytest.raises(pandora.UsageError, match="Store: the shadow's evaluator is quality, the cascade's score"):
        Store(tmp_path / "kept", new(1.0), shadow=Shadow(other))
    wider = Shadow(pandora.Cascade.new(list(MODELS), price=1.0, evaluator="score", psi=3))
    with Store(tmp_path / "kept", new(1.0), shadow=wider) as store:
        serve(store, random.Random(3))  # what the shadow refuses is no matter of the request
    assert wider.state()["refused"] == wider.state()["requests"] == 1


def test_another_budget_holds_from_when_it_is_given(tmp_path: pathlib.Path) -> None:
    with Store(tmp_path / "kept", new(1.0), budget=Budget(0.004, price=1.0, every=50)) as store:
        draw = random.Random(7)
        for _ in range(500):
            serve(store, draw)
        assert store.cascade.price == store.metrics()["price"] > 2.0
        before = store.metrics()["price"]
        for wrong in (0.002, "0.002"):
            with pytest.raises(pandora.UsageError, match="Store: budget"):
                store.keep_to(wrong)  # type: ignore[arg-type]
            with pytest.raises(pandora.UsageError, match="Store: monitor"):
                store.watch(wrong)  # type: ignore[arg-type]
        assert store.metrics()["price"] == before == store.cascade.price
        store.keep_to(None)
        assert store.cascade.price == 1.0 and "price" not in store.metrics()
        store.keep_to(Budget(0.004, price=2.0, every=50))
        assert store.metrics()["price"] == store.cascade.price == 2.0


def test_a_folder_that_goes_on_with_another_cascade_says_so(tmp_path: pathlib.Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Store(tmp_path / "kept", new(1.0)).close()
        Store(tmp_path / "kept", new(2.0)).close()  # its price may have moved
    with pytest.warns(
        pandora.PandoraWarning, match="kept: goes on with the cascade that it has; .* another model, more"
    ):
        Store(tmp_path / "kept", pandora.Cascade.new([*MODELS, "more"], price=1.0, evaluator="score", psi=2)).close()


def test_keys_have_shares() -> None:
    shares = np.array([share_of(f"user {k}") for k in range(20000)])
    assert share_of("user 3") == shares[3] and abs(shares.mean() - 0.5) < 4 / np.sqrt(12 * 20000)
    assert abs((shares < 0.1).mean() - 0.1) < 4 * np.sqrt(0.09 / 20000)


def test_features_are_fitted_on_texts_alone() -> None:
    texts = [f"{what} number {k}" for k in range(40) for what in ("add the", "a poem of")]
    features = pandora.Features.fit(texts, ["text:3", "length", "source"], columns={"source": ["x", "y"] * 40})
    assert features.names[:4] == ["text:0", "text:1", "text:2", "length"] and len(features.notes) == 1
    cascade = pandora.Cascade.new(["a", "b"], price=1.0, evaluator="score", features=features)
    table = pandora.Trace(
        {"models": ["a"], "quality": [[k % 2] for k in range(80)], "cost": [[0.1]] * 80,
         "columns": {"prompt": texts, "source": ["x", "y"] * 40}}
    )  # fmt: skip
    assert np.isfinite(cascade.context_of(texts[0], {"source": "x"})).all()
    assert len(cascade.context_of(texts[0], {"source": "x"})) == 1 + len(features.names) and table.rows == 80
    with pytest.raises(pandora.UsageError, match="leave it out"):
        pandora.Features.fit(texts, "text:3", columns={"prompt": texts})
    with pytest.raises(pandora.UsageError, match="a text at least"):
        pandora.Features.fit([])
    with pytest.raises(pandora.Error, match="sourc"):
        pandora.Features.fit(texts, "sourc", columns={"source": ["x", "y"] * 40})


def test_a_kind_that_is_asked_for_is_given() -> None:
    draw = np.random.default_rng(1)
    kinds = draw.integers(0, 2, 200)
    table = {
        "models": ["a", "b"],
        "quality": np.column_stack([np.full(200, 0.9), draw.uniform(0.0, 0.3, 200)]),
        "cost": np.full((200, 2), 0.01),
        "columns": {"kind": [f"k{k}" for k in kinds]},
    }  # a is best, whatever the prompt
    for kind in ("router", "routed", "indices"):
        cascade = pandora.Cascade.fit(table, price=1.0, evaluator="quality", context="kind", kind=kind)
        assert cascade.about is not None and not cascade.about["pays"]
        # plans of one model each are a router, whichever of the two was asked for
        assert cascade.kind == kind or (kind, cascade.kind) == ("routed", "router")
        assert "as was asked for" in cascade.about["verdict"] and "a alone" in cascade.about["verdict"]
    auto = pandora.Cascade.fit(table, price=1.0, evaluator="quality", context="kind")
    assert auto.order == ["a"]


def test_indices_of_a_fit_explore_and_forget() -> None:
    """A model that was bad at the fit has become good: only who calls it again, and forgets, finds that."""
    draw = np.random.default_rng(2)
    quality = np.column_stack([draw.normal(0.7, 0.1, 400), draw.normal(0.2, 0.1, 400)]).clip(0, 1)
    table = {"models": ["a", "b"], "quality": quality, "scores": {"score": quality}, "cost": np.full((400, 2), 0.01)}

    def deployed_b(forget: Optional[float] = None, c: float = 0.0) -> int:
        cascade = pandora.Cascade.fit(table, price=1.0, evaluator="score", kind="indices", forget=forget, c=c)
        draws, out = random.Random(5), 0
        for _ in range(1500):
            with cascade.begin([1.0]) as request:
                for model in request:
                    request.observe(0.01, min(1.0, draws.gauss(0.5 if model == "a" else 0.9, 0.05)))
            request.feedback(0.5 if request.deployed == "a" else 0.9)
            out += request.deployed == "b"
        return out

    found = deployed_b(), deployed_b(c=0.5), deployed_b(forget=100.0, c=0.5)
    assert found[:2] == (0, 0) and found[2] > 750, found
    with pytest.raises(pandora.UsageError, match="only indices learn"):
        pandora.Cascade.fit(table, price=1.0, evaluator="score", forget=100.0)
    with pytest.raises(pandora.UsageError, match="c=-1"):
        pandora.Cascade.fit(table, price=1.0, evaluator="score", kind="indices", c=-1.0)
