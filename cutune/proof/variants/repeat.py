"""The variants `blocks_x2`, `beside_y4`: a block does what several blocks do.

    __global__ void reverse__blocks_x2(const int *a, int *b, int n)
    { const auto cutune_body = [](const uint3 blockIdx, const int *a, int *b, int n) {
        __shared__ int part[256];
        …
    }; unsigned cutune_block; asm volatile("mov.u32 %0, %ctaid.x;" : "=r"(cutune_block));
    for (unsigned cutune_each = 0; cutune_each < 2u; ++cutune_each) {
        const unsigned cutune_place = cutune_block * 2u + cutune_each;
        if (cutune_place * 256u >= unsigned(n)) break;
        if (cutune_each > 0u) __syncthreads();
        cutune_body(uint3{cutune_place, blockIdx.y, blockIdx.z}, a, b, n); } }

That is `blocks_x2`, one after another; of `beside_x2` the body is that of `interleave`, and the
same is asked of both. Takes refused kernels, which keep their block, and what their blocks share
out; gives candidates, which are tried as other tiles are. The body is called once for each block of
the original, which exists where what it covers begins below the extent. Where the grid follows no
argument, the program has to ask for a multiple of what a block does.

Blocks of the original may come one after another on one multiprocessor, in any order: none waits
for another one, as no branch depends on memory. So it is with their bodies, if a barrier keeps what
is shared apart, and each thread comes to it. `InTurn` asks that of the code: a thread that returns
early is not gone here (`cutune.proof.flow.together`). And the code must read the register of its
block's place once, as it is written there: what reads it elsewhere would have that of the copy.
What bodies make of sizes is what the kernel makes of them, whichever sizes were tried: a body has
the names, types and constants of the kernel. What a kernel might tell the copy by is refused: how
large a lambda is that holds its block's place, and where in shared memory an array lies.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import repeat

from cutune.core.source import Edit, Span
from cutune.proof.flow.together import parted
from cutune.proof.variants.coarsen import BODY, EACH, body_of
from cutune.proof.variants.interleave import (
    AT,
    INTERLEAVED,
    OWN,
    Body,
)
from cutune.proof.variants.text import Changes, Illegal, KernelText
from cutune.ptx.named_numbers import type_of
from cutune.ptx.taint import names, results, sources, spaces
from cutune.ptx.types import LOADS, MEMORY, Function, Instruction, Module
from cutune.source.host_formula import renamed
from cutune.source.kernel_variant import KernelVariant, Tile
from cutune.source.program import DIMENSIONS
from cutune.toolchain.device.thread_block import Block

NAME = "repeat"
FACTORS = (2, 4)
#: Elements of a block: so many more than an extent may have are still numbers of 32 bits.
_MOST_COVERED = 1 << 20
#: What names of copies begin with, and what people read.
_IN_TURN, _BESIDE = ("blocks", "in turn"), ("beside", "side by side")
_NAME = re.compile(r"[\w$]+")
#: Names of variables that each block of a copy has, and registers of places.
_OF_BLOCKS = re.compile(rf"\b\w+{INTERLEAVED}\d+\b")
#: Indices that become variables of bodies.
_GIVEN = ("blockIdx", "gridDim")
_PLACES = re.compile(r"%n?ctaid(?:\.\w+)?")
#: What moves an address, or chooses one.
_OF_ADDRESSES = frozenset({"mov", "cvta", "cvt", "add", "selp", "isspacep"})
#: Directives that copies have as their kernels do, with blocks of as many threads.
_BOUNDS = frozenset({"maxntid", "minnctapersm", "maxnreg"})
_PLACE, _BLOCK, _GRID = "cutune_place", "cutune_block", "cutune_grid"


def repeated(
    text: KernelText, tile: Tile, pointers: tuple[tuple[int, ...], tuple[int, ...]]
) -> Iterator[KernelVariant]:
    """Yield the copies of a kernel whose blocks do those of `tile`, the program's own launch."""
    if any(text.lambdas_with(_GIVEN)):
        return
    tile = _in_read_axes(tile, read := _axes_read(text))
    axes = [axis for axis in read if tile.extents[axis] != "1"]
    # Of a plane rows are done one after another. What the program asks for may be odd.
    told = [axis for axis in axes if not tile.is_asked(axis)]
    last = (told or axes)[-1:]
    for axis in (one for one in last if tile.own_covered[one] <= _MOST_COVERED):
        for factor in FACTORS:
            yield _copy(text, tile, axis, factor, pointers, _in_turn, _IN_TURN)
        if not tile.shared:
            with suppress(Illegal):
                beside = partial(_side_by_side, Body(text))
                for factor in FACTORS:
                    yield _copy(text, tile, axis, factor, pointers, beside, _BESIDE)


def _axes_read(text: KernelText) -> list[int]:
    """The dimensions of the grid that a body names; all, where that is not seen."""
    texts = [token.text for token in text.body]
    places = [at for at, word in enumerate(texts) if word == "blockIdx"]
    named = {"".join(texts[at + 1 : at + 3]) for at in places}
    axes = [axis for axis, d in enumerate(DIMENSIONS) if f".{d}" in named]
    return axes if named <= {f".{d}" for d in DIMENSIONS} and axes else [*range(len(DIMENSIONS))]


def _in_read_axes(tile: Tile, read: Sequence[int]) -> Tile:
    """As a tile; where a kernel does not ask for its block's place, there is one block."""
    alone = [tile.is_asked(axis) and axis not in read for axis in range(len(DIMENSIONS))]
    x, y, z = ("1" if is_one else own for own, is_one in zip(tile.extents, alone, strict=True))
    return replace(tile, extents=(x, y, z)) if any(alone) else tile


def obstacle(module: Module, entry: str, block: Block) -> str | None:
    """Return what a kernel has that is against copies whose threads go on; None if nothing."""
    function = module.functions[entry]
    if not function.directives.keys() <= _BOUNDS:
        return "it belongs to a cluster, or is compiled for one block"
    return parted(module, function, block) or None


def has_other_bounds(module: Module, base: str, entry: str) -> str | None:
    """Return whether a copy has other launch bounds than its kernel; else None."""
    own, its = (module.functions[one].directives for one in (base, entry))
    return None if own == its else "it has other launch bounds"


def reads_other_place(module: Module, entry: str, copy: KernelVariant) -> str | None:
    """Return what a copy has that asks for its own block's place, but where it is written to."""
    tile = copy.tile
    assert tile is not None, "the copy of a tile"
    pairs = zip(DIMENSIONS, tile.covered, tile.own_covered, strict=True)
    axis = next(d for d, covered, own in pairs if covered != own)
    operands = (
        one for f in module.entry_and_functions(entry) for i in f.instructions for one in i.operands
    )
    read = Counter(name for one in operands for name in _PLACES.findall(one))
    has_grid = _read(_GRID, f"nctaid.{axis}") in copy.edit.text
    for register, times in ((f"%ctaid.{axis}", 1), (f"%nctaid.{axis}", int(has_grid))):
        # `%ctaid` is a vector of all.
        if read[register] + read[register[:-2]] != times:
            return f"it, or a function that it calls, reads {register}"
    return None


def shares_other_memory(module: Module, entry: str, copy: KernelVariant) -> str | None:
    """Return what a copy with blocks side by side has that these share, though each needs its own.

    Its own arrays are there once for each block. One of a function, or of the file, is not.
    """
    if not copy.name.startswith(_BESIDE[0]):
        return None
    functions = module.entry_and_functions(entry)
    variables = (*module.variables, *(one for f in functions for one in f.variables))
    shared = {one.name for one in variables if one.space == "shared"}
    used = {name for f in functions for each in f.instructions for name in _names(each)}
    # As compilers name what is declared in the body itself.
    function = entry[2:] if entry.startswith("_Z") else f"{len(entry)}{entry}"
    own = {f"_ZZ{function}E{len(name)}{name}" for name in _OF_BLOCKS.findall(copy.edit.text)}
    is_own = shared & used <= own
    return None if is_own else "its blocks would share an array that is not declared in its body"


def changes_what_is_shared(module: Module, base: str, entry: str) -> str | None:
    """Return whether a copy may change variables that its blocks share; else None.

    It traps where one is another than before, and has no trap if the compiler knows that none is.
    """
    traps = [
        sum(i.opcode == "trap" for i in module.functions[one].instructions) for one in (base, entry)
    ]
    return None if traps[0] == traps[1] else "it may change a variable that its blocks share"


def tells_addresses(module: Module, entry: str) -> str | None:
    """Return whether it is told where an array of the block, or of a thread, lies; else None.

    Elsewhere it has the same elements. So addresses may only be moved, chosen, followed, and
    compared with others of one array.
    """
    for function in module.entry_and_functions(entry):
        if any(map(_is_told, function.instructions, repeat(_arrays_of(module, function)))):
            return "it makes numbers of addresses of shared or local memory"
    return None


def _arrays_of(module: Module, function: Function) -> Origins:
    """The arrays whose addresses registers may hold. Of a function's pointers nobody knows."""
    known = (*module.variables, *function.variables)
    found: dict[str, set[str]] = {
        one.name: {one.name} for one in known if one.space in ("shared", "local")
    }
    size = -1
    while size != (size := sum(map(len, found.values()))):
        for one in function.instructions:
            is_parameter = one.opcode in LOADS and "param" in spaces(one)
            if one.opcode in ("setp", "isspacep") or (one.opcode in MEMORY and not is_parameter):
                continue
            arrays = {array for name in sources(one) for array in found.get(name, ())}
            if is_parameter and not function.is_kernel and type_of(one, 0)[1:] == "64":
                arrays.add("")
            for name in results(one) if arrays else ():
                found.setdefault(name, set()).update(arrays)
    return found


def _is_told(one: Instruction, arrays: Origins) -> bool:
    """Does an instruction make anything else of an address than another one?"""
    first = 1 if results(one) else 0
    plain = [operand for operand in one.operands[first:] if "[" not in operand]
    held = [{array for name in names(o) for array in arrays.get(name, ())} for o in plain]
    if not any(held) or one.opcode == "call" or (one.opcode == "st" and "param" in spaces(one)):
        return False
    if one.opcode == "setp":
        return len(held) != 2 or held[0] != held[1] or len(held[0]) != 1 or "" in held[0]
    if one.opcode == "sub":
        return bool(held[1])
    if one.opcode == "mad":
        return any(held[:2])
    # Of 32 bits are addresses in shared memory.
    is_short = one.opcode == "cvt" and type_of(one, 0)[1:] not in ("32", "64")
    return one.opcode not in _OF_ADDRESSES or is_short


def _names(instruction: Instruction) -> set[str]:
    return {name for one in instruction.operands for name in _NAME.findall(one)}


def _copy(
    text: KernelText,
    tile: Tile,
    axis: int,
    factor: int,
    pointers: tuple[tuple[int, ...], tuple[int, ...]],
    form: _Form,
    words: tuple[str, str],
) -> KernelVariant:
    name = f"{words[0]}_{DIMENSIONS[axis]}{factor}"
    kernel = f"{text.kernel.name}__{name}"
    edit = text.copy(kernel, form(text, tile, axis, factor))
    several = replace(
        tile,
        covered=_with(tile.covered, axis, factor * tile.covered[axis]),
        whole=_with((1, 1, 1), axis, factor if tile.is_asked(axis) else 1),
        values=((f"blocks {words[1]} in {DIMENSIONS[axis]}", factor),),
    )
    about = name, kernel, text.syntax.source, edit, NAME, *pointers
    return KernelVariant(*about, tile=several, declaration=text.declaration(kernel))


def _with(shape: Block, axis: int, size: int) -> Block:
    x, y, z = (size if other == axis else old for other, old in enumerate(shape))
    return x, y, z


def _in_turn(text: KernelText, tile: Tile, axis: int, factor: int) -> Changes:
    body, d = body_of(text, _GIVEN), DIMENSIONS[axis]
    grid, value, registers = "", "", _read(_BLOCK, f"ctaid.{d}")
    if any(token.text == "gridDim" for token in text.body):
        blocks = f"{_GRID} * {factor}u"
        if not tile.is_asked(axis):
            covered = tile.own_covered[axis]
            blocks = f"({_extent(tile, axis)} + {covered - 1}u) / {covered}u"
        else:
            registers += _read(_GRID, f"nctaid.{d}")
        grid, value = ", const dim3 gridDim", f", dim3({_listed(axis, blocks)})"
    return Changes(
        opening=f" const auto {BODY} = [](const uint3 blockIdx{grid}{body.parameters}) {{",
        closing=f"}}; {registers}{_each(tile, axis, factor, value + body.values)}",
        taken=(BODY, EACH, _PLACE, _BLOCK, _GRID),
    )


def _each(tile: Tile, axis: int, factor: int, values: str) -> str:
    """A loop over the blocks of a copy that exist. `values`: what the body gets besides."""
    behind = "" if tile.is_asked(axis) else f"if (!({_exists(tile, axis, _PLACE)})) break; "
    return (
        f'_Pragma("unroll 1") for (unsigned {EACH} = 0; {EACH} < {factor}u; ++{EACH}) {{ '
        f"const unsigned {_PLACE} = {_BLOCK} * {factor}u + {EACH}; {behind}"
        f"if ({EACH} > 0u) __syncthreads(); {BODY}({_at(axis, _PLACE)}{values}); }} "
    )


def _side_by_side(beside: Body, text: KernelText, tile: Tile, axis: int, factor: int) -> Changes:
    body, several = body_of(text, _GIVEN), beside.interleaved(factor)
    places = [f"{_BLOCK} * {factor}u + {number}u" for number in range(factor)]
    each = "".join(
        f"const uint3 {AT}{number} = {_at(axis, place)}; " for number, place in enumerate(places)
    )
    inner = Span(text.body[0].end, text.body[-1].start)
    first = f" {several.shared} {_read(_BLOCK, f'ctaid.{DIMENSIONS[axis]}')}"
    together = f"{each}{several.together}"
    if tile.is_asked(axis):
        written = first + together
    else:
        written = (
            f"{first}if ({_exists(tile, axis, f'({places[-1]})')}) {{ {together}}} else {{ "
            f"const auto {BODY} = [&](const uint3 blockIdx{body.parameters}) {{ {several.rest} }}; "
            f"{_each(tile, axis, factor, body.values)}}} "
        )
    return Changes((Edit(inner, written),), taken=(OWN, INTERLEAVED))


def _exists(tile: Tile, axis: int, place: str) -> str:
    return f"{place} * {tile.own_covered[axis]}u < {_extent(tile, axis)}"


def _at(axis: int, place: str) -> str:
    places = [f"blockIdx.{one}" for one in DIMENSIONS]
    places[axis] = place
    return f"uint3{{{', '.join(places)}}}"


def _read(name: str, register: str) -> str:
    """Written as the compiler's own reading of the register is not."""
    return f'unsigned {name}; asm volatile("mov.u32 %0, %%{register};" : "=r"({name})); '


def _extent(tile: Tile, axis: int) -> str:
    """C text of an extent, exact: a launch asks that it is below 2^30."""
    exact = {name: f"(long long)({name})" for name in tile.names}
    return f"(unsigned)({renamed(tile.extents[axis], exact)})"


def _listed(axis: int, blocks: str) -> str:
    sizes: Sequence[str] = [f"gridDim.{one}" for one in DIMENSIONS]
    return ", ".join(blocks if other == axis else old for other, old in enumerate(sizes))


Origins = Mapping[str, Set[str]]
"""Names of arrays, by those of registers."""
_Form = Callable[[KernelText, Tile, int, int], Changes]
