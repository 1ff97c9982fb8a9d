"""Runs every case of cases.py with a program and writes the results."""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from cases import Case, all_cases
from probes import probed
from worlds import write_all

MOST_NUMBERS = 160  # the greatest length of a list that is kept as it is
MOST_SECONDS = 60
NUDGES = (1.0 + 1e-12, 1.0 - 1e-12)


def digits(x: float) -> float | None:
    """Rounds to twelve digits, because further ones depend on the processor."""
    return float(f"{x:.12g}") if math.isfinite(x) else None


def brief(numbers: list[float]) -> dict[str, Any]:
    """A summary of a long list of numbers: its length, sums that identify it, and its ends."""
    sums = [
        math.fsum(numbers),
        math.fsum(x * x for x in numbers),
        math.fsum(x * (k % 97) for k, x in enumerate(numbers)),
    ]
    return {
        "count": len(numbers),
        "sum": digits(sums[0]),
        "sum_of_squares": digits(sums[1]),
        "sum_times_place_modulo_97": digits(sums[2]),
        "first": [digits(x) for x in numbers[:8]],
        "last": [digits(x) for x in numbers[-8:]],
    }


def kept(value: Any) -> Any:
    if isinstance(value, float):
        return digits(value)
    if isinstance(value, dict):
        return {name: kept(one) for name, one in value.items()}
    if isinstance(value, list):
        if len(value) > MOST_NUMBERS and all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in value):
            return brief([float(x) for x in value])
        return [kept(one) for one in value]
    return value


def cascade_in(path: Path, record: Any) -> dict[str, Any]:
    """A cascade's file without the members that the record has. In place of its sealed state it has decisions
    (probes).
    """
    found: dict[str, Any] = json.loads(path.read_text())
    found["probes"] = probed(path, found)
    found["about_is_the_record"] = kept(found["about"]) == record
    for name in ("about", "digest", "state"):
        del found[name]
    out: dict[str, Any] = kept(found)
    return out


def rows_in(path: Path) -> dict[str, Any]:
    """The results of each prompt, by cascade and model: the models that were called, qualities and dollars."""
    out: dict[str, Any] = {}
    with path.open() as file:
        for row in csv.DictReader(file):
            # Single models all have the price 0, so the model's name distinguishes them.
            key = f"{row['kind']} {row['price']}" + (f" {row['called']}" if row["kind"] == "single" else "")
            of = out.setdefault(key, {"called": [], "quality": [], "usd": []})
            of["called"].append(row["called"])
            of["quality"].append(float(row["quality"]))
            of["usd"].append(float(row["usd"]))
    return {
        key: {name: values if name == "called" else [digits(x) for x in values] for name, values in of.items()}
        for key, of in out.items()
    }


RULES = ("kind", "models", "order", "thresholds", "plans")
AIMS = ("--price", "--max-usd", "--min-quality")


def nudged(argv: list[str], factor: float) -> list[str]:
    """The same case with other last digits of its price or bound; empty if it has neither."""
    out = list(argv)
    for name in AIMS:
        if name in out:
            at = out.index(name) + 1
            out[at] = ",".join(repr(float(number) * factor) for number in out[at].split(","))
    if "--out" in out:
        out[out.index("--out") + 1] = f"nudged-{factor > 1.0}-{out[out.index('--out') + 1]}"
    # Cases with --force are left out, because they depend on the file that is there.
    return out if any(name in argv for name in AIMS) and "--force" not in argv else []


def agrees(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(agrees(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(agrees, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-7 * max(1.0, abs(a))
    return bool(a == b)


def outcome(program: str, argv: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    without_figures = {**os.environ, "PANDORA_RENDERER": "none"}
    return subprocess.run(
        [program, *argv], cwd=folder, env=without_figures, capture_output=True, text=True, timeout=MOST_SECONDS
    )


def on_edge(program: str, case: Case, argv: list[str], found: dict[str, Any], folder: Path) -> list[str]:
    """The members that change with the last digits of the aim. Several values are equally good for them."""
    if not argv:
        return []
    done = outcome(program, argv, folder)
    if done.returncode != 0:  # the change moved the number out of its range
        return []
    result = kept(json.loads(done.stdout))
    out = [name for name in sorted(found["result"]) if not agrees(found["result"][name], result.get(name))]
    if case.file:
        rules = kept(json.loads((folder / argv[argv.index("--out") + 1]).read_text()))
        out += [name for name in RULES if not agrees(found["cascade"].get(name), rules.get(name))]
    return out


def result_of(case: Case, code: int, said: str, error: str, folder: Path) -> dict[str, Any]:
    """What is kept of a command that ended with this code. `said`, `error`: standard output and standard error."""
    out: dict[str, Any] = {"case": case.name, "world": case.world, "argv": case.argv, "exit_code": code}
    if error.strip() and not (code == 0 and "frontier" in case.argv):  # it says: no figures
        out["error"] = error.strip()
    if code == 0 and not case.is_json:
        out["text"] = re.sub(r"(?m)^\d+ cascades, (.|\n)*", "", said)  # the last sentence names the folder
    elif code == 0:
        out["result"] = kept(json.loads(said))
        if case.file:
            out["cascade"] = cascade_in(folder / case.file, out["result"])
        if "--rows" in case.argv:
            out["rows"] = rows_in(folder / case.argv[case.argv.index("--out") + 1] / "rows.csv")
    return out


def run(program: str, case: Case, folder: Path) -> dict[str, Any]:
    done = outcome(program, case.argv, folder)
    out = result_of(case, done.returncode, done.stdout, done.stderr, folder)
    if "result" in out:
        differs = [name for factor in NUDGES for name in on_edge(program, case, nudged(case.argv, factor), out, folder)]
        if differs:
            out["knife_edge"] = sorted(set(differs))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--out", default=str(Path(__file__).parent / "golden.jsonl.gz"))
    parser.add_argument("--only", help="the cases of a world alone")
    parser.add_argument("--times", action="store_true", help="CPU seconds of each case, on stderr")
    given = parser.parse_args()
    program = str(Path(given.program).resolve())
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_all(folder)
        for case in all_cases():
            if given.only and case.world != given.only:
                continue
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            found.append(run(program, case, folder))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            if given.times:
                print(
                    f"{seconds:7.2f}  {found[-1]['exit_code']}  {case.name}: {' '.join(case.argv)}",
                    file=sys.stderr,
                    flush=True,
                )
            if temporary in json.dumps(found[-1]):
                raise SystemExit(f"make.py: {case.name} names the temporary folder")
    text = "".join(json.dumps(one, sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n" for one in found)
    Path(given.out).write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    failed = sum(one["exit_code"] != 0 for one in found)
    edges = [one["case"] for one in found if "knife_edge" in one]
    seconds, size = used.ru_utime + used.ru_stime, Path(given.out).stat().st_size
    print(f"{len(found)} cases, {failed} refused, {len(edges)} on a knife's edge, {seconds:.0f} CPU s, {size} bytes")


if __name__ == "__main__":
    main()
