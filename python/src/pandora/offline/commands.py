"""`pandora cascade fit|test|frontier|show` and `pandora trace check`: reads tables, calls the functions, prints."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from typing import Any, Callable, Optional

from .. import _core
from ..errors import Error, Interrupted, UsageError
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
        return _fail(_OUTPUT_LOST, f"standard output could not be written{error}; is its disk full?")
    except Interrupted as error:
        return _fail(_INTERRUPTED, str(error))
    except KeyboardInterrupt:
        return _fail(_INTERRUPTED, "interrupted; nothing was written")
    except (Refusal, Lacking) as error:
        return _fail(error.exit_code, error.told(spelt))
    except Error as error:
        return _fail(error.exit_code, str(error))
    except MemoryError:
        return _fail(_MEMORY, "takes more memory than there is; take a part of the rows")
    except OSError as error:
        return _fail(_OUTPUT_LOST, f"{error.filename}: {error.strerror}")
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        return _fail(_DEFECT, f"defect: {told}; please report it with the command line")


def _fail(code: int, message: str) -> int:
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


def _print_json(value: Any) -> None:
    _print(json_text(value))


def _print_sheets(sheets: Sequence[Sheet], how: str) -> None:
    for number, sheet in enumerate(sheets):
        if how == "csv":
            _print(("\n" if number else "") + sheet.csv())
        elif how == "markdown":
            _print("\n" + sheet.markdown())
        else:
            _write("\n" + sheet.text(_width(), sys.stdout.isatty()))  # escape sequences are this program's own


def _width() -> int:
    return shutil.get_terminal_size((80, 24)).columns


def _reading(given: dict[str, Any]) -> Callable[[str], _core.TraceTable]:
    """What reads a table, once its options are known to be sound."""
    scale = [_range(text) for text in given["scale"]]
    prices = _price_list(given["prices_file"]) if given["prices_file"] else []
    free, repeats = (given[name] == "allowed" for name in ("free_calls", "repeats"))
    models = list(given.get("models", ()))
    options = _core.TraceOptions(models, given["missing"], scale, prices, free, repeats)

    def table(path: str) -> _core.TraceTable:
        if path.lower().endswith((".parquet", ".pq")):
            return Trace(
                path,
                models=models,
                missing=given["missing"],
                scale=dict(scale),
                prices=dict(prices),
                free_calls=free,
                repeats=repeats,
            )._table
        bar = bar_of(None, "MiB")
        try:
            found: _core.TraceTable = _core.read_trace(path, options, bar)
            return found
        finally:
            if bar is not None:
                bar.close()

    return table


def _range(text: str) -> tuple[str, tuple[float, float]]:
    """Of "score=1:5"."""
    name, _, ends = text.rpartition("=")
    try:
        low, high = (float(end) for end in ends.split(":"))
    except ValueError:
        name = ""
    if not name:
        raise Refusal("scale", text, "is no range", "give NAME=LOW:HIGH, such as score=1:5")
    return name, (low, high)


def _price_list(path: str) -> list[tuple[str, tuple[float, float]]]:
    """Dollars for a million tokens in and out, of each model in a TOML file."""
    if sys.version_info < (3, 11):
        raise UsageError(f"{path}: to read prices takes Python 3.11 or later; give costs in the table")
    import tomllib

    try:
        with open(path, "rb") as file:
            whole = tomllib.load(file)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: is not TOML ({error})") from None
    inner = whole.get("prices")
    found = []
    for name, price in (inner if isinstance(inner, dict) else whole).items():
        pair = [price.get("in"), price.get("out")] if isinstance(price, dict) and len(price) == 2 else price
        if not isinstance(pair, list) or len(pair) != 2 or not all(type(x) in (int, float) for x in pair):
            raise UsageError(
                f'{path}: the price of "{name}" is none: give {{ in = 0.15, out = 0.6 }} or [0.15, 0.6], dollars for a '
                "million tokens; a name with a dot stands in quotes"
            )
        found.append((name, (float(pair[0]), float(pair[1]))))
    if not found:
        raise UsageError(f'{path}: has no price; give a line for each model, such as "gpt" = [0.15, 0.6]')
    return found


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


class _Shown:
    """A bar, where somebody looks."""

    def __enter__(self) -> Progress:
        self._bar = bar_of(None, "fits")
        return Progress(self._bar)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


def _fit(given: dict[str, Any]) -> None:
    reading = _reading(given)
    settings = _settings(given, aim_of(*(given[name] for name in ("price", "max_usd", "min_quality", "max_latency"))))
    out = given["out"]
    claim_file(out, given["force"], [given["table"]])
    table = reading(given["table"])
    with _Shown() as progress:
        cascade, _, record = fit_table(table, settings, progress)
    cascade.set_explore(settings.explore)
    # A nightly fit to the log of what runs is not to put something worse in its place.
    stays = bool(record.get("running", {}).get("keep")) and os.path.exists(out)
    if not stays:
        write_text(out, cascade.text())
    if given["format"] == "json":
        return _print_json(record)
    _print_sheets(cascade_tables(json.loads(cascade.text()), cascade.counts(), out), given["format"])
    if given["format"] in ("text", "markdown"):
        _print(f"{out} stays as it is; for what comes nearest name another file\n" if stays else f"cascade in {out}\n")


def _show(given: dict[str, Any]) -> None:
    cascade = _core.Cascade.load(given["cascade"])
    file = json.loads(cascade.text())
    if given["format"] == "json":
        return _print_json({name: value for name, value in file.items() if name not in ("state", "digest")})
    _print_sheets(cascade_tables(file, cascade.counts(), given["cascade"]), given["format"])


def _test(given: dict[str, Any]) -> None:
    from .judge import judge_cascade, judged_json, judged_sheet

    reading = _reading(given)
    cascade = _core.Cascade.load(given["cascade"])
    judged = judge_cascade(
        cascade,
        given["cascade"],
        reading(given["table"]),
        given["against"],
        given["evaluator"],
        given["judge_usd"],
        given["estimator"],
        given["openings"],
    )
    if given["format"] == "json":
        return _print_json(judged_json(judged))
    _print_sheets([judged_sheet(judged)], given["format"])


def _check(given: dict[str, Any]) -> None:
    from .check import check_json, check_sheets, check_table

    table = _reading(given)(given["table"])
    found = check_table(table, given["evaluator"], given["prices"])
    if given["format"] == "json":
        return _print_json(check_json(found))
    _print_sheets(check_sheets(found), given["format"])


def _frontier(given: dict[str, Any]) -> None:
    from .frontier import (
        frontier_csv,
        frontier_figure,
        frontier_json,
        frontier_of_tables,
        frontier_steps,
        frontier_title,
        metrics_sheet,
        rows_csv,
    )

    reading = _reading(given)
    settings = _settings(given, Aim(AimKind.PRICE, 0.0))
    folder = given["out"]
    claim_folder(folder, given["force"])
    for name in ("frontier.csv", "rows.csv", "report.json", "report.html", "report.tex"):
        claim_file(os.path.join(folder, name), True, [given["table"], given["test"]])
    tables = reading(given["table"]), reading(given["test"])
    with _Shown() as progress:
        frontier = frontier_of_tables(tables[0], tables[1], settings, given["prices"], progress)
    file = os.path.join(folder, "frontier.csv")
    write_text(file, frontier_csv(frontier))
    if given["rows"]:
        write_text(os.path.join(folder, "rows.csv"), rows_csv(frontier))
    sheets = {"steps": frontier_steps(frontier), "metrics": metrics_sheet(frontier, True)}
    section = Section("Cascades, models and mixtures", sheets, [frontier_figure(frontier)])
    problem = write_document(folder, *frontier_title(frontier), [section], given["figures"])
    if given["format"] == "json":
        return _print_json(frontier_json(frontier))
    _print_sheets([frontier_steps(frontier), metrics_sheet(frontier, False)], given["format"])
    if problem:
        _say(problem)
    if given["format"] in ("text", "markdown"):
        _print(
            f"{len(frontier.cascades)} cascades, {len(frontier.singles)} models and {len(frontier.mixtures)} points of "
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


__all__ = ["main", "run"]
