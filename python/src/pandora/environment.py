"""Environments that users write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np

from . import _core
from .code import code_of
from .errors import UsageError
from .indices import ReplicationRequest, numbers

_ARRAYS = ("psi", "phi", "mu", "cost", "reward", "sigma")


class Environment:
    """An environment as code: derive from it, write :meth:`draw`, and give it to :func:`pandora.run`."""

    #: its name in studies and results, of letters, digits, _ and -; empty: the class's name
    name: str = ""
    #: the coordinate of its random streams, 3 to 255; every environment has its own
    stream: int = 200
    #: upper bound of the cost levels of the paper's model, if draw starts from that model
    u: float = 0.23
    #: the law of the paper's model from which `request.model()` draws: uniform, gaussian or student_t5
    law: str = "uniform"
    #: set it if sigma is right although it is the model's and costs or outputs are not, because the change leaves both
    #: sides of the index equation as they are; otherwise a run warns about it
    sigma_is_meant: bool = False
    #: names of globals, closure variables and attributes on which results do not depend, such as a log; they are left
    #: out of the digest of the code by which results are identified
    not_in_digest: Sequence[str] = ()

    def draw(self, request: ReplicationRequest) -> Mapping[str, Any]:
        """Draws everything about one replication. It must depend on the request alone.

        Arrays by name, over `request.rows` rows (x_0, the C calibration periods, the T online periods), A boxes,
        m index features and d reward features:

        ======  ==============  =========================================================================
        psi     rows x m        index features of the request, the first of them 1
        phi     rows x A x d    reward features of the output of each box
        mu      rows x A        mu*, what deploying the output is worth, in [0, 1]
        cost    rows x A        what querying costs, in the unit of mu, at least 0
        reward  rows x A        what is told of a deployed output, in [0, 1]; left out: Bernoulli(mu)
        sigma   rows x A        the oracle's reservation indices; only those of the online rows count
        ======  ==============  =========================================================================

        ``request.model()`` gives all of them for the paper's model, and you can change them. A change of costs or
        outputs changes the oracle's indices: ``request.indices(...)`` computes those of the changed problem. An
        exception, or a number outside its range, ends the run.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no draw()")

    def generator(self, request: ReplicationRequest) -> np.random.Generator:
        """A generator for draws of the replication. It is the same whenever the replication is drawn."""
        regime = ord(request.regime)
        return np.random.default_rng([request.seed, request.stream, regime, request.replication])

    def _drawn(self, asked: _core.ReplicationRequest) -> dict[str, Any]:
        request = ReplicationRequest(asked)
        drawn = self.draw(request)
        if not isinstance(drawn, Mapping):
            raise UsageError(f"draw() returned {type(drawn).__name__}; return a dict of arrays: {', '.join(_ARRAYS)}")
        unknown = [name for name in drawn if name not in _ARRAYS]
        if unknown:
            raise UsageError(f"draw() returned {', '.join(unknown)}; use {', '.join(_ARRAYS)}")
        out = {name: numbers(f"{name} of draw()", values) for name, values in drawn.items()}
        if "reward" not in out and "mu" in out:
            words = np.random.default_rng([request.seed, request.stream, ord(request.regime), request.replication, 1])
            out["reward"] = (words.random(out["mu"].shape) < out["mu"]).astype(np.float64)
        return out


_registered: dict[str, str] = {}


def register(environment: Union[Environment, type[Environment]]) -> str:
    """Makes an environment known to studies; returns its name."""
    own = environment() if isinstance(environment, type) else environment
    if not isinstance(own, Environment):
        raise UsageError(f"environments: {environment!r} is not derived from pandora.Environment")
    name = own.name or type(own).__name__
    code = code_of(f"environment {name}", type(own), own)
    if _registered.get(name) != code:
        _core.register_environment(environment=own, name=name, stream=own.stream, u=own.u, law=own.law, code=code)
        _registered[name] = code
    return name
