"""Code objects and constants as bytes that depend on what they do, not on where they stand or how they are written."""

from __future__ import annotations

import bisect
import dis
import hashlib
import struct
import types
from typing import Any, Callable, Optional

_SILENT = {"NOP", "CACHE", "EXTENDED_ARG", "RESUME", "NOT_TAKEN"}
_JUMPS = {*dis.hasjrel, *dis.hasjabs}
_ABOUT_ITSELF = {"__doc__", "__firstlineno__", "__qualname__", "__static_attributes__"}
_FLAGS = 0x3FF  # arguments, generators, coroutines; not docstrings and futures
_LONG = 64
_PLAIN: dict[type, Callable[[Any], bytes]] = {
    **dict.fromkeys([type(None), type(Ellipsis), type(NotImplemented), bool], lambda value: repr(value).encode()),
    int: lambda value: hex(value).encode(),
    float: lambda value: struct.pack("<d", value),
    complex: lambda value: struct.pack("<dd", value.real, value.imag),
    str: lambda value: value.encode("utf-8", "surrogatepass"),
    bytes: bytes,
}


def joined(labels: list[bytes]) -> bytes:
    """Bytes that no other list of labels gives."""
    return b"".join(struct.pack("<q", len(label)) + label for label in labels)


def atom(value: Any) -> Optional[bytes]:
    """A plain value with its type; None if the value has parts."""
    kind = type(value)
    if kind not in _PLAIN:
        return None
    found = _PLAIN[kind](value)
    return kind.__name__.encode() + b":" + (found if len(found) <= _LONG else hashlib.sha256(found).digest())


def _constant(value: Any) -> bytes:
    plain = atom(value)
    if plain is not None:
        return plain
    if isinstance(value, types.CodeType):
        return code_label(value)
    if isinstance(value, slice):
        return b"slice" + joined([_constant(x) for x in (value.start, value.stop, value.step)])
    labels = [_constant(item) for item in value]
    return type(value).__name__.encode() + joined(sorted(labels) if isinstance(value, frozenset) else labels)


def code_label(code: types.CodeType) -> bytes:
    """A label from its instructions with the constants and names that they use, and from the code inside it.

    Lines, files, comments, docstrings and the order of unused constants have no influence.
    """
    every = list(dis.get_instructions(code))
    kept = [i for i in every if i.opname not in _SILENT]
    offsets = [i.offset for i in kept]
    labels: list[bytes] = []
    for instruction in kept:
        argument = instruction.argval
        if instruction.opname == "STORE_NAME" and argument in _ABOUT_ITSELF:
            labels[-1:] = []  # what is stored, which stands right before it
            continue
        if instruction.opcode in dis.hasconst:
            shown = _constant(
                code.co_consts[instruction.arg or 0] if type(argument).__name__ == "_Unknown" else argument
            )
        elif instruction.opcode in _JUMPS:
            shown = b"%d" % bisect.bisect_left(offsets, argument)
        elif isinstance(argument, (str, tuple)):
            shown = repr(argument).encode()
        else:
            shown = repr(instruction.arg).encode()
        labels.append(joined([instruction.opname.encode(), shown]))
    for entry in getattr(dis.Bytecode(code), "exception_entries", ()):
        places = [bisect.bisect_left(offsets, at) for at in (entry.start, entry.end, entry.target)]
        labels.append(repr((places, entry.depth, entry.lasti)).encode())
    of_arguments = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 0x4) + bool(code.co_flags & 0x8)
    head = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & _FLAGS)
    names = (code.co_varnames[:of_arguments], code.co_freevars)
    return hashlib.sha256(joined([repr((head, names)).encode(), *labels])).digest()
