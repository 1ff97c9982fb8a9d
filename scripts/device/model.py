"""Seconds of the stages of a run of lanes, from counts of its machine code and of its work.

A file of counts has for every stage its segments: pieces of machine code with how often an item goes through them
(`trips`, of the names below), by how many warps of its block, and whether they are too long for the cache of
instructions (`streams`). Its work says how many items there were, how they come in rounds, and how large they are.

Names in trips: boxes, opened (boxes of a period); columns, updates (of a matrix in a block of periods); panels (of
eight features); n, active, passes, hessians, dots (of a solve; dots: products of two vectors of the descent around a
kept factor); tiles (of 64 samples), evaluations, rows (of triangular d x d solves) of a solve of theta; warps, groups
(of warps that form Hessians) of a block.
"""
import heapq
import math

from device import machine
from device.machine import LAUNCH, REGISTERS, SCHEDULERS

BOXES, FEATURES, REWARD_FEATURES, SIDE, BLOCK = 3, 101, 10, 8, 32  # the paper's setting
PANELS = math.ceil(FEATURES / SIDE)
GRID = 4  # blocks launched for a multiprocessor, at most (kernels/state/backend.hpp)
SOLVED_EACH_TO = 200    # samples up to which `tracking` solves at each (kernels/rules/refit_schedule.hpp)
KEPT_FACTOR_FROM = 2000  # samples above which a solve keeps its first Hessian (kernels/solve/tiled_newton.hpp)
ONE_EVALUATION_FROM = 1024  # samples of theta_hat from which a solve evaluates once, below twice; counted
# Bytes of device memory that a matrix moves in a block of periods: its triangle in and out, the images that are
# written and those that are read of queried periods, Gram matrix, columns.
BYTES_OF_MATRIX = 73e3


def resident(stage, card):
    """Blocks of a stage on a multiprocessor that registers, shared memory and warps allow."""
    registers = -(-stage["registers"] // 8) * 8 * stage["threads"]
    blocks = min(REGISTERS // registers, card.warps * 32 // stage["threads"])
    return min(blocks, card.shared // (stage["shared"] + 1024)) if stage["shared"] else blocks


def cycles(segments, blocks, card, **names):
    """Cycles of an item if a multiprocessor has `blocks` blocks of its stage."""
    total = 0.0
    for segment in segments:
        trips = eval(segment["trips"], {"__builtins__": {}, "ceil": math.ceil}, names)
        if trips <= 0:
            continue
        warps = eval(str(segment["warps"]), {"__builtins__": {}, "min": min}, names)
        together = math.ceil(warps * blocks / SCHEDULERS)
        total += trips * machine.together(segment["code"], together, card.fp64_cycles, segment.get("streams", False))
    return total


class Stages:
    """The stages of a schedule's work on a card, in seconds."""

    def __init__(self, counts, schedule, card):
        self.stages, self.work, self.card = counts["stages"], counts["work"][schedule], card
        self.units = self.work["units"]
        self._solves = {}

    def seconds(self):
        solve, large = self.solves(False), self.solves(True)
        return {"advance": self.advance(), "walk": self.walk(), "theta": self.theta(), "solve": solve + large}

    def updates(self):
        """Of a matrix in a block of periods."""
        return self.work["updates"] / self.work["matrices"]

    # A launch has a block for each of at most four items a multiprocessor; item = lane * boxes + box. Those that find
    # no room start when others have ended.
    def advance(self):
        stage, card, work = self.stages["advance"], self.card, self.work
        room = resident(stage, card)
        matrices = [int(d) + int(c) for d, c in zip(work["design"], work["curvature"])] * self.units
        pending = [int(c) for c in work["curvature"]] * self.units
        names = {"panels": PANELS, "columns": work["columns"] / work["matrices"], "updates": self.updates()}
        items = len(matrices) * BOXES
        grid = min(items, GRID * card.multiprocessors)
        later = math.ceil(max(0, grid - room * card.multiprocessors) / card.multiprocessors)

        def takes(block, blocks):
            lanes = [item // BOXES for item in range(block, items, grid)]
            count, steps = sum(matrices[lane] for lane in lanes), sum(pending[lane] for lane in lanes)
            return (count * cycles(stage["segments"], blocks, card, **names) +
                    steps * cycles(stage.get("pending", []), blocks, card, **names))

        free = [0.0] * (room * card.multiprocessors)
        for block in range(grid):
            start = heapq.heappop(free)
            heapq.heappush(free, start + takes(block, room if start == 0 else later))
        periods = sum(work["periods"].values()) / len(matrices)
        launches = math.ceil(periods / BLOCK)
        seconds = launches * (max(free) / card.clock + LAUNCH)
        return max(seconds, work["matrices"] * BYTES_OF_MATRIX / card.bandwidth)

    def period(self, learned, tracked):
        """The code of a period of a lane, one segment after the other."""
        stage, work = self.stages["walk"], self.work
        kind = "unknown" if learned else "known"
        names = {"boxes": BOXES, "opened": work["opened"][kind] / work["periods"][kind]}
        code = []
        for segment in (stage["segments"] + (stage["learned"] if learned else []) +
                        (stage["tracked"] if tracked else [])):
            one = machine.decode(segment["code"])
            trips = eval(segment["trips"], {"__builtins__": {}}, names)
            whole = int(trips)
            code += one * whole + one[:round((trips - whole) * len(one))]
        return tuple(code)

    # A round lasts as long as its longest walk, of a lane that learns the reward.
    def walk(self):
        stage, card = self.stages["walk"], self.card
        room = resident(stage, card) * stage["threads"] // 32 // SCHEDULERS
        tracked = "1" in self.work["curvature"]
        learned, known = self.period(True, tracked), self.period(False, tracked)
        of = {}
        seconds = 0.0
        for rounds, walkers, steps in self.work["rounds"]["walk"]:
            warps = max(1, min(room, math.ceil(walkers / (SCHEDULERS * card.multiprocessors))))
            waves = math.ceil(walkers / (SCHEDULERS * card.multiprocessors * room))
            if warps not in of:
                streams = [known if w % 2 else learned for w in range(warps)]
                of[warps] = machine.simulate(streams, card.fp64_cycles, 1, True).cycles[0]
            seconds += rounds * (waves * steps * of[warps] / card.clock + LAUNCH)
        return seconds

    def theta(self):
        stage, card = self.stages["theta"], self.card
        room = resident(stage, card)
        seconds = 0.0
        for rounds, count, _, most in self.work["rounds"]["theta"]:
            evaluations = 1 if most >= ONE_EVALUATION_FROM else 2
            names = {"tiles": math.ceil(most / 64), "evaluations": evaluations,
                     "rows": (REWARD_FEATURES * (REWARD_FEATURES + 1) / 2 + 2 * REWARD_FEATURES) * evaluations +
                             2 * REWARD_FEATURES * REWARD_FEATURES}
            left, ticks = count, 0.0
            while left > 0.5:
                now = min(left, room * card.multiprocessors)
                ticks += cycles(stage["segments"], math.ceil(now / card.multiprocessors), card, **names)
                left -= now
            seconds += rounds * (ticks / card.clock + LAUNCH)
        return seconds

    def of_samples(self, n):
        """What the work says of solves of so many samples."""
        return next(row for row in self.work["solves"] if n <= row["samples_up_to"])

    def solve_cycles(self, stage, n, blocks, slow=False):
        """Of a solve, and of the inverse that some are followed by. `slow`: one of the twentieth with most passes."""
        step = 10 ** max(0, math.floor(math.log10(n)) - 1)
        n = round(n / step) * step  # to two digits, so that few are computed
        key = (stage["threads"], n, blocks, slow)
        if key not in self._solves:
            row = self.of_samples(n)
            passes, kept = row["passes_of_most" if slow else "passes"], n > KEPT_FACTOR_FROM
            warps = stage["threads"] // 32
            names = {"n": n, "active": row["active"] * n, "passes": passes, "hessians": 1 if kept else passes,
                     "dots": 1.5 * max(0, passes - 2) * (passes - 1) if kept else 0, "warps": warps,
                     "groups": 4 if warps >= 12 else 1,
                     "waiting": 1 if n <= SOLVED_EACH_TO else self.updates() / 2}
            segments = stage["segments"] + (stage["pending"] if "1" in self.work["curvature"] else [])
            self._solves[key] = (cycles(segments, blocks, self.card, **names),
                                 cycles(stage["rebuild"], blocks, self.card, **names))
        return self._solves[key]

    def wave(self, stage, grid, each, row):
        """Of blocks that start together, with so many solves each: as long as the longest takes, or the usual ones."""
        mean, most, again, again_mean, again_most = row
        blocks = math.ceil(grid / self.card.multiprocessors)
        longest = self.solve_cycles(stage, most, blocks, grid * each >= 10)[0]
        usual = self.solve_cycles(stage, mean, blocks)[0] * each
        if again > 0:
            longest = max(longest, sum(self.solve_cycles(stage, again_most, blocks)))
            usual += again / grid * self.solve_cycles(stage, again_mean, blocks)[1] if each > 1 else 0
        return max(longest, usual)

    def solves(self, large):
        stage, card = dict(self.stages["solve"]), self.card
        if large:
            stage["threads"], stage["shared"] = stage["threads_large"], stage["shared_large"]
        room = resident(stage, card)
        seconds = 0.0
        for rounds, count, *row in self.work["rounds"]["solve large" if large else "solve"]:
            # Launched are at most GRID blocks a multiprocessor; those without room start when others have ended.
            grid = min(count, GRID * card.multiprocessors)
            room_for = room * card.multiprocessors
            ticks, left = 0.0, grid
            while left > 0.5:
                now = min(left, room_for)
                ticks += self.wave(stage, now, count / grid, row)
                left -= now
            seconds += rounds * (ticks / card.clock + LAUNCH)
        return seconds
