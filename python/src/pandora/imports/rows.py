"""The table that an import makes: its answers, retries of a request in one row, and notes on what was left out."""

from __future__ import annotations

import json
import math
import tempfile
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, TextIO

from ..errors import DataError
from ..prices import Prices
from ..spelling import option

_MOST_MODELS = 1024  # in a table
_NAMED = 5  # the most prompts that a note names


@dataclass(frozen=True)
class Settings:
    """The settings that a user gives for an export."""

    filter: str = ""
    metric: tuple[str, ...] = ()
    prices: Optional[Prices] = None
    characters_per_token: Optional[float] = None
    quality: str = ""  #: a file


@dataclass
class _Failed:
    """Calls without an answer. Their dollars and seconds are added to the next answer, or to the last one."""

    calls: int = 0
    usd: float = 0.0
    seconds: float = 0.0


@dataclass
class Rows:
    """Answers of models to prompts. The prompts' texts are on disk until the table is written.

    For a million answers the rest takes about 400 MB.
    """

    source: str
    settings: Settings
    models: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)  #: what, and how often

    def __post_init__(self) -> None:
        self._prompts: dict[str, int] = {}  # by key
        self._names: list[str] = []
        self._texts: Any = tempfile.TemporaryFile(  # noqa: SIM115
            "w+", encoding="utf-8", errors="replace", newline="\n"
        )
        self._prompt, self._model = array("q"), array("q")
        self._quality, self._usd, self._seconds = array("d"), array("d"), array("d")
        self._ids: dict[int, tuple[str, ...]] = {}
        self._answers: dict[Any, tuple[int, str]] = {}  # the last row of a group and model, and its request
        self._failed: dict[Any, _Failed] = {}
        self._unpriced: dict[str, int] = {}
        self._retried = 0
        self._said: list[str] = []

    def close(self) -> None:
        """Removes the texts."""
        self._texts.close()

    @property
    def prompts_so_far(self) -> int:
        """With or without an answer."""
        return len(self._names)

    def __len__(self) -> int:
        return len(self._prompt)

    def leave_out(self, what: str, count: int = 1) -> None:
        """Counts something that has no place in the table."""
        self.left_out[what] = self.left_out.get(what, 0) + count

    def dollars(self, model: str, given: Optional[float], usage: Mapping[str, Any]) -> Optional[float]:
        """The cost of a call: from the export, otherwise from tokens; None, and counted, if neither gives it."""
        if given is not None:
            return given
        known = all(isinstance(usage.get(name), (int, float)) for name in ("prompt_tokens", "completion_tokens"))
        if self.settings.prices is not None and known:
            try:
                return self.settings.prices.dollars(model, usage)
            except DataError as error:
                raise DataError(f"{self.source}: {error}") from None
        self._unpriced[model] = self._unpriced.get(model, 0) + 1
        return None

    def say(self, note: str) -> None:
        """Adds another note for the user."""
        self._said.append(note)

    def prompt(self, key: str, name: str = "", columns: Optional[Mapping[str, Any]] = None) -> int:
        """The number of a prompt. `name`: its name in the table, by default the key; `columns`: data known before any
        call.
        """
        at = self._prompts.setdefault(key, len(self._names))
        if at == len(self._names):
            self._names.append(name or key)
            self._texts.write(json.dumps(columns or {}, ensure_ascii=False) + "\n")
        return at

    def add(
        self,
        prompt: str,
        model: str,
        quality: Optional[float] = None,
        usd: Optional[float] = None,
        seconds: Optional[float] = None,
        columns: Optional[Mapping[str, Any]] = None,
        *,
        name: str = "",
        group: str = "",
        request: str = "",
        ids: Sequence[str] = (),
        failed: bool = False,
        replaces: bool = False,
    ) -> None:
        """Adds an answer, or a call that `failed`.

        `prompt`, `name` and `columns` are as in prompt(). `group`: the calls of a model in which one replaces another
        that failed; by default the calls for a prompt. `request`: answers of a group with the same request are one
        answer, with all dollars. `ids`: names by which a quality can be joined. `replaces`: leaves an earlier answer of
        the group out.
        """
        if not model:
            return self.leave_out("records without a model")
        at = self.prompt(prompt, name, columns)
        of = self.models.setdefault(model, len(self.models))
        if of >= _MOST_MODELS:
            raise DataError(f"{self.source}: has more than {_MOST_MODELS} models")
        key = (group, of) if group else at * _MOST_MODELS + of
        if failed:
            so_far = self._failed.setdefault(key, _Failed())
            so_far.calls += 1
            so_far.usd += usd or 0.0
            so_far.seconds += seconds or 0.0
            return None
        row, earlier = self._answers.get(key, (-1, ""))
        quality, usd, seconds = (math.nan if x is None else x for x in (quality, usd, seconds))
        if row >= 0 and (replaces or (request and request == earlier)):
            if replaces:
                self.leave_out("answers of which there are later ones")
            else:
                self._retried += 1
                usd, seconds = usd + self._usd[row], seconds + self._seconds[row]
                quality = self._quality[row] if math.isnan(quality) else quality
            self._quality[row], self._usd[row], self._seconds[row] = quality, usd, seconds
        else:
            row = len(self._prompt)
            self._prompt.append(at)
            self._model.append(of)
            for numbers, value in ((self._quality, quality), (self._usd, usd), (self._seconds, seconds)):
                numbers.append(value)
            self._answers[key] = row, request
        if ids:
            self._ids[row] = (*self._ids.get(row, ()), *ids)
        if key in self._failed:
            self._charge(row, self._failed.pop(key))
        return None

    def _charge(self, row: int, failed: _Failed) -> None:
        self._retried += failed.calls
        self._usd[row] += failed.usd
        self._seconds[row] += failed.seconds

    def join(self, known: Mapping[Any, float]) -> None:
        """Qualities of rows by (id, model) or id."""
        names = list(self.models)
        for row, ids in self._ids.items():
            model = names[self._model[row]]
            for one in ids:
                found = known.get((one, model), known.get(one))
                self._quality[row] = self._quality[row] if found is None else found

    @property
    def known(self) -> int:
        """Rows that have a quality."""
        return sum(not math.isnan(quality) for quality in self._quality)

    def finish(self) -> list[str]:
        """Finishes the import and returns notes for the user. Raises DataError if there is no table."""
        self._charge_late()
        if not len(self):
            raise DataError(f"{self.source}: has no answers" + "".join(f"; {note}" for note in self._counted()))
        if self._unpriced:
            models = ", ".join(f"{model} ({count})" for model, count in self._unpriced.items())
            raise DataError(
                f"{self.source}: says of some answers neither dollars nor all tokens that are priced: {models}; give "
                f"{option('prices')}, where tokens are there, or leave such models out of the export"
            )
        return [*self._said, *self._counted(), *self._holes()]

    def _charge_late(self) -> None:
        """Charges failures after which there was no further answer."""
        lost = 0.0
        for key, failed in self._failed.items():
            row, _ = self._answers.get(key, (-1, ""))
            if row >= 0:
                self._charge(row, failed)
                continue
            self.leave_out("calls without an answer", failed.calls)
            lost += failed.usd
        self._failed.clear()
        if lost > 0.0:
            self.say(f"dollars of calls without an answer, which no row has: {lost:g}")

    def _counted(self) -> list[str]:
        notes = [f"left out: {what}: {count}" for what, count in self.left_out.items()]
        if self._retried:
            notes.append(f"calls that were tried again, in one row with all their dollars: {self._retried}")
        if 0 < self.known < len(self):
            notes.append(f"answers whose quality is not known: {len(self) - self.known} of {len(self)}")
        return notes

    def _holes(self) -> list[str]:
        """Notes on prompts that lack answers, and on superfluous answers."""
        of_prompt: dict[int, set[int]] = {}
        for prompt, model in zip(self._prompt, self._model):
            of_prompt.setdefault(prompt, set()).add(model)
        models, found = len(set(self._model)), []
        further = len(self) - sum(map(len, of_prompt.values()))
        if further:
            found.append(f"further answers of a model to a prompt, as rows of their own (repeats): {further}")
        if models > 1 and all(len(of) == 1 for of in of_prompt.values()):
            why = "no prompt has answers of two models, so nothing compares them yet; "
            return [*found, why + "docs/traces.md#which-log-can-answer-what says what to do"]
        lacking: dict[str, list[str]] = {"no": [], "not every": []}
        for at, name in enumerate(self._names):
            count = len(of_prompt.get(at, ()))
            if count < models:
                lacking["not every" if count else "no"].append(name)
        for which, names in lacking.items():
            if names:
                some = ", ".join(names[:_NAMED] + ["..."] * (len(names) > _NAMED))
                found.append(f"prompts that {which} model answers: {len(names)} ({some})")
        return found

    def _found(self) -> Iterator[tuple[int, str]]:
        """Rows in the order of prompts, each with the prompt's columns as JSON."""
        self._texts.seek(0)
        read, columns = -1, ""
        for row in sorted(range(len(self)), key=self._prompt.__getitem__):
            while read < self._prompt[row]:
                columns, read = self._texts.readline()[:-1], read + 1
            yield row, columns

    def _numbers(self) -> dict[str, array[float]]:
        timed = any(not math.isnan(x) for x in self._seconds)
        return {"quality": self._quality, "cost": self._usd, **({"latency": self._seconds} if timed else {})}

    def write(self, out: TextIO) -> None:
        """Writes the long form, a row for each answer as JSON, with prompts in the order in which they were found."""
        models = [json.dumps(model, ensure_ascii=False) for model in self.models]
        numbers = self._numbers()
        for row, columns in self._found():
            name = json.dumps(self._names[self._prompt[row]], ensure_ascii=False)
            cells = [f'"prompt_id": {name}', f'"model": {models[self._model[row]]}']
            for what, of in numbers.items():
                cells.append(f'"{what}": {"null" if math.isnan(of[row]) else repr(of[row])}')
            out.write("{" + ", ".join(cells) + ("}" if columns == "{}" else ", " + columns[1:]) + "\n")

    def columns(self) -> dict[str, list[Any]]:
        """The same as lists, for pandora.Trace."""
        models, numbers = list(self.models), self._numbers()
        found: dict[str, list[Any]] = {"prompt_id": [], "model": [], **{what: [] for what in numbers}}
        for count, (row, columns) in enumerate(self._found()):
            cells: dict[str, Any] = {"prompt_id": self._names[self._prompt[row]], "model": models[self._model[row]]}
            cells.update({what: of[row] for what, of in numbers.items()}, **json.loads(columns))
            for what in [one for one in cells if one not in found]:
                found[what] = [None] * count
            for what, values in found.items():
                values.append(cells.get(what))
        return found

    def summary(self) -> list[tuple[str, int, float, float]]:
        """For each model the number of answers, their mean quality (NaN if none is known) and mean dollars."""
        sums = [[0, 0.0, 0, 0.0] for _ in self.models]  # answers, dollars, known qualities, their sum
        for model, quality, usd in zip(self._model, self._quality, self._usd):
            of = sums[model]
            of[0] += 1
            of[1] += usd
            if not math.isnan(quality):
                of[2] += 1
                of[3] += quality
        return [
            (model, int(answers), total / known if known else math.nan, usd / answers)
            for model, (answers, usd, known, total) in zip(self.models, sums)
            if answers
        ]

    @property
    def prompts(self) -> int:
        """The number of prompts with an answer."""
        return len(set(self._prompt))
