"""Variants whose compiled code is proven, too. Takes a `Program` and a compiler, gives a `Program`.

All copies of one kind are compiled at once, each launched in place of its kernel, so that
templates are instantiated as for the kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from cutune.core.codes import Code
from cutune.emulator.ptx.parse import parse
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
from cutune.variants import coarsen, restrict
from cutune.variants.coarsen import moved_name, reads_own_place, with_places

_OWNER = "variants"
_DOES_NOT_COMPILE = "does not compile"


def checked(program: Program, compile_unit: Compile) -> Program:
    """The program without variants that are not proven as their kernels are."""
    for step in (_Themselves(), _Moved()):
        written = {k.name: one for k in program.kernels if (one := step.shown(k)) is not None}
        texts = compiled_changes(written, partial(launching, program), compile_unit)
        copies = {k.name: _Copy(k, written[k.name]) for k in program.kernels if k.name in written}
        reasons = _reasons(copies, texts, step)
        kernels = (
            _without(kernel, step, reasons[kernel.name]) if kernel.name in reasons else kernel
            for kernel in program.kernels
        )
        program = replace(program, kernels=tuple(kernels))
    return replace(program, has_checked_variants=True)


@dataclass(frozen=True)
class _Copy:
    """A kernel, and the copy of it that is compiled."""

    kernel: Kernel
    shown: KernelVariant


@dataclass(frozen=True)
class _Proofs:
    """Proofs about compiled copies; `against`: what is wrong with some, by their names."""

    compiled: Compiled
    against: Mapping[str, str]


class _Step(Protocol):
    """One copy of each kernel, on which variants are proven. `name`: what is done in it."""

    name: str

    def shown(self, kernel: Kernel) -> KernelVariant | None:
        """The copy that is compiled; None: no variant needs it."""

    def proven_by(self, kernel: Kernel) -> tuple[KernelVariant, ...]:
        """The variants that are right only if the copy is."""

    def proofs(self, texts: Sequence[str], copies: Mapping[str, _Copy]) -> _Proofs:
        """What is proven about copies, by their names, in PTX of all architectures."""


class _Themselves:
    """Variants whose text is compiled as it is."""

    name = restrict.NAME

    def shown(self, kernel: Kernel) -> KernelVariant | None:
        return next((one for one in kernel.variants if one.moved is None), None)

    def proven_by(self, kernel: Kernel) -> tuple[KernelVariant, ...]:
        # What asks about pointers is made with the same assertion.
        return tuple(one for one in kernel.variants if one.moved is None or one.pointers)

    def proofs(self, texts: Sequence[str], copies: Mapping[str, _Copy]) -> _Proofs:
        compiled = proven(texts, lambda entry: base_name(entry) in copies)
        found = ((name, _other_memory(copy, compiled)) for name, copy in copies.items())
        return _Proofs(compiled, {name: reason for name, reason in found if reason is not None})


class _Moved:
    """Variants whose threads do several ids: a copy whose block's place comes from elsewhere."""

    name = coarsen.NAME

    def shown(self, kernel: Kernel) -> KernelVariant | None:
        one = next((one for one in kernel.variants if one.moved is not None), None)
        if one is None or one.moved is None:
            return None
        return replace(one, kernel=moved_name(kernel), edit=one.moved)

    def proven_by(self, kernel: Kernel) -> tuple[KernelVariant, ...]:
        return tuple(one for one in kernel.variants if one.moved is not None)

    def proofs(self, texts: Sequence[str], copies: Mapping[str, _Copy]) -> _Proofs:
        usual = list(map(with_places, texts))
        compiled = proven(usual, lambda entry: base_name(entry) in copies)
        against = {}
        # Without proofs the texts could not be read.
        for module in map(parse, texts) if compiled.proofs else ():
            for entry in module.functions:
                copy = copies.get(base_name(entry))
                if copy is not None and (read := reads_own_place(module, entry, copy.kernel)):
                    against[base_name(entry)] = f"reads {read} beside the index that it is given"
        return _Proofs(compiled, against)


def launching(program: Program, written: Mapping[str, KernelVariant]) -> TranslationUnit:
    """The program in which variants are launched and nothing else is changed."""

    def callee(site: LaunchSite) -> str | None:
        variant = written.get(site.kernel)
        return callee_of_variant(site.callee, site.kernel, variant) if variant is not None else None

    unit = with_callees(TranslationUnit(program), _OWNER, callee)
    for variant in written.values():
        unit = unit.with_edits(_OWNER, [variant.edit], variant.source)
    return unit


def _reasons(
    copies: Mapping[str, _Copy], texts: Mapping[str, Sequence[str]], step: _Step
) -> dict[str, str]:
    """What is against the copies of some kernels, by the names of the kernels.

    `texts`: their PTX; those that compile together have the same.
    """
    found = dict.fromkeys(copies.keys() - texts.keys(), _DOES_NOT_COMPILE)
    known: dict[int, _Proofs] = {}
    for name, own in texts.items():
        if id(own) not in known:
            together = (copies[other] for other in texts if texts[other] is own)
            known[id(own)] = step.proofs(own, {copy.shown.kernel: copy for copy in together})
        copy, proofs = copies[name], known[id(own)]
        reason = proofs.against.get(copy.shown.kernel) or _objection(copy, proofs.compiled)
        if reason is not None:
            found[name] = reason
    return found


def _without(kernel: Kernel, step: _Step, what: str) -> Kernel:
    """The kernel without the variants of a step, and the reason."""
    left_out, code = step.proven_by(kernel), Code.VARIANT_UNPROVEN
    message = code.template.format(variant=step.name, what=what)
    reason = (step.name, Impurity(code, message, kernel.span))
    return replace(
        kernel,
        variants=tuple(one for one in kernel.variants if one not in left_out),
        variant_reasons=(*kernel.variant_reasons, reason),
    )


def _objection(compared: _Copy, compiled: Compiled) -> str | None:
    """What is not proven about a copy; None if all is that is known of its kernel."""
    kernel, name = compared.kernel, compared.shown.kernel
    if not compiled.proofs.get(name):
        return "is not compiled: nothing instantiates it"
    places = _places(kernel)
    copy = replace(kernel, name=name, unproven=())
    judged = [confirmed(one, compiled, places) for one in (_as_text(copy), _blank(copy))]
    for axis, d in enumerate(DIMENSIONS):
        if d not in kernel.pure_dimensions or d in kernel.asserted:
            continue
        found = [one.dimensions[axis] for one in judged if d in one.pure_dimensions]
        if kernel.dimensions[axis] not in found:
            return f"is not proven in {d} as the kernel is"
    return None if any(_is_as_free(one, kernel) for one in judged) else _OTHER_LAUNCHES


_OTHER_LAUNCHES = "is proven under other conditions than the kernel"


def _other_memory(copy: _Copy, compiled: Compiled) -> str | None:
    """Does its code access memory through other pointers than the variant says?"""
    shown, parameters = copy.shown, enumerate(copy.kernel.parameters)
    pointers = {index: one.name for index, one in parameters if one.is_pointer}
    for proof in compiled.proofs.get(shown.kernel, ()):
        found = reached(proof.uses, pointers)
        if isinstance(found, NotReached):
            return found.what
        if not (found.pointers <= {*shown.pointers} and found.written <= {*shown.written}):
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
