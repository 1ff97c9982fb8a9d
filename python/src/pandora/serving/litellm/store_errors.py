"""Errors of the store on which a client is told why its feedback is refused."""

from __future__ import annotations

try:
    from ..database import FeedbackConflict as CONFLICT
    from ..database import FeedbackRemoved as REMOVED
except ImportError:  # the former store
    CONFLICT = REMOVED = ()
