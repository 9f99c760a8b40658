"""Reading PTX out of nvcc's fat binaries, from containers made by hand."""

from __future__ import annotations

import ctypes
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
    container = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body
    text = ctypes.create_string_buffer(1 << 16)
    found = probe.fat_binary_text(container, text, ctypes.c_size_t(len(text)))
    return found, text.value.decode()


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
    text = ctypes.create_string_buffer(1000)
    assert probe.fat_binary_text(b"\0" * 64, text, ctypes.c_size_t(1000)) == 0
    assert b"unknown form" in text.value
