"""One model for every prompt, with which all other kinds are compared."""

from __future__ import annotations

from typing import Optional

from ..kinds import Candidate, Kind, Policy
from ..sources.table import PreparedTable
from .order import Order


def fit(prepared: PreparedTable, candidate: Candidate, warm_start: Optional[Policy]) -> Policy:
    """If a model is named, nothing is fitted."""
    return Order((candidate.model,))


SINGLE = "best single"
KIND = Kind(SINGLE, "the same model for each prompt", fit)
