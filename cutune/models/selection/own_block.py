"""The predicted gain that replaces the program's own block. Takes a kernel, gives a band."""

from __future__ import annotations

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
        return OwnBand(band, band)


#: The program's own block is treated like all others.
NO_OWN_BAND = OwnBand.of(Fraction(0))


def band_of(model: FittedModel, device: DeviceProfile) -> OwnBand:
    """The band of a kernel: the less certain its predictions are, the wider."""
    kernel = model.kernel
    if any(memory.shared and memory.kind == "atomic" for memory in kernel.memory):
        return OwnBand.of(OWN_BAND_CONTENDED)
    if model.confirmed_on == device.name:
        return NO_OWN_BAND
    if kernel.asserted:
        return OwnBand.of(OWN_BAND_ASSERTED)
    if kernel.on_data:
        return OwnBand(OWN_BAND_DATA_SMALLER, OWN_BAND_DATA_LARGER)
    return OwnBand.of(OWN_BAND_LOOPED if model.looped else OWN_BAND_STRAIGHT)
