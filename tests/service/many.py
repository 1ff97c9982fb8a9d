#!/usr/bin/env python3
"""Many requests in one run of a service (examples/service); its memory stays bounded.
usage: many.py SERVICE CASCADE.json REQUESTS [N: of one request in N the feedback never comes; 50]
"""
import json
import random
import subprocess
import sys
import tempfile
import threading

SERVICE, CASCADE, REQUESTS = sys.argv[1], sys.argv[2], int(sys.argv[3])
MISSING = int(sys.argv[4]) if len(sys.argv) > 4 else 50
BATCH = 1000  # requests that are open at a time


def peak_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


with tempfile.TemporaryDirectory() as folder:
    service = subprocess.Popen([SERVICE, folder, CASCADE], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)

    def ask(calls):
        writer = threading.Thread(target=lambda: (service.stdin.write("".join(calls).encode()), service.stdin.flush()))
        writer.start()
        answers = [json.loads(service.stdout.readline()) for _ in calls]
        writer.join()
        return answers

    world, halfway = random.Random(3), 0
    for first in range(0, REQUESTS, BATCH):
        open_ones = ask(['{"op":"begin","psi":[1,%.4f,%.4f]}\n' % (world.uniform(-1, 1), world.uniform(-1, 1))
                         for _ in range(min(BATCH, REQUESTS - first))])
        requests = [answer["request"] for answer in open_ones]
        while any(answer["next"] for answer in open_ones):
            open_ones = ask(['{"op":"observe","request":%d,"model":"%s","dollars":0.02,"score":%.3f}\n'
                             % (answer["request"], answer["next"], world.random())
                             for answer in open_ones if answer["next"]])
        ask(['{"op":"deploy","request":%d}\n' % request for request in requests])
        ask(['{"op":"feedback","request":%d,"quality":%.3f}\n' % (request, world.random())
             for k, request in enumerate(requests) if k % MISSING])  # the rest never comes
        if not halfway and first >= REQUESTS // 2:
            halfway = peak_kib(service.pid)
    (counts,) = ask(['{"op":"counts"}\n'])
    peak = peak_kib(service.pid)
    service.stdin.close()
    assert service.wait() == 0
assert counts["requests"] == REQUESTS and counts["deployed"] == REQUESTS, counts
waiting = min(65536, counts["requests"] - counts["feedbacks"]) / 2  # more than at half; each has 4 KiB, in a snapshot too
assert peak < 1.25 * halfway + 50 * 1024 + 8 * waiting, f"memory grew from {halfway >> 10} to {peak >> 10} MiB"
print(f"{REQUESTS} requests, {counts['calls']} calls: {peak >> 10} MiB at the most, {halfway >> 10} after half of them")
