"""A digest of what a class is made of: results depend on it, as they do on the program."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import inspect
import sys
import textwrap
import types
from typing import Any, Callable, Optional

_IGNORED = {"hyperparameters", "title", "summary", "sigma_is_meant"}


def _normal(source: str) -> str:
    tree = ast.parse(textwrap.dedent(source))
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _bytecode(code: types.CodeType) -> str:
    constants = [_bytecode(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return f"{sys.version_info[:2]}{code.co_code.hex()}{constants}{code.co_names}"


class _Digest:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._seen: set[int] = set()

    def add_class(self, cls: type) -> None:
        if id(cls) in self._seen:
            return
        self._seen.add(id(cls))
        for base in cls.__mro__:
            if base is object or base.__module__.split(".")[0] == "pandora":
                continue
            for name, value in sorted(vars(base).items()):
                if name not in _IGNORED and not (name.startswith("__") and not callable(value)):
                    self._add(f"{base.__qualname__}.{name}", value)

    def _add(self, name: str, value: Any) -> None:
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if isinstance(value, property):
            for part in (value.fget, value.fset):
                if part is not None:
                    self._add_function(name, part)
        elif isinstance(value, types.FunctionType):
            self._add_function(name, value)
        elif isinstance(value, type):
            if value.__module__.split(".")[0] != "pandora":
                self.add_class(value)
        elif isinstance(value, (int, float, str, bytes, tuple, list, dict, frozenset, type(None))):
            self.lines.append(f"{name} = {value!r}")

    def _add_function(self, name: str, function: Callable[..., Any]) -> None:
        if id(function) in self._seen or not isinstance(function, types.FunctionType):
            return
        self._seen.add(id(function))
        try:
            self.lines.append(f"{name}: {_normal(inspect.getsource(function))}")
        except (OSError, TypeError, SyntaxError, IndentationError):
            self.lines.append(f"{name}: {_bytecode(function.__code__)}")
        # What the function names of its own module: helpers and constants.
        for used in _names(function.__code__):
            value = function.__globals__.get(used)
            own = getattr(value, "__module__", None) == function.__module__
            if isinstance(value, (int, float, str)) or (own and isinstance(value, (types.FunctionType, type))):
                self._add(used, value)
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # empty
                self._add(f"{name} encloses", cell.cell_contents)


def _names(code: types.CodeType) -> list[str]:
    out = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            out += _names(constant)
    return sorted(set(out))


def code_of(cls: type, instance: Optional[object] = None) -> str:
    """A digest of the class: its methods, its constants, and what of its own module they use.

    Comments, docstrings and formatting do not count, nor do the values of hyperparameters, which lanes are named by.
    What other modules do is not looked at: give the class a constant, such as ``version = 2``, to tell of a change.
    """
    digest = _Digest()
    digest.add_class(cls)
    if instance is not None:
        digest.lines += [f"{name} = {value!r}" for name, value in sorted(vars(instance).items())]
    return hashlib.sha256("\n".join(digest.lines).encode()).hexdigest()[:16]
