#!/usr/bin/env python3
"""Whether the rooms (folders) of the program stand in order: a file includes only from its own room and from rooms below,
and files of a room do not include each other in a circle. Also that no file is too large to be one idea.
usage: scripts/check-rooms.py [--graph]       exit code 1 if not
"""
import collections
import pathlib
import re
import sys

# From the ground up.
ROOMS = """
kernels/base kernels/random kernels/tape kernels/rules kernels/state kernels/products kernels/solve kernels/lane
kernels/cuda oracle host/base include/pandora host/tables host/machine host/files host/traces host/figures host/model host/engine host/reference host/policies host/study
host/devices host/sweep host/results host/analysis host/run host/cli
""".split()
MOST_LINES = 350

root = pathlib.Path(__file__).resolve().parent.parent
files = [f for top in ("kernels", "oracle", "host", "include") for f in sorted((root / top).rglob("*"))
         if f.suffix in (".hpp", ".cpp", ".cu", ".cuh")]
complaints = []


def room_of(name):
    folder = str(pathlib.PurePath(name).parent)
    return folder if folder in ROOMS else None


includes = {}
for file in files:
    name = str(file.relative_to(root))
    text = file.read_text()
    lines = text.count("\n")
    if lines > MOST_LINES:
        complaints.append(f"{name}: {lines} lines, more than {MOST_LINES}: is it one idea?")
    room = room_of(name)
    if room is None:
        complaints.append(f"{name}: stands in no room that {pathlib.Path(__file__).name} knows")
        continue
    includes[name] = []
    for included in re.findall(r'^#include "([^"]+)"', text, re.M):
        target = f"include/{included}" if included.startswith("pandora/") else included
        if not (root / target).is_file():
            continue  # generated
        includes[name].append(target)
        below = room_of(target)
        if below is None or ROOMS.index(below) > ROOMS.index(room):
            complaints.append(f"{name}: includes {included}, from a room above it")

# Circles of files.
state = {}


def visit(name, path):
    state[name] = "open"
    for target in includes.get(name, []):
        if state.get(target) == "open":
            complaints.append("a circle: " + " -> ".join([*path[path.index(target):], target]))
        elif target not in state:
            visit(target, [*path, target])
    state[name] = "done"


for name in includes:
    if name not in state:
        visit(name, [name])

if "--graph" in sys.argv:
    arrows = collections.Counter(
        (room_of(name), room_of(target)) for name in includes for target in includes[name] if room_of(name) != room_of(target))
    for room in reversed(ROOMS):
        below = [f"{b} {n}" for (a, b), n in sorted(arrows.items(), key=lambda x: ROOMS.index(x[0][1])) if a == room]
        print(f"{room:16} {sum(1 for n in includes if room_of(n) == room):3} files   <- {', '.join(below)}")
for complaint in complaints:
    print(complaint, file=sys.stderr)
sys.exit(1 if complaints else 0)
