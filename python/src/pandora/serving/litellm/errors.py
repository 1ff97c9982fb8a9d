"""Errors for clients in OpenAI's form: the client's own mistakes, and a model's failures."""

from __future__ import annotations

import email.utils
import re
import sys
import time
from collections.abc import Callable
from typing import Any, Optional

import litellm

_PROXY = sys.modules.get("litellm.proxy._types")
#: The exception that the proxy passes on unchanged; outside a proxy it is not used.
_Told: Any = getattr(_PROXY, "ProxyException", None) or type("_Told", (Exception,), {})


class ToldError(_Told, litellm.BadRequestError):  # type: ignore[misc]
    """An error with LiteLLM's and OpenAI's members: status, message, param and code. It is never tried again."""

    def __init__(
        self, status: int, message: str, param: Optional[str] = None, code: Optional[str] = None,
        headers: Optional[dict[str, str]] = None,
    ) -> None:  # fmt: skip
        litellm.BadRequestError.__init__(self, message, model="cascade", llm_provider="cascade")
        self.message, self._said = message, message  # LiteLLM's router adds to `message`
        self.type = "invalid_request_error" if status < 500 else "api_error"
        if status in (408, 429):
            self.type = "timeout_error" if status == 408 else "rate_limit_error"
        self.param, self.openai_code = param, code
        self.status_code, self.code = status, str(status)
        self.headers = headers or {}
        self.provider_specific_fields: Optional[dict[str, Any]] = None
        self.num_retries = 0  # otherwise the router would repeat the whole cascade

    def __str__(self) -> str:
        return str(self.message)

    def to_dict(self) -> dict[str, Any]:
        """The member `error` of the body."""
        return {"message": self._said, "type": self.type, "param": self.param, "code": self.openai_code}


def refused(param: Optional[str], message: str, code: str = "invalid_value") -> ToldError:
    """A request that the client has to change."""
    return ToldError(400, message, param, code)


def is_of_client(error: BaseException) -> bool:
    """Whether a model refused this request, such as too long a prompt; its next calls may succeed."""
    return getattr(error, "status_code", None) in (400, 413, 422)


def told_of(error: BaseException, hide: Callable[[str], str] = str) -> ToldError:
    """The error for a client when every model has failed, the last one with this failure. A provider's text may quote a
    key.

    If the client can fix the cause, the error has the provider's words without what `hide` removes.
    """
    status = getattr(error, "status_code", None)
    if isinstance(error, ToldError):
        return error
    if status == 429:
        message = "the models' providers take no more requests at present; try again later"
        return ToldError(429, message, code="rate_limit_exceeded", headers=_retry_after(error))
    if status in (401, 403):
        message = "a model's provider does not accept this service; its operator has to act"
        return ToldError(502, message, code="upstream_credentials")
    if isinstance(error, litellm.ContextWindowExceededError):
        message = "the messages are longer than the models take; shorten them"
        return ToldError(400, message, "messages", "context_length_exceeded")
    if is_of_client(error):
        said = str(getattr(error, "message", error)).split("\n\nLiteLLM: model group")[0]
        param = getattr(error, "param", None)
        param = param if param != "None" else None  # LiteLLM writes it so
        return ToldError(int(status or 400), hide(said), param, _code_of(error))
    if isinstance(error, litellm.Timeout):
        return ToldError(408, "no model has answered in time; try again", code="timeout")
    told = status if isinstance(status, int) and status >= 500 else 502
    return ToldError(
        told, "no model has answered; try again later", code="upstream_failed", headers=_retry_after(error)
    )


def _code_of(error: BaseException) -> str:
    if isinstance(error, litellm.ContentPolicyViolationError):
        return "content_policy_violation"
    code = getattr(error, "code", None)
    return code if isinstance(code, str) and not code.isdigit() else "invalid_request"


def _retry_after(error: BaseException) -> dict[str, str]:
    """The header, in seconds, if the provider or the router said when to try again."""
    if cooldown := getattr(error, "cooldown_time", None):
        return {"Retry-After": str(max(1, round(cooldown)))}
    answer = getattr(error, "response", None)
    for headers in (getattr(answer, "headers", None), getattr(error, "litellm_response_headers", None)):
        said = str((headers or {}).get("retry-after") or "")
        if re.fullmatch(r"\d{1,7}(\.\d+)?", said):
            return {"Retry-After": said}
        try:
            seconds = email.utils.parsedate_to_datetime(said).timestamp() - time.time()
        except ValueError:
            continue
        return {"Retry-After": str(max(0, round(seconds)))}
    return {}
