"""The decisions of a cascade's file for some fixed prompts and scores, computed by the package of the same program."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pandora

TEXTS = ("python function loop compile", "hello story about the weather", "prove the integral of a prime matrix")
SCORES = (0.1, 0.5, 0.9)
PLACES = (-0.6, 0.0, 0.6)  # the values of each feature


def columns_of(features: dict[str, Any], which: int) -> dict[str, Any]:
    """A prompt's columns from which the features are made."""
    out: dict[str, Any] = {}
    for source in features["sources"]:
        if source["kind"] in ("number", "raw", "vector"):
            length = source.get("length", 1)
            numbers = [PLACES[which] * (k + 1) / length for k in range(length)]
            out[source["column"]] = numbers if length > 1 else numbers[0]
        elif source["kind"] == "classes":
            out[source["column"]] = source["classes"][which % len(source["classes"])]
    return out


def walk(cascade: pandora.Cascade, psi: list[float], score: float) -> dict[str, Any]:
    """Calls with estimated qualities, and the deployed model, if the judge gives every answer this score."""
    request = cascade.begin(psi)
    while request.next() is not None:
        request.observe(0.001, score if request.needs_score else ())
    calls = [[call["model"], call["quality"]] for call in request.explain()["calls"]]
    return {"calls": calls, "deployed": request.deploy()}


def probed(path: Path, found: dict[str, Any]) -> dict[str, Any]:
    """`contexts`: psi of three prompts. `walks`: for psi = 1, x, ..., x, the calls and the predictions."""
    warnings.simplefilter("ignore", pandora.PandoraWarning)  # it comes from cascades that see the quality
    cascade = pandora.Cascade.load(path)
    cascade.set_learning(False)
    cascade.set_explore(0.0)
    out: dict[str, Any] = {"walks": {}}
    m = found["index_features"]
    if found["features"]:
        out["contexts"] = [
            cascade.context_of(text, columns_of(found["features"], at)).tolist() for at, text in enumerate(TEXTS)
        ]
        m = len(out["contexts"][0])
    for place in PLACES if m > 1 else (0.0,):
        psi = [1.0] + [place] * (m - 1)
        of: dict[str, Any] = {}
        models = cascade.begin(psi).explain()["models"]
        predicted = {one["model"]: [one["prediction"], one["score"]] for one in models if one["prediction"] is not None}
        if predicted:
            of["predicted"] = predicted
        for score in SCORES if found["kind"] != "router" else SCORES[:1]:
            of[f"score {score:g}"] = walk(cascade, psi, score)
        out["walks"][f"x = {place:g}"] = of
    return out
