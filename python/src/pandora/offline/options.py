"""Every option of fits, tests, frontiers and checks, declared once: for Python, for the command and for its help."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from inspect import cleandoc
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
    a table of outcomes or a log of decisions: CSV, JSON lines, Parquet, a folder of logs or the URL of a service's
    database
export text place lm-eval|promptfoo|alpaca-eval|llmrouter|openai-batch|litellm|langfuse|helicone|routerbench
    the program that wrote the export: lm-eval, promptfoo, alpaca-eval, llmrouter, openai-batch, litellm, langfuse,
    helicone or routerbench
source file place
    the exported file or folder; of litellm what /spend/logs answers, or the table LiteLLM_SpendLogs as JSON lines or
    CSV
cascade file place
    the cascade's file, as a fit or a service wrote it
price number [0,1e9]
    quality per dollar: 1 / (the dollars that one more right answer is worth to you)
    > utility per dollar, a number from 0 to 1e9, such as 5
max_usd number (0,1e9]
    the most dollars per prompt (not per 1,000) that the cascade may cost on average
    > dollars per prompt, a finite number above 0, such as 0.001
min_quality number [0,1]
    the least mean quality that the cascade must reach
    > a mean quality from 0 to 1
max_latency number (0,1e9]
    seconds that the calls of a prompt, one after the other, may take for 95% of the prompts
    > seconds, a finite number above 0, such as 2.5
evaluator text
    what the cascade sees of an answer before it decides: a judge's score (score or score:NAME) or quality (the truth)
context texts
    what is known of a prompt before any call: text:K, length, a column's name or raw:NAME; a list (the kinds router
    and routed need it)
kind text =auto {"|".join(_CASCADES)}|auto
    the kind of cascade: {", ".join(f"{name} ({about})" for name, about in _CASCADES.items())}, or auto (the best of
    these)
judge_usd number [0,1e6]
    dollars that judging an answer costs, for each call of a cascade of several models
    > dollars of judging an answer, a number from 0 to 1e6
openings text =in_order in_order|independent|apart
    for a log: which of its calls stands for a call of the cascade: in_order (the call at the same place), independent
    (any call; for logs in which each model was called by a toss of its own) or apart (for logs of one call per
    request: the answers of models are taken as independent)
forget number =0 [0,1e9]
    for indices: the half-life, in requests, of what the cascade has learned, the fit's samples included; 0 keeps
    everything
    > a half-life in requests, or 0, where nothing fades
c number =0 [0,1e9]
    for indices: the factor of the exploration bonus, by which models are called to learn about them
    > 0 or more, such as 0.2
explore number =0 [0,1]
    the probability with which the running cascade calls a model that is drawn by chance, or deploys the answer of a
    drawn one, so that its log can tell what other cascades would bring; the cascade then keeps all models, also those
    that are never worth calling
    > a probability, from 0 to 1
against text
    the model that the cascade is compared with (default: the best single model of the fit)
estimator text |plugin|ips|snips|dr
    how values are estimated from a log: plugin, ips, snips or dr (default: the best that the log allows)
test file needed
    the table on which cascades are judged: another one of the same models; it must be given
prices numbers [0,1e9]
    quality per dollar: 1 / (the dollars that one more right answer is worth to you); a list
    > utility per dollar, numbers from 0 to 1e9, such as 5,50
models texts
    the models to take: a list, in which a name with a comma stands in quotes; may be given several times
missing text =refuse refuse|drop|failed
    what to do with prompts that lack cells: refuse the table, drop them all, or drop those with a failed call (without
    dollars or a score) and estimate qualities that alone are unknown
scale items
    the range of a judge's scores or of quality, where it is not 0 to 1: score=1:5, quality=0:100 or score:NAME=1:10;
    may be given several times
prices_file file
    a TOML file with the dollars that a million tokens in and out of each model cost, for answers with token counts
    instead of dollars; litellm: the price list of the installed package LiteLLM
filter text
    the answer filter of lm-eval, where the export has several
metric texts
    the metric of lm-eval, or the score of langfuse or helicone, that is the quality, where the export has several; a
    list, where tasks have different ones
characters_per_token number (0,1000]
    how many characters make a token in the prompts and answers of lm-eval and alpaca-eval, which log no tokens
    (default: 4)
    > characters for each token, a number above 0, such as 4
quality file
    a CSV or JSON file with id, quality and, where quality differs by model, model, for exports without quality
free_calls text =refused refused|allowed
    whether a model may cost 0 in every row: refused, or allowed (a cache, a model of your own)
quality_column text
    the column that holds the quality of answers, if it has another name; with a judge, such as score, its scores are
    taken as the quality
prompt_key texts
    the column that identifies a prompt, if it is not prompt_id, sample_id or id; a list, where it takes several
repeats text =refused refused|allowed
    whether a long table may have further rows of a prompt and model: refused, or allowed (several answers)
out file =cascade.json
    the file that is written
policy text =shrunk_weitzman shrunk_weitzman|dow
    the policy that learns the indices: shrunk_weitzman or dow
c_theta number =1 [0,1e6]
    the factor of the bonus on quality that is learned, where the evaluator is a judge
    > 0 or more, such as 1
features file
    features of prompts, as `pandora trace features` writes them
psi number =1 [1,16384]
    without features: how many numbers come with a request, of which the first is 1
    > a whole number from 1 to 16384
refit text =geometric:1.5
    when estimates are computed anew: every_period, every:k, geometric:g or tracking
most_samples number =100000 [0,1e9]
    how many samples of a model are kept; above it the older half is forgotten; 0 keeps all
    > a whole number, or 0
folder folder needed
    the folder for frontier.csv and a page with the figure; it must be given
force flag
    replace the file or folder that is there
rows flag
    write rows.csv too: what each cascade and each single model does with each prompt
figures texts svg|pdf|png
    the formats of figures: svg, pdf or png; a list
config file =cascades.toml
    the file that lists the cascades to serve and says who judges their answers
proxy file
    the configuration of LiteLLM's proxy (default: config.yaml beside the cascades)
host text =127.0.0.1
    the address at which the proxy listens
port number =4000 [1,65535]
    the port at which the proxy listens
    > a port, such as 4000
workers number =1 [1,1000]
    processes of the proxy
    > a number of processes, such as 2
details flag
    also print the kinds that were compared, the calibration and how the promise was found
format text =text text|json|markdown|csv
    how results are printed: text, json, markdown or csv
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
    """A command of the command line: its words, two sentences on what it does, its options in groups, and examples.

    `groups`: headings and options; the first group, of what is used most, has no heading. `examples`: lines of
    commands, and indented below them what they leave or print; CI runs them (scripts/help-pages.py).
    """

    words: tuple[str, ...]
    help: str
    groups: tuple[tuple[str, tuple[Option, ...]], ...]
    examples: str

    @property
    def options(self) -> tuple[Option, ...]:
        """Of all groups."""
        return tuple(option for _, options in self.groups for option in options)

    @staticmethod
    def of(
        words: str, help: str, options: str, examples: str, more: Optional[Mapping[str, str]] = None, **defaults: Any
    ) -> Command:
        """`options`: names, in groups "Heading: name name" between "|". `defaults`: instead of the declared ones.

        `more`: by option, what its help says of this command alone.
        """

        def here(one: Option) -> Option:
            default = defaults.get(one.name, one.default)
            return replace(one, default=default, help=one.help + (more or {}).get(one.name, ""))

        def group(text: str) -> tuple[str, tuple[Option, ...]]:
            heading, _, names = text.rpartition(":")
            return heading.strip(), tuple(here(OPTIONS[name]) for name in names.split())

        return Command(tuple(words.split()), help, tuple(map(group, options.split("|"))), cleandoc(examples))


_READING = "Reading the table: models missing scale prices_file free_calls repeats quality_column prompt_key"
_LEARNING = "Cascades that learn while they run: c forget explore"
_NONE = "; none is for routers, which look at no answer"
_OF_A_FIT = {"evaluator": _NONE + "; it must be given", "judge_usd": "; without it the fit counts judging as free"}
COMMANDS = (
    Command.of(
        "cascade fit",
        "Fits the cascade that is best at a price, or within a bound on dollars or quality, and says what it promises. "
        "Name exactly one of --price, --max-usd and --min-quality.",
        f"table price max_usd min_quality evaluator context kind judge_usd out force details format | {_READING} | "
        f"{_LEARNING} | Latencies and logs: max_latency openings",
        """
        pandora cascade fit experiments/traces/exported.jsonl --price 1 --evaluator quality --context x
            writes cascade.json and prints its models in order, its thresholds, and
            what to expect on new prompts, with 95% intervals, beside the best
            single model.
        pandora cascade fit experiments/traces/exported.jsonl --max-usd 0.1 --evaluator quality --out cheap.json
            looks for the greatest quality at no more than $0.10 per prompt on
            average.
        """,
        more=_OF_A_FIT,
    ),
    Command.of(
        "cascade test",
        "Judges a cascade on a table that it was not fitted on, beside one model alone, with intervals. The table may "
        "be a log of decisions; its propensities then weight the prompts.",
        f"cascade table against evaluator judge_usd format | {_READING.replace('models ', '')} | "
        "Logs: estimator openings",
        """
        pandora cascade fit experiments/traces/exported.jsonl --price 1 --evaluator quality
        pandora cascade test cascade.json experiments/traces/exported.jsonl
            prints quality, dollars and utility of the cascade and of the single
            model, their difference, and whether the promise is kept. Here both use
            one table; a real test uses prompts that the fit did not see.
        """,
        more={"evaluator": _NONE + " (default: that of the fit)", "judge_usd": " (default: that of the fit)"},
    ),
    Command.of(
        "cascade frontier",
        "Draws quality against dollars for cascades over a range of prices, for models alone and for mixtures of two. "
        "It fits on one table and judges on another.",
        f"table test prices evaluator context kind judge_usd folder figures rows force format | {_READING}",
        """
        grep '"part":"online"' experiments/traces/exported.jsonl >fit.jsonl
        grep '"part":"calibration"' experiments/traces/exported.jsonl >test.jsonl
        pandora cascade frontier fit.jsonl --test test.jsonl --evaluator quality --price 0.5,1,2 --out frontier
            leaves frontier/frontier.csv and a figure. Choose the price at which a
            further dollar brings less quality than it is worth to you.
        """,
        more=_OF_A_FIT,
        kind="thresholds",
        figures=("svg",),
    ),
    Command.of(
        "cascade new",
        "Makes a cascade that has learned nothing yet and learns while it runs. It starts by calling every model.",
        f"models price evaluator policy c out force format | {_LEARNING.replace(' c ', ' c_theta ')} refit "
        "most_samples | Features of requests: features psi",
        """
        pandora cascade new --models small,large --price 2 --evaluator score --psi 3
            writes cascade.json, which `pandora serve` and the Python package run; a
            request comes with three numbers.
        """,
        more={"evaluator": "; it must be given", "models": "; it must be given"},
        c=0.2,
    ),
    Command.of(
        "cascade show",
        "Puts a cascade's file into words. It also shows what a cascade has learned in a service.",
        "cascade details format",
        """
        pandora cascade new --models small,large --price 2 --evaluator score
        pandora cascade show cascade.json
            prints the models and says that nothing is promised yet.
        """,
    ),
    Command.of(
        "trace check",
        "Reads a table of outcomes, says what it holds and estimates what calling several models can pay. Run it "
        "before a fit.",
        f"table prices evaluator format | {_READING}",
        """
        pandora trace check experiments/traces/exported.jsonl --price 1
            prints prompts, models and their means; then the utility of the best
            single model, of a fixed cascade, of the index policy and of a bound
            that no policy passes. Calling several models pays if the interval of
            a gain lies above 0.
        """,
        prices=(5.0, 50.0),
        evaluator="quality",
    ),
    Command.of(
        "import",
        "Makes a table of outcomes from the export of another program, and says what was left out. Fits and checks "
        "read the table.",
        "export source out quality prices_file force format | Forms of exports: filter metric characters_per_token",
        """
        pandora import promptfoo examples/exports/promptfoo.jsonl --out table.jsonl
            writes a row for each prompt and model with its quality and dollars.
        pandora import litellm examples/exports/litellm.jsonl --quality examples/exports/ratings.csv --out spend.jsonl
            joins qualities to LiteLLM's spend logs by the request_id, which
            ratings.csv calls id.
        """,
        out="table.jsonl",
    ),
    Command.of(
        "serve",
        "Starts LiteLLM's proxy with cascades, feedback and a page that shows what they do (/cascade). It needs the "
        "packages of examples/gateway/requirements.txt, or `pip install './python[proxy]'` in a clone.",
        "config proxy host port workers",
        """
        pandora serve --config cascades.toml --workers 2
            serves the cascades of that file at http://127.0.0.1:4000, with the
            models of config.yaml; examples/gateway/README.md leads through it.
        """,
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
    def used_context(self) -> tuple[str, ...]:
        """The context if features are fitted, else nothing."""
        return self.context if any("context" in KINDS[kind].needs for kind in self.kinds) else ()

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
