"""Learning with short memory: whichever large allocation of the engine fails, a lesson is learned whole or not at
all.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from pandora.errors import ResourceError
from pandora.live import new_members
from pandora.live.learning import Learning, Lesson, as_psi
from pandora.live.members import Members
from pandora.live.request import Call

HERE = pathlib.Path(__file__)


def members(price: float = 2.0, *more: str) -> Members:
    models = ["small", "large", *more]
    return new_members(models, price, evaluator="score", policy="shrunk_weitzman", c_theta=0.1, psi=24)


def calls_of(k: int) -> list[tuple[str, Callable[[Learning], object]]]:
    """Makes every kind of call about the k-th request."""
    random = np.random.default_rng(k)
    psi = as_psi([1.0, *random.normal(size=23)])
    answers = [
        Call(model, 0.01 * (1 + model), (score,), score, score, None, 1.0)
        for model, score in enumerate(random.uniform(0.1, 0.9, 2).tolist())
    ]
    dearer, more = members(2.5), members(2.0, "third")
    return [
        ("ask", lambda learning: learning.ask(k, k, psi)),
        ("reward", lambda learning: learning.reward(k, k, psi, answers[0])),
        ("learn outputs", lambda learning: learning.learn(Lesson(k, k, psi, answers))),
        ("learn reward", lambda learning: learning.learn(Lesson(k, k, psi, answers[:1], 0.7))),
        ("set price", lambda learning: learning.set_price(dearer)),
        ("add model", lambda learning: learning.add_model(more)),
    ]


def child() -> None:
    preloaded = ctypes.CDLL(None)
    learned = Learning(members())
    failed = 0
    for k in range(1, 13):
        for name, call in calls_of(k):
            before = learned.estimator.saved()
            control = Learning(members(), before)
            call(control)
            after = control.estimator.saved()
            for n in range(1, 100_000):
                learning = Learning(members(), before)
                assert preloaded.fail_at(ctypes.c_long(n))
                try:
                    call(learning)
                except (MemoryError, ResourceError):
                    failed += 1
                except Exception as problem:
                    raise AssertionError(f"{name} of request {k}, allocation {n}") from problem
                finally:
                    unreached = preloaded.left_until_failure() > 0
                    preloaded.fail_at(ctypes.c_long(0))
                if unreached:
                    break
                if learning.estimator.saved() != before:  # it was learned in spite of the failure, or by half
                    assert learning.estimator.saved() == after, f"{name} of request {k}, allocation {n}"
                call(Learning(members(), before))  # the process still works
            else:
                raise AssertionError(f"{name}: never ends")
            if name.startswith("learn"):
                call(learned)
    print(failed)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler")
def test_a_failed_allocation_leaves_what_was_learned(tmp_path: pathlib.Path) -> None:
    library = tmp_path / "failing.so"
    source = str(HERE.with_name("failing_allocations.cpp"))
    subprocess.run(["g++", "-shared", "-fPIC", "-O1", source, "-o", str(library), "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    run = subprocess.run([sys.executable, str(HERE)], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    assert int(run.stdout) > 50  # the number of failed allocations


if __name__ == "__main__":
    child()
