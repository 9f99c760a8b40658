"""Host tunables from program to times: a full sweep of the instrumented program, or a search.

Takes a session and a program, gives measurements, and keeps those of a GPU in the workspace.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

from cutune.analysis.session import Session
from cutune.collect.gpu.instrumented import gpu_target
from cutune.collect.run import Run, plan_runs
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.workspace import Workspace, append_lines
from cutune.device.profile import DeviceProfile
from cutune.emulator.run import device_environment
from cutune.fit.measurement.measurement import Origin
from cutune.frontend.program import Program
from cutune.frontend.tunable import HostTunable
from cutune.passes import InstrumentTunables
from cutune.tunables.neighbours.table import Configuration
from cutune.tunables.regions import (
    HostMeasurement,
    configurations,
    is_allowed,
    measure,
    merged,
)
from cutune.tunables.search import search

EMULATED, GPU = "emulated", "gpu"
#: A sweep of more runs is refused: it is probably a mistake.
MOST_RUNS = 100_000
#: Otherwise the first launch of a kernel, within a region, would load it (CUDA guide, lazy
#: loading). That takes longer than a small problem.
_READY = {"CUDA_MODULE_LOADING": "EAGER"}


@dataclass(frozen=True)
class HostSweep:
    """The runs of host tunables that are asked for.

    Attributes:
        names: the tunables that are varied; none: all.
        on: `GPU`, or `EMULATED`, where nothing is timed or saved.
        most: configurations to be searched at each size; None: all of them are run.
    """

    names: Sequence[str]
    on: str
    repetitions: int
    most: int | None = None


def collect_host(
    session: Session,
    program: Program,
    template: str,
    vary: Mapping[str, Sequence[str]],
    workspace: Workspace,
    sweep: HostSweep,
    device: DeviceProfile,
) -> list[HostMeasurement]:
    """Run the program in every configuration of the named tunables, or in those of a search.

    On the emulated device this checks that every configuration runs.

    Raises:
        CutuneError: CT420 without tunables or regions, CT421 without a GPU, CT422 when no run ends
            well, CT425 for an unknown name, too many runs, or too few of a search.
    """
    swept = _swept(program, sweep.names)
    _require_gpu(sweep.on)
    workspace.create()
    with workspace.claimed([Path(program.source.path).stem], session.warn):
        return _swept_runs(session, program, template, vary, workspace, sweep, device, swept)


def _swept_runs(
    session: Session,
    program: Program,
    template: str,
    vary: Mapping[str, Sequence[str]],
    workspace: Workspace,
    sweep: HostSweep,
    device: DeviceProfile,
    swept: Sequence[HostTunable],
) -> list[HostMeasurement]:
    target = gpu_target(device.architecture) if sweep.on == GPU else None
    binary = build(session, program, workspace.folder, target)
    runs = plan_runs(template, vary, binary)
    count = len(runs) * _configurations_per_run(swept, sweep.most)
    if count > MOST_RUNS:
        reason = f"{count} runs are too many; name fewer tunables, or --search"
        raise CutuneError(Diagnostic.at(Code.BAD_SWEEP, None, reason=reason))
    environment = device_environment(device, workspace.folder) if sweep.on == EMULATED else _READY
    origin = Origin.of(program.source, program.tunable_headers)
    log = _Log(session, program, workspace, sweep, environment, origin, count)
    start: Configuration | None = None
    for run in runs:
        if sweep.most is None:
            for values in configurations(swept):
                log.timed(run, values)
        else:
            start = _search(log, run, swept, sweep.most, start)
    session.progress("running", 1, 1)
    log.report()
    return log.measured


def build(
    session: Session, program: Program, folder: Path, target: Sequence[str] | None = None
) -> Path:
    """The instrumented program, for the emulated device or what the options `target` say."""
    text, flags = session.write_rewritten(program, folder, "tunables", (InstrumentTunables(),))
    return session.build(text, flags, text.with_suffix(""), target)


def _swept(program: Program, names: Sequence[str]) -> list[HostTunable]:
    if not program.tunables or not program.regions:
        raise CutuneError(
            Diagnostic.at(Code.NO_HOST_TUNABLES, program.source, path=program.source.path)
        )
    known = [tunable.name for tunable in program.tunables]
    for name in names:
        if name not in known:
            reason = f"no tunable is named '{name}'; known: {', '.join(known)}"
            raise CutuneError(Diagnostic.at(Code.BAD_SWEEP, None, reason=reason))
    return [tunable for tunable in program.tunables if not names or tunable.name in names]


def _configurations_per_run(swept: Sequence[HostTunable], most: int | None) -> int:
    counts = [len(tunable.choices) for tunable in swept]
    if most is None:
        return prod(counts)
    fewest = 1 + sum(count - 1 for count in counts)
    if most < fewest:
        reason = f"a search that varies every tunable takes {fewest} configurations per size"
        raise CutuneError(Diagnostic.at(Code.BAD_SWEEP, None, reason=reason))
    return min(most, prod(counts))


def _require_gpu(on: str) -> None:
    if on == GPU and shutil.which("nvidia-smi") is None:
        raise CutuneError(Diagnostic.at(Code.REGIONS_NEED_GPU, None))


def _search(
    log: _Log, run: Run, swept: Sequence[HostTunable], most: int, start: Configuration | None
) -> Configuration | None:
    """The best configuration at this size, from which the search at the next one starts."""

    def time(configuration: Configuration) -> float | None:
        names = (tunable.name for tunable in swept)
        return log.timed(run, dict(zip(names, configuration, strict=True)))

    times = search([tunable.choices for tunable in swept], time, most, start)
    known = {configuration: t for configuration, t in times.items() if t is not None}
    return min(known, key=known.__getitem__) if known else start


@dataclass
class _Log:
    """Runs, their measurements and their failures."""

    session: Session
    program: Program
    workspace: Workspace
    sweep: HostSweep
    environment: Mapping[str, str]
    origin: Origin
    count: int
    measured: list[HostMeasurement] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    done: int = 0

    def timed(self, run: Run, values: Mapping[str, int]) -> float | None:
        """The time of all regions; None where the run fails, or a condition forbids it."""
        self.session.progress("running", self.done, self.count)
        self.done += 1
        repeated = []
        for _ in range(self.sweep.repetitions if self.sweep.on == GPU else 1):
            found = measure(run, values, self.origin, self.environment)
            if isinstance(found, str):
                self.failures.append(f"{values}: {found}")
                return None
            repeated.append(found)
        own = merged(repeated)
        self.measured += own
        if self.sweep.on == GPU:
            append_lines(self.workspace.host_measurements, (m.to_json() for m in own))
        times = [one.milliseconds for one in own if self._is_allowed(one)]
        known = [time for time in times if time is not None]
        return sum(known) if own and len(known) == len(own) else None

    def _is_allowed(self, one: HostMeasurement) -> bool:
        groups: dict[int, list[HostTunable]] = {}
        for tunable in self.program.tunables:
            groups.setdefault(tunable.group, []).append(tunable)
        reached = (own for own in groups.values() if all(t.name in one.values for t in own))
        return all(is_allowed(one, own) for own in reached)

    def report(self) -> None:
        """Warn of failures.

        Raises:
            CutuneError: CT422 when nothing ended well.
        """
        if self.failures and not self.measured:
            reason = self.failures[0]
            raise CutuneError(Diagnostic.at(Code.NO_RUN_ENDED_WELL, None, reason=reason))
        if self.failures:
            count, first = len(self.failures), self.failures[0]
            code = Code.CONFIGURATION_FAILED
            self.session.warn(Diagnostic.at(code, None, count=count, reason=first))
        on_gpu = self.sweep.on == GPU
        if not self.measured or (on_gpu and all(m.milliseconds is None for m in self.measured)):
            reason = "no region was reached and timed"
            raise CutuneError(Diagnostic.at(Code.NO_RUN_ENDED_WELL, None, reason=reason))
