"""A function against its reference. Takes both, and sizes; gives a judgement per size.

Both are called in processes of their own, with the same numbers in memory of just the extent that
the reference uses. The function is at fault where a launch fails, where the checker finds an error,
and where it writes to what the reference leaves alone. It differs where arrays hold other numbers
behind a call. At each size it is called several times, with other numbers at the same addresses, so
that a result that was kept shows, and work that some numbers alone need. Sizes at which the
reference itself fails are left out.

Integers must be equal, real numbers up to a tolerance, relative to the terms that a result is made
of. How large these are is measured: when the reference's inputs move by the last bits that they
have, terms move the result by so much. A sum of large numbers that cancel is thus not asked for
digits that no order of adding gives; other results are, nearly, relative to themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cutune.check.call_plan import Argument, Ended, Extent, NumberType, Side, TrialCall
from cutune.check.call_worker import contents_of, run_calls
from cutune.core.progress import Progress, silent
from cutune.emulator.findings import Finding
from cutune.measure.trial_contents import CONTENTS, SPECIAL
from cutune.model.rational.formulas import whole_value
from cutune.toolchain.device.thread_block import Block

SAME, DIFFERS, FAULT, LEFT_OUT = "same", "differs", "fault", "left out"
#: Elements that an array has where the reference tells how many it needs, at least and at most.
_ROOM, _MOST_ROOM = 1 << 12, 1 << 22
#: Warp instructions of a size: beyond the first fewer contents are tried, beyond the second none
#: unless the size is asked for.
_MUCH, _MOST = 300_000, 5_000_000
#: So many times the reference's instructions, and so many more, may be executed.
_TIMES, _FURTHER = 20, 1_000_000
_LIMIT = 200_000_000
#: Processes that a function may end before the others of its calls are given up.
_ENDS = 12
#: Calls of the reference with inputs that are moved.
_MOVED = 2
#: Terms count as so many times the largest result of the array at most.
_LARGEST_TERMS = 1000.0
#: Sums of more elements are given more, as roundings add up: with the root of their number.
_ELEMENTS = 4096


@dataclass(frozen=True)
class Size:
    """Values of the parameters that are no arrays, in their order; the block of a bare kernel."""

    values: Mapping[str, float]
    block: Block = (1, 1, 1)

    def value(self, formula: str) -> float | None:
        try:
            return float(formula)
        except ValueError:
            return whole_value(formula, {n: int(v) for n, v in self.values.items() if v == int(v)})


@dataclass(frozen=True)
class Asked:
    """What the user says: lengths and limits of arrays as formulas, and how results agree.

    `is_each_size`: are sizes named, so that none is left out because it takes long?
    """

    lengths: Mapping[str, str]
    limits: Mapping[str, tuple[str, str]]
    tolerance: float | None = None
    has_special: bool = False
    is_each_size: bool = False

    def contents(self, work: int) -> Sequence[str]:
        kinds = CONTENTS[:3] if work > _MUCH else CONTENTS
        return [*kinds, SPECIAL] if self.has_special else kinds

    def extent(self, array: Argument, size: Size) -> Extent | None:
        """The extent of an array, or room for what the reference needs; None: it has none."""
        limits = None
        if array.name in self.limits:
            low, high = (size.value(text) for text in self.limits[array.name])
            if low is None or high is None:
                return None
            limits = low, high
        if array.name in self.lengths:
            each = [size.value(part) for part in self.lengths[array.name].split(",")]
            shape = tuple(int(one) for one in each if one is not None and one >= 0)
            return Extent(prod(shape), shape, limits) if len(shape) == len(each) else None
        whole = [max(1, int(abs(value))) for value in size.values.values()] or [1]
        most = 4 * max(prod(whole), max(whole) ** (3 if len(whole) == 1 else 2))
        return Extent(min(_MOST_ROOM, most) + _ROOM, limits=limits)


@dataclass(frozen=True)
class SizeJudgement:
    """The outcome at a size. `contents`: kinds with which both were compared.

    `worst`: the largest distance of a result from the reference's, by the tolerance.
    """

    size: Size
    result: str
    reason: str = ""
    contents: tuple[str, ...] = ()
    worst: float = 0.0
    findings: tuple[Finding, ...] = ()


class _Key(NamedTuple):
    """A call by the number of its size, its contents, and the number of a moved run; 0: none."""

    size: int
    contents: str
    moved: int = 0


_Calls = Mapping[_Key, TrialCall]
_Made = Mapping[_Key, Ended]


@dataclass(frozen=True)
class _KnownSizes:
    """Sizes, by their numbers, at which the reference works.

    `calls`: with arrays of the extent that it uses. `work`: its warp instructions. `reasons`: why
    other sizes are left out.
    """

    calls: Mapping[int, TrialCall]
    work: Mapping[int, int]
    reasons: Mapping[int, str]


@dataclass(frozen=True)
class Judge:
    """Takes both sides and sizes, and judges at each, in their order."""

    candidate: Side
    reference: Side
    sizes: Sequence[Size]
    asked: Asked
    environment: Mapping[str, str]
    folder: Path
    progress: Progress = silent

    def judgements(self) -> Iterator[SizeJudgement]:
        self.progress("comparing", 0, 3)
        known = self._known_sizes()
        self.progress("comparing", 1, 3)
        calls = self._calls(known)
        plain = {key: call for key, call in calls.items() if not key.moved}
        most = _FURTHER + _TIMES * max(known.work.values(), default=0)
        limit = _LIMIT if self.reference.function else most
        with ThreadPoolExecutor() as pool:
            begun = pool.submit(self._made, self.reference, calls, limit, "reference")
            tried = self._made(self.candidate, plain, limit, "candidate")
            right = begun.result()
        self.progress("comparing", 3, 3)
        # An array that the reference writes to at one size may be written to at all.
        written = {place for key, one in right.items() for place in self._written(calls[key], one)}
        for number, size in enumerate(self.sizes):
            if number in known.reasons:
                yield SizeJudgement(size, LEFT_OUT, known.reasons[number])
            else:
                own = {key: call for key, call in plain.items() if key.size == number}
                yield self._judged(size, own, right, tried, written)

    # ---- where the reference reads and writes

    def _known_sizes(self) -> _KnownSizes:
        """Call the reference once at each size; where arrays have room, that tells their extent."""
        roomy = {number: self._roomy_call(size) for number, size in enumerate(self.sizes)}
        calls = {_Key(number, "ones"): call for number, call in roomy.items() if call is not None}
        unknown = "an array has no length or no limits there"
        reasons = {number: unknown for number, call in roomy.items() if call is None}
        if self.reference.function:
            return _KnownSizes({key.size: call for key, call in calls.items()}, {}, reasons)
        limit = 0 if self.asked.is_each_size else _MOST
        made = self._made(self.reference, calls, limit, "room")
        found, work = {}, {}
        for key, call in calls.items():
            one = made.get(key, Ended("an earlier call ended its program"))
            if one.reason:
                reasons[key.size] = f"the reference fails: {one.reason}"
                continue
            work[key.size] = one.work
            found[key.size] = replace(call, extents=tuple(self._used(call, one)))
        return _KnownSizes(found, work, reasons)

    def _roomy_call(self, size: Size) -> TrialCall | None:
        """A call at a size; None where an array has no extent."""
        extents = [self.asked.extent(one, size) for one in self.reference.arrays]
        known = tuple(one for one in extents if one is not None)
        if len(known) < len(extents):
            return None
        return TrialCall(tuple(size.values.values()), size.block, known, "ones", seed=1)

    def _used(self, call: TrialCall, made: Ended) -> Iterator[Extent]:
        """The part of each array that kernels have touched, or that has changed."""
        for place, (array, extent) in enumerate(
            zip(self.reference.arrays, call.extents, strict=True)
        ):
            if array.name in self.asked.lengths:
                yield extent
                continue
            size = array.type.stored.itemsize
            touched = made.touched(place, extent.count * size)
            count = -(-touched[1] // size) if touched else 0
            after = made.changed.get(place)
            if after is not None:
                changed = np.flatnonzero(after != contents_of(array, place, call))
                count = max(count, int(changed[-1]) + 1)
            yield replace(extent, count=count)

    # ---- calls

    def _calls(self, known: _KnownSizes) -> dict[_Key, TrialCall]:
        calls: dict[_Key, TrialCall] = {}
        has_reals = any(one.type.is_real for one in self.reference.arrays)
        for number, call in known.calls.items():
            for place, kind in enumerate(self.asked.contents(known.work.get(number, 0))):
                seed = 1000 * number + (0 if kind == "one changed" else place)
                for moved in range(1 + _MOVED if has_reals else 1):
                    its = replace(call, contents=kind, seed=seed, moved=moved)
                    calls[_Key(number, kind, moved)] = its
        return calls

    def _made(self, side: Side, calls: _Calls, limit: int, name: str) -> dict[_Key, Ended]:
        """Make calls; after one behind which its process ends no other of that size is made."""
        made: dict[_Key, Ended] = {}
        environment = {**self.environment, "CUTUNE_INSTRUCTION_LIMIT": str(limit)}
        left = dict(calls)
        for number in range(_ENDS):
            if not left:
                break
            folder = self.folder / f"{name}-{number}"
            ended = run_calls(side, tuple(left.values()), folder, environment)
            made |= zip(left, ended, strict=False)
            stopped = {key.size for key, one in made.items() if one.is_last}
            left = {k: c for k, c in left.items() if k not in made and k.size not in stopped}
        return made

    # ---- judging

    def _judged(
        self, size: Size, calls: _Calls, right: _Made, tried: _Made, written: set[int]
    ) -> SizeJudgement:
        # Moved inputs may lie where the reference is not defined.
        failed = [one.reason for key in calls if (one := right.get(key)) and one.reason]
        if failed or not all(key in right for key in calls):
            reason = next(iter(failed), "an earlier call ended its program")
            return SizeJudgement(size, LEFT_OUT, f"the reference fails: {reason}")
        if not written:
            return SizeJudgement(size, LEFT_OUT, "the reference writes to no array")
        contents, worst = tuple(key.contents for key in calls), 0.0
        for key, call in calls.items():
            said = f" (contents: {key.contents})"
            one = tried.get(key)
            if one is None:
                return SizeJudgement(size, LEFT_OUT, "an earlier call ended its program")
            if one.reason:
                return SizeJudgement(size, FAULT, one.reason + said, contents, worst, one.findings)
            distance, reason = self._distance(key, call, right, one)
            worst = max(worst, distance)
            if reason:
                return SizeJudgement(size, DIFFERS, reason + said, contents, worst)
            for place in sorted(self._written(call, one) - written):
                name = self.reference.arrays[place].name
                reason = f"it writes to '{name}', and puts back what was there"
                return SizeJudgement(size, FAULT, reason + said, contents, worst)
        return SizeJudgement(size, SAME, "", contents, worst)

    def _distance(self, key: _Key, call: TrialCall, right: _Made, one: Ended) -> tuple[float, str]:
        """The largest distance of its results from the reference's, and the first that differs."""
        worst, expected = 0.0, right[key].changed
        elements = max((extent.count for extent in call.extents), default=0)
        others = [(n, right.get(key._replace(moved=n))) for n in range(1, 1 + _MOVED)]
        for place in sorted(expected.keys() | one.changed.keys()):
            array = self.reference.arrays[place]
            before = contents_of(array, place, call)
            a, b = (changed.get(place, before) for changed in (expected, one.changed))
            moved = [
                o.changed.get(place, contents_of(array, place, replace(call, moved=n)))
                for n, o in others
                if o is not None and not o.reason
            ]
            found = array_agreement(array.type, a, b, moved, self.asked.tolerance, elements)
            worst = max(worst, found.worst)
            if found.count:
                return worst, found.said(array.name)
        return worst, ""

    def _written(self, call: TrialCall, one: Ended) -> set[int]:
        """The places of the arrays that a call has changed, or has written to."""
        found = set(one.changed)
        for place, (array, extent) in enumerate(
            zip(self.reference.arrays, call.extents, strict=True)
        ):
            if one.touched(place, extent.count * array.type.stored.itemsize, writes=True):
                found.add(place)
        return found


@dataclass(frozen=True)
class ArrayAgreement:
    """`worst`: the largest distance by what is allowed; more than 1: `count` elements differ."""

    worst: float
    index: int = 0
    expected: float = 0.0
    found: float = 0.0
    count: int = 0

    def said(self, name: str) -> str:
        expected, found = (f"{one:.9g}" for one in (self.expected, self.found))
        if expected == found:
            expected, found = repr(self.expected), repr(self.found)
        more = f", {self.count} elements differ" if self.count > 1 else ""
        return f"{name}[{self.index}] is {found} in place of {expected}{more}"


def array_agreement(
    type_: NumberType,
    expected: NDArray[Any],
    found: NDArray[Any],
    moved: Sequence[NDArray[Any]],
    tolerance: float | None,
    elements: int,
) -> ArrayAgreement:
    """Compare what lies in memory.

    `moved`: what inputs that are moved by `epsilon` lead to; `elements` of the largest array.
    """
    a, b = type_.numbers(expected), type_.numbers(found)
    with np.errstate(all="ignore"):
        distances = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.inf)
        if type_.is_real:
            relative = tolerance
            if relative is None:
                relative = type_.tolerance * max(1.0, (elements / _ELEMENTS) ** 0.5)
            allowed = relative * (np.abs(a) + _terms(type_, a, moved)) + np.finfo(np.float32).tiny
            is_finite = np.isfinite(a) & np.isfinite(b) & (distances > 0)
            distances = np.where(is_finite, np.abs(a - b) / allowed, distances)
    places = np.flatnonzero(distances > 1)
    worst = float(np.max(distances, initial=0.0))
    if not len(places):
        return ArrayAgreement(worst)
    first = int(places[0])
    return ArrayAgreement(worst, first, a[first].item(), b[first].item(), len(places))


def _terms(type_: NumberType, a: NDArray[Any], moved: Sequence[NDArray[Any]]) -> NDArray[Any]:
    others = [type_.numbers(one) for one in moved]
    steps = [np.where(np.isfinite(one), one - a, 0.0) ** 2 for one in others]
    largest = np.max(np.abs(a), initial=0.0, where=np.isfinite(a))
    terms = np.nan_to_num(np.sqrt(np.sum([np.zeros(a.shape), *steps], axis=0)) / type_.epsilon)
    most: NDArray[Any] = np.minimum(terms, _LARGEST_TERMS * largest)
    return most


_ONE = (100, 1, 2, 3, 31, 32, 33, 64, 255, 256, 257, 1000, 1024, 1025, 4100)
_EQUAL, _MIXED = (33, 1, 2, 16, 17, 64, 100), (1, 2, 3, 17, 32, 33, 65, 100)
#: More than the 65,535 that grids have in y and z.
_LONG = 70_001
_DRAWN = 8


def default_sizes(names: Sequence[str]) -> list[dict[str, int]]:
    """Small and odd values of some integers, equal ones and drawn ones, and one large at a time."""
    if not names:
        return [{}]
    random = np.random.default_rng(len(names))
    equal = [dict.fromkeys(names, value) for value in (_ONE if len(names) == 1 else _EQUAL)]
    count = _DRAWN if len(names) > 1 else 0
    drawn = [{name: int(random.choice(_MIXED)) for name in names} for _ in range(count)]
    long = [{**dict.fromkeys(names, 1), name: _LONG} for name in names[:3]]
    unique = {tuple(one.items()): one for one in [*equal, *drawn, *long]}
    return list(unique.values())
