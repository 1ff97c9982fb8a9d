"""Reports as data: report.json with its CSV files, made from numbers.json, which the program writes."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, Optional

from .figures import COLUMNS, numbers_csv, rows
from .study import frontier_figure, study_figures
from .tables import as_csv

GENERATOR, NUMBERS = "pandora report 1", "pandora numbers 1"
_REGRET = (
    "Regret is the oracle's utility minus the policy's, per period and times 1000; utility is the deployed output's μ* "
    "minus the costs of the queried boxes."
)
_GAP = (
    "Utility is the quality of the deployed answer minus the price of all models that were called; the gap is the "
    "utility of the benchmark, hindsight or an index that the study names, minus the policy's."
)
_TABLES = (
    " The T₀ calibration periods come before the horizon and are not charged to it. Hyperparameters are the ones with "
    "the least mean regret on the same replications, as in the paper; the section Comparisons says how much that "
    "flatters."
)
_PAIRED = (
    "All policies of a replication face the same draws: differences are paired over replications, which makes their "
    "intervals narrower than those of the tables suggest: where intervals of single policies overlap, the difference "
    "may still be clear."
)
_BASE = (
    "Each policy is compared with one of them, the base: `pandora report --base NAME --policy NAME,...` names others; "
    "yardsticks compete with nobody."
)
_PROMPTS = (
    "Replications are orders of the same prompts. What other prompts of the same kind would change is wider: `pandora "
    "compare` has it as ± over prompts."
)
_RIVALS = (
    "Below 0 is better than the base; bold: Holm-adjusted p < 0.05 over all rows. n: replications that both have; ± by "
    "Student's t; cross-fitted: hyperparameters chosen on one half of the replications and judged on the other, of "
    "which p speaks. `pandora compare` tells more."
)
_AGAIN = (
    "With the study below as `study.toml`, the same build and the same arithmetic, these commands give the same "
    "numbers. The numbers of tables and figures are in `tables` and `figures` as CSV files."
)


def figures_of(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All figures of a document or section, in their order."""
    yield from part.get("figures", ())
    for section in part["sections"]:
        yield from figures_of(section)


def _section(heading: str, **parts: Any) -> dict[str, Any]:
    empty = {"paragraphs": [], "commands": [], "tables": [], "figures": [], "preformatted": "", "sections": []}
    return {"heading": heading, **empty, "folded": False, **parts}


def _text(value: float) -> str:
    return f"{value:.2f}".replace("-0.00", "0.00") if math.isfinite(value) else "---"


def _p_text(p: float) -> str:
    return "---" if math.isnan(p) else "< 1e-4" if p < 1e-4 else f"{p:.4f}"


def _rivals(pairs: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """A row for each rival in each cell: its loss against the base."""
    cells: dict[str, list[dict[str, Any]]] = {}
    for row in rows(pairs):
        T0 = "any T0" if math.isnan(row["T0"]) else f"T0={row['T0']:.0f}"
        place = ", ".join(filter(None, (row["setting"], row["environment"], row["regime"], T0)))
        n, p = row["replications"], row["p_holm"]
        fitted = (-row["cross_fitted_difference_x1000"], row["cross_fitted_half_width_95_x1000"])
        paired = (row["regret_b_x1000"], -row["difference_x1000"], row["half_width_95_x1000"])
        exact = [f"{v:.9g}" if math.isfinite(v) else "" for v in (n, *paired, p, *fitted)]
        texts = [str(n), *map(_text, paired), _p_text(p), *map(_text, fitted)]
        cells.setdefault(place, []).append({
            "cells": [row["b"], row["a"], *texts], "exact": [row["b"], row["a"], *exact],
            "bold": [4, 6] if p < 0.05 else [], "rule_above": False,
        })  # fmt: skip
    return {
        "label": "rivals", "title": "Each policy less the base: time-averaged regret x 1000, paired over replications",
        "heading_column": "cell", "row_headers": 2, "notes": [_RIVALS],
        "columns": ["policy", "base", "n", "regret", "less the base", "± (95%)", "p (Holm)", "cross-fitted",
                    "± (95%) "],
        "rows": [one for place, own in cells.items() for one in ({"heading": place}, *own)],
    }  # fmt: skip


def _command(numbers: Mapping[str, Any], T0: Optional[int], formats: Sequence[str]) -> str:
    """The program and study of this report."""
    given = {
        "--t0": "" if T0 is None else str(T0), "--policy": ",".join(numbers["policies"]), "--base": numbers["base"],
        "--figures": ",".join(formats) if list(formats) != ["svg"] else "",
    }  # fmt: skip
    return " ".join(["pandora report results", *(f"{option} {value}" for option, value in given.items() if value)])


def _study(numbers: Mapping[str, Any], T0: Optional[int], formats: Sequence[str]) -> dict[str, Any]:
    first, compared = numbers["settings"][0], bool(numbers["pairs"])
    program = numbers["manifest"].get("program")
    version = program.get("version", "unknown") if isinstance(program, dict) else "unknown"
    subtitle = (
        f"{first['replications']} replications of {first['periods']} periods, seed {numbers['seed']}, "
        f"{numbers['engine']}; pandora {version if isinstance(version, str) else json.dumps(version)}"
    )
    what = (_GAP if numbers["of_table"] else _REGRET) + _TABLES
    sections = [_section("Tables", paragraphs=[what], tables=numbers["tables"])]
    if numbers["regret"]:
        base = _BASE if compared else "There is one policy, and nothing to compare it with."
        paragraphs = [_PAIRED, base, *([_PROMPTS] if numbers["of_prompts"] else [])]
        tables = [_rivals(numbers["pairs"])] if compared else []
        sections.append(_section("Comparisons", paragraphs=paragraphs, tables=tables))
    if groups := study_figures(numbers, T0):
        inner = [_section(group["heading"], figures=group["figures"]) for group in groups]
        sections.append(_section("Figures", sections=inner))
    commands = ["pandora run study.toml --out results", _command(numbers, T0, formats)]
    again = {"paragraphs": [_AGAIN], "commands": commands, "preformatted": numbers["study"]}
    manifest = json.dumps(numbers["manifest"], indent=2, ensure_ascii=False, sort_keys=True)
    sections.append(_section("How to make this again", **again))
    sections.append(_section("Manifest", preformatted=manifest, folded=True))
    return {
        "title": numbers["title"] or "Online Pandora's box: results",
        "subtitle": "; ".join(filter(None, (subtitle, numbers["unfinished"]))), "sections": sections,
    }  # fmt: skip


def _frontier(numbers: Mapping[str, Any], T0: Optional[int], formats: Sequence[str]) -> dict[str, Any]:
    subtitle = (
        f"Fitted on {numbers['fitted_on']}, judged on {numbers['tested_on']}: {numbers['prompts']} prompts, "
        f"{numbers['evaluator']}, 95% intervals over prompts"
    )
    parts = {"figures": [frontier_figure(numbers)], "tables": numbers["tables"]}
    sections = [_section("Cascades, models and mixtures", **parts)]
    return {"title": "Quality against dollars", "subtitle": subtitle, "sections": sections}


def _file_name(table: Mapping[str, Any], taken: set[str]) -> str:
    """Labels are short and mostly different. A table without a label, or with another's label, gets a number."""
    stem = re.sub(r"[/\\ ]", "-", table["label"]) or "table"
    name = next(name for k in itertools.count(1) if (name := f"{stem}-{k}" if k > 1 else stem) not in taken)
    taken.add(name)
    return name


def document_of(numbers: Mapping[str, Any], T0: Optional[int], formats: Sequence[str]) -> dict[str, Any]:
    """The content of the report, with the numbers of its figures; tables have the names of their files."""
    make_of = {"study": _study, "frontier": _frontier}[numbers["of"]]
    document = {"generator": GENERATOR, **make_of(numbers, T0, formats)}
    taken: set[str] = set()
    for section in document["sections"]:
        section["tables"] = [{**table, "name": _file_name(table, taken)} for table in section["tables"]]
    names = [one["name"] for one in figures_of(document)]
    if len(set(names)) < len(names):
        raise ValueError("two figures have one name")
    return document


def _without_numbers(value: Any) -> Any:
    """The content for report.json; the CSV files have the numbers."""
    if isinstance(value, dict):
        hidden = (*COLUMNS, "exact", "heading_column", *(["label"] if "row_headers" in value else []))
        return {key: _without_numbers(one) for key, one in value.items() if key not in hidden}
    return [_without_numbers(one) for one in value] if isinstance(value, list) else value


def make(folder: Path, T0: Optional[int], formats: Sequence[str], write: Callable[[Path, bytes], None]) -> None:
    """report.json, tables/*.csv and figures/*.csv of the folder's numbers.json."""
    numbers = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    if numbers["generator"] != NUMBERS:
        raise ValueError(f"numbers.json: generator is {numbers['generator']!r}, not {NUMBERS!r}")
    if T0 is not None and T0 not in numbers.get("T0", ()):
        raise ValueError(f"--t0 {T0}: the results have T0 = {', '.join(map(str, numbers.get('T0', ())))}")
    document = document_of(numbers, T0, formats)
    for name in ("tables", "figures"):
        (folder / name).mkdir(exist_ok=True)
    for table in (table for section in document["sections"] for table in section["tables"]):
        write(folder / "tables" / f"{table['name']}.csv", as_csv(table).encode())
    for one in figures_of(document):
        for ending in ("svg", "pdf", "png"):
            (folder / "figures" / f"{one['name']}.{ending}").unlink(missing_ok=True)
        write(folder / "figures" / f"{one['name']}.csv", numbers_csv(one).encode())
    text = json.dumps(_without_numbers(document), indent=1, ensure_ascii=False, sort_keys=True)
    write(folder / "report.json", f"{text}\n".encode())
