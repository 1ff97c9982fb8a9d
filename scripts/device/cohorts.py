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


# By mark: trips of one warp at the paper's shape with 128 threads, over all of the work. "Not taken" is code that the
# paper's lanes do not go through. What is said of a half or a quarter is the share of the block's warps that are in it.
PHASES = {
    "advance": Phase("AdvanceBlock", ("kernels/products/tiled_products.hpp",), "matrices", WARPS, {
        "updates": "matrices * columns / 4 * (columns / 4 - 1) / 2",  # of four columns by four
        "update group": "matrices * columns / 4",
        "outer product": "matrices * columns * 0.75",                 # 91 tiles
        "image step": "matrices * panels * 0.83",                     # one warp has single periods, a third as long
        "gram": "matrices * panels",
        "prediction": "matrices * panels / 4",
        "not taken": "0"}, middle=("gram",)),                         # a warp has the columns from its quarter on
    "walk": Phase("WalkBlock", ("kernels/lane/warp_walk.hpp", "kernels/lane/walk_memory.hpp"), "walks / 4", WARPS, {
        "period": "periods / 4",
        "gram row": "opened * block / 2 / 4 / 4"}),                   # four columns at a time, half a block of them
    "solve": Phase("SolveBoxes<float, false>",
                   tuple(f"kernels/solve/tiled_{part}.hpp" for part in ("newton", "hessian", "factor")),
                   "passes", WARPS, {
        "gradient strip": "swept / 8 / 2 / 4",                        # two strips of eight rows
        "hessian sample": "formed",
        "active samples": "listed / 128",
        "factor panel": "factors * panels",
        "factor update": "factors * 14",                              # halves of tiles, 128 at a time, of 12 panels
        "forward panel": "(passes - factors) * panels",
        "back panel": "passes * panels",
        "steps around a factor": "around", "not taken": "0"}, quick=("gradient strip",)),
    "theta": Phase("SolveTheta", ("kernels/solve/reward_sums.hpp", "kernels/solve/reward_solve.hpp"), "evaluations",
                   WARPS, {"theta sample": "evaluated / 128", "not taken": "0"}),
}
BYTES_OF_ROW = 104 * 4      # of a sample's features
BYTES_OF_SUM = 91 * 64 * 4  # of a box's running sum of curvatures


def counts(work):
    """What TRIPS are made of, of all replications."""
    c = collections.Counter(matrices=work["matrices"], columns=work["columns"] / work["matrices"],
                            panels=model.PANELS, block=model.BLOCK)
    c["periods"] = sum(work["periods"].values())
    c["opened"] = sum(work["opened"][kind] for kind in ("known", "unknown", "payoff"))
    c["walks"] = sum(rounds * walkers for rounds, walkers, _ in work["rounds"]["walk"])
    c["learned"] = work["periods"]["unknown"] / c["periods"]
    for row in work["solves"]:
        solves, passes = row["solves"], row["passes_following"]
        c["passes"] += solves * passes
        c["swept"] += solves * passes * row["samples"]
        c["factors"] += solves * row["factors"]  # of a Hessian of which some weight has changed
        c["listed"] += solves * row["listed"]    # samples whose weights are looked at
        c["formed"] += solves * row["formed"]    # samples that are added to the sum
        if row["samples"] > model.KEPT_FACTOR_FROM:
            c["around"] += solves * (passes - 1)
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


def spans(loops):
    return [(one[0].address, one[-1].address) for found in loops.values() for one in found]


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


def pieces(kernel, phase, marks, work, alone=None):
    """(name, code, how often a warp goes through it, warps of a block), and what could not be counted. `alone`: the
    kernel that runs the phase alone, or None. Marked loops that the line tables of `kernel` do not name are taken from
    it. So is the code outside of loops, if its own tables name some loop of the phase."""
    names = dict(counts(work))
    share = names["learned"]
    places = {kind: {name: here for name, all_of in of.items()
                     if (here := [place for place in all_of if place.file.endswith(phase.files)])}
              for kind, of in marks.items()}
    loops, elsewhere = ({name: variants(one, here) for name, here in places["loop"].items()} if one else {}
                        for one in (kernel, alone))
    rest, around_rest = (alone, spans(elsewhere)) if any(elsewhere.values()) else (kernel, spans(loops))
    unknown = [name for of in places.values() for name in of if name not in phase.trips]
    out = []

    def add(name, code, count, around):
        first, last = code[0].address, code[-1].address
        nested = [(a, b) for a, b in around if first <= a and b <= last and (a, b) != (first, last)]
        out.append((name, [one for one in code if not any(a <= one.address <= b for a, b in nested)], count, WARPS))

    for name in loops:
        found, around = (loops[name], spans(loops)) if loops[name] else (elsewhere.get(name), spans(elsewhere))
        if not found or name in unknown:
            continue
        count = eval(phase.trips[name], {"__builtins__": {}}, names)
        if name == "period":
            learned, known = periods_of(kernel, loops["gram row"], "1" in work["curvature"])
            add("period, learned", learned, count * share, around)
            add("period, known", known, count * (1 - share), around)
        else:
            copies = sorted(found, key=len)
            which = 0 if name in phase.quick else len(copies) // 2 if name in phase.middle else -1
            add(name, copies[which], count, around)
    bodies = []
    for name, here in places["body"].items():
        found = [piece for place in here for piece in listing.instances(rest, place)]
        if found and name not in unknown:
            bodies += here
            add(name, max(found, key=len), eval(phase.trips[name], {"__builtins__": {}}, names), around_rest)
    straight = straight_code(rest, phase, around_rest, bodies)
    copies = len(loops_over_periods(kernel, loops.get("gram row", []))) or 1  # a walk goes through one of them
    out.append(("straight", straight, eval(phase.straight, {"__builtins__": {}}, names) / copies, phase.warps))
    return out, [f"no trips known of {name}" for name in unknown] + unmarked(rest, phase, around_rest)


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


def straight_code(kernel, phase, inside, bodies=()):
    """What comes from the phase's files outside of marked loops and bodies. Of a line that was inlined more than once
    the largest copy counts."""
    copies = collections.defaultdict(lambda: collections.defaultdict(list))
    for one in kernel.code:
        here = [k for k, (file, _) in enumerate(one.frames) if file.endswith(phase.files)]
        if (here and not any(a <= one.address <= b for a, b in inside) and
                all(place.frame_of(one) is None for place in bodies)):
            copies[one.frames[here[-1]]][one.frames[here[-1] + 1:]].append(one)
    found = [one for of in copies.values() for one in max(of.values(), key=len)]
    return sorted(found, key=lambda one: one.address)


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
        alone = next((other for body, other in kernels.items() if body.startswith(phase.kernel)), None)
        found, unknown = pieces(kernel, phase, marks, work, alone) if kernel else ([], [])
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
    names = counts(work)
    moved = (work["matrices"] * model.BYTES_OF_MATRIX + names["swept"] * BYTES_OF_ROW +
             names["factors"] * 2 * BYTES_OF_SUM)
    return {"slots": slots, "share": share, "crowded": crowded, "blocks": blocks, "missing": missing,
            "cohort": bool(cohort),
            "seconds": {"by issue slots": seconds(share), "by issue slots, crowded": seconds(crowded),
                        "by bytes": moved / card.bandwidth, "at 45%": seconds(0.45), "at 65%": seconds(0.65)},
            "paper": max(seconds(share, 12), 12 * moved / card.bandwidth)}
