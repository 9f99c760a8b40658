"""The published way of fitting: what it finds, and what it does not notice."""

from __future__ import annotations

from itertools import product

import pytest

from cutune.model.fit.published_counters import fit_paper

SIZES, BLOCKS = (64, 128, 256, 512), (1, 2, 4, 8, 16, 32)
POINTS = list(product(SIZES, BLOCKS))


def test_what_is_rational_is_found() -> None:
    values = [5.0 + 3.0 * size + size / block for size, block in POINTS]
    found = fit_paper(("N", "block_x"), POINTS, values)
    assert not found.exact
    assert found.residual < 1e-6
    assert float(found({"N": 200, "block_x": 4})) == pytest.approx(655, rel=1e-4)


def test_a_constant_needs_no_fit() -> None:
    found = fit_paper(("N",), [(64,), (128,)], [7.0, 7.0])
    assert found({"N": 5}) == 7


def test_only_the_training_error_counts() -> None:
    """min(bx, 32) is not rational: the fit is close where it was made and nowhere else."""
    points = list(product(SIZES, (8, 16, 32, 64, 128, 256)))
    values = [float(size * min(block, 32)) for size, block in points]
    found = fit_paper(("N", "block_x"), points, values)
    assert found.residual == found.held_out_error < 0.5
    off = [float(found({"N": n, "block_x": b})) - n * min(b, 32) for n, b in points]
    mean = sum(values) / len(values)
    assert found.residual == pytest.approx((sum(o * o for o in off) / len(off)) ** 0.5 / mean)
    truth = 2048 * 32
    beyond = [abs(float(found({"N": 2048, "block_x": b})) / truth - 1) for b in (48, 512, 1024)]
    assert max(beyond) > 10 * found.residual


def test_rank_is_not_heeded() -> None:
    # Two variables that are always equal: N^2 is N M, beside two columns that are copies.
    points = [(size, size) for size in range(32, 32 * 13, 32)]
    found = fit_paper(("N", "M"), points, [float(size * size) for size, _ in points])
    assert found.residual < 1e-6
    assert found.rank < found.unknowns


def test_where_nothing_fits_the_mean_stands() -> None:
    points = [(size,) for size in range(32, 32 * 13, 32)]
    found = fit_paper(("N",), points, [0.0] * 11 + [24.0])
    assert found.residual <= 1 or found({"N": 5}) == 2


def test_the_error_of_the_mean_is_told() -> None:
    # The equation of the first sample, which alone is not 0, is the one that is replaced.
    points = [(size,) for size in range(32, 32 * 13, 32)]
    found = fit_paper(("N",), points, [1200.0] + [0.0] * 11)
    assert found({"N": 5}) == 100
    assert not found.exact
    assert found.residual == found.held_out_error == pytest.approx(11**0.5)


def test_too_few_samples() -> None:
    found = fit_paper(("N", "M"), [(64, 64), (128, 64)], [1.0, 2.0])
    assert 1 <= found({"N": 1, "M": 1}) <= 2


def test_bounds_of_all_variables_grow_in_turn() -> None:
    """From eight samples four coefficients of each polynomial may come: 1, N, M and N M."""
    points = list(product((2, 3, 5, 7), (1, 4)))
    found = fit_paper(("N", "M"), points, [3.0 + n * m for n, m in points])
    assert found.residual < 1e-6
    assert {e for e, _ in found.numerator} <= {(0, 0), (1, 0), (0, 1), (1, 1)}
