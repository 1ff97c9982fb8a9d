"""The kinds of cascades. A new one is a module with a `Kind` and a line in KINDS."""

from __future__ import annotations

from . import indices, routed, router, single, thresholds
from .base import Kind, Policy, Prepared
from .order import Order

#: By name, the simpler ones first. Where two are worth the same, the one that comes first is taken.
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (single.Single(), router.Router(), thresholds.Thresholds(), indices.Indices(), routed.Routed())
}

__all__ = ["KINDS", "Kind", "Order", "Policy", "Prepared"]
