"""Compares rows with themselves on the same tapes: at another T_0, or in another setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np

from .panels import Panel
from .sample import Estimate


@dataclass(frozen=True)
class Contrast:
    """A row's regrets minus those of the same row at another T_0, or in another setting, on the same tapes."""

    cell: str
    row: str
    here: Estimate  # all with the 95% interval of Student's t
    there: Estimate
    difference: Estimate  # paired


def contrasts(panels: Sequence[Panel], T0: Optional[int]) -> list[Contrast]:
    """Compares with the same row at T0; without T0, with that of the first setting."""
    out = []
    for panel in panels:
        alike = (p for p in panels if (p.environment, p.regime) == (panel.environment, panel.regime))
        base = panel if T0 is not None else next(alike)
        for entry in panel.entries:
            other = base.find(entry.name, entry.T0 if T0 is None else T0)
            if other is None or other is entry:
                continue
            pair = [entry.regrets, other.regrets]
            if panel.which is not None and base.which is not None:
                _, *which = np.intersect1d(panel.which, base.which, return_indices=True)
                pair = [sample.take(own) for sample, own in zip(pair, which)]
            cell = f"{panel.setting}: {panel.name}" if panel.setting else panel.name
            differ = pair[0].less(pair[1]).interval
            out.append(Contrast(f"{cell}, T0={entry.T0}", entry.name, pair[0].interval, pair[1].interval, differ))
    return out
