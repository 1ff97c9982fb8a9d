"""A cascade's file in words and in full, as `--details` and Python show it; plain.py has what fits on one screen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Callable

from .choose import SINGLE
from .kinds import AimKind
from .members import (
    aim_of_record,
    judge_usd_of,
    number_of,
    object_of,
    record_of,
    share_of,
    shares_of,
    text_of,
    texts_of,
)
from .plain import percent_text, tail_of, verdict_text
from .policies import KINDS
from .sheet import Sheet
from .text import interval_text, number_text, share_text, usd_text
from .words import calls_one_model, evaluator_text, plans_text, tail_text
from .worth import Worth, interval_of_json

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
    """The models, and what a fit compared, chose and promised.

    `file`: a cascade's members; `counts`: how often which thing has happened; `name`: of the file. Anybody may have
    written its record: a member that is not there is unknown.
    """
    record = record_of(file)
    models = models_of_cascade(file, record, name)
    out, notes = [models], models.notes
    if counts.get("requests", 0) > 0:
        notes.append(
            f"It has had {counts['requests']:.0f} requests with {counts['calls']:.0f} calls for "
            f"${counts['dollars']:.4g}, and {counts['feedbacks']:.0f} feedbacks."
        )
    if (explore := number_of(file.get("explore"))) > 0.0:
        notes.append(f"It explores with probability {explore:g} at each step.")
    if "promise" not in record:
        notes.append("It was not fitted by `pandora cascade fit`, so nothing is promised.")
        return out
    if never := texts_of(record.get("never")):
        notes.append(f"These models are never worth calling: {', '.join(never)}.")
    out.append(fit_of_cascade(record, counts, verdict_text(file, record)))
    return out


def models_of_cascade(file: Mapping[str, Any], record: Mapping[str, Any], name: str) -> Sheet:
    """The models that it calls, the quality from which it accepts an answer, and how often it uses each model."""
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
    thresholds, shares = file.get("thresholds") or [], shares_of(record)
    for place, model in enumerate(file["models"] if by_prompt else file["order"]):
        accepted = "---" if by_prompt else f"{thresholds[place]:.4g}" if place < len(thresholds) else "always"
        used = (percent_text(share_of(shares, model, use)) for use in ("called", "deployed"))
        out.add(model, accepted, *used, _calibration_text(file, file["models"].index(model)))
    if plans:
        out.notes.append(plans_text(file))
    if not calls_one_model(file) and not file.get("calibration") and not _learns_reward(file):
        out.notes.append("There is no calibration: the score of an answer is taken for its quality.")
    if kind == "indices":
        out.notes.append(
            "For each prompt, the models get indices from the prompt's features. They are called in the order of their "
            "indices, until the best answer so far is worth as much as the next index. The best answer is deployed."
        )
        if features is None and index_features > 1:
            out.notes.append(f"Each prompt comes with {index_features} numbers.")
        if (half_life := number_of(object_of(file.get("estimation")).get("forget"))) > 0.0:
            out.notes.append(f"After {half_life:g} requests a sample counts for half.")
    elif not plans and len(file["order"]) > 1:
        out.notes.append(
            "Models are called from the first row on. If the estimated quality of an answer reaches the number in its "
            "row, no further model is called. The best answer so far is deployed, which can be an earlier one."
        )
    return out


def fit_of_cascade(record: Mapping[str, Any], counts: Mapping[str, float], verdict: str) -> Sheet:
    """What was compared, and what is promised."""
    price, prompts, table = (text_of(record.get(name)) for name in ("price", "prompts", "table"))
    single, kinds = (object_of(record.get(name)) for name in ("single", "kinds"))
    evaluator = evaluator_text(text_of(record.get("evaluator")), judge_usd_of(record))
    out = Sheet(
        f"Fitted for {aim_of_record(record)} on {prompts} prompts with {len(texts_of(record.get('models')))} models "
        f"({table}), {evaluator}. Utility is quality - {price} x dollars. The table shows what each kind is expected "
        "to do on other prompts, with 95% intervals.",
        ["", *_WORTH],
    )
    rows = {SINGLE: single, **{kind: kinds[kind] for kind in KINDS if kind in kinds}}
    if "running" in record:
        rows["running cascade"] = record["running"]
    for name, member in {**rows, "promise": record.get("promise")}.items():
        worth = Worth.of_json(dict(object_of(member)))
        out.add(name, *(text(worth) for text in _WORTH.values()), rule=name == "promise")
    out.notes += [f"The best single model is {text_of(single.get('model'))}.", _choice_note(record)]
    if "bound" in record:
        out.notes.append(f"The price that was found for the bound is {price}.")
    if (unsolved := counts.get("unsolved_refits", 0)) > 0:
        out.notes.append(
            f"Fits of the indices that ended at {MOST_STEPS} steps, before their tolerance was met: {unsolved:.0f}."
        )
    out.notes.append(
        "The promise is what the deployed cascade is expected to do on other prompts. "
        + (
            "pandora fits five more cascades in the same way, each without a fifth of the prompts, and judges each of "
            "them on the fifth that it did not see."
            if record.get("out_of_fold") is True
            else "It is the value on the fitted prompts, less how much better five more fits do on prompts that they "
            "saw than on a fifth that each of them did not see."
        )
    )
    if object_of(record.get("dollar_tail")).get("heavy") is True:
        out.notes.append(f"intervals of dollars and savings may be too narrow: {tail_text(tail_of(record))}")
    out.notes += [*texts_of(record.get("notes")), verdict]
    return out


def _choice_note(record: Mapping[str, Any]) -> str:
    """Such as "The choice is thresholds, and indices come next. ..."."""
    out = f"The choice is {text_of(record.get('choice'))}; the runner-up is {text_of(record.get('runner_up'))}."
    held = object_of(record.get("difference"))
    difference, error = interval_of_json(held).value, number_of(held.get("error"))
    if math.isnan(difference):
        return out
    # Files of earlier versions compare these two without saying so.
    more, simpler = [*texts_of(record.get("compared", ["indices", "thresholds"])), "", ""][:2]
    saves = " $ saved per 1,000 prompts" if aim_of_record(record).kind is AimKind.MIN_QUALITY else ""
    out += f" The difference {more} - {simpler} is {difference:.4g}{saves}, with a standard error of {error:.2g}."
    if 0.0 < difference <= error and record.get("cascade") == simpler:
        out += f" The lead of {more} is within one standard error, so the simpler kind is taken."
    return out


def _calibration_text(file: Mapping[str, Any], model: int) -> str:
    """The qualities that stand for the least and the greatest score of the map."""
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
