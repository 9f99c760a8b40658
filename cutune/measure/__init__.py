"""The instrumented program runs; measurements come out.

`proof` lies below the device, so whoever makes an analyzer hands `try_copies` in. It loads the
device (`tile_trials`) when there are copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutune.source.kernel_variant import KernelVariant
    from cutune.source.program import Kernel


def try_copies(
    text: str, kernel: Kernel, copies: Sequence[KernelVariant]
) -> tuple[list[KernelVariant], dict[str, str]]:
    """Give the copies that do what their kernel does, and of others the reasons, by their names.

    `text`: PTX of all of them. See `cutune.measure.tile_trials`.
    """
    from cutune.measure.tile_trials import copies_that_do_the_same  # noqa: PLC0415

    return copies_that_do_the_same(text, kernel, copies)
