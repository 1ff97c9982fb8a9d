"""`pandora cascade ...`, `trace check`, `import` and `serve`: reads tables, calls the functions, prints."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from typing import Any, Callable, Optional

from .. import _core
from ..errors import Error
from ..live import RunningCascade, load, new_members, text_of
from ..live.file import read_text
from ..live.learning import Learning
from ..prices import Prices
from ..progress import bar_of
from ..spelling import as_option, option
from ..trace import read_table
from .cascade_sheets import cascade_sheets
from .command_line import read
from .crossfit import Progress
from .errors import Refusal
from .kinds import Aim, AimKind
from .options import FitSettings, aim_of
from .plain import short_sheets
from .record import json_text
from .sheet import Sheet
from .table_fit import fit_table
from .text import number_text, printable

#: The output of a command: as JSON, as tables, and as a text for people at the end.
Said = tuple[Any, list[Sheet], str]
_OUTPUT_LOST, _INTERRUPTED, _DEFECT, _MEMORY = 6, 130, 1, 4


class _Lost(Exception):
    """Standard output could not be written."""


def main(words: Optional[Sequence[str]] = None) -> int:
    """Runs the command line and returns the exit code. `words`: without the program's name."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    try:
        command, given = read(sys.argv[1:] if words is None else words)
        if command is not None:
            _print(given.get("format", "text"), *_COMMANDS[command.words](given))
        _write("")
        return 0
    except _Lost as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # otherwise the interpreter reports the error again
        code, message = _OUTPUT_LOST, f"standard output could not be written{error}; is its disk full?"
    except Error as error:
        code, message = error.exit_code, error.told(as_option)
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
    """Writes one line to standard error."""
    try:
        sys.stderr.write(f"pandora: {printable(message, 2000)}\n")
        sys.stderr.flush()
    except OSError:  # standard error may be closed, which is no error
        pass


def _write(text: str) -> None:
    """Writes to standard output; nothing else does."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        raise _Lost(f" ({error.strerror})" if error.strerror else "") from None


def _print(how: str, value: Any, sheets: Sequence[Sheet], at_the_end: str) -> None:
    """Prints the output in the form of `--format`."""
    width = shutil.get_terminal_size((80, 24)).columns
    out = {
        "json": lambda: json_text(value),
        "csv": lambda: "\n".join(sheet.csv() for sheet in sheets),
        "markdown": lambda: "".join("\n" + sheet.markdown() for sheet in sheets) + at_the_end,
        "text": lambda: "".join("\n" + sheet.text(width) for sheet in sheets) + at_the_end,
    }
    _write(printable(out[how](), 0))


def _table_reader(given: dict[str, Any], scores_alone: bool = False) -> Callable[[str], _core.TraceTable]:
    """A function that reads a table by its path. Options are checked here, before any file is read.

    `scores_alone`: whether to use a judge's scores as qualities if there are none.
    """
    scale = [_range(text) for text in given["scale"]]
    prices = list(Prices.of(given["prices_file"] or None).models.items())
    free, repeats = (given[name] == "allowed" for name in ("free_calls", "repeats"))
    columns = given["quality_column"], list(given["prompt_key"])
    models = list(given.get("models", ()))
    options = _core.TraceOptions(models, given["missing"], scale, prices, free, repeats, *columns, scores_alone)

    def table(path: str) -> _core.TraceTable:
        with _bar("MiB") as bar:
            return read_table(path, options, bar)

    return table


def _range(text: str) -> tuple[str, tuple[float, float]]:
    """Reads "score=1:5"."""
    name, _, ends = text.rpartition("=")
    try:
        low, high = map(float, ends.split(":"))
    except ValueError:
        name = ""
    if not name:
        raise Refusal("scale", text, "is no range", "give NAME=LOW:HIGH, such as score=1:5")
    return name, (low, high)


def _settings(given: dict[str, Any], aim: Aim) -> FitSettings:
    settings = FitSettings.of(aim, given)
    settings.require_sound()
    return settings


def _bar(what: str) -> contextlib.AbstractContextManager[Any]:
    """A progress bar, if somebody can see it."""
    bar = bar_of(None, what)
    return contextlib.nullcontext() if bar is None else contextlib.closing(bar)


def _fit(given: dict[str, Any]) -> Said:
    read_table_of = _table_reader(given)
    settings = _settings(given, aim_of(*(given[name] for name in ("price", "max_usd", "min_quality", "max_latency"))))
    out = given["out"]
    _core.claim_file(out, given["force"], [given["table"]])
    table = read_table_of(given["table"])
    with _bar("fits") as bar:
        cascade, record = fit_table(table, settings, Progress(bar))
    cascade.set_explore(settings.explore)
    sheets, at_the_end = _sheets(cascade, out, given), f"cascade in {out}\n"
    # If nothing is surely better than the rules that made the log, an existing cascade file is left unchanged.
    if record.get("running", {}).get("keep") and os.path.exists(out):
        at_the_end = f"{out} is not replaced; name another file to keep this cascade\n"
    else:
        if record.get("running", {}).get("keep"):
            at_the_end = f"{out} holds the best other cascade; do not publish it\n"
        _core.write_file(out, text_of(cascade))
    return record, sheets, at_the_end


def _new(given: dict[str, Any]) -> Said:
    out, features = given["out"], given["features"]
    if not given["models"] or given["price"] is None:
        missing = "models" if not given["models"] else "price"
        raise Refusal(missing, None, "is missing", f"give {option(missing)}")
    _core.claim_file(out, given["force"], [features] if features else [])
    named = ("price", "evaluator", "policy", "c", "c_theta", "refit", "forget", "explore")
    options = {name: given[name] for name in named}
    options |= {name: _whole(name, given[name]) for name in ("psi", "most_samples")}
    made = new_members(given["models"], features=read_text(features) if features else "", **options)
    cascade = RunningCascade(made)
    _core.write_file(out, text_of(cascade))
    told = f"{out}: {len(made.models)} models, evaluator {made.evaluator}, nothing learned yet\n"
    if isinstance(cascade.indices, Learning) and not 0 < options["most_samples"] <= cascade.indices.most_held:
        told += f"of a model at most {cascade.indices.most_held} samples are kept, for which the file has room\n"
    return made.to_json(), [], told


def _whole(name: str, value: float) -> int:
    if value != int(value):
        raise Refusal(name, value, "is no whole number", "give one")
    return int(value)


def _show(given: dict[str, Any]) -> Said:
    cascade = load(given["cascade"])
    return cascade.members.to_json(), _sheets(cascade, given["cascade"], given), ""


def _sheets(cascade: RunningCascade, name: str, given: dict[str, Any]) -> list[Sheet]:
    """One screen, and everything below it where details are asked for. A CSV has everything, as programs read it."""
    of = cascade.members.to_json(), cascade.counts(), name
    if given["format"] == "csv":
        return cascade_sheets(*of)
    short, details = short_sheets(*of, details=given["details"]), cascade_sheets(*of) if given["details"] else []
    if len(details) > 1:
        details[-1].notes.pop()  # the verdict, which stands above
    return [*short, *details]


def _test(given: dict[str, Any]) -> Said:
    from .judge import judge_cascade, judged_json, judged_sheet

    read_table_of, path = _table_reader(given), given["cascade"]
    cascade = load(path)
    how = [given[name] for name in ("against", "evaluator", "judge_usd", "estimator", "openings")]
    judged = judge_cascade(cascade, path, read_table_of(given["table"]), *how)
    return judged_json(judged), [judged_sheet(judged)], ""


def _check(given: dict[str, Any]) -> Said:
    from .check import check_json, check_sheets, check_table

    check = check_table(_table_reader(given, scores_alone=True)(given["table"]), given["evaluator"], given["prices"])
    return check_json(check), check_sheets(check), ""


def _frontier(given: dict[str, Any]) -> Said:
    from .frontier import frontier_json, frontier_of_tables, frontier_steps, metrics_sheet, write_frontier

    read_table_of, inputs, folder = _table_reader(given), [given["table"], given["test"]], given["folder"]
    settings = _settings(given, Aim(AimKind.PRICE, 0.0))
    if not folder:
        raise Refusal("out", None, "names no folder", "give one")
    if not given["force"] and os.path.isdir(folder) and os.listdir(folder):
        raise Refusal("out", folder, "is not empty", f"name a fresh folder, or use it with {option('force')}")
    _core.claim_folder(folder, True)
    for name in ("frontier.csv", "rows.csv", "numbers.json", "report.json", "report.html", "report.tex"):
        _core.claim_file(os.path.join(folder, name), True, inputs)
    tables = [read_table_of(path) for path in inputs]
    with _bar("fits") as bar:
        found = frontier_of_tables(tables[0], tables[1], settings, given["prices"], Progress(bar))
    problem = write_frontier(folder, found, given["rows"], given["figures"])
    if problem and given["format"] != "json":
        _say(problem)
    at_the_end = (
        f"{len(found.cascades)} cascades ({len(found.steps)} of them in the table), {len(found.singles)} models and "
        f"{len(found.mixtures)} points of mixtures in {os.path.join(folder, 'frontier.csv')}\n"
    )
    return frontier_json(found), [frontier_steps(found), metrics_sheet(found, False)], at_the_end


def _import(given: dict[str, Any]) -> Said:
    from ..imports import Settings, export, write_whole

    source, out = given["source"], given["out"]
    prices = Prices.read(given["prices_file"]) if given["prices_file"] else None
    settings = Settings(given["filter"], given["metric"], prices, given["characters_per_token"], given["quality"])
    _core.claim_file(out, given["force"], [x for x in (source, given["prices_file"], given["quality"]) if x])
    with export(given["export"], source, settings) as (rows, notes):
        for note in notes:
            _say(note)
        with write_whole(out) as file:
            rows.write(file)
        sheet = Sheet(f"{given['export']} of {source}", ["model", "answers", "quality", "$ per 1,000"])
        for model, answers, quality, usd in rows.summary():
            sheet.add(model, answers, number_text(quality, 4), number_text(1000.0 * usd, 4))
        found = {
            "table": out,
            "prompts": rows.prompts,
            "answers": len(rows),
            "models": [model for model, *_ in rows.summary()],
            "notes": notes,
        }
        return found, [sheet], f"{rows.prompts} prompts in {out}\n"


def _serve(given: dict[str, Any]) -> Said:
    from ..serving.serve import serve

    serve(given["config"], given["proxy"], given["host"], int(given["port"]), int(given["workers"]))


_COMMANDS: dict[tuple[str, ...], Callable[[dict[str, Any]], Said]] = {
    ("cascade", "fit"): _fit,
    ("cascade", "test"): _test,
    ("cascade", "frontier"): _frontier,
    ("cascade", "new"): _new,
    ("cascade", "show"): _show,
    ("trace", "check"): _check,
    ("import",): _import,
    ("serve",): _serve,
}


def run() -> int:
    """Runs as a program that ends, like others, when the reader of its output goes away."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    return main()
