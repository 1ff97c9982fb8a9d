"""Whether fits keep what they promise: of worlds whose truth is known, how many promises cover it.

A line of CSV for each kind of world: how many of its worlds' 95% intervals of utility, quality, dollars and gain hold
the truth of what was deployed, and the bounds that were told (of so many); how many gains were claimed, and how many of
them are none; half the mean width of the utility's interval, and CPU seconds. `kept`: whether each covers within three
standard errors of 95% or more, and losses are within three of 2.5% of the worlds or fewer.
"""

from __future__ import annotations

import argparse
import math
import time
import zlib
from dataclasses import dataclass, fields
from functools import lru_cache
from multiprocessing import Pool
from typing import Any

import numpy as np
from laws import WORLDS, whole

from pandora import DataError, Trace
from pandora.offline import api
from pandora.offline.judge import Meeting
from pandora.offline.outcomes import QUALITY, USD

FRESH = 10**9  #: the number of the draw that the truth is computed from
ROUNDING = 1e-9  #: of a mean over so many


@dataclass(frozen=True)
class Outcome:
    """Of a world: whether intervals hold the truth, a bound is told and holds it, a gain is claimed and is none."""

    cpu_seconds: float
    half_width: float = math.nan
    refused: bool = True
    utility: bool = False
    quality: bool = False
    usd: bool = False
    gain: bool = False
    bounds: bool = False
    bound: bool = False
    claims: bool = False
    losses: bool = False


COUNTS = [member.name for member in fields(Outcome)[2:]]
HEADER = ",".join(["world", "prompts", "worlds", *COUNTS, "half_width", "cpu_seconds", "kept"])


def table(name: str, number: int) -> Any:
    """What is recorded of a world; of the number FRESH all that a policy can see, and expectations."""
    world, draw = WORLDS[name], np.random.default_rng([zlib.crc32(name.encode()), number])
    if number == FRESH:
        return Trace(whole(draw, world.law(draw, world.fresh, True)))._table
    return Trace(world.recorded(draw, world.law(draw, world.prompts, False)), name=name)._table


@lru_cache(maxsize=1)
def _fresh(name: str) -> Any:
    return table(name, FRESH)


def truth(name: str, cascade: Any, single: str) -> tuple[Any, Any]:
    """Mean quality, dollars and calls of a cascade, and by how much they are more than a model's alone."""
    meeting = Meeting(cascade, _fresh(name), None, None)
    quality = meeting.table.quality()
    own, alone = meeting.numbers(quality), meeting.alone(meeting.table.models.index(single), quality)
    return own.mean(axis=1), (own - alone).mean(axis=1)


def outcome(of: tuple[str, int]) -> Outcome:
    """Of a world, by name and number."""
    name, number = of
    _fresh(name)
    start = time.process_time()
    try:
        cascade, _, record = api.fit(table(name, number), **WORLDS[name].asked)
    except DataError:
        return Outcome(time.process_time() - start)
    seconds = time.process_time() - start
    own, more = truth(name, cascade, record["single"]["model"])
    promise, price, bound = record["promise"], record["price"], record.get("bound", {}).get("reached")
    aim, gained = record["aim"]["kind"], more[QUALITY] - price * more[USD]
    aimed_at = {"price": gained, "max_usd": more[QUALITY], "min_quality": -1000.0 * more[USD]}[aim]

    def holds(promised: dict[str, float], value: float) -> bool:
        return promised["low"] - ROUNDING <= value <= promised["high"] + ROUNDING

    claims = record["pays"] and record["gain"]["low"] > 0.0
    return Outcome(
        seconds,
        0.5 * (promise["utility"]["high"] - promise["utility"]["low"]),
        False,
        holds(promise["utility"], own[QUALITY] - price * own[USD]),
        holds(promise["quality"], own[QUALITY]),
        holds(promise["usd_per_1000"], 1000.0 * own[USD]),
        holds(promise["gain"], gained),
        bound is not None,
        bound is not None and (own[USD] <= bound if aim == "max_usd" else own[QUALITY] >= bound),
        claims,
        claims and aimed_at <= ROUNDING,
    )


def is_kept(count: dict[str, int], worlds: int) -> bool:
    """Whether as many cover and as few are losses as chance allows."""

    def most(of: int, share: float) -> float:
        return of * share + 3.0 * math.sqrt(of * share * (1.0 - share))

    told = {**dict.fromkeys(("utility", "quality", "usd", "gain"), worlds), "bound": count["bounds"]}
    covered = all(of - count[name] <= most(of, 0.05) for name, of in told.items())
    return covered and count["losses"] <= most(worlds, 0.025)


def line(name: str, found: list[Outcome]) -> str:
    """Of a kind of world."""
    count = {member: sum(getattr(one, member) for one in found) for member in COUNTS}
    half_width = np.nanmean([one.half_width for one in found])
    numbers = [WORLDS[name].prompts, len(found), *count.values()]
    seconds = sum(one.cpu_seconds for one in found)
    kept = "yes" if is_kept(count, len(found) - count["refused"]) else "no"
    return f"{name},{','.join(map(str, numbers))},{half_width:.5f},{seconds:.1f},{kept}"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, help="worlds of each kind")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"default: all of {', '.join(WORLDS)}")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    print(HEADER)
    with Pool(options.processes) as pool:
        for name in options.kinds or WORLDS:
            print(line(name, pool.map(outcome, [(name, number) for number in range(options.count)])), flush=True)


if __name__ == "__main__":
    main()
