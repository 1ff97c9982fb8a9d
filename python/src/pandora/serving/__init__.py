"""Cascades in production: a cascade that runs keeps its decisions and what it learned in a database.

`open` gives a store, in each process that decides; docs/serving.md is the page for people.

>>> import pandora, pandora.serving
>>> new = pandora.Cascade.new(["small", "large"], price=1.0, evaluator="score")
>>> with pandora.serving.open(f"sqlite:///{tmp}/kept.db", new) as store:
...     with store.begin([1.0]) as request:
...         for model in request:
...             request.observe(dollars=0.01, score=0.9)
...     store.feedback(request.number, 1.0)
...     store.settle()
True
True
>>> with pandora.serving.open(f"sqlite:///{tmp}/kept.db") as store:  # as it was
...     store.metrics()["requests"]
1
"""

from __future__ import annotations

from .database import DatabaseAway, FeedbackConflict, FeedbackRemoved
from .monitor import Monitor
from .store import BudgetSpent, Store, open, saved_cascade
from .traffic import Budget, Shadow, share_of

__all__ = [
    "Budget", "BudgetSpent", "DatabaseAway", "FeedbackConflict", "FeedbackRemoved", "Monitor", "Shadow", "Store",
    "open", "saved_cascade", "share_of",
]  # fmt: skip
