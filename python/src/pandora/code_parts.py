"""The parts of a value, for its digest: bytes that distinguish it, and the values that it holds or uses."""

from __future__ import annotations

import copyreg
import functools
import hashlib
import io
import pickle
import types
import warnings
import weakref
from collections.abc import Collection
from typing import Any, NamedTuple, Optional, Union

import numpy as np

from .code_names import fixed_name, is_own, module_label, nested_codes, used_names
from .code_objects import atom, code_label


class Part(NamedTuple):
    """A value inside another one, and the path to it, for messages."""

    how: tuple[str, Any]
    value: Any


class Bag(NamedTuple):
    """Items that have no order."""

    items: list[list[Any]]


Parts = list[Union[bytes, Part, Bag]]


class NoValue(Exception):
    """A value of which no digest can be made."""


#: where something stands, what it says of itself, and caches
_NO_MEANING = {
    "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__annotations_cache__",
    "__annotate__", "__annotate_func__", "__conditional_annotations__", "__firstlineno__", "__static_attributes__",
    "__orig_bases__", "__parameters__", "_abc_impl",
}  # fmt: skip
#: of policies and environments: what tables show, and what lanes are named by
_SHOWN = {"hyperparameters", "title", "summary", "sigma_is_meant", "not_in_digest"}
_DESCRIPTORS: tuple[Any, ...] = (
    types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)  # fmt: skip
_Cached = type(functools.lru_cache(lambda: None))


def _part(how: str, value: Any, name: Any = "") -> Union[bytes, Part]:
    plain = atom(value)
    return Part((how, name), value) if plain is None else plain


def _named(how: str, values: Any, skip: Collection[str] = ()) -> Bag:
    return Bag([[_part("name", name), _part(how, value, name)] for name, value in values if name not in skip])


def _of_module(module: types.ModuleType, skip: Collection[str]) -> Parts:
    if not is_own(module.__name__):
        return [b"library", module_label(module.__name__)]
    names = [(n, v) for n, v in vars(module).items() if not (n.startswith("__") and n.endswith("__"))]
    return [b"module", _named("global", names, skip)]


def _of_function(function: types.FunctionType, skip: Collection[str]) -> Parts:
    code = function.__code__
    cells = {name: cell for name, cell in zip(code.co_freevars, function.__closure__ or ()) if name not in skip}
    closed = {name: cell.cell_contents for name, cell in cells.items() if cell != types.CellType()}
    registry = getattr(function, "registry", None)
    if isinstance(registry, types.MappingProxyType):  # functools.singledispatch, whose cells hold caches
        return [b"dispatch", Bag([[_part("type", t), _part("function of", f, t)] for t, f in registry.items()])]
    used = used_names(nested_codes(code), function.__globals__, closed)
    return [
        b"function",
        code_label(code),
        _part("default values", function.__defaults__),
        _named("default of", (function.__kwdefaults__ or {}).items()),
        _named("closure variable", [(n, v) for n, v in closed.items() if n not in used.modules], skip),
        _named("global", sorted(used.values.items()), skip),
        _named("attribute", vars(function).items(), skip),
    ]


def _of_class(cls: type, skip: Collection[str]) -> Parts:
    left_out = set(skip) | _NO_MEANING
    if any(base.__module__.split(".")[0] == "pandora" for base in cls.__mro__):
        left_out |= _SHOWN
    parts: Parts = [b"class", cls.__name__.encode()]
    parts += [_part("base class", base, base.__name__) for base in cls.__bases__]
    if type(cls) is not type:
        parts.append(_part("metaclass", type(cls)))
    held = list(vars(cls).items())
    methods = [(name, value) for name, value in held if isinstance(value, types.FunctionType)]
    others = [(name, value) for name, value in held if not isinstance(value, types.FunctionType)]
    return [*parts, _named("method", methods, left_out), _named("attribute", others, left_out)]


def _of_array(array: np.ndarray[Any, Any]) -> Parts:
    head: Parts = [b"array", _part("dtype", array.dtype), repr(array.shape).encode()]
    if array.dtype.hasobject:
        return [*head, _part("elements", array.tolist())]
    return [*head, hashlib.sha256(array.tobytes()).digest()]


def _state(state: Any, skip: Collection[str]) -> Parts:
    """Attributes without an order, because it does not matter which was set first."""
    if isinstance(state, dict) and all(isinstance(name, str) for name in state):
        return [b"attributes", _named("attribute", state.items(), skip)]
    if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict):
        return [b"slots", *_state(state[0] or {}, skip), *_state(state[1], skip)]
    return [b"state", _part("state", state)]


def _of_reduced(value: Any, skip: Collection[str]) -> Parts:
    """The parts as for pickling: a function, its arguments, and the state that is set afterwards."""
    if isinstance(value, io.IOBase) and not isinstance(value, (io.BytesIO, io.StringIO)):
        raise NoValue("an open file")
    kind = type(value)
    no_value = NoValue(f"a {kind.__module__}.{kind.__qualname__}, which has no value that could be kept")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reducer = copyreg.dispatch_table.get(kind)
            found: Any = reducer(value) if reducer is not None else value.__reduce_ex__(4)
            if isinstance(found, str):  # the name of a unique object, such as numpy.add
                module = pickle.whichmodule(value, found)  # type: ignore[attr-defined]
                if module == "__main__" and kind.__module__ != "typing":
                    raise no_value
                return [b"once", found.encode(), b"" if is_own(module) else module_label(module)]
            items = [list(x) if x is not None else x for x in found[3:5]]
    except Exception:
        raise no_value from None
    rest = [x for x in items if x]
    return [
        b"reduced",
        _part("type", found[0]),
        _part("argument", found[1]),
        *_state(found[2] if len(found) > 2 and found[2] is not None else {}, skip),
        *(_part("items", x) for x in rest),
    ]


def _of_container(value: Any, skip: Collection[str]) -> Optional[Parts]:
    kind = type(value)
    if kind in (list, tuple):
        return [kind.__name__.encode(), *(_part("item", item, k) for k, item in enumerate(value))]
    if kind in (dict, types.MappingProxyType):
        parts: Parts = [b"dict"]
        for key, item in value.items():
            parts += (_part("key", key), _part("item", item, key))
        return parts
    if isinstance(value, (set, frozenset)):
        own = getattr(value, "__dict__", {})
        return [b"set", _part("type", kind), Bag([[_part("element", x)] for x in value]), *_state(own, skip)]
    if kind is np.ndarray:
        return _of_array(value)
    if kind is bytearray:
        return [b"bytearray", bytes(value)]
    if kind is memoryview:
        return [b"memoryview", value.format.encode(), repr(value.shape).encode(), value.tobytes()]
    return None


def _of_callable(value: Any, skip: Collection[str]) -> Optional[Parts]:
    if isinstance(value, type):
        return _of_class(value, skip)
    if isinstance(value, types.FunctionType):
        return _of_function(value, skip)
    if isinstance(value, types.MethodType):
        return [b"bound", _part("method", value.__func__), _part("object", value.__self__)]
    if isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)):
        return [b"bound", value.__name__.encode(), _part("object", value.__self__)]
    if isinstance(value, (staticmethod, classmethod)):
        return [type(value).__name__.encode(), _part("function", value.__func__)]
    if isinstance(value, property):
        return [b"property", *(_part("function", part) for part in (value.fget, value.fset, value.fdel))]
    if isinstance(value, functools.cached_property):
        return [b"cached property", _part("function", value.func)]
    if isinstance(value, _Cached):
        return [b"cached", _part("function", value.__wrapped__)]
    if isinstance(value, _DESCRIPTORS):
        return [b"descriptor", type(value).__name__.encode(), value.__name__.encode()]
    if isinstance(value, types.CodeType):
        return [b"code", code_label(value)]
    return None


def parts_of(value: Any, skip: Collection[str] = ()) -> Parts:
    """The parts of a value that is not an atom; names in `skip` are left out. Raises NoValue."""
    if isinstance(value, types.ModuleType):
        return _of_module(value, skip)
    name = fixed_name(value)
    if name is not None:
        return [b"name", name]
    found = _of_callable(value, skip)
    if found is None:
        found = _of_container(value, skip)
    if found is not None:
        return found
    if isinstance(value, weakref.ReferenceType):
        return [b"reference", _part("object", value())]
    digest = getattr(value, "digest", None) if type(value).__module__.split(".")[0] == "pandora" else None
    if isinstance(digest, str):  # a table of outcomes
        return [b"table", digest.encode()]
    return _of_reduced(value, skip)
