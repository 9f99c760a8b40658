"""Device code as programs hold it. Takes what cicc has written, gives `BuiltCode` and programs.

A program holds PTX with the lines of its sources, and a stub: C++ through which the host launches
kernels. cicc writes both together; without the lines it is the PTX that it writes without them.

A program of which this code is known is built by the steps that nvcc names by `--dryrun`, but for
the device's preprocessor and cicc. Where nvcc would run anything else, it does so itself.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from cutune.core.temporary import temporary_folder
from cutune.core.typed import parsed, typed
from cutune.toolchain import dry_run
from cutune.toolchain.compiler_commands import Words
from cutune.toolchain.dry_run import FrontEndFailed, run
from cutune.toolchain.nvcc import Nvcc
from cutune.toolchain.preprocessed import BEGIN, masked

#: Makes cicc write where lines come from.
LINES = "-generate-line-info"
#: Options of cicc that name files. What these are called is in no code but that of a place.
NAMING = frozenset({"--orig_src_file_name", "--orig_src_path_name", "--include_file_name"}).union(
    {"--module_id_file_name", "-o"}
)
#: Names that are made of a source's path: of unnamed namespaces, for example.
OF_A_MODULE = re.compile(r"_GLOBAL__N_|_NV_ANON_NAMESPACE|(?<!COMPILER_)INTERNAL_|__nv_static_")
#: What cicc writes for the host, behind these options.
_OUTPUTS = {
    "--gen_c_file_name": "built.c",
    "--stub_file_name": "built.stub.c",
    "--gen_device_file_name": "built.gpu",
}
_STUB = "--stub_file_name"
#: Code that is linked with that of other sources; names tell sources apart.
_TO_LINK = "--device-c"
#: Lines, files, ends of functions, and how functions that were put into others are called.
OF_LINES = re.compile(
    r"^[ \t]*\.(?:loc|file)[ \t].*\n|^\$L__func_end\d+:\n"
    r"|^[ \t]*\.section[ \t]+\.debug_str\s*\{[^}]*\}\n?",
    re.MULTILINE,
)
_LEFT_OVER = re.compile(r"^[ \t]*\.section\b|\$L__(?:info|func)_", re.MULTILINE)
#: What functions are called may be made of a source's path, and nobody asks.
_FUNCTION_NAMES = re.compile(
    r"(?<=, )function_name \$L__info_string\d+(?:\+\d+)?, "
    r"|^[ \t]*\.section[ \t]+\.debug_str\s*\{[^}]*\}\n?",
    re.MULTILINE,
)
#: The third argument of a call of what an assertion calls.
_ASSERTED = re.compile(
    r"(\[param2\+0\], )\d+(;\s+\.param \.b64 param3;\s+st\.param\.b64\s+\[param3\+0\], %rd\d+;"
    r"\s+\.param \.b64 param4;\s+st\.param\.b64\s+\[param4\+0\], \d+;\s+call\.uni\s+__assertfail,)"
)
_FILE = re.compile(r'^([ \t]*\.file[ \t]+\d+ )"([^"\\]*)"', re.MULTILINE)
_NAME = re.compile(BEGIN + r'((?:line)? \d+ )"((?:[^"\\\n]|\\.)*)"')
_FAT_BINARY = re.compile(r'^#include "[^"\n]*\.fatbin\.c"$', re.MULTILINE)


@dataclass(frozen=True)
class BuiltCode:
    """The device's share of a program: PTX with lines, and C++ that the host's code includes.

    `options`: those of cicc, but for names of files, sorted. `is_silent`: it printed nothing.
    """

    ptx: str
    stub: str
    options: tuple[str, ...]
    is_silent: bool = False

    def stub_including(self, fat_binary: str) -> str:
        return _FAT_BINARY.sub(lambda _: f'#include "{fat_binary}"', self.stub)


def options_of(compile_: Words, text: str) -> tuple[str, ...]:
    """The sorted options of cicc, but for those that name files."""
    words = {*without_names(compile_, text, NAMING | {*_OUTPUTS})}
    return tuple(sorted(words - NAMING - {*_OUTPUTS, "--gen_module_id_file"}))


def without_names(compile_: Words, text: str, naming: frozenset[str] = NAMING) -> Iterator[str]:
    """Yield the words behind the program, but for `text`, which it compiles, and names of files."""
    named = {compile_.index(option) + 1 for option in naming if option in compile_}
    for at, word in enumerate(compile_[1:], 1):
        if at not in named and word != text:
            yield word


def with_outputs(compile_: Words, text: str, folder: Path) -> list[str]:
    """The step with options that make it write lines, and what the host needs, into a folder."""
    at = compile_.index(text)
    outputs = (word for option, name in _OUTPUTS.items() for word in (option, str(folder / name)))
    return [*compile_[:at], LINES, *outputs, *compile_[at:]]


def written(compile_: Words, text: str, ptx: str, is_silent: bool = False) -> BuiltCode | None:
    """Read the code that such a step has written; None where it names the place of its source."""
    file = Path(dry_run.value(compile_, _STUB))
    stub = file.read_text(encoding="latin-1").replace(str(file), file.name)
    options = options_of(compile_, text)
    is_of_a_place = any(map(OF_A_MODULE.search, (ptx, stub))) or _TO_LINK in options
    if is_of_a_place or not _FAT_BINARY.search(stub):
        return None
    return BuiltCode(_FUNCTION_NAMES.sub("", ptx), stub, options, is_silent)


def ptx_without_lines(ptx: str) -> str | None:
    """The PTX that cicc writes without lines; None where a line was not understood."""
    plain = OF_LINES.sub("", ptx)
    if plain == ptx:
        return ptx
    return None if _LEFT_OVER.search(plain) else plain.rstrip("\n") + "\n\n"


def without_asserted_lines(ptx: str) -> str:
    """The PTX with another line in each message of an assertion: nothing else depends on it."""
    return _ASSERTED.sub(r"\1\2", ptx) if "__assertfail" in ptx else ptx


def without_places(text: str) -> tuple[str, dict[str, int]]:
    """Put numbers in place of the files that a preprocessed text names; return both."""
    numbers: dict[str, int] = {}

    def numbered(marker: re.Match[str]) -> str:
        return f'#{marker[1]}"{numbers.setdefault(marker[2], len(numbers))}"'

    return _NAME.sub(numbered, masked(text)), numbers


def to_text(code: BuiltCode, numbers: Mapping[str, int]) -> str | None:
    """Write code as JSON with numbers in place of files; None where a file has no number."""
    by_path = {_absolute(name): number for name, number in numbers.items()}
    if any(m[2] not in by_path for m in _FILE.finditer(code.ptx)):
        return None
    ptx = _FILE.sub(lambda m: f'{m[1]}"{by_path[m[2]]}"', code.ptx)
    stub = _NAME.sub(lambda m: f'#{m[1]}"{numbers.get(m[2], "")}"', code.stub)
    return json.dumps(asdict(replace(code, ptx=ptx, stub=stub)))


def from_text(text: str, numbers: Mapping[str, int]) -> BuiltCode | None:
    """Read what `to_text` wrote, with the files of another place; None where that fails."""
    names = {str(number): name for name, number in numbers.items()}
    try:
        code = typed(BuiltCode, parsed(text))
        ptx = _FILE.sub(lambda m: f'{m[1]}"{_absolute(names[m[2]])}"', code.ptx)
    except (KeyError, ValueError):
        return None
    # The stub's own lines have no file.
    stub = _NAME.sub(lambda m: f'#{m[1]}"{names.get(m[2], _OUTPUTS[_STUB])}"', code.stub)
    return replace(code, ptx=ptx, stub=stub)


def _absolute(name: str) -> str:
    return name if name.startswith("/") else f"{os.getcwd()}/{name}"


#: Options by which nvcc writes further files, or reads options or what was compiled before.
_OF_FILES = re.compile(
    r"--?(?:keep|save-temps|dry-?run|time|clean|run|optf|options-file|fdevice-time-trace)\b"
    r"|--?[a-z-]*pch|--?M|--generate-(?:\w+-)?dep|@"
)
#: What nvcc runs besides cicc and the host's compiler.
_PROGRAMS = frozenset(["cudafe++", "fatbinary", "nvlink"])


def built(
    nvcc: Nvcc,
    options: Words,
    source: Path,
    flags: Words,
    output: Path,
    code: BuiltCode,
    note: Callable[[Path, str], None] = lambda source, text: None,
    is_silent: bool = False,
) -> bool:
    """Build a program, or what `options` say, of a source; False where nvcc has to do it.

    `flags` are those among the options that are the program's own. `note` gets the source, and what
    the preprocessor has written of it for the host. `is_silent`: nvcc has to do it, and to say it,
    where anything is said.
    """
    further = (word for name in dry_run.VARIABLES for word in os.environ.get(name, "").split())
    if any(map(_OF_FILES.match, (*options, *further))):
        return False
    try:
        with temporary_folder() as folder:
            stand_in = dry_run.stand_in_for(nvcc, str(source), flags)
            keep = ["--dryrun", "--keep", "--keep-dir", folder]
            words = [*options, *keep, stand_in, "-o", str(output)]
            said = dry_run.dry_answer(nvcc, words, folder, str(output))
            if is_silent and (dry_run.warnings(said) or not code.is_silent):
                return False
            steps, variables = _steps(said, str(output), code)
            environment = {**os.environ, **variables}
            for step in steps:
                told = run(_of_source(step, stand_in, str(source)), environment)
                if is_silent and told:
                    return False
                if "-E" in step:
                    note(source, Path(dry_run.value(step, "-o")).read_text(encoding="latin-1"))
    except FrontEndFailed:
        return False
    return True


def _of_source(step: Words, stand_in: str, source: str) -> list[str]:
    """A step of a stand-in as one of the source itself."""
    # By such an option a program keeps its source's name with its PTX.
    named = (w.replace(stand_in, source) if w.startswith("--ident=") else w for w in step)
    return dry_run.with_source([*named], stand_in, source)


def _steps(said: str, output: str, code: BuiltCode) -> tuple[list[tuple[str, ...]], dict[str, str]]:
    """Write the known code to where the other steps read it, and return those steps.

    Raises CT708 where the steps are not those of one source for the emulated device.
    """
    steps, variables = dry_run.commands(said)
    compiling = [step for step in steps if dry_run.is_cicc(step)]
    if len(compiling) != 1:
        raise FrontEndFailed("nvcc does not compile for one device")
    (cicc,) = compiling
    preprocess = [step for step in steps if "-E" in step and dry_run.value(step, "-o") in cicc]
    others = [step for step in steps if step not in (cicc, *preprocess)]
    is_known = (
        len(preprocess) == 1
        and options_of(cicc, dry_run.value(preprocess[0], "-o")) == code.options
        # Whoever names the module has to run.
        and "--gen_module_id_file" not in cicc
        and all(_is_of_the_host(step, preprocess[0][0], output) for step in others)
        and others[-1:] == [step for step in others if dry_run.value(step, "-o") == output]
    )
    if not is_known:
        raise FrontEndFailed("nvcc compiles for the device in another way")
    stub = code.stub_including(dry_run.value(cicc, "--include_file_name"))
    for option, text in (("-o", code.ptx), ("--stub_file_name", stub)):
        Path(dry_run.value(cicc, option)).write_text(text, encoding="latin-1")
    return others, variables


def _is_of_the_host(step: Words, compiler: str, output: str) -> bool:
    program = os.path.basename(step[0])
    return program in _PROGRAMS or step[0] == compiler or dry_run.value(step, "-o") == output
