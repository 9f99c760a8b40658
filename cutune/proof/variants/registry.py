"""The transforms that there are. Takes a `Kernel` and its proofs, gives it with its variants.

A new one is a module beside `restrict`, with a row here: a function that gives the variants of a
kernel by the proofs of all its instances, or raises `Illegal` where it may have none; and the step
that proves these variants on compiled code. `variants.check` runs the step of each row. Where none
of those in `variants.steps` proves what the new transform claims, it needs a step of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cutune.core.codes import Code
from cutune.proof.entry_proof import EntryProof
from cutune.proof.variants import bounds, coarsen, restrict
from cutune.proof.variants.steps import AsWritten, Moved, SameCode, Step
from cutune.proof.variants.text import Illegal, KernelText
from cutune.source.program import Impurity, Kernel, KernelVariant, Program
from cutune.source.unit.kernel_texts import KernelTexts

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
    bounds.NAME: Transform(bounds.bounds, SameCode()),
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
    variants, reasons = list[KernelVariant](), list[tuple[str, Impurity]]()
    for name, transform in TRANSFORMS.items():
        try:
            variants += list(transform.make(text, proofs))
        except Illegal as illegal:
            reasons.append((name, illegal.as_impurity(name, kernel)))
    selector = text.selector() if variants else None
    return replace(
        kernel, variants=tuple(variants), variant_reasons=tuple(reasons), selector=selector
    )


def _as_all(kernel: Kernel, namesakes: Sequence[Kernel]) -> Kernel:
    """The kernel with the variants of all kernels of its name, under the conditions of all."""
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
    """Return the program without variants in headers that are not rewritten for their launches."""
    written = {file.path for file in (program.source, *program.launching_headers)}
    kernels = (
        kernel if kernel.source.path in written else without_variants(kernel, Code.VARIANT_HEADER)
        for kernel in program.kernels
    )
    return replace(program, kernels=tuple(kernels))


def without_variants(kernel: Kernel, code: Code) -> Kernel:
    """Return the kernel without its variants, for a reason whose message names its file."""
    names = dict.fromkeys(variant.transform for variant in kernel.variants)
    texts = {n: code.template.format(variant=n, path=kernel.source.path) for n in names}
    left_out = ((name, Impurity(code, text, kernel.span)) for name, text in texts.items())
    return replace(kernel, variants=(), variant_reasons=(*kernel.variant_reasons, *left_out))


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
