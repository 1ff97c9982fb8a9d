"""Files that commands write: what may be written is asked before any work."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable
from typing import Optional

from ..errors import OutputError
from .errors import Refusal


def claim_file(path: str, force: bool, inputs: Iterable[str]) -> None:
    """Raises Refusal where a file cannot be written, is an input or, without `force`, is there already."""
    if not path:
        raise Refusal("out", None, "names no file", "give one")
    require_regular(path)
    for given in inputs:
        if given and os.path.exists(given) and os.path.exists(path) and os.path.samefile(given, path):
            raise Refusal("out", path, f"is the input {given} itself", "name another file")
    if not force and os.path.exists(path):
        raise Refusal("out", path, "is there already", "name another file, or replace it with {force}")
    _require_writable(os.path.dirname(path) or ".", path, "name a file in a writable folder")


def claim_folder(path: str, force: bool) -> None:
    """Makes the folder, or raises Refusal where it cannot be written or, without `force`, is not empty."""
    if not path:
        raise Refusal("out", None, "names no folder", "give one")
    if os.path.exists(path) and not os.path.isdir(path):
        raise Refusal("out", path, "is a file", "name a folder")
    try:
        os.makedirs(path, exist_ok=True)
        empty = not os.listdir(path)
    except OSError as error:
        raise Refusal("out", path, f"cannot be used ({error.strerror})", "name a writable folder") from None
    if not force and not empty:
        raise Refusal("out", path, "is not empty", "name a fresh folder, or use it with {force}")
    _require_writable(path, path, "name a writable folder")


def require_regular(path: str) -> None:
    """Raises Refusal where there is a folder, a link, a pipe or a device."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return
    if stat.S_ISREG(mode):
        return
    link = stat.S_ISLNK(mode)
    what = "folder" if stat.S_ISDIR(mode) else "link" if link else "pipe, socket or device"
    remedy = "put what it names in its place" if link else "remove it"
    raise Refusal(
        "",
        None,
        f"{path}: cannot be written (there is a {what}, and only regular files are written)",
        f"{remedy} or choose another {{out}}",
    )


def write_text(path: str, text: str) -> None:
    """Whole or not at all. Raises OutputError."""
    require_regular(path)
    temporary: Optional[str] = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=os.path.dirname(path) or ".")
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        raise OutputError(
            f"{path}: could not be written ({error.strerror}); make room, or choose another folder"
        ) from None


def _require_writable(folder: str, path: str, remedy: str) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise Refusal("out", path, f"cannot be written ({error.strerror})", remedy) from None
