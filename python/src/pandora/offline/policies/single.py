"""One model for every prompt."""

from __future__ import annotations

from typing import Optional

from ..kinds import Candidate
from .base import Policy, Prepared
from .order import Order


class Single:
    """The kind `best single`: what every other kind is held against."""

    name = "best single"
    needs: frozenset[str] = frozenset()
    out_of_fold = False
    priced_by = "thresholds"

    def fit(self, prepared: Prepared, candidate: Candidate, near: Optional[Policy] = None) -> Policy:
        """Nothing is fitted where a model is named."""
        return Order((candidate.model,))
