#!/usr/bin/env python3
"""Whether the machine code of the device path is what it was meant to be, without a device: scripts/device/limits.toml.

usage: check-device.py [--propose] [--limits FILE] [--architecture 90] [SOURCE.cu...]

Compiles the project's device code for one architecture (scripts/kernel-resources.py uses the same run of nvcc), reads
nvdisasm's listing with its control bits, and compares with the limits of each kernel body and each marked loop or
body of a source (scripts/device/listing.py has the form of marks):
  instructions  of a trip, without those of marked loops within; with `per = "256 FFMA"` for so many of an opcode, with
                `per = 2` a half of them
  generic       loads and stores through addresses that may be shared, global or local (LD, ST)
  local         loads and stores of local memory: spills, and arrays that have an index
  branches      that part a warp's threads and join them again (BSSY)
  fp64          instructions in double precision
  barriers      of the block (BAR)
  latency       cycles of a trip of a warp that is alone
  registers, spills    of a kernel; its blocks that fit a multiprocessor, by registers and by shared memory, must be as
                many as its launch counts on (scripts/device/launches.cpp)
With `copies = 2` only the two shortest machine loops for a mark count, in each kernel: those of the paper's shape,
where the compiler made others for any shape.
A limit above what the design foresaw, `design`, has a `reason`. --propose prints limits for what there is, 3% above it.
Ends with 1 if something exceeds its limit, if a mark has no limits or limits have no mark.
"""
import argparse
import collections
import math
import pathlib
import sys
import tomllib

from device import listing, machine

LIMITS = pathlib.Path(__file__).resolve().parent / "device/limits.toml"
SLACK = 1.03
# The limits of a kernel; those of a loop.
OF_KERNEL = ("registers", "spills", "generic", "local", "branches", "fp64")
OF_LOOP = ("instructions", "generic", "local", "branches", "fp64", "barriers", "latency")


def classes(code):
    kinds = collections.Counter(one.kind for one in code)
    return {"instructions": len(code), "generic": kinds["LD"] + kinds["ST"], "local": kinds["LDL"] + kinds["STL"],
            "branches": kinds["BSSY"], "fp64": sum(kinds[k] for k in ("DFMA", "DADD", "DMUL", "DSETP")),
            "barriers": kinds["BAR"]}, kinds


def unit(limits, kinds):
    """The number by which an instruction count is divided."""
    per = limits.get("per", 1)
    if isinstance(per, str):
        count, opcode = per.split()
        return kinds[opcode] / int(count) or 1
    return per


def measure_copies(kernel, kind, places, inner, limits):
    """The counts of a marked loop or body, for every copy that the compiler made of it."""
    if kind == "loop":
        pieces = [kernel.within(first, last) for place in places for first, last in listing.loops_of(kernel, place)]
    else:
        pieces = [piece for place in places for piece in listing.instances(kernel, place)]
    for piece in sorted(pieces, key=len)[:limits.get("copies")]:
        first, last = piece[0].address, piece[-1].address
        nested = [(a, b) for a, b in inner if first <= a and b <= last and (a, b) != (first, last)]
        own = [one for one in piece if not any(a <= one.address <= b for a, b in nested)]
        found, kinds = classes(own)
        found["latency"] = machine.trip(machine.code_of(own))
        scale = unit(limits, kinds)
        for name in ("instructions", "latency"):
            found[name] = math.ceil(found[name] / scale)
        yield found


def measure_marks(kernels, marks, limits):
    """(kind, name) -> the greatest count of each class, over kernels and places."""
    most = {}
    for kernel in kernels:
        inner = [loop for places in marks["loop"].values() for place in places for loop in
                 listing.loops_of(kernel, place)]
        for kind, names in marks.items():
            for name, places in names.items():
                for found in measure_copies(kernel, kind, places, inner, limits.get(kind, {}).get(name, {})):
                    old = most.setdefault((kind, name), found)
                    most[kind, name] = {key: max(old[key], found[key]) for key in found}
    return most


def by_body(kernels):
    """Body -> its kernel; of two, the one whose team shares memory, which the paper's shape uses."""
    return {listing.body_of(symbol): kernels[symbol] for symbol in sorted(kernels, key=listing.shares)}


def measure_kernels(kernels, resources):
    """Body -> the counts of its kernel."""
    return {body: {**classes(kernel.code)[0], "registers": resources[kernel.symbol].registers,
                   "spills": resources[kernel.symbol].spills} for body, kernel in kernels.items()}


def room(body, launch, registers):
    """Complaints if fewer blocks fit than the launch assumes."""
    by_registers = machine.REGISTERS // (-(-registers // 8) * 8 * launch.threads)
    by_shared = machine.CARDS["H100"].shared // (launch.shared + 1024)
    for blocks, what in ((by_registers, f"{registers} registers"),
                         (by_shared, f"{launch.shared} bytes of shared memory")):
        if blocks < launch.resident:
            yield f"{body}: {blocks} blocks of {launch.threads} threads fit with {what}, not {launch.resident}"


def compare(title, found, limits, names):
    design = limits.get("design", {})
    for name in names:
        if name in limits and found[name] > limits[name]:
            yield f"{title}: {found[name]} {name}, more than {limits[name]}"
        if name in design and limits.get(name, 0) > design[name] and not limits.get("reason"):
            yield f"{title}: a limit of {limits[name]} {name} where the design has {design[name]}, and no reason"


def propose(kernels, marks, limits):
    to_come = {(kind, name): {} for kind in ("loop", "body") for name in limits.get(kind, {})
               if (kind, name) not in marks}
    for kind, measured, names in (("kernel", kernels, OF_KERNEL), ("marks", marks | to_come, OF_LOOP)):
        for key, found in sorted(measured.items(), key=str):
            table, name = (kind, key) if kind == "kernel" else key
            own = limits.get(table, {}).get(name, {})
            print(f'[{table}."{name}"]')
            for word in found and names:
                value = found[word]
                exact = word in ("registers", "spills", "barriers") or value < 20
                print(f"{word} = {value if exact else math.ceil(value * SLACK)}")
            for word in ("per", "copies", "reason"):
                if word in own:
                    print(f"{word} = {own[word]!r}".replace("'", '"'))
            if "design" in own:
                print("design = { " + ", ".join(f"{k} = {v}" for k, v in own["design"].items()) + " }")
            print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--propose", action="store_true")
    parser.add_argument("--limits", type=pathlib.Path, default=LIMITS)
    parser.add_argument("--architecture", default="90")
    parser.add_argument("sources", nargs="*", type=pathlib.Path, help="instead of the project's, which also have marks")
    options = parser.parse_args()
    limits = tomllib.loads(options.limits.read_text())
    marks = listing.marks_of(options.sources) if options.sources else listing.project_marks()
    marks["body"].pop("not taken", None)  # it has no limits: only cohorts.py counts by it
    kernels, resources = {}, {}
    listing.nvdisasm()  # called first, because without it the minutes of compiling would be wasted
    for source in options.sources or listing.device_sources():
        made = listing.compile_for(options.architecture, source)
        resources |= listing.resources(made.messages)
        kernels |= listing.disassemble(made.cubin, lambda symbol: (listing.body_of(symbol) or "") in limits["kernel"])
    kernels = by_body(kernels)
    of_kernels = measure_kernels(kernels, resources)
    of_marks = measure_marks(kernels.values(), marks, limits)
    if options.propose:
        return propose(of_kernels, of_marks, limits)

    complaints = []
    for body, own in limits["kernel"].items():
        if body not in of_kernels:
            complaints.append(f"{body}: no such kernel")
            continue
        complaints += compare(body, of_kernels[body], own, OF_KERNEL)
    if not options.sources:
        for body, launch in listing.launches().items():
            if (kernel := body.removesuffix(" under tracking")) in of_kernels:
                complaints += room(body, launch, of_kernels[kernel]["registers"])
    for kind in ("loop", "body"):
        for name in sorted({*limits.get(kind, {}), *marks[kind]}):
            title, own = f"{kind} {name}", limits.get(kind, {}).get(name, {})
            limited = any(word in own for word in OF_LOOP)  # otherwise it only announces future code
            if name not in marks[kind]:
                complaints += [f"{title}: limits, and no mark in the sources"] * limited
            elif (kind, name) not in of_marks:
                complaints.append(f"{title}: marked, and not found in the machine code")
            elif not limited:
                complaints.append(f"{title}: marked, and has no limits")
            else:
                complaints += compare(title, of_marks[kind, name], own, OF_LOOP)
    if complaints:
        sys.exit("\n".join(complaints))


if __name__ == "__main__":
    main()
