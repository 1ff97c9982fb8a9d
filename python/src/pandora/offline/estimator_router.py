"""A cascade whose router is an estimator of the caller's: it runs in this process, and no file can hold it."""

from __future__ import annotations

import json
from typing import Any, NoReturn, Optional

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import UsageError
from .groups import Floats
from .policies.router import Plans

#: Utilities as numbers of psi: beyond it they are taken for it.
_MOST_UTILITY = 1e30


class RoutedByEstimator:
    """Has the methods of _core.Cascade.

    A cascade of the engine does what comes after the choice of a plan: its psi is 1 and what the estimator says that
    each plan is worth, of which its router takes the greatest. Another one, of the same features, reads a prompt's.
    """

    def __init__(self, file: dict[str, Any], plans: Plans) -> None:
        """`file`: by file_of(), with `about`."""
        #: the members that a file would have, with the estimator's name in place of a router
        self.file, self._plans = file, plans
        count, features = len(plans.plans), file.get("features")
        chosen = _linear(np.vstack([np.zeros(count), np.eye(count)]))
        psi_range = [[-1.0, 1.0], *([[-_MOST_UTILITY, _MOST_UTILITY]] * count)]
        live = {**file, "router": chosen, "index_features": 1 + count, "psi_range": psi_range, "features": None}
        first = file["plans"][0]["order"][:1]
        reader = {
            **file,
            "kind": "router",
            "models": first,
            "plans": [{"order": first, "thresholds": []}],
            "router": _linear(np.zeros((1 if features is None else 1 + len(features["columns"]), 1))),
            "calibration": None,
            "about": None,
        }
        self._live, self._reader = (_core.cascade_of(json.dumps(one)) for one in (live, reader))
        ends = file.get("psi_range")
        self._range = None if ends is None else np.array(ends, np.float32)

    def begin(self, psi: npt.NDArray[np.float32]) -> int:
        """A request arrives."""
        number: int = self._live.begin(self._utilities(psi[None])[0])
        return number

    def begin_prompt(self, text: str, columns: dict[str, Any]) -> int:
        """Likewise, by its text and columns."""
        return self.begin(self.context_of(text, columns))

    def context_of(self, text: str, columns: dict[str, Any]) -> npt.NDArray[np.float32]:
        """Psi of a prompt, 1 and its features."""
        psi: npt.NDArray[np.float32] = self._reader.context_of(text, columns)
        return psi

    def _utilities(self, psi: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Of n prompts, n x (1 + plans)."""
        if self._range is not None:
            psi = np.clip(psi, self._range[:, 0], self._range[:, 1])
        quality, usd = self._plans.predictor.predict(psi[:, 1:])
        worth = np.clip(quality - self._plans.price * usd, -_MOST_UTILITY, _MOST_UTILITY)
        return np.column_stack([np.ones(len(psi)), worth]).astype(np.float32)

    def run(self, psi: Optional[npt.NDArray[np.float32]], usd: Floats, shown: Floats) -> tuple[Any, Any, Any]:
        """What it does with n prompts, as _core.run_cascade() says it of others."""
        if psi is None:
            psi = np.ones((len(usd), 1), np.float32)
        found: tuple[Any, Any, Any] = _core.run_cascade(self._live, self._utilities(psi), usd, shown)
        return found

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
