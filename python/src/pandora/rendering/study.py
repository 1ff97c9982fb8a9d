"""The figures of a study, and of a frontier of cascades: which there are, of what, and what their captions say."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional

from .figures import MOST, add_if_any, add_point, choose_axes, figure, finished, rows, series

_KINDS = {False: "unknown", True: "known"}  # policies that see mu* and that do not have figures of their own
_SEEN = {False: "policies that do not see μ*", True: "policies that see μ*"}
_REGRET = "time-averaged regret × 1000"
_NARROWER = (
    "Each interval is of one policy alone; differences on the same draws are known better (section Comparisons)."
)
_NAMES = {
    "periods": "horizon T", "dimensions.boxes": "number of boxes A", "dimensions.context": "length of the context d_x",
    "dimensions.output": "length of an output d_w", "dimensions.reward_features": "reward features d",
}  # fmt: skip


def usual_T0(numbers: Mapping[str, Any]) -> int:
    """Of those at which all policies run, if any: the largest up to a hundredth of the horizon, else the smallest."""
    runs: dict[int, set[str]] = {T0: set() for T0 in sorted(numbers["T0"])}
    for group in numbers["groups"]:
        if group["setting"] == 0:
            for row in rows(group["summary"]):
                runs[row["T0"]].add(row["policy"])
    every = set().union(*runs.values())
    values = [T0 for T0, there in runs.items() if there == every] or list(runs)
    most = numbers["settings"][0]["periods"] // 100
    return max(filter(most.__ge__, values), default=values[0])


def _titles(numbers: Mapping[str, Any], summary: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of the policies that have rows, of those that are named, in the order of the tables."""
    there = {(row["policy"], row["reward"]) for row in summary}
    named = set(numbers["shown"])
    return [
        title
        for title in numbers["titles"]
        if (title["policy"], title["reward"]) in there
        and (not named or named & {title["policy"], f"{title['policy']}/{title['reward']}"})
    ]


def _series(title: Mapping[str, Any]) -> dict[str, Any]:
    return series(title["brief"], title["policy"], title["reward"])


def _sizes(setting: Mapping[str, Any], varied: Sequence[str] = ()) -> str:
    """What a caption ends with; without the keys that vary."""
    texts = {"boxes": "A = {}", "context": "d_x = {}", "periods": "T = {}", "replications": "{} replications"}
    if setting["replications"] == 1:
        texts["replications"] = "{} replication"
    told = [text.format(setting[key]) for key, text in texts.items() if key not in varied and setting[key] is not None]
    return f" {', '.join(told)}." if told else ""


class _Cell:
    """One environment and regime of one setting."""

    def __init__(self, numbers: Mapping[str, Any], group: Mapping[str, Any], T0: int) -> None:
        self.numbers, self.group, self.T0 = numbers, group, T0
        self.setting = numbers["settings"][group["setting"]]
        self.heading = f"{group['title']}, regime {group['regime']}"
        self.rows = rows(group["summary"])
        self.titles = _titles(numbers, self.rows)
        self.oracle = next((row for row in self.rows if row["policy"] == "oracle"), None)

    def best(self, title: Mapping[str, Any], T0: int) -> Optional[dict[str, Any]]:
        of = (title["policy"], title["reward"], T0)
        return next((row for row in self.rows if row["best"] and _key(row) == of), None)

    def shown(self, knows: Optional[bool] = None) -> list[tuple[Mapping[str, Any], Any]]:
        """Titles with their best rows at its T_0, None where there is none."""
        titles = [title for title in self.titles if knows in (None, title["knows_reward"])]
        return [(title, self.best(title, self.T0)) for title in titles]

    def name(self, what: str) -> str:
        return f"{what}-{self.group['environment']}-{self.group['regime']}"

    def by_lane(self, file: str) -> dict[tuple[str, str, int], list[dict[str, Any]]]:
        out: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
        for row in rows(self.group[file]):
            out.setdefault(_key(row), []).append(row)
        return out

    def left_out(self, knows: Optional[bool] = None) -> str:
        """What a caption says of those that have no row at its T_0."""
        names = "; ".join(title["brief"] for title, row in self.shown(knows) if row is None)
        return f" Without those that do not run at this T₀: {names}." if names else ""

    def figures(self) -> list[dict[str, Any]]:
        kinds = (self.curves, self.against_T0, self.hyperparameters, self.quality_and_cost, self.statistics, self.bars)
        out: list[dict[str, Any]] = []
        for one in (one for kind in kinds for one in kind()):
            add_if_any(out, one)
        for one in out:
            one["caption"] += _sizes(self.setting)
        return out

    def curves(self) -> Iterator[dict[str, Any]]:
        start = math.ceil(self.setting["periods"] / 30.0)
        curves = self.by_lane("curves")
        slopes = {_key(slope): slope for slope in self.group["slopes"]}
        for knows in (True, False):
            for log in (False, True):
                of = f"; slopes are fitted from period {start} on, ± 95% by the jackknife over replications"
                one = figure(
                    "lines", self.name(f"{'curves-loglog' if log else 'curves'}-{_KINDS[knows]}"), "period t",
                    "cumulative regret",
                    f"Cumulative regret against the oracle of {_SEEN[knows]}, T₀ = {self.T0}, with 95% intervals over "
                    f"replications{of if log else ''}. {_NARROWER}{self.left_out(knows)}",
                    log_x=log, log_y=log,
                )  # fmt: skip
                for title, row in self.shown(knows):
                    own = _series(title)
                    for point in curves[_key(row)] if row else ():
                        add_point(own, point["period"], point["cumulative_regret"], point["half_width_95"])
                    if row and log:
                        own["label"] += _slope_text(slopes[_key(row)])
                    one["series"].append(own)
                yield one

    def against_T0(self) -> Iterator[dict[str, Any]]:
        values = sorted(self.numbers["T0"])
        for knows in (True, False) if len(values) > 1 else ():
            one = figure(
                "line_points", self.name(f"t0-{_KINDS[knows]}"), "calibration periods T₀", _REGRET,
                f"Time-averaged regret against T₀ of {_SEEN[knows]}, with 95% intervals. {_NARROWER}",
            )  # fmt: skip
            for title, _ in self.shown(knows):
                one["series"].append(_series(title))
                for T0 in values:
                    if row := self.best(title, T0):
                        add_point(one["series"][-1], T0, row["regret_x1000"], row["half_width_95_x1000"])
            choose_axes(one)
            yield one

    def hyperparameters(self) -> Iterator[dict[str, Any]]:
        one = figure(
            "line_points", self.name("hyperparameters"), "hyperparameter c", _REGRET,
            f"Time-averaged regret against the width of the bonus at T₀ = {self.T0}, with 95% intervals; where a "
            "policy has two, the other is the best one.",
        )  # fmt: skip
        for title in self.titles:
            own = _series(title)
            least: dict[float, dict[str, Any]] = {}  # by the first hyperparameter
            for row in self.rows:
                key, _, value = row["hyperparameter"].partition(";")[0].partition("=")
                x = _number(value)
                if _key(row) == (title["policy"], title["reward"], self.T0) and row["replications"] and x is not None:
                    own["label"] = f"{title['brief']} ({key})"
                    least[x] = min(least.get(x, row), row, key=lambda one: one["regret_x1000"])
            for x, row in sorted(least.items()) if len(least) > 1 else ():
                add_point(own, x, row["regret_x1000"], row["half_width_95_x1000"])
            one["series"].append(own)
        choose_axes(one)
        yield one

    def quality_and_cost(self) -> Iterator[dict[str, Any]]:
        one = figure(
            "scatter", self.name("quality-cost"), "cost × 1000, per period", "quality × 1000, per period",
            f"Quality, the mean μ* of the deployed outputs, against cost at T₀ = {self.T0}, with 95% intervals; "
            f"utility is quality minus cost.{self.left_out()}",
        )  # fmt: skip
        shown = [(_series(title), row) for title, row in self.shown()]
        for own, row in [*shown, (series("Oracle", "oracle", "known"), self.oracle)]:
            if row is not None and len(one["series"]) < MOST["scatter"]:
                half = row["cost_half_width_95_x1000"]
                add_point(
                    own, row["cost_x1000"], row["quality_x1000"], row["quality_half_width_95_x1000"],
                    0.0 if math.isnan(half) else half,
                )  # fmt: skip
                one["series"].append(own)
        yield one

    def statistics(self) -> Iterator[dict[str, Any]]:
        """What the regret is made of: a group of bars per policy."""
        shown = [(title["brief"], row) for title, row in self.shown() if row]
        yield figure(
            "bars", self.name("regret-parts"), "policy", "part of the regret × 1000",
            f"What the regret is made of, T₀ = {self.T0}: a wrong order of boxes, querying stopped too early, too many "
            f"boxes opened, a wrong output deployed.{self.left_out()}",
            categories=[brief for brief, row in shown],
            series=[series(part, y=[row[column] for brief, row in shown]) for part, column in self.numbers["parts"]],
        )  # fmt: skip

    def bars(self) -> Iterator[dict[str, Any]]:
        """A bar per policy, with parts per box or per number of boxes."""
        shown = [("Oracle", self.oracle), *((title["brief"], row) for title, row in self.shown())]
        keys = [(label, _key(row)) for label, row in shown if row is not None]
        boxes, share = self.setting["boxes"], "share of periods"
        for file, name, column, y_label, caption, part in (
            ("boxes", "queries", "queries_per_period", "queries per period",
             "Queries of each box per period", "box {}"),
            ("boxes", "deployments", "deployments_per_period", share,
             "Deployments of each box, as a share of the periods", "box {}"),
            ("depth", "depth", "share_of_periods", share, "Share of periods in which so many boxes were opened",
             "{} opened"),
        ) if boxes <= MOST["bars"] else ():  # fmt: skip
            lanes = self.by_lane(file)
            parts = [series(part.format(k + 1), y=[lanes[key][k][column] for _, key in keys]) for k in range(boxes)]
            yield figure(
                "bars", self.name(name), "policy", y_label, f"{caption}, T₀ = {self.T0}.{self.left_out()}",
                stacked=name != "queries", categories=[label for label, key in keys], series=parts,
            )  # fmt: skip


def _key(row: Mapping[str, Any]) -> tuple[str, str, int]:
    return row["policy"], row["reward"], row["T0"]


def _number(text: str) -> Optional[float]:
    try:
        return float(text)
    except ValueError:
        return None


def _slope_text(slope: Mapping[str, Any]) -> str:
    if slope["slope"] is None:
        return ""
    half = slope["half_width_95"]
    return f", slope\u00a0{slope['slope']:.2f}" + ("" if half is None else f"\u00a0±\u00a0{half:.2f}")


def _published(numbers: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The paper's values against ours, and their differences in joint standard errors."""
    summary = [row for group in numbers["groups"] for row in rows(group["summary"])]
    figures: list[dict[str, Any]] = []
    for regime in ("A", "B"):
        values = figure(
            "scatter", f"published-{regime}", "published regret × 1000", "reproduced regret × 1000",
            f"Regime {regime}: all cells of the paper's table, with 95% intervals of ours and ± 1.96 standard errors "
            "of the paper's.", log_x=True, log_y=True, diagonal=True,
        )  # fmt: skip
        scores = figure(
            "scatter", f"z-scores-{regime}", values["x_label"], "z (standard errors)",
            f"Regime {regime}: difference of reproduced and published regret in joint standard errors.", log_x=True,
            references=[{"at": at, "vertical": False, "label": label} for at, label in ((1.96, "±1.96"), (-1.96, ""))],
        )  # fmt: skip
        for title in _titles(numbers, summary):
            value, score = _series(title), _series(title)
            for row in summary:
                x = row["published_x1000"]
                if not math.isnan(x) and (regime, *_key(row)[:2]) == (row["regime"], title["policy"], title["reward"]):
                    half = row["published_half_width_95_x1000"]
                    add_point(value, x, row["regret_x1000"], row["half_width_95_x1000"], half)
                    score["x"].append(x)
                    error = math.hypot(row["standard_error_x1000"], half / 1.96)
                    score["y"].append((row["regret_x1000"] - x) / error)
            values["series"].append(value)
            scores["series"].append(score)
        add_if_any(figures, values)
        add_if_any(figures, scores)
    return figures


def _differences(numbers: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Regret of each policy less that of the base, against T_0, where nothing varies."""
    titles = {f"{title['policy']}/{title['reward']}": title for title in numbers["titles"]}
    places = {group["environment"]: group["title"] for group in numbers["groups"]}
    found: dict[str, dict[str, Any]] = {}  # by name; policies in the order of the pairs

    def title_of(name: str) -> Any:  # of another program's, the name itself
        policy, _, reward = name.partition("/")
        return titles.get(name, {"policy": policy, "reward": reward, "brief": name})

    for row in rows(numbers["pairs"]):
        if math.isnan(row["T0"]) or row["setting"] or row["replications"] == 0:
            continue
        name = f"difference-{row['a'].replace('/', '-')}-{row['environment']}-{row['regime']}"
        if name not in found:
            base = title_of(row["a"])["brief"]
            found[name] = figure(
                "line_points", name, "calibration periods T₀", f"regret less that of {base}, × 1000",
                f"{places[row['environment']]}, regime {row['regime']}: time-averaged regret less that of {base} on "
                "the same draws, with 95% intervals of the paired difference; below 0 is better.",
                references=[{"at": 0.0, "vertical": False, "label": ""}],
            )  # fmt: skip
        drawn, own = found[name]["series"], _series(title_of(row["b"]))
        if not drawn or drawn[-1]["label"] != own["label"]:
            drawn.append(own)
        add_point(drawn[-1], row["T0"], -row["difference_x1000"], row["half_width_95_x1000"])
    figures: list[dict[str, Any]] = []
    for one in found.values():
        choose_axes(one)
        one["log_y"] = False
        add_if_any(figures, one)
    return figures


def _in_words(key: str, meaning: str) -> str:
    """The quantity, and its key in brackets: by the first sentence of what the study's documentation says of it."""
    words = _NAMES.get(key) or re.split(r"[.(;:]", meaning)[0].rstrip(" ")
    return f"{words} ({key})" if words else key


def _varied(numbers: Mapping[str, Any], T0: int) -> list[dict[str, Any]]:
    """Regret against each key that varies, the others at their first values."""
    # By the values of the keys: environments of several sizes stand in settings of their own, and together again here.
    values_of = [tuple(map(tuple, setting["varied"])) for setting in numbers["settings"]]
    settings = dict(zip(reversed(values_of), reversed(numbers["settings"])))
    every = list(dict.fromkeys(values_of))
    cells: dict[Any, dict[tuple[str, str], _Cell]] = {values: {} for values in every}
    for group in numbers["groups"]:
        cells[values_of[group["setting"]]][group["environment"], group["regime"]] = _Cell(numbers, group, T0)
    first = every[0]
    sizes = ("boxes", "context", "periods", "replications")
    differ = [size for size in sizes if any(one[size] != settings[first][size] for one in settings.values())]
    titles = _titles(numbers, [row for cell in cells[first].values() for row in cell.rows])
    others = "; other keys at their first values" if len(first) > 1 else ""
    out: list[dict[str, Any]] = []
    for place, cell in cells[first].items():
        out.append({"heading": cell.heading, "figures": []})
        for at, (key, *_) in enumerate(first):
            numeric = key != "scenario" and all(values[at][2] is not None for values in every)
            line = [values for values in every if values[:at] + values[at + 1 :] == first[:at] + first[at + 1 :]]
            for knows in (True, False):
                one = figure(
                    "line_points" if numeric else "bars", f"vary-{at + 1}-{_KINDS[knows]}-{'-'.join(place)}",
                    _in_words(key, numbers["meanings"].get(key, "")), _REGRET,
                    f"Time-averaged regret against {key} of {_SEEN[knows]}, T₀ = {T0}, with 95% intervals{others}."
                    + _sizes(settings[first], differ), x_key=key,
                    categories=[] if numeric else [values[at][1] for values in line],
                )  # fmt: skip
                for title in titles:
                    own = _series(title)
                    for values in line if title["knows_reward"] == knows else ():
                        if place in cells[values] and (row := cells[values][place].best(title, T0)):
                            x = values[at][2] if numeric else math.nan
                            add_point(own, x, row["regret_x1000"], row["half_width_95_x1000"])
                    if numeric or len(own["y"]) == len(one["categories"]):
                        one["series"].append(own if numeric else {**own, "x": []})
                if numeric:
                    choose_axes(one)
                add_if_any(out[-1]["figures"], one)
    return out


def study_figures(numbers: Mapping[str, Any], T0: Optional[int] = None) -> list[dict[str, Any]]:
    """Groups of figures under their headings, of what numbers.json says; T0 of those that show one."""
    shown = usual_T0(numbers) if T0 is None else T0
    if not numbers["regret"]:
        groups: list[dict[str, Any]] = []
    elif numbers["settings"][0]["varied"]:
        groups = _varied(numbers, shown)
    else:
        groups = []
        for group in numbers["groups"]:
            cell = _Cell(numbers, group, shown)
            groups.append({"heading": cell.heading, "figures": cell.figures()})
        if published := _published(numbers):
            for one in published:
                one["caption"] += _sizes(numbers["settings"][0])
            groups.insert(0, {"heading": "Published against reproduced", "figures": published})
    if differences := _differences(numbers):
        groups.append({"heading": "Differences, paired over replications", "figures": differences})
    return [{**group, "figures": [finished(one) for one in group["figures"]]} for group in groups]


def frontier_figure(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Quality against dollars. Its title names kind, evaluator and prices; steps have their numbers."""
    cascades, singles = ([p for p in numbers["points"] if p["kind"] == kind] for kind in ("cascade", "single"))
    title = f"Cascades ({numbers['kind']}) with {numbers['evaluator']}"
    if cascades:
        most, least = cascades[0]["price"], cascades[-1]["price"]
        told = f", price {most:.4g}" if least == most else f", prices {least:.4g} to {most:.4g}"
        title += f"{told} of utility per dollar"
    one = figure(
        "scatter", "frontier", "dollars per 1,000 prompts", "quality",
        f"Quality against dollars on {numbers['prompts']} prompts of {numbers['tested_on']}, fitted on "
        f"{numbers['fitted_on']}; 95% intervals over prompts; a number is that of the table of steps.",
        title=title, log_x=True, width_cm=12.0,
    )  # fmt: skip

    def drawn(label: str, points: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
        ends = {"x": ("usd_per_1000", "value"), "x_low": ("usd_per_1000", "low"), "x_high": ("usd_per_1000", "high"),
                "y": ("quality", "value"), "low": ("quality", "low"), "high": ("quality", "high")}  # fmt: skip
        values: dict[str, Any] = {
            name: [math.nan if (v := p[of][end]) is None else v for p in points] for name, (of, end) in ends.items()
        }
        return series(label, **values, **more)

    marks = ["" for _ in cascades]
    for k, step in enumerate(numbers["steps"], 1):
        marks[step] = str(k)
    one["series"].append(drawn(f"cascades ({numbers['kind']})", cascades, **({"marks": marks} if marks else {})))
    if len(numbers["mixtures"]) > 1:  # one is a model alone
        x, y = ([point[k] for point in numbers["mixtures"]] for k in range(2))
        one["series"].append(series("mixtures of two models", line=True, x=x, y=y))
    if len(singles) + 2 > MOST["scatter"]:
        one["series"].append(drawn("models alone", singles))
    else:
        one["series"] += [drawn(point["name"], [point]) for point in singles]
    return finished(one)
