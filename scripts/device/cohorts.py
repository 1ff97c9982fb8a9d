"""Seconds of a run in cohorts, from the machine code that there is: a block of four warps takes a few lanes of a unit
through all their periods, and no round waits for another lane.

What a phase of a cohort executes are the instructions that come from its files: straight code once for each of its
`items`, and marked loops (scripts/device/listing.py) as often as TRIPS says. All counts are instructions of a warp,
issue slots of a scheduler. How many of a scheduler's cycles issue one is no constant: machine.simulate() has its warps
at different places of the mix that the counts make, each with the code's own control bits. Crowded is the share if the
warps of a scheduler, which are in different loops, each keep only their part of its cache of instructions.
"""
import collections
import dataclasses
import math

from device import listing, machine, model

COHORT = "RunCohort"
WARPS = 4  # of a block


@dataclasses.dataclass
class Phase:
    """Of which kernel, as long as there is no RunCohort; from which files; how often straight code is executed, by
    how many of a block's warps; and how often the machine goes through marked loops. Names are those of counts()."""
    kernel: str
    files: tuple
    straight: str
    warps: float
    trips: dict
    quick: tuple = ()   # marks of which the paper takes the shortest copy
    middle: tuple = ()  # of which every warp takes another copy; of all others the longest counts


# By mark: trips of one warp at the paper's shape with 128 threads, over all of the work. What is said of a half or a
# quarter is the share of the block's warps that are in it.
PHASES = {
    "advance": Phase("AdvanceBlock", ("kernels/products/tiled_products.hpp",), "matrices", WARPS, {
        "updates": "matrices * columns / 4 * (columns / 4 - 1) / 2",  # of four columns by four
        "update group": "matrices * columns / 4",
        "outer product": "matrices * columns * 0.75",                 # 91 tiles
        "image step": "matrices * panels * 0.83",                     # one warp has single periods, a third as long
        "gram": "matrices * panels",
        "prediction": "matrices * panels / 4"}, middle=("gram",)),    # a warp has the columns from its quarter on
    "walk": Phase("WalkBlock", ("kernels/lane/warp_walk.hpp", "kernels/lane/walk_memory.hpp"), "walks / 4", WARPS, {
        "period": "periods / 4",
        "gram row": "opened * block / 2 / 4 / 4"}),                   # four columns at a time, half a block of them
    "solve": Phase("SolveBoxes<float, false>", ("kernels/solve/tiled_newton.hpp", "kernels/solve/tiled_factor.hpp"),
                   "passes", WARPS, {
        "gradient strip": "swept / 8 / 2 / 4",                        # two strips of eight rows
        "hessian sample": "formed",
        "active samples": "listed / 128",
        "factor panel": "factors * panels",
        "factor update": "factors * 14",                              # halves of tiles, 128 at a time, of 12 panels
        "forward panel": "(passes - factors) * panels",
        "back panel": "passes * panels"}, quick=("gradient strip",)),
    "theta": Phase("SolveTheta", ("kernels/solve/reward_sums.hpp", "kernels/solve/reward_solve.hpp"), "evaluations",
                   WARPS, {"theta sample": "evaluated / 128", "theta tile": "evaluated / 64"}),
}
FRESH_TO = 700           # samples up to which every pass of the new solves forms a Hessian (TiledNewton::kFreshSamples)
BYTES_OF_ROW = 104 * 4   # of a sample's features


def counts(work):
    """What TRIPS are made of, of all replications."""
    c = collections.Counter(matrices=work["matrices"], columns=work["columns"] / work["matrices"],
                            panels=model.PANELS, block=model.BLOCK)
    c["periods"] = sum(work["periods"].values())
    c["opened"] = sum(work["opened"][kind] for kind in ("known", "unknown", "payoff"))
    c["walks"] = sum(rounds * walkers for rounds, walkers, _ in work["rounds"]["walk"])
    c["learned"] = work["periods"]["unknown"] / c["periods"]
    growth = 1.1 if "1" in work["curvature"] else 1.5
    for row in work["solves"]:
        solves, n, passes = row["solves"], row["samples"], row.get("passes_around_sum", row["passes"])
        fresh = n <= FRESH_TO
        c["passes"] += solves * passes
        c["swept"] += solves * passes * n
        c["factors"] += solves * (passes if fresh else 1)
        # A sum of curvatures goes on from the last solve: only what has come since is added.
        added = n * passes if fresh else n * (1 - 1 / growth)
        c["listed"] += solves * added
        c["formed"] += solves * added * row["active"]
    c["evaluations"] = c["evaluated"] = 0
    for rounds, solves, mean, _ in work["rounds"]["theta"]:
        each = 1 if mean >= model.ONE_EVALUATION_FROM else 2
        c["evaluations"] += rounds * solves * each
        c["evaluated"] += rounds * solves * each * mean
    return c


def kernel_for(kernels, phase, marks):
    """The cohort's, or the stage's that has the same code: where there is no cohort, or none of the phase's marked loops
    is found in it, since a compiler's lists of inlined functions end somewhere."""
    for start in (COHORT, phase.kernel):
        for body, kernel in kernels.items():
            if body.startswith(start) and (start != COHORT or any(
                    variants(kernel, [place]) for name in phase.trips for place in marks["loop"].get(name, ()))):
                return kernel
    return None


def variants(kernel, places):
    """The code of the machine's loops for a mark."""
    return [kernel.within(first, last) for place in places for first, last in listing.loops_of(kernel, place)]


def fp64(code):
    return sum(one.kind in ("DFMA", "DADD", "DMUL") for one in code)


def loops_over_periods(kernel, rows):
    """The loops over periods, a (first, last) each, with the loads from shared memory of the loops over a Gram matrix's
    rows in it. There is one of these for each box. The compiler's line tables name all of them, but not every loop over
    periods."""
    periods = collections.defaultdict(list)
    for row in rows:
        around = [(b - a, a, b) for a, b in kernel.loops if a < row[0].address and row[-1].address < b]
        periods[min(around)[1:]].append(sum(one.kind == "LDS" for one in row))
    return periods


def periods_of(kernel, rows, tracks):
    """The code of a period at the paper's shape, of lanes that learn the reward and of the others. The code for any
    shape has more boxes. Under tracking the loop over rows goes through two matrices."""
    periods = loops_over_periods(kernel, rows)
    boxes = min(map(len, periods.values()))
    found = [kernel.within(*place) for place, loads in periods.items()
             if len(loads) == boxes and (max(loads) > 2) == tracks]
    return max(found, key=fp64), min(found, key=fp64)


def pieces(kernel, phase, marks, work):
    """(name, code, how often a warp goes through it, warps of a block), and what could not be counted."""
    names = dict(counts(work))
    share = names["learned"]
    loops = {name: variants(kernel, places) for name, places in marks["loop"].items()
             if any(place.file.endswith(phase.files) for place in places)}
    inside = [(one[0].address, one[-1].address) for found in loops.values() for one in found]
    unknown = [name for name in loops if name not in phase.trips]
    out = []
    for name, found in loops.items():
        if not found or name in unknown:
            continue
        count = eval(phase.trips[name], {"__builtins__": {}}, names)

        def own(code):
            first, last = code[0].address, code[-1].address
            nested = [(a, b) for a, b in inside if first <= a and b <= last and (a, b) != (first, last)]
            return [one for one in code if not any(a <= one.address <= b for a, b in nested)]
        if name == "period":
            learned, known = periods_of(kernel, loops["gram row"], "1" in work["curvature"])
            out += [("period, learned", own(learned), count * share, WARPS),
                    ("period, known", own(known), count * (1 - share), WARPS)]
        else:
            copies = sorted(found, key=len)
            which = 0 if name in phase.quick else len(copies) // 2 if name in phase.middle else -1
            out.append((name, own(copies[which]), count, WARPS))
    straight = straight_code(kernel, phase, inside)
    copies = len(loops_over_periods(kernel, loops.get("gram row", []))) or 1  # a walk goes through one of them
    out.append(("straight", straight, eval(phase.straight, {"__builtins__": {}}, names) / copies, phase.warps))
    return out, [f"no trips known of loop {name}" for name in unknown] + unmarked(kernel, phase, inside)


def unmarked(kernel, phase, inside):
    """Says where loops of the phase's files have no mark and are counted as if they went around once."""
    found = {}
    for first, last in kernel.loops:
        code = kernel.within(first, last)
        lines = [f"{file.rsplit('/', 1)[1]}:{line}" for one in code for file, line in one.frames
                 if file.endswith(phase.files)]
        holds_loops = any(first <= a and b <= last and (a, b) != (first, last) for a, b in kernel.loops)
        if (len(lines) >= 0.7 * len(code) and not holds_loops and
                not any(a <= last and first <= b for a, b in inside)):
            line = collections.Counter(lines).most_common(1)[0][0]
            found[line] = max(found.get(line, 0), len(code))
    longest = sorted(found, key=found.get, reverse=True)[:5]
    return [f"{len(found)} loops without a mark, the longest about " +
            ", ".join(f"{line} ({found[line]} instructions)" for line in longest)] if found else []


def straight_code(kernel, phase, inside):
    """What comes from the phase's files outside of marked loops. Of functions that were inlined more than once the
    largest copy counts."""
    copies = {}
    for one in kernel.code:
        for index, (file, _) in enumerate(one.frames):
            if file.endswith(phase.files):
                outer = next((k for k in range(len(one.frames) - 1, -1, -1)
                              if one.frames[k][0].endswith(phase.files)), index)
                if not any(a <= one.address <= b for a, b in inside):
                    copies.setdefault(one.frames[outer + 1:], []).append(one)
                break
    return max(copies.values(), key=len, default=[])


MIX = 24000  # instructions of a warp's mix in the simulation


def mix(phases, kept):
    """One warp's way through all phases in the shares that they have, in MIX instructions; and of each whether it comes
    from beyond the cache of instructions: straight code does, and trips of more than `kept`."""
    total = sum(len(code) * count for found in phases.values() for _, code, count, _ in found)
    stream, fetched = [], []
    for found in phases.values():
        for name, code, count, _ in found:
            times = count * MIX / total
            one = machine.code_of(code)
            piece = one * int(times) + one[:round((times - int(times)) * len(one))]
            stream += piece
            fetched += [name == "straight" or len(code) > kept] * len(piece)
    return tuple(stream), fetched


def busy_warps(slots, lanes):
    """The warps that a block gives each scheduler, on average: while lanes walk, a block has only a warp for each lane."""
    walk = slots["walk"] / lanes
    rest = sum(slots.values()) - slots["walk"]
    return 1 - walk / (walk + rest / WARPS) * (1 - lanes / WARPS)


def predict(kernels, resources, launches, marks, work, card):
    """What a run takes on a card: seconds by issue slots and by bytes, the share of cycles that issue, slots by phase;
    and what could not be counted."""
    phases, missing = {}, []
    for name, phase in PHASES.items():
        kernel = kernel_for(kernels, phase, marks)
        found, unknown = pieces(kernel, phase, marks, work) if kernel else ([], [])
        phases[name] = found
        missing += [f"{name}: {what}" for what in unknown]
        if not any(code for piece, code, _, _ in found if piece != "straight"):
            missing.append(f"{name}: no marked loop in {', '.join(phase.files)}")
    tracks = "1" in work["curvature"]
    if tracks:
        missing.append("tracking: what a solve changes for the rest of a block, flushes and rebuilt inverses")
    cohort = next((body for body in kernels if body.startswith(COHORT)), None)
    blocks, lanes = 4, WARPS
    if cohort:
        launch = launches.get(f"{cohort} under tracking", launches[cohort]) if tracks else launches[cohort]
        stage, lanes = {"registers": resources[cohort].registers, **vars(launch)}, launch.lanes
        blocks = model.resident(stage, card)
    slots = {name: sum(len(code) * count * warps for _, code, count, warps in found) for name, found in phases.items()}
    busy = blocks * busy_warps(slots, lanes)
    shares = []
    for kept in (machine.KEPT, machine.KEPT // blocks):
        stream, fetched = mix(phases, kept)
        few, many = (machine.simulate([stream] * warps, card.fp64_cycles, streamed=fetched).issued
                     for warps in (max(1, math.floor(busy)), math.ceil(busy)))
        shares.append(few + (busy - math.floor(busy)) * (many - few))
    share, crowded = shares
    total, units = sum(slots.values()), work["units"]
    places = blocks * card.multiprocessors
    cohorts = math.ceil(units * len(work["lanes"]) / lanes)

    def seconds(used, of=1.0):
        waves = math.ceil(cohorts * of / places)
        full = total * of / (machine.SCHEDULERS * card.multiprocessors * card.clock * used)
        return full * waves * places / (cohorts * of) if waves < 3 else full  # few waves: the last is not full
    moved = work["matrices"] * model.BYTES_OF_MATRIX + counts(work)["swept"] * BYTES_OF_ROW
    return {"slots": slots, "share": share, "crowded": crowded, "blocks": blocks, "missing": missing,
            "cohort": bool(cohort),
            "seconds": {"by issue slots": seconds(share), "by issue slots, crowded": seconds(crowded),
                        "by bytes": moved / card.bandwidth, "at 45%": seconds(0.45), "at 65%": seconds(0.65)},
            "paper": max(seconds(share, 12), 12 * moved / card.bandwidth)}
