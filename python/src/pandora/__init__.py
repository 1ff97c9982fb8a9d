"""pandora: learning policies for the online contextual Pandora's box, at full scale.

>>> import pandora
>>> results = pandora.run({"replications": 2, "periods": 200, "T0": [0], "environments": ["uniform"], "regimes": ["A"],
...                        "policies": ["online_plugin", "dow"], "oracle": {"samples": 2000},
...                        "output": {"order": False}}, out=tmp / "first", progress=False)
>>> results.best(reward="known")["policy"].tolist() in (["dow", "online_plugin"], ["online_plugin", "dow"])
True

`run` simulates a study, `open` reads a folder of results. Derive your own code from `Policy` and `Environment`.
"""

from __future__ import annotations

import os as _os
import sys as _sys
from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _sys.argv[:1] == ["-m"]:  # one of the package's commands: numpy is to take one thread, unless somebody says more
    for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        _os.environ.setdefault(_name, "1")

from . import level as _level

_level.load()
from . import _core
from ._core import LaneSetup, Output, Request, WeitzmanEstimator
from .cascade import Cascade, CascadeTest, Frontier
from .environment import Environment
from .errors import (
    DataError,
    Error,
    Interrupted,
    LaneFailure,
    MismatchError,
    OutputError,
    PandoraWarning,
    ResourceError,
    UsageError,
)
from .features import Features
from .figures import Figure
from .indices import ReplicationRequest, reservation_index
from .interval import Interval
from .oracle import ExactPolicy, OracleGrid, oracle_index, solve_exactly
from .policy import IndexPolicy, Policy, policies, register
from .results import Lane, Results, open
from .running import Tuning, calibrate, explain, lanes, run, tune
from .study import study_keys
from .table import Table
from .trace import Trace, TraceCheck

if _TYPE_CHECKING:
    from . import serving  # noqa: F401


def __getattr__(name: str) -> _Any:
    """`pandora.serving` is loaded only when it is asked for: its requirements take as long to import as all else."""
    if name == "serving":
        return _import_module(".serving", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__version__: str = _version("pandora-box")
#: version, revision, compiler and flags of the library
build: str = _core.build

__all__ = [
    "Cascade", "CascadeTest", "DataError", "Environment", "Error", "ExactPolicy", "Features", "Figure", "Frontier",
    "IndexPolicy", "Interrupted", "Interval", "Lane", "LaneFailure", "LaneSetup", "MismatchError", "OracleGrid",
    "Output", "OutputError", "PandoraWarning", "Policy", "ReplicationRequest", "Request", "ResourceError",
    "Results", "Table", "Trace", "TraceCheck", "Tuning", "UsageError", "WeitzmanEstimator", "__version__", "build",
    "calibrate", "explain", "lanes", "open", "oracle_index", "policies", "register", "reservation_index", "run",
    "solve_exactly", "study_keys", "tune",
]  # fmt: skip
