"""Code with other numbers, on PTX in which a copy does something else than its kernel."""

from __future__ import annotations

from struct import pack

import numpy as np
import pytest

from cutune.emulator.assemble import assemble
from cutune.emulator.machine import LoadedModule, pointer
from cutune.measure.trial_numbers import with_other_numbers
from cutune.ptx.parse import parsed

THREADS = 32
#: Three numbers for each thread.
DATA = np.random.default_rng(1).normal(size=3 * THREADS).astype(np.float32).view(np.uint8)
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
KERNEL = """.visible .entry {name}(.param .u64 {name}_0, .param .u64 {name}_1) {{
.reg .pred %p<4>;
.reg .b16 %rs<4>;
.reg .b32 %r<8>;
.reg .f32 %f<8>;
.reg .f64 %fd<8>;
.reg .b64 %rd<8>;
ld.param.u64 %rd1, [{name}_0];
ld.param.u64 %rd2, [{name}_1];
mov.u32 %r6, %tid.x;
mad.wide.u32 %rd1, %r6, 12, %rd1;
mad.wide.u32 %rd2, %r6, 4, %rd2;
{body}
ret;
}}
"""
REALS = "ld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd1+4];\nld.global.f32 %f3, [%rd1+8];\n"
BYTES = "".join(
    f"ld.global.u8 %rs{n}, [%rd1+{at}];\ncvt.u32.u16 %r{n}, %rs{n};\n"
    for n, at in ((1, 2), (2, 3), (3, 11))
)
WHOLE = BYTES + "".join(f"cvt.rn.f32.u32 %f{n}, %r{n};\n" for n in (1, 2, 3))
KEPT, KEPT_INTEGER = "\nst.global.f32 [%rd2], %f5;", "\nst.global.u32 [%rd2], %r5;"
IN_ORDER = "add.f32 %f4, %f1, %f2;\nadd.f32 %f5, %f4, %f3;"
IN_PARTS = "add.f32 %f4, %f2, %f3;\nadd.f32 %f5, %f1, %f4;"
CUT = "cvt.rzi.s32.f32 %r5, %f5;"


def scaled(up: str, down: str) -> str:
    return f"mul.f32 %f4, %f1, {up};\nmul.f32 %f5, %f4, {down};"


def added(first: int, second: int, third: int, then: str = "") -> str:
    return f"add.s32 %r4, %r{first}, %r{second};\nadd.s32 %r5, %r4, %r{third};\n{then}"


def bytes_left(body: str, name: str, are_all: bool) -> bytes:
    text = HEAD + KERNEL.format(name=name, body=body)
    loaded = with_other_numbers(text, parsed(text), [name], are_all)
    assert loaded is not None
    return left_by(loaded, name)


def left_by(loaded: LoadedModule, name: str) -> bytes:
    buffers = [DATA.copy(), np.zeros(4 * THREADS, np.uint8)]
    given = pack("<QQ", *map(pointer, buffers))
    loaded.run(name, (1, 1, 1), (THREADS, 1, 1), given, buffers=buffers)
    return buffers[1].tobytes()


def are_alike(kernel: str, copy: str) -> bool:
    return all(
        bytes_left(kernel, "k", are_all) == bytes_left(copy, "c", are_all)
        for are_all in (True, False)
    )


@pytest.mark.parametrize(
    ("kernel", "copy"),
    [
        # Powers of two, and back.
        (scaled("0f41800000", "0f3D800000"), scaled("0f42000000", "0f3D000000")),
        # 16 and 32 times 1e-30.
        (scaled("0f0F0F3F8F", "0f0D0F3F8F"), scaled("0f0F8F3F8F", "0f0D0F3F8F")),
    ],
)
def test_literals_that_are_others_show(kernel: str, copy: str) -> None:
    assert not are_alike(REALS + kernel + KEPT, REALS + copy + KEPT)
    assert are_alike(REALS + kernel + KEPT, REALS + kernel + KEPT)


def test_an_order_of_sums_shows_that_would_be_exact() -> None:
    assert not are_alike(WHOLE + IN_ORDER + KEPT, WHOLE + IN_PARTS + KEPT)


def test_an_order_of_sums_shows_that_is_cut_off() -> None:
    first, second = (f"{WHOLE}{one}\n{CUT}{KEPT_INTEGER}" for one in (IN_ORDER, IN_PARTS))
    assert not are_alike(first, second)
    assert are_alike(first, first)


def test_zero_is_added_without_a_trace() -> None:
    padded = "mov.f32 %f6, 0f00000000;\nadd.f32 %f7, %f3, %f6;\nadd.f32 %f4, %f1, %f2;\n"
    padded += "add.f32 %f5, %f4, %f7;"
    assert are_alike(REALS + IN_ORDER + KEPT, REALS + padded + KEPT)


def test_integers_are_added_in_any_order() -> None:
    assert are_alike(BYTES + added(1, 2, 3) + KEPT_INTEGER, BYTES + added(2, 3, 1) + KEPT_INTEGER)


def test_parts_of_sums_of_integers_show_where_they_are_cut() -> None:
    whole = added(1, 2, 3, "shr.u32 %r5, %r5, 8;")
    parts = "shr.u32 %r1, %r1, 8;\nshr.u32 %r2, %r2, 8;\nshr.u32 %r3, %r3, 8;\n" + added(1, 2, 3)
    assert not are_alike(BYTES + whole + KEPT_INTEGER, BYTES + parts + KEPT_INTEGER)


def test_what_a_module_without_numbers_does_stays() -> None:
    body = "ld.global.u32 %r5, [%rd1];" + KEPT_INTEGER
    assert bytes_left(body, "k", are_all=True) == DATA.view(np.float32)[::3].tobytes()


def test_registers_of_a_scope_have_other_numbers_too() -> None:
    # As cuda_fp16.h has it for `__float2half2_rn`.
    halves = "".join(
        f"{{.reg .f16 low;\ncvt.rn.f16.f32 low, %f{n};\nmov.b32 %r{n}, {{low,low}};}}\n"
        for n in (1, 2)
    )
    body = f"{REALS}{halves}xor.b32 %r5, %r1, %r2;{KEPT_INTEGER}"
    assert bytes_left(body, "k", are_all=True) == bytes_left(body, "c", are_all=False)
    text = HEAD + KERNEL.format(name="k", body=body)
    assert bytes_left(body, "k", are_all=True) != left_by(LoadedModule(assemble(text)), "k")
