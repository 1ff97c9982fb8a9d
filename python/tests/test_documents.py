"""The Python code of the documents runs, block after block, in a folder of its own."""

from __future__ import annotations

import pathlib
import re
import warnings
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["docs/python.md", "docs/serving.md", "README.md"])
def test_the_python_of_a_document_runs(name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / name).read_text()
    names: dict[str, Any] = {"__name__": "document"}
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    own = [block for block in blocks if "pandora" in block or "results" in block]
    assert own
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in own:
            line = text[: text.index(block)].count("\n")
            exec(compile("\n" * line + block, str(ROOT / name), "exec"), names)
    assert list(tmp_path.rglob("*.png")) or name == "docs/serving.md"
