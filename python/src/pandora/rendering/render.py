"""Makes a report of the numbers that the program writes: python3 render.py FOLDER [--format svg,pdf,png] [--t0 N].

FOLDER holds numbers.json, as `pandora report` writes it, or is the folder of results around it. What comes of it is
report.json with tables/*.csv and figures/*.csv, report.html, which needs nothing beside itself, report.tex, and
figures/NAME in the formats that are asked for. With --latex alone, tables of the standard input as LaTeX. Ends with 0;
1 where a figure could not be drawn, and the others were; 2 where the folder holds no numbers; 3 without matplotlib or
jinja2; 6 where a file could not be written.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import csv
import functools
import html
import importlib.util
import io
import json
import multiprocessing
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # run as a script: the folder is a package all the same
    _folder = Path(__file__).resolve().parent
    sys.path = [place for place in sys.path if Path(place or ".").resolve() != _folder]
    __package__ = "pandora_rendering"
    _found = importlib.util.spec_from_file_location(
        __package__, _folder / "__init__.py", submodule_search_locations=[str(_folder)]
    )
    assert _found is not None and _found.loader is not None
    sys.modules[__package__] = importlib.util.module_from_spec(_found)

from . import document, latex, style, tables
from .document import figures_of
from .figures import COLUMNS

FORMATS = ("svg", "pdf", "png")
_NO_DATE: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}


class Unreadable(Exception):
    """A folder without a report; the text says what to do."""


def _unreadable(file: Path, is_not: str, problem: Exception) -> Unreadable:
    return Unreadable(f"{file}: cannot be {is_not} ({type(problem).__name__}: {problem}); make the report again")


# ---- reading ---------------------------------------------------------------------------------------------------------


def load(folder: Path) -> dict[str, Any]:
    """report.json, with the numbers of its figures."""
    file = folder / "report.json"
    try:
        found: dict[str, Any] = _printable(json.loads(file.read_text(encoding="utf-8")))
        if found["generator"] != document.GENERATOR:
            wanted = document.GENERATOR
            raise Unreadable(f"{file}: generator is {found['generator']!r}, not {wanted!r}; make the report again")
        for figure in figures_of(found):
            _read_numbers(folder / "figures" / f"{figure['name']}.csv", figure)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as problem:
        raise _unreadable(file, "read", problem) from None
    return found


def _printable(value: Any) -> Any:
    """The data without control characters and characters that change the writing direction; lines stay."""
    if isinstance(value, str):
        return re.sub("[\u202a-\u202e\u2066-\u2069]", "", re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", " ", value))
    if isinstance(value, dict):
        return {key: _printable(one) for key, one in value.items()}
    return [_printable(one) for one in value] if isinstance(value, list) else value


def _read_numbers(file: Path, figure: dict[str, Any]) -> None:
    for series in figure["series"]:
        series.update({name: [] for name in COLUMNS})
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            series = figure["series"][int(row["series"]) - 1]
            for name in row.keys() & set(COLUMNS):
                series[name].append(float(row[name]) if row[name] else None)
    for series in figure["series"]:  # a column that others have, and this one not
        series.update({name: [] for name in COLUMNS[2:] if all(value is None for value in series[name])})


# ---- figures ---------------------------------------------------------------------------------------------------------


def pictures(figure: Mapping[str, Any], looks: Mapping[str, style.Look], formats: Sequence[str]) -> dict[str, bytes]:
    """A figure in the formats that are named."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from . import drawing

    picture = Figure(dpi=200)
    FigureCanvasAgg(picture)
    drawing.draw_alone(figure, looks, picture)
    out = {}
    for name in formats:
        file = io.BytesIO()
        with drawing.own_settings():
            picture.savefig(file, format=name, dpi=300, metadata=_NO_DATE[name])
        out[name] = file.getvalue()
    return out


def _drawn(
    figure: Mapping[str, Any], looks: Mapping[str, style.Look], formats: Sequence[str], folder: Path
) -> tuple[str, str]:
    """The SVG as text, and errors: a figure that cannot be drawn does not prevent the others."""
    try:
        made = pictures(figure, looks, list(dict.fromkeys(("svg", *formats))))
        for name in formats:
            _write(folder / "figures" / f"{figure['name']}.{name}", made[name])
    except Exception as problem:
        return "", f"{type(problem).__name__}: {problem}"
    return made["svg"].decode(), ""


def _draw_all(
    figures: Sequence[Mapping[str, Any]], formats: Sequence[str], folder: Path, processes: int
) -> list[tuple[str, str]]:
    from . import drawing  # noqa: F401  # before there are processes, which then have it too

    looks = style.looks(series["policy"] for figure in figures for series in figure["series"])
    draw = functools.partial(_drawn, looks=looks, formats=formats, folder=folder)
    processes = min(processes, len(figures) // 2)
    if processes < 2:
        return list(map(draw, figures))
    with concurrent.futures.ProcessPoolExecutor(processes, multiprocessing.get_context("fork")) as pool:
        return list(pool.map(draw, figures))


def inline_svg(svg: str, name: str, spoken: str) -> str:
    """A picture as an element of a page: as wide as its box, and with unique names for its parts."""
    start = svg.find("<svg")
    if start < 0:
        return ""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[start:], flags=re.DOTALL)
    svg = re.sub(r'\b(id="|href="#|url\(#)', lambda match: f"{match[1]}{name}-", svg)
    head, rest = svg.split(">", 1)
    width = re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+)', head)
    head = re.sub(r'\s(width|height|version|xmlns(:\w+)?)="[^"]*"', "", head)
    points = float(width[1]) if width else 240.0
    label = html.escape(spoken)
    return f'{head} role="img" aria-label="{label}" style="max-width:{points * 2.2:.0f}px">{rest.strip()}'


# ---- documents -------------------------------------------------------------------------------------------------------


def _write(file: Path, contents: bytes) -> None:
    """Writes all or nothing, under temporary names that the program recognises as its own."""
    unfinished = file.with_name(f"{file.name}.tmp.{os.getpid()}.{os.urandom(8).hex()}")
    try:
        unfinished.write_bytes(contents)
        unfinished.replace(file)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def units(text: str) -> str:
    """Quantities and units as people write them.

    >>> units("regret x 1000 at T0=50")
    'regret × 1000 at T₀=50'
    """
    return re.sub(r"\bT0\b", "T₀", re.sub(r"(?<= )x (?=1000\b)", "× ", text))


def together(text: str) -> str:
    r"""The text of a cell, which may take a second line before what stands in brackets, and nowhere in them.

    >>> together("9.5 (1.2 to 3.4)").split(" ")
    ['9.5', '(1.2\xa0to\xa03.4)']
    """
    return re.sub(r"[(\[][^()\[\]]*[)\]]", lambda match: match[0].replace(" ", "\u00a0"), text)


def _filled(template: str, values: Mapping[str, Any], filters: Mapping[str, Any], **syntax: Any) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).resolve().parent), trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined, **syntax,
    )  # fmt: skip
    environment.filters.update(filters)
    return environment.get_template(template).render(values)


def _page(document: Mapping[str, Any], svg_of: Mapping[str, str], formats: Sequence[str]) -> str:
    from markupsafe import Markup

    def text(value: str) -> Markup:
        parts = enumerate(re.split(r"`([^`]+)`", value))  # every other one is code
        return Markup("").join(Markup("<code>{}</code>").format(part) if k % 2 else units(part) for k, part in parts)

    def picture(figure: Mapping[str, Any]) -> Markup:
        return Markup(inline_svg(svg_of[figure["name"]], figure["name"], figure["spoken"]))

    def names_width(table: Mapping[str, Any]) -> int:  # in signs; the page bounds it
        return max((len(row["cells"][0]) for row in table["rows"] if row.get("cells")), default=1) + 1

    css = Markup(Path(__file__).with_name("page.css").read_text(encoding="utf-8"))
    values = {"document": document, "names_width": names_width, "picture": picture, "formats": formats, "css": css}
    return _filled("page.html", values, {"text": text, "units": units, "together": together}, autoescape=True)


def _tex(document: Mapping[str, Any]) -> str:
    return _filled(
        "report.tex", {"document": document, "pieces": latex.pieces},
        {"text": lambda value: latex.text(units(value)), "lines": latex.lines},
        block_start_string="<%", block_end_string="%>", variable_start_string="<<", variable_end_string=">>",
        comment_start_string="<#", comment_end_string="#>",
    )  # fmt: skip


def render(folder: Path, formats: Sequence[str] = ("svg",), processes: int = 1) -> list[str]:
    """Renders the report of a folder; returns errors, a line for each figure."""
    report = load(folder)
    figures = list(figures_of(report))
    drawn = dict(zip([figure["name"] for figure in figures], _draw_all(figures, formats, folder, processes)))
    svg_of = {name: svg for name, (svg, _) in drawn.items()}
    _write(folder / "report.tex", _tex(report).encode())
    _write(folder / "report.html", _page(report, svg_of, formats).encode())
    print(f"{len(drawn)} figures, report in {folder / 'report.html'}")
    return [f"figure {name} was not drawn ({problem})" for name, (_, problem) in drawn.items() if problem]


def _make(folder: Path, formats: Sequence[str], processes: int, T0: int | None) -> tuple[int, str]:
    """The whole report: returns the exit code and the errors."""
    numbers = folder / "numbers.json"
    if not numbers.exists() and not (folder / "report.json").exists():
        return 2, f"{numbers}: is not there; run `pandora report` on the results\n"
    try:
        if numbers.exists():
            try:
                document.make(folder, T0, formats, _write)
            except (ValueError, KeyError, TypeError, IndexError) as problem:
                raise _unreadable(numbers, "used", problem) from None
        missing = [name for name in ("matplotlib", "jinja2") if importlib.util.find_spec(name) is None]
        if missing:
            are, packages = "is" if len(missing) == 1 else "are", " ".join(f"python3-{name}" for name in missing)
            where = f"{sys.executable} (Debian: {packages}; else pip install {' '.join(missing)})"
            return 3, f"{' and '.join(missing)} {are} not there for {where}\n"
        problems = render(folder, formats, processes)
    except Unreadable as problem:
        return 2, f"{problem}\n"
    except OSError as problem:
        return 6, f"{problem}\n"
    return 1 if problems else 0, "; ".join(problems)


def main(arguments: Sequence[str] | None = None) -> int:
    """The script."""
    parser = argparse.ArgumentParser(description="Makes a report: report.html, report.tex, figures.")
    parser.add_argument("folder", type=Path, nargs="?", help="with numbers.json, or that of the results around it")
    parser.add_argument("--format", default="svg", help="of figure files: svg, pdf, png, or several as svg,pdf")
    parser.add_argument("--t0", type=int, help="T0 of figures that show one")
    parser.add_argument("--processes", type=int, default=1, help="that draw at once")
    parser.add_argument("--latex", action="store_true", help="tables of the standard input as LaTeX")
    asked = parser.parse_args(arguments)
    if asked.latex:
        print("".join(f"\n{tables.as_latex(table)}" for table in json.load(sys.stdin)), end="")
        return 0
    if asked.folder is None:
        parser.error("name a folder")
    formats = [name for name in asked.format.split(",") if name]
    if unknown := [name for name in formats if name not in FORMATS]:
        parser.error(f"--format {unknown[0]}: unknown; use svg, pdf or png")
    inside = asked.folder / "report"
    folder = inside if (inside / "numbers.json").exists() else asked.folder
    code, problem = _make(folder, formats, asked.processes, asked.t0)
    print(problem, end="", file=sys.stderr)
    return code


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # nothing here multiplies
    sys.exit(main())
