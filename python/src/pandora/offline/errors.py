"""Refusals as data: argument, value, what is wrong, what to do. Sentences are made where people read them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Callable, Optional

from ..errors import DataError, UsageError


def as_argument(name: str, value: Optional[str] = None) -> str:
    """How Python spells an option: max_usd, max_usd=4, kind="indices"."""
    if value is None:
        return name
    return f"{name}={value if _NUMBER.fullmatch(value) else json.dumps(value, ensure_ascii=False)}"


def as_option(name: str, value: Optional[str] = None) -> str:
    """How the command spells it: --max-usd, --max-usd 4, --kind indices."""
    option = "--" + name.replace("_", "-")
    return option if value is None else f"{option} {value}"


_NUMBER = re.compile(r"[+-]?(\d[\d.]*([eE][+-]?\d+)?|inf|nan)")
_PLACE = re.compile(r"\{([a-z][a-z_]*)(?::([^{}]*))?\}")


class Refusal(UsageError):
    """An argument that is refused. Its text is as Python spells it; `told(as_option)` is as the command does.

    `problem` and `remedy` name other options in braces, "{kind}", with a value "{kind:indices}", since the command and
    Python spell them otherwise; of no `argument` they are the whole sentence.
    """

    def __init__(
        self, argument: str, value: Optional[Any], problem: str, remedy: str, options: Iterable[str] = ()
    ) -> None:
        self.argument, self.value, self.problem, self.remedy = argument, value, problem, remedy
        super().__init__(self.told(as_argument))

    def __reduce__(self) -> tuple[Any, ...]:
        """As processes pass it to each other, which is else by its text."""
        return type(self), (self.argument, self.value, self.problem, self.remedy)

    def told(self, spell: Callable[..., str]) -> str:
        """The sentence."""
        value = None if self.value is None else f"{self.value:g}" if isinstance(self.value, float) else str(self.value)
        said = f"{spell(self.argument, value)}: " if self.argument else ""
        return said + _PLACE.sub(lambda place: spell(place[1], place[2]), f"{self.problem}; {self.remedy}")


class Lacking(DataError):
    """What a table lacks, told as a Refusal is: the sentence names options in braces."""

    def __init__(self, sentence: str) -> None:
        problem, _, remedy = sentence.partition("; ")
        self._refusal = Refusal("", None, problem, remedy)
        super().__init__(str(self._refusal))

    def told(self, spell: Callable[..., str]) -> str:
        """The sentence."""
        return self._refusal.told(spell)
