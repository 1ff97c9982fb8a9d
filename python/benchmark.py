"""What the package costs: lanes in Python, reading results, the calls of a store (make python-bench).

usage: benchmark.py [lanes] [reading] [stores]
"""

from __future__ import annotations

import contextlib
import gc
import pathlib
import resource
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Callable, ClassVar, Optional

import numpy as np
import pytest

import pandora
import pandora.serving
from pandora.serving import Store

tests = pathlib.Path(__file__).parent / "tests"
sys.path[:0] = [str(tests), str(tests / "serving" / "database")]
import database_fixtures  # noqa: E402
from test_policies import DowTwin  # noqa: E402

STUDY: dict[str, Any] = {
    "replications": 1,
    "T0": [0],
    "environments": ["uniform"],
    "regimes": ["A"],
    "hyperparameters": {"c_rho": [0.1], "c_theta": [0.1]},
    "oracle": {"samples": 2000},
    "output": {"order": False, "hdf5": False},
}


class Nothing(pandora.Policy):
    """The five calls."""

    is_open = False

    def begin(self, request: pandora.Request) -> None:
        """Nothing is open."""
        self.is_open = False

    def next(self) -> Optional[int]:
        """Box 0."""
        return None if self.is_open else 0

    def opened(self, output: pandora.Output) -> None:
        """It is open."""
        self.is_open = True

    def deploy(self) -> int:
        """It."""
        return 0


class KnownTwin(DowTwin):
    """DOW from the building blocks, the reward known."""

    name = "known_twin"
    rewards: ClassVar[Sequence[str]] = ("known",)
    hyperparameters = {"c_rho": (0.1,), "c_theta": (0.1,)}  # noqa: RUF012


def processor_time(study: dict[str, Any], policies: list[type[pandora.Policy]], repeats: int = 3) -> float:
    """The least processor time of a run, in seconds."""
    least = float("inf")
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            pandora.run(study, out=folder + "/r", policies=policies, threads=1, progress=False)
            least = min(least, time.process_time() - start)
    return least


def lanes() -> None:
    """Microseconds of a lane per period."""
    cases: list[tuple[str, list[type[pandora.Policy]], dict[str, Any], int]] = [
        ("a policy that does nothing", [Nothing], {"periods": 50000, "policies": ["oracle"]}, 50000),
        ("DOW in Python", [KnownTwin], {"periods": 3000, "policies": ["oracle"]}, 3000),
        ("DOW, reference engine, known and unknown", [], {"periods": 3000, "policies": ["dow"]}, 3000),
    ]
    for policy, own, study, periods in cases:
        whole = {**STUDY, **study, "engine": {"kind": "reference"}}
        taken = processor_time(whole, own) - processor_time({**whole, "policies": ["oracle"]}, [])
        print(f"{policy}: {1e6 * taken / periods:.2f} us per period")


def reading() -> None:
    """Seconds and memory of reading 1,000 replications."""
    with tempfile.TemporaryDirectory() as folder:
        study = {**STUDY, "replications": 1000, "periods": 300, "policies": ["dow", "online_plugin"]}
        study.update({"dimensions": {"context": 20}, "hyperparameters": {"c_rho": [0.01, 0.1, 1], "c_theta": [0.1, 1]}})
        pandora.run(study, out=folder + "/r", progress=False)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        results = pandora.open(folder + "/r")
        steps: list[tuple[str, Callable[[], object]]] = [
            ("open", lambda: None),
            ("summary", lambda: results.summary(hyperparameter="all")),
            ("regret", lambda: results.regret("dow/known")),
            ("curves", lambda: results.curves("dow")),
        ]
        for name, step in steps:
            step()
            print(f"{name}: {time.perf_counter() - start:.3f} s")
            start = time.perf_counter()
        print(f"memory: {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024:.0f} MiB above the run's")


def cascades() -> dict[str, tuple[pandora.Cascade, Callable[[int], Any]]]:
    """Of each kind a cascade that has seen 5,000 prompts, and what its k-th request begins with."""
    draw, rows, models = np.random.default_rng(7), 5000, ["small", "middle", "large"]
    words = np.array([f"word{k}" for k in range(400)])
    prompts = [" ".join(words[(draw.random(12) ** 2 * 400).astype(int)]) for _ in range(rows)]
    hard = np.array([sum(map(ord, prompt)) % 97 / 97.0 for prompt in prompts])[:, None]
    quality = (draw.random((rows, 3)) > hard * [0.9, 0.5, 0.2]).astype(float)
    score = np.clip(quality * 0.6 + 0.4 * draw.random((rows, 3)), 0.0, 1.0)
    cost = (0.5 + draw.random((rows, 3))) * [0.001, 0.004, 0.02]
    table: dict[str, Any] = {
        "models": models, "prompts": list(map(str, range(rows))), "quality": quality, "cost": cost,
        "scores": {"score": score}, "columns": {"prompt": prompts},
    }  # fmt: skip

    def fitted(kind: str, *context: str) -> pandora.Cascade:
        trace = pandora.Trace(table)
        return pandora.Cascade.fit(trace, price=5.0, evaluator="score", judge_usd=0.0, context=context, kind=kind)

    psi = np.column_stack([np.ones(rows), draw.uniform(-1, 1, (rows, 64))]).astype(np.float32)
    learned = pandora.Cascade.new(models, price=5.0, evaluator="score", psi=65)
    for k in range(rows):
        for a, model in enumerate(models):
            learned.calibrate(k + 1, psi[k], model, cost[k, a], score[k, a], quality[k, a])
    return {
        "thresholds": (fitted("thresholds"), lambda k: prompts[k]),
        "routed, text:64": (fitted("routed", "text:64"), lambda k: prompts[k]),
        "indices, 65 numbers": (learned, lambda k: psi[k]),
    }


def served(store: Store, begin_with: Callable[[int], Any], requests: int) -> dict[str, list[float]]:
    """Milliseconds of each call of a store that gets 40 requests a second, and feedback on each."""
    draw = np.random.default_rng(3)
    took: dict[str, list[float]] = {name: [] for name in ("begin", "next", "observe", "deploy")}

    def timed(name: str, call: Callable[..., Any], *given: Any) -> Any:
        start = time.perf_counter()
        out = call(*given)
        took[name].append(1e3 * (time.perf_counter() - start))
        return out

    for k in range(requests):
        due = time.perf_counter() + 1.0 / 40.0
        request = timed("begin", store.begin, begin_with(k))
        while timed("next", request.next) is not None:
            timed("observe", request.observe, 0.01, draw.random())
        timed("deploy", request.deploy)
        store.feedback(request.number, draw.random(), seconds=0.0)
        time.sleep(max(0.0, due - time.perf_counter()))
    return took


@contextlib.contextmanager
def databases() -> Iterator[dict[str, tuple[str, Callable[[], AbstractContextManager[Any]]]]]:
    """Of each that there is its URL, and what takes it away."""
    with tempfile.TemporaryDirectory() as folder:

        @contextlib.contextmanager
        def locked() -> Iterator[None]:
            with contextlib.closing(sqlite3.connect(f"{folder}/kept.db", isolation_level=None, timeout=60.0)) as other:
                other.execute("BEGIN EXCLUSIVE")
                yield

        found: dict[str, Any] = {"SQLite": (f"sqlite:///{folder}/kept.db", locked)}
        try:
            server = database_fixtures.Server()
        except pytest.skip.Exception as problem:
            print(problem)
            yield found
            return

        @contextlib.contextmanager
        def stopped() -> Iterator[None]:
            server.stop()
            yield
            server.start()

        found["PostgreSQL"] = (server.make(), stopped)
        yield found
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


def stores(requests: int = 800) -> None:
    """What the calls of a store take, with its database there and away."""
    print("| cascade | database | begin p50, p99 | next | observe | deploy (ms) |")
    print("|---|---|---|---|---|---|")
    gc.freeze()  # as a service does: one collection of what was imported takes 30 ms
    for name, (cascade, begin_with) in cascades().items():
        with databases() as those:
            for database, (url, away) in those.items():
                with pandora.serving.open(url, cascade) as store:
                    served(store, begin_with, 40)
                    there = served(store, begin_with, requests)
                    with away():
                        gone = served(store, begin_with, requests)
                for how, took in (("there", there), ("away", gone)):
                    cells = (f"{np.quantile(ms, 0.5):.2f}, {np.quantile(ms, 0.99):.2f}" for ms in took.values())
                    print(f"| {name} | {database}, {how} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    for part in sys.argv[1:] or ["lanes", "reading", "stores"]:
        {"lanes": lanes, "reading": reading, "stores": stores}[part]()
