"""Collection on the emulated device: the program runs, its launches are recorded and replayed.

Takes an instrumented program and ways to run it, gives measurements. Nothing here needs a GPU.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from cutune.arguments import integer_argument, unseen_member
from cutune.device import DeviceProfile
from cutune.diagnostics import Code, CutuneError, Diagnostic
from cutune.emulator.assemble import assemble
from cutune.emulator.launch_log import LaunchRecord, read_launches
from cutune.emulator.machine import LoadedModule, load
from cutune.emulator.module import AssembledModule
from cutune.emulator.module import Kernel as KernelCode
from cutune.emulator.run import device_environment
from cutune.kernel_code import code_blocks, memory_instructions
from cutune.launched import launched_sites
from cutune.measure import MeasuredKernel, Origin
from cutune.pipeline import KernelFacts
from cutune.program import Kernel, LaunchSite, Program
from cutune.relations import Covered, cover
from cutune.replay import Made, Replayer, recorded_extents, replayable
from cutune.static_counters import StaticCounters
from cutune.trial import (
    Attempt,
    Trial,
    hiding_candidates,
    read_trials,
    trial_environment,
    with_larger,
)

#: Launches recorded per launch site and run.
RECORDED_LAUNCHES = 3
RUN_SECONDS = 600
#: Runs in search of candidates that do not break the context.
TRIAL_RUNS = 12
#: In so many of them one candidate is left out, then also all that are larger.
SINGLY_LEFT_OUT = 3
FEW_REGISTERS = 32

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Run:
    """One run of the program: its command line before substitution, and the values to substitute.

    `environment`: variables that it needs besides those of the process. `launches_only`: kernels
    need not be executed in order to record how they are launched. `program`: what `{program}` is.
    """

    words: tuple[str, ...]
    values: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    launches_only: bool = False
    program: str = ""

    @property
    def command(self) -> tuple[str, ...]:
        """The command line after substitution."""
        return tuple(word.format(program=self.program, **self.values) for word in self.words)


def plan_runs(
    template: str,
    vary: Mapping[str, Sequence[str]],
    program: Path,
    environment: Mapping[str, str] | None = None,
    launches_only: bool = False,
) -> list[Run]:
    """Every combination of the varied values, filled into `./{program} {n}`.

    Raises:
        CutuneError: CT410 when the template names something that is not varied.
    """
    combinations: list[dict[str, str]] = [{}]
    for name, values in vary.items():
        combinations = [{**c, name: value} for c in combinations for value in values]
    unused = [name for name in vary if f"{{{name}}}" not in template]
    if unused:
        reason = f"it does not use {{{unused[0]}}}"
        raise CutuneError(Diagnostic.at(Code.BAD_RUN, None, template=template, reason=reason))
    relative = os.path.relpath(program)
    runs = []
    for combination in combinations:
        try:
            words = tuple(shlex.split(template))
            run = Run(words, combination, environment or {}, launches_only, relative)
            if not run.command:
                raise ValueError("it names no program")
        except (KeyError, IndexError, ValueError) as error:
            raise CutuneError(
                Diagnostic.at(Code.BAD_RUN, None, template=template, reason=error)
            ) from error
        runs.append(run)
    return runs


def record_launches(
    runs: Sequence[Run], device: DeviceProfile, progress: Progress
) -> list[list[LaunchRecord]]:
    """Run the instrumented program on the emulated device; the launches of each run, in order.

    Raises:
        CutuneError: CT411 when it does not end well.
    """
    recorded = []
    with tempfile.TemporaryDirectory(prefix="cutune-") as folder:
        described = device_environment(device, Path(folder))
        for index, run in enumerate(runs):
            log = Path(folder) / f"launches-{index}.jsonl"
            logging = {
                "CUTUNE_LAUNCH_LOG": str(log),
                "CUTUNE_LOG_LIMIT": str(RECORDED_LAUNCHES),
            }
            if run.launches_only:
                logging["CUTUNE_SKIP_KERNELS"] = "1"
            progress("running", index, len(runs))
            # Where nothing is computed, the program's own check has reason to complain.
            run_program(run, {**os.environ, **described, **logging}, may_fail=run.launches_only)
            recorded.append(list(read_launches(log)) if log.exists() else [])
    progress("running", len(runs), len(runs))
    return recorded


def try_candidates(
    run: Run, kernels: Sequence[MeasuredKernel], device: DeviceProfile
) -> Mapping[str, Trial]:
    """Launch every candidate in one run of the program and compare results.

    A candidate that breaks the context hides those behind it: the program then runs again
    without it.

    Raises:
        CutuneError: CT411 when the run does not end well.
    """
    broken: frozenset[Attempt] = frozenset()
    for attempt in range(TRIAL_RUNS):
        with tempfile.TemporaryDirectory(prefix="cutune-") as folder:
            described = device_environment(device, Path(folder))
            sweeping = trial_environment(kernels, Path(folder), broken)
            failure = None
            try:
                run_program(run, {**os.environ, **described, **sweeping})
            except CutuneError as error:
                failure = error
            hiding = hiding_candidates(kernels, Path(folder)) - broken
            if hiding and attempt >= SINGLY_LEFT_OUT:
                hiding |= with_larger(kernels, hiding)
            trials = read_trials(kernels, Path(folder), broken | hiding)
        is_last = attempt + 1 == TRIAL_RUNS
        if failure is not None and (is_last or not hiding):
            raise failure
        if not hiding:
            break
        broken |= hiding
    return trials


def _ending(status: int) -> str:
    """Why a status is no success; empty for 0."""
    if status >= 0:
        return f"status {status}" if status else ""
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"


def run_program(
    run: Run,
    environment: Mapping[str, str],
    where: str = "the emulated device",
    may_fail: bool = False,
    seconds: float = RUN_SECONDS,
) -> None:
    """Run a program to its end. `may_fail`: any status will do.

    Raises:
        CutuneError: CT411 when that is no success.
    """
    command = list(run.command)
    if os.sep in command[0] and not command[0].startswith((os.sep, ".")):
        command[0] = os.path.join(os.curdir, command[0])
    try:
        done = subprocess.run(
            command,
            env={**environment, **run.environment, "CUTUNE_PYTHON": sys.executable},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
        problem = "" if may_fail and done.returncode >= 0 else _ending(done.returncode)
        said = "\n".join([*done.stdout.splitlines()[-5:], *done.stderr.splitlines()[-5:]])
    except subprocess.TimeoutExpired:
        problem, said = f"no end within {seconds} s", ""
    except OSError as error:
        problem, said = error.strerror or str(error), ""
    if problem:
        shown = shlex.join(run.command)
        text = Diagnostic.at(Code.RUN_FAILED, None, command=shown, where=where, reason=problem)
        message = "\n".join([text.message, said]).rstrip()
        raise CutuneError(Diagnostic(Code.RUN_FAILED, message))


@dataclass(frozen=True)
class Subject:
    """A kernel that is going to be measured: its code, a recorded launch, its description.

    `made`: launches of all kernels of its module.
    """

    module: LoadedModule
    code: KernelCode
    record: LaunchRecord
    kernel: MeasuredKernel
    made: Made

    def replayer(self) -> Replayer:
        """What runs it."""
        return Replayer(self.module, self.code, self.record, self.kernel, self.made)


def subjects(
    program: Program,
    recorded: Sequence[Sequence[LaunchRecord]],
    facts: Sequence[KernelFacts],
    candidate_set: str,
    warn: Callable[[Diagnostic], None],
) -> list[Subject]:
    """The kernels that were launched, are tunable, and whose work can be counted."""
    registers = {fact.symbol: fact.static_counters for fact in facts}
    loaded: dict[str, tuple[AssembledModule, LoadedModule, Made]] = {}
    found = []
    for kernel, sites in launched_sites(program, recorded, warn):
        records = [r for run in recorded for r in run if r.site in {s.id for s in sites}]
        # The one with the most work: a launch at the edge of a host loop may do nothing.
        record = max(records, key=lambda r: r.warp_instructions)
        if record.module not in loaded:
            assembled = assemble(Path(record.module).read_text(encoding="latin-1"))
            loaded[record.module] = (assembled, load(assembled), {})
        assembled, module, made = loaded[record.module]
        code = assembled.kernels[record.kernel]
        if unseen := unseen_member(kernel, records, code):
            where = kernel.source, kernel.span
            warn(Diagnostic.at(Code.UNSEEN_MEMBER, *where, kernel=kernel.name, name=unseen))
            continue
        if not code.oblivious:
            # Launches that were only recorded have no data.
            is_counted = code.obliviousness.countable and record.is_executed
            said = Code.COUNTED_ON_DATA if is_counted else Code.DATA_DEPENDENT
            reason = code.obliviousness.reason
            warn(Diagnostic.at(said, kernel.source, kernel.span, kernel=kernel.name, reason=reason))
            if not is_counted:
                continue
        static = registers.get(record.kernel, StaticCounters(FEW_REGISTERS))
        described = _describe(
            kernel,
            sites,
            record,
            records,
            code,
            sha256(assembled.image).hexdigest()[:16],
            Origin.of(program.source, program.deciding_files),
            static,
            candidate_set,
        )
        found.append(
            Subject(
                module,
                code,
                record,
                replayable(described, record, code) if code.oblivious else described,
                made,
            )
        )
    return found


def _describe(
    kernel: Kernel,
    sites: Sequence[LaunchSite],
    record: LaunchRecord,
    records: Sequence[LaunchRecord],
    code: KernelCode,
    code_hash: str,
    origin: Origin,
    static: StaticCounters,
    candidate_set: str,
) -> MeasuredKernel:
    order = kernel.argument_names
    sizes = tuple(parameter.name for parameter in kernel.data_parameters if parameter.is_size)
    others = tuple(p.name for p in kernel.data_parameters if not p.is_size)
    free = [name in kernel.pure_dimensions for name in "xyz"]
    guards = [facts.guard for facts in kernel.dimensions]
    kept = [facts.grid_kept for facts in kernel.dimensions]
    # Without a guard only T is known; where it never is more than 1, it is no variable.
    variable = [
        guard is None and any(recorded_extents(r, kept)[axis] > 1 for r in records)
        for axis, guard in enumerate(guards)
    ]
    covers = [
        _cover(records, code, [order.index(name) for name in sizes], sizes, axis)
        if variable[axis] and not kept[axis] and not kernel.asserted
        else None
        for axis in range(3)
    ]
    variable = [varies and text is None for varies, text in zip(variable, covers, strict=True)]
    return MeasuredKernel(
        kernel=kernel.name,
        entry=record.kernel,
        code=code_hash,
        origin=origin,
        sites=tuple(site.id for site in sites),
        parameters=sizes,
        positions=tuple(order.index(name) for name in sizes),
        kept=tuple((name, integer_argument(record, code, order.index(name))) for name in others),
        free=(free[0], free[1], free[2]),
        guards=(guards[0], guards[1], guards[2]),
        variable_extents=(variable[0], variable[1], variable[2]),
        original=record.block,
        # What the compiler was told counts, also where the source says it by an expression.
        max_threads=min(kernel.max_threads, code.max_threads),
        candidate_set=candidate_set,
        allowed=kernel.allowed,
        # Its work depends on the block, as it may where an annotation speaks.
        asserted=bool(kernel.asserted) or any(kept),
        dynamic_shared_bytes=record.shared,
        shared=sites[0].shared,
        needs_warps=kernel.needs_warps,
        grid_kept=(kept[0], kept[1], kept[2]),
        rejected=(),
        uncertain=code.obliviousness.uncertain,
        static=static,
        recorded=tuple(
            (
                tuple(integer_argument(r, code, order.index(name)) for name in sizes),
                recorded_extents(r, kept),
            )
            for r in records
        ),
        code_blocks=code_blocks(code),
        memory=memory_instructions(code),
        covers=(covers[0], covers[1], covers[2]),
        on_data=not code.oblivious,
    )


def _cover(
    records: Sequence[LaunchRecord],
    code: KernelCode,
    positions: Sequence[int],
    names: Sequence[str],
    axis: int,
) -> str | None:
    launches = [
        Covered(
            tuple(integer_argument(r, code, position) for position in positions),
            r.grid[axis],
            r.block[axis],
        )
        for r in records
    ]
    return cover(names, launches)
