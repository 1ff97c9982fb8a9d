"""alpaca-eval: what AlpacaEval writes as annotations.json, for one model or for several.

The shape, as src/alpaca_eval/annotators of https://github.com/tatsu-lab/alpaca_eval writes it and metrics/helpers.py
there counts it::

    [{"instruction", "output_1", "generator_1": REFERENCE, "output_2", "generator_2": MODEL, "annotator",
      "preference": 1 to 2, "price_per_example", "time_per_example", ...}]

A preference of 1 is for the reference, of 2 for the model, of 1.5 (in former versions 0) for neither; null is unknown.
The quality is preference - 1. The reference is no model of the table, because the format compares it separately with
each model. Prices and times are those of the annotator. Dollars and tokens are estimated from characters.
"""

from __future__ import annotations

import os

from .lm_eval import characters_per_token
from .reader import Reader, data_files, key_of, number, text_of, word
from .rows import Rows, Settings

LACKS = "it has no dollars and no tokens (--prices prices them by characters)"
LOOKS = ({"instruction", "generator_2", "preference"},)
TAKES = ("prices", "characters_per_token")

_DRAW = 1.5


def read(reader: Reader, source: str, settings: Settings, rows: Rows) -> None:
    """Raises DataError without prices, ValueError for a record of another shape."""
    per_token = characters_per_token(source, "AlpacaEval", "each generator_2", settings, rows)
    compared: dict[str, str] = {}
    for path in data_files(source):
        if os.path.isdir(source) and "annotations" not in os.path.basename(path):
            continue  # outputs and leaderboards are in the same folder
        for record in reader.distinct(path):
            model = word(record, "generator_2")
            if not model or "instruction" not in record or "preference" not in record:
                raise ValueError("has no instruction, generator_2 and preference, which every annotation has")
            for what in ("generator_1", "annotator"):
                one = word(record, what)
                if compared.setdefault(what, one) != one:
                    raise ValueError(f"has {what} {one} and others {compared[what]}; keep those that can be compared")
            preference = number(record, "preference")
            preference = _DRAW if preference == 0 else preference
            if preference is not None and not 1 <= preference <= 2:
                raise ValueError(f"has preference {preference:g}, which is not from 1 to 2")
            prompt = "\n\n".join(filter(None, (text_of(record.get(name)) for name in ("instruction", "input"))))
            usage = {
                "prompt_tokens": len(prompt) / per_token,
                "completion_tokens": len(text_of(record.get("output_2"))) / per_token,
            }
            usd, quality = rows.dollars(model, None, usage), None if preference is None else preference - 1
            rows.add(key_of(prompt), model, quality, usd, None, {"prompt": prompt}, name=f"q{rows.prompts_so_far}")
    reference = compared.get("generator_1") or "the reference"
    rows.say(f"a quality says how an answer fares against that of {reference}, which is no model of the table")
