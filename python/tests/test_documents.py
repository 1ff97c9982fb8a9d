"""The Python code of the documents runs, block after block: a page in a folder of its own, or two in one folder."""

from __future__ import annotations

import pathlib
import re
import warnings
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("pages", [["docs/python.md"], ["docs/serving.md", "docs/operating.md"], ["README.md"]])
def test_the_python_of_pages_runs(pages: list[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "document"}
    for page in pages:
        text = (ROOT / page).read_text()
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
        own = [block for block in blocks if "pandora" in block or "results" in block]
        assert own
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for block in own:
                line = text[: text.index(block)].count("\n")
                exec(compile("\n" * line + block, str(ROOT / page), "exec"), names)
    assert list(tmp_path.rglob("*.png")) or "docs/serving.md" in pages
