"""The page /cascade in a headless browser, at two widths: its content, and that nothing is wider than the window."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
from typing import Any

import pytest

pytest.importorskip("litellm")
PAGE = pathlib.Path(__file__).parents[2] / "src" / "pandora" / "serving" / "litellm" / "page.html"
STATE: dict[str, Any] = {
    "support <b>": {
        "deployed": 1234, "dollars": 1.5, "feedbacks": 10, "quality": 8.5, "unjudged": 2,
        "saved": {"against": "a model with quite a long name, large-2026-11-28", "value": 3.0, "low": 2.5, "high": 3.5},
        "monitor": {"alarms": ["answers of small are worse than they were"]},
        "version": {"number": 7, "origin": "publish"},
        "models": [
            {"model": "small", "removed": False, "rests": True, "calls": 1234, "deployed": 900, "failures": 3,
             "dollars": 0.5, "feedbacks": 4, "quality": 3.0},
            {"model": "large", "removed": False, "rests": False, "calls": 334, "deployed": 334, "failures": 0,
             "dollars": 1.0},
        ],
    },
    "new": {"deployed": 1, "saved": {"against": "big", "value": 0.5, "low": None, "high": None}},
}  # fmt: skip


def seen(folder: pathlib.Path, width: int) -> str:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium")
    answers = f"window.fetch = async (path, how) => ({{ok: true, json: async () => ({json.dumps(STATE)})}});"
    measure = (
        "told(refresh).then(() => { const r = document.documentElement;"
        " document.title = 'wider by ' + (r.scrollWidth - r.clientWidth); });"
    )
    text = PAGE.read_text(encoding="utf-8").replace('"use strict";', f'"use strict";{answers}')
    (folder / "page.html").write_text(text.replace("</script>", measure + "</script>"), encoding="utf-8")
    # A window is at least 500 pixels wide, so the narrow page stands in a frame.
    (folder / "frame.html").write_text(
        f'<iframe id="f" src="page.html" style="border:0" width="{width}" height="900"></iframe>'
    )
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000"]
    command += ["--allow-file-access-from-files", f"--window-size={max(width, 500)},900", "--dump-dom"]
    if width < 500:
        text = (folder / "frame.html").read_text()
        script = "<script>setTimeout(() => document.body.append(document.getElementById('f').contentDocument" + (
            ".documentElement.outerHTML), 1000)</script>"
        )
        (folder / "frame.html").write_text(text + script)
    name = "frame.html" if width < 500 else "page.html"
    found = subprocess.run([*command, f"file://{folder}/{name}"], capture_output=True, check=True, timeout=60).stdout
    return found.decode().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


@pytest.mark.parametrize("width", [360, 1280])
def test_a_person_sees_what_there_is(tmp_path: pathlib.Path, width: int) -> None:
    page = seen(tmp_path, width)
    for text in (
        "wider by 0", "1,234", "$1.50", "$3.00 [$2.50, $3.50]", "0.850 of 10", "are worse than they were",
        "7 (publish)", ">rests<", "100.0%", "0.750 of 4", "Back to the cascade before", "support <b>",
        "Saved against big alone<",
    ):  # fmt: skip
        assert text in page, (text, page)
