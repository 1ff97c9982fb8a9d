"""A small study, run once, for tests and doctests."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any, Optional

import pytest

import pandora

Program = Callable[..., str]

SMALL: dict[str, Any] = {
    "replications": 4,
    "periods": 200,
    "T0": [0, 50],
    "environments": ["uniform", "gaussian"],
    "regimes": ["A", "B"],
    "policies": ["online_plugin", "dow"],
    "hyperparameters": {"c_rho": [0.1, 1], "c_theta": [0.1]},
    "oracle": {"samples": 2000, "grid": [9, 5, 9], "order_contexts": 50},
    "output": {"estimates": True},
}

SINGLE: dict[str, Any] = {
    **SMALL,
    "replications": 2,
    "environments": ["uniform"],
    "regimes": ["B"],
    "policies": ["dow"],
    "oracle": {"samples": 2000, "grid": [9, 5, 9]},
    "output": {"order": False},
}


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a finished run of SMALL."""
    folder = tmp_path_factory.mktemp("example") / "results"
    pandora.run(SMALL, out=folder, progress=False)
    return str(folder)


@pytest.fixture(scope="session")
def program() -> Program:
    """Runs the program of the command line, which must succeed, and returns what it prints. Without it, tests that
    compare with it are skipped.
    """
    default = pathlib.Path(__file__).resolve().parents[2] / "build" / "pandora"
    found = shutil.which(os.environ.get("PANDORA", str(default)))
    if found is None:
        pytest.skip("no program; `make build`, or name one in PANDORA")

    def run(*words: object, cwd: Optional[pathlib.Path] = None) -> str:
        command = [found, *map(str, words)]
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout

    return run


def toml_of(study: dict[str, Any]) -> str:
    """The text of the study as the program reads it from a file."""
    from pandora.study import _lines

    return "\n".join(_lines(study)) + "\n"


@pytest.fixture
def single() -> dict[str, Any]:
    """A study of one environment and regime."""
    return {**SINGLE}


@pytest.fixture(scope="session")
def running_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """LiteLLM's proxy with cascades and made-up models. All tests share it (tests/proxy; make gateway)."""
    from made_up_proxy import Proxy, write_cascades, write_configuration
    from upstream import Models

    folder = tmp_path_factory.mktemp("proxy")
    models = Models()
    write_cascades(folder)
    write_configuration(folder, models.url)
    found = Proxy(folder, models)
    try:
        found.start()
        yield found
    finally:
        found.stop()
        models.close()


@pytest.fixture
def proxy(running_proxy: Any) -> Any:
    running_proxy.models.calls.clear()
    running_proxy.models.worth.clear()
    return running_proxy
