"""The variants `bounds256x3`, `restrict_bounds256x4`, …: copies that leave room for more blocks.

    #line 1
    __global__ void __launch_bounds__(256, 4) collide__bounds256x4(int n, const float *f, float *g)
    {
        …
    }
    #line 5

ptxas gives the copy so few registers that four blocks of 256 threads fit on an SM at once, or as
many warps in smaller blocks. More warps hide more of the time that each waits; fewer registers may
keep fewer loads on their way. Which of both it is, the model says.

The copy may only be launched with 256 threads, or fewer. In all else it does what the kernel does:
its compiled code is the same, instruction by instruction, but for these two numbers
(`cutune.proof.variants.check`). ptxas decides about registers afterwards, and adds only loads
and stores of what it has no register for; a copy with more of them than the kernel has is left out,
and so is one that needs no fewer registers (`cutune.measure.replay.subjects`).

Blocks of 256, and at most four of them, are what every GPU since compute capability 7.5 has room
for: ptxas would warn about more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cutune.core.codes import Code
from cutune.proof.entry_proof import EntryProof
from cutune.proof.variants.restrict import Restriction, restriction_if_legal, with_restriction
from cutune.proof.variants.text import Changes, Illegal, KernelText
from cutune.source.kernel_variant import KernelVariant

NAME = "bounds"
#: Threads of a block, and blocks that an SM shall have room for: with 65,536 registers, 128, 80 and
#: 64 registers per thread (CUDA C++ Programming Guide, Launch Bounds; allocated by eight).
LIMITS = ((256, 2), (256, 3), (256, 4))
#: Kernels that need fewer leave room for three quarters of the warps of an SM.
_FEW_REGISTERS = 40


def bounds(text: KernelText, proofs: Sequence[EntryProof]) -> list[KernelVariant]:
    """Return the variants of a kernel; raises Illegal where it may have none.

    Most kernels need none: their registers leave room for enough blocks.
    """
    if max((proof.pressure for proof in proofs), default=0) < _FEW_REGISTERS:
        return []
    if text.kernel.max_threads < 1024 or any(proof.is_bounded for proof in proofs):
        raise Illegal(Code.VARIANT_USELESS, "it has launch bounds")
    if text.kernel.asserted or text.kernel.shared is not None:
        raise Illegal(Code.VARIANT_ORDER, "threads share memory of their block")
    plain = [_variant(text, limit, None) for limit in LIMITS]
    base = restriction_if_legal(text, proofs)
    return plain + [_variant(text, limit, base) for limit in LIMITS if base is not None]


def _variant(text: KernelText, limit: tuple[int, int], base: Restriction | None) -> KernelVariant:
    threads, blocks = limit
    changes = Changes(head=f"__launch_bounds__({threads}, {blocks}) ")
    variant = with_restriction(text, NAME, f"{NAME}{threads}x{blocks}", changes, base)
    return replace(variant, bounds=limit)
