"""Which copies of kernels are of use. Takes a `Program` and what compiles it, gives proofs.

Every launch of a kernel with a copy is one of the copy in the text that is compiled here, so that
templates are instantiated as for the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from cutune.analysis.copies import callee_of_copy, copies
from cutune.diagnostics import Code, CutuneError
from cutune.edits import Edit
from cutune.entry_names import namespaces
from cutune.instances import demangled
from cutune.pipeline import TranslationUnit
from cutune.program import DimensionFacts, Impurity, Kernel, KernelCopy, Program
from cutune.proof.compiled import Compiled, proven
from cutune.proof.confirm import MemberPlaces, confirmed
from cutune.rewrite import with_copies
from cutune.source import Span

_OWNER = "copies"
Compile = Callable[[TranslationUnit], Sequence[str]]
"""Gives the PTX of a rewritten program, for all architectures that will run.

Raises CutuneError where it does not compile.
"""


@dataclass(frozen=True)
class ProvenCopy:
    """A copy with the proofs about its compiled code."""

    copy: KernelCopy
    compiled: Compiled


def proven_copies(program: Program, compile_unit: Compile) -> dict[str, ProvenCopy]:
    """Copies of refused kernels that compile, by the names of the kernels."""
    return _proven_of(program, copies(program), compile_unit)


def _proven_of(
    program: Program, candidates: Mapping[str, KernelCopy], compile_unit: Compile
) -> dict[str, ProvenCopy]:
    """Where they do not compile together, each half by itself: one that fails stops no other."""
    if not candidates:
        return {}
    try:
        texts = compile_unit(_launching(program, candidates))
    except CutuneError:
        names = list(candidates)
        middle = len(names) // 2
        halves = [names[:middle], names[middle:]] if middle else []
        parts = [{name: candidates[name] for name in half} for half in halves]
        found = [_proven_of(program, part, compile_unit) for part in parts]
        return {name: copy for part in found for name, copy in part.items()}
    proofs = {name: _proven(name, copy, texts) for name, copy in candidates.items()}
    return {name: found for name, found in proofs.items() if found is not None}


def _launching(program: Program, candidates: Mapping[str, KernelCopy]) -> TranslationUnit:
    kernels = tuple(replace(kernel, copy=candidates.get(kernel.name)) for kernel in program.kernels)
    unit = TranslationUnit(replace(program, kernels=kernels))
    for site in program.launches:
        copy = candidates.get(site.kernel)
        callee = callee_of_copy(site.callee, site.kernel, copy) if copy is not None else None
        if callee is not None:
            span = Span(site.span.start, site.span.start + len(site.callee))
            unit = unit.with_edits(_OWNER, [Edit(span, callee)], site.source)
    return with_copies(unit, _OWNER, candidates)


def _proven(name: str, copy: KernelCopy, texts: Sequence[str]) -> ProvenCopy | None:
    """The proofs, unless the copy can be told from the kernel by what it is called."""
    if any(_shows_name(text, copy.namespace) for text in texts):
        return None
    compiled = proven(texts, lambda entry: copy.namespace in namespaces(entry))
    entries = compiled.entries(name)
    if not entries:
        return None
    return ProvenCopy(replace(copy, entries=entries), compiled)


def _shows_name(text: str, namespace: str) -> bool:
    """Does a variable of its own, or a text, hold the name?"""
    letters = r",\s*".join(str(byte) for byte in namespace.encode())
    variable = rf"^[^\n(]*\.(?:global|const|shared)\b[^\n(]*{namespace}"
    return re.search(rf"{variable}|{letters}", text, re.MULTILINE) is not None


def with_copy(kernel: Kernel, found: ProvenCopy | None, places: Sequence[MemberPlaces]) -> Kernel:
    """The kernel with what is proven of its copy; as it is where that is no better."""
    if found is None or kernel.pure_dimensions:
        return kernel
    code = Code.NOT_PROVEN
    unread = Impurity(code, code.template.format(what="a constant block"), kernel.span)
    unknown = DimensionFacts(False)
    blank = replace(
        kernel,
        impurity=unread,
        dimensions=(unknown, unknown, unknown),
        data_parameters=(),
        needs_warps=False,
        may_meet=(),
        apart=(),
    )
    known = confirmed(blank, found.compiled, places)
    return replace(known, copy=found.copy) if known.pure_dimensions else kernel


def with_entries_of_copies(program: Program) -> Program:
    """The program with copies as what arrives where they stand in for kernels."""
    copies = {kernel.name: kernel.copy for kernel in program.kernels}
    launches = (
        replace(site, entries=_copied_entries(site.entries, copy))
        if site.entries and copy is not None
        else site
        for site in program.launches
        for copy in [copies.get(site.kernel)]
    )
    return replace(program, launches=tuple(launches))


def _copied_entries(entries: Sequence[str], copy: KernelCopy) -> tuple[str, ...]:
    """What the copies of these entries are called; all copies where that cannot be told."""
    names = demangled([*entries, *copy.entries], parameters=True)
    written = zip(names[len(entries) :], copy.entries, strict=True)
    known = {name.replace(f"{copy.namespace}::", "", 1): entry for name, entry in written}
    found = [known.get(name) for name in names[: len(entries)]]
    copied = tuple(entry for entry in found if entry is not None)
    return copied if len(copied) == len(entries) else copy.entries
