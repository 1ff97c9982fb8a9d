"""The kinds of cascades. A new one is a module with a KIND, and a place in KINDS."""

from __future__ import annotations

from ..kinds import Kind, Policy
from . import indices, routed, router, single, thresholds
from .order import Order

#: By name, the simpler ones first. Of two equally good ones, the first is taken.
KINDS: dict[str, Kind] = {kind.KIND.name: kind.KIND for kind in (single, router, thresholds, indices, routed)}

__all__ = ["KINDS", "Kind", "Order", "Policy"]
