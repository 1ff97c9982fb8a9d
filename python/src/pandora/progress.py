"""Progress of long calls: a bar in a terminal, one in a notebook, or a function of one's own."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any, Callable, Optional, Union

from . import _core

__all__ = ["Progress"]

Progress = Union[None, bool, Callable[[int, int], None]]


class _TerminalBar:
    def __init__(self, what: str) -> None:
        self._what = what
        self._start = time.monotonic()
        self._drawn = 0

    def __call__(self, done: int, total: int) -> None:
        width = shutil.get_terminal_size().columns - 1
        line = _core.progress_line(done, total, time.monotonic() - self._start, width, self._what)
        sys.stderr.write("\r" + line.ljust(min(self._drawn, width)))
        sys.stderr.flush()
        self._drawn = len(line)

    def close(self) -> None:
        if self._drawn:
            sys.stderr.write("\n")


class _NotebookBar:
    def __init__(self, what: str) -> None:
        self._what = what
        self._start = time.monotonic()
        self._shown: Any = None

    def __call__(self, done: int, total: int) -> None:
        from IPython.display import HTML, display

        line = _core.progress_line(done, total, time.monotonic() - self._start, 45, self._what)
        bar = HTML(f'<progress value="{done}" max="{total}"></progress> <code>{line}</code>')
        if self._shown is None:
            self._shown = display(bar, display_id=True)
        else:
            self._shown.update(bar)

    def close(self) -> None:
        pass


class _Own:
    def __init__(self, told: Callable[[int, int], None]) -> None:
        self._told = told

    def __call__(self, done: int, total: int) -> None:
        self._told(done, total)

    def close(self) -> None:
        pass


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


Bar = Union[_TerminalBar, _NotebookBar, _Own]


def bar_of(progress: Progress, what: str = "lanes") -> Optional[Bar]:
    """What shows progress: True always, False never, None where somebody looks (a terminal, a notebook)."""
    if callable(progress):
        return _Own(progress)
    if progress is False:
        return None
    if _in_notebook():
        return _NotebookBar(what)
    return _TerminalBar(what) if progress or sys.stderr.isatty() else None
