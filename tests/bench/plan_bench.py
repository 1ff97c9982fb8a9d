#!/usr/bin/env python3
"""Compares the times that `--plan` announces with the times of the runs, for seven studies and a table.

Usage: tests/bench/plan_bench.py [--program build/pandora] [--only NAME,...]. It takes five to ten minutes, and exits
with 1 if a ratio of wall times is out of bounds. These ratios need a quiet machine. The ratios of processor seconds
hardly change when other programs run beside it.
"""

import argparse
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEAST, GREATEST = 0.67, 1.5  # of estimate / run

ONE_CELL = """
environments = ["gaussian"]
regimes = ["B"]
output.order = false
"""


@dataclass
class Case:
    name: str
    study: str  # the name of a file in experiments, or a text in TOML
    options: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)  # options of an earlier run into the same folder
    cores: int = 0  # 0: all


CASES = [
    Case("a cell of the paper", "paper.toml", "--regime B --environment gaussian --t0 0 --replications 2".split()),
    Case(
        "4 threads on 2 cores",
        "paper.toml",
        "--regime A --environment uniform --t0 100 --replications 4 --threads 4 --policy dow,linucb_online".split(),
        cores=2,
    ),
    Case(
        "policies as code",
        ONE_CELL + 'replications = 4\nperiods = 4000\nT0 = [0, 50]\npolicies = ["informed_weitzman", "restarting_dow"]\n',
    ),
    Case("a table of prompts", str(ROOT / "experiments/traces/exported.toml"), ["--replications", "200"]),
    Case("tracking", "paper.toml", "--regime A --environment uniform --t0 0 --replications 2 --policy dow".split()
         + ["--refit", "tracking"]),
    Case(
        "keys that vary",
        ONE_CELL
        + 'replications = 4\nT0 = [0]\npolicies = ["dow", "online_plugin"]\n'
        + "[vary]\nperiods = [1000, 10000]\ndimensions.boxes = [2, 5, 8]\n",
    ),
    Case(
        "1,000 small replications",
        ONE_CELL
        + 'replications = 1000\nperiods = 200\nT0 = [0]\npolicies = ["dow", "linucb_online"]\n'
        + "[dimensions]\ncontext = 8\nreward_features = 3\noutput = 8\n[oracle]\nsamples = 2000\ngrid = [9, 5, 9]\n"
        + "[environment.gaussian]\ntruncation_radius = 5\n",
    ),
    Case(
        "half a run, resumed",
        ONE_CELL + 'replications = 60\nperiods = 5000\nT0 = [0]\npolicies = ["dow"]\n',
        options=["--resume"],
        before=["--shard", "0/2"],
    ),
]


def run(words: list[str], cores: int) -> str:
    bound = (lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])) if cores else None
    done = subprocess.run(words, preexec_fn=bound, capture_output=True, text=True, cwd=ROOT / "experiments" / "traces")
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stderr}")
    return done.stdout


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(case: Case, program: str, folder: pathlib.Path) -> tuple[float, float, float, float, str]:
    """The planned wall and processor seconds, the real ones, and the line `measured` of the plan."""
    study = ROOT / "experiments" / case.study
    if "\n" in case.study:
        study = folder / "study.toml"
        study.write_text(case.study)
    words = [program, "run", str(study), "--backend", "cpu", "--out", str(folder / "out"), *case.options]
    if case.before:
        bare = [word for word in words if word != "--resume"]
        run([*bare, "--quiet", *case.before], case.cores)
    plan = run([*words, "--plan"], case.cores)
    times = re.search(r"^estimated time +([\d.]+) s .*; ([\d.]+) s of processor time$", plan, re.MULTILINE)
    how = re.search(r"^measured +(.*)$", plan, re.MULTILINE)
    if times is None or how is None:
        sys.exit(f"no times in the plan:\n{plan}")
    start, used = time.monotonic(), processor_seconds()
    run([*words, "--quiet"], case.cores)
    took = time.monotonic() - start
    return float(times[1]), float(times[2]), took, processor_seconds() - used, how[1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=str(ROOT / "build" / "pandora"))
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    program = str(pathlib.Path(given.program).resolve())
    only = [name for name in given.only.split(",") if name]
    outside = 0
    print(f"{'study':26}{'planned':>9}{'run':>9}{'ratio':>7}   {'planned':>9}{'run':>9}{'ratio':>7}  measured")
    print(f"{'':26}{'wall seconds':^25}   {'processor seconds':^25}")
    for case in CASES:
        if only and not any(name in case.name for name in only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            wall, cpu, took, used, how = measure(case, program, pathlib.Path(folder))
        ratio = wall / took
        outside += not LEAST <= ratio <= GREATEST
        print(
            f"{case.name:26}{wall:9.1f}{took:9.1f}{ratio:7.2f}   {cpu:9.1f}{used:9.1f}{cpu / used:7.2f}  {how}",
            flush=True,
        )
    print(f"{outside} outside {LEAST} to {GREATEST}")
    sys.exit(1 if outside else 0)


if __name__ == "__main__":
    main()
