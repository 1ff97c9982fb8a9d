"""Exceptions for requests that a database of events refuses or cannot fulfil."""

from __future__ import annotations

from ...errors import DataError, ResourceError, UsageError


class DatabaseAway(ResourceError):
    """The database cannot be used now: it cannot be reached, is locked, or its disk is full. Nothing was changed, or
    everything was if the connection broke during a commit. The same call may be repeated.
    """


class Raced(DatabaseAway):
    """Another connection wrote the same key meanwhile; reading again will show it."""


class DamageError(DataError):
    """The database holds other content than was written, or lacks some. `damages` are sentences, one for each place."""

    def __init__(self, name: str, damages: list[str]) -> None:
        told = "; ".join(damages[:5]) + (f"; and {len(damages) - 5} more" if len(damages) > 5 else "")
        super().__init__(
            f"{name}: is damaged: {told}; bring back a copy of it, or begin a new "
            "one with pandora.serving.saved_cascade()"
        )
        self.damages = damages


class ChainError(DataError):
    """Rows that do not continue what the database has of their worker: another process writes under the same number, or
    the database was replaced by an older copy. The worker goes on under a new number.
    """


class FeedbackRefused(UsageError):
    """Feedback that cannot be appended; nothing of its batch was.

    `request` is the request's number. `refusals` has all that the batch's rows met, by the rows' sequence numbers.
    """

    def __init__(self, request: int, said: str) -> None:
        super().__init__(f"feedback for request {request}: {said}")
        self.request = request
        self.refusals: dict[int, FeedbackRefused] = {}


class FeedbackKnown(FeedbackRefused):
    """The same feedback is there already: nothing is left to do."""


class FeedbackConflict(FeedbackRefused):
    """The request has another feedback already, which stays."""


class FeedbackRemoved(FeedbackRefused):
    """The request is older than what is kept (`keep_days`)."""


class LearnerLost(ResourceError):
    """Another process may be the learner by now: the connection of this one broke, or it was forked."""


class OutboxFull(ResourceError):
    """The database is away for so long that no more events can be kept; those given were not, and are counted."""
