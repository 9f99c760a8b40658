"""Proofs that other verbs have made are found again, and only those of the same text and prover."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.proof import compiled, entry
from cutune.proof.compiled import prove_entries
from cutune.proof.entry_proof import EntryProof
from cutune.ptx.types import Module

PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n) {
    .reg .pred %p<2>;
    .reg .b32 %r<7>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra done;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.s32 %rd3, %r5, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r5;
done:
    ret;
}
"""


def test_a_proof_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "cache_folder", lambda: tmp_path)
    made = list[str]()
    prove = entry.prove

    def counted(module: Module, name: str, assembly: frozenset[int]) -> EntryProof:
        made.append(name)
        return prove(module, name, assembly)

    monkeypatch.setattr(entry, "prove", counted)

    def found(text: str) -> object:
        compiled._entries.cache_clear()
        return prove_entries([text], lambda name: True).proofs["k"]

    first = found(PTX)
    assert first[0].is_tunable and made == ["k"]  # type: ignore[index]
    assert found(PTX) == first and made == ["k"]
    # Another text, another prover, and what is damaged: it is proven.
    assert found(PTX.replace("mul.wide.s32 %rd3, %r5, 4", "mul.wide.s32 %rd3, %r4, 4")) != first
    monkeypatch.setattr(compiled, "_prover", lambda: "another")
    assert found(PTX) == first and made == ["k"] * 3
    for kept in (tmp_path / "proofs").iterdir():
        kept.write_text("no proof")
    assert found(PTX) == first and made == ["k"] * 4
    compiled._entries.cache_clear()
