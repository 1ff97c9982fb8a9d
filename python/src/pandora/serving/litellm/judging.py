"""The quality of an answer: faults that can be found without an opinion, and a model as a judge."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import jsonschema
import referencing

from .asking import Message, text_in
from .configuration import Judging

#: A client's patterns could keep the event loop busy for hours, so they are not checked.
_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator, {"pattern": None, "patternProperties": None, "format": None}
)
_NUMBER = re.compile(
    r"\W*(?:(?:the )?(?:score|rating|grade)(?: is)?\W*)?(\d+(?:\.\d+)?)\W*(?:(?:/|out of|of) *10\W*)?", re.IGNORECASE
)


def tool_calls_of(message: Any) -> list[tuple[str, str]]:
    """Names and arguments of the tools or, in the older form, of the function that an answer calls."""
    calls = [call.function for call in getattr(message, "tool_calls", None) or ()]
    if function := getattr(message, "function_call", None):
        calls.append(function)
    return [(str(call.name), str(call.arguments or "")) for call in calls]


def fault_of(answer: Any, parameters: Mapping[str, Any], check_tools: bool = True) -> Optional[str]:
    """Why a response is no valid answer: refusal, length, empty, tool, arguments, json or schema; None if it is valid.

    `parameters`: those of the request, with `tools` and `response_format`. Of several choices each has to be one.
    """
    return next(filter(None, (_fault(choice, parameters, check_tools) for choice in answer.choices)), None)


def _fault(choice: Any, parameters: Mapping[str, Any], check_tools: bool) -> Optional[str]:
    message = choice.message
    refusal = getattr(message, "refusal", None) or (message.get("provider_specific_fields") or {}).get("refusal")
    if refusal or choice.finish_reason == "content_filter":
        return "refusal"
    if calls := tool_calls_of(message):
        return _fault_of_calls(calls, parameters) if check_tools else None
    if choice.finish_reason == "length":
        return "length"
    if not message.content:
        return None if getattr(message, "audio", None) or getattr(message, "images", None) else "empty"
    wanted = parameters.get("response_format")
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if not isinstance(wanted, dict) or kind not in ("json_object", "json_schema"):
        return None
    try:
        found = json.loads(message.content)
    except ValueError:
        return "json"
    schema = (wanted.get("json_schema") or {}).get("schema") if kind == "json_schema" else {"type": "object"}
    return None if _fits(found, schema) else "schema"


def _fault_of_calls(calls: Sequence[tuple[str, str]], parameters: Mapping[str, Any]) -> Optional[str]:
    described = [tool.get("function") or {} for tool in parameters.get("tools") or () if isinstance(tool, dict)]
    tools = {one.get("name"): one.get("parameters") for one in [*described, *(parameters.get("functions") or ())]}
    for name, arguments in calls:
        if name not in tools:
            return "tool"
        try:
            given = json.loads(arguments or "{}")
        except ValueError:
            return "arguments"
        if not _fits(given, tools[name]):
            return "arguments"
    return None


def _fits(found: Any, schema: Any) -> bool:
    if not isinstance(schema, dict):
        return True
    try:
        # An empty registry, so that references in a client's schema are not fetched.
        _Validator(schema, registry=referencing.Registry()).validate(found)
    except jsonschema.ValidationError:
        return False
    except Exception:  # the schema itself is unusable, so it tells nothing about the answer
        return True
    return True


def shown(message: Any) -> str:
    """An answer as a judge sees it: its text, and tool calls as text."""
    calls = [f"[calls the tool {name} with {arguments or '{}'}]" for name, arguments in tool_calls_of(message)]
    return "\n".join([*filter(None, [message.content]), *calls])


def question(
    how: Judging, messages: Sequence[Message], parameters: Mapping[str, Any], answer: Any
) -> list[dict[str, Any]]:
    """The messages that ask a judge about a response."""
    last = max((k for k, message in enumerate(messages) if message.get("role") == "user"), default=len(messages) - 1)
    system = [text_in(message) for message in messages if message.get("role") in ("system", "developer")]
    before = [_line(message) for message in messages[:last] if message.get("role") not in ("system", "developer")]
    after = [_line(message) for message in messages[last + 1 :]]
    names = [json.dumps(tool.get("function", tool)) for tool in parameters.get("tools") or () if isinstance(tool, dict)]
    half = how.characters // 2  # at most half is the question, so that a long history does not displace it
    asked = _cut(_line(messages[last])[len("user: ") :], half)
    answers = [shown(choice.message) for choice in answer.choices]
    parts = [
        ("System prompt", _cut("\n".join(system), half // 2)),
        ("Tools", _cut("\n".join(names), half // 2)),
        ("Conversation before the question", _cut("\n".join(before), half, from_end=True)),
        ("Question", asked),
        ("Since the question", _cut("\n".join(after), half, from_end=True)),
        *(("Answer" if len(answers) == 1 else f"Answer {k + 1}", text) for k, text in enumerate(answers)),
    ]
    text = "\n\n".join([how.instructions, *(f"{name}:\n{body}" for name, body in parts if body)])
    content = messages[last].get("content")
    if not (how.images and isinstance(content, list)):
        return [{"role": "user", "content": text}]
    images = [part for part in content if part.get("type") == "image_url"]
    return [{"role": "user", "content": [{"type": "text", "text": text}, *images]}]


def _line(message: Message) -> str:
    """A message of a conversation as text."""
    content = message.get("content")
    others = [f"[{part['type']}]" for part in content if part["type"] != "text"] if isinstance(content, list) else []
    calls = [
        f"[calls the tool {call['function'].get('name')} with {call['function'].get('arguments')}]"
        for call in message.get("tool_calls") or ()
        if isinstance(call, dict) and isinstance(call.get("function"), dict)
    ]
    said = " ".join([*filter(None, [text_in(message)]), *others, *calls])
    return f"{message.get('role')}: {said}"


def _cut(text: str, most: int, from_end: bool = False) -> str:
    if len(text) <= most:
        return text
    return "[...] " + text[-most:] if from_end else text[:most] + " [...]"


def score_of(said: str) -> float:
    """The score in [0, 1] from a judge's number from 0 to 10. ValueError if the judge says anything else.

    >>> [score_of(said) for said in ("8", "8/10", "**Score: 8**", "<think>3 of 4?</think> 8 out of 10", '{"score": 8}')]
    [0.8, 0.8, 0.8, 0.8, 0.8]
    """
    text = re.sub(r"<think>.*?</think>", "", said, flags=re.DOTALL).strip()
    try:
        found = json.loads(re.sub(r"^```(?:json)?|```$", "", text).strip())
    except ValueError:
        found = None
    if isinstance(found, dict):
        text = str(found.get("score", ""))
    matched = _NUMBER.fullmatch(text)
    if matched is None or float(matched[1]) > 10 or "-" in text:
        raise ValueError("the judge says no number from 0 to 10")
    return float(matched[1]) / 10
