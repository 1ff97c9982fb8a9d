"""Made-up worlds: tables of outcomes and logs of decisions, drawn from fixed seeds. cases.py says what each is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from draws import Draw, Law, Model, Prompt, answer_rows, lines, long, long_rows, nested, wide, write
from logs import Rules, by_tosses, in_order, of_service, without


@dataclass
class World:
    """`table` names the file for fits, and `new` the one for tests. `files` has the files by name."""

    name: str
    table: str
    new: str
    files: dict[str, Callable[[], str]]

    def write(self, folder: Path) -> None:
        for name, text in self.files.items():
            write(folder / name, text())


WORLDS: list[World] = []
Change = Callable[[list[Prompt], Draw], None]
Form = Callable[[list[Prompt]], str]


def tables(
    name: str,
    seed: int,
    law: Law,
    count: int,
    new: int = 0,
    form: Form = wide,
    suffix: str = "csv",
    change: Change | None = None,
    only_first: bool = False,
) -> None:
    """A world of two draws of a law. `new`: the number of prompts in the second, by default half as many.

    `only_first`: `change` leaves the second draw as it is.
    """

    def text(number: int, prompts: int) -> str:
        found = law.prompts(1000 * seed + number, prompts, "pn"[number])
        if change is not None and not (number == 1 and only_first):
            change(found, Draw(1000 * seed + 10 + number))
        return form(found)

    table, other = f"{name}.{suffix}", f"{name}-new.{suffix}"
    WORLDS.append(World(name, table, other, {table: lambda: text(0, count), other: lambda: text(1, new or count // 2)}))


def log(name: str, text: Callable[[int], str], seed: int, suffix: str = "jsonl", new: str = "") -> None:
    """A world of two draws of a log. `new`: the table of another world, which replaces the second draw."""
    table, other = f"{name}.{suffix}", f"{name}-new.{suffix}"
    files = {table: lambda: text(1000 * seed)}
    if not new:
        files[other] = lambda: text(1000 * seed + 1)
    WORLDS.append(World(name, table, new or other, files))


def every_answer(change: Callable[[dict[str, Any], Draw], None]) -> Change:
    """The change of a table that changes each answer in this way."""

    def change_all(prompts: list[Prompt], draw: Draw) -> None:
        for prompt in prompts:
            for answer in prompt.answers.values():
                change(answer, draw)

    return change_all


def some(**models: tuple[float, float]) -> list[Model]:
    """name=(skill, dollars of a call), each 0.6 seconds slower than the one before."""
    return [Model(name, *what, seconds=0.4 + 0.6 * k) for k, (name, what) in enumerate(models.items())]


def ladder(count: int, usd: float = 0.001, factor: float = 1.7, step: float = 0.25) -> list[Model]:
    """Models, each better and dearer than the one before."""
    return [Model(f"m{k}", 0.4 + step * k, usd * factor**k, seconds=0.4 + 0.3 * k) for k in range(count)]


THREE = some(small=(0.5, 0.001), medium=(1.0, 0.004), large=(1.6, 0.012))
SPECIALISTS = [
    Model("coder", 0.5, 0.003, {"code": 1.2, "talk": -0.6}),
    Model("talker", 0.5, 0.002, {"talk": 1.2, "code": -0.6}),
    Model("scholar", 0.6, 0.006, {"maths": 1.4}),
]
TWO_SIDED = [Model("left", 0.7, 0.002, slope=-1.0), Model("right", 0.7, 0.003, slope=1.0), Model("big", 1.2, 0.02)]

# Complete tables with several numbers of models and prompts.
tables("two", 1, Law(some(cheap=(0.7, 0.002), dear=(1.4, 0.02)), graded=True), 300)
tables("three", 2, Law(THREE), 400, form=long)
tables("three-graded", 3, Law(THREE, hard=0.8, own=1.2, graded=True), 400)
tables("four", 4, Law(ladder(4), judges={"score": "fair"}), 500)
tables("five", 5, Law(ladder(5, step=0.2)), 300, form=nested, suffix="jsonl")
tables("six", 6, Law(ladder(6, factor=1.5, step=0.2)), 250)
tables("eight", 7, Law(ladder(8, factor=1.4, step=0.1), hard=0.0, own=1.5), 250, form=long)
tables("eleven", 8, Law(ladder(11, factor=1.3, step=0.1), graded=True), 200)
tables("one", 9, Law(some(only=(1.0, 0.003))), 120)
tables("tiny", 10, Law(THREE, features=("x",)), 60)
tables("rarely-fails", 11, Law(some(sure=(9.0, 0.001), surer=(12.0, 0.01)), hard=0.5, features=("x",)), 60)
tables("long-table", 12, Law(ladder(4), features=("x", "difficulty")), 2000, 600)
tables("very-long", 13, Law(THREE, judges={"score": "fair"}), 10_000, 2000)
tables("very-long-context", 14, Law(TWO_SIDED[:2], features=("x", "z")), 10_000, 1000)

# Judges.
tables("bad-judge", 15, Law(THREE, judges={"score": "bad"}), 400)
tables("blind-judge", 16, Law(THREE, judges={"score": "blind"}), 300)
tables("binary-judge", 17, Law(THREE, judges={"score": "binary"}), 400)
tables("tied-judge", 18, Law(ladder(4), judges={"score": "tied"}), 300)
tables("contrary-judge", 19, Law(THREE, judges={"score": "contrary"}), 300)
tables("constant-judge", 20, Law(THREE, judges={"score": "constant"}), 200)
THREE_JUDGES = {"score": "fair", "score_good": "good", "score:blind": "blind"}
tables("judges", 21, Law(ladder(4), judges=THREE_JUDGES, features=("x",)), 300, form=long)
tables("no-judge", 22, Law(THREE, judges={}, features=("x", "kind")), 300)
tables("stars", 23, Law(THREE, graded=True, judges={"score": "stars"}, scale=100.0), 300)

# Features of prompts.
tables("router-pays", 24, Law(TWO_SIDED, hard=1.0, features=("x", "z")), 600, form=nested, suffix="jsonl")
tables("classes", 25, Law(SPECIALISTS, hard=1.0, features=("kind", "z")), 500)
tables("texts", 26, Law(SPECIALISTS, hard=1.0, features=("prompt",)), 400, form=nested, suffix="jsonl")
WITH_CODER = [*TWO_SIDED, Model("coder", 0.4, 0.004, {"code": 1.2})]
tables("embedding", 27, Law(WITH_CODER, features=("embedding",)), 400, form=nested, suffix="jsonl")
STEEP = some(small=(0.6, 0.001), middle=(1.0, 0.006), large=(1.8, 0.03))
tables("easy-or-hard", 28, Law(STEEP, hard=2.5, features=("difficulty", "x")), 600)
FOUR = some(a=(0.3, 0.002), b=(0.4, 0.003), c=(0.5, 0.004), d=(0.6, 0.005))
tables("independent", 29, Law(FOUR, hard=0.0, own=2.0, graded=True, features=("x",)), 500)
SIDES = [Model("l", 0.2, 0.002, slope=-1.5), Model("r", 0.2, 0.002, slope=1.5), Model("m", 0.3, 0.003)]
tables("independent-sides", 30, Law(SIDES, hard=0.0, own=1.5, graded=True, features=("x",)), 500)
COMPLEMENTS = [Model("left", 0.6, 0.001, slope=-2.5), Model("right", 0.6, 0.001, slope=2.5)]
tables("complements", 31, Law(COMPLEMENTS, hard=0.3, own=0.2), 400)
EQUAL = some(a=(0.6, 0.005), b=(0.6, 0.005), c=(0.6, 0.005))
tables("null", 32, Law(EQUAL, judges={"score": "blind"}, features=("z",)), 300)
tables("null-judged", 33, Law(some(a=(0.6, 0.05), b=(0.6, 0.05)), features=("z",)), 200)
tables("dominated", 34, Law(some(good=(1.2, 0.002), worse=(0.6, 0.02), best=(1.7, 0.03))), 300, form=long)

tables("router-blind", 88, Law(TWO_SIDED, hard=1.0, judges={"score": "blind"}, features=("x",)), 600)
TALKERS = [Model(name, 0.9, 0.001, {"code": -9.0}, slope) for name, slope in (("left", -2.0), ("right", 2.0))]
WITH_BIG = Law([*TALKERS, Model("big", 2.5, 0.03)], hard=0.3, own=0.2, features=("kind",))
tables("routed-pays", 89, WITH_BIG, 700)


def gap(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        if draw.chance(0.15):
            prompt.columns["x"] = None


tables("gaps", 35, Law(TWO_SIDED, features=("x", "kind")), 300, change=gap)


def leak(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        best = max(prompt.answers, key=lambda model: (prompt.answers[model]["quality"], -prompt.answers[model]["cost"]))
        prompt.columns["winner"] = best


tables("leak", 36, Law(THREE, own=1.5, graded=True, features=("z",)), 300, change=leak)

# Equal answers.


def same(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        prompt.answers["twin"] = dict(prompt.answers["small"])


tables("twins", 37, Law(THREE), 200, change=same)

all_right = every_answer(lambda answer, draw: answer.update(quality=1.0))
tables("all-right", 38, Law(THREE), 100, change=all_right)

all_wrong = every_answer(lambda answer, draw: answer.update(quality=0.0))
tables("all-wrong", 39, Law(THREE), 100, change=all_wrong)

# Dollars and seconds.
tables("heavy", 40, Law(THREE, dollars="heavy"), 500)
tables("heavier", 41, Law(THREE, dollars="heavier"), 300)


def free(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        prompt.answers["small"]["cost"] = 0.0


tables("free-model", 42, Law(THREE, features=("x",)), 300, change=free)

all_free = every_answer(lambda answer, draw: answer.update(cost=0.0))
tables("all-free", 43, Law(THREE), 200, change=all_free)


@every_answer
def cached(answer: dict[str, Any], draw: Draw) -> None:
    if draw.chance(0.1):
        answer["cost"] = 0.0


tables("cached", 44, Law(THREE), 300, form=long, change=cached)


def tokens(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        given = 50 + draw.below(400)
        for answer in prompt.answers.values():
            del answer["cost"]
            answer["prompt_tokens"], answer["completion_tokens"] = given, 20 + draw.below(600)


tables("tokens", 45, Law(THREE), 200, form=long, change=tokens)
WORLDS[-1].files["prices.toml"] = lambda: (
    '"small" = { in = 0.15, out = 0.6 }\n"medium" = [1.0, 4.0]\n"large" = { in = 3, out = 15 }\n'
)
tables("latency", 46, Law(ladder(4), latency=True, features=("x",)), 400)


@every_answer
def slow_gaps(answer: dict[str, Any], draw: Draw) -> None:
    if draw.chance(0.05):
        answer["latency"] = None


tables("latency-gaps", 47, Law(THREE, latency=True), 300, form=long, change=slow_gaps)

# Forms.
WITH_TEXTS = Law(THREE, features=("x", "prompt"), latency=True)
tables("semicolons", 90, WITH_TEXTS, 150, form=partial(wide, delimiter=";"), suffix="csv.gz")


def of_model(model: str, seed: int, count: int, prefix: str) -> str:
    """A file of a folder. Its name is that of the model."""
    rows = answer_rows(Law(THREE, features=("x",)).prompts(seed, count, prefix))
    return lines(without([row for row in rows if row["model"] == model], "model"))


WORLDS.append(
    World(
        "folder",
        "folder",
        "folder-new",
        {
            f"{folder}/{model.name}.jsonl": partial(of_model, model.name, 91_000 + len(folder), 150, folder)
            for folder in ("folder", "folder-new")
            for model in THREE
        },
    )
)

# Missing cells and repeated answers.


@every_answer
def holes(answer: dict[str, Any], draw: Draw) -> None:
    for name in ("cost", "score"):
        if draw.chance(0.02):
            answer[name] = None


tables("holes", 48, Law(THREE, features=("x",)), 400, form=long, change=holes)


def repeated(form: Form, most: int, with_number: bool) -> Form:
    """Repeats a prompt's answers several times."""

    def text(prompts: list[Prompt]) -> str:
        rows = answer_rows(prompts)
        for row in rows:
            number = int(row["prompt_id"][1:])
            if with_number:
                row["answer"] = number % most
            row["prompt_id"] = f"p{number // most}"
        return long_rows(rows)

    return text


tables("repeats", 49, Law(THREE), 360, form=repeated(long, 3, False))
tables("numbered", 50, Law(ladder(4)), 300, form=repeated(long, 2, True))


def told_again(prompts: list[Prompt], draw: Draw) -> None:
    """Every fourth prompt has the text of an earlier one."""
    for at in range(4, len(prompts), 4):
        prompts[at].columns = dict(prompts[at - 1 - draw.below(3)].columns)


tables("sessions", 51, Law(SPECIALISTS, features=("prompt", "x")), 400, form=nested, suffix="jsonl", change=told_again)

# Tables in which only some qualities are known.


def labels(share: float, column: bool = False, by_score: bool = False) -> Change:
    @every_answer
    def change(answer: dict[str, Any], draw: Draw) -> None:
        p = float(f"{share * (0.4 + 1.2 * answer['score']) if by_score else share:.6g}")
        if column:
            answer["label_propensity"] = p
        if not draw.chance(p):
            answer["quality"] = None

    return change


tables("labels-5", 52, Law(THREE), 1200, 300, form=long, change=labels(0.05), only_first=True)
tables("labels-20", 53, Law(TWO_SIDED, features=("x",)), 600, form=long, change=labels(0.2), only_first=True)
tables("labels-50", 54, Law(ladder(4), graded=True), 300, form=nested, suffix="jsonl", change=labels(0.5))
tables("labels-propensity", 55, Law(THREE, features=("x",)), 800, form=long, change=labels(0.2, True, True))
tables("labels-few", 56, Law(THREE), 100, form=long, change=labels(0.02), only_first=True)

# Logs.
LOGGED = Law(THREE)
LOGGED_SIDES = Law([*TWO_SIDED[:2], Model("big", 1.1, 0.01)], hard=1.0, features=("x",))
LOGGED_APART = Law(some(a=(0.3, 0.002), b=(0.5, 0.004), c=(0.7, 0.006)), hard=0.0, own=1.5)


def evenly(prompt: Prompt) -> list[float]:
    return [1.0] * len(prompt.answers)


def mostly_first(prompt: Prompt) -> list[float]:
    return [3.0, 2.0, 1.0]


def by_side(prompt: Prompt) -> list[float]:
    return [0.2, 0.6, 0.2] if prompt.columns["x"] > 0 else [0.6, 0.2, 0.2]


log("log-in-order", lambda seed: long_rows(without(in_order(LOGGED, seed, 1500, 0.7, evenly), "decision")), 61, "csv")
log("log-in-order-short", lambda seed: lines(in_order(LOGGED, seed, 200, 0.7, evenly)), 62)
log(
    "log-in-order-labels",
    lambda seed: long_rows(in_order(LOGGED, seed, 2000, 0.7, mostly_first, lambda answer: 0.2 + 0.3 * answer["score"])),
    63,
    "csv",
)
log("log-sessions", lambda seed: long_rows(in_order(LOGGED, seed, 1600, 0.7, evenly, None, 4)), 64, "csv")
log("log-tosses", lambda seed: lines(by_tosses(LOGGED, seed, 800, {"small": 1.0, "medium": 0.7, "large": 0.5})), 65)
log(
    "log-tosses-labels",
    lambda seed: lines(by_tosses(LOGGED, seed, 1200, {"small": 0.8, "medium": 0.7, "large": 0.6}, lambda answer: 0.25)),
    66,
)
log(
    "log-tosses-table",
    lambda seed: long_rows(by_tosses(LOGGED, seed, 1000, {"small": 0.9, "medium": 0.6, "large": 0.6})),
    67,
    "csv",
    "three-new.csv",
)
log("log-one-call", lambda seed: lines(without(in_order(LOGGED_SIDES, seed, 1500, 0.0, evenly), "decision")), 68)
log(
    "log-one-call-by-x",
    lambda seed: long_rows(without(in_order(LOGGED_SIDES, seed, 1500, 0.0, by_side), "decision")),
    69,
    "csv",
)
log("log-one-call-labels", lambda seed: lines(in_order(LOGGED_SIDES, seed, 2000, 0.0, evenly, lambda answer: 0.35)), 70)
log("log-apart", lambda seed: lines(in_order(LOGGED_APART, seed, 1500, 0.0, evenly)), 71)
log(
    "log-apart-labels",
    lambda seed: long_rows(in_order(LOGGED_APART, seed, 2000, 0.0, mostly_first, lambda answer: 0.5)),
    72,
    "csv",
)


POOR: Rules = ["large", "small"], {"large": 0.9}
GOOD: Rules = ["small", "medium", "large"], {"small": 0.6, "medium": 0.55}
BIG: Rules = ["big"], {}


def side(prompt: Prompt) -> Rules:
    return (["right"] if prompt.columns["x"] > 0.3 else ["left"]), {}


log("log-running", lambda seed: of_service(LOGGED, seed, 3000, lambda prompt: GOOD, 0.2, 0.5), 73)
log("log-running-poor", lambda seed: of_service(LOGGED, seed, 3000, lambda prompt: POOR, 0.25, 0.8), 74)
log("log-running-short", lambda seed: of_service(LOGGED, seed, 300, lambda prompt: POOR, 0.3, 0.8), 75)
log("log-running-still", lambda seed: of_service(LOGGED, seed, 800, lambda prompt: GOOD, 0.0, 0.5), 76)
log("log-router", lambda seed: of_service(LOGGED_SIDES, seed, 2500, side, 0.3, 0.9, True), 77)
log("log-router-poor", lambda seed: of_service(LOGGED_SIDES, seed, 2500, lambda prompt: BIG, 0.4, 0.9, True), 78)

# Tables and logs that are refused.
log("log-too-short", lambda seed: lines(in_order(LOGGED, seed, 30, 0.7, evenly)), 81)


def wrong_propensities(seed: int) -> str:
    rows = in_order(LOGGED, seed, 800, 0.7, evenly)
    for row in rows:
        row["propensity"] = float(f"{row['propensity'] * 0.5:.6g}")
    return lines(rows)


log("log-wrong", wrong_propensities, 82)
tables("few-prompts", 83, Law(THREE), 8, 8)


def outside(prompts: list[Prompt], draw: Draw) -> None:
    prompts[17].answers["medium"]["quality"] = 1.5


tables("outside", 84, Law(THREE), 40, change=outside, only_first=True)


def negative(prompts: list[Prompt], draw: Draw) -> None:
    prompts[5].answers["large"]["cost"] = -0.01


tables("negative", 85, Law(THREE), 40, form=long, change=negative, only_first=True)


def twice(prompts: list[Prompt], draw: Draw) -> None:
    prompts[9].name = prompts[3].name


tables("twice", 86, Law(THREE), 40, change=twice, only_first=True)
tables("seventeen", 87, Law(ladder(17, factor=1.1, step=0.05)), 80)


def write_all(folder: Path) -> None:
    for world in WORLDS:
        world.write(folder)
