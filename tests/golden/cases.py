"""What each world is, and the commands that run on it.

A line below a world's name is `check`, `fit`, `test`, `frontier` or `show` with options. `A: fit ...` gives the
cascade's file a name, by which `test A ...` and `show A` read it. `test A @FILE` tests on this file in place of the
world's second draw. Lines with `--format text` keep the output for people.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from worlds import WORLDS, World

CASES = """
two: Two models whose graded qualities hang together, 300 prompts, a wide table.
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
three: Three models on a ladder of skill and dollars, right or wrong, with a good judge.
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
three-graded: Three models with graded qualities that depend little on each other.
    check --price 10,100
    A: fit --price 20 --evaluator quality
    B: fit --price 20 --evaluator score --judge-usd 0.002
    C: fit --max-usd 0.004 --evaluator quality --kind indices
    fit --min-quality 0.6 --evaluator quality
    test A
    test B
    test C
    frontier --evaluator score --kind indices --price 10,40
four: Four models, none far better than the next, a fair judge.
    check --evaluator score --price 50
    A: fit --price 30 --evaluator score --kind thresholds
    B: fit --price 100 --evaluator score
    fit --max-usd 0.003 --evaluator score --kind thresholds
    fit --min-quality 0.5 --evaluator score --kind thresholds --judge-usd 0.0001
    test A
    test B --judge-usd 0
    frontier --evaluator score --judge-usd 0.0001
five: Five models, of which all orders are tried.
    check --price 40
    A: fit --price 40 --evaluator score --kind thresholds
    fit --price 40 --evaluator quality --kind indices
    test A
    frontier --evaluator quality --price 10,40
six: Six models: more than those of which all orders are tried.
    check --price 40
    A: fit --price 40 --evaluator score --kind thresholds
    fit --price 40 --evaluator score --models m0,m2,m4,m5
    test A
eight: Eight models with answers that are right independently of each other.
    check --price 50
    A: fit --price 50 --evaluator quality --kind thresholds
    B: fit --price 50 --evaluator score --kind indices
    test A
    test B
eleven: Eleven models with graded qualities.
    check --price 50
    A: fit --price 50 --evaluator score --kind thresholds
    test A
one: A single model.
    check --price 5
    A: fit --price 5 --evaluator score
    test A
    fit --max-usd 0.002 --evaluator quality
tiny: Sixty prompts and three models.
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
rarely-fails: Sixty prompts on which models hardly ever fail.
    check
    A: fit --price 5 --evaluator score --context x
    fit --min-quality 0.9 --evaluator score
    fit --max-usd 0.002 --evaluator quality
    test A
    frontier --evaluator quality
long-table: Two thousand prompts and four models, with numbers that tell of them.
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
very-long: Ten thousand prompts and three models.
    check --evaluator score --price 20
    A: fit --price 20 --evaluator score --kind thresholds
    test A
very-long-context: Ten thousand prompts and two models, one of which is better for some.
    A: fit --price 50 --evaluator none --kind router --context x,z
    test A
bad-judge: A judge that tells little of the quality.
    check --evaluator score
    A: fit --price 20 --evaluator score
    fit --price 20 --evaluator quality --kind thresholds
    test A
    frontier --evaluator score
blind-judge: A judge that tells nothing.
    check --evaluator score
    A: fit --price 20 --evaluator score
    fit --price 20 --evaluator score --kind indices
    test A
binary-judge: A judge that says yes or no and is wrong in one of eight cases.
    check --evaluator score
    A: fit --price 20 --evaluator score
    fit --min-quality 0.55 --evaluator score --kind thresholds
    test A
    frontier --evaluator score --price 5,20
tied-judge: A judge with five values, so that scores are tied.
    check --evaluator score --price 30
    A: fit --price 30 --evaluator score --kind thresholds
    fit --price 30 --evaluator score --kind indices
    test A
contrary-judge: A judge that gives wrong answers the greater scores.
    check --evaluator score
    A: fit --price 20 --evaluator score
    test A
constant-judge: A judge that always says the same.
    check --evaluator score
    A: fit --price 20 --evaluator score
    test A
    frontier --evaluator score --price 20
judges: Three judges: a good, a fair and a blind one.
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
no-judge: A table without any score.
    check
    A: fit --price 20 --evaluator none --kind router --context x,kind
    fit --price 20 --evaluator quality --context kind
    test A
    fit --price 20 --evaluator score
stars: A judge that gives 1 to 5 stars, and qualities from 0 to 100.
    check --evaluator score --scale score=1:5 --scale quality=0:100
    A: fit --price 20 --evaluator score --scale score=1:5 --scale quality=0:100
    test A --scale score=1:5 --scale quality=0:100
    fit --price 20 --evaluator score
    fit --price 20 --evaluator score --scale quality=0:100 --scale score=2:5
router-pays: Two models that are each better on one side of a number, and a dear one.
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
classes: Specialists, and a column of words that says which is the right one.
    check
    A: fit --price 10 --evaluator none --kind router --context kind
    B: fit --price 10 --evaluator score --context kind,z
    fit --price 10 --evaluator score --kind routed --context kind
    fit --price 10 --evaluator score --kind indices --context kind
    test A
    test B
    frontier --evaluator score --kind auto --context kind --price 5,50
texts: Specialists, and texts that tell what prompts are about.
    A: fit --price 10 --evaluator none --kind router --context text:16
    B: fit --price 10 --evaluator score --kind routed --context text:4
    fit --price 10 --evaluator score --kind indices --context text:4
    fit --price 10 --evaluator none --kind router --context length
    test A
    test B
    frontier --evaluator score --kind router --context text:4,length --price 10
embedding: A list of numbers for each prompt.
    A: fit --price 10 --evaluator none --kind router --context embedding
    fit --price 10 --evaluator none --kind router --context raw:embedding
    fit --price 10 --evaluator score --kind routed --context embedding
    test A
easy-or-hard: A number that tells how hard a prompt is: routed cascades can pay.
    check --evaluator score --price 20
    A: fit --price 20 --evaluator score --context difficulty
    B: fit --price 20 --evaluator score --kind routed --context difficulty,x --format json
    fit --max-usd 0.008 --evaluator score --kind routed --context difficulty
    fit --price 20 --evaluator score --kind routed --context difficulty --judge-usd 0.001
    test A
    test B
    frontier --evaluator score --kind routed --context difficulty --price 5,20
    show B
independent: Models whose answers do not depend on each other: indices are optimal.
    check --price 20
    A: fit --price 20 --evaluator quality --kind indices
    B: fit --price 20 --evaluator score
    C: fit --price 20 --evaluator quality --kind indices --context x
    fit --min-quality 0.6 --evaluator quality --kind indices
    test A
    test B
    test C
independent-sides: Independent answers that are better on one side of a number, so that orders differ.
    A: fit --price 20 --evaluator quality --kind indices --context x
    B: fit --price 20 --evaluator score --context x
    fit --max-usd 0.003 --evaluator score --kind indices --context x
    test A
    test B
    frontier --evaluator quality --kind indices --context x --price 10,40
complements: Two cheap models that fail on different prompts: thresholds pay.
    check --evaluator score
    A: fit --price 20 --evaluator score
    fit --max-usd 0.0015 --evaluator score --kind thresholds
    test A --against right
    frontier --evaluator score
null: Equal models and a judge and numbers of noise: nothing can be gained.
    check --evaluator score
    A: fit --price 5 --evaluator score --context z
    fit --price 5 --evaluator score --kind thresholds
    fit --price 5 --evaluator score --kind routed --context z
    fit --price 5 --evaluator none --kind router --context z
    test A
null-judged: Equal models and dollars, but a good judge.
    check --evaluator score
    A: fit --price 5 --evaluator score --context z
    fit --price 1 --evaluator score
    test A
dominated: A model that costs more and does worse than another.
    check --evaluator score
    A: fit --price 15 --evaluator score
    fit --min-quality 0.6 --evaluator score
    test A --against worse
    frontier --evaluator score --price 5,15
router-blind: Models that are better on one side of a number, and a judge that tells nothing: a router pays.
    check --evaluator score
    A: fit --price 10 --evaluator score --context x
    fit --max-usd 0.01 --evaluator score --context x
    fit --min-quality 0.6 --evaluator score --context x
    test A
routed-pays: Code that only a dear model writes, and talk of which cheap ones are right by turns: routed cascades pay.
    check --evaluator score
    A: fit --price 10 --evaluator score --context kind
    fit --max-usd 0.02 --evaluator score --context kind
    fit --min-quality 0.8 --evaluator score --context kind
    test A
    test A --judge-usd 0.001 --evaluator quality
gaps: A number that tells of prompts and is missing for some.
    A: fit --price 10 --evaluator none --kind router --context x
    B: fit --price 10 --evaluator score --context x,kind
    fit --price 10 --evaluator none --kind router --context raw:x
    test A
    test B
leak: A column that was computed from outcomes.
    A: fit --price 10 --evaluator none --kind router --context winner
    fit --price 10 --evaluator score --context winner,z
    test A
twins: Two models with the same answers at the same dollars.
    check --evaluator score
    A: fit --price 20 --evaluator score
    fit --price 20 --evaluator quality --kind thresholds
    fit --price 20 --evaluator score --kind indices
    test A --against twin
all-right: Every answer is right.
    check
    A: fit --price 5 --evaluator score
    fit --min-quality 1 --evaluator quality
    test A
all-wrong: Every answer is wrong.
    check
    A: fit --price 5 --evaluator score
    test A
    frontier --evaluator quality --price 5
heavy: Dollars with a heavy tail.
    check
    A: fit --price 5 --evaluator score
    B: fit --max-usd 0.02 --evaluator score
    fit --min-quality 0.55 --evaluator score --kind thresholds
    test A
    test B
    frontier --evaluator score
heavier: Dollars of which a few prompts have nearly all.
    A: fit --price 2 --evaluator score
    B: fit --max-usd 0.05 --evaluator score
    test A
    test B
free-model: A model that costs nothing.
    check --evaluator score
    A: fit --price 20 --evaluator score --context x
    fit --min-quality 0.5 --evaluator score
    test A
    test A --free-calls allowed
    frontier --evaluator score
all-free: Models of which none costs anything.
    check
    A: fit --price 5 --evaluator score
    fit --price 5 --evaluator score --judge-usd 0.01
    test A
    frontier --evaluator score
cached: Some answers of a cache cost nothing.
    check
    check --free-calls allowed
    check --missing drop
    A: fit --price 20 --evaluator score --free-calls allowed
    test A --free-calls allowed
    test A --missing drop
tokens: Tokens in the place of dollars.
    check --prices prices.toml
    A: fit --price 20 --evaluator score --prices prices.toml
    test A --prices prices.toml
    test A
    fit --price 20 --evaluator score
latency: Seconds of every answer.
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
latency-gaps: Seconds of most answers.
    A: fit --price 20 --evaluator score --max-latency 2
    test A
semicolons: Semicolons, in a file that is compressed.
    check --models small,large --price 10
    A: fit --price 10 --evaluator score --context x,length --max-latency 3
    test A
folder: A file of answers for each model.
    check --price 10
    A: fit --price 10 --evaluator quality --context x
    test A
holes: Some dollars and scores are missing.
    check
    check --missing drop
    A: fit --price 20 --evaluator score --missing drop --context x
    fit --price 20 --evaluator score
    test A --missing drop
    test A
repeats: Three answers of every model to each prompt, in the order of the file.
    check
    check --repeats allowed
    A: fit --price 20 --evaluator score --repeats allowed
    test A --repeats allowed
numbered: Two answers of every model to each prompt, counted in a column.
    check --repeats allowed --evaluator score
    A: fit --price 20 --evaluator score --repeats allowed
    fit --price 20 --evaluator quality --kind indices --repeats allowed
    test A --repeats allowed
sessions: Prompts with names of their own of which several have the same text.
    check
    A: fit --price 10 --evaluator score
    fit --price 10 --evaluator none --kind router --context text:4
    test A
labels-5: One of twenty qualities is known.
    check --evaluator score
    A: fit --price 20 --evaluator score
    test A
    fit --price 20 --evaluator quality
labels-20: One of five qualities is known, and a number tells of prompts.
    check --evaluator score
    A: fit --price 10 --evaluator none --kind router --context x
    B: fit --price 10 --evaluator score --context x
    fit --price 10 --evaluator score --kind indices
    fit --max-usd 0.004 --evaluator score --kind thresholds
    test A
    test B
    frontier --evaluator score --price 10
labels-50: Half of the qualities are known, of four models with graded ones.
    check --evaluator score
    A: fit --price 30 --evaluator score
    fit --price 30 --evaluator score --kind routed --context score
    test A
    fit --price 30 --evaluator score --missing drop
labels-propensity: Answers with great scores are labelled more often, by a column.
    check --evaluator score
    A: fit --price 20 --evaluator score
    B: fit --price 20 --evaluator none --kind router --context x
    test A
    test B
labels-few: A handful of known qualities.
    check --evaluator score
    fit --price 20 --evaluator score
log-in-order: Decisions call one model after the other, chosen by chance.
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
log-in-order-short: The same of two hundred decisions.
    check
    fit --price 20 --evaluator score
log-in-order-labels: Of calls in order a third of the qualities is known, with propensities of labels.
    check --evaluator score
    A: fit --price 20 --evaluator score
    test A
    test A --estimator snips
    fit --price 20 --evaluator quality
    fit --price 20 --evaluator quality --missing drop
    frontier --evaluator score
log-sessions: Four decisions for each prompt.
    check
    A: fit --price 20 --evaluator score --judge-usd 0.0003
    test A
    test A --estimator ips
log-tosses: Each model was called by a toss of its own.
    check
    A: fit --price 20 --evaluator score --openings independent
    B: fit --price 20 --evaluator quality --openings independent
    test A --openings independent
    test B --openings independent --estimator ips
    test A
log-tosses-labels: Tosses for each model, and one of four qualities is known.
    check --evaluator score
    A: fit --price 20 --evaluator score --openings independent
    test A --openings independent
    test A --openings independent --estimator snips
log-tosses-table: Tosses, where the whole table is the other draw.
    A: fit --price 20 --evaluator score --openings independent --explore 0.1
    test A
    test A @log-tosses-table.csv --openings independent
log-one-call: One call a decision, by chance, and a number that tells of prompts.
    check
    A: fit --price 10 --evaluator none --kind router --context x
    fit --price 10 --evaluator score
    test A
    test A --estimator ips
    test A --estimator snips --against big
log-one-call-by-x: One call a decision, with probabilities that depend on the number.
    check
    A: fit --price 10 --evaluator none --kind router --context x
    test A
    fit --price 10 --evaluator score --kind routed --context x
log-one-call-labels: One call a decision, of which a third has a known quality.
    check --evaluator score
    A: fit --price 10 --evaluator none --kind router --context x
    test A
log-apart: One call a decision, of models whose answers are independent.
    check
    A: fit --price 20 --evaluator score --openings apart
    B: fit --price 20 --evaluator quality --openings apart
    test A --openings apart
    test B --openings apart --against c
    test A
log-apart-labels: The same with a known quality in half of the decisions.
    A: fit --price 20 --evaluator score --openings apart --judge-usd 0.0002
    test A --openings apart
log-running: A service ran good thresholds and explored one step in five.
    check --evaluator score
    A: fit --price 20 --evaluator score
    test A
    test A --against large --estimator snips
    A: fit --price 40 --evaluator score --force
    show A
log-running-poor: A service ran poor thresholds and explored, so that something better can be found.
    check --evaluator score
    A: fit --price 20 --evaluator score
    fit --price 20 --evaluator score --judge-usd 0.001
    test A --against large
log-running-short: The same of three hundred requests.
    check
    fit --price 20 --evaluator score
log-running-still: A service that did not explore.
    check
    fit --price 20 --evaluator score
log-router: A service ran a router and explored.
    check
    A: fit --price 10 --evaluator none --kind router --context psi
    test A
log-router-poor: A service called one dear model and explored.
    check
    A: fit --price 10 --evaluator none --kind router --context psi
    test A
log-too-short: Thirty decisions.
    check
    fit --price 20 --evaluator score
log-wrong: Propensities are half of what they were.
    check
    fit --price 20 --evaluator score
few-prompts: Eight prompts.
    check
    fit --price 20 --evaluator score
outside: A quality above 1.
    check
negative: Dollars below 0.
    fit --price 20 --evaluator score
twice: A prompt that stands twice.
    fit --price 20 --evaluator score
seventeen: Seventeen models, one more than a cascade may have.
    check
    fit --price 20 --evaluator score --kind thresholds
    fit --price 20 --evaluator score --kind thresholds --models m0,m4,m8,m12,m16
"""

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
    commands = dict(re.findall(r"^(\S+): .+\n((?: .+\n)+)", CASES, re.MULTILINE))
    unknown = commands.keys() - {world.name for world in WORLDS}
    assert not unknown, unknown
    out = []
    for world in WORLDS:
        text = commands[world.name] + (REFUSED if world.name == "two" else "")
        found = [line.strip() for line in text.splitlines() if line.strip()]
        out += [case_of(world, number, line) for number, line in enumerate(found, 1)]
    return out
