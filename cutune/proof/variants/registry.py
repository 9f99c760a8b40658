"""The transforms that there are. Takes a `Kernel` and its proofs, gives it with its variants.

A new one is a module beside `restrict`, with a row here: a function that gives the variants of a
kernel by the proofs of all its instances, or raises `Illegal` where it may have none; and the step
that proves these variants on compiled code. `variants.check` runs the step of each row. Where no
step proves what the new transform claims, it needs one of its own.

`SameCode` asks whether a variant is the code of what is proven already. The others take for granted
that the body is the kernel's, and show that the compiler made nothing else of it: a copy rounds
alike, and is proven as its kernel is. `AsWritten` asks that of the variant itself, `Moved` of one
that is given its block's index.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cutune.core.codes import Code
from cutune.proof.compiled import ProvenCode, prove_entries
from cutune.proof.entry_proof import EntryProof
from cutune.proof.memory.pointers import NotReached, reached
from cutune.proof.same_code import code_of, rounds_alike
from cutune.proof.variants import bounds, coarsen, repeat, restrict, tiles, vectors
from cutune.proof.variants.coarsen import copy_for_proof, reads_own_place, with_indices
from cutune.proof.variants.restrict import pointers_of
from cutune.proof.variants.text import Illegal, KernelText, left_out
from cutune.ptx.named_numbers import PointerParameters
from cutune.ptx.parse import parsed
from cutune.ptx.types import Module
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import (
    Kernel,
    Program,
)
from cutune.source.unit.kernel_texts import KernelTexts
from cutune.toolchain.kernel_names import base_name

_OTHER_CODE = "is compiled to other code than without its bounds"
_NOT_JOINED = "joins none of its accesses, or less than half of what it stores"
_ROUNDS = "may round other products than the kernel before they are added"

Copy = tuple[Kernel, KernelVariant]
"""A kernel, and the copy of it that is compiled."""
Proofs = tuple[ProvenCode, str | None]
"""Proofs about a compiled copy, and an objection to it."""


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

    def difference(
        self, module: Module, base: str, entry: str, _variant: KernelVariant
    ) -> str | None:
        """What of an entry is not as in its base; None where all is."""
        alike = code_of(module, base, False) == code_of(module, entry, False)
        return None if alike else _OTHER_CODE


class _AsProven:
    """Variants that round as the kernel does, and have a copy that is proven as it is."""

    def base(self, kernel: Kernel, _: KernelVariant) -> str:
        return kernel.name

    def difference(
        self, module: Module, base: str, entry: str, _variant: KernelVariant
    ) -> str | None:
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

    def proofs(self, texts: Sequence[str], kernel: Kernel, copy: KernelVariant) -> Proofs:
        """The proofs of a copy that was compiled to these texts."""
        proven = prove_entries(texts, lambda entry: base_name(entry) == copy.kernel)
        return proven, _other_memory(kernel, copy, proven)


class Moved(_AsProven):
    """Variants whose threads do several ids, proven by a copy that is given its block's index."""

    suffix = coarsen.MOVED

    def copy(self, kernel: Kernel, variant: KernelVariant) -> KernelVariant:
        assert variant.moved is not None
        return replace(variant, kernel=copy_for_proof(kernel, self.suffix), edit=variant.moved)

    def falling_with(self, _: Kernel, variant: KernelVariant) -> tuple[KernelVariant, ...]:
        return (variant,)

    def proofs(self, texts: Sequence[str], kernel: Kernel, copy: KernelVariant) -> Proofs:
        usual = list(map(with_indices, texts))
        proven = prove_entries(usual, lambda entry: base_name(entry) == copy.kernel)
        # Without proofs the texts could not be read.
        modules = map(parsed, texts) if proven.proofs else ()
        entries = (
            (m, name) for m in modules for name in m.functions if base_name(name) == copy.kernel
        )
        found = [self.other_read(*entry, kernel) for entry in entries]
        return proven, next(filter(None, reversed(found)), None)

    def other_read(self, module: Module, entry: str, kernel: Kernel) -> str | None:
        """What the code of a copy reads beside what it is given."""
        read = reads_own_place(module, entry, kernel)
        return f"reads {read} beside the index that it is given" if read else None


class MovedIds(Moved):
    """Variants of neighbouring ids, proven by a copy that is given its thread as well."""

    suffix = vectors.MOVED

    def difference(
        self, module: Module, base: str, entry: str, variant: KernelVariant
    ) -> str | None:
        joins = vectors.joins_accesses(module, base, entry, variant.coarsen[0])
        return super().difference(module, base, entry, variant) if joins else _NOT_JOINED

    def other_read(self, module: Module, entry: str, _: Kernel) -> str | None:
        return vectors.reads_more_than_id(module, entry)


class AsTried:
    """Variants with another constant, which did what the kernel does on the emulated device.

    That is found out elsewhere. Here is asked what trials take for granted.
    """

    def base(self, kernel: Kernel, _: KernelVariant) -> str:
        return kernel.name

    def difference(
        self, module: Module, _base: str, entry: str, variant: KernelVariant
    ) -> str | None:
        return _written_besides(module, entry, variant)


class InTurn(_AsProven):
    """Variants that were tried as well, whose blocks do what several blocks do.

    Of the kernel is asked that its threads come together wherever they have to.
    """

    def difference(
        self, module: Module, base: str, entry: str, variant: KernelVariant
    ) -> str | None:
        assert variant.tile is not None, "its launch"
        obstacle = repeat.obstacle(module, base, variant.tile.own_block)
        obstacle = obstacle or repeat.has_other_bounds(module, base, entry)
        obstacle = obstacle or repeat.reads_other_place(module, entry, variant)
        obstacle = obstacle or repeat.shares_other_memory(module, entry, variant)
        obstacle = obstacle or repeat.changes_what_is_shared(module, base, entry)
        obstacle = obstacle or repeat.tells_addresses(module, base)
        obstacle = obstacle or _written_besides(module, entry, variant)
        return obstacle or super().difference(module, base, entry, variant)


Step = SameCode | AsWritten | Moved | AsTried | InTurn
"""A further one needs its case in `variants.check.checked`: mypy finds where it has none."""


def _written_besides(module: Module, entry: str, variant: KernelVariant) -> str | None:
    """Return whether code writes through pointers that its text says to lead to constants."""
    functions = module.entry_and_functions(entry)
    written = PointerParameters(module.functions[entry], functions).written
    is_told = written & {*variant.pointers} <= {*variant.written}
    return None if is_told else "it writes through a pointer to constants"


def _other_memory(kernel: Kernel, shown: KernelVariant, proven: ProvenCode) -> str | None:
    for proof in proven.proofs.get(shown.kernel, ()):
        try:
            used = reached(proof.uses, pointers_of(kernel))
        except NotReached as error:
            return error.what
        if not (used.pointers <= {*shown.pointers} and used.written <= {*shown.written}):
            return "accesses memory through other pointers than the kernel"
    return None


Make = Callable[[KernelText, Sequence[EntryProof]], Iterable[KernelVariant]]


@dataclass(frozen=True)
class Transform:
    """What makes variants of a kernel, and the step that proves them: neither is optional."""

    make: Make
    step: Step


#: By name, in the order in which they are made and proven.
TRANSFORMS: Mapping[str, Transform] = {
    restrict.NAME: Transform(restrict.restrict, AsWritten()),
    coarsen.NAME: Transform(coarsen.coarsen, Moved()),
    vectors.NAME: Transform(vectors.vectors, MovedIds()),
    bounds.NAME: Transform(bounds.bounds, SameCode()),
    tiles.NAME: Transform(lambda _text, _proofs: (), AsTried()),
    repeat.NAME: Transform(lambda _text, _proofs: (), InTurn()),
}


def varied(
    kernels: Iterable[Kernel], proofs: Mapping[str, Sequence[EntryProof]], texts: KernelTexts
) -> tuple[Kernel, ...]:
    """Return the kernels with all their variants; one that keeps its block has none.

    `proofs`: of all instances of the kernels of a name. Those that share a name have the same
    variants, so that the names of these mean as many kernels, among which a launch chooses alike.
    """
    kernels = tuple(kernels)
    counts = Counter(kernel.name for kernel in kernels)
    varied = [
        _with_variants(KernelText(one, texts, counts[one.name]), proofs.get(one.name, ()))
        for one in kernels
    ]
    return tuple(_as_all(k, [one for one in varied if one.name == k.name]) for k in varied)


def _with_variants(text: KernelText, proofs: Sequence[EntryProof]) -> Kernel:
    kernel = text.kernel
    if not kernel.pure_dimensions or kernel.copy is not None or kernel.elsewhere is not None:
        return kernel
    variants, without = list[KernelVariant](), defaultdict[tuple[Code, str], list[str]](list)
    for name, transform in TRANSFORMS.items():
        try:
            variants += list(transform.make(text, proofs))
        except Illegal as illegal:
            without[illegal.code, illegal.what].append(name)
    reasons = (
        left_out(kernel, ", ".join(names), code, what=what)
        for (code, what), names in without.items()
    )
    selector = text.selector() if variants else None
    return replace(
        kernel, variants=tuple(variants), variant_reasons=tuple(reasons), selector=selector
    )


def _as_all(kernel: Kernel, namesakes: Sequence[Kernel]) -> Kernel:
    if len(namesakes) == 1:
        return kernel
    of_all = [{one.name: one for one in other.variants} for other in namesakes]
    reasons = dict(pair for other in namesakes for pair in other.variant_reasons)

    def joined(variant: KernelVariant) -> KernelVariant:
        alike = [variants[variant.name] for variants in of_all]
        pointers = sorted({p for one in alike for p in one.pointers})
        written = sorted({p for one in alike for p in one.written})
        return replace(variant, pointers=tuple(pointers), written=tuple(written))

    has_selectors = all(other.selector is not None for other in namesakes)
    common = (v for v in kernel.variants if all(v.name in names for names in of_all))
    return replace(
        kernel,
        variants=tuple(map(joined, common)),
        variant_reasons=tuple((reasons | dict(kernel.variant_reasons)).items()),
        selector=kernel.selector if has_selectors else None,
    )


def checked_names(programs: Iterable[Program]) -> list[str]:
    """Return the sorted names of all variants of programs whose variants are checked."""
    checked = (program for program in programs if program.has_checked_variants)
    return sorted({v.name for program in checked for k in program.kernels for v in k.variants})


def with_written_variants(program: Program) -> Program:
    """Return the program without variants in headers that are not rewritten for their launches.

    Copies with other constants are all that their kernels have: for these headers are rewritten.
    """
    written = {file.path for file in (program.source, *program.launching_headers)}
    kernels = (
        kernel
        if kernel.tiles or kernel.source.path in written
        else without_variants(kernel, Code.VARIANT_HEADER)
        for kernel in program.kernels
    )
    return replace(program, kernels=tuple(kernels))


def without_variants(kernel: Kernel, code: Code) -> Kernel:
    """Return the kernel without its variants, for a reason whose message names its file."""
    names = dict.fromkeys(variant.transform for variant in kernel.variants)
    reasons = (left_out(kernel, name, code, path=kernel.source.path) for name in names)
    return replace(kernel, variants=(), variant_reasons=(*kernel.variant_reasons, *reasons))


def with_only(program: Program, names: Mapping[str, Collection[str]]) -> Program:
    """Return the program with these variants alone: their names by the name of the kernel."""

    def chosen(kernel: Kernel) -> tuple[KernelVariant, ...]:
        return tuple(v for v in kernel.variants if v.name in names.get(kernel.name, ()))

    kernels = tuple(replace(kernel, variants=chosen(kernel)) for kernel in program.kernels)
    varied = {kernel.name for kernel in kernels if kernel.variants}
    # Where there is nothing to choose, nothing has to stand behind the kernel.
    launches = tuple(
        replace(site, called=None, by_arguments=False)
        if site.by_arguments and site.kernel not in varied
        else site
        for site in program.launches
    )
    return replace(program, kernels=kernels, launches=launches)
