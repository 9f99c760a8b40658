"""The arena: device memory of the replacement libcudart."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from pathlib import Path

import pytest

from cutune.emulator.build import NATIVE, build_library

FREED, LIVE = 1, 2
CAPACITY = 1 << 32


@pytest.fixture(scope="module")
def probe() -> ctypes.CDLL:
    sources = [
        Path(__file__).parents[2] / "corpus" / "native" / "runtime_probe.cpp",
        NATIVE / "machine_written.cpp",
        NATIVE / "runtime_arena.cpp",
        NATIVE / "runtime_fatbinary.cpp",
    ]
    library = ctypes.CDLL(str(build_library("runtime_probe", sources, [f"-I{NATIVE}"], ["-ldl"])))
    library.arena_create.restype = ctypes.c_void_p
    library.arena_allocate.restype = ctypes.c_uint64
    library.arena_used.restype = ctypes.c_uint64
    return library


class Arena:
    def __init__(self, probe: ctypes.CDLL) -> None:
        self.probe = probe
        self.handle = ctypes.c_void_p(probe.arena_create(ctypes.c_uint64(CAPACITY)))

    def allocate(self, size: int) -> int:
        return int(self.probe.arena_allocate(self.handle, ctypes.c_uint64(size)))

    def free(self, base: int) -> bool:
        return bool(self.probe.arena_free(self.handle, ctypes.c_uint64(base)))

    def adopt(self, base: int, size: int) -> bool:
        return bool(
            self.probe.arena_adopt(self.handle, ctypes.c_uint64(base), ctypes.c_uint64(size))
        )

    def find(self, address: int) -> tuple[int, int, int] | None:
        base, size = ctypes.c_uint64(), ctypes.c_uint64()
        state = self.probe.arena_find(
            self.handle, ctypes.c_uint64(address), ctypes.byref(base), ctypes.byref(size)
        )
        return (state, base.value, size.value) if state else None

    @property
    def used(self) -> int:
        return int(self.probe.arena_used(self.handle))


@pytest.fixture
def arena(probe: ctypes.CDLL) -> Iterator[Arena]:
    made = Arena(probe)
    yield made
    probe.arena_destroy(made.handle)


@pytest.mark.parametrize("size", [1, 4, 255, 256, 257, 16383, 16384, 100_000, 1 << 24])
def test_allocations_are_aligned_zeroed_and_apart(arena: Arena, size: int) -> None:
    first, second = arena.allocate(size), arena.allocate(size)
    assert first % 256 == 0 and second % 256 == 0
    assert second - (first + size) >= 256
    assert arena.find(first) == (LIVE, first, size)
    assert arena.find(first + size - 1) == (LIVE, first, size)
    assert arena.find(first + size) is None
    assert arena.find(first - 1) is None
    assert not any(ctypes.string_at(first, min(size, 100_000)))


def test_freed_memory_is_known_as_freed_and_not_given_out_again(arena: Arena) -> None:
    base = arena.allocate(1000)
    assert arena.free(base)
    assert arena.find(base + 10) == (FREED, base, 1000)
    assert not arena.free(base)
    assert arena.allocate(1000) != base
    assert arena.used == 1000


def test_only_beginnings_of_allocations_can_be_freed(arena: Arena) -> None:
    base = arena.allocate(1000)
    assert not arena.free(base + 256)
    assert not arena.free(12345)


def test_more_than_the_capacity_is_refused(arena: Arena) -> None:
    assert arena.allocate(CAPACITY + 1) == 0
    large = arena.allocate(CAPACITY - 100)
    assert large != 0
    assert arena.allocate(101) == 0
    assert arena.allocate(100) != 0
    assert arena.free(large)
    assert arena.allocate(CAPACITY // 2) != 0


def test_addresses_are_reused_when_the_range_is_used_up(arena: Arena) -> None:
    # 2**40 bytes are reserved; this walks over them more than once.
    for _ in range(600):
        base = arena.allocate(CAPACITY - 8192)
        assert base != 0
        ctypes.memset(base, 255, 4096)
        assert arena.free(base)
    again = arena.allocate(4096)
    assert ctypes.string_at(again, 4096) == bytes(4096)


def test_many_small_allocations_stay_apart(arena: Arena) -> None:
    bases = [arena.allocate(24) for _ in range(20_000)]
    assert len(set(bases)) == 20_000
    for base in bases[::2]:
        assert arena.free(base)
    assert all(arena.find(base + 23) == (LIVE, base, 24) for base in bases[1::2])


def test_host_memory_is_adopted_once_and_not_freed(arena: Arena) -> None:
    with mmap.mmap(-1, 8192) as memory:
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        assert arena.adopt(base, 4096)
        assert not arena.adopt(base + 100, 10)
        assert arena.find(base + 4095) == (LIVE, base, 4096)
        assert arena.find(base + 4096) is None
        assert not arena.free(base)
