"""Fits of counted totals: exact where an exact function exists, honest where none does."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutune.model.fit.count_functions import MAX_POINTS, count_points
from cutune.model.rational.functions import (
    RationalFunction,
    constant_function,
    fit,
    fit_numerical,
    fit_polynomial,
    fit_quotient,
    value_at,
)
from cutune.model.rational.program import size_name, value_of

VARIABLES = ("NI", "NJ")
GRID = list(product((32, 64, 96, 128, 160), repeat=2))


@st.composite
def polynomials(draw: st.DrawFn) -> RationalFunction:
    exponents = [e for e in product(range(3), repeat=2) if sum(e) <= 3]
    coefficients = [
        draw(st.integers(-50, 50))
        * Fraction(1, draw(st.sampled_from([1, 2, 4] if any(e) else [1])))
        for e in exponents
    ]
    terms = tuple(zip(exponents, coefficients, strict=True))
    return replace(constant_function(VARIABLES, 1), numerator=terms)


@settings(max_examples=40, deadline=None)
@given(polynomials())
def test_a_polynomial_is_recovered_exactly(truth: RationalFunction) -> None:
    values = [truth(dict(zip(VARIABLES, point, strict=True))) for point in GRID]
    found = fit(VARIABLES, GRID, [int(v) for v in values])
    assert all(v.denominator == 1 for v in values)  # the grid holds multiples of 4
    assert found.exact
    assert (found.held_out_error, found.residual) == (0, 0)
    assert found.rank == found.unknowns or len(set(values)) == 1
    unseen = {"NI": 1000, "NJ": 1023}
    assert found(unseen) == truth(unseen)


@pytest.mark.filterwarnings("error")
def test_a_size_may_be_0_in_all_samples() -> None:
    found = fit_polynomial(("n", "m"), [(n, 0) for n in range(1, 9)], [3 * n for n in range(1, 9)])
    assert found is not None and found({"n": 100, "m": 0}) == 300
    assert found.residual == found.held_out_error == 0
    assert found.rank == found.unknowns > 1


def test_a_rational_function_is_found_where_no_polynomial_is() -> None:
    values = [10**9 * a // (a + 2 * b) for a, b in GRID]
    found = fit(VARIABLES, GRID, values)
    assert not found.exact
    assert found.held_out_error < 1e-6
    assert float(found({"NI": 1000, "NJ": 3000})) == pytest.approx(10**9 / 7, rel=1e-4)


def test_what_is_no_rational_function_says_how_far_it_is_off() -> None:
    points = [(size,) for size in range(32, 320, 32)]
    noisy = [1000 + 700 * (i % 2) for i in range(len(points))]
    assert fit(("N",), points, noisy).held_out_error > 0.1


def test_held_out_samples_decide_the_degree() -> None:
    # A quadratic with rounding noise: a quartic would follow the noise at the samples.
    points = [(size,) for size in range(32, 288, 32)]
    values = [3 * size * size + (size // 32) % 2 for (size,) in points]
    found = fit_numerical(("N",), points, values)
    assert float(found({"N": 2048})) == pytest.approx(3 * 2048 * 2048, rel=1e-3)


def test_work_that_depends_on_the_place_does_not_grow_beyond_its_degree() -> None:
    # Steps of an iteration per point of the plane, as a fractal has them: about 30 each.
    def total(width: int, height: int) -> int:
        places = ((x / width - 0.4, y / height - 0.6) for y in range(height) for x in range(width))
        return sum(20 + int(40 / (1 + 30 * abs(x * y))) for x, y in places)

    values = [total(width, height) for width, height in GRID]
    found = fit_numerical(VARIABLES, GRID, values)
    expected = total(1600, 1200)
    assert float(found({"NI": 1600, "NJ": 1200})) == pytest.approx(expected, rel=0.1)


def test_the_expression_form_has_the_same_value() -> None:
    terms = (((2, 1), Fraction(1, 2)), ((0, 1), Fraction(-3)), ((0, 0), Fraction(7)))
    function = replace(constant_function(VARIABLES, 1), numerator=terms)
    point = {"NI": 12, "NJ": 10}
    named = {size_name(name): value for name, value in point.items()}
    assert (
        value_of(function.expression(), named)
        == float(function(point))
        == 12 * 12 * 10 / 2 - 30 + 7
    )


def test_many_sizes_are_told_apart() -> None:
    """Six sizes from a draw of points: as many as a kernel with leading dimensions has."""
    names = tuple("abcdef")
    points = [tuple(point[name] for name in names) for point in count_points(names)]
    values = [a * b * c // 4 + 3 * a * d + e * f - 7 * f for a, b, c, d, e, f in points]
    found = fit(names, points, values)
    assert found.exact
    unseen = dict(zip(names, (1000, 1001, 1002, 1003, 1004, 1005), strict=True))
    expected = Fraction(1000 * 1001 * 1002, 4) + 3 * 1000 * 1003 + 1004 * 1005 - 7 * 1005
    assert found(unseen) == expected


def test_products_of_more_sizes_than_degrees_are_found_exactly() -> None:
    names = tuple("abcdef")
    points = [tuple(point[name] // 8 for name in names) for point in count_points(names)]
    values = [prod(point) * 3 + 7 * point[0] * point[1] * point[5] + 1 for point in points]
    found = fit(names, points, values)
    assert found.exact
    assert found(dict(zip(names, range(11, 17), strict=True))) == (
        3 * prod(range(11, 17)) + 7 * 11 * 12 * 16 + 1
    )


def test_the_same_points_are_counted_each_time() -> None:
    names = tuple("abcdef")
    points = count_points(names)
    assert points == count_points(names) and len(points) == MAX_POINTS


def test_a_quotient_is_found_exactly() -> None:
    sizes = (2, 3, 5, 11, 4, 7, 6, 9)
    whole = 3 * 5 * 7 * 9 * 11 * 13 * 15 * 19 * 23
    values = [Fraction(whole * (1 + size), 1 + 2 * size) for size in sizes]
    assert all(value.denominator == 1 for value in values)
    points = [(size,) for size in sizes]
    found = fit_quotient(("N",), points, [int(value) for value in values])
    assert found is not None and found.exact
    assert found({"N": 1000}) == Fraction(whole * 1001, 2001)
    assert (found.rank, found.unknowns) == (3, 3)
    assert (found.residual, found.held_out_error) == (0, 0)
    assert (
        fit_quotient(
            ("N",),
            points,
            [int(value) + size % 2 for value, size in zip(values, sizes, strict=True)],
        )
        is None
    )


def test_from_some_size_on_it_is_exact() -> None:
    # Filters of 127 and 70 taps: those that begin before the first element are shorter.
    def total(size: int, taps: int) -> int:
        return sum(min(i + 1, taps) for i in range(size))

    points = [(size,) for size in range(32, 257, 32)]
    found = fit(("N",), points, [total(size, 127) for (size,) in points])
    assert found.exact and found({"N": 10**6}) == total(10**6, 127)


def test_of_several_sizes_all_samples_count() -> None:
    # Rows of n elements of which `side` threads take two each: if both are large, n of each row.
    points = [(n, side) for n in range(32, 161, 32) for side in range(32, 161, 32)]
    found = fit(VARIABLES, points, [n * min(n, 2 * side) for n, side in points])
    assert not found.exact


def test_far_beyond_the_samples_nothing_is_negative() -> None:
    # Another function below 200 than above, and too few samples of that to tell it.
    points = [(size,) for size in range(32, 257, 32)]
    values = [size * size + size % 7 if size < 200 else 200 * size for (size,) in points]
    found = fit(("N",), points, values)
    assert not found.exact
    assert all(found({"N": 1 << exponent}) > 0 for exponent in range(5, 24))


def test_evidence_of_a_numerical_fit() -> None:
    values = [10**9 * a // (a + 2 * b) for a, b in GRID]
    found = fit_numerical(VARIABLES, GRID, values)
    assert found.rank == found.unknowns
    assert found.residual < 1e-6


def test_no_pole_and_no_negative_count_among_the_samples() -> None:
    # 1 / (N - 100) has a pole between the samples; its samples are positive on one side.
    points = [(size,) for size in range(32, 320, 32)]
    values = [abs(10**9 // (size - 100)) for (size,) in points]
    found = fit_numerical(("N",), points, values)
    bottoms = [value_at(found.denominator, [size]) for size in range(32, 320)]
    assert min(bottoms) > 0 or max(bottoms) < 0
    assert all(found({"N": size}) >= -1 for (size,) in points)


@pytest.mark.filterwarnings("error")
def test_a_size_that_is_nothing_everywhere_is_no_unit() -> None:
    points = [(size, 0) for size in range(32, 320, 32)]
    found = fit_numerical(VARIABLES, points, [size * size + size for size, _ in points])
    assert found({"NI": 1000, "NJ": 0}) == pytest.approx(1000 * 1001, rel=0.01)
