"""Arguments of kernels from Python: what is packed, and what is refused before a launch."""

from __future__ import annotations

import ctypes
import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cutune.tuning.kernel_arguments import KernelSignature, read_parameters, thread_extents
from cutune.tuning.kernel_calls import ObjectCall
from cutune.tuning.kernel_object import stream_handle

DEVICE, OTHER, HOST, MANAGED = 0, 1, -1, -2
NAMES = "n", "a", "x", "y", "v", "s"
TEXT = "=4i@0 =4f@4 c4f@8 w4f@16 w16s@24 =8s@32 40"


def array(
    text: str = "<f4", shape: tuple[int, ...] = (8,), place: int = DEVICE, **about: Any
) -> Any:
    """An array at an address that tells its place."""
    data = ((place + 16) << 32, about.pop("readonly", False))
    interface = {"version": 3, "typestr": text, "shape": shape, "data": data, **about}
    return SimpleNamespace(__cuda_array_interface__=interface)


def signature() -> KernelSignature:
    return KernelSignature("k", *read_parameters(TEXT, NAMES), lambda address: (address >> 32) - 16)


def given(**others: Any) -> list[Any]:
    pair = np.zeros((), np.dtype([("x", "f4"), ("y", "f4")]))[()]
    own = {"n": 3, "a": 0.5, "x": array(), "y": array(), "v": array(shape=(2, 4)), "s": pair}
    return list({**own, **others}.values())


def test_bytes_of_a_launch() -> None:
    found = signature().arguments(given(x=None, y=array(stream=7)), DEVICE)
    address = 16 << 32
    assert found.data == struct.pack("if3P8x", 3, 0.5, 0, address, address)
    assert found.streams == (7,)
    assert [one and one.bytes for one in found.arrays] == [None, None, None, 32, 32, None]


@pytest.mark.parametrize(
    "argument",
    [
        {"n": np.int64(-1)},
        {"a": 3},
        {"a": np.float64(2)},
        {"x": array(readonly=True)},
        {"x": array(place=MANAGED)},
        {"x": array(shape=(0,), place=HOST)},
        {"x": array(shape=(1, 8), strides=(999, 4))},
        {"v": array("<c8", (4,))},
    ],
)
def test_what_is_taken(argument: dict[str, Any]) -> None:
    assert len(signature().arguments(given(**argument), DEVICE).data) == 40


@pytest.mark.parametrize(
    ("argument", "error", "said"),
    [
        ({"n": 1.5}, TypeError, "'n' is int32, not float"),
        ({"n": 1 << 31}, ValueError, "'n' is int32, which 2147483648 is too large for"),
        ({"a": 1e300}, ValueError, "'a' is float32"),
        ({"a": "1"}, TypeError, "'a' is float32, not str"),
        ({"x": array("<f8")}, TypeError, r"this one of float64; give x.astype\('float32'\)"),
        ({"x": array(">f4")}, TypeError, "'x' is an array of float32"),
        ({"x": array("<i4")}, TypeError, "this one of int32"),
        ({"x": array(strides=(8,))}, ValueError, "'x' is not contiguous"),
        ({"x": array(shape=(2, 4), strides=(4, 8))}, ValueError, "'x' is not contiguous"),
        ({"y": array(readonly=True)}, ValueError, "'y' may be written"),
        ({"x": array(place=HOST)}, ValueError, "'x' lies in the memory of the host"),
        ({"x": array(place=OTHER)}, ValueError, "'x' lies on device 1, not on 0"),
        ({"x": np.ones(8, np.float32)}, TypeError, "'x' is an array in the memory of the host"),
        ({"x": [1, 2]}, TypeError, "'x' takes an array, not list"),
        ({"v": array(shape=(3,))}, TypeError, "'v' is an array of a structure of 16 bytes"),
        ({"s": 1}, TypeError, "'s' is a structure of 8 bytes"),
        ({"more": 1}, TypeError, "7 arguments given behind the threads; it takes n: int32, "),
    ],
)
def test_what_is_refused(argument: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        signature().arguments(given(**argument), DEVICE)


class OnDevice:
    """A numpy array that says that it lies on a GPU."""

    def __init__(self, own: Any, device: int = DEVICE) -> None:
        self.own, self.device = own, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.device

    def __dlpack__(self, stream: int) -> object:
        assert stream == 1
        return self.own.__dlpack__()


def test_arrays_by_dlpack() -> None:
    own = np.ones((2, 4), np.float32)
    about = "k", *read_parameters("c4f@0 8", ["x"])
    taken = KernelSignature(*about, lambda address: DEVICE).arguments([OnDevice(own)], DEVICE)
    assert taken.data == struct.pack("P", own.ctypes.data)
    assert taken.streams == (1,)
    for wrong, error in (own.astype("f8"), TypeError), (own[:, ::2], ValueError):
        with pytest.raises(error):
            KernelSignature(*about, lambda address: DEVICE).arguments([OnDevice(wrong)], DEVICE)


@pytest.mark.parametrize(
    ("threads", "extents"),
    [(5, (5, 1, 1)), ((5, 6), (5, 6, 1)), ([np.int64(2), 3, 4], (2, 3, 4)), (0, (0, 1, 1))],
)
def test_threads(threads: object, extents: tuple[int, int, int]) -> None:
    assert thread_extents(threads) == extents


@pytest.mark.parametrize(
    ("threads", "error"),
    [(1.0, TypeError), (True, TypeError), ("5", TypeError), ((), ValueError), (-1, ValueError)],
)
def test_threads_that_are_none(threads: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        thread_extents(threads)


@pytest.mark.parametrize(
    ("stream", "handle"),
    [
        (5, 5),
        (SimpleNamespace(ptr=6), 6),
        (SimpleNamespace(cuda_stream=7), 7),
        (SimpleNamespace(handle=8), 8),
        (SimpleNamespace(handle=ctypes.c_void_p(9)), 9),
        (SimpleNamespace(handle=ctypes.c_void_p()), 0),
        (SimpleNamespace(__cuda_stream__=lambda: (0, 10)), 10),
    ],
)
def test_streams(stream: object, handle: int) -> None:
    assert stream_handle(stream) == handle


def test_what_is_no_stream() -> None:
    with pytest.raises(TypeError, match="not object"):
        stream_handle(object())


@pytest.mark.parametrize(
    ("threads", "sizes", "smaller"),
    [
        ((1 << 20, 1, 1), (1 << 20,), [(1024, 1, 1), (512, 1, 1), (256, 1, 1)]),
        ((4096, 4096, 1), (4096,), [(128, 128, 1), (64, 64, 1), (32, 32, 1)]),
        ((4096 * 512, 1, 1), (4096, 512, 3), [(8192, 1, 1), (4096, 1, 1)]),
        ((1000, 1, 1), (4000,), [(496, 1, 1), (248, 1, 1), (120, 1, 1)]),
        ((20, 1, 1), (20,), [(20, 1, 1)]),
    ],
)
def test_smaller_calls(
    threads: tuple[int, int, int], sizes: tuple[int, ...], smaller: list[tuple[int, int, int]]
) -> None:
    data = struct.pack(f"{len(sizes)}i", *sizes)
    integers = tuple((4 * place, 4, size) for place, size in enumerate(sizes))
    calls = ObjectCall("k", threads, (256, 1, 1), 0, data.hex(), integers).smaller()
    assert [call.threads for call in calls][: len(smaller)] == smaller
    for call in calls:
        packed = struct.unpack(f"{len(sizes)}i", bytes.fromhex(call.data))
        assert packed == tuple(value for _, _, value in call.integers)
