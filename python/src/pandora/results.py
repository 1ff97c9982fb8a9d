"""Folders of results: their studies, tables and lanes, and single lanes."""

from __future__ import annotations

import inspect
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar, Union

import numpy as np
import numpy.typing as npt

from . import _core
from .arguments import number
from .errors import DataError, MismatchError, PandoraWarning, UsageError
from .figures import Figure, figures_of
from .rendering.study import study_figures
from .table import Table, of_program

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")
R = TypeVar("R")

Numbers = npt.NDArray[np.float64]

_EVERY = "all"  # all hyperparameters, not only the best


def open(path: Union[str, os.PathLike[str]]) -> Results:
    """Opens a folder of results, finished or not. Damaged or unknown parts cause a warning.

    >>> open(example).policies
    ['oracle', 'online_plugin', 'dow']
    """
    return Results(path)


def taking(of: Callable[Concatenate[Any, P], Any]) -> Callable[[Callable[..., R]], Callable[Concatenate[Any, P], R]]:
    """A method that takes the same arguments as the method `of` and passes them on to it."""

    def with_signature(method: Callable[..., R]) -> Callable[Concatenate[Any, P], R]:
        method.__signature__ = inspect.signature(of)  # type: ignore[attr-defined]
        return method

    return with_signature


class Results:
    """A folder of results.

    The study is simulated in cells (environment, regime, T0). In each cell a policy has one or more lanes: one for each
    reward setting and value of its hyperparameters. If a method takes these as arguments, one that is left out means
    all of them, or the only one. Left-out hyperparameters are the best ones, with the least mean regret; "all" means
    every one.

    Memory holds only what was asked for: numbers of single replications are read part by part.

    >>> r = open(example)
    >>> r.regret("dow", reward="known", T0=0).shape
    (4,)
    """

    def __init__(self, path: Union[str, os.PathLike[str]]) -> None:
        self._stored = _core.Results(os.fspath(path))
        for note in self._stored.notes:
            warnings.warn(note, PandoraWarning, stacklevel=3)
        self._settings: list[dict[str, Any]] = self._stored.settings()
        self._summary: Optional[Table] = None

    @property
    def path(self) -> str:
        """The folder."""
        return self._stored.path

    @property
    def study(self) -> str:
        """The study as TOML, with every key."""
        return self._stored.study.toml()

    @property
    def manifest(self) -> dict[str, Any]:
        """Provenance: the program, the study, everything on which numbers depend (identity), and who worked on the
        folder.
        """
        found: dict[str, Any] = json.loads(self._stored.manifest)
        return found

    @property
    def unfinished(self) -> str:
        """Empty if everything is there, otherwise a text such as "unfinished: 120 of 300 parts are complete"."""
        return self._stored.unfinished()

    @property
    def summary(self) -> Summary:
        """`summary(policy, reward, environment, regime, T0, hyperparameter, setting)`: means over replications.

        A row for every selected lane. It has the best hyperparameters; with hyperparameter="all" there is a row for
        each. If nothing else is named, these are all rows of summary.csv.

        The columns are those of summary.csv (docs/columns.md). The regret is time-averaged, x 1000, against the oracle,
        and half-widths are 95% by Student's t. `best` marks the least mean regret among the hyperparameters of a policy
        and reward setting. `lane` is the lane's name without the replication.
        """
        return Summary(self)

    def _whole(self) -> Table:
        if self._summary is None:
            self._summary = Table(self._stored.columns("summary", []), "summary")
        return self._summary

    @property
    def oracle(self) -> Table:
        """A row for every environment and regime: the oracle's utility per period x 1000, and the boxes it opens."""
        return Table(self._stored.columns("oracle", []), "oracle")

    @property
    def oracle_order(self) -> Table:
        """A row for every environment and regime: how much the oracle's order varies (Table 3 of the paper)."""
        return Table(self._stored.columns("oracle_order", []), "oracle's order")

    @property
    def choices(self) -> Table:
        """A row for every box of an order that a policy fixed before the horizon, with its threshold if it has one.

        Boxes and positions are counted from 1, as in choices.csv.
        """
        return Table(self._stored.columns("choices", []), "choices")

    @property
    def failures(self) -> Table:
        """A row for every lane that was stopped: where, in which period, and why."""
        return Table(self._stored.columns("failures", []), "failures")

    @property
    def policies(self) -> list[str]:
        """The names of the policies."""
        return self._names("policy")

    @property
    def environments(self) -> list[str]:
        """The names of the environments."""
        return self._across("environments")

    @property
    def regimes(self) -> list[str]:
        """The regimes: A, B or both."""
        return self._across("regimes")

    @property
    def T0(self) -> list[int]:
        """The numbers of calibration periods."""
        return self._across("T0")

    @property
    def settings(self) -> list[str]:
        """The settings of the keys that vary, such as "periods=1000"; one empty text if nothing varies."""
        return list(dict.fromkeys(setting["label"] for setting in self._settings))

    @property
    def replications(self) -> int:
        """The number of replications, R."""
        return int(self._settings[0]["replications"])

    def _across(self, key: str) -> list[Any]:
        return list(dict.fromkeys(value for setting in self._settings for value in setting[key]))

    def _names(self, column: str) -> list[str]:
        place = {"policy": 1, "reward": 2, "hyperparameter": 3}[column]
        return list(dict.fromkeys(lane[place] for setting in self._settings for lane in setting["lanes"]))

    # ---- which lanes ---------------------------------------------------------------------------------------------

    def _require(self, what: str, value: Any, known: Sequence[Any]) -> None:
        values = value if isinstance(value, (list, tuple)) else [value]
        for one in values:
            if one is not None and one not in known:
                listed = ", ".join(str(k) for k in known)
                raise UsageError(f"{what} {one!r}: the results have none of that name; they have {listed}")

    def _rows(
        self,
        policy: Union[str, Sequence[str], None] = None,
        reward: Optional[str] = None,
        environment: Union[str, Sequence[str], None] = None,
        regime: Optional[str] = None,
        T0: Union[int, Sequence[int], None] = None,
        hyperparameter: Optional[str] = None,
        setting: Optional[str] = None,
    ) -> Table:
        """The rows of the summary for these lanes; those of the best hyperparameters if none are named."""
        if isinstance(policy, str) and "/" in policy and reward is None:
            policy, reward = policy.split("/", 1)
        self._require("policy", policy, self.policies)
        self._require("environment", environment, self.environments)
        self._require("regime", regime, self.regimes)
        self._require("T0", T0, self.T0)
        self._require("hyperparameter", hyperparameter, [*self._names("hyperparameter"), _EVERY])
        self._require("setting", setting, self.settings)
        summary = self._whole()
        if len(summary) == 0:
            raise UsageError(f"{self.path}: its study simulates no policies (output.regret = false)")
        wanted: dict[str, Any] = {
            "policy": policy, "reward": reward, "environment": environment, "regime": regime, "T0": T0,
            "hyperparameter": None if hyperparameter == _EVERY else hyperparameter,
            "setting": setting if "setting" in summary else None,
        }  # fmt: skip
        wanted = {key: value for key, value in wanted.items() if value is not None}
        rows = summary.where(**wanted, best=True if hyperparameter is None else None)
        if len(rows) == 0:
            asked = ", ".join(f"{key} {value}" for key, value in wanted.items())
            raise DataError(f"{self.path}: there is nothing yet of {asked}" if asked else f"{self.path}: is empty")
        return rows

    def _row(self, where: str, *lane: Any) -> dict[str, Any]:
        """The only row of a lane."""
        rows = self._rows(*lane)
        if len(rows) > 1:
            for column in ("setting", "environment", "regime", "T0", "policy", "reward", "hyperparameter"):
                if column in rows and len(set(rows[column])) > 1:
                    values = ", ".join(str(value) for value in dict.fromkeys(rows[column]))
                    raise UsageError(f"{where}: there are several; name a {column}, one of {values}")
        return next(rows.rows())

    def _numbers(self, row: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Numbers]:
        """The fields of the lane of a row of the summary."""
        setting, environment, regime, lane = self._place(row)
        found = self._stored.numbers_of_lanes(setting, environment, regime, [lane], list(fields))
        return {field: found[field][0] for field in fields}

    def _place(self, row: Mapping[str, Any]) -> tuple[int, str, str, int]:
        label, environment = row.get("setting", ""), row["environment"]
        setting = next(
            k for k, one in enumerate(self._settings) if one["label"] == label and environment in one["environments"]
        )
        return setting, environment, row["regime"], int(row["lane_number"])

    # ---- numbers of replications ---------------------------------------------------------------------------------

    def numbers(
        self,
        field: str,
        policy: str,
        reward: Optional[str] = None,
        environment: Optional[str] = None,
        regime: Optional[str] = None,
        T0: Optional[int] = None,
        hyperparameter: Optional[str] = None,
        setting: Optional[str] = None,
    ) -> Numbers:
        """The numbers of one lane in every replication, R x the field's shape; NaN if it was not run, or failed.

        Fields are the sums of results.h5 (utility, quality, cost, realised_utility, ..., queries_of_box,
        deployments_of_box, depth: over the periods); the parts of the regret (wrong_order, too_early, too_many,
        wrong_deployment; wrong_order_gap, too_early_gap); cumulative numbers at the checkpoints (cumulative_regret,
        cumulative_utility, cumulative_wrong_order, ...); estimates (rho, theta: see estimates); periods, failed,
        regret_x1000 and realised_regret_x1000.
        """
        row = self._row(field, policy, reward, environment, regime, T0, hyperparameter, setting)
        return self._numbers(row, [field])[field]

    def regret(
        self,
        policy: str,
        reward: Optional[str] = None,
        environment: Optional[str] = None,
        regime: Optional[str] = None,
        T0: Optional[int] = None,
        hyperparameter: Optional[str] = None,
        setting: Optional[str] = None,
        realised: bool = False,
    ) -> Numbers:
        """Time-averaged regret x 1000 of one lane in every replication: R numbers, NaN if it was not run, or failed.

        `realised`: with Bernoulli rewards in place of mu*. If several lanes fit, the error names the alternatives.
        """
        field = "realised_regret_x1000" if realised else "regret_x1000"
        return self.numbers(field, policy, reward, environment, regime, T0, hyperparameter, setting)

    def checkpoints(self, setting: Optional[str] = None) -> npt.NDArray[np.int64]:
        """The periods, from 1, at which cumulative sums are kept."""
        for one in self._settings:
            if setting is None or one["label"] == setting:
                return np.array(one["checkpoints"], dtype=np.int64)
        raise UsageError(f"setting {setting!r}: the study has no such setting")

    @taking(_rows)
    def curves(self, *lanes: Any, **named: Any) -> Table:
        """Cumulative regret and its parts at the checkpoints: means over replications with 95% intervals.

        There is a row for every lane and period; lanes are named as in `summary`, also in `boxes` and `depth`.
        ``numbers("cumulative_regret", ...)`` gives curves of single replications.
        """
        return self._of_rows("curves", "cumulative regret", self._rows(*lanes, **named))

    @taking(_rows)
    def boxes(self, *lanes: Any, **named: Any) -> Table:
        """Queries and deployments of each box (from 1) per period: means over replications with 95% intervals."""
        return self._of_rows("boxes", "queries and deployments per period", self._rows(*lanes, **named))

    @taking(_rows)
    def depth(self, *lanes: Any, **named: Any) -> Table:
        """The share of periods in which that many boxes were opened: means over replications with 95% intervals."""
        return self._of_rows("depth", "share of periods", self._rows(*lanes, **named))

    def estimates(
        self,
        policy: str,
        reward: Optional[str] = None,
        environment: Optional[str] = None,
        regime: Optional[str] = None,
        T0: Optional[int] = None,
        hyperparameter: Optional[str] = None,
        setting: Optional[str] = None,
    ) -> dict[str, Numbers]:
        """The estimates of one lane in the end: rho_hat, R x A x m, and theta_hat, R x d; NaN if it has none.

        The study must have output.estimates = true.
        """
        row = self._row("estimates", policy, reward, environment, regime, T0, hyperparameter, setting)
        found = self._numbers(row, ["rho", "theta"])
        if all(bool(np.isnan(values).all()) for values in found.values()):
            raise DataError(f"{self.path}: has no estimates of {policy}; run the study with output.estimates = true")
        return found

    def decisions(
        self,
        policy: str,
        reward: Optional[str] = None,
        environment: Optional[str] = None,
        regime: Optional[str] = None,
        T0: Optional[int] = None,
        hyperparameter: Optional[str] = None,
        setting: Optional[str] = None,
        replication: int = 0,
    ) -> dict[str, npt.NDArray[Any]]:
        """What one lane did in each of the T periods of a replication.

        `opened`: int8, T x A, the boxes in the order in which they were opened, from 0, and -1 beyond; `queried`: int8,
        how many; `deployed`: int8, the deployed box; `cost` and `reward`: float32, the sum of the costs of the opened
        boxes, and the Bernoulli reward of the deployed one. The study must have output.decisions = true.

        With wider `[actions]` a row of `opened` is as long as the openings that a period allows, and a box stands in it
        once for each of its openings. `deployed` may then be a box that was not opened, and A is the outside option.
        """
        row = self._row("decisions", policy, reward, environment, regime, T0, hyperparameter, setting)
        found: dict[str, Any] = self._stored.decisions_of_lane(*self._place(row), replication)
        if not found:
            raise DataError(
                f"{self.path}: has no decisions of {policy} in replication {replication}; run the study with "
                "output.decisions = true, unless the lane failed"
            )
        order = found["order"]
        chosen = np.argmax((order & 16 != 0) & (order != 255), axis=1)[:, None]
        deployed = (np.take_along_axis(order, chosen, axis=1)[:, 0] % 16).astype(np.int8)
        opened = np.where(order >= 32, -1, order % 16).astype(np.int8)
        queried = np.sum(opened >= 0, axis=1, dtype=np.int8)
        return {"opened": opened, "queried": queried, "deployed": deployed, "cost": found["cost"],
                "reward": found["reward"]}  # fmt: skip

    def _of_rows(self, file: str, title: str, rows: Table) -> Table:
        return Table(self._stored.columns(file, rows["row"].tolist()), title)

    # ---- conclusions -----------------------------------------------------------------------------------------------

    def best(
        self,
        policy: Union[str, Sequence[str], None] = None,
        reward: Optional[str] = None,
        environment: Union[str, Sequence[str], None] = None,
        regime: Optional[str] = None,
        T0: Union[int, Sequence[int], None] = None,
        setting: Optional[str] = None,
    ) -> Table:
        """The rows of the summary with the best hyperparameters, least mean regret first, without the oracle."""
        rows = self._rows(policy, reward, environment, regime, T0, None, setting)
        rows = rows.take(np.flatnonzero(rows["policy"] != "oracle"))
        return rows.take(np.argsort(rows["regret_x1000"], kind="stable"))

    def compare(
        self,
        a: Union[str, Results, None] = None,
        *others: str,
        T0: Union[int, Sequence[int], None] = None,
        environment: Union[str, Sequence[str], None] = None,
        regime: Union[str, Sequence[str], None] = None,
        keep: Optional[str] = None,
        against: Optional[str] = None,
        margin: Optional[float] = None,
    ) -> Table:
        """Compares policies, paired over replications: policy `a` with each of the others.

        Policies are NAME or NAME/REWARD. If `a` is other results on the same tapes, the same policies (those named, or
        all) of both folders are compared. A row for every pair and cell has the paired difference with its 95%
        interval, the cross-fitted difference if hyperparameters were chosen, and p values adjusted by Holm's method
        over all rows (docs/comparing.md).

        With `keep`, `against` and `margin`, and no other policies, it decides in every cell whether to keep one policy
        against another: "keep", "drop" or "undecided". The policy may be worse by less than the margin, in regret per
        period x 1000.

        >>> open(example).compare("dow/known", "online_plugin/known")["replications"]
        array([4])
        >>> open(example).compare(keep="dow/known", against="online_plugin/known", margin=500)["decision"]
        array(['keep'], dtype=object)
        """
        asked = (_list(T0), _list(environment), _list(regime))
        if keep is not None or against is not None or margin is not None:
            if a is not None or others:
                raise UsageError("compare: keep= and against= name the two policies; leave out all others, and results")
            bound = None if margin is None else number("margin", margin)
            return _joined(*self._stored.keep(keep or "", against or "", bound, *asked))
        if isinstance(a, Results):
            return _joined(*self._stored.compare_with(a._stored, list(others), *asked))
        return _joined(*self._stored.compare([*_list(a), *others], *asked))

    @property
    def overview(self) -> Table:
        """An overview of the study in few rows: regrets and their parts, means over cells, ratios to a policy."""
        return of_program(self._stored.overview("")[0])

    def overview_to(self, base: str) -> Table:
        """The overview with ratios to the regret of policy `base`."""
        return of_program(self._stored.overview(base)[0])

    @property
    def tables(self) -> list[Table]:
        """The tables that a run prints: Tables 1 to 3 of the paper where the study is the paper's."""
        return [of_program(table) for table in self._stored.tables()]

    # ---- lanes -----------------------------------------------------------------------------------------------------

    def lane(
        self,
        name: Optional[str] = None,
        policy: Optional[str] = None,
        T0: Optional[int] = None,
        environment: str = "",
        regime: str = "",
        replication: int = 0,
        setting: str = "",
        reward: Optional[str] = None,
    ) -> Lane:
        """A lane by its name, ENVIRONMENT/REGIME/REPLICATION/T0/POLICY/REWARD[/HYPERPARAMETERS], or by its policy.

        A name without the first three, as in the summary's column `lane`, means `replication` in the (first)
        environment and regime. By policy, NAME with `reward` or NAME/REWARD, it is the lane with the best
        hyperparameters.
        """
        if (name is None) == (policy is None):
            raise UsageError("lane: give its name, or a policy")
        if name is None:
            assert policy is not None
            policy = policy if reward is None else f"{policy}/{reward}"
            name = _core.best_lane(self.path, setting, policy, T0, environment, regime, replication)
        elif any(lane[0] == name for one in self._settings for lane in one["lanes"]):
            lead = (environment or self.environments[0], regime or self.regimes[0], str(replication))
            name = "/".join((*lead, name))
        return Lane(self, name, setting)

    # ---- looking -----------------------------------------------------------------------------------------------------

    def figures(self, T0: Optional[int] = None, policy: Union[str, Sequence[str], None] = None) -> dict[str, Figure]:
        """All figures of the report by name, such as "curves-known-uniform-A". T0 is for those that show a single one.

        If `policy` names some (NAME or NAME/REWARD), figures show only these and the oracle; differences are then to
        the first of them.
        """
        return self._figures(T0, policy, True)

    def _figures(
        self, T0: Optional[int], policy: Union[str, Sequence[str], None], differences: bool
    ) -> dict[str, Figure]:
        lanes = [lane for setting in self._settings for lane in setting["lanes"]]
        self._require("policy", _list(policy), [*self.policies, *dict.fromkeys(f"{one[1]}/{one[2]}" for one in lanes)])
        self._require("T0", T0, self.T0)
        return figures_of(study_figures(json.loads(self._stored.report_numbers(_list(policy), differences)), T0))

    def plot(
        self,
        kind: str = "",
        environment: str = "",
        regime: str = "",
        known: Optional[bool] = None,
        T0: Optional[int] = None,
        axes: Any = None,
        policy: Union[str, Sequence[str], None] = None,
    ) -> Any:
        """Draws a figure of the report with matplotlib and returns matplotlib's figure.

        `kind`: curves (the default), curves-loglog, t0, hyperparameters, quality-cost, regret-parts, queries,
        deployments, depth, published-A, z-scores-A; difference-dow, the paired differences to the report's base. If
        keys vary, it may be the key against whose values regret is drawn, such as "dimensions.context" (by default the
        first one). The environment and regime are the first unless they are named. `known`: policies that see mu*, or
        those that do not; `policy`: only these, NAME or NAME/REWARD.
        """
        found = self._figures(T0, policy, kind.startswith("difference"))
        varied = {
            one.x_key: name[: name.index("-", len("vary-"))] for name, one in found.items() if name.startswith("vary-")
        }
        kind = varied.get(kind, kind) or next(iter(varied.values()), "curves")
        kinds = [f"{kind}-known", f"{kind}-unknown", f"{kind}-none"]
        kinds = [kind, *kinds] if known is None else kinds[:1] if known else kinds[1:]
        places = [
            f"-{e}-{r}" for e in self._either(environment, "environments") for r in self._either(regime, "regimes")
        ]
        for name in [kind, *(one + place for place in places for one in kinds)]:
            if name in found:
                return found[name].draw(axes).figure
        raise UsageError(f"plot: there is no figure {kind!r} of that kind; there are {', '.join(found)}")

    def _either(self, wanted: str, key: str) -> list[str]:
        return [wanted] if wanted else self._across(key)

    def __repr__(self) -> str:
        unfinished = self.unfinished
        return f"<pandora.Results {self.path}{', ' + unfinished if unfinished else ''}>"

    def __str__(self) -> str:
        return "\n\n".join([repr(self), *(repr(table) for table in self.tables)])

    def _repr_html_(self) -> str:
        unfinished = self.unfinished
        head = f"<p><code>{self.path}</code>{', ' + unfinished if unfinished else ''}</p>"
        return head + "".join(table._repr_html_() for table in self.tables)


def _list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _joined(columns: Mapping[str, Any], shown: Sequence[Mapping[str, Any]]) -> Table:
    """The columns of all rows; shown like the tables."""
    tables = [of_program(table) for table in shown]
    text, html = "\n\n".join(table["text"] for table in shown), "\n\n".join(table._repr_html_() for table in tables)
    return Table(columns, "paired comparisons", text, html)


class Summary:
    """`summary(...)` of results. Until the next version it is also the table `summary` of earlier versions."""

    def __init__(self, folder: Results) -> None:
        self._folder = folder

    @taking(Results._rows)
    def __call__(self, *lanes: Any, **named: Any) -> Table:
        """Results.summary."""
        return self._folder._rows(*lanes, **named)

    def _before(self) -> Table:
        warnings.warn(
            'Results.summary is a method: summary(hyperparameter="all") is the table that it was, summary(policy, ...) '
            "its rows of some lanes; the form without brackets ends with the next version",
            DeprecationWarning,
            stacklevel=3,
        )
        return self._folder._whole()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and name != "_repr_html_":
            raise AttributeError(name)
        return getattr(self._before(), name)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._before()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._before()

    def __len__(self) -> int:
        return len(self._before())

    def __repr__(self) -> str:
        return repr(self._before())


class Lane:
    """One lane of a folder of results."""

    def __init__(self, results: Results, name: str, setting: str = "") -> None:
        self.results = results
        self.name = name
        self.setting = setting

    def __repr__(self) -> str:
        return f"<pandora.Lane {self.name}{' of ' + self.setting if self.setting else ''}>"

    def explain(self, period: int, last: Optional[int] = None) -> dict[str, Any]:
        """Explains period `period`, or all up to `last`: what the lane saw, did and why, and what the oracle would have
        done.

        The lane is run again, alone, up to its horizon. Boxes and periods are counted from 1. The dict has the keys of
        ``pandora explain --format json``: lane, score, reward_known, and in `periods` one dict for each with period,
        psi, boxes, policy, oracle, reward, regret and regret_so_far.

        >>> import pandora
        >>> found = pandora.open(example).lane(policy="dow/known", T0=0).explain(7)
        >>> found["periods"][0]["period"], len(found["periods"][0]["boxes"])
        (7, 3)
        """
        text = _core.explain(self._study(), self.setting, self.name, period, period if last is None else last)
        found: dict[str, Any] = json.loads(text)
        return found

    def replay(self) -> str:
        """Runs the lane again, alone: its sums, regret and curve, as ``pandora replay`` prints them."""
        return _core.replay(self._study(), self.setting, self.name)

    def _study(self) -> _core.StudyConfig:
        words = self.name.split("/")
        policy = words[4] if len(words) > 4 else ""
        code = self.results.manifest.get("identity", {}).get(f"build.policy.{policy}", "")
        if code and _core.code_of_policy(policy) != code:
            raise MismatchError(
                f"policy {policy}: the results were made by code ({code}) that is not known here; give the class of "
                "then to pandora.register"
            )
        return _core.StudyConfig.of(self.results.path)
