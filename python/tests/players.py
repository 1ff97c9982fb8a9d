"""Forked processes that work with a store until they are killed. A pipe reports the answers that they got."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, Optional

Tell = Callable[[Any], None]


class Player:
    """A child process that runs `work(tell, orders)`. It reports JSON by `tell`, and gets JSON from `order`."""

    def __init__(self, work: Callable[[Tell, Callable[[], list[Any]]], None]) -> None:
        told, tells = os.pipe()
        reads, self._orders = os.pipe()
        self._told, self._rest, self.lines = told, b"", list[Any]()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                work(lambda what: _write(tells, what), _reader(reads))
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(0)
        os.close(tells)
        os.close(reads)
        os.set_blocking(told, False)

    def read(self, seconds: float = 0.0) -> list[Any]:
        """The reports since the last call. Waits so many seconds for the first."""
        select.select([self._told], [], [], seconds)
        found: list[Any] = []
        while True:
            try:
                part = os.read(self._told, 1 << 16)
            except BlockingIOError:
                break
            if not part:
                break
            self._rest += part
        *lines, self._rest = self._rest.split(b"\n")
        found = [json.loads(line) for line in lines]
        self.lines += found
        return found

    def order(self, what: Any) -> None:
        """Sends an order to the child, if it is alive."""
        with contextlib.suppress(BrokenPipeError):
            _write(self._orders, what)

    def kill(self, with_signal: Optional[int] = signal.SIGKILL) -> list[Any]:
        """Kills the child, or waits for its end. Returns the reports since the last read."""
        if with_signal is not None:
            os.kill(self.pid, with_signal)
        found: list[Any] = []
        while True:
            found += self.read(0.05)
            if os.waitpid(self.pid, os.WNOHANG)[0] == self.pid:
                break
        found += self.read()
        os.close(self._told)
        os.close(self._orders)
        return found


def _write(file: int, what: Any) -> None:
    os.write(file, json.dumps(what).encode() + b"\n")


def _reader(file: int) -> Callable[[], list[Any]]:
    """A function that returns the orders that have come."""
    rest = b""

    def read() -> list[Any]:
        nonlocal rest
        if not select.select([file], [], [], 0.0)[0]:
            return []
        *lines, rest = (rest + os.read(file, 1 << 16)).split(b"\n")
        return [json.loads(line) for line in lines]

    return read
