"""The steps that prove variants on compiled code, one for each transform of `registry`.

`SameCode` asks whether a variant is the code of what is proven already. The others take for granted
that the body is the kernel's, and show that the compiler made nothing else of it: a copy rounds
alike, and is proven as its kernel is. `AsWritten` asks that of the variant itself, `Moved` of one
that is given its block's index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cutune.proof.compiled import Compiled, proven
from cutune.proof.memory.pointers import NotReached, reached
from cutune.proof.rounding import rounds_alike
from cutune.proof.same_code import code_of
from cutune.proof.variants import restrict
from cutune.proof.variants.coarsen import moved_name, reads_own_place, with_places
from cutune.ptx.parse import parse
from cutune.ptx.types import Module
from cutune.source.program import Kernel, KernelVariant
from cutune.toolchain.kernel_names import base_name

_OTHER_CODE = "is compiled to other code than without its bounds"
_ROUNDS = "may round other products than the kernel before they are added"

Copy = tuple[Kernel, KernelVariant]
"""A kernel, and the copy of it that is compiled."""
Proofs = tuple[Compiled, Mapping[str, str]]
"""Proofs about compiled copies, and objections to some, by their names."""


def made_by(transform: str, kernel: Kernel) -> tuple[KernelVariant, ...]:
    """Return the variants of a kernel that a transform made."""
    return tuple(one for one in kernel.variants if one.transform == transform)


class SameCode:
    """Variants that are, instruction by instruction, the code of the kernel or of `restrict`."""

    def base(self, kernel: Kernel, variant: KernelVariant) -> str | None:
        """The name of what a variant is compared with; None where that is not there."""
        if not variant.pointers:
            return kernel.name
        return next((one.kernel for one in made_by(restrict.NAME, kernel)), None)

    def difference(self, module: Module, base: str, entry: str) -> str | None:
        """What of an entry is not as in its base; None where all is."""
        alike = code_of(module, base, False) == code_of(module, entry, False)
        return None if alike else _OTHER_CODE


class _AsProven:
    """Variants that round as the kernel does, and have a copy that is proven as it is."""

    def base(self, kernel: Kernel, _: KernelVariant) -> str:
        return kernel.name

    def difference(self, module: Module, base: str, entry: str) -> str | None:
        alike = rounds_alike(module.functions[base], module.functions[entry])
        return None if alike else _ROUNDS


class AsWritten(_AsProven):
    """Variants whose text is compiled as it is."""

    def copy(self, _: Kernel, variant: KernelVariant) -> KernelVariant:
        """The copy whose proof is that of a variant."""
        return variant

    def falling_with(self, kernel: Kernel, variant: KernelVariant) -> tuple[KernelVariant, ...]:
        """The variants that go where one is not proven."""
        # Variants with conditions on pointers make the same assertion.
        return tuple(
            v for v in kernel.variants if v == variant or (variant.pointers and v.pointers)
        )

    def proofs(self, texts: Sequence[str], copies: Mapping[str, Copy]) -> Proofs:
        """The proofs of copies that were compiled to these texts."""
        compiled = proven(texts, lambda entry: base_name(entry) in copies)
        objections = ((name, _other_memory(*copy, compiled)) for name, copy in copies.items())
        return compiled, {name: what for name, what in objections if what is not None}


class Moved(_AsProven):
    """Variants whose threads do several ids, proven by a copy that is given its block's index."""

    def copy(self, kernel: Kernel, variant: KernelVariant) -> KernelVariant:
        assert variant.moved is not None
        return replace(variant, kernel=moved_name(kernel), edit=variant.moved)

    def falling_with(self, _: Kernel, variant: KernelVariant) -> tuple[KernelVariant, ...]:
        return (variant,)

    def proofs(self, texts: Sequence[str], copies: Mapping[str, Copy]) -> Proofs:
        usual = list(map(with_places, texts))
        compiled = proven(usual, lambda entry: base_name(entry) in copies)
        against = {}
        # Without proofs the texts could not be read.
        for module in map(parse, texts) if compiled.proofs else ():
            for entry in module.functions:
                kernel, _ = copies.get(base_name(entry), (None, None))
                if kernel is not None and (read := reads_own_place(module, entry, kernel)):
                    against[base_name(entry)] = f"reads {read} beside the index that it is given"
        return compiled, against


Step = SameCode | AsWritten | Moved
"""A further one needs its case in `variants.check.checked`: mypy finds where it has none."""


def _other_memory(kernel: Kernel, shown: KernelVariant, compiled: Compiled) -> str | None:
    """Does its code access memory through other pointers than the variant says?"""
    pointers = {i: one.name for i, one in enumerate(kernel.parameters) if one.is_pointer}
    for proof in compiled.proofs.get(shown.kernel, ()):
        try:
            used = reached(proof.uses, pointers)
        except NotReached as error:
            return error.what
        if not (used.pointers <= {*shown.pointers} and used.written <= {*shown.written}):
            return "accesses memory through other pointers than the kernel"
    return None
