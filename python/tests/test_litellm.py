"""A cascade in front of LiteLLM, whose answers are made up by LiteLLM itself."""

from __future__ import annotations

import asyncio
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

import pandora
from pandora.serving import Store

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no network
litellm: Any = pytest.importorskip("litellm")
from pandora.serving.litellm import CascadeLLM, llm_judge, text_of  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of LiteLLM and what it imports

QUESTION = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 2 + 2?"}]


def says(answer: Any, model: str = "openai/gpt-4o-mini", **more: Any) -> dict[str, Any]:
    return {"model": model, "mock_response": answer, "prices": [1.0, 2.0], **more}


BUSY = litellm.RateLimitError("busy", "openai", "x")


async def judge(prompt: str, answer: str) -> tuple[float, float]:
    assert prompt == "What is 2 + 2?"
    return float(answer), 0.001


@pytest.fixture
def store(tmp_path: pathlib.Path) -> Iterator[Store]:
    cascade = pandora.Cascade.new(["small", "large"], price=1.0, evaluator="score")
    with Store(tmp_path / "kept", cascade) as kept:
        yield kept


def test_the_best_answer_is_given_and_learned_from(store: Store) -> None:
    llm = CascadeLLM(store, {"small": says("0.25"), "large": says("0.75")}, judge)
    answer = asyncio.run(llm.answer(QUESTION, temperature=0.5))
    assert answer.deployed in ("small", "large") and answer.response.id == f"cascade-{answer.request}"
    assert {call["model"]: call["score"] for call in answer.calls} == {"small": 0.25, "large": 0.75}
    usage = answer.response.usage
    dollars = (usage.prompt_tokens + 2 * usage.completion_tokens) / 1e6 + 0.001
    assert all(abs(call["dollars"] - dollars) < 1e-4 for call in answer.calls)
    llm.feedback(answer.response.id, 1.0)
    assert store.metrics()["feedbacks"] == 1
    with pytest.raises(pandora.UsageError, match="is no id"):
        llm.feedback("chatcmpl-1", 1.0)


def test_a_request_is_a_span(store: Store) -> None:
    traces, sdk = pytest.importorskip("opentelemetry.trace"), pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter").InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(memory))
    traces.set_tracer_provider(provider)
    llm = CascadeLLM(store, {"small": says("0.25"), "large": says(BUSY)}, judge)
    answer = asyncio.run(llm.answer(QUESTION))
    (span,) = [span for span in memory.get_finished_spans() if span.name == "pandora.cascade"]
    assert span.attributes["pandora.request"] == answer.request and span.attributes["pandora.deployed"] == "small"
    assert span.attributes["pandora.dollars"] == sum(call["dollars"] for call in answer.calls)
    told = {event.attributes["pandora.model"]: event.attributes for event in span.events}
    assert told["small"]["pandora.score"] == 0.25 and told["large"]["pandora.failure"] == "RateLimitError"


def test_it_is_a_provider(store: Store) -> None:
    llm = CascadeLLM(store, {"small": says("0.25"), "large": says("0.75")}, judge)
    litellm.custom_provider_map = [{"provider": "cascade", "custom_handler": llm}]

    async def stream() -> str:
        pieces = await litellm.acompletion(model="cascade/any", messages=QUESTION, stream=True)
        return "".join([piece.choices[0].delta.content or "" async for piece in pieces])

    asked = asyncio.run(litellm.acompletion(model="cascade/any", messages=QUESTION))
    assert asked.choices[0].message.content in ("0.25", "0.75")
    assert asyncio.run(stream()) in ("0.25", "0.75")
    asked = litellm.completion(model="cascade/any", messages=QUESTION)
    assert asked.choices[0].message.content in ("0.25", "0.75")
    pieces = litellm.completion(model="cascade/any", messages=QUESTION, stream=True)
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces) in ("0.25", "0.75")
    assert store.metrics()["deployed"] == 4


def test_what_fails_is_passed_over(store: Store) -> None:
    llm = CascadeLLM(store, {"small": says(BUSY), "large": says("0.75")}, judge)
    answer = asyncio.run(llm.answer(QUESTION))
    assert answer.deployed == "large" and store.metrics()["failures"] == 1
    assert {call.get("failure") for call in answer.calls} == {"RateLimitError", None}
    llm = CascadeLLM(store, {"small": says(BUSY), "large": says(BUSY)}, judge)
    with pytest.raises(litellm.RateLimitError):
        asyncio.run(llm.answer(QUESTION))
    assert store.metrics()["cancelled"] == 1 and store.metrics()["dollars"] > 0


def test_an_answer_that_cannot_be_judged_is_given_where_there_is_no_other(store: Store) -> None:
    llm = CascadeLLM(store, {"small": says("good"), "large": says("0.75")}, judge)
    assert asyncio.run(llm.answer(QUESTION)).deployed == "large"
    llm = CascadeLLM(store, {"small": says("good"), "large": says("better")}, judge)
    answer = asyncio.run(llm.answer(QUESTION))
    assert answer.deployed is None and answer.response.choices[0].message.content in ("good", "better")
    assert store.metrics()["failures"] == 0 and store.metrics()["cancelled"] == 1


def test_a_judge_that_is_down_does_not_make_every_request_call_all_models(store: Store) -> None:
    up = False

    async def down(prompt: str, answer: str) -> tuple[float, float]:
        if not up:
            raise OSError("down")
        return 0.5, 0.0

    llm = CascadeLLM(store, {"small": says("a"), "large": says("b")}, down)
    answers = [asyncio.run(llm.answer(QUESTION)) for _ in range(6)]
    assert [len(answer.calls) for answer in answers] == [2, 2, 1, 1, 1, 1]
    assert all(answer.deployed is None for answer in answers)
    with pytest.raises(pandora.UsageError, match="was cancelled"):
        llm.feedback(answers[-1].response.id, 1.0)
    assert llm.unjudged == 8
    up = True
    answer = asyncio.run(llm.answer(QUESTION))
    assert len(answer.calls) == 2 and answer.deployed is not None


def test_a_task_that_is_cancelled_cancels_its_request(store: Store) -> None:
    async def slow(prompt: str, answer: str) -> tuple[float, float]:
        await asyncio.sleep(60)
        return 0.0, 0.0

    async def given_up() -> None:
        llm = CascadeLLM(store, {"small": says("0.25"), "large": says("0.75")}, slow)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(llm.answer(QUESTION), 0.5)

    asyncio.run(given_up())
    assert store.metrics()["cancelled"] == 1


def test_a_model_judges(store: Store) -> None:
    for said in ("7.5", " 7.5/10.", "**7.5**"):
        assert asyncio.run(llm_judge(says(said))("q", "a"))[0] == 0.75
    for said in ("no idea", "11", "-3", "Out of 10, I'd say 3", "7 or 8"):
        with pytest.raises(ValueError, match="number from 0 to 10"):
            asyncio.run(llm_judge(says(said))("q", "a"))


def test_cached_tokens_are_priced(store: Store) -> None:
    def llm(**prices: Any) -> CascadeLLM:
        small = {"model": "openai/nobody-knows-it", "mock_response": "0.5", **prices}
        return CascadeLLM(store, {"small": small, "large": small}, judge)

    usage = litellm.Usage(
        prompt_tokens=27147, completion_tokens=351, total_tokens=27498, prompt_tokens_details={"cached_tokens": 27146}
    )
    own = {"input_cost_per_token": 1.4e-6, "output_cost_per_token": 4.4e-6, "cache_read_input_token_cost": 2.6e-7}
    for made in (llm(prices={"in": 1.4, "out": 4.4, "cached": 0.26}), llm(**own)):
        upstream = made._upstreams["small"]
        assert upstream.prices is not None and set(upstream.parameters) == {"model", "mock_response", "max_retries"}
        assert upstream._dollars(upstream.prices, usage.model_dump()) == pytest.approx(0.00860376, abs=1e-12)
        odd = {"prompt_tokens": 10, "completion_tokens": 0, "cached_tokens": 11}
        assert upstream._dollars(upstream.prices, odd) == pytest.approx(1.4e-5)


def test_what_is_missing_is_told(store: Store) -> None:
    with pytest.raises(pandora.UsageError, match="model large is in the cascade"):
        CascadeLLM(store, {"small": says("0.25")}, judge)
    with pytest.raises(pandora.UsageError, match='says no "model"'):
        CascadeLLM(store, {"small": {}, "large": says("1")}, judge)
    with pytest.raises(pandora.UsageError, match="prices"):
        CascadeLLM(store, {"small": says("1", prices=[1.0]), "large": says("1")}, judge)
    with pytest.raises(pandora.UsageError, match="give CascadeLLM a judge"):
        asyncio.run(CascadeLLM(store, {"small": says("1"), "large": says("1")}).answer(QUESTION))
    assert store.metrics()["cancelled"] == 1
    unknown = says("1", model="openai/nobody-knows-it")
    del unknown["prices"]
    with pytest.raises(pandora.UsageError, match="knows no price"):
        CascadeLLM(store, {"small": unknown, "large": unknown}, judge)


def test_the_text_of_messages() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]
    assert text_of([{"role": "user", "content": parts}, {"role": "assistant", "content": "c"}]) == "a\n\nb"
    assert text_of([]) == ""
