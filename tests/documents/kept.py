"""Rows of the files in experiments/results, and the choice of those that a row of a document means."""

import csv
import io
import re
from collections import Counter
from functools import cache
from pathlib import Path

Row = dict[str, str]


@cache
def read(path: Path) -> list[Row]:
    """The rows of all tables of a CSV file. A setting `KEY=VALUE ...` also becomes a column KEY. Any other file is one
    row with all its numbers.
    """
    text = path.read_text()
    if path.suffix == ".csv":
        rows = [row for part in re.split(r"\n\s*\n", text) for row in csv.DictReader(io.StringIO(part))]
        return [dict(re.findall(r"([\w.]+)=([^\s;]+)", row.get("setting") or "")) | row for row in rows]
    found = re.findall(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?", text)
    return [{str(place): number.replace(",", "") for place, number in enumerate(found)}]


def value(cell: str | None) -> float | None:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def bare(cell: str) -> str:
    return re.sub(r"[`*\\]", "", cell).strip()


def key(name: str) -> str:
    """A name of a column in one spelling: T_0 becomes that of T0, and eta_1 that of estimation.eta_index."""
    found = re.sub(r"[_ ]", "", bare(name).split(".")[-1]).lower()
    return {"eta1": "etaindex", "eta0": "etareward"}.get(found, found)


@cache
def labels(cell: str) -> frozenset[str]:
    """The labels of a cell: the whole text (with =), its parts (with ~), both in lower case, and its words as they
    stand.
    """
    text = bare(cell)
    parts = {part.strip().lower() for part in (text, *re.split(r"[,;:/]", text))}
    words = re.findall(r"[^\s,;:/]+", text)
    named = {f"~{part}" for part in parts if part and value(part) is None} | {word for word in words if value(word) is None}
    return frozenset(named | ({f"={text.lower()}"} if text else set()))


def conditions(cells: list[str], header: list[str]) -> dict[str, set]:
    """The values that a row demands of columns. A number below the name of a key is such a value; it must be whole,
    unless the name begins with c_ or eta_. So are the numbers in a cell such as `T_0 = 0, 50`.
    """
    found = {key(name): {value(bare(cell))} for name, cell in zip(header, cells)
             if value(bare(cell)) is not None and ("." not in cell or re.match(r"`?(?:c|eta)_", name))}  # fmt: skip
    for cell in cells:
        for name, values in re.findall(r"([\w.]+) = ((?:\d[\d.]*(?:, )?)+)", bare(cell)):
            found[key(name)] = {value(number) for number in values.strip(", ").split(", ")}
    return found


def agreeing(rows: list[Row], cells: list[str], said: dict[str, set]) -> tuple[list[Row], int]:
    """The rows that have the labels of these cells and the demanded values, and the number of such conditions.

    Labels that stand in the same columns are one condition: a row must have all of them or, if no row has, any of them.
    """
    names = [{column: labels(cell or "") for column, cell in row.items() if value(cell) is None} for row in rows]
    columns: dict[str, set] = {}
    for row in names:
        for column, of_cell in row.items():
            for label in of_cell:
                columns.setdefault(label, set()).add(column)
    groups: dict[frozenset, set] = {}
    for cell in cells:
        wholes = [label for label in (f"={bare(cell).lower()}", f"~{bare(cell).lower()}") if label in columns]
        for label in wholes[:1] or labels(cell) & columns.keys():
            groups.setdefault(frozenset(columns[label]), set()).add(label)
    chosen = range(len(rows))
    for where, wanted in groups.items():
        every = [i for i in chosen if any(wanted <= names[i].get(column, frozenset()) for column in where)]
        chosen = every or [i for i in chosen if any(wanted & names[i].get(column, frozenset()) for column in where)]
    bounds = [(column, said[key(column)]) for column in (rows[0] if rows else ()) if key(column) in said]
    for column, wanted in bounds:
        chosen = [i for i in chosen if value(rows[i][column]) in wanted]
    return [rows[i] for i in chosen], len(groups) + len(bounds)


def nearest(number: re.Match, rows: list[Row], columns: set[str]) -> tuple[float, float]:
    """The value of these columns (none: all) that is nearest to the number, after its distance in halves of the
    number's last digit.
    """
    wanted = float(number[1].replace(",", "").replace("−", "-"))
    half = 0.5 * 10.0 ** (int(number[3] or 0) - len(number[2]))
    best = (float("inf"), float("nan"))
    for row in rows:
        for column, cell in row.items():
            if (there := value(cell)) is not None and (not columns or column in columns):
                for scale in (1, *(() if "x1000" in column else (1000,)), *((100,) if number[4] else ())):
                    best = min(best, ((abs(there * scale - wanted) - 1e-9) / half, there * scale))
    return best


def counted(some: int, every: int, rows: list[Row], columns: set[str]) -> bool:
    """Whether the rows of one file confirm `some` of `every`, by these columns (none: all).

    They do so by two cells of a row, by the sums of two columns, or if there are `every` rows and `some` of them have
    the same cell in a column.
    """
    kept = [{column: cell for column, cell in row.items() if not columns or column in columns} for row in rows]
    names = {column for row in kept for column in row}
    pairs = [[value((row.get(name) or "").partition(" ")[0]) for name in names] for row in kept]  # "174 regrets" is 174
    pairs.append([sum(n for row in kept if (n := value(row.get(name))) is not None) for name in names])
    if any(some in pair and every in pair and (some != every or pair.count(some) > 1) for pair in pairs):
        return True
    return len(kept) == every and any(some in Counter(row.get(name) for row in kept).values() for name in names)
