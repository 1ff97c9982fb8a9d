"""Compares a folder of results with the paper's Tables 1 to 3: `python3 -m pandora_verdict FOLDER`.

>>> from pandora_verdict import read_panels, verdicts
"""

from .contrasts import contrasts
from .folder import DataError, read_kept, read_panels
from .records import records
from .verdict import Verdict, group_rows, verdicts

__all__ = ["DataError", "Verdict", "contrasts", "group_rows", "read_kept", "read_panels", "records", "verdicts"]
