"""Code that notes what comes out of its decisions: it has to be code, whatever the text is like."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cutune.emulator.machine import LoadedModule
from cutune.measure.trial_outcomes import Outcomes
from cutune.ptx.parse import parse
from cutune.ptx.tried_sizes import SizesOfFunctions

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1) {{
.reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;
ld.param.u64 %d1, [k_param_0]; cvta.to.global.u64 %d2, %d1;
ld.param.u32 %r1, [k_param_1];
ld.global.u32 %r2, [%d2];
{}
st.global.u32 [%d2], %r3;
ret;
}}
"""
SET = "setp.gt.s32 %p1, %r1, 500;\nselp.b32 %r3, %r1, 9, %p1;"
CASES = {
    "plain": SET,
    "scope": f"{{\n.reg .pred %p1;\n{SET}\n}}",
    "both": f"{{\n.reg .pred %p1;\n{SET}\n}}\n{SET}",
    "product": f"{SET}\nmad.lo.s32 %r4, %r3, %r2, %r4;\nmul.lo.s32 %r3, %r3, 7;",
    "elsewhere": f"{SET}\nbra $next;\n$next:\n@%p1 bra $end;\n$end:",
}


@pytest.mark.parametrize("name", list(CASES))
def test_what_notes_is_code_and_an_end_without_runs_is_no_answer(name: str) -> None:
    text, launched = KERNEL.format(CASES[name]), list[LoadedModule]()

    def runs(loaded: LoadedModule) -> Iterator[None]:
        launched.append(loaded)
        notes = loaded.variable("cutune_outcomes")
        assert notes is not None and not notes.any()
        yield
        notes[:1] = 1

    said = _outcomes(text).objection("k", runs)
    assert launched
    assert said == "it asks what trials do not answer both ways"


def test_two_statements_of_a_line_cannot_be_watched() -> None:
    text = KERNEL.format(SET.replace("\n", " "))
    said = _outcomes(text).objection("k", lambda _: iter(()))
    assert said == "it decides by code that cannot be watched"


def _outcomes(text: str) -> Outcomes:
    about = text, parse(text), ["k"], [1]
    return Outcomes(*about, of_data=False, sizes_of=SizesOfFunctions(), least={})
