"""Tables of outcomes from files, data frames and arrays."""

from __future__ import annotations

import decimal
import gzip
import json
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pandora


def made_up(rows: int = 200, seed: int = 3) -> dict[str, Any]:
    world = np.random.default_rng(seed)
    quality = np.clip(np.array([0.6, 0.75, 0.9]) + 0.15 * world.standard_normal((rows, 3)), 0, 1).round(3)
    return {
        "models": ["small", "middle", "large"],
        "quality": quality,
        "cost": np.array([0.0005, 0.004, 0.02]) * (1 + world.random((rows, 3)).round(3)),
        "scores": {"score": np.clip(quality + 0.05 * world.standard_normal((rows, 3)), 0, 1).round(3)},
        "prompts": [f"p{k}" for k in range(rows)],
        "columns": {"prompt": [f"question {k % 50} of {k}" for k in range(rows)], "size": np.arange(rows) / 7.0},
    }


def long_file(path: pathlib.Path, table: dict[str, Any]) -> str:
    with path.open("w") as file:
        for k, name in enumerate(table["prompts"]):
            for m, model in enumerate(table["models"]):
                row = {
                    "prompt_id": name,
                    "model": model,
                    "quality": table["quality"][k, m],
                    "cost": table["cost"][k, m],
                    "score": table["scores"]["score"][k, m],
                    "prompt": table["columns"]["prompt"][k],
                    "size": table["columns"]["size"][k],
                }
                file.write(json.dumps(row) + "\n")
    return str(path)


def test_arrays_and_a_file_of_the_same_content_are_the_same_table(tmp_path: pathlib.Path) -> None:
    table = made_up()
    of_arrays, of_file = pandora.Trace(table), pandora.Trace(long_file(tmp_path / "t.jsonl", table))
    assert of_arrays.digest == of_file.digest
    assert of_file.models == table["models"]
    np.testing.assert_array_equal(of_file.quality, table["quality"])
    np.testing.assert_array_equal(of_file.scores["score"], table["scores"]["score"])
    assert of_file.column("prompt")[7] == "question 7 of 7"
    np.testing.assert_array_equal(of_file.column("size"), table["columns"]["size"])


def test_data_frames_in_both_forms_are_the_same_table(tmp_path: pathlib.Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = made_up()
    wanted = pandora.Trace(table).digest
    long = pandas.read_json(long_file(tmp_path / "t.jsonl", table), lines=True, precise_float=True)
    assert pandora.Trace(long).digest == wanted
    assert pandora.Trace({key: long[key].tolist() for key in long}).digest == wanted
    with pytest.raises(pandora.UsageError, match="columns of a long table have other lengths"):
        pandora.Trace({"prompt_id": ["a"], "model": ["m", "n"], "quality": [1, 1], "cost": [1, 1]})
    wide = pandas.DataFrame({"prompt_id": table["prompts"], **table["columns"]})
    for m, model in enumerate(table["models"]):
        wide[model] = table["quality"][:, m]
        wide[f"{model}|total_cost"] = table["cost"][:, m]
        wide[f"{model}|score"] = table["scores"]["score"][:, m]
    assert pandora.Trace(wide).digest == wanted
    assert pandora.Trace(long.set_index(["prompt_id", "model"])).digest == wanted  # a groupby leaves such an index
    assert pandora.Trace(wide.set_index("prompt_id").convert_dtypes()).digest == wanted
    assert pandora.Trace(long.astype({"prompt_id": "category", "model": "category"})).digest == wanted
    ids = wide.assign(prompt_id=np.arange(200.0))  # pandas makes floats of whole numbers if one is missing
    assert pandora.Trace(ids).prompts == [str(k) for k in range(200)]


def test_data_frames_are_refused_in_the_words_of_files() -> None:
    pandas = pytest.importorskip("pandas")
    table = made_up(6)
    wide = pandas.DataFrame({"prompt_id": table["prompts"]})
    for m, model in enumerate(table["models"]):
        wide[model], wide[f"{model}|cost"] = table["quality"][:, m], table["cost"][:, m]
    long = pandas.DataFrame(
        {"prompt_id": ["a", "a", "b", "b"], "model": ["m", "n"] * 2, "quality": [0.5] * 4, "cost": [0.1] * 4}
    )
    date, texts = pandas.Timestamp(2026, 1, 1), wide["small"].astype(str)
    refused: list[tuple[Any, str]] = [
        (pandas.concat([long, long]), 'row 5, column "quality": model "m" has a quality for the prompt "a" already'),
        (long.drop(columns="model"), "is no table in a known form: its header is prompt_id,quality,cost"),
        (long.drop(columns="cost"), "a column cost is missing"),
        (long.assign(cost="dear"), 'row 1, column "cost": "dear" is not a number'),
        (long.assign(quality=[[0.5]] * 4), 'row 1, column "quality": a list is not a number'),
        (long.assign(reward=0.5), "has two columns of qualities or costs"),
        (long.assign(prompt_id=["a", "a", None, None]), "row 3: the prompt has no name"),
        (long.assign(prompt_id=[0.5, 0.5, 1, 1]), 'row 1, column "prompt_id": is neither a text nor a whole number'),
        (long.assign(prompt_id=[[1]] * 4), 'row 1, column "prompt_id": is neither a text nor a whole number'),
        (long.assign(model=["m", None] * 2), "row 2: a model has no name"),
        (long.assign(prompt=["x", "y", "z", "z"]), 'column "prompt" differs between rows of the same prompt'),
        (long.iloc[:0], "has no row"),
        (wide.iloc[:0], "has no row"),
        (pandas.DataFrame(), "is no table in a known form"),
        (wide.assign(small=texts), r'row 1, column "small": "0\.\d+" is not a number'),
        (
            wide.assign(**{"small|cost": pandas.array([1, None, 1, 1, 1, 1], dtype="Int64")}),
            "1 of 6 prompts lack a cell.*p1.*small",
        ),
        (wide.assign(**{"small|total_cost": 1.0}), 'model "small" has two columns of costs'),
        (wide.assign(**{"small|score": 0.5}), 'no score of model "middle"'),
        (wide.assign(**{"huge|cost": 0.5}), 'column "huge|cost" has no column "huge" of qualities'),
        (wide.assign(size=[1.0, np.inf, 3, 4, 5, 6]), 'column "size", prompt "p1": inf is not finite'),
        (pandas.concat([wide, wide[["small"]]], axis=1), 'column "small" stands twice'),
        (wide.rename(columns={"small": 0, "small|cost": "0|cost"}).assign(**{"large": 2.0}), 'column "large": 2'),
    ]
    for frame, told in refused:
        with pytest.raises(pandora.DataError, match=told):
            pandora.Trace(frame)
    usage: list[tuple[Any, str]] = [
        (wide.assign(when=date), "column when, row 1: Timestamp.*give a number, a text or a list"),
        (wide.assign(**{"small|cost": pandas.to_timedelta(1, unit="us")}), r"column small\|cost, row 1: Timedelta"),
        (wide.assign(small=0.5 + 1j), r"column small, row 1: \(0.5\+1j\): give a number"),
        (wide.assign(v=[{"a": 1}] * 6), "column v, row 1: {'a': 1}: give a number"),
        (wide.set_axis(pandas.Index(["\udcff", *wide.columns[1:]], dtype=object), axis=1), "a column.*surrogate"),
    ]
    for frame, told in usage:
        with pytest.raises(pandora.UsageError, match=told):
            pandora.Trace(frame)
    several = pandora.Trace(long.assign(v=[[1, 2]] * 4, n=range(4)))
    assert several.columns == ["v"] and several.notes == [
        'column "n" differs between rows of the same prompt: it belongs to the answers and is left out '
        "(a judge's scores are called score, score_NAME or score:NAME)"
    ]


def test_frames_among_arrays_are_not_taken_by_place_against_their_labels() -> None:
    pandas = pytest.importorskip("pandas")
    table = made_up(6)
    quality, cost = (pandas.DataFrame(table[what], columns=table["models"]) for what in ("quality", "cost"))
    size = pandas.Series(np.arange(6.0))
    assert pandora.Trace({**table, "quality": quality, "cost": cost}).digest == pandora.Trace(table).digest
    with pytest.raises(pandora.DataError, match="columns of cost are large, middle, small, and models small, middle"):
        pandora.Trace({**table, "quality": quality, "cost": cost[["large", "middle", "small"]]})
    for change in ({"cost": cost[::-1]}, {"columns": {"size": size[::-1]}}, {"prompts": size.astype(str)[::-1]}):
        with pytest.raises(pandora.DataError, match=r"the rows of quality and of \w+ have other labels \(index\)"):
            pandora.Trace({**table, "quality": quality, **change})


def test_parquet_is_read_or_refused_in_one_sentence(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    for address in ("http://127.0.0.1:9/t.parquet", "s3://bucket/t.pq", "file:///t.parquet", "https://a/t.csv"):
        with pytest.raises(pandora.UsageError, match="is an address, and nothing here opens a connection"):
            pandora.Trace(address)
    for path in (tmp_path / "absent.parquet", tmp_path):
        with pytest.raises(pandora.DataError, match="cannot be read|is a folder without files"):
            pandora.Trace(path if path != tmp_path else f"{tmp_path}/../{tmp_path.name}")
    folder = tmp_path / "folder.parquet"
    folder.mkdir()
    with pytest.raises(pandora.DataError, match="folder.parquet: cannot be read"):
        pandora.Trace(folder)
    file = tmp_path / "t.parquet"
    file.write_text("hello")

    def read(error: BaseException) -> Any:
        def fail(source: Any) -> Any:
            assert source.read() == b"hello"  # an open file has no name that could be an address
            raise error

        return fail

    for error, kind, told in (
        (ValueError("no magic\nbytes"), pandora.DataError, "is no Parquet file .*ValueError: no magic bytes"),
        (OSError("corrupt"), pandora.DataError, r"cannot be read \(corrupt\)"),
        (ImportError("pyarrow"), pandora.UsageError, "takes pandas and pyarrow"),
        (MemoryError(), pandora.ResourceError, "more memory"),
    ):
        monkeypatch.setattr(pandas, "read_parquet", read(error))
        with pytest.raises(kind, match=told):
            pandora.Trace(file)


def test_parquet_files_are_the_frames_that_they_hold(tmp_path: pathlib.Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"prompt_id": ["a", "b"], "m": [0.5, 1.0], "m|cost": [0.1, 0.2]})
    frame.set_index("prompt_id").to_parquet(tmp_path / "t.parquet")
    assert pandora.Trace(tmp_path / "t.parquet").digest == pandora.Trace(frame).digest
    (tmp_path / "t.pq").write_text("PAR1")
    with pytest.raises(pandora.DataError, match="t.pq: is no Parquet file"):
        pandora.Trace(tmp_path / "t.pq")


def test_judges_have_any_name() -> None:
    table = made_up(20)
    score = table["scores"]["score"]
    trace = pandora.Trace({**table, "scores": {"gpt4": score, "quality": score / 2, "score_2": score}})
    assert list(trace.scores) == ["score:gpt4", "score:quality", "score_2"]
    np.testing.assert_array_equal(trace.scores["score:quality"], score / 2)
    np.testing.assert_array_equal(trace.quality, table["quality"])
    assert trace.check(evaluator="score:gpt4").verdicts
    with pytest.raises(pandora.DataError, match='"score:gpt4" is given twice'):
        pandora.Trace({**table, "scores": {"gpt4": score, "score:gpt4": score}})


def test_what_is_wrong_with_a_cell_is_said() -> None:
    table = made_up(20)
    table["quality"][4, 1] = 1.5
    with pytest.raises(pandora.DataError, match="row 5.*middle.*quality.*1.5"):
        pandora.Trace(table)
    table["quality"][4, 1] = np.nan
    assert "the quality of 1 of 60 answers is not known" in pandora.Trace(table).notes
    assert pandora.Trace(table, missing="drop").rows == 19
    table["cost"][7, 2] = table["quality"][7, 2] = np.nan  # a failed call, and a missing label
    assert pandora.Trace(table, missing="drop").rows == 18
    failed = pandora.Trace(table, missing="failed")
    assert failed.rows == 19 and "the quality of 1 of 57 answers is not known" in " ".join(failed.notes)
    table["quality"][7, 2] = table["cost"][7, 2] = 0.5
    table["quality"][4, 1], table["cost"][4, 1] = 0.5, np.nan
    with pytest.raises(pandora.DataError, match="1 of 20 prompts lack a cell"):
        pandora.Trace(table)
    with pytest.raises(pandora.UsageError, match="needs models, quality and cost; cost is not there"):
        pandora.Trace({"models": ["a"], "quality": [[0.5]]})
    with pytest.raises(pandora.DataError, match=r"absent\.csv"):
        pandora.Trace("absent.csv")
    with pytest.raises(pandora.DataError, match='"quality" is 1 x 1; give .* the 1 prompts .* the 2 models'):
        pandora.Trace({"models": ["a", "b"], "quality": [[0.5]], "cost": [[0.5]]})
    with pytest.raises(pandora.DataError, match='"a" is given twice'):
        pandora.Trace({"models": ["a", "a"], "quality": [[0.5, 0.5]], "cost": [[0.5, 0.5]]})


def test_what_is_masked_is_missing_and_parts_and_texts_are_no_numbers() -> None:
    table = made_up(20)
    quality, mask = table["quality"], np.zeros((20, 3), dtype=bool)
    mask[6, 2] = True
    masked = np.ma.masked_array(quality, mask=mask)
    for hidden in (masked, [np.ma.masked_array(q, mask=m) for q, m in zip(quality, mask)], masked.astype(object)):
        assert np.isnan(pandora.Trace({**table, "quality": hidden}).quality[6, 2])
    assert pandora.Trace({**table, "quality": masked}, missing="drop").rows == 19
    assert pandora.Trace({**table, "quality": masked}, models=["small"]).rows == 20  # other cells do not matter
    objects = quality.astype(object)
    objects[4, 1] = None
    assert np.isnan(pandora.Trace({**table, "quality": objects}).quality[4, 1])
    for value in ("0.5", 0.5 + 0.5j, 10**400, b"1", decimal.Decimal("sNaN"), pandora):
        objects[4, 1] = value
        with pytest.raises(pandora.DataError, match='row 5, column "middle > quality": .* is not a number'):
            pandora.Trace({**table, "quality": objects})
    objects[4, 1] = decimal.Decimal("0.25")
    assert pandora.Trace({**table, "quality": objects}).quality[4, 1] == 0.25
    for cost in (table["cost"] + 1j, table["cost"].astype(str), table["cost"].astype("m8[s]")):
        with pytest.raises(pandora.DataError, match="cost holds .* in place of numbers"):
            pandora.Trace({**table, "cost": cost})
    trace = pandora.Trace({**table, "columns": {"n": np.ma.masked_array(np.arange(20.0), mask=mask[:, 2])}})
    assert np.isnan(trace.column("n")[6])
    bad: list[Any] = [np.complex64(5), np.ma.masked, np.array("5"), np.timedelta64(5, "s")]
    for price in bad:
        with pytest.raises(pandora.UsageError, match="price .*: give a number"):
            trace.check(price=price)
    cascade = pandora.Cascade.new(["small", "large"], price=2.0, evaluator="score", psi=2)
    with pytest.raises(pandora.UsageError, match="psi .*: give a list of numbers"):
        cascade.begin(np.ma.masked_array([1.0, 2.0], mask=[False, True]))
    with pytest.raises(pandora.UsageError, match="rows: some are masked"):
        trace.take(np.ma.masked_array([True] * 20, mask=mask[:, 2]))


def test_columns_and_names_of_arrays() -> None:
    table = made_up(3)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"columns": {"v": [[]] * 3}}, 'row 1, column "v": is an empty list'),
        ({"columns": {"v": [1, np.inf, 2]}}, 'column "v", prompt "p1": inf is not finite'),
        ({"columns": {"v": [[1, 2], [1, np.nan], [1, 2]]}}, 'column "v", prompt "p1": nan is not finite'),
        ({"columns": {"v\0w": [1]}}, r'column "v\\x00w" has 1 values for 3 prompts'),
        ({"columns": {"v": ["a"] * 4}}, 'column "v" has 4 values for 3 prompts'),
        ({"prompts": ["a"]}, "prompts has 1 values for 3 prompts"),
        ({"prompts": ["a", None, "b"]}, "row 2: the prompt has no name"),
        ({"prompts": [1.0, 2.0, np.nan]}, "row 3: the prompt has no name"),
        ({"prompts": np.ma.masked_array(["a", "b", "c"], mask=[False, True, False])}, "row 2: the prompt has no name"),
        ({"prompts": [2**60, 2**60 + 1, 2**60]}, f"row 3, whose name is that of row 1.*{2**60}"),
        ({"models": ["small", "", "large"]}, "a model has no name"),
    ]
    for change, told in refused:
        with pytest.raises(pandora.DataError, match=told):
            pandora.Trace({**table, **change})
    with pytest.raises(pandora.UsageError, match="prompts, row 1: b'x': give"):
        pandora.Trace({**table, "prompts": [b"x", b"y", b"z"]})
    with pytest.raises(pandora.DataError, match=r'has no column "v\\x00w"'):
        pandora.Trace(table).column("v\0w")
    for wrong in ("t.csv\0.csv", ""):
        with pytest.raises(pandora.UsageError, match=r"the path of a file, which is not empty and has no U\+0000"):
            pandora.Trace(wrong)


def test_check_says_what_routing_pays() -> None:
    check = pandora.Trace(made_up()).check(price=[2.0, 20.0])
    assert len(check.verdicts) == 2
    assert all("routing can pay" in verdict or "no cascade" in verdict for verdict in check.verdicts)
    assert "best single" in repr(check)
    with pytest.raises(pandora.UsageError, match='evaluator="judge": unknown'):
        pandora.Trace(made_up()).check(evaluator="judge")


def test_parts_of_a_table() -> None:
    trace = pandora.Trace(made_up())
    first, second = trace.split(0.25)
    assert first.rows + second.rows == trace.rows
    assert set(first.prompts).isdisjoint(second.prompts)
    assert trace.select(["large", "small"]).models == ["large", "small"]
    assert trace.take([5, 3]).prompts == ["p5", "p3"]
    with pytest.raises(pandora.UsageError, match="has no row 200"):
        trace.take([200])


def test_rows_are_numbers_or_a_mask() -> None:
    trace = pandora.Trace(made_up())
    mask = np.zeros(200, dtype=bool)
    mask[[3, 5]] = True
    assert trace.take(mask).prompts == trace.take(mask.tolist()).prompts == ["p3", "p5"]
    assert trace.take(range(2)).prompts == trace.take(np.arange(2)).prompts == ["p0", "p1"]
    assert trace.take(iter([4])).prompts == ["p4"]  # type: ignore[arg-type]
    refused: list[tuple[Any, str]] = [
        (mask[:100], r"a mask of shape \(100,\) for 200 rows"),
        ([1.5], r"rows \[1.5\]: give a list of whole numbers"),
        ([-1], "row -1: rows are counted from 0 on; the last is 199"),
        (["1"], "give a list of whole numbers"),
        ([[1], [2]], "give a list of whole numbers"),
        ([[1], 2], "give a list of whole numbers"),
        (1, "give a list of whole numbers"),
    ]
    for rows, told in refused:
        with pytest.raises(pandora.UsageError, match=told):
            trace.take(rows)


def test_a_part_without_rows_or_models_is_refused() -> None:
    trace = pandora.Trace(made_up())
    nothing: list[Any] = [[], np.zeros(200, dtype=bool), np.array([], dtype=int)]
    for rows in nothing:
        with pytest.raises(pandora.UsageError, match="no rows: a table has at least one"):
            trace.take(rows)
    with pytest.raises(pandora.UsageError, match="no models: give one or more of small, middle, large"):
        trace.select([])
    with pytest.raises(pandora.DataError, match="has 1 rows, too few to split"):
        trace.take([0]).split()


def test_tables_as_services_have_them(tmp_path: pathlib.Path) -> None:
    table = made_up(20)
    cost = np.asarray(table["cost"])
    tokens = {"prompt_tokens": cost * 1e6, "completion_tokens": cost * 0}
    prices = dict.fromkeys(table["models"], (1.0, 2.0))
    score = 1 + 4 * np.asarray(table["quality"])
    trace = pandora.Trace(
        {**{key: table[key] for key in table if key not in ("cost", "scores")}, **tokens, "scores": {"gpt": score}},
        prices=prices,
        scale={"score:gpt": (1, 5)},
    )
    np.testing.assert_allclose(trace.cost, cost, rtol=1e-15)
    np.testing.assert_allclose(trace.scores["score:gpt"], trace.quality, atol=1e-15)
    assert trace.latency is None
    seconds = np.where(cost > cost.mean(), np.nan, 0.5)
    timed = pandora.Trace({**table, "latency": seconds})
    assert timed.latency is not None
    np.testing.assert_array_equal(timed.latency, seconds)
    np.testing.assert_array_equal(timed.take([3]).latency, seconds[3:4])
    free = {**table, "cost": np.where(np.arange(20)[:, None] == 5, 0.0, cost)}
    with pytest.raises(pandora.DataError, match="free_calls"):
        pandora.Trace(free)
    assert pandora.Trace(free, free_calls=True).cost[5].max() == 0
    with pytest.raises(pandora.DataError, match='model "small" has tokens and no cost.*add it to the prices'):
        pandora.Trace({**{key: table[key] for key in table if key != "cost"}, **tokens}, prices={"smal": (1, 2)})
    assert pandora.Trace({**table, **tokens}).notes == ['not used: "prompt_tokens", "completion_tokens"']
    long = tmp_path / "log.csv.gz"
    rows = "".join(f"{p};{m};0.5;{m}\n" for p in range(3) for m in (1, 2, 2, 1))
    long.write_bytes(gzip.compress(f"prompt_id;model;quality;cost\n{rows}".encode()))
    repeated = pandora.Trace(long, repeats=True)
    assert repeated.prompts == ["0", "0", "1", "1", "2", "2"]
    with pytest.raises(pandora.DataError, match="a model answers a prompt once, unless"):
        pandora.Trace(long)
    long.write_bytes(long.read_bytes()[:-9])
    with pytest.raises(pandora.DataError, match="it was cut off"):
        pandora.Trace(long)


def test_arguments_of_another_type_are_usage_errors() -> None:
    trace, table = pandora.Trace(made_up(20)), made_up(20)
    anything: Any = pandora.Trace
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: anything(None), "Trace: None: give a path, a data frame of pandas or a dict"),
        (lambda: anything(trace), "give a path, a data frame of pandas or a dict"),
        (lambda: anything(table, models="small"), "Trace: models 'small': give a list of texts"),
        (lambda: anything(table, models=[1]), "Trace: models 1: give a text"),
        (lambda: anything(table, missing=None), "Trace: missing None: give a text"),
        (lambda: anything(table, scale=5), 'Trace: scale 5: give a dict such as {"score": '),
        (lambda: anything(table, scale={"score": 5}), "Trace: scale: score 5: give two numbers"),
        (lambda: anything(table, scale={"score": (5, 1)}), "scale score=5:1: is no range"),
        (lambda: anything(table, prices={1: (5, 1)}), "prices: the name 1: give a text"),
        (lambda: anything(table, prices={"small": (-5, 1)}), "prices: -5 of model"),
        (lambda: anything(table, free_calls="yes"), "Trace: free_calls 'yes': give True or False"),
        (lambda: anything({**table, "models": [1, 2, 3]}), "Trace: models 1: give a text"),
        (lambda: anything({**table, "models": "abc"}), "Trace: models 'abc': give a list of texts"),
        (lambda: anything({**table, "models": ["a", "b", "\ud800"]}), "surrogate pair at character 0"),
        (lambda: anything({**table, "prompts": "p"}), "prompts 'p': give a list with a value"),
        (lambda: anything({**table, "columns": ["size"]}), "give a dict with a list for each column"),
        (lambda: anything({**table, "columns": {"size": "abc"}}), "column size 'abc': give a list"),
        (lambda: anything({**table, "columns": {"size": [{}] * 20}}), "column size, row 1: {}: give a number, a text"),
        (lambda: anything({**table, "columns": {"prompt": ["a\udc00"] * 20}}), "row 1:.*surrogate pair at character 1"),
        (lambda: anything("\udc00.csv"), "surrogate pair"),
        (lambda: trace.select("small"), "models 'small': give a list of texts"),
        (lambda: trace.split("a"), "share 'a': give a number"),  # type: ignore[arg-type]
        (lambda: trace.check(price="1"), "price '1': give a number"),  # type: ignore[arg-type]
        (lambda: trace.check(price=[]), "no price: give one or more"),
        (lambda: trace.column(1), "name 1: give a text"),  # type: ignore[arg-type]
    ]
    for call, told in refused:
        with pytest.raises(pandora.UsageError, match=told):
            call()
    matrices: list[Any] = [[["0.5"] * 3] * 20, [[0.5], [0.5, 0.1]], [[{}] * 3] * 20]
    for quality in matrices:
        with pytest.raises(pandora.DataError, match="quality"):
            pandora.Trace({**table, "quality": quality})


def test_cells_of_numpy_are_those_of_python() -> None:
    table = made_up(20)
    table["columns"] = {"n": list(np.arange(20)), "v": [np.arange(2, dtype=np.float32)] * 20, "b": [True] * 20}
    trace = pandora.Trace(table)
    np.testing.assert_array_equal(trace.column("n"), np.arange(20))
    np.testing.assert_array_equal(trace.column("v")[3], [0, 1])
    np.testing.assert_array_equal(trace.column("b"), np.ones(20))
