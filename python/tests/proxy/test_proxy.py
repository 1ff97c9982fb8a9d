"""Cascades inside LiteLLM's proxy: answers for clients, learning, and refusals."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from made_up_proxy import MODEL_KEY, TOOLS, Answered, Proxy

pytest.importorskip("openai")
pytest.importorskip("apscheduler")  # part of LiteLLM's proxy, and missing without it


def called(answer: Answered) -> list[Any]:
    return [(call["model"], call.get("failure")) for call in answer.json["cascade"]["calls"]]


def counts(proxy: Proxy, cascade: str) -> Any:
    return proxy.call("/cascade/state").json[cascade]


def soon(found: Callable[[], Any], wanted: Any) -> None:
    """Waits for counts, because they are those that the store has learned so far."""
    until = time.monotonic() + 5.0
    while found() != wanted and time.monotonic() < until:
        time.sleep(0.1)
    assert found() == wanted


def test_an_answer_says_what_was_called_and_what_all_of_it_cost(proxy: Proxy) -> None:
    proxy.models.worth.update(small=0.2, large=0.95)
    answer = proxy.chat("judged", "hi")
    found = answer.json
    assert answer.status == 200 and found["choices"][0]["message"]["content"] == "large answers. worth 0.95"
    assert found["id"] == f"cascade-{found['cascade']['request']}" and found["model"] == "judged"
    assert [(call["model"], call["score"]) for call in found["cascade"]["calls"]] == [("small", 0.2), ("large", 0.95)]
    dollars = [call["dollars"] for call in found["cascade"]["calls"]]
    assert dollars == pytest.approx([0.00036, 0.0036]) and found["cascade"]["dollars"] == pytest.approx(0.00396)
    assert found["usage"]["total_tokens"] == 4 * 150 and found["cascade"]["usage"]["total_tokens"] == 150
    assert float(answer.headers["x-litellm-response-cost"]) == pytest.approx(0.00396)


def test_feedback_and_explanations_go_by_the_id(proxy: Proxy) -> None:
    proxy.models.worth["small"] = 0.95
    answer = proxy.chat("judged", "hi").json
    explained = proxy.call(f"/cascade/explain/{answer['id']}").json
    assert explained["cascade"] == "judged" and explained["deployed"] == "small"
    assert proxy.call("/cascade/feedback", {"id": answer["id"], "quality": 1}).status == 200
    for body, status, param in (
        ({"id": "cascade-1", "quality": 1}, 404, "id"), ({"id": "x", "quality": 1}, 400, "id"),
        ({"id": answer["id"], "quality": 2}, 400, "quality"), ({"id": answer["id"], "quality": True}, 400, "quality"),
        (b'{"id": "' + b"x" * 20000 + b'"}', 413, None),
    ):  # fmt: skip
        found = proxy.call("/cascade/feedback", body)
        assert found.status == status and found.json["error"]["param"] == param, found.text
    assert proxy.call("/cascade/explain/cascade-1").status == 404


@pytest.mark.parametrize("path", ["/cascade/feedback", "/cascade/publish", "/cascade/rollback"])
def test_routes_that_write_need_the_key_and_refuse_other_pages(proxy: Proxy, path: str) -> None:
    assert proxy.call(path, {}, key=None).status == 401
    assert proxy.call(path, {}, key="sk-wrong").status in (400, 401)
    foreign = proxy.call(path, {}, headers={"Origin": "https://elsewhere.example"})
    assert foreign.status == 403 and foreign.json["error"]["code"] == "foreign_origin"
    form = proxy.call(path, {}, headers={"Content-Type": "application/x-www-form-urlencoded"})  # as `curl -d` sends it
    assert form.status == 415 and "Content-Type: application/json" in form.json["error"]["message"]
    own = proxy.call(path, {}, headers={"Origin": proxy.url})
    assert own.json["error"]["code"] != "foreign_origin"


def test_a_cascade_is_published_and_taken_back(proxy: Proxy) -> None:
    edition = counts(proxy, "schema")["edition"]
    for wrong in ({}, {"name": "none"}, {"name": "schema", "cascade": {"version": 1}}):
        found = proxy.call("/cascade/publish", wrong)
        assert found.status == 400 and str(proxy.folder) not in found.text, found.text
    file = json.loads((proxy.folder / "judged.json").read_text())
    assert proxy.call("/cascade/publish", {"name": "schema"}).status == 200
    assert proxy.call("/cascade/publish", {"name": "schema", "cascade": file}).status == 200
    assert counts(proxy, "schema")["edition"] == edition + 2
    for _ in range(2):
        assert proxy.call("/cascade/rollback", {"name": "schema"}).status == 200
    assert counts(proxy, "schema")["edition"] == edition
    assert proxy.call("/cascade/rollback", {"name": "schema"}).status == 400  # there is no version before


def test_reading_needs_a_key_too_but_the_page_holds_nothing(proxy: Proxy) -> None:
    for path in ("/cascade/state", "/cascade/metrics", "/cascade/explain/cascade-1"):
        assert proxy.call(path, key=None).status == 401
    page = proxy.call("/cascade", key=None)
    assert (
        page.status == 200
        and "single" not in page.text
        and "frame-ancestors" in page.headers["content-security-policy"]
    )


def test_metrics_are_prometheus_s(proxy: Proxy) -> None:
    proxy.chat("judged", "[empty] [only:small] hi")
    lines = proxy.call("/cascade/metrics").text.splitlines()
    for beginning in (
        'cascade_requests_total{cascade="single"} ', 'cascade_faults_total{cascade="judged",reason="length"} ',
        'cascade_model_rests{cascade="judged",model="small"} ', 'cascade_dollars_total{cascade="judged"} ',
        'cascade_unjudged_total{cascade="judged"} ',
    ):  # fmt: skip
        assert any(line.startswith(beginning) for line in lines), beginning


def test_what_nobody_judges_is_streamed_as_it_comes(proxy: Proxy) -> None:
    answer = proxy.chat("single", "hi", stream=True, stream_options={"include_usage": True})
    events = answer.events
    pieces = [event["choices"][0]["delta"].get("content") for event in events if event["choices"]]
    assert [piece for piece in pieces if piece] == ["small ", "answers."]
    assert {event["id"] for event in events} == {events[0]["id"]} and events[0]["id"].startswith("cascade-")
    assert [event["cascade"]["deployed"] for event in events if "cascade" in event] == ["small"]
    assert events[-1]["usage"]["total_tokens"] == 150 and events[-1]["usage"]["cost"] == pytest.approx(0.00036)
    assert proxy.models.calls[0]["stream"] is True
    assert proxy.call("/cascade/feedback", {"id": events[0]["id"], "quality": 1}).status == 200


def test_a_stream_that_breaks_ends_with_an_error(proxy: Proxy) -> None:
    before = counts(proxy, "single")["failures"]
    answer = proxy.chat("single", "[break] hi", stream=True)
    assert '"error"' in answer.text and MODEL_KEY not in answer.text
    soon(lambda: counts(proxy, "single")["failures"], before + 1)


@pytest.mark.parametrize("cascade", ["single", "judged"])
def test_tool_calls_in_streams_have_an_index(proxy: Proxy, cascade: str) -> None:
    asked: Any = [{"role": "user", "content": "[tools] Weather in Oslo, time in Rome?"}]
    with proxy.client().chat.completions.stream(model=cascade, messages=asked, tools=TOOLS) as stream:
        for _ in stream:
            pass
        calls = stream.get_final_completion().choices[0].message.tool_calls
    assert [(c.function.name, c.function.arguments) for c in calls or ()] == [
        ("weather", '{"city": "Oslo"}'), ("time", '{"city": "Rome"}'),
    ]  # fmt: skip


def test_a_tool_call_is_an_answer(proxy: Proxy) -> None:
    """A tool call is judged as text, by its schema, or not at all. It never counts as a failure of the judge."""
    before = counts(proxy, "judged")["unjudged"]
    for _ in range(6):
        assert called(proxy.chat("judged", "[tools] hi", tools=TOOLS)) == [("small", None), ("large", None)]
    assert "[calls the tool weather with" in proxy.models.of("judge")[0]["messages"][0]["content"]
    assert counts(proxy, "judged")["unjudged"] == before
    for cascade in ("schema", "first"):
        proxy.models.calls.clear()
        answer = proxy.chat(cascade, "[tools] hi", tools=TOOLS)
        assert called(answer) == [("small", None)] and answer.json["choices"][0]["message"]["tool_calls"]
        assert not proxy.models.of("judge")
    proxy.models.worth["small"] = 0.95
    assert called(proxy.chat("judged", "hi")) == [("small", None)]


def test_a_tool_call_that_does_not_fit_is_a_failure(proxy: Proxy) -> None:
    bad = "[bad tools] [only:small] hi"
    assert called(proxy.chat("schema", bad, tools=TOOLS)) == [("small", "arguments"), ("large", None)]
    assert called(proxy.chat("schema", bad, tools=[TOOLS[1]])) == [("small", "tool"), ("large", None)]
    assert called(proxy.chat("first", bad, tools=TOOLS)) == [("small", None)]


@pytest.mark.parametrize(
    "mark,more,failure",
    [
        ("[empty]", {"max_tokens": 64}, "length"),
        ("[refuse]", {}, "refusal"),
        ("", {"response_format": {"type": "json_object"}}, "json"),
        (
            "[json]",
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "x", "schema": {"required": ["town"]}},
                }
            },
            "schema",
        ),
    ],
)
def test_no_answers_are_failures_with_reasons(proxy: Proxy, mark: str, more: Any, failure: str) -> None:
    answer = proxy.chat("judged", f"{mark} [only:small] hi", **more)
    assert answer.status == 200 and called(answer)[0] == ("small", failure), answer.text
    alone = proxy.chat("judged", f"{mark} hi", **more)  # the answers of both models are the same, so it is given
    assert alone.status == 200 and alone.json["cascade"]["deployed"] is None and len(called(alone)) == 2


def test_an_unknown_cost_is_not_learned_as_free(proxy: Proxy) -> None:
    before = counts(proxy, "talk")
    answer = proxy.chat("talk", "[no usage] hi")
    assert answer.status == 200 and [call["dollars"] for call in answer.json["cascade"]["calls"]] == [None, None]
    soon(lambda: counts(proxy, "talk")["cancelled"], before["cancelled"] + 1)
    after = counts(proxy, "talk")
    assert after["dollars"] == before["dollars"] and after["deployed"] == before["deployed"]
    assert "tells no usage" in (proxy.folder / "log").read_text()


def test_cached_tokens_have_the_entry_s_price(proxy: Proxy) -> None:
    answer = proxy.chat("single", "[cached] hi").json
    assert answer["cascade"]["calls"][0]["dollars"] == pytest.approx(0.00860376, abs=1e-12)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "status,told,code,after",
    [
        (429, 429, "rate_limit_exceeded", "7"), (401, 502, "upstream_credentials", None),
        (403, 502, "upstream_credentials", None), (404, 502, "upstream_failed", None),
        (400, 400, "context_length_exceeded", None), (500, 500, None, None),
    ],
)  # fmt: skip
def test_failures_of_all_models_are_told(
    proxy: Proxy, status: int, told: int, code: Any, after: Any, stream: bool
) -> None:
    answer = proxy.chat("judged", f"[status:{status}] hi", stream=stream)
    assert answer.status == told and answer.headers.get("retry-after") == after, answer.text
    assert code is None or answer.json["error"]["code"] == code, answer.text
    if told != 500:
        assert "quotes" not in answer.text or told == 400
    assert MODEL_KEY not in answer.text
    assert len([call for call in proxy.models.calls if call["model"] != "judge"]) == 2
    proxy.chat("judged", "hi")  # so that no model rests in the next test


def test_what_the_client_can_mend_is_no_failure_of_a_model(proxy: Proxy) -> None:
    before = counts(proxy, "schema")["failures"]
    for mark in ("[status:422]", "[empty]"):
        for _ in range(6):
            proxy.chat("schema", f"{mark} hi")
    assert not any(model["rests"] for model in counts(proxy, "schema")["models"])
    proxy.chat("schema", "[status:500] hi")
    soon(lambda: counts(proxy, "schema")["failures"], before + 2)


@pytest.mark.parametrize(
    "messages,param",
    [
        ([], "messages"), ([{"role": "user", "content": 5}], "messages[0].content"),
        ([{"content": "x"}], "messages[0].role"), ([{"role": "user", "content": ["x"]}], "messages[0].content[0]"),
        ([{"role": "user", "content": [{"type": "text", "text": None}]}], "messages[0].content[0].text"),
        ([{"role": "user", "content": None}], "messages[0].content"), ("x", "messages"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
def test_messages_that_no_model_takes_are_refused(proxy: Proxy, messages: Any, param: str, stream: bool) -> None:
    body = {"model": "judged", "messages": messages, "stream": stream}
    answer = proxy.call("/v1/chat/completions", body)
    error = answer.json["error"]
    assert answer.status == 400 and error["param"] == param, answer.text
    assert error["code"] in ("invalid_type", "invalid_value")
    assert error["type"] == "invalid_request_error" and not proxy.models.calls


def test_what_the_proxy_passes_to_a_model_is_passed_on(proxy: Proxy) -> None:
    given: dict[str, Any] = {
        "temperature": 0.5, "top_p": 0.9, "n": 1, "seed": 3, "user": "u1", "logit_bias": {}, "logprobs": True,
        "top_logprobs": 2, "parallel_tool_calls": False, "store": False, "service_tier": "auto", "tools": TOOLS,
        "tool_choice": "auto", "response_format": {"type": "text"}, "stop": ["x"], "reasoning_effort": "low",
        "max_completion_tokens": 5, "presence_penalty": 0.1, "frequency_penalty": 0.1, "suffix": "x", "own": 1,
        "functions": [{"name": "f"}], "modalities": ["text"], "verbosity": "low",
    }  # fmt: skip
    heard = {}
    for model in ("small", "judged"):
        proxy.models.calls.clear()
        answer = proxy.chat(model, "hi", allowed_openai_params=["reasoning_effort", "verbosity", "user"], **given)
        assert answer.status == 200, answer.text
        heard[model] = {k: v for k, v in proxy.models.calls[0].items() if k not in ("headers", "model", "messages")}
    assert heard["judged"] == heard["small"]


def test_several_choices_are_judged_together(proxy: Proxy) -> None:
    answer = proxy.chat("judged", "hi", n=2).json
    assert len(answer["choices"]) == 2 and "Answer 2:" in proxy.models.of("judge")[0]["messages"][0]["content"]
    stream = proxy.chat("single", "hi", n=2, stream=True).events
    said = {k: "".join(
        choice["delta"].get("content") or "" for event in stream for choice in event["choices"] if choice["index"] == k
    ) for k in (0, 1)}  # fmt: skip
    assert said == {0: "small answers.", 1: "small answers."}


def test_a_silent_stream_is_kept_alive(proxy: Proxy) -> None:
    """The entry of the cascade has keepalive_seconds; the default is 10."""
    began = time.monotonic()
    answer = proxy.chat("single", "[slow:10.5] hi", stream=True)
    assert answer.text.startswith(": ping") and "answers." in answer.text and time.monotonic() - began < 30


def test_a_conversation_keeps_its_model(proxy: Proxy) -> None:
    """There are seven turns. In one turn, the model's answer is below its threshold. Another conversation has its own
    model.
    """
    talk: list[Any] = [{"role": "user", "content": f"turn 0 at {time.time()}"}]
    deployed = []
    for turn in range(7):
        proxy.models.worth.update(small=0.2 if turn == 3 else 0.9, large=0.95)
        answer = proxy.chat("talk", talk).json
        deployed.append(answer["cascade"]["deployed"])
        talk += [answer["choices"][0]["message"], {"role": "user", "content": f"turn {turn + 1}"}]
    assert deployed == ["small"] * 3 + ["large"] * 4
    other = [{"role": "user", "content": f"another one at {time.time()}"}]
    assert proxy.chat("talk", other).json["cascade"]["deployed"] == "small"
    for _ in range(2):  # a session that the client names
        named = proxy.call(
            "/v1/chat/completions", {"model": "talk", "messages": other}, headers={"x-litellm-session-id": "named"}
        )
        assert named.json["cascade"]["deployed"] == "small"


def test_a_judge_sees_the_conversation(proxy: Proxy) -> None:
    talk: list[Any] = [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {
            "name": "sum", "arguments": "[2, 2]"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "4"}, {"role": "assistant", "content": "4"},
        {"role": "user", "content": [{"type": "text", "text": "And in French?"}, {"type": "image_url", "image_url": {
            "url": "data:image/png;base64,iVBORw0KGgo="}}]},
    ]  # fmt: skip
    assert proxy.chat("judged", talk, tools=TOOLS).status == 200
    asked = proxy.models.of("judge")[0]["messages"][0]["content"]
    for seen in (
        "System prompt:\nBe brief.", '"name": "weather"', "user: 2 + 2?", "[calls the tool sum with [2, 2]]", "tool: 4",
        "Question:\nAnd in French? [image_url]", "Answer:\nsmall answers.",
    ):  # fmt: skip
        assert seen in asked, asked


def test_mixed_traffic_deploys_the_right_tool_call(proxy: Proxy) -> None:
    """If a model makes a right call, the client gets it. `first` pays for no second model."""
    right = 0
    for k in range(20):
        bad, good = ("small", "large") if k % 2 else ("large", "small")
        asked = f"[tools] [only:{good}] hi"
        found = proxy.chat("schema", asked, tools=TOOLS).json
        right += bool(found["choices"][0]["message"].get("tool_calls"))
        if good == "small":
            assert [call["model"] for call in proxy.chat("first", asked, tools=TOOLS).json["cascade"]["calls"]] == [
                "small"
            ]
        assert bad
    assert right >= 19
