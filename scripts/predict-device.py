#!/usr/bin/env python3
"""Seconds that the stages of a run of lanes take on a card that is not here, from counts of machine code and of work.

usage: predict-device.py [--counts FILE] [--code] [--json] [--sensitivity]

Without a device no time can be measured; but what the compiler made of the code and how often the paper's setting goes
through it are known. A file of counts holds both for one revision, for 25 replications of the paper's setting (uniform,
regime A, T = 30,000: 2,100 lanes). This prints what follows from it for H100, H200, A100, 4090 and 5090.

The default, scripts/device/measured-2026-11-26.json, is of the code that ran on an H200 on 26 November 2026; what
it took is printed beside, and tests/device/predict_test.py holds the two within a fifth of each other.

--code compiles the code that is here (or takes build/device, where nothing has changed) and prints what it takes in
cohorts (scripts/device/cohorts.py): of the same work, by issue slots with the share of them that a simulated mix of
advances, walks and solves gets to use, and by bytes, of which the larger counts; at fixed shares beside. Where there is
no RunCohort yet, the stages' kernels stand for its parts.

How a stage's time comes about: each piece of its code takes as long as a simulated scheduler takes for it, with as many
warps as a multiprocessor has there (scripts/device/machine.py), as often as the work goes through it
(scripts/device/model.py). Stages are in lockstep: a round takes as long as the last of its items. The bytes that must
come from the device's memory are a bound beside that.

Constants stand with their sources in scripts/device/machine.py. The model was written with the measured numbers in
sight, and HITS and FETCH were chosen by those two of the walk; only other code tests it. Assumed, not known, are these,
and with each the numbers of the table that it moves (--sensitivity prints by how much):
  HITS      share of a walk's loads that hit the first level: the walk; 0.9 instead of 0.75 takes a tenth off
  FETCH     cycles for an instruction from beyond its first cache: the walk; 2 instead of 4 take a fifth off
  MEMORY    cycles of a load of what nobody has read yet: advance and solve; 900 instead of 600 add 3 to 9%
  clock     of the card under load: everything but the bound of bytes
  LAUNCH    a launch and its end seen by the host: 0.01 to 0.04 s of each stage
"""
import argparse
import json
import pathlib

from device import cohorts, listing, machine, model

here = pathlib.Path(__file__).resolve().parent
MEASURED = here / "device" / "measured-2026-11-26.json"
# Seconds on the H200 (docs/gpu-results.md).
SECONDS = {"geometric:1.5": {"advance": 0.97, "walk": 2.05, "theta": 0.40, "solve": 3.54},
           "tracking": {"advance": 2.01, "walk": 3.84, "theta": 0.54, "solve": 13.39}}


def predict(counts, card):
    """Schedule -> stage -> seconds."""
    return {schedule: model.Stages(counts, schedule, card).seconds() for schedule in counts["work"]}


def table(counts, measured):
    print("| schedule, stage | " + " | ".join(machine.CARDS) + (" | H200, measured |" if measured else " |"))
    print("|---" * (len(machine.CARDS) + 1 + bool(measured)) + "|")
    of = {name: predict(counts, card) for name, card in machine.CARDS.items()}
    for schedule in counts["work"]:
        for stage in of["H200"][schedule]:
            cells = [f"{of[name][schedule][stage]:.2f}" for name in machine.CARDS]
            if measured:
                cells.append(f"{measured[schedule][stage]:.2f}")
            print(f"| `{schedule}`, {stage} | " + " | ".join(cells) + " |")
        sums = [f"{sum(of[name][schedule].values()):.1f}" for name in machine.CARDS]
        if measured:
            sums.append(f"{sum(measured[schedule].values()):.1f}")
        print(f"| `{schedule}`, all | " + " | ".join(sums) + " |")


def in_cohorts(counts, architecture="90"):
    """Schedule -> card -> what the code that is here takes in cohorts."""
    wanted = tuple({cohorts.COHORT, *(phase.kernel for phase in cohorts.PHASES.values())})
    listing.nvdisasm()  # or the compiler's minutes are in vain
    kernels, resources = {}, {}
    for source in listing.device_sources():
        made = listing.compile_for(architecture, source)
        found = listing.disassemble(made.cubin, lambda symbol: (listing.body_of(symbol) or "").startswith(wanted))
        kernels |= {listing.body_of(symbol): found[symbol] for symbol in sorted(found, key=listing.shares)}
        of_symbol = listing.resources(made.messages)
        resources |= {listing.body_of(symbol): of_symbol[symbol] for symbol in sorted(found, key=listing.shares)}
    launches, marks = listing.launches(), listing.project_marks()
    return {schedule: {name: cohorts.predict(kernels, resources, launches, marks, work, card)
                       for name, card in machine.CARDS.items()} for schedule, work in counts["work"].items()}


def table_of_cohorts(found):
    print("| cohorts, seconds | " + " | ".join(machine.CARDS) + " |")
    print("|---" * (len(machine.CARDS) + 1) + "|")
    for schedule, of in found.items():
        for key in of["H200"]["seconds"]:
            print(f"| `{schedule}`, {key} | " + " | ".join(f"{of[name]['seconds'][key]:.2f}" for name in of) + " |")
        for key in ("share", "crowded"):
            print(f"| `{schedule}`, {key} | " + " | ".join(f"{of[name][key]:.0%}" for name in of) + " |")
        print(f"| `{schedule}`, the paper | " + " | ".join(f"{of[name]['paper']:.1f}" for name in of) + " |")
    for schedule, of in found.items():
        slots = of["H200"]["slots"]
        print(f"{schedule}: issue slots of " + ", ".join(f"{name} {n / 1e9:.0f}" for name, n in slots.items()) +
              " thousand million warp instructions")
    for line in sorted({line for of in found.values() for one in of.values() for line in one["missing"]}):
        print(f"not counted, or once: {line}")


def sensitivity(counts):
    """What assumed constants move on the H200: each by what it may well be off."""
    base = predict(counts, machine.CARDS["H200"])
    print("| constant | " + " | ".join(f"{stage}, {schedule}" for schedule in base for stage in base[schedule]) + " |")
    print("|---" * (1 + sum(map(len, base.values()))) + "|")
    for name, change in machine.DOUBTS.items():
        with machine.changed(change):
            other = predict(counts, machine.CARDS["H200"])
        cells = [f"{other[s][stage] / base[s][stage] - 1:+.0%}" for s in base for stage in base[s]]
        print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=pathlib.Path, default=MEASURED,
                        help="counts of another revision: a JSON file like the default, whose first member says how")
    parser.add_argument("--code", action="store_true", help="of the code that is here, compiled: some minutes")
    parser.add_argument("--json", action="store_true", help="the same numbers for programs")
    parser.add_argument("--sensitivity", action="store_true", help="what each assumed constant moves")
    options = parser.parse_args()
    counts = json.loads(options.counts.read_text())
    if options.sensitivity:
        return sensitivity(counts)
    if options.code:
        found = in_cohorts(counts)
        return print(json.dumps(found, indent=1)) if options.json else table_of_cohorts(found)
    if options.json:
        of = {name: predict(counts, card) for name, card in machine.CARDS.items()}
        return print(json.dumps({"revision": counts["revision"], "seconds": of}, indent=1))
    table(counts, SECONDS if options.counts == MEASURED else None)


if __name__ == "__main__":
    main()
