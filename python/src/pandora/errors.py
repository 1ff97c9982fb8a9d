"""What the program says where it ends, as exceptions: one class for each exit code, with the program's text."""

from __future__ import annotations

from .spelling import Spelling, as_argument, told

__all__ = [
    "DataError", "Error", "Interrupted", "LaneFailure", "MismatchError", "OutputError", "PandoraWarning",
    "ResourceError", "UsageError",
]  # fmt: skip


class Error(Exception):
    """An error that the program tells; `exit_code` is that of the command line. The text names the remedy.

    Options that are marked in the message (spelling.py) are spelt as arguments, such as max_usd=4, in the text.
    """

    exit_code: int = 1

    def __init__(self, message: str = "") -> None:
        self._marked = message
        super().__init__(told(message, as_argument))

    def told(self, spell: Spelling) -> str:
        """The text with its options spelt otherwise."""
        return told(self._marked, spell)


class UsageError(Error):
    """A study, an argument or an output folder that is refused."""

    exit_code = 2


class DataError(Error):
    """A file that cannot be read, or is not what it should be."""

    exit_code = 3


class ResourceError(Error):
    """A device, memory or a limit of the system."""

    exit_code = 4


class MismatchError(Error):
    """Results of another study, build, arithmetic or code of a policy."""

    exit_code = 5


class OutputError(Error):
    """Results could not be written: the disk is full, the folder vanished."""

    exit_code = 6


class Interrupted(Error, KeyboardInterrupt):
    """Ended by SIGINT (Ctrl-C, or "Interrupt" in a notebook); what was finished is on disk.

    It is a KeyboardInterrupt too, so that loops around it end as they do for any other, and an Error: code that catches
    Exception around a run catches it as well.
    """

    exit_code = 130


class LaneFailure(Error):
    """An estimate that cannot be solved for: it ends the lane, and the lane alone, where a policy lets it through."""

    failure: int = 0


class PandoraWarning(UserWarning):
    """What the command line tells on standard error while it goes on: damaged parts, lanes that failed."""
