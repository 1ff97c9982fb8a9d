"""Every option of fits, tests, frontiers and checks, declared once: for Python, for the command and for its help."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Optional

import numpy as np

from ..errors import DataError
from ..spelling import option
from .choose import SINGLE
from .errors import Refusal
from .groups import Floats
from .kinds import Aim, AimKind
from .policies import KINDS
from .sources.evaluator import NONE
from .text import listed, nearest_text

#: Models that are fitted or checked together.
MOST_MODELS = 16


_CASCADES = {kind.name: kind.about for kind in KINDS.values() if kind.name != SINGLE}

#: One entry an option: `name type [=default] [range] [word|word]`, or `name type place [word|word]` (known by its place
#: in a command, and needed) or `name type needed`; below it, indented, its help, and after ">" what a message asks for.
#: Types: number, numbers, text, texts (lists with commas), items (may be given several times; commas stay), flag, file
#: and folder. A range is [least,most], with "(" without its least.
_ALL = f"""
table file place
    a table of outcomes or a log of decisions: CSV, JSON lines or a folder of logs.
export text place lm-eval|promptfoo|alpaca-eval|llmrouter|openai-batch|litellm|langfuse|helicone|routerbench
    the program whose export it is: lm-eval, promptfoo, alpaca-eval, llmrouter, openai-batch, litellm, langfuse,
    helicone or routerbench.
source file place
    what it exported: a file or a folder.
cascade file place
    the cascade's file, as a fit or a service wrote it.
price number [0,1e9]
    utility per dollar: of two answers, how much quality a dollar is worth.
    > utility per dollar, a number from 0 to 1e9, such as 5
max_usd number (0,1e9]
    dollars per prompt that are not exceeded on average.
    > dollars per prompt, a finite number above 0, such as 0.001
min_quality number [0,1]
    the mean quality that is reached.
    > a mean quality from 0 to 1
max_latency number (0,1e9]
    seconds that the calls of a prompt, one after the other, take at the most for 95% of the prompts.
    > seconds, a finite number above 0, such as 2.5
evaluator text
    what is seen of an answer when its model was called: a judge's score or score:NAME, quality (the truth), or none
    where a router calls one model; it must be given.
context texts
    what is known of a prompt before any call: text:K, length, a column's name or raw:NAME; a list.
kind text =auto {"|".join(_CASCADES)}|auto
    the kind of cascade: {", ".join(f"{name} ({about})" for name, about in _CASCADES.items())} or auto.
judge_usd number [0,1e6]
    dollars of judging an answer, for each call of a cascade of several models; if nobody says, judging is taken to be
    free, and the verdict says so.
    > dollars of judging an answer, a number from 0 to 1e6
openings text =in_order in_order|independent|apart
    of a log, which of its calls stands for a call of the cascade: in_order (the call at the same place), independent
    (any, where each model was called by a toss of its own) or apart (models' answers are taken to be independent).
forget number =0 [0,1e9]
    of indices: the half-life, in requests, of what is learned, the fit's samples included; 0 where nothing fades.
    > a half-life in requests, or 0, where nothing fades
c number =0 [0,1e9]
    of indices: the width of the bonus by which models are called to learn of them.
    > 0 or more, such as 0.2
explore number =0 [0,1]
    while it runs: with this probability a drawn model is called next, or its answer deployed, so that a log tells what
    other cascades would bring; all models of the table are then in the cascade.
    > a probability, from 0 to 1
against text
    the model alone that it is held against; if none is named, the fit's best.
estimator text |plugin|ips|snips|dr
    how values are found from what the table knows; if none is named, the best that it identifies.
test file needed
    the table that is judged on: another one of the same models.
prices numbers [0,1e9]
    utility per dollar; a list.
    > utility per dollar, numbers from 0 to 1e9, such as 5,50
models texts
    these models alone; a list, in which a name with a comma stands in quotes; may be given several times.
missing text =refuse refuse|drop
    what is done with prompts that lack cells: refuse the table, or drop them.
scale items
    the range of a judge or of quality where it is not 0 to 1: score=1:5, quality=0:100 or score:NAME=1:10; may be given
    several times.
prices_file file
    a TOML file with dollars for a million tokens in and out of each model, for answers that have token counts alone;
    litellm: the list of the package LiteLLM that is installed.
filter text
    the answer filter of lm-eval, where there are several.
metric texts
    the metric of lm-eval or the score of langfuse or helicone that is the quality, where there are several; a list,
    where tasks have other ones.
characters_per_token number (0,1000]
    how many characters of the prompts and answers of lm-eval and alpaca-eval, which log no tokens, are a token; 4 if
    nobody says.
    > characters for each token, a number above 0, such as 4
quality file
    a file with id, quality and, where it differs by model, model, CSV or JSON, for exports that have no quality.
free_calls text =refused refused|allowed
    costs of 0: refused, or allowed (a cache, a model of your own).
quality_column text
    the column that is the quality of answers, if it is not called so; of a judge, such as score, its scores are taken
    for the quality.
prompt_key texts
    the column whose value makes a prompt, if that is not prompt_id, sample_id or id; a list, where it takes several.
repeats text =refused refused|allowed
    further rows of a prompt and model in a long table: refused, or allowed (more answers).
out file =cascade.json
    the file that is written.
policy text =shrunk_weitzman shrunk_weitzman|dow
    the policy by which the indices are learned.
c_theta number =1 [0,1e6]
    the width of the bonus on a quality that is learned, where the evaluator is a judge.
    > 0 or more, such as 1
features file
    features of prompts, as `pandora trace features` writes them.
psi number =1 [1,16384]
    without features: how many numbers a request comes with, of which the first is 1.
    > a whole number from 1 to 16384
refit text =geometric:1.5
    when estimates are solved anew (docs/conventions.md).
most_samples number =100000 [0,1e9]
    of a model; of more, the older half is forgotten; 0: any number.
    > a whole number, or 0
folder folder needed
    the folder of frontier.csv and a page with the figure.
force flag
    what is there already is replaced.
rows flag
    rows.csv is written too: what becomes of each prompt by each cascade and each model alone.
figures texts svg|pdf|png
    the formats of figures: svg, pdf or png; a list.
config file =cascades.toml
    the cascades that are served, and who judges their answers.
proxy file
    the configuration of LiteLLM's proxy; config.yaml beside the cascades if nobody says.
host text =127.0.0.1
    the address at which the proxy listens.
port number =4000 [1,65535]
    the port at which it listens.
    > a port, such as 4000
workers number =1 [1,1000]
    processes of the proxy.
    > a number of processes, such as 2
details flag
    also prints the kinds that were compared, the calibration and how the promise was found.
format text =text text|json|markdown|csv
    how results are printed: text, json, markdown or csv.
"""

#: Types whose values are several.
LISTS = ("numbers", "texts", "items")


@dataclass(frozen=True)
class Option:
    """An option of a command, or an argument of a function, by the name that Python gives it.

    A number lies between `least` and `most`; `wanted` says so to people. `words`: those that are allowed.
    """

    name: str
    type: str
    help: str
    wanted: str = ""
    default: Any = None
    least: float = -math.inf
    most: float = math.inf
    words: tuple[str, ...] = ()
    place: bool = False
    needed: bool = False

    @staticmethod
    def of_text(name: str, type: str, rest: str, help: str, wanted: str) -> Option:
        """An option from its entry in _ALL."""
        default: Any = {"number": None, "numbers": (), "texts": (), "items": (), "flag": False}.get(type, "")
        out = Option(name, type, help, wanted, default, place=rest.startswith("place"), needed=rest == "needed")
        for part in rest.split():
            if part[0] == "=":
                out = replace(out, default=float(part[1:]) if type == "number" else part[1:])
            elif part[0] in "[(":
                least, most = map(float, part[1:-1].split(","))
                out = replace(out, least=math.nextafter(least, most) if part[0] == "(" else least, most=most)
            elif "|" in part:
                out = replace(out, words=tuple(part.split("|")))
        return out

    def check(self, value: Any) -> None:
        """Raises Refusal for a number that is out of range and a word that is unknown."""
        name = SPELT.get(self.name, self.name)
        for one in value if self.type in LISTS else () if value is None else (value,):
            if self.words and one not in self.words:
                *words, last = (word for word in self.words if word)
                near = nearest_text(str(one), self.words)
                raise Refusal(name, one, f"unknown{near}", f"use {', '.join(words)} or {last}")
            if self.type in ("number", "numbers") and not self.least <= one <= self.most:
                raise Refusal(name, float(one), "out of range", f"give {self.wanted}")


_FORM = re.compile(r"^(\w+) (\w+) ?(.*)\n((?: +[^> ].*\n)+)(?: +> (.*)\n)?", re.MULTILINE)
OPTIONS = {
    name: Option.of_text(name, type, rest, " ".join(help.split()), wanted)
    for name, type, rest, help, wanted in _FORM.findall(_ALL)
}
assert len(OPTIONS) == len(re.findall(r"^\w", _ALL, re.MULTILINE)), "an entry of _ALL is not as _FORM has it"

#: Options whose name on the command line is another.
SPELT = {
    "prices": "price", "prices_file": "prices", "quality_column": "quality", "folder": "out", "export": "kind",
}  # fmt: skip


@dataclass(frozen=True)
class Command:
    """A command of the command line: its words, and its options."""

    words: tuple[str, ...]
    help: str
    options: tuple[Option, ...]

    @staticmethod
    def of(words: str, help: str, options: str, **defaults: Any) -> Command:
        """`options`: their names. `defaults`: other ones than are declared."""
        declared = (OPTIONS[name] for name in options.split())
        return Command(
            tuple(words.split()),
            help,
            tuple(replace(option, default=defaults.get(option.name, option.default)) for option in declared),
        )


_READING = "missing scale prices_file free_calls repeats quality_column prompt_key"
_JUDGING = "evaluator context kind judge_usd"
COMMANDS = (
    Command.of(
        "cascade fit",
        "the cascade that is best at a price, or keeps a bound on dollars or quality, and what it promises",
        f"table price max_usd min_quality max_latency forget c {_JUDGING} openings models {_READING} out force explore "
        "details format",
    ),
    Command.of(
        "cascade test",
        "what a cascade does on another table, beside one model alone, with intervals",
        f"cascade table against evaluator judge_usd estimator openings {_READING} format",
    ),
    Command.of(
        "cascade frontier",
        "quality against dollars: cascades over a range of prices, models alone, mixtures of models",
        f"table test prices {_JUDGING} models {_READING} folder figures rows force format",
        kind="thresholds",
        figures=("svg",),
    ),
    Command.of(
        "cascade new",
        "a cascade that has learned nothing yet and learns while it runs",
        "models price evaluator policy c c_theta features psi refit forget most_samples out force explore format",
        c=0.2,
    ),
    Command.of("cascade show", "a cascade's file in words", "cascade details format"),
    Command.of(
        "trace check",
        "what a table holds, and what routing between its models can pay: best single model, index policy, fixed "
        "cascade, bound",
        f"table prices evaluator models {_READING} format",
        prices=(5.0, 50.0),
        evaluator="quality",
    ),
    Command.of(
        "import",
        "a table of outcomes from what another program exported, with what was left out",
        "export source filter metric prices_file characters_per_token quality out force format",
        out="table.jsonl",
    ),
    Command.of(
        "serve",
        "LiteLLM's proxy with cascades, feedback and a page that shows what they do, /cascade",
        "config proxy host port workers",
    ),
)


@dataclass(frozen=True)
class FitSettings:
    """What a cascade is fitted for, and with what."""

    aim: Aim
    evaluator: str = ""  #: what is seen of an answer; it must be given
    context: tuple[str, ...] = ()
    kind: str = "auto"
    judge_usd: Optional[float] = None
    openings: str = "in_order"
    forget: float = 0.0
    c: float = 0.0
    explore: float = 0.0
    router: Optional[Any] = None  #: an estimator of the caller's
    estimated: bool = False  #: whether the table's qualities are estimates

    @staticmethod
    def of(aim: Aim, given: Mapping[str, Any]) -> FitSettings:
        """`given`: options by name; those that FitSettings does not have are ignored."""
        members = {member.name for member in fields(FitSettings)} - {"aim", "estimated"}
        return FitSettings(aim, **{name: value for name, value in given.items() if name in members})

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
        """The kinds that are tried; single models are always tried too."""
        return [kind for kind in KINDS if self.tries(kind)]

    def tries(self, kind: str) -> bool:
        """Whether the kind can be had and is asked for."""
        if kind not in OPTIONS["kind"].words or self.kind not in ("auto", kind):
            return False
        if "judge" in KINDS[kind].needs and self.evaluator == NONE:
            return False
        # Without a context indices are the same for every prompt, which is allowed; from estimates they cannot learn.
        if kind == "indices":
            return not self.estimated
        return "context" not in KINDS[kind].needs or bool(self.context)

    @property
    def uses_context(self) -> bool:
        """Whether features are fitted."""
        return bool(self.context) and any("context" in KINDS[kind].needs for kind in self.kinds)

    def require_sound(self) -> None:
        """Raises Refusal for a number that is out of range, where no kind is tried, and for what none uses."""
        aim, kind, blind = self.aim, self.kind, self.evaluator == NONE
        OPTIONS[aim.kind.value].check(aim.value)
        OPTIONS["max_latency"].check(aim.max_latency)
        for name in ("judge_usd", "forget", "c", "explore", "kind", "openings"):
            OPTIONS[name].check(getattr(self, name))
        for name in ("forget", "c"):
            if getattr(self, name) > 0.0 and kind != "indices":
                remedy = f"use it with {option('kind', 'indices')}"
                raise Refusal(name, None, "only indices learn while they run", remedy)
        if blind and self.judge_usd is not None:
            raise Refusal("judge_usd", None, f"with {option('evaluator', NONE)} no answer is judged", "leave it out")
        if self.context and kind == "thresholds":
            problem = "thresholds do not use it, they are the same for every prompt"
            raise Refusal("context", None, problem, f"use it with {option('kind')} indices, router or routed")
        if self.router is not None and kind not in ("auto", "router", "routed"):
            raise Refusal("router", None, f"{kind} have no router", f"use it with {option('kind')} router or routed")
        if self.kinds:
            return
        if blind and kind not in ("auto", "router"):
            raise Refusal("evaluator", NONE, "only a router sees no answer", f"use it with {option('kind', 'router')}")
        if self.estimated and kind == "indices":
            remedy = f"leave such prompts out ({option('missing', 'drop')}), or use another kind"
            raise Refusal("kind", kind, "some qualities are not known", remedy)
        remedy = f"give {option('context')}, such as text:16,length"
        raise Refusal("", None, "a router goes by the prompt's features", remedy)

    def of_estimates(self) -> FitSettings:
        """Of a table whose qualities are estimates, from which indices learn nothing. Raises Refusal."""
        out = replace(self, estimated=True)
        out.require_sound()
        return out

    def require_binding(self, usd: Floats) -> None:
        """Raises Refusal for a bound on dollars above what calling all models costs: it was meant for more prompts.

        `usd`: rows x models.
        """
        usd_of_all_models = float(usd.sum()) / len(usd) + usd.shape[1] * self.judge
        if self.aim.on_usd and self.aim.value >= usd_of_all_models:
            raise Refusal(
                "max_usd",
                self.aim.value,
                f"is in dollars per prompt, and calling every model takes no more than {usd_of_all_models:.3g} of them",
                f"for a bound per 1,000 prompts give {option('max_usd', f'{self.aim.value / 1000.0:g}')}, for none "
                f"{option('price', '0')}",
            )


def aim_of(
    price: Optional[float], max_usd: Optional[float], min_quality: Optional[float], max_latency: Optional[float]
) -> Aim:
    """Raises Refusal unless exactly one of the first three is given."""
    given = [(kind, x) for kind, x in zip(AimKind, (price, max_usd, min_quality)) if x is not None]
    if len(given) != 1:
        raise Refusal(
            "",
            None,
            f"{'several things say' if given else 'nothing says'} what the cascade is for",
            f"give one of {option('price')}, {option('max_usd')} and {option('min_quality')}: utility per dollar, "
            "dollars per prompt, a mean quality",
        )
    return Aim(given[0][0], float(given[0][1]), max_latency)


def require_latency(aim: Aim, source: str, models: Sequence[str], latency: Optional[Floats], is_log: bool) -> None:
    """Under a bound on latency: raises Refusal for a log, DataError for a table that has none."""
    if aim.max_latency is None:
        return
    if is_log:
        raise Refusal("max_latency", None, "not of a log", "give a table with every model's answers and latencies")
    if latency is None or np.isnan(latency).all():
        raise DataError(
            f"{source}: has no latencies; give a column `latency` (wide: `{models[0]}|latency`) in seconds, or leave "
            f"out {option('max_latency')}"
        )


def require_log_for(openings: str, is_log: bool, estimator: str = "") -> None:
    """Raises Refusal for openings of what is no log."""
    OPTIONS["openings"].check(openings)
    if openings != "in_order" and not is_log:
        raise Refusal("openings", None, "is of logs of decisions, and this table is none", "leave it out")
    if openings == "apart" and estimator:
        remedy = f"leave out {option('estimator')}"
        raise Refusal("openings", "apart", "has an estimate of its own, the models' laws", remedy)


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
    raise DataError(
        f"{source}: has {len(models)} models; at most {MOST_MODELS} are {done} together; name those "
        f"({option('models')}): " + listed([models[model] for model in chosen])
    )
