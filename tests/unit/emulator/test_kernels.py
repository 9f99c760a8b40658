"""Whole kernels against an H200: the same bits, and those that the host computes by itself."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cutune.core.workspace import locked
from cutune.emulator.link import own_build_flags
from cutune.emulator.run import program_environment
from cutune.toolchain.nvcc import find_nvcc
from tests.recorded.record_kernels import RECORDED
from tests.support.emulated_kernels import SOURCES, build, hashes, kernels_of, undefined_operations
from tests.support.short_headers import STANDARD, with_all_headers

pytestmark = pytest.mark.nvcc

KERNELS = [(source, kernel) for source in SOURCES for kernel in kernels_of(source)]


@dataclass(frozen=True)
class Done:
    """A program that was built and run."""

    hashes: dict[str, str]
    complaints: str
    ptx: str


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Done]:
    """Builds and runs each program once, whatever the number of processes that test."""
    root = tmp_path_factory.getbasetemp()
    root = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "kernels"
    root.mkdir(exist_ok=True)
    known: dict[Path, Done] = {}

    def of(source: Path) -> Done:
        if source not in known:
            folder = root / source.stem
            with locked(root / f"{source.stem}.lock"):
                if not (folder / "output").exists():
                    _build_and_run(source, folder)
            read = [folder / name for name in ("output", "complaints", f"{source.stem}.ptx")]
            output, complaints, ptx = (path.read_text(encoding="utf-8") for path in read)
            known[source] = Done(hashes(output), complaints, ptx)
        return known[source]

    return of


def _build_and_run(source: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    nvcc = find_nvcc()
    # Cooperative groups ask for C++17.
    standard = "-std=c++17" if source.stem == "groups" else STANDARD
    with with_all_headers():
        program = build(nvcc, source, folder, [standard, *own_build_flags(nvcc)])
    ran = subprocess.run(
        [program], env=program_environment(program), capture_output=True, text=True, check=False
    )
    status = f"status {ran.returncode}\n" if ran.returncode else ""
    (folder / "complaints").write_text(ran.stderr + status, encoding="utf-8")
    (folder / "output").write_text(ran.stdout, encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize(("source", "kernel"), KERNELS, ids=[kernel for _, kernel in KERNELS])
def test_same_bits_as_the_gpu(done: Callable[[Path], Done], source: Path, kernel: str) -> None:
    ours = done(source)
    assert kernel in ours.hashes, ours.complaints
    # `PROGRAM FILE KERNEL` writes the bytes, on both devices.
    assert ours.hashes[kernel] == json.loads(RECORDED.read_text(encoding="utf-8"))[kernel]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_the_host_computes_the_same(done: Callable[[Path], Done], source: Path) -> None:
    assert done(source).complaints == ""


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_every_operation_is_defined(done: Callable[[Path], Done], source: Path) -> None:
    assert list(undefined_operations(done(source).ptx)) == []
