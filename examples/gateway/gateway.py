#!/usr/bin/env python3
"""An OpenAI-compatible service over a cascade. usage: gateway.py gateway.toml"""

import asyncio
import gc
import hashlib
import json
import logging
import os
import pathlib
import sys
import tomllib

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # prices without a network

import litellm
import uvicorn
from failures import Secrets, UpstreamError, answer_to
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import pandora
from pandora.serving import Budget, Monitor, Store
from pandora.serving.litellm import CascadeLLM, llm_judge, number_of, text_of

litellm.suppress_debug_info = True

# What a client may set of a call; anything else, such as another api_base, is not the client's to say.
PARAMETERS = {"temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed", "presence_penalty", "user",
              "frequency_penalty", "response_format", "tools", "tool_choice", "reasoning_effort"}  # fmt: skip

KEYS = {"cascade", "folder", "host", "port", "log", "timeout_seconds", "models", "judge", "monitor", "budget"}


class Gateway:
    def __init__(self, file):
        self.file, self.llm, self.kept, self.stores = file, None, {}, {}  # stores by folder: all take feedback
        self.secrets = Secrets()

    def reload(self):
        """Reads the settings and the cascade; one that is another than before answers from now on."""
        try:
            settings = tomllib.loads(self.file.read_text())
            self.secrets.learn(settings)
            if other := sorted(settings.keys() - KEYS):
                raise ValueError(f"{other[0]}: no such key; there are {', '.join(sorted(KEYS))}")
            self.take(settings, *(self.file.parent / settings[key] for key in ("cascade", "folder")))
        except (OSError, ValueError, KeyError, TypeError, pandora.Error) as error:
            raise pandora.UsageError(f"{self.file}: {type(error).__name__}: {error}") from error

    def take(self, settings, cascade, folders):
        folder = folders / hashlib.sha256(cascade.read_bytes()).hexdigest()[:12]
        how = {"timeout_seconds": settings.get("timeout_seconds", 300), "refit": "beside", "decisions": settings.get("log", True)}
        for there in {folder, *(path.parent for path in folders.glob("*/cascade-*.json"))} - set(self.stores):
            self.stores[there] = Store(there, cascade if there == folder else None, **how)
        store, kept = self.stores[folder], (settings.get("monitor", {}), settings.get("budget"))
        llm = CascadeLLM(store, settings["models"], llm_judge(settings["judge"]) if "judge" in settings else None)
        if self.kept.pop(folder, None) != kept:  # what is refused is taken anew by the next reload
            store.watch(Monitor(store.cascade.models, store.cascade.price, **kept[0]))
            store.keep_to(Budget(**kept[1]) if kept[1] else None)
        self.kept[folder] = kept
        self.llm, self.folder, self.settings = llm, folder, settings

    def collect(self):
        for name, value in (found := self.llm.store.metrics()).items():
            if name not in ("models", "epoch", "monitor", "price"):
                yield CounterMetricFamily(f"cascade_{name}", "of the cascade since it began", value=value)
        rests = GaugeMetricFamily("cascade_model_rests", "whether calls of the model keep failing", labels=["model"])
        for model in found["models"]:
            rests.add_metric([model["model"]], model["rests"])
        yield rests
        yield GaugeMetricFamily("cascade_alarms", "of the monitor", value=len(found["monitor"]["alarms"]))
        yield CounterMetricFamily("cascade_unjudged", "answers on which the judge failed, since the last reload", value=self.llm.unjudged)

    async def answer(self, http):
        body = await body_of(http)
        if not isinstance(body.get("messages"), list):
            raise pandora.UsageError('give an object with "messages", a list')
        messages, columns, stream = body.pop("messages"), body.pop("columns", None), body.pop("stream", False)
        body.pop("model", None), body.pop("stream_options", None)
        if not all(isinstance(message, dict) for message in messages) or body.keys() - PARAMETERS:
            raise pandora.UsageError(f"messages are objects, and parameters {', '.join(sorted(PARAMETERS))}, not {sorted(body)}")
        try:
            text_of(messages)
        except (AttributeError, TypeError) as error:
            raise pandora.UsageError("a message's content is a text, or a list of parts of which each is an object") from error
        task = asyncio.create_task(self.llm.answer(messages, columns, **body))
        while not (await asyncio.wait({task}, timeout=0.5))[0]:
            if await http.is_disconnected():
                task.cancel()
        try:
            answer = task.result()
        except pandora.Error:
            raise
        except Exception as error:
            raise UpstreamError from error
        out = answer.response.model_dump() | {"cascade": {"deployed": answer.deployed, "calls": answer.calls}}
        if not stream:
            return JSONResponse(out)
        out["object"] = "chat.completion.chunk"  # one chunk: before the cascade has stopped there is no answer
        for choice in out["choices"]:
            choice["delta"] = choice.pop("message")
        return StreamingResponse(iter([f"data: {json.dumps(out)}\n\n", "data: [DONE]\n\n"]), media_type="text/event-stream")

    async def feedback(self, http):
        body, problem = await body_of(http), None
        if not isinstance(body.get("id"), str) or "quality" not in body:
            raise pandora.UsageError('give an object with "id", that of an answer, and "quality"')
        for store in [self.llm.store, *self.stores.values()]:
            try:
                await store.aside(store.feedback, number_of(body["id"]), body["quality"])
                return JSONResponse({})
            except pandora.UsageError as error:
                problem = problem or error
        raise problem

    async def reloaded(self, http):
        await asyncio.to_thread(self.reload)
        return JSONResponse({"folder": str(self.folder)})

    async def models(self, http):
        return JSONResponse({"object": "list", "data": [{"id": "cascade", "object": "model", "owned_by": "pandora"}]})

    async def monitor(self, http):
        return Response(json.dumps(self.llm.store.metrics()["monitor"]), media_type="application/json")

    async def metrics(self, http):
        (registry := CollectorRegistry()).register(self)
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


async def body_of(http):
    try:
        body = await http.json()
    except ValueError as error:
        raise pandora.UsageError("the request's body is not JSON") from error
    if not isinstance(body, dict):
        raise pandora.UsageError("give an object")
    return body


def told(gateway, handler):
    """What goes wrong, as OpenAI's clients expect it."""

    async def handled(http):
        try:
            return await handler(http)
        except asyncio.CancelledError:  # the client is gone
            return Response(status_code=499)
        except Exception as error:
            return answer_to(error, gateway.secrets, PARAMETERS)

    return handled


if __name__ == "__main__":
    gateway = Gateway(pathlib.Path(sys.argv[1]).resolve())
    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s")
    try:
        gateway.reload()
    except pandora.Error as error:
        sys.exit(f"gateway: {error}")
    posts = {"/v1/chat/completions": gateway.answer, "/v1/feedback": gateway.feedback, "/reload": gateway.reloaded}
    gets = {"/v1/models": gateway.models, "/monitor": gateway.monitor, "/metrics": gateway.metrics}
    routes = [Route(path, told(gateway, handler), methods=["POST"]) for path, handler in posts.items()]
    app = Starlette(routes=routes + [Route(path, told(gateway, handler)) for path, handler in gets.items()])
    gc.freeze()  # what was imported: looking through it would stop the event loop for 30 ms
    uvicorn.run(app, host=gateway.settings.get("host", "127.0.0.1"), port=gateway.settings["port"], log_level="warning")
    for store in gateway.stores.values():
        store.close()
