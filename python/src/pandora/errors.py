"""The errors of the program as exceptions: one class for each exit code, with the program's text."""

from __future__ import annotations

from .spelling import Spelling, as_argument, told


class Error(Exception):
    """An error of the program; `exit_code` is that of the command line. The text names the remedy.

    Options that are marked in the message (spelling.py) are spelt as arguments, such as max_usd=4, in the text.
    """

    exit_code: int = 1

    def __init__(self, message: str = "") -> None:
        self._marked = message
        super().__init__(told(message, as_argument))

    def told(self, spell: Spelling) -> str:
        """The text with its options spelt differently."""
        return told(self._marked, spell)


class UsageError(Error):
    """A study, an argument or an output folder that is refused."""

    exit_code = 2


class DataError(Error):
    """A file cannot be read, or has wrong contents."""

    exit_code = 3


class ResourceError(Error):
    """A device, memory or a limit of the system is not sufficient."""

    exit_code = 4


class MismatchError(Error):
    """Results belong to another study, build, arithmetic or code of a policy."""

    exit_code = 5


class OutputError(Error):
    """Results could not be written: the disk is full, the folder vanished."""

    exit_code = 6


class Interrupted(Error, KeyboardInterrupt):
    """The run was ended by SIGINT (Ctrl-C, or "Interrupt" in a notebook); finished work is on disk.

    It is a KeyboardInterrupt, so that loops around it end as usual. It is an Error too, so code that catches Exception
    around a run catches it as well.
    """

    exit_code = 130


class LaneFailure(Error):
    """An estimate cannot be solved for. It ends only the lane, if a policy lets it through."""

    failure: int = 0


class PandoraWarning(UserWarning):
    """A warning that the command line prints to standard error while it goes on: damaged parts, lanes that failed."""
