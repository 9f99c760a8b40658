"""The registry of passes, in running order."""

from __future__ import annotations

from cutune.passes.choose_values import ChooseValues
from cutune.passes.instrument_launches import InstrumentLaunches
from cutune.passes.instrument_tunables import InstrumentTunables
from cutune.passes.replace_launches import ReplaceLaunches
from cutune.passes.replace_tunables import ReplaceTunables
from cutune.rewrite.pipeline import Pass

PASSES: tuple[type[Pass], ...] = (
    InstrumentLaunches,
    InstrumentTunables,
    ReplaceLaunches,
    ReplaceTunables,
    ChooseValues,
)

__all__ = [
    "PASSES",
    "ChooseValues",
    "InstrumentLaunches",
    "InstrumentTunables",
    "ReplaceLaunches",
    "ReplaceTunables",
]
