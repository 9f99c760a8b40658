"""Proofs of variants on compiled code. Takes a `Program` and a compiler, gives a `Program`.

All variants are compiled at once, named where their kernel is launched, so that templates are
instantiated as for the kernels; then copies that show on what several ids of a thread depend.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cutune.core.codes import Code
from cutune.proof.compiled import Compile, Compiled, compiled_changes, proven
from cutune.proof.confirm import MemberPlaces, confirmed
from cutune.proof.memory.pointers import NotReached, reached
from cutune.proof.rounding.alike import rounds_alike
from cutune.proof.same_code import code_of
from cutune.proof.variants import bounds, coarsen, restrict
from cutune.proof.variants.coarsen import moved_name, reads_own_place, with_places
from cutune.ptx.parse import parse
from cutune.ptx.types import Module, PtxError
from cutune.source.launches.block_reading_copies import callee_named
from cutune.source.program import DIMENSIONS, Impurity, Kernel, KernelVariant, LaunchSite, Program
from cutune.source.rewrite.edits import function_at, with_callees, with_variant_copies
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.toolchain.kernel_names import base_name, renamed_entry
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY

_OWNER = "variants"
#: Transforms, in the order in which launches name their variants.
_ORDER = (restrict.NAME, coarsen.NAME, bounds.NAME)
_NOT_COMPILED = "does not compile"
_NOT_INSTANTIATED = "is not compiled: nothing instantiates it"
_NOT_READ = "is compiled to code that cannot be read"
_OTHER_BASE = "is one of a variant that is not proven"
_OTHER_CODE = "is compiled to other code than without its bounds"
_ROUNDS = "may round other products than the kernel before they are added"


def checked(program: Program, compile_unit: Compile) -> Program:
    """Return the program without variants that are not proven as their kernels are."""
    written: defaultdict[str, tuple[KernelVariant, ...]] = defaultdict(tuple)
    for kernel in program.kernels:
        for name, variants in _by_kind(kernel).items():
            if variants:
                written[name] += variants
    texts = compiled_changes(written, partial(launching, program), compile_unit)
    program = _without_others(program, texts)
    program = _proven(program, _Themselves(), texts)
    moved: defaultdict[str, tuple[KernelVariant, ...]] = defaultdict(tuple)
    for kernel in program.kernels:
        if (copy := _Moved().shown(kernel)) is not None:
            moved[_name_of(kernel.name, coarsen.NAME)] += (copy,)
    texts = compiled_changes(moved, partial(launching, program), compile_unit)
    program = _proven(program, _Moved(), texts)
    return replace(program, has_checked_variants=True)


Texts = Mapping[str, Sequence[str]]
"""The PTX of all architectures by names of copies; those compiled together share it."""


def _by_kind(kernel: Kernel) -> dict[str, tuple[KernelVariant, ...]]:
    """The variants of a kernel that are compiled together, or fail to."""
    return {_name_of(kernel.name, transform): _made_by(transform, kernel) for transform in _ORDER}


def _made_by(transform: str, kernel: Kernel) -> tuple[KernelVariant, ...]:
    return tuple(one for one in kernel.variants if one.transform == transform)


def _name_of(kernel: str, transform: str) -> str:
    return f"{kernel} {transform}"


def _without_others(program: Program, texts: Texts) -> Program:
    """The program without variants that do not compile, or may round otherwise."""
    parsed: dict[int, list[Module] | None] = {}

    def against(kernel: Kernel, variant: KernelVariant) -> str | None:
        ptx = texts.get(_name_of(kernel.name, variant.transform))
        if ptx is None:
            return _NOT_COMPILED
        if id(ptx) not in parsed:
            parsed[id(ptx)] = _parsed(ptx)
        modules = parsed[id(ptx)]
        if variant.transform == bounds.NAME:
            return _code_against(kernel, variant, modules)
        return _rounding_against(kernel, variant, modules)

    return replace(program, kernels=tuple(_without_any(k, against) for k in program.kernels))


def _without_any(kernel: Kernel, against: Callable[[Kernel, KernelVariant], str | None]) -> Kernel:
    for variant in kernel.variants:
        what = against(kernel, variant)
        kernel = _without(kernel, variant.name, (variant,), what) if what is not None else kernel
    return kernel


def _parsed(texts: Sequence[str]) -> list[Module] | None:
    """Their modules; None where one of them cannot be read."""
    try:
        return [parse(text) for text in texts]
    except PtxError:
        return None


def _rounding_against(
    kernel: Kernel, variant: KernelVariant, modules: Sequence[Module] | None
) -> str | None:
    """Why a variant may give other last bits; None where all its instances are known not to."""
    if modules is None:
        return _NOT_READ
    for functions in (module.functions for module in modules):
        copies = [name for name in functions if base_name(name) == variant.kernel]
        if not copies:
            return _NOT_INSTANTIATED
        for name in copies:
            of_kernel = functions.get(renamed_entry(name, kernel.name))
            if of_kernel is None or not rounds_alike(of_kernel, functions[name]):
                return _ROUNDS
    return None


def _code_against(
    kernel: Kernel, variant: KernelVariant, modules: Sequence[Module] | None
) -> str | None:
    """Why a variant with bounds may do something else; None where it is the same code without."""
    if modules is None:
        return _NOT_READ
    base = kernel.name
    if variant.pointers:
        restricted = _made_by(restrict.NAME, kernel)
        if not restricted:
            return _OTHER_BASE
        base = restricted[0].kernel
    for module in modules:
        copies = [name for name in module.functions if base_name(name) == variant.kernel]
        if not copies:
            return _NOT_INSTANTIATED
        for name in copies:
            without_bounds = renamed_entry(name, base)
            if without_bounds not in module.functions:
                return _NOT_INSTANTIATED
            if code_of(module, without_bounds, False) != code_of(module, name, False):
                return _OTHER_CODE
    return None


def _proven(program: Program, step: _Step, texts: Texts) -> Program:
    """The program without those variants of a step that are not proven."""
    shown = ((k, one) for k in program.kernels if (one := step.shown(k)) is not None)
    copies = {kernel.name: _Copy(kernel, one) for kernel, one in shown}
    of_kernels = {name: texts.get(_name_of(name, step.name)) for name in copies}
    reasons = _reasons(copies, {name: one for name, one in of_kernels.items() if one}, step)
    kernels = (
        _without(kernel, step.name, step.proven_by(kernel), reasons[kernel.name])
        if kernel.name in reasons
        else kernel
        for kernel in program.kernels
    )
    return replace(program, kernels=tuple(kernels))


@dataclass(frozen=True)
class _Copy:
    """A kernel, and the copy of it that is compiled."""

    kernel: Kernel
    shown: KernelVariant


@dataclass(frozen=True)
class _Proofs:
    """Proofs about compiled copies; `against`: objections to some, by their names."""

    compiled: Compiled
    against: Mapping[str, str]


class _Themselves:
    """Variants whose text is compiled as it is."""

    name = restrict.NAME

    def shown(self, kernel: Kernel) -> KernelVariant | None:
        """Return the copy of a kernel that is compiled; None: no variant needs it."""
        return next(iter(_made_by(restrict.NAME, kernel)), None)

    def proven_by(self, kernel: Kernel) -> tuple[KernelVariant, ...]:
        """Return the variants that are right only if the copy is."""
        # Variants with conditions on pointers make the same assertion.
        return tuple(
            one for one in kernel.variants if one.transform == restrict.NAME or one.pointers
        )

    def proofs(self, texts: Sequence[str], copies: Mapping[str, _Copy]) -> _Proofs:
        """Return proofs about copies, by their names, in PTX of all architectures."""
        compiled = proven(texts, lambda entry: base_name(entry) in copies)
        objections = ((name, _other_memory(copy, compiled)) for name, copy in copies.items())
        return _Proofs(compiled, {name: what for name, what in objections if what is not None})


class _Moved:
    """Variants whose threads do several ids: a copy whose block's place comes from elsewhere."""

    name = coarsen.NAME

    def shown(self, kernel: Kernel) -> KernelVariant | None:
        one = next(iter(_made_by(coarsen.NAME, kernel)), None)
        if one is None or one.moved is None:
            return None
        return replace(one, kernel=moved_name(kernel), edit=one.moved)

    def proven_by(self, kernel: Kernel) -> tuple[KernelVariant, ...]:
        return _made_by(coarsen.NAME, kernel)

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


_Step = _Themselves | _Moved


def launching(program: Program, written: Mapping[str, Sequence[KernelVariant]]) -> TranslationUnit:
    """Return the program with these variants, in which launches name them and do nothing else."""

    def of(kernel: str) -> list[KernelVariant]:
        return [one for kind in _ORDER for one in written.get(_name_of(kernel, kind), ())]

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
        behind = [one for one in of(kernel.name) if _stands_behind(one, kernel)]
        unit = with_variant_copies(unit, _OWNER, kernel, behind)
    return unit


def _stands_behind(variant: KernelVariant, kernel: Kernel) -> bool:
    """Is it inserted behind this kernel, not behind another one of its name?"""
    return variant.edit.span in [
        one.edit.span for one in kernel.variants if one.source is variant.source
    ]


def _reasons(
    copies: Mapping[str, _Copy], texts: Mapping[str, Sequence[str]], step: _Step
) -> dict[str, str]:
    """The objections to copies of kernels, by the names of the kernels.

    `texts`: their PTX; those that compile together have the same.
    """
    reasons = dict.fromkeys(copies.keys() - texts.keys(), _NOT_COMPILED)
    proofs_of: dict[int, _Proofs] = {}
    for name, ptx in texts.items():
        if id(ptx) not in proofs_of:
            together = (copies[other] for other in texts if texts[other] is ptx)
            proofs_of[id(ptx)] = step.proofs(ptx, {copy.shown.kernel: copy for copy in together})
        copy, proofs = copies[name], proofs_of[id(ptx)]
        reason = proofs.against.get(copy.shown.kernel) or _objection(copy, proofs.compiled)
        if reason is not None:
            reasons[name] = reason
    return reasons


def _without(kernel: Kernel, name: str, left_out: Collection[KernelVariant], what: str) -> Kernel:
    """The kernel without some variants, and the reason under a name."""
    code = Code.VARIANT_UNPROVEN
    message = code.template.format(variant=name, what=what)
    reason = (name, Impurity(code, message, kernel.span))
    return replace(
        kernel,
        variants=tuple(one for one in kernel.variants if one not in left_out),
        variant_reasons=(*kernel.variant_reasons, reason),
    )


def _objection(compared: _Copy, compiled: Compiled) -> str | None:
    """The first property of the kernel that is not proven for its copy."""
    kernel, name = compared.kernel, compared.shown.kernel
    if not compiled.proofs.get(name):
        return _NOT_INSTANTIATED
    places = _places(kernel)
    judged = confirmed(replace(kernel, name=name, unproven=()), compiled, places)
    for axis, d in enumerate(DIMENSIONS):
        if d not in kernel.pure_dimensions or d in kernel.asserted:
            continue
        # A copy is launched with as many threads as the program asks for.
        its, own = (replace(one.dimensions[axis], grid_free=None) for one in (judged, kernel))
        if d not in judged.pure_dimensions or its != own:
            return f"is not proven in {d} as the kernel is"
    return None if _is_as_free(judged, kernel) else _OTHER_LAUNCHES


_OTHER_LAUNCHES = "is proven under other conditions than the kernel"


def _other_memory(copy: _Copy, compiled: Compiled) -> str | None:
    """Does its code access memory through other pointers than the variant says?"""
    shown, parameters = copy.shown, enumerate(copy.kernel.parameters)
    pointers = {index: one.name for index, one in parameters if one.is_pointer}
    for proof in compiled.proofs.get(shown.kernel, ()):
        used = reached(proof.uses, pointers)
        if isinstance(used, NotReached):
            return used.what
        if not (used.pointers <= {*shown.pointers} and used.written <= {*shown.written}):
            return "accesses memory through other pointers than the kernel"
    return None


def _is_as_free(copy: Kernel, kernel: Kernel) -> bool:
    """May it be launched wherever the kernel may? Pointers that may meet do not at its launches."""
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


def _places(kernel: Kernel) -> list[MemberPlaces]:
    """The places of those members that are data parameters of the kernel."""
    layouts = {name: (size, members) for name, size, members in kernel.layouts or ()}
    places = []
    for argument, structure in sorted({(m.argument, m.structure) for m in kernel.members}):
        if structure not in layouts:
            continue
        size, members = layouts[structure]
        prefix = kernel.parameters[argument].name
        names: dict[str, str] = {}
        for path, offset, width in members:
            kinds = [f"b{8 * width}"] if width >= 4 else [f"{sign}{8 * width}" for sign in "usb"]
            names |= {f"{argument}:{offset}:{kind}": f"{prefix}.{path}" for kind in kinds}
        places.append(MemberPlaces(argument, size, names))
    return places


def _pairs(kernel: Kernel) -> set[tuple[int, int]]:
    """Pointers that may meet, in one order."""
    return {(min(pair), max(pair)) for pair in kernel.may_meet}
