"""Proofs of variants on compiled code. Takes a `Program` and a compiler, gives a `Program`.

All variants are compiled at once, named where their kernel is launched, so that templates are
instantiated as for the kernels; then copies that show on what several ids of a thread depend.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from cutune.core.codes import Code
from cutune.proof.compiled import Compile, Compiled, compiled_changes, proven
from cutune.proof.confirm import as_compiled, member_places
from cutune.proof.memory.pointers import NotReached, reached
from cutune.proof.rounding import rounds_alike
from cutune.proof.same_code import code_of
from cutune.proof.variants import bounds, coarsen, restrict
from cutune.proof.variants.coarsen import moved_name, reads_own_place, with_places
from cutune.proof.variants.registry import TRANSFORMS
from cutune.ptx.parse import parse
from cutune.ptx.types import Module, PtxError
from cutune.source.launches.block_reading_copies import callee_named
from cutune.source.program import DIMENSIONS, Impurity, Kernel, KernelVariant, LaunchSite, Program
from cutune.source.rewrite.edits import function_at, with_callees, with_variant_copies
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.toolchain.kernel_names import base_name, renamed_entry
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY

_OWNER = "variants"
_NOT_COMPILED = "does not compile"
_NOT_INSTANTIATED = "is not compiled: nothing instantiates it"
_NOT_READ = "is compiled to code that cannot be read"
_OTHER_BASE = "is one of a variant that is not proven"
_OTHER_LAUNCHES = "is proven under other conditions than the kernel"
_OTHER_CODE = "is compiled to other code than without its bounds"
_ROUNDS = "may round other products than the kernel before they are added"


def checked(program: Program, compile_unit: Compile) -> Program:
    """Return the program without variants that are not proven as their kernels are."""
    texts = _texts(program, ((k, one) for k in program.kernels for one in k.variants), compile_unit)
    program = _proven(_without_others(program, texts), _Themselves(), texts)
    moved = [(k, copy) for k in program.kernels if (copy := _Moved().shown(k)) is not None]
    program = _proven(program, _Moved(), _texts(program, moved, compile_unit))
    return replace(program, has_checked_variants=True)


def _texts(program: Program, copies: Iterable[Copy], compile_unit: Compile) -> Texts:
    written: defaultdict[str, tuple[KernelVariant, ...]] = defaultdict(tuple)
    for kernel, one in copies:
        written[_name_of(kernel.name, one.transform)] += (one,)
    return compiled_changes(written, partial(launching, program), compile_unit)


Texts = Mapping[str, Sequence[str]]
"""The PTX of all architectures by names of copies; those compiled together share it."""


def _made_by(transform: str, kernel: Kernel) -> tuple[KernelVariant, ...]:
    return tuple(one for one in kernel.variants if one.transform == transform)


def _name_of(kernel: str, transform: str) -> str:
    return f"{kernel} {transform}"


def _without_others(program: Program, texts: Texts) -> Program:
    """The program without variants that do not compile, or may compute something else."""
    parsed: dict[int, list[Module] | None] = {}

    def kept(kernel: Kernel) -> Kernel:
        for variant in kernel.variants:
            ptx = texts.get(_name_of(kernel.name, variant.transform))
            if ptx is not None and id(ptx) not in parsed:
                parsed[id(ptx)] = None
                with suppress(PtxError):
                    parsed[id(ptx)] = [parse(text) for text in ptx]
            what = _NOT_COMPILED if ptx is None else _against(kernel, variant, parsed[id(ptx)])
            if what is not None:
                kernel = _without(kernel, variant.name, (variant,), what)
        return kernel

    return replace(program, kernels=tuple(map(kept, program.kernels)))


def _against(
    kernel: Kernel, variant: KernelVariant, modules: Sequence[Module] | None
) -> str | None:
    """Why a variant may round otherwise or, with bounds, be other code; None where it does not."""
    if modules is None:
        return _NOT_READ
    base, has_bounds = kernel.name, variant.transform == bounds.NAME
    if has_bounds and variant.pointers:
        restricted = _made_by(restrict.NAME, kernel)
        if not restricted:
            return _OTHER_BASE
        base = restricted[0].kernel
    for module in modules:
        copies = [name for name in module.functions if base_name(name) == variant.kernel]
        if not copies:
            return _NOT_INSTANTIATED
        for name in copies:
            of_base = renamed_entry(name, base)
            if of_base not in module.functions:
                return _NOT_INSTANTIATED if has_bounds else _ROUNDS
            if has_bounds:
                if code_of(module, of_base, False) != code_of(module, name, False):
                    return _OTHER_CODE
            elif not rounds_alike(module.functions[of_base], module.functions[name]):
                return _ROUNDS
    return None


Copy = tuple[Kernel, KernelVariant]
"""A kernel, and the copy of it that is compiled."""
Proofs = tuple[Compiled, Mapping[str, str]]
"""Proofs about compiled copies, and objections to some, by their names."""


def _proven(program: Program, step: _Step, texts: Texts) -> Program:
    """The program without those variants of a step that are not proven."""
    copies = {k.name: (k, one) for k in program.kernels if (one := step.shown(k)) is not None}
    texts = {name: texts.get(_name_of(name, step.name), ()) for name in copies}
    proofs: dict[int, Proofs] = {}
    reasons: dict[str, str | None] = {}
    for name, (kernel, shown) in copies.items():
        ptx = texts[name]
        if not ptx:
            reasons[name] = _NOT_COMPILED
            continue
        if id(ptx) not in proofs:
            together = (copies[other] for other in copies if texts[other] is ptx)
            proofs[id(ptx)] = step.proofs(ptx, {one[1].kernel: one for one in together})
        compiled, against = proofs[id(ptx)]
        reasons[name] = against.get(shown.kernel) or _objection(kernel, shown.kernel, compiled)
    kernels = (
        _without(kernel, step.name, step.proven_by(kernel), reason)
        if (reason := reasons.get(kernel.name)) is not None
        else kernel
        for kernel in program.kernels
    )
    return replace(program, kernels=tuple(kernels))


class _Themselves:
    """Variants whose text is compiled as it is."""

    name = restrict.NAME

    def shown(self, kernel: Kernel) -> KernelVariant | None:
        return next(iter(_made_by(restrict.NAME, kernel)), None)

    def proven_by(self, kernel: Kernel) -> tuple[KernelVariant, ...]:
        # Variants with conditions on pointers make the same assertion.
        return tuple(v for v in kernel.variants if v.transform == restrict.NAME or v.pointers)

    def proofs(self, texts: Sequence[str], copies: Mapping[str, Copy]) -> Proofs:
        compiled = proven(texts, lambda entry: base_name(entry) in copies)
        objections = ((name, _other_memory(*copy, compiled)) for name, copy in copies.items())
        return compiled, {name: what for name, what in objections if what is not None}


class _Moved:
    """Variants whose threads do several ids, proven by a copy that is given its block's index."""

    name = coarsen.NAME

    def shown(self, kernel: Kernel) -> KernelVariant | None:
        one = next(iter(_made_by(coarsen.NAME, kernel)), None)
        if one is None or one.moved is None:
            return None
        return replace(one, kernel=moved_name(kernel), edit=one.moved)

    def proven_by(self, kernel: Kernel) -> tuple[KernelVariant, ...]:
        return _made_by(coarsen.NAME, kernel)

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


_Step = _Themselves | _Moved


def launching(program: Program, written: Mapping[str, Sequence[KernelVariant]]) -> TranslationUnit:
    """Return the program with these variants, in which launches name them and do nothing else."""

    def of(kernel: str) -> list[KernelVariant]:
        return [one for kind in TRANSFORMS for one in written.get(_name_of(kernel, kind), ())]

    def callee(site: LaunchSite) -> str | None:
        callees = (callee_named(site.callee, site.kernel, one.kernel) for one in of(site.kernel))
        # Kernels of one name have variants of one name.
        names = dict.fromkeys(name for name in callees if name is not None)
        named = [function_at(site, name) for name in names]
        if not named or site.called is None:
            return None
        # All are instantiated as the kernel is, which may share its name with other functions.
        kernel = function_at(site, site.callee)
        if not site.by_arguments:
            kernel = f"static_cast<decltype(&{named[0]})>({kernel})"
        return f"({' : '.join(f'true ? {one}' for one in named)} : {kernel})"

    unit = with_callees(TranslationUnit(program), _OWNER, callee)
    if any(site.deduced for site in program.launches):
        unit = unit.with_prelude((INCLUDE_DIRECTORY / "cutune_deduced.h").read_text("ascii"))
    for kernel in program.kernels:
        # Not behind another kernel of its name.
        places = {(id(one.source), one.edit.span) for one in kernel.variants}
        behind = [one for one in of(kernel.name) if (id(one.source), one.edit.span) in places]
        unit = with_variant_copies(unit, _OWNER, kernel, behind)
    return unit


def _without(kernel: Kernel, name: str, left_out: Collection[KernelVariant], what: str) -> Kernel:
    """The kernel without some variants; the reason stands under the name."""
    code = Code.VARIANT_UNPROVEN
    message = code.template.format(variant=name, what=what)
    reason = (name, Impurity(code, message, kernel.span))
    return replace(
        kernel,
        variants=tuple(one for one in kernel.variants if one not in left_out),
        variant_reasons=(*kernel.variant_reasons, reason),
    )


def _objection(kernel: Kernel, copy: str, compiled: Compiled) -> str | None:
    """The first property of the kernel that is not proven for its copy."""
    if not compiled.proofs.get(copy):
        return _NOT_INSTANTIATED
    places = member_places(kernel, kernel.layouts or ())
    judged = as_compiled(replace(kernel, name=copy, unproven=()), compiled, places)
    for axis, d in enumerate(DIMENSIONS):
        if d not in kernel.pure_dimensions or d in kernel.asserted:
            continue
        # A copy is launched with as many threads as the program asks for.
        its, own = (replace(one.dimensions[axis], grid_free=None) for one in (judged, kernel))
        if d not in judged.pure_dimensions or its != own:
            return f"is not proven in {d} as the kernel is"
    return None if _is_as_free(judged, kernel) else _OTHER_LAUNCHES


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


def _is_as_free(copy: Kernel, kernel: Kernel) -> bool:
    """May it be launched wherever the kernel may? In its launches pointers lie apart."""
    if copy.unproven or kernel.unproven or copy.max_threads < kernel.max_threads:
        return False
    if copy.must_hold and not kernel.must_hold:
        return False
    if kernel.needs_warps or kernel.asserted:
        return not copy.needs_warps or {*copy.single_thread} <= {*kernel.single_thread}
    # Of inner pointers the launch asks about those of the kernel, in its order.
    asks_alike = copy.inner_pointers in ((), kernel.inner_pointers)
    is_free = not copy.needs_warps and {*copy.distinct_places} <= {*kernel.distinct_places}
    is_free = is_free and {*copy.single_thread} <= {*kernel.single_thread}
    return is_free and asks_alike and (not copy.inner_pointers or _pairs(copy) <= _pairs(kernel))


def _pairs(kernel: Kernel) -> set[tuple[int, int]]:
    return {(min(pair), max(pair)) for pair in kernel.may_meet}
