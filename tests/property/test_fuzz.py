"""A short run of the fuzzer, and what it would do with a failure."""

from __future__ import annotations

import random

import pytest

from tests import fuzz

TEXTS = fuzz.texts_of(())


def test_a_short_run_finds_nothing() -> None:
    report = fuzz.run(TEXTS, seed=7, minutes=1, most=40)
    assert report.sources == 40
    assert [failure.message for failure in report.failures] == []


@pytest.mark.parametrize("mutation", fuzz.MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_mutations_take_any_text(mutation: fuzz.Mutation) -> None:
    for seed in range(20):
        for text in ("", "\xff", TEXTS[seed]):
            mutation(random.Random(seed), text)
    assert any(mutation(random.Random(seed), TEXTS[0]) != TEXTS[0] for seed in range(20))


def test_a_failure_is_minimised() -> None:
    def fails(text: str) -> None:
        if "needle" in text and "{" in text:
            raise KeyError("found")

    text = "int a;\n" * 40 + "void needle() { return; }\n" + "int b;\n" * 40
    failure = fuzz.failure_of(text, 5, fails)
    assert failure is not None and failure.place == "KeyError in fails"
    assert fuzz.minimise(failure, fails).text == "needle{"


def test_a_hang_is_a_failure() -> None:
    def hangs(text: str) -> None:
        while text:
            pass

    failure = fuzz.failure_of("x", 0.05, hangs)
    assert failure is not None and failure.place == "hang"
    assert fuzz.failure_of("", 0.05, hangs) is None
