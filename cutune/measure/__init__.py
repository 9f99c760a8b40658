"""The instrumented program runs; measurements come out.

`proof` lies below the device, so whoever makes an analyzer hands `try_copies` in. It loads the
device (`tile_trials`) when there are copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from cutune.core.diagnostics import CutuneError
from cutune.core.progress import Progress, silent

if TYPE_CHECKING:
    from cutune.source.kernel_variant import KernelVariant
    from cutune.source.program import Kernel


def try_copies(
    text: str, kernel: Kernel, copies: Sequence[KernelVariant], progress: Progress = silent
) -> tuple[list[KernelVariant], dict[str, str]]:
    """Give the copies that do what their kernel does, and of others the reasons, by their names.

    `text`: PTX of all of them. See `cutune.measure.tile_trials`.
    """
    from cutune.measure.tile_trials import copies_that_do_the_same  # noqa: PLC0415

    try:
        _build_machine(progress)
    except CutuneError as error:
        # That tells nothing of the copies: unlike answers of trials it is not kept.
        reason = f"the emulated device is missing: {error.diagnostic.message}"
    else:
        try:
            return copies_that_do_the_same(text, kernel, copies)
        except Exception as error:
            # A fault of cutune's: this kernel stays as it is, and the program does not suffer.
            reason = f"cutune failed while it tried it, which please report: {error!r}"
    return [], dict.fromkeys((one.name for one in copies), reason)


@cache
def _build_machine(progress: Progress) -> None:
    from cutune.emulator.build import machine_library  # noqa: PLC0415

    machine_library(progress)
