"""Qualities to be joined to an export that has none: a CSV file or JSON with id, quality and perhaps model."""

from __future__ import annotations

from typing import Any

from .reader import Reader, number, word


def qualities(reader: Reader, path: str) -> dict[Any, float]:
    """Qualities by id, or by (id, model) if the file names models. Raises ValueError if a row has no id or quality."""
    found: dict[Any, float] = {}
    for record in reader.records(path):
        one, model = word(record, "id", "prompt_id", "request_id", "custom_id"), word(record, "model")
        quality = number(record, "quality")
        if not one or "quality" not in record:
            raise ValueError("has no id and quality, by which qualities are joined")
        key = (one, model) if model else one
        if quality is not None and found.setdefault(key, quality) != quality:
            raise ValueError(f"id {one} stands twice, with another quality")
    return found
