"""The value of a policy on some prompts, compared with one model alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Optional

import numpy as np

from .choose import difference
from .estimate import UNKNOWN, Estimate, Interval, stretched
from .groups import Floats, Groups
from .kinds import Aim, AimKind
from .outcomes import CALLS, QUALITY, USD


@dataclass(frozen=True)
class Worth:
    """Means over rows with 95% intervals over prompts. `gain` and `saving`: over the model alone, paired by prompt."""

    quality: Interval
    usd_per_1000: Interval
    calls: Interval
    utility: Interval
    gain: Interval
    saving: Interval  #: the share of the model's dollars; NaN if the model costs nothing

    @staticmethod
    def of(
        numbers: Floats,
        single: Floats,
        price: float,
        groups: Groups,
        widening: float,
        deployed: Optional[Floats] = None,
    ) -> Worth:
        """numbers, single: 3 x rows. `widening`: 1 for policies that were fitted on other prompts.

        `deployed`: 3 x rows for the deployed policy, if `numbers` belong to others that were fitted in the same way.
        They are worth about the same, but may spend more or less, because among equally good plans chance chooses a
        cheap or a dear one. Additional dollars bring as much quality as the price says.
        """

        def interval(estimate: Estimate) -> Interval:
            return estimate.widened(widening).interval()

        quality = Estimate.mean(numbers[QUALITY], groups, (0.0, 1.0))
        usd = Estimate.mean(numbers[USD], groups)
        gain = difference(numbers, single, Aim(AimKind.PRICE, price), price, groups)
        deployed = numbers if deployed is None else deployed
        calls = Estimate.mean(numbers[CALLS], groups)
        saving, its_saving = (Estimate.saving(policy[USD], single[USD], groups) for policy in (numbers, deployed))
        spent_more = float(np.mean(deployed[USD])) - usd.value
        ends = stretched(interval(quality), quality.value + price * spent_more)
        return Worth(
            ends._replace(low=max(ends.low, quality.range[0]), high=min(ends.high, quality.range[1])),
            stretched(interval(1000.0 * usd), 1000.0 * float(np.mean(deployed[USD]))),
            stretched(interval(calls), float(np.mean(deployed[CALLS]))),
            interval(quality - price * usd),
            interval(gain),
            stretched(interval(saving), its_saving.value),
        )

    @staticmethod
    def unknown() -> Worth:
        """Where nothing can be estimated."""
        return Worth(*(UNKNOWN for _ in range(6)))

    @staticmethod
    def of_json(members: dict[str, Any]) -> Worth:
        """NaN for missing members, because anybody may have written a record."""
        return Worth(*(interval_of_json(members.get(member.name)) for member in fields(Worth)))


def interval_of_json(member: Any) -> Interval:
    """NaN for missing members."""
    if not isinstance(member, dict):
        return UNKNOWN
    ends = [member.get(end) for end in ("value", "low", "high")]
    return Interval(*(float(x) if isinstance(x, (int, float)) else math.nan for x in ends))


@dataclass(frozen=True)
class DollarTail:
    """How unevenly dollars are spread over prompts. `dearest`: one in a hundred, at least one; they have the share
    `share`.
    """

    skewness: float
    prompts: int
    dearest: int
    share: float
    mean: float  #: dollars of a row

    @staticmethod
    def of(usd: Floats, groups: Groups) -> DollarTail:
        """usd: by row."""
        sums = np.sort(groups.sums(usd))[::-1]
        dearest, total = max(1, len(sums) // 100), float(sums.sum())
        share = float(sums[:dearest].sum()) / total if total > 0.0 else 0.0
        return DollarTail(Estimate.mean(usd, groups).skewness, len(sums), dearest, share, total / len(usd))

    @property
    def least_prompts(self) -> float:
        """The number of prompts at which a mean so skewed could be bounded (Cochran 1977: 25 skewness^2)."""
        return 25.0 * self.skewness**2

    @property
    def heavy(self) -> bool:
        """Whether no bound on these dollars can be trusted."""
        return self.prompts < self.least_prompts
