"""Analysis of a CUDA source. Takes its `UnitTexts` and its compilation, gives a `Program`.

Kernels are judged on their PTX; text supplies the names of kernels, parameters and members.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from types import MappingProxyType

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.source import Source
from cutune.proof.analysis.namesakes import (
    AskLaunches,
    by_last_name,
    distinctly_named,
    launched_kernels,
)
from cutune.proof.analysis.proven_copies import ProvenCopy, with_copy
from cutune.proof.analysis.tried_tiles import Tiles, with_tiles
from cutune.proof.compiled import Compilation, ProvenCode
from cutune.proof.confirm import as_compiled, member_places
from cutune.proof.variants.registry import varied
from cutune.source.launches.annotations import annotated
from cutune.source.launches.callees import called_launches, certain_kernels, loaded_kernels
from cutune.source.launches.verdicts import launch_sites
from cutune.source.program import CompiledCode, Impurity, Kernel, LaunchSite, Layout, Program
from cutune.source.syntax.parse import Syntax
from cutune.source.tunable_pragmas import tunables_of
from cutune.source.unit.kernels import Structures, declared_kernels, layout_at
from cutune.source.unit.unit_texts import UnitTexts
from cutune.toolchain.kernel_names import is_qualified

ByName = Mapping[str, Sequence[Kernel]]
"""All kernels of a name."""
Entries = Mapping[str, tuple[str, ...]]
"""Entries of the compiled code by the name of a kernel, where there is one."""


@dataclass(frozen=True)
class _Judged:
    """All kernels of a unit, with what their compiled code proves.

    `entries`: of those whose name can only mean one. `proven`: None: the compiler was not asked.
    """

    by_name: ByName
    entries: Entries
    proven: ProvenCode | None


def analyze(
    texts: UnitTexts,
    compilation: Compilation | None = None,
    copies: Mapping[str, ProvenCopy] = MappingProxyType({}),
    elsewhere: Iterable[Kernel] = (),
    is_associative: bool = False,
    ask_launches: AskLaunches = tuple,
    tiles: Mapping[str, Tiles] = MappingProxyType({}),
) -> Program:
    """Judge the kernels and launches of one source and of its headers.

    Args:
        texts: of the source; one that has errors is not judged.
        compilation: of the source, for all architectures that will run. What its code does not
            prove is refused; without it nothing is proven. Raises CT701 where it did not compile.
        copies: copies that may replace kernels, by the kernels' names.
        elsewhere: kernels that other units define, of which this one has only a declaration.
        is_associative: may rounded numbers be added up in any order?
        ask_launches: called where kernels of several namespaces share a name.
        tiles: copies with other constants that did what their kernels do, by the kernels' names.
    """
    syntax = texts.syntax
    if any(diagnostic.is_error for diagnostic in syntax.diagnostics):
        return Program(syntax.source, (), (), syntax.diagnostics)
    structures = Structures(texts.unit)
    judged = _judged(texts, structures, compilation, copies)
    proven = judged.proven
    by_name, ignored = _annotated(texts, _with_borrowed(structures, judged.by_name, elsewhere))
    by_name = _each(
        by_name, lambda kernel: _with_order(kernel, is_associative or kernel.is_associative)
    )
    by_name = _each(by_name, lambda kernel: with_tiles(kernel, tiles.get(kernel.name)))
    launches, remarks = _launches(texts, by_name, judged.entries, ask_launches)
    kernels, unlaunched = _kernels_of(syntax.source, by_name, launches)
    if proven is not None:
        kernels = varied(kernels, proven.proofs, texts.kernel_texts)
    chosen = tunables_of([*texts.late_headers, syntax])
    said = (*syntax.diagnostics, *ignored, *remarks, *_other_launches(texts, by_name))
    is_tunable = kernels or launches or chosen.tunables or chosen.constants or chosen.regions
    if not is_tunable and not said:
        said = (Diagnostic.at(Code.HOST_ONLY, syntax.source),)
    return Program(
        syntax.source,
        kernels,
        launches,
        (*said, *chosen.diagnostics, *_too_early(texts.early_headers)),
        texts.headers,
        chosen.tunables,
        chosen.constants,
        chosen.regions,
        unlaunched,
        _code(syntax.source, proven) if proven is not None else None,
    )


def _judged(
    texts: UnitTexts,
    structures: Structures,
    compilation: Compilation | None,
    copies: Mapping[str, ProvenCopy],
) -> _Judged:
    declared = list(declared_kernels(texts.unit, structures))
    by_name = _by_name(declared)
    if compilation is None:
        return _Judged(by_name, {}, None)
    proven = compilation.proven_code(by_name)
    judged = _on_compiled_code(structures, by_name, proven, copies)
    named = _by_name(distinctly_named(declared, judged, proven.proofs, structures))
    if named.keys() != by_name.keys():
        proven = proven.divided({n: one[0].entries for n, one in named.items() if is_qualified(n)})
        judged = _on_compiled_code(structures, named, proven, copies)
    # The instance of a template that a launch calls is determined later.
    names = certain_kernels(texts.unit, texts.expanded or "", texts.written, texts.files)
    entries = {name: one for name in names if len(one := proven.entries(name)) == 1}
    return _Judged(judged, entries, proven)


def _on_compiled_code(
    structures: Structures, by_name: ByName, proven: ProvenCode, copies: Mapping[str, ProvenCopy]
) -> ByName:

    def known(kernel: Kernel) -> Kernel:
        places = member_places(kernel, _known_layouts(structures, kernel))
        found = as_compiled(kernel, proven, places)
        found = with_copy(found, kernel, copies.get(kernel.name), places)
        entries = proven.entries(kernel.name)
        return replace(found, entries=entries, layouts=_layouts(structures, found))

    return {name: list(map(known, found)) for name, found in by_name.items()}


def _with_borrowed(structures: Structures, by_name: ByName, elsewhere: Iterable[Kernel]) -> ByName:
    found = dict(by_name)
    for kernel in elsewhere:
        if kernel.name not in found and kernel.layouts == _layouts(structures, kernel):
            found[kernel.name] = [kernel]
    return found


def _annotated(texts: UnitTexts, by_name: ByName) -> tuple[ByName, list[Diagnostic]]:
    """The kernels as annotations in all files say; with what is wrong with these."""
    said: list[Diagnostic] = []
    for file in texts.written:
        by_name, remarks = annotated(file, by_name, texts.unit.typedefs)
        said += remarks
    return by_name, said


def _each(by_name: ByName, changed: Callable[[Kernel], Kernel]) -> ByName:
    return {name: list(map(changed, kernels)) for name, kernels in by_name.items()}


def _with_order(kernel: Kernel, is_associative: bool) -> Kernel:
    # Where no block may change, it is not the order that keeps it.
    is_ordered = kernel.reassociates and bool(kernel.pure_dimensions) and not kernel.asserted
    if is_associative or not is_ordered:
        return replace(kernel, is_associative=is_associative and kernel.reassociates)
    message = Code.ROUNDED_SUM.template.format(name=kernel.name)
    return replace(kernel, impurity=Impurity(Code.ROUNDED_SUM, message, kernel.span))


def _launches(
    texts: UnitTexts, by_name: ByName, entries: Entries, ask_launches: AskLaunches
) -> tuple[tuple[LaunchSite, ...], list[Diagnostic]]:
    launches: list[LaunchSite] = []
    diagnostics: list[Diagnostic] = []
    known = by_last_name(by_name)
    for file in texts.written:
        first, is_early = len(launches) + 1, file.source.path in texts.early
        named = launched_kernels(file, by_name, ask_launches)
        is_main = file is texts.syntax
        sites, remarks = launch_sites(file, texts.unit, known, first, is_early, named, is_main)
        known_by = (site.entries or entries.get(site.kernel, ()) for site in sites)
        launches += [replace(s, entries=its) for s, its in zip(sites, known_by, strict=True)]
        diagnostics += remarks
    return tuple(launches), diagnostics


def _other_launches(texts: UnitTexts, by_name: ByName) -> Iterator[Diagnostic]:
    """Notes on kernels that are launched by a function of the runtime, or loaded."""
    known = by_last_name(by_name)
    for file in texts.written:
        yield from called_launches(file, known)
        yield from loaded_kernels(file)


def _kernels_of(
    source: Source, by_name: ByName, launches: Iterable[LaunchSite]
) -> tuple[tuple[Kernel, ...], tuple[Kernel, ...]]:
    launched = {site.kernel for site in launches}
    known = [kernel for found in by_name.values() for kernel in found]
    kernels = tuple(k for k in known if k.source is source or k.name in launched)
    listed = {id(kernel) for kernel in kernels}
    return kernels, tuple(k for k in known if id(k) not in listed and k.elsewhere is None)


def _code(source: Source, proven: ProvenCode) -> CompiledCode:
    """A unique name for the code of this file: another file may hold the same text."""
    named = f"{os.path.realpath(source.path)}\0{proven.content}"
    name = sha256(named.encode(errors="surrogateescape")).hexdigest()[:16]
    return CompiledCode(name, proven.versions, proven.emulated)


def _layouts(structures: Structures, kernel: Kernel) -> tuple[Layout, ...] | None:
    known = _known_layouts(structures, kernel)
    found = tuple((name, size, tuple(sorted(members))) for name, size, members in known)
    is_all = len(found) == len({member.structure for member in kernel.members})
    return found if is_all else None


def _known_layouts(structures: Structures, kernel: Kernel) -> Iterator[Layout]:
    for structure in sorted({member.structure for member in kernel.members}):
        if (known := layout_at(structures, structure)) is not None:
            places = ((path, *place) for path, place in known.members.items())
            yield structure, known.bytes, tuple(places)


def _too_early(headers: Iterable[Syntax]) -> Iterator[Diagnostic]:
    """The selection code is inserted at line 1, after `-include` headers, which cannot see it."""
    found = tunables_of(tuple(headers))
    for tunable in (*found.tunables, *found.constants):
        yield Diagnostic.at(Code.TUNABLE_IN_HEADER, tunable.source, tunable.pragma)


def _by_name(kernels: Iterable[Kernel]) -> ByName:
    found: defaultdict[str, list[Kernel]] = defaultdict(list)
    for kernel in kernels:
        found[kernel.name].append(kernel)
    return found
