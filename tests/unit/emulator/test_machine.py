"""Memory, printf, device malloc and faults on the emulated machine."""

from __future__ import annotations

import ctypes
import json

import numpy as np
import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.emulator.machine import Hazards, pointer
from tests.support.ptx_statements import BEGIN, END, launch, module, run


def test_local_memory_belongs_to_its_thread() -> None:
    body = """
      .local .align 16 .b8 depot[64];
      mov.u64 %rd5, depot;
      cvta.local.u64 %rd6, %rd5;
      and.b32 %r3, %r1, 7;
      mul.wide.u32 %rd7, %r3, 4;
      add.s64 %rd8, %rd5, %rd7;
      st.local.u32 [%rd8], %r1;
      add.s64 %rd9, %rd6, %rd7;
      ld.u32 %r2, [%rd9];
      st.local.v2.u32 [%rd5+8], {%r1, %r2};
      ld.local.u32 %r4, [depot+12];
      add.u32 %r2, %r2, %r4;
    """
    assert run(body) == [2 * i for i in range(32)]


@pytest.mark.parametrize(
    ("operation", "result"),
    [("min.u16x2", 0x0001_0002), ("max.u16x2", 0xFFFF_8000), ("min.s16x2", 0xFFFF_8000)],
)
def test_order_of_both_halves(operation: str, result: int) -> None:
    body = f"mov.u32 %r3, 0xffff0002; mov.u32 %r4, 0x00018000; {operation} %r2, %r3, %r4;"
    assert run(body) == [result] * 32


def test_generic_addresses_reach_shared_memory() -> None:
    body = """
      .shared .align 4 .b8 tile[128];
      mov.u32 %r4, tile;
      cvt.u64.u32 %rd4, %r4;
      cvta.shared.u64 %rd5, %rd4;
      add.s64 %rd6, %rd5, %rd2;
      st.u32 [%rd6], %r1;
      isspacep.shared %p1, %rd6;
      cvta.to.shared.u64 %rd7, %rd6;
      ld.shared.u32 %r2, [%rd7];
      @%p1 add.u32 %r2, %r2, 1000;
      isspacep.global %p1, %rd3;
      @!%p1 mov.u32 %r2, 0;
    """
    assert run(body) == [1000 + i for i in range(32)]


def test_dynamic_shared_memory_lies_behind_the_static() -> None:
    before = ".extern .shared .align 16 .b8 dynamic[];\n"
    body = """
      .shared .align 4 .b8 fixed[20];
      mov.u32 %r3, fixed; mov.u32 %r4, dynamic;
      sub.u32 %r2, %r4, %r3;
      mad.lo.u32 %r5, %r1, 4, %r4;
      st.shared.u32 [%r5], %r1;
    """
    assert run(body, before=before, shared_bytes=128) == [32] * 32
    with pytest.raises(CutuneError) as caught:
        run(body, before=before, shared_bytes=124)
    assert caught.value.diagnostic.code is Code.ILLEGAL_ADDRESS


def test_asynchronous_copy() -> None:
    body = """
      .shared .align 16 .b8 tile[512];
      mov.u32 %r4, tile;
      mad.lo.u32 %r5, %r1, 16, %r4;
      st.global.u32 [%rd3], %r1;
      bar.sync 0;
      mul.wide.u32 %rd5, %r1, 12;
      add.s64 %rd4, %rd3, %rd5;
      setp.lt.u32 %p1, %r1, 8;
      @%p1 cp.async.cg.shared.global [%r5], [%rd4], 16;
      cp.async.commit_group;
      cp.async.wait_group 0;
      bar.sync 0;
      mad.lo.u32 %r5, %r1, 4, %r4;
      ld.shared.u32 %r2, [%r5];
    """
    assert run(body) == list(range(32))


def test_module_variables() -> None:
    before = """
    .global .align 4 .b8 table[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3};
    .global .align 8 .u64 place = generic(table)+4;
    .const .align 4 .f32 half = 0f3F000000;
    """
    body = """
      ld.global.u64 %rd4, [place];
      ld.u32 %r2, [%rd4];
      ld.const.f32 %f1, [half];
      cvt.rzi.u32.f32 %r3, %f1;
      add.u32 %r2, %r2, %r3;
      ld.global.u32 %r4, [table+8];
      mad.lo.u32 %r2, %r4, 10, %r2;
    """
    assert run(body, before=before) == [32] * 32


def test_variables_that_no_memory_holds_are_refused() -> None:
    with pytest.raises(CutuneError) as caught:
        module(".global .align 8 .b8 huge[8796093022208];\n" + BEGIN + END)
    assert "global variables" in str(caught.value)


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ("ld.global.u32 %r2, [%rd3+4];", Code.ILLEGAL_ADDRESS, "thread (31, 0, 0)"),
        ("mov.u64 %rd4, 16; ld.global.u32 %r2, [%rd4];", Code.ILLEGAL_ADDRESS, "0x10"),
        ("ld.global.u64 %rd4, [%rd1+4];", Code.MISALIGNED_ADDRESS, "8 bytes"),
        ("mov.u32 %r4, 0; ld.shared.u32 %r2, [%r4];", Code.ILLEGAL_ADDRESS, "has 0 bytes"),
        ("setp.eq.u32 %p1, %r1, 9; @%p1 trap;", Code.TRAPPED, "thread (9, 0, 0)"),
        ("again: bra again;", Code.INSTRUCTION_LIMIT, "kernel kernel"),
    ],
)
def test_faults_name_the_place(body: str, code: Code, words: str) -> None:
    with pytest.raises(CutuneError) as caught:
        run("mov.u32 %r2, 0; " + body, instruction_limit=100_000)
    assert caught.value.diagnostic.code is code
    assert words in caught.value.diagnostic.message


def test_source_line_of_a_fault() -> None:
    body = "\n.loc 1 42 7\nld.global.u32 %r2, [%rd3+4096];\n"
    with pytest.raises(CutuneError, match="source line 42"):
        run(body)


def test_ghost_addresses_have_no_memory() -> None:
    out = np.full(32, 9, np.uint32)
    body = "ld.global.u32 %r2, [%rd1+4096]; add.u32 %r2, %r2, 1; st.global.u32 [%rd1+4096], %r2;"
    counters = launch(BEGIN + body + END, 32, out, ghosts=(pointer(out) + 4096, 4096), trace=True)
    assert out.tolist() == [1] * 32
    assert counters.sites[0]["sectors"] == 1
    loaded = module(BEGIN + body + END)
    base = 1 << 44
    parameters = base.to_bytes(8, "little")
    counters = loaded.run(
        "kernel", (4, 1, 1), (32, 1, 1), parameters, ghosts=(base, 1 << 40), trace=True
    )
    assert counters.sites["sectors"].tolist() == [4, 4, 16]


def test_a_launch_ends_at_the_first_race_if_no_more_is_asked() -> None:
    out = np.zeros(32, np.uint32)
    # All threads of a warp, then those of the next one, write one place.
    loaded = module(BEGIN + "mov.u32 %r2, %r1; mov.u64 %rd3, %rd1;" + END)
    launched = "kernel", (2, 1, 1), (64, 1, 1), pointer(out).to_bytes(8, "little")
    found = []
    for until_found in (False, True):
        with pytest.raises(Hazards) as caught:
            loaded.run(*launched, buffers=[out], is_checked=True, until_found=until_found)
        found.append(json.loads(str(caught.value)))
    all_, first = found
    assert len(all_) > len(first) == 1
    assert first[0]["hazard"] in {one["hazard"] for one in all_}


def test_bad_launches_are_refused() -> None:
    loaded = module(BEGIN + "mov.u32 %r2, 0;" + END)
    with pytest.raises(CutuneError) as caught:
        loaded.run("nothing", (1, 1, 1), (32, 1, 1), b"")
    assert caught.value.diagnostic.code is Code.UNKNOWN_KERNEL
    with pytest.raises(CutuneError) as caught:
        loaded.run("kernel", (1, 1, 1), (32, 1, 1), b"")
    assert caught.value.diagnostic.code is Code.BAD_LAUNCH
    with pytest.raises(CutuneError, match="1056 threads"):
        loaded.run("kernel", (1, 1, 1), (1056, 1, 1), bytes(8))


def test_printf(capfd: pytest.CaptureFixture[str]) -> None:
    before = """
    .extern .func (.param .b32 status) vprintf(.param .b64 form, .param .b64 values);
    .global .align 1 .b8 form[32] =
      {105, 61, 37, 100, 32, 120, 61, 37, 46, 50, 102, 32, 37, 37, 10};
    """
    body = """
      .local .align 8 .b8 depot[16];
      mov.u64 %rd5, depot;
      st.local.u32 [%rd5], %r1;
      mov.u64 %rd6, 0x3ff8000000000000;
      st.local.u64 [%rd5+8], %rd6;
      cvta.local.u64 %rd7, %rd5;
      mov.u64 %rd8, form;
      cvta.global.u64 %rd9, %rd8;
      setp.lt.u32 %p1, %r1, 2;
      {
      .param .b64 a; .param .b64 b; .param .b32 c;
      st.param.b64 [a], %rd9;
      st.param.b64 [b], %rd7;
      @%p1 call.uni (c), vprintf, (a, b);
      ld.param.b32 %r2, [c];
      }
    """
    assert run(body, before=before)[:2] == [2, 2]
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == "i=0 x=1.50 %\ni=1 x=1.50 %\n"


def test_device_malloc_and_use_after_free() -> None:
    before = """
    .extern .func (.param .b64 place) malloc(.param .b64 bytes);
    .extern .func free(.param .b64 place);
    """
    allocate = """
      {
      .param .b64 a; .param .b64 b;
      st.param.b64 [a], 64;
      call.uni (b), malloc, (a);
      ld.param.b64 %rd4, [b];
      }
      st.global.u32 [%rd4+60], %r1;
      ld.global.u32 %r2, [%rd4+60];
    """
    assert run(allocate, before=before) == list(range(32))
    release = """
      {
      .param .b64 a;
      st.param.b64 [a], %rd4;
      call.uni free, (a);
      }
      ld.global.u32 %r2, [%rd4];
    """
    with pytest.raises(CutuneError, match="freed"):
        run(allocate + release, before=before)
