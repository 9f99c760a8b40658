"""Parts of sums that are scaled or converted before the sum is whole. Takes lanes, gives lanes.

A factor that all threads share may be multiplied before threads' sums are added up, or afterwards:
k * a + k * b = k * (a + b), exactly for integers modulo 2^w, and but for how it is rounded for
others. A sum that is converted from `double` to `float` in each thread differs by that as well. So
the result is a part of another sum, that of what each thread has then.

What a thread has by its id is no sum yet: any function of it and of what all threads share is what
it has then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cutune.proof.collectives.lanes import (
    PART,
    UNKNOWN,
    Flags,
    Lanes,
    Summand,
    Terms,
    are_all,
    as_terms,
    distinct,
    is_rounded,
    neutral,
    uniform,
)

#: `cvt.rn.f32.f64`, `cvt.f64.f32`: the type of the result, and of the operand.
_CONVERSION = re.compile(r"cvt(?:\.rn|\.ftz)*\.(f32|f64)\.(f32|f64)")
_FACTOR = re.compile(r"(?:mul(?:\.rn|\.ftz)*|neg(?:\.ftz)?)\.(f32|f64)|mul\.lo\.[su](32|64)")
_DIVISOR = re.compile(r"div(?:\.\w+)+\.(f32|f64)")


def with_mapped_parts(
    name: str, operands: Sequence[Lanes], result: Lanes, terms: Terms
) -> tuple[Lanes, bool]:
    """Return a result with the parts that `name` makes of parts, and whether these are rounded.

    Whole sums are left out: what is made of them is a term.
    """
    found, is_sum = result, False
    if any(one.piece >= 0 or result.piece >= 0 for one in operands):
        return result, False
    is_unknown = result.kind == UNKNOWN
    for index, part in enumerate(operands if np.count_nonzero(is_unknown) else ()):
        if part.threads is None:
            continue
        others = [*operands[:index], *operands[index + 1 :]]
        is_part = (part.kind == PART) & is_unknown & ~part.whole_sums(terms.threads)
        for number in distinct(part.data[is_part]):
            summand = terms.summand(number)
            here = is_part & (part.data == number)
            shared = _shared_by_all(others, here, terms)
            if shared is None or (after := mapped(summand, name, index, shared)) is None:
                continue
            alike = uniform(part.count, PART, terms.number(after))
            found = found.written(here, Lanes(alike.kind, alike.data, part.threads))
            is_sum |= is_rounded(after.operation)
    return found, is_sum


def mapped(summand: Summand, name: str, index: int, others: Sequence[object]) -> Summand | None:
    """Return what each thread adds once `name` has made another value of it; None: no part.

    `index`: which operand it is. `others`: what stands for the others, which all threads share.
    """
    operation = _operation_behind(name, summand.operation, index == 0)
    if operation is None:
        return None
    began = neutral(operation)[0] if operation else None
    maps = (*summand.maps, (name, index, *others))
    return replace(summand, operation=operation, first=began, begun=None, maps=maps)


def _shared_by_all(others: Sequence[Lanes], where: Flags, terms: Terms) -> tuple[int, ...] | None:
    """The terms of the other operands, each alike in all these threads; None: one is not."""
    found = list[int]()
    for other in others:
        shared = as_terms(other, terms)[where]
        if shared[0] < 0 or not are_all(shared == shared[0]):
            return None
        found.append(int(shared[0]))
    return tuple(found)


def _operation_behind(name: str, operation: str, is_first: bool) -> str | None:
    """The operation by which the results are to be combined; empty: any; None: by none."""
    if not operation:
        return ""
    if (converted := _CONVERSION.fullmatch(name)) is not None:
        return f"add.{converted[1]}" if operation == f"add.{converted[2]}" else None
    factor = _FACTOR.fullmatch(name) or (_DIVISOR.fullmatch(name) if is_first else None)
    if factor is None:
        return None
    kind = factor[1] or f"b{factor[2]}"
    return operation if operation == f"add.{kind}" else None
