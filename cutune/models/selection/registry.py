"""The performance models by name. Takes a fitted kernel and a device, gives program and rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cutune.device.profile import DeviceProfile
from cutune.fit.fitted_model import FittedModel
from cutune.fit.rational.program import RationalProgram
from cutune.models import latency, mechanistic, mwp_cwp
from cutune.models.selection.choose import (
    NO_OWN_BAND,
    OWN_BAND,
    OWN_BAND_ASSERTED,
    OWN_BAND_CONTENDED,
    OWN_BAND_LOOPED,
    OWN_BAND_ON_DATA,
    OwnBand,
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
    return selection_rule(
        model.blocks, model.one_dimensional, device.model.floor_us, _own_band(model, device)
    )


def _own_band(model: FittedModel, device: DeviceProfile) -> OwnBand:
    if any(memory.shared and memory.kind == "atomic" for memory in model.facts.memory):
        return OWN_BAND_CONTENDED
    if model.confirmed_on == device.name:
        return NO_OWN_BAND
    if model.facts.asserted:
        return OWN_BAND_ASSERTED
    if model.facts.on_data:
        return OWN_BAND_ON_DATA
    return OWN_BAND_LOOPED if model.looped else OWN_BAND


def _published_rule(model: FittedModel, _: DeviceProfile) -> SelectionRule:
    return published_rule(model.blocks)


MODELS = {
    DEFAULT: PerformanceModel(mechanistic.compose, _own_rule),
    "mwp-cwp": PerformanceModel(mwp_cwp.compose, _published_rule),
    "latency": PerformanceModel(latency.compose, _published_rule),
}
