"""For 60 requests, a cascade answers the same as LiteLLM with the deployed model, except for names."""

from __future__ import annotations

from typing import Any

import pytest
from made_up_proxy import CITY, TOOLS, Answered, Proxy

openai: Any = pytest.importorskip("openai")
pytest.importorskip("apscheduler")  # part of LiteLLM's proxy, and missing without it

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
JSON = {"type": "json_schema", "json_schema": {"name": "place", "schema": CITY}}
TURNS = [
    {"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}]},
    {"role": "tool", "tool_call_id": "c", "content": "rain"},
]  # fmt: skip

#: The requests, with their parameters.
ASKED: list[tuple[Any, dict[str, Any]]] = [
    ("hi", {}),
    ("hi", {"n": 2}),
    ("hi", {"n": 1, "logit_bias": {}, "logprobs": False, "parallel_tool_calls": True, "store": False, "metadata": {},
            "service_tier": "auto", "modalities": ["text"], "temperature": None, "user": "u", "seed": 3}),
    ("hi", {"logprobs": True, "top_logprobs": 2}),
    ("hi", {"temperature": 0.5, "top_p": 0.9, "max_tokens": 100, "stop": ["x"]}),
    ("hi", {"max_completion_tokens": 100}),
    ("[tools] hi", {"tools": TOOLS}),
    ("[tools] hi", {"tools": TOOLS, "tool_choice": "auto", "parallel_tool_calls": True}),
    ("[tools] hi", {"tools": TOOLS, "n": 2}),
    ("[json] hi", {"response_format": {"type": "json_object"}}),
    ("[json] hi", {"response_format": JSON}),
    ([{"type": "text", "text": "Name"}, {"type": "text", "text": "a river."}], {}),
    ([{"type": "text", "text": "What is it?"}, IMAGE], {}),
    ([IMAGE], {}),
    (TURNS, {"tools": TOOLS}),
    ([{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "hi"}], {}),
    ("hi " * 50_000, {}),
    ("[cached] hi", {}),
    ("[empty] hi", {"max_tokens": 1}),
    ("hi", {"suffix": "x", "own": 1}),
    ("hi", {"stream_options": {"include_usage": True}}),
    ("[tools] hi", {"tools": TOOLS, "tool_choice": "required"}),
    ("hi", {"tools": TOOLS, "tool_choice": "none"}),
    ("hi", {"response_format": {"type": "text"}}),
    ("hi", {"presence_penalty": 0.1, "frequency_penalty": 0.1, "logit_bias": {"50256": -100}}),
    # Requests that fail, with the same status.
    ("[status:400] hi", {}),
    ("[status:422] hi", {}),
    ("[status:429] hi", {}),
    ("[status:500] hi", {}),
    ("[status:503] hi", {}),
]  # fmt: skip
#: Fields that differ between any two answers, and those that a cascade adds.
_OWN = ("id", "created", "model", "cascade", "provider_specific_fields", "cost")


def plain(value: Any) -> Any:
    """The answer without fields that always differ."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if name not in _OWN}
    return [plain(one) for one in value] if isinstance(value, list) else value


def whole(answer: Answered) -> Any:
    """A whole answer from a stream: for each choice its text, its tool calls and why it ended; and the usage."""
    out: dict[int, dict[str, Any]] = {}
    usage = None
    for event in answer.events:
        usage = event.get("usage") or usage
        for choice in event["choices"]:
            one = out.setdefault(choice["index"], {"text": "", "calls": {}, "why": None})
            one["text"] += choice["delta"].get("content") or ""
            one["why"] = choice.get("finish_reason") or one["why"]
            for call in choice["delta"].get("tool_calls") or ():
                made = one["calls"].setdefault(call["index"], {"name": "", "arguments": ""})
                made["name"] = call["function"].get("name") or made["name"]
                made["arguments"] += call["function"].get("arguments") or ""
    return {k: one for k, one in out.items() if one["text"] or one["calls"] or one["why"]}, plain(usage)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("number", range(len(ASKED)))
def test_a_cascade_answers_as_litellm_alone(proxy: Proxy, number: int, stream: bool) -> None:
    asked, more = ASKED[number]
    answers = [proxy.chat(model, asked, stream=stream, **more) for model in ("small", "single", "judged")]
    alone, *cascades = answers
    for answer in cascades:
        assert answer.status == alone.status, answer.text
        if alone.status != 200:
            error = answer.json["error"]
            assert set(error) == {"message", "type", "param", "code"}, answer.text
        elif stream:
            assert whole(answer)[0] == whole(alone)[0], answer.text
        else:
            assert plain(answer.json["choices"]) == plain(alone.json["choices"])
    if alone.status == 200:  # with a single call, the usage is that of this call
        single = cascades[0]
        assert (whole(single)[1] == whole(alone)[1]) if stream else (single.json["usage"] == alone.json["usage"])
    else:  # so that no model rests in the next test
        proxy.chat("single", "hi"), proxy.chat("judged", "hi")


@pytest.mark.parametrize("model", ["small", "single", "judged"])
def test_openai_s_client_and_its_helpers_take_it(proxy: Proxy, model: str) -> None:
    chat, asked = proxy.client().chat.completions, [{"role": "user", "content": "hi"}]
    assert chat.create(model=model, messages=asked).choices[0].message.content == "small answers."
    text = [piece.choices[0].delta.content or "" for piece in chat.create(model=model, messages=asked, stream=True)]
    assert "".join(text) == "small answers."
    made = [{"role": "user", "content": "[json] hi"}]
    with chat.stream(model=model, messages=made, response_format=JSON) as stream:
        assert stream.get_final_completion().choices[0].message.content == '{"city": "Oslo"}'
    tools = [{"role": "user", "content": "[tools] hi"}]
    strict = [{"type": "function", "function": {**tool["function"], "strict": True}} for tool in TOOLS]  # type: ignore
    with chat.stream(model=model, messages=tools, tools=strict) as stream:
        calls = stream.get_final_completion().choices[0].message.tool_calls
    assert [call.function.parsed_arguments for call in calls] == [{"city": "Oslo"}, {"city": "Rome"}]


@pytest.mark.parametrize("model", ["small", "single"])
def test_openai_s_client_raises_what_it_raises_for_others(proxy: Proxy, model: str) -> None:
    chat = proxy.client().chat.completions
    for mark, error in (
        ("400", openai.BadRequestError),
        ("429", openai.RateLimitError),
        ("500", openai.InternalServerError),
    ):
        with pytest.raises(error):
            chat.create(model=model, messages=[{"role": "user", "content": f"[status:{mark}] hi"}])
    assert proxy.call("/v1/chat/completions", {"model": model, "messages": []}, key=None).status == 401
    assert proxy.call("/v1/chat/completions", {"model": model, "messages": []}, key="sk-wrong").status in (400, 401)
    assert proxy.call("/v1/chat/completions", b"{").status == 400
    foreign = {"Origin": "https://elsewhere.example"}
    answer = proxy.call(
        "/v1/chat/completions", {"model": model, "messages": [{"role": "user", "content": "hi"}]}, headers=foreign
    )
    assert answer.status == 200  # the proxy's rules for origins hold, and a page needs no key
