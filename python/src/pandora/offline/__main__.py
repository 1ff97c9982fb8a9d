"""python -m pandora.offline: the commands of fits, tests, frontiers and checks."""

import sys

from .commands import run

sys.exit(run())
