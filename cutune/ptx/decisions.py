"""What trials of a kernel must have shown. Takes PTX, gives `Decision`s.

Trials run a kernel and its copy at some sizes. They tell nothing of a size at which an instruction
does what it did in no trial, as in `if (n > 50 && m > 50)` or `if (n / 1000 == 7)`. So a trial
counts what instructions do, and these have to be seen, in the kernel and in the copy:

- a comparison of sizes (`setp.gt.s32 %p, %n, 50`): true, and false;
- an operation that cuts off or limits a size (`n / m`, `min(n, 100)`): a result that is not 0, and
  none of its operands;
- a predicate that is used in another basic block, or combined with others: both ways there, too,
  since `p` and `q` may each be seen both ways, and `p && q` never true;
- what a predicate chooses (`selp`): another number than the one that is not chosen;
- a product of what predicates choose: no factor 0.

Nothing need be seen of

- what only the place of a thread in its block decides: each launch shows it (`of_place`);
- comparisons of an index, or of a loop's counter, with a size (`i < n`);
- comparisons that come out alike for all sizes from 1 on (`n > 0`);
- signs of numbers that cannot be negative, where no size is;
- comparisons of an index with a number that only the first blocks reach (`i - 63 < 0`);
- operations on data: hashes tell of these (`cutune/measure/trial_functions.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from math import inf

from cutune.ptx.named_numbers import REALS, literal, type_of
from cutune.ptx.of_place import (
    Body,
    in_uneven_loops,
    is_branch,
    labels_of,
    registers_of_places,
)
from cutune.ptx.taint import names, results, spaces
from cutune.ptx.tried_sizes import FollowedSizes
from cutune.ptx.types import LOADS, Instruction

#: So much may be taken from sizes at which it shows whether a number is below zero.
_MOVED = 64
#: What is chosen by an index and a larger multiple of a size has to show.
_MULTIPLE = 4
#: What has to show of the results of operations on integers: that they are not 0, and not the same
#: as an operand.
_NOT_ZERO = frozenset({"and", "shr", "div", "rem", "clz", "popc", "bfe", "bfind", "lop3", "shf"})
_NOT_SAME = frozenset({"and", "min", "max", "abs", "rem", "bfe"})
_LOGIC = frozenset({"and", "or", "xor", "not"})
_ROUNDED = frozenset({"add", "sub"})
#: Operations of numbers that are not negative, whose results are not.
_KEEPS_SIGN = frozenset(
    {"mov", "cvt", "add", "mul", "mad", "shl", "shr", "div", "rem", "min", "max", "or", "selp"}
)
_PRODUCTS = frozenset({"mul", "mad", "fma"})
#: Zero as PTX writes it, by the types of numbers.
ZEROS = {"f32": "0f00000000", "f64": "0d0000000000000000"}
#: Blocks that are there in most trials, in each dimension.
_FIRST_BLOCKS = 2
#: Writers of a register that are followed.
_DEEPEST = 12
#: In place of the basic block of a predicate that ways bring along.
_ANYWHERE = -1
#: Types of numbers that are compared in what is noted.
_WATCHED = frozenset({"s16", "u16", "b16", "s32", "u32", "b32", "s64", "u64", "b64", "f32", "f64"})
_OF_THREADS = frozenset({"%tid", "%ntid", "%laneid"})
_INDICES = ("%tid", "%ntid", "%ctaid", "%nctaid", "%laneid")


@dataclass(frozen=True)
class Decision:
    """An instruction, and what has to be seen of it: its predicate true and false, but for

    Attributes:
        differs_from: operands; its result has to differ from them.
        factors: operands; they have to be other than 0 at once.
        read: a predicate that it reads; this has to be true and false, where it is read.
    """

    instruction: Instruction
    differs_from: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    read: str = ""

    @property
    def is_of_operands(self) -> bool:
        """Is it told by what the instruction reads, before it writes?"""
        return bool(self.factors or self.read)

    @property
    def notes(self) -> int:
        """How many things are noted: both outcomes; or that it was come to, and what shows."""
        return len(self.differs_from) + 1 if self.differs_from else 2


class Decisions:
    """The decisions of a function.

    Args:
        values: sizes, followed through its registers.
        least: the least value of each size, by the place of its parameter; 1 where it is missing.
    """

    def __init__(self, values: FollowedSizes, least: Mapping[int, int] | None = None) -> None:
        self._instructions, self._values = values.instructions, values
        self._least_sizes = least or {}
        self._settled, self._zeros = set[str](), set[str]()

    def found(self, of_data: bool = False) -> Iterator[Decision]:
        """Yield what has to be seen; `of_data`: only comparisons of loaded data."""
        #: Of predicates that have to show, the basic block that has them.
        set_in: dict[str, int] = {}
        for block, one in _in_blocks(self._values.body):
            if of_data:
                yield from (
                    (Decision(one),) if one.opcode == "setp" and self._is_of_data(one) else ()
                )
                continue
            for decision in () if self._is_of_data(one) else self._of(one):
                yield decision
                set_in.update(dict.fromkeys(results(one), block))
            if type_of(one, 0) == "pred" and one.opcode == "mov" and one.operands[1] in set_in:
                set_in[one.operands[0]] = _ANYWHERE
            yield from self._of_choices(one)
            read = {one.guard, *(one.operands[-1:] if one.opcode == "selp" else ())}
            elsewhere = (name for name in sorted(read) if set_in.get(name, block) != block)
            yield from (Decision(one, read=name) for name in elsewhere)

    def _of(self, one: Instruction) -> Iterator[Decision]:
        """What has to be seen of the result of one instruction."""
        if one.opcode == "setp":
            if self._is_asked(one):
                yield Decision(one)
            else:
                self._settled.update(results(one))
        elif type_of(one, 0) == "pred" and one.opcode in _LOGIC:
            if self._settled.issuperset(self._values.read(one)):
                self._settled.update(results(one))
            else:
                yield Decision(one)
        elif self._is_open(one) and (others := self._others(one)):
            yield Decision(one, others)

    # ---- numbers that comparisons choose

    def _of_choices(self, one: Instruction) -> Iterator[Decision]:
        """What has to be seen where predicates choose a number, or it is a factor.

        Each of two predicates may be seen both ways, and yet never both true at once.
        """
        if type_of(one, 0) not in _WATCHED:
            return
        pair = one.operands[1:3]
        if one.opcode in _PRODUCTS and not self._derived.isdisjoint(pair):
            yield Decision(one, factors=tuple(name for name in pair if name[0] == "%"))
        elif one.opcode in ("selp", "or"):
            others = pair[::-1] if one.opcode == "selp" else pair
            is_asked = one.operands[-1] in self._asked
            kept = (
                o for own, o in zip(pair, others, strict=True) if is_asked or own in self._derived
            )
            if differs_from := tuple(kept):
                yield Decision(one, differs_from)

    def _is_of_data(self, one: Instruction) -> bool:
        """Does it read what depends on data, also by predicates?"""
        return not self._of_data.isdisjoint(self._values.read(one))

    @cached_property
    def _of_data(self) -> set[str]:
        found, size = {*self._values.loaded}, -1
        while size != (size := len(found)):
            for one in self._instructions:
                if not found.isdisjoint(self._values.read(one)):
                    found.update(results(one))
            found |= self._chosen_by_branches(found)
        return found

    @property
    def _asked(self) -> set[str]:
        return self._choices[0]

    @property
    def _derived(self) -> set[str]:
        return self._choices[1]

    @cached_property
    def _choices(self) -> tuple[set[str], set[str]]:
        """Predicates that have to be seen, and registers that depend on these.

        A load from shared or local memory depends on them where any store there does.
        """
        asked, found, kept, size = set[str](), set[str](), set[str](), -1
        while size != (size := len(asked) + len(found) + len(kept)):
            for one in self._instructions:
                read = {*self._values.read(one)}
                is_derived = not found.isdisjoint(read)
                follows = not asked.isdisjoint(read)
                if one.opcode == "setp":
                    is_decided = not self._is_of_data(one) and self._is_asked(one, _MULTIPLE)
                    asked.update(results(one) if is_derived or is_decided else ())
                elif type_of(one, 0) == "pred":
                    asked.update(results(one) if follows else ())
                elif one.opcode in LOADS:
                    found.update(results(one) if not kept.isdisjoint(spaces(one)) else ())
                elif one.opcode in ("st", "atom", "red"):
                    kept |= {"shared", "local"} & spaces(one) if is_derived else set()
                elif is_derived or follows:
                    found.update(results(one))
            found |= self._chosen_by_branches(asked)
        return asked, found

    def _chosen_by_branches(self, asked: Set[str]) -> set[str]:
        """Registers with several writers, one of which is behind a branch by these predicates."""
        body, labels, found = self._values.body, labels_of(self._values.body), set[str]()
        writers = Counter(name for one in self._instructions for name in results(one))
        for place, one in enumerate(body):
            if not is_branch(one) or one.guard not in asked:
                continue
            end = labels[one.operands[-1]]
            before = body[end - 1]
            if is_branch(before) and not before.guard:
                end = max(end, labels[before.operands[-1]])
            within = (item for item in body[place:end] if isinstance(item, Instruction))
            found.update(name for item in within for name in results(item) if writers[name] > 1)
        return found

    # ---- what trials show anyway

    def _is_open(self, one: Instruction) -> bool:
        """Does it depend on more than the place of a thread in its block?"""
        read = {name for name in self._values.read(one) if name[0] == "%"}
        return not read <= self._of_place | _OF_THREADS

    @cached_property
    def _of_place(self) -> frozenset[str]:
        return registers_of_places(self._values.body)

    def _is_asked(self, one: Instruction, multiple: float = inf) -> bool:
        """Does a comparison decide by sizes, and not in a way that shows anyway?

        `multiple`: of a size, with which an index is compared at most.
        """
        is_usual = self._is_of_index(one, multiple) or self._is_certain(one)
        return self._is_open(one) and not (is_usual or self._is_of_first_blocks(one))

    def _is_of_index(self, one: Instruction, multiple: float = inf) -> bool:
        """Is an index, or what a loop counts, compared with a size?

        What is chosen so, and what is behind several such, shows at sizes that are tried: each
        adds to a size, or multiplies it by little.
        """
        sizes = [name for name in one.operands[1:3] if name in self._values.scales]
        others = [name for name in sizes if name not in self._indices]
        is_small = all(self._values.scales[name] * multiple >= 1 for name in others)
        moved = max(map(self._values.moved_by, others), default=0)
        is_asked = multiple < inf and len(others) != 1
        return len(sizes) == 2 and len(others) < 2 and not is_asked and is_small and moved <= _MOVED

    def _is_of_first_blocks(self, one: Instruction) -> bool:
        """Is an index of one dimension, made of places and numbers alone, compared with a number,
        and larger in all but the first blocks? These are in trials, with all their rounds of loops
        that end alike in all launches.
        """
        number = literal(one.operands[2]) if one.opcode == "setp" else None
        if number is None or type_of(one, 0)[:1] != "s":
            return False
        of_blocks = set[str]()
        least = self._in_later_blocks(one.operands[1], of_blocks, ())
        return least is not None and least > number and len(of_blocks) == 1

    def _in_later_blocks(
        self, name: str, of_blocks: set[str], within: tuple[str, ...]
    ) -> int | None:
        """What a register holds at least where the places of blocks are; None: nobody knows.

        `of_blocks` gets the places that it is made of; `within`: registers that are made of it.
        """
        if (number := literal(name)) is not None:
            return number
        if name.startswith("%ctaid"):
            of_blocks.add(name)
            return _FIRST_BLOCKS
        if name.startswith(("%tid", "%ntid")):
            return 0
        writers = [*self._values.writers.get(name, ())]
        # A loop that goes on with it makes it larger.
        steps = [one for one in writers if _goes_up(one, name)]
        first = [one for one in writers if one not in steps]
        # Which of several it is must not follow from sizes.
        is_one = len(first) == 1 or (bool(first) and name in self._of_place)
        if name in within or len(within) > _DEEPEST or not is_one:
            return None
        if any(id(one) in self._in_uneven for one in steps):
            return None
        found = list[int]()
        for one in first:
            each = [self._in_later_blocks(o, of_blocks, (*within, name)) for o in one.operands[1:]]
            known = [least for least in each if least is not None]
            if len(known) < len(each) or one.guard:
                return None
            is_positive = one.opcode == "or" and min(known) >= 0
            least = 0 if is_positive else _least_of(one, known)
            if least is None:
                return None
            found.append(least)
        return min(found)

    @cached_property
    def _in_uneven(self) -> frozenset[int]:
        """Instructions, by identity, of loops whose rounds are others at other sizes."""
        body = self._values.body
        return frozenset(id(body[place]) for place in in_uneven_loops(body, self._of_place))

    @cached_property
    def _indices(self) -> frozenset[str]:
        """Registers of sizes that follow from places, or that loops go on with."""
        found, size = {*self._values.carried}, -1
        while size != (size := len(found)):
            for one in self._instructions:
                read = self._values.read(one)
                is_place = any(name.startswith(_INDICES) for o in read for name in names(o))
                if one.opcode != "setp" and (is_place or not found.isdisjoint(read)):
                    found.update(results(one))
        return frozenset(found)

    def _is_certain(self, one: Instruction) -> bool:
        """Does a comparison with a number come out alike for all sizes from the least on?"""
        known = [literal(o) for o in one.operands[1:3]]
        if len(one.operands) != 3 or known.count(None) != 1 or type_of(one, 0) in REALS:
            return False
        number, name = (
            (known[0], one.operands[2]) if known[1] is None else (known[1], one.operands[1])
        )
        least = self._least(name)
        assert number is not None, "one of both is"
        if number < 0 and type_of(one, 0)[0] != "s":
            return False
        # Whether an end of `<=` belongs to it depends on the side.
        is_strict = not {"lt", "ge", "lo", "hs"}.isdisjoint(one.modifiers) and known[1] is not None
        return least is not None and (least >= number if is_strict else least > number)

    def _least(self, name: str, depth: int = 0) -> int | None:
        """What a register holds at least for all sizes from the least on; None: nobody knows."""
        if (number := literal(name)) is not None:
            return number
        if name.startswith(_INDICES):
            return 0
        if name not in self._leasts and depth <= _DEEPEST:
            # Nobody knows it of what is made of itself.
            self._leasts[name] = None
            self._leasts[name] = self._least_anew(name, depth)
        return self._leasts.get(name)

    @cached_property
    def _leasts(self) -> dict[str, int | None]:
        return {}

    def _least_anew(self, name: str, depth: int) -> int | None:
        writers = self._values.writers.get(name, ())
        # A loop that goes on with it makes it larger.
        first = [one for one in writers if not _goes_up(one, name)]
        if not first or any(one.guard for one in writers):
            return None
        each = [self._least_written(one, name, depth + 1) for one in first]
        known = [least for least in each if least is not None]
        return min(known) if len(known) == len(each) else None

    def _least_written(self, one: Instruction, name: str, depth: int) -> int | None:
        if one.opcode in LOADS:
            is_size = "param" in spaces(one) and name in self._values.scales
            place = self._values.place(one) if is_size else None
            return (1 if place is None else self._least_sizes.get(place, 1)) if is_size else None
        each = [self._least(o, depth) for o in one.operands[1:]]
        known = [least for least in each if least is not None and least >= 0]
        if len(known) < len(each):
            # What is taken away from a size.
            is_sum = one.opcode == "add" and None not in each
            return sum(least for least in each if least is not None) if is_sum else None
        if one.opcode == "shr" and literal(one.operands[2]) is not None:
            return known[0] >> known[1]
        return max(known) if one.opcode == "or" else _least_of(one, known)

    def _others(self, one: Instruction) -> tuple[str, ...]:
        kind = type_of(one, 0)
        if kind in REALS:
            is_of_launch = not self._values.reals.isdisjoint(self._values.read(one))
            is_asked = is_of_launch and one.opcode in _ROUNDED and kind in ZEROS
            return (ZEROS[kind],) if is_asked else ()
        if one.opcode not in _NOT_ZERO | _NOT_SAME:
            return ()
        is_sign = one.opcode in ("shr", "abs", "max") and self._has_no_sign(one)
        is_usual = one.opcode in ("min", "max") and self._is_of_index(one)
        if one.opcode == "max" and (number := literal(one.operands[2])) is not None:
            least = self._least(one.operands[1])
            is_usual |= least is not None and least >= number
        if is_sign and one.opcode == "shr":
            self._zeros.update(results(one))
        if is_sign or is_usual or one.operands[1] in self._zeros:
            return ()
        operands = one.operands[1:3] if one.opcode in ("min", "max") else one.operands[1:2]
        same = operands if one.opcode in _NOT_SAME else ()
        return ("0",) * (one.opcode in _NOT_ZERO) + tuple(same)

    # ---- signs

    def _has_no_sign(self, one: Instruction) -> bool:
        """Is it about the sign of a number that is not negative?"""
        first, last = one.operands[1], literal(one.operands[-1])
        if one.opcode == "shr" and last != int(type_of(one, 0)[1:]) - 1:
            return False
        if one.opcode == "max" and last != 0:
            return False
        return _is_positive(first, self._positive)

    @cached_property
    def _positive(self) -> frozenset[str]:
        """Registers of integers that are not negative where no size is."""
        found = {name for one in self._instructions for name in results(one)}
        is_less = True
        while is_less:
            before = len(found)
            for one in self._instructions:
                if not self._keeps_sign(one, found):
                    found.difference_update(results(one))
            is_less = len(found) < before
        return frozenset(found)

    @staticmethod
    def _keeps_sign(one: Instruction, positive: set[str]) -> bool:
        # What a little is taken from is below zero at sizes that were tried, if anywhere.
        least = -_MOVED if one.opcode == "add" else 0
        if one.opcode in LOADS:
            return "param" in spaces(one) and type_of(one, 0) not in REALS
        if one.opcode == "and":
            return any(_is_positive(operand, positive) for operand in one.operands[1:])
        operands = one.operands[1:3] if one.opcode == "selp" else one.operands[1:]
        are_positive = all(_is_positive(operand, positive, least) for operand in operands)
        return one.opcode in _KEEPS_SIGN and are_positive


def _goes_up(one: Instruction, name: str) -> bool:
    """Does it add a number above zero to a register?"""
    others = [o for o in one.operands[1:] if o != name]
    return one.opcode == "add" and len(others) == 1 and (literal(others[0]) or 0) > 0


def _least_of(one: Instruction, known: list[int]) -> int | None:
    """What an instruction gives at least, of operands that are at least these."""
    factors = known[: 1 if one.opcode == "shl" else 2]
    if one.opcode in ("mul", "mad", "shl") and ("hi" in one.modifiers or min(factors) < 0):
        return None
    match one.opcode:
        case "mov" | "cvt":
            return known[0]
        case "add":
            return known[0] + known[1]
        case "mul":
            return known[0] * known[1]
        case "mad":
            return known[0] * known[1] + known[2]
        case "shl" if literal(one.operands[2]) is not None:
            return known[0] << min(known[1], 64)
    return None


def _in_blocks(body: Body) -> Iterator[tuple[int, Instruction]]:
    """The instructions of a body, each with the number of its basic block."""
    block = 0
    for item in body:
        if isinstance(item, Instruction):
            yield block, item
        if not isinstance(item, Instruction) or item.opcode in ("bra", "brx", "ret", "exit"):
            block += 1


def _is_positive(operand: str, positive: Set[str], least: int = 0) -> bool:
    """Is it a register of these, an index, or a number that is not less than the least one?"""
    if (number := literal(operand)) is not None:
        return number >= least
    return operand in positive or operand.startswith(_INDICES)
