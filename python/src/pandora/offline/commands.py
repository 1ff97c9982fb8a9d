"""`pandora cascade fit|test|frontier|show` and `pandora trace check`: reads tables, calls the functions, prints."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Callable, Optional

from .. import _core
from ..errors import Error
from ..progress import bar_of
from ..trace import Trace
from .api import fit_table
from .command_line import read, spelt
from .document import Section, write_document
from .errors import Lacking, Refusal
from .files import claim_file, claim_folder, write_text
from .kinds import Aim, AimKind
from .options import FitSettings, aim_of
from .progress import Progress
from .record import json_text
from .sheet import Sheet
from .tables import cascade_tables
from .text import printable, printable_lines

_OUTPUT_LOST, _INTERRUPTED, _DEFECT, _MEMORY = 6, 130, 1, 4


def main(words: Optional[Sequence[str]] = None) -> int:
    """What the command line says; returns the exit code. `words`: without the program's name."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    return _ended(sys.argv[1:] if words is None else words)


class _Lost(Exception):
    """Standard output could not be written."""


def _ended(words: Sequence[str]) -> int:
    try:
        command, given = read(words)
        if command is not None:
            _COMMANDS[command.words](given)
        _write("")
        return 0
    except _Lost as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else the interpreter tells of it once more
        code, message = _OUTPUT_LOST, f"standard output could not be written{error}; is its disk full?"
    except (Refusal, Lacking) as error:
        code, message = error.exit_code, error.told(spelt)
    except Error as error:
        code, message = error.exit_code, str(error)
    except KeyboardInterrupt:
        code, message = _INTERRUPTED, "interrupted; nothing was written"
    except MemoryError:
        code, message = _MEMORY, "takes more memory than there is; take a part of the rows"
    except OSError as error:
        code, message = _OUTPUT_LOST, f"{error.filename}: {error.strerror}"
    except Exception as error:
        code = _DEFECT
        message = f"defect: {type(error).__name__}: {error}; please report it with the command line"
    _say(message)
    return code


def _say(message: str) -> None:
    """One line on standard error."""
    try:
        sys.stderr.write(f"pandora: {printable(message, 2000)}\n")
        sys.stderr.flush()
    except OSError:  # messages that nobody wants are no error
        pass


def _write(text: str) -> None:
    """The one place that writes to standard output."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        raise _Lost(f" ({error.strerror})" if error.strerror else "") from None


def _print(text: str) -> None:
    _write(printable_lines(text))


def _show_result(given: dict[str, Any], value: Callable[[], Any], sheets: Callable[[], Sequence[Sheet]]) -> bool:
    """By `--format`; whether people read it."""
    how = given["format"]
    if how == "json":
        _print(json_text(value()))
    for number, sheet in enumerate(sheets() if how != "json" else ()):
        if how == "csv":
            _print(("\n" if number else "") + sheet.csv())
        else:
            width = shutil.get_terminal_size((80, 24)).columns
            _print("\n" + (sheet.markdown() if how == "markdown" else sheet.text(width)))
    return how in ("text", "markdown")


def _reading(given: dict[str, Any]) -> Callable[[str], _core.TraceTable]:
    """What reads a table, once its options are known to be sound."""
    options = {
        "models": list(given.get("models", ())),
        "missing": given["missing"],
        "scale": dict(_range(text) for text in given["scale"]),
        "prices": dict(_core.price_list(given["prices_file"]) if given["prices_file"] else []),
        **{name: given[name] == "allowed" for name in ("free_calls", "repeats")},
    }

    def table(path: str) -> _core.TraceTable:
        if path.lower().endswith((".parquet", ".pq")):
            return Trace(path, **options)._table
        pairs = {name: list(options[name].items()) for name in ("scale", "prices")}
        with _bar("MiB") as bar:
            found: _core.TraceTable = _core.read_trace(path, _core.TraceOptions(**{**options, **pairs}), bar)
        return found

    return table


def _range(text: str) -> tuple[str, tuple[float, float]]:
    """Of "score=1:5"."""
    name, _, ends = text.rpartition("=")
    try:
        low, high = map(float, ends.split(":"))
    except ValueError:
        name = ""
    if not name:
        raise Refusal("scale", text, "is no range", "give NAME=LOW:HIGH, such as score=1:5")
    return name, (low, high)


def _settings(given: dict[str, Any], aim: Aim) -> FitSettings:
    settings = FitSettings(
        aim,
        given["evaluator"] or "",
        tuple(given["context"]),
        given["kind"],
        given["judge_usd"],
        **{name: given[name] for name in ("openings", "forget", "c", "explore") if name in given},
    )
    settings.require_sound()
    return settings


@contextlib.contextmanager
def _bar(what: str) -> Iterator[Any]:
    """A bar, where somebody looks."""
    bar = bar_of(None, what)
    try:
        yield bar
    finally:
        if bar is not None:
            bar.close()


def _fit(given: dict[str, Any]) -> None:
    reading = _reading(given)
    settings = _settings(given, aim_of(*(given[name] for name in ("price", "max_usd", "min_quality", "max_latency"))))
    out = given["out"]
    claim_file(out, given["force"], [given["table"]])
    table = reading(given["table"])
    with _bar("fits") as bar:
        cascade, _, record = fit_table(table, settings, Progress(bar))
    cascade.set_explore(settings.explore)
    # A nightly fit to the log of what runs is not to put something worse in its place.
    stays = bool(record.get("running", {}).get("keep")) and os.path.exists(out)
    if not stays:
        write_text(out, cascade.text())
    if _show_result(given, lambda: record, lambda: cascade_tables(json.loads(cascade.text()), cascade.counts(), out)):
        _print(f"{out} stays as it is; for what comes nearest name another file\n" if stays else f"cascade in {out}\n")


def _show(given: dict[str, Any]) -> None:
    cascade = _core.Cascade.load(given["cascade"])
    file = json.loads(cascade.text())
    members = {name: value for name, value in file.items() if name not in ("state", "digest")}
    _show_result(given, lambda: members, lambda: cascade_tables(file, cascade.counts(), given["cascade"]))


def _test(given: dict[str, Any]) -> None:
    from .judge import judge_cascade, judged_json, judged_sheet

    reading, path = _reading(given), given["cascade"]
    cascade = _core.Cascade.load(path)
    how = [given[name] for name in ("against", "evaluator", "judge_usd", "estimator", "openings")]
    judged = judge_cascade(cascade, path, reading(given["table"]), *how)
    _show_result(given, lambda: judged_json(judged), lambda: [judged_sheet(judged)])


def _check(given: dict[str, Any]) -> None:
    from .check import check_json, check_sheets, check_table

    found = check_table(_reading(given)(given["table"]), given["evaluator"], given["prices"])
    _show_result(given, lambda: check_json(found), lambda: check_sheets(found))


def _frontier(given: dict[str, Any]) -> None:
    from . import frontier as frontiers

    reading, inputs = _reading(given), [given["table"], given["test"]]
    settings = _settings(given, Aim(AimKind.PRICE, 0.0))
    folder = given["folder"]
    claim_folder(folder, given["force"])
    for name in ("frontier.csv", "rows.csv", "report.json", "report.html", "report.tex"):
        claim_file(os.path.join(folder, name), True, inputs)
    tables = [reading(path) for path in inputs]
    with _bar("fits") as bar:
        found = frontiers.frontier_of_tables(tables[0], tables[1], settings, given["prices"], Progress(bar))
    file = os.path.join(folder, "frontier.csv")
    write_text(file, frontiers.frontier_csv(found))
    if given["rows"]:
        write_text(os.path.join(folder, "rows.csv"), frontiers.rows_csv(found))
    steps = frontiers.frontier_steps(found)
    sheets = {"steps": steps, "metrics": frontiers.metrics_sheet(found, True)}
    section = Section("Cascades, models and mixtures", sheets, [frontiers.frontier_figure(found)])
    problem = write_document(folder, *frontiers.frontier_title(found), [section], given["figures"])
    for_people = _show_result(
        given, lambda: frontiers.frontier_json(found), lambda: [steps, frontiers.metrics_sheet(found, False)]
    )
    if problem and given["format"] != "json":
        _say(problem)
    if for_people:
        _print(
            f"{len(found.cascades)} cascades, {len(found.singles)} models and {len(found.mixtures)} points of "
            f"mixtures in {file}\n"
        )


_COMMANDS: dict[tuple[str, ...], Callable[[dict[str, Any]], None]] = {
    ("cascade", "fit"): _fit,
    ("cascade", "test"): _test,
    ("cascade", "frontier"): _frontier,
    ("cascade", "show"): _show,
    ("trace", "check"): _check,
}


def run() -> int:
    """As a program: a reader that goes away ends it, as it does others."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    return main()
