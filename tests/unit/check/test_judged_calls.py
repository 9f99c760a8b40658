"""Calls of a function and its reference: what is called, with which numbers, and what agrees."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from cutune.check.call_plan import Argument, Extent, NumberType, Side, TrialCall
from cutune.check.call_worker import contents_of, run_calls
from cutune.check.called import callable_in, check_same, chosen
from cutune.check.judge import Asked, Size, array_agreement, default_sizes
from cutune.cli.main import main
from cutune.core.diagnostics import CutuneError
from cutune.measure.trial_contents import CONTENTS, SPECIAL, typed_contents

FLOAT, DOUBLE, INT = NumberType("f", 4), NumberType("f", 8), NumberType("i", 4)
HALF, BFLOAT, BOOL, WORD = (NumberType(*one) for one in (("h", 2), ("z", 2), ("b", 1), ("u", 4)))
ARRAYS = (Argument("a", "c", FLOAT), Argument("b", "p", FLOAT))


@pytest.mark.parametrize(
    ("type_", "expected", "found", "is_same"),
    [
        (INT, [1, 2], [1, 2], True),
        (INT, [1, 2], [1, 3], False),
        (FLOAT, [1.0, 0.0], [1.0 + 2**-20, -0.0], True),
        (FLOAT, [1.0, 0.0], [1.0 + 2**-14, 0.0], False),
        (FLOAT, [1e6, 0.0], [1e6, 1e-6], False),
        (FLOAT, [np.nan, np.inf], [np.nan, np.inf], True),
        (FLOAT, [np.inf, 1.0], [-np.inf, 1.0], False),
        (FLOAT, [1.0, 1.0], [1.0, np.nan], False),
        (DOUBLE, [1.0], [1.0 + 1e-12], False),
        (DOUBLE, [1.0], [1.0 + 1e-14], True),
        (HALF, [1.0], [1.004], True),
        (BFLOAT, [1.0], [1.1], False),
    ],
)
def test_arrays_agree(
    type_: NumberType, expected: list[float], found: list[float], is_same: bool
) -> None:
    a, b = (type_.in_memory(np.array(one)) for one in (expected, found))
    agreement = array_agreement(type_, a, b, (), None, 1)
    assert (agreement.count == 0) == is_same == (agreement.worst <= 1)


def test_results_are_relative_to_what_they_are_made_of() -> None:
    expected, found = np.array([1.0], np.float32), np.array([1.002], np.float32)
    # The last bits of inputs move the result as much as those of numbers around 500.
    moved = [expected + np.float32(500 * 2.0**-23)]
    assert array_agreement(FLOAT, expected, found, (), None, 1).count == 1
    assert array_agreement(FLOAT, expected, found, moved, None, 1).count == 0
    # Nothing is so uncertain that any result will do.
    assert array_agreement(FLOAT, expected, found, [expected + 1], None, 1).count == 0
    assert array_agreement(FLOAT, expected, found * 2, [expected + 1], None, 1).count == 1
    # Roundings of many numbers add up; a tolerance that is asked for stays.
    assert array_agreement(FLOAT, expected, found, (), None, 1 << 30).count == 0
    assert array_agreement(FLOAT, expected, found, (), 1e-5, 1 << 30).count == 1


def test_difference_is_said() -> None:
    agreement = array_agreement(INT, np.array([1, 2, 3]), np.array([1, 5, 6]), (), None, 3)
    assert agreement.said("c") == "c[1] is 5 in place of 2, 2 elements differ"


@pytest.mark.parametrize("type_", [FLOAT, DOUBLE, HALF, BFLOAT, INT, WORD, BOOL])
def test_contents_are_of_their_type(type_: NumberType) -> None:
    made = {}
    for kind in (*CONTENTS, SPECIAL, "ones"):
        random = np.random.default_rng(1)
        numbers = typed_contents(random, 500, kind, type_.code, type_.size)
        stored = type_.in_memory(numbers)
        again = type_.numbers(stored)
        assert stored.nbytes == 500 * type_.size
        assert np.allclose(again.astype(float), numbers % 2.0**32 if type_ is WORD else numbers,
                           0.01, equal_nan=True)  # fmt: skip
        made[kind] = again
    assert np.isfinite(made[SPECIAL]).all() != type_.is_real
    assert not made["zeros"].any() and (made["ones"] == 1).all()
    assert np.count_nonzero(made["random"] != made["one changed"]) == 1
    assert len({one.tobytes() for one in made.values()}) >= (5 if type_ is BOOL else 7)


def test_limits_hold_for_what_arrays_hold() -> None:
    extent = Extent(200, limits=(3, 8))
    for kind in CONTENTS:
        call = TrialCall((), (1, 1, 1), (extent, extent), kind, 1)
        for place, type_ in enumerate((INT, FLOAT)):
            numbers = contents_of(Argument("a", "c", type_), place, call)
            assert numbers.min() >= 3 and numbers.max() <= 8


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_default_sizes(count: int) -> None:
    names = [f"n{k}" for k in range(count)]
    sizes = default_sizes(names)
    assert all(list(one) == names for one in sizes)
    assert len(sizes) >= (15 if count else 1) and len(sizes) <= 20
    assert not count or any(one["n0"] % 32 and one["n0"] > 64 for one in sizes)


def test_lengths_are_formulas() -> None:
    asked = Asked({"a": "n,2*m", "b": "n-9"}, {"a": ("0", "m-1")})
    size = Size({"n": 4, "x": 0.5, "m": 3})
    assert asked.extent(ARRAYS[0], size) == Extent(24, (4, 6), (0, 2))
    assert asked.extent(ARRAYS[1], size) is None


FUNCTIONS = """
import os
def returned(a, n): return a + n
def written(a, b): b[:] = 2 * a
def both(a): return a, a + 1
def long(a): return a[:1]
def ended(a): os._exit(3)
"""


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("returned", "b = a + 2"),
        ("written", "b = a * 2"),
        ("both", "ValueError: it returns 2 arrays; b may be written to"),
        ("long", "ValueError: 'b' has 4 elements, and got 1"),
        ("ended", "it ends the program with status 3"),
    ],
)
def test_python_functions_are_called(tmp_path: Path, function: str, expected: str) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    arguments = (*ARRAYS, Argument("n", "v", INT))
    side = Side(str(tmp_path / "functions.py"), function, arguments)
    call = TrialCall((2,), (1, 1, 1), (Extent(4), Extent(4)), "random", 7)
    (ended,) = run_calls(side, [call], tmp_path / "calls", os.environ)
    if not expected.startswith("b = "):
        assert ended.reason == expected
        return
    a = contents_of(ARRAYS[0], 0, call)
    assert ended.reason == "" and list(ended.changed) == [1]
    assert (ended.changed[1] == (a + 2 if function == "returned" else 2 * a)).all()


SOURCE = """
extern "C" { void solve(const float* a, float* b, int) {} }
template <class T> __global__ void inner(T *a) {}
void helper(int n) {}
"""


def test_functions_are_found_and_chosen(tmp_path: Path) -> None:
    path, bare = tmp_path / "one.cu", tmp_path / "bare.cu"
    path.write_text(SOURCE)
    bare.write_text("__global__ void solve(const float *a, float *b, int n) {}\n")
    (found,) = callable_in(str(path))
    assert (found.name, found.names, found.is_kernel) == ("solve", ("a", "b", "argument3"), False)
    (kernel,) = callable_in(str(bare))
    assert kernel.is_kernel and chosen([found], [kernel]) == (found, kernel)
    (helper,) = callable_in(str(path), "helper")
    with pytest.raises(CutuneError, match=r"name one by --function.*CT297|CT297|--function"):
        chosen([found, helper], [found, helper])
    others = (ARRAYS[0], Argument("b", "p", BFLOAT))
    with pytest.raises(CutuneError, match="array of bfloat16"):
        check_same(found, others, ARRAYS)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--values", "a=3"], "LOW..HIGH"),
        (["--array", "3"], "NAME="),
        (["--block", "0x"], "X,Y,Z"),
        (["--against", "r.py"], "FILE.py:NAME"),
    ],
)
def test_wrong_options(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["check", "one.cu", "--against", "two.cu", *words])
    assert said in capsys.readouterr().err
