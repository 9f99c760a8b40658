"""Mutated PTX: what is not understood is said, whatever it is."""

from __future__ import annotations

import random

import pytest

from cutune.emulator.assemble import assemble
from cutune.proof.compiled import prove_entries
from cutune.ptx.types import PtxError
from tests.support.program_texts import PTX_MODULE

WORDS = (
    *PTX_MODULE.split(),
    "",
    "{",
    "}",
    "%r999",
    "[",
    "]",
    "0f",
    "-1",
    "1e999",
    "99999999999999999999",
    ";",
)


def mutated(rng: random.Random) -> str:
    """The text with a few words left out, doubled, or replaced by others."""
    words = PTX_MODULE.replace("\n", " \n ").split(" ")
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(words))
        words[place] = rng.choice(("", words[place] * 2, rng.choice(WORDS), words[place][:-1]))
    return " ".join(words)


def test_what_is_not_understood_is_said() -> None:
    assert assemble(PTX_MODULE).kernels
    rng = random.Random(1)
    understood = 0
    for _ in range(300):
        try:
            assemble(mutated(rng))
            understood += 1
        except PtxError as error:
            assert error.reason
    assert 0 < understood < 300


def test_entries_that_are_not_understood_are_not_proven() -> None:
    """Operands that lack: nothing is raised, and where they are needed the entry is refused."""
    lines = [one for one in PTX_MODULE.splitlines() if not one.strip().startswith(("bar", "atom"))]
    (proof,) = prove_entries(["\n".join(lines)], lambda _: True).proofs["k"]
    assert proof.refused is None
    refused: set[str] = set()
    lacking = [(i, one.rpartition(",")[0]) for i, one in enumerate(lines) if "%" in one]
    for number, head in lacking:
        if not head:
            continue
        text = "\n".join([*lines[:number], f"{head};", *lines[number + 1 :]])
        for found in prove_entries([text], lambda _: True).proofs.values():
            if found[0].refused is not None:
                refused.add(head.split()[0])
    assert {"ld.param.u64", "mul.wide.s32", "setp.ge.s32", "ld.global.f32"} <= refused


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("%r<6>", "%r<99999999999>"),
        ("part[128]", "part[99999999999]"),
        (".param .u64 k_param_0", ".param .align 8 .b8 k_param_0[99999999999]"),
        (".align 4 .f32", ".align 99999999999 .f32"),
        ("[%rd4+8]", f"[%rd4+{'9' * 40}]"),
        ("bar.sync 0;", "{" * 20_000 + "bar.sync 0;"),
    ],
)
def test_sizes_without_sense_are_refused_at_once(text: str, other: str) -> None:
    with pytest.raises(PtxError):
        assemble(PTX_MODULE.replace(text, other))


def test_words_that_an_instruction_needs() -> None:
    """Without them it is refused, also within what asks for the targets of calls."""
    for text in (
        "vote.sync.b32 %r5, %p1, -1;",
        "shfl.sync.b32 %r5, %r1, 1, 31, -1;",
        "call (%r5);",
    ):
        with pytest.raises(PtxError):
            assemble(PTX_MODULE.replace("bar.sync 0;", text))
        found = prove_entries([PTX_MODULE.replace("bar.sync 0;", text)], lambda _: True)
        assert all(one.refused is not None for proofs in found.proofs.values() for one in proofs)
