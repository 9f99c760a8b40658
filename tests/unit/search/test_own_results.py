"""Does a configuration write what the program's own one does? Times and parameters aside."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import pytest

from cutune.measure.agreement import Agreement
from cutune.search.regions import CONFIRMING_RUNS, FailedRun, MeasuredRun, ReferenceOutput, rules_of
from cutune.space.annotation import Value

OWN: dict[str, Value] = {"WPT": 1, "KIND": "float"}


def ran(output: str) -> MeasuredRun:
    return MeasuredRun((), output.encode(), {"m": 32}, 1.0)


def own(*outputs: str, rules: Agreement | None = None) -> ReferenceOutput:
    """Of a program that writes one output after the other, and then the last one."""

    def each() -> Iterator[MeasuredRun]:
        yield from map(ran, outputs)
        while True:
            yield ran(outputs[-1])

    runs = each()
    return ReferenceOutput(next(runs), lambda: next(runs), OWN, rules or rules_of())


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("sum 10\n", "sum 10\n"),
        ("sum 1.00000\n", "sum 1.000001\n"),
        ("relative residual 5.55e-16\n", "relative residual 4.44e-16\n"),
        ("max. error: 3e-06\n", "max. error: 0\n"),
        ("took 12.5 ms\n", "took 9.75 ms\n"),
        ("time: 12.5\nsum 3\n", "time: 0.5\nsum 3\n"),
        ("Elapsed time (ms) = 3.2\n", "Elapsed time (ms) = 0.2\n"),
        ("3.2ms 14.1 GB/s (88.2 GFLOPS)\n", "3.9ms 12.1 GB/s (80.1 GFLOPS)\n"),
        ("Bandwidth [GB/s]: 1200\n", "Bandwidth [GB/s]: 900\n"),
        ("1.5x faster than the CPU\n", "3.25x faster than the CPU\n"),
        ("0.004 seconds, sum 8\n", "1e-05 seconds, sum 8\n"),
    ],
)
def test_the_same_result(first: str, other: str) -> None:
    assert own(first).difference(other.encode(), OWN) == ""


def test_parameters_that_are_printed_are_no_result() -> None:
    """Only where the program prints its own value and the other run that of its configuration."""
    values: dict[str, Value] = {"m": 64, "WPT": 4, "KIND": "float"}
    assert own("m 32, WPT 1: 55\n").difference(b"m 64, WPT 4: 55\n", values) == ""
    assert "'m 32: 55' became 'm 63: 55'" in own("m 32: 55\n").difference(b"m 63: 55\n", values)
    assert "became '64'" in own("33\n").difference(b"64\n", values)


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("sum 10\n", "sum 11\n"),
        ("sum 1.0\n", "sum 1.001\n"),
        ("relative residual 5.55e-16\n", "relative residual 0.001\n"),
        ("sum 10\n", ""),
        ("PASSED in 3 ms\n", "FAILED in 3 ms\n"),
        ("3 ms, sum 10\n", "4 ms, sum 11\n"),
        ("time step 5: energy 1.5\n", "time step 5: energy 1.75\n"),
        ("sum 1.0\n", "sum nan\n"),
        ("a\nb\n", "a\n"),
    ],
)
def test_another_result(first: str, other: str) -> None:
    assert own(first).difference(other.encode(), OWN) != ""


def test_what_varies_by_itself_is_not_compared() -> None:
    """The program runs again only where something differs, and at most twice."""
    varying = own("seed 17\nsum 5\n", "seed 99\nsum 5\n")
    assert varying.difference(b"seed 3\nsum 5\n", OWN) == ""
    assert varying.difference(b"seed 3\nsum 6\n", OWN) != ""
    calls: list[int] = []

    def again() -> MeasuredRun:
        calls.append(1)
        return ran("sum 5\n")

    found = ReferenceOutput(ran("sum 5\n"), again, OWN, Agreement())
    assert found.difference(b"sum 5\n", OWN) == "" and not calls
    assert found.difference(b"sum 6\n", OWN) != "" and len(calls) == CONFIRMING_RUNS
    assert found.difference(b"sum 7\n", OWN) != "" and len(calls) == CONFIRMING_RUNS


def test_where_nothing_can_be_compared_all_is_right() -> None:
    lines = own("a\n", "a\nb\n")
    assert lines.difference(b"c\n", OWN) == ""
    failed = ReferenceOutput(FailedRun("status 1"), lambda: FailedRun("status 1"), OWN, Agreement())
    assert failed.difference(b"anything\n", OWN) == "" and failed.values == OWN


def test_lines_and_digits_that_are_no_result() -> None:
    ignoring = own("id 4\nsum 1.0\n", rules=rules_of(None, "^id"))
    assert ignoring.difference(b"id 5\nsum 1.0\n", OWN) == ""
    assert ignoring.difference(b"id 5\nsum 2.0\n", OWN) != ""
    loose = own("sum 100\n", rules=rules_of(0.1))
    assert loose.difference(b"sum 105\n", OWN) == "" and loose.difference(b"sum 150\n", OWN) != ""


def test_an_error_that_the_program_always_has_is_none() -> None:
    """It may ask whether a stream is ready, or enable access twice."""
    plain = own("a\n")
    assert plain.is_failure("invalid argument") and not plain.is_failure("")
    pending = MeasuredRun((), b"a\n", {}, 1.0, "not ready")
    usual = ReferenceOutput(pending, lambda: pending, OWN, Agreement())
    assert not usual.is_failure("not ready") and usual.is_failure("invalid argument")


def test_long_lines_take_no_longer_than_many() -> None:
    first = b" ".join(b"%d" % number for number in range(20_000))
    began = time.process_time()
    assert own(first.decode()).difference(first + b" 1", OWN) != ""
    assert time.process_time() - began < 20


def test_output_of_any_bytes() -> None:
    odd: Sequence[bytes] = (b"\xff\x00\xb5s 5\n", b"", b"\n\n\n", b"%" * 100_000)
    for first in odd:
        known = MeasuredRun((), first, {}, 0.1)
        for other in odd:
            result = ReferenceOutput(known, lambda known=known: known, OWN, Agreement())  # type: ignore[misc]
            assert (result.difference(other, OWN) == "") == (first == other)
