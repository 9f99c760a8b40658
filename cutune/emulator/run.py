"""Runs a program on the emulated device: takes its command line, gives what its kernels did.

The program must be linked to the replacement libcudart (see link.py): directly, or to NVIDIA's
shared library, in whose place LD_LIBRARY_PATH then puts ours.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Timer

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, columns_of, tell, wrapped
from cutune.core.processes import signal_name, why_not_started
from cutune.core.temporary import temporary_folder
from cutune.emulator import link
from cutune.emulator.elf import Linkage, read_linkage
from cutune.emulator.findings import Finding, counted, read_findings
from cutune.emulator.launch_log import LaunchRecord, Triple, read_launches
from cutune.emulator.scripts import compiling_environment
from cutune.toolchain.device.present import FALLBACK
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.kernel_names import demangled
from cutune.toolchain.nvcc import Nvcc, find_nvcc

SCHEMA = "cutune-run-1"
#: Findings of `--check` that are printed.
SHOWN = 20
#: Longer names of kernels, as those of CUB, are shortened where they are shown.
LONGEST_NAME = 100
#: What numba, for one, puts behind a name.
_ABI_TAG = re.compile(r"\[abi:[^\]]*\]")
#: After so long it is said how launches can be limited.
LONG_SECONDS = 30


@dataclass(frozen=True)
class KernelSummary:
    """All launches of one kernel. `grid` and `block` are the most frequent ones."""

    kernel: str
    launches: int
    configurations: int
    grid: Triple
    block: Triple
    warp_instructions: int
    thread_instructions: int
    traced_requests: int
    sectors: int

    @property
    def simd_efficiency(self) -> float | None:
        """Active lanes per executed lane, 0 to 1."""
        lanes = 32 * self.warp_instructions
        return self.thread_instructions / lanes if lanes and self.thread_instructions else None

    @property
    def sectors_per_request(self) -> float | None:
        """Sectors of 32 bytes that a warp's access to global memory touches, on average."""
        return self.sectors / self.traced_requests if self.traced_requests else None

    def render(self) -> str:
        plural = "" if self.launches == 1 else "es"
        grid, block = ("x".join(map(str, extents)) for extents in (self.grid, self.block))
        others = f" and {self.configurations - 1} other" if self.configurations > 1 else ""
        words = [
            f"{shortened(self.kernel)}: {self.launches} launch{plural}",
            f"grid {grid}, block {block}{others}",
            f"{self.warp_instructions:,} warp instructions",
        ]
        if (efficiency := self.simd_efficiency) is not None:
            words.append(f"SIMD efficiency {100 * efficiency:.1f} %")
        if (sectors := self.sectors_per_request) is not None:
            words.append(f"{sectors:.2f} sectors per request")
        return ", ".join(words)


@dataclass(frozen=True)
class RunResult:
    """How the program ended, and its kernels in the order of their first launch."""

    status: int
    kernels: tuple[KernelSummary, ...]
    findings: tuple[Finding, ...] = ()
    #: That ended it; 0: none.
    signal: int = 0

    def to_json(self) -> dict[str, object]:
        ratios = ("simd_efficiency", "sectors_per_request")
        kernels = [asdict(k) | {name: getattr(k, name) for name in ratios} for k in self.kernels]
        findings = [finding.to_json() for finding in self.findings]
        return {"schema": SCHEMA, "status": self.status, "kernels": kernels, "findings": findings}


def shortened(name: str) -> str:
    """A name of a line's length at most, if it can be: long ones lose their template arguments."""
    if len(name) <= LONGEST_NAME:
        return name
    found, depth = "", 0
    for character in _ABI_TAG.sub("", name):
        depth -= character == ">"
        found += character if depth == 0 else "…" * (found[-1:] == "<")
        depth += character == "<"
    return found if depth == 0 else name


def run_program(
    argv: Sequence[str],
    device: DeviceProfile,
    *,
    trace: bool = False,
    check: bool = False,
    limit: int | None = None,
    stdout: int | None = None,
) -> RunResult:
    """Run it to its end. `trace` looks at addresses (slower), `check` for hazards (slower still).

    `limit`: warp instructions per launch. Raises CT440, CT441, CT443 when it cannot run there.
    """
    program = _program_path(argv[0])
    with temporary_folder() as folder:
        log = Path(folder) / "launches.jsonl"
        environment = {
            **program_environment(program),
            **device_environment(device, Path(folder)),
            "CUTUNE_LAUNCH_LOG": str(log),
            "CUTUNE_COUNT": "trace" if trace else "1",
        }
        found = Path(folder) / "findings.jsonl"
        if check:
            environment["CUTUNE_CHECK"] = str(found)
        if limit is not None:
            environment["CUTUNE_INSTRUCTION_LIMIT"] = str(limit)
        command = [str(program), *argv[1:]]
        try:
            done = subprocess.run(command, env=environment, stdout=stdout, check=False)
        except OSError as error:
            raise _not_run(argv[0], why_not_started(argv[0], error)) from error
        # As a shell reports the end by a signal.
        signal = max(0, -done.returncode)
        status = 128 + signal if signal else done.returncode
        return RunResult(status, summarize(read_launches(log)), read_findings(found), signal)


def program_environment(program: Path) -> dict[str, str]:
    """Variables by which a program finds the replacement libcudart. Raises CT440, CT443."""
    linkage = _read_linkage(program)
    common = {**os.environ, "CUTUNE_PYTHON": sys.executable}
    if linkage is not None and f"lib{link.LIBRARY}.so" in linkage.needed:
        return {**common, **_library_of_its_own(linkage)}
    compiler = find_nvcc()
    # A script, perhaps, starts the program: whichever way that is linked, it will do.
    if linkage is not None:
        _check_linkage(program, linkage, compiler)
    folders = [link.runtime_library(compiler).parent, link.alias_folder(compiler)]
    return {
        **common,
        **link.searched_folders(folders),
        **link.redirecting_environment(compiler),
        **compiling_environment(compiler),
    }


def device_environment(device: DeviceProfile, folder: Path) -> dict[str, str]:
    """Variables that make the program see this device; the description is written to `folder`."""
    path = folder / "device.txt"
    path.write_text(device_description(device), encoding="utf-8")
    return {"CUTUNE_DEVICE_FILE": str(path)}


def device_description(device: DeviceProfile) -> str:
    """The device as the replacement libcudart reads it: `key value` lines."""
    major, minor = device.compute_capability
    limits = device.limits
    bus_bits = 6016
    # From these two programs compute the bandwidth, at two transfers per clock.
    memory_clock_khz = round(device.dram_gbs * 8 * 1_000_000 / (2 * bus_bits))
    values: dict[str, object] = {
        "name": device.name,
        "compute_capability": f"{major}.{minor}",
        "multiprocessors": device.sm_count,
        "clock_khz": round(device.clock_ghz * 1_000_000),
        "memory_clock_khz": memory_clock_khz,
        "memory_bus_bits": bus_bits,
        "l2_bytes": device.l2_bytes,
        "threads_per_multiprocessor": 32 * limits.warps_per_sm,
        "blocks_per_multiprocessor": limits.blocks_per_sm,
        "registers_per_multiprocessor": limits.registers_per_sm,
        "shared_per_multiprocessor": limits.shared_bytes_per_sm,
        "shared_per_block_optin": limits.shared_bytes_opt_in,
        "shared_reserved": limits.shared_bytes_reserved,
        "shared_granularity": limits.shared_bytes_granularity,
        "launch_floor_us": float(device.model.floor_us),
        "dram_gbs": float(device.dram_gbs),
    }
    return "".join(f"{key} {value}\n" for key, value in values.items())


def summarize(launches: Iterable[LaunchRecord]) -> tuple[KernelSummary, ...]:
    """One line per kernel, in the order of first launches."""
    by_kernel: dict[str, list[LaunchRecord]] = {}
    for launch in launches:
        by_kernel.setdefault(launch.kernel, []).append(launch)
    return tuple(map(_summary, demangled(list(by_kernel)), by_kernel.values()))


def main_run(
    argv: Sequence[str],
    device: str = FALLBACK,
    *,
    json_output: bool = False,
    trace: bool = False,
    check: bool = False,
    shown: int = SHOWN,
    limit: int | None = None,
) -> int:
    """`cutune run`: the program's own output, then a line per kernel on stderr (or JSON on stdout,
    the program's output then going to stderr). Returns the program's exit status; where that is 0,
    `check` found errors or warnings and no more than `shown` are printed, 1.

    Raises:
        CutuneError: as `run_program`, and CT004 for an unknown device.
    """
    profile = DeviceProfile.named(device)
    stdout = sys.stderr.fileno() if json_output else None
    sys.stdout.flush()
    hint = Diagnostic.at(Code.RUNS_LONG, path=argv[0], seconds=LONG_SECONDS)
    waited = Timer(LONG_SECONDS, tell, [hint])
    waited.daemon = True
    if limit is None:
        waited.start()
    try:
        result = run_program(argv, profile, trace=trace, check=check, limit=limit, stdout=stdout)
    finally:
        waited.cancel()
    if result.signal:
        tell(Diagnostic.at(Code.ENDED_BY_SIGNAL, path=argv[0], name=signal_name(-result.signal)))
    if json_output:
        print(json.dumps(result.to_json(), indent=2))
    else:
        for kernel in result.kernels:
            print(wrapped(kernel.render(), columns_of(sys.stderr)), file=sys.stderr)
        for finding in result.findings[:shown]:
            tell(finding.diagnostic())
    if not result.kernels and result.status == 0:
        tell(Diagnostic.at(Code.NO_LAUNCHES, path=argv[0]))
    if check and not json_output:
        print(counted(result.findings, shown), file=sys.stderr)
    return result.status or int(any(finding.counts for finding in result.findings))


def _program_path(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise _not_run(name, why_not_started(name))
    # Absolute: without a slash the name would be looked up on PATH.
    return Path(os.path.abspath(found))


def _read_linkage(program: Path) -> Linkage | None:
    try:
        return read_linkage(program)
    except OSError as error:
        raise _not_run(program, error.strerror or str(error)) from error


def _library_of_its_own(linkage: Linkage) -> dict[str, str]:
    """The variable by which a program finds the library that it was linked to."""
    library = f"lib{link.LIBRARY}.so"
    if any((Path(folder) / library).exists() for folder in linkage.search_path):
        return {}
    return link.searched_folders([link.runtime_library(find_nvcc()).parent])


def _check_linkage(program: Path, linkage: Linkage, compiler: Nvcc) -> None:
    wanted = [name for name in linkage.needed if name.startswith("libcudart.so")]
    # Of a runtime that is linked in, the names of its functions tell where they are.
    if not wanted and ".nv_fatbin" in linkage.sections and ".symtab" not in linkage.sections:
        raise CutuneError.at(Code.STATIC_CUDART, path=program, flags=link.append_flags(compiler))
    offered = [path.name for path in link.alias_folder(compiler).iterdir()]
    for name in wanted:
        if name not in offered:
            code, listed = Code.OTHER_CUDART, " ".join(offered)
            raise CutuneError.at(code, path=program, found=name, offered=listed)


def _not_run(path: object, reason: str) -> CutuneError:
    return CutuneError.at(Code.NOT_RUN, path=path, reason=reason)


def _summary(name: str, launches: list[LaunchRecord]) -> KernelSummary:
    configurations = Counter((launch.grid, launch.block) for launch in launches)
    ((most_frequent, _),) = configurations.most_common(1)
    sites = [site for launch in launches for site in launch.sites if site["sectors"]]
    return KernelSummary(
        name,
        len(launches),
        len(configurations),
        *most_frequent,
        warp_instructions=sum(launch.warp_instructions for launch in launches),
        thread_instructions=sum(launch.thread_instructions for launch in launches),
        traced_requests=sum(site["traced"] for site in sites),
        sectors=sum(site["sectors"] for site in sites),
    )
