#!/usr/bin/env python3
"""Asks a cascade-service which models to call. usage: client.py SERVICE FOLDER CASCADE.json"""
import json
import subprocess
import sys

service = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(**call):
    service.stdin.write(json.dumps(call) + "\n")
    service.stdin.flush()
    answer = json.loads(service.stdout.readline())
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer


def call_model(model, prompt):  # in place of an API: its answer, what it cost, and what a judge says of it
    return f"{model} on {prompt}", {"small": 0.001, "middle": 0.004, "large": 0.02}[model], len(prompt) % 10 / 10


for prompt in ("What is 2 + 2?", "Prove Fermat's last theorem.", "Name a prime."):
    step, answers = ask(op="begin", psi=[1.0, len(prompt) / 30, 0.0]), {}
    request = step["request"]
    while step["next"]:
        model = step["next"]
        answers[model], dollars, score = call_model(model, prompt)
        step = ask(op="observe", request=request, model=model, dollars=dollars, score=score)
    print(answers[ask(op="deploy", request=request)["deployed"]], "after", len(answers))
    ask(op="feedback", request=request, quality=1.0)  # now, later, or never
service.stdin.close()
sys.exit(service.wait())
