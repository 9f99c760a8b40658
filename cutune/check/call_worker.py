"""The process in which a function is called. Takes a folder with a plan, writes how calls ended.

What is called may do anything: end the process, or leave it such that nothing can be called any
more. Arrays keep their addresses while their sizes are the same, so that what a function has kept
of an earlier call is used, if it uses such.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pickle
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutune.check.call_plan import AccessedBytes, Argument, Ended, Extent, Side, TrialCall
from cutune.core.processes import run_to_end, signal_name
from cutune.emulator.findings import read_findings
from cutune.emulator.launch_log import read_launches
from cutune.measure.trial_contents import typed_contents

_PLAN, _ENDED, _LOG, _FOUND = "plan", "ended", "launches.jsonl", "findings.jsonl"
_TO_DEVICE, _TO_HOST = 1, 2
_SECONDS = 300.0


def run_calls(
    side: Side, calls: Sequence[TrialCall], folder: Path, environment: Mapping[str, str]
) -> list[Ended]:
    """Make calls in a process; gives those that it came to. Where one ends it, that is the last."""
    folder.mkdir(parents=True)
    (folder / _PLAN).write_bytes(pickle.dumps((side, calls)))
    # What is called prints what it likes, and looks for its files where the user is.
    command = [sys.executable, "-m", __spec__.name, str(folder)]
    root = str(Path(__file__).parents[2])
    about = {
        "PYTHONPATH": ":".join(filter(None, [root, environment.get("PYTHONPATH", "")])),
        "CUTUNE_LAUNCH_LOG": str(folder / _LOG),
        "CUTUNE_CHECK": str(folder / _FOUND),
        "CUTUNE_COUNT": "trace",
    }
    done = run_to_end(command, {**environment, **about}, _SECONDS)
    ended = list(_read(folder / _ENDED))
    if len(ended) < len(calls) and not (ended and ended[-1].is_last):
        said = done.errors_text.strip().splitlines()[-1:]
        reason = f"it ends the program with status {done.status}"
        if done.status is None:
            reason = f"it does not end within {_SECONDS:.0f} s"
        elif done.status < 0:
            reason = f"it ends by {signal_name(done.status)}"
        ended.append(_noted(Ended(": ".join([reason, *said]), is_last=True), folder))
    return ended


def _read(path: Path) -> Iterator[Ended]:
    if not path.exists():
        return
    with path.open("rb") as file:
        while True:
            try:
                yield pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                return


def contents_of(argument: Argument, place: int, call: TrialCall) -> NDArray[Any]:
    """The numbers in the array of a place before a call, as they lie in memory."""
    extent, type_ = call.extents[place], argument.type
    random = np.random.default_rng([call.seed, place])
    numbers = typed_contents(random, extent.count, call.contents, type_.code, type_.size)
    if extent.limits is not None:
        numbers = _within(numbers, *extent.limits)
    if call.moved and type_.is_real:
        steps = np.random.default_rng([call.moved, place]).uniform(-1, 1, extent.count)
        numbers = type_.numbers(type_.in_memory(numbers)) * (1 + type_.epsilon * steps)
    return type_.in_memory(numbers)


def _within(numbers: NDArray[Any], low: float, high: float) -> NDArray[Any]:
    if numbers.dtype.kind != "f":
        return np.int64(low) + numbers % np.int64(max(1, high - low + 1))
    with np.errstate(invalid="ignore"):
        reals: NDArray[Any] = low + (high - low) * (np.abs(numbers) % 1)
    return reals


class _Library:
    """A library with its arrays in device memory."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.library = ctypes.CDLL(side.path)
        self.library.cudaGetErrorString.restype = ctypes.c_char_p
        self.extents: Sequence[Extent] | None = None
        self.bases: list[ctypes.c_void_p] = []

    def call(self, call: TrialCall, before: Sequence[NDArray[Any]]) -> Ended:
        if call.extents != self.extents:
            self._allocate(call, before)
        for base, array in zip(self.bases, before, strict=True):
            self._copy(base, ctypes.c_void_p(array.ctypes.data), array.nbytes, _TO_DEVICE)
        values = [*self._values(call), (ctypes.c_uint * 3)(*call.block)]
        places = [ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values]
        self.library.cutune_check_call((ctypes.c_void_p * len(places))(*places))
        error = self.library.cudaGetLastError() or self.library.cudaDeviceSynchronize()
        if error:
            return Ended(self._said(error), is_last=bool(self.library.cudaDeviceSynchronize()))
        after = [np.empty_like(array) for array in before]
        for base, array in zip(self.bases, after, strict=True):
            self._copy(ctypes.c_void_p(array.ctypes.data), base, array.nbytes, _TO_HOST)
        return Ended("", _changed(before, after), tuple(base.value or 0 for base in self.bases))

    def _values(self, call: TrialCall) -> Iterator[Any]:
        bases, numbers = iter(self.bases), iter(call.values)
        for argument in self.side.arguments:
            if argument.is_array:
                yield next(bases)
            else:
                stored = argument.type.in_memory(np.array([next(numbers)])).tobytes()
                yield ctypes.create_string_buffer(stored, len(stored))

    def _allocate(self, call: TrialCall, before: Sequence[NDArray[Any]]) -> None:
        for base in self.bases:
            self._check(self.library.cudaFree(base))
        self.extents, self.bases = call.extents, [ctypes.c_void_p() for _ in before]
        for base, array in zip(self.bases, before, strict=True):
            size = ctypes.c_size_t(max(1, array.nbytes))
            self._check(self.library.cudaMalloc(ctypes.byref(base), size))

    def _copy(self, to: ctypes.c_void_p, of: ctypes.c_void_p, size: int, kind: int) -> None:
        self._check(self.library.cudaMemcpy(to, of, ctypes.c_size_t(size), kind))

    def _check(self, error: int) -> None:
        if error:
            raise MemoryError(self._said(error))

    def _said(self, error: int) -> str:
        return str(self.library.cudaGetErrorString(error).decode())


class _Function:
    """A Python function of arrays and numbers, which writes into arrays or returns them."""

    def __init__(self, side: Side) -> None:
        self.side = side
        sys.path.insert(0, str(Path(side.path).resolve().parent))
        spec = importlib.util.spec_from_file_location("cutune_reference", side.path)
        assert spec is not None and spec.loader is not None, "a Python source"
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.function = getattr(module, side.function)
        code = self.function.__code__
        self.taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    def call(self, call: TrialCall, before: Sequence[NDArray[Any]]) -> Ended:
        arrays, others = self.side.arrays, [o for o in self.side.arguments if not o.is_array]
        given: dict[str, Any] = {o.name: v for o, v in zip(others, call.values, strict=True)}
        for one, extent, stored in zip(arrays, call.extents, before, strict=True):
            # numpy has no bfloat16.
            shown = np.float32 if one.type.code == "z" else one.type.stored
            numbers = one.type.numbers(stored).astype(shown, copy=True)
            given[one.name] = numbers.reshape(extent.shape or -1)
        returned = self.function(**{name: v for name, v in given.items() if name in self.taken})
        if returned is not None:
            each = returned if isinstance(returned, tuple) else (returned,)
            given |= zip(self._outputs(len(each)), each, strict=True)
        after = [one.type.in_memory(np.asarray(given[one.name]).reshape(-1)) for one in arrays]
        for one, old, new in zip(arrays, before, after, strict=True):
            if old.size != new.size:
                message = f"'{one.name}' has {old.size} elements, and got {new.size}"
                raise ValueError(message)
        return Ended("", _changed(before, after))

    def _outputs(self, count: int) -> Sequence[str]:
        """The arrays that are returned: those that it does not take, else what may be written."""
        names = [one.name for one in self.side.arrays if one.kind == "p"]
        missing = [name for name in names if name not in self.taken]
        found = missing if len(missing) == count else names
        if len(found) != count:
            message = f"it returns {count} arrays; {' '.join(names)} may be written to"
            raise ValueError(message)
        return found


def _changed(
    before: Sequence[NDArray[Any]], after: Sequence[NDArray[Any]]
) -> dict[int, NDArray[Any]]:
    pairs = enumerate(zip(before, after, strict=True))
    return {place: new for place, (old, new) in pairs if old.tobytes() != new.tobytes()}


def _noted(ended: Ended, folder: Path) -> Ended:
    """A call with what the emulated device says of it, which is taken off its files."""
    log, found = folder / _LOG, folder / _FOUND
    launches, findings = list(read_launches(log)), read_findings(found)
    for path in (log, found):
        if path.exists():
            os.truncate(path, 0)
    accesses = {
        AccessedBytes(site["lowest"], site["highest"], site["store_cost_x20"] > 0)
        for launch in launches
        for site in launch.sites
        if site["traced"]
    }
    work = sum(launch.warp_instructions for launch in launches)
    return replace(ended, work=work, accesses=tuple(accesses), findings=findings)


def _make_calls(folder: Path) -> None:
    side, calls = pickle.loads((folder / _PLAN).read_bytes())
    target: _Library | _Function = _Function(side) if side.function else _Library(side)
    with (folder / _ENDED).open("wb") as file:
        for call in calls:
            before = [contents_of(one, place, call) for place, one in enumerate(side.arrays)]
            try:
                ended = target.call(call, before)
            except Exception as error:  # whatever a function of the user's raises
                ended = Ended(f"{type(error).__name__}: {error}")
            pickle.dump(_noted(ended, folder), file)
            file.flush()
            if ended.is_last:
                return


if __name__ == "__main__":
    _make_calls(Path(sys.argv[1]))
    # What a library does at its end is no result.
    os._exit(0)
