"""The variants `x2`, `y4`, `restrict_z2`, …: each thread does several ids of one dimension.

    #line 1
    __global__ void scale__x2(int n, const float *A, float *B)
    { const auto cutune_body = [](const uint3 blockIdx, int n, const float *A, float *B) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        B[i] = 2 * A[i];
    }; _Pragma("unroll") for (unsigned cutune_each = 0; cutune_each < 2; ++cutune_each)
       cutune_body(uint3{blockIdx.x * 2 + cutune_each, blockIdx.y, blockIdx.z}, n, A, B); }
    #line 6

The body is called once for each id, so an early return ends that id alone. The ids of a thread are
one block width apart: the threads of a warp stay neighbours. The grid has half as many blocks. The
body gets its parameters as values: of a captured one the compiler would make other code.

In a pure dimension it is the same which thread does which id, and ids from the guard bound on do
nothing; so this does what the kernel does, if the body depends on nothing but the `blockIdx` that
it is given. That is proven on compiled code: in a copy, `moved`, the block's place comes from a
register that no program reads. Its code must not read the block's place in any other way, and must
be proven as the kernel's is, with that register as the block's place.

Where it is of no use there is none. Ids follow each other, so a kernel with a loop gains nothing:
while one id waits, the next cannot begin. In several dimensions it is rows or planes that a thread
does, not the ids of one row; a kernel that updates an array in place, row by row, got slower by up
to a quarter where the arrays do not fit L2 (docs/evaluation.md). Where the kernel may have the
variant `restrict`, that is done as well.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from cutune.core.codes import Code
from cutune.core.source import Span
from cutune.proof.entry_proof import EntryProof
from cutune.proof.memory.pointers import NotReached, reached
from cutune.proof.variants.restrict import pointers_of, restriction_if_legal, with_restriction
from cutune.proof.variants.text import Changes, Illegal, KernelText, not_repeated
from cutune.ptx.types import Module
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import DIMENSIONS, Kernel
from cutune.source.rewrite.c_text import one_line
from cutune.source.unit.unit import split_commas

NAME = "coarsen"
#: Ids of a thread. With 8 no kernel that was swept on an H200 was faster than with 4 by more than
#: 3 %, where either is offered; those sweeps are not kept.
FACTORS = (2, 4)
#: What the name of the copy for the proof ends with.
MOVED = "moved"
#: Registers that no program reads, by those in whose place such copies read them.
UNREAD = {
    "%ctaid.x": "%envreg0",
    "%ctaid.y": "%envreg1",
    "%ctaid.z": "%envreg2",
    "%tid.x": "%envreg3",
}
BODY, EACH = "cutune_body", "cutune_each"
#: As the compiler knows them to be; a launch makes sure that ids lie in no other blocks.
_MOST = ("2147483647u", "65535u", "65535u")
_OWN_PLACE = ("ctaid", "nctaid")
_READ = re.compile(
    r"//\s*begin inline asm\s*\n\s*mov\.u32\s+(%\w+),\s*(%envreg[0-3]);\s*\n\s*//\s*end inline asm"
)


def coarsen(text: KernelText, proofs: Sequence[EntryProof]) -> Iterator[KernelVariant]:
    """Yield the variants of a kernel; raises Illegal where it has none."""
    axes = _axes(text.kernel, proofs)
    ask_unread(text)
    body = body_of(text, ["blockIdx"])
    moved = text.copy(copy_for_proof(text.kernel, MOVED), body.moved(axes))
    base = restriction_if_legal(text, proofs)
    for axis in axes:
        for factor in FACTORS:
            name, changes = f"{DIMENSIONS[axis]}{factor}", body.several(axis, factor)
            x, y, z = (factor if other == axis else 1 for other in range(3))
            variant = with_restriction(text, NAME, name, changes, base)
            yield replace(variant, coarsen=(x, y, z), moved=moved)


def _axes(kernel: Kernel, proofs: Sequence[EntryProof]) -> list[int]:
    """Dimensions in which a thread may do several ids; raises Illegal where that is of no use."""
    ask_separate(kernel, proofs)
    axes = _several(kernel)
    if not axes:
        what = "no guard bounds a dimension in which a thread could do several ids"
        raise Illegal(Code.VARIANT_USELESS, what)
    if not is_line(kernel) and any(_updates(kernel, proof) for proof in proofs):
        raise Illegal(Code.VARIANT_USELESS, "it may change arrays in place, row by row")
    ask_straight(proofs)
    return axes


def _several(kernel: Kernel) -> list[int]:
    """Dimensions in which a thread could do several ids.

    In several dimensions the rows of a block stay whole: of two ids in one row, measured times say
    nothing reliable.
    """
    return [axis for axis in guarded(kernel) if axis > 0 or is_line(kernel)]


def ask_separate(kernel: Kernel, proofs: Sequence[EntryProof]) -> None:
    """Raise Illegal where what an id does may depend on others meanwhile."""
    if kernel.asserted or kernel.needs_warps:
        raise Illegal(Code.VARIANT_ORDER, "threads of a warp may exchange values")
    if kernel.shared is not None or any(proof.uses_shared for proof in proofs):
        # No barrier stands between one body and the next.
        raise Illegal(Code.VARIANT_ORDER, "threads share memory of their block")


def ask_straight(proofs: Sequence[EntryProof]) -> None:
    """Raise Illegal where an id cannot begin before the one before it has ended."""
    if not proofs or not all(proof.is_straight for proof in proofs):
        what = "its code loops or ends early, so that a thread does several ids one after the other"
        raise Illegal(Code.VARIANT_USELESS, what)


def _updates(kernel: Kernel, proof: EntryProof) -> bool:
    with suppress(NotReached):
        return bool(reached(proof.uses, pointers_of(kernel)).changed)
    return True


def is_line(kernel: Kernel) -> bool:
    """Does a kernel use one dimension alone?"""
    return sum(one.indexed for one in kernel.dimensions) == 1


def guarded(kernel: Kernel) -> list[int]:
    """The dimensions that are shared out, in which more ids than there are have no effect."""
    return [
        axis
        for axis, proof in enumerate(kernel.dimensions)
        if kernel.free[axis] and proof.guard and not (proof.grid_stride or proof.grid_kept)
    ]


@dataclass(frozen=True)
class CalledBody:
    parameters: str
    values: str

    def several(self, axis: int, factor: int) -> Changes:
        places = [f"blockIdx.{d}" for d in DIMENSIONS]
        places[axis] += f" * {factor}u + {EACH}"
        return self._called(factor, places)

    def moved(self, axes: Sequence[int]) -> Changes:
        registers, places = "", [f"blockIdx.{d}" for d in DIMENSIONS]
        for axis in axes:
            place = places[axis] = f"{BODY}_{DIMENSIONS[axis]}"
            registers += read_unread(place, f"%ctaid.{DIMENSIONS[axis]}", _MOST[axis])
        return self._called(1, places, registers)

    def _called(self, count: int, places: Sequence[str], first: str = "") -> Changes:
        loop = f"for (unsigned {EACH} = 0; {EACH} < {count}u; ++{EACH})"
        call = f"{BODY}(uint3{{{', '.join(places)}}}{self.values});"
        return Changes(
            opening=f" const auto {BODY} = [](const uint3 blockIdx{self.parameters}) {{",
            closing=f'}}; {first}_Pragma("unroll") {loop} {call} ',
            taken=(BODY, EACH),
        )


def body_of(text: KernelText, given: Collection[str]) -> CalledBody:
    """Return the body of a kernel; raises Illegal where its parameters cannot be passed on.

    `given`: indices that become variables of it.
    """
    if text.lets_lambdas_tell(given):
        raise not_repeated(
            "a lambda names an index, which it would hold in a copy, and is not only called"
        )
    names = [parameter.name for parameter in text.kernel.parameters]
    opener, closer = text.function.parameters
    tokens = text.syntax.tokens[opener + 1 : closer]
    if not names:
        return CalledBody("", "")
    if not all(names) or any(token.text == "..." for token in tokens):
        raise not_repeated("a parameter has no name")
    if len(list(split_commas(tokens))) != len(names):
        raise not_repeated("its parameters are made by a macro")
    declared = text.syntax.source[Span(tokens[0].start, tokens[-1].end)]
    return CalledBody(f", {one_line(declared)}", f", {', '.join(names)}")


def ask_unread(text: KernelText) -> None:
    """Raise Illegal where the program reads registers that copies for proofs need."""
    if any("envreg" in file.text for file in text.texts.files):
        raise not_repeated("the program reads environment registers")


def copy_for_proof(kernel: Kernel, suffix: str) -> str:
    """Return the name of a copy whose indices come from registers that no program reads."""
    return f"{kernel.name}__{suffix}"


def read_unread(variable: str, register: str, most: str) -> str:
    """Return C text: a variable below `most` from what is read in place of a register."""
    return (
        f'unsigned {variable}; asm("mov.u32 %0, %{UNREAD[register]};" : "=r"({variable})); '
        f"__builtin_assume({variable} < {most}); "
    )


def with_indices(ptx: str) -> str:
    """Return PTX of copies for proofs in which indices come from their usual registers."""
    usual = {unread: register for register, unread in UNREAD.items()}
    return _READ.sub(lambda found: f"mov.u32 {found[1]}, {usual[found[2]]};", ptx)


def reads_own_place(module: Module, entry: str, kernel: Kernel) -> str | None:
    """Return a register by which code, before `with_indices`, reads its block's place; or None."""
    names = {f"%{word}.{DIMENSIONS[axis]}" for axis in _several(kernel) for word in _OWN_PLACE}
    own = module.functions[entry]
    calls = any(item.opcode == "call" for item in own.instructions)
    others = (function for function in module.functions.values() if not function.is_kernel)
    read = (function.operands & names for function in (own, *(others if calls else ())))
    return next((min(one) for one in read if one), None)
