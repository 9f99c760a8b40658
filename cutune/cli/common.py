"""Options of several verbs. Takes parsed options, gives the values that stages take."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cutune.cli.options import WORKSPACE, parser
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic

if TYPE_CHECKING:
    from cutune.core.progress import Reporter
    from cutune.core.workspace import Workspace
    from cutune.measure.program_runs import RunPlan
    from cutune.proof.analysis.analyzer import Analyzer
    from cutune.source.program import Program
    from cutune.source.rewrite.output import Target
    from cutune.space.condition import Value
    from cutune.space.parameter import ParameterOptions
    from cutune.toolchain.device.profile import DeviceProfile
    from cutune.toolchain.device_code import Begun
    from cutune.toolchain.toolchain import Toolchain


#: A range of whole numbers, and what looks like one.
_RANGE = re.compile(r"(\d+)\.\.(\d+):(\d+)")
_IS_RANGE = re.compile(r"-?\d+\.\.+-?\d+")
#: Values of one range; each is a run of the program.
MOST_VALUES = 1000


def analyzer_of(options: argparse.Namespace) -> Analyzer:
    """The analyzer that the options describe."""
    from cutune.proof.analysis.analyzer import Analyzer

    return Analyzer(toolchain_of(options), reporter_of(options), options.variants == "all")


def toolchain_of(options: argparse.Namespace, begun: Begun | None = None) -> Toolchain:
    """The compiler and its flags; `begun`: a source that it has begun to compile."""
    from cutune.toolchain.toolchain import Toolchain

    flags = asked_of(options).flags_at({})
    return Toolchain(options.nvcc, flags, architectures_of(options), begun)


def reporter_of(options: argparse.Namespace) -> Reporter:
    """Where messages and progress go."""
    from cutune.core.progress import Reporter, progress_for

    return Reporter(show, progress_for(options.quiet))


def asked_of(options: argparse.Namespace) -> ParameterOptions:
    """The options of nvcc, and the parameters that the options name.

    Raises:
        CutuneError: see `read_option`, `read_t1` and `expand_response_files`.
    """
    from cutune.source.syntax.headers import expand_response_files
    from cutune.space.parameter import ParameterOptions, read_option

    words = [*(f"-I{d}" for d in options.include), *(f"-D{d}" for d in options.define)]
    words += [f"-std={options.std}"] if options.std is not None else []
    words += [word for header in options.forced for word in ("-include", header)]
    words += [word for path in options.options_file for word in ("--options-file", path)]
    flags = tuple(expand_response_files([*words, *options.nvcc_flag]))
    parameters = tuple(map(read_option, options.tune))
    make, clean = getattr(options, "make", None) or "", getattr(options, "clean", "")
    if options.space is None:
        return ParameterOptions(parameters, (), flags, make, clean)
    from cutune.space.t1 import read_t1

    space = read_t1(options.space)
    return ParameterOptions((*parameters, *space.parameters), space.conditions, flags, make, clean)


def architectures_of(options: argparse.Namespace) -> tuple[str, ...]:
    """Where the program will run, the emulated device included."""
    from cutune.toolchain.device_code import EMULATED

    named = getattr(options, "device", None)
    devices = devices_of(options) if named else []
    return (EMULATED, *(device.architecture for device in devices))


def device_of(options: argparse.Namespace) -> DeviceProfile:
    """The device that is modelled."""
    return devices_of(options)[0]


def devices_of(options: argparse.Namespace) -> list[DeviceProfile]:
    """All devices that the tuned program is made for; the first one is modelled."""
    from cutune.toolchain.device.present import named_devices

    return named_devices(options.device.split(","))


def workspace_of(options: argparse.Namespace) -> Workspace:
    """Where results are kept."""
    from cutune.core.workspace import Workspace

    folder = options.workspace
    if folder is None:
        file = getattr(options, "file", None) or next(iter(getattr(options, "files", ())), None)
        folder = Path(file).parent / WORKSPACE if file else WORKSPACE
    return Workspace(Path(folder))


def plan_of(options: argparse.Namespace) -> RunPlan:
    """The runs that are asked for.

    Raises:
        CutuneError: CT008, CT410 for what cannot be run; said before anything is compiled.
    """
    from cutune.measure.program_runs import RunPlan

    vary = varied_values(options.vary)
    plan = RunPlan(options.run, vary, options.candidates, statuses=statuses_of(options))
    plan.runs(Path("program"))
    return plan


def statuses_of(options: argparse.Namespace) -> frozenset[int] | None:
    """The exit statuses of `--status`; None: any."""
    text = getattr(options, "status", "0")
    if text == "any":
        return None
    if not re.fullmatch(r"\d+(,\d+)*", text):
        parser().error(f"{options.verb}: --status takes numbers like 0,1, or any")
    return frozenset(map(int, text.split(",")))


def varied_values(words: Sequence[str]) -> dict[str, list[str]]:
    """The values of `--vary`.

    Raises:
        CutuneError: CT008.
    """
    varied: dict[str, list[str]] = {}
    for word in words:
        name, equals, rest = word.partition("=")
        values = [value for part in rest.split(",") for value in _range(part)]
        wanted = "a variation"
        if any(_IS_RANGE.match(value) for value in values):
            wanted = "a variation with a range that has a step and some values"
        elif len(set(values)) < len(values):
            wanted = "a variation without repeated values"
        elif name in varied:
            wanted = f"the only variation of {name}"
        elif equals and name.isidentifier() and all(values):
            varied[name] = values
            continue
        raise CutuneError(
            Diagnostic.at(
                Code.BAD_SIZE,
                None,
                text=word,
                wanted=wanted,
                example="--vary n=128,256,512, or --vary n=100..400:100",
            )
        )
    return varied


def _range(text: str) -> list[str]:
    """The values of `100..400:100`, both ends included; any other text is one value itself."""
    found = _RANGE.fullmatch(text)
    if found is None:
        return [text]
    first, last, step = map(int, found.groups())
    if first > last or not step > 0 or (last - first) // step >= MOST_VALUES:
        return [text]
    return [str(value) for value in range(first, last + 1, step)]


def start_of(text: str | None) -> dict[str, Value]:
    """The values of `--start`.

    Raises:
        CutuneError: CT425, CT801, CT802.
    """
    from cutune.space.parameter import read_option

    start: dict[str, Value] = {}
    for one in map(read_option, text.split(",") if text is not None else ()):
        if one.name in start:
            raise CutuneError(Diagnostic.at(Code.PARAMETER_TWICE, None, name=one.name))
        if len(one.values) > 1:
            reason = f"--start: '{one.name}' begins with one value, as in --start {one.name}=1"
            raise CutuneError(Diagnostic.at(Code.BAD_SWEEP, None, reason=reason))
        start[one.name] = one.values[0]
    return start


def sizes_to_show(words: Sequence[str] | None) -> list[int] | None:
    """The sizes to show choices for, each once."""
    if not words:
        return None
    # What is loaded here would take longer than to give a kept result.
    from cutune.model.selection.chooser import parse_size

    return list(dict.fromkeys(parse_size(word, "--sizes 1024 2048") for word in words))


def show_compile_line(
    toolchain: Toolchain, program: Program, target: Target, further: Sequence[str] = ()
) -> None:
    """Say how what was written is compiled."""
    from cutune.source.rewrite.output import flags_at
    from cutune.toolchain.nvcc import Nvcc

    written, own = target.source_of(program), Path(program.source.path)
    flags = flags_at(toolchain.compile_flags(program.source.path), program, target)
    if not target.is_folder and written.parent.absolute() == own.parent.absolute():
        flags = list(toolchain.flags)
    words = ["nvcc", *flags, *further, *Nvcc.source_words(written, flags)]
    words += ["-o", str(written.with_suffix(""))]
    print(f"compile it with: {shlex.join(words)}", file=sys.stderr)


def show(diagnostic: Diagnostic) -> None:
    """Print a message to standard error, with colours where that is a terminal that has some."""
    wants_none = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    print(diagnostic.render(sys.stderr.isatty() and not wants_none), file=sys.stderr)
