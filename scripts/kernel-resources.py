#!/usr/bin/env python3
"""What the compiler gives every kernel of the project: registers, local memory (stack), spilled registers.

usage: kernel-resources.py [--symbols FILE] ARCHITECTURE...     such as 80 90 120

Prints a table in Markdown for each architecture; or writes lines "symbol registers static-shared-bytes" to FILE, which
the stand-in for CUDA reads. Ends with 1 if a kernel spills more registers or has more local memory
than it may: no time can be measured without a device, but what both cost is known.
"""
import concurrent.futures
import pathlib
import re
import sys

from device import listing

MOST_STACK = 256
# More than that, with the reason.
STACK = {
    "DrawSample": 544,  # a shock in as many directions as there may be reward features (64)
    "DrawOutputs": 544,
    # What every one of 16 boxes has, 8 bytes of each what its output is worth to the lane, which the parts of the regret
    # need; the paper's three boxes take WalkBlock<float, 4>. The last has the numbers of 16 arms beside those of
    # boxes (kernels/rules/arms.hpp).
    "WalkBlock<float, 16>": 768,
    "WalkBlock<float, 4>": 384,
    "WalkBlock<float, 16, true>": 1888,
    "RunCohort": 2600,  # advances, walks and solves are functions of their own, and what they call too
    "SolveBoxes": 1024,  # likewise
    "StartBox": 640,
    "AdvanceBlock": 768,
    "SolveJoint": 704,
    "Calibrate": 512,
    "RefitReward": 384,
}

# Spilled registers, bytes: more than none, with the reason. Functions that are called count what they save for their
# caller. What loops over samples, features and periods may have of it stands in scripts/device/limits.toml: nothing.
SPILLS = {
    "SolveBoxes": 3200,  # four blocks of a multiprocessor have 128 registers a thread
    "SolveTheta": 512,
    "AdvanceBlock": 640,
    "RunCohort": 1024,
    "Calibrate": 1024,  # once a lane
    "WalkBlock<float, 16, true>": 64,
    "RefitReward": 256,
}


def main():
    arguments = sys.argv[1:]
    symbols = arguments[1] if arguments[:1] == ["--symbols"] else None
    architectures = arguments[2:] if symbols else arguments
    if not architectures or not all(re.fullmatch(r"\d+", a) for a in architectures):
        sys.exit(__doc__)
    complaints = []
    jobs = [(a, s) for a in architectures for s in listing.device_sources()]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = [listing.resources(made.messages) for made in pool.map(lambda job: listing.compile_for(*job), jobs)]
    lines = []
    for architecture in architectures:
        if not symbols:
            print(f"\n| body, sm_{architecture} | registers | stack, bytes | spilled, bytes |\n|---|---|---|---|")
        for (of, _), kernels in zip(jobs, found):
            for symbol, kernel in kernels.items() if of == architecture else ():
                lines.append(f"{symbol} {kernel.registers} {kernel.shared}\n")
                body = listing.body_of(symbol)
                if body is None:
                    continue
                if not symbols:
                    print(f"| `{body}` | {kernel.registers} | {kernel.stack} | {kernel.spills} |")
                most = STACK.get(body, STACK.get(re.sub("<.*", "", body), MOST_STACK))
                if kernel.stack > most:
                    complaints.append(f"sm_{architecture}: {body}: {kernel.stack} bytes of local memory, "
                                      f"more than {most}")
                if kernel.spills > SPILLS.get(body, SPILLS.get(re.sub("<.*", "", body), 0)):
                    complaints.append(f"sm_{architecture}: {body}: {kernel.spills} bytes of spilled registers")
    if complaints:
        sys.exit("\n".join(complaints))
    if symbols:
        pathlib.Path(symbols).write_text("".join(lines))


main()
