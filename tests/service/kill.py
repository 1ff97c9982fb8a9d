#!/usr/bin/env python3
"""Kills a service (examples/service) at random moments, starts it again, and compares what it has learned in the end
with one that nobody killed.
usage: kill.py SERVICE CASCADE.json KILLS
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile

SERVICE, CASCADE, KILLS = sys.argv[1], sys.argv[2], int(sys.argv[3])
REQUESTS = 40 * KILLS


class Client:
    """Sends calls one by one. After a kill it finds out by the counts whether the last one was still made."""

    def __init__(self, folder):
        self.folder = folder
        self.start()

    def start(self):
        self.process = subprocess.Popen([SERVICE, self.folder, CASCADE], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def send(self, call):
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()

    def ask(self, call):
        self.send(call)
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, (call, answer)
        return answer

    def kill(self, call, counted):
        """Dies while the call is under way; returns its answer, made again if it was lost."""
        before = self.ask({"op": "counts"})[counted]
        self.send(call)
        os.kill(self.process.pid, signal.SIGKILL)
        answer = self.process.stdout.readline()  # of a call that was answered it must not be lost
        self.process.wait()
        self.start()
        after = self.ask({"op": "counts"})[counted]
        assert after in (before, before + 1) and (not answer.endswith("\n") or after == before + 1), (call, answer)
        if after == before:
            return self.ask(call)
        if answer.endswith("\n"):
            return json.loads(answer)
        request = call.get("request") or self.ask({"op": "counts"})["requests"]
        return self.ask({"op": "next", "request": request}) if counted in ("requests", "calls") else {}

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0
        (left,) = pathlib.Path(self.folder).glob("cascade-*.json")
        return left.read_text()


def play(folder, kills):
    """The same calls in the same order; before those whose number is among `kills`, the service dies."""
    world, client, number = random.Random(5), Client(folder), 0

    def call(counted, **what):
        nonlocal number
        number += 1
        return client.kill(what, counted) if number in kills else client.ask(what)

    for _ in range(REQUESTS):
        psi = [1.0, world.uniform(-1, 1), world.uniform(-1, 1)]
        quality = {m: min(1.0, max(0.0, 0.5 + 0.3 * psi[1] * sign + world.gauss(0, 0.1)))
                   for m, sign in (("small", 1), ("middle", 0), ("large", -1))}
        answer = call("requests", op="begin", psi=psi)
        request = answer["request"]
        while answer["next"]:
            model = answer["next"]
            answer = call("calls", op="observe", request=request, model=model, dollars=0.02, score=quality[model])
        call("deployed", op="deploy", request=request)
        if world.random() < 0.8:
            call("feedbacks", op="feedback", request=request, quality=world.random())
    return client.close(), number


with tempfile.TemporaryDirectory() as base:
    undisturbed, calls = play(base + "/undisturbed", set())
    moments = set(random.Random(7).sample(range(1, calls + 1), KILLS))
    killed, _ = play(base + "/killed", moments)
    assert killed == undisturbed, "the killed service has learned something else"
print(f"{KILLS} kills in {calls} calls: the same bytes as without")
