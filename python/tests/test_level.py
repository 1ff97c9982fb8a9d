"""The choice of the module in a wheel that has several."""

from __future__ import annotations

import pathlib
import platform
import subprocess
import sys

import pytest

import pandora
from pandora.level import _FLAGS, _best

ALL = set().union(*_FLAGS.values())


@pytest.mark.parametrize(
    ("flags", "level"),
    [(ALL, "v4"), (ALL - {"avx512bw"}, "v3"), (ALL - {"fma"}, "v2"), (ALL - {"popcnt"}, ""), (set(), "")],
)
def test_the_best_level_is_the_last_of_an_unbroken_row(flags: set[str], level: str) -> None:
    assert _best("processor : 0\nflags\t\t: fpu " + " ".join(sorted(flags)) + "\nbugs :\n") == level
    assert _best("processor : 0\n") == ""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have one level")
def test_a_wheel_with_levels_loads_the_one_that_is_asked_for(tmp_path: pathlib.Path) -> None:
    """A package has two modules, both copies of the installed one. PANDORA_LEVEL names one of them, or one that is
    missing.
    """
    package = tmp_path / "pandora"
    installed = pathlib.Path(pandora.__file__).parent
    package.mkdir()
    for file in installed.iterdir():
        if file.name != "levels" and not file.name.startswith("_core"):
            (package / file.name).symlink_to(file)
    libraries = installed.parent / "pandora_box.libs"  # the wheel's package finds it by its place
    if libraries.is_dir():
        (tmp_path / libraries.name).symlink_to(libraries)
    best = _best(pathlib.Path("/proc/cpuinfo").read_text())
    for level in _FLAGS:
        (package / "levels" / level).mkdir(parents=True)
        (package / "levels" / level / "_core.so").symlink_to(next(installed.rglob("_core*.so")))

    def run(level: str) -> subprocess.CompletedProcess[str]:
        code = "import pandora; print(pandora._core.__file__, pandora.policies()['policy'][0])"
        environment = {"PYTHONPATH": str(tmp_path), "PANDORA_LEVEL": level}
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        )

    for level in ("v2", ""):
        done = run(level)
        assert f"/levels/{level or best}/_core.so oracle" in done.stdout, done.stderr
    assert "ImportError: PANDORA_LEVEL=v5: give v2, v3 or v4; this processor has" in run("v5").stderr


def test_the_command_of_the_package_is_the_program() -> None:
    done = subprocess.run(
        [pathlib.Path(sys.executable).parent / "pandora", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == pandora.build.strip()
    refused = subprocess.run(
        [sys.executable, "-m", "pandora.command", "run", "none.toml"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2 and "none.toml" in refused.stderr
