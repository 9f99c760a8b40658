"""What kernels do through each of their pointers."""

from __future__ import annotations

from cutune.ptx.named_numbers import ELSEWHERE, PointerParameters, asks_for_more
from cutune.ptx.parse import parse
from cutune.ptx.types import Module

HEAD = """.version 8.0
.target sm_80
.address_size 64
.global .u32 of_file;
.func (.param .b32 func_retval0) told(.param .b64 told_param_0) {
.reg .b32 %r<9>; .reg .b64 %d<9>;
ld.param.u64 %d1, [told_param_0]; ld.v2.u32 {%r1, %r2}, [%d1]; WRITE
st.param.b32 [func_retval0+0], %r1; ret; }
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1, .param .u32 k_param_2) {
.reg .b32 %r<20>; .reg .b64 %d<9>; .reg .f32 %f<9>;
ld.param.u64 %d1, [k_param_0]; ld.param.u64 %d2, [k_param_1]; ld.param.u32 %r1, [k_param_2];
cvta.to.global.u64 %d3, %d1; cvta.to.global.u64 %d4, %d2;
mul.wide.s32 %d5, %r1, 4; add.s64 %d6, %d3, %d5; add.s64 %d7, %d4, %d5;
"""
CALL = """{ .param .b64 param0; st.param.b64 [param0+0], %d2; .param .b32 retval0;
call.uni (retval0), told, (param0); ld.param.b32 %r9, [retval0+0]; }"""


def _module(body: str, write: str = "") -> Module:
    return parse(f"{HEAD.replace('WRITE', write)}{body}\nret; }}\n")


def _read(body: str, write: str = "") -> PointerParameters:
    functions = _module(body, write).functions
    return PointerParameters(
        functions["k"], [functions[name] for name in ("k", "told")][: 1 + ("call" in body)]
    )


def test_each_pointer_has_a_width() -> None:
    read = _read("ld.global.f32 %f1, [%d6]; st.global.v4.f32 [%d7], {%f1, %f1, %f1, %f1};")
    assert read.widths(max) == {0: 32, 1: 128}
    wider = _read("ld.global.v2.f32 {%f1, %f2}, [%d6]; st.global.f32 [%d7], %f1;")
    assert asks_for_more(read, wider) and not asks_for_more(read, read)


def test_an_access_that_no_pointer_tells_of() -> None:
    assert _read("ld.global.u32 %r2, [of_file];").widths(max) == {ELSEWHERE: 32}


def test_what_is_written_through() -> None:
    assert _read("ld.global.f32 %f1, [%d6]; st.global.f32 [%d7], %f1;").written == {1}
    assert _read("ld.global.f32 %f1, [%d6]; st.shared.f32 [%r1], %f1;").written == frozenset()
    assert _read("red.global.add.u32 [%d6], 1;").written == {0}


def test_functions_do_what_they_do_through_what_is_handed_to_them() -> None:
    assert _read(CALL).widths(max) == {1: 64}
    assert _read(CALL).written == frozenset()
    assert _read(CALL, "st.u32 [%d1], %r2;").written == {1}
