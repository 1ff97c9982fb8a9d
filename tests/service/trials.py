#!/usr/bin/env python3
"""Calls that a service (examples/service) must outlive: columns, models that come and go, a full disk, files that are
not its own.
usage: trials.py SERVICE PANDORA CASCADE.json
"""
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

SERVICE, PANDORA, CASCADE = sys.argv[1:]
PSI = {"op": "begin", "psi": [1.0, 0.5, -0.5]}


class Service:
    def __init__(self, folder, cascade):
        # SIGXFSZ, of a file that may not grow, is ignored in Python, and stays so in the child.
        self.process = subprocess.Popen([SERVICE, folder, cascade], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, restore_signals=False)

    def ask(self, **call):
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, (call, "it has ended: " + self.process.stderr.read())
        return json.loads(line)

    def refused(self, part, **call):
        answer = self.ask(**call)
        assert part in answer.get("error", ""), (call, answer)

    def files_of_at_most(self, size):
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0, self.process.stderr.read()

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


def columns(base):
    table, study, features = base / "table.jsonl", base / "study.toml", base / "features.json"
    with open(table, "w") as out:
        for k in range(40):
            for model, cost in (("small", 0.001), ("large", 0.02)):
                out.write(json.dumps({"prompt_id": str(k), "prompt": f"q{k}", "model": model, "quality": k % 5 / 4,
                                      "cost": cost, "size": k % 7, "kind": "code" if k % 2 else "prose"}) + "\n")
    study.write_text("periods = 20\nT0 = [0]\nenvironments = ['t']\n[environment.t]\ntable = 'table.jsonl'\n"
                     "price = 1.0\ncontext = ['size', 'kind', 'raw:size']\n")
    run, cascade = dict(check=True, stdout=subprocess.DEVNULL), base / "columns.json"
    subprocess.run([PANDORA, "trace", "features", study, "--out", features], **run)
    subprocess.run([PANDORA, "cascade", "new", "--models", "small,large", "--price", "2", "--evaluator", "score",
                    "--features", features, "--out", cascade], **run)
    service = Service(base / "columns", cascade)
    service.refused("the column size", op="begin", text="a prompt")
    service.refused("must be an object", op="begin", columns=[1])
    service.refused("raw:size, is 1e+06; give numbers between", op="begin", columns={"size": 1e6, "kind": "code"})
    assert service.ask(op="begin", columns={"size": 3, "kind": None})["next"]
    assert service.ask(op="counts")["requests"] == 1
    service.close()


def models(base):
    service = Service(base / "models", CASCADE)
    open_one = service.ask(**PSI)["request"]
    for k in range(9):
        assert service.ask(op="add_model", model=f"added{k}") == {"model": f"added{k}"}
    for model in ["small", "middle", "large"] + [f"added{k}" for k in range(8)]:
        service.ask(op="remove_model", model=model)
    assert service.ask(op="next", request=open_one)["next"] == "added8"
    assert "error" not in service.ask(op="save")
    service.kill()
    service = Service(base / "models", CASCADE)
    answer = service.ask(op="observe", request=open_one, model="added8", dollars=0.01, score=0.5)
    assert answer["next"] is None, answer
    assert service.ask(op="deploy", request=open_one)["deployed"] == "added8"
    service.close()


def full_disk(base):
    folder = base / "full"
    service = Service(folder, CASCADE)
    requests = [service.ask(**PSI)["request"] for _ in range(20)]
    counts, (calls,) = service.ask(op="counts"), folder.glob("calls-*.jsonl")
    before = sorted((file.name, file.stat().st_size) for file in folder.iterdir())
    service.files_of_at_most(calls.stat().st_size + 10)
    service.refused("make room in the store's folder", **PSI)
    assert before == sorted((file.name, file.stat().st_size) for file in folder.iterdir())
    service.refused("make room in the store's folder", op="save")  # calls go on in another file
    assert service.ask(op="counts") == counts
    assert before[0] in [(file.name, file.stat().st_size) for file in folder.iterdir()]
    service.files_of_at_most(resource.RLIM_INFINITY)
    service.refused("is not deployed yet", op="feedback", request=requests[0], quality=1.0)  # and is not in the journal
    last = service.ask(**PSI)
    service.kill()
    service = Service(folder, CASCADE)
    assert service.ask(op="counts")["requests"] == 21
    assert service.ask(op="next", request=last["request"])["next"] == last["next"]
    service.close()


def journal(base):
    folder = base / "journal"

    def append(*calls):
        (file,) = folder.glob("calls-*.jsonl")
        with open(file, "a") as out:
            out.writelines(json.dumps(call) + "\n" for call in calls)

    service = Service(folder, CASCADE)
    deploy = {"op": "deploy", "request": service.ask(**PSI)["request"]}
    service.refused("has called no model yet", **deploy)
    service.kill()
    assert "deploy" not in "".join(file.read_text() for file in folder.glob("calls-*.jsonl"))
    append(deploy)  # a kill between writing the call and finding that it is refused
    service = Service(folder, CASCADE)
    assert service.ask(op="counts")["deployed"] == 0
    service.kill()
    append(deploy, PSI)
    service = Service(folder, CASCADE)
    assert service.process.wait() == 3 and "line 2 cannot be made again" in service.process.stderr.read()


def files(base):
    folder = base / "files"
    folder.mkdir()
    given = folder / "CASCADE.json"
    shutil.copy(CASCADE, given)
    for name in ("notes.txt", "cascade-x.json", "calls-.jsonl"):
        (folder / name).write_text("mine")
    (folder / "cascade-1.json.tmp.1.0123456789abcdef").write_text("what a kill left")
    for _ in range(3):
        service = Service(folder, given)
        service.ask(**PSI)
        service.ask(op="save")
        service.close()
    left = sorted(file.name for file in folder.iterdir())
    own = [name for name in left if name[:7] == "cascade" and name[8].isdigit() or name[:6] == "calls-" and name[6] != "."]
    assert len(own) == 2, left
    assert sorted(set(left) - set(own)) == ["CASCADE.json", "calls-.jsonl", "cascade-x.json", "lock", "notes.txt"], left


with tempfile.TemporaryDirectory() as there:
    for trial in (columns, models, full_disk, journal, files):
        trial(pathlib.Path(there))
print("columns, models, a full disk, refused calls and files of others: outlived")
