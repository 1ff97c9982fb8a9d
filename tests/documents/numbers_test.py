#!/usr/bin/env python3
"""Tests that the numbers of docs/PAGE.md stand in the files that the page names, for every PAGE with stages in
experiments/numbers.

usage: tests/documents/numbers_test.py [PAGE...]     such as beyond

experiments/numbers/README.md has the rules of the comments. The test is repeated on a copy of the page in which every
number has another last digit. Most of these changes must be noticed, because otherwise the comments allow too much.
"""

import importlib.util
import os
import re
import sys
from pathlib import Path

if sys.version_info < (3, 11):  # no tomllib
    sys.exit(77)

from kept import agreeing, conditions, counted, nearest, read, value
from pages import blocks, cells, counts, kind, numbers, whole

os.chdir(Path(__file__).resolve().parents[2])
RESULTS, PUBLISHED = Path("experiments/results"), Path("experiments/published")
NOTICED = 0.7  # the least share of altered numbers that must be noticed


class Sources:
    """The sources that comments before a block name: files, filters of their rows, columns, and given numbers."""

    def __init__(self, words: list[str]):
        said = dict(word.split("=", 1) for word in words if "=" in word)
        self.given = set(said.pop("given", "").split(","))
        self.columns = set(said.pop("columns", "").split(",")) - {""}
        self.names = [word for word in words if "=" not in word]
        self.only_given = self.names == ["given"]
        named = [RESULTS / name for name in self.names if name not in ("given", "published")]
        paths = named + (sorted(PUBLISHED.glob("*.csv")) if "published" in self.names else [])
        self.missing = [path for path in paths if not path.exists()]
        self.files = [[row for row in read(path) if all(row.get(c, "") in values.split(",") for c, values in said.items() if c in row)]
                      for path in paths if path.exists()]  # fmt: skip
        known = {column for path in paths if path.exists() for column in read(path)[0]}
        self.unknown = [column for column in [*said, *self.columns] if known and column not in known]

    def rows_of(self, row: list[str], header: list[str], top: str):
        """The rows of the files that have the labels of a table's row and of the header above a cell."""
        words = [*(cell for cell in row if value(cell) is None), top]
        chosen = [agreeing(rows, words, conditions([*row, top], [*header, ""])) for rows in self.files]
        some_bound = any(bounds for _, bounds in chosen)
        return [row for rows, bounds in chosen if bounds or not some_bound for row in rows]


def check_counts(sources: Sources, lines: list[tuple[int, str]]) -> tuple[list[tuple[int, int]], list[tuple[int, str]]]:
    """Does what `check` does for the counts of a block, such as 21 of 24. Outside of tables a count may go over the end
    of a line.
    """
    claims, faults, header = [], [], []
    table = kind(lines[0][1]) == "table"
    for number, text in lines if table else [(lines[0][0], "\n".join(line for _, line in lines))]:
        row = cells(text)[1] if table else []
        header = header or row
        for match in counts(text):
            if sources.only_given or sources.missing or match[1] in sources.given:
                continue
            before = text[: match.end(1)]
            place = number + before.count("\n"), len(before.rpartition("\n")[2])
            claims += [place] if match[1].isdigit() else []
            files = [agreeing(rows, row, {})[0] for rows in sources.files] if table else sources.files
            if not any(counted(whole(match[1]), whole(match[2]), rows, sources.columns) for rows in files):
                said = " ".join(match[0].split())
                where = f"is not in {' '.join(sources.names)}" if sources.files else "has no file"
                faults.append((place[0], f"{said} {where}: no two cells of a row, sums of columns or rows with the same cell say so"))
    return claims, faults


def check(path: Path, text: str) -> tuple[list[tuple[int, int]], list[str]]:
    """Returns the line and end of each number that must stand in a file, and the faults."""
    claims, faults = [], []
    for words, lines in blocks(text):
        sources, header = Sources(words), []
        faults += [(lines[0][0], f"there is no {file}") for file in sources.missing]
        faults += [(lines[0][0], f"no file of {' '.join(sources.names)} has a column {column}") for column in sources.unknown]
        counts_here, wrong = check_counts(sources, lines)
        claims, faults = claims + counts_here, faults + wrong
        for number, line in lines:
            bars, row = cells(line) if kind(lines[0][1]) == "table" else ([], [])
            header = header or row
            for match in numbers(line):
                if sources.only_given or sources.missing or match[1] in sources.given:
                    continue
                if not sources.files:
                    faults.append((number, f"{match[1]} has no file"))
                    continue
                top = header[sum(bar < match.start() for bar in bars) - 1] if bars else ""
                rows = sources.rows_of(row, header, top) if bars else [row for rows in sources.files for row in rows]
                off, there = nearest(match, rows, sources.columns)
                claims.append((number, match.end(1)))
                if off > 1:
                    where = f", {len(rows)} rows of '{row[0]}' and '{top}'" if bars else ""
                    faults.append((number, f"{match[1]} is not in {' '.join(sources.names)}{where}: the nearest is {there:g}"))
    return claims, [f"{path}:{number + 1}: {what}" for number, what in faults]


def altered(text: str, claims: list[tuple[int, int]]) -> str:
    lines = text.split("\n")
    for number, end in claims:
        lines[number] = re.sub(rf"(?<=^.{{{end - 1}}}).", lambda digit: str((int(digit[0]) + 3) % 10), lines[number])
    return "\n".join(lines)


def check_page(page: str) -> list[str]:
    path = Path(f"docs/{page}.md")
    text = path.read_text()
    claims, faults = check(path, text)
    noticed = len(check(path, altered(text, claims))[1]) - len(faults)
    print(f"{page}: {len(claims)} numbers with files, {len(faults)} faults; of altered numbers {noticed} more")
    if noticed < NOTICED * (len(claims) - len(faults)):
        faults.append(f"{path}: few altered numbers are noticed; narrow the comments by columns= or filters")
    return faults


def check_results(stages: dict, script) -> list[str]:
    faults = [f"{folder}: no stage makes it" for folder in sorted(RESULTS.iterdir()) if folder.is_dir() and folder.name not in stages]
    faults += [f"{s.name}: there is no {s.folder / f}" for s in stages.values() for f in s.keep if not (s.folder / f).exists()]
    faults += [f"{s.folder}: half-widths are not {script.HALF_WIDTHS}" for s in stages.values()
               if script.read_json(s.folder / "manifest.json").get("half_widths") != script.HALF_WIDTHS]  # fmt: skip
    table = script.TABLE.search((RESULTS / "README.md").read_text())
    if not table or table[0] != script.table(stages):
        faults.append(f"{RESULTS}/README.md: `scripts/run-numbers.py --table` writes another table")
    return faults


def main() -> int:
    loader = importlib.util.spec_from_file_location("run_numbers", "scripts/run-numbers.py")
    script = importlib.util.module_from_spec(loader)
    loader.loader.exec_module(script)
    stages = script.read_stages()
    pages = sys.argv[1:] or sorted({stage.page for stage in stages.values()})
    faults = [fault for page in pages for fault in check_page(page)] + check_results(stages, script)
    print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
