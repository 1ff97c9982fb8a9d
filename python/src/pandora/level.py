"""Chooses the build of the extension module: a wheel for x86-64 has one for each level of instructions."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import sys

#: flags of /proc/cpuinfo that a level adds to those of the previous level
_FLAGS = {
    "v2": {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"},
    "v3": {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"},
    "v4": {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"},
}


def _best(cpuinfo: str) -> str:
    """The highest level all of whose flags, with those of lower levels, a processor has; "" for none."""
    flags = set(next((line for line in cpuinfo.splitlines() if line.startswith("flags")), "").split())
    best = ""
    for level, added in _FLAGS.items():
        if not added <= flags:
            break
        best = level
    return best


def load() -> None:
    """Loads the module of the best level, or of the level in PANDORA_LEVEL, as `pandora._core`, if there are
    several.
    """
    folder = pathlib.Path(__file__).parent / "levels"
    if not folder.is_dir():
        return
    best = _best(pathlib.Path("/proc/cpuinfo").read_text())
    level = os.environ.get("PANDORA_LEVEL") or best
    if not best:
        raise ImportError("this processor is older than x86-64-v2 (SSE4.2, of 2009); a build from source runs on it")
    if level not in _FLAGS:
        raise ImportError(f"PANDORA_LEVEL={level}: give v2, v3 or v4; this processor has {best}")
    if level > best:
        raise ImportError(f"PANDORA_LEVEL={level}: this processor has {best}")
    spec = importlib.util.spec_from_file_location("pandora._core", next((folder / level).glob("_core.*")))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["pandora._core"] = module
    spec.loader.exec_module(module)
    sys.modules["pandora"]._core = module  # type: ignore[attr-defined]
