"""Trials of tiles. Takes PTX with a kernel and copies of it, gives the copies that do the same.

A copy has another value of a constant, and is launched in other blocks. Both are launched on the
emulated device at many sizes, also at such that no block divides, on equal contents of memory:
numbers at random, few (for ties), infinities, NaN and zeros of both signs. It does the same if

- memory holds the same bytes afterwards, so that sums are rounded in the same order;
- it reads and writes where the kernel does, from its first byte to its last in each array;
- no access is a race, and no shared memory is read that nobody wrote;
- memory is the same where operations on data are other functions (`trial_functions`).

That holds for other data because what the code accesses does not depend on them, and for other
sizes because what it makes of sizes shows at those that were tried (`tried_sizes`,
`trial_outcomes`). It may use no result of an atomic operation, add no rounded number by one, call
no function of the system, and read no register but indices and shapes. A copy that does the same
only at multiples of what both blocks cover may run there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, count, islice, product
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutune.core.diagnostics import CutuneError
from cutune.emulator.assemble import assemble
from cutune.emulator.machine import Hazards, LoadedModule, host_threads
from cutune.measure import tile_costs
from cutune.measure.replay.replay import GHOSTS
from cutune.measure.trial_code import (
    UnknownMember,
    functions_reached,
    place_of_answer,
    tried_code,
    unknown_code,
    writes_to_constants,
)
from cutune.measure.trial_contents import LaunchVariables, TrialContents, near_numbers, same_numbers
from cutune.measure.trial_functions import with_functions
from cutune.measure.trial_launches import (
    Assigned,
    Ended,
    Shape,
    TriedLaunch,
    Work,
    arrays_behind,
    arrays_of,
    batches,
    grid_at,
    has_parts,
    has_several,
    is_uneven,
    is_within_a_block,
    may_join,
    only_where,
    shape_at,
    that_cover,
    tiles_of,
    tried_sizes,
    with_small_numbers,
    without_most_large,
)
from cutune.measure.trial_outcomes import Outcomes, OutcomesBySizes
from cutune.measure.trial_parameters import Domain, LaunchParameters, Numbers, SizesTried, covered
from cutune.proof.variants import repeat
from cutune.proof.variants.tiles import OF_ORDER, ON_DATA
from cutune.ptx.named_numbers import PointerParameters, asks_for_more, literals, tested_numbers
from cutune.ptx.tried_sizes import SizesOfFunctions, TriedSizes
from cutune.ptx.types import Function, Module, PtxError
from cutune.source.kernel_variant import ASKED, KernelVariant, Tile
from cutune.source.program import Kernel
from cutune.toolchain.cache import keep_whole, kept_whole
from cutune.toolchain.device.thread_block import LARGEST_SHARED

_OTHER_LAUNCHES = "its launches are not those of others"
_OTHER_INSTANCES = "it does something else in another instance of the template"
_NOT_PREFERRED = "others whose blocks cover as much are counted to cost less"
#: Warp instructions of a launch of a copy: so many times those of the kernel.
_LONGER = 16
_ENOUGH = 2_000  # launches of a kernel after which no others are tried, if no copy did the same
#: Launches without a race that a kernel needs; so many with parts of blocks, or with several.
_FEWEST, _UNEVEN = 6, 3
#: About as many of the numbers that a code names are tried as sizes.
_NAMED = 40
#: Numbers that are named are tried up to so many times what a block covers; those asked for: up to.
_FARTHEST, _FARTHEST_ASKED = 9, 4096
_THOROUGH = 16  # launches with all kinds of contents; others have one each
_RANDOM = (0, 3)  # contents: what variables hold at first, and other numbers
_WATCHED = 96  # launches at most, the largest first
_UNWRITTEN = "unwritten_shared"  # as the checker has it
Copies = Sequence[KernelVariant]
Found = tuple[int, tuple[str, ...], int]
"""The place of a copy that does the same, and parameters that must be multiples of a number."""


def copies_that_do_the_same(
    text: str, kernel: Kernel, copies: Copies
) -> tuple[list[KernelVariant], dict[str, str]]:
    """Return those copies of a kernel, and what others do otherwise, by their names.

    `text`: PTX in which the kernel and each of its copies have one entry. Answers are kept, for all
    architectures of which the code is the same.
    """
    asked = [(one.name, one.kernel, one.tile, one.transform) for one in copies]
    about = kernel.name, kernel.parameters, kernel.passed, kernel.block_use.order, asked
    place = place_of_answer(text, repr(about))
    if (known := kept_whole(place)) is not None:
        kept, reasons = json.loads(known)
        found = [(index, tuple(divided), multiple) for index, divided, multiple in kept]
    else:
        found, reasons = _tried(text, kernel, copies)
        keep_whole(place, json.dumps([found, reasons]))
    return [only_where(copies[index], *known) for index, *known in found], reasons


def _tried(text: str, kernel: Kernel, copies: Copies) -> tuple[list[Found], dict[str, str]]:
    def none(said: str) -> tuple[list[Found], dict[str, str]]:
        return [], dict.fromkeys((one.name for one in copies), said)

    try:
        text, module, instances = tried_code(text, kernel, copies)
        if not instances:
            return none("it is not compiled")
        # A launch takes longer in a module of all kernels, of each of whose blocks it may tell.
        loaded = LoadedModule(assemble(module, {one for _, of in instances for one in of.values()}))
    except (PtxError, CutuneError):
        return none("it cannot be run on the emulated device")
    except UnknownMember as error:
        return none(str(error))
    is_in_turn = all(one.transform == repeat.NAME for one in copies)
    found: list[Found] = [(index, (), 1) for index in range(len(copies))]
    reasons, work = dict[str, str](), Work()
    for number, (instance, entries) in enumerate(instances):
        some = [copies[index] for index, *_ in found]
        given = text, module, loaded, instance, entries, tiles_of(some), is_in_turn
        same, said = _tried_instance(_Trial(*given, work=work), some)
        # At other sizes than in another instance: no one launch serves both.
        of_all = [(found[place][0], divided, by) for place, divided, by in same]
        found = [one for one in of_all if one in found or number == 0]
        reasons |= said
    kept = {copies[index].name for index, *_ in found}
    rest = dict.fromkeys((one.name for one in copies), _OTHER_INSTANCES) | reasons
    return found, {name: said for name, said in rest.items() if name not in kept}


def _tried_instance(trial: _Trial, copies: Copies) -> tuple[list[Found], dict[str, str]]:
    """Which copies do what one instance of the kernel does; and what others do, or some alike."""
    found, reasons = list[Found](), dict[str, str]()
    if reason := trial.obstacle(trial.entries[trial.kernel.name]):
        return found, dict.fromkeys((one.name for one in copies), reason)
    for some in batches(copies, trial.order):
        tried = [copies[index] for index in some]
        watched = tuple(one.kernel for one in tried if not trial.is_in_turn)
        trial = replace(trial, tiles=tiles_of(tried), watched=watched, asked_sizes=(), noted=set())
        trial = replace(trial, asked_sizes=trial.asked(tried))
        reasons |= dict.fromkeys((copies[index].name for index in some), _OTHER_LAUNCHES)
        reasons |= trial.tried(copies, some, found)
        if found or len(trial.counted) > _ENOUGH:
            break
    names = dict.fromkeys(one.name for one in copies)
    left = f"{_NOT_PREFERRED}: {len(reasons)} of {len(names)} were tried"
    return found, dict.fromkeys(names, left) | reasons


@dataclass(frozen=True)
class _Trial:
    text: str
    module: Module
    loaded: LoadedModule
    kernel: Kernel
    entries: Mapping[str, str]
    tiles: tuple[Tile, ...]
    #: Do blocks of the copies what those of the kernel do, one after another?
    is_in_turn: bool
    watched: tuple[str, ...] = ()  # copies of which it is watched how they decide
    is_noted: bool = False
    noted: set[tuple[LoadedModule, str, Shape, TriedLaunch, int]] = field(default_factory=set)
    #: What is known of the kernel's own launches, at sizes of any copies.
    counted: dict[tuple[Shape, Assigned, Numbers], TriedLaunch | None] = field(default_factory=dict)
    ended: dict[tuple[Shape, TriedLaunch], Ended] = field(default_factory=dict)
    hazards: dict[Assigned, str] = field(default_factory=dict)  # by the checker
    #: What an entry may do beyond sizes that were tried.
    untried_of: dict[tuple[str, str], str] = field(default_factory=dict)
    #: Memory after launches, by their contents.
    expected: dict[tuple[Shape, TriedLaunch, int], list[bytes]] = field(default_factory=dict)
    #: Whether that of a copy is the same.
    same: dict[tuple[str, Shape, TriedLaunch, int], bool] = field(default_factory=dict)
    asked_sizes: tuple[int, ...] = ()  # beyond the usual ones
    sizes_of: SizesOfFunctions = field(default_factory=SizesOfFunctions)
    #: What all trials of the kernel have taken so far.
    work: Work = field(default_factory=Work)

    def order(self, copies: Copies) -> list[int]:
        """Return the places of copies, those first that may be chosen."""
        return tile_costs.in_order([*map(self._cost, copies)], tiles_of(copies))

    def _cost(self, copy: KernelVariant) -> tile_costs.Costs:
        if copy.tile is None or copy.kernel not in self.entries:
            return tile_costs.UNKNOWN
        entry = self.entries[copy.kernel]
        sizes = dict.fromkeys((*self._given.integers, *ASKED), tile_costs.SIZE)
        given = self._given.packed(self.loaded.kernel(entry), sizes, self._given.combined[0])
        return tile_costs.costs_of(self.loaded, entry, copy.tile, grid_at(copy.tile, sizes), given)

    def tried(self, copies: Copies, some: Sequence[int], found: list[Found]) -> dict[str, str]:
        """Try some copies: add those that do the same to `found`, and say what others do."""
        reasons: dict[str, str] = {}
        for domain in Domain:
            for index in some:
                copy, others = copies[index], [copies[i] for i, *_ in found]
                if copy.kernel not in self.entries or not may_join(copy, others):
                    continue
                if copy.tile and copy.tile.extents not in self._that_cover:
                    continue
                if not (differs := self.work.objection or self.difference(copy, domain)):
                    found.append((index, *self._sizes.divided(copy.tile, domain)))
                else:
                    reasons.setdefault(copy.name, differs)
        return reasons

    @cached_property
    def _that_cover(self) -> set[tuple[str, str, str]]:
        return that_cover(self.loaded, self.entries[self.kernel.name], self._given, self.tiles)

    # ---- what is asked of the code

    def obstacle(self, entry: str, most_shared: int = 0) -> str:
        """Return what of the code keeps its runs from telling about others; "" if nothing does.

        `most_shared`: bytes of dynamic shared memory of its blocks.
        """
        code = self.loaded.kernel(entry)
        if not code.oblivious:
            return ON_DATA.format(code.obliviousness.reason)
        if code.static_shared_bytes + most_shared > LARGEST_SHARED:
            return f"it needs {code.static_shared_bytes} bytes of shared memory"
        adds_rounded = any(site.kind == "atomic" and site.real for site in code.sites)
        # The blocks of the program add them in any order, too.
        if adds_rounded and not self.is_in_turn:
            return "it adds up rounded numbers by atomic operations"
        if self.kernel.block_use.order[1]:
            return OF_ORDER.format(self.kernel.block_use.order[0])
        kinds = {one.name: self._given.kind(n) for n, one in enumerate(self.kernel.parameters)}
        if other := next((name for name, kind in kinds.items() if kind is None), None):
            return f"a parameter is no number and no pointer to numbers: '{other}'"
        if len(code.parameters) != len(self.kernel.parameters):
            return "it has other parameters than its text"
        if not self._given.combined:
            return "it compares numbers that its launch tells with many others"
        if said := unknown_code(self.module, entry):
            return said
        writes = writes_to_constants(self.module, entry, self.kernel)
        return "it writes through a pointer to constants" if writes else ""

    def _functions(self, entry: str) -> list[Function]:
        return [self.module.functions[n] for n in functions_reached(self.module, entry)]

    def _untried(self, copy: KernelVariant, assigned: Sequence[Mapping[str, int]]) -> str:
        """What a kernel or its copy may do otherwise beyond the sizes that were tried."""
        tile = copy.tile
        assert tile is not None, "the copy of a tile"
        own, other = (self.entries[name] for name in (self.kernel.name, copy.kernel))
        through = (
            PointerParameters(self.module.functions[n], self._functions(n)) for n in (own, other)
        )
        if asks_for_more(*through):
            return "it accesses more bytes at once"
        if self.is_in_turn:
            # Its bodies are the kernel's, of the same blocks: what they make of sizes is the same.
            return ""
        tried = self._tried_sizes(tile, assigned)
        return self._untried_of(own, tried) or self._untried_of(other, tried)

    def _tried_sizes(self, tile: Tile, assigned: Sequence[Mapping[str, int]]) -> TriedSizes:
        names = {n: self.kernel.parameters[n].name for n in self._given.places_of_integers}
        return tried_sizes(tile, assigned, names, self._compared)

    def asked(self, copies: Copies) -> tuple[int, ...]:
        """Return sizes beyond the usual ones that the kernel and copies ask for.

        A launch may be too long for the largest of them.
        """
        found = set[int]()
        for copy in () if self.is_in_turn else copies:
            if copy.tile is None or copy.kernel not in self.entries:
                continue
            usual = [*self._sizes.assignments(copy.tile, Domain.ANY)]
            if not self._untried(copy, usual):
                continue
            tried = self._tried_sizes(copy.tile, usual)
            for entry in (self.entries[name] for name in (self.kernel.name, copy.kernel)):
                about = self._functions(entry), self.module.functions[entry], tried
                asked = self.sizes_of.asked(*about)
                if tried.limit < asked <= _FARTHEST_ASKED:
                    found.add(ceil(asked))
        return tuple(sorted(found))

    def _untried_of(self, entry: str, tried: TriedSizes) -> str:
        key = entry, repr(tried)
        if key not in self.untried_of:
            functions, kernel = self._functions(entry), self.module.functions[entry]
            self.untried_of[key] = self.sizes_of.untried(functions, kernel, tried)
        return self.untried_of[key]

    # ---- parameters

    @cached_property
    def _given(self) -> LaunchParameters:
        return LaunchParameters(self.kernel, self._compared)

    @cached_property
    def _literals(self) -> tuple[list[int], NDArray[np.uint32]]:
        """Sizes, and data, near the numbers that the kernel and its copies name."""
        each = (one for entry in self.entries.values() for one in self._functions(entry))
        near, words = near_numbers(*literals(each))
        most = _FARTHEST * max(covered(self.tiles), default=8)
        sizes = sorted(one for one in near if 0 <= one <= most)
        return sizes[:: max(1, len(sizes) // _NAMED)], words

    @cached_property
    def _contents(self) -> TrialContents:
        return TrialContents(self._literals[1])

    @cached_property
    def _compared(self) -> dict[int, frozenset[float]]:
        """Numbers with which the kernel or its copies compare real parameters, by their places."""
        found: dict[int, frozenset[float]] = {}
        for entry in self.entries.values():
            for place, numbers in tested_numbers(self.module.functions[entry]).items():
                found[place] = found.get(place, frozenset()) | numbers
        return found

    # ---- launches

    def difference(self, copy: KernelVariant, domain: Domain) -> str:
        """Return what a copy does otherwise at sizes of a domain, in words; "" if nothing."""
        tile, entry = copy.tile, self.entries[copy.kernel]
        assert tile is not None, "the copy of a tile"
        if reason := self.obstacle(entry, tile.shared):
            return reason
        # No launch is needed to refuse what is untried even if all of them can be.
        if reason := self._untried(copy, [*self._sizes.assignments(tile, domain)]):
            return reason
        # Where the program tells all grids, sizes need not be multiples of anything.
        is_any = self._sizes.multiple(tile) == 1 or (self.is_in_turn and not tile.names)
        if domain is Domain.MULTIPLES and is_any:
            return "too few of its launches can be tried"
        if self.is_in_turn and (reason := self._against_turns(tile, domain)):
            return reason
        launches = self._launches(tile, domain)
        self.work.instructions += sum(one.warp_instructions for one in launches)
        uneven = [one for one in launches if is_uneven(tile, dict(one.sizes))]
        each_has = Counter(launch.numbers for launch in launches)
        is_few = any(each_has[numbers] < _FEWEST for numbers in self._given.combined)
        is_parted = domain is Domain.ANY and has_parts(tile)
        least = _UNEVEN * len(self._given.combined) if is_parted else 0
        if is_few or len(uneven) < least:
            return "too few of its launches can be tried"
        if reason := self._untried(copy, [dict(launch.sizes) for launch in launches]):
            return reason
        rests = self._rests(tile) if domain is Domain.ANY and not self.is_in_turn else ()
        different = self._different(copy, launches) or self._different(copy, rests, _THOROUGH)
        if different is None:
            # Bodies of blocks in turn are the kernel's.
            watched = [(self.kernel.name, tile.own()), (copy.kernel, tile)][: 2 - self.is_in_turn]
            said = next((s for w in watched if (s := self._objection(*w, launches, domain))), "")
            return said or ("" if self.is_in_turn else self._by_other_functions(copy, launches))
        names = [one.name for one in self.kernel.parameters]
        return f"its results are others{different.said(names if self._compared else ())}"

    def _different(
        self, copy: KernelVariant, launches: Sequence[TriedLaunch], number: int = 0
    ) -> TriedLaunch | None:
        """The first launch with other results. `number`: of the first, for its contents."""
        side_by_side = 1 if self._variables.all() else host_threads()
        with ThreadPoolExecutor(side_by_side) as pool:
            for first in range(0, len(launches), 4 * side_by_side):
                some = launches[first : first + 4 * side_by_side]
                same = pool.map(partial(self._is_same, copy), some, count(number + first))
                if others := [one for one, is_same in zip(some, same, strict=True) if not is_same]:
                    return others[0]
        return None

    def _by_other_functions(self, copy: KernelVariant, launches: Sequence[TriedLaunch]) -> str:
        """Say whether a copy makes the same expressions of data."""
        if (others := self._others) is None:
            return "nothing is known of what it does with data"
        is_other = others._different(copy, launches[:_THOROUGH]) is not None
        return "its results are others where operations on data are" if is_other else ""

    @cached_property
    def _others(self) -> _Trial | None:
        made = with_functions(self.text, self.module, self._watched_entries)
        return replace(self, loaded=made, is_noted=True, expected={}, same={}) if made else None

    def _against_turns(self, tile: Tile, domain: Domain) -> str:
        """Why blocks that come in turn may find what they would not find by themselves."""
        each = [*self._sizes.assignments(tile, domain)]
        equal = [one for one in each if len({one[name] for name in self._given.integers}) < 2]
        for sizes, numbers in product(equal, self._given.combined):
            if (launch := self._counted(tile, sizes, numbers)) is not None:
                self._ended_well(tile, launch)
        # A stride that is shorter than a row makes a race of anything.
        has_race = any(tuple(one.items()) in self.hazards for one in equal)
        launches = [] if has_race else self._launches(tile, domain)
        # That a copy finds there what the block before has left is no answer.
        if any(_UNWRITTEN in self.hazards.get(tuple(one.items()), "") for one in each):
            return "a block reads shared memory that it has not written"
        several = [one for one in launches if has_several(tile, dict(one.sizes))]
        few = "" if len(several) >= _UNEVEN else "too few of its launches can be tried"
        return "its threads or blocks have a race" if has_race else few

    def _noted(
        self, kernel: str, tile: Tile, tried: Sequence[TriedLaunch], loaded: LoadedModule
    ) -> Iterator[None]:
        """Launch the kernel or a copy, of a module that notes what it does."""
        noting = replace(self, loaded=loaded, is_noted=True)
        kinds = range(3 if self.is_in_turn else 1)  # Else it is sizes that decide.
        # What asks whether a size is a small number may not have seen it in these.
        few = chain(islice(product(tried, kinds), _WATCHED), with_small_numbers(tried))
        for launch, contents in few:
            if (shape := shape_at(tile, launch.sizes)) is None:
                continue
            # What a launch notes it notes again.
            if (about := (loaded, kernel, shape, launch, contents)) not in self.noted:
                noting._run(self.entries[kernel], shape, launch, contents)
                self.noted.add(about)
                yield

    def _launches(self, tile: Tile, domain: Domain) -> list[TriedLaunch]:
        own = tile.own_block, tile.own_covered, tile.own_shared, tile.whole
        key = tile.extents, own, self._sizes.divided(tile, domain)
        if key not in self._known:
            made = (
                self._counted(tile, one, numbers)
                for one in self._sizes.assignments(tile, domain)
                for numbers in self._given.combined
            )
            # First those in which several blocks have much to do.
            counted = sorted(
                (launch for launch in made if launch is not None),
                key=lambda launch: -launch.warp_instructions,
            )
            ended_well = partial(self._ended_well, tile)
            launches = without_most_large(counted, ended_well, _THOROUGH, self.is_in_turn)
            # An odd number is no multiple of how many combinations of numbers there mostly are.
            few = launches[:: max(1, len(launches) // _THOROUGH) | 1]
            self._known[key] = [*few, *(one for one in launches if one not in few)]
        return self._known[key]

    def _rests(self, tile: Tile) -> list[TriedLaunch]:
        """Launches that leave each number of elements to the last block."""
        key = "rests", tile.extents, tile.own()
        if key not in self._known:
            sizes, numbers = self._sizes.rests(tile), self._given.combined[0]
            made = (self._counted(tile, one, numbers) for one in sizes)
            ended = (self._ended_well(tile, one) for one in made if one is not None)
            self._known[key] = [one for one in ended if one is not None]
        return [one for one in self._known[key] if is_within_a_block(tile, one)]

    @cached_property
    def _sizes(self) -> SizesTried:
        asked = (near for size in self.asked_sizes for near in (size, size + 1))
        return SizesTried(self._given.integers, self.tiles, [*self._literals[0], *asked])

    @cached_property
    def _known(self) -> dict[tuple[object, ...], list[TriedLaunch]]:
        return {}

    def _counted(
        self, tile: Tile, sizes: Mapping[str, int], numbers: Numbers
    ) -> TriedLaunch | None:
        """The program's launch at these sizes; None where there is none, it fails or takes long."""
        if (shape := shape_at(tile.own(), tuple(sizes.items()))) is None:
            return None
        key = shape, tuple(sizes.items()), numbers
        if key not in self.counted:
            self.counted[key] = self._counted_anew(*key)
        return self.counted[key]

    def _counted_anew(self, own: Shape, sizes: Assigned, numbers: Numbers) -> TriedLaunch | None:
        code = self.loaded.kernel(self.entries[self.kernel.name])
        given = self._given.packed(code, dict(sizes), numbers)
        grid, block, shared = own
        about: dict[str, Any] = {"shared_bytes": shared, "ghosts": GHOSTS, "trace": True}
        about["instruction_limit"] = self._sizes.longest
        try:
            counted = self.loaded.run(code.name, grid, block, given, **about)
        except CutuneError:
            return None
        self.work.instructions += counted.warp_instructions
        arrays = arrays_of(counted, self._given.offsets_of_pointers(code))
        return TriedLaunch(sizes, numbers, given, arrays, counted.warp_instructions)

    def _ended_well(self, tile: Tile, launch: TriedLaunch) -> TriedLaunch | None:
        """The program's launch; None where it has a race, or tells nothing."""
        shape = shape_at(tile.own(), launch.sizes)
        assert shape is not None, "a launch that was counted"
        key = shape, launch
        if key not in self.ended:
            self.ended[key] = self._ended_anew(*key)
        found, said = self.ended[key]
        if said:
            self.hazards[launch.sizes] = said
        return found

    def _ended_anew(self, own: Shape, launch: TriedLaunch) -> Ended:
        if not launch.arrays:
            return None, ""
        try:
            before, after = self._run(self.entries[self.kernel.name], own, launch, 0)
        except CutuneError:
            return None, ""
        except Hazards as found:
            return None, str(found)
        self.expected[own, launch, 0] = after
        # Where nothing is written nothing is learned, unless a number asks for that.
        tells = before != after or launch.numbers != self._given.combined[0]
        return launch if tells else None, ""

    def _is_same(self, copy: KernelVariant, launch: TriedLaunch, number: int) -> bool:
        tile = copy.tile
        assert tile is not None, "the copy of a tile"
        shape, own = shape_at(tile, launch.sizes), shape_at(tile.own(), launch.sizes)
        if shape is None or own is None:
            return False
        kinds = _RANDOM if self.is_noted else range(3)
        for contents in kinds if number < _THOROUGH else (kinds[number % len(kinds)],):
            key = copy.kernel, shape, launch, contents
            if key not in self.same:
                self.same[key] = self._is_same_anew(*key, own)
            if not self.same[key]:
                return False
        return True

    def _is_same_anew(
        self, copy: str, shape: Shape, launch: TriedLaunch, contents: int, own: Shape
    ) -> bool:
        places, key = [place for _, place, _ in launch.arrays], (own, launch, contents)
        try:
            if key not in self.expected:
                kernel = self.entries[self.kernel.name]
                self.expected[key] = self._run(kernel, own, launch, contents)[1]
            _, found = self._run(self.entries[copy], shape, launch, contents)
        except (CutuneError, Hazards):
            return False
        return same_numbers(found, self.expected[key], places)

    def _objection(
        self, kernel: str, tile: Tile, launches: Sequence[TriedLaunch], domain: Domain
    ) -> str:
        least = self._given.least(*self._sizes.divided(tile, domain))
        runs = partial(self._noted, kernel, tile, launches)
        return self._outcomes.objection(self.entries[kernel], runs, least)

    @cached_property
    def _outcomes(self) -> OutcomesBySizes:
        about = self._given.places_of_integers, self.is_in_turn, self.sizes_of
        code = self.text, self.module, self._watched_entries
        return OutcomesBySizes(partial(Outcomes, *code, *about))

    @property
    def _watched_entries(self) -> list[str]:
        return [self.entries[n] for n in (self.kernel.name, *self.watched) if n in self.entries]

    @cached_property
    def _variables(self) -> LaunchVariables:
        functions = (one for entry in self.entries.values() for one in self._functions(entry))
        return LaunchVariables(self.module, self.loaded, functions)

    def _run(
        self, entry: str, shape: Shape, launch: TriedLaunch, contents: int
    ) -> tuple[list[bytes], list[bytes]]:
        """Give all bytes before and after a launch. Raises CutuneError, Hazards."""
        variables = self._variables.drawn(contents)
        asked = [size for *_, size in launch.arrays] + [len(there) for there in variables]
        seed = [contents, *(value for _, value in launch.sizes)]
        drawn = iter(self._contents.of(seed, asked, contents))
        parameters, buffers = arrays_behind(launch, drawn)
        for there in variables:
            there[:] = next(drawn)
        memory = [*buffers, *self._variables.all()]
        before = [one.tobytes() for one in memory]
        most = self._sizes.longest + _LONGER * launch.warp_instructions
        about: dict[str, Any] = {"buffers": buffers, "instruction_limit": most}
        grid, block, shared = shape
        about |= {"shared_bytes": shared, "is_checked": not (contents or self.is_noted)}
        # Races are the same whatever is in memory; where blocks come in turn all are asked about.
        about |= {"until_found": not self.is_in_turn}
        self.loaded.run(entry, grid, block, parameters, **about)
        return before, [one.tobytes() for one in memory]
