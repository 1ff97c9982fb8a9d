"""Names in code: which ones it uses from outside, what they refer to, and whose code that is."""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import site
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Optional

PYTHON = "python {}.{}".format(*sys.version_info[:2])
_GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_CLOSED = {"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
#: of a module: where it stands
_PLACES = {"__name__", "__file__", "__doc__", "__spec__", "__loader__", "__package__", "__path__", "__cached__"}


@functools.cache
def _library_folders() -> tuple[str, ...]:
    found = {sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    found |= {*site.getsitepackages(), site.getusersitepackages(), os.path.dirname(os.__file__)}
    return tuple(os.path.realpath(folder) + os.sep for folder in found)


def _file_of(module: types.ModuleType) -> Optional[str]:
    file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
    return os.path.realpath(file) if isinstance(file, str) else None


def is_own(name: str) -> bool:
    """Whether a module is the user's own: not part of pandora, of Python, or of an installed package."""
    module = sys.modules.get(name)
    if name.split(".")[0] == "pandora":
        return False
    if module is None or name in ("__main__", "__mp_main__"):
        return True
    file = _file_of(module)
    if file is None:
        return getattr(getattr(module, "__spec__", None), "origin", None) not in ("built-in", "frozen")
    return not file.startswith(_library_folders())


@functools.cache
def module_label(name: str) -> bytes:
    """A module that is not the user's own: its name, and the version of its package."""
    top = name.split(".")[0]
    if top == "pandora":  # results know the program's version
        return b"pandora"
    module, package = sys.modules.get(name), sys.modules.get(top)
    file = None if module is None else _file_of(module)
    packaged = file is not None and any(part in ("site-packages", "dist-packages") for part in file.split(os.sep))
    if not packaged:
        return f"{name} {PYTHON}".encode()
    version = getattr(package, "__version__", None)
    if not isinstance(version, str):
        try:
            version = importlib.metadata.version(top)
        except importlib.metadata.PackageNotFoundError:
            assert file is not None
            with open(file, "rb") as content:
                version = hashlib.sha256(content.read()).hexdigest()
    return f"{name} {version}".encode()


def _led_to(module: str, path: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = vars(found).get(part) if isinstance(found, type) else getattr(found, part, None)
        found = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
    return found


def fixed_name(value: Any) -> Optional[bytes]:
    """Of what its module's version stands for: a class or function of a library, under the name that leads to it."""
    if value is os.environ:  # not followed, like the rest of the machine
        return b"os:environ"
    path, owner = getattr(value, "__qualname__", None), getattr(value, "__self__", None)
    if not isinstance(path, str):
        return None
    for module in (getattr(value, "__module__", None), getattr(owner, "__name__", None), type(owner).__module__):
        if isinstance(module, str) and module in sys.modules and not is_own(module):
            for name in (path, path.rpartition(".")[2]):  # the latter: random.uniform, a method of an object there
                if _led_to(module, name) is value:
                    return module_label(module) + b":" + name.encode()
    return None


def nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code and all code inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested_codes(constant)


class Used(NamedTuple):
    """What code uses from outside, by its name, and the modules among its closed-over names."""

    values: dict[str, Any]
    modules: set[str]


def _through(name: str, value: Any, following: list[dis.Instruction]) -> tuple[str, Any]:
    """The attribute that is read from the user's own module."""
    for instruction in following:
        if not (isinstance(value, types.ModuleType) and is_own(value.__name__) and instruction.opname in _ATTRIBUTES):
            break
        name, value = f"{name}.{instruction.argval}", getattr(value, instruction.argval, None)
    return name, value


def _imported(code: types.CodeType, at: int, all_of: list[dis.Instruction], scope: Mapping[str, Any]) -> dict[str, Any]:
    """The modules of the user's own that `import` inside a function loads."""
    level, names = (all_of[at - 2].argval, all_of[at - 1].argval) if at >= 2 else (0, None)
    try:
        path = importlib.util.resolve_name("." * int(level) + all_of[at].argval, scope.get("__package__") or "")
        module = importlib.import_module(path)
    except Exception:  # it may exist when the code runs, or be guarded
        return {f"import {all_of[at].argval}": None}
    if not is_own(path) or not names or "*" in names:
        return {path: module}
    return {f"{path}.{name}": getattr(module, name, None) for name in names}


def used_names(codes: Iterator[types.CodeType], scope: Mapping[str, Any], closed: Mapping[str, Any]) -> Used:
    """The names that the codes load as globals, or from modules in their closures; not the names of attributes."""
    used = Used({}, {name for name, value in closed.items() if isinstance(value, types.ModuleType)})
    for code in codes:
        every = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]
        stored = {i.argval for i in every if i.opname == "STORE_NAME"}
        for at, instruction in enumerate(every):
            name = instruction.argval
            if instruction.opname in _GLOBALS and name not in stored and name not in _PLACES:
                if name in scope:
                    used.values.update([_through(name, scope[name], every[at + 1 :])])
                elif not hasattr(builtins, name):
                    used.values[name] = None
            elif instruction.opname in _CLOSED and name in used.modules:
                used.values.update([_through(name, closed[name], every[at + 1 :])])
            elif instruction.opname == "IMPORT_NAME":
                used.values.update(_imported(code, at, every, scope))
    return used
