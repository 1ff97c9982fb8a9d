"""Cascades: fitting them on a table, testing them on another, and running them."""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import arguments
from .arguments import integer, number, numbers, refused, text, texts
from .errors import PandoraWarning, UsageError
from .features import Features
from .figures import Figure
from .interval import Interval
from .live import RunningCascade, load, new_members, parse, save, text_of
from .live.decision_log import DecisionLog
from .rendering.study import frontier_figure
from .table import Shown, Table
from .trace import Source, Trace, offline, table_of

_MOST_NUMBER = 2**53 - 1

Prompt = Union[str, Sequence[float], npt.NDArray[Any]]


def _interval(found: Any) -> Interval:
    if found is None:
        return Interval(np.nan, np.nan, np.nan)
    return Interval(*(np.nan if found[end] is None else found[end] for end in ("value", "low", "high")))


class CascadeTest(Shown):
    """The results of a cascade on a table. `.quality`, `.usd_per_1000`, `.calls`, `.utility`, `.gain` and `.saving` are
    Intervals over prompts. `.gain` and `.saving` compare with the model `.against`; `.verdict` is a sentence.
    """

    def __init__(self, found: dict[str, Any], table: Table) -> None:
        #: the output of `pandora cascade test --format json`
        self.values = found
        self.table = table
        self.quality = _interval(found["quality"])
        self.usd_per_1000 = _interval(found["usd_per_1000"])
        self.calls = _interval(found["calls"])
        self.utility = _interval(found["utility"])
        self.gain = _interval(found["gain"])
        self.saving = _interval(found["saving"])
        self.against: str = found["against"]
        self.verdict: str = found["verdict"]

    def _shown(self) -> list[Table]:
        return [self.table]


class Frontier(Shown):
    """Quality against dollars. `.points` has a row for each cascade, model and mixture. `.steps` says what more dollars
    buy, and `.figure` shows both. `.metrics` has the field's metrics by name, each an Interval, for the models `.weak`
    and `.strong`.
    """

    def __init__(self, points: Mapping[str, Any], steps: Table, numbers: dict[str, Any]) -> None:
        found = dict(numbers["metrics"])
        self.weak: str = found.pop("weak")
        self.strong: str = found.pop("strong")
        self.metrics: dict[str, Interval] = {name: _interval(value) for name, value in found.items()}
        columns = {k: list(v) if isinstance(v[0], str) else np.array(v) for k, v in points.items()}
        self.points: Table = Table(columns, "frontier")
        self.steps = steps
        self.figure = Figure(frontier_figure(numbers))

    def plot(self, axes: Any = None) -> Any:
        """Draws quality against dollars with matplotlib and numbers the steps as in `.steps`. Returns matplotlib's
        figure.
        """
        return self.figure.draw(axes).figure

    def _shown(self) -> list[Table]:
        return [self.steps]


class Request:
    """A request under way. Iterating yields the models to call; leaving a ``with`` block deploys the best answer so
    far.

    An exception that leaves the block cancels the request.

    >>> cascade = Cascade.new(["small", "large"], price=1.0, evaluator="score")
    >>> with cascade.begin([1.0]) as request:
    ...     for model in request:
    ...         request.observe(dollars=0.01, score=0.9)
    >>> request.deployed in ("small", "large")
    True
    >>> request.feedback(0.9)
    """

    def __init__(self, live: Any, number: int) -> None:
        self._live = live
        #: the number by which the cascade knows it
        self.number = number
        #: the model whose answer was deployed, or None before
        self.deployed: Optional[str] = None
        self._calls = 0
        # what next() said since the last observation
        self._named: Optional[str] = None

    def next(self) -> Optional[str]:
        """Returns the model to call, or None when it is time to deploy."""
        self._named = self._live.next(self.number)
        return self._named

    @property
    def needs_score(self) -> bool:
        """Whether answers must be judged. They need not if only one model can be called and nothing is learned."""
        return bool(self._live.needs_score(self.number))

    def observe(
        self,
        dollars: float,
        score: Union[float, Sequence[float]] = (),
        model: Optional[str] = None,
        latency: Optional[float] = None,
    ) -> None:
        """Reports the call of a model: its cost, and the score that the cascade's evaluator gives the answer.

        `score` is the quality itself if the evaluator is "quality", otherwise the judge's score, in [0, 1]. With
        "column:NAME" it is a list of numbers. It may be left out if not needs_score. `model` must be the model to call
        next. Without it, the call counts for the model that next() (or iterating) returned since the last observation;
        UsageError if there was none. `latency`, in seconds, is for the decision log.
        """
        named, what = self._to_call(model, "observe()"), f"request {self.number}:"
        spent, scores = number(f"{what} dollars", dollars), numbers(f"{what} score", score)
        seconds = float("nan") if latency is None else number(f"{what} latency", latency)
        self._live.observe(self.number, named, spent, scores, seconds)
        self._named = None
        self._calls += 1

    def _to_call(self, model: Optional[str], before: str) -> str:
        named = self._named if model is None else text(f"request {self.number}: model", model)
        if named is None:
            if self.next() is None:
                raise UsageError(f"request {self.number} calls no further model; deploy it")
            self._named = None
            raise UsageError(f"request {self.number}: call next(), which names the model to call, before {before}")
        return named

    def fail(self, reason: str = "", dollars: float = 0.0, model: Optional[str] = None) -> None:
        """Reports that a model was called and gave no answer. The request goes on without it, and nothing is learned.

        `dollars` that the call cost all the same are counted. A model that fails repeatedly rests (docs/operating.md).
        """
        named, what = self._to_call(model, "fail()"), f"request {self.number}:"
        self._live.fail(self.number, named, number(f"{what} dollars", dollars), text(f"{what} reason", reason))
        self._named = None
        self._calls += 1

    def skip(self, dollars: float = 0.0, model: Optional[str] = None) -> None:
        """Goes on without a model that is not called, for instance because the prompt is too long for it.

        Use it also for a model whose answer could not be judged; `dollars` that were spent are counted. This is no
        failure.
        """
        named = self._to_call(model, "skip()")
        self._live.skip(self.number, named, number(f"request {self.number}: dollars", dollars))
        self._named = None
        self._calls += 1

    def cancel(self) -> None:
        """Ends a request without deploying; nothing is learned from it. An exception that leaves the `with` block does
        the same.
        """
        self._live.cancel(self.number)

    def deploy(self) -> str:
        """Ends the request. Returns the model whose answer is deployed."""
        deployed: str = self._live.deploy(self.number)
        self.deployed = deployed
        return deployed

    def feedback(self, quality: float) -> None:
        """Reports the quality of the deployed answer, in [0, 1]: at once, later, or never."""
        self._live.feedback(self.number, number(f"request {self.number}: quality", quality))

    def explain(self) -> dict[str, Any]:
        """Why the request went as it did: models with prediction, width, bonus and score, calls, and why it stopped."""
        found: dict[str, Any] = self._live.explain(self.number)
        return found

    def __repr__(self) -> str:
        return f"<pandora.Request {self.number}{f', deployed {self.deployed}' if self.deployed else ''}>"

    def __iter__(self) -> Iterator[str]:
        model = self.next()
        while model is not None:
            calls = self._calls
            yield model
            if self._calls == calls:
                raise UsageError(
                    f"request {self.number}: call observe(), fail() or skip() for {model} before the next model"
                )
            model = self.next()

    def __enter__(self) -> Request:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *error: object) -> None:
        try:
            if kind is None and self.deployed is None:
                self.deploy()
        finally:  # also where no model answered
            if self.deployed is None:
                with contextlib.suppress(UsageError):  # it may have been forgotten
                    self.cancel()


def _specs(what: str, context: Any) -> list[str]:
    if isinstance(context, str) and "," in context:
        raise refused(what, context, f"a list, {text(what, context).split(',')}")
    return [text(what, context)] if isinstance(context, str) else texts(what, context)


def _evaluator(what: str, evaluator: Any) -> str:
    return "" if evaluator is None else text(what, evaluator)


def _number_or_none(what: str, value: Any) -> Optional[float]:
    return None if value is None else number(what, value)


def _json(what: str, features: Any) -> str:
    if isinstance(features, Features):
        return features.json
    if features is None or isinstance(features, str):
        return text(what, features or "")
    try:
        return json.dumps(dict(features))
    except (TypeError, ValueError):
        raise refused(what, features, "Features, or JSON as text or dict") from None


def beginning(
    what: str, prompt: Prompt, columns: Optional[Mapping[str, Any]]
) -> Union[tuple[str, dict[str, Any]], npt.NDArray[np.float32]]:
    """The start of a request: a text and its columns, or psi."""
    if isinstance(prompt, Mapping) or (
        isinstance(prompt, Sequence) and len(prompt) > 0 and isinstance(prompt[0], Mapping)
    ):
        raise UsageError(
            f"{what} prompt is chat messages, of which the cascade does not know what its features were "
            'fitted on; give a text, such as messages[-1]["content"]'
        )
    if isinstance(prompt, str):
        return text(f"{what} prompt", prompt), arguments.columns(columns)
    if columns is not None:
        raise UsageError(f"{what} columns go with a prompt's text; psi is made of them already, leave them out")
    return arguments.psi(prompt)


class Cascade(Shown):
    """A cascade of models, made by `fit`, `load` or `new`. Several threads may use it.

    >>> trace = Trace({"models": ["small", "large"], "quality": [[k % 3 / 2, 0.9] for k in range(60)],
    ...                "cost": [[0.001, 0.02]] * 60})
    >>> cascade = Cascade.fit(trace, price=10.0, evaluator="quality")
    >>> cascade.kind, cascade.order
    ('thresholds', ['small', 'large'])
    """

    def __init__(self, live: RunningCascade) -> None:
        if not isinstance(live, RunningCascade):
            raise UsageError("Cascade: make one with Cascade.fit, Cascade.load or Cascade.new")
        self._live = live
        self._cautioned = False
        #: the tables of a fit's comparison and choice; empty if it was not fitted
        self.tables: list[Table] = []

    @classmethod
    def fit(
        cls,
        trace: Union[Trace, Source],
        *,
        price: Optional[float] = None,
        max_usd: Optional[float] = None,
        min_quality: Optional[float] = None,
        max_latency: Optional[float] = None,
        evaluator: Optional[str] = None,
        context: Union[str, Sequence[str]] = (),
        kind: str = "auto",
        judge_usd: Optional[float] = None,
        openings: str = "in_order",
        explore: float = 0.0,
        forget: Optional[float] = None,
        c: float = 0.0,
        router: Optional[Any] = None,
    ) -> Cascade:
        """Fits the cascade for a price (utility per dollar), or for a bound on dollars per prompt or on mean quality.

        The arguments are those of `pandora cascade fit`:

        - `max_latency` bounds in addition the seconds of 95% of the prompts' calls, one after the other.
        - `evaluator` says what the cascade sees of an answer at run time. It must be given: "score" or "score:NAME" (a
          judge), "quality" (a yardstick), or "none" for a router.
        - `judge_usd` is the dollars for judging an answer. Without it the verdict says that judging is taken to be
          free.
        - `kind` is "router", "thresholds", "indices", "routed", or "auto", which cross-validation decides. A kind that
          you name is fitted even if it may not pay (`.about["pays"]`). "auto", and a fit to a log, then give the best
          single model.
        - `context` lists features of prompts, such as "text:16" or a list of them. All kinds except thresholds use it.
        - `openings` is for a log of decisions, as in `test`.
        - `explore` is the argument of set_explore.
        - `forget` and `c` are for the kind "indices", which goes on learning. `forget` is the half-life, in requests,
          of what is learned, including the fit's samples. `c` is the factor of the bonus by which models are called to
          learn about them. The promise assumes neither.
        - `router` is an estimator with fit and predict, such as a regressor of scikit-learn, by which the kinds
          "router" and "routed" choose. Such a cascade is saved with a file beside it.

        `.about` and `.tables` hold the promise. For the log of a cascade, `.about["running"]` describes the rules that
        made it, without exploring; "keep" in it says whether to keep them because nothing is surely better. Ctrl-C ends
        a fit between two of its fits.
        """
        what = "Cascade.fit:"
        bounds = {"price": price, "max_usd": max_usd, "min_quality": min_quality, "max_latency": max_latency}
        live, tables, _ = offline().fit(
            table_of(trace), **{k: _number_or_none(f"{what} {k}", value) for k, value in bounds.items()},
            evaluator=_evaluator(f"{what} evaluator", evaluator), context=_specs(f"{what} context", context),
            kind=text(f"{what} kind", kind), judge_usd=_number_or_none(f"{what} judge_usd", judge_usd),
            openings=text(f"{what} openings", openings), c=number(f"{what} c", c),
            forget=number(f"{what} forget", 0.0 if forget is None else forget),
            explore=number(f"{what} explore", explore), router=router,
        )  # fmt: skip
        cascade = cls(live)
        cascade.tables = tables
        cascade.set_explore(explore)
        return cascade

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]], trusted: bool = False) -> Cascade:
        """Loads a cascade from a file of `save`, `pandora cascade fit` or a service.

        `trusted`: whether to load an estimator that was saved beside it. Loading one runs the code in its file, so set
        it only if you trust the author of the file.
        """
        return cls(load(arguments.path("Cascade.load: path", path), trusted))

    @classmethod
    def new(
        cls,
        models: Sequence[str],
        *,
        price: float,
        evaluator: Optional[str] = None,
        policy: str = "shrunk_weitzman",
        c: float = 0.2,
        c_theta: float = 1.0,
        features: Union[Features, str, Mapping[str, Any], None] = None,
        psi: int = 1,
        refit: str = "geometric:1.5",
        forget: float = 0.0,
        most_samples: int = 100_000,
    ) -> Cascade:
        """A cascade that has learned nothing yet, as from `pandora cascade new`.

        `evaluator` says what the cascade sees of an answer at run time. It must be given: "score" or "score:NAME", a
        judge, whose relation to quality is learned from the feedback, or "quality", the truth. `features` of prompts
        come from `Features.fit` or `pandora trace features` (its JSON as text or dict). Without them a request comes
        with `psi` numbers, the first of which is 1. `c` and `c_theta` are the factors of the bonuses on an index and on
        a learned quality.
        """
        what = "Cascade.new:"
        made = new_members(
            texts(f"{what} models", models), number(f"{what} price", price),
            _evaluator(f"{what} evaluator", evaluator), text(f"{what} policy", policy), number(f"{what} c", c),
            number(f"{what} c_theta", c_theta), _json(f"{what} features", features), integer(f"{what} psi", psi),
            text(f"{what} refit", refit), number(f"{what} forget", forget),
            integer(f"{what} most_samples", most_samples),
        )  # fmt: skip
        return cls(RunningCascade(made))

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Saves the cascade, whole or not at all. Once loaded, it continues with the same bytes.

        A router that is the caller's own estimator goes into a file PATH.joblib beside it, written by joblib.
        """
        save(self._live, arguments.path("Cascade.save: path", path))

    def test(
        self,
        trace: Union[Trace, Source],
        against: str = "",
        *,
        evaluator: Optional[str] = None,
        judge_usd: Optional[float] = None,
        estimator: str = "",
        openings: str = "in_order",
    ) -> CascadeTest:
        """Tests the cascade on a table on which it was not fitted, beside the model `against` (default: the fit's
        best).

        The prompts go through a copy, so requests, counts and estimates stay. `evaluator` replaces the cascade's own
        evaluator, and `judge_usd` the fit's.

        `estimator`: "plugin" for a full table; "ips", "snips" or "dr" for a log of decisions, or for a table in which
        only some qualities are known; "": the best one that the table allows. `openings` for a log: "in_order" compares
        its t-th call with the cascade's t-th; "independent" if each model was called by a random draw of its own;
        "apart" takes the answers of a model from whatever decision called it, which presumes that models' answers to a
        prompt are independent.
        """
        what = "Cascade.test:"
        found = offline().test(
            self._live, table_of(trace), text(f"{what} against", against),
            _evaluator(f"{what} evaluator", evaluator), _number_or_none(f"{what} judge_usd", judge_usd),
            text(f"{what} estimator", estimator), text(f"{what} openings", openings),
        )  # fmt: skip
        return CascadeTest(*found)

    @staticmethod
    def frontier(
        trace: Union[Trace, Source],
        test: Union[Trace, Source],
        *,
        evaluator: Optional[str] = None,
        context: Union[str, Sequence[str]] = (),
        kind: str = "thresholds",
        judge_usd: Optional[float] = None,
        prices: Sequence[float] = (),
    ) -> Frontier:
        """Quality against dollars of cascades over a range of prices, fitted on one table and judged on the other.

        `evaluator`, `context`, `kind` and `judge_usd` are those of `fit`.
        """
        what = "Cascade.frontier:"
        found = offline().frontier(
            table_of(trace), table_of(test), evaluator=_evaluator(f"{what} evaluator", evaluator),
            context=_specs(f"{what} context", context), kind=text(f"{what} kind", kind),
            judge_usd=_number_or_none(f"{what} judge_usd", judge_usd), prices=numbers(f"{what} prices", prices),
        )  # fmt: skip
        return Frontier(*found)

    def begin(self, prompt: Prompt = "", columns: Optional[Mapping[str, Any]] = None) -> Request:
        """Begins a request with the prompt's text and the columns that the features use, or with psi itself (m
        numbers).

        UsageError names what is missing; None in a column is an unknown value. For chat messages, give the kind of text
        on which the features were fitted, such as the text of the last message. The first request warns
        (PandoraWarning) if the evaluator is "quality", because a judge's score must not take its place.
        """
        if not self._cautioned:
            self._cautioned = True
            if caution := self._live.caution():
                warnings.warn(caution, PandoraWarning, stacklevel=2)
        given = beginning("Cascade.begin:", prompt, columns)
        if isinstance(given, tuple):
            return Request(self._live, self._live.begin_prompt(*given))
        return Request(self._live, self._live.begin(given))

    def request(self, number: int) -> Request:
        """The request with that `Request.number`, which began earlier, even before the cascade was saved.

        Numbers are below 2**53 and unique across restarts, processes and forks. If the number belongs to another
        cascade, or to a request that was lost since the last save, every method refuses it.
        """
        return Request(self._live, integer("Cascade.request: number", number, _MOST_NUMBER))

    def context_of(self, prompt: str, columns: Optional[Mapping[str, Any]] = None) -> npt.NDArray[np.float32]:
        """Psi of a prompt."""
        psi: npt.NDArray[np.float32] = self._live.context_of(
            text("Cascade.context_of: prompt", prompt), arguments.columns(columns)
        )
        return psi

    def calibrate(
        self, period: int, psi: npt.ArrayLike, model: str, dollars: float, score: float, quality: Optional[float] = None
    ) -> None:
        """A sample from before the first request; samples of one prompt have one `period`."""
        what = "Cascade.calibrate:"
        self._live.calibrate(
            integer(f"{what} period", period),
            arguments.psi(psi),
            text(f"{what} model", model),
            number(f"{what} dollars", dollars),
            numbers(f"{what} score", score),
            None if quality is None else number(f"{what} quality", quality),
        )

    def set_learning(self, on: bool) -> None:
        """Sets whether requests change the estimates."""
        if not isinstance(on, (bool, np.bool_)):
            raise refused("Cascade.set_learning: on", on, "True or False")
        self._live.set_learning(bool(on))

    def set_explore(self, explore: float) -> None:
        """At each step, with probability `explore`, calls a random model instead of following the rules.

        This also replaces stopping. With the same probability a random answer is deployed. A decision log (log_to) then
        tells what other cascades would do. 0: never.
        """
        self._live.set_explore(number("Cascade.set_explore: explore", explore))

    def log_to(
        self,
        folder: Union[str, os.PathLike[str]],
        *,
        prompts: bool = False,
        file_bytes: int = 1 << 24,
        most_bytes: int = 1 << 30,
    ) -> None:
        """Appends decisions and feedback from now on to files decisions-N.jsonl of a folder, one JSON object per line.

        `pandora.Trace(folder)` reads them. With `prompts` a line has the prompt's text and columns, otherwise only psi.
        A file is full at `file_bytes`; when all files exceed `most_bytes`, the oldest is removed. If a line cannot be
        written, decisions go on, and `counts` says how many lines were lost ("unlogged"). save() does not store this
        setting.
        """
        what = "Cascade.log_to:"
        if not isinstance(prompts, bool):
            raise refused(f"{what} prompts", prompts, "True or False")
        log = DecisionLog(
            arguments.path(f"{what} folder", folder),
            integer(f"{what} file_bytes", file_bytes, _MOST_NUMBER),
            integer(f"{what} most_bytes", most_bytes, _MOST_NUMBER),
        )
        with self._live.lock:
            self._live.log, self._live.logs_prompts = log.write, prompts

    def add_model(self, name: str) -> None:
        """Adds a model, or brings back one that was removed."""
        self._live.add_model(text("Cascade.add_model: name", name))

    def remove_model(self, name: str) -> None:
        """Removes a model: it is never called again."""
        self._live.remove_model(text("Cascade.remove_model: name", name))

    def set_price(self, price: float) -> None:
        """Changes the price and converts all that was learned to it."""
        self._live.set_price(number("Cascade.set_price: price", price))

    @property
    def kind(self) -> str:
        """One of router, thresholds, indices and routed."""
        return self._live.members.kind

    @property
    def models(self) -> list[str]:
        """Names of the models that are not removed."""
        return [name for name, removed in self._live.models() if not removed]

    @property
    def order(self) -> list[str]:
        """For the kind `thresholds`: the models in the order of calls."""
        members = self._live.members
        return [members.models[a] for a in members.plans[0].order] if members.kind == "thresholds" else []

    @property
    def thresholds(self) -> list[float]:
        """For each model the estimated quality from which its answer is accepted; one fewer than `order`."""
        members = self._live.members
        return list(members.plans[0].thresholds) if members.kind == "thresholds" else []

    @property
    def price(self) -> float:
        """Utility per dollar."""
        return self._live.members.price

    @property
    def explore(self) -> float:
        """The value of set_explore."""
        return self._live.members.explore

    @property
    def evaluator(self) -> str:
        """What the cascade sees of an answer: "quality", the truth; a judge's "score" or "score:NAME"; or
        "column:NAME".
        """
        return self._live.members.evaluator

    @property
    def about(self) -> Optional[dict[str, Any]]:
        """How it was fitted and what it promises; None for one that was not fitted."""
        about: Optional[dict[str, Any]] = self._live.members.about
        return about

    @property
    def counts(self) -> dict[str, float]:
        """Counts of events."""
        return dict(self._live.counts())

    @staticmethod
    def _parsed(text: str) -> Cascade:
        return Cascade(parse(text, "a pickle"))

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Cascade._parsed, (text_of(self._live),)  # a copy has the same estimates, but other numbers for requests

    def _shown(self) -> list[Table]:
        shown: list[Table] = offline().show(self._live)
        return shown
