"""routerbench: RouterBench's wide table, as CSV or Parquet.

The shape, as the data set https://huggingface.co/datasets/withmartian/routerbench has it and convertors/ of
https://github.com/withmartian/routerbench make it::

    sample_id, prompt, eval_name, M, M|model_response, M|total_cost for each model M, oracle_model_to_route_to

M is the quality from 0 to 1, M|total_cost the dollars. The last column, which names the best model, and the responses
are left out. CSV and Parquet files in this form can be read without an import, too. The published pickle is not read,
because a pickle can run any code.
"""

from __future__ import annotations

import json

from ..errors import DataError
from .reader import Reader, number, text_of, word
from .rows import Rows, Settings

LACKS = "it is a pickle, which runs what is in it, so it has to be made CSV before"
LOOKS = ({"a pickle of pandas"},)  # CSV and Parquet are read without an import
TAKES: tuple[str, ...] = ()

_COST = "|total_cost"


def read(reader: Reader, source: str, settings: Settings, rows: Rows) -> None:
    """Raises DataError for a pickle, and for files without such columns."""
    if source.lower().endswith((".pkl", ".pickle", ".p")):
        raise DataError(
            f"{source}: is a pickle, and reading one runs what is in it; where you trust it, write a table that is "
            f"only read: python3 -c 'import pandas; pandas.read_pickle({json.dumps(source)}).to_csv"
            f"({json.dumps(source.rpartition('.')[0] + '.csv')}, index=False)'"
        )
    for record in reader.records(source):
        models = [name[: -len(_COST)] for name in record if name and name.endswith(_COST)]
        if not models:
            raise ValueError("has no column M|total_cost, of which RouterBench has one for each model M")
        columns = {"prompt": text_of(record.get("prompt")), "eval_name": word(record, "eval_name")}
        prompt = word(record, "sample_id") or f"row {rows.prompts_so_far + 1}"
        for model in models:
            rows.add(prompt, model, number(record, model), number(record, model + _COST), None, columns)
