"""Through which pointers PTX accesses memory: where addresses come from, and what is not known."""

from __future__ import annotations

from collections.abc import Container

import pytest

from cutune.proof.memory.pointers import NotReached, PointerUses, pointer_uses, reached
from cutune.ptx.parse import parse

HEAD = """\
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .b8 table[64];
.const .align 4 .b8 fixed[64];
.shared .align 4 .b8 room[64];
.func helper(.param .b32 value);
.visible .entry kernel(.param .u64 a, .param .u64 b, .param .u32 n, .param .align 8 .b8 s[16])
{
.local .align 4 .b8 own[64];
.reg .pred %p<9>; .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %rd<20>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r1, [n];
mul.wide.s32 %rd3, %r1, 4;
"""
NAMES = {0: "a", 1: "b"}


def uses(body: str, assembly: Container[int] = ()) -> PointerUses:
    module = parse(f"{HEAD}{body}\nret;\n}}\n")
    function = module.functions["kernel"]
    variables = {one.name: one for one in (*module.variables, *function.variables)}
    return pointer_uses(function, variables, assembly)


def said(body: str) -> str:
    """The pointers, `!` behind those that are written; or why nothing is known."""
    try:
        found = reached(uses(body), NAMES)
    except NotReached as error:
        return f"{error.what}{' (order)' if error.is_order else ''}"
    pairs = ((NAMES[i], "!" if i in found.written else "") for i in sorted(found.pointers))
    return " ".join(map("".join, pairs))


STORE = "st.global.u32 [%rd4], %r1;"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", ""),
        (f"add.s64 %rd4, %rd1, %rd3; {STORE}", "a!"),
        (f"add.s64 %rd4, %rd3, %rd1; {STORE}", "a!"),
        (f"sub.s64 %rd4, %rd1, %rd3; {STORE}", "a!"),
        (f"mad.lo.s64 %rd4, %rd3, %rd3, %rd1; {STORE}", "a!"),
        (f"mov.u64 %rd5, %rd1; cvta.to.global.u64 %rd4, %rd5; {STORE}", "a!"),
        ("ld.global.u32 %r2, [%rd1+4]; st.global.u32 [%rd2], %r2;", "a b!"),
        ("ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd1], %r2;", "a!"),
        ("red.global.add.u32 [%rd1], %r1;", "a!"),
        ("atom.global.add.u32 %r2, [%rd1], %r1;", "a!"),
        # It goes on in a loop.
        (f"mov.u64 %rd4, %rd1; $next: {STORE} add.s64 %rd4, %rd4, 4; setp.lt.s32 %p1, %r1, 9;"
         " @%p1 bra $next;", "a!"),
        (f"setp.lt.s32 %p1, %r1, 9; selp.b64 %rd4, %rd1, %rd1, %p1; {STORE}", "a!"),
        # Memory of the thread, and what nobody writes.
        ("st.local.u32 [own], %r1; ld.local.u32 %r2, [own];", ""),
        ("mov.u64 %rd4, own; st.u32 [%rd4], %r1;", ""),
        ("ld.const.u32 %r2, [fixed];", ""),
        ("mov.u64 %rd4, fixed; ld.u32 %r2, [%rd4];", ""),
        # How far a pointer is from itself tells nothing.
        (f"add.s64 %rd4, %rd1, %rd3; setp.eq.s64 %p1, %rd4, %rd1; @%p1 bra $end; {STORE} $end:",
         "a!"),
    ],
)  # fmt: skip
def test_addresses_that_lead_where_a_pointer_leads(body: str, expected: str) -> None:
    assert said(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"add.s64 %rd4, %rd1, %rd2; {STORE}", "accesses memory at an address made of 'a', 'b'"),
        (f"sub.s64 %rd4, %rd1, %rd2; {STORE}", "accesses memory at an address made of 'a', 'b'"),
        (f"add.s64 %rd4, %rd1, %rd1; {STORE}", "accesses memory at an address made of 'a'"),
        (f"sub.s64 %rd4, %rd3, %rd1; {STORE}", "accesses memory at an address made of 'a'"),
        (f"xor.b64 %rd4, %rd1, 4; {STORE}", "accesses memory at an address made of 'a'"),
        (f"cvt.u32.u64 %r2, %rd1; cvt.u64.u32 %rd4, %r2; {STORE}",
         "accesses memory at an address made of 'a'"),
        (f"setp.lt.s32 %p1, %r1, 9; selp.b64 %rd4, %rd1, %rd2, %p1; {STORE}",
         "accesses memory at an address made of 'a', 'b'"),
        (f"mov.u64 %rd4, %rd3; {STORE}", "accesses memory at an address that is no pointer param"),
        (f"ld.global.u64 %rd4, [%rd1]; {STORE}", "accesses memory at an address that is no poi"),
        (f"mov.u64 %rd4, table; {STORE}", "accesses the variable 'table'"),
        ("mov.u64 %rd4, fixed; st.u32 [%rd4], %r1;", "accesses the variable 'fixed'"),
        (f"mov.u64 %rd4, own; add.s64 %rd4, %rd4, %rd1; {STORE}", "accesses the variable 'own'"),
        ("ld.global.u32 %r2, [%rd1]; red.global.add.u32 [%rd1], %r1;",
         "reads 'a' and changes it by atomic operations (order)"),
        # What others do meanwhile may matter.
        ("atom.global.add.u32 %r2, [%rd1], %r1; st.global.u32 [%rd2], %r2;",
         "uses the result of 'atom.global.add.u32' (order)"),
        ("atom.global.exch.b32 %r2, [%rd1], %r1;", "uses 'atom.global.exch.b32' (order)"),
        ("red.global.release.gpu.add.u32 [%rd1], %r1;", "uses 'red.global.release"),
        ("ld.volatile.global.u32 %r2, [%rd1];", "uses 'ld.volatile.global.u32' (order)"),
        ("st.shared.u32 [room], %r1;", "uses shared memory (order)"),
        ("bar.sync 0;", "uses 'bar.sync' (order)"),
        ("membar.gl;", "uses 'membar.gl' (order)"),
        ("$again: ld.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra $again;",
         "has a loop that may wait for another thread (order)"),
        # What is not read at all.
        ("call helper, (%r1);", "calls a function that is not inlined"),
        ("mov.u32 %r2, %smid;", "reads '%smid'"),
    ],
)  # fmt: skip
def test_what_is_not_known(body: str, expected: str) -> None:
    assert said(body).startswith(expected)


def test_ids_are_no_secret() -> None:
    assert said("mov.u32 %r2, %tid.x; mov.u32 %r3, %laneid; mov.u32 %r4, %nctaid.z;") == ""


@pytest.mark.parametrize(
    ("body", "leaks"),
    [
        ("st.global.u64 [%rd1], %rd2;", {1}),
        ("red.global.add.u64 [%rd1], %rd2;", {1}),
        ("atom.global.add.u64 %rd5, [%rd1], %rd2;", {1}),
        ("setp.lt.u64 %p1, %rd1, %rd2;", {0, 1}),
        ("setp.eq.u64 %p1, %rd1, 0;", {0}),
        ("add.s64 %rd4, %rd1, 8; setp.lt.u64 %p1, %rd4, %rd1;", set()),
        ("st.global.u32 [%rd1], %r1;", set()),
        # A part of a parameter as long as a pointer may be a part of one.
        ("ld.param.u32 %r2, [a+4]; st.global.u32 [%rd2], %r2;", {0}),
        ("ld.param.u64 %rd5, [s]; st.global.u64 [%rd1], %rd5;", set()),
    ],
)
def test_pointers_that_reach_anything_but_addresses(body: str, leaks: set[int]) -> None:
    found = uses(body)
    assert found.problem is None
    assert found.leaks == leaks


def test_assembly_of_the_program_itself() -> None:
    body = "\nadd.s64 %rd4, %rd1, 8;\nst.global.u32 [%rd4], %r1;\nld.global.nc.u32 %r2, [%rd1];"
    first = HEAD.count("\n") + 2
    assert reached(uses(body, {first + 2}), NAMES) == reached(uses(body), NAMES)
    stored = uses(body, {first + 1})
    assert stored.problem == "accesses memory by inline assembly: 'st.global.u32'"
    # The compiler does not see what is made of a pointer.
    with pytest.raises(NotReached, match=r"made of 'a'$"):
        reached(uses(body, {first}), NAMES)
