"""The fuzzer itself: seeds are read as they are, and what fails is found and made small."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from tests.fuzzing.commands import failure_of as failure_of_command
from tests.fuzzing.commands import of_tables, run
from tests.fuzzing.failures import Watched, failure_of, minimised
from tests.fuzzing.mutations import MUTATIONS, Mutation, mutated
from tests.fuzzing.native import place_of
from tests.fuzzing.reader import READERS, reader_named
from tests.support.killed_commands import WORKS


@pytest.mark.parametrize("name", READERS)
def test_seeds_and_mutations_of_them_are_read(name: str) -> None:
    reader = reader_named(name)
    for number, seed in enumerate(islice(reader.seeds(), 5)):
        assert len(seed) <= reader.most_bytes
        assert failure_of(seed, reader.check) is None
        data = reader.mutated(seed, number, reader.most_bytes)
        assert len(data) <= reader.most_bytes and failure_of(data, reader.check) is None


@pytest.mark.parametrize("name", READERS)
def test_what_a_reader_raises_is_kept(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader with an error of its own: each place is kept once, and made small."""
    reader = reader_named(name)
    seed = next(iter(reader.seeds()))

    def broken(data: bytes) -> None:
        reader.check(data)
        if b"needle" in data:
            raise KeyError("found")

    watched = Watched(broken, tmp_path, 20.0)
    watched(seed)
    assert list(tmp_path.iterdir()) == []
    for _ in range(2):
        watched(b"needle" + seed)
    (kept,) = tmp_path.iterdir()
    failure = failure_of(kept.read_bytes(), broken, 20.0)
    assert failure is not None and failure.place.startswith("KeyError in ")
    assert minimised(failure, broken, 20.0).data == b"needle"


def test_a_hang_is_a_failure() -> None:
    def hangs(data: bytes) -> None:
        while data:
            pass

    failure = failure_of(b"x", hangs, 0.05)
    assert failure is not None and failure.place == "hang"
    assert failure_of(b"", hangs, 0.05) is None


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_mutations_take_any_text(mutation: Mutation) -> None:
    text = '{"a": [1, 2], "b": {"c": "d"}}'
    for seed in range(20):
        for one in ("", "\xff", text):
            mutation(random.Random(seed), one, ["piece"])
    changed = {mutation(random.Random(seed), f"{text}\n", ["piece"]) for seed in range(20)}
    assert len(changed) > 1


def test_mutated_sources_are_read() -> None:
    reader = reader_named("cuda")
    seeds = list(reader.seeds())
    rng = random.Random(7)
    for _ in range(30):
        text = mutated(rng, rng.choice(seeds).decode("latin-1"), reader.pieces)
        assert failure_of(text.encode("latin-1"), reader.check, 20.0) is None


@pytest.mark.parametrize("number", range(6))
def test_damaged_commands_end_in_a_message(number: int, tmp_path: Path) -> None:
    """Tables and documents; a word of the command, or the file."""
    for command in of_tables():
        if command.words[0] in ("fit", "convert", "device"):
            for one in (command, replace(command, damaged="")):
                assert failure_of_command(one.mutated(number), tmp_path / "work") == ""


def test_how_a_command_has_ended_is_known(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    ended = run(("select", "k"), tmp_path / "work")
    assert ended.status == 1 and "[CT" in ended.said and 0 < ended.megabytes < 2_000


def test_what_sanitizers_say_has_a_place() -> None:
    said = "native/machine_run.cpp:7:3: runtime error: shift exponent 64 is too large\n"
    assert place_of(said, 0) == "shift exponent 64 is too large in machine_run.cpp:7"
    said = (
        "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1\n"
        "    #0 0x2 in cutune::run(int) /src/native/machine_run.cpp:9\n"
    )
    assert place_of(said, 77) == "heap-buffer-overflow in machine_run.cpp, cutune::run(int)"
    assert place_of("", -11) == "status -11: "


def test_what_is_killed_begins_anew(tmp_path: Path) -> None:
    work = WORKS["tune"](tmp_path)
    work.reset()
    (tmp_path / "work" / "left").write_text("x")
    work.reset()
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["a.cu"]
