"""The variants `TILE_8`, `TILE_32`, …: copies with another value of a constant of the block.

    #pragma push_macro("TILE")
    #undef TILE
    #define TILE 32
    __global__ void product__TILE_32(const float *a, const float *b, float *c, int n) { … }
    #pragma pop_macro("TILE")

Takes refused kernels and their launches, gives candidates: a macro, a `const` or `constexpr`
number, or an argument of the template occurs in the block of the launch, and with another value the
formulas of its configuration tell another block and grid. Whether the copy does the same is asked
on the emulated device (`cutune.measure.tile_trials`), whatever else in the program has the
constant: in the tuned program the host, and all other kernels, keep its value. At run time a copy
is launched only where the program asks for the grid that the formula tells of its own block.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, product
from math import log2, prod

from cutune.core.source import Edit, Span
from cutune.proof.variants.repeat import repeated
from cutune.proof.variants.text import Changes, Illegal, KernelText, span_of
from cutune.source.host_formula import (
    Call,
    Cast,
    Formula,
    HostOperation,
    Name,
    Number,
    constant,
    plain,
)
from cutune.source.kernel_variant import BLOCK_OF, KernelVariant, Tile
from cutune.source.program import (
    Kernel,
    LaunchSite,
    Program,
    Verdict,
)
from cutune.source.unit.kernel_texts import KernelTexts
from cutune.source.unit.unit import template_parameters
from cutune.toolchain.device.thread_block import (
    LARGEST,
    LARGEST_SHARED,
    LARGEST_Z,
    WARP,
    Block,
)
from cutune.toolchain.kernel_names import demangled

NAME = "tile"
#: Other values of a constant are so many times the program's own, by how many constants there are.
_NEAR = (Fraction(1, 2), Fraction(2))
_FACTORS = {
    1: (Fraction(1, 8), Fraction(1, 4), *_NEAR, Fraction(4)),
    2: (Fraction(1, 4), *_NEAR, Fraction(4)),
    3: (Fraction(1, 4), *_NEAR),
}
#: Combinations that are looked at, and copies of one kernel, at most.
MOST_DRAWN, MOST_COPIES = 2048, 12
_CEILINGS = frozenset({"ceil", "ceilf", "std::ceil", "std::ceilf"})
#: Macros, and constants outside of functions, by the keys of their names.
_MACRO = "macro "
#: Begins the names of numbers that are written: no name of C++ begins so.
_NUMBER = "number "
_FREE = "free "
_OF_FILE = (_MACRO, "constant ", _FREE)
#: Constants outside of functions, which begin a line.
_CONSTANT = re.compile(
    r"^(?:(?:static|inline)\s+)*const(?:expr)?\s+[\w ]*?\b(\w+)\s*=\s*([^;{}]+);", re.MULTILINE
)


def tile_candidates(program: Program, texts: KernelTexts) -> dict[str, tuple[KernelVariant, ...]]:
    """Return the copies to try of each refused kernel that has a constant for its block.

    Copies of one name are of one text, and differ in what their launches may be.
    """
    found: dict[str, tuple[KernelVariant, ...]] = {}
    for kernel in program.kernels:
        sites = [site for site in program.launches if site.kernel == kernel.name]
        namesakes = sum(other.name == kernel.name for other in program.kernels)
        if namesakes == 1 and _may_have_tiles(kernel, sites):
            with suppress(Illegal):
                text = KernelText(kernel, texts)
                found[kernel.name] = (*_all_copies(text, sites), *_in_turn(text, sites))
    return {name: copies for name, copies in found.items() if copies}


def _may_have_tiles(kernel: Kernel, sites: Sequence[LaunchSite]) -> bool:
    is_refused = kernel.reason is not None and not kernel.pure_dimensions
    is_plain = kernel.copy is None and kernel.elsewhere is None and not kernel.asserted
    return is_refused and is_plain and bool(sites) and all(map(_is_open, sites))


def _is_open(site: LaunchSite) -> bool:
    """May a launch be rewritten, and is its configuration read?"""
    is_refused = site.verdict is Verdict.REFUSED
    return is_refused and site.called is not None and site.resolved is not None


def _all_copies(text: KernelText, sites: Sequence[LaunchSite]) -> Iterator[KernelVariant]:
    """Copies for the sizes that grids are made of, then for grids of which that is not known."""
    seen = list[Tile]()
    for asks in (False, True):
        yield from islice(_copies(text, sites, asks, seen), MOST_COPIES)


def _copies(
    text: KernelText, sites: Sequence[LaunchSite], asks: bool, seen: list[Tile]
) -> Iterator[KernelVariant]:
    constants = _constants(text, sites)
    own = {one.name: one.value for one in constants}
    for values in _assignments(constants):
        by_name = own | {one.name: value for one, value in values.items()}
        # Launches that do not agree about what a block covers have no copy in common.
        first, *others = ([*_tiles(text.kernel, site, own, by_name, asks)] for site in sites)
        for tile in first:
            if all(tile in other for other in others):
                inside = tuple((one.inside, value) for one, value in values.items())
                if (of_values := replace(tile, values=inside)) not in seen:
                    seen.append(of_values)
                    yield _variant(text, values, of_values)


def _in_turn(text: KernelText, sites: Sequence[LaunchSite]) -> Iterator[KernelVariant]:
    """Copies with the program's own constants, whose blocks do those of the program."""
    own = {one.name: one.value for one in _constants(text, sites)}
    first, *others = ([*_tiles(text.kernel, site, own, own, asks=False)] for site in sites)
    common = (tile for tile in first if all(tile in other for other in others))
    for tile in islice(common, 1):
        yield from repeated(text, tile, _pointers(text.kernel))


# ---- constants


@dataclass(frozen=True)
class _Constant:
    """A constant of the kernel, by its `name` at the launch and the one that it has `inside`."""

    name: str
    inside: str
    value: int
    is_macro: bool = False
    is_parameter: bool = False
    #: Is it a number that is written, or a constant within the body, as large as the block?
    is_number: bool = False
    #: Has it a class or a namespace before its name, or is it an enumerator?
    is_member: bool = False


Values = Mapping[_Constant, int]
"""Constants that have other values than the program's own."""


def _assignments(constants: Sequence[_Constant]) -> Iterator[Values]:
    """Other values, those first that are nearest to the program's own."""
    factors = _FACTORS.get(len(constants), _NEAR)
    each = (
        [(one, one.value * factor) for factor in (Fraction(1), *factors, *_to_powers(one.value))]
        for one in constants
    )
    drawn = islice(product(*each), MOST_DRAWN)
    known = [c for c in drawn if all(value.denominator == 1 for _, value in c)]

    def distance(choice: Sequence[tuple[_Constant, Fraction]]) -> tuple[int, float]:
        steps = [abs(log2(value / one.value)) for one, value in choice]
        return sum(step > 0 for step in steps), sum(steps)

    for choice in sorted(known, key=distance):
        if values := {one: int(value) for one, value in choice if value != one.value}:
            yield values


def _to_powers(value: int) -> tuple[Fraction, ...]:
    """The factors that make a power of two of 24 or 96."""
    return (Fraction(2, 3), Fraction(4, 3)) if value % 3 == 0 else ()


def _constants(text: KernelText, sites: Sequence[LaunchSite]) -> list[_Constant]:
    """The constants in the configuration of launches that the text of the kernel names.

    And all arguments of its template that are numbers: what it is compiled for tells them.
    """
    words = {token.text for token in text.body}
    of_template = _template_arguments(text, sites[0])
    found = {
        argument: _Constant(argument, name, value, is_parameter=True)
        for argument, (name, value) in of_template.items()
        if name in words
    }
    for site in sites:
        for name in _names_in_configuration(site):
            key, inside = name.key or _FREE, name.text.rpartition("::")[2]
            if name.text in found or inside not in words or not key.startswith(_OF_FILE):
                continue
            # A macro that is defined under several conditions is not resolved.
            is_free, is_macro = key.startswith(_FREE), key.startswith(_MACRO)
            is_macro |= is_free and _defined(text, inside, is_macro=True) is not None
            known = constant(name)
            value = _defined(text, inside, is_macro) if known is None else known
            if value is not None and value == int(value) > 0:
                found[name.text] = _Constant(
                    name.text, inside, int(value), is_macro, is_member=is_free and not is_macro
                )
    configured = {name.text for site in sites for name in _names_in_configuration(site)}
    return [*found.values()] if configured & found.keys() else [*_numbers_of(sites)]


def _numbers_of(sites: Sequence[LaunchSite]) -> Iterator[_Constant]:
    """The sizes of a block that is written in numbers, or by a variable of the host."""
    blocks = {
        _numbers(site.resolved.block) if site.resolved is not None else None for site in sites
    }
    if len(blocks) == 1 and (block := blocks.pop()) is not None:
        for size in sorted({*block} - {1}):
            yield _Constant(f"{_NUMBER}{size}", f"{BLOCK_OF}{size}", size, is_number=True)


def _names_in_configuration(site: LaunchSite) -> Iterator[Name]:
    assert site.resolved is not None, "a launch that is open"
    for formula in (*site.resolved.block, *site.resolved.grid):
        yield from _named(formula)


def _defined(text: KernelText, name: str, is_macro: bool) -> int | None:
    """The one number that the files of a program define a name as, under whatever condition.

    The command line may say otherwise: then the block that is compiled is another one.
    """
    about = re.escape(name)
    macro = rf"^[ \t]*#[ \t]*define[ \t]+{about}[ \t]+(\w+)[ \t]*(?://.*)?\r?$"
    pattern = re.compile(macro if is_macro else rf"\b{about}\s*=\s*(\w+)\s*[,;}}]", re.M)
    found = {match[1] for file in text.texts.files for match in pattern.finditer(file.text)}
    numbers = [int(one) for one in found if one.isdigit()]
    return numbers[0] if len(numbers) == 1 else None


def _template_arguments(text: KernelText, site: LaunchSite) -> dict[str, tuple[str, int]]:
    """Names that are arguments of the template at a launch: its parameters, and their values."""
    entries = dict.fromkeys(text.kernel.entries)
    if len(entries) != 1:
        return {}
    [shown] = demangled([*entries], parameters=True)
    values = shown.partition("<")[2].partition(">")[0].split(",")
    arguments = site.callee.partition("<")[2].rpartition(">")[0].split(",")
    tokens = text.syntax.tokens[text.function.first : text.function.parameters[0]]
    parameters = list(template_parameters(tokens))
    if not len(values) == len(arguments) == len(parameters):
        return {}
    triples = zip(map(str.strip, arguments), parameters, map(str.strip, values), strict=True)
    return {
        argument: (name, int(value))
        for argument, (name, is_type), value in triples
        if argument.isidentifier() and not is_type and value.isdigit() and int(value) > 0
    }


def _named(formula: Formula) -> Iterator[Name]:
    match formula:
        case Name(_, _, value):
            yield formula
            if value is not None:
                yield from _named(value)
        case HostOperation(_, operands) | Call(_, operands):
            for operand in operands:
                yield from _named(operand)
        case Cast(_, operand):
            yield from _named(operand)


# ---- launches


def _tiles(
    kernel: Kernel,
    site: LaunchSite,
    own: Mapping[str, int],
    values: Mapping[str, int],
    asks: bool,
) -> Iterator[Tile]:
    """The launches of a copy that the formulas of a launch may mean.

    There are several where one variable is the argument of several parameters. `own`, `values`: of
    all constants, as they are, and as they are in the copy. `asks`: is a grid that is one number,
    though of sizes with names, as many blocks as the program asks for?
    """
    resolved = site.resolved
    assert resolved is not None, "a launch that is open"
    own_block, block = (_numbers([_with(f, v) for f in resolved.block]) for v in (own, values))
    own_shared, shared = (_bytes(resolved.shared, v) for v in (own, values))
    if own_block is None or block is None or not _is_launched(block, kernel):
        return
    compiled = [constant(one) for one in resolved.block]
    if any(c is not None and c != b for c, b in zip(compiled, own_block, strict=True)):
        return
    if own_shared is None or shared is None or shared > LARGEST_SHARED:
        return
    meanings = _meanings(site, kernel)

    def shared_out(axis: int) -> dict[str, tuple[int, int]]:
        """Extents that blocks may share out: what a block of the copy gets, and the program's."""
        grid = resolved.grid[axis]
        both = [[_shared_out(_with(grid, v, m), m) for v in (own, values)] for m in meanings]
        found = {
            a[0]: (b[1], a[1]) for a, b in both if a is not None and b is not None and a[0] == b[0]
        }
        asked = _asked(axis, block[axis], own_block[axis])
        is_number = any(map(str.isdigit, found)) or (asks and constant(grid) is not None)
        is_known = found and (found.keys() == {"1"} or not is_number)
        return found if is_known else asked

    for (x, of_x), (y, of_y), (z, of_z) in product(*(shared_out(g).items() for g in range(3))):
        covered, own_covered = zip(of_x, of_y, of_z, strict=True)
        about = block, own_block, (x, y, z), covered, own_covered
        yield Tile(*about, shared=shared, own_shared=own_shared)


def _asked(axis: int, block: int, own_block: int) -> dict[str, tuple[int, int]]:
    """As an extent, what the program asks for: as many blocks, or threads where blocks differ.

    Whether the copy does the same with them, and what else the grid is made of, trials tell.
    """
    grid = f"gridDim.{'xyz'[axis]}"
    return {grid: (1, 1)} if block == own_block else {f"{grid} * {own_block}": (block, own_block)}


def _bytes(shared: Formula | None, values: Mapping[str, int]) -> int | None:
    """The bytes of dynamic shared memory, if they are one number."""
    found = Fraction(0) if shared is None else constant(_with(shared, values))
    return int(found) if found is not None and found == int(found) >= 0 else None


def _meanings(site: LaunchSite, kernel: Kernel) -> list[dict[str, str]]:
    """Parameters of the kernel, by the names that are their arguments, in all their orders."""
    parameters: dict[str, list[str]] = {}
    for argument, parameter in zip(site.arguments, kernel.parameters, strict=False):
        if parameter.integer is not None:
            parameters.setdefault(argument.strip(), []).append(parameter.name)
    most = max(map(len, parameters.values()), default=1)
    return [
        {name: its[min(n, len(its) - 1)] for name, its in parameters.items()} for n in range(most)
    ]


def _is_launched(block: Block, kernel: Kernel) -> bool:
    threads = prod(block)
    return WARP <= threads <= min(LARGEST, kernel.max_threads) and block[2] <= LARGEST_Z


def _numbers(shape: Sequence[Formula]) -> Block | None:
    values = [constant(one) for one in shape]
    known = [int(v) for v in values if v is not None and v.denominator == 1 and v > 0]
    return (known[0], known[1], known[2]) if len(known) == 3 else None


def _with(
    formula: Formula, values: Mapping[str, int], kept: Collection[str] = frozenset()
) -> Formula:
    """The formula with other values of constants, wherever they are named, or written.

    Names that are `kept` are arguments of the launch: what they are defined as is no constant.
    """
    match formula:
        case Number(value, False) if f"{_NUMBER}{value}" in values:
            return Number(Fraction(values[f"{_NUMBER}{value}"]))
        case Number(value, False) if f"{_NUMBER}{value + 1}" in values:
            # (n + 255) / 256
            return Number(Fraction(values[f"{_NUMBER}{value + 1}"] - 1))
        case Name(text, _, _) if text in values:
            return Number(Fraction(values[text]))
        case Name(text, _, None) if text[-2:] in (".y", ".z") and text[:-2] in values:
            # An enumerator for a `dim3`.
            return Number(Fraction(1))
        case Name(text, _, inner) if inner is not None and text not in kept:
            is_named = any(name.text in values for name in _named(inner))
            return _with(inner, values, kept) if is_named or _has_numbers(values) else formula
        case HostOperation(operator, operands):
            return HostOperation(operator, tuple(_with(one, values, kept) for one in operands))
        case Call(function, operands):
            return Call(function, tuple(_with(one, values, kept) for one in operands))
        case Cast(type_, operand):
            return Cast(type_, _with(operand, values, kept))
    return formula


def _has_numbers(values: Mapping[str, int]) -> bool:
    return any(name.startswith(_NUMBER) for name in values)


def _shared_out(grid: Formula, arguments: Mapping[str, str]) -> tuple[str, int] | None:
    """What the blocks of a dimension share out, as C text, and how much of it each of them gets.

    Of `ceil(n / 16)`, however it is written, `n` and 16; of a number of blocks, that and 1. It is a
    guess: each launch asks whether the program's own grid is that.
    """
    count = constant(grid)
    if count is not None and not any(name.text in arguments for name in _named(grid)):
        return (str(int(count)), 1) if count.denominator == 1 and count > 0 else None
    match _inner(grid):
        case HostOperation("/", (numerator, divisor)):
            found = _quotient(numerator, divisor, arguments)
        case HostOperation(">>", (numerator, places)) if (shift := constant(places)) is not None:
            found = _quotient(numerator, Number(Fraction(1 << min(31, int(shift)))), arguments)
        case HostOperation("+", (HostOperation("/", (numerator, divisor)), one)):
            # (n - 1) / 16 + 1
            found = _quotient(numerator, divisor, arguments) if constant(one) == 1 else None
        case Call(name, (argument,)) if name in _CEILINGS:
            return _shared_out(argument, arguments)
        case Call(_, (numerator, divisor)):
            found = _quotient(numerator, divisor, arguments)
        case _:
            found = None
    if found is None and (extent := _of_arguments(grid, arguments)) is not None:
        return extent, 1
    return found


def _inner(formula: Formula) -> Formula:
    found = plain(formula)
    if isinstance(found, HostOperation):
        return HostOperation(found.operator, tuple(map(_inner_sum, found.operands)))
    return found


def _inner_sum(formula: Formula) -> Formula:
    """A quotient in a sum, without casts."""
    found = plain(formula)
    return found if isinstance(found, HostOperation) and found.operator == "/" else formula


def _quotient(
    numerator: Formula, divisor: Formula, arguments: Mapping[str, str]
) -> tuple[str, int] | None:
    count = constant(divisor)
    if count is None or count.denominator != 1 or count <= 0:
        return None
    terms = [*_terms(numerator, 1)]
    # A number that is an argument is a size.
    sizes = [any(name.text in arguments for name in _named(one)) for one, _ in terms]
    known = [
        None if is_size else constant(one) for (one, _), is_size in zip(terms, sizes, strict=True)
    ]
    pairs = [*zip(terms, known, strict=True)]
    numbers = [sign * value for (_, sign), value in pairs if value is not None]
    others = [term for term, value in pairs if value is None]
    if sum(numbers) not in (count - 1, -1, 0) or len(others) != 1 or others[0][1] < 0:
        return None
    extent = _of_arguments(others[0][0], arguments)
    return (extent, int(count)) if extent is not None else None


def _terms(formula: Formula, sign: int) -> Iterator[tuple[Formula, int]]:
    seen = formula
    while isinstance(seen, Cast):
        seen = seen.operand
    match seen:
        case HostOperation("+", (left, right)):
            yield from _terms(left, sign)
            yield from _terms(right, sign)
        case HostOperation("-", (left, right)):
            yield from _terms(left, sign)
            yield from _terms(right, -sign)
        case _:
            yield seen, sign


def _of_arguments(formula: Formula, arguments: Mapping[str, str]) -> str | None:
    """C text over the parameters of the kernel that get the names of the formula."""
    match formula:
        case Name(text, _, _) if text in arguments:
            return arguments[text]
        case Name(_, _, value) if value is not None:
            return _of_arguments(value, arguments)
        case Cast(_, operand):
            return _of_arguments(operand, arguments)
        case Number(value, False) if value.denominator == 1:
            return str(value)
        case HostOperation(operator, (left, right)) if operator in "+-*/":
            first, second = (_of_arguments(one, arguments) for one in (left, right))
            return f"({first} {operator} {second})" if first and second else None
    return None


# ---- text


def _variant(text: KernelText, values: Values, tile: Tile) -> KernelVariant:
    named = "_".join(f"{one.inside}_{value}" for one, value in values.items())
    copy = f"{text.kernel.name}__{named}"
    edit = text.copy(copy, _with_variables(text, values))
    for one, value in values.items():
        if one.is_macro:
            edit = _with_macro(edit, one.inside, value)
    about = text.syntax.source, edit, NAME, *_pointers(text.kernel)
    return KernelVariant(named, copy, *about, tile=tile, declaration=text.declaration(copy))


def _pointers(kernel: Kernel) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The pointers that must lead to different memory, and those that may be written through.

    Blocks of one shape may work in place where those of another would not.
    """
    pointers = [index for index, one in enumerate(kernel.parameters) if one.is_pointer]
    if len(pointers) < 2:
        return (), ()
    types = [kernel.parameters[index].type.rpartition("*")[0].split() for index in pointers]
    written = (index for index, words in zip(pointers, types, strict=True) if "const" not in words)
    return tuple(pointers), tuple(written)


def _with_macro(edit: Edit, name: str, value: int) -> Edit:
    body, line, last = edit.text.rpartition("#line ")
    text = (
        f'\n#pragma push_macro("{name}")\n#undef {name}\n#define {name} {value}{body}'
        f'#pragma pop_macro("{name}")\n{line}{last}'
    )
    return replace(edit, text=text)


def _with_variables(text: KernelText, values: Values) -> Changes:
    """Variables of the body in place of constants, and of arguments of the template.

    Other constants that are computed from them are computed from the variables.
    """
    edits, declared, taken = list[Edit](), list[str](), list[str]()
    head = text.syntax.tokens[text.function.first : text.function.parameters[0]]
    followed = set[str]()
    for one, value in values.items():
        name = type_of = one.inside
        if one.is_number:
            edits += _in_body(text, one.value, value)
            continue
        if one.is_member:
            if "::" in one.name:
                edits += _of_member(text, one.name, value)
            else:
                declared.append(f"constexpr decltype(+{name}) {name} = {value};")
            continue
        if one.is_parameter:
            type_of = f"cutune_own_{name}"
            edits += [Edit.insert(t.start, "cutune_own_") for t in head if t.text == name]
            taken.append(type_of)
        elif not one.is_macro:
            followed.add(name)
        if not one.is_macro:
            declared.append(f"constexpr decltype({type_of}) {name} = {value};")
    for file in text.texts.files if followed else ():
        for match in _CONSTANT.finditer(file.text):
            other, initializer = match[1], " ".join(match[2].split())
            if other not in followed and followed & {*re.findall(r"\w+", initializer)}:
                followed.add(other)
                declared.append(f"constexpr decltype({other}) {other} = {initializer};")
    return Changes(tuple(edits), "".join(f" {one}" for one in declared), taken=tuple(taken))


def _of_member(text: KernelText, name: str, value: int) -> list[Edit]:
    """The edits that put a number in the place of a name with its class or namespace."""
    words = re.findall(r"\w+|::", name)
    texts, tokens = [token.text for token in text.body], text.body
    places = [i for i in range(len(texts)) if texts[i : i + len(words)] == words]
    spans = [
        Span(span_of(tokens[i]).start, span_of(tokens[i + len(words) - 1]).end) for i in places
    ]
    return [Edit(span, f"(decltype(+{name}))({value})") for span in spans]


def _in_body(text: KernelText, own: int, value: int) -> list[Edit]:
    """The edits that put another number in the place of one, wherever the body has it.

    A constant of the body that begins as the number is one place; where there is one, others stay.
    In `(n + 15) / 16` both numbers change.
    """
    tokens = text.body
    places = [i for i, token in enumerate(tokens) if token.text == str(own)]
    constants = [
        i
        for i in places
        if tokens[i - 1].text == "="
        and {token.text for token in tokens[max(0, i - 5) : i]} & {"const", "constexpr"}
    ]
    rounding = [
        i - 3 for i in places if [t.text for t in tokens[i - 3 : i]] == [f"{own - 1}", ")", "/"]
    ]
    edits = [Edit(span_of(tokens[i]), str(value)) for i in constants or places]
    return edits + [Edit(span_of(tokens[i]), str(value - 1)) for i in rounding if not constants]
