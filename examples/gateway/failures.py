"""What goes wrong, in OpenAI's form and in words of the gateway's own: what a provider says may quote the operator's key.

The provider's text stands in the operator's log alone, without secrets.
"""

import email.utils
import logging
import os
import re
import time

import litellm
from starlette.responses import JSONResponse

import pandora

_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth|headers", re.IGNORECASE)
_SECRET = re.compile(
    r"(?i:bearer\s+|\bkey=|api[-_ ]?key\W{1,4})[^\s\"',;&]+"  # said to be one
    r"|\b(?:sk|pk|rk|gsk|xai|key)-[\w*.-]{8,}|\bAIza[\w-]{10,}"  # of the form of one
    r"|(?<=//)[^/@\s]+@"  # in an address
)
_LEAST_SECRET = 6  # signs; a shorter one would be found in plain words
_MOST_TEXT = 500  # signs of a provider's text in the log

log = logging.getLogger("gateway")


class UpstreamError(Exception):
    """A model's provider has failed a request; `__cause__` is what it said."""


class Secrets:
    """What nobody is told: keys of the settings and of the environment."""

    def __init__(self):
        self.found = set()
        self.learn(dict(os.environ))

    def learn(self, settings, is_secret=False):
        """More of them; those of before stay, of models that still answer."""
        if isinstance(settings, dict):
            for name, value in settings.items():
                self.learn(value, is_secret or _SECRET_NAME.search(name) is not None)
        elif isinstance(settings, list):
            for value in settings:
                self.learn(value, is_secret)
        elif is_secret and isinstance(settings, str) and len(settings) >= _LEAST_SECRET:
            self.found.add(settings)

    def hidden(self, text):
        for secret in sorted(self.found, key=len, reverse=True):
            text = text.replace(secret, "[secret]")
        return _SECRET.sub("[secret]", text)


def _refused(status, kind, code, message, param=None, headers=None):
    return JSONResponse({"error": {"message": message, "type": kind, "param": param, "code": code}}, status, headers)


def _retry_after(error):
    """The header, in seconds, where the provider gave one."""
    for headers in (getattr(getattr(error, "response", None), "headers", None), getattr(error, "litellm_response_headers", None)):
        said = str((headers or {}).get("retry-after") or "")
        if re.fullmatch(r"\d{1,7}(\.\d+)?", said):
            return {"Retry-After": said}
        try:
            return {"Retry-After": str(max(0, round(email.utils.parsedate_to_datetime(said).timestamp() - time.time())))}
        except ValueError:
            continue
    return None


def of_upstream(error, parameters):
    """A provider's failure: what the client can act on keeps its status, and everything else is the gateway's."""
    status, code = getattr(error, "status_code", None), getattr(error, "code", None)
    if status == 429:
        return _refused(429, "rate_limit_error", "rate_limit_exceeded", "a model's provider takes no more requests at present; try again later",
                        headers=_retry_after(error))  # fmt: skip
    if isinstance(error, litellm.ContextWindowExceededError) or (status == 400 and code == "context_length_exceeded"):
        return _refused(400, "invalid_request_error", "context_length_exceeded", "the messages are longer than a model takes; shorten them")
    if isinstance(error, litellm.ContentPolicyViolationError) or (status == 400 and code in ("content_filter", "content_policy_violation")):
        return _refused(400, "invalid_request_error", "content_policy_violation", "a model's provider refuses the content of the messages")
    if status in (400, 413, 422):
        param = getattr(error, "param", None)
        named = f"its {param}" if param in parameters else "its messages and parameters"
        return _refused(status, "invalid_request_error", None, f"a model's provider refuses the request; change {named}",
                        param if param in parameters else None)  # fmt: skip
    if isinstance(error, (litellm.Timeout, TimeoutError)):
        return _refused(504, "api_error", "timeout", "no model has answered in time; try again")
    if status in (401, 403):
        return _refused(502, "api_error", "upstream_credentials", "a model's provider does not accept the gateway; its operator has to act")
    if status == 503:
        return _refused(503, "api_error", "upstream_overloaded", "a model's provider is overloaded; try again later", headers=_retry_after(error))
    return _refused(502, "api_error", "upstream_failed", "no model has answered; try again later")


def answer_to(error, secrets, parameters):
    """What a client is told of an exception; what it is not told is logged."""
    if isinstance(error, pandora.UsageError):
        return _refused(400, "invalid_request_error", None, secrets.hidden(str(error)))
    cause = error.__cause__ if isinstance(error, UpstreamError) else error
    said = " ".join(secrets.hidden(f"{type(cause).__name__}: {cause}").split())
    log.warning("%s", said if len(said) <= _MOST_TEXT else said[:_MOST_TEXT] + " ...")
    if isinstance(error, UpstreamError):
        return of_upstream(cause, parameters)
    if isinstance(error, pandora.Error):
        return _refused(503, "api_error", "not_kept", "the gateway cannot keep requests at present; try again later")
    return _refused(500, "api_error", "internal_error", "the gateway has failed; its log says why")
