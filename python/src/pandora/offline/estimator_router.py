"""A cascade whose router is an estimator of the caller's: it runs in this process, and no file can hold it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import UsageError
from .deploy import _plan
from .options import FitSettings
from .policies.router import Plans
from .sources.table import PreparedTable

#: Utilities as numbers of psi: beyond it they are taken for it.
_MOST_UTILITY = 1e30


class RoutedByEstimator:
    """Has the methods of _core.Cascade.

    A cascade of the engine does what comes after the choice of a plan: its psi is 1 and what the estimator says that
    each plan is worth, of which its router takes the greatest. Another one, of the same features, knows a prompt's.
    """

    def __init__(self, live: _core.Cascade, features: _core.Cascade, plans: Plans, psi_range: Any) -> None:
        self._live, self._features, self._plans = live, features, plans
        self._range = np.array(psi_range, np.float32) if psi_range else None

    @staticmethod
    def file_of(
        policy: Plans, price: float, settings: FitSettings, prepared: PreparedTable, used: Sequence[int]
    ) -> dict[str, Any]:
        """The members that a file would have, with the estimator's name in place of a router."""
        names = prepared.source.models
        plans = [_plan(plan, names) for plan in policy.plans]
        alone = all(len(plan.order) == 1 for plan in policy.plans)
        file: dict[str, Any] = {
            "kind": "router" if alone else "routed",
            "models": [names[model] for model in used],
            "price": price,
            "evaluator": settings.evaluator,
            "plans": plans,
            "router": {"learner": getattr(policy.predictor, "learner", "")},
        }
        if prepared.calibration and not alone:
            file["calibration"] = [prepared.calibration[model].to_json() for model in used]
        return file

    @staticmethod
    def of(policy: Plans, file: dict[str, Any], about: dict[str, Any], prepared: PreparedTable) -> RoutedByEstimator:
        """`file`: by file_of()."""
        count = len(policy.plans)
        chosen = _linear(np.vstack([np.zeros(count), np.eye(count)]))
        psi_range = [[-1.0, 1.0], *([[-_MOST_UTILITY, _MOST_UTILITY]] * count)]
        # Its psi are utilities, of which a price would be taken once more.
        live = {**file, "router": chosen, "index_features": 1 + count, "psi_range": psi_range, "about": about}
        first = file["plans"][0]["order"][:1]
        reader: dict[str, Any] = {
            "kind": "router",
            "models": first,
            "price": file["price"],
            "evaluator": "none",
            "plans": [{"order": first, "thresholds": []}],
            "router": _linear(np.zeros((1 if prepared.outcomes.psi is None else prepared.outcomes.psi.shape[1], 1))),
        }
        if prepared.features is not None and prepared.features.size > 0:
            reader["features"] = json.loads(prepared.features.json)
        if prepared.psi_range:
            reader["psi_range"] = [list(ends) for ends in prepared.psi_range]
        cascades = [_core.cascade_of(json.dumps(one)) for one in (live, reader)]
        return RoutedByEstimator(cascades[0], cascades[1], policy, prepared.psi_range)

    def begin(self, psi: npt.NDArray[np.float32]) -> int:
        """A request arrives."""
        number: int = self._live.begin(self._utilities(psi))
        return number

    def begin_prompt(self, text: str, columns: dict[str, Any]) -> int:
        """Likewise, by its text and columns."""
        return self.begin(self.context_of(text, columns))

    def context_of(self, text: str, columns: dict[str, Any]) -> npt.NDArray[np.float32]:
        """Psi of a prompt, 1 and its features."""
        psi: npt.NDArray[np.float32] = self._features.context_of(text, columns)
        return psi

    def _utilities(self, psi: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        if self._range is not None:
            psi = np.clip(psi, self._range[:, 0], self._range[:, 1])
        quality, usd = self._plans.predictor.predict(psi[None, 1:])
        worth = np.clip(quality[0] - self._plans.price * usd[0], -_MOST_UTILITY, _MOST_UTILITY)
        return np.concatenate([[1.0], worth]).astype(np.float32)

    def save(self, path: str) -> NoReturn:
        """Raises UsageError."""
        self.text()

    def text(self) -> NoReturn:
        """Raises UsageError."""
        self._plans.predictor.to_json()
        raise UsageError("a cascade whose router is an estimator cannot be saved")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._live, name)


def _linear(weights: npt.NDArray[np.float64]) -> dict[str, Any]:
    """A router that predicts weights' psi as quality, and no dollars. weights: numbers of psi x plans."""
    return {"learner": "ridge", "quality": weights.ravel().tolist(), "dollars": np.zeros(weights.size).tolist()}
