"""The predicted gain that replaces the program's own block. Takes a kernel, gives a band."""

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
    """Multiples of the least prediction up to which the program's own block stays."""

    #: If the best block has no more threads than the program's own.
    smaller: Fraction
    #: If the best block has more threads.
    larger: Fraction

    @staticmethod
    def of(band: Fraction) -> OwnBand:
        """The same for both."""
        return OwnBand(band, band)


#: The program's own block is treated like all others.
NO_OWN_BAND = OwnBand.of(Fraction(0))


@dataclass(frozen=True)
class KindOfKernel:
    """A kind of kernels that the model predicts with the same certainty."""

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


#: In order of precedence.
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
