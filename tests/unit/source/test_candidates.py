"""Candidate sets."""

from __future__ import annotations

from dataclasses import replace

from cutune.source.candidates import candidate_blocks
from cutune.toolchain.device.thread_block import LARGEST_SHARED
from cutune.toolchain.ptxas import StaticCounters
from tests.support.measured_kernel import KERNEL

KEPT = (32, 8, 1)


def test_the_papers_set_of_two_dimensional_shapes() -> None:
    blocks = candidate_blocks((True, True, False), KEPT)
    assert len(blocks) == 51
    assert all(32 <= x * y <= 1024 and z == 1 for x, y, z in blocks)
    assert {(1, 32, 1), (1024, 1, 1), (32, 32, 1)} <= set(blocks)


def test_one_dimensional_kernels_get_multiples_of_a_warp() -> None:
    blocks = candidate_blocks((True, False, False), (256, 1, 1))
    assert blocks == tuple((x, 1, 1) for x in range(32, 1025, 32))


def test_the_depth_of_a_block_is_bounded() -> None:
    blocks = candidate_blocks((True, True, True), (8, 8, 8))
    assert max(z for _, _, z in blocks) == 64


def test_all_adds_shapes_that_are_no_powers_of_two() -> None:
    paper = set(candidate_blocks((True, True, False), KEPT))
    everything = set(candidate_blocks((True, True, False), KEPT, "all"))
    assert paper < everything
    assert (96, 1, 1) in everything
    assert all(x * y % 32 == 0 for x, y, _ in everything)


def test_the_programs_own_block_is_always_a_candidate() -> None:
    assert (17, 5, 1) in candidate_blocks((True, True, False), (17, 5, 1))


def test_limits_of_the_kernel_hold() -> None:
    blocks = candidate_blocks((True, True, False), KEPT, max_threads=256)
    assert max(x * y for x, y, _ in blocks) == 256


def test_candidates_that_keep_warps() -> None:
    free = (True, True, False)
    wide = candidate_blocks(free, (32, 8, 1), needs_warps=True)
    assert {x % 32 for x, _, _ in wide} == {0}
    assert (64, 4, 1) in wide
    rows = candidate_blocks(free, (16, 16, 1), needs_warps=True)
    assert rows == tuple((16, 1 << e, 1) for e in range(1, 7))
    assert candidate_blocks(free, (24, 4, 1), needs_warps=True) == ((24, 4, 1),)


def test_shared_memory_of_the_launch_fits_beside_that_of_the_kernel() -> None:
    bytes_per_thread = LARGEST_SHARED // 1024
    kernel = replace(KERNEL, shared=f"{bytes_per_thread} * x")
    static = StaticCounters(32, static_shared_bytes=bytes_per_thread)
    beside = replace(kernel, compiled=replace(kernel.compiled, static=static))
    assert [max(one.candidates()) for one in (kernel, beside)] == [(1024, 1, 1), (992, 1, 1)]
    # The program has asked for more than usual.
    more = replace(beside, dynamic_shared_bytes=LARGEST_SHARED)
    assert max(more.candidates()) == (1024, 1, 1)
