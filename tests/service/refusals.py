#!/usr/bin/env python3
"""What clients of examples/gateway are told where the models' provider fails: words of the gateway's own, never the provider's,
which may quote the operator's key. usage: refusals.py GATEWAY.py
"""
import asyncio
import json
import os
import pathlib
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

import httpx
import openai
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

import pandora

KEY, FROM_ENVIRONMENT = "operators-own-4f1d8c", "another-of-the-environment-77"
MODELS = ["small", "large"]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


async def upstream(http):
    """A provider that fails with the status that it is asked for, and quotes the key with which it was asked."""
    asked = (await http.json())["messages"][-1]["content"]
    if "fail with" in asked:
        if "time" in asked:
            await asyncio.sleep(4)  # longer than anybody waits
        status, *code = asked.split("fail with ")[1].split()
        quoted = f"quoted by the provider: {http.headers['authorization']}, {FROM_ENVIRONMENT}, {asked}"
        error = {"message": quoted, "type": "of_provider", "param": "temperature" if "422" in asked else None, "code": code[0] if code else None}
        return JSONResponse({"error": error}, int(status), {"Retry-After": "17"})
    return JSONResponse({
        "id": "x", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "7"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    })


def serve_models():
    port = free_port()
    app = Starlette(routes=[Route("/v1/chat/completions", upstream, methods=["POST"])])
    threading.Thread(target=uvicorn.Server(uvicorn.Config(app, port=port, log_level="error")).run, daemon=True).start()
    return f"http://127.0.0.1:{port}/v1"


def started(folder, models, port):
    how = f'api_base = "{models}"\napi_key = "{KEY}"\nprices = [1, 1]\ntimeout = 1\nmax_retries = 0\n'
    (folder / "gateway.toml").write_text(
        f'folder = "kept"\ncascade = "cascade.json"\nport = {port}\n[judge]\nmodel = "openai/judge"\n{how}'
        + "".join(f'[models.{name}]\nmodel = "openai/{name}"\n{how}' for name in MODELS))
    environment = {**os.environ, "SOME_PROVIDER_API_KEY": FROM_ENVIRONMENT}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, sys.argv[1], str(folder / "gateway.toml")], stdout=log, stderr=log, env=environment)
    for _ in range(600):
        assert process.poll() is None, (folder / "log").read_text()
        try:
            httpx.get(f"http://127.0.0.1:{port}/v1/models")
            return process
        except httpx.HTTPError:
            time.sleep(0.1)
    raise AssertionError("the gateway does not answer")


# What the provider says; what the client is told: status, code, words, and whether when to come back.
CASES = [
    ("400", 400, None, "refuses the request", None),
    ("400 context_length_exceeded", 400, "context_length_exceeded", "shorten them", None),
    ("400 content_filter", 400, "content_policy_violation", "refuses the content", None),
    ("401", 502, "upstream_credentials", "its operator has to act", None),
    ("403", 502, "upstream_credentials", "its operator has to act", None),
    ("404", 502, "upstream_failed", "no model has answered", None),
    ("422", 422, None, "refuses the request", None),
    ("429", 429, "rate_limit_exceeded", "try again later", "17"),
    ("500", 502, "upstream_failed", "no model has answered", None),
    ("500 in no time", 504, "timeout", "in time", None),
    ("503", 503, "upstream_overloaded", "try again later", "17"),
]


def refused(api, content, **more):
    try:
        api.chat.completions.create(model="cascade", messages=[{"role": "user", "content": content}], **more)
    except openai.APIStatusError as error:
        return error
    raise AssertionError(content)


def check(folder, port):
    api = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0)
    for asked, status, code, words, after in CASES:
        for stream in (False, True):
            api.chat.completions.create(model="cascade", messages=[{"role": "user", "content": "well"}])  # no model rests
            error = refused(api, f"confidential words: fail with {asked}", stream=stream)
            said = error.response.json()["error"]
            assert error.status_code == status and said["code"] == code and words in said["message"], (asked, error.response.text)
            assert set(said) == {"message", "type", "param", "code"} and error.response.headers.get("retry-after") == after, (asked, said)
            for secret in (KEY, FROM_ENVIRONMENT, "quoted", "confidential", "Bearer"):
                assert secret not in error.response.text, (asked, error.response.text)
    assert type(refused(api, "fail with 429")) is openai.RateLimitError and type(refused(api, "fail with 400")) is openai.BadRequestError
    for body in (b"{", b"[]", b'{"messages": [{"role": "user", "content": ["part"]}]}', b'{"messages": [{"role": "user", "content": [{"text": 1}]}]}'):
        found = httpx.post(f"http://127.0.0.1:{port}/v1/chat/completions", content=body)
        assert found.status_code == 400 and found.json()["error"]["type"] == "invalid_request_error", (body, found.text)
    found = httpx.post(f"http://127.0.0.1:{port}/v1/feedback", json={"id": "cascade-1", "quality": 1})
    assert found.status_code == 400 and "message" in found.json()["error"], found.text
    log = (folder / "log").read_text()
    assert "AuthenticationError" in log and "RateLimitError" in log and "quoted by the provider" in log and "[secret]" in log, log
    assert KEY not in log and FROM_ENVIRONMENT not in log, log


def check_files(folder):
    """No prompt is kept that no feature needs, and the files are their owner's alone."""
    files = [file for file in (folder / "kept").rglob("*") if file.is_file()]
    assert any(file.name.startswith("calls-") for file in files) and any(file.parent.name == "decisions" for file in files), files
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, (file, oct(file.stat().st_mode))
        assert "confidential" not in file.read_text(), file


with tempfile.TemporaryDirectory() as there:
    base, port = pathlib.Path(there), free_port()
    pandora.Cascade.new(MODELS, price=1, evaluator="score").save(base / "cascade.json")
    gateway = started(base, serve_models(), port)
    try:
        check(base, port)
        check_files(base)
    finally:
        gateway.terminate()
        gateway.wait()
    print(f"{2 * len(CASES)} failures of the provider told without its words; {json.dumps([case[0] for case in CASES])}")
