"""Notes of a fit: each is a sentence, and some tell programs their topic and the values in it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from .. import _core
from ..spelling import typed


class Topic(str, Enum):
    """A topic of notes. plain.py has a line for each, with the note's values in it."""

    JUDGE = "scores are the quality"
    LEAK = "context may be computed from outcomes"
    WEIGHTS = "weights look wrong"
    LABELS_LEAN = "known qualities depend on the score"
    INDEPENDENT = "answers are assumed to be independent"
    FEW_DIFFER = "few prompts differ"
    ONE_CALL = "every decision made one call"
    FEW_DECISIONS = "too few decisions of models"
    LATENCY_UNIT = "latencies may be milliseconds"
    TOO_SLOW = "too slow"
    UNKNOWN_QUALITY = "qualities are not known"
    DROPPED = "prompts are left out"
    LOG = "fitted to a log"
    FIRST_CALLS = "fitted to first calls"
    NO_CONTEXT = "context is not used"
    NEVER_LEARNS = "one model learns nothing"
    METHOD = "how values are estimated"  #: the screen has no line for it, because another one tells it


class Note(str):
    """The sentence of a note, with its topic and the values that the topic's line names.

    A str without a topic is a note, too, which only the details show.
    """

    topic: Topic
    values: tuple[str, ...]

    def __new__(cls, text: str, topic: Topic, *values: object) -> Note:
        """`text`: the whole sentence."""
        note = super().__new__(cls, text)
        note.topic, note.values = topic, tuple(map(str, values))
        return note


def typed_notes(notes: Sequence[str]) -> list[str]:
    """As spelling.typed; topics and values stay."""
    return [
        Note(text, note.topic, *note.values) if isinstance(note, Note) else text
        for note, text in zip(notes, typed(notes))
    ]


def topics_json(notes: Sequence[str]) -> list[dict[str, Any]]:
    """What the record of a fit has beside its notes: the number, topic and values of each that has a topic."""
    return [
        {"note": k, "topic": note.topic.value, "values": list(note.values)}
        for k, note in enumerate(notes)
        if isinstance(note, Note)
    ]


def table_notes(table: _core.TraceTable, *topics: Topic) -> list[str]:
    """The reader's notes on a table: all of them, or those of the topics."""
    notes: list[str] = list(table.notes)
    for on, number in table.note_on.items():
        notes[number] = Note(notes[number], *_topic_of_reader(table, on))
    return [note for note in notes if isinstance(note, Note) and note.topic in topics] if topics else notes


def _topic_of_reader(table: _core.TraceTable, on: str) -> tuple[Any, ...]:
    """The topic and values of a note, given the reader's word for it (TraceTable::note_on)."""
    if on == "judge":
        return Topic.JUDGE, table.judged_by
    if on == "latency":
        return (Topic.LATENCY_UNIT,)
    if on == "dropped":
        return Topic.DROPPED, table.dropped
    answers = ~np.isnan(table.cost())
    unknown = np.count_nonzero(answers & np.isnan(table.quality()))
    return Topic.UNKNOWN_QUALITY, f"{unknown} of {np.count_nonzero(answers)}"
