"""Refusals as data: argument, value, what is wrong, what to do."""

from __future__ import annotations

from typing import Any, Optional

from ..errors import UsageError
from ..spelling import option


class Refusal(UsageError):
    """An option that is refused, by the name that the command line has for it. Of none, problem and remedy say all."""

    def __init__(self, argument: str, value: Optional[Any], problem: str, remedy: str) -> None:
        self.argument, self.value, self.problem, self.remedy = argument, value, problem, remedy
        given = None if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        super().__init__(f"{option(argument, given)}: {problem}; {remedy}" if argument else f"{problem}; {remedy}")

    def __reduce__(self) -> tuple[Any, ...]:
        """As processes pass it to each other, which is else by its text."""
        return type(self), (self.argument, self.value, self.problem, self.remedy)
