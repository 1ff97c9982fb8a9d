#!/usr/bin/env python3
"""Kills services (examples/service) at random moments and starts them again. What one has learned in the end is what
one learns that nobody killed. And of two workers from one file, which lose the last calls as with a power failure and
get feedback late, in any order and for each other's requests, none learns it for another request.
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

    def answer(self, call):
        self.send(call)
        return json.loads(self.process.stdout.readline())

    def ask(self, call):
        answer = self.answer(call)
        assert "error" not in answer, (call, answer)
        return answer

    def die(self):
        os.kill(self.process.pid, signal.SIGKILL)

    def kill(self, call, counted):
        """Dies while the call is under way; returns its answer, made again if it was lost."""
        before = self.ask({"op": "counts"})
        self.send(call)
        self.die()
        answer = self.process.stdout.readline()  # of a call that was answered it must not be lost
        self.process.wait()
        self.start()
        after = self.ask({"op": "counts"})[counted]
        made = after - before[counted]
        assert made in (0, 1) and (not answer.endswith("\n") or made), (call, answer)
        if not made:
            return self.ask(call)
        if answer.endswith("\n"):
            return json.loads(answer)
        request = call.get("request") or before["epoch"] * 2**20 + after
        return self.ask({"op": "next", "request": request}) if counted in ("requests", "calls", "failures") else {}

    def kill_uncounted(self, call):
        """Dies while a call is under way that changes nothing when it is made again, or is refused then."""
        self.send(call)
        self.die()
        self.process.wait()
        self.start()
        self.answer(call)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0
        (left,) = pathlib.Path(self.folder).glob("cascade-*.json")
        return left.read_text()


def play(folder, kills):
    """The same calls in the same order; before those whose number is among `kills`, the service dies."""
    world, client, number, late = random.Random(5), Client(folder), 0, []

    def call(counted, **what):
        nonlocal number
        number += 1
        if counted is None:
            return client.kill_uncounted(what) if number in kills else client.ask(what)
        return client.kill(what, counted) if number in kills else client.ask(what)

    for k in range(REQUESTS):
        if k % 40 == 39:  # snapshots beside calls, prices and models that change
            call(None, op="save")
            call(None, op="set_price", price=2.0 + k % 3)
            call(None, op="add_model" if k % 80 == 39 else "remove_model", model="late")
        psi = [1.0, world.uniform(-1, 1), world.uniform(-1, 1)]
        quality = {m: min(1.0, max(0.0, 0.5 + 0.3 * psi[1] * sign + world.gauss(0, 0.1)))
                   for m, sign in (("small", 1), ("middle", 0), ("large", -1), ("late", 0.5))}
        answer = call("requests", op="begin", psi=psi)
        request = answer["request"]
        called = 0
        while answer["next"]:
            model = answer["next"]
            if world.random() < 0.1:
                answer = call("failures", op="fail", request=request, model=model, reason="busy", dollars=0.001)
            else:
                called += 1
                answer = call("calls", op="observe", request=request, model=model, dollars=0.02, score=quality[model])
        if not called or world.random() < 0.05:
            call("cancelled", op="cancel", request=request)
            continue
        call("deployed", op="deploy", request=request)
        if world.random() < 0.8:
            call("feedbacks", op="feedback", request=request, quality=world.random())
        else:
            late.append(request)
    for request in late:  # so that none is left whose number, which differs, would stand in the file
        call("feedbacks", op="feedback", request=request, quality=world.random())
    return client.close(), number


class Worker(Client):
    """Every request calls models for dollars of its own, by which it is known again."""

    def serve(self, world, mark):
        answer = self.ask({"op": "begin", "psi": [1.0, world.uniform(-1, 1), world.uniform(-1, 1)]})
        request = answer["request"]
        while answer["next"]:
            answer = self.ask({"op": "observe", "request": request, "model": answer["next"], "dollars": mark,
                               "score": world.random()})
        self.ask({"op": "deploy", "request": request})
        return request

    def fail(self, world):
        """A power failure: some of the last lines were not on the disk yet."""
        self.die()
        self.process.wait()
        (calls,) = pathlib.Path(self.folder).glob("calls-*.jsonl")
        lines = calls.read_bytes().splitlines(keepends=True)
        kept = max(1, len(lines) - world.randrange(30))
        calls.write_bytes(b"".join(lines[:kept]))
        self.start()
        return len(lines) - kept

    def tell(self, request, mark, quality):
        """Feedback; whether it was learned, and then for the request that it is of."""
        known = self.answer({"op": "explain", "request": request})
        before = self.ask({"op": "counts"})["feedbacks"]
        refused = "error" in self.answer({"op": "feedback", "request": request, "quality": quality})
        learned = self.ask({"op": "counts"})["feedbacks"] - before
        assert learned == (not refused), (request, known)
        if learned:
            assert all(abs(call["dollars"] - mark) < 1e-12 for call in known["calls"]), (request, mark, known)
        return learned


def play_two(base):
    world, workers, late = random.Random(11), [Worker(f"{base}/worker{k}") for k in range(2)], []
    numbers, learned, refused, lost = set(), 0, 0, 0
    for k in range(10 * KILLS):
        owner, mark = world.randrange(2), 0.01 + 1e-6 * k
        late.append((owner, workers[owner].serve(world, mark), mark))
        assert late[-1][1] not in numbers and late[-1][1] < 2**53, late[-1]
        numbers.add(late[-1][1])
        if k % 10 == 9:
            lost += workers[world.randrange(2)].fail(world)
        while len(late) > 20:
            owner, request, mark = late.pop(world.randrange(len(late)))
            to = workers[owner if world.random() < 0.8 else 1 - owner]
            told = to.tell(request, mark, world.random())
            assert not (told and to is not workers[owner]), "learned of another worker's request"
            learned, refused = learned + told, refused + (not told)
    for worker in workers:
        worker.close()
    assert learned > 2 * KILLS and refused > KILLS, (learned, refused)
    return f"{learned} late feedbacks were learned, {refused} of lost or others' requests refused, {lost} calls lost"


with tempfile.TemporaryDirectory() as base:
    undisturbed, calls = play(base + "/undisturbed", set())
    moments = set(random.Random(7).sample(range(1, calls + 1), KILLS))
    killed, _ = play(base + "/killed", moments)
    assert killed == undisturbed, "the killed service has learned something else"
    print(f"{KILLS} kills in {calls} calls: the same bytes as without")
    print(f"{KILLS} kills of two workers: {play_two(base)}")
