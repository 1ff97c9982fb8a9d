"""The commands that run on each world.

A line is `check`, `fit`, `test`, `frontier` or `show` with options. `A: fit ...` gives the cascade's file a name, by
which `test A ...` and `show A` read it. `test A @FILE` tests on this file in place of the world's second draw. Lines
with `--format text` keep the output for people.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from worlds import WORLDS, World

CASES = {
    "two": """
        check
        check --price 1,20,200 --evaluator score
        check --price 20 --format text
        A: fit --price 20 --evaluator quality
        B: fit --price 5 --evaluator score --kind thresholds
        C: fit --price 20 --evaluator score --kind indices
        fit --max-usd 0.015 --evaluator score --kind thresholds
        fit --min-quality 0.4 --evaluator score
        fit --price 20 --evaluator score --judge-usd 0.0005
        fit --price 20 --evaluator score --format text
        test A
        test B --against dear
        test B --judge-usd 0.001 --format text
        test C
        test A --evaluator score
        test B @two.csv
        frontier --evaluator score
        frontier --evaluator quality --price 2,20 --format text
        show A
        show C
    """,
    "three": """
        check --evaluator score
        A: fit --price 20 --evaluator score
        B: fit --price 60 --evaluator quality --kind thresholds
        C: fit --max-usd 0.006 --evaluator score
        D: fit --min-quality 0.55 --evaluator score --kind thresholds
        E: fit --price 20 --evaluator score --kind indices --forget 500 --c 0.2
        fit --price 20 --evaluator score --models small,large
        fit --price 20 --evaluator score --explore 0.1
        fit --max-usd 0.0005 --evaluator score
        fit --min-quality 0.99 --evaluator quality --kind indices
        test A
        test B --evaluator score
        test C --judge-usd 0.0002
        test D --estimator plugin
        test E --against medium
        frontier --evaluator score --price 5,20,80 --kind auto
    """,
    "three-graded": """
        check --price 10,100
        A: fit --price 20 --evaluator quality
        B: fit --price 20 --evaluator score --judge-usd 0.002
        C: fit --max-usd 0.004 --evaluator quality --kind indices
        fit --min-quality 0.6 --evaluator quality
        test A
        test B
        test C
        frontier --evaluator score --kind indices --price 10,40
    """,
    "four": """
        check --evaluator score --price 50
        A: fit --price 30 --evaluator score --kind thresholds
        B: fit --price 100 --evaluator score
        fit --max-usd 0.003 --evaluator score --kind thresholds
        fit --min-quality 0.5 --evaluator score --kind thresholds --judge-usd 0.0001
        test A
        test B --judge-usd 0
        frontier --evaluator score --judge-usd 0.0001
    """,
    "five": """
        check --price 40
        A: fit --price 40 --evaluator score --kind thresholds
        fit --price 40 --evaluator quality --kind indices
        test A
        frontier --evaluator quality --price 10,40
    """,
    "six": """
        check --price 40
        A: fit --price 40 --evaluator score --kind thresholds
        fit --price 40 --evaluator score --models m0,m2,m4,m5
        test A
    """,
    "eight": """
        check --price 50
        A: fit --price 50 --evaluator quality --kind thresholds
        B: fit --price 50 --evaluator score --kind indices
        test A
        test B
    """,
    "eleven": """
        check --price 50
        A: fit --price 50 --evaluator score --kind thresholds
        test A
    """,
    "one": """
        check --price 5
        A: fit --price 5 --evaluator score
        test A
        fit --max-usd 0.002 --evaluator quality
    """,
    "tiny": """
        check --evaluator score
        A: fit --price 20 --evaluator score --context x
        B: fit --price 20 --evaluator none --kind router --context x
        test A
        test B --against small
        frontier --evaluator score --price 5,20,80 --rows
        frontier --evaluator quality --kind indices --price 20 --rows
        frontier --evaluator score --kind router --context x --price 20 --rows
        frontier --evaluator none --kind router --context x --price 20
        frontier --evaluator score --kind routed --context x --price 20 --rows
    """,
    "rarely-fails": """
        check
        A: fit --price 5 --evaluator score --context x
        fit --min-quality 0.9 --evaluator score
        fit --max-usd 0.002 --evaluator quality
        test A
        frontier --evaluator quality
    """,
    "long-table": """
        check --evaluator score
        A: fit --price 30 --evaluator score --kind thresholds
        B: fit --price 30 --evaluator none --kind router --context x,difficulty
        C: fit --price 30 --evaluator score --kind routed --context difficulty
        D: fit --price 30 --evaluator score --kind indices --context difficulty
        fit --max-usd 0.002 --evaluator score --kind thresholds
        test A
        test B
        test C
        test D
    """,
    "very-long": """
        check --evaluator score --price 20
        A: fit --price 20 --evaluator score --kind thresholds
        test A
    """,
    "very-long-context": """
        A: fit --price 50 --evaluator none --kind router --context x,z
        test A
    """,
    "bad-judge": """
        check --evaluator score
        A: fit --price 20 --evaluator score
        fit --price 20 --evaluator quality --kind thresholds
        test A
        frontier --evaluator score
    """,
    "blind-judge": """
        check --evaluator score
        A: fit --price 20 --evaluator score
        fit --price 20 --evaluator score --kind indices
        test A
    """,
    "binary-judge": """
        check --evaluator score
        A: fit --price 20 --evaluator score
        fit --min-quality 0.55 --evaluator score --kind thresholds
        test A
        frontier --evaluator score --price 5,20
    """,
    "tied-judge": """
        check --evaluator score --price 30
        A: fit --price 30 --evaluator score --kind thresholds
        fit --price 30 --evaluator score --kind indices
        test A
    """,
    "contrary-judge": """
        check --evaluator score
        A: fit --price 20 --evaluator score
        test A
    """,
    "constant-judge": """
        check --evaluator score
        A: fit --price 20 --evaluator score
        test A
        frontier --evaluator score --price 20
    """,
    "judges": """
        check --evaluator score:good
        check --evaluator score:blind --price 20
        A: fit --price 30 --evaluator score:good
        B: fit --price 30 --evaluator score --context x
        fit --price 30 --evaluator score:blind --kind thresholds
        fit --price 30 --evaluator score:none
        test A
        test A --evaluator score
        test B --evaluator score:good --judge-usd 0.0001
        frontier --evaluator score:good --price 30
    """,
    "no-judge": """
        check
        A: fit --price 20 --evaluator none --kind router --context x,kind
        fit --price 20 --evaluator quality --context kind
        test A
        fit --price 20 --evaluator score
    """,
    "stars": """
        check --evaluator score --scale score=1:5 --scale quality=0:100
        A: fit --price 20 --evaluator score --scale score=1:5 --scale quality=0:100
        test A --scale score=1:5 --scale quality=0:100
        fit --price 20 --evaluator score
        fit --price 20 --evaluator score --scale quality=0:100 --scale score=2:5
    """,
    "router-pays": """
        check
        A: fit --price 10 --evaluator none --kind router --context x
        B: fit --price 10 --evaluator score --context x,z
        C: fit --max-usd 0.004 --evaluator none --kind router --context x
        D: fit --min-quality 0.6 --evaluator score --kind routed --context x
        E: fit --price 10 --evaluator score --kind indices --context x
        F: fit --price 10 --evaluator none --kind router --context raw:x
        test A
        test A --against left
        test B
        test C
        test D
        test E
        test F
        frontier --evaluator score --kind router --context x
        show A
    """,
    "classes": """
        check
        A: fit --price 10 --evaluator none --kind router --context kind
        B: fit --price 10 --evaluator score --context kind,z
        fit --price 10 --evaluator score --kind routed --context kind
        fit --price 10 --evaluator score --kind indices --context kind
        test A
        test B
        frontier --evaluator score --kind auto --context kind --price 5,50
    """,
    "texts": """
        A: fit --price 10 --evaluator none --kind router --context text:16
        B: fit --price 10 --evaluator score --kind routed --context text:4
        fit --price 10 --evaluator score --kind indices --context text:4
        fit --price 10 --evaluator none --kind router --context length
        test A
        test B
        frontier --evaluator score --kind router --context text:4,length --price 10
    """,
    "embedding": """
        A: fit --price 10 --evaluator none --kind router --context embedding
        fit --price 10 --evaluator none --kind router --context raw:embedding
        fit --price 10 --evaluator score --kind routed --context embedding
        test A
    """,
    "easy-or-hard": """
        check --evaluator score --price 20
        A: fit --price 20 --evaluator score --context difficulty
        B: fit --price 20 --evaluator score --kind routed --context difficulty,x --format json
        fit --max-usd 0.008 --evaluator score --kind routed --context difficulty
        fit --price 20 --evaluator score --kind routed --context difficulty --judge-usd 0.001
        test A
        test B
        frontier --evaluator score --kind routed --context difficulty --price 5,20
        show B
    """,
    "independent": """
        check --price 20
        A: fit --price 20 --evaluator quality --kind indices
        B: fit --price 20 --evaluator score
        C: fit --price 20 --evaluator quality --kind indices --context x
        fit --min-quality 0.6 --evaluator quality --kind indices
        test A
        test B
        test C
    """,
    "independent-sides": """
        A: fit --price 20 --evaluator quality --kind indices --context x
        B: fit --price 20 --evaluator score --context x
        fit --max-usd 0.003 --evaluator score --kind indices --context x
        test A
        test B
        frontier --evaluator quality --kind indices --context x --price 10,40
    """,
    "complements": """
        check --evaluator score
        A: fit --price 20 --evaluator score
        fit --max-usd 0.0015 --evaluator score --kind thresholds
        test A --against right
        frontier --evaluator score
    """,
    "null": """
        check --evaluator score
        A: fit --price 5 --evaluator score --context z
        fit --price 5 --evaluator score --kind thresholds
        fit --price 5 --evaluator score --kind routed --context z
        fit --price 5 --evaluator none --kind router --context z
        test A
    """,
    "null-judged": """
        check --evaluator score
        A: fit --price 5 --evaluator score --context z
        fit --price 1 --evaluator score
        test A
    """,
    "dominated": """
        check --evaluator score
        A: fit --price 15 --evaluator score
        fit --min-quality 0.6 --evaluator score
        test A --against worse
        frontier --evaluator score --price 5,15
    """,
    "router-blind": """
        check --evaluator score
        A: fit --price 10 --evaluator score --context x
        fit --max-usd 0.01 --evaluator score --context x
        fit --min-quality 0.6 --evaluator score --context x
        test A
    """,
    "routed-pays": """
        check --evaluator score
        A: fit --price 10 --evaluator score --context kind
        fit --max-usd 0.02 --evaluator score --context kind
        fit --min-quality 0.8 --evaluator score --context kind
        test A
        test A --judge-usd 0.001 --evaluator quality
    """,
    "gaps": """
        A: fit --price 10 --evaluator none --kind router --context x
        B: fit --price 10 --evaluator score --context x,kind
        fit --price 10 --evaluator none --kind router --context raw:x
        test A
        test B
    """,
    "leak": """
        A: fit --price 10 --evaluator none --kind router --context winner
        fit --price 10 --evaluator score --context winner,z
        test A
    """,
    "twins": """
        check --evaluator score
        A: fit --price 20 --evaluator score
        fit --price 20 --evaluator quality --kind thresholds
        fit --price 20 --evaluator score --kind indices
        test A --against twin
    """,
    "all-right": """
        check
        A: fit --price 5 --evaluator score
        fit --min-quality 1 --evaluator quality
        test A
    """,
    "all-wrong": """
        check
        A: fit --price 5 --evaluator score
        test A
        frontier --evaluator quality --price 5
    """,
    "heavy": """
        check
        A: fit --price 5 --evaluator score
        B: fit --max-usd 0.02 --evaluator score
        fit --min-quality 0.55 --evaluator score --kind thresholds
        test A
        test B
        frontier --evaluator score
    """,
    "heavier": """
        A: fit --price 2 --evaluator score
        B: fit --max-usd 0.05 --evaluator score
        test A
        test B
    """,
    "free-model": """
        check --evaluator score
        A: fit --price 20 --evaluator score --context x
        fit --min-quality 0.5 --evaluator score
        test A
        test A --free-calls allowed
        frontier --evaluator score
    """,
    "all-free": """
        check
        A: fit --price 5 --evaluator score
        fit --price 5 --evaluator score --judge-usd 0.01
        test A
        frontier --evaluator score
    """,
    "cached": """
        check
        check --free-calls allowed
        check --missing drop
        A: fit --price 20 --evaluator score --free-calls allowed
        test A --free-calls allowed
        test A --missing drop
    """,
    "tokens": """
        check --prices prices.toml
        A: fit --price 20 --evaluator score --prices prices.toml
        test A --prices prices.toml
        test A
        fit --price 20 --evaluator score
    """,
    "latency": """
        check --price 20
        A: fit --price 30 --evaluator score --max-latency 2.5
        B: fit --price 30 --evaluator score --max-latency 2.5 --kind thresholds
        fit --max-usd 0.003 --evaluator score --max-latency 3
        fit --min-quality 0.4 --evaluator score --max-latency 4
        fit --price 30 --evaluator none --kind router --context x --max-latency 2
        fit --price 30 --evaluator score --max-latency 0.1
        test A
        test B --format text
        test B
    """,
    "latency-gaps": """
        A: fit --price 20 --evaluator score --max-latency 2
        test A
    """,
    "semicolons": """
        check --models small,large --price 10
        A: fit --price 10 --evaluator score --context x,length --max-latency 3
        test A
    """,
    "folder": """
        check --price 10
        A: fit --price 10 --evaluator quality --context x
        test A
    """,
    "holes": """
        check
        check --missing drop
        A: fit --price 20 --evaluator score --missing drop --context x
        fit --price 20 --evaluator score
        test A --missing drop
        test A
    """,
    "repeats": """
        check
        check --repeats allowed
        A: fit --price 20 --evaluator score --repeats allowed
        test A --repeats allowed
    """,
    "numbered": """
        check --repeats allowed --evaluator score
        A: fit --price 20 --evaluator score --repeats allowed
        fit --price 20 --evaluator quality --kind indices --repeats allowed
        test A --repeats allowed
    """,
    "sessions": """
        check
        A: fit --price 10 --evaluator score
        fit --price 10 --evaluator none --kind router --context text:4
        test A
    """,
    "labels-5": """
        check --evaluator score
        A: fit --price 20 --evaluator score
        test A
        fit --price 20 --evaluator quality
    """,
    "labels-20": """
        check --evaluator score
        A: fit --price 10 --evaluator none --kind router --context x
        B: fit --price 10 --evaluator score --context x
        fit --price 10 --evaluator score --kind indices
        fit --max-usd 0.004 --evaluator score --kind thresholds
        test A
        test B
        frontier --evaluator score --price 10
    """,
    "labels-50": """
        check --evaluator score
        A: fit --price 30 --evaluator score
        fit --price 30 --evaluator score --kind routed --context score
        test A
        fit --price 30 --evaluator score --missing drop
    """,
    "labels-propensity": """
        check --evaluator score
        A: fit --price 20 --evaluator score
        B: fit --price 20 --evaluator none --kind router --context x
        test A
        test B
    """,
    "labels-few": """
        check --evaluator score
        fit --price 20 --evaluator score
    """,
    "log-in-order": """
        check
        A: fit --price 20 --evaluator score
        B: fit --price 20 --evaluator quality --kind thresholds
        test A
        test A --estimator ips
        test A --estimator snips --against small
        test B --judge-usd 0.001
        test B --estimator plugin
        fit --max-usd 0.01 --evaluator score
        fit --price 20 --evaluator score --kind indices
    """,
    "log-in-order-short": """
        check
        fit --price 20 --evaluator score
    """,
    "log-in-order-labels": """
        check --evaluator score
        A: fit --price 20 --evaluator score
        test A
        test A --estimator snips
        fit --price 20 --evaluator quality
        fit --price 20 --evaluator quality --missing drop
        frontier --evaluator score
    """,
    "log-sessions": """
        check
        A: fit --price 20 --evaluator score --judge-usd 0.0003
        test A
        test A --estimator ips
    """,
    "log-tosses": """
        check
        A: fit --price 20 --evaluator score --openings independent
        B: fit --price 20 --evaluator quality --openings independent
        test A --openings independent
        test B --openings independent --estimator ips
        test A
    """,
    "log-tosses-labels": """
        check --evaluator score
        A: fit --price 20 --evaluator score --openings independent
        test A --openings independent
        test A --openings independent --estimator snips
    """,
    "log-tosses-table": """
        A: fit --price 20 --evaluator score --openings independent --explore 0.1
        test A
        test A @log-tosses-table.csv --openings independent
    """,
    "log-one-call": """
        check
        A: fit --price 10 --evaluator none --kind router --context x
        fit --price 10 --evaluator score
        test A
        test A --estimator ips
        test A --estimator snips --against big
    """,
    "log-one-call-by-x": """
        check
        A: fit --price 10 --evaluator none --kind router --context x
        test A
        fit --price 10 --evaluator score --kind routed --context x
    """,
    "log-one-call-labels": """
        check --evaluator score
        A: fit --price 10 --evaluator none --kind router --context x
        test A
    """,
    "log-apart": """
        check
        A: fit --price 20 --evaluator score --openings apart
        B: fit --price 20 --evaluator quality --openings apart
        test A --openings apart
        test B --openings apart --against c
        test A
    """,
    "log-apart-labels": """
        A: fit --price 20 --evaluator score --openings apart --judge-usd 0.0002
        test A --openings apart
    """,
    "log-running": """
        check --evaluator score
        A: fit --price 20 --evaluator score
        test A
        test A --against large --estimator snips
        A: fit --price 40 --evaluator score --force
        show A
    """,
    "log-running-poor": """
        check --evaluator score
        A: fit --price 20 --evaluator score
        fit --price 20 --evaluator score --judge-usd 0.001
        test A --against large
    """,
    "log-running-short": """
        check
        fit --price 20 --evaluator score
    """,
    "log-running-still": """
        check
        fit --price 20 --evaluator score
    """,
    "log-router": """
        check
        A: fit --price 10 --evaluator none --kind router --context psi
        test A
    """,
    "log-router-poor": """
        check
        A: fit --price 10 --evaluator none --kind router --context psi
        test A
    """,
    "log-too-short": """
        check
        fit --price 20 --evaluator score
    """,
    "log-wrong": """
        check
        fit --price 20 --evaluator score
    """,
    "few-prompts": """
        check
        fit --price 20 --evaluator score
    """,
    "outside": """
        check
    """,
    "negative": """
        fit --price 20 --evaluator score
    """,
    "twice": """
        fit --price 20 --evaluator score
    """,
    "seventeen": """
        check
        fit --price 20 --evaluator score --kind thresholds
        fit --price 20 --evaluator score --kind thresholds --models m0,m4,m8,m12,m16
    """,
}

# Commands that are refused for every table; they run on "two".
REFUSED = """
    fit --evaluator score
    fit --price 20 --max-usd 0.01 --evaluator score
    fit --price 20
    fit --price -1 --evaluator score
    fit --price 20 --evaluator none
    fit --price 20 --evaluator none --kind router
    fit --price 20 --evaluator score --kind router
    fit --price 20 --evaluator score --kind routed
    fit --price 20 --evaluator score --kind best
    fit --price 20 --evaluator score --kind thresholds --context length
    fit --price 20 --evaluator score --context nothing
    fit --price 20 --evaluator score --context text:8
    fit --price 20 --evaluator noisy:0.1
    fit --price 20 --evaluator score:dear
    fit --price 20 --evaluator score --judge-usd -1
    fit --price 20 --evaluator score --max-latency 2
    fit --price 20 --evaluator score --models cheap,costly
    fit --price 20 --evaluator score --forget 10
    fit --price 20 --evaluator score --openings independent
    fit --price 20 --evaluator score --explore 2
    fit --max-usd 5 --evaluator score
    fit --min-quality 1.5 --evaluator score
    check --price -5
    check --evaluator none
    test A --against nobody
    test A --estimator dr
    test A --estimator best
    test A --evaluator score:other
    test A @three.csv
    test missing
    frontier --evaluator score --kind router
    frontier --evaluator score --price 0,x
"""


@dataclass
class Case:
    name: str
    world: str
    argv: list[str]
    file: str = ""  # the name of the cascade's file that a fit writes
    is_json: bool = True


def case_of(world: World, number: int, line: str) -> Case:
    label, colon, rest = line.partition(": ")
    words = shlex.split(rest if colon and " " not in label else line)
    what, options = words[0], words[1:]
    is_json = what != "show" and "text" not in options
    name = f"{world.name}/{number}"
    file = ""
    if what == "check":
        argv = ["trace", "check", world.table, *options]
    elif what == "fit":
        file = f"{world.name}-{label if colon and ' ' not in label else number}.cascade.json"
        argv = ["cascade", "fit", world.table, *options, "--out", file]
    elif what == "frontier":
        argv = ["cascade", "frontier", world.table, "--test", world.new, *options, "--out", f"{world.name}-{number}"]
    else:
        cascade, options = f"{world.name}-{options[0]}.cascade.json", options[1:]
        argv = ["cascade", what, cascade]
        if what == "test":
            other = [option[1:] for option in options if option.startswith("@")]
            argv += [*(other or [world.new]), *(option for option in options if not option.startswith("@"))]
    if is_json and "--format" not in options:
        argv += ["--format", "json"]
    return Case(name, world.name, argv, file, is_json)


def all_cases() -> list[Case]:
    unknown = CASES.keys() - {world.name for world in WORLDS}
    assert not unknown, unknown
    out = []
    for world in WORLDS:
        text = CASES[world.name] + (REFUSED if world.name == "two" else "")
        found = [line.strip() for line in text.strip().splitlines() if line.strip()]
        out += [case_of(world, number, line) for number, line in enumerate(found, 1)]
    return out
