"""LiteLLM's proxy with cascades and made-up models, and its answers."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Optional

from upstream import Models

import pandora

KEY = "sk-of-the-operator-4f1d8c"
MODEL_KEY = "sk-of-the-provider-77"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": name, "parameters": CITY}} for name in ("weather", "time")]
#: The cascades of cascades.toml. `judged` asks small first, and then large if the judge's score is below about 0.85.
CASCADES = """
[judged]
cascade = "judged.json"
judge = "judge"
[schema]
cascade = "judged.json"
judge = "judge"
tools = "schema"
[first]
cascade = "judged.json"
judge = "judge"
tools = "first"
[single]
cascade = "single.json"
[talk]
cascade = "judged.json"
judge = "judge"
sessions = "conversation"
"""


class Answered:
    """An answer: a status, headers and a body."""

    def __init__(self, status: int, headers: Any, text: str) -> None:
        self.status, self.headers, self.text = status, headers, text

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def events(self) -> list[Any]:
        """The events of a stream, without its end."""
        lines = [line[6:] for line in self.text.splitlines() if line.startswith("data: ")]
        assert lines[-1] == "[DONE]", self.text
        return [json.loads(line) for line in lines[:-1]]


class Proxy:
    """A running proxy."""

    def __init__(self, folder: pathlib.Path, models: Models) -> None:
        self.folder, self.models = folder, models
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: Optional[subprocess.Popen[bytes]] = None

    def start(self, *arguments: str) -> None:
        """Starts the proxy by `pandora serve`."""
        command = [sys.executable, "-m", "pandora.offline", "serve", "--config", "cascades.toml", *arguments]
        environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENBLAS_NUM_THREADS": "1"}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--proxy", "config.yaml", "--port", str(self.port)],
                cwd=self.folder, env=environment, stdout=log, stderr=log,
            )  # fmt: skip
        for _ in range(1200):
            assert self.process.poll() is None, (self.folder / "log").read_text()
            try:
                if self.call("/cascade/metrics", key=KEY).status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise AssertionError("the proxy does not answer")

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)

    def call(
        self, path: str, body: Any = None, key: Optional[str] = KEY, headers: Mapping[str, str] = {}
    ) -> Answered:  # fmt: skip
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        told = {"Content-Type": "application/json", **headers, **({"Authorization": f"Bearer {key}"} if key else {})}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, data, told), timeout=120) as found:
                return Answered(found.status, found.headers, found.read().decode())
        except urllib.error.HTTPError as error:
            return Answered(error.code, error.headers, error.read().decode())

    def chat(self, model: str, content: Any, **more: Any) -> Answered:
        messages = content if isinstance(content, list) and content and "role" in content[0] else None
        messages = messages or [{"role": "user", "content": content}]
        return self.call("/v1/chat/completions", {"model": model, "messages": messages, **more})

    def client(self) -> Any:
        """OpenAI's client, with the operator's key."""
        return importlib.import_module("openai").OpenAI(base_url=f"{self.url}/v1", api_key=KEY, max_retries=0)


def write_cascades(folder: pathlib.Path) -> None:
    draw = random.Random(5)
    rows = [[min(1.0, max(0.0, draw.gauss(0.6, 0.3))), min(1.0, max(0.0, draw.gauss(0.9, 0.1)))] for _ in range(400)]
    table = {"models": ["small", "large"], "quality": rows, "scores": rows, "cost": [[0.00036, 0.0036]] * 400}
    judged = pandora.Cascade.fit(pandora.Trace(table), price=20.0, evaluator="score", kind="thresholds")
    assert judged.order == ["small", "large"] and 0.8 < judged.thresholds[0] < 0.9
    judged.save(folder / "judged.json")
    table["quality"] = table["scores"] = [[0.9, 0.5]] * 400
    pandora.Cascade.fit(pandora.Trace(table), price=20.0, evaluator="score", kind="thresholds").save(
        folder / "single.json"
    )


def write_configuration(folder: pathlib.Path, url: str) -> None:
    def entry(name: str, usd_in: float, usd_out: float, **more: Any) -> dict[str, Any]:
        prices = {"input_cost_per_token": usd_in, "output_cost_per_token": usd_out, **more}
        model = {"model": f"openai/{name}", "api_base": url, "api_key": MODEL_KEY, "timeout": 30, **prices}
        return {"model_name": name, "litellm_params": model}

    entries = [
        entry("small", 1.4e-6, 4.4e-6, cache_read_input_token_cost=2.6e-7), entry("large", 1.4e-5, 4.4e-5),
        entry("judge", 0.0, 0.0),
    ]  # fmt: skip
    names = [line[1:-1] for line in CASCADES.splitlines() if line.startswith("[")]
    entries += [{"model_name": name, "litellm_params": {"model": f"cascade/{name}"}} for name in names]
    handler = {"provider": "cascade", "custom_handler": "pandora.serving.litellm.handler"}
    configuration = {
        "model_list": entries,
        "litellm_settings": {"custom_provider_map": [handler]},
        "general_settings": {"master_key": KEY, "cancel_on_disconnect": True},
        # A wrong key in one test must not make a model rest in the next test.
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
    }
    (folder / "config.yaml").write_text(json.dumps(configuration))  # JSON is YAML
    (folder / "cascades.toml").write_text(CASCADES)
