"""The performance models by name. Takes a fitted kernel and a device, gives program and rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from cutune.device import DeviceProfile
from cutune.fitted import FittedModel
from cutune.models import latency, mechanistic, mwp_cwp
from cutune.rational_program import RationalProgram
from cutune.selection import (
    OWN_BAND,
    OWN_BAND_UNPROVEN,
    TIMED_BAND,
    SelectionRule,
    published_rule,
    selection_rule,
)

DEFAULT = "mechanistic"


@dataclass(frozen=True)
class PerformanceModel:
    """How the time of a launch is predicted, and how a block is chosen from that."""

    compose: Callable[[FittedModel, DeviceProfile], RationalProgram]
    rule: Callable[[FittedModel, DeviceProfile], SelectionRule]


def _own_rule(model: FittedModel, device: DeviceProfile) -> SelectionRule:
    is_proven = not model.facts.asserted and not model.facts.on_data
    own_band = OWN_BAND if is_proven else OWN_BAND_UNPROVEN
    rule = selection_rule(model.blocks, model.one_dimensional, device.model.floor_us, own_band)
    if not model.timing_ranks:
        return rule
    return replace(rule, ranks=model.timing_ranks, band=TIMED_BAND, own_band=Fraction(0))


def _published_rule(model: FittedModel, _: DeviceProfile) -> SelectionRule:
    return published_rule(model.blocks)


MODELS = {
    DEFAULT: PerformanceModel(mechanistic.compose, _own_rule),
    "mwp-cwp": PerformanceModel(mwp_cwp.compose, _published_rule),
    "latency": PerformanceModel(latency.compose, _published_rule),
}
