"""Panels of the paper's Tables 1 and 2, as a folder of results has them: the data of a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np
import numpy.typing as npt

from .control_variates import Covariate
from .sample import Sample

# Rows of Tables 1 and 2: policy, reward, and the reward that the paper prints in the row's name.
ROWS = (
    ("online_plugin", "known", "known"),
    ("online_plugin", "unknown", "unknown"),
    ("dow", "known", "known"),
    ("dow", "unknown", "unknown"),
    ("static_plugin", "unknown", ""),
    ("linucb_online", "none", ""),
    ("linucb_static", "none", ""),
    ("frugalgpt", "known", "known"),
)
ORDER = ("permutations", "max_mass", "min_mass")  # of Table 3
PAPER_REPLICATIONS = 50
LEAST_FOR_COMPARISON = 10  # of fewer replications a half-width is a guess


@dataclass(frozen=True)
class Entry:
    """A row in a cell: regrets x 1000 of each of its hyperparameters."""

    policy: str
    reward: str  # "": the paper does not say
    T0: int
    choices: tuple[Sample, ...]

    @property
    def name(self) -> str:
        """Such as dow/known."""
        return f"{self.policy}/{self.reward}" if self.reward else self.policy

    @property
    def regrets(self) -> Sample:
        """The regrets of the hyperparameters with the least mean, as the paper reports them."""
        return min(self.choices, key=lambda choice: choice.mean)


@dataclass(frozen=True)
class Panel:
    """One (environment, regime) of a setting, in the replications in which the oracle and all rows count."""

    setting: str
    environment: str
    regime: str
    replications: int  # of the study
    which: Optional[npt.NDArray[np.intp]]  # those that count; None where they are not kept one by one
    utility: Optional[Sample]  # the oracle's, x 1000
    boxes: Optional[Sample]
    order: tuple[Sample, ...]  # permutations, greatest and least mass; empty without Table 3
    costs: tuple[Covariate, ...]  # mean, least and greatest cost level of the boxes; empty without instances
    entries: tuple[Entry, ...]

    @property
    def n(self) -> int:
        """How many replications count."""
        return self.utility.n if self.utility is not None else self.order[0].n

    @property
    def name(self) -> str:
        """Such as A uniform."""
        return f"{self.regime} {self.environment}"

    @property
    def calibrations(self) -> list[int]:
        """The T_0 of its entries."""
        return list(dict.fromkeys(entry.T0 for entry in self.entries))

    def find(self, name: str, T0: int) -> Optional[Entry]:
        """The row of that name at T_0."""
        return next((entry for entry in self.entries if entry.T0 == T0 and entry.name == name), None)

    def take(self, which: npt.NDArray[np.intp]) -> Panel:
        """The panel in some of its replications; hyperparameters are chosen on these alone."""

        def some(sample: Optional[Sample]) -> Optional[Sample]:
            return None if sample is None else sample.take(which)

        return replace(
            self,
            which=None if self.which is None else self.which[which],
            utility=some(self.utility),
            boxes=some(self.boxes),
            order=tuple(sample.take(which) for sample in self.order),
            costs=tuple(replace(cost, values=cost.values[which]) for cost in self.costs),
            entries=tuple(replace(e, choices=tuple(c.take(which) for c in e.choices)) for e in self.entries),
        )


def selected(panels: Sequence[Panel], only: Mapping[str, Sequence[str]]) -> list[Panel]:
    """The panels and entries whose setting, environment, regime, policy, reward and T0 are among those of `only`."""

    def wanted(of: object, keys: Sequence[str]) -> bool:
        return all(str(getattr(of, key)) in only[key] for key in keys if key in only)

    return [
        replace(panel, entries=tuple(e for e in panel.entries if wanted(e, ("policy", "reward", "T0"))))
        for panel in panels
        if wanted(panel, ("setting", "environment", "regime"))
    ]
