"""Runs, tunes and calibrates studies; also single lanes of studies."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _core
from . import environment as _environment
from . import policy as _policy
from .environment import Environment
from .errors import PandoraWarning, UsageError
from .policy import Policy
from .progress import Progress, shown
from .results import Results
from .study import Study, config_of, file_of
from .table import Shown, Table, of_program

AnyStudy = Union[Study, Results]


def _config(
    study: AnyStudy,
    policies: Iterable[type[Policy]] = (),
    environments: Iterable[Union[Environment, type[Environment]]] = (),
) -> _core.StudyConfig:
    own = [_policy.name_of(_policy.register(policy)) for policy in policies]
    places = [_environment.register(environment) for environment in environments]
    config = study._stored.study if isinstance(study, Results) else config_of(study)
    config.add_policies(own)
    if places:
        config.add_environments(places, config.is_given("environments"))
        if not config.is_given("output.order"):
            config.set("output.order", "false", "environments of pandora.run")
    config.check()
    return config


def run(
    study: AnyStudy,
    out: Union[str, os.PathLike[str], None] = None,
    policies: Iterable[type[Policy]] = (),
    environments: Iterable[Union[Environment, type[Environment]]] = (),
    threads: int = 0,
    progress: Progress = None,
    *,
    mode: Optional[str] = None,
    backend: str = "auto",
    devices: str = "all",
    shard: str = "",
    oracle_cache: Union[str, os.PathLike[str]] = "",
) -> Results:
    """Runs the part of a study that a folder still lacks, and opens the folder.

    `study`: a dict with the keys of a study's file (nested, or "oracle.samples"), or the path of such a file.

    `out`: the folder; by default the next free ``results/NNN``. Existing results of the same study are kept: an
    interrupted run continues, and a study that has grown (replications, policies, hyperparameters, T0, environments,
    regimes) is extended. Results of another study are refused (MismatchError). `mode` changes this: "fresh" accepts
    only an empty folder, "resume" refuses a study that has grown, "replace" removes existing results.

    `policies`, `environments`: your own classes, which are added to those that the study names. `threads`: 0 means all
    cores. `progress`: True, False, a function of lanes done and in all, or None for a bar if somebody can see it. Other
    arguments are those of the command line.

    Ctrl-C ends the run cleanly with Interrupted (a KeyboardInterrupt); the same call continues it later. Failed lanes
    cause a warning; `Results.failures` has them.

    >>> r = run({"replications": 2, "periods": 100, "T0": [0], "environments": ["uniform"], "regimes": ["A"],
    ...          "policies": ["dow"], "hyperparameters": {"c_rho": [0.1], "c_theta": [0.1]},
    ...          "oracle": {"samples": 2000}, "output": {"order": False}}, out=tmp / "small", progress=False)
    >>> r.summary("dow", reward="known")["replications"]
    array([2])
    """
    if mode is None:
        mode = "fresh" if out is None else "extend"
    config = _config(study, policies, environments)
    folder = "" if out is None else os.fspath(out)
    if out is not None and not folder:
        raise UsageError("out: names no folder; give one or leave it out")

    def tell(message: str) -> None:
        warnings.warn(message, PandoraWarning, stacklevel=3)

    with shown(progress) as bar:
        found = _core.run(
            study=config, out=folder, mode=mode, study_file="" if isinstance(study, Results) else file_of(study),
            shard=shard, oracle_cache=os.fspath(oracle_cache), backend=backend, devices=devices, threads=threads,
            command="pandora.run (Python)", on_progress=bar, on_message=tell,
        )  # fmt: skip
    if found["failed_lanes"]:
        tell(f"{found['failed_lanes']} lanes failed and are left out; Results.failures says how")
    return Results(found["folder"])


def lanes(study: AnyStudy, setting: str = "") -> list[str]:
    """The names of all lanes of a study, a file or a folder: ENVIRONMENT/REGIME/REPLICATION/T0/POLICY/REWARD[/VALUES].

    >>> lanes({"replications": 1, "T0": [50], "environments": ["gaussian"], "regimes": ["B"], "policies": ["query_all"],
    ...        "output": {"order": False}})
    ['gaussian/B/0/-/oracle/known', 'gaussian/B/0/-/query_all/known']
    """
    return [name for name, _ in _core.lanes(_config(study), setting)]


def explain(study: AnyStudy, lane: str, period: int, last: Optional[int] = None, setting: str = "") -> dict[str, Any]:
    """Explains periods `period` to `last` of a lane, as `Lane.explain` does."""
    if isinstance(study, Results):
        return study.lane(lane, setting=setting).explain(period, last)
    text = _core.explain(_config(study), setting, lane, period, period if last is None else last)
    found: dict[str, Any] = json.loads(text)
    return found


class Tuning(Shown):
    """The results of tuning."""

    _between = "\n\n"

    def __init__(self, found: dict[str, Any]) -> None:
        #: everything, with the regrets of every replication: the content of the file that ``pandora tune --out`` writes
        self.details: dict[str, Any] = json.loads(found["json"])
        #: every candidate with its round and regret, and winners with their results in the judgement
        self.candidates: Table = Table(found["candidates"], "candidates")
        self.tables: list[Table] = [of_program(table) for table in found["tables"]]
        names = ("policy", "reward", "hyperparameter", "setting")
        columns: dict[str, Any] = {name: [winner[k] for winner in found["winners"]] for k, name in enumerate(names)}
        judged = [race["judged"]["regret_x1000"] for race in self.details["races"]]
        for name, end in (("regret_x1000", "mean"), ("half_width_95_x1000", "half_width_95")):
            columns[name] = np.array([one[end] for one in judged], dtype=float)  # None becomes NaN
        #: the chosen values of each policy and reward setting, with the regret on replications that had no part in it
        self.winners: Table = Table(columns, "winners")


def tune(
    study: AnyStudy,
    budget: int,
    policies: Iterable[type[Policy]] = (),
    threads: int = 0,
    progress: Progress = None,
    *,
    backend: str = "auto",
    devices: str = "all",
) -> Tuning:
    """Chooses hyperparameters, and keys that vary, by successive halving, and judges them on fresh replications.

    `budget`: the most lanes for the choice; a lane is a policy in one replication. No folder is kept.
    """
    with shown(progress) as bar:
        return Tuning(_core.tune(_config(study, policies), budget, threads, backend, devices, bar))


def calibrate(
    study: AnyStudy = {},  # noqa: B006
    boxes: float = 1.5,
    replications: int = 100,
    contexts: int = 200,
    threads: int = 0,
    progress: Progress = None,
    environments: Sequence[str] = (),
) -> Table:
    """The u, upper bound of the cost levels, with which the oracle opens a wanted number of boxes per period.

    A row for each environment of the study, by default the paper's: `u`, the `boxes_per_period` that it gives with the
    half-width over replications, and the `u_of_study`.
    """
    config = _config(study)
    if environments:
        config.set("environments", ",".join(environments), "environments of pandora.calibrate")
    with shown(progress, "steps") as bar:
        found = _core.calibrate(config, boxes, replications, contexts, threads, bar)
    return Table(found, "u for a wanted number of boxes")
