#!/usr/bin/env python3
"""examples/gateway with the real client of OpenAI and models that answer, fail and do not answer in time, on the loopback interface:
requests at once, kill -9, a cascade that was fitted anew, streaming, clients that are gone.
usage: gateway.py GATEWAY.py REQUESTS
"""
import asyncio
import json
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import openai
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

import pandora

GATEWAY, REQUESTS = sys.argv[1], int(sys.argv[2])
AT_ONCE = 50
MODELS = {"small": (0.6, 1e-4), "large": (0.9, 2e-3)}


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


async def upstream(http):
    """A model, or the judge, which says what the answer says of itself."""
    body = await http.json()
    asked = body["messages"][-1]["content"]
    if body["model"] == "judge":
        said = str(round(10 * float(asked.rsplit("worth ", 1)[1])))
    else:
        draw = random.Random(body["model"] + asked)
        if draw.random() < 0.05:
            return JSONResponse({"error": {"message": "overloaded"}}, status_code=503)
        if draw.random() < 0.02:
            await asyncio.sleep(5)  # longer than anybody waits
        if "slow" in asked:
            await asyncio.sleep(0.9)
        said = f"worth {min(1.0, max(0.0, draw.gauss(MODELS[body['model']][0], 0.2))):.2f}"
    return JSONResponse({
        "id": "x", "object": "chat.completion", "created": 0, "model": body["model"],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 100, "total_tokens": 200},
    })


def serve_models():
    port = free_port()
    app = Starlette(routes=[Route("/v1/chat/completions", upstream, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    return f"http://127.0.0.1:{port}/v1"


def write_cascade(path, price):
    draw = random.Random(price)
    quality = [[min(1.0, max(0.0, draw.gauss(q, 0.2))) for q, _ in MODELS.values()] for _ in range(300)]
    trace = pandora.Trace({"models": list(MODELS), "quality": quality, "scores": quality, "cost": [[c for _, c in MODELS.values()]] * 300})
    pandora.Cascade.fit(trace, price=price, evaluator="score", kind="thresholds", explore=0.1).save(path)


class Gateway:
    def __init__(self, folder, port):
        self.folder, self.port = folder, port
        self.process = None

    def start(self):
        self.process = subprocess.Popen([sys.executable, GATEWAY, str(self.folder / "gateway.toml")])
        for _ in range(600):
            assert self.process.poll() is None, "the gateway has ended"
            try:
                return self.get("/v1/models")
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the gateway does not answer")

    def get(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", data) as found:
            return found.read().decode()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def metric(self, name):
        return float(next(line.split()[1] for line in self.get("/metrics").split("\n") if line.startswith(name + "_total ")))


async def client(port):
    return openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0)


async def ask(api, k, how=""):
    """The id of an answer; None where the request failed."""
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"{how}question {k}"}]
    try:
        if k % 10 == 0:
            stream = await api.chat.completions.create(model="cascade", messages=messages, stream=True, temperature=0.5)
            pieces = [piece async for piece in stream]
            assert "worth" in pieces[0].choices[0].delta.content
            return pieces[0].id
        answer = await api.chat.completions.create(model="cascade", messages=messages)
        assert "worth" in answer.choices[0].message.content and answer.model_extra["cascade"]["calls"]
        return answer.id
    except openai.APIError:
        return None


async def play(gateway, first, last, kill_after=None):
    """Requests at once; ids of the answers."""
    api, gate, up, ids, done = await client(gateway.port), asyncio.Semaphore(AT_ONCE), asyncio.Event(), [], 0
    up.set()

    async def one(k):
        nonlocal done
        async with gate:
            await up.wait()
            found = await ask(api, k)
            done += 1
            if found is not None:
                ids.append(found)
            if done == kill_after:
                up.clear()
                gateway.kill()
                await asyncio.to_thread(gateway.start)
                up.set()

    await asyncio.gather(*(one(k) for k in range(first, last)))
    await api.close()
    return ids


async def gone(gateway, count):
    """Clients that do not wait for their answers."""
    api = await client(gateway.port)
    tasks = [asyncio.create_task(ask(api, 1 + 10 * k, "slow ")) for k in range(count)]
    await asyncio.sleep(0.3)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await api.close()


def feed(gateway, ids):
    told = 0
    for k, answer in enumerate(ids):
        try:
            gateway.get("/v1/feedback", {"id": answer, "quality": 1.0})
            told += 1
        except urllib.error.HTTPError as error:
            assert "last one was given" in error.read().decode() or error.code == 400, answer
    return told


with tempfile.TemporaryDirectory() as there:
    folder, models, port = pathlib.Path(there), serve_models(), free_port()
    write_cascade(folder / "cascade.json", 20)
    upstreams = {name: f'model = "openai/{name}"\napi_base = "{models}"\napi_key = "x"\nprices = [{1e6 * cost / 200}, {1e6 * cost / 200}]\n'
                       'timeout = 1\nmax_retries = 0\n' for name, (_, cost) in {**MODELS, "judge": (0, 1e-5)}.items()}
    (folder / "gateway.toml").write_text(
        f'folder = "kept"\ncascade = "cascade.json"\nport = {port}\n[monitor]\nagainst = "large"\nshare = 0.2\n[judge]\n{upstreams["judge"]}'
        + "".join(f"[models.{name}]\n{upstreams[name]}" for name in MODELS))
    gateway = Gateway(folder, port)
    gateway.start()
    half = REQUESTS // 2
    ids = asyncio.run(play(gateway, 0, half, kill_after=half // 2))
    assert len(set(ids)) == len(ids) >= half - 2 * AT_ONCE, len(ids)
    before = gateway.metric("cascade_deployed")
    told = feed(gateway, ids[: len(ids) // 2])  # also of answers from before the kill
    assert told >= 0.95 * (len(ids) // 2) and gateway.metric("cascade_feedbacks") == told, told
    write_cascade(folder / "cascade.json", 5)  # fitted anew
    gateway.get("/reload", {})
    assert gateway.metric("cascade_requests") == 0
    later = asyncio.run(play(gateway, half, REQUESTS))
    assert len(later) >= 0.95 * (REQUESTS - half), len(later)
    for wrong in ({"messages": [{"role": "user", "content": "question 1"}], "api_base": "http://127.0.0.1:9/v1"}, [], {"messages": "?"}):
        try:
            gateway.get("/v1/chat/completions", wrong)
            raise AssertionError(wrong)
        except urllib.error.HTTPError as error:
            assert error.code == 400, error.read()
    settings = (folder / "gateway.toml").read_text()
    for wrong, what in (("port = [", "TOMLDecodeError"), ("budjet = 3\n" + settings, "budjet: no such key"),
                        (settings.replace("cascade.json", "gone.json"), "gone.json"),
                        (settings + "[budget]\nusd_per_request = 0.0\nprice = 1.0\n", "usd_per_request"),
                        (settings.replace('against = "large"', 'against = "nobody"'), "nobody")):
        (folder / "gateway.toml").write_text(wrong)
        try:
            gateway.get("/reload", {})
            raise AssertionError(what)
        except urllib.error.HTTPError as error:
            said = error.read().decode()
            assert error.code == 400 and what in said, (error.code, said)
    for wrong in (settings.replace("[judge]", "alfa = 0.1\n[judge]"), settings.replace('folder = "kept"', "folder = 3")):
        (folder / "gateway.toml").write_text(wrong)
        try:
            gateway.get("/reload", {})
            raise AssertionError(wrong)
        except urllib.error.HTTPError as error:
            assert error.code == 400 and "gateway.toml" in error.read().decode()
    (folder / "gateway.toml").write_text(settings)
    assert asyncio.run(play(gateway, REQUESTS, REQUESTS + 5))  # it goes on as before
    second = subprocess.run([sys.executable, GATEWAY, str(folder / "gateway.toml")], capture_output=True, text=True)
    assert second.returncode == 1 and second.stderr.splitlines()[-1].startswith("gateway: ") and "Traceback" not in second.stderr
    fitted = (folder / "cascade.json").read_bytes()
    pandora.Cascade.new(["large"], price=5, evaluator="score").save(folder / "cascade.json")  # one model less
    gateway.get("/reload", {})
    assert asyncio.run(play(gateway, REQUESTS + 5, REQUESTS + 10))
    (folder / "cascade.json").write_bytes(fitted)
    gateway.get("/reload", {})
    gateway.kill()
    gateway.start()
    told_of_before = feed(gateway, ids[len(ids) // 2 :])  # by the cascade that began them
    assert told_of_before >= 0.95 * (len(ids) - len(ids) // 2), told_of_before
    assert feed(gateway, later) >= 0.95 * len(later)
    asyncio.run(gone(gateway, 20))
    until = time.monotonic() + 30
    while gateway.metric("cascade_cancelled") < 15 and time.monotonic() < until:
        time.sleep(0.2)
    watched = json.loads(gateway.get("/monitor"))
    assert watched["models"]["large"]["feedbacks"] > 0.2 * len(later) and watched["cascade_less"]["model"] == "large", watched
    cancelled, failures = gateway.metric("cascade_cancelled"), gateway.metric("cascade_failures")
    assert cancelled >= 15 and failures > 0.01 * REQUESTS, (cancelled, failures)
    gateway.process.send_signal(signal.SIGINT)
    gateway.process.wait()
    decisions = {}  # per worker; one that has decided little may have failures only, of which no table is made
    for log in (folder / "kept").glob("*/decisions"):
        decisions[log] = sum('"calls"' in line for file in log.glob("*.jsonl") for line in file.open())
    read = sum(len(pandora.Trace(log).prompts) for log, count in decisions.items() if count >= 50)
    assert read > 0.5 * sum(decisions.values()), (read, decisions)
    print(f"{REQUESTS} requests, {AT_ONCE} at once, one kill -9, one reload: {len(ids) + len(later)} answers, "
          f"{failures:.0f} failures passed over, {cancelled:.0f} clients gone, {read} decisions logged")
