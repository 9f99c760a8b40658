"""Suggestions for refused launches. Takes a `Program`, gives the changes that would help.

If only the cooperation of the kernel's threads prevents tuning, an annotation may allow it: the
suggestion is the line to insert, and what the user thereby asserts. Otherwise it is what to change.

Blocks are proposed where the compiled code is known to leave the width of the block free, or the
number of its warps along y or z (`proof/flat_blocks`): what is not known is not proposed, and the
text says what ties the kernel to the block of its launch.

A kernel that is right with one block alone may follow a constant: `dim3 block(TILE, TILE)` follows
the shared arrays of the kernel when TILE does. Only what is easy to see is proposed: a name in the
block, or in the definition of a variable there, of which the user's files have one definition, a
number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from cutune.core.codes import Code
from cutune.core.reaching import reached
from cutune.source.candidates import FlatUse
from cutune.source.host_formula import constant
from cutune.source.launches.annotations import ASSERTABLE
from cutune.source.program import DIMENSIONS, Kernel, LaunchSite, Program, Verdict
from cutune.source.syntax.parse import Syntax, parse
from cutune.source.tunable_pragmas import declared_constant
from cutune.source.unit.integers import integer_type
from cutune.toolchain.device.thread_block import LARGEST, WARP

#: Storage of a collective of cub, named by its type or by another name of that type.
_STORAGE = re.compile(r"(\w+)\s*(?:<[^;]*>)?\s*::\s*TempStorage\b")
#: What an annotation may settle. Races, and results of each block, have remedies of their own.
_PROPOSED = ASSERTABLE - {Code.RACE, Code.BLOCK_RESULT}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def _blocks(kernel: Kernel, sites: Sequence[LaunchSite]) -> str:
    """`block(x: …)`, perhaps `grid(keep)`: of blocks whose other dimensions stay.

    These have one thread, or where it is y or z that changes, a warp. With the sizes that the code
    is known to allow at these launches; empty where it is one alone.
    """
    if collective(kernel) is not None or kernel.block_use.order[1]:
        return ""
    return next(filter(None, (_blocks_along(d, kernel, sites) for d in DIMENSIONS)), "")


def _blocks_along(d: str, kernel: Kernel, sites: Sequence[LaunchSite]) -> str:
    flat = _use_along(d, kernel)
    least, most = flat.least, min(LARGEST, kernel.max_threads, flat.most)
    if flat.obstacle or not all(flat.lanes <= {_threads_in_x(site)} for site in sites):
        return ""
    splits = [split for split in flat.splits if split > WARP]
    for width in (_flat_width(site, d) for site in sites):
        if width is None or (splits and not width):
            return ""
        # What other widths do is known to be meant on the side of the program's own block alone.
        least = max([least, *(split for split in splits if split <= width)])
        most = min([most, *(split - 1 for split in splits if split > width)])
    if d != "x":
        warps = _widths(-(-least // WARP), most // WARP, needs_powers=True)
        grid = ", ".join(["keep"] * (DIMENSIONS.index(d) + 1))
        return f"block({d}: {warps}) grid({grid})" if warps else ""
    widths = _widths(-(-least // WARP) * WARP, most - most % WARP, flat.needs_powers)
    return f"block(x: {widths})" + " grid(keep)" * flat.keeps_grid if widths else ""


def _threads_in_x(site: LaunchSite) -> int:
    return int(constant(site.resolved.block[0]) or 0) if site.resolved is not None else 0


def _use_along(d: str, kernel: Kernel) -> FlatUse:
    use = kernel.block_use
    return {"x": use.flat, "y": use.flat_y, "z": use.flat_z}[d]


def _flat_width(site: LaunchSite, d: str = "x") -> int | None:
    """The threads of a block that may have another size in d; 0: not known.

    None where its other dimensions have, or may have, more than one thread, or than a warp if d is
    y (32 x y threads) or z (x * y = 32).
    """
    if site.resolved is None:
        return None
    own, *others = extents = [*map(constant, site.resolved.block)]
    if d == "x":
        return int(own or 0) if all(other == 1 for other in others) else None
    own, inner = extents.pop(DIMENSIONS.index(d)), prod(int(one or 0) for one in extents)
    is_a_warp = inner == WARP and (d == "z" or extents[0] == WARP)
    return int(own or 0) * WARP if is_a_warp and own != 1 else None


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


#: Other values are so many times the program's own, or that part of it.
FACTORS = (4, 2, 1)
_OPENERS = ("(", "{")


def _constant(program: Program, site: LaunchSite, kernel: Kernel) -> str:
    """What may be tried of the one constant in the block of a launch; empty where there is none.

    Empty as well where there is more than one, and where the kernel is seen to need its own value:
    it has results per block, or numbers of threads that need not follow the constant.
    """
    use = kernel.block_use
    if len(site.configuration) < 2 or site.resolved is None:
        return ""
    if use.singles_out or use.flat.is_of_block:
        return ""
    extents = [constant(extent) for extent in site.resolved.block]
    known = [int(extent) for extent in extents if extent is not None]
    files = [parse(source) for source in (program.source, *program.headers)]
    own = next((file for file in files if file.source == site.source), None)
    if own is None or len(known) < len(extents):
        return ""
    # File, place and value of each `#define NAME 16` and `constexpr int NAME = 16;`.
    defined = [
        (name, file, at, value)
        for name in _names(own, site)
        for file in files
        for at, value in _definitions(file, name)
    ]
    if len(defined) != 1:
        return ""
    ((name, file, at, value),) = defined
    powers = sum(extent == value for extent in known)
    values = [*_values(value, prod(known), powers, min(kernel.max_threads, LARGEST))]
    if value < 2 or not powers or len(values) < 2:
        return ""
    pragma = f"#pragma cutune tune({name}: {', '.join(map(str, values))})"
    path, line = file.source.path, file.source.location(at).line
    source = program.source.path
    return CONSTANT.format(name=name, pragma=pragma, line=line, path=path, source=source)


def _values(value: int, threads: int, powers: int, most: int) -> Iterator[int]:
    smaller = [value // factor for factor in FACTORS if value % factor == 0]
    for other in [*smaller, *(value * factor for factor in reversed(FACTORS[:-1]))]:
        if other == value or WARP <= threads * other**powers // value**powers <= most:
            yield other


def _names(syntax: Syntax, site: LaunchSite) -> list[str]:
    """The names in the block, and in the definitions of those that are variables before it."""
    words = _words(syntax, *site.configuration_spans[1])
    return [*reached(words, lambda name: _said_of(syntax, name, site.span.start))]


def _words(syntax: Syntax, start: int, end: int) -> list[str]:
    inside = (token.text for token in syntax.tokens if start <= token.start < end)
    return [text for text in inside if text.isidentifier()]


def _said_of(syntax: Syntax, name: str, before: int) -> list[str]:
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
    """The `;` or `,` behind a value."""
    while index + 1 < len(syntax.tokens) and syntax.tokens[index].text not in (";", ","):
        index = max(index + 1, syntax.brackets.partner[index] + 1)
    return min(index, len(syntax.tokens) - 1)


def _definitions(syntax: Syntax, name: str) -> Iterator[tuple[int, int]]:
    for macro in syntax.macros:
        if macro.name == name:
            is_number = macro.parameters is None and len(macro.body) == 1
            yield macro.body_start, _number(macro.body[0].text) if is_number else 0
    texts = [token.text for token in syntax.tokens]
    for index, text in enumerate(texts[:-3]):
        if text == name and texts[index + 1] == "=" and texts[index + 3] == ";":
            start = index
            while start and texts[start - 1] not in (";", "{", "}"):
                start -= 1
            if declared_constant(syntax, start) == (name, index + 2):
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
#: Of an assertion about a kernel that may add up rounded numbers across threads.
OTHER_ORDER = (
    " Where its threads add up floating-point numbers together, these sums get another order: "
    "their last digits may differ."
)
#: Of an annotation that was proposed by the code alone.
NOT_TRIED = (
    "It was not tried: with `--run './{program} {n}' --vary n=4096` beside `--suggest` it is, on "
    "the emulated device."
)
#: Of a kernel whose compiled code reads the width of no block.
ONE_BLOCK = (
    "Its compiled code does not read how wide the block is: the kernel is made for the block of "
    "its launch, and no annotation helps while it has constants in place of blockDim."
)
TIED = "No other block is known to be right: {obstacle}."
SEVERAL = "its block has, or may have, threads in y or z, other than as warps along one of them"
NARROW = "its arrays and its conditions leave no other width"
#: Of a launch that could be one of a copy of its kernel, if the name meant nothing else.
NAMESAKE = (
    "A copy of it is right with other blocks, but cannot be launched here, since '{name}' may mean "
    "another function as well: where the kernel has a name of its own, it may be tuned."
)
COLLECTIVE = (
    "Its collective '{name}' is made for one number of threads, an argument of the template: it is "
    "right with that block alone, and no annotation helps."
)
CONSTANT = (
    " Its block follows '{name}', though: with `{pragma}` before line {line} of {path}, and "
    "`#pragma cutune region begin` and `end` around the launch, `cutune tune {source} --tunables` "
    "(and `--run`, as always) finds on a GPU which value is the fastest of those that compute the "
    "same. Whether they do, `cutune collect {source} --tunables` tries without one; in a project "
    "with `--make` as well (`cutune help parameters`)."
)


@dataclass(frozen=True)
class Suggestion:
    """One change to a source that makes launches tunable.

    Attributes:
        file, line: where it is made.
        kernel, launches: the kernel, and the lines of its launches that become tunable.
        code: number of the diagnostic that refuses them now.
        pragma: the annotation to insert before that line, or None.
        text: the change in words.
        tried: with which blocks and at which sizes the annotation was tried, or that it was not.
    """

    file: str
    line: int
    kernel: str
    launches: tuple[int, ...]
    code: str
    pragma: str | None
    text: str
    tried: str | None = None

    @property
    def helps(self) -> bool:
        """Is there a line to write, beyond what the message of the launch says?"""
        return self.pragma is not None or "#pragma" in self.text


def suggestions(program: Program) -> Iterator[Suggestion]:
    """One per kernel that an annotation would help, one per launch that needs another change."""
    refused = [site for site in program.launches if site.verdict is Verdict.REFUSED]
    done: set[str] = set()
    for site in refused:
        kernel = program.kernel(site.kernel)
        if kernel is not None and site.code is Code.ROUNDED_SUM:
            if kernel.name not in done:
                done.add(kernel.name)
                helped = [s for s in refused if s.kernel == kernel.name]
                text = PERMISSION.format(name=kernel.name)
                yield _annotation(kernel, helped, site.code, "associative", text)
            continue
        sites = [s for s in refused if s.kernel == site.kernel and s.code in _PROPOSED]
        blocks = _blocks(kernel, sites) if kernel is not None else ""
        if kernel is None or not (blocks and _is_helped(site, kernel)):
            yield _advice(program, site, kernel)
        elif kernel.name not in done:
            done.add(kernel.name)
            helped = [s for s in sites if _is_helped(s, kernel)]
            clauses = _clauses(kernel, blocks, sites, helped)
            text = _assertion(kernel, keeps_grid="grid(keep" in blocks)
            yield _annotation(kernel, helped, helped[0].code, clauses, text)


def _is_helped(site: LaunchSite, kernel: Kernel) -> bool:
    """May an annotation help this launch?"""
    is_known = not (_has_unknown_memory(site) and kernel.block_use.follows_block)
    return site.code in _PROPOSED and is_known


def _has_unknown_memory(site: LaunchSite) -> bool:
    return _asks_for_memory(site) and site.shared is None


def _asks_for_memory(site: LaunchSite) -> bool:
    memory = site.resolved.shared if site.resolved is not None else None
    return memory is not None and constant(memory) != 0


def _annotation(
    kernel: Kernel, sites: Sequence[LaunchSite], code: Code | None, clauses: str, text: str
) -> Suggestion:
    # Pragmas count in the file that holds the launch; a kernel in a header is annotated there.
    source = sites[0].source
    start = kernel.span.start if kernel.source.path == source.path else sites[0].span.start
    return Suggestion(
        source.path,
        source.location(start).line,
        kernel.name,
        tuple(site.source.location(site.span.start).line for site in sites),
        code.number if code is not None else "",
        f"#pragma cutune kernel {kernel.name} {clauses}",
        text,
        NOT_TRIED,
    )


def _clauses(
    kernel: Kernel, blocks: str, sites: Iterable[LaunchSite], helped: Iterable[LaunchSite]
) -> str:
    integers = (
        p.name for p in kernel.parameters if integer_type(p.type.replace("::", "$").split())
    )
    sizes = kernel.sizes or tuple(integers)
    data = f"data({', '.join(sizes)}) " if sizes else ""
    formulas = {site.shared for site in sites if _asks_for_memory(site)}
    # What was inferred is used without being said, too: where it differs from launch to launch, or
    # is a choice, for which the annotation language has no form.
    formula = next(iter(formulas)) if len(formulas) == 1 else None
    shared = f" shared({formula})" if formula is not None and "?" not in formula else ""
    if any(map(_has_unknown_memory, helped)):
        shared = " shared(keep)"
    return f"{data}{blocks}{shared}"


def _assertion(kernel: Kernel, keeps_grid: bool) -> str:
    head = f"You thereby assert that '{kernel.name}' gives the same results with every such block"
    order = OTHER_ORDER if kernel.block_use.adds_rounded else ""
    if keeps_grid:
        return f"{head} and as many blocks as the launch has.{order}"
    return (
        f"{head} that divides its threads.{order} Where threads from some g on have no effect, say "
        "grid(ceil(g / x)), or grid(keep) where the number of blocks must stay."
    )


def _obstacle(kernel: Kernel, site: LaunchSite) -> str:
    use = kernel.block_use
    if use.order[1]:
        return ORDER
    if not use.reads:
        return ONE_BLOCK
    along = next((d for d in DIMENSIONS if _flat_width(site, d) is not None), "")
    obstacle = _use_along(along, kernel).obstacle or NARROW if along else SEVERAL
    return TIED.format(obstacle=obstacle)


def _advice(program: Program, site: LaunchSite, kernel: Kernel | None) -> Suggestion:
    code = site.code
    assert code is not None, "a refused launch has a code"
    line = site.source.location(site.span.start).line
    remedy = code.meaning
    if code in _PROPOSED and kernel is not None:
        blocks = _blocks(kernel, [site])
        if kernel.copy is not None and site.called is None:
            remedy = NAMESAKE.format(name=site.kernel)
        elif blocks and _has_unknown_memory(site):
            code = Code.DYNAMIC_SHARED_MEMORY
            remedy = MEMORY.format(name=site.kernel, clauses=blocks)
        else:
            name = collective(kernel)
            remedy = _obstacle(kernel, site) if name is None else COLLECTIVE.format(name=name)
            remedy += _constant(program, site, kernel)
    text = f"{site.reason[0].upper()}{site.reason[1:]}. {remedy}"
    return Suggestion(site.source.path, line, site.kernel, (line,), code.number, None, text)
