"""cutune: every CUDA kernel launch picks its own thread-block shape at run time.

`inspect`, `tune`, `select`, `evaluate` and `Workspace` are the verbs of the command line as
functions (`cutune/cli/python.py`); they are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutune.cli.python import TunedFolder as Workspace
    from cutune.cli.python import evaluate, inspect, select, tune
    from cutune.core.diagnostics import CutuneError
    from cutune.tuning.kernel_object import kernel

__version__ = "0.2.0"
__all__ = [
    "CutuneError",
    "Workspace",
    "__version__",
    "evaluate",
    "inspect",
    "kernel",
    "select",
    "tune",
]


if not TYPE_CHECKING:  # a wrong name is an error of types, too

    def __getattr__(name: str) -> object:
        if name not in __all__:
            there = ", ".join(one for one in __all__ if one[0] != "_")
            raise AttributeError(f"module 'cutune' has no attribute '{name}'; it has {there}")
        from importlib import import_module  # noqa: PLC0415

        others = {"CutuneError": "cutune.core.diagnostics", "kernel": "cutune.tuning.kernel_object"}
        place = others.get(name, "cutune.cli.python")
        return getattr(import_module(place), "TunedFolder" if name == "Workspace" else name)

    def __dir__() -> list[str]:
        return sorted(__all__)
