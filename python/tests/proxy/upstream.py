"""Made-up models behind OpenAI's API. Marks in the user's last message control their answers.

[tools] makes two tool calls; [bad tools] makes one whose arguments do not fit the schema; [empty] gives no text and is
cut off; [no usage] leaves out the usage; [cached] reports a prompt cache; [slow:S] answers after S seconds;
[status:429] and the like give an error; [break] ends a stream halfway; [json] gives an object; [refuse] refuses. With
[only:NAME] the marks hold for this model alone. The judge gives the score that follows "worth" in an answer, otherwise
8.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

CALLS = [("weather", {"city": "Oslo"}), ("time", {"city": "Rome"})]
USAGE = {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}
CACHED = {
    "prompt_tokens": 27147,
    "completion_tokens": 351,
    "total_tokens": 27498,
    "prompt_tokens_details": {"cached_tokens": 27146},
}
CODES = {400: "context_length_exceeded", 401: "invalid_api_key", 429: "rate_limit_exceeded"}


class Models:
    """Models that answer at `url` until `close`. `calls` has the bodies and headers that reached them."""

    def __init__(self, judge: str = "judge") -> None:
        self.judge = judge
        self.calls: list[dict[str, Any]] = []
        self.worth: dict[str, float] = {}  # the worth of answers, by model
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"models": self}))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of(self, model: str) -> list[dict[str, Any]]:
        """The requests that a model got."""
        return [call for call in self.calls if call["model"] == model]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    models: Models

    def log_message(self, *_: Any) -> None: ...

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.models.calls.append({**body, "headers": dict(self.headers)})
        model, users = body["model"], [m for m in body["messages"] if m["role"] == "user"]
        content = users[-1]["content"] if users else ""
        text = content if isinstance(content, str) else " ".join(part.get("text") or "" for part in content)
        only = re.search(r"\[only:(\w+)\]", text)
        asked = text if model != self.models.judge and (only is None or only[1] == model) else ""
        if slow := re.search(r"\[slow:([\d.]+)\]", asked):
            time.sleep(float(slow[1]))
        if status := re.search(r"\[status:(\d+)\]", asked):
            return self.refuse(int(status[1]))
        choice = self.choice(model, asked, text)
        usage = CACHED if "[cached]" in asked else USAGE
        if body.get("stream"):
            return self.stream(body, choice, usage, "[break]" in asked)
        out = {
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1764000000, "model": model,
            "choices": [{"index": k, **choice} for k in range(body.get("n") or 1)],
        }  # fmt: skip
        self.send(200, out if "[no usage]" in asked else {**out, "usage": usage})

    def choice(self, model: str, asked: str, text: str) -> dict[str, Any]:
        why = "stop"
        worth = f" worth {self.models.worth[model]}" if model in self.models.worth else ""
        message: dict[str, Any] = {"role": "assistant", "content": f"{model} answers.{worth}"}
        if model == self.models.judge:
            told = re.findall(r"worth ([\d.]+)", text)
            message["content"] = str(10 * float(told[-1])) if told else "8"
        elif "[tools]" in asked or "[bad tools]" in asked:
            made = CALLS if "[tools]" in asked else [("weather", {"town": 5})]
            calls = [
                {"id": f"call_{k}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
                for k, (name, given) in enumerate(made)
            ]
            message, why = {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
        elif "[empty]" in asked:
            message["content"], why = "", "length"
        elif "[json]" in asked:
            message["content"] = '{"city": "Oslo"}'
        elif "[refuse]" in asked:
            message.update(content=None, refusal="I will not.")
        return {"message": message, "finish_reason": why}

    def refuse(self, status: int) -> None:
        quoted = f"the provider quotes {self.headers.get('Authorization')}"
        error = {"message": quoted, "type": "of_provider", "param": None, "code": CODES.get(status)}
        self.send(status, {"error": error}, {"Retry-After": "7"} if status == 429 else {})

    def stream(self, body: dict[str, Any], choice: dict[str, Any], usage: Mapping[str, Any], breaks: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.close_connection = True
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1764000000, "model": body["model"]}
        for k in range(body.get("n") or 1):
            for delta, why in _deltas(choice):
                if breaks and why:
                    return self.event({"error": {"message": f"quotes {self.headers['Authorization']}", "code": 500}})
                self.event({**head, "choices": [{"index": k, "delta": delta, "finish_reason": why}]})
        if (body.get("stream_options") or {}).get("include_usage"):
            self.event({**head, "choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, chunk: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.flush()

    def send(self, status: int, body: Any, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _deltas(choice: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """The pieces of OpenAI's streams: the role, words or tool calls in two pieces, and at the end why it ended."""
    message = choice["message"]
    yield {"role": "assistant", "content": ""}, None
    for word in re.findall(r"\S+\s*", message.get("content") or ""):
        yield {"content": word}, None
    for k, call in enumerate(message.get("tool_calls") or []):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        start = {"index": k, "id": call["id"], "type": "function", "function": {"name": name, "arguments": ""}}
        yield {"tool_calls": [start]}, None
        for piece in (arguments[:5], arguments[5:]):
            yield {"tool_calls": [{"index": k, "function": {"arguments": piece}}]}, None
    yield {}, choice["finish_reason"]
