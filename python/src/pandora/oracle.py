"""Reservation indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _core
from .errors import UsageError
from .results import Results
from .study import Study, config_of
from .table import Table

Numbers = npt.NDArray[np.float64]


def oracle_index(
    ell: npt.ArrayLike,
    scale: npt.ArrayLike,
    cost: npt.ArrayLike,
    environment: str = "uniform",
    *,
    samples: Optional[int] = None,
    seed: Optional[int] = None,
    study: Study = {},  # noqa: B006
    with_error: bool = False,
) -> Any:
    """Weitzman's reservation index: the sigma with E[(G(ell + scale w) - sigma)^+] = cost.

    w is the shock of the environment, projected on a unit vector drawn from the seed; the expectation is over `samples`
    shocks (400,000 unless the study says otherwise). Arguments are numbers or arrays of one shape, which sigma has too;
    `scale` and `cost` above 0. `with_error`: also the Monte Carlo standard errors of sigma.

    >>> low, high = oracle_index(0.0, 1.0, [0.05, 0.2], samples=20000)
    >>> bool(low > high)
    True
    """
    config = config_of(study)
    config.set("environments", environment, f"environment {environment}")
    if samples is not None:
        config.set("oracle.samples", str(samples), f"samples {samples}")
    if seed is not None:
        config.set("seed", str(seed), f"seed {seed}")
    arguments = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (ell, scale, cost)))
    shape = arguments[0].shape
    flat = [np.ascontiguousarray(value).reshape(-1) for value in arguments]
    found = tuple(values.reshape(shape)[()] for values in _core.oracle_index(config, *flat))
    return found if with_error else found[0]


@dataclass(frozen=True)
class ExactPolicy:
    """The optimal policy of a problem with finite laws, and what simpler policies bring; all in expected utility."""

    value: float  #: of the optimal policy
    weitzman: float  #: of Weitzman's rule, which opens what it deploys; optimal unless boxes may be deployed unopened
    commit_or_search: float  #: of the best policy that commits to one box, or to none, and never opens this box
    committed: Optional[int]  #: that box, from 0; None where opening alone is best
    relaxation: float  #: an upper bound: the optimum if one output is deployed only on average
    #: The states that the optimal policy reaches: `opened` (how often each box was opened, a tuple), `best` (the best
    #: value so far, nan before the first), `probability`, `action` ("open", "deploy", "outside" or "uninspected"),
    #: `box` (from 0, of "open" and "uninspected", else -1) and `value` (what can still be expected).
    states: Table


def _law_of(number: int, box: Mapping[str, Any]) -> tuple[float, list[float], list[float], int]:
    try:
        values, probabilities = ([*map(float, box[name])] for name in ("values", "probabilities"))
        return float(box["cost"]), values, probabilities, index(box.get("openings", 1))
    except (TypeError, ValueError):
        raise UsageError(
            f"solve_exactly, boxes[{number}]: give numbers, and for openings a whole one, not {dict(box)!r}"
        ) from None


def solve_exactly(
    boxes: Sequence[Mapping[str, Any]], *, uninspected: bool = False, outside: Optional[float] = None
) -> ExactPolicy:
    """The optimal policy of Pandora's problem with finite laws, by dynamic programming (docs/exact.md).

    Each box has `cost` (at least 0, of an opening), `values` (distinct), their `probabilities` (sum 1) and, if it can
    be opened more than once, `openings`. `uninspected`: a box with an opening left may be deployed unopened, for its
    mean. `outside`: nothing need be opened, and ending without a box is worth this. Up to 3e7 states are solved, which
    are (1 + values) x the product of (openings + 1). Raises UsageError for what is no law.

    >>> coin = {"cost": 0.1, "values": [0.0, 1.0], "probabilities": [0.5, 0.5]}
    >>> solve_exactly([coin]).value, solve_exactly([coin], uninspected=True).value
    (0.4, 0.5)
    """
    known = {"cost", "values", "probabilities", "openings"}
    for number, box in enumerate(boxes):
        if set(box) - known or not known - {"openings"} <= set(box):
            raise UsageError(
                f"solve_exactly, boxes[{number}]: give cost, values, probabilities and, if wanted, openings"
            )
    laws = [_law_of(number, box) for number, box in enumerate(boxes)]
    found = _core.exact_programme(laws, uninspected, outside)
    states = Table(
        {
            "opened": [tuple(row) for row in found["opened"].tolist()],
            **{name: found[name] for name in ("best", "probability", "action", "box")},
            "value": found["state_value"],
        }
    )
    committed = found["committed"] if found["committed"] >= 0 else None
    return ExactPolicy(
        found["value"], found["weitzman"], found["commit_or_search"], committed, found["relaxation"], states
    )


class OracleGrid:
    """The oracle of one replication of a study: its indices for any context.

    In regime A they are the same in all contexts; in regime B they come from the grid that a run of the study makes.

    >>> grid = OracleGrid({"periods": 200, "oracle": {"samples": 2000, "grid": [9, 5, 9]}}, "gaussian", "B")
    >>> grid.sigma(grid.contexts(4)).shape
    (4, 3)
    """

    def __init__(
        self,
        study: Union[Study, Results] = {},  # noqa: B006
        environment: str = "",
        regime: str = "",
        replication: int = 0,
    ) -> None:
        config = study._stored.study if isinstance(study, Results) else config_of(study)
        self._grid = _core.Grid(config, environment, regime, replication)

    @property
    def boxes(self) -> int:
        """A."""
        return self._grid.boxes

    @property
    def context(self) -> int:
        """d_x, the length of a context."""
        return self._grid.context

    def instance(self) -> dict[str, Numbers]:
        """The parameters of the replication by name: theta, D, Q, alpha, beta0, beta1, c0, c1.

        With `indices = "linear"` also rho and shock_quantiles.
        """
        found: dict[str, Numbers] = self._grid.instance()
        return found

    def contexts(self, periods: int) -> Numbers:
        """The contexts of the first online periods, periods x d_x."""
        return self._grid.contexts(periods)

    def sigma(self, x: npt.ArrayLike, box: Optional[int] = None) -> Any:
        """sigma_a^*(x) for contexts x, d_x numbers or n x d_x: of the box (from 0), or of all A along the last axis.

        Contexts beyond the range of those that the grid was made for are extrapolated.
        """
        at = np.asarray(x, dtype=np.float64)
        if at.ndim not in (1, 2):
            raise UsageError("OracleGrid.sigma: give a context, or an array of contexts x d_x")
        if box is not None and not 0 <= box < self.boxes:
            raise UsageError(f"OracleGrid.sigma: {box} is none of the indices of boxes, 0 to {self.boxes - 1}")
        found = self._grid.sigma(np.ascontiguousarray(np.atleast_2d(at)))
        out = found if at.ndim == 2 else found[0]
        return out if box is None else out[..., box]
