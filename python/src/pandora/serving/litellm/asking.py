"""The request of a client: its checked messages, the parameters for models, and its conversation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from .configuration import Settings
from .errors import refused

Message = Mapping[str, Any]
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
#: LiteLLM's own parameters, which it gives anew to each call.
_NOT_PASSED_ON = ("stream", "stream_options", "max_retries", "columns", "extra_headers")
#: OpenAI's parameters that LiteLLM accepts from an unknown provider only if they are named here.
ALLOWED = ("user", "reasoning_effort", "verbosity", "thinking", "max_completion_tokens")
#: Parameters by which a client may instruct LiteLLM itself.
_CONTROLS = ("timeout", "allowed_openai_params", "drop_params", "additional_drop_params")
_SESSION_HEADER = "x-litellm-session-id"


@dataclass
class Asked:
    """One request of a client."""

    messages: Sequence[Message]
    parameters: dict[str, Any]  #: for every model, by OpenAI's names
    columns: Optional[Mapping[str, Any]] = None
    session: Optional[str] = None
    key: str = ""  #: decides which of two cascades answers
    passed: dict[str, Any] = field(default_factory=dict)  #: LiteLLM's own for each call: metadata, headers, ids

    @property
    def text(self) -> str:
        """The text of the last message of a user, from which features are made."""
        return text_of(self.messages)

    def for_call(self) -> dict[str, Any]:
        """A copy of `passed` for each call, because LiteLLM writes into it."""
        return {**self.passed, "metadata": dict(self.passed["metadata"])}


def asked_of(given: Mapping[str, Any], settings: Settings) -> Asked:
    """From the arguments that LiteLLM gives a custom provider. Raises ToldError, 400."""
    check_messages(given["messages"])
    optional = dict(given.get("optional_params") or {})
    params = given.get("litellm_params") or {}
    request = params.get("proxy_server_request") or {}
    body, metadata = request.get("body") or {}, dict(params.get("metadata") or {})
    columns = optional.get("columns")
    if columns is not None and not isinstance(columns, dict):
        raise refused("columns", "columns: give an object with the prompt's columns", "invalid_type")
    parameters = {name: value for name, value in optional.items() if name not in _NOT_PASSED_ON}
    if "max_tokens" in parameters and "max_tokens" not in body and "max_completion_tokens" in body:
        parameters["max_completion_tokens"] = parameters.pop("max_tokens")
    headers = {str(name).lower(): value for name, value in (request.get("headers") or {}).items()}
    session = _session(settings.sessions, body, headers, given["messages"], metadata)
    passed: dict[str, Any] = {
        name: params[name] for name in ("litellm_trace_id", "litellm_session_id") if params.get(name)
    }
    if given.get("headers"):
        passed["extra_headers"] = dict(given["headers"])
    passed.update({name: body[name] for name in _CONTROLS if name in body})
    passed["metadata"] = {
        **{key: metadata[key] for key in ("tags", "trace_id", "session_id", "requester_metadata") if metadata.get(key)},
        "cascade": settings.name,
    }
    key = session or str(parameters.get("user") or params.get("litellm_call_id") or "")
    return Asked(given["messages"], parameters, columns, session, key, passed)


def check_messages(messages: Any) -> None:
    """Raises ToldError, 400, for messages that no model takes."""
    if not isinstance(messages, (list, tuple)) or not messages:
        raise refused("messages", "messages: give a list of at least one message", "invalid_type")
    for k, message in enumerate(messages):
        where = f"messages[{k}]"
        if not isinstance(message, Mapping):
            raise refused(where, f"{where}: give an object with role and content", "invalid_type")
        role, content = message.get("role"), message.get("content")
        if role not in _ROLES:
            raise refused(f"{where}.role", f"{where}.role: give one of {', '.join(_ROLES)}")
        if isinstance(content, str) or (content is None and role == "assistant"):
            continue
        if not isinstance(content, list) or not content:
            message = f"{where}.content: give a text, or a list of parts"
            raise refused(f"{where}.content", message, "invalid_type")
        for n, part in enumerate(content):
            at = f"{where}.content[{n}]"
            if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
                raise refused(at, f"{at}: give an object with a type, such as text", "invalid_type")
            if part["type"] == "text" and not isinstance(part.get("text"), str):
                raise refused(f"{at}.text", f"{at}.text: give a text", "invalid_type")


def text_in(message: Message) -> str:
    """The text of a message; other parts are left out."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if isinstance(part.get("text"), str))


def text_of(messages: Sequence[Message]) -> str:
    """The text of the last message of a user; empty if there is none."""
    return next((text_in(message) for message in reversed(messages) if message.get("role") == "user"), "")


def _session(
    kind: str, body: Mapping[str, Any], headers: Mapping[str, str], messages: Sequence[Message],
    metadata: Mapping[str, Any],
) -> Optional[str]:  # fmt: skip
    """The key of a conversation; a session that the client names to LiteLLM comes first."""
    own, owner = body.get("metadata") or {}, str(metadata.get("user_api_key_hash") or "")
    named = headers.get(_SESSION_HEADER) or body.get("litellm_session_id") or own.get("session_id")
    if not named and kind:
        where, _, name = kind.partition(".")
        named = {"user": body.get("user"), "header": headers.get(name.lower()), "metadata": own.get(name)}.get(where)
        if where == "conversation":  # its beginning, which all turns share
            first = next((k for k, message in enumerate(messages) if message.get("role") == "user"), 0)
            named = json.dumps(messages[: first + 1], sort_keys=True, default=str)
    # Two clients with different keys have different sessions, even if these have the same name.
    return hashlib.sha256(f"{owner}\n{named}".encode()).hexdigest()[:32] if named else None
