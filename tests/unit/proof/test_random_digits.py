"""Random places made of quotients and remainders: none that threads share is proven to be apart."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutune.proof.entry import prove
from cutune.proof.entry_proof import EntryProof
from cutune.proof.values.launch_conditions import Spread
from cutune.proof.values.polynomial import IntegerPolynomial
from cutune.ptx.parse import parse
from cutune.toolchain.nvcc import find_nvcc
from tests.support.proof_verdicts import value_of

pytestmark = [pytest.mark.nvcc, pytest.mark.usefixtures("short_headers")]

SIZES = ("n", "w", "h", "c", "d")
TYPES = ("int", "unsigned", "long long", "size_t")
CASES, TRIES = 120, 40
#: Of the generated kernels so many at least are proven.
LEAST_PROVEN = 60
Numbers = Mapping[str, int]


@dataclass(frozen=True)
class Value:
    """C text, and what it is worth for an id, or an array of them, and sizes."""

    text: str
    of: Callable[[Any, Numbers], Any]


def product(names: tuple[str, ...], factor: int = 1) -> Value:
    text = " * ".join((*names, *([str(factor)] if factor != 1 or not names else [])))
    return Value(f"({text})", lambda _, sizes: factor * prod(sizes[name] for name in names))


def divided(value: Value, by: Value) -> Value:
    return Value(f"({value.text} / {by.text})", lambda i, s: value.of(i, s) // by.of(i, s))


def remainder(value: Value, by: Value) -> Value:
    return Value(f"({value.text} % {by.text})", lambda i, s: value.of(i, s) % by.of(i, s))


def total(values: list[tuple[Value, Value]]) -> Value:
    text = " + ".join(f"{value.text} * {step.text}" for value, step in values)
    return Value(text, lambda i, s: sum(v.of(i, s) * step.of(i, s) for v, step in values))


def radices(draw: random.Random) -> list[Value]:
    names = [*SIZES[1:]]
    draw.shuffle(names)
    found = [product((name,)) for name in names[: draw.randint(1, 3)]]
    if draw.random() < 0.4:
        constant = product((), draw.choice((2, 3, 4, 5, 7, 8, 10, 16, 32)))
        found.insert(draw.randrange(len(found) + 1), constant)
    return found


def times(values: list[Value]) -> Value:
    text = " * ".join(value.text for value in values) or "1"
    return Value(f"({text})", lambda i, s: prod(value.of(i, s) for value in values))


def digits_of(draw: random.Random, found: list[Value]) -> list[Value]:
    """The digits of an id, the lowest first, in one of the ways in which programs write them."""
    x, digits = Value("i", lambda i, _: i), []
    if draw.random() < 0.5:  # from below
        for radix in found:
            digits.append(remainder(x, radix))
            x = divided(x, radix)
        return [*digits, x]
    for index in range(len(found), 0, -1):  # from above
        whole = times(found[:index])
        digits.append(divided(x, whole))
        x = remainder(x, whole)
    return [x, *reversed(digits)]


def kernel(draw: random.Random) -> tuple[Value, Value]:
    """The place of each thread, in elements, and the number of threads that do something."""
    found = radices(draw)
    digits = digits_of(draw, found)
    uppermost = product((draw.choice(SIZES),))
    counts = [*found, uppermost]
    order = list(range(len(digits)))
    draw.shuffle(order)
    if draw.random() < 0.5:
        damaged = draw.choice(("radix", "digit", "order", "guard"))
        if damaged == "radix":
            other = product((draw.choice(SIZES),), draw.choice((1, 2)))
            counts[draw.randrange(len(counts))] = other
        elif damaged == "digit":
            digits[draw.randrange(len(digits))] = draw.choice(digits)
        elif damaged == "order":
            order[draw.randrange(len(order))] = draw.choice(order)
        else:
            uppermost = product((draw.choice(SIZES),), draw.choice((1, 2)))
    steps: list[tuple[Value, Value]] = []
    for index, digit in enumerate(order):
        steps.append((digits[digit], times([counts[one] for one in order[:index]])))
    limit = product(("n",)) if draw.random() < 0.4 else times([*found, uppermost])
    return total(steps), limit


def source(draw: random.Random, name: str, place: Value, limit: Value) -> str:
    type_ = draw.choice(TYPES)
    parameters = ", ".join(f"{type_} {size}" for size in SIZES)
    id_, body = "blockIdx.x * blockDim.x + threadIdx.x", f"a[{place.text}] = b[i];"
    once = f"{type_} i = {id_}; if (i < {limit.text}) {body}"
    often = f"for ({type_} i = {id_}; i < {limit.text}; i += blockDim.x * gridDim.x) {body}"
    return (
        f'extern "C" __global__ void {name}(float *a, const float *b, {parameters}) '
        f"{{ {draw.choice((once, often))} }}\n"
    )


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_places_that_are_proven_are_those_of_one_thread(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    cases = [kernel(draw) for _ in range(CASES)]
    texts = [source(draw, f"k{i}", *case) for i, case in enumerate(cases)]
    path = tmp_path / "kernels.cu"
    path.write_text("".join(texts))
    module = parse(find_nvcc().ptx(path))
    proven = 0
    for index, (place, limit) in enumerate(cases):
        proof = prove(module, f"k{index}")
        assert proof.refused is None
        if proof.needs_warps:
            continue
        proven += 1
        for _ in range(TRIES):
            sizes = {name: draw.choice((1, 2, 3, 4, 5, 6, 9, 40)) for name in SIZES}
            count = limit.of(0, sizes)
            if count < 5000 and holds(proof, sizes, count):
                places = np.broadcast_to(place.of(np.arange(count), sizes), (count,))
                assert np.unique(places).size == count, (texts[index], sizes, proof.spreads)
    assert proven >= LEAST_PROVEN


def holds(proof: EntryProof, sizes: Numbers, count: int) -> bool:
    """What a launch finds at these sizes."""
    return all(is_met(proof, spread, sizes, count) for spread in proof.spreads)


def is_met(proof: EntryProof, spread: Spread, sizes: Numbers, count: int) -> bool:
    extent = 1 if spread.dimension < 0 else count
    larger, smaller = (worth(proof, value, sizes) for value in (spread.larger, spread.smaller))
    return abs(larger) >= abs(smaller) * extent


def worth(proof: EntryProof, value: IntegerPolynomial, sizes: Numbers) -> int:
    names = {
        f"{index}:0:b{8 * proof.parameters[index]}": name for index, name in enumerate(SIZES, 2)
    }
    return value_of(value, sizes, names)
