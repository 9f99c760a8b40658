"""The command line: one verb per stage. Takes words, gives `Options` as stages take them; a status.

Exit status: 0 done, 1 errors in the input, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from cutune.cli.command_line import arranged
from cutune.cli.options import WORKSPACE, parser
from cutune.cli.parser import VERBS
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, ToldAlready, tell
from cutune.core.processes import CompilerKilled, interruptible
from cutune.core.progress import close_bars
from cutune.toolchain.device.present import default_device, named_devices

if TYPE_CHECKING:
    from cutune.core.progress import Reporter
    from cutune.core.workspace import Workspace
    from cutune.measure.program_runs import RunPlan
    from cutune.proof.analysis.analyzer import Analyzer
    from cutune.source.program import Program
    from cutune.source.rewrite.output import Target
    from cutune.space.parameter import ParameterOptions
    from cutune.toolchain.device.profile import DeviceProfile
    from cutune.toolchain.toolchain import Toolchain

#: Of what cannot be written: a full device, a quota, an error of the device.
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EIO))
#: Of a path that the system refuses, whoever asks what lies there.
_REFUSED = frozenset((errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.ELOOP))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; the status for the shell."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["nvcc"]:
        from cutune.tuning.nvcc.driver import main_nvcc

        return main_nvcc(words[1:])
    options = parse(words)
    try:
        with interruptible():
            status: int = next(v for v in VERBS if v.name == options.verb).handler()(options)
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of a pipe went away; that is its right.
        sys.stderr.close()
        return 1
    except OSError as error:
        if error.filename is not None and error.errno in _REFUSED:
            reason = error.strerror
            options.say(Diagnostic.at(Code.UNREADABLE_FILE, path=error.filename, reason=reason))
            return 1
        if error.filename is not None or error.errno not in _FULL:
            raise
        # Whatever else is in the buffer goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reason = error.strerror
        tell(Diagnostic.at(Code.UNWRITABLE_FILE, path="standard output", reason=reason))
        return 1
    except CutuneError as error:
        options.say(error.diagnostic)
        return 1
    except ToldAlready:
        return 1
    except CompilerKilled as error:
        options.say(error.diagnostic)
        return 128 + error.signal
    except KeyboardInterrupt:
        return 130
    finally:
        close_bars()


#: A range of whole numbers, and what looks like one.
_RANGE = re.compile(r"(\d+)\.\.(\d+):(\d+)")
_IS_RANGE = re.compile(r"-?\d+\.\.+-?\d+")
_NUMBERS = re.compile(r"-?\d+(?:\s+-?\d+)+")
#: Values of one range; each is a run of the program.
MOST_VALUES = 1000


class Options(argparse.Namespace):
    """A parsed command line: its options, and the values that stages take of them."""

    def __init__(self) -> None:
        super().__init__()
        self.said: set[Diagnostic] = set()

    def wrong(self, reason: str) -> NoReturn:
        """Say what is wrong about the options of the verb, and end with status 2."""
        parser().verbs()[self.verb].error(reason)

    @property
    def analyzer(self) -> Analyzer:
        from cutune.measure import try_copies
        from cutune.proof.analysis.analyzer import Analyzer

        has_variants, reporter = self.variants == "all", self.reporter
        return Analyzer(
            self.toolchain,
            reporter,
            has_variants,
            is_associative=self.associative_math,
            try_copies=partial(try_copies, progress=reporter.progress),
        )

    @property
    def toolchain(self) -> Toolchain:
        """The compiler and its flags, for where the program will run, the emulated device too."""
        from cutune.toolchain.device_code import EMULATED
        from cutune.toolchain.toolchain import Toolchain

        profiles = self.profiles if getattr(self, "device", None) else []
        architectures = (EMULATED, *(profile.architecture for profile in profiles))
        return Toolchain(self.nvcc, self.parameters.flags_at({}), architectures)

    @property
    def reporter(self) -> Reporter:
        from cutune.core.progress import Reporter, progress_for

        return Reporter(self.say, progress_for(self.quiet))

    def say(self, diagnostic: Diagnostic) -> None:
        """Print a message, unless the verb has said just that before.

        Where nvcc cannot read a source, also what an earlier command gave.
        """
        if diagnostic in self.said:
            return
        self.said.add(diagnostic)
        close_bars()
        if diagnostic.code is Code.NVCC_FAILED and (flags := self._earlier_flags()):
            head, *quoted = diagnostic.message.split("\n", 1)
            head = f"{head}; an earlier command compiled it with: {shlex.join(flags)}"
            diagnostic = replace(diagnostic, message="\n".join([head, *quoted]))
        tell(diagnostic)

    def _earlier_flags(self) -> list[str]:
        """The options with which its sources were compiled before, and that it lacks."""
        from cutune.cli.page.gather import compiled_sources

        if not self.sources:
            return []
        try:
            compiled = compiled_sources(self.place)
        except CutuneError:
            return []  # What is wrong with the source is said in any case.
        given = self.toolchain.flags
        paths = {str(Path(path).resolve()) for path in self.sources}
        earlier = (one for one in compiled if paths.intersection(one.paths))
        return [flag for one in earlier for flag in one.flags if flag not in given]

    @property
    def parameters(self) -> ParameterOptions:
        """Flags and parameters. Raises as `read_option`, `read_t1`, `expand_response_files`."""
        from cutune.source.syntax.headers import expand_response_files
        from cutune.space.parameter import ParameterOptions, read_option

        words = [*(f"-I{d}" for d in self.include), *(f"-D{d}" for d in self.define)]
        words += [f"-std={self.std}"] if self.std is not None else []
        words += [word for header in self.forced for word in ("-include", header)]
        words += [word for path in self.options_file for word in ("--options-file", path)]
        flags = tuple(expand_response_files([*words, *self.nvcc_flag]))
        named = tuple(map(read_option, self.tune))
        make, clean = getattr(self, "make", None) or "", getattr(self, "clean", "")
        if self.space is None:
            return ParameterOptions(named, (), flags, make, clean)
        from cutune.space.t1 import read_t1

        space = read_t1(self.space)
        return ParameterOptions((*named, *space.parameters), space.conditions, flags, make, clean)

    @property
    def profile(self) -> DeviceProfile:
        return self.profiles[0]

    @property
    def profiles(self) -> list[DeviceProfile]:
        """All devices that the tuned program is made for; the first one is modelled."""
        return named_devices(self.device.split(","))

    @property
    def place(self) -> Workspace:
        from cutune.core.workspace import Workspace

        folder = getattr(self, "workspace", None)
        if folder is None:
            folder = Path(self.sources[0]).parent / WORKSPACE if self.sources else WORKSPACE
        return Workspace(Path(folder))

    @property
    def sources(self) -> Sequence[str]:
        """The sources that are named."""
        file: str | None = getattr(self, "file", None)
        return [file] if file else getattr(self, "files", [])

    @property
    def plan(self) -> RunPlan:
        """The runs that are asked for. Raises CT008, CT410 before anything is compiled."""
        from cutune.measure.program_runs import RunPlan

        vary = varied_values(self.vary)
        plan = RunPlan(self.run, vary, self.candidates, statuses=self.statuses)
        # What a project builds is named by the template.
        plan.runs(Path() if getattr(self, "make", None) else Path("program"))
        return plan

    @property
    def ignored(self) -> str | None:
        pattern: str | None = self.ignore
        try:
            re.compile((pattern or "").encode())
        except re.error as error:
            self.wrong(f"--ignore: {error}")
        return pattern

    @property
    def statuses(self) -> frozenset[int] | None:
        """The exit statuses of `--status`; None: any."""
        text = getattr(self, "status", "0")
        if text == "any":
            return None
        if not re.fullmatch(r"\d+(,\d+)*", text):
            self.wrong("--status takes numbers like 0,1, or any")
        return frozenset(map(int, text.split(",")))


def parse(words: Sequence[str]) -> Options:
    """Read a command line; a wrong one is told of, and ends the process with status 2."""
    whole = parser()
    options = whole.parse_args(arranged(words, whole), Options())
    options.names_device = getattr(options, "device", None) is not None
    if not options.names_device:
        options.device = default_device()
    # For messages that say how to see it again.
    options.words = words
    return options


def varied_values(words: Sequence[str]) -> dict[str, list[str]]:
    """The values of `--vary`. Raises CT008."""
    varied: dict[str, list[str]] = {}
    for word in words:
        name, equals, rest = word.partition("=")
        values = [value for part in rest.split(",") for value in _range(part)]
        wanted = "a variation"
        if any(_IS_RANGE.match(value) for value in values):
            wanted = "a variation with a range that has a step and some values"
        elif len(set(values)) < len(values):
            wanted = "a variation without repeated values"
        elif any(map(_NUMBERS.fullmatch, values)):
            wanted = "a variation with commas between its values"
        elif name in varied:
            wanted = f"the only variation of {name}"
        elif equals and name.isidentifier() and all(values):
            varied[name] = values
            continue
        raise CutuneError.at(
            Code.BAD_SIZE,
            text=word,
            wanted=wanted,
            example="--vary n=128,256,512, or --vary n=100..400:100",
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

    written, own = target.files_of(program)[0], Path(program.source.path)
    flags = flags_at(toolchain.compile_flags(program.source.path), program, target)
    if not target.is_folder and written.parent.absolute() == own.parent.absolute():
        flags = list(toolchain.flags)
    words = ["nvcc", *flags, *further, *Nvcc.source_words(written, flags)]
    words += ["-o", str(written.with_suffix(""))]
    print(f"compile it with: {shlex.join(words)}", file=sys.stderr)


def print_values(asked: ParameterOptions, program: Program, workspace: Workspace) -> None:
    """Print the options of nvcc, and the command, that belong to the emitted program."""
    from cutune.search.clones.value_sets import compiler_flags, make_command
    from cutune.search.tunables.choices import choices_of

    values = choices_of(program, workspace).fixed
    if flags := compiler_flags(values, asked):
        print(f"compile with: {' '.join(flags)}")
    if make := make_command(values, asked):
        print(f"build it with: {make}")
