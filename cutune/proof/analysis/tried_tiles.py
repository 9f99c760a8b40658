"""Copies of refused kernels with other constants. Takes a `Program`, gives those that were tried.

`Try` runs PTX: it is given from outside, because this room has no device to run it on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from cutune.proof.compiled import Compile, compiled_changes
from cutune.proof.variants.check import launching
from cutune.proof.variants.tiles import NAME, tile_candidates
from cutune.source.host_formula import names_in
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import (
    DataParameter,
    DimensionProof,
    Kernel,
    Program,
    Role,
)
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.source.unit.integers import integer_type
from cutune.source.unit.kernel_texts import KernelTexts
from cutune.source.unit.macros import Unsteady

Tiles = tuple[KernelVariant, ...]
Try = Callable[[str, Kernel, Sequence[KernelVariant]], tuple[list[KernelVariant], str]]
"""PTX, a kernel, copies → those that do the same, and what keeps others from it, in words."""
Copied = tuple[str, str]
"""The names of a kernel and of a copy."""


def tried_tiles(
    program: Program, compile_unit: Compile, unsteady: Unsteady, try_copies: Try
) -> dict[str, Tiles]:
    """Return the copies of refused kernels that do what these do, by the kernels' names."""
    texts = KernelTexts((program.source, *program.headers), unsteady=unsteady)
    candidates = tile_candidates(program, texts)
    written = {(k, one.name): one for k, copies in candidates.items() for one in copies}

    def with_some(some: Mapping[Copied, KernelVariant]) -> TranslationUnit:
        names = dict.fromkeys(kernel for kernel, _ in some)
        of = {
            (name, NAME): tuple(one for (kernel, _), one in some.items() if kernel == name)
            for name in names
        }
        kernels = (
            replace(kernel, variants=of.get((kernel.name, NAME), ())) for kernel in program.kernels
        )
        return launching(replace(program, kernels=tuple(kernels)), of)

    compiled = compiled_changes(written, with_some, compile_unit)
    found: dict[str, Tiles] = {}
    for name, copies in candidates.items():
        kernel = program.kernel(name)
        assert kernel is not None, "a candidate is a copy of a kernel"
        by_texts: dict[tuple[str, ...], list[KernelVariant]] = {}
        for one in copies:
            if texts_of := compiled.get((name, one.name)):
                by_texts.setdefault(tuple(texts_of), []).append(one)
        same = [
            one
            for of_each, some in by_texts.items()
            for one in _same_in_all(of_each, kernel, some, try_copies)
        ]
        if same:
            found[name] = tuple(same)
    return found


def _same_in_all(
    architectures: Sequence[str], kernel: Kernel, copies: Sequence[KernelVariant], try_copies: Try
) -> list[KernelVariant]:
    """Return the copies that do the same in the code of every architecture, at the same sizes."""
    first, *others = (try_copies(text, kernel, copies)[0] for text in dict.fromkeys(architectures))
    return [one for one in first if all(one in other for other in others)]


def with_tiles(kernel: Kernel, tiles: Tiles | None) -> Kernel:
    """Return the kernel with copies that have other constants; its own block stays."""
    if not tiles or kernel.pure_dimensions or kernel.reason is None:
        return kernel
    tile = tiles[0].tile
    assert tile is not None, "the copy of a tile"
    reason = kernel.reason
    x, y, z = (
        DimensionProof(block > 1 or extent != "1", reason)
        for block, extent in zip(tile.own_block, tile.extents, strict=True)
    )
    guards = {name for text in tile.extents for name in names_in(text)}
    integers = (
        p.name
        for p in kernel.parameters
        if integer_type(p.type.replace("const ", "").split()) is not None
    )
    sizes = tuple(
        DataParameter(name, Role.GUARD if name in guards else Role.BOUND) for name in integers
    )
    return replace(
        kernel, impurity=None, dimensions=(x, y, z), data_parameters=sizes, variants=tiles
    )
