"""The variants of kernels that there are. Takes a `Kernel` and its proofs, gives it with variants.

A new one is a module beside `restrict`, with a row here: what it makes of a kernel that may have
it, and the reason for any other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cutune.core.codes import Code
from cutune.frontend.launches.texts import KernelTexts
from cutune.frontend.program import Impurity, Kernel, KernelVariant, Program
from cutune.proof.entry_proof import EntryProof
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


def varied(
    kernels: Iterable[Kernel], proofs: Mapping[str, Sequence[EntryProof]], texts: KernelTexts
) -> tuple[Kernel, ...]:
    """The kernels with all their variants; one that keeps its block has none.

    `proofs`: of all instances of the kernels of a name. Those that share a name have the same
    variants, so that the names of these mean as many kernels, among which a launch chooses alike.
    """
    kernels = tuple(kernels)
    counts = Counter(kernel.name for kernel in kernels)
    found = [_with_variants(k, proofs.get(k.name, ()), texts, counts[k.name]) for k in kernels]
    groups: defaultdict[str, list[Kernel]] = defaultdict(list)
    for kernel in found:
        groups[kernel.name].append(kernel)
    return tuple(_as_all(kernel, groups[kernel.name]) for kernel in found)


def _with_variants(
    kernel: Kernel, proofs: Sequence[EntryProof], texts: KernelTexts, namesakes: int
) -> Kernel:
    if not kernel.pure_dimensions or kernel.copy is not None or kernel.elsewhere is not None:
        return kernel
    text = KernelText(kernel, texts, namesakes)
    made = [(one.name, one.make(text, proofs)) for one in TRANSFORMS]
    variants = tuple(one for _, found in made if isinstance(found, tuple) for one in found)
    return replace(
        kernel,
        variants=variants,
        variant_reasons=tuple((name, one) for name, one in made if isinstance(one, Impurity)),
        selector=text.selector() if variants else None,
    )


def _as_all(kernel: Kernel, namesakes: Sequence[Kernel]) -> Kernel:
    """The kernel with the variants of all kernels of its name, under the conditions of all."""
    if len(namesakes) == 1:
        return kernel
    of_all = [{one.name: one for one in other.variants} for other in namesakes]
    reasons = dict(pair for other in namesakes for pair in other.variant_reasons)

    def joined(variant: KernelVariant) -> KernelVariant:
        alike = [variants[variant.name] for variants in of_all]
        return replace(
            variant,
            pointers=tuple(sorted({p for one in alike for p in one.pointers})),
            written=tuple(sorted({p for one in alike for p in one.written})),
        )

    has_selectors = all(other.selector is not None for other in namesakes)
    return replace(
        kernel,
        variants=tuple(
            joined(one) for one in kernel.variants if all(one.name in names for names in of_all)
        ),
        variant_reasons=tuple((reasons | dict(kernel.variant_reasons)).items()),
        selector=kernel.selector if has_selectors else None,
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
    varied = {kernel.name for kernel in kernels if kernel.variants}
    # Where there is nothing to choose, nothing has to stand behind the kernel.
    launches = tuple(
        replace(site, called=None, by_arguments=False)
        if site.by_arguments and site.kernel not in varied
        else site
        for site in program.launches
    )
    return replace(program, kernels=kernels, launches=launches)
