"""Examples in docstrings (>>> ...) as code, for mkdocstrings, which takes them for text."""

import re
from typing import Any

import griffe

EXAMPLES = re.compile(r"(?m)((?:^>>> .*(?:\n|\Z)(?:^(?!>>>)\S.*(?:\n|\Z))*)+)")


class Doctests(griffe.Extension):
    """Puts fences around examples."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Of all that a package documents."""
        waiting: list[Any] = [pkg]
        while waiting:
            thing = waiting.pop()
            if thing.docstring is not None:
                thing.docstring.value = EXAMPLES.sub(r"```pycon\n\1\n```\n", thing.docstring.value)
            waiting += [member for member in thing.members.values() if not member.is_alias]
