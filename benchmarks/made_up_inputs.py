"""Inputs of public programs whose own ones are not at hand: random numbers in the right form.

Needs Python only, since it runs on the machine with the GPU as well: inputs are larger than all
the binaries. The same seed everywhere, so that both programs read the same.
"""

from __future__ import annotations

import array
import random
import struct
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


def graph(path: Path, nodes: int) -> None:
    """A head, and `node,node,sign` of edges, four per node: graphB+."""
    draw = random.Random(SEED)
    edges = [(draw.randrange(k), k, draw.choice((-1, 1))) for k in range(1, nodes)]
    edges += [(draw.randrange(nodes), draw.randrange(nodes), 1) for _ in range(3 * nodes)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("from,to,sign\n" + "".join(f"{a},{b},{sign}\n" for a, b, sign in edges))


def digits(folder: Path, count: int) -> None:
    """Pictures of 28 by 28 bytes and their labels, for training and for tests: mnist."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(SEED)
    for kind in ("train", "t10k"):
        pictures = b"".join(number.to_bytes(4, "big") for number in (2051, count, 28, 28))
        labels = b"".join(number.to_bytes(4, "big") for number in (2049, count))
        (folder / f"{kind}-images.idx3-ubyte").write_bytes(pictures + draw.randbytes(784 * count))
        names = bytes(draw.randrange(10) for _ in range(count))
        (folder / f"{kind}-labels.idx1-ubyte").write_bytes(labels + names)


def deck(folder: Path, poses: int) -> None:
    """Atoms of a ligand and a protein, their kinds, poses, and energies: minibude."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(SEED)
    kinds = 8

    def atoms(count: int) -> bytes:
        drawn = ([draw.uniform(-9, 9) for _ in "xyz"] for _ in range(count))
        return b"".join(struct.pack("3fi", *one, draw.randrange(kinds)) for one in drawn)

    (folder / "ligand.in").write_bytes(atoms(4))
    (folder / "protein.in").write_bytes(atoms(8))
    forces = (struct.pack("i3f", 69 + k % 3, 1.5, k % 3 - 1, 0.5) for k in range(kinds))
    (folder / "forcefield.in").write_bytes(b"".join(forces))
    angles = array.array("f", (draw.uniform(-3, 3) for _ in range(DISTINCT)))
    (folder / "poses.in").write_bytes((angles * (6 * poses // DISTINCT + 1))[: 6 * poses].tobytes())
    (folder / "ref_energies.out").write_text("1.0\n" * poses)


def sea(path: Path, side: int) -> None:
    """Depths in a square of the sea off Sumatra, as Surfer's binary grids hold them: easyWave."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = b"DSBB" + struct.pack("<2H6d", side, side, 95.0, 107.0, -11.0, 1.0, -5000.0, -10.0)
    draw = random.Random(SEED)
    depths = array.array("f", (draw.uniform(-4000, -3000) for _ in range(DISTINCT)))
    path.write_bytes(head + (depths * (side * side // DISTINCT + 1))[: side * side].tobytes())


def _write_lines(path: Path, count: int, low: float, high: float, head: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draw = random.Random(SEED)
    block = "".join(f"{draw.uniform(low, high):.3f}\n" for _ in range(DISTINCT))
    rest = block.splitlines(keepends=True)[: count % DISTINCT]
    path.write_text(head + block * (count // DISTINCT) + "".join(rest))


#: What a plan asks for by name.
MAKERS: dict[str, Callable[[Path, int], None]] = {
    "deck": deck,
    "digits": digits,
    "graph": graph,
    "hotspot3d": hotspot3d,
    "mri_q": mri_q,
    "sea": sea,
    "tonemapping": tonemapping,
}
