"""The progress of a fit, for callers who wait."""

from __future__ import annotations

from typing import Callable, Optional


class Progress:
    """Counts finished fits; `told(done, total)` is called for each."""

    def __init__(self, told: Optional[Callable[[int, int], None]] = None) -> None:
        self._told = told
        self._done = self._total = 0

    def expect(self, fits: int) -> None:
        """Adds that many fits to the total."""
        self._total += fits

    def step(self) -> None:
        """Counts a finished fit."""
        self._done += 1
        if self._told is not None:
            self._told(self._done, max(self._done, self._total))
