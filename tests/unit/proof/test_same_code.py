"""Compiled entries that are the same code, whatever they are called."""

from __future__ import annotations

from cutune.proof.same_code import code_of
from cutune.ptx.parse import parse

TEXT = """\
.version 8.0
.target sm_80
.address_size 64
.global .align 1 .b8 $str[3] = {65, 66, 0};
.visible .entry kernel(.param .u32 kernel_param_0) .maxntid 256, 1, 1
{
.reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<5>;
ld.param.u32 %r1, [kernel_param_0];
setp.eq.s32 %p1, %r1, 0; @%p1 bra $L__BB0_2;
mov.u64 %rd1, $str;
$L__BB0_2: ret;
}
"""


def code(text: str, name: str = "kernel", with_limits: bool = True) -> object:
    return code_of(parse(text), name, with_limits)


def test_names_and_numbers_of_functions_do_not_matter() -> None:
    other = TEXT.replace("kernel", "copy").replace("$L__BB0_", "$L__BB7_")
    assert code(other, "copy") == code(TEXT)


def test_texts_are_known_by_what_they_say() -> None:
    assert code(TEXT.replace("$str", "$str$4")) == code(TEXT)
    assert code(TEXT.replace("{65, 66", "{65, 67")) != code(TEXT)


def test_texts_may_say_what_others_do_in_other_words() -> None:
    module, other = parse(TEXT.replace("{65, 66", "{67, 66")), code(TEXT)
    assert code_of(module, "kernel", in_texts=lambda text: text.replace("C", "A")) == other
    assert code_of(module, "kernel", in_texts=lambda text: text.replace("B", "A")) != other


def test_what_is_done_matters() -> None:
    assert code(TEXT.replace("%r1, 0;", "%r1, 1;")) != code(TEXT)
    assert code(TEXT.replace("@%p1", "@!%p1")) != code(TEXT)
    assert code(TEXT.replace(".param .u32", ".param .u64")) != code(TEXT)


def test_launch_bounds_matter_unless_they_are_left_out() -> None:
    other = TEXT.replace("256", "128")
    assert code(other) != code(TEXT)
    assert code_of(parse(other), "kernel") != code_of(parse(TEXT), "kernel")
    assert code(other, with_limits=False) == code(TEXT, with_limits=False)
