"""Proofs of variants on compiled code. Takes a `Program` and a compiler, gives a `Program`.

All variants are compiled at once, named where their kernel is launched, so that templates are
instantiated as for the kernels. Each is then proven by the step that the row of its transform in
`registry` names; for some steps further copies are compiled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import assert_never

from cutune.core.codes import Code
from cutune.proof.compiled import Compile, ProvenCode, compiled_changes
from cutune.proof.confirm import as_compiled, member_places
from cutune.proof.same_code import MEETS_OTHERWISE, tells_active_lanes
from cutune.proof.variants.registry import (
    TRANSFORMS,
    AsTried,
    AsWritten,
    Copy,
    InTurn,
    Moved,
    SameCode,
    made_by,
)
from cutune.proof.variants.text import left_out
from cutune.ptx.parse import parse
from cutune.ptx.types import Module, PtxError
from cutune.source.kernel_variant import KernelVariant
from cutune.source.launches.callees import callee_named
from cutune.source.program import DIMENSIONS, Kernel, LaunchSite, Program
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


def checked(program: Program, compile_unit: Compile) -> Program:
    """Return the program without variants that the steps of their transforms do not prove."""
    texts = _texts(program, ((k, one) for k in program.kernels for one in k.variants), compile_unit)
    program = _without_others(program, texts)
    of_moved: Texts | None = None
    for name, transform in TRANSFORMS.items():
        match transform.step:
            case SameCode() | AsTried() | InTurn():
                pass  # Compared with what is proven: the kernel, or a variant of a row before.
            case AsWritten() as step:
                program = _proven(program, name, step, texts)
            case Moved() as step:
                if of_moved is None:
                    of_moved = _texts(program, _moved(program), compile_unit)
                program = _proven(program, name, step, of_moved)
            case _:
                assert_never(transform.step)
    return replace(program, has_checked_variants=True)


def _moved(program: Program) -> list[Copy]:
    """The copies that are compiled for proofs alone, of all transforms."""
    rows = [(name, row.step) for name, row in TRANSFORMS.items() if isinstance(row.step, Moved)]
    return [copy for name, step in rows for copy in _copies(program, name, step)]


def _texts(program: Program, copies: Iterable[Copy], compile_unit: Compile) -> Texts:
    written: defaultdict[Made, tuple[KernelVariant, ...]] = defaultdict(tuple)
    for kernel, one in copies:
        written[kernel.name, one.transform] += (one,)
    return compiled_changes(written, partial(launching, program), compile_unit)


Made = tuple[str, str]
"""Copies of kernels of a name that a transform makes."""
Texts = Mapping[Made, Sequence[str]]
"""The PTX of all architectures by copies; those compiled together share it."""


def _without_others(program: Program, texts: Texts) -> Program:
    parsed = cache(parse)

    def kept(kernel: Kernel) -> Kernel:
        for variant in kernel.variants:
            what: str | None = _NOT_READ
            with suppress(PtxError):
                ptx = map(parsed, texts.get((kernel.name, variant.transform), ()))
                what = against(kernel, variant, [*ptx])
            if what is not None:
                kernel = _without(kernel, variant.name, (variant,), what)
        return kernel

    return replace(program, kernels=tuple(map(kept, program.kernels)))


def against(kernel: Kernel, variant: KernelVariant, modules: Sequence[Module]) -> str | None:
    """Return why a variant may round otherwise or be other code, as its step asks; else None."""
    if not modules:
        return _NOT_COMPILED
    step = TRANSFORMS[variant.transform].step
    base = step.base(kernel, variant)
    if base is None:
        return _OTHER_BASE
    for module in modules:
        copies = [name for name in module.functions if base_name(name) == variant.kernel]
        if not copies:
            return _NOT_INSTANTIATED
        for name in copies:
            of_base = renamed_entry(name, base)
            if of_base not in module.functions:
                return _NOT_INSTANTIATED
            if tells_active_lanes(module.functions[of_base]):
                return MEETS_OTHERWISE
            if (what := step.difference(module, of_base, name, variant)) is not None:
                return what
    return None


def _copies(program: Program, name: str, step: AsWritten | Moved) -> list[Copy]:
    every = (
        (kernel, step.copy(kernel, v)) for kernel in program.kernels for v in made_by(name, kernel)
    )
    # Other text of one name is kept: then it does not compile, and nothing is proven.
    return [*{(id(kernel), one.kernel, one.edit): (kernel, one) for kernel, one in every}.values()]


def _proven(program: Program, name: str, step: AsWritten | Moved, texts: Texts) -> Program:
    copies = {copy.kernel: (kernel, copy) for kernel, copy in _copies(program, name, step)}
    reasons = {copy: _reason(step, *pair, texts) for copy, pair in copies.items()}

    def kept(kernel: Kernel) -> Kernel:
        made = [(one, reasons[step.copy(kernel, one).kernel]) for one in made_by(name, kernel)]
        unproven = [(one, what) for one, what in made if what is not None]
        if not unproven:
            return kernel
        falling = [other for one, _ in unproven for other in step.falling_with(kernel, one)]
        return _without(kernel, name, falling, unproven[0][1])

    return replace(program, kernels=tuple(map(kept, program.kernels)))


def _reason(
    step: AsWritten | Moved, kernel: Kernel, copy: KernelVariant, texts: Texts
) -> str | None:
    ptx = texts.get((kernel.name, copy.transform), ())
    if not ptx:
        return _NOT_COMPILED
    proven, against = step.proofs(ptx, kernel, copy)
    return against or _objection(kernel, copy.kernel, proven)


def launching(program: Program, written: Mapping[Made, Sequence[KernelVariant]]) -> TranslationUnit:
    """Return the program with these variants, in which launches name them and do nothing else."""

    def of(kernel: str) -> list[KernelVariant]:
        return [one for kind in TRANSFORMS for one in written.get((kernel, kind), ())]

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

    unit = with_callees(TranslationUnit(program, _OWNER), callee)
    if any(site.deduced for site in program.launches):
        unit = unit.with_prelude((INCLUDE_DIRECTORY / "cutune_deduced.h").read_text("ascii"))
    for kernel in program.kernels:
        # Not behind another kernel of its name.
        places = {(id(one.source), one.edit.span) for one in kernel.variants}
        behind = [one for one in of(kernel.name) if (id(one.source), one.edit.span) in places]
        unit = with_variant_copies(unit, kernel, behind)
    return unit


def _without(kernel: Kernel, name: str, without: Collection[KernelVariant], what: str) -> Kernel:
    reason = left_out(kernel, name, Code.VARIANT_UNPROVEN, what=what)
    variants = tuple(one for one in kernel.variants if one not in without)
    return replace(kernel, variants=variants, variant_reasons=(*kernel.variant_reasons, reason))


def _objection(kernel: Kernel, copy: str, proven: ProvenCode) -> str | None:
    if not proven.proofs.get(copy):
        return _NOT_INSTANTIATED
    places = member_places(kernel, kernel.layouts or ())
    judged = as_compiled(replace(kernel, name=copy, unproven=()), proven, places)
    for axis, d in enumerate(DIMENSIONS):
        if d not in kernel.pure_dimensions or d in kernel.asserted:
            continue
        # A copy is launched with as many threads as the program asks for.
        dimensions = (one.dimensions[axis] for one in (judged, kernel))
        its, own = (replace(one, grid_free=None, idle_from=None) for one in dimensions)
        if d not in judged.pure_dimensions or its != own:
            return f"is not proven in {d} as the kernel is"
    return None if _is_as_free(judged, kernel) else _OTHER_LAUNCHES


def _is_as_free(copy: Kernel, kernel: Kernel) -> bool:
    """May it be launched wherever the kernel may? In its launches pointers lie apart."""
    if copy.unproven or kernel.unproven or copy.max_threads < kernel.max_threads:
        return False
    if copy.must_hold > kernel.must_hold or copy.narrow_blocks > kernel.narrow_blocks:
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
