"""Features without outcomes, and cascades by options: a kind, exploring, forgetting."""

from __future__ import annotations

import random
from typing import Optional

import numpy as np
import pytest

import pandora


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
    }  # a is best for every prompt
    for kind in ("router", "routed", "indices"):
        cascade = pandora.Cascade.fit(table, price=1.0, evaluator="quality", context="kind", kind=kind)
        assert cascade.about is not None and not cascade.about["pays"]
        # If every plan has one model, the cascade is a router, whichever of the two kinds was asked for.
        assert cascade.kind == kind or (kind, cascade.kind) == ("routed", "router")
        assert "as was asked for" in cascade.about["verdict"] and "a alone" in cascade.about["verdict"]
    auto = pandora.Cascade.fit(table, price=1.0, evaluator="quality", context="kind")
    assert auto.order == ["a"]


def test_indices_of_a_fit_explore_and_forget() -> None:
    """A model that was bad at the fit has become good. Only a cascade that explores and forgets finds this."""
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
