"""A fitted cascade on one screen: what to do, what to expect, and what to know before trusting it.

All of it comes from the members of the cascade's file, so that `pandora cascade show` says what the fit said. The
record's own `verdict` keeps its words, because programs read it; the sentences here are for people.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Callable, Optional

from .choose import SINGLE
from .estimate import Interval
from .kinds import Aim, AimKind
from .members import (
    aim_of_record,
    count_of,
    judge_usd_of,
    number_of,
    object_of,
    record_of,
    share_of,
    shares_of,
    text_of,
    texts_of,
    topics_of,
)
from .notes import Topic
from .sheet import Sheet
from .sources.evaluator import NONE
from .text import UNKNOWN, interval_text, number_text, order_text, saving_text, share_text, usd_text
from .words import Why, orders_of, tail_text, too_few_text
from .worth import DollarTail, Worth, interval_of_json

#: Lines of a screen, and its columns where nobody says how many it has.
LINES, WIDTH = 25, 80
#: Rows of models that are shown; of more, those that are called most.
MOST_ROWS = 4
DETAILS = "`--details` shows the kinds compared, calibration and how the promise was found."

#: The line on one screen for each topic of notes, the important ones first. Notes without a topic are counted.
_IN_SHORT = {
    Topic.JUDGE: 'The judge "{0}" is presumed right on average: its scores stand for quality.',
    Topic.LEAK: "Context {0} may have been computed from the outcomes: then nothing keeps the promise.",
    Topic.WEIGHTS: "The log's weights look wrong: its propensities may not be those of the decisions.",
    Topic.LABELS_LEAN: "Which qualities are known depends on the score: estimates may be too {0}.",
    Topic.INDEPENDENT: "Answers are taken to be independent; where models err together, less is kept.",
    Topic.FEW_DIFFER: "Hardly any of {0} prompts differ in quality, so little is sure.",
    Topic.ONE_CALL: "Every decision made one call; `--openings apart` estimates what a second call would bring.",
    Topic.FEW_DECISIONS: "Too few decisions tell what these models bring alone: {0}.",
    Topic.LATENCY_UNIT: "The latencies may be milliseconds, and seconds are expected.",
    Topic.TOO_SLOW: "Too slow: {0}, {1} s at the 95th percentile.",
    Topic.UNKNOWN_QUALITY: "The quality of {0} answers is not known and is estimated.",
    Topic.DROPPED: "Prompts left out because a cell or a price is missing: {0}.",
    Topic.LOG: "Fitted to a log; the promise is as precise as from {0} equally weighted prompts.",
    Topic.FIRST_CALLS: "Fitted to the first calls of a log of decisions.",
    Topic.NO_CONTEXT: "The context is not used: this cascade treats every prompt alike.",
    Topic.NEVER_LEARNS: "One model alone learns nothing while it runs; `pandora cascade new` does.",
}

_ROWS: dict[str, Callable[[Worth], str]] = {
    "quality": lambda worth: interval_text(worth.quality, 4),
    "$ per 1,000 prompts": lambda worth: usd_text(worth.usd_per_1000),
    "calls per prompt": lambda worth: number_text(worth.calls.value, 2),
    "utility at price {price}": lambda worth: interval_text(worth.utility, 4),
}


def short_sheets(file: Mapping[str, Any], counts: Mapping[str, float], name: str, details: bool = False) -> list[Sheet]:
    """The verdict with the models, and what to expect of other prompts with what to know: at most LINES - 1 lines.

    `file`: a cascade's members; `counts`: how often which thing has happened; `name`: of the file. `details`: whether
    the details follow, so that nothing needs to say how to see them.
    """
    record = record_of(file)
    if "promise" not in record:
        return [_models(file, record, f"{name}: {use_text(file, True)} It was not fitted, so nothing is promised.")]
    out = [_models(file, record, verdict_text(file, record)), _expected(record)]
    topics = topics_of(record)
    more = len(texts_of(record.get("notes"))) - len(topics)
    notes = [*_tail_notes(record), *_service_notes(file, counts)]
    for topic, line in _IN_SHORT.items():  # anybody may have written the file: values may be missing
        notes += [line.format(*values, UNKNOWN, UNKNOWN) for one, values in topics if one is topic]
    if never := texts_of(record.get("never")):
        notes.append(f"Never worth calling: {_few(never)}.")

    def put(shown: int) -> int:
        hidden = more + len(notes) - shown
        counted = [f"Notes that only the details show: {hidden}."] if hidden else []
        out[1].notes = [*notes[:shown], *counted, *([] if details else [DETAILS])]
        return sum(sheet.text(WIDTH).count("\n") + 1 for sheet in out)  # an empty line before each of them

    shown, rows = len(notes), MOST_ROWS
    while put(shown) > LINES - 1 and (shown > 0 or rows > 1):
        if shown > 1 or (shown == 1 and rows < MOST_ROWS):
            shown -= 1
        else:
            rows -= 1
            out[0] = _models(file, record, verdict_text(file, record), rows)
    return out


def verdict_text(file: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Two or three short sentences: what to do, what it gains, what judging may cost."""
    return " ".join(_sentences(file, record))


def _sentences(file: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[str]:
    aim, why, running = aim_of_record(record), text_of(record.get("why")), object_of(record.get("running"))
    promise, gain = _promise(record), interval_of_json(record.get("gain"))
    single, use = text_of(object_of(record.get("single")).get("model")), use_text(file)
    if running.get("keep") is True:
        brought = interval_text(interval_of_json(running.get("utility")), 4)
        yield (
            "Keep the running cascade, because no other one is surely better. "
            f"Without exploring, it brings {brought} utility per prompt. The best other cascade: "
            f"{use[0].lower()}{use[1:]}"
        )
    else:
        yield use
    if aim.is_bound:
        yield _bound(aim, record)
    if running:
        over = interval_of_json(running.get("fit_gains"))
        yield (
            "The log cannot tell what it gains over the running cascade."
            if math.isnan(over.value)
            else f"On new prompts it gains {interval_text(over, 4)} utility per prompt over the running cascade."
        )
    elif record.get("choice") == SINGLE:
        yield from _why_one_model(record, why, _gain(aim, gain))
    elif record.get("pays") is not True:
        yield f"You asked for this kind. It is not surely better than {single} alone: it {_gain(aim, gain)}."
    elif why == Why.SINGLES_MISS:
        yield "No single model keeps the bound."
    elif why != Why.NEAREST:
        beside = f"{single} alone, the best single model{' that keeps the bound' if aim.is_bound else ''}"
        if aim.kind is AimKind.MIN_QUALITY:
            share = share_text(promise.saving)
            yield f"On new prompts it {_gain(aim, gain)}, {share} of the dollars of {beside}."
        else:
            known = math.isfinite(promise.saving.value)
            saves = f", and {saving_text(promise.saving)}" if known else ""
            yield f"On new prompts it {_gain(aim, gain)} over {beside}{saves}."
    seconds = number_of(object_of(record.get("latency")).get("p95"))
    if math.isfinite(seconds):
        yield f"Calls one after the other take at most {seconds:.4g} seconds for 95% of the prompts."
    is_single = record.get("choice") == SINGLE
    if record.get("evaluator") == NONE or (not is_single and number_of(record.get("judged_calls")) == 0.0):
        yield "No answer is judged."
    elif not is_single:
        gone = "the bound may be missed" if aim.on_usd else "the gain is gone"
        yield judging_text(judge_usd_of(record), number_of(record.get("break_even_judge_usd")), gone)
    if _has_topic(record, Topic.INDEPENDENT):
        yield "This presumes that models' answers are independent."


def use_text(file: Mapping[str, Any], alone: bool = False) -> str:
    """What to do with a prompt. `alone`: no table of models follows."""
    if file["kind"] == "indices":
        return (
            "For each prompt, call the models in the order of their indices, and stop when the best answer so far is "
            "worth as much as the next index. From then on, calling the next model does not pay."
        )
    if plans := file.get("plans"):
        if all(len(plan["order"]) == 1 for plan in plans):
            return "For each prompt, call the one model that the router chooses by the prompt's context."
        return (
            "For each prompt, follow the plan that the router chooses by the prompt's context: one model alone, or "
            "models in order until an answer is accepted."
        )
    order, thresholds = orders_of(file)[0]
    if len(order) == 1:
        return f"Call {order[0]} alone for every prompt."
    if len(order) == 2:
        return (
            f"Call {order[0]} first and accept an answer whose estimated quality is at least {thresholds[0]:.4g}; "
            f"otherwise call {order[1]}."
        )
    where = _few([f"{model} ({x:.4g})" for model, x in zip(order, thresholds)]) if alone else "the number in the table"
    others = ", ".join(f"then {model}" for model in order[1:])
    if not alone and len(others) > WIDTH // 2:
        others = "then the other models in the order of the table"
    return f"Call {order[0]} first, {others}. Stop at the first answer whose estimated quality is at least {where}."


def _gain(aim: Aim, gain: Interval) -> str:
    if aim.kind is AimKind.MIN_QUALITY:
        return f"saves ${usd_text(gain)} per 1,000 prompts"
    return f"gains {interval_text(gain, 4)} {'quality' if aim.is_bound else 'utility per prompt'}"


def _why_one_model(record: Mapping[str, Any], why: str, gains: str) -> Iterator[str]:
    cascade, price = text_of(record.get("cascade")), text_of(record.get("price"))
    if why == Why.ONLY_MODEL:
        yield "It is the only model."
    elif why == Why.CASCADES_SLOW:
        yield f"The best cascade ({cascade}) {gains} at price {price}, but it takes too long."
    elif _has_topic(record, Topic.ONE_CALL):  # so a gain of 0 says nothing
        yield "Every decision of the log made one call, so the log cannot show what a second call brings."
    elif why == Why.NO_GAIN:
        evaluator = text_of(record.get("evaluator"))
        by = "without a judge" if evaluator == NONE else f"with evaluator {evaluator}"
        yield f"No cascade is surely better at price {price} {by}: on new prompts, the best one ({cascade}) {gains}."


def _bound(aim: Aim, record: Mapping[str, Any]) -> str:
    bound, prompts = object_of(record.get("bound")), count_of(record.get("prompts"))
    reached, missed = (number_of(bound.get(name)) for name in ("reached", "missed_by"))
    if aim.on_usd:
        what, least = f"the bound of ${aim.value:g} per prompt", f"costs at most ${reached:.3g} per prompt"
    else:
        what, least = f"the bound of {aim.value:g}", f"has a mean quality of at least {reached:.4f}"
    if math.isnan(reached):
        why = tail_text(tail_of(record))
        return f"Whether it keeps {what} cannot be said with any confidence: {why}."
    if bound.get("met") is True:
        return f"With 95% confidence it {least}, which keeps {what}."
    by = f"${missed:.3g}" if aim.on_usd else f"{missed:.4f}"
    few = too_few_text(aim, prompts)
    return f"With 95% confidence it {least}, which misses {what} by {by}; nothing comes nearer{few}."


def judging_text(usd: Optional[float], gone_at: float, gone: str, who: str = "The fit") -> str:
    """What judging an answer is counted with, and what happens above `gone_at` dollars where it is counted as free.

    `usd`: dollars of judging an answer; None where nobody said. `gone_at`: NaN where it is not known.
    """
    if usd is not None:
        return f"{who} counts ${usd:.3g} for judging an answer."
    if not math.isfinite(gone_at):
        return f"{who} counts judging as free."
    return f"{who} counts judging as free; if judging an answer costs more than ${gone_at:.2g}, {gone}."


def _models(file: Mapping[str, Any], record: Mapping[str, Any], title: str, most: int = MOST_ROWS) -> Sheet:
    """How often each model is called: a row for each model of an order, at most `most`; else one line."""
    shares, orders = shares_of(record), orders_of(file)
    if file["kind"] != "indices" and not file.get("plans") and len(orders[0][0]) > 1:
        order, thresholds = orders[0]
        uses = ["called", "deployed"] if shares else []  # a log does not say
        out = Sheet(title, ["model", "accepted from", *uses])
        for k, model in enumerate(order[:most]):
            used = (percent_text(share_of(shares, model, use)) for use in uses)
            out.add(model, f"{thresholds[k]:.4g}" if k < len(thresholds) else "always", *used)
        if len(order) > most:
            out.notes.append(f"Models that follow: {len(order) - most}.")
        return out
    out = Sheet(title, [])
    called = {model: share_of(shares, model, "called") for model in file["models"]}
    by_use = sorted(called, key=lambda model: -called[model])
    if len(called) > 1 and shares:
        out.notes.append(
            "Called: " + _few([f"{model} {percent_text(called[model])}" for model in by_use]) + " of prompts."
        )
    if any(thresholds for _, thresholds in orders):
        out.notes.append("Plans: " + _few([order_text(*order) for order in orders], " | ") + ".")
    return out


def _expected(record: Mapping[str, Any]) -> Sheet:
    """Quality, dollars, calls and utility of the cascade, and of the model or rules that it is compared with."""
    price, running = text_of(record.get("price")), record.get("running")
    one_model = record.get("choice") == SINGLE and not running
    beside, other = ("running cascade", running) if running else ("best single model", record.get("single"))
    out = Sheet(
        f"Expected on other prompts, with 95% intervals; fitted on {text_of(record.get('prompts'))} prompts",
        ["", "this model"] if one_model else ["", beside, "this cascade"],
    )
    others = [] if one_model else [Worth.of_json(dict(object_of(other)))]
    promise = _promise(record)
    for row, text in _ROWS.items():
        if aim_of_record(record).is_bound and text is _ROWS["utility at price {price}"]:
            continue  # nobody gave a price, and the bound can cost utility
        out.add(row.format(price=price), *(text(worth) for worth in (*others, promise)))
    aim, gain = aim_of_record(record), promise.gain
    if running or aim.on_usd:
        gain = interval_of_json(object_of(running).get("fit_gains") if running else record.get("gain"))
    if others and aim.kind is not AimKind.MIN_QUALITY:
        out.add("gain in quality" if aim.on_usd else "gain in utility", "", interval_text(gain, 4))
    if others and not running:
        out.add("saving of dollars", "", share_text(promise.saving))
    return out


def _service_notes(file: Mapping[str, Any], counts: Mapping[str, float]) -> Iterator[str]:
    if counts.get("requests", 0) > 0:
        spent = f"{counts['calls']:.0f} calls for ${counts['dollars']:.4g}, {counts['feedbacks']:.0f} feedbacks"
        yield f"It has had {counts['requests']:.0f} requests: {spent}."
    if (explore := number_of(file.get("explore"))) > 0.0:
        yield f"It explores at {100.0 * explore:g}% of its steps; the promise is for the cascade without exploring."


def _tail_notes(record: Mapping[str, Any]) -> Iterator[str]:
    """Of a bound on dollars the verdict says it."""
    tail = tail_of(record)
    if object_of(record.get("dollar_tail")).get("heavy") is True and not aim_of_record(record).on_usd:
        yield (
            f"{tail.dearest} of {tail.prompts} prompts carry {100.0 * tail.share:.0f}% of the dollars; dollar "
            "intervals may be too narrow."
        )


def _has_topic(record: Mapping[str, Any], topic: Topic) -> bool:
    return any(one == topic for one, _ in topics_of(record))


def _promise(record: Mapping[str, Any]) -> Worth:
    return Worth.of_json(dict(object_of(record.get("promise"))))


def tail_of(record: Mapping[str, Any]) -> DollarTail:
    """How unevenly dollars are spread over prompts; the dollars of a row are not there."""
    tail = object_of(record.get("dollar_tail"))
    skewness, share = number_of(tail.get("skewness")), number_of(tail.get("share"))
    return DollarTail(skewness, count_of(record.get("prompts")), count_of(tail.get("dearest")), share, 0.0)


def percent_text(share: float) -> str:
    """Such as 12.5%; "---" for an unknown share."""
    return UNKNOWN if math.isnan(share) else f"{100.0 * share:.1f}%"


def _few(names: list[str], between: str = ", ") -> str:
    """The first of many, and how many more there are."""
    rest = len(names) - MOST_ROWS
    return between.join(names[:MOST_ROWS]) + (f" and {rest} more" if rest > 0 else "")
