"""Every option of fits, tests, frontiers and checks, declared once: for Python, for the command and for its help."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

import numpy as np

from .errors import Lacking, Refusal
from .groups import Floats
from .kinds import Aim, AimKind
from .policies import KINDS
from .sources.evaluator import NONE
from .text import nearest, nearest_text

MOST_NUMBER = 1e9
#: Models that are fitted or checked together.
MOST_MODELS = 16
MOST_CALL_USD = 1e6


@dataclass(frozen=True)
class Option:
    """An option of a command, or an argument of a function, by the name that Python gives it.

    `type`: "number", "numbers", "text", "texts", "flag", "file" or "folder". A number lies between `least` and `most`,
    above `least` where `open_below`; `wanted` says so to people. `words`: those that are allowed.
    """

    name: str
    help: str
    type: str = "number"
    default: Any = None
    least: float = -math.inf
    most: float = math.inf
    open_below: bool = False
    wanted: str = ""
    words: tuple[str, ...] = ()
    place: bool = False  #: of the command: known by its place, and needed
    needed: bool = False

    def check(self, value: Any) -> None:
        """Raises Refusal for a number that is out of range and a word that is unknown."""
        if value is None:
            return
        for one in value if self.type in ("numbers", "texts") else (value,):
            if self.words and one not in self.words:
                words = [word for word in self.words if word]
                some = (", ".join(words[:-1]), words[-1])
                raise Refusal(
                    self.name, one, "unknown" + nearest_text(nearest(str(one), self.words)), f"use {' or '.join(some)}"
                )
            if self.type not in ("number", "numbers"):
                continue
            sound = self.least < one if self.open_below else self.least <= one
            if not (sound and one <= self.most):
                raise Refusal(self.name, float(one), "out of range", f"give {self.wanted}")


KIND_WORDS = (*(kind for kind in ("router", "thresholds", "indices", "routed")), "auto")
OPENINGS = ("in_order", "independent", "apart")
ESTIMATORS = ("plugin", "ips", "snips", "dr")
FORMATS = ("text", "json", "markdown", "csv")

_ALL = (
    Option(
        "table", "a table of outcomes or a log of decisions: CSV, JSON lines or a folder of logs.", "file", place=True
    ),
    Option("cascade", "the cascade's file, as a fit or a service wrote it.", "file", place=True),
    Option(
        "price",
        "utility per dollar: of two answers, how much quality a dollar is worth.",
        least=0.0,
        most=MOST_NUMBER,
        wanted="utility per dollar, a number from 0 to 1e9, such as 5",
    ),
    Option(
        "max_usd",
        "dollars per prompt that are not exceeded on average.",
        least=0.0,
        most=MOST_NUMBER,
        open_below=True,
        wanted="dollars per prompt, a finite number above 0, such as 0.001",
    ),
    Option(
        "min_quality", "the mean quality that is reached.", least=0.0, most=1.0, wanted="a mean quality from 0 to 1"
    ),
    Option(
        "max_latency",
        "seconds that the calls of a prompt, one after the other, take at the most for 95% of the prompts.",
        least=0.0,
        most=MOST_NUMBER,
        open_below=True,
        wanted="seconds, a finite number above 0, such as 2.5",
    ),
    Option(
        "evaluator",
        "what is seen of an answer when its model was called: a judge's score or score:NAME, quality (the truth), or "
        "none where a router calls one model; it must be given.",
        "text",
    ),
    Option(
        "context",
        "what is known of a prompt before any call: text:K, length, a column's name or raw:NAME; a list.",
        "texts",
        (),
    ),
    Option(
        "kind",
        "the kind of cascade: router (a model for each prompt by its context), thresholds (one order of models), "
        "indices (an order for each prompt), routed (a model or an order with thresholds for each prompt) or auto.",
        "text",
        "auto",
        words=KIND_WORDS,
    ),
    Option(
        "judge_usd",
        "dollars of judging an answer, for each call of a cascade of several models; if nobody says, judging is taken "
        "to be free, and the verdict says so.",
        least=0.0,
        most=MOST_CALL_USD,
        wanted="dollars of judging an answer, a number from 0 to 1e6",
    ),
    Option(
        "openings",
        "of a log, which of its calls stands for a call of the cascade: in_order (the call at the same place), "
        "independent (any, where each model was called by a toss of its own) or apart (models' answers are taken to be "
        "independent).",
        "text",
        "in_order",
        words=OPENINGS,
    ),
    Option(
        "forget",
        "of indices: the half-life, in requests, of what is learned, the fit's samples included; 0 where nothing "
        "fades.",
        default=0.0,
        least=0.0,
        most=MOST_NUMBER,
        wanted="a half-life in requests, or 0, where nothing fades",
    ),
    Option(
        "c",
        "of indices: the width of the bonus by which models are called to learn of them.",
        default=0.0,
        least=0.0,
        most=MOST_NUMBER,
        wanted="0 or more, such as 0.2",
    ),
    Option(
        "explore",
        "while it runs: with this probability a drawn model is called next, or its answer deployed, so that a log "
        "tells what other cascades would bring; all models of the table are then in the cascade.",
        default=0.0,
        least=0.0,
        most=1.0,
        wanted="a probability, from 0 to 1",
    ),
    Option("against", "the model alone that it is held against; if none is named, the fit's best.", "text", ""),
    Option(
        "estimator",
        "how values are found from what the table knows; if none is named, the best that it identifies.",
        "text",
        "",
        words=("", *ESTIMATORS),
    ),
    Option("test", "the table that is judged on: another one of the same models.", "file", needed=True),
    Option(
        "prices",
        "utility per dollar; a list.",
        "numbers",
        (),
        least=0.0,
        most=MOST_NUMBER,
        wanted="utility per dollar, numbers from 0 to 1e9, such as 5,50",
    ),
    # How tables are read.
    Option("models", "these models alone; a list.", "texts", ()),
    Option(
        "missing",
        "what is done with prompts that lack cells: refuse the table, or drop them.",
        "text",
        "refuse",
        words=("refuse", "drop"),
    ),
    Option(
        "scale",
        "the range of a judge or of quality where it is not 0 to 1: score=1:5, quality=0:100 or score:NAME=1:10; may "
        "be given several times.",
        "texts",
        (),
    ),
    Option(
        "prices_file",
        "a TOML file with dollars for a million tokens in and out of each model, for answers that have token counts "
        "alone.",
        "file",
        "",
    ),
    Option(
        "free_calls",
        "costs of 0 of a model that costs elsewhere: refused, or allowed (a cache).",
        "text",
        "refused",
        words=("refused", "allowed"),
    ),
    Option(
        "repeats",
        "further rows of a prompt and model in a long table: refused, or allowed (more answers).",
        "text",
        "refused",
        words=("refused", "allowed"),
    ),
    # What a command writes.
    Option("out", "the file that is written.", "file", "cascade.json"),
    Option("force", "what is there already is replaced.", "flag", False),
    Option(
        "rows",
        "rows.csv is written too: what becomes of each prompt by each cascade and each model alone.",
        "flag",
        False,
    ),
    Option(
        "figures", "the formats of figures: svg, pdf or png; a list.", "texts", ("svg",), words=("svg", "pdf", "png")
    ),
    Option("format", "how results are printed: text, json, markdown or csv.", "text", "text", words=FORMATS),
)
OPTIONS: dict[str, Option] = {option.name: option for option in _ALL}

#: Options whose name on the command line is another.
SPELT = {"prices": "price", "prices_file": "prices"}

_FIT = ("evaluator", "context", "kind", "judge_usd")
_READING = ("missing", "scale", "prices_file", "free_calls", "repeats")


@dataclass(frozen=True)
class Command:
    """A command of the command line: its words, and its options by name."""

    words: tuple[str, ...]
    help: str
    options: tuple[Option, ...]


def _options(*names: str, **defaults: Any) -> tuple[Option, ...]:
    return tuple(replace(OPTIONS[name], default=defaults.get(name, OPTIONS[name].default)) for name in names)


_FIT_NAMES = ("price", "max_usd", "min_quality", "max_latency", "forget", "c", *_FIT, "openings")
COMMANDS: tuple[Command, ...] = (
    Command(
        ("cascade", "fit"),
        "the cascade that is best at a price, or keeps a bound on dollars or quality, and what it promises",
        _options("table", *_FIT_NAMES, "models", *_READING, "out", "force", "explore", "format"),
    ),
    Command(
        ("cascade", "test"),
        "what a cascade does on another table, beside one model alone, with intervals",
        _options(
            "cascade",
            "table",
            "against",
            "evaluator",
            "judge_usd",
            "estimator",
            "openings",
            *_READING,
            "format",
            evaluator="",
        ),
    ),
    Command(
        ("cascade", "frontier"),
        "quality against dollars: cascades over a range of prices, models alone, mixtures of models",
        (
            *_options("table", "test", "prices", *_FIT, "models", *_READING, kind="thresholds"),
            replace(
                OPTIONS["out"],
                type="folder",
                default=None,
                needed=True,
                help="the folder of frontier.csv and a page with the figure.",
            ),
            *_options("figures", "rows", "force", "format"),
        ),
    ),
    Command(("cascade", "show"), "a cascade's file in words", _options("cascade", "format")),
    Command(
        ("trace", "check"),
        "what a table holds, and what routing between its models can pay: best single model, index policy, fixed "
        "cascade, bound",
        _options(
            "table", "prices", "evaluator", "models", *_READING, "format", prices=(5.0, 50.0), evaluator="quality"
        ),
    ),
)


@dataclass(frozen=True)
class FitSettings:
    """What a cascade is fitted for, and with what."""

    aim: Aim
    evaluator: str
    context: tuple[str, ...] = ()
    kind: str = "auto"
    judge_usd: Optional[float] = None
    openings: str = "in_order"
    forget: float = 0.0
    c: float = 0.0
    explore: float = 0.0
    router: Optional[Any] = None  #: an estimator of the caller's
    estimated: bool = False  #: whether the table's qualities are estimates

    @property
    def as_asked(self) -> bool:
        """Whether the one kind is deployed also where it does not pay; thresholds can be those of one model."""
        return self.kind not in ("auto", "thresholds")

    @property
    def judge(self) -> float:
        """Dollars of judging an answer."""
        return self.judge_usd or 0.0

    @property
    def kinds(self) -> list[str]:
        """That are tried, but for single models."""
        return [kind for kind in KINDS if self.tries(kind)]

    def tries(self, kind: str) -> bool:
        """Whether the kind can be had and is asked for."""
        if kind not in KIND_WORDS or self.kind not in ("auto", kind):
            return False
        if "judge" in KINDS[kind].needs and self.evaluator == NONE:
            return False
        if kind == "indices":  # without a context they are those of every prompt; of estimates they learn nothing
            return not self.estimated
        return "context" not in KINDS[kind].needs or bool(self.context)

    @property
    def uses_context(self) -> bool:
        """Whether features are fitted."""
        return bool(self.context) and any("context" in KINDS[kind].needs for kind in self.kinds)

    def require_sound(self) -> None:
        """Raises Refusal for a number that is out of range, where no kind is tried, and for what none uses."""
        aim = self.aim
        OPTIONS[aim.kind.value].check(aim.value)
        for name, value in (("max_latency", aim.max_latency), *((n, getattr(self, n)) for n in _NUMBERS)):
            OPTIONS[name].check(value)
        for name in ("kind", "openings"):
            OPTIONS[name].check(getattr(self, name))
        for name in ("forget", "c"):
            if getattr(self, name) > 0.0 and self.kind != "indices":
                raise Refusal(name, None, "only indices learn while they run", "use it with {kind:indices}")
        if self.evaluator == NONE and self.judge_usd is not None:
            raise Refusal("judge_usd", None, "with {evaluator:none} no answer is judged", "leave it out")
        if self.context and self.kind == "thresholds":
            raise Refusal(
                "context",
                None,
                "thresholds do not use it, they are the same for every prompt",
                "use it with {kind} indices, router or routed",
            )
        if self.router is not None and self.kind not in ("auto", "router", "routed"):
            raise Refusal("router", None, f"{self.kind} have no router", "use it with {kind} router or routed")
        if self.kinds:
            return
        if self.evaluator == NONE and self.kind not in ("auto", "router"):
            raise Refusal("evaluator", NONE, "only a router sees no answer", "use it with {kind:router}")
        if self.estimated and self.kind == "indices":
            raise Refusal(
                "kind",
                "indices",
                "some qualities are not known",
                "leave such prompts out ({missing:drop}), or use another kind",
            )
        raise Refusal("", None, "a router goes by the prompt's features", "give {context}, such as text:16,length")

    def require_binding(self, usd: Floats) -> None:
        """Raises Refusal for a bound on dollars above what calling all models costs: it was meant for more prompts.

        `usd`: rows x models.
        """
        every = float(usd.sum()) / len(usd) + usd.shape[1] * self.judge
        if self.aim.on_usd and self.aim.value >= every:
            raise Refusal(
                "max_usd",
                self.aim.value,
                f"is in dollars per prompt, and calling every model takes no more than {every:.3g} of them",
                f"for a bound per 1,000 prompts give {{max_usd:{self.aim.value / 1000.0:g}}}, for none {{price:0}}",
            )


_NUMBERS = ("judge_usd", "forget", "c", "explore")


def aim_of(
    price: Optional[float], max_usd: Optional[float], min_quality: Optional[float], max_latency: Optional[float]
) -> Aim:
    """Raises Refusal unless exactly one of the first three is given."""
    values = {AimKind.PRICE: price, AimKind.MAX_USD: max_usd, AimKind.MIN_QUALITY: min_quality}
    given = [(kind, value) for kind, value in values.items() if value is not None]
    if len(given) != 1:
        raise Refusal(
            "",
            None,
            f"{'nothing says' if not given else 'several things say'} what the cascade is for",
            "give one of {price}, {max_usd} and {min_quality}: utility per dollar, dollars per prompt, a mean quality",
        )
    return Aim(given[0][0], float(given[0][1]), max_latency)


def require_latency(aim: Aim, source: str, models: Sequence[str], latency: Optional[Floats], is_log: bool) -> None:
    """Under a bound on latency: raises Refusal for a log, DataError for a table that has none."""
    if aim.max_latency is None:
        return
    if is_log:
        raise Refusal("max_latency", None, "not of a log", "give a table with every model's answers and latencies")
    if latency is None or np.isnan(latency).all():
        raise Lacking(
            f"{source}: has no latencies; give a column `latency` (wide: `{models[0]}|latency`) in seconds, or leave "
            "out {max_latency}"
        )


def require_log_for(openings: str, is_log: bool, estimator: str = "") -> None:
    """Raises Refusal for openings of what is no log."""
    OPTIONS["openings"].check(openings)
    if openings != "in_order" and not is_log:
        raise Refusal("openings", None, "is of logs of decisions, and this table is none", "leave it out")
    if openings == "apart" and estimator:
        raise Refusal("openings", "apart", "has an estimate of its own, the models' laws", "leave out {estimator}")


def require_few_models(
    source: str, models: Sequence[str], quality: Floats, usd: Floats, price: float, done: str
) -> None:
    """Raises DataError that names those that are most useful at the price. quality, usd: rows x models."""
    if len(models) <= MOST_MODELS:
        return
    utility, best = quality - price * usd, np.full(len(quality), -np.inf)
    chosen: list[int] = []
    while len(chosen) < MOST_MODELS:
        sums = np.maximum(best[:, None], utility).sum(axis=0)
        sums[chosen] = -np.inf
        chosen.append(int(np.argmax(sums)))
        best = np.maximum(best, utility[:, chosen[-1]])
    raise Lacking(
        f"{source}: has {len(models)} models; at most {MOST_MODELS} are {done} together; name those ({{models}}): "
        + ",".join(models[model] for model in chosen)
    )


def command_of(words: Iterable[str]) -> Optional[Command]:
    """By its words."""
    found = tuple(words)
    return next((command for command in COMMANDS if command.words == found), None)
