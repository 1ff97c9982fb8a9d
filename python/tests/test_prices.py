"""Prices of calls by their tokens, from files, dicts and LiteLLM's list."""

from __future__ import annotations

import importlib.util
import json
import pathlib
from types import SimpleNamespace
from typing import Any

import pytest

import pandora
from pandora.prices import Prices

USAGE = {"prompt_tokens": 27147, "completion_tokens": 351, "prompt_tokens_details": {"cached_tokens": 27146}}


def test_a_call_costs_what_its_parts_cost(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text('"fw/kimi" = { in = 1.4, out = 4.4, cached = 0.26, batch = 0.5 }\nplain = [1.4, 4.4]\n')
    prices = Prices.read(file)
    assert prices.dollars("fw/kimi", USAGE) == pytest.approx(0.00860376, abs=1e-12)
    assert prices.dollars("fw/kimi", {**USAGE, "batch": True}) == pytest.approx(0.00430188, abs=1e-12)
    assert prices.dollars("plain", USAGE) == pytest.approx(0.0395502, abs=1e-12)
    thoughts = {"prompt_tokens": 200, "completion_tokens": 100, "total_tokens": 1300}
    assert Prices({"x": (0.2, 0.5)}).dollars("x", thoughts) == pytest.approx(0.00059, abs=1e-12)


def test_what_cannot_be_is_refused(tmp_path: pathlib.Path) -> None:
    prices = Prices({"x": (1, 2), "gpt-5": (1, 2)})
    refused: list[tuple[str, dict[str, Any], str]] = [
        (
            "gpt-4",
            USAGE,
            "no price is given for model gpt-4; the nearest is gpt-5; give a list of prices that has every",
        ),
        ("x", {"prompt_tokens": 5}, "has no completion_tokens"),
        (
            "x",
            {"prompt_tokens": 5, "completion_tokens": 5, "cached_tokens": 6},
            "more cached tokens than prompt_tokens",
        ),
    ]
    for model, usage, told in refused:
        with pytest.raises(pandora.DataError, match=told):
            prices.dollars(model, usage)
    given: list[Any] = [(1,), (1, 2, 3), {"in": 1}, {"in": 1, "out": 2, "cache": 3}, "dear"]
    for price in given:
        with pytest.raises(pandora.UsageError, match="prices: x"):
            Prices({"x": price})
    file = tmp_path / "prices.toml"
    file.write_text("gpt-4.1 = { in = 2, out = 8 }\n")
    with pytest.raises(pandora.UsageError, match='put a name with a dot in quotes, "gpt-4.1"'):
        Prices.read(file)


def test_the_list_of_litellm_is_taken(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"litellm_provider": "made_up", "input_cost_per_token": 1.4e-06, "output_cost_per_token": 4.4e-06}
    listed = {"kimi": {**entry, "cache_read_input_token_cost": 2.6e-07, "max_tokens": 9}, "image": {"mode": "image"}}
    above = {"input_cost_per_token_above_200k_tokens": 2.8e-06, "output_cost_per_token_above_200k_tokens": 6.6e-06}
    listed["long"] = {**entry, **above}
    (tmp_path / "model_prices_and_context_window_backup.json").write_text(json.dumps(listed))
    found: Any = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    for name in ("kimi", "made_up/kimi"):
        assert Prices.read("litellm").dollars(name, USAGE) == pytest.approx(0.00860376, abs=1e-12)
    table = {"models": ["kimi"], "quality": [[1.0]], "prompt_tokens": [[27147]], "completion_tokens": [[351]]}
    long = {"prompt_tokens": 200001, "completion_tokens": 1000}  # the whole call has the prices for long prompts
    assert Prices.read("litellm").dollars("long", long) == pytest.approx(200001 * 2.8e-06 + 0.0066, abs=1e-12)
    priced = pandora.Trace({**table, "cached_tokens": [[27146]]}, prices="litellm")
    assert priced.cost[0, 0] == pytest.approx(0.00860376, abs=1e-12)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(pandora.UsageError, match="pip install litellm"):
        Prices.read("litellm")
