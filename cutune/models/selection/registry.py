"""The performance models by name. Takes a fitted kernel and a device, gives program and rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cutune.device.profile import DeviceProfile
from cutune.fit.fitted_model import FittedModel
from cutune.fit.rational.program import RationalProgram
from cutune.models import mechanistic
from cutune.models.published import latency, mwp_cwp
from cutune.models.selection.choose import SelectionRule, published_rule, selection_rule
from cutune.models.selection.own_block import own_band

DEFAULT = "mechanistic"


@dataclass(frozen=True)
class PerformanceModel:
    """How the time of a launch is predicted, and how a block is chosen from that."""

    compose: Callable[[FittedModel, DeviceProfile], RationalProgram]
    rule: Callable[[FittedModel, DeviceProfile], SelectionRule]


def _own_rule(model: FittedModel, device: DeviceProfile) -> SelectionRule:
    return selection_rule(
        model.blocks, model.one_dimensional, device.model.floor_us, own_band(model, device)
    )


def _published_rule(model: FittedModel, _: DeviceProfile) -> SelectionRule:
    return published_rule(model.blocks)


MODELS = {
    DEFAULT: PerformanceModel(mechanistic.compose, _own_rule),
    "mwp-cwp": PerformanceModel(mwp_cwp.compose, _published_rule),
    "latency": PerformanceModel(latency.compose, _published_rule),
}
