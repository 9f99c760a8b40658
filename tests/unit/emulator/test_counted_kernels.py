"""Counters of kernels whose addresses can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cutune.emulator.machine import LoadedModule, pointer
from tests.support.ptx_statements import aligned, launch, module

# Thread i of a block loads word `stride * i` behind `offset` bytes.
STRIDED = """
.visible .entry strided(.param .u64 a, .param .u32 stride, .param .u32 offset) {
  .reg .b32 %r<5>; .reg .b64 %rd<5>; .reg .f32 %f1;
  ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [stride]; ld.param.u32 %r2, [offset];
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r3, %r1, %r2;
  mul.wide.u32 %rd2, %r4, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.f32 %f1, [%rd3];
  st.global.f32 [%rd3], %f1;
  ret;
}
"""


@pytest.fixture(scope="module")
def strided() -> LoadedModule:
    return module(STRIDED)


@pytest.mark.parametrize("stride", [0, 1, 2, 3, 4, 5, 8, 16, 31, 32, 33, 64])
def test_strided_access(strided: LoadedModule, stride: int) -> None:
    data = aligned(64 * 32)
    counters = launch(strided, 32, data, stride, 0, trace=True)
    words = {stride * i for i in range(32)}
    sectors = {w // 8 for w in words}
    lines = {w // 32 for w in words}
    full = [s for s in sectors if all(8 * s + k in words for k in range(8))]
    wavefronts = max(sum(w % 32 == b for w in words) for b in range(32))
    load, store = counters.sites
    assert wavefronts == (1 if stride == 0 else np.gcd(stride, 32))
    for site in (load, store):
        assert (site["executions"], site["lanes"], site["traced"]) == (1, 32, 1)
        assert (site["sectors"], site["lines"]) == (len(sectors), len(lines))
        assert (site["full_sectors"], site["wavefronts"]) == (len(full), wavefronts)
        assert site["new_sectors"] == len(sectors)
        assert site["lowest"] == pointer(data)
        assert site["highest"] == pointer(data) + 4 * max(words) + 4
    # All lines come from L2, which costs where they are no single piece of memory.
    per_line = 7 if stride <= 1 else 24
    assert load["load_cost_x20"] == max(20 * wavefronts, per_line * len(lines))
    assert load["store_cost_x20"] == store["load_cost_x20"] == 0
    partial = {s // 4 for s in sectors - set(full)}
    cost = 4 * len(words) * 20 // 32 + 30 * len(partial)
    assert store["store_cost_x20"] == max(cost, 33 * len(lines))


def test_misplaced_row_touches_one_more_sector(strided: LoadedModule) -> None:
    load = launch(strided, 32, aligned(64), 1, 3, trace=True).sites[0]
    assert (load["sectors"], load["full_sectors"], load["lines"]) == (5, 3, 2)
    assert load["wavefronts"] == 1


def test_partial_warp(strided: LoadedModule) -> None:
    load = launch(strided, 40, aligned(64), 1, 0, trace=True).sites[0]
    assert (load["executions"], load["lanes"], load["sectors"]) == (2, 40, 5)


def test_untraced_launch_counts_executions_only(strided: LoadedModule) -> None:
    load = launch(strided, 32, aligned(64), 1, 0).sites[0]
    assert (load["executions"], load["lanes"], load["traced"], load["sectors"]) == (1, 32, 0, 0)


def test_only_chosen_blocks_run(strided: LoadedModule) -> None:
    counters = launch(strided, 32, aligned(64), 1, 0, grid=10, blocks=[3, 7], trace=True)
    assert counters.executed_blocks == 2
    assert counters.sites[0]["executions"] == 2


def test_only_chosen_blocks_are_traced(strided: LoadedModule) -> None:
    load = launch(strided, 32, aligned(64), 1, 0, grid=10, trace=True, traced_blocks=[3, 7]).sites[
        0
    ]
    assert (load["executions"], load["traced"]) == (10, 2)


def test_reversed_lanes_cost_what_ordered_ones_cost() -> None:
    text = STRIDED.replace("mov.u32 %r3, %tid.x;", "mov.u32 %r3, %tid.x; sub.u32 %r3, 31, %r3;")
    load = launch(text, 32, aligned(64), 1, 0, trace=True).sites[0]
    assert (load["sectors"], load["full_sectors"], load["wavefronts"]) == (4, 4, 1)


SHARED = """
.visible .entry shared(.param .u32 stride) {
  .shared .align 16 .b8 tile[8192];
  .reg .b32 %r<6>; .reg .b64 %rd1;
  ld.param.u32 %r1, [stride];
  mov.u32 %r2, %tid.x;
  mul.lo.u32 %r3, %r1, %r2;
  mov.u32 %r4, tile;
  mad.lo.u32 %r5, %r3, SIZE, %r4;
  ld.shared.TYPE VALUE, [%r5];
  ret;
}
"""


def shared(kind: str, size: int, value: str) -> str:
    text = SHARED.replace("TYPE", kind).replace("SIZE", str(size)).replace("VALUE", value)
    return text.replace("%rd1;", "%rd1; .reg .b32 %w<4>;", 1)


@pytest.mark.parametrize("stride", [0, 1, 2, 4, 8, 17, 32, 33])
def test_bank_conflicts(stride: int) -> None:
    load = launch(shared("u32", 4, "%r1"), 32, stride, trace=True).sites[0]
    assert load["wavefronts"] == (1 if stride == 0 else np.gcd(stride, 32))
    assert load["load_cost_x20"] == 20 * load["wavefronts"]


def test_wide_shared_accesses_go_in_phases() -> None:
    assert launch(shared("u64", 8, "%rd1"), 32, 1, trace=True).sites[0]["wavefronts"] == 2
    vector = shared("v4.u32", 16, "{%w0, %w1, %w2, %w3}")
    assert launch(vector, 32, 1, trace=True).sites[0]["wavefronts"] == 4
    # One element of 8 bytes for all lanes is a broadcast.
    assert launch(shared("u64", 8, "%rd1"), 32, 0, trace=True).sites[0]["wavefronts"] == 1
    # Two 8-byte elements apart, half a warp meets each of 16 banks twice.
    assert launch(shared("u64", 8, "%rd1"), 32, 2, trace=True).sites[0]["wavefronts"] == 4


@pytest.mark.parametrize(
    ("apart", "eight", "sixteen"),
    [(1, 1, 2), (2, 1, 2), (4, 2, 4), (8, 2, 4)],
)
def test_wide_elements_that_neighbours_share(apart: int, eight: int, sixteen: int) -> None:
    # Lanes k and k ^ apart read one element, of 16 side by side.
    element = (
        f"and.b32 %r5, %r2, {apart - 1}; shr.u32 %r2, %r2, {apart.bit_length()};"
        f" mad.lo.u32 %r2, %r2, {apart}, %r5;"
    )

    def wavefronts(text: str) -> int:
        text = text.replace("mul.lo.u32 %r3", f"{element} mul.lo.u32 %r3")
        return int(launch(text, 32, 1, trace=True).sites[0]["wavefronts"])

    assert wavefronts(shared("u64", 8, "%rd1")) == eight
    assert wavefronts(shared("v4.u32", 16, "{%w0, %w1, %w2, %w3}")) == sixteen


#: Each thread loads a word of its own sector, and then the one beside it.
AGAIN = STRIDED.replace(
    "st.global.f32 [%rd3], %f1;", "ld.global.f32 %f1, [%rd3+4]; st.global.f32 [%rd3], %f1;"
)


def test_a_line_is_brought_once() -> None:
    first, second, _ = launch(AGAIN, 32, aligned(64 * 32), 8, 0, trace=True).sites
    assert (first["new_sectors"], second["new_sectors"]) == (32, 0)
    assert (first["load_cost_x20"], second["load_cost_x20"]) == (max(20 * 8, 24 * 8), 20 * 8)


#: Each thread reads four words side by side, one after the other.
SIDE_BY_SIDE = SHARED.replace(
    "ld.shared.TYPE VALUE, [%r5];",
    "\n".join(f"ld.shared.f32 %f{n}, [%r5+{4 * n}];" for n in range(4)),
).replace("%rd1;", "%rd1; .reg .f32 %f<4>;")


@pytest.mark.parametrize(
    ("bytes_apart", "wavefronts"),
    [
        (16, [4, 0, 0, 0]),  # a vector of 16 bytes, a quarter of a warp at a time
        (32, [8, 0, 0, 0]),  # two of eight threads meet in each bank
        (8, [2, 0, 2, 0]),  # two vectors of 8 bytes
        (4, [1, 1, 1, 1]),
    ],
)
def test_words_side_by_side_are_loaded_as_vectors(bytes_apart: int, wavefronts: list[int]) -> None:
    text = SIDE_BY_SIDE.replace("SIZE", str(bytes_apart))
    sites = launch(text, 32, 1, trace=True).sites
    # As scalars, addresses 16 bytes apart would meet four times in each bank, four times over.
    assert [site["wavefronts"] for site in sites] == wavefronts
    assert [site["load_cost_x20"] for site in sites] == [20 * n for n in wavefronts]


def test_a_vector_at_one_address_is_read_in_two_halves() -> None:
    sites = launch(SIDE_BY_SIDE.replace("SIZE", "16"), 32, 0, trace=True).sites
    assert [site["wavefronts"] for site in sites] == [2, 0, 0, 0]


WIDE = """
.visible .entry wide(.param .u64 a, .param .u32 x, .param .u32 stride) {
    .reg .b64 %rd<5>; .reg .b32 %r<8>;
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [x];
    ld.param.u32 %r2, [stride];
    mov.u32 %r3, %tid.x;
    rem.u32 %r3, %r3, %r1;
    mul.wide.u32 %rd2, %r3, %r2;
    add.s64 %rd1, %rd1, %rd2;
    LOAD
    ret;
}
"""
LOADS = {
    4: "ld.global.u32 %r4, [%rd1];",
    8: "ld.global.v2.u32 {%r4, %r5}, [%rd1];",
    16: "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd1];",
}


@pytest.mark.parametrize(
    ("size", "distinct", "stride", "cycles"),
    [
        # Cycles of an SM per load of a warp that hits L1, timed on an H200.
        *((4, 1, 256, 1.19), (4, 4, 256, 4.07), (4, 16, 256, 16.12), (4, 4, 272, 1.2)),
        *((8, 1, 256, 2.08), (8, 4, 256, 8.11), (8, 16, 256, 32.2), (8, 4, 272, 2.07)),
        *((16, 1, 256, 4.13), (16, 4, 256, 16.14), (16, 8, 256, 32.1), (16, 4, 272, 4.12)),
        *((16, 2, 64, 4.12), (16, 4, 64, 8.07), (16, 32, 64, 16.09)),
    ],
)
def test_wide_loads_go_in_parts(size: int, distinct: int, stride: int, cycles: float) -> None:
    text = WIDE.replace("LOAD", LOADS[size])
    load = launch(text, 32, aligned(16384), distinct, stride, trace=True).sites[0]
    assert load["wavefronts"] == pytest.approx(cycles, rel=0.21)
    assert load["lines"] <= distinct


LOOP = """
.visible .entry loop(.param .u64 a, .param .u32 n, .param .u32 step) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p1; .reg .f32 %f1;
  ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [step];
  mov.u32 %r3, %tid.x;
  mul.wide.u32 %rd2, %r3, 4;
  add.s64 %rd3, %rd1, %rd2;
  mul.wide.u32 %rd4, %r2, 4;
  mov.u32 %r4, 0;
again:
  ld.global.f32 %f1, [%rd3];
  add.s64 %rd3, %rd3, %rd4;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p1, %r4, %r1;
  @%p1 bra again;
  ret;
}
"""


def test_blocks_and_instructions_of_a_loop() -> None:
    counters = launch(LOOP, 64, aligned(4096), 10, 32, grid=3)
    assert counters.block_executions.tolist() == [6, 60, 6]
    assert counters.block_lanes.tolist() == [192, 1920, 192]
    assert counters.warp_instructions == 6 * 8 + 60 * 5 + 6
    assert counters.thread_instructions == 32 * counters.warp_instructions


def test_metadata_of_a_loop() -> None:
    kernel = module(LOOP).kernel("loop")
    assert [block.loop for block in kernel.blocks] == [-1, 0, -1]
    assert kernel.waits.steps == (0, 1, 0)
    (site,) = kernel.sites
    assert (site.kind, site.space, site.bytes, site.block) == ("load", "global", 4, 1)
    assert [p.offset for p in kernel.parameters] == [0, 8, 12]
    assert kernel.oblivious


def test_a_window_of_eight_sees_a_sector_once() -> None:
    # One line per iteration, the same for every warp and iteration: new in the first window only.
    load = launch(LOOP, 32, aligned(4096), 32, 0, trace=True).sites[0]
    assert (load["traced"], load["sectors"], load["new_sectors"]) == (32, 128, 4)


def test_streaming_loop_finds_only_new_sectors() -> None:
    load = launch(LOOP, 32, aligned(4096), 32, 32, trace=True).sites[0]
    assert load["new_sectors"] == load["sectors"] == 128


def test_warps_of_a_block_share_what_they_load() -> None:
    # The second warp loads what the first will load one iteration later.
    load = launch(LOOP, 64, aligned(4096), 16, 32, trace=True).sites[0]
    assert (load["sectors"], load["new_sectors"]) == (2 * 16 * 4, 17 * 4)


def test_blocks_do_not_share_windows() -> None:
    load = launch(LOOP, 32, aligned(4096), 8, 0, grid=5, trace=True).sites[0]
    assert load["new_sectors"] == 5 * 4


def test_old_sectors_are_new_again() -> None:
    # The loop walks through one line in 4-byte steps: a sector is left after a window at most.
    load = launch(LOOP, 1, aligned(4096), 64, 1, trace=True).sites[0]
    assert load["new_sectors"] == 8


@pytest.mark.parametrize("every", [2, 3, 8])
@pytest.mark.parametrize("trips", [8, 24, 200, 513])
def test_sampled_windows_have_the_mean_of_all(every: int, trips: int) -> None:
    data = aligned(32 * 600)
    options = {"grid": 200, "trace": True}
    all_windows = launch(LOOP, 32, data, trips, 32, **options).sites[0]
    some = launch(LOOP, 32, data, trips, 32, trace_every=every, **options).sites[0]
    assert some["executions"] == all_windows["executions"]
    for name in ("traced", "sectors", "lines", "new_sectors"):
        assert some[name] == all_windows[name]


def test_short_loops_are_traced_although_no_window_is_due() -> None:
    load = launch(LOOP, 32, aligned(4096), 3, 32, trace=True, trace_every=100).sites[0]
    assert load["traced"] == 3


def spread(first: int, end: int) -> str:
    """A loop in which the iterations from `first` to `end` cost a line per lane, the others one."""
    step = f"""
      add.u32 %r4, %r4, 1;
      setp.lt.u32 %p1, %r4, {first};
      setp.ge.or.u32 %p1, %r4, {end}, %p1;
      mul.wide.u32 %rd5, %r3, 128;
      selp.b64 %rd5, 0, %rd5, %p1;
      add.s64 %rd3, %rd1, %rd5;"""
    return LOOP.replace("add.u32 %r4, %r4, 1;", step)


def test_the_first_window_counts_for_itself() -> None:
    text = spread(0, 8)
    options = {"grid": 20, "trace": True}
    for trips in (16, 32, 64):
        load = launch(text, 32, aligned(32 * 32), trips, 0, trace_every=4, **options).sites[0]
        whole = launch(text, 32, aligned(32 * 32), trips, 0, **options).sites[0]
        assert load["lines"] == whole["lines"]


@pytest.mark.parametrize("first", [8, 16, 24])
def test_sampling_gives_every_window_its_weight(first: int) -> None:
    text = spread(first, first + 8)
    options = {"grid": 2000, "trace": True}
    for trips in (32, 64):
        load = launch(text, 32, aligned(32 * 32), trips, 0, trace_every=4, **options).sites[0]
        whole = launch(text, 32, aligned(32 * 32), trips, 0, **options).sites[0]
        assert load["lines"] != whole["lines"], "nothing was sampled"
        assert float(load["lines"]) == pytest.approx(float(whole["lines"]), rel=0.05)


RECORDS = """
.visible .entry records(.param .u64 data, .param .u32 words) {
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [words];
  mov.u32 %r2, %tid.x;
  mul.lo.u32 %r3, %r1, %r2;
  mul.wide.u32 %rd2, %r3, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], 1;
  st.global.u32 [%rd3+4], 2;
  st.global.u32 [%rd3+4096], 3;
  ret;
}
"""


def test_neighbouring_words_of_records_are_rewritten_sectors() -> None:
    sites = launch(RECORDS, 32, aligned(2048), 4, trace=True).sites
    # Records of 16 bytes: 16 sectors, of which each store touches parts.
    assert [site["sectors"] for site in sites] == [16, 16, 16]
    assert [site["rewritten_sectors"] for site in sites] == [0, 16, 0]
    cost = max(128 * 20 // 32 + 30 * 4, 33 * 4)
    assert [site["store_cost_x20"] for site in sites] == [cost, 0, cost]


def test_the_busiest_warp_is_counted() -> None:
    text = STRIDED.replace("mov.u32 %r3, %tid.x;", "mov.u32 %r3, %tid.x; setp.lt.u32 %p1, %r3, 64;")
    text = text.replace(".reg .b32", ".reg .pred %p1; .reg .b32", 1)
    text = text.replace("ld.global.f32 %f1", "@%p1 ld.global.f32 %f1")
    load, store = launch(text, 128, aligned(256), 1, 0, grid=3, trace=True).sites
    assert (load["executions"], load["busiest"]) == (6, 3)
    assert (store["executions"], store["busiest"]) == (12, 3)
