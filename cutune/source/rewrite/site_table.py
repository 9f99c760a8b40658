"""The table of launch sites. Takes kernels and sites, gives C++ that stands before line 1.

Each site has the rule by which the block may change in each dimension, and functions of its
arguments: guard bounds, shared memory, and whether threads may come into other warps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from operator import attrgetter

from cutune.source.host_formula import names_in, renamed
from cutune.source.kernel_variant import KernelVariant, Tile
from cutune.source.launches.verdicts import least_shared
from cutune.source.program import DIMENSIONS, DistinctPlaces, Kernel, LaunchSite, Program
from cutune.source.rewrite.c_text import argument_bits, axis_bits, c_path, c_string, one_line
from cutune.source.rewrite.edits import variants_at
from cutune.source.unit.integers import integer_type
from cutune.toolchain.device.thread_block import WARP

#: In place of a function or a table that a site does not need.
NONE = "nullptr"
#: A kernel that stands in for one whose address is not known: both are compiled together.
_WITNESS = "reinterpret_cast<const void *>(cutune_witness)"


class Rule(Enum):
    """How the grid follows when the block of one dimension changes."""

    FIXED = "cutune_fixed"
    #: The new block divides the thread space T, of which every thread stays.
    DIVIDE = "cutune_divide"
    #: As before, and threads from the guard bound on may be added or dropped.
    GUARD = "cutune_guarded"
    #: The number of blocks stays, and their size varies.
    KEEP = "cutune_kept"
    #: As before, but proven: the launch checks that elements of a row use different places.
    ROWS = "cutune_rows"


#: Calls that read or change a kernel of a graph: cudaGraphKernelNodeSetParams for instance.
_GRAPH_EDIT = re.compile(r"Graph\w*(?:Params|Attribute|Update)|Node\w*Params|NODE_PARAMS")


def guard_parameters(kernel: Kernel, guard: str) -> tuple[int, ...] | None:
    """Indices of the parameters a guard bound is made of; None when it holds another name."""
    order = {name: index for index, name in enumerate(kernel.argument_names) if name}
    words = {*names_in(guard)}
    return tuple(sorted(order[word] for word in words)) if words <= order.keys() else None


def dimension_rule(kernel: Kernel, dimension: int) -> Rule:
    """The rule by which a dimension may get other blocks."""
    proof = kernel.dimensions[dimension]
    if DIMENSIONS[dimension] not in kernel.pure_dimensions:
        return Rule.FIXED
    if proof.grid_kept:
        return Rule.KEEP if DIMENSIONS[dimension] in kernel.asserted else Rule.ROWS
    if proof.guard is None or proof.grid_stride or guard_parameters(kernel, proof.guard) is None:
        return Rule.DIVIDE
    return Rule.GUARD


def lent_code(program: Program) -> str:
    """What tells others, whose definition is weak, that they got the code that was proven."""
    code = program.code if program.is_lent else None
    return _lent(code.name, code.versions) if code is not None else ""


def _lent(name: str, versions: Iterable[int], attribute: str = "") -> str:
    values = ", ".join(map(str, (*sorted(versions), 0)))
    array = f"const int cutune_proven_{name}[]"
    return f'extern "C" {{ extern {array}{attribute}; {array} = {{{values}}}; }}\n'


def site_table(
    program: Program,
    sites: Iterable[LaunchSite],
    routines: Mapping[int, str] | None = None,
    threads: str = NONE,
) -> str:
    """C++ text of the guard functions and of the table that `cutune_launch` looks sites up in.

    `threads`: the function that chooses how many threads there are, where any number may be.
    """
    known = ((site, program.kernel(site.kernel)) for site in sorted(sites, key=attrgetter("id")))
    routines = routines or {}
    rows = [
        _Row(program, site, kernel, routines.get(site.id, NONE))
        for site, kernel in known
        if kernel is not None
    ]
    # The code of other translation units whose kernels these launches call.
    borrowed = {row.kernel.elsewhere.name for row in rows if row.kernel.elsewhere is not None}
    functions = [_lent(name, (), " __attribute__((weak))").rstrip() for name in sorted(borrowed)]
    functions += (function for row in rows for function in row.functions())
    texts = [row.text(threads) for row in rows]
    if any(_WITNESS in text for text in texts):
        functions.insert(0, "namespace { __global__ void cutune_witness() {} }")
    table = ["static const cutune_site cutune_sites[] = {", *texts, "};"]
    return "".join(f"{line}\n" for line in (*functions, *table))


def needed_headers(program: Program, sites: Sequence[LaunchSite]) -> tuple[str, ...]:
    """Headers that the table needs, besides that of its own types."""
    kernels = [kernel for site in sites if (kernel := program.kernel(site.kernel)) is not None]
    needed = {
        "cutune_member.h": any(kernel.members for kernel in kernels),
        "cutune_inner.h": any(kernel.inner_pointers for kernel in kernels),
        "cutune_exact.h": any(
            kernel.distinct_places or kernel.tiles or _guards(kernel) or _idle_threads(kernel)
            for kernel in kernels
        ),
        "cutune_tile.h": _has_tiles(program, sites),
    }
    used = (header for header, is_needed in needed.items() if is_needed)
    return ("cutune_range.h", "cutune_allocation.h", *used)


def launching_headers(sites: Iterable[LaunchSite]) -> tuple[str, ...]:
    """Headers that make the launches."""
    is_pointed = any(site.pointer is not None for site in sites)
    return ("cutune_deduced.h", "cutune_call.h", *["cutune_pointer.h"] * is_pointed)


def _guards(kernel: Kernel) -> dict[str, str]:
    """Per dimension its guard, or how many threads have work where any number does the same."""
    found = _free_grids(kernel)
    for index, (name, dimension) in enumerate(zip(DIMENSIONS, kernel.dimensions, strict=True)):
        if dimension.guard is not None and dimension_rule(kernel, index) is Rule.GUARD:
            found[name] = dimension.guard
    return found


def _free_grids(kernel: Kernel) -> dict[str, str]:
    return _of_strides(kernel, [one.grid_free for one in kernel.dimensions])


def _idle_threads(kernel: Kernel) -> dict[str, str]:
    return _of_strides(kernel, [one.idle_from for one in kernel.dimensions])


def _of_strides(kernel: Kernel, texts: Sequence[str | None]) -> dict[str, str]:
    return {
        name: text
        for index, (name, text) in enumerate(zip(DIMENSIONS, texts, strict=True))
        if text is not None
        and dimension_rule(kernel, index) is Rule.DIVIDE
        and guard_parameters(kernel, text) is not None
        and not kernel.asserted
    }


def _function_of_threads(kernel: Kernel, threads: str) -> str:
    """The function that changes the number of threads; `threads`: where any number does."""
    if _free_grids(kernel):
        return threads
    return "cutune_drop_threads" if _idle_threads(kernel) else NONE


class _Arguments:
    """Arguments that a formula reads, by position, and their names in C++."""

    def __init__(self, kernel: Kernel, positions: Iterable[int]) -> None:
        known = (*kernel.parameters, *kernel.members)
        read = {i: known[i] for i in positions}
        own = {i: f"cutune_member_{i}" if "." in one.name else one.name for i, one in read.items()}
        declared = (f"const cutune_exact {name} = argument_[{i}]; " for i, name in own.items())
        self.names = {read[i].name: name for i, name in own.items()}
        self.declared = "".join(declared)
        self.fit = " && ".join(_fits(one.type, f"argument_[{i}]") for i, one in read.items())


@dataclass(frozen=True)
class _Row:
    """A launch of a kernel in the table, and the functions of its arguments."""

    program: Program
    site: LaunchSite
    kernel: Kernel
    routine: str

    @property
    def guards(self) -> dict[str, str]:
        """Per dimension its guard, or how many threads have work where others are not needed."""
        is_tuned = self.routine != NONE
        return {**_guards(self.kernel), **(_idle_threads(self.kernel) if is_tuned else {})}

    def functions(self) -> Iterator[str]:
        """Functions and tables to which the row refers."""
        site, kernel = self.site, self.kernel
        yield from (self._guard(dimension, guard) for dimension, guard in self.guards.items())
        if site.shared is not None:
            yield _shared(site.id, site.shared)
        if self._is_bound:
            yield self._free()
        if kernel.proven_for and kernel.elsewhere is None:
            versions = ", ".join(map(str, (*sorted(kernel.proven_for), 0)))
            yield f"static const int cutune_proven_{site.id}[] = {{{versions}}};"
        if variants := variants_at(self.program, site):
            yield from self._variants(variants)

    def _guard(self, dimension: str, guard: str) -> str:
        """The function that tells the guard bound of a dimension."""
        # Exact integers (`DimensionProof.guard`); where one is too large, 0 is "not known".
        arguments = _Arguments(self.kernel, guard_parameters(self.kernel, guard) or ())
        unused = "" if arguments.names else "(void)argument_; "
        value = renamed(one_line(guard), arguments.names)
        return (
            f"static inline long long cutune_guard_{self.site.id}_{dimension}"
            f"(const long long *argument_) {{ {arguments.declared}{unused}"
            f"return {arguments.fit or 'true'} ? cutune_bound({value}) : 0; }}"
        )

    def _variants(self, variants: Sequence[KernelVariant]) -> Iterator[str]:
        """The table of variants, behind the functions of those that are tiles."""
        number = self.site.id
        tiles = {v.name: f"cutune_tile_{number}_{n}" for n, v in enumerate(variants) if v.tile}
        yield from (self._tile(v.tile, tiles[v.name]) for v in variants if v.tile)
        rows = (
            f"{{{c_string(one.name)}, {{{', '.join(f'{ids}u' for ids in one.coarsen)}}}, "
            f"{argument_bits(one.pointers)}, {argument_bits(one.written)}, "
            f"cutune_supposes_rightly{_last_fields(one, tiles)}}}"
            for one in variants
        )
        yield f"static const cutune_variant cutune_variants_{number}[] = {{{', '.join(rows)}}};"

    def _tile(self, tile: Tile, name: str) -> str:
        """The function that tells the grid of a copy with another constant."""
        kernel = self.kernel
        read = guard_parameters(kernel, " ".join(tile.names))
        assert read is not None, "extents are made of parameters"
        sizes = guard_parameters(kernel, " ".join(tile.divided))
        # No integer below zero was tried, and of multiples not 0.
        multiples = {*(sizes or ())}
        positions = sorted({*read, *multiples, *_integers(kernel)})
        arguments = _Arguments(kernel, positions)
        asked = {f"gridDim.{d}": f"cutune_exact(asked_.grid.{d})" for d in DIMENSIONS}
        names = {**arguments.names, **asked}
        extents = [f"cutune_bound({renamed(one, names)})" for one in tile.extents]
        shapes = (tile.own_block, tile.own_covered, tile.covered)
        numbers = ", ".join(f"{{{', '.join(f'{n}u' for n in shape)}}}" for shape in shapes)
        whole_sizes = (f"argument_[{place}] % {tile.multiple} == 0" for place in sorted(multiples))
        memory = f"asked_.smem == {tile.own_shared}u"
        signs = (f"argument_[{p}] {'>' if p in multiples else '>='} 0" for p in positions)
        pairs = zip(DIMENSIONS, tile.whole, strict=True)
        whole = (f"asked_.grid.{d} % {blocks}u == 0" for d, blocks in pairs if blocks > 1)
        conditions = " && ".join(
            filter(None, [arguments.fit, *signs, memory, *whole_sizes, *whole])
        )
        return (
            f"static bool {name}(const cutune_request &asked_, dim3 *grid_) {{ "
            f"const long long *const argument_ = asked_.arguments; (void)argument_; "
            f"if ((~asked_.integers & {argument_bits(positions)}) != 0) return false; "
            f"if (!({conditions})) return false; {arguments.declared}"
            f"const long long extents_[3] = {{{', '.join(extents)}}}; "
            f"static const unsigned shapes_[3][3] = {{{numbers}}}; "
            "return cutune_tile_grid(asked_, extents_, shapes_, grid_); }"
        )

    @property
    def _is_bound(self) -> bool:
        """Does it depend on the arguments whether a thread may come into any warp?"""
        return bool(self.kernel.may_meet or self.kernel.distinct_places)

    def _free(self) -> str:
        """The function that says whether each thread may come into any warp."""
        body = self._free_body
        named = ("argument_", "integers_", "extent_", "allocation_")
        unused = (name for name in named if not re.search(rf"\b{name}\b", body))
        return (
            f"static inline bool cutune_free_{self.site.id}(const long long *argument_, "
            f"unsigned long long integers_, const long long *extent_, cutune_memory *allocation_) "
            f"{{ {''.join(f'(void){name}; ' for name in unused)}{body} }}"
        )

    @property
    def _free_body(self) -> str:
        if self._positions is None:
            return "return false;"
        integers, _ = self._positions
        arguments = _Arguments(self.kernel, integers)
        meeting = (
            f"allocation_->are_apart(argument_[{a}], argument_[{b}])"
            for a, b in self.kernel.may_meet
        )
        distinct = self.kernel.distinct_places
        reaching = (_reaches(condition, arguments.names) for condition in distinct)
        known = (
            f"if ((~integers_ & {argument_bits(integers)}) != 0) return false; " if integers else ""
        )
        conditions = " && ".join([arguments.fit or "true", *reaching, *meeting])
        return f"{known}{arguments.declared}return {conditions};"

    @cached_property
    def _positions(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Positions of the integers, and of the pointers, that it depends on; None: not known."""
        kernel = self.kernel
        # A launch that is repeated has the values, but not as the kernel's parameters.
        is_told = self.site.has_all_arguments(kernel) and not kernel.inner_pointers
        if self.site.called is None and not is_told:
            return None
        texts = [text for one in kernel.distinct_places for text in (one.larger, one.smaller)]
        integers = guard_parameters(kernel, " ".join(texts))
        if integers is None or any(re.search(r"[^\w\s.+\-*/%()]", text) for text in texts):
            return None
        return integers, tuple(sorted({place for pair in kernel.may_meet for place in pair}))

    def text(self, threads: str) -> str:
        """Initialise a `cutune_site`."""
        site, kernel, guards, routine = self.site, self.kernel, self.guards, self.routine
        rules = [dimension_rule(kernel, index).value for index in range(3)]
        named = [f"cutune_guard_{site.id}_{d}" if d in guards else NONE for d in DIMENSIONS]
        guarding = {i for guard in guards.values() for i in guard_parameters(kernel, guard) or ()}
        variants = variants_at(self.program, site)
        if any(one.tile for one in variants):
            # What was decided for other integers is not to be repeated.
            guarding |= {*_integers(kernel)}
        namesakes = sum(other.name == kernel.name for other in self.program.kernels)
        # May the program look at kernels in a graph, or give them another configuration?
        files = (self.program.source, *self.program.headers)
        edits = any(_GRAPH_EDIT.search(file.text) for file in files)
        integers, pointers = (self._positions if self._is_bound else None) or ((), ())
        # A bit for each 32 threads of the blocks for which the kernel is proven; 0: for any.
        proven = kernel.allowed.proven if kernel.allowed is not None else ()
        widths = f"{sum(1 << (width // WARP - 1) for width in proven):#x}u" if proven else "0"
        code = site.id if kernel.elsewhere is None else kernel.elsewhere.name
        # The fields of `cutune_site`, by their names and in their order.
        fields = {
            "id": f"{site.id}",
            "kernel": c_string(kernel.name),
            "file": c_path(site.source.path),
            "rule": f"{{{', '.join(rules)}}}",
            "guard": f"{{{', '.join(named)}}}",
            "guard_arguments": argument_bits(guarding),
            "max_threads": f"{kernel.max_threads}u",
            "select": routine,
            "select_arguments": "0ull" if routine == NONE else f"{routine}_arguments",
            "shared": f"cutune_shared_{site.id}" if site.shared is not None else NONE,
            "needs_warps": _boolean(kernel.needs_warps),
            "single_thread": axis_bits(d in kernel.single_thread for d in DIMENSIONS),
            "is_one_kernel": _boolean(namesakes == 1 and not kernel.template_parameters),
            "indexed": axis_bits([*(d.indexed for d in kernel.dimensions), kernel.narrow_blocks]),
            "is_free": f"cutune_free_{site.id}" if self._is_bound else NONE,
            "free_arguments": argument_bits({*integers, *pointers}),
            "asks_for_memory": _boolean(bool(kernel.may_meet)),
            "proven": f"cutune_proven_{code}" if kernel.proven_for else NONE,
            "witness": _WITNESS if kernel.proven_for and site.called is None else NONE,
            "edits_graphs": _boolean(edits),
            "variants": f"cutune_variants_{site.id}" if variants else NONE,
            "variant_count": f"{len(variants)}",
            "must_be_free": _boolean(kernel.must_hold),
            "widths": widths,
            "least": f"{least_shared(kernel)}",
            "try_threads": _function_of_threads(kernel, threads) if routine != NONE else NONE,
        }
        return f"    {{{', '.join(fields.values())}}},"


def _last_fields(variant: KernelVariant, tiles: Mapping[str, str]) -> str:
    """What has to be a multiple of what, and how a tile is launched; nothing where neither is."""
    multiples = f", {argument_bits(variant.aligned)}, {argument_bits(variant.divided)}"
    if variant.tile is None:
        return multiples if variant.aligned else ""
    block = ", ".join(f"{size}u" for size in variant.tile.block)
    return f"{multiples}, {{{block}}}, {variant.tile.shared}u, {tiles[variant.name]}"


def _has_tiles(program: Program, sites: Iterable[LaunchSite]) -> bool:
    """Does a launch choose among copies with other constants?"""
    return any(v.tile for site in sites for v in variants_at(program, site))


def _shared(number: int, text: str) -> str:
    """The function that tells the bytes of dynamic shared memory of a block."""
    # All in 64 bits, products of literals, too.
    value = re.sub(r"\b\d+\b", r"\g<0>ll", text)
    names = set(re.findall(r"\b[xyz]\b", text))
    parameters = ", ".join(f"long long{f' {d}' if d in names else ''}" for d in DIMENSIONS)
    return f"static inline long long cutune_shared_{number}({parameters}) {{ return {value}; }}"


def _reaches(condition: DistinctPlaces, names: Mapping[str, str]) -> str:
    larger, smaller = (renamed(one_line(t), names) for t in (condition.larger, condition.smaller))
    extent = f"extent_[{condition.dimension}]" if condition.dimension >= 0 else "1"
    return f"cutune_reaches({larger}, {smaller}, {extent})"


def _integers(kernel: Kernel) -> tuple[int, ...]:
    """The parameters that are integers: they say where a copy with another constant may run."""
    first = len(kernel.parameters)
    plain = (n for n, one in enumerate(kernel.parameters) if one.integer is not None)
    return (*plain, *range(first, first + len(kernel.members)))


def _fits(type_text: str, name: str) -> str:
    """A condition: the kernel sees the argument's value, which is below zero only if signed."""
    type_ = integer_type(type_text.split())
    is_signed = type_ is not None and type_.signed
    fits = f"cutune_fits_int({name})"
    return fits if is_signed else f"{name} >= 0 && {fits}"


def _boolean(value: bool) -> str:
    return "true" if value else "false"
