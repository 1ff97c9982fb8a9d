"""A cascade's file in words, as `pandora cascade fit` and `show` print it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Callable, Optional

from .choose import SINGLE
from .kinds import Aim, AimKind
from .policies import KINDS
from .sheet import Sheet
from .text import UNKNOWN, interval_text, number_text, share_text, usd_text
from .words import calls_one_model, evaluator_text, plans_text, tail_text
from .worth import DollarTail, Worth, interval_of_json

#: Steps after which a fit of indices ends where it does not reach its tolerance.
MOST_STEPS = 200

_WORTH: dict[str, Callable[[Worth], str]] = {
    "utility": lambda worth: interval_text(worth.utility, 4),
    "gain over best single": lambda worth: interval_text(worth.gain, 4),
    "quality": lambda worth: interval_text(worth.quality, 4),
    "$ per 1,000": lambda worth: usd_text(worth.usd_per_1000),
    "calls": lambda worth: number_text(worth.calls.value, 2),
    "saving": lambda worth: share_text(worth.saving),
}


def cascade_sheets(file: Mapping[str, Any], counts: Mapping[str, float], name: str) -> list[Sheet]:
    """Models, and what a fit compared, chose and promised. `file`: a cascade's members; `counts`: how often what has
    happened; `name`: of the file. Anybody may have written its record: what is not there is unknown.
    """
    record = record_of(file)
    models = models_of_cascade(file, record, name)
    out, notes = [models], models.notes
    if counts.get("requests", 0) > 0:
        notes.append(
            f"It has had {counts['requests']:.0f} requests with {counts['calls']:.0f} calls for "
            f"${counts['dollars']:.4g}, and {counts['feedbacks']:.0f} feedbacks."
        )
    if (explore := _number(file.get("explore"))) > 0.0:
        notes.append(f"At {explore:g} of its steps it explores.")
    if "promise" not in record:
        notes.append("It was not fitted by `pandora cascade fit`: nothing is promised.")
        return out
    if never := _texts(record.get("never")):
        notes.append(f"never worth calling: {', '.join(never)}")
    out.append(fit_of_cascade(record, counts))
    return out


def models_of_cascade(file: Mapping[str, Any], record: Mapping[str, Any], name: str) -> Sheet:
    """What it calls, from which quality on it accepts, and how it was used."""
    kind, plans, features = file["kind"], file.get("plans") or [], file.get("features")
    index_features = int(file.get("index_features") or 1)
    by_prompt = kind == "indices" or bool(plans)
    if kind == "indices":
        what = "indices" if features is None and index_features == 1 else "indices that depend on the prompt"
    elif plans:
        what = "plans, one of which is chosen for each prompt"
    else:
        what = "one model" if len(file["order"]) == 1 else "models in order, with thresholds"
    evaluator = f"evaluator {file['evaluator']}"
    if "promise" in record:
        evaluator = evaluator_text(file["evaluator"], judge_usd_of(record))
    out = Sheet(
        f"{name}: {what}, price {file['price']:g}, {evaluator}",
        ["model", "accepted from", "called", "deployed", "calibration"],
    )
    thresholds, shares = file.get("thresholds") or [], record.get("shares")
    objects = map(_object, shares if isinstance(shares, list) else [])
    share_of = {str(share.get("model")): share for share in objects}
    for place, model in enumerate(file["models"] if by_prompt else file["order"]):
        accepted = "---" if by_prompt else f"{thresholds[place]:.4g}" if place < len(thresholds) else "always"
        used = (_number(share_of.get(model, {}).get(what)) for what in ("called", "deployed"))
        shown = (UNKNOWN if math.isnan(share) else f"{100.0 * share:.1f}%" for share in used)
        out.add(model, accepted, *shown, _calibration_text(file, file["models"].index(model)))
    if plans:
        out.notes.append(plans_text(file))
    if not calls_one_model(file) and not file.get("calibration") and not _learns_reward(file):
        out.notes.append("No calibration: what is seen of an answer is taken for its quality.")
    if kind == "indices":
        out.notes.append(
            "For each prompt the models get indices from its features; they are called in the order of their indices, "
            "until the best answer so far is worth as much as the next index. The best answer is deployed."
        )
        if features is None and index_features > 1:
            out.notes.append(f"Of a prompt {index_features} numbers are given.")
        if (half_life := _number(_object(file.get("estimation")).get("forget"))) > 0.0:
            out.notes.append(f"After {half_life:g} requests a sample counts half.")
    elif not plans and len(file["order"]) > 1:
        out.notes.append(
            "Models are called from the first row on. Where the estimated quality of an answer reaches the number, "
            "nothing more is called. The best answer so far is deployed, an earlier one too."
        )
    return out


def fit_of_cascade(record: Mapping[str, Any], counts: Mapping[str, float]) -> Sheet:
    """What was compared, and what is promised."""
    price, prompts, table = (_text(record.get(name)) for name in ("price", "prompts", "table"))
    single, kinds, tail = (_object(record.get(name)) for name in ("single", "kinds", "dollar_tail"))
    evaluator = evaluator_text(_text(record.get("evaluator")), judge_usd_of(record))
    out = Sheet(
        f"Fitted for {aim_of_record(record)} on {prompts} prompts with {len(_texts(record.get('models')))} models "
        f"({table}), {evaluator}: utility = quality - {price} x dollars; what to expect of other prompts, with 95% "
        "intervals",
        ["", *_WORTH],
    )
    rows = {SINGLE: single, **{kind: kinds[kind] for kind in KINDS if kind in kinds}}
    if "running" in record:
        rows["rules of the log"] = record["running"]
    for name, member in {**rows, "promise": record.get("promise")}.items():
        worth = Worth.of_json(dict(_object(member)))
        out.add(name, *(text(worth) for text in _WORTH.values()), rule=name == "promise")
    out.notes += [f"best single: {_text(single.get('model'))}", _choice_note(record)]
    if "bound" in record:
        out.notes.append(f"price found: {price}")
    if (unsolved := counts.get("unsolved_refits", 0)) > 0:
        out.notes.append(f"{unsolved:.0f} fit of the indices ended at {MOST_STEPS} steps, before its tolerance")
    out.notes.append(
        "promise: what is deployed, on other prompts; each fifth of these prompts was judged by a fit to the other "
        "four, calibrated, fitted and chosen in the same way"
        if record.get("out_of_fold") is True
        else "promise: what is deployed, on other prompts; its value on these prompts is reduced by what calibration, "
        "fit and choice gain on prompts that they saw"
    )
    if tail.get("heavy") is True:
        skewness, share = _number(tail.get("skewness")), _number(tail.get("share"))
        why = tail_text(DollarTail(skewness, _count(record.get("prompts")), _count(tail.get("dearest")), share, 0.0))
        out.notes.append(f"intervals of dollars and savings may be too narrow: {why}")
    out.notes += [*_texts(record.get("notes")), f"verdict: {_text(record.get('verdict'))}"]
    return out


def aim_of_record(record: Mapping[str, Any]) -> Aim:
    """A price where nothing else is said."""
    aim = _object(record.get("aim"))
    kinds = {kind.value: kind for kind in AimKind}
    return Aim(kinds.get(str(aim.get("kind")), AimKind.PRICE), _number(aim.get("value")))


def record_of(file: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a fit wrote beside the cascade; empty of others."""
    return _object(file.get("about"))


def judge_usd_of(record: Mapping[str, Any]) -> Optional[float]:
    """Dollars of judging an answer, as the fit counted them; None where nobody said."""
    usd = _number(record.get("judge_usd"))
    return usd if math.isfinite(usd) else None


def _choice_note(record: Mapping[str, Any]) -> str:
    """Such as "choice: thresholds; runner-up: indices; indices less thresholds is 0.0021 ..."."""
    out = f"choice: {_text(record.get('choice'))}; runner-up: {_text(record.get('runner_up'))}"
    held = _object(record.get("difference"))
    difference, error = interval_of_json(held).value, _number(held.get("error"))
    if math.isnan(difference):
        return out
    # Files of before compare these two.
    more, simpler = [*_texts(record.get("compared", ["indices", "thresholds"])), "", ""][:2]
    saves = " $ saved per 1,000 prompts" if aim_of_record(record).kind is AimKind.MIN_QUALITY else ""
    out += f"; {more} less {simpler} is {difference:.4g}{saves}, with a standard error of {error:.2g}"
    if 0.0 < difference <= error and record.get("cascade") == simpler:
        lead = "do" if more in ("indices", "thresholds") else "does"
        out += f": {more} {lead} not lead by more than that, so the simpler kind is taken"
    return out


def _calibration_text(file: Mapping[str, Any], model: int) -> str:
    """What a score is worth at the knots' ends."""
    if _learns_reward(file):
        return "learned"
    maps = file.get("calibration") or []
    if not maps or not maps[model]["scores"]:
        return "none"
    scores, qualities = maps[model]["scores"], maps[model]["qualities"]
    return f"{scores[0]:.3g} is worth {qualities[0]:.3g}, {scores[-1]:.3g} is worth {qualities[-1]:.3g}"


def _learns_reward(file: Mapping[str, Any]) -> bool:
    rules = file.get("rules") or {}
    return file["kind"] == "indices" and rules.get("reward") == 1


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:g}"
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def _count(value: Any) -> int:
    x = _number(value)
    return int(x) if 0.0 <= x < 1e15 else 0
