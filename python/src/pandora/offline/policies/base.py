"""Defines a kind of cascade, and what a policy of a kind can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional, Protocol

from ..kinds import Candidate
from ..outcomes import Outcomes, Walk

if TYPE_CHECKING:
    from ..sources.table import PreparedTable


class Policy(Protocol):
    """A rule from what is seen of a prompt to calls and a deployed answer. It reads only what its calls show."""

    def walk(self, outcomes: Outcomes) -> Walk:
        """The results of each row."""

    def text(self, models: list[str]) -> str:
        """In words, for people."""


@dataclass(frozen=True)
class Kind:
    """A kind of cascade."""

    name: str  #: as users write it
    about: str  #: what it does, for the command line's help
    #: Fits on the prepared rows. The last argument, `warm_start`, is the same candidate fitted on nearly the same rows,
    #: from which iterations may begin.
    fit: Callable[[PreparedTable, Candidate, Optional[Policy]], Policy]
    needs: frozenset[str] = frozenset()  #: of "context" and "judge"
    #: Whether its value on other prompts is read out of fold rather than corrected (`estimate.corrected`). The
    #: correction subtracts what the folds' fits gain by having seen their prompts. This is valid if they do the same as
    #: the fit on all rows. A router chooses its learner anew in each fold. If the fit on all rows remembers its prompts
    #: and the folds' fits do not, most of this advantage would remain.
    out_of_fold: bool = False
    priced_by: str = "thresholds"  #: under a bound: the kind at whose price this kind begins
