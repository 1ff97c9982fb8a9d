"""Checks whether fits keep their promises, on worlds whose truth is known.

Prints a line of CSV for each kind of world. README.md explains the columns. Most of them count the worlds in which a
promise holds: the 95% intervals of utility, quality, dollars and gain, and bounds. Others count claimed gains, and
those that are none in truth. The last columns are half the mean width of the utility's interval, CPU seconds, and
`kept`.
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

FRESH = 10**9  #: the number of the draw from which the truth is computed
ROUNDING = 1e-9  #: of means over so many prompts


@dataclass(frozen=True)
class Outcome:
    """The result of one world: which intervals hold the truth, and whether bounds and claimed gains are right."""

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
    """The recorded table of a world. For the number FRESH it is an exact draw with everything that a policy can see."""
    world, draw = WORLDS[name], np.random.default_rng([zlib.crc32(name.encode()), number])
    if number == FRESH:
        return Trace(whole(draw, world.law(draw, world.fresh, True)))._table
    return Trace(world.recorded(draw, world.law(draw, world.prompts, False)), name=name)._table


@lru_cache(maxsize=1)
def _fresh(name: str) -> Any:
    return table(name, FRESH)


def truth(name: str, cascade: Any, single: str) -> tuple[Any, Any]:
    """Mean quality, dollars and calls of a cascade, and the same minus those of a single model."""
    meeting = Meeting(cascade, _fresh(name), None, None)
    quality = meeting.table.quality()
    own, alone = meeting.numbers(quality), meeting.alone(meeting.table.models.index(single), quality)
    return own.mean(axis=1), (own - alone).mean(axis=1)


def outcome(of: tuple[str, int]) -> Outcome:
    """The outcome of a world, given by name and number."""
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
    """Whether coverage and losses are within three standard errors of 95% and 2.5%, or better."""

    def most(of: int, share: float) -> float:
        return of * share + 3.0 * math.sqrt(of * share * (1.0 - share))

    told = {**dict.fromkeys(("utility", "quality", "usd", "gain"), worlds), "bound": count["bounds"]}
    covered = all(of - count[name] <= most(of, 0.05) for name, of in told.items())
    return covered and count["losses"] <= most(worlds, 0.025)


def line(name: str, found: list[Outcome]) -> str:
    """The line of CSV of a kind of world."""
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
