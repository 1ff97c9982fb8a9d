"""Running cascades: requests on their way through models (running, request), learning (learning), and files."""

from __future__ import annotations

from .file import load, parse, save, text_of
from .members import Members, new_members
from .running import RunningCascade

__all__ = ["Members", "RunningCascade", "load", "new_members", "parse", "save", "text_of"]
