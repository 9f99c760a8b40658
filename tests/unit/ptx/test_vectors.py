"""Loads from shared memory that become vectors in machine code."""

from __future__ import annotations

import pytest

from cutune.ptx.control_flow import control_flow
from cutune.ptx.parse import parse
from cutune.ptx.vectors import joined_loads
from tests.support.ptx_statements import HEADER


def joined(body: str, tile: int = 16) -> list[int | None]:
    """Bytes of the vector that begins at each load, in their order; None: a load of its own."""
    text = (
        f"{HEADER}.visible .entry k(.param .u64 p) {{\n.shared .align 4 .b8 tile[4096];\n"
        ".reg .b64 %rd<9>; .reg .b32 %r<19>; .reg .pred %p<9>; .reg .f64 %fd<9>;\n"
        f".reg .f32 %f<19>;\n{body}\nret;\n}}\n"
    )
    function = parse(text).functions["k"]
    flow = control_flow(function, lambda name: False)
    found = joined_loads(function, flow, {"tile": tile})
    return [found.get(one.line) for one in function.instructions if one.opcode == "ld"]


#: %r3 is the tile and so many bytes for each thread.
PLACE = "mov.u32 %r1, %tid.x;\nmov.u32 %r2, tile;\nmad.lo.u32 %r3, %r1, {}, %r2;\n"


def loads(*offsets: int) -> str:
    return "\n".join(f"ld.shared.f32 %f{n}, [%r3+{offset}];" for n, offset in enumerate(offsets))


FOUR = loads(0, 4, 8, 12)


@pytest.mark.parametrize(
    ("bytes_apart", "expected"),
    [
        (16, [16, 0, 0, 0]),
        (48, [16, 0, 0, 0]),
        (8, [8, 0, 8, 0]),
        (4, [None] * 4),  # neighbours read them as well: an address is a multiple of 4 only
        (20, [None] * 4),
    ],
)
def test_the_address_tells_the_width(bytes_apart: int, expected: list[int | None]) -> None:
    assert joined(PLACE.format(bytes_apart) + FOUR) == expected


def test_a_tile_that_is_placed_elsewhere_is_not_joined() -> None:
    assert joined(PLACE.format(16) + FOUR, tile=4) == [None] * 4


def test_only_whole_vectors_are_joined() -> None:
    # The row behind is one word longer than a multiple of four, as padded tiles are.
    place = PLACE.format(16)
    assert joined(place + loads(0, 4, 8)) == [8, 0, None]
    assert joined(place + loads(4, 8, 12, 16)) == [None, 8, 0, None]
    assert joined(place + loads(260, 264, 268, 272)) == [None, 8, 0, None]


def test_the_order_of_loads_does_not_matter() -> None:
    assert joined(PLACE.format(16) + loads(12, 0, 8, 4)) == [0, 16, 0, 0]


def test_doubles_are_joined_in_pairs() -> None:
    body = "ld.shared.f64 %fd1, [%r3];\nld.shared.f64 %fd2, [%r3+8];"
    assert joined(PLACE.format(16) + body) == [16, 0]


def test_loads_of_a_variable_itself() -> None:
    body = "ld.shared.f32 %f1, [tile+16];\nld.shared.f32 %f2, [tile+20];"
    assert joined(body) == [8, 0]


@pytest.mark.parametrize(
    ("between", "is_joined"),
    [
        ("add.f32 %f9, %f0, %f0;", True),
        ("st.global.f32 [%rd1], %f0;", True),
        ("st.shared.f32 [%r3], %f0;", False),
        ("st.f32 [%rd1], %f0;", False),  # may be in shared memory
        ("atom.shared.add.u32 %r9, [%r3], 1;", False),
        ("bar.sync 0;", False),
        ("add.u32 %r3, %r3, 32;", False),  # another address by the same name
    ],
)
def test_what_is_between_two_loads(between: str, is_joined: bool) -> None:
    body = f"{loads(0)}\n{between}\nld.shared.f32 %f8, [%r3+4];"
    assert joined(PLACE.format(32) + body) == ([8, 0] if is_joined else [None, None])


@pytest.mark.parametrize("load", ["@%p1 ld.shared.f32", "ld.volatile.shared.f32"])
def test_loads_that_stay_by_themselves(load: str) -> None:
    body = f"{load} %f0, [%r3];\n{load} %f1, [%r3+4];"
    assert joined(PLACE.format(16) + body) == [None, None]


def test_an_address_that_a_loop_moves_is_as_aligned_as_its_step() -> None:
    loop = "x:\n{}\nadd.u32 %r3, %r3, {};\nsetp.lt.u32 %p1, %r3, 99;\n@%p1 bra x;"
    assert joined(PLACE.format(16) + loop.format(FOUR, 64)) == [16, 0, 0, 0]
    assert joined(PLACE.format(16) + loop.format(FOUR, 8)) == [8, 0, 8, 0]
    assert joined(PLACE.format(16) + loop.format(FOUR, 4)) == [None] * 4


@pytest.mark.parametrize(
    ("computed", "expected"),
    [
        ("shl.b32 %r4, %r1, 4;", [16, 0, 0, 0]),
        ("and.b32 %r4, %r1, -16;", [16, 0, 0, 0]),
        ("shl.b32 %r5, %r1, 5; sub.u32 %r4, %r5, 8;", [8, 0, 8, 0]),
        ("mul.wide.u32 %rd1, %r1, 24; cvt.u32.u64 %r4, %rd1;", [8, 0, 8, 0]),
        ("shr.u32 %r4, %r1, 4;", [None] * 4),
        ("mul.hi.u32 %r4, %r1, 16;", [None] * 4),
        ("mov.u32 %r4, %laneid;", [None] * 4),
        ("ld.param.u32 %r4, [p];", [None] * 4),
    ],
)
def test_what_is_known_of_an_address(computed: str, expected: list[int | None]) -> None:
    place = f"mov.u32 %r1, %tid.x;\n{computed}\nmov.u32 %r2, tile;\nadd.u32 %r3, %r2, %r4;\n"
    assert joined(place + FOUR)[-4:] == expected
