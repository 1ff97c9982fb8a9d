"""Writes decisions and feedback as lines of JSON to files decisions-N.jsonl of a folder; the oldest files are
removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from typing import Optional

from ..errors import OutputError
from .members import Json, refusal

_NAME = re.compile(r"decisions-(\d{9})\.jsonl")


class DecisionLog:
    """Appends lines to a folder, which it makes if necessary; OutputError if the folder cannot be written to.

    A file is full at `file_bytes`. When all files exceed `most_bytes`, the oldest is removed. Only the owner can read
    the files. A forked child has files of its own.
    """

    def __init__(self, folder: str, file_bytes: int, most_bytes: int) -> None:
        if file_bytes < 1 or most_bytes < file_bytes:
            raise refusal(
                f"a decision log of {most_bytes} bytes in files of {file_bytes}: give files of at least 1, and no more "
                "than all have"
            )
        self.folder, self.file_bytes, self.most_bytes = folder, file_bytes, most_bytes
        self._file: Optional[int] = None
        self._length, self._process = 0, 0
        try:
            os.makedirs(folder, exist_ok=True)
            problem = "" if os.access(folder, os.W_OK) else "Permission denied"
        except OSError as error:
            problem = error.strerror or str(error)
        if problem:
            raise OutputError(f"{folder}: cannot keep a decision log ({problem}); log to another folder")

    def write(self, line: Json) -> None:
        """Raises OSError if the line cannot be written; then no part of it is in the file."""
        text = (json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n").encode(errors="replace")
        if self._file is None or self._length >= self.file_bytes or self._process != os.getpid():
            self._open_next()
        assert self._file is not None
        written = os.write(self._file, text)
        if written < len(text):
            os.ftruncate(self._file, self._length)
            raise OSError("the disk is full")
        self._length += written

    def _numbers(self) -> list[int]:
        found = (_NAME.fullmatch(name) for name in os.listdir(self.folder))
        return sorted(int(match[1]) for match in found if match)

    def _path(self, number: int) -> str:
        return os.path.join(self.folder, f"decisions-{number:09}.jsonl")

    def _open_next(self) -> None:
        self.close()
        there = self._numbers()
        number = there[-1] + 1 if there else 1
        while self._file is None:
            with contextlib.suppress(FileExistsError):
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
                self._file = os.open(self._path(number), flags, 0o600)
                os.fchmod(self._file, 0o600)
            number += 1
        self._length, self._process = 0, os.getpid()
        left = self.most_bytes - self.file_bytes
        for old in reversed(there):
            with contextlib.suppress(OSError):
                left -= os.path.getsize(self._path(old))
                if left < 0:
                    os.remove(self._path(old))

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None and self._process == os.getpid():
            os.close(self._file)
        self._file = None

    def __del__(self) -> None:
        with contextlib.suppress(OSError):
            self.close()
