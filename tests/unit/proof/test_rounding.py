"""Does a copy of a kernel round as the kernel does?"""

from __future__ import annotations

import pytest

from cutune.proof.same_code import parameter_name, rounds_alike
from cutune.ptx.parse import parse
from cutune.ptx.types import Function

HEAD = """\
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .f32 table[64];
.visible .entry kernel(
.param .u64 kernel_param_0, .param .u64 kernel_param_1, .param .f32 kernel_param_2)
{
.reg .pred %p<9>; .reg .f32 %f<20>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [kernel_param_0];
ld.param.u64 %rd2, [kernel_param_1];
ld.param.f32 %f1, [kernel_param_2];
"""
LOADS = "ld.global.f32 %f2, [%rd1]; ld.global.f32 %f3, [%rd2];\n"
#: f1 * f2 + f1 * f3, where either product is fused.
FIRST = LOADS + "mul.f32 %f4, %f1, %f3; fma.rn.f32 %f5, %f1, %f2, %f4; st.global.f32 [%rd1], %f5;\n"
SECOND = (
    LOADS + "mul.f32 %f4, %f1, %f2; fma.rn.f32 %f5, %f1, %f3, %f4; st.global.f32 [%rd1], %f5;\n"
)
#: The same as the first, in another order and with other names.
MOVED = """\
ld.global.nc.f32 %f9, [%rd2]; mul.f32 %f8, %f9, %f1; ld.global.f32 %f7, [%rd1];
fma.rn.f32 %f6, %f7, %f1, %f8; st.global.f32 [%rd1], %f6;
"""
NEITHER = LOADS + "mul.f32 %f4, %f1, %f3; mul.f32 %f6, %f1, %f2; add.f32 %f5, %f6, %f4;\n"
STORED = LOADS + "mul.f32 %f4, %f1, %f2; st.global.f32 [%rd1], %f4;\n"
TURNED = LOADS + "mul.f32 %f4, %f1, %f2; mul.f32 %f6, %f1, %f3; add.f32 %f5, %f6, %f4;\n"
#: Products of the same array: one cannot be told from the other.
SQUARES = """\
add.s64 %rd3, %rd1, %rd1; ld.global.f32 %f2, [%rd1]; ld.global.f32 %f3, [%rd3];
mul.f32 %f4, %f3, %f3; fma.rn.f32 %f5, %f2, %f2, %f4; st.global.f32 [%rd2], %f5;
"""
SQUARED = """\
add.s64 %rd3, %rd1, %rd1; ld.global.f32 %f3, [%rd3]; ld.global.f32 %f2, [%rd1]; neg.f32 %f7, %f2;
mul.f32 %f4, %f3, %f3; fma.rn.f32 %f5, %f2, %f2, %f4; st.global.f32 [%rd2], %f5;
"""
#: The other one is fused, and all else stays where it was.
FLIPPED = SQUARES.replace("%f4, %f3, %f3", "%f4, %f2, %f2").replace(
    "%f5, %f2, %f2", "%f5, %f3, %f3"
)
#: Of one vector they can be told by their places.
OF_VECTOR = """\
{} ld.global.v2.f32 {{%f2, %f3}}, [%rd1];
mul.f32 %f4, {}; fma.rn.f32 %f5, {}, %f4; st.global.f32 [%rd2], %f5;
"""
NEGATED = "neg.f32 %f7, %f1;"
IN_ORDER, TURNED_ROUND = ("%f3, %f3", "%f2, %f2"), ("%f2, %f2", "%f3, %f3")
#: Of two vectors of one array they cannot.
OF_VECTORS = """\
{} add.s64 %rd3, %rd1, %rd1; ld.global.v2.f32 {{%f2, %f3}}, [%rd1];
ld.global.v2.f32 {{%f8, %f9}}, [%rd3];
mul.f32 %f4, {}; fma.rn.f32 %f5, {}, %f4; st.global.f32 [%rd2], %f5;
"""
#: Both products are rounded, and either of them comes first.
SUM_OF_SQUARES = """\
add.s64 %rd3, %rd1, %rd1; ld.global.f32 %f2, [%rd1]; ld.global.f32 %f3, [%rd3];
{} add.f32 %f5, %f6, %f4; st.global.f32 [%rd2], %f5;
"""
ONE, OTHER = "mul.f32 %f4, %f3, %f3;", "mul.f32 %f6, %f2, %f2;"
#: What is read from one array has been in the other one; the same without what is stored.
EXCHANGED = """\
ld.global.f32 %f2, [%rd1]; st.global.f32 [%rd2], %f2; ld.global.f32 %f3, [%rd2];
st.global.f32 [%rd1], %f3; {}
mul.f32 %f4, %f1, %f3; fma.rn.f32 %f5, %f1, %f2, %f4; st.global.f32 [%rd1], %f5;
"""
SEPARATE = LOADS + "{} mul.f32 %f4, %f1, %f3; fma.rn.f32 %f5, %f1, %f2, %f4;\n"
#: A value that is replaced under a condition is made of both.
REPLACED = (
    LOADS
    + "$next: setp.lt.s32 %p1, %r1, 9; {}@%p1 mov.f32 %f3, %f2; "
    + """\
mul.f32 %f4, %f1, %f3; fma.rn.f32 %f5, %f1, %f2, %f4; neg.f32 %f6, %f5;
"""
)
#: A sum in memory, and in a register; the latter twice per round.
IN_MEMORY = """\
$again: ld.global.f32 %f2, [%rd2]; ld.global.f32 %f3, [%rd1]; fma.rn.f32 %f4, %f1, %f2, %f3;
st.global.f32 [%rd1], %f4; setp.lt.s32 %p1, %r1, 9; @%p1 bra $again;
"""
IN_REGISTER = """\
ld.global.f32 %f9, [%rd1];
$again: ld.global.f32 %f2, [%rd2]; fma.rn.f32 %f4, %f1, %f2, %f9;
ld.global.f32 %f5, [%rd2+4]; fma.rn.f32 %f9, %f1, %f5, %f4;
setp.lt.s32 %p1, %r1, 9; @%p1 bra $again;
st.global.f32 [%rd1], %f9;
"""
#: A product that memory rounds in between, and that is fused when it stays in a register.
SCALED = """\
ld.global.f32 %f2, [%rd1]; mul.f32 %f3, %f1, %f2; st.global.f32 [%rd1], %f3;
ld.global.f32 %f4, [%rd1]; ld.global.f32 %f5, [%rd2]; add.f32 %f6, %f4, %f5;
st.global.f32 [%rd1], %f6;
"""
FUSED = """\
ld.global.f32 %f2, [%rd1]; ld.global.f32 %f5, [%rd2]; fma.rn.f32 %f6, %f1, %f2, %f5;
st.global.f32 [%rd1], %f6;
"""
#: A variable of the module in place of what the first pointer leads to.
OF_TABLE = FIRST.replace("[%rd1];", "[table];")
#: Textures: which one is told by the first of the registers that say where.
OF_TEXTURES = """\
tex.1d.v4.f32.s32 {{%f2, %f7, %f8, %f9}}, [%rd1, {{%r1}}];
tex.1d.v4.f32.s32 {{%f3, %f10, %f11, %f12}}, [%rd2, {{%r1}}];
mul.f32 %f4, {0}, {0}; fma.rn.f32 %f5, {1}, {1}, %f4; st.global.f32 [%rd1], %f5;
"""
#: An id times a number, and a square; the id is that of a block, or of a thread.
OF_ID = """\
mov.u32 %r1, %ctaid.x; {} cvt.rn.f32.u32 %f2, %r1; mul.f32 %f3, {}; fma.rn.f32 %f4, {}, %f3;
st.global.f32 [%rd1], %f4;
"""
ID = "mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r1, %r1, %r2, %r3;"
NUMBERED, SQUARED_ID = ("%f1, %f1", "%f2, 0f3F8CCCCD"), ("%f2, 0f3F8CCCCD", "%f1, %f1")


def function(body: str) -> Function:
    (found,) = parse(f"{HEAD}{body}ret;\n}}\n").functions.values()
    return found


@pytest.mark.parametrize(
    ("kernel", "copy", "expected"),
    [
        (FIRST, FIRST, True),
        (FIRST, MOVED, True),
        (FIRST, SECOND, False),
        (MOVED, SECOND, False),
        (FIRST, NEITHER, False),
        (NEITHER, FIRST, False),
        # Of two products that are added the assembler fuses one: which, their order may tell.
        (NEITHER, NEITHER, True),
        (NEITHER, TURNED, False),
        (SQUARES, SQUARES, True),
        (SQUARES, SQUARED, False),
        (SQUARES, FLIPPED, False),
        (OF_VECTOR.format("", *IN_ORDER), OF_VECTOR.format(NEGATED, *IN_ORDER), True),
        (OF_VECTOR.format("", *IN_ORDER), OF_VECTOR.format(NEGATED, *TURNED_ROUND), False),
        (OF_VECTOR.format("", *IN_ORDER), SQUARED, False),
        (SQUARED, OF_VECTOR.format("", *IN_ORDER), False),
        (
            OF_VECTORS.format("", "%f9, %f9", "%f2, %f2"),
            OF_VECTORS.format(NEGATED, "%f9, %f9", "%f2, %f2"),
            False,
        ),
        (SUM_OF_SQUARES.format(ONE + OTHER), SUM_OF_SQUARES.format(ONE + OTHER), True),
        (SUM_OF_SQUARES.format(ONE + OTHER), SUM_OF_SQUARES.format(OTHER + ONE), False),
        (SEPARATE.format(""), SEPARATE.format("neg.f32 %f7, %f1; "), True),
        (EXCHANGED.format(""), EXCHANGED.format("neg.f32 %f7, %f1; "), False),
        (REPLACED.format(""), REPLACED.format("neg.f32 %f7, %f1; "), True),
        (IN_MEMORY, IN_REGISTER, True),
        (SCALED, FUSED, False),
        (NEITHER.replace("mul", "mul.rn"), FIRST, False),
        (OF_TABLE, OF_TABLE, True),
        (OF_TABLE, FIRST, False),
        (OF_TEXTURES.format("%f2", "%f3"), OF_TEXTURES.format("%f2", "%f3"), True),
        (OF_TEXTURES.format("%f2", "%f3"), OF_TEXTURES.format("%f3", "%f2"), False),
        (STORED, STORED, True),
        (STORED, STORED.replace("%f1, %f2", "%f1, %f3"), False),
        (STORED, LOADS, False),
        (NEITHER.replace("mul", "mul.rn"), TURNED.replace("mul", "mul.rn"), True),
    ],
)
def test_which_copies_round_alike(kernel: str, copy: str, expected: bool) -> None:
    assert rounds_alike(function(kernel), function(copy)) is expected


def test_it_ends_where_memory_holds_what_was_read_from_it() -> None:
    """Vectors that are written to the places that they were read from, in a loop."""
    body = """\
    $again: ld.global.v2.f32 {%f2, %f3}, [%rd1]; fma.rn.f32 %f4, %f2, %f3, %f2;
    st.global.v2.f32 [%rd1], {%f4, %f3}; setp.lt.s32 %p1, %r1, 9; @%p1 bra $again;
    """
    assert rounds_alike(function(body), function(body))


@pytest.mark.parametrize(("order", "expected"), [(NUMBERED, True), (SQUARED_ID, False)])
def test_ids_have_other_names_where_threads_are_numbered_anew(
    order: tuple[str, str], expected: bool
) -> None:
    kernel, copy = function(OF_ID.format("", *NUMBERED)), function(OF_ID.format(ID, *order))
    anew = {"%tid.x": "", "%ntid.x": ""}
    assert rounds_alike(kernel, copy, anew) is expected


#: Squares of what lies at an id and behind it.
AT_ID = """\
{} mov.u32 %r1, %ctaid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r1, %r1, %r2, %r3;
mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3;
ld.global.f32 %f2, [%rd4]; ld.global.f32 %f3, [%rd4+4];
mul.f32 %f4, {}, {}; fma.rn.f32 %f5, {}, {}, %f4; st.global.f32 [%rd2], %f5;
"""
ARGUMENT, WIDTH = "ld.param.u32 %r2, [kernel_param_3];", "mov.u32 %r2, %ntid.x;"


@pytest.mark.parametrize(("squares", "expected"), [(("%f2", "%f3"), True), (("%f3", "%f2"), False)])
def test_an_argument_may_be_the_width_of_the_block(
    squares: tuple[str, str], expected: bool
) -> None:
    one, other = squares
    kernel = function(AT_ID.format(ARGUMENT, "%f2", "%f2", "%f3", "%f3"))
    copy = function(AT_ID.format(WIDTH, one, one, other, other))
    widths = {"%tid.x": "", "%ntid.x": "", parameter_name(3): ""}
    assert rounds_alike(kernel, copy, widths) is expected
    # Any other argument is a value of its own.
    del widths[parameter_name(3)]
    assert not rounds_alike(kernel, copy, widths)


#: Squares of what stands in two shared arrays, one of which is rounded before it is added.
OF_ARRAYS = """\
.shared .align 4 .b8 {0}_one[4]; .shared .align 4 .b8 {0}_two[4];
ld.shared.f32 %f2, [{0}_one]; ld.shared.f32 %f3, [{0}_two];
mul.f32 %f4, {1}, {1}; fma.rn.f32 %f5, {2}, {2}, %f4; st.global.f32 [%rd1], %f5;
"""


@pytest.mark.parametrize(("squares", "expected"), [(("%f2", "%f3"), True), (("%f3", "%f2"), False)])
def test_shared_arrays_are_called_after_their_functions(
    squares: tuple[str, str], expected: bool
) -> None:
    kernel = function(OF_ARRAYS.format("kernel", "%f2", "%f3"))
    assert rounds_alike(kernel, function(OF_ARRAYS.format("copy", *squares))) is expected


def test_arrays_whose_size_the_launch_gives_begin_at_one_place() -> None:
    kernel, copy, other = (
        function(OF_TABLE.replace("[table]", f"[{name}]")) for name in ("own", "copied", "other")
    )
    assert not rounds_alike(kernel, copy)
    assert rounds_alike(kernel, copy, dynamic={"own", "copied"})
    assert not rounds_alike(kernel, other, dynamic={"own", "copied"})
