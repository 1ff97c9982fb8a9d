"""The commands read tables as people have them: words, prices, names, judges without truth, leaks."""

from __future__ import annotations

import json
import pathlib
from typing import Any, Callable

import numpy as np
import pytest

import pandora
from pandora.offline import commands
from pandora.offline.leaks import suspected_leaks

Output = pytest.CaptureFixture[str]
Checked = Callable[..., dict[str, Any]]


@pytest.fixture
def check(tmp_path: pathlib.Path, capsys: Output) -> Checked:
    """The JSON of `trace check` for a table's text. If it is refused, "refused" has the message."""

    def found(text: str, *words: str, name: str = "table") -> dict[str, Any]:
        (tmp_path / name).write_text(text)
        code = commands.main(["trace", "check", str(tmp_path / name), "--price", "20", "--format", "json", *words])
        out = capsys.readouterr()
        return {"refused": out.err, "code": code} if code else json.loads(out.out)

    return found


def lines(answers: list[dict[str, Any]], prompts: int = 40) -> str:
    """A long table with these answers to each prompt."""
    rows = [{"prompt_id": f"p{k}", **answer} for k in range(prompts) for answer in answers]
    return "".join(json.dumps({key: x(k) if callable(x) else x for key, x in row.items()}) + "\n"
                   for k, row in ((int(row["prompt_id"][1:]), row) for row in rows))  # fmt: skip


def two(**more: Any) -> list[dict[str, Any]]:
    return [
        {"model": "a", "quality": lambda k: float(k % 2), **more},
        {"model": "b", "quality": lambda k: float(k % 3 > 0), **more},
    ]


def models(found: dict[str, Any], what: str) -> list[float]:
    return [round(model[what]["mean"], 6) for model in found["facts"]["models"]]


def test_cached_tokens_cost_what_their_price_says(check: Checked, tmp_path: pathlib.Path) -> None:
    tokens = lines(two(prompt_tokens=27147, cached_tokens=27146, completion_tokens=351))
    prices = tmp_path / "prices.toml"
    prices.write_text("".join(f"{model} = {{ in = 1.4, out = 4.4, cached = 0.26 }}\n" for model in "ab"))
    found = check(tokens, "--prices", str(prices))
    assert models(found, "usd_per_1000") == [8.60376, 8.60376] and found["notes"] == []
    prices.write_text("".join(f"{model} = {{ in = 1.4, out = 4.4 }}\n" for model in "ab"))
    found = check(tokens, "--prices", str(prices))
    assert models(found, "usd_per_1000") == [39.5502, 39.5502]
    assert found["notes"][0].startswith("cached tokens of 80 answers are priced as other tokens")
    thoughts = lines(two(prompt_tokens=200, completion_tokens=100, total_tokens=1300))
    prices.write_text("a = [0.2, 0.5]\nb = [0.2, 0.5]\n")
    found = check(thoughts, "--prices", str(prices))
    assert models(found, "usd_per_1000") == [0.59, 0.59] and "exceed" in found["notes"][0]


def test_free_calls_of_all_prompts_are_asked_for(check: Checked) -> None:
    text = lines([{**two()[0], "cost": 0}, {**two()[1], "cost": 0.0004}])
    assert 'model "a" costs 0 for all of 40 prompts. If that is right' in check(text)["refused"]
    assert models(check(text, "--free-calls", "allowed"), "usd_per_1000") == [0.0, 0.4]


@pytest.mark.parametrize("word", ["NA", "NaN", "nan", "None", "null", "N/A", "-", "#N/A"])
def test_words_for_nothing_are_dropped(check: Checked, word: str) -> None:
    rows = [f"p{k},{word if k == 7 else k % 2},0.001,{k % 3 / 2},0.01" for k in range(40)]
    text = "prompt_id,small,small|cost,large,large|cost\n" + "\n".join(rows)
    found = check(text, "--missing", "drop")
    assert found["prompts"] == 39 and found["dropped"] == 1


def test_truth_values_are_read(check: Checked) -> None:
    rows = [f"made up {k},{k % 3 > 0},0.0001,{str(k % 5 > 0).upper()},0.002" for k in range(60)]
    found = check("prompt,small,small|cost,big,big|cost\n" + "\n".join(rows))
    assert models(found, "quality") == [0.666667, 0.8] and found["notes"][0].startswith("truth values of quality")
    assert "it has no costs" in check("prompt,small,big\nx,True,False\n")["refused"]


def test_preferences_of_a_list_are_read(check: Checked) -> None:
    rows = [
        {"prompt_id": f"i{k}", "model": model, "preference": preference, "cost": 0.004}
        for model, given in (("alpha", [1, 2, 1.5, None]), ("beta", [2, 2, 1.31, 1.5]))
        for k, preference in enumerate(given)
    ]
    words = "--quality", "preference", "--scale", "quality=1:2", "--missing", "drop"
    found = check(json.dumps(rows), *words, name="annotations.json")
    assert found["rows"] == 3 and models(found, "quality") == [0.5, round((1 + 1 + 0.31) / 3, 6)]


def test_a_judge_without_truth_is_read_and_said_to_assume_it(
    check: Checked, tmp_path: pathlib.Path, capsys: Output
) -> None:
    rows = [{"model": row["model"], "score": row["quality"], "cost": 0.001} for row in two()]
    text = lines(rows, 120)
    found = check(text)
    assert found["evaluator"] == "score" and models(found, "quality") == [0.5, 0.666667]
    assert "assumes" in found["notes"][0] and found["facts"]["judges"] == []
    fit = ["cascade", "fit", str(tmp_path / "table"), "--price", "1", "--evaluator", "score", "--force"]
    fit += ["--out", str(tmp_path / "c.json")]
    assert commands.main(fit) == 3 and "--quality score" in capsys.readouterr().err
    assert commands.main([*fit, "--quality", "score"]) == 0 and "presumed" in capsys.readouterr().out
    test = ["cascade", "test", str(tmp_path / "c.json"), str(tmp_path / "table"), "--quality", "score"]
    assert commands.main(test) == 0 and "assumes" in capsys.readouterr().out
    trace = pandora.Trace(tmp_path / "table", quality="score")
    assert "assumes" in trace.notes[0] and trace.check(1.0).values["evaluator"] == "score"
    arrays = {"models": ["a", "b"], "scores": trace.quality, "cost": trace.cost}
    np.testing.assert_array_equal(pandora.Trace(arrays, quality="score").quality, trace.quality)


def test_milliseconds_are_asked_for(check: Checked, tmp_path: pathlib.Path, capsys: Output) -> None:
    text = lines([{**two()[0], "cost": 0.001, "latency": 640}, {**two()[1], "cost": 0.01, "latency": 2310}])
    assert "divide them by 1,000" in check(text)["notes"][0]
    fit = ["cascade", "fit", str(tmp_path / "table"), "--price", "1", "--evaluator", "quality", "--force"]
    fit += ["--out", str(tmp_path / "c.json"), "--max-latency"]
    assert commands.main([*fit, "2"]) == 2 and "unit must be seconds" in capsys.readouterr().err
    assert commands.main([*fit, "5000"]) == 0 and "may be milliseconds" in " ".join(capsys.readouterr().out.split())


def test_one_question_under_many_contexts(check: Checked) -> None:
    rows = [f"q,c{k},{model},{(k + m) % 2},0.01" for k in range(20) for m, model in enumerate("ab")]
    text = "question,context,model,quality,cost\n" + "\n".join(rows)
    assert "a column prompt_id is missing" in check(text)["refused"]
    trace = pandora.Trace(
        {key: [row.split(",")[n] for row in rows] for n, key in enumerate(("question", "context", "model"))}
        | {"quality": [float(row.split(",")[3]) for row in rows], "cost": [0.01] * 40},
        prompt_key=["question", "context"],
    )
    assert trace.rows == 20 and trace.prompts[3] == "q | c3"
    found = check(text, "--prompt-key", "context")
    assert found["rows"] == 20 and found["prompts"] == 20


NAMES = ["deepseek/r1:free", "gpt-4.1", "AsiaInfo Router", 'quoted "best"', "a,b", "bar|pipe", "模型-7b", "-dash"]


def test_names_of_all_kinds_can_be_chosen(tmp_path: pathlib.Path, capsys: Output) -> None:
    table = tmp_path / "names.jsonl"
    table.write_text(
        lines(
            [{"model": name, "quality": lambda k, m=m: (k + m) % 4 / 4, "cost": 0.001} for m, name in enumerate(NAMES)]
        )
    )

    def chosen(*words: str) -> list[str]:
        assert commands.main(["trace", "check", str(table), "--format", "json", *words]) == 0
        return list(json.loads(capsys.readouterr().out)["models"])

    assert chosen("--models", "gpt-4.1,AsiaInfo Router") == NAMES[1:3]
    assert chosen("--models", '"a,b",gpt-4.1') == ["a,b", "gpt-4.1"]
    assert chosen("--models", '"a,b"', "--models", 'quoted "best"', "--models=-dash") == [
        "a,b",
        'quoted "best"',
        "-dash",
    ]
    assert chosen("--models", '"quoted ""best""","a,b"') == ['quoted "best"', "a,b"]
    assert commands.main(["trace", "check", str(table), "--models", "a,b"]) == 3
    assert "put a name with a comma in quotes" in capsys.readouterr().err
    assert commands.main(["trace", "check", str(table), "--models", '"a,b']) == 2
    assert "put a name with a comma in quotes" in capsys.readouterr().err
    out = str(tmp_path / "c.json")
    fit = ["cascade", "fit", str(table), "--price", "1", "--evaluator", "quality", "--kind", "thresholds"]
    assert commands.main([*fit, "--models", '"a,b",gpt-4.1', "--out", out]) == 0
    for against in ("a,b", '"a,b"'):
        assert commands.main(["cascade", "test", out, str(table), "--against", against]) == 0
        assert "a,b alone" in capsys.readouterr().out


def test_a_table_with_objects_in_a_column_is_read(check: Checked) -> None:
    pandas = pytest.importorskip("pandas")
    answers = [{m: {"quality": (k + n) % 2, "cost": 0.01 * (n + 1)} for n, m in enumerate("ab")} for k in range(10)]
    for column in (answers, [json.dumps(answer) for answer in answers]):
        trace = pandora.Trace(pandas.DataFrame({"prompt_id": [f"p{k}" for k in range(10)], "models": column}))
        assert trace.models == ["a", "b"] and trace.quality[1].tolist() == [1.0, 0.0]
    python = "".join(f'p{k},"{answer}"\n' for k, answer in enumerate(answers))
    assert "json.dumps" in check("prompt_id,models\n" + python)["refused"]


def test_words_in_data_frames_are_read() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"prompt_id": ["p", "q", "r"], "a": ["True", "no", "NA"], "a|cost": [1, 1, 1], "b": [True, False, True],
         "b|cost": [1, "NA", 1]}
    )  # fmt: skip
    trace = pandora.Trace(frame, missing="drop")
    assert trace.prompts == ["p"] and trace.quality.tolist() == [[1.0, 1.0]]


def test_leaks_of_any_type_are_told_by_name() -> None:
    draw = np.random.default_rng(5)
    quality = draw.random((400, 2))
    quality[:, 1] = np.round(quality[:, 1], 1)
    best = quality.argmax(axis=1)
    columns: dict[str, Any] = {
        "named": [f"use {'ab'[winner]}lpha ({k})" for k, winner in enumerate(best)],
        "greatest": quality.max(axis=1).tolist(),
        "gap": (5.0 - 2.0 * (quality[:, 0] - quality[:, 1])).tolist(),
        "both": quality.tolist(),
        "grade of b": [f"grade {q:.3f}" for q in quality[:, 1]],
        "noise": draw.random(400).tolist(),
        "topic": draw.choice(["maths", "law"], 400).tolist(),
        "list": draw.random((400, 3)).tolist(),
    }
    trace = pandora.Trace(
        {"models": ["alpha", "blpha"], "quality": quality, "cost": np.full((400, 2), 0.01), "columns": columns}
    )
    told = suspected_leaks(trace._table, list(columns), quality, trace.cost, 1.0)
    names = ["named", "greatest", "gap", "both", "grade of b"]
    assert [sentence.split(" tells ")[0] for sentence in told] == [f"context {name}" for name in names]
    assert "best model" in told[0] and "the greatest quality" in told[1] and "the quality of blpha" in told[4]
