"""The performance models by name. Takes a fitted kernel and a device, gives program and rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cutune.device.profile import DeviceProfile
from cutune.fit.fitted_model import FittedModel
from cutune.fit.rational.program import RationalProgram
from cutune.models.mechanistic import compose
from cutune.models.published.latency import compose_latency
from cutune.models.published.mwp_cwp import compose_mwp_cwp
from cutune.models.selection.choose import SelectionRule, published_rule, selection_rule
from cutune.models.selection.own_block import band_of

DEFAULT = "mechanistic"


@dataclass(frozen=True)
class PerformanceModel:
    """A way to predict the time of a launch, and a rule that chooses a block from that."""

    compose: Callable[[FittedModel, DeviceProfile], RationalProgram]
    rule: Callable[[FittedModel, DeviceProfile], SelectionRule]


def _own_rule(model: FittedModel, device: DeviceProfile) -> SelectionRule:
    floor_us, band = device.model.floor_us, band_of(model, device)
    return selection_rule(model.blocks, model.one_dimensional, floor_us, band)


def _published_rule(model: FittedModel, _: DeviceProfile) -> SelectionRule:
    return published_rule(model.blocks)


MODELS = {
    DEFAULT: PerformanceModel(compose, _own_rule),
    "mwp-cwp": PerformanceModel(compose_mwp_cwp, _published_rule),
    "latency": PerformanceModel(compose_latency, _published_rule),
}
