"""Options are declared once, for Python, for the command and for its help."""

from __future__ import annotations

import inspect
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pandora
from pandora.offline import command_line
from pandora.offline.errors import Refusal
from pandora.offline.kinds import Aim, AimKind
from pandora.offline.options import (
    COMMANDS,
    OPTIONS,
    FitSettings,
    aim_of,
    require_few_models,
    require_latency,
    require_log_for,
)
from pandora.offline.text import nearest_text
from pandora.spelling import as_option, typed
from pandora.spelling import option as marked


def settings(**given: Any) -> FitSettings:
    return replace(FitSettings(Aim(AimKind.PRICE, 1.0), "score"), **given)


def refusal(call: Any) -> Refusal:
    with pytest.raises(Refusal) as raised:
        call()
    return raised.value


def test_help_is_one_phrase_that_names_no_option() -> None:
    for command in COMMANDS:
        for option in command.options:
            assert option.help[-1] != "." and "--" not in option.help and ". " not in option.help, option.name


def test_arguments_of_fit_are_options_with_the_same_defaults() -> None:
    options = {option.name: option for command in COMMANDS[:1] for option in command.options}
    arguments = inspect.signature(pandora.Cascade.fit).parameters.values()
    settings = inspect.signature(FitSettings).parameters.values()
    assert {"price", "explore"} <= {argument.name for argument in arguments}
    for one in (*arguments, *settings):
        if one.name in ("trace", "router", "aim", "estimated"):
            continue
        option, none = options[one.name].default, (None, "", (), 0.0, inspect.Parameter.empty)
        assert one.default == option or (one.default in none and option in none), one.name


@pytest.mark.parametrize(
    ("name", "sound", "out_of_range"),
    [
        ("price", [0.0, 1e9], [-1.0, 1.1e9, math.nan, math.inf]),
        ("max_usd", [1e-9, 1.0], [0.0, -1.0, math.nan]),
        ("min_quality", [0.0, 1.0], [-0.1, 1.1]),
        ("max_latency", [0.1], [0.0, math.inf]),
        ("judge_usd", [0.0, 1e6], [-1.0, 2e6]),
        ("explore", [0.0, 1.0], [-0.1, 1.5]),
        ("forget", [0.0, 500.0], [-1.0]),
        ("c", [0.0, 0.2], [-0.2, math.nan]),
    ],
)
def test_numbers_have_ranges(name: str, sound: list[float], out_of_range: list[float]) -> None:
    for value in sound:
        OPTIONS[name].check(value)
    for value in out_of_range:
        found = refusal(lambda value=value: OPTIONS[name].check(value))
        assert (found.argument, found.problem) == (name, "out of range")
        assert str(found).startswith(f"{name}={value:g}: out of range; give ")
        assert found.told(as_option).startswith(f"--{name.replace('_', '-')} {value:g}: out of range; give ")


def test_unknown_words_name_the_nearest() -> None:
    found = refusal(lambda: settings(kind="thresolds").require_sound())
    assert str(found) == (
        'kind="thresolds": unknown; the nearest is thresholds; use router, thresholds, indices, routed or auto'
    )
    assert refusal(lambda: OPTIONS["estimator"].check("best")).told(as_option) == (
        "--estimator best: unknown; use plugin, ips, snips or dr"
    )
    assert nearest_text("INDICES", ["router", "indices"]) == "; the nearest is indices"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"forget": 10.0}, "--forget: only indices learn while they run; use it with --kind indices"),
        ({"c": 0.2, "kind": "routed", "context": ("x",)}, "--c: only indices learn"),
        ({"evaluator": "none", "judge_usd": 0.1}, "--judge-usd: with --evaluator none no answer is judged"),
        ({"kind": "thresholds", "context": ("x",)}, "--context: thresholds do not use it"),
        ({"evaluator": "none", "kind": "thresholds"}, "--evaluator none: only a router sees no answer"),
        ({"evaluator": "none"}, "a router goes by the prompt's features; give --context, such as text:16,length"),
        ({"kind": "routed"}, "a router goes by the prompt's features"),
        (
            {"kind": "indices", "estimated": True},
            "--kind indices: some qualities are not known; leave such prompts out",
        ),
        ({"kind": "indices", "router": object()}, "--router: indices have no router"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], told: str) -> None:
    assert refusal(lambda: settings(**given).require_sound()).told(as_option).startswith(told)


def test_kinds_by_what_evaluator_and_context_allow() -> None:
    assert settings().kinds == ["thresholds", "indices"]
    assert settings(context=("x",)).kinds == ["router", "thresholds", "indices", "routed"]
    assert settings(evaluator="none", context=("x",)).kinds == ["router"]
    assert settings(context=("x",), estimated=True).kinds == ["router", "thresholds", "routed"]
    assert settings(kind="indices").kinds == ["indices"] and settings(kind="indices").as_asked
    assert not settings(kind="thresholds").as_asked and not settings().as_asked
    assert settings(context=("x",)).used_context == settings(context=("x",), kind="indices").used_context == ("x",)


def test_one_aim() -> None:
    assert aim_of(None, 0.1, None, 2.0) == Aim(AimKind.MAX_USD, 0.1, 2.0)
    for given in ((None, None, None, None), (1.0, None, 0.5, None)):
        told = str(refusal(lambda given=given: aim_of(*given)))
        assert told.endswith(
            "give one of price, max_usd and min_quality: utility per dollar, dollars per prompt, a mean quality"
        )


def test_bounds_that_bind_nothing_or_cannot_be_kept() -> None:
    usd = np.full((10, 2), 0.01)
    of = settings(aim=Aim(AimKind.MAX_USD, 4.0), judge_usd=0.1)
    assert refusal(lambda: of.require_binding(usd)).told(as_option) == (
        "--max-usd 4: is in dollars per prompt, and calling every model takes no more than 0.22 of them; for a bound "
        "per 1,000 prompts give --max-usd 0.004, for none --price 0"
    )
    settings(aim=Aim(AimKind.MAX_USD, 0.2), judge_usd=0.1).require_binding(usd)
    timed = Aim(AimKind.PRICE, 1.0, 2.0)
    with pytest.raises(
        pandora.DataError, match=r"t: has no latencies; give a column `latency` .* leave out max_latency$"
    ):
        require_latency(timed, "t", ["a"], np.full((2, 1), np.nan), False)
    assert "not of a log" in str(refusal(lambda: require_latency(timed, "t", ["a"], None, True)))
    assert "is of logs of decisions" in str(refusal(lambda: require_log_for("apart", False)))
    assert "an estimate of its own" in str(refusal(lambda: require_log_for("apart", True, "dr")))


def test_of_many_models_the_most_useful_are_named() -> None:
    quality = np.zeros((20, 17))
    quality[:, 5], quality[:10, 3] = 0.6, 1.0
    with pytest.raises(
        pandora.DataError, match=r"has 17 models; at most 16 are fitted .* \(models\): 5,3,0,1,2,4,6,"
    ) as told:
        require_few_models("t", [str(k) for k in range(17)], quality, np.zeros((20, 17)), 1.0, "fitted")
    assert told.value.told(as_option).count("--models") == 1


def test_models_that_are_dear_are_less_useful() -> None:
    quality, usd = np.zeros((20, 17)), np.zeros((20, 17))
    quality[:, 5] = quality[:, 6] = 0.6
    usd[:, 5] = 0.1
    with pytest.raises(pandora.DataError, match=r"\(models\): 6,0,1,2,3,4,5,"):
        require_few_models("t", [str(k) for k in range(17)], quality, usd, 5.0, "fitted")


@pytest.mark.parametrize(
    ("given", "python", "terminal"),
    [
        (("max-usd", "0.1"), "max_usd=0.1", "--max-usd 0.1"),
        (("max_usd", "-1e-05"), "max_usd=-1e-05", "--max-usd -1e-05"),
        (("judge_usd",), "judge_usd", "--judge-usd"),
        (("out", "a folder: of Zoë's"), 'out="a folder: of Zoë\'s"', "--out a folder: of Zoë's"),
        (("out", ""), 'out=""', "--out "),
        (("devices", "0,1"), 'devices="0,1"', "--devices 0,1"),
        (("models", "a,b"), "models=['a', 'b']", "--models a,b"),
        (("policy", "dow"), 'policies="dow"', "--policy dow"),
        (("t0", "10"), "T0=10", "--t0 10"),
        (("force",), 'mode="replace"', "--force"),
        (("resume",), 'mode="resume"', "--resume"),
        (("extend",), 'mode="extend"', "--extend"),
        (("", "null"), "None", "null"),
    ],
)
def test_options_are_spelt_for_who_reads_them(given: tuple[str, ...], python: str, terminal: str) -> None:
    error = pandora.DataError(f"t--x.csv: lacks {marked(*given)}; `pandora run --plan` or {marked('context')} helps")
    assert str(error) == f"t--x.csv: lacks {python}; `pandora run --plan` or context helps"
    assert error.told(as_option) == f"t--x.csv: lacks {terminal}; `pandora run --plan` or --context helps"
    assert typed([marked(*given)]) == [terminal]


def test_errors_pass_between_processes() -> None:
    for error in (Refusal("price", 2.0, "is much", f"give {marked('price', '1')}"), pandora.DataError(marked("kind"))):
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.told(as_option)) == (str(error), error.told(as_option))


def test_the_command_line_reads_every_option() -> None:
    words = (
        "cascade fit t.csv --price -1 --context text:16,x --context y --judge-usd=0.5 --scale score=1:5 --scale q=1:2"
    )
    with pytest.raises(Refusal, match="price=-1"):
        command_line.read(words.split())
    command, given = command_line.read(words.replace("-1 ", "1e-3 ").split())
    assert command is not None and command.words == ("cascade", "fit")
    assert (given["table"], given["price"], given["judge_usd"]) == ("t.csv", 1e-3, 0.5)
    assert given["context"] == ("text:16", "x", "y") and given["scale"] == ("score=1:5", "q=1:2")
    assert given["kind"] == "auto" and given["force"] is False and given["out"] == "cascade.json"
    _, given = command_line.read("trace check t.csv --price 1,-20".replace("-20", "20").split())
    assert given["prices"] == (1.0, 20.0)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", "a command is missing"),
        ("cascade", "a command is missing; `pandora cascade --help`"),
        (
            "cascade fitt",
            "cascade fitt: unknown command; the nearest is fit; `pandora cascade --help` lists the commands",
        ),
        ("cascade fit", "the following arguments are required: table"),
        ("cascade fit t --pric 1", "unrecognized arguments: --pric 1; the nearest is --price"),
        ("cascade fit t --price x", "--price x: is no number; give utility per dollar"),
        ("cascade fit t --price 1 --price 2", "--price: is given twice"),
        ("trace check t --price 1,x", "--price x: is no number"),
    ],
)
def test_slips_of_the_hand_are_told(words: str, told: str) -> None:
    with pytest.raises(pandora.UsageError) as raised:
        command_line.read(words.split())
    assert told in str(raised.value)


def test_an_empty_word_is_no_number() -> None:
    with pytest.raises(pandora.UsageError, match='--price "": is no number'):
        command_line.read(["cascade", "fit", "t", "--price", ""])


def test_help_prints_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        assert command_line.read([*command.words, "--help"]) == (None, {})
        said = " ".join(capsys.readouterr().out.split())
        for option in command.options:
            assert (option.name if option.place else command_line.spelt(option.name)) in said
        assert f"usage: pandora {' '.join(command.words)} [OPTIONS]" in said and " examples: " in said
    assert command_line.read(["cascade", "--help"]) == (None, {})
    assert "cascade frontier" in capsys.readouterr().out
