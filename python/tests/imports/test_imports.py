"""Exports of other programs. Their content comes back, missing parts are named, and damage gives one clear error."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import shlex
import shutil
from typing import Any, Callable

import export_forms as forms
import pytest

import pandora
from pandora.imports import KINDS, Settings, export, recognised, write_whole
from pandora.offline import commands
from pandora.offline.options import OPTIONS
from pandora.prices import Prices

Output = pytest.CaptureFixture[str]
WRITERS: dict[str, Callable[[forms.World, pathlib.Path], str]] = {
    kind: getattr(forms, kind.replace("-", "_")) for kind in KINDS
}


#: These programs log no tokens.
BY_CHARACTERS = ("lm-eval", "alpaca-eval")


def options_of(kind: str, w: forms.World, folder: pathlib.Path) -> dict[str, Any]:
    """The options that an import of this export needs."""
    given: dict[str, Any] = {}
    if kind in ("llmrouter", "openai-batch", *BY_CHARACTERS):
        given["prices"] = {**forms.PRICES, **{forms.folder_of(name): pair for name, pair in forms.PRICES.items()}}
    if kind in BY_CHARACTERS:
        given["characters_per_token"] = 3
    if kind in ("openai-batch", "litellm"):
        given["quality"] = forms.qualities(w, folder, "q{p}" if kind == "openai-batch" else "r{p}-{m}")
    return given


def imported(kind: str, w: forms.World, folder: pathlib.Path, **more: Any) -> pandora.Trace:
    return pandora.Trace.from_export(kind, WRITERS[kind](w, folder), **options_of(kind, w, folder), **more)


def dollars(kind: str, w: forms.World) -> list[list[float]]:
    if kind in BY_CHARACTERS:
        return [
            [
                (len(text) / 3.0 * forms.PRICES[m][0] + out / 3.0 * forms.PRICES[m][1]) / 1e6
                for m, (_, out) in zip(w.models, row)
            ]
            for text, row in zip(w.texts, w.tokens)
        ]
    return w.priced if kind in ("llmrouter", "openai-batch") else w.cost


def qualities(kind: str, w: forms.World) -> list[list[float]]:
    """The qualities with the digits that the form holds. AlpacaEval's numbers are greater by 1."""
    return [[1.0 + q - 1.0 for q in row] for row in w.quality] if kind == "alpaca-eval" else w.quality


def run(*words: str) -> int:
    return commands.main([str(word) for word in words])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_what_a_form_holds_comes_back_to_the_digit(kind: str, seed: int, tmp_path: pathlib.Path) -> None:
    w = forms.world(seed)
    trace = imported(kind, w, tmp_path)
    names = sorted(map(forms.folder_of, w.models)) if kind == "lm-eval" else w.models
    of = [names.index(forms.folder_of(model) if kind == "lm-eval" else model) for model in w.models]
    assert trace.models == names and trace.rows == len(w.texts)
    assert trace.quality[:, of].tolist() == qualities(kind, w)
    assert trace.cost[:, of].tolist() == dollars(kind, w)
    assert trace.column("prompt") == w.texts
    timed = kind in ("promptfoo", "llmrouter", "litellm", "langfuse", "helicone")
    assert (trace.latency is not None) == timed
    if trace.latency is not None:
        assert trace.latency.tolist() == [[x / 1000.0 for x in row] for row in w.milliseconds]
    assert not any(name in trace.columns for name in ("oracle_model_to_route_to", "target", "ground_truth"))


@pytest.mark.parametrize("kind", ["routerbench", "promptfoo", "llmrouter", "lm-eval", "alpaca-eval"])
def test_a_fit_on_the_import_is_that_on_the_plain_table(kind: str, tmp_path: pathlib.Path) -> None:
    w = forms.world(2, 80)
    trace = imported(kind, w, tmp_path, name="table")
    plain = {**w.columns(), "models": [forms.folder_of(m) for m in w.models] if kind == "lm-eval" else w.models}
    plain.update(prompts=trace.prompts, quality=qualities(kind, w), cost=dollars(kind, w))
    given = {"routerbench": ("eval_name", "mmlu"), "llmrouter": ("task", "gsm8k"), "lm-eval": ("task", "made_up")}
    if kind in given:
        plain["columns"] = {**plain["columns"], given[kind][0]: [given[kind][1]] * len(w.texts)}
    if kind in ("routerbench", *BY_CHARACTERS):
        del plain["latency"]
    table = pandora.Trace(plain, name="table").select(trace.models)
    first, second = (
        pandora.Cascade.fit(one, price=20.0, evaluator="quality", context=["text:4"], kind="routed")
        for one in (trace, table)
    )
    first.save(tmp_path / "a.json")
    second.save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_writes_what_python_has(kind: str, tmp_path: pathlib.Path, capsys: Output) -> None:
    w = forms.world(1)
    source, given = WRITERS[kind](w, tmp_path), options_of(kind, w, tmp_path)
    words = ["import", kind, source, "--out", str(tmp_path / "out.jsonl")]
    if "prices" in given:
        prices = "".join(f"{json.dumps(name)} = {list(pair)}\n" for name, pair in given["prices"].items())
        (tmp_path / "prices.toml").write_text(prices)
        words += ["--prices", str(tmp_path / "prices.toml")]
    words += ["--quality", given["quality"]] if "quality" in given else []
    words += ["--characters-per-token", "3"] if kind in BY_CHARACTERS else []
    assert run(*words) == 0
    said = capsys.readouterr()
    assert f"{len(w.texts)} prompts in {tmp_path / 'out.jsonl'}\n" in said.out
    trace = pandora.Trace.from_export(kind, source, **given)
    assert pandora.Trace(tmp_path / "out.jsonl").digest == trace.digest
    assert said.err == "".join(f"pandora: {note}\n" for note in trace.notes)
    assert run(*words) == 2 and "out.jsonl" in capsys.readouterr().err  # the file exists
    assert run(*words, "--force", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["answers"] == len(w.cells())
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "routerbench"])
def test_a_table_that_is_an_export_is_told_the_command(kind: str, tmp_path: pathlib.Path, capsys: Output) -> None:
    w = forms.world(0, 3)
    source = WRITERS[kind](w, tmp_path)
    files = [source, *(str(path) for path in pathlib.Path(source).rglob("*.jsonl"))]
    for file in files:
        assert run("trace", "check", file) == 3
        told = capsys.readouterr().err
        command = f"pandora import {kind} {shlex.quote(file)} --out table.jsonl"
        assert f"{file}: looks like {kind}: {command}; it has " in told
        with pytest.raises(pandora.DataError, match=f"looks like {kind}"):
            pandora.Trace(file)
    packed = tmp_path / f"{'samples_x' if kind == 'lm-eval' else 'packed'}.jsonl.gz"
    packed.write_bytes(gzip.compress(pathlib.Path(files[-1]).read_bytes()))
    assert recognised(str(packed)).startswith(f"{packed}: looks like {kind}: ")


def test_tables_are_read_and_refused_as_they_were(tmp_path: pathlib.Path) -> None:
    w = forms.world(1)
    trace = pandora.Trace(forms.routerbench(w, tmp_path))
    assert trace.quality.tolist() == w.quality
    row = {"prompt_id": "a", "provider": "x", "latencyMs": 3, "model": "m", "quality": 7, "cost": 1}
    with pytest.raises(pandora.DataError, match="quality"):
        pandora.Trace(forms.lines(tmp_path / "bad.jsonl", [row]))
    assert recognised(str(tmp_path / "nothing")) == ""
    os.mkfifo(tmp_path / "pipe")
    assert recognised(str(tmp_path / "pipe")) == ""  # it does not wait for the pipe
    with pytest.raises(pandora.DataError, match="no such regular file"):
        pandora.Trace.from_export("promptfoo", tmp_path / "pipe")


def test_a_pickle_is_not_read(tmp_path: pathlib.Path, capsys: Output) -> None:
    pandas = pytest.importorskip("pandas")
    file = tmp_path / "routerbench_0shot.pkl"
    frame = pandas.read_csv(forms.routerbench(forms.world(1), tmp_path))
    frame.to_pickle(file)
    with pytest.raises(pandora.DataError, match=r"is a pickle, .*pandas.read_pickle\(.*to_csv\(.*0shot.csv"):
        pandora.Trace.from_export("routerbench", file)
    assert run("trace", "check", str(file)) == 3
    assert "looks like routerbench: pandora import routerbench" in capsys.readouterr().err


def test_parquet_of_langfuse(tmp_path: pathlib.Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    w = forms.world(3)
    source = pathlib.Path(forms.langfuse(w, tmp_path))
    plain = pandora.Trace.from_export("langfuse", source)
    for name, times in (("observations", ["start_time", "end_time"]), ("scores", [])):
        frame = pandas.DataFrame(map(json.loads, (source / f"{name}.jsonl").read_text().splitlines()))
        frame[times] = frame[times].apply(pandas.to_datetime)
        (source / f"{name}.jsonl").unlink()
        frame.to_parquet(source / f"{name}.parquet")
    assert pandora.Trace.from_export("langfuse", source).digest == plain.digest
    file = source / "observations.parquet"
    with pytest.raises(pandora.DataError, match="looks like langfuse: pandora import langfuse "):
        pandora.Trace(file)


def test_parquet_of_routerbench(tmp_path: pathlib.Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    source = forms.routerbench(forms.world(3), tmp_path)
    pandas.read_csv(source).to_parquet(tmp_path / "wide.parquet")
    trace = pandora.Trace.from_export("routerbench", tmp_path / "wide.parquet")
    assert trace.digest == pandora.Trace.from_export("routerbench", source).digest


def lm_record(doc: int, filter: str, right: float, **more: Any) -> dict[str, Any]:
    arguments = {"gen_args_0": {"arg_0": f"What is {doc} plus {doc}?", "arg_1": {"until": ["\n"]}}}
    record = {"doc_id": doc, "doc": {}, "target": "0", "arguments": arguments, "resps": [["It is 0."]]}
    record.update(filtered_resps=["0"], filter=filter, metrics=["exact_match"], doc_hash=f"{doc:064x}")
    return {**record, "exact_match": right, **more}


PAIR = {"org__small": (1.0, 2.0), "org__large": (10.0, 20.0)}


def lm_folder(folder: pathlib.Path, time: str = "2026-11-20T10-00-00.123456", **more: Any) -> pathlib.Path:
    """Two models, four documents, two filters."""
    right = {("org__small", "strict"): "1001", ("org__large", "strict"): "1110"}
    right.update({("org__small", "flexible"): "1101", ("org__large", "flexible"): "1111"})
    for model in PAIR:
        (folder / model).mkdir(parents=True, exist_ok=True)
        records = [
            lm_record(doc, name, float(right[model, name][doc]), **more)
            for doc in range(4)
            for name in ("strict", "flexible")
        ]
        forms.lines(folder / model / f"samples_made_up_{time}.jsonl", records)
    return folder


def lm_means(folder: pathlib.Path, **options: Any) -> dict[str, float]:
    trace = pandora.Trace.from_export("lm-eval", folder, prices=PAIR, **options)
    return dict(zip(trace.models, trace.quality.mean(axis=0).tolist()))


def test_lm_eval_asks_for_a_filter_and_never_takes_a_mean_over_filters(tmp_path: pathlib.Path, capsys: Output) -> None:
    folder = lm_folder(tmp_path / "results")
    with pytest.raises(pandora.DataError, match=r"several filters \(strict, flexible\); name one by filter$"):
        lm_means(folder)
    assert lm_means(folder, filter="strict") == {"org__small": 0.5, "org__large": 0.75}
    assert lm_means(folder, filter="flexible") == {"org__small": 0.75, "org__large": 1.0}
    with pytest.raises(pandora.DataError, match=r"no dollars and no tokens.* give prices,.*org__large, org__small"):
        pandora.Trace.from_export("lm-eval", folder, filter="strict")
    assert run("import", "lm-eval", str(folder), "--out", str(tmp_path / "t.jsonl")) == 3
    assert "give --prices, a TOML file" in capsys.readouterr().err
    trace = pandora.Trace.from_export("lm-eval", folder, prices=PAIR, filter="strict")
    assert trace.prompts == [f"made_up/{doc}" for doc in range(4)] and trace.column("task") == ["made_up"] * 4
    assert trace.cost[0, 0] == (len("What is 0 plus 0?") / 4 * 10 + len("It is 0.") / 4 * 20) / 1e6
    assert any("4 characters" in note for note in trace.notes)


def test_lm_eval_asks_for_a_metric_of_each_task(tmp_path: pathlib.Path) -> None:
    folder = lm_folder(tmp_path, metrics=["exact_match", "f1"], f1=0.25)
    with pytest.raises(pandora.DataError, match=r"several metrics \(exact_match, f1\); name one by metric$"):
        lm_means(folder, filter="strict")
    with pytest.raises(pandora.DataError, match=r"\) and metrics \(.*\); name one by filter and one by metric$"):
        lm_means(folder)
    assert set(lm_means(folder, filter="strict", metric="f1").values()) == {0.25}
    for model in PAIR:  # a task with one filter and one metric needs no option
        forms.lines(folder / model / "samples_other.jsonl", [lm_record(9, "none", 0.0, metrics=["acc"], acc=0.25)])
    assert set(lm_means(folder, filter="strict", metric="f1").values()) == {0.25}


def test_lm_eval_takes_the_latest_file_and_the_same_documents(tmp_path: pathlib.Path) -> None:
    folder = lm_folder(tmp_path)
    lm_folder(tmp_path, "2026-11-21T10-00-00.123456", exact_match=0.125)
    assert set(lm_means(folder, filter="strict").values()) == {0.125}
    trace = pandora.Trace.from_export("lm-eval", folder, prices=PAIR, filter="strict")
    assert "left out: answers of which there are later ones: 8" in trace.notes
    shutil.rmtree(folder / "org__small")
    (folder / "org__small").mkdir()
    other = [lm_record(doc, "strict", 1.0, doc_hash="f" * 64) for doc in range(4)]
    forms.lines(folder / "org__small" / "samples_made_up_2026-11-22T10-00-00.1.jsonl", other)
    with pytest.raises(pandora.DataError, match="another one than in an earlier file"):
        lm_means(folder, filter="strict")


def test_lm_eval_counts_the_characters_of_every_choice(tmp_path: pathlib.Path) -> None:
    (tmp_path / "m").mkdir()
    arguments = {"gen_args_0": {"arg_0": "abcd", "arg_1": " x"}, "gen_args_1": {"arg_0": "abcd", "arg_1": " yy"}}
    record = lm_record(0, "none", 1.0, arguments=arguments, resps=[[[-1.5, True]], [[float("-inf"), False]]])
    forms.lines(tmp_path / "m" / "samples_a_2026-11-20T10-00-00.1.jsonl", [record])
    trace = pandora.Trace.from_export("lm-eval", tmp_path, prices={"m": (2e6, 5e6)}, characters_per_token=1)
    assert trace.cost.tolist() == [[26.0]] and trace.column("prompt") == ["abcd"]


def foo(test: int, model: str, score: float, **more: Any) -> dict[str, Any]:
    record = {"testIdx": test, "provider": {"id": model, "label": ""}, "prompt": {"raw": f"q{test}", "label": "t"}}
    return {**record, "score": score, "success": score == 1, "failureReason": 0, "cost": 1e-5, "latencyMs": 640, **more}


def foo_file(folder: pathlib.Path, records: list[dict[str, Any]]) -> str:
    (folder / "results.json").write_text(json.dumps({"evalId": "e", "results": {"results": records}}, indent=2))
    return str(folder / "results.json")


def test_promptfoo_has_seconds_and_leaves_out_failed_calls(tmp_path: pathlib.Path) -> None:
    records = [foo(t, "nano", score) for t, score in enumerate((1, 0, 1))]
    records += [foo(t, "big", score, cost=9e-4, latencyMs=2310) for t, score in enumerate((1, 1, 0.5))]
    error = foo(3, "big", 0, cost=None, failureReason=2, error="429 rate limit", response=None)
    trace = pandora.Trace.from_export("promptfoo", foo_file(tmp_path, [*records, error]))
    assert trace.rows == 3 and trace.models == ["nano", "big"]
    assert trace.quality.mean(axis=0).tolist() == pytest.approx([2 / 3, 5 / 6])
    assert trace.cost[0].tolist() == [1e-5, 9e-4] and trace.latency is not None
    assert trace.latency[0].tolist() == [0.64, 2.31]
    assert trace.notes == ["left out: calls without an answer: 1", "prompts that no model answers: 1 (3)"]
    old = [{k: v for k, v in record.items() if k not in ("testIdx", "failureReason")} for record in [*records, error]]
    for t, record in enumerate(old):
        record.update(vars={"q": t % 3 if t < 6 else 3}, provider=record["provider"]["id"])
    lines = forms.lines(tmp_path / "old.jsonl", old)
    assert pandora.Trace.from_export("promptfoo", lines).quality.tolist() == trace.quality.tolist()


def test_promptfoo_keeps_templates_and_providers_apart(tmp_path: pathlib.Path) -> None:
    records = [
        foo(0, "a", score, prompt={"raw": f"p{template}", "label": template}, provider={"id": "a", "label": label})
        for score, (template, label) in enumerate([("x", ""), ("y", ""), ("x", "hot"), ("y", "hot")])
    ]
    source = foo_file(tmp_path, [{**record, "score": 0.25 * record["score"]} for record in records])
    trace = pandora.Trace.from_export("promptfoo", source)
    assert trace.models == ["a", "a (hot)"] and trace.prompts == ["0", "0#2"]
    assert trace.quality.tolist() == [[0.0, 0.5], [0.25, 0.75]] and trace.column("prompt") == ["px", "py"]
    assert any("prompt templates" in note for note in trace.notes)


def test_promptfoo_without_a_price_is_priced_or_refused(tmp_path: pathlib.Path) -> None:
    response = {"output": "x", "cached": True, "tokenUsage": {"prompt": 20, "completion": 10}}
    source = foo_file(tmp_path, [foo(0, "own", 1, cost=None, response=response)])
    with pytest.raises(pandora.DataError, match=r"neither dollars.*: own \(1\); give prices"):
        pandora.Trace.from_export("promptfoo", source)
    trace = pandora.Trace.from_export("promptfoo", source, prices={"own": (1, 10)})
    assert trace.cost.tolist() == [[120e-6]] and any("cache" in note for note in trace.notes)


def annotation(prompt: int, model: str, preference: Any) -> dict[str, Any]:
    record = {"instruction": f"Say {prompt}", "output_1": "a", "generator_1": "base", "output_2": "abcd"}
    record.update(generator_2=model, dataset="made_up", annotator="judge", preference=preference)
    return {**record, "price_per_example": 0.004, "time_per_example": 1.5}


def test_alpaca_eval_has_preferences_from_1_to_2_and_some_that_are_not_known(tmp_path: pathlib.Path) -> None:
    preferences = {"alpha": (1.0, 2.0, 1.5, None), "beta": (2.0, 2.0, 1.31, 1.5), "gamma": (0, 1, 0, 2)}
    records = [annotation(p, m, x) for m, of in preferences.items() for p, x in enumerate(of)]
    prices = {model: (2e6, 1e6) for model in preferences}
    for results in (tmp_path / "alpha" / "judge", tmp_path / "others" / "judge"):
        results.mkdir(parents=True)
        (results.parent / "model_outputs.json").write_text('[{"instruction": "Say 0", "output": "abcd"}]')
    (tmp_path / "alpha" / "judge" / "annotations.json").write_text(json.dumps(records[:4]).replace("null", "NaN"))
    forms.lines(tmp_path / "others" / "judge" / "annotations.jsonl", records[4:])
    with pytest.raises(pandora.DataError, match=r"no dollars and no tokens, as AlpacaEval logs none; give prices"):
        pandora.Trace.from_export("alpaca-eval", tmp_path)
    trace = pandora.Trace.from_export("alpaca-eval", tmp_path, prices=prices, missing="drop")
    assert trace.models == ["alpha", "beta", "gamma"]
    assert trace.quality.T.tolist() == [[0.0, 1.0, 0.5], [1.0, 1.0, pytest.approx(0.31)], [0.5, 0.0, 0.5]]
    assert trace.cost[0].tolist() == [5 / 4 * 2 + 1] * 3 and trace.column("prompt") == ["Say 0", "Say 1", "Say 2"]
    assert "answers whose quality is not known: 1 of 12" in trace.notes
    assert any("fares against that of base, which is no model of the table" in note for note in trace.notes)
    with export("alpaca-eval", str(tmp_path), Settings(prices=Prices(prices))) as (rows, _):
        assert [of[2] for of in rows.summary()] == pytest.approx([0.5, 0.7025, 0.5])


def test_alpaca_eval_compares_with_one_reference_by_one_annotator(tmp_path: pathlib.Path) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        (
            {"generator_1": "other"},
            r"record 2: has generator_1 other and others base; keep those that can be compared",
        ),
        ({"annotator": 7}, "record 2: has annotator 7 and others judge"),
        ({"preference": 2.5}, r"record 2: has preference 2.5, which is not from 1 to 2"),
        ({"generator_2": None}, "record 2: has no instruction, generator_2 and preference"),
    ]
    for more, told in refused:
        source = forms.lines(tmp_path / "a.jsonl", [annotation(0, "m", 1), {**annotation(1, "m", 1), **more}])
        with pytest.raises(pandora.DataError, match=told):
            pandora.Trace.from_export("alpaca-eval", source, prices={"m": (1, 1)})


def test_a_batch_is_joined_by_custom_id(tmp_path: pathlib.Path) -> None:
    w = forms.world(0, 4)
    source = pathlib.Path(forms.openai_batch(w, tmp_path))
    failed = {"custom_id": "q2", "response": None, "error": {"code": "batch_expired"}}
    for at in range(2):
        answers = [json.loads(line) for line in (source / f"output{at}.jsonl").read_text().splitlines()]
        forms.lines(source / f"output{at}.jsonl", [failed, *(x for x in answers if x["custom_id"] != "q2")])
    with pytest.raises(pandora.DataError, match="no quality, and is of one model; give quality, a file with id"):
        pandora.Trace.from_export("openai-batch", source, prices=forms.PRICES)
    quality = forms.qualities(w, tmp_path)
    with pytest.raises(pandora.DataError, match="give prices"):
        pandora.Trace.from_export("openai-batch", source, quality=quality)
    trace = pandora.Trace.from_export("openai-batch", source, quality=quality, prices=forms.PRICES)
    assert trace.prompts == ["q0", "q1", "q3"]
    assert trace.quality.tolist() == [w.quality[p] for p in (0, 1, 3)]
    assert trace.notes == ["prompts that no model answers: 1 (q2)"]
    other = {"custom_id": "q0", "url": "/v1/chat/completions", "body": {"messages": [{"content": "another"}]}}
    forms.lines(source / "input2.jsonl", [other])
    with pytest.raises(pandora.DataError, match="custom_id q0 asks something else than before"):
        pandora.Trace.from_export("openai-batch", source, quality=quality, prices=forms.PRICES)
    (source / "input2.jsonl").unlink()
    again = {**answers[0], "custom_id": "q2"}  # an expired request, again in another batch
    forms.lines(source / "output9.jsonl", [again])
    trace = pandora.Trace.from_export("openai-batch", source, quality=quality, prices=forms.PRICES, missing="drop")
    assert any("prompts that not every model answers: 1 (q2)" in note for note in trace.notes)


def spend(request: str, model: str, usd: float, **more: Any) -> dict[str, Any]:
    record = {"request_id": request, "call_type": "acompletion", "spend": usd, "model": model, "messages": "{}"}
    record.update(startTime="2026-11-20T10:00:00.000000Z", endTime="2026-11-20T10:00:01.500000Z", status="success")
    return {**record, "prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30, "cache_hit": "False", **more}


def spend_rows(folder: pathlib.Path, records: list[dict[str, Any]], **options: Any) -> tuple[list[Any], list[str]]:
    (folder / "spend.json").write_text(json.dumps(records))
    ids = sorted({record["request_id"] for record in records})
    quality = forms.table(folder / "quality.csv", [["id", "quality"], *([one, 1] for one in ids)])
    with export("litellm", str(folder / "spend.json"), Settings(quality=quality, **options)) as (rows, notes):
        columns = rows.columns()
        return list(zip(*(columns[name] for name in ("prompt_id", "model", "quality", "cost", "latency")))), notes


def test_spend_logs_say_what_they_lack(tmp_path: pathlib.Path) -> None:
    records = [spend("r0", "a", 0.0, cache_hit="True"), spend("r1", "a", 9e-6), spend("r2", "b", 4.5e-6)]
    found, notes = spend_rows(tmp_path, records)
    assert found == [("r1", "a", 1.0, 9e-6, 1.5), ("r2", "b", 1.0, 4.5e-6, 1.5)]
    assert "left out: answers from a cache, which are no calls: 1" in notes
    assert any(note.startswith("no prompt has answers of two models") for note in notes)
    told = (
        r"no quality, and one model a request, .*give quality,.* a spend of 0 is a cache hit's, or of a model without a"
    )
    with pytest.raises(pandora.DataError, match=told):
        pandora.Trace.from_export("litellm", tmp_path / "spend.json")
    with pytest.raises(pandora.DataError, match=r"neither dollars nor .*: own \(1\); give"):
        spend_rows(tmp_path, [*records, spend("r3", "own", 0.0)])


def test_retries_are_one_row_with_all_their_dollars(tmp_path: pathlib.Path) -> None:
    failed = {"status": "failure", "session_id": "s"}
    records = [
        spend("r1", "a", 1e-6, **failed),
        spend("r2", "a", 2e-6, **failed),
        spend("r3", "a", 4e-6, session_id="s"),
        spend("r4", "b", 8e-6, **failed),  # a fallback that failed
        spend("r5", "b", 16e-6, session_id="other"),
    ]
    found, notes = spend_rows(tmp_path, records)
    assert found == [("r3", "a", 1.0, pytest.approx(7e-6), 4.5), ("r5", "b", 1.0, 16e-6, 1.5)]
    assert "calls that were tried again, in one row with all their dollars: 2" in notes
    assert "left out: calls without an answer: 1" in notes
    assert "dollars of calls without an answer, which no row has: 8e-06" in notes
    twice = [spend("r1", "a", 1e-6), spend("r1", "a", 1e-6), spend("r1", "a", 2e-6)]  # a copy, a new attempt
    found, notes = spend_rows(tmp_path, twice)
    assert found == [("r1", "a", 1.0, pytest.approx(3e-6), 3.0)] and "left out: records that stand twice: 1" in notes
    asked = {"messages": [{"role": "user", "content": "same"}]}
    records = [spend(f"r{k}", model, 1e-6, **asked) for k, model in enumerate("aab")]
    found, notes = spend_rows(tmp_path, [*records, spend("r9", "b", 5e-6, status="failure", **asked)])
    assert [row[:2] for row in found] == [("r0", "a"), ("r0", "a"), ("r0", "b")]
    assert found[2][3] == pytest.approx(6e-6)
    assert "further answers of a model to a prompt, as rows of their own (repeats): 1" in notes


def test_langfuse_joins_scores(tmp_path: pathlib.Path) -> None:
    w = forms.world(0, 4)
    source = pathlib.Path(forms.langfuse(w, tmp_path))
    scores = [json.loads(line) for line in (source / "scores.jsonl").read_text().splitlines()]
    forms.lines(source / "scores.jsonl", [*scores, {**scores[0], "name": "tone", "value": 0.5}])
    with pytest.raises(pandora.DataError, match="several scores; name one by metric: accuracy, tone"):
        pandora.Trace.from_export("langfuse", source)
    observations = [json.loads(line) for line in (source / "observations.jsonl").read_text().splitlines()]
    failed = {**observations[0], "id": "first", "level": "ERROR", "total_cost": 0.25}
    forms.lines(source / "observations.jsonl", [failed, *observations])
    trace = pandora.Trace.from_export("langfuse", source, metric="accuracy")
    assert trace.quality.tolist() == w.quality and trace.cost[0, 0] == w.cost[0][0] + 0.25
    for record in observations:  # in a cascade, a trace's score belongs to an unknown model
        record["trace_id"] = record.get("trace_id", "").partition("-")[0]
    forms.lines(source / "observations.jsonl", observations)
    forms.lines(source / "scores.jsonl", [{**score, "observation_id": None, "trace_id": "t0"} for score in scores])
    with pytest.raises(pandora.DataError, match="have no scores called accuracy, and nothing else .*; give quality"):
        pandora.Trace.from_export("langfuse", source)
    (source / "scores.jsonl").unlink()
    with pytest.raises(pandora.DataError, match="have no scores, and nothing else .*; give quality"):
        pandora.Trace.from_export("langfuse", source)


def test_langfuse_prices_tokens(tmp_path: pathlib.Path) -> None:
    record: dict[str, Any] = {"id": "o", "traceId": "t", "type": "GENERATION", "model": "m"}
    record.update(startTime="2026-11-20T10:00:00.5Z", endTime="2026-11-20T11:00:02+01:00")
    record.update(usageDetails={"input": 20, "output": 10, "total": 30})
    (tmp_path / "api.json").write_text(json.dumps({"data": [record], "meta": {}}))
    quality = forms.table(tmp_path / "q.csv", [["id", "quality"], ["o", 0.5]])
    trace = pandora.Trace.from_export("langfuse", tmp_path / "api.json", quality=quality, prices={"m": (1, 10)})
    assert trace.cost.tolist() == [[120e-6]] and trace.latency is not None and trace.latency.tolist() == [[1.5]]


def test_helicone_in_csv(tmp_path: pathlib.Path) -> None:
    header = ["response_id", "response_created_at", "response_status", "request_created_at", "request_body", "model"]
    times = ["2026-11-20T10:00:02.5Z", 200, "2026-11-20T10:00:00Z"]
    rows: list[list[Any]] = [
        [f"r{k}", *times, json.dumps({"messages": [{"content": "same"}]}), model, 0.01 * k]
        for k, model in enumerate("xab")
    ]
    rows[0][2], rows[0][5] = 429, "a"  # a second attempt
    source = forms.table(tmp_path / "output.csv", [[*header, "cost"], *rows])
    with pytest.raises(pandora.DataError, match="have no scores, and nothing else .*; give quality"):
        pandora.Trace.from_export("helicone", source)
    quality = forms.lines(tmp_path / "q.jsonl", [{"id": "r1", "quality": 0.25}, {"id": "r2", "quality": 1}])
    trace = pandora.Trace.from_export("helicone", source, quality=quality)
    assert trace.models == ["a", "b"] and trace.quality.tolist() == [[0.25, 1.0]]
    assert trace.cost.tolist() == [[0.01, 0.02]] and trace.column("prompt") == ["same"]
    assert trace.latency is not None and trace.latency.tolist() == [[5.0, 2.5]]


def test_kinds_are_the_words_of_the_command() -> None:
    assert OPTIONS["export"].words == KINDS


def test_a_full_disk_leaves_what_was_there(tmp_path: pathlib.Path) -> None:
    (tmp_path / "table.jsonl").write_text("before")
    told = pytest.raises(pandora.OutputError, match=r"table.jsonl: could not be written \(No space left")
    with told, write_whole(str(tmp_path / "table.jsonl")):
        raise OSError(28, "No space left on device")
    assert (tmp_path / "table.jsonl").read_text() == "before" and not list(tmp_path.glob("*.partial"))


def test_options_of_other_kinds_are_refused(tmp_path: pathlib.Path, capsys: Output) -> None:
    source = forms.promptfoo(forms.world(0, 2), tmp_path)
    with pytest.raises(pandora.UsageError, match="filter: is not of promptfoo; leave it out; it is of lm-eval"):
        pandora.Trace.from_export("promptfoo", source, filter="x")
    with pytest.raises(pandora.UsageError, match="kind 'promptfu': give one of lm-eval, promptfoo"):
        pandora.Trace.from_export("promptfu", source)
    with pytest.raises(pandora.UsageError, match="characters_per_token 0: give a number above 0"):
        pandora.Trace.from_export("lm-eval", source, characters_per_token=0)
    assert run("import", "promptfoo", source, "--quality", "x.csv", "--out", str(tmp_path / "t.jsonl")) == 2
    assert "--quality: is not of promptfoo" in capsys.readouterr().err
    assert run("import", "promptfu", source) == 2
    assert "kind promptfu: unknown; the nearest is promptfoo; use lm-eval, " in capsys.readouterr().err
    assert run("import", "promptfoo", str(tmp_path / "none"), "--out", str(tmp_path / "t.jsonl")) == 3
    assert "there is no such file or folder" in capsys.readouterr().err
    assert run("import", "promptfoo", source, "--out", source, "--force") == 2  # the output is its own input


def attempt(kind: str, source: str, given: dict[str, Any]) -> int:
    """The number of imported rows, or -1 after one clear error."""
    try:
        return pandora.Trace.from_export(kind, source, missing="drop", **given).rows
    except pandora.Error as error:
        told = str(error)
        assert "\n" not in told and len(told) < 700 and "defect" not in told
        return -1


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere_is_one_error_or_what_was_there(kind: str, tmp_path: pathlib.Path) -> None:
    w = forms.world(0, 4)
    source, given = WRITERS[kind](w, tmp_path), options_of(kind, w, tmp_path)
    file = max(pathlib.Path(source).rglob("*.jsonl"), default=pathlib.Path(source))
    whole = file.read_bytes()
    cuts = {attempt(kind, source, given)}
    assert cuts == {4}
    for at in [*range(0, len(whole), 1 + len(whole) // 60), len(whole) - 1]:
        file.write_bytes(whole[:at])
        cuts.add(attempt(kind, source, given))
    assert -1 in cuts and cuts <= set(range(-1, 5))
    file.write_bytes(whole.replace(b"a", b"\xff", 3))
    assert attempt(kind, source, given) == -1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hostile", ["[", '{"a":', '{"results": ', '[{"a": [', '{"results": {"results": [{"a": [['])
def test_nests_and_blanks(kind: str, hostile: str, tmp_path: pathlib.Path) -> None:
    w = forms.world(0, 4)
    source, given = WRITERS[kind](w, tmp_path), options_of(kind, w, tmp_path)
    file = max(pathlib.Path(source).rglob("*.jsonl"), default=pathlib.Path(source))
    whole = file.read_bytes()
    file.write_text(hostile * 10_000)
    assert attempt(kind, source, given) == -1
    file.write_text(hostile + " " * (3 << 20) + "1")
    assert attempt(kind, source, given) == -1
    if kind != "routerbench":
        file.write_bytes(b" \n" * (1 << 20) + whole + b" \n" * (1 << 20))
        assert attempt(kind, source, given) == 4


def test_a_record_has_a_limit(tmp_path: pathlib.Path) -> None:
    (tmp_path / "long.json").write_text('[{"request_id": "' + "x" * (17 << 20) + '", "spend": 1}]')
    given: dict[str, Any] = {"quality": forms.table(tmp_path / "q.csv", [["id", "quality"]])}
    with pytest.raises(pandora.DataError, match=r"long.json: record 1: is longer than 16 MiB"):
        pandora.Trace.from_export("litellm", tmp_path / "long.json", **given)
    for value in ("NaN", '"seven"', "1e999", "9" * 400, "true"):
        (tmp_path / "one.json").write_text(f'[{{"request_id": "a", "model": "m", "spend": {value}}}]')
        assert attempt("litellm", str(tmp_path / "one.json"), given) == -1
