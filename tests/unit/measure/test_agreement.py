"""What two outputs are taken for the same, and what of an output is taken to vary by itself."""

from __future__ import annotations

import pytest

from cutune.measure.agreement import NOTHING, Agreement, OtherLength, Varying

LOOSE = Agreement(relative=0.1, exact_integers=False)


@pytest.mark.parametrize(
    ("first", "second", "agreement", "reason"),
    [
        (b"a 1\n", b"a 1\n", Agreement(identical=True), None),
        (b"a 1.0\n", b"a 1.0000001\n", Agreement(), None),
        (b"a 1.0\n", b"a 1.0000001\n", Agreement(identical=True), "line 1: 'a 1.0' became"),
        (b"x\na 1.0\n", b"x\na 1.01\n", Agreement(), "line 2: 'a 1.0' became 'a 1.01'"),
        (b"a 1.0\n", b"a 1.01\n", Agreement(relative=0.1), None),
        (b"0.0\n", b"1e-9\n", Agreement(), "line 1"),
        (b"0.0\n", b"1e-9\n", Agreement(absolute=1e-8), None),
        (b"1 2\n", b"1\n", Agreement(), "line 1"),
        (b"1\n", b"1\n2\n", Agreement(), "lines: 1 became 2"),
        (b"nan -inf\n", b"nan -inf\n", Agreement(), None),
        (b"inf\n", b"INF\n", Agreement(), None),
        (b"nan\n", b"1.0\n", Agreement(), "line 1"),
        (b"PASS\n", b"FAIL\n", Agreement(relative=10), "line 1"),
        (b"t 3 s\n1\n", b"t 4 s\n1\n", Agreement(identical=True, ignored="^t "), None),
        (b"t 3 s\n1\n", b"t 4 s\n2\n", Agreement(ignored="^t "), "line 2: '1' became '2'"),
        (b"\xff\x00", b"\xff\x01", Agreement(), "line 1"),
        (b" # #\n", b" #  #\n", Agreement(), "line 1"),
    ],
)
def test_outputs(first: bytes, second: bytes, agreement: Agreement, reason: str | None) -> None:
    found = agreement.difference(first, second)
    assert (found is None) == (reason is None)
    if found is not None and reason is not None:
        assert reason in found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (b"sum 1234567890\n", b"sum 1234567891\n"),
        (b"sum 9007199254740993\n", b"sum 9007199254740992\n"),
        (b"b=9f3e12345678abcd\n", b"b=9f3e12345679abcd\n"),
        # As numbers both are infinite.
        (b"b=9f3e12345678\n", b"b=9f3e12345679\n"),
        (b"at 0x10000001\n", b"at 0x10000002\n"),
        (b"1e400\n", b"2e400\n"),
    ],
)
def test_checksums_have_no_tolerance(first: bytes, second: bytes) -> None:
    assert Agreement().difference(first, second) is not None


def test_integers_have_the_tolerance_that_is_asked_for() -> None:
    assert LOOSE.difference(b"sum 100\n", b"sum 101\n") is None
    assert LOOSE.difference(b"sum 100\n", b"sum 150\n") is not None
    assert LOOSE.difference(b"b=9f3e12345678abcd\n", b"b=9f3e12345679abcd\n") is not None


def test_long_lines_are_cut_around_the_difference() -> None:
    reason = Agreement().difference(b"x" * 500 + b"left\n", b"x" * 500 + b"right\n")
    assert reason is not None and "left" in reason and "right" in reason and len(reason) < 200


@pytest.mark.parametrize(
    ("first", "second", "varying"),
    [
        (b"a 1\n", b"a 1\n", {}),
        (b"a 1.0\n", b"a 1.0000001\n", {}),
        (b"sum 3\ntime 1.5 ms\n", b"sum 3\ntime 1.7 ms\n", {2: frozenset({0})}),
        (b"n 4 took 1.5 of 3\n", b"n 4 took 1.7 of 3\n", {1: frozenset({1})}),
        (b"took   9.5 ms\n", b"took  10.5 ms\n", {1: frozenset({0})}),
        (b"at 0x7f31b0\n", b"at 0x7e42c1\n", {1: frozenset({0})}),
        (b"1\nred 1\n2\n", b"1\nblue 2\n2\n", {2: None}),
    ],
)
def test_what_varies(
    first: bytes, second: bytes, varying: dict[int, frozenset[int] | None]
) -> None:
    assert Agreement().varying(first, second).numbers == varying


def test_what_varies_is_left_out_and_nothing_else() -> None:
    agreement, known = Agreement(), b"n 4 took  9.5 s\nred\nsum 1.0\n"
    varying = agreement.varying(known, b"n 4 took  9.7 s\nblue\nsum 1.0\n")
    assert agreement.difference(known, b"n 4 took 10.5 s\ngreen\nsum 1.0\n", varying) is None
    for other in (
        b"n 5 took  9.5 s\nred\nsum 1.0\n",
        b"n 4 took  9.5 h\nred\nsum 1.0\n",
        b"n 4 took  9.5 s\nred\nsum 2.0\n",
        b"n 4 took  9.5 s\nsum 1.0\n",
    ):
        assert agreement.difference(known, other, varying) is not None


def test_times_beside_what_varies_may_be_alike_by_rounding() -> None:
    agreement = Agreement()
    known = b"n 4, average time of it (sec):0.000015, BW: 0.0843, sum 3\nover 2.0 ms\n"
    again = b"n 4, average time of it (sec):0.000015, BW: 0.0839, sum 3\nover 2.0 ms\n"
    varying = agreement.varying(known, again)
    assert varying.numbers == {1: frozenset({1, 2})}
    other = b"n 4, average time of it (sec):0.000091, BW: 0.0141, sum 3\nover 2.0 ms\n"
    assert agreement.difference(known, other, varying) is None
    # Neither a result beside them, nor a time where nothing varies.
    for line in (other.replace(b"sum 3", b"sum 4"), other.replace(b"2.0", b"3.0")):
        assert agreement.difference(known, line, varying) is not None


def test_lines_that_come_and_go_cannot_be_compared() -> None:
    with pytest.raises(OtherLength):
        Agreement().varying(b"1\n", b"1\n2\n")
    assert Agreement(ignored="2").varying(b"1\n", b"1\n2\n") == NOTHING


def test_lines_whose_numbers_all_vary_are_no_result() -> None:
    text, agreement = b"sum 1\ntime 2 of 3\n", Agreement()
    assert agreement.compared_lines(text, NOTHING) == 2
    assert agreement.compared_lines(text, Varying({1: frozenset({0})})) == 1
    assert agreement.compared_lines(text, Varying({1: None, 2: frozenset({0})})) == 1
    assert agreement.compared_lines(text, Varying({1: None, 2: frozenset({0, 1})})) == 0


def test_what_varies_adds_up_and_is_described() -> None:
    first = Varying({1: None, 2: frozenset({0}), 7: frozenset({1})})
    second = Varying({1: frozenset({0}), 3: None, 2: None, 7: frozenset({2})})
    both = first | second
    assert both.numbers == {1: None, 2: None, 3: None, 7: frozenset({1, 2})}
    assert both.described("standard output") == (
        "3 lines of standard output (1-3), numbers in 1 line (7)"
    )
