"""Checks arguments of callers before the library sees them. An error names the argument, its value and the remedy."""

from __future__ import annotations

import operator
import os
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from .errors import UsageError

_MOST_INTEGER = 2**31 - 1


def refused(what: str, value: Any, wanted: str) -> UsageError:
    """The error for an argument `what` that is `value`."""
    return UsageError(f"{what} {reprlib.repr(value)}: give {wanted}")


def text(what: str, value: Any) -> str:
    """A str that UTF-8 can encode."""
    if not isinstance(value, str):
        raise refused(what, value, "a text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{what} {value[error.start : error.end]!a}: half of a surrogate pair at character {error.start}, "
            "which is no text; encode it with errors='replace'"
        ) from None
    return value


def texts(what: str, values: Any) -> list[str]:
    """A list of such texts. A single str is refused, because its characters would be taken as a list."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise refused(what, values, "a list of texts")
    return [text(what, value) for value in values]


def _several(value: Any) -> bool:
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) > 0  # an array without axes is one number


def number(what: str, value: Any) -> float:
    """A number of Python or numpy. Texts, complex numbers and masked numbers are refused."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if value is np.ma.masked or isinstance(value, (str, bytes, bool, complex, np.complexfloating, np.timedelta64)):
        raise refused(what, value, "a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise refused(what, value, "a number") from None


def numbers(what: str, values: Any) -> list[float]:
    """A number, or several; booleans become 1 and 0."""
    if isinstance(values, (bool, np.bool_)):
        return [float(values)]
    if isinstance(values, (str, bytes, Mapping)) or not _several(values):
        return [number(what, values)]
    return [number(what, value) for value in values]


def integer(what: str, value: Any, most: int = _MOST_INTEGER) -> int:
    """A whole number from 0 to `most`."""
    try:
        found = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        found = -1
    if not 0 <= found <= most:
        raise refused(what, value, f"a whole number from 0 to {most}")
    return found


def path(what: str, value: Union[str, os.PathLike[str]]) -> str:
    """The name of a file."""
    if not isinstance(value, (str, os.PathLike)):
        raise refused(what, value, "the path of a file")
    name = text(what, os.fspath(value))
    if not name or "\0" in name:
        raise refused(what, value, "the path of a file, which is not empty and has no U+0000")
    return name


def psi(values: Any) -> npt.NDArray[np.float32]:
    """A context: one number, or a list or array of them."""
    try:
        found = np.asarray(values)
    except ValueError:
        raise refused("psi", values, "a list of numbers") from None
    if found.dtype.kind not in "fiu" or found.ndim > 1 or np.ma.is_masked(values):
        raise refused("psi", values, "a list of numbers")
    return np.ascontiguousarray(found, dtype=np.float32)


def cell(what: str, value: Any) -> Any:
    """The value of a column of prompts: a text, a float, a list of floats, or None for an unknown value."""
    if isinstance(value, str):
        return text(what, value)
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return None
    try:
        if _several(value) and not isinstance(value, (bytes, Mapping)):
            return [number(what, x) for x in value]
        found = float(value) if isinstance(value, (bool, np.bool_)) else number(what, value)
    except (UsageError, ValueError):
        raise refused(what, value, "a number, a text or a list of numbers") from None
    return found if found == found else None


def columns(given: Any) -> dict[str, Any]:
    """The columns of one prompt."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise refused("columns", given, "a dict of numbers, texts or lists of numbers")
    return {text("the name of a column", name): cell(f"column {name}", value) for name, value in given.items()}
