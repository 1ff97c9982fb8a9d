"""Reads panels from a folder of results.

summary.csv, oracle.csv and oracle_order.csv have the data of lanes, with the published numbers; results.h5 has every
replication. A folder that is kept without results.h5 has only means and standard errors. Files of old versions have no
standard errors: their half-widths are 1.96 of them.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from .control_variates import Covariate, mean_least_greatest
from .numbers import Judgement, Key
from .panels import ORDER, ROWS, Entry, Panel
from .sample import NOTHING, UNKNOWN, Estimate, Sample, student_factor

Row = dict[str, str]
Place = tuple[str, str, str]  # setting, environment, regime
WHERE = ""  # the column of a row's file and line
PAPER_ENVIRONMENTS = ("uniform", "gaussian", "student_t5")
AGAIN = "write it again by `pandora run --resume`"


class DataError(Exception):
    """Results do not exist or cannot be read; the text says which, and what to do."""


def read_panels(path: Union[str, Path]) -> list[Panel]:
    """The panels of the paper's environments in all settings of a folder, or of a summary.csv alone."""
    path = Path(path)
    summary = path if path.is_file() else path / "summary.csv"
    if not summary.exists():
        what = "; an unfinished one is finished by `pandora run --resume`" if (path / "manifest.json").exists() else ""
        raise DataError(f"{summary}: is not there, and a folder of results has this file{what}")
    rows = _rows(summary)
    if not rows or not {"regime", "environment", "policy", "T0", "reward", "regret_x1000"} <= rows[0].keys():
        raise DataError(f"{summary}: has no rows of results with a column regime; `pandora run` writes such a file")
    keys = list(rows[0])[: list(rows[0]).index("regime")]  # those that vary
    tables = [_placed(rows, keys)]
    tables += [
        _placed(_rows(path / name) if path.is_dir() else [], keys) for name in ("oracle.csv", "oracle_order.csv")
    ]
    places = [place for place in {**tables[0], **tables[2]} if place[1] in PAPER_ENVIRONMENTS]
    file = path / "results.h5"
    try:
        with _opened(file) if path.is_dir() and file.exists() else nullcontext() as opened:
            groups = {} if opened is None else _groups(opened, keys)
            found = [
                _Reader(place, groups.get(place), *(table.get(place, []) for table in tables)).panel()
                for place in places
                if opened is None or place in groups
            ]
    except (OSError, KeyError) as error:
        raise DataError(f"{file}: cannot be read ({error}); {AGAIN}") from error
    panels = [panel for panel in found if panel is not None]
    if not panels:
        raise DataError(
            f"{summary}: has no replication of the paper's environments ({', '.join(PAPER_ENVIRONMENTS)}) in which "
            "the oracle and all rows were run to their end; `pandora reproduce` runs them"
        )
    return panels


def read_folders(paths: Sequence[Union[str, Path]]) -> list[Panel]:
    """The panels of folders that are parts of one study, such as one for each environment."""
    panels: dict[tuple[str, str], tuple[Panel, Any]] = {}
    for path in paths:
        for panel in read_panels(path):
            same, at = panels.get((panel.setting, panel.name), (None, None))
            if same:
                raise DataError(f"{path}: {panel.name} is also in {at}; give folders of different environments")
            first, at = next(iter(panels.values()), (panel, path))
            if panel.replications != first.replications:
                counts = f"{panel.replications} replications, {at} has {first.replications}"
                raise DataError(f"{path}: has {counts}; give folders of one study")
            panels[panel.setting, panel.name] = panel, path
    return [panel for panel, _ in panels.values()]


def read_kept(path: Union[str, Path]) -> dict[Key, Judgement]:
    """Adjusted numbers, by name, of the numbers.csv beside a summary.csv that was kept without results.h5."""
    out = {}
    for row in _rows(Path(path) / "numbers.csv"):
        key = (row.get("setting", ""), *(row[k] for k in ("number", "regime", "environment", "policy", "reward", "T0")))
        n, error = _count(row, "replications"), _standard_error(row, "adjusted_half_width_95")
        half_width = _number(row, "adjusted_half_width_95")
        if "adjusted_standard_error" not in row:
            half_width = student_factor(n - 1) * error
        own = Estimate(_number(row, "adjusted_ours"), half_width)
        theirs, z = _number(row, "adjusted_published_half_width_95"), _number(row, "adjusted_z")
        out[key] = Judgement(own, error, theirs, z, row["adjusted_inside_joint_95"] == "1")
    return out


def _rows(path: Path) -> list[Row]:
    if not path.exists():
        return []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            return [{**row, WHERE: f"{path}:{reader.line_num}"} for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read ({error}); {AGAIN}") from error


def _label(keys: list[str], of: Mapping[str, Any], before: str = "") -> str:
    return " ".join(f"{key}={of[before + key]}" for key in keys)


def _placed(rows: list[Row], keys: list[str]) -> dict[Place, list[Row]]:
    out: dict[Place, list[Row]] = {}
    for row in rows:
        out.setdefault((_label(keys, row), row["environment"], row["regime"]), []).append(row)
    return out


def _opened(file: Path) -> Any:
    try:
        import h5py
    except ImportError as error:
        how = "`pip install h5py` or `apt-get install python3-h5py`"
        raise DataError(f"{file}: reading it takes h5py; {how}") from error
    return h5py.File(file)


def _groups(file: Any, keys: list[str]) -> dict[Place, Any]:
    """Groups such as uniform_A, or 000/uniform_A where keys vary, by what they are."""
    groups = [group for number in file.values() for group in number.values()] if keys else list(file.values())
    return {(_label(keys, g.attrs, "vary."), g.attrs["environment"], g.attrs["regime"]): g for g in groups}


def _number(row: Row, column: str) -> float:
    text = row.get(column) or ""
    try:
        return float(text) if text else UNKNOWN
    except ValueError:
        raise DataError(f"{row[WHERE]}: {column} is {text!r}, which is no number; {AGAIN}") from None


def _count(row: Row, column: str) -> int:
    value = _number(row, column)
    return 0 if math.isnan(value) else int(value)


def _estimate(row: Row, mean: str, half_width: str) -> Estimate:
    return Estimate(_number(row, mean), _number(row, half_width))


def _standard_error(row: Row, half_width: str) -> float:
    """That of a mean of ours, which stands beside its half-width; without it that is 1.96 standard errors."""
    column = half_width.replace("half_width_95", "standard_error")
    return _number(row, column) if column in row else _number(row, half_width) / 1.96


@dataclass
class _Reader:
    """One panel: its rows of the three tables, and its group of results.h5 or None."""

    place: Place
    group: Any
    rows: list[Row]
    oracle: list[Row]
    order: list[Row]

    def panel(self) -> Optional[Panel]:
        """The panel in the replications that count; None if there is none."""
        utility, boxes = self._oracle()
        R = max((_count(row, "replications") + _count(row, "failed") for row in self.rows), default=0)
        if self.group is not None:
            R = int(self.group.attrs["replications"])
        panel = Panel(
            *self.place,
            replications=R,
            which=None if self.group is None else np.arange(R),
            utility=utility,
            boxes=boxes,
            order=tuple(self._order(R)),
            costs=tuple(self._costs()),
            entries=tuple(self._entries()),
        )
        if self.group is None:
            return panel if (utility or panel.order) and panel.n > 0 else None
        samples = [choice for entry in panel.entries for choice in entry.choices]
        samples += [sample for sample in (utility, *panel.order[:1]) if sample is not None]
        missing = np.array([np.isnan(sample.values) for sample in samples if sample.values is not None])
        which = np.flatnonzero(~missing.any(axis=0)) if samples else np.arange(0)
        return panel.take(which) if len(which) > 0 else None

    def _oracle(self) -> tuple[Optional[Sample], Optional[Sample]]:
        """The oracle's utility x 1000, and the boxes that it opens."""
        header = self.oracle[0] if self.oracle else {}
        published = _estimate(header, "published_oracle_utility_x1000", "published_half_width_95_x1000")
        published_boxes = Estimate(_number(header, "published_boxes_queried"), UNKNOWN)
        row = next((row for row in self.rows if row["policy"] == "oracle"), None)
        if row is None:
            return None, None
        if self.group is not None:
            periods = self.group.attrs["periods"]
            utility = np.where(self.group["failure"][:] == 0, 1000.0 * self.group["utility"][:] / periods, np.nan)
            names = self.group["lanes/name"].asstr()[:]
            self.regrets = {name: utility[0] - own for name, own in zip(names, utility)}
            boxes = self.group["queries_of_box"][0].sum(axis=1) / periods
            return Sample.of(utility[0], published), Sample.of(boxes, published_boxes)
        n, mean = _count(row, "replications"), _number(header, "oracle_utility_x1000")
        if not header:  # then there is no standard error
            mean = _number(row, "quality_x1000") - _number(row, "cost_x1000")
        opened, error = _number(row, "queries_per_period"), _standard_error(header, "boxes_queried_half_width_95")
        return (
            Sample(n, mean, _standard_error(header, "half_width_95_x1000"), None, published),
            Sample(n, opened, error, None, published_boxes),
        )

    def _order(self, R: int) -> Iterator[Sample]:
        row = self.order[0] if self.order else {}
        published = [_estimate(row, f"published_{k}", f"published_{k}_half_width_95") for k in ORDER]
        if self.group is None and row:
            for k, theirs in zip(ORDER, published):
                yield Sample(R, _number(row, k), _standard_error(row, f"{k}_half_width_95"), None, theirs)
        elif self.group is not None and "order" in self.group:
            found = self.group["order"][:]
            for column, theirs in zip(found.T, published):
                yield Sample.of(np.where(found[:, 0] > 0, column, np.nan), theirs)

    def _costs(self) -> Iterator[Covariate]:
        """Mean, least and greatest cost level of the boxes, and what these are in expectation over instances.

        That of box a is c_{0,a} / 2 + c_{1,a} / 2 in regime A, its expected cost, and c_{0,a} / 2 + c_{1,a} in regime
        B, within 2% of the expected cost averaged over contexts: there the logistic of beta_1' |omega| is close to 1,
        and contexts are symmetric about 0. c_0 and c_1 are uniform on [0, u].
        """
        if self.group is not None and "instances/c0" in self.group:
            weight, u = 0.5 if self.place[2] == "A" else 1.0, float(self.group.attrs["u"])
            levels = 0.5 * self.group["instances/c0"][:] + weight * self.group["instances/c1"][:]
            expected = mean_least_greatest(levels.shape[1], 0.5 * u, weight * u)
            found = (levels.mean(axis=1), levels.min(axis=1), levels.max(axis=1))
            yield from (Covariate(values, at) for values, at in zip(found, expected))

    def _entries(self) -> Iterator[Entry]:
        """Hyperparameters that were run in fewer replications than others are left out."""
        for T0 in dict.fromkeys(row["T0"] for row in self.rows if row["policy"] != "oracle"):
            for policy, reward, printed in ROWS:
                rows = [r for r in self.rows if (r["T0"], r["policy"], r["reward"]) == (T0, policy, reward)]
                most = max((_count(row, "replications") for row in rows), default=0)
                told = [_estimate(r, "published_x1000", "published_half_width_95_x1000") for r in rows]
                published = next((estimate for estimate in told if not math.isnan(estimate.mean)), NOTHING)
                choices = [self._regrets(row, published) for row in rows if _count(row, "replications") == most > 0]
                if choices:
                    yield Entry(policy, printed, int(T0), tuple(choices))

    def _regrets(self, row: Row, published: Estimate) -> Sample:
        if self.group is not None:
            return Sample.of(self.regrets[row["lane"]], published)
        mean, error = _number(row, "regret_x1000"), _standard_error(row, "half_width_95_x1000")
        return Sample(_count(row, "replications"), mean, error, None, published)
