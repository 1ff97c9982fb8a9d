#!/usr/bin/env python3
"""Checks the rooms (folders) of the program. A file includes only from its own room and from rooms that stand earlier in
the list below, and files do not include each other in a circle. It also checks that no file is too large to be one idea and
no function too long to be one step, in tests and examples too, and that no class has two definitions. Messages outside
host/cli mark options of commands, and leave their spelling to the code that prints them (host/ground/base/option.hpp).
Policies of experiments/rivals include only headers that every program with pandora has: the public headers, the standard
library, Eigen and fmt.
usage: scripts/check-rooms.py [--graph]       exit code 1 if not
"""
import collections
import pathlib
import re
import subprocess
import sys

# From the ground up: wings, and the rooms in each wing. A room is a folder.
WINGS = """
kernels         base random tape rules state products solve lane cuda
oracle
host/ground     base statistics tables machine files
include/pandora
experiments/rivals
host/outcomes   tables search
host/lanes      model engine estimator policies devices
host/studies    study sweep results run
host/report
host/cli
"""
ROOMS = [f"{wing}/{room}" if room else wing
         for wing, *rooms in map(str.split, WINGS.strip().splitlines()) for room in rooms or [""]]
# Floors: a room stands one floor above the highest room that it includes from; the rooms of kernels/ are one floor.
MOST_FLOORS = 8
MOST_LINES, MOST_LINES_OF_FUNCTION = 350, 60
# Functions that are longer than allowed: file and name. The list only gets shorter.
LONG_FUNCTIONS = [tuple(line.split()) for line in """
host/studies/results/parts.cpp part_contents
kernels/lane/warp_walk.hpp walk
kernels/solve/reward_gradient.cpp reward_derivatives
kernels/solve/reward_sums.hpp sum_stream
kernels/solve/tiled_newton.hpp sum_stream
tests/host/lanes/engine/cohorts_test.cpp INSTANTIATE_TEST_SUITE_P
""".strip().splitlines()]
# Files that are longer than allowed, and by how much: each is a class that should be divided, most of the device path.
LONG_FILES = {
    "host/lanes/devices/preparer.hpp": 354,
    "kernels/lane/stages.hpp": 352,
    "kernels/lane/walk.hpp": 440,
    "kernels/lane/warp_walk.hpp": 848,
    "kernels/products/tiled_products.hpp": 460,
    "tests/kernels/lane/warp_walk_test.cpp": 389,
    "tests/reference/naive_lane.cpp": 380,
}

# Files that may spell options as in a terminal, and why. Text between backquotes is a command and needs no entry here.
SPELT_OPTIONS = {
    "host/outcomes/tables/checked_table.cpp": "names the key of a study and the option beside it",
    "host/outcomes/tables/decision_rows.cpp": "names the key of a study and the option beside it",
    "host/outcomes/tables/table_builder.cpp": "names the key of a study and the option beside it",
    "host/outcomes/tables/table_builder.hpp": "names the key of a study and the option beside it",
    "host/outcomes/tables/table_finish.cpp": "names the key of a study and the option beside it",
    "host/outcomes/tables/named_columns.cpp": "names the key of a study and the option beside it",
    "host/report/renderer.cpp": "words of the script that it starts",
    "host/studies/results/result_rows.cpp": "a command, which a column of tables holds",
    "host/studies/run/tune_tables.cpp": "words for `pandora run`, which a table holds",
}

# Names of users' files in comments, which are not in this repository.
MADE_UP = []

root = pathlib.Path(__file__).resolve().parent.parent


def sources(*tops):
    return [f for top in tops for f in sorted((root / top).rglob("*"))
            if f.suffix in (".hpp", ".h", ".cpp", ".cu", ".cuh")]


RIVALS = "experiments/rivals"
files = sources("kernels", "oracle", "host", "include", RIVALS)
complaints = []


def room_of(name):
    folder = str(pathlib.PurePath(name).parent)
    return folder if folder in ROOMS else None


def functions(text):
    """(name, lines) of the functions of a file as clang-format lays it out: from the line where the function's head begins
    to the "}" of the same indentation. Classes are looked into; tables of data and what stands inside functions are not."""
    def without_text(found):
        return "\n" * found.group().count("\n")

    text = re.sub(r'R"(\w*)\(.*?\)\1"', without_text, text, flags=re.S)  # it may contain anything
    text = re.sub(r"^ *#(.*\\\n)*.*", without_text, text, flags=re.M)
    members = [0]  # indentation of what stands in the open classes; a namespace does not indent
    head, first, indent, ending = "", 0, 0, None
    for number, line in enumerate(text.split("\n")):
        code = re.sub(r"\s*//.*", "", line).strip()
        here = len(line) - len(line.lstrip())
        if ending is not None:
            if here == indent and code.startswith("}"):
                if ending:
                    yield ending, number - first + 1
                ending = None
            continue
        if not head and code.startswith("}"):
            if here < members[-1]:
                members.pop()
            continue
        if re.fullmatch(r"|template <.*>|(public|protected|private):", code):
            continue
        if not head:
            first, indent = number, here
        head += " " + code
        if code.endswith("{"):
            if re.match(r' (inline )?(namespace|extern "C")\b', head):
                pass
            elif re.match(r" (class|struct|union)\b[^=]*$", head):
                members.append(indent + 2)
            elif re.search(r"\)[^()=]*\{$|= \[.*\{$", head):
                test = re.match(r" TEST(?:_F|_P)?\((\w+), (\w+)\)", head)
                ending = ".".join(test.groups()) if test else re.search(r"(operator\S+?|[\w~]+)(\(| = )", head)[1]
            else:
                ending = ""
            head = ""
        elif code.endswith((";", "}")):
            head = ""


long_functions = []
for file in [*files, *sources("tests", "examples")]:
    name = str(file.relative_to(root))
    text = file.read_text()
    most = LONG_FILES.get(name, MOST_LINES)
    if (lines := text.count("\n")) > most:
        complaints.append(f"{name}: {lines} lines, more than {most}: is it one idea?")
    if "std::views::" in text:
        complaints.append(f"{name}: std::views, which clang before 16 cannot compile with GCC's library: use an algorithm")
    for function, lines in functions(text):
        if lines > MOST_LINES_OF_FUNCTION:
            long_functions.append((name, function))
            if long_functions[-1] not in LONG_FUNCTIONS:
                complaints.append(f"{name}: {function} has {lines} lines, more than {MOST_LINES_OF_FUNCTION}: is it one step?")
for name, function in LONG_FUNCTIONS:
    if (name, function) not in long_functions:
        complaints.append(f"{name}: {function} is not long any more; take it off the list of {pathlib.Path(__file__).name}")

includes = {}
for file in files:
    name = str(file.relative_to(root))
    text = file.read_text()
    room = room_of(name)
    if room is None:
        complaints.append(f"{name}: stands in no room that {pathlib.Path(__file__).name} knows")
        continue
    includes[name] = []
    for mark, included in re.findall(r'^#include (["<])([^">]+)', text, re.M):
        if included.startswith("pandora/"):
            target = f"include/{included}"
        elif room == RIVALS and "/" not in included:  # by its name alone, so that rivals can be copied into other programs
            target = f"{RIVALS}/{included}"
        else:
            target = included
        public = (re.fullmatch(r"(Eigen|fmt)/.+|\w+", included) if mark == "<"
                  else target != included and (root / target).is_file())
        if room == RIVALS and not public:
            complaints.append(f"{name}: includes {included}; a rival includes public headers (pandora/*.hpp), files of its "
                              "folder by their name, the standard library, Eigen and fmt")
        if not (root / target).is_file():
            continue  # generated
        includes[name].append(target)
        below = room_of(target)
        if below is None or ROOMS.index(below) > ROOMS.index(room):
            complaints.append(f"{name}: includes {included}, from a later room")

# A class with two definitions: a linker silently uses one of them for both.
defined = {}
for file in files:
    if file.suffix in (".hpp", ".h", ".cuh"):
        text, name = file.read_text(), str(file.relative_to(root))
        space = re.search(r"^namespace ([\w:]+)", text, re.M)
        for found in re.findall(r"^(?:struct|class) (\w+)(?: final)?(?: :[^;{]*)? \{", text, re.M):
            first = defined.setdefault((space and space[1], found), name)
            if first != name:
                complaints.append(f"{name}: {found} is a class in {first} already")

# A class of another room must be included, not declared, because a declaration would hide the dependence.
for name in includes:
    for declared in re.findall(r"^(?:struct|class) (\w+);", (root / name).read_text(), re.M):
        rooms = {room_of(file) for (_, found), file in defined.items() if found == declared}
        if rooms and room_of(name) not in rooms and not name.startswith("kernels/"):  # one floor
            complaints.append(f"{name}: declares {declared} of {', '.join(sorted(rooms))}; include its header")

# The first lines of a file say what it is; a .cpp file with a header of its name says it in the header.
everything = {pathlib.PurePath(name).name for name in subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True).stdout.split("\n")}
for file in files:
    name, text = str(file.relative_to(root)), file.read_text()
    headers = [file.with_suffix(".hpp"), file.with_suffix(".cuh"), root / "include/pandora" / f"{file.stem}.hpp"]
    own = file.suffix in (".cpp", ".cu") and any(header.exists() for header in headers)
    if not own and not re.match(r"// .{20}", text):
        complaints.append(f"{name}: begins without a comment that says what it is")
    # A comment that names a file which does not exist.
    for comment in re.findall(r"//(.*)", text):
        for named in re.findall(r"(?<![\w*-])[\w][\w/-]*\.(?:hpp|cpp|cuh|cu|py|md|sh|toml)\b", comment):
            if pathlib.PurePath(named).name not in everything and named not in MADE_UP:
                complaints.append(f"{name}: a comment names {named}, which is not there")

# Options of commands that a text spells instead of marking. Adjacent texts are one text.
for file in files:
    name, text = str(file.relative_to(root)), re.sub(r'("(?:[^"\\\n]|\\.)*")|//.*', r"\1", file.read_text())
    texts = re.findall(r'"(?:[^"\\\n]|\\.)*"', re.sub(r'(?<!\\)"\s+"', "", text))
    spelt = [found for found in texts if re.search(r"--[a-z]", re.sub("`[^`]*`", "", found))]
    if spelt and name not in SPELT_OPTIONS and not name.startswith("host/cli/"):
        complaints.append(f"{name}: spells an option as a terminal does, {spelt[0]}; mark it (host/ground/base/option.hpp)")
    if not spelt and name in SPELT_OPTIONS:
        complaints.append(f"{name}: spells no option any more; take it off the list of {pathlib.Path(__file__).name}")

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

arrows = collections.Counter(
    (room_of(name), room_of(target)) for name in includes for target in includes[name] if room_of(name) != room_of(target))
floor = {}
for room in ROOMS:
    floor[room] = 1 if room.startswith("kernels/") else max((floor[b] + 1 for a, b in arrows if a == room and b in floor), default=1)
if max(floor.values()) > MOST_FLOORS:
    complaints.append(f"the rooms stand on {max(floor.values())} floors, more than {MOST_FLOORS}: --graph shows them")

if "--graph" in sys.argv:
    for room in sorted(ROOMS, key=lambda room: (-floor[room], -ROOMS.index(room))):
        below = [f"{b} {n}" for (a, b), n in sorted(arrows.items(), key=lambda x: ROOMS.index(x[0][1])) if a == room]
        print(f"{floor[room]:2} {room:22} {sum(1 for n in includes if room_of(n) == room):3} files   <- {', '.join(below)}")
for complaint in complaints:
    print(complaint, file=sys.stderr)
sys.exit(1 if complaints else 0)
