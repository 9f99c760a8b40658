"""Flat blocks to propose for kernels that are not proven: no launch is changed by what this finds.

`block_use` asks it for messages and suggestions, in which widths stand that an entry is known to be
right with, with one thread in y and z.

Takes a finished walk with y = z = 1, or with warps that lie along y or z, gives `FlatUse`: the
first thing that ties the kernel to the block of its launch, or within which limits its width may be
proposed. Only uses of threads that are known not to ask for one width are let through:

- threads step through rows by `blockDim.x`, or have the global id;
- a shared array has one place for each thread, and is read near it, at its beginning, or at places
  that follow `blockDim.x`;
- a table that all threads fill is read anywhere;
- lanes of a warp, and warps that have shared places of their own.

Anything else is an obstacle, in words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise

from cutune.proof.last_block import LastBlock
from cutune.proof.memory.accesses import MemoryAccess
from cutune.proof.memory.called_functions import CalledFunctions, is_plain
from cutune.proof.own_elements import OwnElements
from cutune.proof.rows_of_all_blocks import LoopUse, RowsOfAllBlocks
from cutune.proof.values.built_ins import LAYER
from cutune.proof.values.polynomial import (
    BLOCK,
    BLOCK_SIZE,
    GRID_SIZE,
    IDENTITY,
    OPAQUE,
    STRIDE,
    THREAD,
    ZERO,
    Atom,
    IntegerPolynomial,
    Monomial,
)
from cutune.proof.values.predicates import Relation
from cutune.proof.values.terms import WARP, AtomOperation, Atoms, constant_term
from cutune.proof.warps_along import (
    ARITHMETIC,
    COUNTED,
    ONCE,
    OTHER_WIDTH,
    WarpsAlong,
    built_in_words,
    is_kept_by,
)
from cutune.proof.width_dependence import BY_REGISTER, ROUNDS, THREAD_X, WIDTH, WidthDependence
from cutune.ptx.types import Function, Variable
from cutune.source.candidates import FlatUse

_WIDTHS = range(WARP, 1024 + 1, WARP)
_BUILT_IN = re.compile(r"\b(threadIdx|blockDim)\.x\b")
_LOADED = re.compile(r"load(\d+)\.")
#: What threads of a block may do together that says nothing about its width.
_PLAIN_WARPS = frozenset({"shfl", "vote", "redux", "activemask"})
_TOGETHER = _PLAIN_WARPS | {"match", "elect", "wmma", "mma", "ldmatrix", "stmatrix", "movmatrix"}

APART = "threads use places of '{name}' that lie a fixed number of threads apart"
OTHERS = "'{name}' has a place for each thread, and others that are not known to follow blockDim.x"
GROUPS = "'{name}' has a place for each group of threads, whose number may be taken for a fixed one"
BLOCKWISE = "each block works out something from its own elements, and with another it has others"
WARPS = "its threads exchange values within warps alone, and a block has one result"
GOES_ROUND = "it uses how often a loop that steps by blockDim.x goes round"
ONE_WIDTH = "its code does not read blockDim.x"
EXCHANGED = "it reads elements that other threads may have written"
UNSEEN = "it uses shared memory at places that are not understood"
ORDERED = "it uses volatile memory, or accesses whose effect depends on the order of threads"


@dataclass(frozen=True)
class _Tied(Exception):
    """What ties a kernel to one block, in words."""

    words: str


@dataclass
class FlatJudge:
    """Judges how far the width of a block may be chosen, as far as the code shows it.

    `tests`: comparisons other than those of the first threads alone. `values`: all that addresses,
    conditions and stored values are computed from. `arrays`: shared ones, with the names that a
    reader knows. `has_layers`: does a block consist of several along z, with arrays of their own?
    `dimension`: along which warps lie; with y or z built-ins were read as `WarpsInADimension`, and
    the grid must stay.
    """

    function: Function
    accesses: Sequence[MemoryAccess]
    values: Sequence[IntegerPolynomial]
    tests: Sequence[Relation]
    arrays: Sequence[tuple[str, Variable]]
    atoms: Atoms
    called: CalledFunctions
    last_block: LastBlock
    dimension: str
    loops: LoopUse
    #: Basic blocks to which some of the first 32 threads come alone, whatever the width.
    first_warp: Collection[int]
    has_layers: bool = False
    splits: set[int] = field(default_factory=set)
    lanes: set[int] = field(default_factory=set)
    least: int = WARP
    needs_powers: bool = False
    most: int = 1024
    has_groups: bool = False
    parts: list[list[_Place]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.of = WidthDependence(self.function, self.atoms, self.dimension)
        self.warps = WarpsAlong(self.dimension, self.of, self.values)

    def use(self) -> FlatUse:
        """Return the first thing that ties the kernel to one block, or its limits."""
        try:
            return self._free_use()
        except _Tied as tied:
            is_of_block = tied.words in (BLOCKWISE, COUNTED)
            words = _BUILT_IN.sub(rf"\1.{self.dimension}", tied.words)
            return FlatUse(words, is_of_block=is_of_block)

    def _free_use(self) -> FlatUse:
        self._instructions()
        for value in self.values:
            self._arithmetic(value)
        for access in self.accesses:
            if access.space == "global":
                self._in_global(access)
        for name, variable in self.arrays:
            self._array(name, variable)
        symbols = {Atom(OPAQUE, f"&{variable.name}") for _, variable in self.arrays}
        for access in self.accesses:
            atoms = access.address.atoms if access.address is not None else ()
            if access.space == "shared" and symbols.isdisjoint(atoms):
                raise _Tied(UNSEEN)
        for test in self.tests:
            kinds = self._kinds_in(test) & {THREAD, BLOCK_SIZE}
            if kinds == {THREAD}:
                self._of_threads(test)
            elif kinds == {BLOCK_SIZE}:
                self._of_width(test)
            elif kinds:
                self._stop_where(self.warps.comparison(test))
        elements = OwnElements(self.function, self.of, self.accesses, self.last_block)
        if elements.are_exchanged():
            raise _Tied(EXCHANGED)
        self._within_warps(keeps_grid := self._keeps_grid())
        if not keeps_grid:
            self._blockwise()
        splits, lanes = tuple(sorted(self.splits)), frozenset(self.lanes)
        limits = self.needs_powers, keeps_grid, self.most
        return FlatUse("", splits, *limits, least=self.least, lanes=lanes)

    def _stop_where(self, obstacle: str) -> None:
        if obstacle:
            raise _Tied(obstacle)

    # Instructions and arithmetic.

    def _instructions(self) -> None:
        for item in self.function.instructions:
            is_barrier = item.opcode in ("bar", "barrier") and "warp" not in item.modifiers
            if is_barrier and item.operands != ("0",):
                raise _Tied("it waits for a fixed number of threads")
            is_plain_access = all(is_plain(w) or w.startswith("shared") for w in item.modifiers)
            if item.opcode in ("ld", "st") and not is_plain_access:
                raise _Tied(ORDERED)
            if item.opcode in _TOGETHER - _PLAIN_WARPS:
                raise _Tied(f"threads work together in '{item.opcode}'")
            if item.opcode == "call" and self.called.against(item, self.function, False):
                raise _Tied("threads may work together in functions that it calls")

    def _arithmetic(self, value: IntegerPolynomial) -> None:
        for atom in value.atoms:
            operation = self.atoms.operation(atom)
            numbers = operation.numbers if operation is not None else ()
            if self.warps.is_number_of_rounds(atom):
                if atom in self._in_accesses:
                    raise _Tied(GOES_ROUND)
                continue
            others = (number for number in numbers if not self.of.is_of_row(number))
            kinds = {a.kind for other in others for a in other.atoms if a in (THREAD_X, WIDTH)}
            if operation is not None and kinds and not self._is_free(operation, kinds):
                raise _Tied(ARITHMETIC.format(words=built_in_words(kinds)))
            self._stop_where(self.warps.arithmetic(operation))

    @cached_property
    def _in_accesses(self) -> set[Atom]:
        """What addresses and values that are stored are made of."""
        values = (v for one in self.accesses for v in (one.address, *one.values) if v is not None)
        return {atom for value in values for part in self.of.parts(value) for atom in part.atoms}

    def _is_free(self, operation: AtomOperation, kinds: set[str]) -> bool:
        """Do other widths leave an operation as it is: of lanes, of warps, of halves?"""
        opcode = operation.name.split(".")[0]
        if is_kept_by(operation):
            return True
        number = operation.numbers[-1].literal
        if number is None:
            # `n / blockDim.x`, the number of tiles.
            return opcode == "div" and kinds == {BLOCK_SIZE}
        size = 1 << number if opcode == "shr" and 0 <= number < WARP else number
        if opcode == "and":
            size = -number if number < 0 else number + 1
        is_power = 0 < size <= WARP and size & (size - 1) == 0
        if opcode not in ("shr", "div", "rem", "and") or not is_power:
            return False
        self.needs_powers |= BLOCK_SIZE in kinds and 1 < size < WARP
        return True

    # Global memory.

    def _in_global(self, access: MemoryAccess) -> None:
        if access.address is not None:
            kinds = self.of.kinds(access.address)
            is_of_few = access.block in self.first_warp or self.of.are_few(access.known)
            is_once = THREAD in kinds and BLOCK_SIZE not in kinds and not is_of_few
            if is_once and not self._is_round(access):
                raise _Tied(ONCE)
            self._rounds(access.address, access)
        for value in access.values if access.is_effect else ():
            kinds = self.of.kinds(value) & {THREAD, BLOCK_SIZE}
            if kinds and kinds != {THREAD, BLOCK_SIZE}:
                raise _Tied(f"it stores {built_in_words(kinds)} itself")
            self._rounds(value, access)

    def _is_round(self, access: MemoryAccess) -> bool:
        """Does a thread come to the next element of a row as well, or from the one before?"""
        others = [o.address for o in self.accesses if o.space == access.space and o.address]
        place = access.address or ZERO
        pairs = (pair for other in others for pair in ((place, other), (other, place)))
        is_next = any(self.warps.is_a_round_later(*pair) for pair in pairs)
        return is_next or self.warps.is_odd_round(access, others)

    def _rounds(self, value: IntegerPolynomial, access: MemoryAccess) -> None:
        """Rounds of a loop whose number depends on the block are used with the step alone."""
        parts = [value] if self.dimension == "x" else self.of.parts(value)
        for monomial in (monomial for part in parts for monomial, _ in part.terms):
            is_stepped = not self._stepped.isdisjoint(monomial)
            if is_stepped and not any(map(self.of.is_width, monomial)):
                raise _Tied(GOES_ROUND)

    @cached_property
    def _stepped(self) -> frozenset[Atom]:
        return frozenset(
            atom
            for value in self.values
            for monomial, _ in value.terms
            if any(map(self.of.is_width, monomial))
            for atom in monomial
            if ROUNDS.match(atom.name)
        )

    # Shared memory.

    def _array(self, name: str, variable: Variable) -> None:
        symbol = Atom(OPAQUE, f"&{variable.name}")
        parts = dict[tuple[tuple[Monomial, int], ...], list[_Place]]()
        for access in self.accesses:
            if access.address is not None and symbol in access.address.atoms:
                offset = access.address.replaced(symbol, ZERO)
                begin = tuple(self.of.begin(offset))
                place = _Place(access, self.of.without_lanes(offset - IntegerPolynomial(begin)))
                parts.setdefault(begin, []).append(place)
        begins = sorted({c for begin in parts for m, c in begin if self.of.is_number_of_warps(m)})
        room = min((after - before for before, after in pairwise([0, *begins])), default=0)
        for begin, places in parts.items():
            groups = (self.of.group(place.offset) for place in places)
            if begins and any(group is not None and group[1] > room for group in groups):
                raise _Tied(OTHERS.format(name=name))
            # Layers have arrays of their own, behind one another.
            between = dict(begin).get((Atom(OPAQUE, LAYER),), 0)
            self._part(name, between if self.has_layers else variable.size, places)

    def _part(self, name: str, size: int, places: list[_Place]) -> None:
        self.parts.append(places)
        of_groups = (p for p in places if self.of.group(p.offset) is not None)
        groups = [place for place in of_groups if not self.warps.is_row(place.offset)]
        rounds = [one for one in places if self.has_layers and self._is_round(one.access)]
        own = [p for p in places if p.step > 0 and self._is_own(p.offset) and p not in rounds]
        if (groups or own) and self.has_layers and not size:
            raise _Tied(OTHERS.format(name=name))
        if groups:
            self._groups(name, size, places, groups)
        if own:
            self._own(name, size, places, own)
        for place in places:
            kinds, is_known = self.of.kinds(place.offset), place in [*own, *groups, *rounds]
            # Lanes step through the places of all threads, as far as the block has some.
            is_known |= bool(own) and self._follows_width(place)
            if THREAD in kinds and BLOCK_SIZE not in kinds and not is_known:
                raise _Tied(OTHERS.format(name=name))

    def _is_own(self, offset: IntegerPolynomial) -> bool:
        return not any(
            ROUNDS.match(atom.name) or BY_REGISTER.match(atom.name) for atom in offset.atoms
        )

    def _own(self, name: str, size: int, places: list[_Place], own: list[_Place]) -> None:
        if len({place.step for place in own}) > 1:
            raise _Tied(OTHERS.format(name=name))
        step = own[0].step
        shifts = [place.shift for place in own]
        if max(*shifts, 0) - min(*shifts, 0) >= WARP * step:
            raise _Tied(APART.format(name=name))
        for place in places:
            if place not in own and not self._follows_width(place):
                raise _Tied(OTHERS.format(name=name))
        if size:
            last = max(place.shift + max(step, place.access.bytes) for place in own)
            left = size - last + step
            self.most = min(self.most, left // max(place.width for place in own))

    def _follows_width(self, place: _Place) -> bool:
        """The beginning of an array, or a place that the width of the block leads to?"""
        if place.offset.literal == 0:
            return True
        if BLOCK_SIZE in self.of.kinds(place.offset):
            if self.of.is_by_register(place.offset):
                self.needs_powers = True
            return True
        rounds = {atom for atom in place.offset.atoms if ROUNDS.match(atom.name)}
        return bool(rounds) and any(
            not rounds.isdisjoint([*test.left.atoms, *test.right.atoms])
            and any(BLOCK_SIZE in self.of.kinds(side) for side in (test.left, test.right))
            for test in self.tests
        )

    def _groups(self, name: str, size: int, places: list[_Place], groups: list[_Place]) -> None:
        """Places of warps: each warp's own, or read where a comparison knows how many there are."""
        self.has_groups = True
        ((threads, step), *others) = {found for p in groups if (found := self.of.group(p.offset))}
        knows_width = any(
            {THREAD, BLOCK_SIZE} == self._kinds_in(test)
            or (BLOCK_SIZE in self.of.kinds(test.right) and self._is_lane(test.left))
            for test in self.tests
        )
        for place in places:
            # A member of the first place, or of that of a lane.
            if place in groups or place.offset.literal in range(step):
                continue
            if self.warps.is_row(place.offset):
                self._slots(name, place, step)
            if not knows_width or place.offset.literal is not None:
                raise _Tied(GROUPS.format(name=name))
        by_lanes = (place.access for place in places if place not in groups)
        # A place that is shifted by the number of warps may be that of the last ones as well.
        are_shifted = any(BLOCK_SIZE in self.of.kinds(place.offset) for place in groups)
        if others or are_shifted or any(map(self.warps.are_few_lanes, by_lanes)):
            raise _Tied(GROUPS.format(name=name))
        if size:
            # Threads of a group may have places of their own within it.
            bytes_ = max(step + threads * max(0, place.step) for place in groups)
            self.most = min(self.most, size // bytes_ * threads)

    def _slots(self, name: str, place: _Place, step: int) -> None:
        """Lanes read the places of all warps in a loop, a number of them in each round."""
        found = self.warps.lanes_over_warps(place.offset, step, self.tests)
        if found is None:
            raise _Tied(GROUPS.format(name=name))
        lanes, header = found
        self.lanes.add(lanes)
        # All lanes of a warp go the same number of rounds where they exchange values in each.
        if header in self.loops.exchanging:
            self.least = max(self.least, lanes * WARP)

    def _is_lane(self, value: IntegerPolynomial) -> bool:
        return any("x" in self.atoms.properties(a).ids for a in value.atoms if a.kind == "opaque")

    # Comparisons.

    def _kinds_in(self, test: Relation) -> set[str]:
        return self.of.kinds(test.left) | self.of.kinds(test.right)

    def _of_threads(self, test: Relation) -> None:
        if self.of.are_of_first_warp((test, test.negated())):
            return
        if self.warps.is_first_round(test, self.tests, self.accesses):
            return
        difference = test.left - test.right
        threads, rest = {m: c for m, c in difference.terms if m}, constant_term(difference)
        if len(threads) == 1:
            ((monomial, factor),) = threads.items()
            group = self.of.group(IntegerPolynomial.of({monomial: abs(factor)}))
            if monomial == (THREAD_X,) or (group is not None and group[0] <= WARP):
                size = 1 if monomial == (THREAD_X,) else group[0] if group else 1
                number = -rest // factor
                self.splits |= {number * size, (number + 1) * size}
                return
        # The first round of a loop that steps by the width of the block.
        for other in self.tests:
            sides = {other.left, other.right}
            if {test.left, test.right} & sides and any(
                {THREAD, BLOCK_SIZE} <= self.of.kinds(side) for side in sides
            ):
                return
        raise _Tied("it compares threadIdx.x with something other than a number or blockDim.x")

    def _of_width(self, test: Relation) -> None:
        sides = (test.left, test.right)
        if any(self.of.is_by_register(side) or self.of.goes_round(side) for side in sides):
            return
        truths = [self.of.holds(test, width) for width in _WIDTHS]
        if None in truths:
            if all(self.of.is_only_divisor(side) for side in sides):
                return
            raise _Tied(OTHER_WIDTH)
        if self._is_entry(truths):
            return
        for (_, before), (width, after) in pairwise(zip(_WIDTHS, truths, strict=True)):
            if before != after:
                self.splits.add(width)

    def _is_entry(self, truths: Sequence[bool | None]) -> bool:
        """Does a test tell for each width whether a loop that the width counts has rounds?

        Compilers unroll a loop over warps into one in fours and one over the rest, and test before
        each of them, and before both, whether the block has enough warps.
        """
        for loops in (*((one,) for one in self._counted), *combinations(self._counted, 2)):
            counts = [sum(map(abs, of_width)) for of_width in zip(*loops, strict=True)]
            for enters in (truths, [not one for one in truths]):
                if enters == [count != 0 for count in counts]:
                    return True
                # Where a loop has a round at least, it is left out if it has to have none.
                done = [count if one else 0 for one, count in zip(enters, counts, strict=True)]
                steps = {after - before for before, after in pairwise(done)}
                if not done[0] and len(steps) == 1 and 0 not in steps:
                    return True
        return False

    @cached_property
    def _counted(self) -> list[list[int]]:
        """For each loop whose rounds the width counts: what it counts down, in each width."""
        found = list[list[int]]()
        for test in self.tests:
            left = test.left - test.right
            rounds: dict[Monomial, int] = {
                m: c for m, c in left.terms if len(m) == 1 and ROUNDS.match(m[0].name)
            }
            if test.relation != "ne" or len(rounds) != 1:
                continue
            ((_, step),) = rounds.items()
            before_first = left - IntegerPolynomial.of(rounds) - step
            counts = [self.of.number(before_first, width) for width in _WIDTHS]
            if None not in counts:
                found.append([count for count in counts if count is not None])
        return found

    def _within_warps(self, keeps_grid: bool) -> None:
        exchanges = any(item.opcode in _TOGETHER for item in self.function.instructions)
        thread = IntegerPolynomial.atom(*THREAD_X)
        counting = {
            test for a in self.accesses if self.last_block.is_counting(a) for test in a.known
        }
        counting |= {test.negated() for test in counting}
        singles = any(
            thread in (test.left, test.right)
            and any(side.literal is not None for side in (test.left, test.right))
            and (test not in counting or self._has_other_effects(test))
            for test in self.tests
        )
        if exchanges and (singles or keeps_grid) and not self.has_groups:
            raise _Tied(WARPS)

    def _has_other_effects(self, test: Relation) -> bool:
        """Does something depend on a comparison besides that a block counts itself?"""
        ways = {test, test.negated()}
        return any(
            access.is_effect
            and not self.last_block.is_counting(access)
            and not ways.isdisjoint(access.known)
            for access in self.accesses
        )

    # The grid.

    def _blockwise(self) -> None:
        """Where blocks have other elements, threads hand on nothing but sums of all of them."""
        begin = {Atom(BLOCK, "x"), WIDTH}
        if any(begin <= {*monomial} for value in self.values for monomial, _ in value.terms):
            raise _Tied(BLOCKWISE)
        effects = [
            one
            for one in self.accesses
            if one.space == "global" and one.is_effect and not self.last_block.is_counting(one)
        ]
        if any(one.block in self.first_warp for one in effects):
            # Further blocks would do the same once more.
            raise _Tied(BLOCKWISE)
        if all(one.kind == "atomic" and not self._counts_blocks(one) for one in effects):
            return
        for places in self.parts:
            stored = {place.offset for place in places if place.access.kind != "load"}
            shifts = {place.shift for place in places if place.access.kind != "load"}
            for place in places:
                is_number = self.last_block.is_counting(place.access)
                if place.access.kind == "store" or is_number or self._is_of_tile(place):
                    continue
                # A block apart at most: none is a neighbour's.
                is_own = place.offset in stored and shifts == {place.shift}
                is_private = place.step > 0 or self.of.group(place.offset) is not None
                if not self._is_table(places) and not (is_own and is_private):
                    raise _Tied(BLOCKWISE)

    def _counts_blocks(self, access: MemoryAccess) -> bool:
        is_of_one = any(THREAD_X in {*test.left.atoms} for test in access.known)
        return is_of_one and all(value.literal is not None for value in access.values)

    def _is_of_tile(self, place: _Place) -> bool:
        rounds = {atom for atom in place.offset.atoms if ROUNDS.match(atom.name)}
        around = self.atoms.of(place.offset).loops
        headers = {int(atom.name.removeprefix("rounds")) for atom in self._stepped - rounds}
        return bool(rounds) and not headers.isdisjoint(around)

    def _is_table(self, places: list[_Place]) -> bool:
        """Do all threads fill it together, with what does not depend on the block's index?"""
        stores = [place.access for place in places if place.access.kind == "store"]
        addresses = (one.address for one in stores if one.address is not None)
        parts = (part for one in stores for value in one.values for part in self._from(value))
        return (
            bool(stores)
            and all({THREAD, BLOCK_SIZE} <= self.of.kinds(address) for address in addresses)
            and not any(
                BLOCK in self.of.kinds(part)
                or any(atom.kind in (IDENTITY, STRIDE) for atom in part.atoms)
                for part in parts
            )
        )

    def _from(self, value: IntegerPolynomial) -> Iterator[IntegerPolynomial]:
        yield from self.of.parts(value)
        names = [atom.name for part in self.of.parts(value) for atom in part.atoms]
        lines = {found[1] for found in map(_LOADED.match, names) if found is not None}
        for access in self.accesses:
            if str(access.instruction.line) in lines and access.address is not None:
                yield from self.of.parts(access.address)

    def _keeps_grid(self) -> bool:
        """Must the number of blocks stay, as indices of blocks stand alone?"""
        if self.dimension != "x":
            self._stop_where(self.warps.in_steady_grid())
            seen = self.warps, self.function, self.accesses, self.tests, self.loops
            self._stop_where(RowsOfAllBlocks(*seen).obstacle())
            return True
        block, grid = Atom(BLOCK, "x"), Atom(GRID_SIZE, "x")
        counted = {Atom(IDENTITY, "x"), Atom(STRIDE, "x")}
        has_ids = is_alone = False
        for value in self.values:
            for monomial, _ in value.terms:
                is_product = any(self.of.is_width(atom) for atom in monomial)
                has_ids |= not counted.isdisjoint(monomial) or (block in monomial and is_product)
                is_counted = (block in monomial or grid in monomial) and not is_product
                is_alone |= is_counted and not self.last_block.is_comparison(value)
        if has_ids and is_alone:
            raise _Tied(COUNTED)
        if not has_ids:
            self._in_rows()
        return not has_ids

    def _in_rows(self) -> None:
        """Blocks that keep their rows begin none at a multiple of their width."""
        for value in self.values:
            for monomial, _ in value.terms:
                others = [atom for atom in monomial if not self.of.is_width(atom)]
                parts = (p for o in others for p in self.of.parts(IntegerPolynomial.atom(*o)))
                has_width = len(others) < len(monomial)
                if has_width and any(Atom(BLOCK, "x") in part.atoms for part in parts):
                    raise _Tied(COUNTED)


@dataclass(frozen=True)
class _Place:
    access: MemoryAccess
    offset: IntegerPolynomial

    @property
    def step(self) -> int:
        return dict(self.offset.terms).get((THREAD_X,), 0)

    @property
    def width(self) -> int:
        """The bytes of the places of a thread, where it has some that are a block apart."""
        return self.step + max(0, dict(self.offset.terms).get((WIDTH,), 0))

    @property
    def shift(self) -> int:
        """The bytes from the place of the thread's own number."""
        return constant_term(self.offset)
