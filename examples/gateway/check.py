#!/usr/bin/env python3
"""The example as CI runs it: PostgreSQL, a proxy with two workers, made-up models; requests, feedback, a refit, a rollback.

usage: check.py   (Debian's postgresql, and the packages of requirements.txt)
"""

import json
import os
import pathlib
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python/tests/proxy"))
from upstream import Models  # noqa: E402

KEY = "sk-check-1234"
REQUESTS = 300


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Postgres:
    """Debian's server in a folder; as root it runs as another user, since it refuses to be root's."""

    def __init__(self):
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin")) or [pathlib.Path(shutil.which("initdb")).parent]
        self.programs, self.folder, self.user = programs[-1], tempfile.mkdtemp(prefix="check-postgres-"), {}
        if os.getuid() == 0:
            users = {user.pw_name: user.pw_gid for user in pwd.getpwall()}
            name = "postgres" if "postgres" in users else "nobody"
            shutil.chown(self.folder, name)
            self.user = {"user": name, "group": users[name], "extra_groups": []}
        self.url = f"postgresql://pandora@/postgres?host={self.folder}"
        self.run("initdb", "-D", f"{self.folder}/data", "-A", "trust", "-U", "pandora", "--no-sync")
        options = f"-k {self.folder} -c listen_addresses="
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-o", options, "-l", f"{self.folder}/log", "-w", "start")

    def run(self, program, *arguments):
        subprocess.run([self.programs / program, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=self.folder, **self.user)

    def close(self):
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "-w", "stop")
        shutil.rmtree(self.folder)


class Proxy:
    def __init__(self, folder, environment):
        self.folder, self.environment, self.port = folder, environment, free_port()

    def start(self):
        command = [sys.executable, "-m", "pandora.offline", "serve", "--config", "cascades.toml", "--workers", "2"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--port", str(self.port)], cwd=self.folder, env=self.environment, stdout=log, stderr=log)
        for _ in range(1200):
            assert self.process.poll() is None, (self.folder / "log").read_text()
            try:
                if self.call("/cascade/metrics", raw=True):
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the proxy does not answer: " + (self.folder / "log").read_text()[-5000:])

    def stop(self):
        """Within the time that supervisors give."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)

    def call(self, path, body=None, raw=False):
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers), timeout=60) as found:
            text = found.read().decode()
            return text if raw else json.loads(text)

    def state(self):
        return self.call("/cascade/state")["support"]


def ask(proxy, k):
    body = {"model": "support", "user": f"user {k}", "messages": [{"role": "user", "content": f"question {k}"}]}
    return proxy.call("/v1/chat/completions", body)


def until(found, what):
    for _ in range(200):
        if found():
            return
        time.sleep(0.1)
    raise AssertionError(what)


def pandora(*words, folder, environment):
    print("pandora", *words, flush=True)
    subprocess.run([sys.executable, "-m", "pandora.offline", *words], check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)


def play(folder, postgres, models):
    environment = {
        **os.environ, "OPENAI_API_KEY": "sk-of-a-provider", "OPENAI_BASE_URL": models.url, "OPENAI_API_BASE": models.url,
        "LITELLM_MASTER_KEY": KEY, "CASCADE_DATABASE": postgres.url}  # fmt: skip
    for name in ("config.yaml", "cascades.toml"):
        shutil.copy(HERE / name, folder)
    draw = random.Random(1)
    with (folder / "table.jsonl").open("w") as table:
        for k in range(400):
            worth = {"small": min(1.0, max(0.0, draw.gauss(0.6, 0.3))), "large": min(1.0, max(0.0, draw.gauss(0.9, 0.1)))}
            answers = {name: {"quality": q, "score": q, "cost": 0.0003 if name == "small" else 0.002} for name, q in worth.items()}
            print(json.dumps({"prompt_id": f"p{k}", "models": answers}), file=table)
    how = ("--evaluator", "score", "--kind", "thresholds", "--explore", "0.5", "--out", "cascade.json", "--force")
    pandora("cascade", "fit", "table.jsonl", "--price", "20", *how, folder=folder, environment=environment)
    proxy = Proxy(folder, environment)
    proxy.start()
    try:
        with ThreadPoolExecutor(16) as threads:
            answers = list(threads.map(lambda k: ask(proxy, k), range(REQUESTS)))
            told = [{"id": answer["id"], "quality": draw.random()} for answer in answers if answer["cascade"]["deployed"]]
            list(threads.map(lambda body: proxy.call("/cascade/feedback", body), told))  # by whichever worker
        until(lambda: proxy.state()["feedbacks"] == len(told), "feedback is missing")
        first = proxy.state()["edition"]
        pandora("cascade", "fit", postgres.url, "--price", "50", "--models", "small,large", *how, folder=folder, environment=environment)
        published = proxy.call("/cascade/publish", {"name": "support"})
        until(lambda: {proxy.state()["edition"] for _ in range(8)} == {first + 1}, "a worker has the cascade of before")
        assert ask(proxy, REQUESTS)["cascade"]["deployed"]
        proxy.call("/cascade/rollback", {"name": "support"})
        until(lambda: {proxy.state()["edition"] for _ in range(8)} == {first}, "a worker has the cascade that was taken back")
        late = ask(proxy, REQUESTS + 1)
        proxy.stop()
        proxy.start()
        proxy.call("/cascade/feedback", {"id": late["id"], "quality": 1})  # of an answer of before the restart
        assert proxy.call(f"/cascade/explain/{answers[0]['id']}")["deployed"] == answers[0]["cascade"]["deployed"]
    except BaseException:
        print((folder / "log").read_text()[-5000:], file=sys.stderr)
        raise
    finally:
        proxy.stop()
    print(f"{REQUESTS} requests by two workers, {len(told)} feedbacks, version {published['version']} published and taken back")


if __name__ == "__main__":
    postgres, models = Postgres(), Models(judge="gpt-5-mini")
    models.worth.update({"gpt-5-nano": 0.7, "gpt-5": 0.95})
    try:
        with tempfile.TemporaryDirectory() as there:
            play(pathlib.Path(there), postgres, models)
    finally:
        postgres.close()
        models.close()
