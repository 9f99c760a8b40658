"""Reading PTX out of nvcc's fat binaries, from containers made by hand."""

from __future__ import annotations

import ctypes
import random
import struct
from pathlib import Path

import pytest

from cutune.emulator.build import NATIVE, build_library

PTX, CUBIN = 1, 2
LZ4, ZSTD = 0x2000, 0x8000


@pytest.fixture(scope="module")
def probe() -> ctypes.CDLL:
    sources = [
        Path(__file__).parents[2] / "corpus" / "native" / "runtime_probe.cpp",
        NATIVE / "machine_written.cpp",
        NATIVE / "runtime_arena.cpp",
        NATIVE / "runtime_fatbinary.cpp",
    ]
    return ctypes.CDLL(str(build_library("runtime_probe", sources, [f"-I{NATIVE}"], ["-ldl"])))


def image(kind: int, architecture: int, payload: bytes, flags: int = 0, plain: int = 0) -> bytes:
    stored = len(payload) + -len(payload) % 8
    compressed = len(payload) if flags else 0
    header = struct.pack(
        "<HHIQIIHHIIIQQQ",
        *(kind, 0x101, 64, stored, compressed, 0, 0, 9, architecture, 0, 0, flags, 0, plain),
    )
    return header + payload.ljust(stored, b"\0")


def read(probe: ctypes.CDLL, *images: bytes) -> tuple[int, str]:
    body = b"".join(images)
    return read_bytes(probe, struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body)


def read_bytes(probe: ctypes.CDLL, container: bytes) -> tuple[int, str]:
    text = ctypes.create_string_buffer(1 << 16)
    sizes = ctypes.c_size_t(len(container)), ctypes.c_size_t(len(text))
    found = probe.fat_binary_text(container, sizes[0], text, sizes[1])
    return found, text.value.decode("latin-1")


def test_plain_ptx(probe: ctypes.CDLL) -> None:
    assert read(probe, image(PTX, 80, b".target sm_80\n")) == (80, ".target sm_80\n")


def test_the_image_for_compute_80_is_preferred(probe: ctypes.CDLL) -> None:
    old, wanted, new = (image(PTX, n, f"sm_{n}".encode()) for n in (75, 80, 90))
    assert read(probe, old, new, wanted, image(CUBIN, 90, b"x")) == (80, "sm_80")
    assert read(probe, new, old) == (75, "sm_75")
    assert read(probe, image(PTX, 100, b"sm_100"), new) == (90, "sm_90")


def test_lz4(probe: ctypes.CDLL) -> None:
    # Six literals, then nine bytes from six back (overlapping), then the last literals.
    block = bytes([0x65]) + b"abcdef" + bytes([6, 0]) + bytes([0x20]) + b"YZ"
    expected = "abcdefabcdefabcYZ"
    made = image(PTX, 80, block, LZ4, len(expected))
    assert read(probe, made) == (80, expected)


def test_lz4_with_long_runs(probe: ctypes.CDLL) -> None:
    literals = b"x" * (15 + 255 + 7)
    block = bytes([0xFF, 255, 7]) + literals + bytes([1, 0, 255, 30]) + bytes([0x10]) + b"!"
    expected = "x" * (len(literals) + 15 + 255 + 30 + 4) + "!"
    assert read(probe, image(PTX, 80, block, LZ4, len(expected))) == (80, expected)


@pytest.mark.parametrize("block", [b"\x10", b"\x01a\xff\x00", b"\xf0\xff\xff\xff", b"\x04\x00\x00"])
def test_damaged_lz4_is_said(probe: ctypes.CDLL, block: bytes) -> None:
    found, text = read(probe, image(PTX, 80, block, LZ4, 8))
    assert found == 0 and "damaged" in text


def test_zstd(probe: ctypes.CDLL) -> None:
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        pytest.skip("libzstd.so.1 is not installed")
    text = ".version 9.0\n.target sm_80\n" * 50
    room = ctypes.create_string_buffer(len(text) + 1000)
    library.ZSTD_compress.restype = ctypes.c_size_t
    size = library.ZSTD_compress(
        room, ctypes.c_size_t(len(room)), text.encode(), ctypes.c_size_t(len(text)), 3
    )
    assert read(probe, image(PTX, 80, room.raw[:size], ZSTD, len(text))) == (80, text)


def test_a_program_without_ptx_is_told_apart(probe: ctypes.CDLL) -> None:
    found, text = read(probe, image(CUBIN, 86, b"\x7fELF"), image(CUBIN, 90, b"\x7fELF"))
    assert found == 0
    assert text == "it was built without PTX, only for sm_86, sm_90"


def test_something_else_is_told_apart(probe: ctypes.CDLL) -> None:
    for data in (b"\0" * 64, b"\0", b""):
        found, text = read_bytes(probe, data)
        assert found == 0 and "unknown form" in text


@pytest.mark.parametrize("at", range(16, 16 + 64, 4))
@pytest.mark.parametrize("value", [0, 1, 63, 0x7FFFFFFF, 0xFFFFFFFF])
def test_sizes_that_lie_end_in_a_value(probe: ctypes.CDLL, at: int, value: int) -> None:
    """As a file may have them: no image goes beyond its container, none is endless."""
    body = image(PTX, 80, bytes([0x10]) + b"!", LZ4, 1) + image(PTX, 75, b"sm_75")
    whole = bytearray(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body)
    whole[at : at + 4] = value.to_bytes(4, "little")
    found, text = read_bytes(probe, bytes(whole))
    assert found in {80, 75, value} or "damaged" in text or "without PTX" in text


def test_fuzzed_containers_end_in_a_value(probe: ctypes.CDLL) -> None:
    body = image(PTX, 80, bytes([0x65]) + b"abcdef" + bytes([6, 0, 0x20]) + b"YZ", LZ4, 17)
    whole = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 2 * len(body)) + body + image(CUBIN, 90, b"x")
    draw = random.Random(54)
    for _ in range(3000):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 6)):
            data[draw.randrange(len(data))] = draw.choice(
                (0, 1, 16, 0x7F, 0xFF, draw.randrange(256))
            )
        read_bytes(probe, bytes(data[: draw.choice((len(data), draw.randrange(len(data))))]))
