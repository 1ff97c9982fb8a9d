"""cascades.toml: which cascades a proxy has, where their state is kept, and who judges their answers.

[support]                      # litellm_params: {model: cascade/support}
cascade = "cascade.json"       # what `pandora cascade fit` wrote, for a database that has none yet
url = "sqlite:///support.db"   # or postgresql://...; without it NAME.db beside this file
judge = "judge"                # the model of the proxy that judges answers, or a table: model, instructions, ...
models = { small = "gpt-5-nano" }  # what models are called in the proxy, if not as in the cascade
tools = "judge"                # who judges tool calls: "judge", "schema", or "first", where nobody does
sessions = "user"              # what tells a conversation: "user", "header.NAME", "metadata.NAME", "conversation"
shadow = "other.json"          # a cascade that sees the requests and decides nothing
share = { candidate = 0.1 }    # the share of requests that another cascade of this file answers
"""

from __future__ import annotations

import os
import pathlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Optional, Union

from ...errors import DataError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ENVIRONMENT = "PANDORA_CASCADES"
_FROM_ENVIRONMENT = "os.environ/"  # as in LiteLLM's own configuration, so that passwords stay out of files
TOOLS = ("judge", "schema", "first")
_SESSIONS = re.compile(r"|user|conversation|(header|metadata)\..+")
INSTRUCTIONS = "How good is the answer? Say a number from 0 to 10 and nothing else."


@dataclass(frozen=True)
class Judging:
    """A model as a judge."""

    model: str  #: its name in the proxy
    instructions: str = INSTRUCTIONS
    characters: int = 8000  #: the most that it is shown of the conversation
    images: bool = False  #: whether it sees the images of the last question


@dataclass(frozen=True)
class Settings:
    """The settings in one table of the file."""

    name: str
    url: str
    cascade: Optional[str] = None
    judge: Optional[Judging] = None
    models: Mapping[str, str] = field(default_factory=dict)
    tools: str = "judge"
    sessions: str = ""
    shadow: Optional[str] = None
    share: Mapping[str, float] = field(default_factory=dict)
    monitor: Optional[Mapping[str, Any]] = None  #: arguments of Monitor
    budget: Optional[Mapping[str, Any]] = None  #: arguments of Budget
    sync_seconds: float = 1.0

    def called(self, model: str) -> str:
        """A model's name in the proxy."""
        return self.models.get(model, model)


Cascades = Mapping[str, Settings]


def read(path: Union[str, os.PathLike[str], None] = None) -> Cascades:
    """The file's tables by name; without a path, those of the file that PANDORA_CASCADES names. Raises DataError."""
    given = os.fspath(path) if path is not None else os.environ.get(ENVIRONMENT, "")
    if not given:
        raise DataError(f"no cascades: {ENVIRONMENT} names no file; set it to a file such as cascades.toml")
    file = pathlib.Path(given).resolve()
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{given}: cannot be read ({error.strerror}); {ENVIRONMENT} names the file") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{given}: is not TOML: {error}") from None
    found = {name: _settings(given, file.parent, name, table) for name, table in tables.items()}
    if not found:
        raise DataError(f'{given}: has no cascade; give a table such as [support] with cascade = "cascade.json"')
    for one in found.values():
        for other in one.share:
            if other not in found or other == one.name:
                raise DataError(f"{given}: {one.name}.share: {other} is no other cascade of this file")
    return found


def _settings(file: str, folder: pathlib.Path, name: str, table: Any) -> Settings:
    def need(what: str, value: Any, type: Any, wanted: str) -> Any:
        if not isinstance(value, type) or isinstance(value, bool) != (type is bool):
            raise DataError(f"{file}: {name}.{what} = {value!r}: give {wanted}")
        return value

    if isinstance(table, str):  # a file, or the place of the state
        table = {"url" if "://" in table else "cascade": table}
    need("", table, dict, 'a table, or a file such as "cascade.json"')
    known = [one.name for one in fields(Settings) if one.name != "name"]
    for key in table:
        if key not in known:
            raise DataError(f"{file}: {name}.{key}: there is no such key; there are {', '.join(known)}")
    given = dict(table)
    for key in ("cascade", "shadow", "url"):
        if key in given:
            need(key, given[key], str, "a text")
            if given[key].startswith(_FROM_ENVIRONMENT):
                named = given[key][len(_FROM_ENVIRONMENT) :]
                if not os.environ.get(named):
                    raise DataError(f"{file}: {name}.{key}: the environment has no {named}; set it")
                given[key] = os.environ[named]
            scheme, found, path = given[key].rpartition("://")
            if not found or (scheme == "sqlite" and not path.startswith("//")):
                given[key] = (f"{scheme}:///" if found else "") + str(folder / path.lstrip("/" if found else ""))
    given.setdefault("url", f"sqlite:///{folder / name}.db")
    if isinstance(given.get("judge"), str):
        given["judge"] = {"model": given["judge"]}
    if "judge" in given:
        kinds: dict[str, Any] = {"model": str, "instructions": str, "characters": int, "images": bool}
        judge = need("judge", given["judge"], dict, "the name of a model of the proxy, or a table")
        for key, value in judge.items():
            if key not in kinds:
                raise DataError(f"{file}: {name}.judge.{key}: there is no such key; there are {', '.join(kinds)}")
            need(f"judge.{key}", value, kinds[key], f"a value of the type {kinds[key].__name__}")
        if "model" not in judge:
            raise DataError(f"{file}: {name}.judge: has no model; give the name of a model of the proxy")
        given["judge"] = Judging(**judge)
    for key in ("models", "share", "monitor", "budget"):
        need(key, given.get(key, {}), dict, "a table")
    for key, value in given.get("models", {}).items():
        need(f"models.{key}", value, str, "the model's name in the proxy")
    for key, value in given.get("share", {}).items():
        if not 0.0 < need(f"share.{key}", value, (int, float), "a share, such as 0.1") <= 1.0:
            raise DataError(f"{file}: {name}.share.{key} = {value}: give a share above 0, up to 1")
    if given.get("tools", "judge") not in TOOLS:
        raise DataError(f"{file}: {name}.tools = {given['tools']!r}: give one of {', '.join(TOOLS)}")
    if not _SESSIONS.fullmatch(need("sessions", given.get("sessions", ""), str, "a text")):
        wanted = "user, conversation, header.NAME or metadata.NAME"
        raise DataError(f"{file}: {name}.sessions = {given['sessions']!r}: give {wanted}")
    need("sync_seconds", given.get("sync_seconds", 1.0), (int, float), "seconds, such as 1.0")
    return Settings(name=name, **given)
