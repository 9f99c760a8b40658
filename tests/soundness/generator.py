"""Programs that attack the proof: seeded, well defined, many in one source.

Takes a seed and a range of numbers, gives CUDA text. Each program is a namespace with kernels and a
function `go`; `main` runs all and prints one line for each, with a checksum of all that its
launches left behind. A program depends on the seed and its number only, so that it is the same
whichever others share its file. Originals have no data race and no undefined behaviour; where
threads of a warp hand each other values without one, a device that runs warps in step has one
result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tests.soundness.collectives import collective
from tests.soundness.draws import Draw
from tests.soundness.hosts import host
from tests.soundness.kernels import Kernel, kernel
from tests.soundness.prelude import main_text, prelude

#: So many successive programs are tame, and so many are not.
GROUP = 25


@dataclass(frozen=True)
class Generated:
    """One program.

    Attributes:
        name: the namespace, and the first word of its line.
        text: everything in the namespace.
        is_dependent: some kernel follows the block, as far as the generator knows.
    """

    name: str
    text: str
    is_dependent: bool


def generated(seed: int, number: int) -> Generated:
    """The program of a number."""
    name = f"p{number:05d}"
    draw = Draw(f"{seed}/{number}", name)
    draw.shares_names = draw.chance(0.06)
    draw.is_tame = number // GROUP % 2 == 0
    kernels = [_named(draw, name, at) for at in range(draw.weighted([(6, 1), (3, 2)]))]
    decoys = [_decoy(draw, each) for each in kernels]
    texts: list[str] = []
    for each, decoy in zip(kernels, decoys, strict=True):
        texts.extend(draw.some([each.text, decoy], 2) if decoy else [each.text])
    text = "\n".join((*texts, host(draw, kernels)))
    return Generated(name, text, any(each.is_dependent for each in kernels))


def _named(draw: Draw, program: str, at: int) -> Kernel:
    """A kernel with a name that is its own, or one that other programs use, too."""
    stem = draw.weighted([(14, f"k_{program}_"), (1, "kernel"), (1, "add")])
    suffix = draw.weighted([(12, ""), (1, "<int>"), (1, "<4>")])
    return kernel(draw, f"{stem}{at}{suffix}", program)


def _decoy(draw: Draw, real: Kernel) -> str:
    """Another kernel of the same name, or nothing."""
    bare = real.name.partition("<")[0]
    if not draw.chance(0.05):
        return ""
    if "<" in real.name or draw.chance(0.5):
        return f"namespace other {{ __global__ void {bare}(int *out) {{ out[threadIdx.x] = 1; }} }}"
    return f"__global__ void {bare}(double *out, float x) {{ out[blockIdx.x] = x + threadIdx.x; }}"


def source(programs: Iterable[Generated]) -> str:
    """One CUDA source that runs the programs in turn."""
    chosen = list(programs)
    spaces = (f"namespace {each.name} {{\n{each.text}\n}}  // {each.name}\n" for each in chosen)
    names = [each.name for each in chosen]
    return "\n".join((prelude("".join(each.text for each in chosen)), *spaces, main_text(names)))


def generated_collective(seed: int, number: int) -> Generated:
    """The program of a number, in which threads of a block work together."""
    name = f"p{number:05d}"
    text, is_right = collective(Draw(f"collective/{seed}/{number}", name))
    return Generated(name, text, not is_right)


#: By the name of a family what makes its programs.
FAMILIES: Mapping[str, Callable[[int, int], Generated]] = {
    "any": generated,
    "collective": generated_collective,
}


def batch(seed: int, first: int, count: int, family: str = "any") -> tuple[Generated, ...]:
    """Programs of successive numbers."""
    return tuple(FAMILIES[family](seed, number) for number in range(first, first + count))
