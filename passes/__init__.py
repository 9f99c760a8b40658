"""The registry of passes, in running order. Takes names, gives passes."""

from __future__ import annotations

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, known_names
from cutune.passes.choose_values import ChooseValues
from cutune.passes.instrument_launches import InstrumentLaunches
from cutune.passes.instrument_tunables import InstrumentTunables
from cutune.passes.replace_launches import ReplaceLaunches
from cutune.passes.replace_tunables import ReplaceTunables
from cutune.source.rewrite.pipeline import Pass

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
    "passes_named",
]


def passes_named(names: str) -> tuple[Pass, ...]:
    """Passes by their names, separated by commas, in running order and with their defaults.

    Raises:
        CutuneError: CT304 for a name that no pass has.
    """
    wanted = names.split(",")
    known = {step.name: step for step in PASSES}
    for name in wanted:
        if name not in known:
            raise CutuneError.at(Code.UNKNOWN_PASS, name=name, known=known_names(name, known))
    return tuple(step() for name, step in known.items() if name in wanted)
