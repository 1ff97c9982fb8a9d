"""Studies: a dict with the keys of a study's file, a file, or a folder of results."""

from __future__ import annotations

import json
import numbers
import os
from collections.abc import Iterator, Mapping
from typing import Any, Union

from . import _core
from .errors import UsageError
from .table import Table

Study = Union[Mapping[str, Any], str, "os.PathLike[str]"]


def _key(name: str) -> str:
    return ".".join(
        part if part and all((c.isalnum() and c.isascii()) or c in "-_" for c in part) else json.dumps(part)
        for part in name.split(".")
    )


def _value(where: str, value: Any) -> str:
    value = value.tolist() if hasattr(value, "tolist") else value  # of numpy
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value)) if -(2**63) <= int(value) < 2**63 else f'"{int(value)}"'
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(where, item) for item in value) + "]"
    raise UsageError(f"study: {where} = {value!r}: give a number, a text, a truth value or a list of such")


def _lines(study: Mapping[str, Any], lead: str = "") -> Iterator[str]:
    for name, value in study.items():
        key = f"{lead}{_key(str(name))}"
        if isinstance(value, Mapping) and not value and lead == "scenario.":
            yield f"{key} = {{}}"  # the study as it is
        elif isinstance(value, Mapping):
            yield from _lines(value, key + ".")
        else:
            yield f"{key} = {_value(key, value)}"


def config_of(study: Study) -> _core.StudyConfig:
    """The study as the program reads it.

    >>> config_of({"periods": 500, "oracle": {"samples": 2000}, "vary": {"estimation.refit": ["tracking"]}}).check()
    """
    if isinstance(study, Mapping):
        return _core.StudyConfig.parse("\n".join(_lines(study)) + "\n", "study")
    path = os.fspath(study)
    return _core.StudyConfig.of(path) if os.path.isdir(path) else _core.StudyConfig.read(path)


def file_of(study: Study) -> str:
    """The file from which the study was read; empty if there is none."""
    return "" if isinstance(study, Mapping) else os.fspath(study)


def study_keys() -> Table:
    """Every key of a study with its type, unit, meaning and default (as TOML).

    >>> keys = study_keys()
    >>> keys.where(key="periods")["default"][0]
    '30000'
    """
    found = _core.study_keys()
    names = ("key", "type", "unit", "meaning", "default")
    return Table({name: [key[k] for key in found] for k, name in enumerate(names)}, "keys of a study")
