"""The command line: `python3 -m pandora_verdict FOLDER`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Optional

import numpy as np

from .contrasts import contrasts
from .folder import DataError, read_folders, read_kept
from .panels import Panel, selected
from .records import Record, contrast_records, group_record, records, without_unknown
from .show import contrast_table, group_table, verdict_tables
from .tables import Table, as_csv, as_latex, as_markdown, as_text
from .verdict import GROUP_KEYS, PARTS, Verdict, group_rows, verdicts

FORMATS = ("text", "markdown", "latex", "csv", "json")
USAGE, BAD_DATA = 2, 3  # exit codes, the same as the program's


def _parser() -> argparse.ArgumentParser:
    keys = ", ".join(GROUP_KEYS)
    parser = argparse.ArgumentParser(
        prog="pandora_verdict", description="A folder of results against the paper: its numbers and its findings."
    )
    parser.add_argument(
        "folders",
        nargs="+",
        metavar="FOLDER",
        help="of `pandora run` or `reproduce`, or a summary.csv; several: parts of one study",
    )
    parser.add_argument("--part", choices=PARTS, default="", help="only this one (csv: default numbers)")
    parser.add_argument(
        "--by", metavar="KEYS", help=f"regrets grouped by some of {keys}, or all: ratios and z of each group"
    )
    parser.add_argument(
        "--against", metavar="T0=N|setting", help="each row less the same at this T0, or in the first setting"
    )
    parser.add_argument(
        "--only", metavar="KEY=VALUE,...", action="append", default=[], help=f"rows with these; a key of {keys}"
    )
    parser.add_argument(
        "--skip", type=int, default=0, metavar="N", help="without the first N replications of results.h5"
    )
    parser.add_argument("--format", choices=FORMATS, default="text")
    return parser


def _only(parser: argparse.ArgumentParser, texts: Sequence[str], panels: Sequence[Panel]) -> list[Panel]:
    only = {}
    for text in texts:
        key, _, values = text.partition("=")
        if key not in GROUP_KEYS or not values:
            parser.error(f"--only {text}: give KEY=VALUE,... with a key of {', '.join(GROUP_KEYS)}")
        only[key] = values.split(",")
    found = selected(panels, only)
    if not any(panel.entries for panel in found) and texts:
        parser.error(f"--only {' '.join(texts)}: the results have no such row")
    return found


def _print_table(table: Table, style: str) -> None:
    if style == "text":
        made = as_text(table, shutil.get_terminal_size().columns, sys.stdout.isatty())
    else:
        made = as_latex(table) if style == "latex" else as_markdown(table)
    print("\n" + made, end="")


def _print(found: Sequence[Record], table: Callable[[], Table], name: str, style: str) -> None:
    """Prints records of one kind, in every format."""
    if style == "json":
        print(json.dumps({name: found}, indent=2, ensure_ascii=False, sort_keys=True))
    elif style == "csv":
        print(as_csv(found), end="")
    else:
        _print_table(table(), style)


def _print_verdict(found: Sequence[Verdict], part: str, style: str) -> None:
    if style == "json":
        parts = {one: records(found, one) for one in PARTS if part in ("", one)}
        print(json.dumps(parts, indent=2, ensure_ascii=False, sort_keys=True))
        return
    if style == "csv":
        print(as_csv(records(found, part or PARTS[0])), end="")
        return
    for own in found:
        lead = f"{own.setting}: " if own.setting else ""
        if style != "latex" and own.least < own.replications:
            print(f"{lead}of {own.replications} replications {own.least} count in every cell; others failed")
        if style != "latex" and not own.numbers:
            print(f"{lead}nothing published compares: the paper's numbers are of T = 30000 and its dimensions")
        for table in verdict_tables(own, part):
            _print_table(table, style)


def _run(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    panels = _only(parser, arguments.only, read_folders(arguments.folders))
    if arguments.skip:
        if any(panel.which is None or panel.which[-1] < arguments.skip for panel in panels):
            parser.error(f"--skip {arguments.skip}: takes results.h5 with more replications")
        panels = [panel.take(np.flatnonzero(panel.which >= arguments.skip)) for panel in panels]
    kept = {key: number for folder in arguments.folders for key, number in read_kept(folder).items()}
    if arguments.by is not None:
        keys = [key for key in arguments.by.split(",") if key != "all"]
        wrong = [key for key in keys if key not in GROUP_KEYS]
        if wrong:
            parser.error(f"--by {arguments.by}: {wrong[0]} is none of {', '.join(GROUP_KEYS)}, all")
        rows = group_rows(verdicts(panels, kept), keys)
        title = (
            "Regrets: ours / published, mean over those of a group, ± 95% (Student's t) by the standard errors of both"
        )
        found = [without_unknown(group_record(row)) for row in rows]
        _print(found, lambda: group_table("groups", title, rows, keys or ["regrets"]), "groups", arguments.format)
    elif arguments.against is not None:
        key, _, value = arguments.against.partition("=")
        if key not in ("T0", "setting") or (key == "T0") != value.isdigit():
            parser.error(f"--against {arguments.against}: give T0=N, such as T0=0, or setting")
        differences = contrasts(panels, int(value) if key == "T0" else None)
        where = arguments.against if key == "T0" else "the first setting"
        _print(
            [without_unknown(contrast_records(one)) for one in differences],
            lambda: contrast_table(differences, where),
            "contrasts",
            arguments.format,
        )
    else:
        _print_verdict(verdicts(panels, kept), arguments.part, arguments.format)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Returns the exit code: 0; 2 for wrong arguments; 3 for results that do not exist or cannot be read."""
    parser = _parser()
    try:
        _run(parser, parser.parse_args(arguments))
        sys.stdout.flush()
    except DataError as error:
        print(f"pandora_verdict: {error}", file=sys.stderr)
        return BAD_DATA
    except BrokenPipeError:  # raised when the user leaves a pager
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
