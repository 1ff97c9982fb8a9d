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
import subprocess
import sys

MOST_STACK = 256
# More than that, with the reason.
STACK = {
    "DrawSample": 544,  # a shock in as many directions as there may be reward features (64)
    "DrawOutputs": 544,
    # What every one of 16 boxes has, 8 bytes of each what its output is worth to the lane, which the parts of the regret
    # need; the paper's three boxes take WalkBlock<float, 4>.
    "WalkBlock<float, 16>": 672,
    "WalkBlock<float, 4>": 288,
    "SolveBoxes": 624,  # its parts are functions of their own, and pass what they share by reference
    "StartBox": 536,
    "AdvanceBlock": 352,
    "SolveJoint": 592,  # likewise; a refit is a solver of samples and one of matrices, which its steps call
}

# Spilled registers, bytes: more than none, with the reason.
SPILLS = {
    "SolveBoxes": 100,  # outside its loops over samples: 384 threads of a multiprocessor have 168 registers each
}

root = pathlib.Path(__file__).resolve().parent.parent
sources = sorted([*root.glob("kernels/cuda/*.cu"), *root.glob("host/lanes/devices/*.cu")])


def eigen():
    found = subprocess.run(["pkg-config", "--cflags-only-I", "eigen3"], capture_output=True, text=True)
    return found.stdout.split() or ["-I/usr/include/eigen3"]


def compile_for(architecture, source):
    command = ["nvcc", "-std=c++20", f"-arch=sm_{architecture}", "--expt-relaxed-constexpr", "--fmad=false", "-Xptxas",
               "-v", "-Werror", "all-warnings", "-cubin", f"-I{root}", f"-I{root}/include", *eigen(),
               "-DPANDORA_HAVE_CUDA", f'-DPANDORA_CUDA_ARCHITECTURES="{architecture}"', '-DPANDORA_CUBLAS=""',
               '-DPANDORA_CUBLAS_FOLDER=""', str(source), "-o", "/dev/null"]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(f"{source} for sm_{architecture}:\n{made.stdout}{made.stderr}")
    # Functions that are called and not inlined report their spills before their kernel's, which reports its own last.
    kernels, spills = {}, 0
    for line in (made.stdout + made.stderr).splitlines():
        if match := re.search(r"Compiling entry function '(.*)' for", line):
            symbol, spills = match[1], 0
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            stack = int(match[1])
            spills += int(match[2]) + int(match[3])
        elif match := re.search(r"Used (\d+) registers", line):
            shared = re.search(r"(\d+) bytes smem", line)
            kernels[symbol] = (int(match[1]), int(shared[1]) if shared else 0, stack, spills)
    return kernels


def body_of(symbol):
    """The body that one of our kernels runs; None for a library's."""
    name = subprocess.run(["c++filt", symbol], capture_output=True, text=True).stdout
    match = re.search(r"run_\w+<((?:[\w:]+)(?:<[^<>]*>)?)\s*[,>]", name)
    return re.sub(r"(\w+::)+", "", match[1]) if match else None


def main():
    arguments = sys.argv[1:]
    symbols = arguments[1] if arguments[:1] == ["--symbols"] else None
    architectures = arguments[2:] if symbols else arguments
    if not architectures or not all(re.fullmatch(r"\d+", a) for a in architectures):
        sys.exit(__doc__)
    complaints = []
    jobs = [(a, s) for a in architectures for s in sources]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda job: compile_for(*job), jobs))
    lines = []
    for architecture in architectures:
        if not symbols:
            print(f"\n| body, sm_{architecture} | registers | stack, bytes | spilled, bytes |\n|---|---|---|---|")
        for (of, _), kernels in zip(jobs, found):
            for symbol, (registers, shared, stack, spills) in kernels.items() if of == architecture else ():
                lines.append(f"{symbol} {registers} {shared}\n")
                body = body_of(symbol)
                if body is None:
                    continue
                if not symbols:
                    print(f"| `{body}` | {registers} | {stack} | {spills} |")
                most = STACK.get(body, STACK.get(re.sub("<.*", "", body), MOST_STACK))
                if stack > most:
                    complaints.append(f"sm_{architecture}: {body}: {stack} bytes of local memory, more than {most}")
                if spills > SPILLS.get(re.sub("<.*", "", body), 0):
                    complaints.append(f"sm_{architecture}: {body}: {spills} bytes of spilled registers")
    if complaints:
        sys.exit("\n".join(complaints))
    if symbols:
        pathlib.Path(symbols).write_text("".join(lines))


main()
