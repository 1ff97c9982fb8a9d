"""One model for every prompt: what every other kind is held against."""

from __future__ import annotations

from typing import Optional

from ..kinds import Candidate
from ..sources.table import PreparedTable
from .base import Kind, Policy
from .order import Order


def fit(prepared: PreparedTable, candidate: Candidate, warm_start: Optional[Policy]) -> Policy:
    """Nothing is fitted where a model is named."""
    return Order((candidate.model,))


SINGLE = "best single"
KIND = Kind(SINGLE, "the same model for each prompt", fit)
