"""The contents of a folder of results, the choice of lanes in it, and single lanes."""

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
from .errors import DataError, MismatchError, PandoraWarning, UsageError
from .table import Table

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")
R = TypeVar("R")

Numbers = npt.NDArray[np.float64]

_EVERY = "all"  # all hyperparameters, not only the best


def taking(of: Callable[Concatenate[Any, P], Any]) -> Callable[[Callable[..., R]], Callable[Concatenate[Any, P], R]]:
    """A method that takes the same arguments as the method `of` and passes them on to it."""

    def with_signature(method: Callable[..., R]) -> Callable[Concatenate[Any, P], R]:
        method.__signature__ = inspect.signature(of)  # type: ignore[attr-defined]
        return method

    return with_signature


class Folder:
    """A folder of results: its study, its tables, and its lanes by policy and cell."""

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

    def _of_lane(self, row: Mapping[str, Any], replication: int) -> dict[str, Any]:
        """The decisions of the lane of a row of the summary, as the engine has them; empty where there are none."""
        found: dict[str, Any] = self._stored.decisions_of_lane(*self._place(row), replication)
        return found

    def _place(self, row: Mapping[str, Any]) -> tuple[int, str, str, int]:
        label, environment = row.get("setting", ""), row["environment"]
        setting = next(
            k for k, one in enumerate(self._settings) if one["label"] == label and environment in one["environments"]
        )
        return setting, environment, row["regime"], int(row["lane_number"])


class Summary:
    """`summary(...)` of results. Until the next version it is also the table `summary` of earlier versions."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    @taking(Folder._rows)
    def __call__(self, *lanes: Any, **named: Any) -> Table:
        """Folder.summary."""
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

    def __init__(self, results: Folder, name: str, setting: str = "") -> None:
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
