"""Suggestions for refused launches. Takes a `Program`, gives the changes that would help.

If only the cooperation of the kernel's threads prevents tuning, an annotation may allow it: the
suggestion is the line to insert, and what the user thereby asserts. Otherwise it is what to change.

Blocks are proposed where the compiled code is known to leave the width of the block free, or the
number of its warps along y or z (`proof/flat_blocks`): what is not known is not proposed, and the
text says what ties the kernel to the block of its launch.

A name that the block follows may be tuned as a parameter of the program. A kernel that is right
with one block alone may follow a constant: `dim3 block(TILE, TILE)` follows the shared arrays of
the kernel when TILE does. Only what is easy to see is proposed: a name in the block, or in the
definition of a variable there, of which the user's files have one definition, a number. Or the host
computes how many threads a dimension has, so that the kernel is meant for several blocks; and grid,
shared memory and other dimensions follow that integer:

    int rows = threads / 32;
    norm<<<(n + rows - 1) / rows, dim3(32, rows), (2 + rows) * c * sizeof(float)>>>(x, n, c);

It is proposed where what it is computed from reaches the launch in no other way.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from cutune.core.codes import Code
from cutune.core.reaching import reached
from cutune.core.source import Source
from cutune.source.candidates import FlatUse
from cutune.source.configuration.resolve import OF_FILE
from cutune.source.host_formula import (
    ONE,
    Formula,
    Name,
    Opaque,
    children,
    constant,
    names_of,
    parts,
)
from cutune.source.launches.annotations import ASSERTABLE
from cutune.source.program import DIMENSIONS, Kernel, LaunchSite, Program, Verdict
from cutune.source.syntax.parse import Syntax, parse
from cutune.source.syntax.tokens import begin_of
from cutune.source.tunable_pragmas import CHANGES, declared_constant, tunables_of
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
    flat = _use_along(d, kernel, sites)
    least, most = flat.least, min(LARGEST, kernel.max_threads, flat.most)
    if flat.obstacle or not all(flat.lanes <= {_threads_in_x(site)} for site in sites):
        return ""
    splits = [split for split in flat.splits if split > WARP]
    for width in (_flat_width(site, kernel, d) for site in sites):
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


def _use_along(d: str, kernel: Kernel, sites: Iterable[LaunchSite]) -> FlatUse:
    use = kernel.block_use
    along_y = use.layers if any(map(_has_layers, sites)) else use.flat_y
    return {"x": use.flat, "y": along_y, "z": use.flat_z}[d]


def _flat_width(site: LaunchSite, kernel: Kernel, d: str) -> int | None:
    """The threads of a block that may have another size in d; 0: not known.

    None where its other dimensions have, or may have, more than one thread, or than a warp if d is
    y (32 x y threads, perhaps in several layers) or z (x * y = 32).
    """
    if site.resolved is None:
        return None
    own, *others = extents = [*map(constant, site.resolved.block)]
    if d == "x":
        return int(own or 0) if all(other == 1 for other in others) else None
    if d == "y" and _has_layers(site) and not kernel.block_use.layers.obstacle:
        extents[2] = ONE.value
    own, inner = extents.pop(DIMENSIONS.index(d)), prod(int(one or 0) for one in extents)
    is_a_warp = inner == WARP and (d == "z" or extents[0] == WARP)
    return int(own or 0) * WARP if is_a_warp and own != 1 else None


def _has_layers(site: LaunchSite) -> bool:
    return site.resolved is not None and constant(site.resolved.block[2]) != 1


def _keeps_memory(site: LaunchSite, kernel: Kernel) -> bool:
    """Does the host compute how much memory a block needs by anything but its threads in y?

    Where blocks have layers, that is known of the kernel.
    """
    resolved = site.resolved
    if resolved is None or resolved.shared is None or kernel.block_use.layers.obstacle:
        return False
    _, y, z = resolved.block
    stops = {*site.arguments, *(one.text for one in (z,) if isinstance(one, Name))}
    of_y, of_memory = ([*_beside(one, stops)] for one in (y, resolved.shared))
    names = [{one.text for one in each if isinstance(one, Name)} for each in (of_y, of_memory)]
    is_known = not any(map(_is_unknown, (*of_y, *of_memory)))
    return is_known and _has_layers(site) and bool(names[0]) and names[0].isdisjoint(names[1])


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
    "its launch, and no annotation helps while it has constants or arguments in place of blockDim."
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
    follows = kernel.block_use.follows_block and not _keeps_memory(site, kernel)
    is_known = not (_has_unknown_memory(site) and follows)
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
    along = next((d for d in DIMENSIONS if _flat_width(site, kernel, d) is not None), "")
    obstacle = _use_along(along, kernel, [site]).obstacle or NARROW if along else SEVERAL
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
            remedy += _followed_name(program, site, kernel)
    text = f"{site.reason[0].upper()}{site.reason[1:]}. {remedy}"
    return Suggestion(site.source.path, line, site.kernel, (line,), code.number, None, text)


# ---- names that a block follows

FOLLOWED = (
    " Its block follows '{name}', though: with `{pragma}` before {place}, and "
    "`#pragma cutune region begin` and `end` around the launch, `cutune tune {source} --tunables` "
    "(and `--run`, as always) finds on a GPU which value is the fastest of those that compute the "
    "same. Whether they do, `cutune collect {source} --tunables` tries without one; in a project "
    "with `--make` as well (`cutune help parameters`)."
)
#: Other values are so many times the program's own, or that part of it.
FACTORS = (4, 2, 1)
_OPENERS = ("(", "{")


def _followed_name(program: Program, site: LaunchSite, kernel: Kernel) -> str:
    """What may be tried of the one name that a block follows; empty where there is none.

    Empty as well where there is more than one, and where the kernel is seen to need its own value:
    it has results per block, or numbers of threads that need not follow it.
    """
    use = kernel.block_use
    if len(site.configuration) < 2 or site.resolved is None:
        return ""
    if use.singles_out or use.flat.is_of_block:
        return ""
    files = [parse(source) for source in (program.source, *program.headers)]
    own = next((file for file in files if file.source == site.source), None)
    if own is None:
        return ""
    found = _constant(files, own, site, kernel) or _integer(own, site, kernel)
    return FOLLOWED.format(**found, source=program.source.path) if found is not None else ""


def _constant(
    files: Sequence[Syntax], own: Syntax, site: LaunchSite, kernel: Kernel
) -> dict[str, str] | None:
    """The constant that all extents follow."""
    assert site.resolved is not None, "its block is known"
    extents = [constant(extent) for extent in site.resolved.block]
    known = [int(extent) for extent in extents if extent is not None]
    if len(known) < len(extents):
        return None
    # File, place and value of each `#define NAME 16` and `constexpr int NAME = 16;`.
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
    values = [*_values(value, prod(known), powers, min(kernel.max_threads, LARGEST))]
    if value < 2 or not powers or len(values) < 2:
        return None
    return _said(name, values, file, file.source.location(at).line)


def _said(
    name: str, values: Iterable[int], file: Syntax, line: int, data: str = ""
) -> dict[str, str]:
    pragma = f"#pragma cutune tune({name}: {', '.join(map(str, values))}){data}"
    return {"name": name, "pragma": pragma, "place": f"line {line} of {file.source.path}"}


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


def _said_of(syntax: Syntax, name: str, before: int, after: int = 0) -> list[str]:
    """The names in `NAME(…)`, `NAME{…}` and `NAME = …` of functions, between two places."""
    tokens, found = syntax.tokens, list[str]()
    for index, token in enumerate(tokens[:-1]):
        if token.start >= before:
            break
        behind, partner = tokens[index + 1].text, syntax.brackets.partner[index + 1]
        if (
            token.start < after
            or token.text != name
            or not (behind == "=" or (behind in _OPENERS and partner > index))
        ):
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


# ---- integers of the host


def _integer(own: Syntax, site: LaunchSite, kernel: Kernel) -> dict[str, str] | None:
    """The integer of the host that one extent of the block is, where all else follows it."""
    resolved = site.resolved
    assert resolved is not None, "its block is known"
    unknown = [axis for axis, one in enumerate(resolved.block) if constant(one) is None]
    if len(unknown) != 1 or site.macro_line is not None or kernel.block_use.order[1]:
        return None
    (axis,) = unknown
    name = resolved.block[axis]
    if not isinstance(name, Name) or name.value is None:
        return None
    others = prod(int(constant(one) or 0) for at, one in enumerate(resolved.block) if at != axis)
    numbers = [*_numbers_of_threads(others, min(kernel.max_threads, LARGEST))]
    declared = _declared(own, site, name.text)
    if DIMENSIONS[axis] not in kernel.block_use.reads or declared is None or len(numbers) < 2:
        return None
    formulas = [*resolved.grid, *([resolved.shared] if resolved.shared is not None else [])]
    rest = [part for one in formulas for part in _beside(one, {name.text})]
    made_of = {one.text for one in names_of(name.value) if not (one.key or "").startswith(OF_FILE)}
    words = {one.text for one in rest if isinstance(one, Name)}
    words |= _behind(own, site, name.text)
    is_known = not any(map(_is_unknown, (*parts(name.value), *rest)))
    sizes = _sizes(own, declared, site, kernel)
    if not (is_known and sizes and made_of.isdisjoint(words)):
        return None
    line = own.source.location(own.tokens[declared].start).line
    found = _said(name.text, numbers, own, line, f" data({', '.join(sizes)})")
    return found if _is_read(own, line, found["pragma"], name.text) else None


def _numbers_of_threads(others: int, most: int) -> Iterator[int]:
    """Powers of two: of a dimension, where the others have so many threads together."""
    for exponent in range(most.bit_length()):
        if WARP <= others << exponent <= most:
            yield 1 << exponent


def _declared(own: Syntax, site: LaunchSite, name: str) -> int | None:
    """The token of an integer that its function declares, and gives one value, in a line."""
    first, last = _function(own, site)
    places = [k for k in range(first, last) if own.tokens[k].text == name]
    is_set = [k for k in places if own.tokens[k + 1].text in CHANGES]
    is_set += [k for k in places if own.tokens[k - 1].text in {"++", "--", "&"}]
    if len(is_set) != 1 or own.tokens[is_set[0] + 1].text != "=":
        return None
    (declared,) = is_set
    start = begin_of(own.tokens, declared)
    text, begin = own.source.text, own.tokens[start].start
    is_own_line = not text[text.rfind("\n", 0, begin) + 1 : begin].strip()
    is_declared = start < declared < min(k for k in [*places, last] if k != declared)
    return declared if is_own_line and is_declared else None


def _function(own: Syntax, site: LaunchSite) -> tuple[int, int]:
    """The tokens of the function around a launch, from its parameters to the launch."""
    last = next(k for k, token in enumerate(own.tokens) if token.start >= site.span.start)
    around = own.functions_around(last)
    return (around[-1].parameters[0], last) if around else (last, last)


def _is_unknown(formula: Formula) -> bool:
    """Is it text that may stand for anything; the size of a type is a number."""
    return isinstance(formula, Opaque) and not formula.text.startswith("sizeof")


def _beside(formula: Formula, stops: Container[str]) -> Iterator[Formula]:
    """All that a formula is made of, but these names and what they are made of."""
    if isinstance(formula, Name) and formula.text in stops:
        return
    yield formula
    value = formula.value if isinstance(formula, Name) else None
    for part in (*children(formula), *([value] if value is not None else [])):
        yield from _beside(part, stops)


def _behind(own: Syntax, site: LaunchSite, name: str) -> set[str]:
    """The names in the arguments of a launch, and in what its function has made them of."""
    first, last = _function(own, site)
    start = own.tokens[first].start
    end = site.configuration_spans[-1].end
    words = _words(own, end, site.span.end)

    def said(word: str) -> list[str]:
        return _said_of(own, word, own.tokens[last].start, start) if word != name else []

    return {*reached(words, said)}


def _sizes(own: Syntax, declared: int, site: LaunchSite, kernel: Kernel) -> list[str]:
    """The integers of the launch that are known where a value is chosen."""
    first, _ = _function(own, site)
    before = {token.text for token in own.tokens[first:declared]}
    pairs = zip(kernel.parameters, site.arguments, strict=False)
    integers = [text for one, text in pairs if integer_type(one.type.replace("::", "$").split())]
    return [*dict.fromkeys(text for text in integers if text in before)]


def _is_read(own: Syntax, line: int, pragma: str, name: str) -> bool:
    """Does a pragma before a line declare a parameter as it stands there?"""
    lines = own.source.text.split("\n")
    text = "\n".join([*lines[: line - 1], pragma, *lines[line - 1 :]])
    read = tunables_of([parse(Source(own.source.path, text))])
    return [one.parameter.name for one in read.tunables][-1:] == [name] and not read.diagnostics
