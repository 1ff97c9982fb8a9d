"""The value of an answer that is seen after its model was called, as users name it."""

from __future__ import annotations

import re
from typing import Optional

from ... import _core
from ...spelling import option
from ..errors import Refusal
from ..groups import Floats

TRUTH = "quality"
#: The evaluator of cascades that call one model for a prompt and judge no answer.
NONE = "none"


def judge_named(evaluator: str) -> Optional[str]:
    """The judge's name in "score" or "score:NAME"; None of other evaluators."""
    if evaluator == "score":
        return "score"
    return evaluator[len("score:") :] if evaluator.startswith("score:") else None


def judges_of(table: _core.TraceTable) -> list[str]:
    """The evaluators of a table's judges: "score", "score:NAME"."""
    return [name if name == "score" else "score:" + re.sub("^score[_:]", "", name) for name in table.scores]


def score_of(table: _core.TraceTable, evaluator: str) -> Floats:
    """Rows x models, in [0, 1]: a judge's scores of all answers. Refuses an evaluator that a table does not have."""
    if not evaluator:
        judges = judges_of(table)
        shown = ", ".join(judges) or "no judge's score"
        problem = (
            f"no evaluator is given, which says what is seen of an answer at run time: {table.source} has {shown}, and "
            "quality is a yardstick, a free and perfect judge that needs the truth at run time"
        )
        remedy = f"give {option('evaluator', judges[0] if judges else 'quality')}"
        raise Refusal("", None, problem, remedy if judges else f"{remedy} if the truth is known then")
    name = judge_named(evaluator)
    if name is None:
        raise Refusal("evaluator", evaluator, "unknown", "use quality (the truth), score, or score:NAME for a judge")
    return table.score(name)


def shown_of(table: _core.TraceTable, evaluator: str) -> Optional[Floats]:
    """The scores that are seen; None if the truth is seen, or nothing."""
    return None if evaluator in (NONE, TRUTH) else score_of(table, evaluator)


def truth_refused(unknown: int, answers: int) -> Refusal:
    """A text on answers with that many unknown qualities."""
    problem = f"{unknown} of {answers} qualities are not known, and nobody can look at them"
    remedy = f"use a judge's score, or leave such prompts out ({option('missing', 'drop')})"
    return Refusal("evaluator", TRUTH, problem, remedy)
