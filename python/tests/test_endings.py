"""Work that ends from outside: Ctrl-C in code that never returns, and an interpreter that ends meanwhile."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys
import textwrap

import pytest

STUDY = """
import os, pathlib, signal, sys, threading, time
import pandora

signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background of a shell ignores it
study = {"replications": 2, "periods": 200, "T0": [0], "environments": ["uniform"], "regimes": ["A"],
         "policies": ["dow"], "oracle": {"samples": 2000}, "output": {"order": False}}
folder, ready = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[1]) / "ready"
"""


def start(code: str, folder: pathlib.Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", STUDY + textwrap.dedent(code), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(path: pathlib.Path, process: subprocess.Popen[str]) -> None:
    for _ in range(1200):
        if path.exists():
            return
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        pytest.fail(f"it ended before: {process.communicate()}")
    pytest.fail("it did not begin")


# Places at which a user's code never returns. The last one catches the first exception.
@pytest.mark.parametrize(
    "code",
    [
        """
        class Endless(pandora.Policy):
            def next(self):
                ready.touch()
                while True:
                    pass
        what = {"policies": [Endless]}
        """,
        """
        class Endless(pandora.Environment):
            def draw(self, request):
                ready.touch()
                while True:
                    pass
        what = {"environments": [Endless]}
        """,
        """
        class Endless(pandora.Policy):
            def next(self):
                ready.touch()
                try:
                    while True:
                        pass
                except BaseException:
                    while True:
                        pass
        what = {"policies": [Endless]}
        """,
    ],
)
def test_an_endless_loop_ends_with_ctrl_c(code: str, tmp_path: pathlib.Path) -> None:
    process = start(
        textwrap.dedent(code)
        + textwrap.dedent("""
        try:
            pandora.run(study, out=folder / "r", progress=False, threads=2, **what)
        except KeyboardInterrupt as error:
            print(type(error).__name__, error)
        """),
        tmp_path,
    )
    wait_for(tmp_path / "ready", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert out.startswith("Interrupted interrupted; ")
    assert " parts are in " in out
    assert not (tmp_path / "r" / "failures.csv").exists()


# The main thread ends while a daemon thread is in the library.
@pytest.mark.parametrize(
    "work",
    [
        "pandora.run({**study, 'replications': 40, 'periods': 30000}, out=folder / 'r', progress=False)",
        "pandora.run(study, out=folder / 'r', progress=False, policies=[Endless])",
        "fit()",
        "[cascade.begin([1.0, 0.3]).explain() for _ in range(10**9)]",
    ],
)
def test_the_interpreter_ends_cleanly_while_a_thread_works(work: str, tmp_path: pathlib.Path) -> None:
    process = start(
        f"""
        import numpy as np

        class Endless(pandora.Policy):
            def next(self):
                while True:
                    pass

        world = np.random.default_rng(3)
        table = pandora.Trace({{"models": ["a", "b", "c"], "quality": world.random((3000, 3)),
                               "cost": 0.001 + 0.001 * world.random((3000, 3))}})
        cascade = pandora.Cascade.new(["a", "b"], price=2.0, evaluator="score", psi=2)

        def fit():
            while True:
                table.check(price=20, evaluator="quality")

        def work():
            ready.touch()
            {work}

        threading.Thread(target=work, daemon=True).start()
        while not ready.exists():
            time.sleep(0.01)
        time.sleep(1)
        print("the end")
        """,
        tmp_path,
    )
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err[-2000:]
    assert out == "the end\n"


def test_a_request_that_was_kept_stays_what_it_was(tmp_path: pathlib.Path) -> None:
    import pandora

    kept: list[tuple[pandora.Request, list[float], pandora.Output, float]] = []

    class Keeps(pandora.Policy):
        def begin(self, request: pandora.Request) -> None:
            self.request, self.done = request, False

        def next(self) -> int | None:
            return None if self.done else 0

        def opened(self, output: pandora.Output) -> None:
            self.done = True
            kept.append((self.request, self.request.psi.tolist(), output, float(output.phi[0])))

        def deploy(self) -> int:
            return 0

    study = {"replications": 1, "periods": 50, "T0": [0], "environments": ["uniform"], "regimes": ["B"]}
    pandora.run(
        {**study, "policies": ["Keeps"], "oracle": {"samples": 2000}, "output": {"order": False}},
        out=tmp_path / "r",
        policies=[Keeps],
        progress=False,
    )
    assert [request.period for request, *_ in kept] == list(range(1, 51))
    for request, psi, output, first in kept:  # the lane has ended, and its replication is gone
        assert request.psi.tolist() == psi
        assert float(output.phi[0]) == first
    assert len({tuple(psi) for _, psi, *_ in kept}) == 50
