"""Examples in docstrings (>>> ...) as code, for mkdocstrings, which takes them for text."""

import re
from typing import Any

import griffe

EXAMPLES = re.compile(r"(?m)((?:^>>> .*(?:\n|\Z)(?:^(?!>>>)\S.*(?:\n|\Z))*)+)")


class Doctests(griffe.Extension):
    """Puts fences around examples."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Of every documented object."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLES.sub(r"```pycon\n\1\n```\n", obj.docstring.value)
