"""Where a Python that is started finds modules."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]


def module_paths(first: Path = ROOT) -> str:
    """PYTHONPATH with a folder before what it names already; without more that of cutune."""
    return os.pathsep.join(filter(None, (str(first), os.environ.get("PYTHONPATH"))))
