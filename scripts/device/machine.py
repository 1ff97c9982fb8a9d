"""Cards, the costs of their instructions, and a simulator of one scheduler of a multiprocessor.

Sources: [W] NVIDIA's whitepapers and data sheets of the cards; [P] NVIDIA's CUDA programming guide, its tables by
compute capability; [L] Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via
Microbenchmarking" (2024); [J] Jia et al., "Dissecting the NVidia Turing T4 GPU via Microbenchmarking" (2019) and the
same of Volta (2018); [M] measured on 26 November 2026 by the copy of pandora_device_bench; [A] assumed.
"""
import contextlib
import dataclasses
import functools


@dataclasses.dataclass(frozen=True)
class Card:
    multiprocessors: int  # [W]
    clock: float          # Hz under load: less than the boost clock of [W] for H100 and H200 [A]
    bandwidth: float      # bytes per second of a copy: [M] for H100 and H200, else 0.87 of [W], as there
    fp64_cycles: int      # between two FP64 instructions of a scheduler's warps, all four at it [P]
    shared: int           # bytes of shared memory that a multiprocessor gives its blocks [P]
    warps: int            # resident on a multiprocessor, at most [P]


CARDS = {
    "H100": Card(132, 1.755e9, 2.9e12, 2, 227 << 10, 64),
    "H200": Card(132, 1.755e9, 4.2e12, 2, 227 << 10, 64),
    "A100": Card(108, 1.41e9, 1.77e12, 4, 163 << 10, 64),
    "4090": Card(128, 2.52e9, 0.88e12, 64, 99 << 10, 48),
    "5090": Card(170, 2.41e9, 1.56e12, 64, 99 << 10, 48),
}
REGISTERS = 65536  # of a multiprocessor [P]
SCHEDULERS = 4     # of a multiprocessor [W]

# Cycles until a result is available, for instructions without a fixed latency; fixed latencies are in the control bits.
SHARED = 30         # [L]: 29 to 33
FIRST_LEVEL = 38    # [L]: 38 to 41; a generic load of shared memory takes about as long
SECOND_LEVEL = 280  # [L]: 260 to 290
MEMORY = 600        # [L]: 480 where nothing else is on its way; more under load [A]
# What a lane's walk comes back to in every period, 17 KB, is in the first level only in part: 16 warps have 272 KB,
# and a kernel starts with nothing. [A], the number of the walk that is softest.
HITS = 0.75
# Code beyond the scheduler's own cache of instructions, 16 KiB [J], comes at an instruction every so many cycles,
# whichever warp wants it. [A]; it decides how walks of four warps a scheduler compare with those of one.
FETCH = 4
KEPT = 1024  # instructions of 16 bytes in those 16 KiB
OPERANDS = 12       # until a store has read its operands [J]
# A launch, the wait for its end and the download or upload around it; a profile waits at every stage. [A]
LAUNCH = 10e-6

# Letters of instructions in files of counts. Lower-case digits stand for an instruction of fixed latency that holds and
# waits for nothing, and say how long until the warp's next one.
LATENCIES = {
    "A": 20,            # other, with a scoreboard [A]
    "B": 30,            # barrier
    "C": 30,            # constant memory
    "D": 16,            # FP64 [J]
    "F": MEMORY,        # load of what nobody has read yet
    "H": 25,            # shuffle [J]
    "L": 33,            # local memory
    "M": SECOND_LEVEL,  # load of what another block or kernel has left in the second level
    "N": FIRST_LEVEL,   # load of what the block keeps reading
    "R": 25,            # special register
    "S": SHARED,        # load of shared memory
    "T": 4,             # store
    "U": 20,            # special function [J]
    "V": 10,            # vote
    "W": round(HITS * FIRST_LEVEL + (1 - HITS) * SECOND_LEVEL),  # load of a lane's state in its walk
    "X": 700,           # atomic [L]
}
QUEUE = 96  # cycles of wavefronts that the load and store unit takes in advance: 24 entries [A]


@functools.cache
def decode(text):
    """The instructions of a file of counts, of which each is a digit, or a letter and six characters, as tuples:
    letter, wavefronts of the load and store unit, stall, scoreboard of the result and of the operands, those waited
    for."""
    code, at = [], 0
    while at < len(text):
        letter = text[at]
        if letter.isupper():
            waves, stall, write, read = text[at + 1:at + 5]
            code.append((letter, int(waves, 36), int(stall, 36), 7 if write == "-" else int(write),
                         7 if read == "-" else int(read), int(text[at + 5:at + 7], 16)))
            at += 7
        else:
            code.append(("A", 0, int(letter, 36), 7, 7, 0))
            at += 1
    return tuple(code)


def encode(code):
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    out = []
    for letter, waves, stall, write, read, wait in code:
        if letter == "A" and write > 5 and read > 5 and wait == 0:
            out.append(digits[stall])
        else:
            out.append(letter + digits[min(waves, 35)] + digits[stall] + (str(write) if write < 6 else "-") +
                       (str(read) if read < 6 else "-") + f"{wait:02x}")
    return "".join(out)


LETTERS = {"DADD": "D", "DMUL": "D", "DFMA": "D", "DSETP": "D", "MUFU": "U", "LDS": "S", "LDL": "L", "STS": "T",
           "ST": "T", "STG": "T", "STL": "T", "RED": "T", "SHFL": "H", "LDC": "C", "LDCU": "C", "ULDC": "C", "S2R": "R",
           "S2UR": "R", "ATOM": "X", "ATOMG": "X", "ATOMS": "X", "BAR": "B", "VOTE": "V"}


def code_of(instructions, load="N"):
    """A listing's instructions as simulate() takes them; loads through global or generic addresses are `load`."""
    code = []
    for one in instructions:
        letter = load if one.kind in ("LD", "LDG") else LETTERS.get(one.kind, "A")
        waves = 0
        if letter in "FHLMNSTW":
            waves = 4 if ".128" in one.opcode else 2 if ".64" in one.opcode else 1
        code.append((letter, waves, one.stall, one.write, one.read, one.wait))
    return tuple(code)


def trip(code):
    """Cycles of a trip through a loop by a warp that runs alone, including work that earlier trips left under way."""
    return (alone(code * 3) - alone(code)) / 2


def alone(code, latencies=None):
    """Cycles of a warp that runs undisturbed."""
    latencies = latencies or LATENCIES
    now, held = 0, [0] * 8
    for letter, _, stall, write, read, wait in code:
        for bar in range(6):
            if wait >> bar & 1:
                now = max(now, held[bar])
        if write < 6:
            held[write] = max(held[write], now + latencies[letter])
        if read < 6:
            held[read] = max(held[read], now + OPERANDS)
        now += stall
    return now


@dataclasses.dataclass
class Shared:
    """The result for the warps of a scheduler: cycles of each warp's pass, and issued instructions per cycle."""
    cycles: list
    issued: float


def simulate(streams, fp64_cycles=2, passes=1, streamed=False, shifted=True):
    """A scheduler with a warp for each of `streams`, which each goes through its code again and again, until all have
    been through it `passes` times. An instruction issues when the control bits of its warp allow it, in turn; FP64 and
    the load and store unit, of which a scheduler has a quarter, may hold it up. `streamed`: whether code does not stay
    in the scheduler's cache of instructions, of all or of every instruction of a stream. `shifted`: the warps start at
    different places."""
    count = len(streams)
    fetched = [[streamed] * len(code) for code in streams] if isinstance(streamed, bool) else [streamed] * count
    at = [(w * len(code) // count if shifted else 0) for w, code in enumerate(streams)]
    began = [0] * count
    ready, held = [w for w in range(count)], [[0] * 8 for _ in range(count)]
    done, total, first = [-1 if at[w] else 0 for w in range(count)], [0] * count, [None] * count
    now = unit = fp64 = port = issued = 0
    turn = list(range(count))
    while min(done) < passes:
        chosen, soonest = -1, 1 << 60
        for w in turn:
            letter, _, _, _, _, wait = streams[w][at[w]]
            when = ready[w]
            if wait:
                for bar, until in enumerate(held[w][:6]):
                    if wait >> bar & 1 and until > when:
                        when = until
            if port > when and fetched[w][at[w]]:
                when = port
            if letter == "D":
                when = max(when, fp64)
            elif letter in "FHLMNSTW" and unit - QUEUE > when:
                when = unit - QUEUE
            if when <= now:
                chosen = w
                break
            soonest = min(soonest, when)
        if chosen < 0:
            now = soonest
            continue
        w = chosen
        letter, waves, stall, write, read, _ = streams[w][at[w]]
        takes = LATENCIES[letter]
        if waves:
            start = max(unit, now)
            unit = start + SCHEDULERS * waves
            takes += start - now
        elif letter == "D":
            fp64 = now + fp64_cycles
        bars = held[w]
        if write < 6:
            bars[write] = max(bars[write], now + takes)
        if read < 6:
            bars[read] = max(bars[read], now + OPERANDS)
        if at[w] == 0:
            began[w] = now
            if first[w] is None:
                first[w] = now
        ready[w] = now + stall
        issued += 1
        if fetched[w][at[w]]:
            port = now + FETCH
        at[w] += 1
        turn.remove(w)
        turn.append(w)
        if at[w] == len(streams[w]):
            at[w] = 0
            done[w] += 1
            if first[w] is not None:
                total[w] = (now + stall - first[w]) / max(1, done[w])
        now += 1
    return Shared(total, issued / now)


# Plausible other values of assumed constants: of LATENCIES by letter, and FETCH.
DOUBTS = {
    "HITS 0.75 -> 0.9": {"W": round(0.9 * FIRST_LEVEL + 0.1 * SECOND_LEVEL)},
    "HITS 0.75 -> 0.6": {"W": round(0.6 * FIRST_LEVEL + 0.4 * SECOND_LEVEL)},
    "FETCH 4 -> 2": {"FETCH": 2},
    "FETCH 4 -> 5": {"FETCH": 5},
    "MEMORY 600 -> 900": {"F": 900},
    "SECOND_LEVEL 280 -> 220": {"M": 220, "W": round(HITS * FIRST_LEVEL + (1 - HITS) * 220)},
}


@contextlib.contextmanager
def changed(change):
    """Changes constants (DOUBTS)."""
    global FETCH
    latencies, fetch = dict(LATENCIES), FETCH
    LATENCIES.update({letter: cycles for letter, cycles in change.items() if letter in LATENCIES})
    FETCH = change.get("FETCH", FETCH)
    _known.clear()
    try:
        yield
    finally:
        LATENCIES.update(latencies)
        FETCH = fetch
        _known.clear()


_known = {}


def together(text, warps, fp64_cycles=2, streamed=False):
    """Cycles of a pass through a file's code if every scheduler has `warps` warps in it."""
    key = (text, warps, fp64_cycles, streamed)
    if key not in _known:
        code = decode(text)
        shared = simulate([code] * warps, fp64_cycles, max(2, 2000 // len(code)), streamed)
        _known[key] = sum(shared.cycles) / warps
    return _known[key]
