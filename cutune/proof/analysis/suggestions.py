"""Suggestions for refused launches. Takes a `Program`, gives the changes that would help.

If only the cooperation of the kernel's threads prevents tuning, an annotation may allow it: the
suggestion is the line to insert, and what the user thereby asserts. Otherwise it is what to change.

Blocks are proposed by what the compiled code shows: a dimension whose width it does not read has
one width alone; where the index of a block stands alone, the number of blocks stays; shared arrays
with a place for each thread are at least as long as the block is wide; halving a width needs powers
of two.

A kernel that is right with one block alone may follow a constant: `dim3 block(TILE, TILE)` follows
the shared arrays of the kernel when TILE does. Only what is easy to see is proposed: a name in the
block, or in the definition of a variable there, of which the user's files have one definition, a
number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from cutune.core.codes import Code
from cutune.source.host_formula import constant
from cutune.source.launches.annotations import ASSERTABLE
from cutune.source.program import DIMENSIONS, Kernel, LaunchSite, Program, Verdict
from cutune.source.syntax.parse import Syntax, parse
from cutune.source.tunable_pragmas import declared_constant
from cutune.source.unit.integers import integer_type
from cutune.toolchain.device.thread_block import LARGEST, LARGEST_Z, WARP

#: Storage of a collective of cub, named by its type or by another name of that type.
_STORAGE = re.compile(r"(\w+)\s*(?:<[^;]*>)?\s*::\s*TempStorage\b")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Proposal:
    """A proposed annotation: widths of blocks, as they are written; dimensions whose grid stays."""

    blocks: dict[str, str]
    kept_grids: tuple[str, ...]

    @property
    def clauses(self) -> str:
        """block(…), and grid(…) where it is needed."""
        block = ", ".join(f"{d}: {widths}" for d, widths in self.blocks.items())
        if not self.kept_grids:
            return f"block({block})"
        last = DIMENSIONS.index(self.kept_grids[-1]) + 1
        grid = ", ".join("keep" if d in self.kept_grids else "1" for d in DIMENSIONS[:last])
        return f"block({block}) grid({grid})"


def proposal(kernel: Kernel) -> Proposal | None:
    """The blocks that the code allows; None where it allows one alone."""
    use = kernel.block_use
    if collective(kernel) is not None or use.takes_order:
        return None
    kept_grids = [d for d in DIMENSIONS if d in use.kept_grids]
    # A formula of the grid has no word for a dimension that follows its number of threads.
    chosen = kept_grids or [d for d in DIMENSIONS if d in use.widths]
    limits = {d: _limit(kernel, d) for d in chosen}
    least = dict.fromkeys(chosen, 1)
    if chosen == ["x"] or kernel.warp_level:
        least["x"] = WARP
    for d, singled_out in use.least:
        least[d] = max(least.get(d, 1), -(-singled_out // WARP) * WARP if d == "x" else singled_out)
    blocks = {d: _widths(least[d], limits[d], d in use.halved) for d in chosen}
    if not chosen or prod(limits.values()) < WARP or not all(blocks.values()):
        return None
    return Proposal(blocks, tuple(kept_grids))


def collective(kernel: Kernel) -> str | None:
    """A collective of a whole block, whose width is an argument of its template."""
    for name in _STORAGE.findall(_COMMENT.sub(" ", kernel.source[kernel.span])):
        alias = re.search(
            rf"\busing\s+{name}\s*=([^;]*);|\btypedef\s+([^;]*?)\b{name}\s*;", kernel.source.text
        )
        type_ = (alias[1] or alias[2]) if alias is not None else name
        if not re.search(r"\bWarp[A-Z]", type_):
            return str(name)
    return None


def _widths(least: int, most: int, needs_powers: bool) -> str:
    """`32..1024`, or the powers of two among them; nothing where there is but one."""
    if most <= least:
        return ""
    powers = [1 << exponent for exponent in range(11) if least <= 1 << exponent <= most]
    return ", ".join(map(str, powers)) if needs_powers else f"{least}..{most}"


def _limit(kernel: Kernel, d: str) -> int:
    most = min(LARGEST_Z if d == "z" else LARGEST, kernel.max_threads)
    least = min(most, dict(kernel.block_use.limits).get(d, most))
    # Rows are often one element longer than they need be.
    return least - least % WARP if least > WARP else least


#: Other values are so many times the program's own, or that part of it.
FACTORS = (4, 2, 1)
_OPENERS = ("(", "{")
#: A statement begins behind one of these.
_ENDS = (";", "{", "}")


@dataclass(frozen=True)
class ProposedConstant:
    """A macro or constant: its name, where it is defined, and what may be tried, as written."""

    name: str
    path: str
    line: int
    values: tuple[int, ...]

    @property
    def pragma(self) -> str:
        """The line to insert before its definition."""
        return f"#pragma cutune tune({self.name}: {', '.join(map(str, self.values))})"


def constant_of_block(program: Program, site: LaunchSite, most: int) -> ProposedConstant | None:
    """The only constant in a block, if there is one. `most`: threads that a block may have."""
    if len(site.configuration) < 2 or site.resolved is None:
        return None
    extents = [constant(extent) for extent in site.resolved.block]
    known = [int(extent) for extent in extents if extent is not None]
    files = [parse(source) for source in (program.source, *program.headers)]
    own = next((file for file in files if file.source == site.source), None)
    if own is None or len(known) < len(extents):
        return None
    defined = [
        (name, file, at, value)
        for name in _names(own, site)
        for file in files
        for at, value in _definitions(file, name)
    ]
    if len(defined) != 1:
        return None
    ((name, file, at, value),) = defined
    powers = sum(extent == value for extent in known)
    values = tuple(_values(value, prod(known), powers, min(most, LARGEST)))
    if value < 2 or not powers or len(values) < 2:
        return None
    return ProposedConstant(name, file.source.path, file.source.location(at).line, values)


def _values(value: int, threads: int, powers: int, most: int) -> Iterator[int]:
    smaller = [value // factor for factor in FACTORS if value % factor == 0]
    for other in [*smaller, *(value * factor for factor in reversed(FACTORS[:-1]))]:
        if other == value or WARP <= threads * other**powers // value**powers <= most:
            yield other


def _names(syntax: Syntax, site: LaunchSite) -> list[str]:
    """The names in the block, and in the definitions of those that are variables before it."""
    block, found = site.configuration_spans[1], list[str]()
    left = _words(syntax, block.start, block.end)
    while left:
        if (name := left.pop()) not in found:
            found.append(name)
            left += _names_in_values_of(syntax, name, site.span.start)
    return found


def _words(syntax: Syntax, start: int, end: int) -> list[str]:
    inside = (token.text for token in syntax.tokens if start <= token.start < end)
    return [text for text in inside if text.isidentifier()]


def _names_in_values_of(syntax: Syntax, name: str, before: int) -> list[str]:
    """The names in `NAME(…)`, `NAME{…}` and `NAME = …` of functions before a place."""
    tokens, found = syntax.tokens, list[str]()
    for index, token in enumerate(tokens[:-1]):
        if token.start >= before:
            break
        behind, partner = tokens[index + 1].text, syntax.brackets.partner[index + 1]
        if token.text != name or not (behind == "=" or (behind in _OPENERS and partner > index)):
            continue
        end = partner if behind != "=" else _end(syntax, index + 2)
        found += _words(syntax, tokens[index + 2].start, tokens[end].start)
    return found


def _end(syntax: Syntax, index: int) -> int:
    while index + 1 < len(syntax.tokens) and syntax.tokens[index].text not in (";", ","):
        index = max(index + 1, syntax.brackets.partner[index] + 1)
    return min(index, len(syntax.tokens) - 1)


def _definitions(syntax: Syntax, name: str) -> Iterator[tuple[int, int]]:
    """Place and value of each `#define NAME 16` and `constexpr int NAME = 16;`."""
    for macro in syntax.macros:
        if macro.name == name:
            is_number = macro.parameters is None and len(macro.body) == 1
            yield macro.body_start, _number(macro.body[0].text) if is_number else 0
    texts = [token.text for token in syntax.tokens]
    for index, text in enumerate(texts[:-3]):
        if text == name and texts[index + 1] == "=" and texts[index + 3] == ";":
            ends = (place for place in range(index, 0, -1) if texts[place - 1] in _ENDS)
            if declared_constant(syntax, next(ends, 0)) == (name, index + 2):
                yield syntax.tokens[index].start, _number(texts[index + 2])


def _number(text: str) -> int:
    """A literal without a suffix; 0 where it is something else."""
    return int(text) if text.isdigit() else 0


ORDER = (
    "It uses results of atomic operations as well, which depend on the order of threads: no "
    "annotation settles that."
)
#: Where it is not known how the dynamic shared memory of a launch follows the block.
MEMORY = (
    "How much dynamic shared memory each block needs is not seen at the launch. Where other blocks "
    "are right, `#pragma cutune kernel {name} {clauses} shared(BYTES)` before the kernel says so, "
    "with BYTES as a formula of x, y, z, or `shared(keep)` where all need the same."
)
PERMISSION = (
    "You thereby allow '{name}' to add up its floating-point numbers in any order: the last digits "
    "of its sums may differ. All else is proven."
)
#: Of a kernel whose compiled code reads the width of no block.
ONE_BLOCK = (
    "Its compiled code does not read how wide the block is: the kernel is made for the block of "
    "its launch. With blockDim in place of the constants that stand for that width, an annotation "
    "can say which blocks are right."
)
SHORT_ARRAY = (
    "Its shared array '{name}' has places for at most {most} threads in {d}: no wider block fits."
)
NUMBERED = "It numbers its threads by a constant, for at most {most} in {d}: no wider block fits."
NO_OTHER = "Nothing is known that would make it tunable."
COLLECTIVE = (
    "Its collective '{name}' is made for one number of threads, an argument of the template: it is "
    "right with that block alone, and no annotation helps."
)
CONSTANT = (
    " Its block follows '{name}', though: with `{pragma}` before line {line} of {path}, and "
    "`#pragma cutune region begin` and `end` around the launch, `cutune tune {source} --tunables` "
    "(and `--run`, as always) finds on a GPU which value is the fastest of those that compute the "
    "same. Whether they do, `cutune collect` in its place tries without one; in a project with "
    "`--make` as well (`cutune help parameters`)."
)


@dataclass(frozen=True)
class Suggestion:
    """One change to a source that makes launches tunable, whose lines are `launches`.

    `code`: of the diagnostic that refuses them now. `pragma`: the line to insert, if it is one.
    """

    file: str
    line: int
    kernel: str
    launches: tuple[int, ...]
    code: str
    pragma: str | None
    text: str


def suggestions(program: Program) -> Iterator[Suggestion]:
    """One per kernel that an annotation would help, one per launch that needs another change."""
    refused = [site for site in program.launches if site.verdict is Verdict.REFUSED]
    done: set[str] = set()
    for site in refused:
        kernel = program.kernel(site.kernel)
        is_rounded = site.code is Code.ROUNDED_SUM
        proposed = None if is_rounded else _proposal(site, kernel)
        if kernel is None or not (is_rounded or proposed):
            yield _advice(program, site, kernel)
        elif kernel.name not in done:
            done.add(kernel.name)
            sites = [s for s in refused if s.kernel == kernel.name]
            if proposed is None:
                yield _pragma(kernel, sites, "associative", PERMISSION.format(name=kernel.name))
                continue
            helped = [s for s in sites if _proposal(s, kernel)]
            formulas = {s.shared for s in sites if _asks_for_memory(s)}
            yield _annotation(kernel, proposed, helped, formulas)


def _proposal(site: LaunchSite, kernel: Kernel | None) -> Proposal | None:
    if kernel is None or site.code not in ASSERTABLE:
        return None
    is_unknown = _has_unknown_memory(site) and kernel.block_use.follows_block
    return None if is_unknown else proposal(kernel)


def _has_unknown_memory(site: LaunchSite) -> bool:
    """Is it not known how the memory that it asks for follows the block?"""
    return _asks_for_memory(site) and site.shared is None


def _asks_for_memory(site: LaunchSite) -> bool:
    memory = site.resolved.shared if site.resolved is not None else None
    return memory is not None and constant(memory) != 0


def _annotation(
    kernel: Kernel,
    proposed: Proposal,
    helped: Sequence[LaunchSite],
    formulas: Collection[str | None],
) -> Suggestion:
    types = ((p.name, p.type.replace("::", "$").split()) for p in kernel.parameters)
    sizes = kernel.sizes or tuple(name for name, type_ in types if integer_type(type_) is not None)
    data = f"data({', '.join(sizes)}) " if sizes else ""
    # What was inferred is used without being said, too: where it differs from launch to launch, or
    # is a choice, for which the annotation language has no form.
    formula = next(iter(formulas)) if len(formulas) == 1 else None
    shared = f" shared({formula})" if formula is not None and "?" not in formula else ""
    if any(map(_has_unknown_memory, helped)):
        shared = " shared(keep)"
    clauses = f"{data}{proposed.clauses}{shared}"
    return _pragma(kernel, helped, clauses, _assertion(kernel, proposed))


def _pragma(kernel: Kernel, sites: Sequence[LaunchSite], clauses: str, text: str) -> Suggestion:
    # Pragmas count in the file that holds the launch; a kernel in a header is annotated there.
    source, code = sites[0].source, sites[0].code
    here = kernel.source.path == source.path
    start = kernel.span.start if here else sites[0].span.start
    return Suggestion(
        source.path,
        source.location(start).line,
        kernel.name,
        tuple(site.source.location(site.span.start).line for site in sites),
        code.number if code is not None else "",
        f"#pragma cutune kernel {kernel.name} {clauses}",
        text,
    )


def _assertion(kernel: Kernel, proposed: Proposal) -> str:
    head = f"You thereby assert that '{kernel.name}' gives the same results with every such block"
    where = " and ".join(proposed.blocks)
    if proposed.kept_grids:
        return (
            f"{head} in {where} and as many blocks as the launch has; narrow the ranges to those "
            "for which that is true."
        )
    first = next(iter(proposed.blocks))
    return (
        f"{head} that divides its threads in {where}; narrow the ranges to those for which that is "
        f"true. Where threads from some g on have no effect, say grid(ceil(g / {first})), or "
        "grid(keep) where the number of blocks must stay."
    )


def _obstacle(kernel: Kernel) -> str:
    use = kernel.block_use
    if use.takes_order:
        return ORDER
    if not use.reads:
        return ONE_BLOCK
    limits = [(most, d) for d, most in use.limits if d in use.widths]
    if not limits:
        return NO_OTHER
    most, d = min(limits)
    if not use.shortest:
        return NUMBERED.format(most=most, d=d)
    return SHORT_ARRAY.format(name=use.shortest, most=most, d=d)


def _advice(program: Program, site: LaunchSite, kernel: Kernel | None) -> Suggestion:
    code = site.code
    assert code is not None, "a refused launch has a code"
    line = site.source.location(site.span.start).line
    remedy = code.meaning
    possible = proposal(kernel) if kernel is not None and code in ASSERTABLE else None
    if possible is not None and _has_unknown_memory(site):
        code = Code.DYNAMIC_SHARED_MEMORY
        remedy = MEMORY.format(name=site.kernel, clauses=possible.clauses)
    elif code in ASSERTABLE and kernel is not None:
        name = collective(kernel)
        remedy = _obstacle(kernel) if name is None else COLLECTIVE.format(name=name)
        if found := constant_of_block(program, site, kernel.max_threads):
            known = {"pragma": found.pragma, "source": program.source.path}
            remedy += CONSTANT.format(**known, **vars(found))
    text = f"{site.reason[0].upper()}{site.reason[1:]}. {remedy}"
    return Suggestion(site.source.path, line, site.kernel, (line,), code.number, None, text)
