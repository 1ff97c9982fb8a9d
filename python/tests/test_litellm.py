"""Cascades as a provider of LiteLLM, without a proxy. Models are made up, and are called as LiteLLM calls models."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import pathlib
import random
import socket
import sys
import warnings
from collections.abc import Iterator
from typing import Any, Callable, Optional

import pytest

import pandora

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # so that no network is needed
litellm: Any = pytest.importorskip("litellm")
pytest.importorskip("jsonschema")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # LiteLLM warns when its classes are first used
    from pandora.serving.litellm import CascadeLLM, calling, read
    from pandora.serving.litellm.configuration import Judging
    from pandora.serving.litellm.judging import fault_of, question, score_of
    from pandora.serving.litellm.saving import saved_of

    litellm.ModelResponse()

pytestmark = pytest.mark.filterwarnings("ignore")  # from LiteLLM and its imports

QUESTION = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 2 + 2?"}]
SECRET = "sk-secret-of-the-operator"


def response(content: Optional[str], why: str = "stop", **message: Any) -> Any:
    found = litellm.ModelResponse(
        choices=[{"index": 0, "finish_reason": why, "message": {"role": "assistant", "content": content, **message}}],
        usage={"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    )
    found._hidden_params["response_cost"] = 0.001
    return found


def tool_call(name: str, arguments: str) -> Any:
    calls = [{"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}]
    return response(None, "tool_calls", tool_calls=calls)


Says = Callable[[str], Any]


@pytest.fixture
def llm(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., CascadeLLM]]:
    """Makes cascades of small and large, from the answers of models and judge and from lines of cascades.toml."""
    opened: list[CascadeLLM] = []

    def made(says: Says, more: str = 'judge = "judge"', evaluator: str = "score") -> CascadeLLM:
        async def call(model: str, messages: Any, **parameters: Any) -> Any:
            said = says(model)
            if isinstance(said, BaseException):
                raise said
            return response(said) if isinstance(said, str) else said

        for one in opened:
            one.close()
        monkeypatch.setattr(calling, "call", call)
        pandora.Cascade.new(["small", "large"], price=1.0, evaluator=evaluator).save(tmp_path / "new.json")
        (tmp_path / "cascades.toml").write_text(f'[any]\ncascade = "new.json"\n{more}\n')
        opened.append(CascadeLLM(tmp_path / "cascades.toml"))
        litellm.custom_provider_map = [{"provider": "cascade", "custom_handler": opened[-1]}]
        return opened[-1]

    yield made
    for one in opened:
        one.close()


def ask(**more: Any) -> Any:
    return asyncio.run(litellm.acompletion(model="cascade/any", messages=QUESTION, **more))


def counts(llm: CascadeLLM) -> Any:
    """The counts, once the store has learned all events."""
    assert llm.services["any"].store.settle()
    return llm.services["any"].store.metrics()


def test_the_judge_decides_whose_answer_is_deployed(llm: Any) -> None:
    made = llm({"small": "small", "large": "large", "judge": "2.5"}.__getitem__)
    answer = ask()
    assert answer.id == f"cascade-{answer.cascade['request']}" and answer.cascade["deployed"] in ("small", "large")
    assert {call["score"] for call in answer.cascade["calls"]} == {0.25}
    assert answer.cascade["dollars"] == pytest.approx(0.004) and answer.usage.total_tokens == 60  # with the judge's
    assert made.explain(answer.id)["cascade"] == "any" and made.feedback(answer.id, 1.0)
    assert counts(made)["feedbacks"] == 1 and counts(made)["dollars"] == pytest.approx(0.004)


def test_it_answers_as_litellm_asks(llm: Any) -> None:
    llm({"small": "small", "large": "large", "judge": "5"}.__getitem__)
    assert litellm.completion(model="cascade/any", messages=QUESTION).choices[0].message.content in ("small", "large")

    async def stream() -> list[Any]:
        pieces = await litellm.acompletion(model="cascade/any", messages=QUESTION, stream=True)
        return [piece async for piece in pieces]

    for pieces in (
        asyncio.run(stream()),
        list(litellm.completion(model="cascade/any", messages=QUESTION, stream=True)),
    ):
        assert "".join(piece.choices[0].delta.content or "" for piece in pieces) in ("small", "large")
        assert [piece.cascade["deployed"] for piece in pieces if getattr(piece, "cascade", None)]


def test_what_fails_is_passed_over(llm: Any) -> None:
    busy = litellm.RateLimitError(f"busy, key {SECRET}", "openai", "x")
    made = llm({"small": busy, "large": "large", "judge": "5"}.__getitem__)
    answer = ask()
    assert answer.cascade["deployed"] == "large" and counts(made)["failures"] == 1
    assert {call.get("failure") for call in answer.cascade["calls"]} == {"RateLimitError", None}
    llm({"small": busy, "large": busy}.__getitem__)
    with pytest.raises(litellm.BadRequestError) as told:
        ask()
    assert told.value.status_code == 429 and SECRET not in str(told.value)


def test_a_refusal_of_the_client_is_told_without_the_key_and_rests_nobody(llm: Any) -> None:
    bad = litellm.BadRequestError(f"unknown format, says Bearer {SECRET}", "x", "openai")
    made = llm({"small": bad, "large": bad}.__getitem__)
    for _ in range(6):
        with pytest.raises(litellm.BadRequestError, match="unknown format") as told:
            ask()
        assert told.value.status_code == 400 and SECRET not in str(told.value)
    llm({"small": bad, "large": litellm.InternalServerError("x", "openai", "x")}.__getitem__)
    with pytest.raises(litellm.BadRequestError) as told:
        ask()
    assert told.value.status_code == 500  # a later request may succeed
    made = llm({"small": bad, "large": bad}.__getitem__)
    assert counts(made)["failures"] == 1 and not any(model["rests"] for model in counts(made)["models"])


def test_what_a_cascade_cannot_honour_is_refused(llm: Any) -> None:
    llm({"small": "a", "large": "b", "judge": "5"}.__getitem__)
    for more, param in (({"modalities": ["text", "audio"]}, "modalities"), ({"columns": 5}, "columns")):
        with pytest.raises(litellm.BadRequestError) as told:
            ask(**more)
        assert told.value.to_dict()["param"] == param and told.value.status_code == 400
    made = llm({"small": "a", "large": "b"}.__getitem__, "")  # without a judge: a mistake of the operator, in the log
    with pytest.raises(litellm.BadRequestError, match="the proxy's log says why") as told:
        ask()
    assert told.value.status_code == 500 and counts(made)["cancelled"] == 1


def test_a_judge_that_is_down_does_not_make_every_request_call_all_models(llm: Any) -> None:
    said: dict[str, Any] = {"small": "a", "large": "b", "judge": OSError("down")}
    made = llm(said.__getitem__)
    answers = [ask() for _ in range(6)]
    assert [len(answer.cascade["calls"]) for answer in answers] == [2, 2, 1, 1, 1, 1]
    assert all(answer.cascade["deployed"] is None for answer in answers) and made.services["any"].unjudged == 8
    with pytest.raises(pandora.UsageError, match="was cancelled"):
        made.feedback(answers[-1].id, 1.0)
    said["judge"] = "5"
    assert len(ask().cascade["calls"]) == 2


def test_a_task_that_is_cancelled_cancels_its_request(llm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = llm({"small": "a", "large": "b"}.__getitem__)

    async def never(model: str, messages: Any, **parameters: Any) -> Any:
        await asyncio.sleep(60)

    monkeypatch.setattr(calling, "call", never)

    async def given_up() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(litellm.acompletion(model="cascade/any", messages=QUESTION), 0.5)

    asyncio.run(given_up())
    assert counts(made)["cancelled"] == 1


@pytest.mark.parametrize("tools,calls", [("judge", 2), ("schema", 2), ("first", 1)])
def test_tool_calls_are_judged_as_the_file_says(llm: Any, tools: str, calls: int) -> None:
    seen = []

    def says(model: str) -> Any:
        seen.append(model)
        return "5" if model == "judge" else tool_call("f", "{}")

    llm(says, f'judge = "judge"\ntools = "{tools}"')
    answer = ask(tools=[{"type": "function", "function": {"name": "f"}}])  # a new cascade calls both models
    assert len(answer.cascade["calls"]) == calls and ("judge" in seen) == (tools == "judge")


def test_another_cascade_gets_its_share(llm: Any, tmp_path: pathlib.Path) -> None:
    more = 'judge = "judge"\nshare = { other = 0.3 }\n[other]\ncascade = "new.json"\njudge = "judge"'
    made = llm({"small": "a", "large": "b", "judge": "5"}.__getitem__, more)
    names = [made.service("any", f"user {k}").settings.name for k in range(200)]
    assert 40 < names.count("other") < 80 and names[7] == made.service("any", "user 7").settings.name
    answer = ask(user="user 1" if names[1] == "other" else f"user {names.index('other')}")
    assert made.explain(answer.id)["cascade"] == "other" and made.feedback(answer.id, 1.0)
    with pytest.raises(pandora.UsageError):
        made.feedback("cascade-1", 1.0, seconds=0.0)


def test_spans_have_no_text_of_exceptions_or_prompts(llm: Any) -> None:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    busy = litellm.RateLimitError(f"busy, key {SECRET}", "openai", "x")
    llm({"small": busy, "large": "large", "judge": "5"}.__getitem__)
    answer = ask()
    spans = {span.attributes["gen_ai.request.model"]: span for span in exporter.get_finished_spans()}
    assert set(spans) == {"any", "small", "large", "judge"} and SECRET not in str([s.to_json() for s in spans.values()])
    assert "2 + 2" not in str([span.to_json() for span in spans.values()])
    whole = spans["any"].attributes
    assert whole["gen_ai.response.id"] == answer.id and whole["gen_ai.response.model"] == "large"
    assert whole["gen_ai.usage.input_tokens"] == 20 and whole["pandora.dollars"] == answer.cascade["dollars"]
    assert spans["small"].attributes["error.type"] == "RateLimitError" and not spans["small"].events
    assert spans["small"].parent.span_id == spans["any"].context.span_id


CITY = {"type": "object", "properties": {"city": {"type": "string", "pattern": "(a+)+$"}}, "required": ["city"]}
TOOLS = {"tools": [{"type": "function", "function": {"name": "f", "parameters": CITY}}]}
ELSEWHERE = {"$ref": "http://elsewhere.example/"}
ASKED_JSON = {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": CITY}}}


@pytest.mark.parametrize(
    "answer,parameters,fault",
    [
        (response("yes"), {}, None), (response(""), {}, "empty"), (response(None), {}, "empty"),
        (response("ye", "length"), {}, "length"), (response("", "length"), {}, "length"),
        (response(None, refusal="no"), {}, "refusal"), (response("x", "content_filter"), {}, "refusal"),
        (tool_call("f", '{"city": "Oslo"}'), TOOLS, None), (tool_call("f", '{"town": 5}'), TOOLS, "arguments"),
        (tool_call("f", "{"), TOOLS, "arguments"), (tool_call("g", "{}"), TOOLS, "tool"),
        # Patterns in a client's schema are ignored, because this one would take hours.
        (tool_call("f", json.dumps({"city": "a" * 40 + "!"})), TOOLS, None),
        (tool_call("f", "{}"), {"tools": [{"function": {"name": "f", "parameters": ELSEWHERE}}]}, None),
        (response(None, function_call={"name": "h", "arguments": "{}"}), {"functions": [{"name": "h"}]}, None),
        (response("no json"), ASKED_JSON, "json"), (response("{}"), ASKED_JSON, "schema"),
        (response('{"city": "Oslo"}'), ASKED_JSON, None),
        (response("[1]"), {"response_format": {"type": "json_object"}}, "schema"),
    ],
)  # fmt: skip
def test_what_is_no_answer(answer: Any, parameters: Any, fault: Optional[str]) -> None:
    assert fault_of(answer, parameters) == fault


def test_what_judges_say() -> None:
    for said in ("7.5", " 7.5/10.", "**7.5**", "Score: 7.5", "<think>\n3 of 4\n</think>\n7.5", '{"score": 7.5, "x": 1}',
                 "```json\n{\"score\": 7.5}\n```", "7.5 out of 10"):  # fmt: skip
        assert score_of(said) == 0.75, said
    for said in ("no idea", "11", "-3", "Out of 10, I'd say 3", "7 or 8", '{"note": 3}', "5 reasons for a score of 8"):
        with pytest.raises(ValueError, match="no number from 0 to 10"):
            score_of(said)


def test_what_a_judge_is_shown_is_bounded_and_ends_with_the_question() -> None:
    talk = [{"role": "user", "content": f"turn {k} " + "x" * 100} for k in range(100)]
    text = question(Judging("judge", characters=1000), talk, {}, response("the answer"))[0]["content"]
    assert len(text) < 1500 and "turn 98" in text and "turn 1 " not in text and "Question:\nturn 99" in text
    image = {"type": "image_url", "image_url": {"url": "data:"}}
    asked = question(Judging("judge", images=True), [{"role": "user", "content": [image]}], {}, response("a"))
    assert asked[0]["content"][1] == image and "Question:\n[image_url]" in asked[0]["content"][0]["text"]


@pytest.mark.parametrize(
    "text,told",
    [
        ("", "has no cascade"), ("[a", "is not TOML"), ("[a]\ntool = 1", "a.tool: there is no such key"),
        ('[a]\ntools = "x"', "judge, schema, first"), ("[a]\ncascade = 5", "a.cascade = 5: give a text"),
        ("[a]\njudge = {}", "a.judge: has no model"), ('[a]\njudge = {model = "x", imags = true}', "a.judge.imags"),
        ("[a]\nshare = {b = 0.1}", "b is no other cascade"), ("[a]\nshare = {b = 2}", "above 0, up to 1"),
        ('[a]\nsessions = "x"', "header.NAME"), ("a = 5", "give a table"),
    ],
)  # fmt: skip
def test_a_file_that_says_something_wrong_is_refused(tmp_path: pathlib.Path, text: str, told: str) -> None:
    (tmp_path / "cascades.toml").write_text(text)
    with pytest.raises(pandora.DataError, match=told):
        read(tmp_path / "cascades.toml")


def test_what_cannot_be_opened_is_tried_again_later(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cascades.toml").write_text('[any]\ncascade = "missing.json"\njudge = "judge"')
    made = CascadeLLM(tmp_path / "cascades.toml")
    litellm.custom_provider_map = [{"provider": "cascade", "custom_handler": made}]
    for _ in range(2):
        with pytest.raises(litellm.BadRequestError, match="the proxy's log says why") as told:
            ask()
        assert told.value.status_code == 500 and str(tmp_path) not in str(told.value)
    pandora.Cascade.new(["small", "large"], price=1.0, evaluator="score").save(tmp_path / "missing.json")
    monkeypatch.setattr(made, "_problem", (0.0, made._problem[1] if made._problem else None))
    assert list(made.services) == ["any"]
    made.close()


def test_a_database_that_is_away_is_a_state_not_a_fault(tmp_path: pathlib.Path) -> None:
    pandora.Cascade.new(["small", "large"], price=1.0, evaluator="score").save(tmp_path / "new.json")
    with socket.socket() as free:  # nobody listens there
        free.bind(("127.0.0.1", 0))
        url = f"postgresql://someone@127.0.0.1:{free.getsockname()[1]}/kept"
        (tmp_path / "cascades.toml").write_text(f'[any]\ncascade = "new.json"\nurl = "{url}"\njudge = "judge"')
        made = CascadeLLM(tmp_path / "cascades.toml")
        litellm.custom_provider_map = [{"provider": "cascade", "custom_handler": made}]
        for _ in range(2):  # it is asked for once
            with pytest.raises(
                litellm.BadRequestError, match="the cascades' database is away; try again later"
            ) as told:
                ask()
            assert (told.value.status_code, told.value.headers["Retry-After"]) == (503, "5")


def test_a_file_says_where_things_are(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cascades.toml").write_text(
        'a = "a.json"\nb = "postgresql://x/y"\n[c]\njudge = "j"\nmodels = {s = "t"}'
    )
    monkeypatch.setenv("PANDORA_CASCADES", str(tmp_path / "cascades.toml"))
    found = read()
    assert found["a"].cascade == str(tmp_path / "a.json") and found["a"].url == f"sqlite:///{tmp_path}/a.db"
    assert found["b"].url == "postgresql://x/y" and found["b"].cascade is None
    assert found["c"].judge == Judging("j") and found["c"].called("s") == "t" and found["c"].called("u") == "u"
    monkeypatch.delenv("PANDORA_CASCADES")
    with pytest.raises(pandora.DataError, match="PANDORA_CASCADES names no file"):
        read()


def test_what_is_saved_has_an_interval_where_squares_are_known() -> None:
    draw = random.Random(3)
    held = 0
    for _ in range(200):  # large costs 0.01 on average; half of the requests ask it after small
        large = [draw.uniform(0.0, 0.02) for _ in range(400)]
        spent = [0.001 + (cost if k % 2 else 0.0) for k, cost in enumerate(large)]
        own = [cost for k, cost in enumerate(large) if k % 2]
        models = [
            {"model": "small", "calls": 400, "dollars": 0.4, "dollars_squared": 0.0004},
            {"model": "large", "calls": 200, "dollars": sum(own), "dollars_squared": sum(x * x for x in own)},
        ]
        known = {"requests": 400, "deployed": 400, "dollars": sum(spent), "dollars_squared": sum(x * x for x in spent)}
        found = saved_of({**known, "models": models})
        assert found is not None and found["against"] == "large"
        held += found["low"] <= 400 * 0.01 - sum(spent) <= found["high"]
    assert held >= 180
    for model in models:
        del model["dollars_squared"]
    assert saved_of({**known, "models": models})["low"] is None  # type: ignore[index]
    assert saved_of({**known, "models": []}) is None


def test_serve_becomes_the_proxy_or_says_what_is_missing(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pandora.offline.commands import main

    became: list[Any] = []

    def execv(program: str, words: list[str]) -> None:
        became.append(words)
        sys.exit(0)

    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "apscheduler" else name)
    config = str(tmp_path / "cascades.toml")
    assert main(["serve", "--config", config]) == 2
    assert "apscheduler is missing); install it with uv pip install 'litellm[proxy]'" in capsys.readouterr().err
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    for file in ("cascades.toml", "config.yaml"):
        assert main(["serve", "--config", config]) == 3
        assert f"{file}: there is no such file" in capsys.readouterr().err
        (tmp_path / file).write_text("")
    monkeypatch.setenv("PANDORA_CASCADES", "")
    with pytest.raises(SystemExit):
        main(["serve", "--config", config, "--workers", "2", "--port", "4001"])
    assert os.environ["PANDORA_CASCADES"] == config and "--timeout_worker_healthcheck" in became[0]
    for pair in (("--config", str(tmp_path / "config.yaml")), ("--port", "4001"), ("--num_workers", "2")):
        assert became[0][became[0].index(pair[0]) + 1] == pair[1]
    assert main(["serve", "--port", "0"]) == 2 and main(["serve", "--workers", "0"]) == 2
