"""Arguments of a kernel from Python. Takes arrays and numbers, gives the bytes of a launch.

Arrays are known by `__cuda_array_interface__` (version 3) or DLPack. All that can be wrong about an
argument is said before anything is launched, with its name and what to give in its place.
"""

from __future__ import annotations

import ctypes
import re
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

_PARAMETER = re.compile(r"([cw=])(\d+)([vbfius])@(\d+) ")
_KINDS = {"f": "float", "i": "int", "u": "uint"}
#: What lies on a GPU, or may be read there (dlpack.h, DLDeviceType).
_ON_GPU, _MANAGED = 2, 13
#: Letters of numpy for the codes of DLPack; bfloat16 (4) is a number without arithmetic.
_DLPACK = {0: "i", 1: "u", 2: "f", 4: "V", 5: "c", 6: "b"}
#: These are one stream, unless a program is compiled otherwise: none, and the legacy one.
_LEGACY = 1
_REALS = {2: "e", 4: "f", 8: "d"}


@dataclass(frozen=True)
class TypedParameter:
    """A parameter, as the compiler has it.

    `form`: a pointer to what is `w`ritten or to `c`onstants, or `=` for a value. `kind`, `size`: of
    the value, or of what it points to: numbers as numpy calls them, `v`oid, a `s`tructure.
    `offset`: where it lies among the bytes of all.
    """

    name: str
    form: str
    kind: str
    size: int
    offset: int

    @property
    def is_pointer(self) -> bool:
        return self.form != "="

    @property
    def type(self) -> str:
        """What it takes, as numpy calls it."""
        if self.kind in _KINDS:
            return f"{_KINDS[self.kind]}{8 * self.size}"
        others = {"b": "bool", "v": "any type", "s": f"a structure of {self.size} bytes"}
        return others[self.kind]

    def __str__(self) -> str:
        return f"{self.name}: {f'array of {self.type}' if self.is_pointer else self.type}"


def read_parameters(text: str, names: Sequence[str]) -> tuple[tuple[TypedParameter, ...], int]:
    """The parameters that a library describes, and the bytes of all of them."""
    found = _PARAMETER.findall(text)
    parameters = tuple(
        TypedParameter(name, form, kind, int(size), int(offset))
        for name, (form, size, kind, offset) in zip(names, found, strict=True)
    )
    return parameters, int(text.rpartition(" ")[2])


@dataclass(frozen=True)
class DeviceArray:
    """An array as one of the protocols shows it. `type`: its elements, as numpy writes them.

    `device`: its number; None: the protocol does not say. `stream`: in which it is made; None:
    nothing needs to wait.
    """

    address: int
    type: str
    size: int
    count: int
    is_contiguous: bool
    is_readonly: bool = False
    device: int | None = None
    stream: int | None = None

    @property
    def bytes(self) -> int:
        return self.size * self.count


@dataclass(frozen=True)
class Arguments:
    """The bytes of a launch, its arrays, and the streams in which these are made."""

    data: bytes
    arrays: tuple[DeviceArray | None, ...]
    streams: tuple[int, ...]


@dataclass(frozen=True)
class KernelSignature:
    """The parameters of a kernel. `size`: bytes of all. `place`: of an address, its device."""

    kernel: str
    parameters: tuple[TypedParameter, ...]
    size: int
    place: Callable[[int], int]

    def arguments(self, given: Sequence[object], device: int) -> Arguments:
        """Check arguments for a launch on a device. Raises TypeError, ValueError."""
        if len(given) != len(self.parameters):
            listed = ", ".join(map(str, self.parameters)) or "nothing"
            count = f"{len(given)} argument{'' if len(given) == 1 else 's'}"
            raise TypeError(f"{self.kernel}: {count} given behind the threads; it takes {listed}")
        data, arrays = bytearray(self.size), []
        for parameter, value in zip(self.parameters, given, strict=True):
            array = None
            if parameter.is_pointer:
                array = self._array(parameter, value, device)
                packed = struct.pack("P", 0 if array is None else array.address)
            else:
                packed = _scalar(self._named(parameter), parameter, value)
            data[parameter.offset : parameter.offset + len(packed)] = packed
            arrays.append(array)
        made = (array.stream for array in arrays if array is not None)
        streams = dict.fromkeys(stream for stream in made if stream is not None)
        return Arguments(bytes(data), tuple(arrays), tuple(streams))

    def _named(self, parameter: TypedParameter) -> str:
        return f"{self.kernel}: '{parameter.name}'"

    def _array(self, parameter: TypedParameter, value: object, device: int) -> DeviceArray | None:
        if value is None:
            return None
        about = self._named(parameter)
        array = device_array(about, value)
        _check_type(about, parameter, array)
        if not array.is_contiguous:
            raise ValueError(f"{about} is not contiguous; give a copy, as ascontiguousarray makes")
        if array.is_readonly and parameter.form == "w":
            raise ValueError(f"{about} may be written, and this array is read-only; give a copy")
        if array.count:
            self._check_place(about, array, device)
        return array

    def _check_place(self, about: str, array: DeviceArray, device: int) -> None:
        place = self.place(array.address)
        if place == -1:
            raise ValueError(f"{about} lies in the memory of the host; {_TO_GPU}")
        if place not in (-2, device):
            advice = f"copy it to device {device}, or make {place} the current one"
            raise ValueError(f"{about} lies on device {place}, not on {device}; {advice}")


_TO_GPU = "give an array on the GPU, as cupy.asarray(x) or x.cuda()"


def device_array(about: str, value: object) -> DeviceArray:
    """An argument as an array. Raises TypeError, ValueError where it is none on a GPU."""
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return _of_interface(value, interface)
    where = getattr(value, "__dlpack_device__", None)
    if where is None:
        raise TypeError(f"{about} takes an array, not {type(value).__name__}; {_TO_GPU}")
    kind, device = where()
    if kind not in (_ON_GPU, _MANAGED):
        raise TypeError(f"{about} is an array in the memory of the host; {_TO_GPU}")
    # 1 is the legacy stream: the producer makes it wait.
    capsule = value.__dlpack__(stream=_LEGACY)  # type: ignore[attr-defined]
    return _of_capsule(capsule, None if kind == _MANAGED else device)


def _of_interface(value: object, interface: dict[str, Any]) -> DeviceArray:
    type_text = interface["typestr"]
    size, shape = np.dtype(type_text).itemsize, tuple(interface["shape"])
    address, is_readonly = interface["data"]
    strides, stream = interface.get("strides"), interface.get("stream")
    if stream is None:
        stream = _stream_of_torch(value)
    is_contiguous = strides is None or _are_dense(shape, strides, size)
    about = prod(shape), is_contiguous, bool(is_readonly)
    return DeviceArray(address or 0, type_text, size, *about, stream=stream)


def _stream_of_torch(value: object) -> int | None:
    """The stream of a tensor, whose interface does not name one."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return None
    return int(torch.cuda.current_stream(value.device).cuda_stream)


def _are_dense(shape: Sequence[int], strides: Sequence[int], size: int) -> bool:
    """Do the elements lie one behind the other, the last index first?"""
    if 0 in shape:
        return True
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent > 1 and stride != size:
            return False
        size *= extent
    return True


class _Tensor(ctypes.Structure):
    """`DLTensor` of dlpack.h, the first member of a DLManagedTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("dimensions", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def _of_capsule(capsule: object, device: int | None) -> DeviceArray:
    """The array of a capsule, which goes with the capsule: the argument itself keeps it."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = ctypes.cast(get(capsule, b"dltensor"), ctypes.POINTER(_Tensor)).contents
    shape = tensor.shape[: tensor.dimensions]
    size = tensor.bits * tensor.lanes // 8
    is_contiguous = not tensor.strides or _are_dense(
        shape, [size * one for one in tensor.strides[: tensor.dimensions]], size
    )
    address = (tensor.data or 0) + tensor.byte_offset
    kind = _DLPACK.get(tensor.code, "V") if tensor.lanes == 1 else "V"
    about = prod(shape), is_contiguous
    return DeviceArray(address, f"{kind}{size}", size, *about, device=device, stream=_LEGACY)


def _check_type(about: str, parameter: TypedParameter, array: DeviceArray) -> None:
    if _is_of_type(parameter, array):
        return
    own = np.dtype(array.type)
    advice = f"give x.astype('{parameter.type}')" if parameter.kind in "fiu" else "convert it"
    raise TypeError(f"{about} is an array of {parameter.type}, and this one of {own}; {advice}")


def _is_of_type(parameter: TypedParameter, array: DeviceArray) -> bool:
    own = np.dtype(array.type)
    if not own.isnative:
        return False
    if parameter.kind == "v" or parameter.size == 0:
        return True
    if parameter.kind == "s":  # as float4, of which an array of float32 holds some
        return array.bytes % parameter.size == 0 and parameter.size % array.size == 0
    if parameter.size == 1 and parameter.kind in "iu":
        return array.size == 1
    return (own.kind, own.itemsize) == (parameter.kind, parameter.size)


def _scalar(about: str, parameter: TypedParameter, value: object) -> bytes:
    """The bytes of a number. Raises TypeError, ValueError."""
    if parameter.kind == "s":
        if isinstance(value, np.generic) and value.nbytes == parameter.size:
            return value.tobytes()
        advice = "a scalar of numpy with as many, as np.zeros((), dtype)[()]"
        raise TypeError(f"{about} is {parameter.type}; give {advice}")
    if isinstance(value, np.generic):
        value = value.item()
    is_number = isinstance(value, int | float if parameter.kind == "f" else int)
    if not is_number:
        raise TypeError(f"{about} is {parameter.type}, not {type(value).__name__}; give a number")
    assert isinstance(value, int | float)
    try:
        if parameter.kind == "f":
            return struct.pack(f"={_REALS[parameter.size]}", value)
        if parameter.kind == "b":
            return bytes([bool(value)])
        return int(value).to_bytes(parameter.size, sys.byteorder, signed=parameter.kind == "i")
    except (OverflowError, struct.error) as error:
        raise ValueError(f"{about} is {parameter.type}, which {value} is too large for") from error


def thread_extents(threads: object) -> tuple[int, int, int]:
    """The number of threads as three. Raises TypeError, ValueError."""
    given = list(_extents(threads))
    if not 1 <= len(given) <= 3:
        raise ValueError(f"threads in 1 to 3 dimensions, not {len(given)}")
    if any(one < 0 for one in given):
        raise ValueError(f"a number of threads is not negative, as {tuple(given)} is")
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


def _extents(threads: object) -> Iterator[int]:
    every = threads if isinstance(threads, tuple | list) else (threads,)
    for one in every:
        if isinstance(one, bool) or not hasattr(one, "__index__"):
            raise TypeError(f"threads are an integer, or up to three as (x, y), not {threads!r}")
        yield int(one.__index__())
