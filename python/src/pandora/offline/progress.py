"""How far a fit is, for who waits for it."""

from __future__ import annotations

from typing import Callable, Optional


class Progress:
    """Counts the fits that are done; `told(done, total)` hears of each."""

    def __init__(self, told: Optional[Callable[[int, int], None]] = None) -> None:
        self._told = told
        self._done = self._total = 0

    def expect(self, fits: int) -> None:
        """So many more are to come."""
        self._total += fits

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        if self._told is not None:
            self._told(self._done, max(self._done, self._total))
