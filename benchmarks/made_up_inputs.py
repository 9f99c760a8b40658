"""Inputs of public programs whose own ones are not at hand: random numbers in the right form.

Needs Python only, since it runs on the machine with the GPU as well: inputs are larger than all
the binaries. The same seed everywhere, so that both programs read the same.
"""

from __future__ import annotations

import array
import random
from collections.abc import Callable
from pathlib import Path

SEED = 1
#: A drawn number serves many times: no program looks at more than their distribution.
DISTINCT = 4096


def hotspot3d(path: Path, cells: int) -> None:
    """A number per line, as temperatures are."""
    _write_lines(path, cells, 320.0, 340.0)


def tonemapping(path: Path, side: int) -> None:
    """Width, height, and four channels of each pixel."""
    _write_lines(path, 4 * side * side, 0.0, 2.0, f"{side} {side}\n")


def mri_q(path: Path, pixels: int) -> None:
    """Both counts, three coordinates of each sample and each pixel, and a complex per sample."""
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = min(pixels, 2048)
    numbers = [random.Random(SEED).uniform(-0.5, 0.5) for _ in range(DISTINCT)]
    count = 5 * samples + 3 * pixels
    values = array.array("f", numbers) * (count // DISTINCT + 1)
    path.write_bytes(array.array("i", [samples, pixels]).tobytes() + values[:count].tobytes())


def _write_lines(path: Path, count: int, low: float, high: float, head: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draw = random.Random(SEED)
    block = "".join(f"{draw.uniform(low, high):.3f}\n" for _ in range(DISTINCT))
    rest = block.splitlines(keepends=True)[: count % DISTINCT]
    path.write_text(head + block * (count // DISTINCT) + "".join(rest))


#: What a plan asks for by name.
MAKERS: dict[str, Callable[[Path, int], None]] = {
    "hotspot3d": hotspot3d,
    "mri_q": mri_q,
    "tonemapping": tonemapping,
}
