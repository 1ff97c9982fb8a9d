"""The renderer on a made-up document: figures, the page, and LaTeX."""

from __future__ import annotations

import csv
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from pandora.rendering import latex, render, style

pytest.importorskip("jinja2")
layout = pytest.importorskip("pandora.rendering.layout")  # it needs matplotlib

LONG = "a_policy_whose_name_never_ends_and_in_which_no_blank_stands_that_a_line_could_be_broken_at"
POLICIES = ("dow", "online_plugin", "linucb_online", "frugalgpt", "shrunk_weitzman", "somebodys", LONG)


def curve(policy: str, place: int, reward: str = "known", x: Sequence[float] = range(2, 9)) -> dict[str, Any]:
    y = [10.0 + place + 5.0 / (k + 1) for k in range(len(x))]
    return {
        "label": f"{policy}, {reward}", "policy": policy, "reward": reward, "line": False, "x": list(map(float, x)),
        "y": y, "low": [v - 1 for v in y], "high": [v + 1 for v in y], "x_low": [], "x_high": [],
    }  # fmt: skip


def figure(name: str, kind: str, series: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "name": name, "kind": kind, "title": "", "caption": f"What {name} shows, T₀ = 50. A = 3, d_x = 100.",
        "spoken": f"{name} & its curves", "x_label": "period t", "y_label": "time-averaged regret × 1000", "x_key": "",
        "log_x": False, "log_y": False, "stacked": False, "diagonal": False, "apart": kind == "line_points",
        "categories": [], "width_cm": 8.5, "references": [], "series": series, **more,
    }  # fmt: skip


def figures() -> list[dict[str, Any]]:
    known = [curve(policy, k) for k, policy in enumerate(POLICIES)]
    spread = [{**one, "x_low": [x - 0.5 for x in one["x"]], "x_high": [x + 0.5 for x in one["x"]]} for one in known]
    no_ends: dict[str, Any] = {name: [] for name in ("x", "low", "high", "x_low", "x_high")}
    bars = [
        {"label": f"part {k} of {LONG}", "policy": "", "reward": "", "line": False, **no_ends,
         "y": [0.1 * k + 0.05 * c for c in range(len(POLICIES))]}
        for k in range(3)
    ]  # fmt: skip
    zero = {**curve("linucb_online", 1, x=range(2, 12)), **{name: [0.0] * 10 for name in ("y", "low", "high")}}
    return [
        figure("few", "lines", known[:3], title=f"Cascades at $0.002 & $1 a call of {LONG}"),
        figure("many", "lines", known, log_x=True, log_y=True),
        figure("points", "line_points", [curve(p, k, "unknown", (0, 50, 1000)) for k, p in enumerate(POLICIES)],
               log_x=True, x_label=f"an axis in words ({LONG})"),
        figure("boxes", "line_points", known[:3], y_label=LONG),
        figure("scatter", "scatter", [{**one, "marks": [str(k) for k in range(7)]} for one in spread], diagonal=True),
        figure("lying", "bars", bars, categories=[f"{p}, known" for p in POLICIES], stacked=True),
        figure("standing", "bars", bars, categories=list("abcdefg"),
               references=[{"at": 0.2, "vertical": False, "label": LONG}]),
        figure("nothing-to-show", "lines", [zero], log_x=True, log_y=True),
    ]  # fmt: skip


def table() -> dict[str, Any]:
    rows: list[dict[str, Any]] = [
        {"heading": "uniform (u = 0.23): oracle utility x 1000 524.34±12.84; 1.69±0.03 boxes queried"}
    ]
    rows += [{"cells": [policy, *(f"{k}.{c}7±0.31 (9.99)*" for c in range(9))], "bold": [1], "rule_above": False}
             for k in range(12) for policy in POLICIES]  # fmt: skip
    return {
        "name": "regret", "title": "Table 1: regret x 1000 at T0=50 & more", "row_headers": 1,
        "notes": ["c_rho, `a_b`"],
        "columns": ["policy", *(f"T0={c}" for c in range(9))], "rows": rows,
    }  # fmt: skip


def overview() -> dict[str, Any]:
    """A table that is as wide as the report's overview."""
    columns = ["policy", "cells", "regret", "wrong order", "too early", "too many", "wrong deployment", "of dow",
               "of the published dow"]  # fmt: skip
    cells = ["12", "119.88 (25.88 to 283.46)", "21.97", "34.91", "74.54", "66.18", "11.62 (10.12 to 41.00)",
             "11.70 (10.33 to 26.29)"]  # fmt: skip
    rows = [{"cells": [f"{policy}, unknown"[-40:], *cells], "bold": [], "rule_above": False} for policy in POLICIES]
    return {"name": "overview", "title": "Overview", "row_headers": 1, "notes": [], "columns": columns, "rows": rows}


def section(heading: str, **parts: Any) -> dict[str, Any]:
    empty = {"paragraphs": [], "commands": [], "tables": [], "figures": [], "preformatted": "", "sections": []}
    return {"heading": heading, **empty, "folded": False, **parts}


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    drawn = json.loads(json.dumps(figures()))  # with their own numbers
    (tmp_path / "figures").mkdir()
    names = ("x", "y", "low", "high", "x_low", "x_high")
    for one in drawn:
        with (tmp_path / "figures" / f"{one['name']}.csv").open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["series", "label", *names])
            for k, series in enumerate(one["series"], 1):
                for i in range(len(series["y"])):
                    rows.writerow([k, series["label"], *(series[n][i] if series[n] else "" for n in names)])
        for series in one["series"]:
            for name in names:
                del series[name]
    document = {
        "generator": "pandora report 1", "title": "A <title> & more", "subtitle": "5 replications",
        "sections": [
            section("Tables", tables=[table()], paragraphs=["μ* and `code <b>`, α ě 10⁻³ \u202e"]),
            section("Figures", sections=[section("Uniform", figures=drawn)]),
            section("Again", commands=["pandora run study.toml"], preformatted='title = "ü ∀"\n' + "x" * 200,
                    folded=True),
        ],
    }  # fmt: skip
    (tmp_path / "report.json").write_text(json.dumps(document), encoding="utf-8")
    return tmp_path


def drawn(found: dict[str, Any]) -> Any:
    from matplotlib.figure import Figure

    from pandora.rendering import drawing

    picture = Figure(dpi=200)
    drawing.draw_alone(found, style.looks(POLICIES), picture)
    return picture


@pytest.mark.parametrize("found", figures(), ids=lambda found: str(found["name"]))
def test_every_text_is_inside_its_figure(found: dict[str, Any]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    picture = drawn(found)
    canvas = FigureCanvasAgg(picture)
    canvas.draw()
    width, height = picture.get_size_inches() * picture.dpi
    assert width == pytest.approx(8.5 / 2.54 * 200)
    texts = [text for text in picture.findobj(Text) if text.get_text() and text.get_visible()]
    # Ticks beyond the limits of an axis have texts too, but these are not drawn.
    axes = picture.axes[0]
    labels = {id(tick.label1): tick for axis in (axes.xaxis, axes.yaxis) for tick in axis.get_major_ticks()}
    shown = {id(tick.label1) for axis in (axes.xaxis, axes.yaxis) for tick in axis._update_ticks()}
    texts = [text for text in texts if id(text) not in labels or id(text) in shown]
    assert len(texts) > 5
    for text in texts:
        box = text.get_window_extent(canvas.get_renderer())
        assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1, text.get_text()
    legend = picture.legends[0].get_window_extent(canvas.get_renderer())
    assert legend.y1 <= picture.axes[0].get_window_extent(canvas.get_renderer()).y0  # below, where it covers nothing


def test_a_policy_looks_alike_in_all_figures() -> None:
    one = drawn(figure("one", "lines", [curve("somebodys", 0), curve("dow", 1)])).axes[0]
    two = drawn(
        figure("two", "lines", [curve(p, k, "unknown") for k, p in enumerate(("dow", LONG, "somebodys"))])
    ).axes[0]

    def looks(axes: Any, name: str) -> tuple[str, str]:
        (line,) = [line for line in axes.get_lines() if line.get_label().startswith(name)]
        return line.get_color(), line.get_marker()

    for name in ("somebodys", "dow"):
        assert looks(one, name) == looks(two, name)
    # Other policies in the figure do not change the style.
    assert style.looks(["x", "y"])["x"] == style.looks(["x", "dow", "zz"])["x"]
    many = style.looks([*style.KNOWN, *(f"policy {k}" for k in range(20))])
    assert len(set(many.values())) == len(many)


def test_integers_have_ticks_at_integers() -> None:
    axes = drawn(figure("boxes", "line_points", [curve("dow", 0)])).axes[0]
    assert axes.get_xscale() == "linear"
    assert axes.get_xticks().tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert [axes.xaxis.get_major_formatter()(v) for v in (2, 3)] == ["2", "3"]
    zero = drawn(figure("t0", "line_points", [curve("dow", 0, x=(0, 50, 1000))], log_x=True)).axes[0]
    assert zero.get_xticks().tolist() == [0, 50, 1000]


def test_bands_give_way_to_whiskers_where_there_are_many() -> None:
    few, many = (drawn(one).axes[0] for one in figures()[:2])
    bands = [len([c for c in axes.collections if type(c).__name__ in ("PolyCollection", "FillBetweenPolyCollection")])
             for axes in (few, many)]  # fmt: skip
    assert bands == [3, 0]
    assert len(many.containers) == len(POLICIES)


class Page(html.parser.HTMLParser):
    """Complains of elements that are not closed in their order."""

    VOID = ("meta", "link", "br", "img")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attributes if name == "id" and value]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attributes if name == "id" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_whole_and_says_every_number(folder: pathlib.Path) -> None:
    assert render.main([str(folder), "--format", "svg,png", "--processes", "2"]) == 0
    text = (folder / "report.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    assert all(f'id="{name}"' in text for name in re.findall(r'href="#([^"]+)"', text))
    for row in table()["rows"]:
        for cell in row.get("cells", [render.units(row.get("heading", ""))]):
            assert cell in page.text
    assert "regret × 1000 at T₀=50 & more" in page.text
    assert "<code>code &lt;b&gt;</code>" in text and "\u202e" not in text
    assert text.count("<svg ") == len(figures())
    assert "src=" not in text and "<script" not in text  # the page needs no other file
    assert 'aria-label="few &amp; its curves"' in text
    for one in figures():
        for ending, start in (("svg", b"<?xml"), ("png", b"\x89PNG")):
            assert (folder / "figures" / f"{one['name']}.{ending}").read_bytes().startswith(start)
    again = text
    assert render.main([str(folder)]) == 0
    assert (folder / "report.html").read_text(encoding="utf-8").count("PNG</a>") == 0
    assert re.findall(r"<svg .*?</svg>", again, re.DOTALL) == re.findall(
        r"<svg .*?</svg>", (folder / "report.html").read_text(encoding="utf-8"), re.DOTALL
    )


def test_a_table_is_not_cut_off(folder: pathlib.Path) -> None:
    """Cells take two lines before a table becomes wider than the window. A wider table is scrolled."""
    document = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    document["sections"][0]["tables"] = [overview()]
    document["sections"][1]["sections"] = []
    (folder / "report.json").write_text(json.dumps(document), encoding="utf-8")
    assert render.main([str(folder)]) == 0
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert re.findall(r'<div class="scroll"[^>]*>\s*<table', text) and text.count("<table") == 1
    assert "<td>119.88 (25.88\u00a0to\u00a0283.46)</td>" in text
    css = (pathlib.Path(render.__file__).parent / "page.css").read_text(encoding="utf-8")
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", css.split("@media")[0])
    assert any(".scroll" in names and "overflow-x: auto" in rule for names, rule in rules)
    for names, rule in rules:
        if re.search(r"\b(table|td)\b", names):
            assert not re.search(r"nowrap|(?<![-\w])width: *\d", rule), (names, rule)
    browser = shutil.which("chromium")
    if browser is None:
        return
    widths = "[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth)"
    (folder / "measured.html").write_text(text.replace("</body>", f"<script>document.title={widths}</script></body>"))
    for window in (1280, 1920):
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={window},900", "--dump-dom"]
        page = subprocess.run([*command, f"file://{folder}/measured.html"], capture_output=True, check=True).stdout
        assert "<title>0</title>" in page.decode(), window


def test_latex_has_no_table_wider_or_longer_than_its_page(folder: pathlib.Path) -> None:
    pieces = latex.pieces(table())
    assert len(pieces) > 2
    columns = [column for piece in pieces for column in piece["columns"][1:]]
    assert set(columns) == set(table()["columns"][1:])
    for piece in pieces:
        places = [table()["columns"].index(column) for column in piece["columns"]]
        assert latex.width(table(), places) <= latex.TEXT_WIDTH
        assert len(piece["rows"]) <= latex.MOST_LINES
    assert [piece["title"] for piece in pieces[:2]] == [
        "Regret x 1000 at T0=50 & more",
        "Regret x 1000 at T0=50 & more (continued)",
    ]
    assert render.main([str(folder), "--format", "pdf"]) == 0
    text = (folder / "report.tex").read_text(encoding="utf-8")
    assert r"\caption{Regret $\times$ 1000 at $T_0$=50 \& more}" in text
    for begin in re.finditer(r"\\begin\{table\}", text):  # a copied table says which packages it needs
        assert text[: begin.start()].endswith("% needs \\usepackage{array,booktabs,adjustbox}\n")
    assert r"0.07$\pm$0.31 (9.99)*" in text  # the published value, and a star
    assert r"$c_{\rho}$" in text and r"$\mu^*$" in text and r"$d_x$ = 100" in text
    if shutil.which("pdflatex"):
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex"]
        said = subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout.decode(errors="replace")
        assert "Overfull" not in said


def test_texts_compile() -> None:
    assert latex.text("50 % of a_b & {x} $5 ± 2 T₀ c_shrunk_theta") == (
        r"50 \% of a\_\allowbreak{}b \& \{x\} \$5 $\pm$ 2 $T_0$ $c_{\mathrm{shrunk},\theta}$"
    )
    assert latex.text("λ Λ é ą 漢 x̂") == r"$\lambda$ $\Lambda$ é a ? x"
    assert latex.lines("a\\end{verbatim}\tb") == r"a\end {verbatim}  b"


def test_numbers_are_short() -> None:
    assert [layout.number_text(v) for v in (1234567, 0.0001, 999.25)] == ["1.23457×10⁶", "10⁻⁴", "999.25"]


def script(folder: pathlib.Path, *python: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *python, str(render.__file__), str(folder)]
    return subprocess.run(command, capture_output=True, text=True)


def test_missing_modules_are_named_with_what_to_install(folder: pathlib.Path) -> None:
    done = script(folder, "-I", "-S")
    assert done.returncode == 3
    assert "matplotlib and jinja2 are not there for " in done.stderr
    assert "Debian: python3-matplotlib python3-jinja2" in done.stderr
    assert not (folder / "report.html").exists()


def test_a_folder_without_a_sound_report_is_refused(folder: pathlib.Path) -> None:
    done = script(folder)
    assert (done.returncode, done.stderr) == (0, "")
    (folder / "figures" / "few.csv").unlink()
    done = script(folder)
    assert done.returncode == 2
    assert "few.csv" in done.stderr and "make the report again" in done.stderr and done.stderr.count("\n") == 1
    (folder / "report.json").write_text('{"generator": "another 2"}')
    assert "generator is 'another 2'" in script(folder).stderr


def test_a_figure_that_fails_keeps_no_other_from_being_drawn(folder: pathlib.Path) -> None:
    text = (folder / "report.json").read_text(encoding="utf-8")
    (folder / "report.json").write_text(text.replace('"name": "few", "kind": "lines"', '"name": "few", "kind": "pie"'))
    done = script(folder)
    assert done.returncode == 1
    assert done.stderr.startswith("figure few was not drawn (")
    assert (folder / "figures" / "many.svg").exists() and not (folder / "figures" / "few.svg").exists()
    assert "figures/few.csv" in (folder / "report.html").read_text(encoding="utf-8")
