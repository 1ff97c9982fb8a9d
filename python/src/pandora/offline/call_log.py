"""A log of decisions as arrays: what was called, with what probability, and what each row stands for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Optional

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import DataError
from .groups import Floats, Groups
from .notes import table_notes
from .sources.labels import shares_known

Bools = npt.NDArray[np.bool_]

#: The least probability of a call, or of a quality to become known. With less, one call would outweigh any log.
LEAST_PROBABILITY = 1e-9
#: The column of a log that was thinned before it was written, as Vowpal Wabbit names it: with what probability a
#: decision like this one was dropped.
DROPPED = "pdrop"


class Openings(Enum):
    """Which calls of a decision count as the calls that another policy would have made."""

    IN_ORDER = "in_order"  #: its t-th call is that of the policy, if it is the same model
    INDEPENDENT = "independent"  #: each model was called by a toss of its own: the order of calls does not matter
    APART = "apart"  #: those of its model, in whatever decision: models' answers to a prompt are independent


@dataclass(frozen=True)
class CallLog:
    """Decisions x models; NaN where a model was not called.

    **Dollars.** `usd` is what a call of the model costs, without the judge. A service tells the dollars of a call with
    those of judging its answer (docs/serving.md), so in the log of a cascade they are taken off again where the answer
    was judged. Only policies that look at answers are charged `judge_usd` for each of their calls, the rules that made
    the log too; a model alone, a plan of one call and a router are not. Where one recorded call costs less than
    judging takes, the log's dollars cannot hold the judge's, and nothing is taken off. In a long table `cost` is the
    model's own, as in every table.

    **Rows.** `stands_for`: of how many decisions each row tells. A row of a log that was thinned (`pdrop`) stands for
    1 / (1 - pdrop) of them, its `sampling`. Where each model was called by a toss of its own, decisions in which no
    toss fell on call have no row; a row stands for 1 / (1 - P) decisions, where P is the product of 1 - propensity.
    That is known where the propensities of a model are the same in all of its calls, and estimates by IPS and DR stay
    unbiased. Where they depend on the prompt, a model that was not called does not tell its own; then calls of a model
    stand for 1 / propensity decisions each, and the mean over models with the least variance says for how many the log
    does: estimates are ratios then, consistent and biased by no more than 1 / decisions. (Dividing by the sum of the
    policy's own weights, as SNIPS does, would hide propensities that are wrong.)
    """

    name: str  #: the file, for messages
    models: list[str]
    groups: Groups
    quality: Floats
    usd: Floats
    place: Floats  #: 1, 2, ...: which call of its decision it was
    propensity: Floats
    label_probability: Floats
    openings: Openings
    by_rules: Optional[Floats]
    judge_usd: float
    sampling: Floats
    stands_for: Floats
    notes: tuple[str, ...]

    @staticmethod
    def of_table(table: _core.TraceTable, openings: Openings, judge_usd: float = 0.0) -> CallLog:
        """Of a table that is a log."""
        arrays = _core.TableArrays(table)
        names = ("quality", "usd", "place", "propensity", "label_propensity", "by_rules")
        cells = {name: np.array(found) for name in names if (found := getattr(arrays, name)) is not None}
        return CallLog.of_arrays(
            table.source,
            list(table.models),
            Groups.of_table(table),
            **cells,
            openings=openings,
            judge_usd=judge_usd,
            is_judged=len(table.scores) > 0,
            dropped=np.array(arrays.numbers(DROPPED)) if DROPPED in table.columns else None,
            notes=tuple(table_notes(table)),
        )

    @staticmethod
    def of_arrays(
        name: str,
        models: list[str],
        groups: Groups,
        quality: Floats,
        usd: Floats,
        place: Floats,
        propensity: Floats,
        label_propensity: Optional[Floats] = None,
        openings: Openings = Openings.IN_ORDER,
        by_rules: Optional[Floats] = None,
        judge_usd: float = 0.0,
        is_judged: bool = True,
        dropped: Optional[Floats] = None,
        notes: tuple[str, ...] = (),
    ) -> CallLog:
        """`usd`: as recorded. `is_judged`: whether scores of the calls are known. `dropped`: by row."""
        _require_probabilities(name, models, propensity, "propensity")
        if label_propensity is None:
            label_propensity = shares_known(quality, ~np.isnan(place))
        else:
            of_calls = np.where(np.isnan(place), np.nan, label_propensity)
            _require_probabilities(name, models, of_calls, "label_propensity")
        all_notes = list(notes)
        if by_rules is not None and is_judged and judge_usd > 0.0:
            usd, note = _without_judge(usd, judge_usd)
            all_notes.append(note)
        sampling = np.ones(len(quality))
        if dropped is not None:
            wrong = np.flatnonzero(~((dropped >= 0.0) & (dropped < 1.0)))
            if len(wrong):
                row = int(wrong[0])
                raise DataError(
                    f"{name}: {DROPPED} of row {row + 1} is {dropped[row]:g}; it is the probability with which such a "
                    "decision was left out of the log, from 0 to below 1 (rename the column if it is something else)"
                )
            sampling = 1.0 / (1.0 - dropped)
            all_notes.append(
                f"{DROPPED}: the log was thinned before it was written; its {len(quality)} decisions count 1 / (1 - "
                f"{DROPPED}), as {sampling.sum():.0f} would"
            )
        stands_for = sampling
        if openings is Openings.INDEPENDENT:
            stands_for = sampling * _decisions_by_row(propensity, sampling)
            silent = 1.0 - sampling.sum() / stands_for.sum()
            if silent > 1e-9:
                all_notes.append(
                    "decisions in which no toss called a model have no row; the propensities say that they are "
                    f"{100.0 * silent:.1f}% of all, and the estimates take them into account"
                )
        cells = quality, usd, place, propensity, label_propensity
        of_rows = judge_usd, sampling, stands_for, tuple(all_notes)
        return CallLog(name, models, groups, *cells, openings, by_rules, *of_rows)

    @property
    def rows(self) -> int:
        """Decisions that are written."""
        return len(self.quality)

    @cached_property
    def called(self) -> Bools:
        """Decisions x models."""
        return ~np.isnan(self.place)

    @cached_property
    def has_second_calls(self) -> bool:
        """Whether a decision called a second model."""
        return bool(np.any(self.place > 1.0))

    @cached_property
    def folds(self) -> npt.NDArray[np.int64]:
        """By where a prompt first appears."""
        return self.groups.folds_by_appearance

    @cached_property
    def label_weight(self) -> Floats:
        """1 / (propensity x label_propensity), of thinned rows more. NaN where nothing was called."""
        weight: Floats = self.sampling[:, None] / (self.propensity * self.label_probability)
        return weight


def _require_probabilities(name: str, models: list[str], probability: Floats, column: str) -> None:
    bad = np.argwhere(np.nan_to_num(probability, nan=1.0) < LEAST_PROBABILITY)
    if not len(bad):
        return
    row, model = bad[0]
    raise DataError(
        f'{name}: row {row + 1}, model "{models[model]}": {column} is {probability[row, model]:g}, so that this call '
        f"alone would weigh {1.0 / max(float(probability[row, model]), 5e-324):.3g} decisions; what happened cannot "
        f"have been so unlikely: give the probability with which it was drawn (at least {LEAST_PROBABILITY:g}), or "
        "leave such decisions out"
    )


def _without_judge(usd: Floats, judge_usd: float) -> tuple[Floats, str]:
    """Recorded dollars without the judge's, and a note on what was taken for right."""
    if np.nanmin(usd, initial=np.inf) < judge_usd * (1.0 - 1e-9):
        return usd, (
            f"calls are recorded that cost less than judging them (${judge_usd:.3g}), so the log's dollars are taken "
            "to be without the judge's"
        )
    return np.maximum(usd - judge_usd, 0.0), (
        f"the log's dollars are taken to hold the judge's, ${judge_usd:.3g} a call, which a model alone does not pay"
    )


def _decisions_by_row(propensity: Floats, sampling: Floats) -> Floats:
    """How many decisions each row stands for, since decisions that called nothing have no row."""
    called = ~np.isnan(propensity)
    of_models = [column[~np.isnan(column)] for column in propensity.T]
    same = all(np.ptp(p) <= 1e-9 for p in of_models if len(p))
    if same and called.any(axis=1).all():  # else of fewer models than there were: others' calls kept these rows
        p = np.array([p[0] for p in of_models if len(p)])
        return np.full(len(propensity), 1.0 / (1.0 - np.prod(1.0 - p)))
    p = np.where(called, propensity, 1.0)
    tells = np.where(called, sampling[:, None] / p, 0.0)
    noise = np.where(called, sampling[:, None] ** 2 * (1.0 - p) / p**2, 0.0).sum(axis=0)
    sure = (noise <= 0.0) & called.all(axis=0)
    weight = np.where(called.sum(axis=0) >= 10, 1.0 / np.maximum(noise, 1e-12), 0.0)
    if sure.any() or not weight.any():
        return np.ones(len(propensity))
    return np.asarray(tells @ (weight / weight.sum())) / sampling
