"""Options in texts, which Python spells otherwise than a terminal does: marked where written, spelt where told.

The marks are those of host/ground/base/option.hpp, which says why no other text has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Callable, Optional

#: How an option is spelt: of its name, as the command line has it, and of its value, None where it is named alone.
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
    """As Python has it: max_usd, max_usd=4, kind="indices". Of no name it is a value alone."""
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
    """As the command line has it: --max-usd, --max-usd 4, --kind indices."""
    words = ["--" + name.replace("_", "-")] if name else []
    return " ".join(words if value is None else [*words, value])


def typed(notes: Iterable[str]) -> list[str]:
    """Texts as the command line has them: notes stand in files and tables, whoever reads them."""
    return [told(note, as_option) for note in notes]
