"""Finds copied declarations in a source. Takes what depends on parameters, gives `Copies`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from cutune.core.source import Source, Span
from cutune.frontend.tunable import TunableConstant
from cutune.rewrite.copied import Copies, Outer
from cutune.tunables.clones.allowed import parameters_of
from cutune.tunables.clones.declarations import Declaration, NotSplit, written
from cutune.tunables.clones.depending import Dependent, NotBySize


def copies_of(
    source: Source,
    found: Dependent,
    constants: Sequence[TunableConstant],
    sizes: Sequence[str],
    sets: Sequence[Mapping[str, str]],
) -> Copies:
    """Return the places of what depends on some parameters, for value sets of them.

    Raises:
        NotBySize: the text of a declaration is not found in the source as it is written there.
    """
    try:
        declared = written(source.text, source.path)
    except NotSplit:
        raise NotBySize(
            "branches of an #if share brackets", "write whole functions in each"
        ) from None
    copied = [_of(declared, found.of(index)) for index in found.declarations]
    outer = _of(declared, found.of(found.outer))
    texts = outer.texts[: outer.body]
    if any(token.kind == "DIRECTIVE" for token in outer.tokens[: outer.body]) or texts[-1] != ")":
        raise NotBySize(f"the head of '{outer.name}' has an #if", "write it without")
    arguments = tuple(one.name for one in parameters_of(found.of(found.outer)))
    named = texts.index(outer.name)
    places = Outer(
        outer.name,
        outer.tokens[named].span,
        Span(outer.tokens[0].start, outer.tokens[outer.body - 1].end),
        outer.tokens[outer.body].end,
        arguments,
        tuple(sizes),
    )
    values = {one.name: one.value for one in constants if not one.is_macro}
    prefixes = {f"cutune_{tag(source, sets)}_{n}_": one for n, one in enumerate(sets, 1)}
    names = tuple(sorted(found.names))
    return Copies(source, tuple(map(_span, copied)), names, places, values, prefixes)


def tag(source: Source, sets: Sequence[Mapping[str, str]]) -> str:
    """Return a part of names that no other source, and no other value sets, have."""
    key = repr([source.path, source.text, [sorted(one.items()) for one in sets]])
    return sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _of(declared: Sequence[Declaration], wanted: Declaration) -> Declaration:
    """Return the declaration of a name, as it is written."""
    same = [one for one in declared if one.kind is wanted.kind and wanted.name in one.names]
    if len(same) != 1:
        reason = f"'{wanted.name}' is made by a macro, or written twice"
        raise NotBySize(reason, "write it once, and out")
    return same[0]


def _span(declaration: Declaration) -> Span:
    return Span(declaration.tokens[0].start, declaration.tokens[-1].end)
