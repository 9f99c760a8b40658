"""Variants whose compiled code is proven, too. Takes a `Program` and a compiler, gives a `Program`.

All variants of one kind are compiled at once, each launched in place of its kernel, so that
templates are instantiated as for the kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from cutune.core.codes import Code
from cutune.frontend.launches.copies import callee_of_variant
from cutune.frontend.program import (
    DIMENSIONS,
    DimensionProof,
    Impurity,
    Kernel,
    KernelVariant,
    LaunchSite,
    Program,
)
from cutune.proof.compiled import Compile, Compiled, compiled_changes, proven
from cutune.proof.confirm import MemberPlaces, confirmed
from cutune.proof.memory.pointers import NotReached, reached
from cutune.rewrite.launch_edit import with_callees
from cutune.rewrite.pipeline import TranslationUnit
from cutune.toolchain.entry_names import base_name
from cutune.variants.registry import TRANSFORMS

_OWNER = "variants"
_DOES_NOT_COMPILE = "does not compile"


def checked(program: Program, compile_unit: Compile) -> Program:
    """The program without variants that are not proven as their kernels are."""
    for transform in TRANSFORMS:
        written = {
            kernel.name: variant
            for kernel in program.kernels
            for variant in kernel.variants
            if variant.name == transform.name
        }
        compiled = _compiled(program, written, compile_unit)
        kernels = (
            _judged(kernel, written[kernel.name], compiled.get(kernel.name))
            if kernel.name in written
            else kernel
            for kernel in program.kernels
        )
        program = replace(program, kernels=tuple(kernels))
    return replace(program, has_checked_variants=True)


def launching(program: Program, written: Mapping[str, KernelVariant]) -> TranslationUnit:
    """The program in which variants are launched and nothing else is changed."""

    def callee(site: LaunchSite) -> str | None:
        variant = written.get(site.kernel)
        return callee_of_variant(site.callee, site.kernel, variant) if variant is not None else None

    unit = with_callees(TranslationUnit(program), _OWNER, callee)
    for variant in written.values():
        unit = unit.with_edits(_OWNER, [variant.edit], variant.source)
    return unit


def _compiled(
    program: Program, written: Mapping[str, KernelVariant], compile_unit: Compile
) -> dict[str, Compiled]:
    """Proofs about each variant that compiles, by the name of its kernel."""
    texts = compiled_changes(written, partial(launching, program), compile_unit)
    known: dict[int, Compiled] = {}
    for one in texts.values():
        if id(one) not in known:
            wanted = {written[name].kernel for name in texts if texts[name] is one}
            known[id(one)] = _proven(one, wanted)
    return {name: known[id(one)] for name, one in texts.items()}


def _proven(texts: Sequence[str], wanted: set[str]) -> Compiled:
    return proven(texts, lambda entry: base_name(entry) in wanted)


def _judged(kernel: Kernel, variant: KernelVariant, compiled: Compiled | None) -> Kernel:
    """The kernel, without the variant if there is anything against it."""
    reason = _DOES_NOT_COMPILE if compiled is None else _objection(kernel, variant, compiled)
    if reason is None:
        return kernel
    code = Code.VARIANT_UNPROVEN
    message = code.template.format(variant=variant.name, what=reason)
    return replace(
        kernel,
        variants=tuple(one for one in kernel.variants if one != variant),
        variant_reasons=(
            *kernel.variant_reasons,
            (variant.name, Impurity(code, message, kernel.span)),
        ),
    )


def _objection(kernel: Kernel, variant: KernelVariant, compiled: Compiled) -> str | None:
    """What is not proven about a variant; None if all is that is known of its kernel."""
    if not compiled.proofs.get(variant.kernel):
        return "is not compiled: nothing instantiates it"
    reason = _other_memory(kernel, variant, compiled)
    if reason is not None:
        return reason
    places = _places(kernel)
    copy = replace(kernel, name=variant.kernel, unproven=())
    judged = [confirmed(one, compiled, places) for one in (_as_text(copy), _blank(copy))]
    for axis, name in enumerate(DIMENSIONS):
        if name not in kernel.pure_dimensions or name in kernel.asserted:
            continue
        found = [one.dimensions[axis] for one in judged if name in one.pure_dimensions]
        if kernel.dimensions[axis] not in found:
            return f"is not proven in {name} as the kernel is"
    return None if any(_is_as_free(one, kernel) for one in judged) else _OTHER_LAUNCHES


_OTHER_LAUNCHES = "is proven under other conditions than the kernel"


def _other_memory(kernel: Kernel, variant: KernelVariant, compiled: Compiled) -> str | None:
    """Does its code access memory through other pointers than the variant says?"""
    parameters = enumerate(kernel.parameters)
    pointers = {index: one.name for index, one in parameters if one.is_pointer}
    for proof in compiled.proofs[variant.kernel]:
        found = reached(proof.uses, pointers)
        if isinstance(found, NotReached):
            return found.what
        if not (found.pointers <= {*variant.pointers} and found.written <= {*variant.written}):
            return "accesses memory through other pointers than the kernel"
    return None


def _is_as_free(found: Kernel, kernel: Kernel) -> bool:
    """May it be launched wherever the kernel may? Pointers that may meet do not at its launches."""
    if found.unproven or kernel.unproven or found.max_threads < kernel.max_threads:
        return False
    if kernel.needs_warps or kernel.asserted:
        return True
    return not found.needs_warps and {*found.distinct_places} <= {*kernel.distinct_places}


def _as_text(kernel: Kernel) -> Kernel:
    """The kernel as if its proof had been read in its text."""
    kept = Impurity(Code.BLOCK_DEPENDENT, "", kernel.span)
    dimensions = [
        replace(one, impurity=kept) if one.grid_kept else one for one in kernel.dimensions
    ]
    return replace(
        kernel,
        dimensions=(dimensions[0], dimensions[1], dimensions[2]),
        needs_warps=False,
        may_meet=(),
        distinct_places=(),
    )


def _blank(kernel: Kernel) -> Kernel:
    """The kernel as if nothing had been read in its text."""
    unread = Impurity(Code.NOT_PROVEN, "", kernel.span)
    unknown = DimensionProof(False)
    kernel = replace(kernel, impurity=unread, dimensions=(unknown, unknown, unknown))
    return replace(kernel, needs_warps=False, may_meet=(), distinct_places=())


def _places(kernel: Kernel) -> list[MemberPlaces]:
    """Where the members lie that the kernel's data parameters are."""
    layouts = {name: (size, members) for name, size, members in kernel.layouts or ()}
    found = []
    for argument, structure in sorted({(m.argument, m.structure) for m in kernel.members}):
        if structure not in layouts:
            continue
        size, members = layouts[structure]
        prefix = kernel.parameters[argument].name
        names: dict[str, str] = {}
        for path, offset, width in members:
            kinds = [f"b{8 * width}"] if width >= 4 else [f"{sign}{8 * width}" for sign in "usb"]
            names |= {f"{argument}:{offset}:{kind}": f"{prefix}.{path}" for kind in kinds}
        found.append(MemberPlaces(argument, size, names))
    return found
