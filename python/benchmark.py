"""What the package costs: lanes in Python, reading results, a store in an event loop (make python-bench)."""

from __future__ import annotations

import asyncio
import gc
import pathlib
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any, Callable, ClassVar, Optional

import numpy as np

import pandora
from pandora.serving import Store

sys.path.insert(0, str(pathlib.Path(__file__).parent / "tests"))
from test_policies import DowTwin

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


async def serving(store: Store, seconds: float) -> list[float]:
    """Fifty clients of a store for so long; by how much the event loop was late, each millisecond."""
    late: list[float] = []
    end = time.perf_counter() + seconds
    draw = np.random.default_rng(7)

    async def client() -> None:
        while time.perf_counter() < end:
            request = await store.aside(store.begin, np.append(1.0, draw.uniform(-1, 1, 384)))
            while await store.aside(request.next) is not None:
                await asyncio.sleep(0.05)  # the model answers
                await store.aside(request.observe, 0.02, draw.uniform())
            await store.aside(request.deploy)
            await store.aside(request.feedback, draw.uniform())

    async def clock() -> None:
        while time.perf_counter() < end:
            due = time.perf_counter() + 0.001
            await asyncio.sleep(0.001)
            late.append(time.perf_counter() - due)

    await asyncio.gather(clock(), *(client() for _ in range(50)))
    return sorted(late)


def event_loop() -> None:
    """How late an event loop is beside a store that learns of 16 models with 385 numbers."""
    models = [f"model{a}" for a in range(16)]
    cascade = pandora.Cascade.new(models, price=1.0, evaluator="score", policy="dow", c=0.1, psi=385)
    with tempfile.TemporaryDirectory() as folder, Store(folder, cascade, refit="beside") as store:
        gc.freeze()  # as a service does: one collection of what was imported takes 30 ms
        late = asyncio.run(serving(store, 20.0))
        requests = store.metrics()["requests"]
    print(
        f"event loop beside {requests} requests in 20 s: late by {1e3 * late[len(late) // 2]:.2f} ms (p50), "
        f"{1e3 * late[len(late) * 99 // 100]:.2f} ms (p99), {1e3 * late[-1]:.2f} ms at the most"
    )


if __name__ == "__main__":
    lanes()
    reading()
    event_loop()
