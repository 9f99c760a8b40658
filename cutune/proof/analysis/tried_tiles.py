"""Copies of refused kernels with other constants. Takes a `Program`, gives those that were tried.

`Try` runs PTX: it is given from outside, because this room has no device to run it on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from cutune.core.codes import Code
from cutune.proof.compiled import Compile, compiled_changes
from cutune.proof.variants.check import against, launching
from cutune.proof.variants.text import left_out
from cutune.proof.variants.tiles import (
    NAME,
    passed_integers,
    passed_pointers,
    tile_candidates,
    untried,
)
from cutune.ptx.parse import parsed
from cutune.ptx.types import UNREADABLE, Module
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import DataParameter, DimensionProof, Impurity, Kernel, Program, Role
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.source.unit.kernel_texts import KernelTexts
from cutune.toolchain.kernel_names import base_name

#: Copies of a kernel that are named in one message.
_MOST_NAMED = 8


@dataclass(frozen=True)
class Tiles:
    """The copies of a kernel that do the same; with those that do not, what each does, in words."""

    same: tuple[KernelVariant, ...] = ()
    others: tuple[tuple[str, str], ...] = ()


Try = Callable[
    [str, Kernel, Sequence[KernelVariant]], tuple[list[KernelVariant], Mapping[str, str]]
]
"""PTX, a kernel, copies → those that do the same, and what keeps others from it, by their names."""
#: The entries of PTX; what differs between texts of the same code; names in it that are counted.
_ENTRY = re.compile(r"^(?:\.visible |\.weak )*\.entry (\w+)\(.*?^\}$", re.MULTILINE | re.DOTALL)
_ONLY_TEXT = re.compile(r"//.*$|^\.target\b.*$", re.MULTILINE)
_LABEL = re.compile(r"\$L__BB\d+_")
Copied = tuple[str, str]
"""The names of a kernel and of a copy."""


def tried_tiles(
    program: Program,
    originals: Sequence[str],
    compile_draft: Compile,
    compile_unit: Compile,
    texts: KernelTexts,
    try_copies: Try,
) -> dict[str, Tiles]:
    """Return the copies of refused kernels that do what these do, by the kernels' names.

    All candidates are compiled for one architecture (`compile_draft`); those that do the same there
    are compiled for every one, and tried again where their code is another one. `originals`: the
    PTX of the program, which tells of which kernels nothing has to be compiled.
    """
    candidates = tile_candidates(program, texts)
    hopeless = {name: said for name, said in _untried(program, [*candidates], originals) if said}
    wanted = {name: copies for name, copies in candidates.items() if name not in hopeless}
    drafts, first = _tried_in(program, wanted, compile_draft, lambda _: try_copies)
    for name, said in hopeless.items():
        first[name] = Tiles(others=tuple((one.name, said) for one in candidates[name]))
    same = {name: tiles.same for name, tiles in first.items() if tiles.same}

    def try_others(kernel: str) -> Try:
        return partial(_unless_known, drafts[kernel, same[kernel][0].name][0], try_copies)

    _, second = _tried_in(program, same, compile_unit, try_others)
    joined = {
        name: replace(tiles, others=(*tiles.others, *first[name].others))
        for name, tiles in second.items()
    }
    return {**first, **joined}


def _untried(
    program: Program, names: Sequence[str], originals: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the names of kernels with what keeps trials from telling anything of each."""
    modules = list[Module]()
    with suppress(*UNREADABLE):
        modules = [parsed(text) for text in (dict.fromkeys(originals) if names else ())]
    for name in names:
        kernel = program.kernel(name)
        assert kernel is not None, "a candidate is a copy of a kernel"
        with suppress(*UNREADABLE):
            yield name, untried(kernel, modules) if modules else ""


def _tried_in(
    program: Program,
    candidates: Mapping[str, Sequence[KernelVariant]],
    compile_unit: Compile,
    trying: Callable[[str], Try],
) -> tuple[Mapping[Copied, Sequence[str]], dict[str, Tiles]]:
    """Compile and try copies; gives their PTX, and what was found. `trying`: of each kernel."""
    written = {(k, one.name): one for k, copies in candidates.items() for one in copies}

    def with_some(some: Mapping[Copied, KernelVariant]) -> TranslationUnit:
        names = dict.fromkeys(kernel for kernel, _ in some)
        of = {
            name: tuple(one for (kernel, _), one in some.items() if kernel == name)
            for name in names
        }
        kernels = (replace(kernel, variants=of.get(kernel.name, ())) for kernel in program.kernels)
        made = {(name, NAME): copies for name, copies in of.items()}
        return launching(replace(program, kernels=tuple(kernels)), made)

    compiled = compiled_changes(written, with_some, compile_unit)
    found: dict[str, Tiles] = {}
    for name, copies in candidates.items():
        kernel = program.kernel(name)
        assert kernel is not None, "a candidate is a copy of a kernel"
        texts_of = {one.name: compiled.get((name, one.name), ()) for one in copies}
        found[name] = _tried(kernel, copies, texts_of, trying(name))
    return compiled, found


def _unless_known(
    draft: str, try_copies: Try, text: str, kernel: Kernel, copies: Sequence[KernelVariant]
) -> tuple[list[KernelVariant], Mapping[str, str]]:
    """Try copies that have done the same in a draft, unless their code is that of the draft."""
    names = frozenset([kernel.name, *(one.kernel for one in copies)])
    if _code_of(text, names) == _code_of(draft, names):
        return [*copies], {}
    return try_copies(text, kernel, copies)


def _code_of(text: str, kernels: Collection[str]) -> tuple[str, dict[str, str]]:
    """Return the code of some kernels by its entries, and what is no code of a kernel."""
    rest, found = _code(text)
    return rest, {name: code for name, code in found.items() if base_name(name) in kernels}


@lru_cache(maxsize=4)
def _code(text: str) -> tuple[str, Mapping[str, str]]:
    """Return what is no code of a kernel, and that of all entries."""
    plain = _ONLY_TEXT.sub("", _LABEL.sub("$L__BB_", text))
    found = {one[1]: one[0] for one in _ENTRY.finditer(plain)}
    return "\n".join(filter(str.strip, _ENTRY.sub("", plain).splitlines())), found


def _tried(
    kernel: Kernel,
    copies: Sequence[KernelVariant],
    texts: Mapping[str, Sequence[str]],
    try_copies: Try,
) -> Tiles:
    """Return the copies of a kernel that do the same. `texts`: of each, for all architectures."""
    others = dict.fromkeys((one.name for one in copies), "it does not compile")
    groups: dict[tuple[str, tuple[str, ...]], list[KernelVariant]] = {}
    known: dict[tuple[str, str, str], str | None] = {}
    for one in copies:
        # Of copies of one text only those whose blocks come in turn differ in what is asked.
        about = one.transform, one.kernel, "" if one.transform == NAME else one.name
        if about not in known:
            modules = [parsed(text) for text in dict.fromkeys(texts[one.name])]
            known[about] = against(kernel, one, modules)
        said = known[about]
        if texts[one.name] and said is not None:
            others[one.name] = said
        elif texts[one.name]:
            # Sizes that are tried follow the blocks of all copies of a group.
            groups.setdefault((one.transform, (*texts[one.name],)), []).append(one)
    tried = [_in_all(each, kernel, some, try_copies) for (_, each), some in groups.items()]
    others |= {variant: said for tiles in tried for variant, said in tiles.others}
    same = [one for tiles in tried for one in tiles.same if one.tile is not None]
    # One launch chooses among all that are kept, by one number of threads.
    kept = tuple(one for one in same if one.tile and one.tile.extents == _extents(same[0]))
    names = dict.fromkeys(one.name for one in kept)
    said = f"its grid follows other values than that of {', '.join(names)}, which it has instead"
    others |= dict.fromkeys((one.name for one in same), said)
    return Tiles(kept, tuple(pair for pair in others.items() if pair[0] not in names))


def _extents(copy: KernelVariant) -> tuple[str, str, str]:
    assert copy.tile is not None, "the copy of a tile"
    return copy.tile.extents


def _in_all(
    architectures: Sequence[str], kernel: Kernel, copies: Sequence[KernelVariant], try_copies: Try
) -> Tiles:
    """Return the copies that do the same in the code of every architecture, at the same sizes."""
    tried = [try_copies(text, kernel, copies) for text in dict.fromkeys(architectures)]
    (first, _), *others = tried
    same = tuple(one for one in first if all(one in other for other, _ in others))
    reasons = {one.name: "it does something else on another architecture" for one in copies}
    for _, said in reversed(tried):
        reasons |= said
    return Tiles(same, tuple(reasons.items()))


def with_tiles(kernel: Kernel, tiles: Tiles | None) -> Kernel:
    """Return the kernel with copies that have other constants; its own block stays."""
    if tiles is None or kernel.pure_dimensions or kernel.reason is None:
        return kernel
    kernel = replace(kernel, variant_reasons=(*kernel.variant_reasons, *_left_out(kernel, tiles)))
    if not tiles.same:
        return kernel
    reason = kernel.reason
    tile = tiles.same[0].tile
    assert tile is not None, "the copy of a tile"
    x, y, z = (
        DimensionProof(block > 1 or extent != "1", reason)
        for block, extent in zip(tile.own_block, tile.extents, strict=True)
    )
    guards = {*tile.names}
    kernel = _with_passed(kernel)
    integers = [p.name for p in kernel.parameters if p.integer is not None]
    integers += [member.name for member in kernel.members]
    sizes = tuple(
        DataParameter(name, Role.GUARD if name in guards else Role.BOUND) for name in integers
    )
    return replace(
        kernel, impurity=None, dimensions=(x, y, z), data_parameters=sizes, variants=tiles.same
    )


def _with_passed(kernel: Kernel) -> Kernel:
    """Return the kernel with all that structures hold of which copies ask."""
    if not kernel.passed:
        return kernel
    members, pointers = passed_integers(kernel), (*passed_pointers(kernel),)
    before = len(kernel.parameters) + len(members)
    first = len(kernel.parameters) + len(kernel.members)
    moved = {first + n: before + pointers.index(one) for n, one in enumerate(kernel.inner_pointers)}
    may_meet = tuple((moved.get(a, a), moved.get(b, b)) for a, b in kernel.may_meet)
    return replace(kernel, members=members, inner_pointers=pointers, may_meet=may_meet)


def _left_out(kernel: Kernel, tiles: Tiles) -> Iterator[tuple[str, Impurity]]:
    """Why it has no copies with other values: one line for all of one reason."""
    by_reason: dict[str, list[str]] = {}
    for name, said in tiles.others:
        by_reason.setdefault(said, []).append(name)
    for said, names in by_reason.items():
        yield left_out(kernel, _named(names), Code.VARIANT_TILE, what=said)


def _named(names: Sequence[str]) -> str:
    """The names of copies; of many, the first and how many there are."""
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_NAMED])}, … ({len(names)} in all)"
