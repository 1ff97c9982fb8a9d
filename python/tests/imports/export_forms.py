"""Made-up worlds, and exports of them in the form of each program whose exports are read."""

from __future__ import annotations

import csv
import json
import pathlib
import random
from dataclasses import dataclass
from typing import Any

NAMES = ("openai:gpt-5-nano", "org/large, v2", 'say "hi"', "模型 3")
STARTS = ("Add", "Größe,", "two\nlines", 'q"uote')
#: The dollars for a million tokens in, and for a million tokens out.
PRICES = {name: (0.05 * 7**at, 0.4 * 5**at) for at, name in enumerate(NAMES)}


@dataclass
class World:
    """The answers of models: prompts x models."""

    models: list[str]
    texts: list[str]
    quality: list[list[float]]
    cost: list[list[float]]
    milliseconds: list[list[int]]
    tokens: list[list[tuple[int, int]]]

    def columns(self) -> dict[str, Any]:
        """The columns as pandora.Trace takes them, with these dollars."""
        return {
            "models": self.models,
            "quality": self.quality,
            "cost": self.cost,
            "latency": [[x / 1000.0 for x in row] for row in self.milliseconds],
            "columns": {"prompt": self.texts},
        }

    @property
    def priced(self) -> list[list[float]]:
        """The dollars by the prices of tokens."""
        return [
            [(into * PRICES[m][0] + out * PRICES[m][1]) / 1e6 for m, (into, out) in zip(self.models, row)]
            for row in self.tokens
        ]

    def cells(self) -> list[tuple[int, int]]:
        """All pairs of prompt and model."""
        return [(p, m) for p in range(len(self.texts)) for m in range(len(self.models))]


def world(seed: int, prompts: int = 24) -> World:
    """A world of two to four models, some with odd names. Qualities are 0 and 1, or graded."""
    draw = random.Random(seed)
    models = list(NAMES[: 2 + seed % 3])
    texts = [f"{draw.choice(STARTS)} {p} {draw.random()}" for p in range(prompts)]
    each = [[m for m in range(len(models))] for _ in texts]
    return World(
        models,
        texts,
        [[float(draw.random() < 0.4 + 0.15 * m) if seed % 2 else draw.random() for m in row] for row in each],
        [[draw.random() * 0.001 * 6**m for m in row] for row in each],
        [[draw.randrange(50, 9000) for _ in row] for row in each],
        [[(draw.randrange(5, 900), draw.randrange(1, 400)) for _ in row] for row in each],
    )


def lines(path: pathlib.Path, records: list[dict[str, Any]]) -> str:
    """JSON lines, with one object on each line."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def table(path: pathlib.Path, rows: list[list[Any]]) -> str:
    """A table as CSV."""
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return str(path)


def promptfoo(w: World, folder: pathlib.Path) -> str:
    """The file results.json, with everything that surrounds the results in it."""
    results = [
        {
            "id": f"{p}-{m}",
            "testIdx": p,
            "promptIdx": m,
            "provider": {"id": w.models[m], "label": ""},
            "prompt": {"raw": w.texts[p], "label": "{{q}}"},
            "score": w.quality[p][m],
            "success": w.quality[p][m] >= 0.5,
            "failureReason": 0 if w.quality[p][m] >= 0.5 else 1,
            "error": None if w.quality[p][m] >= 0.5 else "expected something else",
            "cost": w.cost[p][m],
            "latencyMs": w.milliseconds[p][m],
            "response": {"output": "x", "cached": False},
        }
        for p, m in w.cells()
    ]
    whole = {"evalId": "e", "results": {"version": 3, "prompts": [{"raw": "{{q}}"}], "results": results}, "config": {}}
    path = folder / "results.json"
    path.write_text(json.dumps(whole, indent=1))
    return str(path)


def llmrouter(w: World, folder: pathlib.Path) -> str:
    """Routing data, a line for each answer."""
    records = [
        {
            "task_name": "gsm8k",
            "query": w.texts[p],
            "ground_truth": "4",
            "metric": "GSM8K",
            "choices": None,
            "model_name": w.models[m],
            "response": "x",
            "token_num": sum(w.tokens[p][m]),
            "input_tokens": w.tokens[p][m][0],
            "output_tokens": w.tokens[p][m][1],
            "response_time": w.milliseconds[p][m] / 1000.0,
            "performance": w.quality[p][m],
            "embedding_id": p,
        }
        for p, m in w.cells()
    ]
    return lines(folder / "routing.jsonl", records)


def lm_eval(w: World, folder: pathlib.Path) -> str:
    """A folder for each model. As in lm-evaluation-harness, names lose characters that no folder can have."""
    for m, model in enumerate(w.models):
        inside = folder / "results" / folder_of(model)
        inside.mkdir(parents=True)
        records = [
            {
                "doc_id": p,
                "doc": {"question": text},
                "target": "4",
                "arguments": {"gen_args_0": {"arg_0": text, "arg_1": {"until": ["Question:"]}}},
                "resps": [["a" * w.tokens[p][m][1]]],
                "filtered_resps": ["a"],
                "filter": "none",
                "metrics": ["acc"],
                "doc_hash": f"{p:064x}",
                "acc": w.quality[p][m],
            }
            for p, text in enumerate(w.texts)
        ]
        lines(inside / "samples_made_up_2026-11-20T10-00-00.123456.jsonl", records)
    return str(folder / "results")


def folder_of(model: str) -> str:
    """The name of a model's folder, as lm_eval's sanitize_model_name makes it."""
    for char in '"<>:/|\\?*[]':
        model = model.replace(char, "__")
    return model


def alpaca_eval(w: World, folder: pathlib.Path) -> str:
    """A list for each model, compared with the same reference."""
    annotations = [
        {
            "instruction": w.texts[p],
            "output_1": "x",
            "generator_1": "reference",
            "dataset": "helpful_base",
            "output_2": "a" * w.tokens[p][m][1],
            "generator_2": w.models[m],
            "annotator": "judge",
            "preference": 1.0 + w.quality[p][m],
            "price_per_example": 0.004,
            "time_per_example": 1.5,
        }
        for p, m in w.cells()
    ]
    path = folder / "annotations.json"
    path.write_text(json.dumps(annotations, indent=1))
    return str(path)


def openai_batch(w: World, folder: pathlib.Path) -> str:
    """A folder with an input and an output for each model. The output's lines have another order."""
    inside = folder / "batch"
    inside.mkdir()
    asked = [
        {
            "custom_id": f"q{p}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"messages": [{"content": text}]},
        }
        for p, text in enumerate(w.texts)
    ]
    lines(inside / "input.jsonl", asked)
    for m, model in enumerate(w.models):
        answers = [
            {
                "custom_id": f"q{p}",
                "response": {
                    "status_code": 200,
                    "body": {
                        "model": model,
                        "usage": dict(zip(("prompt_tokens", "completion_tokens"), w.tokens[p][m])),
                    },
                },
                "error": None,
            }
            for p in range(len(w.texts))
        ]
        lines(inside / f"output{m}.jsonl", answers[::-1])
    return str(inside)


def qualities(w: World, folder: pathlib.Path, request: str = "q{p}") -> str:
    """A file that joins qualities by id and model."""
    rows = [[request.format(p=p, m=m), w.models[m], repr(w.quality[p][m])] for p, m in w.cells()]
    return table(folder / "quality.csv", [["id", "model", "quality"], *rows])


def _moment(milliseconds: int) -> str:
    return f"2026-11-20T10:{milliseconds // 60000:02}:{milliseconds // 1000 % 60:02}.{milliseconds % 1000:03}000"


def litellm(w: World, folder: pathlib.Path) -> str:
    """Spend logs with stored prompts."""
    records = [
        {
            "request_id": f"r{p}-{m}",
            "call_type": "acompletion",
            "spend": w.cost[p][m],
            "prompt_tokens": 1,
            "completion_tokens": 1,
            "startTime": _moment(0) + "Z",
            "endTime": _moment(w.milliseconds[p][m]) + "Z",
            "model": w.models[m],
            "cache_hit": "False",
            "messages": json.dumps([{"role": "user", "content": w.texts[p]}]),
            "status": "success",
        }
        for p, m in w.cells()
    ]
    path = folder / "spend.json"
    path.write_text(json.dumps(records))
    return str(path)


def langfuse(w: World, folder: pathlib.Path) -> str:
    """Observations and scores. One of the observations is a span."""
    inside = folder / "langfuse"
    inside.mkdir()
    observations = [
        {
            "id": f"o{p}-{m}",
            "trace_id": f"t{p}-{m}",
            "type": "GENERATION",
            "start_time": _moment(0).replace("T", " "),
            "end_time": _moment(w.milliseconds[p][m]).replace("T", " "),
            "level": "DEFAULT",
            "input": w.texts[p],
            "provided_model_name": w.models[m],
            "total_cost": w.cost[p][m],
            "latency": w.milliseconds[p][m],
        }
        for p, m in w.cells()
    ]
    lines(inside / "observations.jsonl", [*observations, {"id": "s", "trace_id": "t0-0", "type": "SPAN"}])
    scores = [
        {
            "id": f"s{p}-{m}",
            "trace_id": f"t{p}-{m}",
            "observation_id": None if m else f"o{p}-{m}",
            "name": "accuracy",
            "value": w.quality[p][m],
            "data_type": "NUMERIC",
        }
        for p, m in w.cells()
    ]
    lines(inside / "scores.jsonl", scores)
    return str(inside)


def helicone(w: World, folder: pathlib.Path) -> str:
    """Requests with bodies and a score."""
    records = [
        {
            "request_id": f"r{p}-{m}",
            "request_created_at": _moment(0) + "Z",
            "response_created_at": _moment(10) + "Z",
            "response_status": 200,
            "request_model": w.models[m],
            "delay_ms": w.milliseconds[p][m],
            "cost": w.cost[p][m],
            "scores": {"accuracy": w.quality[p][m]},
            "request_body": {"messages": [{"role": "user", "content": w.texts[p]}]},
        }
        for p, m in w.cells()
    ]
    return lines(folder / "helicone.jsonl", records)


def routerbench(w: World, folder: pathlib.Path) -> str:
    """The wide table as pandas writes it."""
    parts = [part for model in w.models for part in (model, f"{model}|model_response", f"{model}|total_cost")]
    rows: list[list[Any]] = [["sample_id", "prompt", "eval_name", *parts, "oracle_model_to_route_to"]]
    for p, text in enumerate(w.texts):
        cells = [x for m in range(len(w.models)) for x in (repr(w.quality[p][m]), "x", repr(w.cost[p][m]))]
        rows.append([f"mmlu.{p}", text, "mmlu", *cells, w.models[0]])
    return table(folder / "routerbench.csv", rows)
