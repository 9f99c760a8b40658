"""Kernels that share a name. Takes kernels, gives each a name of its own.

`moments::mean` and `strain::mean` are two kernels, and so are overloads. Where not the same is
proven of all, they are called by their qualified names, overloads with the types of their
parameters: `::mean(float *, int)`. A launch of `mean` belongs to that which the compiler says it
calls. Overloads are told apart in compiled code by how many parameters they have, and by types
that their text shows; else by the lines of their text that the compiler names.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from cutune.core.diagnostics import CutuneError
from cutune.proof.analysis.host_calls import HostLaunch, launches_by_place
from cutune.proof.entry_proof import EntryProof
from cutune.source.launches.callees import last_name
from cutune.source.launches.verdicts import are_alike
from cutune.source.program import Kernel
from cutune.source.syntax.directives import renumbers
from cutune.source.syntax.parse import Launch, Syntax
from cutune.source.unit.integers import QUALIFIERS, integer_type
from cutune.source.unit.kernels import Structures, unaliased
from cutune.toolchain.kernel_names import (
    base_name,
    is_among,
    is_instance,
    is_named,
    is_overload,
    is_qualified,
    overload,
    parameter_types,
    plain_name,
    qualified,
    qualified_name,
    scoped_name,
)

#: Letters of built-in types in mangled names.
_BUILT_IN = {
    "a": "signed char",
    "b": "bool",
    "c": "char",
    "d": "double",
    "f": "float",
    "h": "unsigned char",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "s": "short",
    "t": "unsigned short",
    "x": "long long",
    "y": "unsigned long long",
}
AskLaunches = Callable[[], Sequence[HostLaunch]]
"""The launches of a source as the compiler resolves them.

Raises CutuneError where it cannot be asked.
"""


def distinctly_named(
    declared: Sequence[Kernel],
    proven: Mapping[str, Sequence[Kernel]],
    proofs: Mapping[str, Sequence[EntryProof]],
    structures: Structures,
) -> list[Kernel]:
    """The kernels, with qualified names and their entries where that lets more launches be tuned.

    `proven`: what is proven of all kernels of each name together. `proofs`: by the same names.
    """
    own: dict[int, Kernel] = {}
    for name, kernels in proven.items():
        of_scopes = _by_scope(kernel for kernel in declared if kernel.name == name)
        is_tunable = all(kernel.pure_dimensions for kernel in kernels) and are_alike(kernels)
        if is_tunable or None in of_scopes:
            continue
        for scope, same in of_scopes.items():
            path = qualified(scope or (), name)
            entries = {one.name: one for one in proofs.get(name, ()) if is_named(one.name, path)}
            names = [overload(path, [one.type for one in kernel.parameters]) for kernel in same]
            divided = _divided(same, entries.values(), structures)
            if divided is None or len({*names}) < len(same) or len(same) == 1:
                if len(of_scopes) == 1:
                    continue
                names, divided = [path] * len(same), [tuple(entries)] * len(same)
            for kernel, called, its in zip(same, names, divided, strict=True):
                own[id(kernel)] = replace(kernel, name=called, entries=its)
    return [own.get(id(kernel), kernel) for kernel in declared]


def _by_scope(kernels: Iterable[Kernel]) -> Mapping[tuple[str, ...] | None, Sequence[Kernel]]:
    found: defaultdict[tuple[str, ...] | None, list[Kernel]] = defaultdict(list)
    for kernel in kernels:
        found[kernel.scope].append(kernel)
    return found


def _divided(
    kernels: Sequence[Kernel], proofs: Iterable[EntryProof], structures: Structures
) -> list[tuple[str, ...]] | None:
    """The entries of each of some overloads; None where one may belong to two of them."""
    types = [[_named_type(p.type, structures) for p in kernel.parameters] for kernel in kernels]
    found: list[list[str]] = [[] for _ in kernels]
    for proof in proofs:
        fitting = [
            number
            for number, kernel in enumerate(kernels)
            if len(kernel.parameters) == len(proof.parameters)
            and bool(kernel.template_parameters) == is_instance(proof.name)
            and _may_have(types[number], proof.name)
        ]
        if len(fitting) != 1:
            fitting = _on_lines(kernels, fitting, proof)
        if len(fitting) != 1:
            return None
        found[fitting[0]].append(proof.name)
    return list(map(tuple, found))


def _on_lines(kernels: Sequence[Kernel], among: Sequence[int], proof: EntryProof) -> list[int]:
    """Those of some kernels in whose text all lines lie that an entry's code came from."""
    places = {(os.path.realpath(file), line) for file, line in proof.own_places}
    found = []
    for number in among:
        source, span = kernels[number].source, kernels[number].span
        first, last = (source.location(offset).line for offset in (span.start, span.end - 1))
        path, lines = os.path.realpath(source.path), range(first, last + 1)
        are_within = all(file == path and line in lines for file, line in places)
        if places and are_within and not renumbers(source.text):
            found.append(number)
    return found


#: What a type is, and how many pointers lead to it.
_Named = tuple[object, int]


def _may_have(types: Sequence[_Named | None], entry: str) -> bool:
    """May a kernel with parameters of these types be that of an entry?"""
    compiled = parameter_types(entry)
    if compiled is None:
        return True
    pairs = zip(types, compiled, strict=True)
    return all(known is None or known == (_meant(name), n) for known, (name, n) in pairs)


def _named_type(text: str, structures: Structures) -> _Named | None:
    """The type of a parameter; None where the text does not tell."""
    words = text.replace("[]", " *").split()
    own = [word for word in words if word != "*" and word not in QUALIFIERS]
    meant_words = unaliased(own, structures.unit.typedefs)
    stars = words.count("*") + meant_words.count("*")
    names = [word for word in meant_words if word != "*"]
    meant: object = integer_type(names)
    if meant is None and names in (["float"], ["double"]):
        (meant,) = names
    if meant is None and (structure := structures.of(names)) is not None:
        meant = structure.tag or structure.path
    return (meant, stars) if meant is not None else None


def _meant(name: str) -> object:
    """What the letter of a built-in type means, or the name of another type."""
    words = _BUILT_IN.get(name)
    return (integer_type(words.split()) or words) if words is not None else name


def by_last_name(by_name: Mapping[str, Sequence[Kernel]]) -> Mapping[str, Sequence[Kernel]]:
    """Return kernels by their names, and by the last part of a name that several share."""
    found: defaultdict[str, list[Kernel]] = defaultdict(list)
    for name, kernels in by_name.items():
        found[plain_name(name)] += kernels
    return {**found, **by_name}


def launched_kernels(
    syntax: Syntax, by_name: Mapping[str, Sequence[Kernel]], ask_launches: AskLaunches
) -> dict[int, str]:
    """Qualified names of kernels that launches call, by the first byte of the launch.

    Those are left out of which the compiler does not say for certain which one it is.
    """
    shared = {plain_name(name) for name in by_name if is_qualified(name)}
    names = {one.callee[0]: last_name(syntax.part(one.callee)) for one in syntax.launches}
    if shared.isdisjoint(names.values()) or renumbers(syntax.source.text):
        return {}
    try:
        places = launches_by_place(ask_launches())
    except CutuneError:
        return {}
    found, path = {}, os.path.realpath(syntax.source.path)
    for launch in syntax.launches:
        name, start = names[launch.callee[0]], syntax.tokens[launch.callee[0]].start
        line = syntax.source.location(start).line
        entries = {e for one in places[path, line] for e in one.entries}
        called = {_called(entry, by_name) for entry in entries if base_name(entry) == name}
        if len(called) > 1:
            # Another launch of that line calls the other one.
            called = {one for one in called if _may_name(syntax, launch, one)}
        if name in shared and len(called) == 1 and called <= by_name.keys():
            found[start] = called.pop()
    return found


def _called(entry: str, by_name: Mapping[str, Sequence[Kernel]]) -> str:
    """The qualified name of the kernel that has this entry; else what the compiler calls it."""
    called = qualified_name(entry)
    overloads = (name for name in by_name if is_overload(name) and is_named(entry, name))
    its = (name for name in overloads if is_among(entry, by_name[name][0].entries))
    return next(its, called)


def _may_name(syntax: Syntax, launch: Launch, kernel: str) -> bool:
    words = [token.text for token in syntax.part(launch.callee)]
    written = "".join(words[: words.index("<")] if "<" in words else words)
    return f"::{scoped_name(kernel)}".endswith(f"::{written.removeprefix('::')}")
