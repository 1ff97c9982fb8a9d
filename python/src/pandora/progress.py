"""Progress of long calls: a bar in a terminal, one in a notebook, or a caller's function."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Iterator
from typing import Any, Callable, Optional, Union

from . import _core

Progress = Union[None, bool, Callable[[int, int], None]]


class _Bar:
    def __init__(self, what: str) -> None:
        self._what = what
        self._start = time.monotonic()
        self._drawn = 0

    def _line(self, done: int, total: int, width: int) -> str:
        return _core.progress_line(done, total, time.monotonic() - self._start, width, self._what)

    def __call__(self, done: int, total: int) -> None:
        width = shutil.get_terminal_size().columns - 1
        line = self._line(done, total, width)
        sys.stderr.write("\r" + line.ljust(min(self._drawn, width)))
        sys.stderr.flush()
        self._drawn = len(line)

    def close(self) -> None:
        if self._drawn:
            sys.stderr.write("\n")


class _NotebookBar(_Bar):
    _shown: Any = None

    def __call__(self, done: int, total: int) -> None:
        from IPython.display import HTML, display

        line = self._line(done, total, 45)
        bar = HTML(f'<progress value="{done}" max="{total}"></progress> <code>{line}</code>')
        if self._shown is None:
            self._shown = display(bar, display_id=True)
        else:
            self._shown.update(bar)


def bar_of(progress: Optional[bool], what: str = "lanes") -> Optional[_Bar]:
    """How progress is shown: True always, False never, None if somebody can see it (a terminal, a notebook)."""
    if progress is False:
        return None
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if type(shell).__name__ == "ZMQInteractiveShell":
        return _NotebookBar(what)
    return _Bar(what) if progress or sys.stderr.isatty() else None


@contextlib.contextmanager
def shown(progress: Progress, what: str = "lanes") -> Iterator[Optional[Callable[[int, int], None]]]:
    """The function to call with done and all while the block runs: a bar, or the function `progress`."""
    bar = None if callable(progress) else bar_of(progress, what)
    try:
        yield progress if callable(progress) else bar
    finally:
        if bar is not None:
            bar.close()
