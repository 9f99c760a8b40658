"""A kernel as an object: takes a source and a name, gives what launches it on arrays.

Behind the text a function is written that launches the kernel, as behind those of scripts: so
prover, model and emission are those of programs. What is built and known of it is kept in the
user's cache, by its text and what it includes.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import subprocess
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import cutune
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, known_names
from cutune.core.reading import read_file
from cutune.core.workspace import make_folder, replace_file
from cutune.emulator.scripts import REAL_NVCC
from cutune.toolchain.cache import cache_folder
from cutune.toolchain.device.present import default_device, named_devices
from cutune.toolchain.device_code import EMULATED
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, find_nvcc
from cutune.toolchain.toolchain import Toolchain
from cutune.tuning import kernel_calls
from cutune.tuning.kernel_arguments import (
    Arguments,
    KernelSignature,
    read_parameters,
    thread_extents,
)
from cutune.tuning.kernel_calls import Extents, ObjectCall
from cutune.tuning.script_session import CompiledUnit, LoadedUnit, UnitLibrary, built_library

if TYPE_CHECKING:
    from cutune.toolchain.device.profile import DeviceProfile
    from cutune.tuning.kernel_models import KnownKernel

PathLike = str | os.PathLike[str]
_HEADERS = "cutune_script.h", "cutune_object.h"
_FUNCTION = """
extern "C" const char *cutune_object_parameters_{symbol}() {{ return cutune_described({kernel}); }}

extern "C" int cutune_object_most_{symbol}()
{{
    cudaFuncAttributes about;
    return cudaFuncGetAttributes(&about, {kernel}) == cudaSuccess ? about.maxThreadsPerBlock : 0;
}}

extern "C" int cutune_object_launch_{symbol}(const void *asked, const char *bytes, int size)
{{
    cutune_script_launch launch = *static_cast<const cutune_script_launch *>(asked);
    launch.bytes = bytes;
    launch.size = size;
    alignas(256) char at[cutune_most_bytes];
    if (!cutune_take_arguments({kernel}, launch, at)) return -1;
    {kernel}<<<launch.grid, launch.block, launch.shared, launch.stream>>>({arguments});
    return cudaGetLastError();
}}
"""
#: Blocks for threads in one, two and three dimensions, where nothing is known of a kernel.
_BLOCKS: Mapping[int, Extents] = {1: (256, 1, 1), 2: (32, 8, 1), 3: (32, 4, 2)}
#: The compute capability (CUdevice_attribute, cuda.h).
_MAJOR, _MINOR = 75, 76


@dataclass(frozen=True)
class ObjectText:
    """The text of a kernel with what launches it. `names`: its parameters; `folder`: its files."""

    name: str
    symbol: str
    unit: CompiledUnit
    toolchain: Toolchain
    devices: Sequence[DeviceProfile]
    folder: Path

    @staticmethod
    def of(path: str, name: str, flags: Sequence[str], nvcc: str | None, device: str) -> ObjectText:
        """Return the text of a kernel in a source. Raises CT001, CT003, CT452, CT701."""
        source = read_file(path).text
        compiler = str(find_nvcc(nvcc).path)
        options = *flags, f"-I{Path(path).resolve().parent}"
        unit = CompiledUnit.of(source, options, compiler)
        if unit is None:
            reason = f"kernel: flags {' '.join(flags)!r} are not all known, or a header is missing"
            raise CutuneError.at(Code.WRONG_USAGE, reason=reason, help="help(cutune.kernel)")
        devices = named_devices(device.split(","))
        architectures = (EMULATED, *(one.architecture for one in devices))
        toolchain = Toolchain(nvcc or os.environ.get(REAL_NVCC), tuple(options), architectures)
        symbol = re.sub(r"\W", "_", name)
        folder = cache_folder() / "kernels" / f"{unit.digest}-{symbol}-{cutune.__version__}"
        make_folder(folder)
        return ObjectText(name, symbol, unit, toolchain, devices, folder)

    @cached_property
    def names(self) -> list[str]:
        """Names of its parameters. The text is written first."""
        about = self.folder / "parameters.json"
        if not (about.exists() and self.path.exists()):
            names = self._read_names()
            arguments = ", ".join(f"cutune_passed<{n}>({self.name}, at)" for n in range(len(names)))
            texts = [(INCLUDE_DIRECTORY / one).read_text(encoding="utf-8") for one in _HEADERS]
            function = _FUNCTION.format(kernel=self.name, symbol=self.symbol, arguments=arguments)
            text = "\n".join([self.unit.source, *texts, function])
            replace_file(self.path, text.encode("latin-1"))
            replace_file(about, json.dumps(names).encode())
        return list(json.loads(about.read_text(encoding="utf-8")))

    @property
    def path(self) -> Path:
        return self.folder / "kernel.cu"

    @property
    def plain_name(self) -> str:
        """The kernel's name without namespaces and template arguments."""
        return self.name.partition("<")[0].rpartition("::")[2]

    def _read_names(self) -> list[str]:
        from cutune.proof.analysis.analyzer import Analyzer  # noqa: PLC0415

        replace_file(self.path, self.unit.source.encode("latin-1"))
        program = Analyzer(self.toolchain).load(str(self.path), require_nvcc=True)
        wanted = self.name.partition("<")[0].removeprefix("::")
        for kernel in program.definitions:
            if wanted in (kernel.name, "::".join((*(kernel.scope or ()), kernel.name))):
                if kernel.template_parameters and "<" not in self.name:
                    break
                return [one.name or f"argument {n}" for n, one in enumerate(kernel.parameters, 1)]
        known = [_written(one) for one in program.definitions]
        raise CutuneError.at(
            Code.UNKNOWN_KERNEL, name=self.name, known=known_names(self.name, known)
        )

    def library(self, source: str, architecture: str) -> ctypes.CDLL:
        """One of its texts, as the library that launches it. Raises RuntimeError."""
        unit = replace(self.unit, architecture=architecture)
        version = architecture.partition("_")[2]
        try:
            row = {"source": source, "architectures": [version], "kernels": []}
            return UnitLibrary.at(built_library(self.folder, row, LoadedUnit(unit, 0))).library
        except (OSError, subprocess.CalledProcessError) as error:
            reason = (getattr(error, "stderr", None) or str(error)).strip()
            raise RuntimeError(f"{self.name} cannot be built: {reason}") from error


def _written(kernel: Any) -> str:
    name = "::".join((*(kernel.scope or ()), kernel.name))
    return (
        f"{name}<{', '.join(kernel.template_parameters)}>" if kernel.template_parameters else name
    )


class KernelObject:
    """A kernel that chooses how it is launched: what `cutune.kernel` gives.

    ``k(threads, *arguments)`` launches it for at least so many threads; see ``__call__``.
    """

    def __init__(self, text: ObjectText, block: Extents | None) -> None:
        self._text, self.block, self._lock = text, block, Lock()
        self._names = text.names
        self._known: dict[tuple[Extents, int], Callable[..., int]] = {}

    @property
    def name(self) -> str:
        """The kernel's name in the source."""
        return self._text.name

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(map(str, self._signature.parameters))})>"

    @cached_property
    def _architecture(self) -> str:
        return present_architecture()

    @cached_property
    def _library(self) -> ctypes.CDLL:
        """The library that launches the kernel as it is written."""
        return self._text.library(self._text.path.name, self._architecture)

    @cached_property
    def _signature(self) -> KernelSignature:
        library = self._library
        describe = getattr(library, f"cutune_object_parameters_{self._text.symbol}")
        describe.restype = ctypes.c_char_p
        described = (describe() or b"").decode()
        if not described:
            raise TypeError(f"{self.name}: a parameter cannot be copied as bytes")
        place = library.cutune_object_place
        place.argtypes = (ctypes.c_void_p,)
        return KernelSignature(self.name, *read_parameters(described, self._names), place)

    def __call__(
        self, threads: Any, *arguments: object, stream: object = None, shared: int = 0
    ) -> None:
        """Launch the kernel; does not wait for it.

        Parameters
        ----------
        threads : int or tuple of int
            Threads in x, or in (x, y) or (x, y, z). At least so many are launched: whole blocks,
            so that a kernel asks ``if (i < n)``. With 0 threads nothing is launched.
        *arguments : arrays and numbers
            In the order of the kernel's parameters. For pointers, contiguous arrays on the current
            device (CuPy, torch, PyCUDA's ``GPUArray``, numba, whatever has
            ``__cuda_array_interface__`` or DLPack) of the type of the kernel, or None. For numbers,
            those of Python or numpy. For structures, numpy scalars of as many bytes.
        stream : optional
            Of CuPy, torch, PyCUDA or numba, or an address. By default that of the arrays: torch's
            current stream, or the stream that an array names; else the default stream.
        shared : int, optional
            Bytes of dynamic shared memory per block.

        Raises
        ------
        TypeError
            For a wrong number of arguments, or one of a wrong type, before the launch.
        ValueError
            For an array that is not contiguous, read-only, or elsewhere, before the launch; for a
            kernel whose `block` has to be named.
        RuntimeError
            Where CUDA refuses the launch.
        """
        extents = thread_extents(threads)
        signature, library = self._signature, self._library
        context = kernel_calls.context(library)
        given = signature.arguments(arguments, library.cutune_object_device())
        if 0 in extents:
            return
        block = self.block or self._usual_block(extents)
        call = ObjectCall(self._text.symbol, extents, block, shared, "")
        launch = self._known.get((block, shared)) or self._chosen(call, given)
        handle = _joined(library, stream, given.streams)
        asked = call.asked(context, handle)
        status = launch(asked, given.data, len(given.data))
        if status:
            raise self._refused(status, call)

    def _usual_block(self, extents: Extents) -> Extents:
        used = max((n for n in (1, 2, 3) if extents[n - 1] > 1), default=1)
        most = getattr(self._library, f"cutune_object_most_{self._text.symbol}")() or 1024
        x, y, z = _BLOCKS[used]
        while x * y * z > most:
            x, y, z = (x, y, z // 2) if z > 1 else (x, y // 2, z) if y > 1 else (x // 2, y, z)
        return x, y, z

    def _refused(self, status: int, call: ObjectCall) -> RuntimeError:
        library = self._library
        error = library.cutune_object_error
        error.restype = ctypes.c_char_p
        if status == -1:
            status = library.cutune_object_pending()
            reason = "an earlier call has failed: " if status else "there is no context of CUDA"
        else:
            reason = ""
        said = error(status).decode() if status else ""
        shape = f"grid {call.grid}, block {call.block}, {call.shared} bytes of shared memory"
        return RuntimeError(f"{self.name} is not launched: {reason}{said} ({shape})")

    def _chosen(self, call: ObjectCall, given: Arguments) -> Callable[..., int]:
        """What launches it with one block; made at its first call. Raises CT308 as ValueError."""
        with self._lock:
            known = known_kernel(self._text, self._library, self._signature, call, given)
            if self.block is None and not known.is_free:
                reason = known.reason or "its work follows the block that it is written for"
                found = Diagnostic.at(Code.BLOCK_NEEDED, kernel=self.name, reason=reason)
                raise ValueError(found.render())
            library, suffix = self._library, self._architecture.partition("_")[2]
            if known.source and suffix in known.architectures:
                library = self._text.library(known.source, self._architecture)
            else:
                reason = known.reason or f"it is not modelled for sm_{suffix}; name it by device="
                found = Diagnostic.at(Code.KERNEL_KEPT, kernel=self.name, reason=reason)
                warnings.warn(found.render(), stacklevel=3)
            launch: Callable[..., int] = getattr(
                library, f"cutune_object_launch_{self._text.symbol}"
            )
            self._known[call.block, call.shared] = launch
            return launch


def present_architecture() -> str:
    """The architecture of this thread's device, or of the first. Raises RuntimeError."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise RuntimeError(f"{error}; without a GPU: cutune run python3 SCRIPT") from error
    device, found = ctypes.c_int(), [ctypes.c_int(), ctypes.c_int()]
    failed = driver.cuInit(0)
    if not failed and driver.cuCtxGetDevice(ctypes.byref(device)):
        failed = driver.cuDeviceGet(ctypes.byref(device), 0)
    for which, value in zip((_MAJOR, _MINOR), found, strict=True):
        failed = failed or driver.cuDeviceGetAttribute(ctypes.byref(value), which, device)
    if failed:
        advice = "without a GPU: cutune run python3 SCRIPT"
        raise RuntimeError(f"CUDA finds no device (error {failed}); {advice}")
    return f"sm_{found[0].value}{found[1].value}"


def stream_handle(stream: object) -> int:
    """The address of a stream of any package. Raises TypeError."""
    if isinstance(stream, int):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("ptr", "cuda_stream", "handle"):
        found = getattr(stream, name, None)
        if found is not None or hasattr(stream, name):
            return int(getattr(found, "value", found) or 0)
    raise TypeError(f"a stream of CuPy, torch, PyCUDA or numba, not {type(stream).__name__}")


def _joined(library: ctypes.CDLL, stream: object, made: Sequence[int]) -> int:
    """The stream to launch in, once it waits for those in which arrays are made."""
    handle = stream_handle(stream) if stream is not None else made[0] if made else 0
    wait = library.cutune_object_wait
    wait.argtypes = ctypes.c_void_p, ctypes.c_void_p
    for other in made:
        if other != handle and {other, handle} != {0, 1} and (status := wait(handle, other)):
            raise RuntimeError(f"streams cannot wait for each other (error {status})")
    return handle


def known_kernel(
    text: ObjectText,
    library: ctypes.CDLL,
    signature: KernelSignature,
    call: ObjectCall,
    given: Arguments,
) -> KnownKernel:
    """All that is known of a kernel with one block, from its files or from small runs."""
    # Loaded where something is to be made; a kernel that is known needs no more than its library.
    from cutune.tuning.kernel_models import KnownKernel, ModelledText, Sample, tuned_kernel  # noqa: PLC0415

    devices = hashlib.sha256(repr(text.devices).encode()).hexdigest()[:16]
    name = f"{'x'.join(map(str, call.block))}-{call.shared}-{devices}"
    path = text.folder / f"{name}.json"
    if path.exists():
        row = json.loads(path.read_text(encoding="utf-8"))
        return KnownKernel(**{**row, "architectures": tuple(row["architectures"])})
    modelled = ModelledText(text.plain_name, text.path, text.toolchain, text.devices)
    known = tuned_kernel(modelled, name, Sample(library, signature, call, given))
    if known.is_final:
        replace_file(path, json.dumps(vars(known)).encode())
    return known


def kernel(
    source: PathLike,
    name: str,
    *,
    block: int | Sequence[int] | None = None,
    flags: Sequence[str] = (),
    device: str | None = None,
    nvcc: str | None = None,
) -> KernelObject:
    """Take a kernel of a CUDA source as a function that chooses its thread block.

    Parameters
    ----------
    source : path
        A ``.cu`` file. What else it holds is compiled, and not run.
    name : str
        The kernel, as ``"gemm"``, ``"space::gemm"`` or, of a template, ``"gemm<float>"``.
    block : int or tuple of int, optional
        The thread block that the kernel is written for, in threads. Needed where it cannot be
        proven that any other does the same, and kept there.
    flags : sequence of str, optional
        Options of nvcc, as ``["-DN=4", "-I/opt/include"]``.
    device : str, optional
        The GPUs that are modelled, as in `tune`.
    nvcc : str, optional
        The compiler; by default the one that is found.

    Returns
    -------
    KernelObject
        Call it as ``k(threads, *arguments)``.

    Raises
    ------
    CutuneError
        CT001 for a file that cannot be read, CT452 for a kernel that it does not have, CT701 where
        it does not compile.

    Examples
    --------
    >>> add = cutune.kernel("add.cu", "add")  # doctest: +SKIP
    >>> add(x.size, x, y, x.size)  # doctest: +SKIP
    """
    text = ObjectText.of(os.fspath(source), name, flags, nvcc, device or default_device())
    return KernelObject(text, None if block is None else thread_extents(_plain(block)))


def _plain(block: int | Sequence[int]) -> int | tuple[int, ...]:
    return block if isinstance(block, int) else tuple(block)
