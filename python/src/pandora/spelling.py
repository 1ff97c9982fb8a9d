"""Options in texts, which Python spells differently from a terminal: they are marked when written and spelt when shown.

The marks are those of host/ground/base/option.hpp, which says why no other text has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Callable, Optional

#: How an option is spelt, given its name on the command line and its value (None if only the name stands there).
Spelling = Callable[[str, Optional[str]], str]

_MARKED = re.compile("\ufdd0([^ \ufdd1]*)(?: ([^\ufdd1]*))?\ufdd1")
_NUMBER = re.compile(r"[+-]?(\d[\d.]*([eE][+-]?\d+)?|inf|nan)")
_MODES = {"force": "replace", "resume": "resume", "extend": "extend"}


def option(name: str, value: Optional[str] = None) -> str:
    """An option of a command, marked."""
    return f"\ufdd0{name}\ufdd1" if value is None else f"\ufdd0{name} {value}\ufdd1"


def told(text: str, spell: Spelling) -> str:
    """The text with its options spelt."""
    return _MARKED.sub(lambda mark: spell(mark[1], mark[2]), text)


def as_argument(name: str, value: Optional[str] = None) -> str:
    """Python's spelling: max_usd, max_usd=4, kind="indices". Without a name it is only a value."""
    name = name.replace("-", "_")
    if name in _MODES:
        name, value = "mode", _MODES[name]
    name = {"policy": "policies", "t0": "T0"}.get(name, name)
    if value is None:
        return name
    if not name:
        return "None" if value == "null" else value
    if name == "models":
        return f"models={value.split(',')}"
    return f"{name}={value if _NUMBER.fullmatch(value) else json.dumps(value, ensure_ascii=False)}"


def as_option(name: str, value: Optional[str] = None) -> str:
    """The command line's spelling: --max-usd, --max-usd 4, --kind indices."""
    words = ["--" + name.replace("_", "-")] if name else []
    return " ".join(words if value is None else [*words, value])


def typed(notes: Iterable[str]) -> list[str]:
    """Spells texts as on the command line, because notes are stored in files and tables for any reader."""
    return [told(note, as_option) for note in notes]
