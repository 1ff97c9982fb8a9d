"""What a kind of cascade is, and what a policy of it can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional, Protocol

from ..kinds import Candidate
from ..outcomes import Outcomes, Walk

if TYPE_CHECKING:
    from ..sources.table import PreparedTable


class Policy(Protocol):
    """A rule from what is seen of a prompt to calls and a deployed answer. It reads what its calls show, no more."""

    def walk(self, outcomes: Outcomes) -> Walk:
        """What becomes of each row."""

    def text(self, models: list[str]) -> str:
        """In words, for people."""


@dataclass(frozen=True)
class Kind:
    """One way to cascade."""

    name: str  #: as users write it
    about: str  #: what it does, for the help of the command line
    #: Fits on the prepared rows. The last argument, `warm_start`: the same candidate fitted on nearly the same rows,
    #: from which iterations may begin.
    fit: Callable[[PreparedTable, Candidate, Optional[Policy]], Policy]
    needs: frozenset[str] = frozenset()  #: of "context" and "judge"
    #: Whether what it is worth on other prompts is read out of fold, and not corrected (`estimate.corrected`).
    #: Correcting takes off what the folds' fits gain by having seen their prompts, which is right where they do the
    #: same as the fit on all rows. A router chooses its learner anew in each fold: where the whole remembers its
    #: prompts and the folds do not, most of what it remembers would stay.
    out_of_fold: bool = False
    priced_by: str = "thresholds"  #: under a bound, by which kind the price is found around which it is tried
