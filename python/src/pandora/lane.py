"""Single lanes of a folder of results."""

from __future__ import annotations

import json
from typing import Any, Optional

from . import _core
from .errors import MismatchError
from .folder import Folder

__all__ = ["Lane"]


class Lane:
    """One lane of a folder of results."""

    def __init__(self, results: Folder, name: str, setting: str = "") -> None:
        self.results = results
        self.name = name
        self.setting = setting

    def __repr__(self) -> str:
        return f"<pandora.Lane {self.name}{' of ' + self.setting if self.setting else ''}>"

    def explain(self, period: int, last: Optional[int] = None) -> dict[str, Any]:
        """Period `period`, or all up to `last`: what the lane saw, did and why, and what the oracle would have done.

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
        """The lane run again, alone: its sums, regret and curve, as ``pandora replay`` prints them."""
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
