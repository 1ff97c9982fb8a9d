"""Numbers of made-up worlds. All are made from uniform draws by plus, minus, times, divide and square root.

So they are the same on every machine.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.random import PCG64, Generator

WORDS = {
    "code": ["python", "function", "loop", "array", "bug", "compile", "pointer", "module", "import", "syntax"],
    "talk": ["hello", "weather", "story", "friend", "travel", "dinner", "music", "garden", "holiday", "letter"],
    "maths": ["prove", "integral", "matrix", "prime", "theorem", "vector", "sum", "angle", "fraction", "limit"],
}
KINDS = tuple(WORDS)


class Draw:
    """Random numbers, made from the uniform draws of one seed."""

    def __init__(self, seed: int) -> None:
        self._generator = Generator(PCG64(seed))
        self._left: list[float] = []

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        if not self._left:
            self._left = self._generator.random(4096).tolist()[::-1]
        return low + (high - low) * self._left.pop()

    def chance(self, probability: float) -> bool:
        return self.uniform() < probability

    def below(self, count: int) -> int:
        return min(int(self.uniform() * count), count - 1)

    def one_of(self, things: Any) -> Any:
        return things[self.below(len(things))]

    def bell(self, spread: float = 1.0) -> float:
        """Nearly a normal draw."""
        total = 0.0
        for _ in range(12):
            total += self.uniform()
        return spread * (total - 6.0)

    def heavy(self, quarters: int) -> float:
        """A number of at least 1, which is above x with probability x^(-4 / quarters)."""
        u, out = 1.0 - self.uniform(), 1.0
        root = math.sqrt(math.sqrt(u))
        for _ in range(quarters):
            out /= root
        return out


def squashed(x: float) -> float:
    """Maps all numbers into (0, 1)."""
    return 0.5 + 0.5 * x / (1.0 + abs(x))


def clipped(x: float) -> float:
    return min(1.0, max(0.0, x))


def short(x: float) -> float:
    """The text of a number, with six digits."""
    return float(f"{x:.6g}")


@dataclass
class Model:
    """`skill`: how good it is. `usd`: mean dollars of a call. `kinds`: how much better it is on prompts of each
    kind.
    """

    name: str
    skill: float
    usd: float
    kinds: dict[str, float] = field(default_factory=dict)
    slope: float = 0.0  # how much better where x is greater
    seconds: float = 1.0


@dataclass
class Prompt:
    name: str
    columns: dict[str, Any]
    answers: dict[str, dict[str, Any]]


# Functions from an answer's quality to a judge's score.
JUDGES: dict[str, Callable[[float, Draw], float]] = {
    "good": lambda q, d: clipped(0.28 + 0.44 * q + d.bell(0.16)),
    "fair": lambda q, d: clipped(0.33 + 0.34 * q + d.bell(0.2)),
    "bad": lambda q, d: clipped(0.43 + 0.14 * q + d.bell(0.2)),
    "blind": lambda q, d: d.uniform(),
    "constant": lambda q, d: 0.5,
    "binary": lambda q, d: float((q > 0.5) != d.chance(0.12)),
    "tied": lambda q, d: round(4 * clipped(0.2 + 0.6 * q + d.bell(0.15))) / 4,
    "contrary": lambda q, d: clipped(0.7 - 0.4 * q + d.bell(0.15)),
    "stars": lambda q, d: 1 + round(4 * clipped(0.15 + 0.7 * q + d.bell(0.15))),
}


@dataclass
class Law:
    """How prompts and their answers come about."""

    models: list[Model]
    hard: float = 2.0  # how much a prompt's difficulty lowers the skill of all models
    own: float = 0.5  # the size of the noise that each model has for itself
    graded: bool = False  # qualities between 0 and 1
    judges: dict[str, str] = field(default_factory=lambda: {"score": "good"})
    dollars: str = "even"  # or "heavy", "heavier"
    features: tuple[str, ...] = ()  # some of x, z, kind, prompt, embedding
    latency: bool = False
    scale: float = 1.0  # the factor on qualities when they are written

    def prompts(self, seed: int, count: int, prefix: str = "p") -> list[Prompt]:
        draw = Draw(seed)
        return [self.prompt(draw, f"{prefix}{number}") for number in range(count)]

    def prompt(self, draw: Draw, name: str) -> Prompt:
        kind, x, difficulty = draw.one_of(KINDS), draw.uniform(-1.0, 1.0), draw.uniform()
        length = {"even": 1.0, "heavy": draw.heavy(2), "heavier": draw.heavy(4)}[self.dollars]
        columns: dict[str, Any] = {}
        for feature in self.features:
            if feature == "x":
                columns["x"] = short(x + 0.1 * draw.bell())
            if feature == "z":
                columns["z"] = short(draw.bell())
            if feature == "difficulty":
                columns["difficulty"] = short(difficulty + 0.1 * draw.bell())
            if feature == "kind":
                columns["kind"] = kind
            if feature == "prompt":
                columns["prompt"] = " ".join(draw.one_of(WORDS[kind]) for _ in range(5 + draw.below(6)))
            if feature == "embedding":
                columns["embedding"] = [short(x + 0.3 * draw.bell()), short(draw.bell()), short(float(kind == "code"))]
        answers = {}
        for model in self.models:
            margin = model.skill + model.kinds.get(kind, 0.0) + model.slope * x - self.hard * difficulty
            right = squashed(2.0 * (margin + self.own * draw.bell()))
            quality = clipped(right + draw.bell(0.05)) if self.graded else float(draw.chance(right))
            answer: dict[str, Any] = {
                "quality": short(quality),
                "cost": short(model.usd * length * draw.uniform(0.5, 1.5)),
            }
            for judge, sort in self.judges.items():
                answer[judge] = short(JUDGES[sort](quality, draw))
            if self.latency:
                answer["latency"] = short(model.seconds * draw.uniform(0.6, 1.4) * draw.heavy(1))
            answer["quality"] = short(answer["quality"] * self.scale)
            answers[model.name] = answer
        return Prompt(name, columns, answers)


# Functions that write tables in several forms.


def cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return json.dumps(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def csv_text(header: list[str], rows: list[list[Any]], delimiter: str = ",") -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([[cell(value) for value in row] for row in rows])
    return out.getvalue()


def wide(prompts: list[Prompt], delimiter: str = ",") -> str:
    """A row for each prompt."""
    first = prompts[0]
    columns, models = list(first.columns), list(first.answers)
    others = [name for name in first.answers[models[0]] if name != "quality"]
    header = ["prompt_id", *columns]
    for model in models:
        header += [model, *(f"{model}|{name}" for name in others)]
    rows = []
    for prompt in prompts:
        row = [prompt.name, *(prompt.columns[name] for name in columns)]
        for model in models:
            answer = prompt.answers[model]
            row += [answer["quality"], *(answer[name] for name in others)]
        rows.append(row)
    return csv_text(header, rows, delimiter)


def answer_rows(prompts: list[Prompt]) -> list[dict[str, Any]]:
    return [
        {"prompt_id": prompt.name, **prompt.columns, "model": model, **answer}
        for prompt in prompts
        for model, answer in prompt.answers.items()
    ]


def long(prompts: list[Prompt], delimiter: str = ",") -> str:
    """A row for each answer."""
    return long_rows(answer_rows(prompts), delimiter)


def long_rows(rows: list[dict[str, Any]], delimiter: str = ",") -> str:
    header = list(rows[0])
    return csv_text(header, [[row.get(name) for name in header] for row in rows], delimiter)


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def nested(prompts: list[Prompt]) -> str:
    """An object for each prompt."""
    return lines([{"prompt_id": prompt.name, **prompt.columns, "models": prompt.answers} for prompt in prompts])


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
