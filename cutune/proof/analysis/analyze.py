"""Analysis of a CUDA source. Takes a `Syntax` and its compilation, gives a `Program`.

Kernels are judged on their PTX; text supplies the names of kernels, parameters and members. Names
are read from the compiler's preprocessed text (`nvcc <flags> -E -Xcompiler -U__CUDA_ARCH__`) where
it is there, else from the source and the given headers. Launches are always those of the text that
the user wrote.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from types import MappingProxyType

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.source import Source
from cutune.proof.analysis.namesakes import Told, by_last_name, distinctly_named, launched_kernels
from cutune.proof.analysis.proven_copies import ProvenCopy, with_copy
from cutune.proof.analysis.tried_tiles import Tiles, with_tiles
from cutune.proof.compiled import Compilation, Compiled
from cutune.proof.confirm import as_compiled, member_places
from cutune.proof.variants.registry import varied
from cutune.source.launches.annotations import annotated
from cutune.source.launches.callees import called_launches, certain_kernels, loaded_kernels
from cutune.source.launches.verdicts import launch_sites
from cutune.source.program import CompiledCode, Impurity, Kernel, LaunchSite, Layout, Program
from cutune.source.syntax.parse import Syntax, parse
from cutune.source.tunable_pragmas import tunables_of
from cutune.source.unit.kernel_texts import KernelTexts
from cutune.source.unit.kernels import Structures, declared_kernels, layout_at
from cutune.source.unit.macros import MacroTable, Seen, Unsteady
from cutune.source.unit.preprocess import expanded_parts
from cutune.source.unit.unit import Unit, UnitPart
from cutune.toolchain.kernel_names import is_qualified

_PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+(?:cutune|kernel_info_)", re.MULTILINE)


ByName = Mapping[str, Sequence[Kernel]]
"""All kernels of a name."""
Entries = Mapping[str, tuple[str, ...]]
"""Entries of the compiled code by the name of a kernel, where there is one."""


def analyze(
    syntax: Syntax,
    expanded: str | None = None,
    headers: Iterable[Source] = (),
    early: Container[str] = (),
    compilation: Compilation | None = None,
    copies: Mapping[str, ProvenCopy] = MappingProxyType({}),
    elsewhere: Iterable[Kernel] = (),
    marked: Callable[[], Seen | None] = lambda: None,
    is_associative: bool = False,
    told: Told = tuple,
    tiles: Mapping[str, Tiles] = MappingProxyType({}),
) -> Program:
    """Judge the kernels and launches of one source and of its headers.

    Args:
        expanded: the host pass's text after preprocessing, line markers in it.
        headers: the user's headers, named as the line markers name them.
        early: paths of those that are read before the first line of the source (`-include`).
        compilation: of the source, for all architectures that will run. What its code does not
            prove is refused; without it nothing is proven. Raises CT701 where it did not compile.
        copies: copies that may replace kernels, by the kernels' names.
        elsewhere: kernels that other units define, of which this one has only a declaration.
        marked: see `Unsteady`.
        is_associative: may rounded numbers be added up in any order?
        told: asked where kernels of several namespaces share a name.
        tiles: copies with other constants that did what their kernels do, by the kernels' names.
    """
    if any(diagnostic.is_error for diagnostic in syntax.diagnostics):
        return Program(syntax.source, (), (), syntax.diagnostics)
    headers = tuple(headers)
    own = (syntax, *_speaking(headers, everything=expanded is None))
    files = (syntax.source, *headers)
    unit = _unit(own, expanded)
    unsteady = Unsteady(files, _seen(unit), marked)
    unit = replace(unit, unsteady=unsteady)
    structures = Structures(unit)
    by_name: ByName = _by_name(declared := [*declared_kernels(unit, structures)])
    entries: Entries = {}
    code = None
    if compilation is not None:
        compiled = compilation.finished(by_name)
        by_name = _on_compiled_code(structures, by_name, compiled, copies)
        named = _by_name(distinctly_named(declared, by_name))
        if named.keys() != by_name.keys():
            compiled = compiled.divided(filter(is_qualified, named))
            by_name = _on_compiled_code(structures, named, compiled, copies)
        code = _code(syntax.source, compiled)
        # The instance of a template that a launch calls is determined later.
        names = certain_kernels(unit, expanded or "", own, (syntax.source, *headers))
        entries = {name: one for name in names if len(one := compiled.entries(name)) == 1}
    by_name, ignored = _with_borrowed(structures, by_name, elsewhere), list[Diagnostic]()
    for file in own:
        by_name, said = annotated(file, by_name, unit.typedefs)
        ignored += said
    by_name = {
        name: [_with_order(kernel, is_associative or kernel.is_associative) for kernel in kernels]
        for name, kernels in by_name.items()
    }
    by_name = {
        name: [with_tiles(kernel, tiles.get(name)) for kernel in kernels]
        for name, kernels in by_name.items()
    }
    launches, remarks = _launches(own, unit, by_name, entries, early, told)
    kernels, unlaunched = _kernels_of(syntax.source, by_name, launches)
    if compilation is not None:
        seen = tuple(part for _, part in _seen(unit))
        texts = KernelTexts(files, {file.source.path: file for file in own}, seen, unsteady)
        kernels = varied(kernels, compiled.proofs, texts)
    known = by_last_name(by_name)
    calls = (
        note for file in own for note in (*called_launches(file, known), *loaded_kernels(file))
    )
    diagnostics = (*syntax.diagnostics, *ignored, *remarks, *calls)
    late = [file for file in own[1:] if file.source.path not in early]
    too_early = _too_early(file for file in own[1:] if file.source.path in early)
    chosen = tunables_of([*late, syntax])
    is_tunable = kernels or launches or chosen.tunables or chosen.constants or chosen.regions
    if not is_tunable and not diagnostics:
        diagnostics = (Diagnostic.at(Code.HOST_ONLY, syntax.source),)
    return Program(
        syntax.source,
        kernels,
        launches,
        (*diagnostics, *chosen.diagnostics, *too_early),
        headers,
        chosen.tunables,
        chosen.constants,
        chosen.regions,
        unlaunched,
        code,
    )


def _on_compiled_code(
    structures: Structures, by_name: ByName, compiled: Compiled, copies: Mapping[str, ProvenCopy]
) -> ByName:

    def known(kernel: Kernel) -> Kernel:
        places = member_places(kernel, _known_layouts(structures, kernel))
        found = as_compiled(kernel, compiled, places)
        found = with_copy(found, kernel, copies.get(kernel.name), places)
        entries = compiled.entries(kernel.name)
        return replace(found, entries=entries, layouts=_layouts(structures, found))

    return {name: list(map(known, found)) for name, found in by_name.items()}


def _with_borrowed(structures: Structures, by_name: ByName, elsewhere: Iterable[Kernel]) -> ByName:
    found = dict(by_name)
    for kernel in elsewhere:
        if kernel.name not in found and kernel.layouts == _layouts(structures, kernel):
            found[kernel.name] = [kernel]
    return found


def _with_order(kernel: Kernel, is_associative: bool) -> Kernel:
    if is_associative or not kernel.reassociates or kernel.asserted:
        return replace(kernel, is_associative=is_associative and kernel.reassociates)
    message = Code.ROUNDED_SUM.template.format(name=kernel.name)
    return replace(kernel, impurity=Impurity(Code.ROUNDED_SUM, message, kernel.span))


def _launches(
    own: Iterable[Syntax],
    unit: Unit,
    by_name: ByName,
    entries: Entries,
    early: Container[str],
    told: Told,
) -> tuple[tuple[LaunchSite, ...], list[Diagnostic]]:
    launches: list[LaunchSite] = []
    diagnostics: list[Diagnostic] = []
    known = by_last_name(by_name)
    for file in own:
        first, is_early = len(launches) + 1, file.source.path in early
        named = launched_kernels(file, by_name, told)
        sites, remarks = launch_sites(file, unit, known, first, is_early, named)
        launches += [replace(site, entries=entries.get(site.kernel, ())) for site in sites]
        diagnostics += remarks
    return tuple(launches), diagnostics


def _kernels_of(
    source: Source, by_name: ByName, launches: Iterable[LaunchSite]
) -> tuple[tuple[Kernel, ...], tuple[Kernel, ...]]:
    launched = {site.kernel for site in launches}
    known = [kernel for found in by_name.values() for kernel in found]
    kernels = tuple(k for k in known if k.source is source or k.name in launched)
    listed = {id(kernel) for kernel in kernels}
    return kernels, tuple(k for k in known if id(k) not in listed and k.elsewhere is None)


def _code(source: Source, compiled: Compiled) -> CompiledCode:
    """A unique name for the code of this file: another file may hold the same text."""
    named = f"{os.path.realpath(source.path)}\0{compiled.content}"
    name = sha256(named.encode(errors="surrogateescape")).hexdigest()[:16]
    return CompiledCode(name, compiled.versions)


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


def _speaking(headers: Iterable[Source], everything: bool) -> Iterator[Syntax]:
    """Headers that matter, by path, so that sites have the same ids whoever lists the headers."""
    for header in sorted(headers, key=lambda header: os.path.abspath(header.path)):
        if everything or "<<<" in header.text or _PRAGMA.search(header.text):
            syntax = parse(header)
            if syntax.brackets.unbalanced is None:
                yield syntax


def _unit(own: Sequence[Syntax], expanded: str | None) -> Unit:
    main, *headers = own
    if expanded is not None:
        written = (header.source for header in headers)
        parts = tuple(expanded_parts(expanded, main, written))
        # Only the launches are left in the text before preprocessing.
        return Unit(parts, MacroTable.of(main.macros), is_expanded=True)
    macros = MacroTable.of(macro for one in own for macro in one.macros)
    return Unit(tuple(UnitPart(one, one.source) for one in own), macros, is_expanded=False)


def _seen(unit: Unit) -> Seen:
    return tuple((part.source, part.syntax) for part in unit.parts) if unit.is_expanded else ()
