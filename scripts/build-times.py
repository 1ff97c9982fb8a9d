#!/usr/bin/env python3
"""Lists how long each file took in its last build, longest first, so that you see what makes the build slow.

usage: scripts/build-times.py [BUILD_DIR [ROWS]]       default: build 30

Reads Ninja's log. Seconds are wall-clock times of a compiler beside others. They are close to CPU seconds if the build
had no more jobs than the machine has cores. A folder that is compiled at once counts as one file.
"""
import pathlib
import sys

build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build")
rows = int(sys.argv[2]) if len(sys.argv) > 2 else 30
try:
    log = (build / ".ninja_log").read_text()
except OSError:
    sys.exit(f"build-times: {build}: no Ninja build there; `make build` or `make test` first")

seconds = {}
for line in log.splitlines()[1:]:
    start, end, _, output, _ = line.split("\t")
    if output.endswith(".o") and not output.startswith("/") and (build / output).exists():
        seconds[output] = (int(end) - int(start)) / 1000  # the last build of it
tests = sum(value for name, value in seconds.items() if name.startswith("tests/"))
for name, value in sorted(seconds.items(), key=lambda item: -item[1])[:rows]:
    print(f"{value:7.1f}  {name}")
print(f"{sum(seconds.values()) - tests:7.1f}  the program, {tests:.1f} the tests, {len(seconds)} compilations")
