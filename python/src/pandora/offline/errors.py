"""Errors as data: argument, value, problem and remedy."""

from __future__ import annotations

from typing import Any, Optional

from ..errors import UsageError
from ..spelling import option


class Refusal(UsageError):
    """An invalid option, with its name on the command line. Without a name, problem and remedy say everything."""

    def __init__(self, argument: str, value: Optional[Any], problem: str, remedy: str) -> None:
        self.argument, self.value, self.problem, self.remedy = argument, value, problem, remedy
        given = None if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        super().__init__(f"{option(argument, given)}: {problem}; {remedy}" if argument else f"{problem}; {remedy}")

    def __reduce__(self) -> tuple[Any, ...]:
        """How processes pass it to each other; the default would pass only its text."""
        return type(self), (self.argument, self.value, self.problem, self.remedy)
