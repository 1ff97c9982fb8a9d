"""Made-up worlds: tables of outcomes and logs of decisions, drawn from fixed seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from draws import Draw, Law, Model, Prompt, answer_rows, lines, long, long_rows, nested, wide, write
from logs import by_tosses, in_order, json_lines, of_service, without


@dataclass
class World:
    """`table` names the file for fits, and `new` the one for tests. `files` has the files by name."""

    name: str
    about: str
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
    about: str,
    seed: int,
    law: Law,
    count: int,
    new: int = 0,
    form: Form = wide,
    suffix: str = "csv",
    change: Change | None = None,
    change_new: Change | None = None,
) -> None:
    """A world of two draws of a law. `new`: the number of prompts in the second, by default half as many."""

    def text(number: int, prompts: int, how: Change | None) -> str:
        found = law.prompts(1000 * seed + number, prompts, "pn"[number])
        if how is not None:
            how(found, Draw(1000 * seed + 10 + number))
        return form(found)

    table, other = f"{name}.{suffix}", f"{name}-new.{suffix}"
    files = {table: lambda: text(0, count, change), other: lambda: text(1, new or count // 2, change_new)}
    WORLDS.append(World(name, about, table, other, files))


def log(name: str, about: str, text: Callable[[int], str], seed: int, suffix: str = "jsonl", new: str = "") -> None:
    """A world of two draws of a log. `new`: the table of another world, which replaces the second draw."""
    table, other = f"{name}.{suffix}", f"{name}-new.{suffix}"
    files = {table: lambda: text(1000 * seed)}
    if not new:
        files[other] = lambda: text(1000 * seed + 1)
    WORLDS.append(World(name, about, table, new or other, files))


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
tables(
    "two",
    "Two models whose graded qualities hang together, 300 prompts, a wide table.",
    1,
    Law(some(cheap=(0.7, 0.002), dear=(1.4, 0.02)), graded=True),
    300,
)
tables(
    "three",
    "Three models on a ladder of skill and dollars, right or wrong, with a good judge.",
    2,
    Law(THREE),
    400,
    form=long,
)
tables(
    "three-graded",
    "Three models with graded qualities that depend little on each other.",
    3,
    Law(THREE, hard=0.8, own=1.2, graded=True),
    400,
)
tables(
    "four",
    "Four models, none far better than the next, a fair judge.",
    4,
    Law(ladder(4), judges={"score": "fair"}),
    500,
)
tables(
    "five", "Five models, of which all orders are tried.", 5, Law(ladder(5, step=0.2)), 300, form=nested, suffix="jsonl"
)
tables(
    "six", "Six models: more than those of which all orders are tried.", 6, Law(ladder(6, factor=1.5, step=0.2)), 250
)
tables(
    "eight",
    "Eight models with answers that are right independently of each other.",
    7,
    Law(ladder(8, factor=1.4, step=0.1), hard=0.0, own=1.5),
    250,
    form=long,
)
tables("eleven", "Eleven models with graded qualities.", 8, Law(ladder(11, factor=1.3, step=0.1), graded=True), 200)
tables("one", "A single model.", 9, Law(some(only=(1.0, 0.003))), 120)
tables("tiny", "Sixty prompts and three models.", 10, Law(THREE, features=("x",)), 60)
tables(
    "rarely-fails",
    "Sixty prompts on which models hardly ever fail.",
    11,
    Law(some(sure=(9.0, 0.001), surer=(12.0, 0.01)), hard=0.5, features=("x",)),
    60,
)
tables(
    "long-table",
    "Two thousand prompts and four models, with numbers that tell of them.",
    12,
    Law(ladder(4), features=("x", "difficulty")),
    2000,
    600,
)
tables("very-long", "Ten thousand prompts and three models.", 13, Law(THREE, judges={"score": "fair"}), 10_000, 2000)
tables(
    "very-long-context",
    "Ten thousand prompts and two models, one of which is better for some.",
    14,
    Law(TWO_SIDED[:2], features=("x", "z")),
    10_000,
    1000,
)

# Judges.
tables("bad-judge", "A judge that tells little of the quality.", 15, Law(THREE, judges={"score": "bad"}), 400)
tables("blind-judge", "A judge that tells nothing.", 16, Law(THREE, judges={"score": "blind"}), 300)
tables(
    "binary-judge",
    "A judge that says yes or no and is wrong in one of eight cases.",
    17,
    Law(THREE, judges={"score": "binary"}),
    400,
)
tables(
    "tied-judge",
    "A judge with five values, so that scores are tied.",
    18,
    Law(ladder(4), judges={"score": "tied"}),
    300,
)
tables(
    "contrary-judge",
    "A judge that gives wrong answers the greater scores.",
    19,
    Law(THREE, judges={"score": "contrary"}),
    300,
)
tables("constant-judge", "A judge that always says the same.", 20, Law(THREE, judges={"score": "constant"}), 200)
tables(
    "judges",
    "Three judges: a good, a fair and a blind one.",
    21,
    Law(ladder(4), judges={"score": "fair", "score_good": "good", "score:blind": "blind"}, features=("x",)),
    300,
    form=long,
)
tables("no-judge", "A table without any score.", 22, Law(THREE, judges={}, features=("x", "kind")), 300)
tables(
    "stars",
    "A judge that gives 1 to 5 stars, and qualities from 0 to 100.",
    23,
    Law(THREE, graded=True, judges={"score": "stars"}, scale=100.0),
    300,
)

# Features of prompts.
tables(
    "router-pays",
    "Two models that are each better on one side of a number, and a dear one.",
    24,
    Law(TWO_SIDED, hard=1.0, features=("x", "z")),
    600,
    form=nested,
    suffix="jsonl",
)
tables(
    "classes",
    "Specialists, and a column of words that says which is the right one.",
    25,
    Law(SPECIALISTS, hard=1.0, features=("kind", "z")),
    500,
)
tables(
    "texts",
    "Specialists, and texts that tell what prompts are about.",
    26,
    Law(SPECIALISTS, hard=1.0, features=("prompt",)),
    400,
    form=nested,
    suffix="jsonl",
)
tables(
    "embedding",
    "A list of numbers for each prompt.",
    27,
    Law([*TWO_SIDED, Model("coder", 0.4, 0.004, {"code": 1.2})], features=("embedding",)),
    400,
    form=nested,
    suffix="jsonl",
)
tables(
    "easy-or-hard",
    "A number that tells how hard a prompt is: routed cascades can pay.",
    28,
    Law(some(small=(0.6, 0.001), middle=(1.0, 0.006), large=(1.8, 0.03)), hard=2.5, features=("difficulty", "x")),
    600,
)
tables(
    "independent",
    "Models whose answers do not depend on each other: indices are optimal.",
    29,
    Law(
        some(a=(0.3, 0.002), b=(0.4, 0.003), c=(0.5, 0.004), d=(0.6, 0.005)),
        hard=0.0,
        own=2.0,
        graded=True,
        features=("x",),
    ),
    500,
)
tables(
    "independent-sides",
    "Independent answers that are better on one side of a number, so that orders differ.",
    30,
    Law(
        [Model("l", 0.2, 0.002, slope=-1.5), Model("r", 0.2, 0.002, slope=1.5), Model("m", 0.3, 0.003)],
        hard=0.0,
        own=1.5,
        graded=True,
        features=("x",),
    ),
    500,
)
tables(
    "complements",
    "Two cheap models that fail on different prompts: thresholds pay.",
    31,
    Law([Model("left", 0.6, 0.001, slope=-2.5), Model("right", 0.6, 0.001, slope=2.5)], hard=0.3, own=0.2),
    400,
)
tables(
    "null",
    "Equal models and a judge and numbers of noise: nothing can be gained.",
    32,
    Law(some(a=(0.6, 0.005), b=(0.6, 0.005), c=(0.6, 0.005)), judges={"score": "blind"}, features=("z",)),
    300,
)
tables(
    "null-judged",
    "Equal models and dollars, but a good judge.",
    33,
    Law(some(a=(0.6, 0.05), b=(0.6, 0.05)), features=("z",)),
    200,
)
tables(
    "dominated",
    "A model that costs more and does worse than another.",
    34,
    Law(some(good=(1.2, 0.002), worse=(0.6, 0.02), best=(1.7, 0.03))),
    300,
    form=long,
)

tables(
    "router-blind",
    "Models that are better on one side of a number, and a judge that tells nothing: a router pays.",
    88,
    Law(TWO_SIDED, hard=1.0, judges={"score": "blind"}, features=("x",)),
    600,
)
tables(
    "routed-pays",
    "Code that only a dear model can write, beside talk of which cheap ones are right by turns: routed cascades pay.",
    89,
    Law(
        [
            Model("left", 0.9, 0.001, {"code": -9.0}, slope=-2.0),
            Model("right", 0.9, 0.001, {"code": -9.0}, slope=2.0),
            Model("big", 2.5, 0.03),
        ],
        hard=0.3,
        own=0.2,
        features=("kind",),
    ),
    700,
)


def gap(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        if draw.chance(0.15):
            prompt.columns["x"] = None


tables(
    "gaps",
    "A number that tells of prompts and is missing for some.",
    35,
    Law(TWO_SIDED, features=("x", "kind")),
    300,
    change=gap,
    change_new=gap,
)


def leak(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        best = max(prompt.answers, key=lambda model: (prompt.answers[model]["quality"], -prompt.answers[model]["cost"]))
        prompt.columns["winner"] = best


tables(
    "leak",
    "A column that was computed from outcomes.",
    36,
    Law(THREE, own=1.5, graded=True, features=("z",)),
    300,
    change=leak,
    change_new=leak,
)

# Equal answers.


def same(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        prompt.answers["twin"] = dict(prompt.answers["small"])


tables(
    "twins", "Two models with the same answers at the same dollars.", 37, Law(THREE), 200, change=same, change_new=same
)


def all_right(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        for answer in prompt.answers.values():
            answer["quality"] = 1.0


tables("all-right", "Every answer is right.", 38, Law(THREE), 100, change=all_right, change_new=all_right)


def all_wrong(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        for answer in prompt.answers.values():
            answer["quality"] = 0.0


tables("all-wrong", "Every answer is wrong.", 39, Law(THREE), 100, change=all_wrong, change_new=all_wrong)

# Dollars and seconds.
tables("heavy", "Dollars with a heavy tail.", 40, Law(THREE, dollars="heavy"), 500)
tables("heavier", "Dollars of which a few prompts have nearly all.", 41, Law(THREE, dollars="heavier"), 300)


def free(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        prompt.answers["small"]["cost"] = 0.0


tables("free-model", "A model that costs nothing.", 42, Law(THREE, features=("x",)), 300, change=free, change_new=free)


def all_free(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        for answer in prompt.answers.values():
            answer["cost"] = 0.0


tables("all-free", "Models of which none costs anything.", 43, Law(THREE), 200, change=all_free, change_new=all_free)


def cached(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        for answer in prompt.answers.values():
            if draw.chance(0.1):
                answer["cost"] = 0.0


tables(
    "cached", "Some answers of a cache cost nothing.", 44, Law(THREE), 300, form=long, change=cached, change_new=cached
)


def tokens(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        given = 50 + draw.below(400)
        for answer in prompt.answers.values():
            del answer["cost"]
            answer["prompt_tokens"], answer["completion_tokens"] = given, 20 + draw.below(600)


tables("tokens", "Tokens in the place of dollars.", 45, Law(THREE), 200, form=long, change=tokens, change_new=tokens)
WORLDS[-1].files["prices.toml"] = lambda: (
    '"small" = { in = 0.15, out = 0.6 }\n"medium" = [1.0, 4.0]\n"large" = { in = 3, out = 15 }\n'
)
tables("latency", "Seconds of every answer.", 46, Law(ladder(4), latency=True, features=("x",)), 400)


def slow_gaps(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        for answer in prompt.answers.values():
            if draw.chance(0.05):
                answer["latency"] = None


tables(
    "latency-gaps",
    "Seconds of most answers.",
    47,
    Law(THREE, latency=True),
    300,
    form=long,
    change=slow_gaps,
    change_new=slow_gaps,
)

# Forms.
tables(
    "semicolons",
    "Semicolons, in a file that is compressed.",
    90,
    Law(THREE, features=("x", "prompt"), latency=True),
    150,
    form=lambda prompts: wide(prompts, ";"),
    suffix="csv.gz",
)


def of_model(model: str, seed: int, count: int, prefix: str) -> str:
    """A file of a folder. Its name is that of the model."""
    rows = answer_rows(Law(THREE, features=("x",)).prompts(seed, count, prefix))
    return lines(
        [{key: value for key, value in row.items() if key != "model"} for row in rows if row["model"] == model]
    )


WORLDS.append(
    World(
        "folder",
        "A file of answers for each model.",
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


def holes(prompts: list[Prompt], draw: Draw) -> None:
    for prompt in prompts:
        for answer in prompt.answers.values():
            for name in ("cost", "score"):
                if draw.chance(0.02):
                    answer[name] = None


tables(
    "holes",
    "Some dollars and scores are missing.",
    48,
    Law(THREE, features=("x",)),
    400,
    form=long,
    change=holes,
    change_new=holes,
)


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


tables(
    "repeats",
    "Three answers of every model to each prompt, in the order of the file.",
    49,
    Law(THREE),
    360,
    form=repeated(long, 3, False),
)
tables(
    "numbered",
    "Two answers of every model to each prompt, counted in a column.",
    50,
    Law(ladder(4)),
    300,
    form=repeated(long, 2, True),
)


def told_again(prompts: list[Prompt], draw: Draw) -> None:
    """Every fourth prompt has the text of an earlier one."""
    for at in range(4, len(prompts), 4):
        prompts[at].columns = dict(prompts[at - 1 - draw.below(3)].columns)


tables(
    "sessions",
    "Prompts with names of their own of which several have the same text.",
    51,
    Law(SPECIALISTS, features=("prompt", "x")),
    400,
    form=nested,
    suffix="jsonl",
    change=told_again,
    change_new=told_again,
)

# Tables in which only some qualities are known.


def labels(share: float, column: bool = False, by_score: bool = False) -> Change:
    def change(prompts: list[Prompt], draw: Draw) -> None:
        for prompt in prompts:
            for answer in prompt.answers.values():
                p = float(f"{share * (0.4 + 1.2 * answer['score']) if by_score else share:.6g}")
                if column:
                    answer["label_propensity"] = p
                if not draw.chance(p):
                    answer["quality"] = None

    return change


tables("labels-5", "One of twenty qualities is known.", 52, Law(THREE), 1200, 300, form=long, change=labels(0.05))
tables(
    "labels-20",
    "One of five qualities is known, and a number tells of prompts.",
    53,
    Law(TWO_SIDED, features=("x",)),
    600,
    form=long,
    change=labels(0.2),
)
tables(
    "labels-50",
    "Half of the qualities are known, of four models with graded ones.",
    54,
    Law(ladder(4), graded=True),
    300,
    form=nested,
    suffix="jsonl",
    change=labels(0.5),
    change_new=labels(0.5),
)
tables(
    "labels-propensity",
    "Answers with great scores are labelled more often, by a column.",
    55,
    Law(THREE, features=("x",)),
    800,
    form=long,
    change=labels(0.2, True, True),
    change_new=labels(0.2, True, True),
)
tables("labels-few", "A handful of known qualities.", 56, Law(THREE), 100, form=long, change=labels(0.02))

# Logs.
LOGGED = Law(THREE)
LOGGED_SIDES = Law(
    [Model("left", 0.7, 0.002, slope=-1.0), Model("right", 0.7, 0.003, slope=1.0), Model("big", 1.1, 0.01)],
    hard=1.0,
    features=("x",),
)
LOGGED_APART = Law(some(a=(0.3, 0.002), b=(0.5, 0.004), c=(0.7, 0.006)), hard=0.0, own=1.5)


def evenly(prompt: Prompt) -> list[float]:
    return [1.0] * len(prompt.answers)


def mostly_first(prompt: Prompt) -> list[float]:
    return [3.0, 2.0, 1.0]


def by_side(prompt: Prompt) -> list[float]:
    return [0.2, 0.6, 0.2] if prompt.columns["x"] > 0 else [0.6, 0.2, 0.2]


log(
    "log-in-order",
    "Decisions call one model after the other, chosen by chance.",
    lambda seed: long_rows(without(in_order(LOGGED, seed, 1500, 0.7, evenly), "decision")),
    61,
    "csv",
)
log(
    "log-in-order-short",
    "The same of two hundred decisions.",
    lambda seed: json_lines(in_order(LOGGED, seed, 200, 0.7, evenly)),
    62,
)
log(
    "log-in-order-labels",
    "Of calls in order a third of the qualities is known, with propensities of labels.",
    lambda seed: long_rows(in_order(LOGGED, seed, 2000, 0.7, mostly_first, lambda answer: 0.2 + 0.3 * answer["score"])),
    63,
    "csv",
)
log(
    "log-sessions",
    "Four decisions for each prompt.",
    lambda seed: long_rows(in_order(LOGGED, seed, 1600, 0.7, evenly, None, 4)),
    64,
    "csv",
)
log(
    "log-tosses",
    "Each model was called by a toss of its own.",
    lambda seed: json_lines(by_tosses(LOGGED, seed, 800, {"small": 1.0, "medium": 0.7, "large": 0.5})),
    65,
)
log(
    "log-tosses-labels",
    "Tosses for each model, and one of four qualities is known.",
    lambda seed: json_lines(
        by_tosses(LOGGED, seed, 1200, {"small": 0.8, "medium": 0.7, "large": 0.6}, lambda answer: 0.25)
    ),
    66,
)
log(
    "log-tosses-table",
    "Tosses, where the whole table is the other draw.",
    lambda seed: long_rows(by_tosses(LOGGED, seed, 1000, {"small": 0.9, "medium": 0.6, "large": 0.6})),
    67,
    "csv",
    "three-new.csv",
)
log(
    "log-one-call",
    "One call a decision, by chance, and a number that tells of prompts.",
    lambda seed: json_lines(without(in_order(LOGGED_SIDES, seed, 1500, 0.0, evenly), "decision")),
    68,
)
log(
    "log-one-call-by-x",
    "One call a decision, with probabilities that depend on the number.",
    lambda seed: long_rows(without(in_order(LOGGED_SIDES, seed, 1500, 0.0, by_side), "decision")),
    69,
    "csv",
)
log(
    "log-one-call-labels",
    "One call a decision, of which a third has a known quality.",
    lambda seed: json_lines(in_order(LOGGED_SIDES, seed, 2000, 0.0, evenly, lambda answer: 0.35)),
    70,
)
log(
    "log-apart",
    "One call a decision, of models whose answers are independent.",
    lambda seed: json_lines(in_order(LOGGED_APART, seed, 1500, 0.0, evenly)),
    71,
)
log(
    "log-apart-labels",
    "The same with a known quality in half of the decisions.",
    lambda seed: long_rows(in_order(LOGGED_APART, seed, 2000, 0.0, mostly_first, lambda answer: 0.5)),
    72,
    "csv",
)


def poor_rules(prompt: Prompt) -> tuple[list[str], dict[str, float]]:
    return ["large", "small"], {"large": 0.9}


def good_rules(prompt: Prompt) -> tuple[list[str], dict[str, float]]:
    return ["small", "medium", "large"], {"small": 0.6, "medium": 0.55}


def side_rules(prompt: Prompt) -> tuple[list[str], dict[str, float]]:
    return (["right"] if prompt.columns["x"] > 0.3 else ["left"]), {}


def big_rules(prompt: Prompt) -> tuple[list[str], dict[str, float]]:
    return ["big"], {}


log(
    "log-running",
    "A service ran good thresholds and explored one step in five.",
    lambda seed: of_service(LOGGED, seed, 3000, good_rules, 0.2, 0.5),
    73,
)
log(
    "log-running-poor",
    "A service ran poor thresholds and explored, so that something better can be found.",
    lambda seed: of_service(LOGGED, seed, 3000, poor_rules, 0.25, 0.8),
    74,
)
log(
    "log-running-short",
    "The same of three hundred requests.",
    lambda seed: of_service(LOGGED, seed, 300, poor_rules, 0.3, 0.8),
    75,
)
log(
    "log-running-still",
    "A service that did not explore.",
    lambda seed: of_service(LOGGED, seed, 800, good_rules, 0.0, 0.5),
    76,
)
log(
    "log-router",
    "A service ran a router and explored.",
    lambda seed: of_service(LOGGED_SIDES, seed, 2500, side_rules, 0.3, 0.9, True),
    77,
)
log(
    "log-router-poor",
    "A service called one dear model and explored.",
    lambda seed: of_service(LOGGED_SIDES, seed, 2500, big_rules, 0.4, 0.9, True),
    78,
)

# Tables and logs that are refused.
log("log-too-short", "Thirty decisions.", lambda seed: json_lines(in_order(LOGGED, seed, 30, 0.7, evenly)), 81)


def wrong_propensities(seed: int) -> str:
    rows = in_order(LOGGED, seed, 800, 0.7, evenly)
    for row in rows:
        row["propensity"] = float(f"{row['propensity'] * 0.5:.6g}")
    return json_lines(rows)


log("log-wrong", "Propensities are half of what they were.", wrong_propensities, 82)
tables("few-prompts", "Eight prompts.", 83, Law(THREE), 8, 8)


def outside(prompts: list[Prompt], draw: Draw) -> None:
    prompts[17].answers["medium"]["quality"] = 1.5


tables("outside", "A quality above 1.", 84, Law(THREE), 40, change=outside)


def negative(prompts: list[Prompt], draw: Draw) -> None:
    prompts[5].answers["large"]["cost"] = -0.01


tables("negative", "Dollars below 0.", 85, Law(THREE), 40, form=long, change=negative)


def twice(prompts: list[Prompt], draw: Draw) -> None:
    prompts[9].name = prompts[3].name


tables("twice", "A prompt that stands twice.", 86, Law(THREE), 40, change=twice)
tables(
    "seventeen", "Seventeen models, one more than a cascade may have.", 87, Law(ladder(17, factor=1.1, step=0.05)), 80
)


def write_all(folder: Path) -> None:
    for world in WORLDS:
        world.write(folder)


if __name__ == "__main__":
    for each in WORLDS:
        print(f"{each.name}: {each.about}")
