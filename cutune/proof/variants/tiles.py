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
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice, pairwise, product
from math import prod

from cutune.core.codes import Code
from cutune.core.source import Edit, Span
from cutune.proof.confirm import MOST_ARGUMENTS, MOST_ASKED
from cutune.proof.same_code import MEETS_OTHERWISE, tells_active_lanes
from cutune.proof.variants.repeat import repeated
from cutune.proof.variants.text import Changes, Illegal, KernelText, span_of
from cutune.proof.variants.tile_constants import (
    NUMBER,
    TileConstant,
    Values,
    constants_of,
    usual,
    whole_shape,
)
from cutune.proof.variants.tile_design import MOST_COMPILED, Chosen, combinations, designed
from cutune.proof.variants.tile_grids import share_of
from cutune.ptx.taint import data_oblivious
from cutune.ptx.types import Function, Module
from cutune.source.host_formula import (
    Formula,
    Name,
    Number,
    constant,
    names_of,
    rebuilt,
)
from cutune.source.kernel_variant import ASKED, KernelVariant, Tile
from cutune.source.launches.kernel_copies import launched_alone
from cutune.source.program import (
    Kernel,
    LaunchSite,
    MemberParameter,
    Program,
    Verdict,
)
from cutune.source.unit.kernel_texts import KernelTexts
from cutune.toolchain.device.thread_block import (
    LARGEST,
    LARGEST_SHARED,
    LARGEST_Z,
    WARP,
    Block,
    threads_of,
)
from cutune.toolchain.kernel_names import base_name

NAME = "tile"
#: Characters before a launch in which structures are set.
_FAR_BEFORE = 8192
#: Values of which launches are tried that ask for a number of blocks.
_MOST_ASKING = 12
#: Why nothing is tried.
ON_DATA, OF_ORDER = "what it does depends on data: {}", "it uses the result of {}"
#: Constants outside of functions, which begin a line.
_CONSTANT = re.compile(
    r"^(?:(?:static|inline)\s+)*const(?:expr)?\s+[\w ]*?\b(\w+)\s*=\s*([^;{}]+);", re.MULTILINE
)


def untried(kernel: Kernel, modules: Iterable[Module]) -> str:
    """Return what of the kernel's own code keeps trials from telling anything; "" if nothing does.

    Of a template, what all of its instances have.
    """
    if kernel.block_use.order[1]:
        return OF_ORDER.format(kernel.block_use.order[0])
    said = [
        _of_instance(function, module)
        for module in modules
        for name, function in module.functions.items()
        if function.is_kernel and function.body and base_name(name) == kernel.name
    ]
    return said[0] if all(said) and said else ""


def _of_instance(function: Function, module: Module) -> str:
    if tells_active_lanes(function):
        return MEETS_OTHERWISE
    seen = data_oblivious(function, module.functions)
    return "" if seen.holds else ON_DATA.format(seen.reason)


def may_have_tiles(program: Program) -> list[tuple[Kernel, list[LaunchSite]]]:
    """Return the refused kernels that may have copies, with their launches."""
    return [known for known in launched_alone(program) if _is_open(*known)]


def tile_candidates(program: Program, texts: KernelTexts) -> dict[str, tuple[KernelVariant, ...]]:
    """Return the copies to try of each refused kernel that has a constant for its block.

    Copies of one name are of one text, and differ in what their launches may be.
    """
    found: dict[str, tuple[KernelVariant, ...]] = {}
    for kernel, sites in may_have_tiles(program):
        with suppress(Illegal):
            text = KernelText(kernel, texts)
            shown = _with_one_block(text, sites)
            found[kernel.name] = (*_all_copies(text, shown), *_in_turn(text, shown))
    return {name: copies for name, copies in found.items() if copies}


def _is_open(kernel: Kernel, sites: Sequence[LaunchSite]) -> bool:
    is_refused = kernel.reason is not None and not kernel.pure_dimensions
    is_plain = kernel.copy is None and kernel.elsewhere is None and not kernel.asserted
    return is_refused and is_plain and all(map(_is_read, sites))


def _is_read(site: LaunchSite) -> bool:
    """May a launch be rewritten, and is its configuration read?"""
    is_refused = site.verdict is Verdict.REFUSED
    return is_refused and site.called is not None and usual(site) is not None


def _with_one_block(text: KernelText, sites: Sequence[LaunchSite]) -> list[LaunchSite]:
    """The launches whose block is known, and is that of most of them; all, where none is known.

    Of the others it is asked when they run.
    """
    own = {one.name: one.value for one in constants_of(text, sites)}
    blocks = [_own_block(site, own) for site in sites]
    known = Counter(block for block in blocks if block is not None)
    usual_one = max(known, key=known.__getitem__, default=None)
    return [site for site, block in zip(sites, blocks, strict=True) if block == usual_one]


def _own_block(site: LaunchSite, values: Mapping[str, int]) -> Block | None:
    resolved = usual(site)
    assert resolved is not None, "a launch that is open"
    return whole_shape([_with(formula, values) for formula in resolved.block])


def _all_copies(text: KernelText, sites: Sequence[LaunchSite]) -> Iterator[KernelVariant]:
    """Copies for the sizes that grids are made of, then for grids of which that is not known."""
    constants = constants_of(text, sites)
    own = tuple(one.value for one in constants)
    found: dict[Chosen, list[Tile]] = {}
    for asks, most in ((False, MOST_COMPILED), (True, _MOST_ASKING)):
        known = {values: {*tiles} for values, tiles in found.items()}
        legal = {
            values: [t for t in tiles if t not in known.get(values, ())]
            for values in combinations(own, [one.beside for one in constants])
            if (tiles := [*tile_launches(text, sites, constants, values, asks)])
        }
        legal = {
            values: tiles
            for values, tiles in legal.items()
            if tiles and not is_near(constants, values, tiles[0])
        }
        launches = {values: (tiles[0].block, tiles[0].covered) for values, tiles in legal.items()}
        for values in designed(launches, most):
            pairs = zip(constants, values, strict=True)
            others = {one: value for one, value in pairs if value != one.value}
            inside = tuple((one.inside, value) for one, value in others.items())
            yield from (_variant(text, others, replace(t, values=inside)) for t in legal[values])
        found = legal


def is_near(constants: Sequence[TileConstant], values: Chosen, tile: Tile) -> bool:
    """Tell whether a value is half as large again, and twice as large is but twice the threads."""
    is_half = any(
        2 * (value + more) == 3 * (one.value + more)
        for one, value in zip(constants, values, strict=True)
        for more in (0, *one.beside)
    )
    return is_half and threads_of(tile.block) <= 2 * threads_of(tile.own_block)


def tile_launches(
    text: KernelText,
    sites: Sequence[LaunchSite],
    constants: Sequence[TileConstant],
    values: Chosen,
    asks: bool,
) -> Iterator[Tile]:
    """Yield what launches of a copy with these values may be, for all launches of the kernel.

    Nothing, where CUDA has no such block, or it has too much shared memory. `asks`: see `_tiles`.
    """
    own = {one.name: one.value for one in constants}
    by_name = {one.name: value for one, value in zip(constants, values, strict=True)}
    # Launches that do not agree about what a block covers have no copy in common.
    alike = {(usual(site), site.arguments): site for site in sites}
    tiles = ([*_tiles(text.kernel, site, own, by_name, asks)] for site in alike.values())
    first, *others = tiles
    yield from (tile for tile in first if all(tile in other for other in others))


def _in_turn(text: KernelText, sites: Sequence[LaunchSite]) -> Iterator[KernelVariant]:
    """Copies with the program's own constants, whose blocks do those of the program."""
    own = {one.name: one.value for one in constants_of(text, sites)}
    each = [[*_tiles(text.kernel, site, own, own, asks=False)] for site in sites]
    common = [tile for tile in each[0] if all(tile in other for other in each[1:])]
    for tile in islice(common or _asked_by_all(each), 1):
        yield from repeated(text, tile, _pointers(text.kernel))


def _asked_by_all(each: Sequence[Sequence[Tile]]) -> Iterator[Tile]:
    """The launches of all, though their grids are made of different sizes: what each asks for."""
    for tiles in product(*each):
        x, y, z = (_asked_unless_alike(axis, tiles) for axis in range(len(ASKED)))
        extents, covered = (x[0], y[0], z[0]), (x[1], y[1], z[1])
        first, *others = (
            replace(one, extents=extents, covered=covered, own_covered=covered) for one in tiles
        )
        if all(one == first for one in others):
            yield first


def _asked_unless_alike(axis: int, tiles: Sequence[Tile]) -> tuple[str, int]:
    """The extent of all launches, and what a block of it covers; else what each asks for."""
    found = {(one.extents[axis], one.own_covered[axis]) for one in tiles}
    return found.pop() if len(found) == 1 else (ASKED[axis], 1)


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
    resolved = usual(site)
    assert resolved is not None, "a launch that is open"
    own_block, block = (_own_block(site, v) for v in (own, values))
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
        both = [[share_of(_with(grid, v, m), m) for v in (own, values)] for m in meanings]
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


def passed_integers(kernel: Kernel) -> tuple[MemberParameter, ...]:
    """Return the integers of structures that a kernel gets by value, of which launches tell."""
    return tuple(
        MemberParameter(
            f"{kernel.parameters[one.argument].name}.{member.path}",
            member.type,
            argument=one.argument,
            structure=one.name,
            steps=member.steps,
        )
        for one in kernel.passed
        for member in one.members
        if member.is_integer and member.steps
    )


def passed_pointers(kernel: Kernel) -> dict[tuple[int, int], str]:
    """Return the types of pointers in such structures, by argument and first byte."""
    each = ((one.argument, member) for one in kernel.passed for member in one.members)
    return {(place, m.offset): m.type for place, m in each if m.is_pointer}


def _meanings(site: LaunchSite, kernel: Kernel) -> list[dict[str, str]]:
    """Parameters of the kernel, by the names that are their arguments, in all their orders.

    Of members it is a guess: each launch asks whether its grid is that.
    """
    parameters: dict[str, list[str]] = {}
    for argument, parameter in zip(site.arguments, kernel.parameters, strict=False):
        if parameter.integer is not None:
            text = argument.strip()
            for given in dict.fromkeys((text, *_set_to(site, text))):
                parameters.setdefault(given, []).append(parameter.name)
    for one in passed_integers(kernel) if len(site.arguments) == len(kernel.parameters) else ():
        argument, path = site.arguments[one.argument].strip(), one.name.partition(".")[2]
        structure = next(s for s in kernel.passed if s.argument == one.argument)
        if not all(step.startswith("&") for step in one.steps):
            continue  # An element of an array.
        outer = [*dict.fromkeys(m.path.partition(".")[0] for m in structure.members)]
        for text in _values_given(site, argument, path, outer):
            known = parameters.setdefault(text, [])
            known += [one.name] if one.name not in known else []
    most = max(map(len, parameters.values()), default=1)
    return [
        {name: its[min(n, len(its) - 1)] for name, its in parameters.items()} for n in range(most)
    ]


def _values_given(
    site: LaunchSite, argument: str, path: str, members: Sequence[str]
) -> Iterator[str]:
    """What the host may give a member: `params.n`; what that is set to; a variable of its name."""
    yield f"{argument}.{path}"
    yield path.rpartition(".")[2]
    yield from _set_to(site, f"{argument}.{path}")
    before, name = _before(site), re.escape(argument)
    # `Params params = {n, x, y};`, `k<<<…>>>(Params{n, x, y})`
    lists = re.findall(rf"\b{name}\s*=?\s*(?:\w+\s*)?\{{([^{{}};]*)\}}\s*;", before)
    lists += re.findall(r"^\w*\s*\{([^{}]*)\}$", argument)
    if lists and path in members:
        items = [" ".join(item.split()) for item in lists[-1].split(",")]
        named = {found[1]: found[2] for i in items if (found := re.match(r"\.(\w+) ?= ?(.*)", i))}
        place = members.index(path)
        text = named.get(path, "") if named else items[place] if place < len(items) else ""
        if text:
            yield text


def _set_to(site: LaunchSite, variable: str) -> Iterator[str]:
    """What the host sets a variable, or a member, to before a launch, as it is written there."""
    if re.fullmatch(r"[A-Za-z_][\w.]*", variable) is not None:
        found = re.findall(rf"(?<![\w.]){re.escape(variable)}\s*=\s*([^;,=]+)[;,]", _before(site))
        yield from (" ".join(text.split()) for text in found[-1:])


def _before(site: LaunchSite) -> str:
    return site.source.text[max(0, site.span.start - _FAR_BEFORE) : site.span.start]


def _is_launched(block: Block, kernel: Kernel) -> bool:
    threads = prod(block)
    return WARP <= threads <= min(LARGEST, kernel.max_threads) and block[2] <= LARGEST_Z


def _with(
    formula: Formula, values: Mapping[str, int], kept: Collection[str] = frozenset()
) -> Formula:
    """The formula with other values of constants, wherever they are named, or written.

    Names that are `kept` are arguments of the launch: what they are defined as is no constant.
    """
    match formula:
        case Number(value, False) if f"{NUMBER}{value}" in values:
            return Number(Fraction(values[f"{NUMBER}{value}"]))
        case Number(value, False) if f"{NUMBER}{value + 1}" in values:
            # (n + 255) / 256
            return Number(Fraction(values[f"{NUMBER}{value + 1}"] - 1))
        case Name(text, _, _) if text in values:
            return Number(Fraction(values[text]))
        case Name(text, _, None) if text[-2:] in (".y", ".z") and text[:-2] in values:
            # An enumerator for a `dim3`.
            return Number(Fraction(1))
        case Name(text, _, inner) if inner is not None and text not in kept:
            is_named = any(name.text in values for name in names_of(inner))
            return _with(inner, values, kept) if is_named or _has_numbers(values) else formula
    return rebuilt(formula, partial(_with, values=values, kept=kept))


def _has_numbers(values: Mapping[str, int]) -> bool:
    return any(name.startswith(NUMBER) for name in values)


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
    types = {place: one.type for place, one in enumerate(kernel.parameters) if one.is_pointer}
    # Those in structures are numbered behind their integers.
    before = len(kernel.parameters) + len(passed_integers(kernel))
    types |= dict(enumerate(passed_pointers(kernel).values(), before))
    if before + len(passed_pointers(kernel)) > MOST_ARGUMENTS:
        raise Illegal(Code.VARIANT_TILE, "it has more members than a launch can be asked about")
    if len(types) < 2:
        return (), ()
    if kernel.passed and len(types) > MOST_ASKED:
        raise Illegal(Code.VARIANT_TILE, "it has more pointers than a launch can be asked about")
    written = (n for n, one in types.items() if "const" not in one.rpartition("*")[0].split())
    return (*types,), (*written,)


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
    types = dict[str, list[str]]()
    for one, value in values.items():
        name = type_of = one.inside
        if (of := one.of_type) is not None:
            types.setdefault(of.parameter, [of.name, *of.arguments])[1 + of.place] = str(value)
            continue
        if one.is_number:
            edits += _in_body(text, one.value, value)
            continue
        if one.is_member:
            edits += _of_member(text, one.qualified, value)
            if _is_named_alone(text, name):
                declared.append(f"constexpr decltype(+{name}) {name} = {value};")
                followed.add(name)
            continue
        if one.is_parameter:
            type_of = f"cutune_own_{name}"
            edits += [Edit.insert(t.start, "cutune_own_") for t in head if t.text == name]
            taken.append(type_of)
        elif not one.is_macro:
            followed.add(name)
        if not one.is_macro:
            declared.append(f"constexpr decltype({type_of}) {name} = {value};")
    signature = text.syntax.tokens[text.function.first : text.function.parameters[1]]
    for parameter, (name, *arguments) in types.items():
        edits += [Edit.insert(t.start, "cutune_own_") for t in signature if t.text == parameter]
        taken.append(f"cutune_own_{parameter}")
        declared.append(f"using {parameter} = {name}<{', '.join(arguments)}>;")
    for file in text.texts.files if followed else ():
        for other, initializer in _constants_in(file.text):
            if other not in followed and followed & {*re.findall(r"\w+", initializer)}:
                followed.add(other)
                declared.append(f"constexpr decltype({other}) {other} = {initializer};")
    return Changes(tuple(edits), "".join(f" {one}" for one in declared), taken=tuple(taken))


def _constants_in(text: str) -> Iterator[tuple[str, str]]:
    """Constants outside of functions with their initializers: `constexpr int A = 1, B = A * 2;`."""
    for match in _CONSTANT.finditer(text):
        first, *others = re.split(r",\s*(?=\w+\s*=)", " ".join(match[2].split()))
        yield match[1], first
        for name, _, initializer in (one.partition("=") for one in others):
            yield name.strip(), initializer.strip()


def _of_member(text: KernelText, name: str, value: int) -> list[Edit]:
    """The edits that put a number in the place of a name with its class or namespace."""
    words = re.findall(r"\w+|::", name)
    texts, tokens = [token.text for token in text.body], text.body
    places = [i for i in range(len(texts)) if texts[i : i + len(words)] == words]
    spans = [
        Span(span_of(tokens[i]).start, span_of(tokens[i + len(words) - 1]).end) for i in places
    ]
    number = f"(decltype(+{name}))({value})"
    return [Edit(span, number) for span in spans] if len(words) > 1 else []


def _is_named_alone(text: KernelText, name: str) -> bool:
    """Has the body a name without a class or namespace before it?"""
    texts = [token.text for token in text.body]
    return any(one == name and before != "::" for before, one in pairwise(texts))


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
