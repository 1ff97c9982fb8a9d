#!/usr/bin/env python3
"""Whether the numbers of docs/PAGE.md stand in the files that the page names, for every PAGE with stages in experiments/numbers.

usage: tests/documents/numbers_test.py [PAGE...]     such as beyond; experiments/numbers/README.md has the rules of the comments

Then the same of copies in which every number is altered: most must be missed, or the files say yes to anything.
"""

import csv
import importlib.util
import io
import os
import re
import sys
from functools import cache
from pathlib import Path

os.chdir(Path(__file__).resolve().parents[2])
RESULTS = Path("experiments/results")
NUMBER = re.compile(r"(?<![\w.,])([-−+]?(?:\d{1,3}(?:,\d{3})+|\d+)\.(\d+)(?:e([-+]?\d+))?)(?!\d|\.\d|,\d{3})( ?%)?")
PLACE = re.compile(r"(?:Sections?|Tables?|Figures?|Theorem|Lemma|Assumption|Proposition|Corollary|Appendix|Python|CUDA|GCC|version) $")
ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s")
NOTICED = 0.7  # of altered numbers, at least


def blank(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def blocks(text: str):
    """The comments that cover a table, paragraph or list, and its lines by number."""
    text = re.sub(r"^ *(```|~~~).*?^ *\1 *$", blank, text, flags=re.S | re.M)
    covers, lines, gap = [], [], False
    for number, line in enumerate([*text.split("\n"), "# end"]):
        comment = re.fullmatch(r"\s*<!--\s*(?:numbers:\s*(.*?))?.*-->\s*", re.sub(r"\s*-->", " -->", line))
        table = line.lstrip().startswith("|")
        if not line.strip():
            gap = True
            continue
        goes_on = not gap or (lines and ITEM.match(lines[0][1]) and (ITEM.match(line) or line[0] == " "))
        if lines and (comment or line[0] == "#" or table != lines[0][1].lstrip().startswith("|") or not goes_on):
            yield covers, lines
            covers, lines = covers if lines[0][1][0] == "#" else [], []
        gap = False
        if not comment:
            lines.append((number, line))
        elif said := re.search(r"<!--\s*numbers:\s*(.*?)\s*-->", line):
            covers.append(said[1].split())


@cache
def read(path: Path) -> list[dict[str, str]]:
    """Rows of all tables of a CSV file; of other files one row of all numbers."""
    text = path.read_text()
    if path.suffix == ".csv":
        return [row for part in re.split(r"\n\s*\n", text) for row in csv.DictReader(io.StringIO(part))]
    return [{str(i): n.replace(",", "") for i, n in enumerate(re.findall(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?", text))}]


def value(cell):
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def plain(name: str) -> str:
    return re.sub(r"[_` ]", "", name.split(".")[-1]).lower()


@cache
def labels(cell: str) -> frozenset:
    """What a cell may be called: all of it and its parts in any case, its words as they stand."""
    cell = re.sub(r"[`*]|\\", "", cell).strip()
    parts = {p.strip().lower() for p in (cell, *re.split(r"[,;:/]", cell))}
    return frozenset({"~" + p for p in parts if p and value(p) is None} | {w for w in re.findall(r"[^\s,;:/]+", cell) if value(w) is None})


def agreeing(rows: list, cells: list[str], named: dict[str, str]) -> tuple[list, int]:
    """The rows that agree with the labels of a document's cells and with `column = values`, and how many labels there are."""
    atoms = [{column: labels(cell or "") for column, cell in row.items() if value(cell) is None} for row in rows]
    columns = {}
    for row in atoms:
        for column, names in row.items():
            for name in names:
                columns.setdefault(name, set()).add(column)
    groups = {}
    for cell in cells:
        whole = "~" + re.sub(r"[`*]|\\", "", cell).strip().lower()
        for name in [whole] if whole in columns else [n for n in labels(cell) if n in columns]:
            groups.setdefault(frozenset(columns[name]), set()).add(name)
    keep = range(len(rows))
    for where, names in groups.items():
        every = [i for i in keep if any(names <= atoms[i].get(c, set()) for c in where)]
        keep = every or [i for i in keep if any(names & atoms[i].get(c, set()) for c in where)]
    said = [(c, named[plain(c)]) for c in (rows[0] if rows else ()) if plain(c) in named]
    for column, wanted in said:
        keep = [i for i in keep if value(rows[i][column]) in wanted]
    return [rows[i] for i in keep], len(groups) + len(said)


def conditions(cells: list[str], header: list[str]) -> dict:
    """T_0 = 0, 50 in a cell, or the number below a header that is a column's name."""
    found = {plain(h): {value(c.strip())} for h, c in zip(header, cells) if value(c.strip()) is not None}
    for cell in cells:
        for name, values in re.findall(r"([\w.]+)`? = ((?:\d[\d.]*(?:, )?)+)", cell):
            found[plain(name)] = {value(v) for v in values.split(", ")}
    return found


def nearest(match: re.Match, rows: list, columns: set) -> tuple[float, float]:
    """How far the nearest value is, in halves of the last digit, and that value."""
    wanted = float(match[1].replace(",", "").replace("−", "-"))
    half = 0.5 * 10.0 ** (int(match[3] or 0) - len(match[2]))
    best = (float("inf"), float("nan"))
    for row in rows:
        for column, cell in row.items():
            if (v := value(cell)) is not None and (not columns or column in columns):
                for scale in (1, *(() if "x1000" in column else (1000,)), *((100,) if match[4] else ())):
                    best = min(best, ((abs(v * scale - wanted) - 1e-9) / half, v * scale))
    return best


def check(page: Path, text: str):
    """Where numbers stand that have files, and what is wrong, by line."""
    claims, faults = [], []
    for covers, lines in blocks(text):
        words = [word for cover in covers for word in cover]
        filters = dict(word.split("=", 1) for word in words if "=" in word)
        given = filters.pop("given", "").split(",")
        columns = set(filter(None, filters.pop("columns", "").split(",")))
        names = [word for word in words if "=" not in word]
        paths = [p for n in names if n != "given" for p in (sorted(Path("experiments/published").glob("*.csv")) if n == "published" else [RESULTS / n])]
        faults += [(lines[0][0], f"there is no {path}") for path in paths if not path.exists()]
        files = [[r for r in read(path) if all(r.get(c, "") in w.split(",") for c, w in filters.items() if c in r)] for path in paths if path.exists()]
        table, header = lines[0][1].lstrip().startswith("|"), []
        for number, line in lines:
            shown = re.sub(r"(`+).*?\1|\]\([^)]*\)|<!--.*?-->|https?://\S+", blank, line)
            bars = [m.start() for m in re.finditer(r"(?<!\\)\|", shown)] if table else []
            cells = [line[a + 1:b].strip() for a, b in zip(bars, bars[1:])]
            header = header or cells
            for match in NUMBER.finditer(shown):
                if PLACE.search(shown[:match.start()]) or names == ["given"] or match[1] in given:
                    continue
                if not paths:
                    faults.append((number, f"{match[1]} has no file"))
                    continue
                rows, which = [row for rows in files for row in rows], ""
                if table:
                    top = header[sum(b < match.start() for b in bars) - 1]
                    mine = [cell for cell in cells if value(cell) is None] + [top]
                    chosen = [agreeing(rows, mine, conditions([*cells, top], header)) for rows in files if rows]
                    rows = [row for some, n in chosen if n or not any(m for _, m in chosen) for row in some]
                    which = f", {len(rows)} rows that agree with {' | '.join(c for c in (cells[0], top) if c)}"
                off, there = nearest(match, rows, columns)
                claims.append((number, match.start(1), match.end(1)))
                if off > 1:
                    faults.append((number, f"{match[1]} is not in {' '.join(names)}{which}: the nearest is {there:g}"))
    return claims, [f"{page}:{number + 1}: {what}" for number, what in faults]


def altered(text: str, claims: list) -> str:
    """Each number with another last digit."""
    lines = text.split("\n")
    for number, _, end in claims:
        line = lines[number]
        lines[number] = line[:end - 1] + str((int(line[end - 1]) + 3) % 10) + line[end:]
    return "\n".join(lines)


def main() -> int:
    loader = importlib.util.spec_from_file_location("run_numbers", "scripts/run-numbers.py")
    script = importlib.util.module_from_spec(loader)
    loader.loader.exec_module(script)
    stages = script.read_stages()
    bad = [f"{folder}: no stage makes it" for folder in RESULTS.iterdir() if folder.is_dir() and folder.name not in stages]
    if script.TABLE.search((RESULTS / "README.md").read_text())[0] != script.table(stages):
        bad.append(f"{RESULTS}/README.md: `scripts/run-numbers.py --table` writes another table")
    for page in sys.argv[1:] or sorted({stage.page for stage in stages.values()}):
        path = Path("docs") / f"{page}.md"
        text = path.read_text()
        claims, faults = check(path, text)
        missed = len(check(path, altered(text, claims))[1]) - len(faults)
        print(f"{page}: {len(claims)} numbers with files, {len(faults)} faults; altered, {missed} are noticed")
        bad += faults
        if missed < NOTICED * (len(claims) - len(faults)):
            bad.append(f"{path}: too few altered numbers are noticed: say `columns=` or filters in the comments")
    print(*bad, sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
