"""Code in which operations on data are other functions: what shows, and what does not."""

from __future__ import annotations

from struct import pack

import numpy as np
import pytest

from cutune.emulator.machine import LoadedModule, pointer
from cutune.measure.trial_functions import NoFunction, rewritten, with_functions
from cutune.ptx.parse import parsed

THREADS = 32
#: Four numbers for each thread, as trials draw them.
DATA = (
    np.random.default_rng(1).integers(0, 1 << 32, 4 * THREADS, np.uint32) & np.uint32(0x80FF83FF)
    | np.uint32(0x3F003C00)
).view(np.uint8)
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
KERNEL = """.visible .entry {name}(.param .u64 {name}_0, .param .u64 {name}_1) {{
.reg .pred %p<20>;
.reg .b16 %rs<8>;
.reg .b32 %r<16>;
.reg .f32 %f<16>;
.reg .f64 %fd<8>;
.reg .b64 %rd<8>;
.shared .align 8 .b8 part[512];
ld.param.u64 %rd1, [{name}_0];
ld.param.u64 %rd2, [{name}_1];
mov.u32 %r10, %tid.x;
mad.wide.u32 %rd1, %r10, 16, %rd1;
mad.wide.u32 %rd2, %r10, 8, %rd2;
mov.u32 %r11, part;
mad.lo.s32 %r11, %r10, 8, %r11;
{loads}
{body}
ret;
}}
"""
LOADS = "".join(
    f"ld.global.f32 %f{n}, [%rd1+{4 * n - 4}];\nld.global.u32 %r{n}, [%rd1+{4 * n - 4}];\n"
    for n in (1, 2, 3, 4)
)
#: Real and integer results.
REAL, WHOLE, LONG, WIDE = (
    "\nst.global.f32 [%rd2], %f9;",
    "\nst.global.u32 [%rd2], %r9;",
    "\nst.global.u64 [%rd2], %rd4;",
    "\nst.global.f64 [%rd2], %fd4;",
)


def left_by(body: str) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    text = HEAD + KERNEL.format(name="k", loads=LOADS, body=body)
    loaded = with_functions(text, parsed(text), ["k"])
    assert isinstance(loaded, LoadedModule)
    buffers = [DATA.copy(), np.zeros(8 * THREADS, np.uint8)]
    given = pack("<QQ", *map(pointer, buffers))
    loaded.run("k", (1, 1, 1), (THREADS, 1, 1), given, buffers=buffers)
    return buffers[1].view(np.uint64)


def are_alike(first: str, second: str) -> bool:
    return left_by(first).tobytes() == left_by(second).tobytes()


ZERO, MINUS_ZERO, INFINITE, LARGEST = "0f00000000", "0f80000000", "0fFF800000", "0fFF7FFFFF"
#: A sum that begins at zero, as many do: none of its values is -0.
SUMMED = f"add.f32 %f6, %f1, {ZERO};\nadd.f32 %f6, %f6, %f2;\n"
#: Predicates of data, and one that is always true and one that never is.
ASKED = "setp.lt.f32 %p1, %f1, %f2;\nsetp.lt.f32 %p2, %f3, %f4;\nsetp.lt.u32 %p3, %r10, 99;\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Operands are exchanged.
        ("add.f32 %f9, %f1, %f2;", "add.f32 %f9, %f2, %f1;"),
        ("mul.ftz.f32 %f9, %f1, %f2;", "mul.ftz.f32 %f9, %f2, %f1;"),
        ("fma.rn.f32 %f9, %f1, %f2, %f3;", "fma.rn.f32 %f9, %f2, %f1, %f3;"),
        ("max.f32 %f9, %f1, %f2;", "max.f32 %f9, %f2, %f1;"),
        # Sums and products with zero, and with numbers that stand for infinity.
        (SUMMED + "mov.f32 %f9, %f6;", f"{SUMMED}mov.f32 %f5, {ZERO};\nadd.f32 %f9, %f6, %f5;"),
        (
            SUMMED + "mov.f32 %f9, %f6;",
            f"{SUMMED}mov.f32 %f5, {ZERO};\nfma.rn.f32 %f9, %f1, %f5, %f6;",
        ),
        ("mov.f32 %f9, %f1;", f"mov.f32 %f5, {MINUS_ZERO};\nadd.f32 %f9, %f1, %f5;"),
        ("mul.f32 %f9, %f1, %f2;", f"fma.rn.f32 %f9, %f1, %f2, {MINUS_ZERO};"),
        (
            f"max.f32 %f9, %f1, {INFINITE};",
            f"max.f32 %f5, %f1, {INFINITE};\nmov.f32 %f6, {INFINITE};\nmax.f32 %f9, %f6, %f5;",
        ),
        ("neg.f32 %f5, %f1;\nneg.f32 %f9, %f5;", "mov.f32 %f9, %f1;"),
        ("mov.f32 %f9, %f1;", "max.f32 %f9, 0f7FFFFFFF, %f1;"),
        ("sub.f32 %f9, %f1, %f2;", "neg.f32 %f5, %f2;\nadd.f32 %f9, %f1, %f5;"),
        (
            f"mov.f32 %f9, {ZERO};",
            f"ld.global.f32 %f5, [%rd1];\nselp.f32 %f5, {LARGEST}, %f5, %p3;\n"
            "sub.f32 %f5, %f5, %f1;\nmul.f32 %f5, %f5, 0f3FB8AA3B;\nex2.approx.f32 %f9, %f5;",
        ),
        # The largest in another order.
        (
            "max.f32 %f5, %f1, %f2;\nmax.f32 %f9, %f5, %f3;",
            "max.f32 %f5, %f3, %f2;\nmax.f32 %f9, %f5, %f1;",
        ),
        # Comparisons the other way round.
        (
            "selp.f32 %f9, %f3, %f4, %p1;",
            "setp.gt.f32 %p4, %f2, %f1;\nselp.f32 %f9, %f3, %f4, %p4;",
        ),
        (
            "selp.f32 %f9, %f3, %f4, %p1;",
            "setp.geu.f32 %p4, %f1, %f2;\nselp.f32 %f9, %f4, %f3, %p4;",
        ),
        (
            "and.pred %p4, %p1, %p2;\nselp.f32 %f9, %f3, %f4, %p4;",
            "and.pred %p4, %p2, %p3;\nand.pred %p4, %p4, %p1;\nselp.f32 %f9, %f3, %f4, %p4;",
        ),
    ],
)
def test_what_is_true_of_all_numbers_is_true_of_functions(first: str, second: str) -> None:
    assert are_alike(ASKED + first + REAL, ASKED + second + REAL)


SUM = "add.s32 %r5, %r1, %r2;\nadd.s32 %r9, %r5, %r3;"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (SUM, "add.s32 %r5, %r2, %r3;\nadd.s32 %r9, %r5, %r1;"),
        ("shl.b32 %r9, %r1, 3;", "mul.lo.s32 %r9, %r1, 8;"),
        ("mad.lo.s32 %r9, %r1, %r2, %r3;", "mul.lo.s32 %r5, %r2, %r1;\nadd.s32 %r9, %r5, %r3;"),
        ("and.b32 %r9, %r1, %r2;", "and.b32 %r9, %r2, %r1;"),
        ("mov.u32 %r9, 0;", "mov.u32 %r5, 0;\nmul.lo.s32 %r5, %r5, %r1;\nshr.u32 %r9, %r5, 3;"),
        (
            "mov.u32 %r9, %r1;",
            "mov.b64 %rd3, {%r1, %r2};\nmov.b64 {%r9, %r5}, %rd3;",
        ),
    ],
)
def test_integers_are_added_in_any_order(first: str, second: str) -> None:
    assert are_alike(first + WHOLE, second + WHOLE)


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        # An order of sums, and one rounding or two.
        (
            "add.f32 %f5, %f1, %f2;\nadd.f32 %f9, %f5, %f3;",
            "add.f32 %f5, %f2, %f3;\nadd.f32 %f9, %f5, %f1;",
            REAL,
        ),
        (
            "fma.rn.f32 %f9, %f1, %f2, %f3;",
            "mul.f32 %f5, %f1, %f2;\nadd.f32 %f9, %f5, %f3;",
            REAL,
        ),
        # What is hidden: by powers of two and back, by absorption, in a difference.
        (
            "mul.f32 %f5, %f1, 0f41800000;\nmul.f32 %f9, %f5, 0f3D800000;",
            "mul.f32 %f5, %f1, 0f42000000;\nmul.f32 %f9, %f5, 0f3D000000;",
            REAL,
        ),
        (
            "add.f32 %f5, %f1, 0f7E000000;\nadd.f32 %f9, %f5, 0fFE000000;",
            "add.f32 %f5, %f2, 0f7E000000;\nadd.f32 %f9, %f5, 0fFE000000;",
            REAL,
        ),
        ("sub.f32 %f9, %f1, %f1;", "sub.f32 %f9, %f2, %f2;", REAL),
        # By shifts, counts of zeros, masks, products of flags.
        ("shr.u32 %r9, %r1, 31;", "shr.u32 %r5, %r1, 30;\nshr.u32 %r9, %r5, 1;", WHOLE),
        ("clz.b32 %r9, %r1;", "clz.b32 %r5, %r2;\nsub.s32 %r9, %r5, 0;", WHOLE),
        ("and.b32 %r9, %r1, 1073741824;", "and.b32 %r9, %r2, 1073741824;", WHOLE),
        ("xor.b32 %r9, %r1, %r2;", "sub.s32 %r9, %r1, %r2;", WHOLE),
        ("max.s32 %r9, %r1, 5;", "mov.u32 %r9, %r1;", WHOLE),
        # Sums that become longer numbers: by conversion, by pieces, by shared memory.
        *(
            (
                "add.s32 %r5, %r1, %r2;\n" + longer.format(r=5, rd=4),
                longer.format(r=1, rd=3) + longer.format(r=2, rd=5) + "add.s64 %rd4, %rd3, %rd5;",
                LONG,
            )
            for longer in (
                "cvt.u64.u32 %rd{rd}, %r{r};\n",
                "mov.b64 %rd{rd}, {{%r{r}, 0}};\n",
                "st.shared.u32 [%r11], %r{r};\nld.shared.u32 %rd{rd}, [%r11];\n",
            )
        ),
        # Of -0 zero makes +0; the opposite of a sum that is none may be one.
        ("mov.f32 %f9, %f1;", f"add.f32 %f9, %f1, {ZERO};", REAL),
        (
            f"{SUMMED}neg.f32 %f9, %f6;",
            f"{SUMMED}neg.f32 %f6, %f6;\nadd.f32 %f9, %f6, {ZERO};",
            REAL,
        ),
        # A number is not equal to itself if it is NaN, and a maximum beside infinity is none.
        (
            "setp.eq.f32 %p4, %f1, %f1;\nselp.f32 %f9, %f3, %f4, %p4;",
            "mov.f32 %f9, %f3;",
            REAL,
        ),
        ("mov.f32 %f9, %f1;", f"max.f32 %f9, %f1, {INFINITE};", REAL),
        # What comparisons of data choose.
        ("selp.f32 %f9, %f3, %f4, %p1;", "selp.f32 %f9, %f3, %f4, %p2;", REAL),
        (
            "and.pred %p4, %p1, %p2;\nselp.u32 %r9, 1, 0, %p4;",
            "selp.u32 %r9, 1, 0, %p1;",
            WHOLE,
        ),
        ("mov.f32 %f9, %f3;\n@%p1 mov.f32 %f9, %f4;", "mov.f32 %f9, %f3;", REAL),
        (
            "mov.f32 %f9, %f3;\n@%p1 bra L;\nmov.f32 %f9, %f4;\nL:",
            "mov.f32 %f9, %f3;\n@%p2 bra L;\nmov.f32 %f9, %f4;\nL:",
            REAL,
        ),
    ],
)
def test_what_may_be_another_number_shows(first: str, second: str, kept: str) -> None:
    one, other = (left_by(ASKED + body + kept) for body in (first, second))
    # In all threads, or as one of several numbers that it might be.
    assert np.count_nonzero(one != other) > THREADS // 8
    assert are_alike(ASKED + first + kept, ASKED + first + kept)


@pytest.mark.parametrize(
    ("kind", "move", "known"),
    [
        ("f32", "ld.global.f32 %f5", "0fFF7FFFFF"),
        ("f32", "ld.global.f32 %f5", "0fBF800000"),
        ("f64", "ld.global.f32 %f5", "0dC415AF1D78B58C40"),
        ("s32", "ld.global.u32 %r5", "-2147483648"),
        ("s64", "ld.global.u64 %rd4", "-1"),
    ],
)
def test_each_term_of_a_maximum_shows(kind: str, move: str, known: str) -> None:
    """In any order, and beside known numbers, of which any may be there twice."""
    register = {"f32": "%f5", "f64": "%fd1", "s32": "%r5", "s64": "%rd4"}[kind]
    best = {"f32": "%f9", "f64": "%fd4", "s32": "%r9", "s64": "%rd3"}[kind]
    wide = {"f64": "cvt.f64.f32 %fd1, %f5;\n"}.get(kind, "")
    store = f"\nst.global.{kind if kind[0] == 'f' else 'u' + kind[1:]} [%rd2], {best};"

    def found(terms: list[int], before: str = "", behind: str = "") -> bytes:
        body = f"mov.{'b' if kind[0] == 's' else 'f'}{kind[1:]} {best}, {known};\n{before}"
        for term in terms:
            body += f"{move}, [%rd5+{8 * term}];\n{wide}max.{kind} {best}, {best}, {register};\n"
        start = "ld.param.u64 %rd5, [k_0];\n"
        return left_by(start + body + behind + store).tobytes()

    terms = [*range(THREADS)]
    again = f"max.{kind} {best}, {best}, {known};\n"
    assert found(terms) == found(terms[::-1], before=again) == found(terms, behind=again)
    for left_out in (0, 7, THREADS - 1):
        assert found(terms) != found([one for one in terms if one != left_out])
    assert found([3, 4]) != found([3])


@pytest.mark.parametrize("space", ["global", "shared"])
def test_each_term_of_an_atomic_maximum_shows(space: str) -> None:
    place = {"global": "%rd5", "shared": "part"}[space]

    def found(condition: str) -> bytes:
        return left_by(
            "ld.param.u64 %rd5, [k_1];\nmov.u32 %r9, 0;\nst.shared.u32 [part], %r9;\n"
            f"setp.ne.u32 %p5, %r10, {condition};\n@%p5 red.{space}.max.s32 [{place}], %r1;\n"
            f"ld.{space}.u32 %r9, [{place}];" + WHOLE
        )[-1:].tobytes()

    assert len({found("99"), found("0"), found("7"), found("31")}) == 4


def test_comparisons_that_decide_together_show() -> None:
    """Nine of them hold in one of 512 cases; what they may change is another number in all."""
    tests = "".join(
        f"setp.eq.u32 %p{n + 4}, %r{n % 4 + 1}, {n};\n@!%p{n + 4} bra L;\n" for n in range(9)
    )
    body = f"mov.u32 %r9, %r1;\n{tests}add.s32 %r9, %r9, 7;\nL:"
    found = left_by(body + WHOLE)
    assert np.all(found != left_by("mov.u32 %r9, %r1;" + WHOLE))
    assert np.all(found != left_by(body.replace("%r1, 0", "%r1, 9") + WHOLE))


def test_a_branch_by_places_is_none_by_data() -> None:
    body = "mov.f32 %f9, %f3;\nsetp.lt.u32 %p4, %r10, 99;\n@%p4 bra L;\nadd.f32 %f9, %f4, %f9;\nL:"
    assert are_alike(body + REAL, "mov.f32 %f9, %f3;" + REAL)


def test_bytes_are_functions_of_their_bits() -> None:
    body = "ld.global.u8 %rs1, [%rd1+2];\ncvt.u32.u16 %r9, %rs1;"
    found = left_by(body + WHOLE)
    assert len({*found.tolist()}) > THREADS // 2
    assert np.count_nonzero(found >> np.uint64(16)) > THREADS // 2


@pytest.mark.parametrize(
    "body",
    [
        "add.cc.u32 %r9, %r1, %r2;",
        "vote.sync.any.pred %p4, %p1, 0xffffffff;",
        "setp.lt.f32 %p4|%p5, %f1, %f2;",
        "@%p1 bra L;\nst.global.f32 [%rd2], %f1;\nL:",
        "mov.u32 %r9, 0;\nL:\nadd.s32 %r9, %r9, 1;\nsetp.lt.u32 %p4, %r9, %r1;\n@%p4 bra L;",
        "slct.s32.f32 %r9, %r1, %r2, %f1;",
    ],
)
def test_what_is_not_told_is_refused(body: str) -> None:
    text = HEAD + KERNEL.format(name="k", loads=LOADS, body=ASKED + body)
    with pytest.raises(NoFunction):
        rewritten(text, parsed(text), ["k"])
    assert with_functions(text, parsed(text), ["k"]) is None
