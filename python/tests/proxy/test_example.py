"""The files of examples/gateway can be read, and the files that they name exist."""

from __future__ import annotations

import json
import pathlib
import re
import shlex
from typing import Any

import pytest

from pandora.offline.command_line import read as read_words

yaml: Any = pytest.importorskip("yaml")
pytest.importorskip("litellm")
pytestmark = pytest.mark.filterwarnings("ignore")  # from LiteLLM and its imports
ROOT = pathlib.Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "gateway"


def test_the_proxy_has_what_the_cascades_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from pandora.serving.litellm.configuration import read

    monkeypatch.setenv("CASCADE_DATABASE", "postgresql://pandora@database/pandora")
    cascades = read(EXAMPLE / "cascades.toml")
    proxy = yaml.safe_load((EXAMPLE / "config.yaml").read_text())
    names = {entry["model_name"]: entry["litellm_params"]["model"] for entry in proxy["model_list"]}
    for name, settings in cascades.items():
        assert f"cascade/{name}" in names.values()
        assert settings.judge is not None and {*settings.models.values(), settings.judge.model} <= set(names)
    assert proxy["litellm_settings"]["custom_provider_map"] == [
        {"provider": "cascade", "custom_handler": "pandora.serving.litellm.handler"}
    ]


def test_the_commented_lines_are_read_too(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pandora.serving.litellm.configuration import read

    monkeypatch.setenv("CASCADE_DATABASE", "postgresql://pandora@database/pandora")
    lines = (EXAMPLE / "cascades.toml").read_text().splitlines()
    judge = next(k for k, line in enumerate(lines) if line.startswith("judge ="))
    del lines[judge]
    text = "\n".join(re.sub(r"^# (?=\w+ = )", "", line) for line in lines)
    (tmp_path / "cascades.toml").write_text(f"{text}\n[candidate]\ncascade = 'new.json'\n")
    found = read(tmp_path / "cascades.toml")["support"]
    assert found.judge is not None and found.judge.images and found.budget and found.monitor and found.shadow
    assert found.share == {"candidate": 0.1}


def test_the_container_and_the_compose_file_name_what_exists() -> None:
    compose = yaml.safe_load((EXAMPLE / "compose.yaml").read_text())
    proxy, database = compose["services"]["proxy"], compose["services"]["database"]
    assert (EXAMPLE / proxy["build"]["context"]).resolve() == ROOT
    container = (ROOT / proxy["build"]["dockerfile"]).read_text()
    for volume in proxy["volumes"]:
        source = EXAMPLE / volume.split(":")[0]
        assert source.exists() or source.name == "cascade.json", volume  # a fit writes this file
    needed = set(
        re.findall(r"os\.environ/(\w+)", "".join((EXAMPLE / f).read_text() for f in ("config.yaml", "cascades.toml")))
    )
    assert needed == set(proxy["environment"])
    assert set(proxy["depends_on"]) == {"database"} and set(compose["volumes"]) == {"kept"}
    assert database["environment"]["POSTGRES_USER"] in proxy["environment"]["CASCADE_DATABASE"]
    command = json.loads(next(line[4:] for line in container.splitlines() if line.startswith("CMD ")))
    _, given = read_words(command[1:])
    assert given["host"] == "0.0.0.0" and given["workers"] == 2
    assert (
        f"{int(given['port'])}:{int(given['port'])}" in proxy["ports"][0]
        and f"EXPOSE {int(given['port'])}" in container
    )
    steps = re.findall(r"^(FROM|RUN|COPY|WORKDIR|USER|EXPOSE|CMD) ", container, re.MULTILINE)
    assert steps[0] == "FROM" and steps[-1] == "CMD"
    words = shlex.split(container.replace("\\\n", " "), comments=True)
    for word in words:
        if word.startswith("examples/") or word == "./python":
            assert (ROOT / word).exists(), word
    makefile = (ROOT / "Makefile").read_text()
    assert "\ndependencies:" in makefile and "uv==0.13.9" in makefile and "uv==0.13.9" in container
