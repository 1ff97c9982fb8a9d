"""The program `pandora` from the package: the extension module runs the same commands."""

from __future__ import annotations

import os
import pathlib
import sys


def main() -> int:
    """Runs the command line and returns the exit code."""
    from . import _core

    os.environ.setdefault("PANDORA_RENDERER", str(pathlib.Path(__file__).parent / "rendering" / "render.py"))
    os.environ.setdefault("PANDORA_PYTHON", sys.executable)
    return _core.main(sys.argv)


if __name__ == "__main__":
    sys.exit(main())
