"""Built-ins in a walk: takes a built-in and its dimension, gives its value.

They are read as they are, over warps, or where the grid of a dimension is kept: one reading is one
of the classes here. In a walk over warps an id is that of a warp, and a thread is a lane of it.
There threadIdx.x is `32 * warp of the block + lane` and blockDim.x is `32 * warps of a block`, so
that `blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32` becomes an id as any other. That takes
whole warps in x.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from cutune.proof.values.id_bounds import ID_BITS, ordered
from cutune.proof.values.polynomial import (
    BLOCK,
    BLOCK_SIZE,
    GRID_SIZE,
    IDENTITY,
    ONE,
    OPAQUE,
    PARAMETER,
    STRIDE,
    THREAD,
    ZERO,
    Atom,
    IntegerPolynomial,
    Monomial,
    without,
)
from cutune.proof.values.predicates import Both, Fixed, Not, Predicate, Relation
from cutune.proof.values.terms import (
    MOST_THREADS,
    WARP,
    AtomOperation,
    AtomProperties,
    Atoms,
    Interval,
    only_atom,
)
from cutune.toolchain.device.thread_block import LARGEST

#: The registers of PTX that hold the raw built-ins, without their dimensions.
REGISTERS = {THREAD: "%tid", BLOCK: "%ctaid", BLOCK_SIZE: "%ntid", GRID_SIZE: "%nctaid"}


@dataclass
class BuiltIns:
    """A reading: dimensions in which blocks have one thread; are ids in x those of warps?

    `loops`: headers of loops that step through a row, as found where a grid is kept. `wide`: sizes
    that no block is wider than, as the launch is asked; None: it is not asked.
    """

    single_thread: frozenset[str] = frozenset()
    of_warps: bool = False
    loops: set[int] = field(default_factory=set)
    wide: set[IntegerPolynomial] | None = None

    def value(self, kind: str, dimension: str, atoms: Atoms) -> IntegerPolynomial:
        """Return the value of a built-in of any dimension."""
        if dimension in self.single_thread:
            if kind in (THREAD, BLOCK_SIZE):
                return ZERO if kind == THREAD else ONE
            return IntegerPolynomial.atom(IDENTITY if kind == BLOCK else STRIDE, dimension)
        value = IntegerPolynomial.atom(kind, dimension)
        if not self.of_warps or dimension != "x":
            return value
        if kind == THREAD:
            return value * WARP + _lane(atoms)
        return value * WARP if kind == BLOCK_SIZE else value

    def as_asked(self, test: Predicate, atoms: Atoms) -> Predicate:
        """Return a condition with what is known of it where no block is wider than some sizes.

        `if (threadIdx.x >= n) return;` lets all threads through, if n is as large as any block.
        """
        match test:
            case Relation() if self.wide is not None and test.bits >= ID_BITS:
                thread = self.value(THREAD, "x", atoms)
                for holds, one in ((True, test), (False, test.negated())):
                    for small, large in ordered(one) if one.relation != "eq" else ():
                        if small == thread and _is_parameter(large):
                            self.wide.add(large)
                            return Fixed(holds)
            case Both(first, second):
                return Both(self.as_asked(first, atoms), self.as_asked(second, atoms))
            case Not(inner):
                return Not(self.as_asked(inner, atoms))
        return test


#: The atom that stands for the place of a thread in its warp.
LANE = Atom(OPAQUE, "lane")


def _lane(atoms: Atoms) -> IntegerPolynomial:
    return atoms.named(
        LANE.name, AtomProperties(ids=frozenset("x"), interval=Interval(0, WARP - 1))
    )


def _is_parameter(value: IntegerPolynomial) -> bool:
    atom = only_atom(value)
    return atom is not None and atom.kind == PARAMETER


#: Readings in which ids are those of warps; the second one where threads ask for their rank in the
#: block, which is threadIdx.x where blocks have one thread in y and z.
OVER_WARPS = (BuiltIns(of_warps=True), BuiltIns(single_thread=frozenset("yz"), of_warps=True))


#: The atoms that stand for threadIdx.z and blockDim.z of blocks with several layers.
LAYER, LAYERS = "layer", "layers"
_MOST_LAYERS = 64


@dataclass
class WarpsInADimension(BuiltIns):
    """A reading in numbers of flat blocks, for blocks whose warps lie along y or z.

    Of blocks of 32 x y threads, or of x * y = 32 and some z, threads are numbered as CUDA numbers
    them. `t` is that number, and stands as threadIdx.x; the width of the flat block stands as
    blockDim.x. So threadIdx.y is `t / 32`, and blockDim.y the width / 32. In z, how x and y share
    the 32 lanes is left open. Dimensions behind have one thread, or `has_layers`: where warps lie
    along y, z may hold several such blocks, of which each is a layer.
    """

    dimension: str = field(kw_only=True)
    has_layers: bool = field(default=False, kw_only=True)

    def value(self, kind: str, dimension: str, atoms: Atoms) -> IntegerPolynomial:
        if kind not in (THREAD, BLOCK_SIZE):
            return IntegerPolynomial.atom(kind, dimension)
        if dimension > self.dimension and self.has_layers:
            is_layer = kind == THREAD
            interval = Interval(0, _MOST_LAYERS - 1) if is_layer else Interval(1, _MOST_LAYERS)
            return atoms.named(LAYER if is_layer else LAYERS, AtomProperties(interval=interval))
        if dimension > self.dimension:
            return ZERO if kind == THREAD else ONE
        flat = IntegerPolynomial.atom(kind, "x")
        here = frozenset("x")
        warps = atoms.computed(
            AtomOperation("shr.u32", (flat, IntegerPolynomial.constant(WARP.bit_length() - 1))),
            AtomProperties(
                here, here if kind == THREAD else frozenset(), interval=Interval(0, WARP)
            ),
        )
        if dimension == self.dimension:
            return warps
        if self.dimension == "y":
            return flat - warps * WARP if kind == THREAD else IntegerPolynomial.constant(WARP)
        if kind == THREAD:
            lanes = AtomProperties(ids=here, interval=Interval(0, WARP - 1))
            return atoms.named(f"{LANE.name}.{dimension}", lanes)
        return atoms.named(f"lanes.{dimension}", AtomProperties(interval=Interval(1, WARP)))


_PREFIX = "row"
#: Begins the names of elements of segments.
ELEMENT = "element"
#: In place of a dimension: elements that each block does for itself.
ROW = "row"
#: Elements of a row that all threads of a launch share: with one step more, less than 2^31.
MOST_SHARED_BY_GRID = 1 << 29


@dataclass
class KeptGrid(BuiltIns):
    """A reading in which the grid of one dimension is kept.

    A block that keeps its index may share a row among any number of threads: element J of the row
    is the work of thread J mod blockDim, in some round of a loop that begins at threadIdx and steps
    by blockDim. So within such a loop J stands for `threadIdx + rounds * blockDim`, an atom that is
    not raw. The built-ins themselves are raw, and so are the number of rounds and all values that
    one round hands to the next or leaves behind. Other dimensions are taken to have one thread,
    which is asked at the launch.
    """

    dimension: str = field(kw_only=True)
    #: Headers of loops in which J may be made of what grows by blockDim in each round.
    by_rounds: set[int] = field(default_factory=set)
    #: What J is at most in loops whose ends a launch is not asked; None: any number.
    unasked: dict[int, int | None] = field(default_factory=dict)
    has_learnt_ends: bool = False
    #: Do threads of a warp differ in what they do of an element?
    of_lanes: ClassVar[bool] = False
    #: What J is at most behind a loop, where one step more was added to it.
    most: ClassVar[int] = MOST_THREADS + (1 << 20)
    #: Built-ins that stay what they are, whatever the block is.
    steady: ClassVar[Mapping[str, Interval]] = {
        BLOCK: Interval(0, MOST_THREADS),
        GRID_SIZE: Interval(1, MOST_THREADS),
    }
    #: J begins and goes on by these.
    begins_at: ClassVar[str] = THREAD
    steps_by: ClassVar[str] = BLOCK_SIZE
    _known: int = 0

    @property
    def differing(self) -> frozenset[str]:
        """The dimensions in which threads differ that do different elements of a row."""
        return frozenset({self.dimension})

    @property
    def of_block(self) -> AtomProperties:
        """The properties of values that depend on the block."""
        here = frozenset({self.dimension})
        return AtomProperties(raw=here, ids=here)

    def anew(self) -> KeptGrid:
        """Return the reading for another walk, in which it is known which ends are not asked."""
        anew = replace(self, loops=set(), by_rounds=set(), _known=0)
        return replace(anew, unasked={**self.unasked}, has_learnt_ends=False)

    def learn_end(self, header: int, most: int | None) -> None:
        """Note a loop whose end a launch is not asked, and what J is at most behind it."""
        self.has_learnt_ends |= self.unasked.get(header, 0) != most
        self.unasked[header] = most

    def has_learnt(self) -> bool:
        """Tell whether loops were found since the last call."""
        before, self._known = self._known, len(self.loops)
        return self._known > before

    def value(self, kind: str, dimension: str, atoms: Atoms) -> IntegerPolynomial:
        if kind in self.steady:
            interval = self.steady[kind]._replace(high=atoms.most_blocks)
            return atoms.named(f"{kind}.{dimension}", AtomProperties(interval=interval))
        if dimension != self.dimension:
            return ZERO if kind in (THREAD, BLOCK) else ONE
        return IntegerPolynomial.atom(kind, dimension)

    def with_rows(
        self,
        value: IntegerPolynomial,
        header: int,
        rounds: IntegerPolynomial,
        loops: frozenset[int],
        atoms: Atoms,
    ) -> IntegerPolynomial:
        """Return a value with c * m * J in place of c * m * (threadIdx + rounds * blockDim)."""
        ((step_of_round, _),), ((size, _),) = rounds.terms, self.step.terms
        (first, _), *others = self.thread.terms
        summed = [first, *(other for other, _ in others), (*size, *step_of_round)]
        terms = dict(value.terms)
        for monomial, coefficient in value.terms:
            rest = without(monomial, *first)
            parts = [tuple(sorted((*(rest or ()), *one))) for one in summed]
            if rest is None or any(terms.get(part) != coefficient for part in parts):
                continue
            for part in parts:
                del terms[part]
            self.loops.add(header)
            interval = Interval(0, self.unasked.get(header, self.most))
            properties = AtomProperties(ids=self.differing, loops=loops, interval=interval)
            element = atoms.named(f"{_PREFIX}{header}", properties)
            with_element = tuple(sorted((*rest, *element.atoms)))
            terms[with_element] = terms.get(with_element, 0) + coefficient
        return IntegerPolynomial.of(terms)

    def element(self, header: int) -> IntegerPolynomial:
        """Return J in one of the loops."""
        return IntegerPolynomial.atom(OPAQUE, f"{_PREFIX}{header}")

    def first_threads(self, known: Iterable[Predicate]) -> int:
        """Return N where comparisons say that a thread is one of the first N; 0 where none does.

        `if (threadIdx.x < 256) table[threadIdx.x] = 0;` fills a row of 256 elements in blocks of
        at least so many threads, and nothing but a part of it in smaller ones. An index in the
        block may have a sign or none: it is small.
        """
        pairs = (
            pair
            for one in known
            if isinstance(one, Relation) and one.bits >= ID_BITS and one.relation != "eq"
            for pair in ordered(one)
        )
        limits = (large.literal for small, large in pairs if small == self.thread)
        return min((n for n in limits if n is not None and 0 < n <= LARGEST), default=0)

    def element_of(self, threads: int, atoms: Atoms) -> IntegerPolynomial:
        """Return J of a row that so many first threads do, one element each."""
        properties = AtomProperties(ids=self.differing, interval=Interval(0, threads - 1))
        return atoms.named(f"{_PREFIX} of {threads}", properties)

    @property
    def thread(self) -> IntegerPolynomial:
        """The first J of a thread."""
        return IntegerPolynomial.atom(self.begins_at, self.dimension)

    @property
    def step(self) -> IntegerPolynomial:
        """The distance of the elements of a thread."""
        return IntegerPolynomial.atom(self.steps_by, self.dimension)


@dataclass
class RowsOfWarps(KeptGrid):
    """A reading in which the warps of a block share a row for each lane, as columns of a matrix.

    Blocks have whole warps. `threadIdx.x` is `32 * warp + lane`, and J stands for `warp + rounds *
    warps of the block`: a warp does element J of all its 32 rows. A lane stays what it is, whatever
    the block; threads that differ in it alone do not do the same.
    """

    of_lanes: ClassVar[bool] = True

    def value(self, kind: str, dimension: str, atoms: Atoms) -> IntegerPolynomial:
        value = super().value(kind, dimension, atoms)
        if dimension != self.dimension or kind not in (THREAD, BLOCK_SIZE):
            return value
        return value * WARP + _lane(atoms) if kind == THREAD else value * WARP

    def first_threads(self, known: Iterable[Predicate]) -> int:
        """Return 0: the first warps are no row."""
        return 0


@dataclass
class WholeGrid(KeptGrid):
    """All blocks as one, whose threads share a row: the number of threads may be any.

    Within a loop that begins at the id and steps by the number of threads, J stands for `id +
    rounds * threads`. Ids and the number of threads are raw (`Atoms.raw_ids`), as all built-ins
    are, and nothing waits for threads of other blocks. Other dimensions, which the kernel does not
    index, have one thread, which is asked at the launch.
    """

    most: ClassVar[int] = MOST_SHARED_BY_GRID + MOST_THREADS + (1 << 20)
    steady: ClassVar[Mapping[str, Interval]] = {}
    begins_at, steps_by = IDENTITY, STRIDE

    def first_threads(self, known: Iterable[Predicate]) -> int:
        """Return 0: threads of all blocks are no row."""
        return 0


@dataclass
class RowsOfEachBlock(KeptGrid):
    """Rows that each block does for itself, as tables in shared memory, beside the work of ids.

    `has_one_dimension`: is asked at the launch that blocks have one thread in the others?
    """

    has_one_dimension: bool = False
    #: How many elements threads have, one block apart, as values of the walk tell.
    segments: set[int] = field(default_factory=set)

    def as_elements(self, value: IntegerPolynomial, atoms: Atoms) -> IntegerPolynomial:
        """Return a value as it is, and note how many blocks each block of the launch stands for.

        `2 * blockDim.x * blockIdx.x + threadIdx.x` is the id and as many threads as the blocks in
        front of it have once more.
        """
        for monomial, coefficient in value.terms:
            rest = without(monomial, Atom(IDENTITY, "x"))
            if rest is not None:
                more, left = divmod(dict(value.terms).get(_with(rest, *_IN_FRONT), 0), coefficient)
                if left == 0 and 0 < more < _MOST_SEGMENTS:
                    self.segments.add(more + 1)
        return value

    @property
    def differing(self) -> frozenset[str]:
        """A row, which is no dimension of ids: all blocks do the same elements."""
        return frozenset({ROW})

    def value(self, kind: str, dimension: str, atoms: Atoms) -> IntegerPolynomial:
        if self.has_one_dimension and dimension != self.dimension and kind in (THREAD, BLOCK_SIZE):
            return ZERO if kind == THREAD else ONE
        return IntegerPolynomial.atom(kind, dimension)


#: Threads of the blocks in front of one.
_IN_FRONT = (Atom(BLOCK, "x"), Atom(BLOCK_SIZE, "x"))
#: Blocks that a block stands for, at most.
_MOST_SEGMENTS = 8
#: Elements of a launch: each has a number of 32 bits with a sign.
MOST_ELEMENTS = (1 << 31) - 1


def _with(monomial: Monomial, *atoms: Atom) -> Monomial:
    return tuple(sorted([*monomial, *atoms]))


@dataclass
class Segments(RowsOfEachBlock):
    """Elements that lie one block apart in a segment of the block, as many for each thread.

    Segment b of `count * blockDim.x` elements is that of block b: each element of all segments is
    one thread's, in one of `count` places. With another block, and as many threads in the launch,
    these are the same elements, each of another thread, and perhaps in another place. An atom
    stands for the element in each place.
    """

    count: int = field(kw_only=True)
    #: Numbers that a launch is asked not to be negative: what elements are compared with.
    asked: set[IntegerPolynomial] = field(default_factory=set)

    def as_elements(self, value: IntegerPolynomial, atoms: Atoms) -> IntegerPolynomial:
        """Return a value with atoms for `count * blockDim * blockIdx + threadIdx`, and so on."""
        terms = dict(value.terms)
        for monomial, coefficient in value.terms:
            for atom in {one for one in monomial if one.kind in (IDENTITY, OPAQUE)}:
                if (begun := self._begun(atom)) is None:
                    continue
                first, in_front = begun
                rest = without(monomial, atom) or ()
                before, apart = _with(rest, *_IN_FRONT), _with(rest, Atom(BLOCK_SIZE, "x"))
                more, left = divmod(terms.get(apart, 0), coefficient)
                is_element = terms.get(before, 0) == coefficient * in_front
                if is_element and left == 0 and 0 <= first + more < self.count:
                    for gone in (monomial, before, apart):
                        terms.pop(gone, None)
                    element = self.element_in(first + more, atoms)
                    terms[_with(rest, *element.atoms)] = coefficient
        return IntegerPolynomial.of(terms) if terms != dict(value.terms) else value

    def _begun(self, atom: Atom) -> tuple[int, int] | None:
        """The place of an element that may be moved by blocks, and what it lacks of those in front.

        The id lacks all but one of each block's.
        """
        if atom == Atom(IDENTITY, "x"):
            return 0, self.count - 1
        is_element = atom.kind == OPAQUE and atom.name.startswith(ELEMENT)
        return (int(atom.name.removeprefix(ELEMENT)), 0) if is_element else None

    def element_in(self, place: int, atoms: Atoms) -> IntegerPolynomial:
        """Return the atom for the element that threads have in one of their places."""
        interval = Interval(0, MOST_ELEMENTS - 1)
        properties = AtomProperties(ids=frozenset("x"), interval=interval)
        return atoms.named(f"{ELEMENT}{place}", properties)


@dataclass
class RowsOfEachFlatBlock(RowsOfEachBlock):
    """Such rows beside ids in x and y: J begins at the number of a thread in its block.

    That is `threadIdx.y * blockDim.x + threadIdx.x`, and a block has `blockDim.x * blockDim.y`
    threads: each number once, whatever the shape of the block.
    """

    dimension: str = "x"

    @property
    def of_block(self) -> AtomProperties:
        both = frozenset("xy")
        return AtomProperties(raw=both, ids=both)

    def first_threads(self, known: Iterable[Predicate]) -> int:
        """Return 0: how many threads a block has is known of its width alone."""
        return 0

    @property
    def thread(self) -> IntegerPolynomial:
        x, y = (IntegerPolynomial.atom(THREAD, dimension) for dimension in "xy")
        return y * IntegerPolynomial.atom(BLOCK_SIZE, "x") + x

    @property
    def step(self) -> IntegerPolynomial:
        x, y = (IntegerPolynomial.atom(BLOCK_SIZE, dimension) for dimension in "xy")
        return x * y
