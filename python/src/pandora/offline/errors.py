"""Refusals as data: which argument, its value, what is wrong and what to do. Sentences are made where people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Callable, Optional

from ..errors import UsageError


def as_argument(name: str) -> str:
    """How Python spells an option: max_usd."""
    return name


def as_option(name: str) -> str:
    """How the command spells it: --max-usd."""
    return "--" + name.replace("_", "-")


class Refusal(UsageError):
    """An argument that is refused.

    `problem` and `remedy` name other options in braces, "{kind}", since the command and Python spell them otherwise.
    """

    def __init__(self, argument: str, value: Optional[Any], problem: str, remedy: str, options: Iterable[str] = ()) -> None:
        self.argument, self.value, self.problem, self.remedy = argument, value, problem, remedy
        self.options = tuple(options)
        super().__init__(self.told(as_argument))

    def told(self, spell: Callable[[str], str]) -> str:
        """The sentence."""
        names = {name: spell(name) for name in self.options}
        value = "" if self.value is None else f" {self.value:g}" if isinstance(self.value, float) else f" {self.value}"
        return f"{spell(self.argument)}{value}: {self.problem}; {self.remedy}".format_map(names)


def refuse_late(most: float, least: float, as_asked: bool) -> Refusal:
    """Of a bound on latency that nothing keeps. most, least: seconds."""
    return Refusal(
        "max_latency",
        most,
        "no cascade keeps it; the least 95th per cent of the latency of calls in series that was found is "
        f"{math.ceil(least * 1e4) / 1e4:.4g} seconds",
        f"give at least that, {'another {kind} ' if as_asked else ''}or faster models",
        ("kind",),
    )
