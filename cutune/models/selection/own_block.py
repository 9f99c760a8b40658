"""How much must be gained before the program's own block goes. Takes a kernel, gives a band."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from cutune.device.profile import DeviceProfile
from cutune.fit.fitted_model import FittedModel
from cutune.models.constants import (
    OWN_BAND_ASSERTED,
    OWN_BAND_CONTENDED,
    OWN_BAND_DATA_LARGER,
    OWN_BAND_DATA_SMALLER,
    OWN_BAND_LOOPED,
    OWN_BAND_STRAIGHT,
)


@dataclass(frozen=True)
class OwnBand:
    """Up to which multiple of the least prediction the program's own block stays."""

    #: Where a block with no more threads than the program's own is the best.
    smaller: Fraction
    #: Where a larger one is.
    larger: Fraction

    @staticmethod
    def of(band: Fraction) -> OwnBand:
        """The same for both."""
        return OwnBand(band, band)


#: Where the program's own block is like all others.
NO_OWN_BAND = OwnBand.of(Fraction(0))


@dataclass(frozen=True)
class KindOfKernel:
    """Kernels of which the model can be equally sure."""

    name: str
    holds: Callable[[FittedModel, DeviceProfile], bool]
    band: OwnBand


def own_band(model: FittedModel, device: DeviceProfile) -> OwnBand:
    """The band of the first kind that the kernel is of."""
    return next(kind.band for kind in KINDS if kind.holds(model, device))


def _is_contended(model: FittedModel, _: DeviceProfile) -> bool:
    return any(memory.shared and memory.kind == "atomic" for memory in model.kernel.memory)


def _is_confirmed(model: FittedModel, device: DeviceProfile) -> bool:
    return model.confirmed_on == device.name


#: In the order in which they are asked.
KINDS = (
    KindOfKernel("atomics in shared memory", _is_contended, OwnBand.of(OWN_BAND_CONTENDED)),
    KindOfKernel("confirmed by timings", _is_confirmed, NO_OWN_BAND),
    KindOfKernel("annotated", lambda m, _: m.kernel.asserted, OwnBand.of(OWN_BAND_ASSERTED)),
    KindOfKernel(
        "data-dependent",
        lambda m, _: m.kernel.on_data,
        OwnBand(OWN_BAND_DATA_SMALLER, OWN_BAND_DATA_LARGER),
    ),
    KindOfKernel("with a loop", lambda m, _: m.looped, OwnBand.of(OWN_BAND_LOOPED)),
    KindOfKernel("without a loop", lambda m, _: True, OwnBand.of(OWN_BAND_STRAIGHT)),
)
