"""The variants of kernels that there are. Takes a `Kernel` and its proofs, gives it with variants.

A new one is a module beside `restrict`, with a row here: what it makes of a kernel that may have
it, and the reason for any other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cutune.core.codes import Code
from cutune.frontend.launches.texts import KernelTexts
from cutune.frontend.program import Impurity, Kernel, KernelVariant, Program
from cutune.proof.entry import EntryProof
from cutune.variants import bounds, coarsen, restrict
from cutune.variants.text import KernelText

Make = Callable[[KernelText, Sequence[EntryProof]], tuple[KernelVariant, ...] | Impurity]


@dataclass(frozen=True)
class Transform:
    """What is done to a kernel, and the name of that."""

    name: str
    make: Make


TRANSFORMS = (
    Transform(restrict.NAME, restrict.restrict),
    Transform(coarsen.NAME, coarsen.coarsen),
    Transform(bounds.NAME, bounds.bounds),
)


def with_variants(kernel: Kernel, proofs: Sequence[EntryProof], texts: KernelTexts) -> Kernel:
    """The kernel with all its variants; one that keeps its block has none."""
    if not kernel.pure_dimensions or kernel.copy is not None or kernel.elsewhere is not None:
        return kernel
    text = KernelText(kernel, texts)
    made = [(one.name, one.make(text, proofs)) for one in TRANSFORMS]
    return replace(
        kernel,
        variants=tuple(one for _, found in made if isinstance(found, tuple) for one in found),
        variant_reasons=tuple((name, one) for name, one in made if isinstance(one, Impurity)),
    )


def checked_names(programs: Iterable[Program]) -> list[str]:
    """The sorted names of all variants of programs whose variants are checked."""
    checked = (program for program in programs if program.has_checked_variants)
    return sorted({v.name for program in checked for k in program.kernels for v in k.variants})


def with_written_variants(program: Program) -> Program:
    """The program without variants in headers that are not rewritten for their launches."""
    written = {file.path for file in (program.source, *program.launching_headers)}
    kernels = (
        kernel if kernel.source.path in written else without_variants(kernel, Code.VARIANT_HEADER)
        for kernel in program.kernels
    )
    return replace(program, kernels=tuple(kernels))


def without_variants(kernel: Kernel, code: Code) -> Kernel:
    """The kernel without its variants, and the reason, which its file is."""
    names = dict.fromkeys(variant.transform for variant in kernel.variants)
    path = kernel.source.path
    reasons = ((name, code.template.format(variant=name, path=path)) for name in names)
    left_out = ((name, Impurity(code, text, kernel.span)) for name, text in reasons)
    return replace(kernel, variants=(), variant_reasons=(*kernel.variant_reasons, *left_out))


def with_only(program: Program, names: Mapping[str, Collection[str]]) -> Program:
    """The program with these variants alone: their names by the name of the kernel."""

    def chosen(kernel: Kernel) -> tuple[KernelVariant, ...]:
        return tuple(v for v in kernel.variants if v.name in names.get(kernel.name, ()))

    kernels = tuple(replace(kernel, variants=chosen(kernel)) for kernel in program.kernels)
    return replace(program, kernels=kernels)
