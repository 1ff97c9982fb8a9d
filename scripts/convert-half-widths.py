#!/usr/bin/env python3
"""Half-widths of experiments/results from 1.96 standard errors to Student's t, with the standard error beside them; for once.

Every half-width h of a mean over R replications (or prompts) becomes h / 1.96 x t(R - 1). The standard error, h / 1.96, gets nine
digits, so that 1.96 times it is h again. Published half-widths, z and all else keep their bytes, which is checked cell by cell.
Manifests say what half-widths now are, and get new digests of commands and of the program's numbers: run-numbers.py's.
"""

import csv
import importlib.util
import io
import json
import re
import sys
from pathlib import Path

from scipy.special import stdtrit

RESULTS = Path("experiments/results")

FIFTY = 50  # replications behind a published number
# Of files without a column of replications, by folder.
REPLICATIONS = {"full-geometric-1.5": 50, "seed-7-500": 500, "seed-7-500-uniform": 500, "seed-7-500-gaussian": 500,
                "seed-7-500-student_t5": 500, "conventions": 30, "conventions-reward": 30, "conventions-theta": 60,
                "conventions-theta-judged": 60, "balls": 10, "balls-tracking": 20, "start": 15}  # fmt: skip
# Prompts of the tables behind intervals over prompts.
PROMPTS = {"four": 1793, "three": 1328, "context": 1793, "plain": 1793}
TABLE_STATISTICS = ("utility", "quality", "cost_usd_per_1000", "calls", "gap")
# What had Student's t before: compare, keep, and scripts that made their intervals themselves.
STUDENTS = ("decisions.csv", "steps.csv", "tuned.csv", "slopes.csv", "gaps.csv", "findings.csv", "routers.csv")


def degrees(file: Path, column: str, row: dict[str, str]) -> int:
    """Of freedom of a half-width that is 1.96 standard errors; 0 of one that is Student's already, or the paper's."""
    folder, n = file.parent.name, int(row.get("replications") or REPLICATIONS.get(file.parent.name, 0))
    if "half_width" not in column or "published_" in column or file.name in STUDENTS:
        return 0
    if column == "half_width_95_over_prompts_x1000":
        return next((n - 1 for name, n in PROMPTS.items() if row["environment"].startswith(name)), 0)
    if "p_holm" in row or column.startswith("difference_") or folder.startswith("theory-") or folder == "output-costs":
        return 0
    if "ratio" in column:
        return min(n, FIFTY) - 1
    if column == "adjusted_half_width_95":  # five covariates: the header and the costs; without a header three
        return n - 1 - (5 if row["number"] == "regret_x1000" else 3)
    if file.stem == "permute" and column.split("_half")[0] in TABLE_STATISTICS:
        return 300 - 1  # prompts
    if n < 2:
        sys.exit(f"{file}: {column}: of how many replications?")
    return n - 1


def stands_beside(column: str, header: list[str]) -> bool:
    """Whether the program writes a standard error there; `--by`, `--against`, compare and scripts do not."""
    return not ("over_prompts" in column or "ratio" in column or "less" in header or "cell" in header)


def written(rows: list[list[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def converted(file: Path, text: str) -> str:
    header, *rows = csv.reader(io.StringIO(text))
    assert written([header, *rows]) == text, file
    columns = [[name, *(row[k] for row in rows)] for k, name in enumerate(header)]
    out = []
    for name, *cells in columns:
        ks = [degrees(file, name, dict(zip(header, row))) for row in rows]
        if not any(ks):
            out.append([name, *cells])
            continue
        fixed = all(re.fullmatch(r"\d+\.\d{6}|", cell) for cell in cells)
        h = [float(cell) if cell else None for cell in cells]
        new = [None if x is None else x / 1.96 * float(stdtrit(k, 0.975)) for x, k in zip(h, ks)]
        out.append([name, *("" if x is None else f"{x:.6f}" if fixed else f"{x:.9g}" for x in new)])
        if stands_beside(name, header):
            out.append([name.replace("half_width_95", "standard_error"), *("" if x is None else f"{x / 1.96:.9g}" for x in h)])
    return written([list(row) for row in zip(*out)])


def check(file: Path, before: str, now: str) -> None:
    """That nothing but half-widths has changed, and that 1.96 standard errors are what they were."""
    old, new = (list(csv.DictReader(io.StringIO(text))) for text in (before, now))
    changed = set()
    for a, b in zip(old, new, strict=True):
        for name, cell in a.items():
            if degrees(file, name, a) == 0:
                assert b[name] == cell, (file, name)
            elif cell:
                changed.add(name)
                again = 1.96 * float(b[name]) / float(stdtrit(degrees(file, name, a), 0.975))
                assert abs(again - float(cell)) <= 1e-6 + 1e-8 * float(cell), (file, name, cell, b[name])
                if (error := name.replace("half_width_95", "standard_error")) in b:
                    again = 1.96 * float(b[error])
                    assert cell in (f"{again:.6f}", f"{again:.9g}") or abs(again - float(cell)) < 6e-9 * float(cell), (file, cell)
    added = [name for name in new[0] if name not in old[0]]
    assert all("standard_error" in name for name in added), (file, added)
    print(f"{file}: {', '.join(sorted(changed))}; {len(added)} columns more")


def main() -> None:
    loader = importlib.util.spec_from_file_location("run_numbers", "scripts/run-numbers.py")
    script = importlib.util.module_from_spec(loader)
    loader.loader.exec_module(script)
    stages, numbers = script.read_stages(), sys.argv[1] if len(sys.argv) > 1 else None
    for folder in sorted(path for path in RESULTS.iterdir() if path.is_dir()):
        manifest = json.loads((folder / "manifest.json").read_text())
        for file in sorted(folder.glob("*.csv")):
            if "half_widths" in manifest or "half_width" not in (before := file.read_text()).partition("\n")[0]:
                continue
            now = converted(file, before)
            if now != before:
                check(file, before, now)
                file.write_text(now)
        manifest["half_widths"] = script.HALF_WIDTHS
        stage = stages[folder.name]
        manifest |= {"keep": stage.keep, "digest": script.digest(stage, stages)}
        if numbers:
            manifest["program"]["numbers"] = numbers
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    main()
