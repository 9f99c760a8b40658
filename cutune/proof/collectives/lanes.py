"""The values of a register in all threads of a block: numbers, parts of sums, or terms.

A part is the sum of what some threads have, each once. A term is an expression that is the same
with any block: made of values that do not depend on it, and of whole sums.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from cutune.proof.values.predicates import Value
from cutune.proof.values.terms import WARP

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]

UNKNOWN, NUMBER, PART, TERM = range(4)
_WORD = 64
#: A number of 64 bits without a sign.
_MOST_BITS = (1 << 64) - 1

#: Operations that may be done in any order and in parts, by which threads combine values.
COMBINING = frozenset({"add", "mul", "min", "max", "and", "or", "xor"})
_IDEMPOTENT = frozenset({"min", "max", "and", "or"})
_REAL_NEUTRAL = {
    "add.f32": (0, 1 << 31),
    "add.f64": (0, 1 << 63),
    "mul.f32": (0x3F800000,),
    "mul.f64": (0x3FF0000000000000,),
    "max.f32": (0xFF800000,),
    "max.f64": (0xFFF0000000000000,),
    "min.f32": (0x7F800000,),
    "min.f64": (0x7FF0000000000000,),
}


def combining(opcode: str, modifiers: Sequence[str]) -> str:
    """Return the operation by which an instruction combines values, `add.f32`; empty: by none."""
    kind = modifiers[-1] if modifiers else ""
    if opcode not in COMBINING or not set(modifiers[:-1]) <= {"rn", "ftz", "lo"}:
        return ""
    if kind[:1] in ("s", "u", "b") and opcode not in ("min", "max"):
        kind = f"b{kind[1:]}"  # modulo 2^w they do not ask for a sign
    # Flushed maxima are other ones; sums are rounded anyway.
    flushed = ".ftz" if "ftz" in modifiers and opcode in ("min", "max") else ""
    return f"{opcode}{flushed}.{kind}"


def neutral(operation: str) -> tuple[int, ...]:
    """Return the numbers, as a register holds them, that an operation such as `add.f32` ignores."""
    operation = operation.replace(".ftz", "")
    if operation in _REAL_NEUTRAL:
        return _REAL_NEUTRAL[operation]
    name, _, kind = operation.partition(".")
    if kind[:1] not in ("s", "u", "b") or not kind[1:].isdigit():
        return ()
    bits = int(kind[1:])
    least, most = (1 << (bits - 1), (1 << (bits - 1)) - 1) if kind[0] == "s" else (0, -1)
    number = {"max": least, "min": most, "and": -1, "mul": 1}.get(name, 0)
    return (number & ((1 << bits) - 1),)


def can_begin(operation: str, number: int) -> bool:
    """Tell whether each thread may begin its sum with a number, held as a register does.

    A NaN would be lost where others are combined with a number that is neutral, and so would -0.
    """
    if not is_idempotent(operation):
        return number in neutral(operation)[:1]
    name = operation.rpartition(".")[2]
    return not name.startswith(("f", "bf")) or not _is_nan(name, number)


def _is_nan(kind: str, number: int) -> bool:
    infinity = {"f32": 0x7F800000, "f64": 0x7FF0000000000000}.get(kind)
    return infinity is None or number & ((1 << infinity.bit_length()) - 1) > infinity


def is_idempotent(operation: str) -> bool:
    """Tell whether combining a value with itself gives that value."""
    return operation.partition(".")[0] in _IDEMPOTENT


def is_rounded(operation: str) -> bool:
    """Tell whether another order may give another result, because results are rounded."""
    name, _, kind = operation.partition(".")
    return name in ("add", "mul") and kind.startswith(("f", "bf"))


@dataclass(frozen=True)
class Summand:
    """What each thread adds to a sum.

    `operation`: empty before the first one. `first`: the bits with which each thread's own sum
    began, which a further operation with them does not change where it is idempotent; `begun`: the
    value, where that is no number. `maps`: functions that made each thread's value another one,
    with what all threads share.
    """

    value: Value
    operation: str
    first: int | None = None
    begun: Value | None = None
    maps: tuple[tuple[object, ...], ...] = ()


#: Functions that multiply by their other operand, if there is one.
_SCALING = re.compile(
    r"(?:mul(?:\.rn|\.ftz)*|div(?:\.\w+)+|neg(?:\.ftz)?)\.f(?:32|64)|mul\.lo\.[su]32"
)
#: Terms that are made of no others.
_LEAVES = frozenset({"number", "value", "param"})


@dataclass
class Terms:
    """Expressions and summands, each with a number of its own.

    `threads`: of the block. `of_lanes`: is the sum of all threads with some lanes a whole one, too?
    """

    threads: int = 0
    of_lanes: bool = False
    _numbers: dict[object, int] = field(default_factory=dict)
    _objects: list[object] = field(default_factory=list)

    def number(self, of: object) -> int:
        """Return the number of an expression or a summand, the same for equal ones."""
        number = self._numbers.get(of)
        if number is None:
            number = self._numbers[of] = len(self._objects)
            self._objects.append(of)
        return number

    def summand(self, number: int) -> Summand:
        """Return the summand of this number."""
        found = self._objects[number]
        assert isinstance(found, Summand), "a part is one of a sum"
        return found

    def is_share(self, number: int, operation: str) -> bool:
        """Tell whether terms of all blocks, combined by `operation`, give one of their whole sum.

        So do sums of all threads of a block, also times what is the same in all blocks: that
        differs by how it is rounded. An integer wraps around in either.
        """
        match self._objects[number]:
            case ("total", int(summand)):
                return self.summand(summand).operation == operation
            case ("cvt.f64.f32", int(inner)):
                return operation == "add.f64" and self.is_share(inner, "add.f32")
            case (str(name), int(first), *others) if _SCALING.fullmatch(name):
                kind = name.rpartition(".")[2]
                is_typed = operation == f"add.{kind if kind[0] == 'f' else f'b{kind[1:]}'}"
                scales = [one for one in others if isinstance(one, int)]
                if name.startswith("mul") and self.is_sum(scales[0]):
                    first, scales = scales[0], [first]
                is_scaled = not any(map(self.is_sum, scales)) and self.is_share(first, operation)
                return is_typed and is_scaled
        return False

    def literal(self, number: int) -> int | None:
        """Return the number that a term is; None for other terms."""
        match self._objects[number]:
            case ("number", int(literal)):
                return literal
        return None

    def is_sum(self, number: int) -> bool:
        """Tell whether a term is made of the whole sum of a block, perhaps among others."""
        match self._objects[number]:
            case ("total", int(), *_):
                return True
            case (str(name), *operands) if name not in _LEAVES:
                return any(self.is_sum(one) for one in operands if isinstance(one, int))
        return False


@dataclass(frozen=True)
class Lanes:
    """A register in all threads. Arrays have one entry per thread.

    Also the elements of a shared array, one entry each. `kind`: one of the four above. `data`: the
    number, or that of the term or summand. `threads`: which threads' values a part holds, as bits.
    `piece`: which half of a 64-bit value it is, or -1.
    """

    kind: npt.NDArray[np.uint8]
    data: Numbers
    threads: Words | None = None
    piece: int = -1

    @property
    def count(self) -> int:
        """The number of entries."""
        return len(self.kind)

    @property
    def is_number(self) -> bool:
        """Does every thread have a number, all of it?"""
        return self.piece < 0 and (
            self.kind is alike(len(self.kind), NUMBER) or are_all(self.kind == NUMBER)
        )

    def are_numbers(self, where: Flags) -> bool:
        """Tell whether all these threads have numbers, and no halves of them."""
        return self.piece < 0 and (
            self.kind is alike(len(self.kind), NUMBER) or are_all(self.kind[where] == NUMBER)
        )

    def taken(self, places: Numbers) -> Lanes:
        """Return the lanes in which thread t has the value of thread `places[t]`."""
        threads = self.threads[places] if self.threads is not None else None
        if self.kind is alike(len(self.kind), NUMBER):
            return Lanes(alike(len(places), NUMBER), self.data[places], threads, self.piece)
        return Lanes(self.kind[places], self.data[places], threads, self.piece)

    def spread(self, places: Numbers, count: int) -> Lanes:
        """Return so many lanes, of which those at `places` have these values."""
        kind, data = np.zeros(count, np.uint8), np.zeros(count, np.int64)
        kind[places], data[places] = self.kind, self.data
        if self.threads is None:
            return Lanes(kind, data, None, self.piece)
        threads = np.zeros((count, self.threads.shape[1]), np.uint64)
        threads[places] = self.threads
        return Lanes(kind, data, threads, self.piece)

    def written(self, where: Flags, value: Lanes) -> Lanes:
        """Return the lanes in which these threads have another value."""
        count = int(np.count_nonzero(where))
        if count == where.size:
            return value
        has_threads = self.threads is not None or value.threads is not None
        if count == 0 and self.piece == value.piece and has_threads == (self.threads is not None):
            return self
        threads = None
        if has_threads:
            threads = np.where(where[:, None], value.words(self), self.words(value))
        if self.kind is value.kind and self.piece == value.piece:
            return Lanes(self.kind, np.where(where, value.data, self.data), threads, self.piece)
        # Halves and whole values do not stand in one register.
        before = self.kind if value.piece == self.piece else np.uint8(UNKNOWN)
        kind = np.where(where, value.kind, before).astype(np.uint8)
        return Lanes(kind, np.where(where, value.data, self.data), threads, value.piece)

    def in_register(self, bits: int) -> Lanes:
        """Return the same, with numbers as a register of so many bits holds them."""
        if bits >= 64 or self.piece >= 0:
            return self
        short = self.data & np.int64((1 << bits) - 1)
        if self.kind is not alike(len(self.kind), NUMBER):
            short = np.where(self.kind == NUMBER, short, self.data)
        return Lanes(self.kind, short, self.threads)

    def equals(self, other: Lanes) -> bool:
        """Tell whether all threads have the same values in both, which may be halves of them."""
        return (
            np.array_equal(self.kind, other.kind)
            and np.array_equal(self.data, other.data)
            and np.array_equal(self.words(other), other.words(self))
        )

    def words(self, like: Lanes) -> Words:
        """Return the bits of threads; none, in as many words as another one has them."""
        if self.threads is not None:
            return self.threads
        width = like.threads.shape[1] if like.threads is not None else 0
        return np.zeros((self.count, width), np.uint64)

    def whole_sums(self, threads: int) -> Flags:
        """Tell for each entry whether it is a part that holds the values of so many threads."""
        if self.threads is None:
            return np.zeros(self.count, np.bool_)
        is_whole: Flags = self.kind == PART
        for word, whole in enumerate(_all_threads(threads)):
            if not np.count_nonzero(is_whole):
                break
            is_whole &= self.threads[:, word] == whole
        return is_whole

    def sums_of_lanes(self, threads: int) -> Numbers:
        """Return for each entry the lanes, as bits, of which it holds all threads; 0: others too.

        Lanes are as in all warps of a block, which has so many threads.
        """
        if self.threads is None:
            return np.zeros(self.count, np.int64)
        words = np.ascontiguousarray(self.threads).astype("<u8").view("<u4")
        warps = words[:, : threads // WARP]
        is_alike = (warps == warps[:, :1]).all(axis=1) & (self.kind == PART)
        return np.where(is_alike, warps[:, 0].astype(np.int64), np.int64(0))


@cache
def alike(count: int, kind: int) -> npt.NDArray[np.uint8]:
    """Return so many entries of one kind, an array for all that asks: it is known by itself."""
    kinds = np.full(count, kind, np.uint8)
    kinds.flags.writeable = False
    return kinds


def are_all(flags: Flags) -> bool:
    """Tell what `flags.all()` does, in a fifth of its time for as few as a block has threads."""
    return int(np.count_nonzero(flags)) == flags.size


def distinct(values: Numbers) -> list[int]:
    """Return the values, each once, in order."""
    return sorted({*values.tolist()})


def words_of(width: int) -> int:
    """Return the words of 64 bits that hold a bit per thread."""
    return -(-width // _WORD)


@cache
def _all_threads(width: int) -> Words:
    whole: Words = np.bitwise_or.reduce(own_threads(width), axis=0)
    return whole


def own_threads(width: int) -> Words:
    """Return the bits of a part that holds the value of its own thread alone."""
    words = np.zeros((width, words_of(width)), np.uint64)
    threads = np.arange(width)
    words[threads, threads // _WORD] = np.uint64(1) << (threads % _WORD).astype(np.uint64)
    return words


def unknown(width: int) -> Lanes:
    """Return lanes of which nothing is known."""
    return Lanes(alike(width, UNKNOWN), np.zeros(width, np.int64))


def numbers(values: Numbers) -> Lanes:
    """Return lanes that hold numbers."""
    return Lanes(alike(len(values), NUMBER), values)


def uniform(width: int, kind: int, data: int) -> Lanes:
    """Return lanes that are alike in all threads."""
    return Lanes(alike(width, kind), np.full(width, data, np.int64))


def own_parts(width: int, summand: int) -> Lanes:
    """Return lanes in which each thread has its own summand."""
    own = uniform(width, PART, summand)
    return Lanes(own.kind, own.data, own_threads(width))


def as_terms(lanes: Lanes, terms: Terms) -> Numbers:
    """Return the number of each entry's term; -1 where it has none, as a part of a sum."""
    if lanes.piece >= 0:
        return np.full(lanes.count, -1, np.int64)
    found = np.where(lanes.kind == TERM, lanes.data, np.int64(-1))
    if terms.of_lanes and lanes.threads is not None:
        of_lanes = lanes.sums_of_lanes(terms.threads)
        for place in np.flatnonzero(of_lanes):
            total = "total", int(lanes.data[place]), int(of_lanes[place])
            found[place] = terms.number(total)
    for name, where in (
        ("number", lanes.kind == NUMBER),
        ("total", lanes.whole_sums(terms.threads)),
    ):
        if np.count_nonzero(where):
            found[where] = _numbered(name, lanes.data[where], terms)
    return found


def _numbered(name: str, values: Numbers, terms: Terms) -> Numbers | int:
    """The numbers of the terms that are made of these values, or that of all of them."""
    if are_all(values == values[0]):
        return terms.number((name, int(values[0])))
    each, places = np.unique(values, return_inverse=True)
    return np.array([terms.number((name, int(value))) for value in each], np.int64)[places]


def negated(value: Lanes) -> Lanes:
    """Return the opposite of truth values, where these are numbers."""
    return Lanes(value.kind, np.where(value.kind == NUMBER, 1 - value.data, -1))


def applied(name: str, operands: Sequence[Lanes], terms: Terms) -> Lanes:
    """Return the terms that a function gives: the same for the same operands."""
    columns, count = list[Numbers](), operands[0].count
    known = np.ones(count, np.bool_)
    for one in operands:
        columns.append(as_terms(one, terms))
        known &= columns[-1] >= 0
        if not np.count_nonzero(known):
            return unknown(count)
    if all(are_all(column == column[0]) for column in columns):
        number = terms.number((name, *(int(column[0]) for column in columns)))
        return uniform(count, TERM, number)
    places = np.flatnonzero(known)
    rows = [*zip(*(column[places].tolist() for column in columns), strict=True)]
    ids = {row: terms.number((name, *row)) for row in sorted({*rows})}
    data = np.full(count, -1, np.int64)
    data[places] = [ids[row] for row in rows]
    return Lanes(np.where(known, np.uint8(TERM), np.uint8(UNKNOWN)), data)


def combined(operation: str, first: Lanes, second: Lanes, terms: Terms) -> Lanes:
    """Return both combined by `operation`, as `add.f32`: parts become larger, all else terms."""
    if first.piece >= 0 or second.piece >= 0:
        return applied(operation, (first, second), terms)
    joined = _joined_parts(operation, first, second, terms)
    is_joined: Flags = joined.kind != UNKNOWN
    if are_all(is_joined):
        return joined
    result = applied(operation, (first, second), terms)
    for one, other in ((first, second), (second, first)):
        is_neutral = _are_neutral(operation, one)
        if np.count_nonzero(is_neutral):
            result = result.written(is_neutral & _is_kept(operation, other, terms), other)
    return result.written(is_joined, joined)


def _are_neutral(operation: str, lanes: Lanes) -> Flags:
    """Tell which entries are numbers that an operation ignores."""
    are_numbers: Flags = lanes.kind == NUMBER
    if np.count_nonzero(are_numbers):
        are_numbers &= _among(lanes.data, _signed(neutral(operation)))
    return are_numbers


def _among(values: Numbers, few: Iterable[int]) -> Flags:
    """Tell what `np.isin` does, in less time for few numbers."""
    found = np.zeros(len(values), np.bool_)
    for number in few:
        found |= values == number
    return found


def _is_kept(operation: str, lanes: Lanes, terms: Terms) -> Flags:
    """Tell which entries an operation with its neutral number leaves as they are.

    Of floating-point numbers, parts alone: a NaN or a subnormal number may change.
    """
    if operation not in _REAL_NEUTRAL and not operation.startswith(("min.ftz", "max.ftz")):
        known: Flags = lanes.kind != UNKNOWN
        return known
    made = [n for n in {*lanes.data[lanes.kind == PART].tolist()} if terms.summand(n).operation]
    kept: Flags = (lanes.kind == PART) & _among(lanes.data, made)
    return kept


def _joined_parts(operation: str, first: Lanes, second: Lanes, terms: Terms) -> Lanes:
    """Parts of one sum joined, where both are such; unknown where they are not."""
    result = unknown(first.count)
    for one, other in ((first, second), (second, first)):
        if one.threads is None:
            continue
        for summand in distinct(one.data[one.kind == PART]):
            known = terms.summand(summand)
            if known.operation not in ("", operation):
                continue
            here = (one.kind == PART) & (one.data == summand)
            if is_idempotent(operation) and known.first is not None:
                same = (other.kind == NUMBER) & (other.data == _signed((known.first,))[0])
                result = result.written(here & same, one)
            if is_idempotent(operation):
                result = _with_bounds(operation, one, other, here, result, terms)
            both = here & (other.kind == PART) & (other.data == summand)
            if one is second or not np.count_nonzero(both):
                continue
            assert other.threads is not None, "parts hold threads"
            if not is_idempotent(operation):
                for word in range(one.threads.shape[1]):
                    both &= (one.threads[:, word] & other.threads[:, word]) == 0
            number = terms.number(replace(known, operation=operation))
            joined = uniform(one.count, PART, number)
            joined = Lanes(joined.kind, joined.data, one.threads | other.threads)
            result = result.written(both, joined)
    return result


def _with_bounds(
    operation: str, one: Lanes, other: Lanes, here: Flags, result: Lanes, terms: Terms
) -> Lanes:
    """`result` with parts of one summand that a number bounds, as `max(part, -FLT_MAX)` is.

    A part that a number has come into may be joined with others of the same values, whether that
    number has come into these or not; it stays in all of them.
    """
    summand = int(one.data[here][0])
    known = terms.summand(summand)
    others = {*zip(other.kind[here].tolist(), other.data[here].tolist(), strict=True)}
    for kind, data in sorted(others):
        bound = data & _MOST_BITS if kind == NUMBER else None
        if kind == PART:
            met = terms.summand(data)
            is_same = replace(met, operation=operation, first=None) == replace(
                known, operation=operation, first=None
            )
            is_joined = is_same and met.operation in ("", operation) and data != summand
            bound = (met.first if met.first is not None else known.first) if is_joined else None
        if bound is None or known.first not in (None, bound) or not can_begin(operation, bound):
            continue
        if known.maps:
            continue  # whether the number came before what made the values others is not known
        if kind == NUMBER and (known.first is not None or bound in neutral(operation)):
            continue
        there = here & (other.kind == kind) & (other.data == data)
        number = terms.number(replace(known, operation=operation, first=bound))
        joined = uniform(one.count, PART, number)
        words = one.words(other) | other.words(one) if kind == PART else one.words(one)
        result = result.written(there, Lanes(joined.kind, joined.data, words))
    return result


def _signed(values: Sequence[int]) -> Numbers:
    """Numbers of up to 64 bits as the arrays hold them."""
    return np.array([v - (1 << 64) if v >= 1 << 63 else v for v in values], np.int64)
