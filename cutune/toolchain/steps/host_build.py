"""Programs of which the device code is known. Takes nvcc and that code, gives a program or object.

nvcc says by `--dryrun` what it would run. All of it is run here but the preprocessor for the device
and cicc, whose results are there. Where nvcc would run anything else, it does so itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.temporary import run_folder, temporary_folder
from cutune.toolchain.nvcc import Nvcc
from cutune.toolchain.steps.built_code import BuiltCode, options_of
from cutune.toolchain.steps.dry_answers import VARIABLES, dry_answer
from cutune.toolchain.steps.dry_run import (
    commands,
    front_end_failed,
    is_cicc,
    run,
    stand_in_for,
    value,
    warnings,
    with_source,
)

#: Options by which nvcc writes further files, or reads options or what was compiled before.
_OF_FILES = re.compile(
    r"--?(?:keep|save-temps|dry-?run|time|clean|run|optf|options-file|fdevice-time-trace)\b"
    r"|--?[a-z-]*pch|--?M|--generate-(?:\w+-)?dep|@"
)
#: What nvcc runs besides cicc and the host's compiler.
_PROGRAMS = frozenset(["cudafe++", "fatbinary", "nvlink"])


def built(
    nvcc: Nvcc,
    options: Sequence[str],
    source: Path,
    flags: Sequence[str],
    output: Path,
    code: BuiltCode,
    note: Callable[[Path, str], None] = lambda source, text: None,
    is_silent: bool = False,
) -> bool:
    """Build a program, or what `options` say, of a source; False where nvcc has to do it.

    Args:
        flags: those among the options that are the program's own.
        note: gets the source, and what the preprocessor has written of it for the host.
        is_silent: where anything is said, nvcc has to do it, and to say it.
    """
    further = (word for name in VARIABLES for word in os.environ.get(name, "").split())
    if any(map(_OF_FILES.match, (*options, *further))):
        return False
    try:
        with temporary_folder() as folder:
            stand_in = stand_in_for(nvcc, str(source), flags)
            keep = ["--dryrun", "--keep", "--keep-dir", folder]
            words = [*options, *keep, stand_in, "-o", str(output)]
            said = dry_answer(nvcc, words, folder, str(output))
            if is_silent and (warnings(said) or not code.is_silent):
                return False
            steps, variables = _steps(said, str(output), code)
            environment = {**os.environ, **variables, "TMPDIR": str(run_folder())}
            for step in steps:
                named = [_identified(word, stand_in, source) for word in step]
                told = run(with_source(named, stand_in, str(source)), environment)
                if is_silent and told:
                    return False
                if "-E" in step:
                    note(source, Path(value(step, "-o")).read_text(encoding="latin-1"))
    except CutuneError as error:
        if error.diagnostic.code is not Code.FRONT_END_FAILED:
            raise
        return False
    return True


def _steps(said: str, output: str, code: BuiltCode) -> tuple[list[tuple[str, ...]], dict[str, str]]:
    """Return the steps that are left, after writing the known code to where they read it.

    Raises:
        CutuneError: CT703 where the steps are not those of one source for the emulated device.
    """
    steps, variables = commands(said)
    compiling = [step for step in steps if is_cicc(step)]
    if len(compiling) != 1:
        raise front_end_failed("nvcc does not compile for one device")
    (cicc,) = compiling
    preprocess = [step for step in steps if "-E" in step and value(step, "-o") in cicc]
    others = [step for step in steps if step not in (cicc, *preprocess)]
    is_known = (
        len(preprocess) == 1
        and options_of(cicc, value(preprocess[0], "-o")) == code.options
        # Whoever names the module has to run.
        and "--gen_module_id_file" not in cicc
        and all(_is_of_the_host(step, preprocess[0][0], output) for step in others)
        and others[-1:] == [step for step in others if value(step, "-o") == output]
    )
    if not is_known:
        raise front_end_failed("nvcc compiles for the device in another way")
    stub = code.stub_including(value(cicc, "--include_file_name"))
    for path, text in ((value(cicc, "-o"), code.ptx), (value(cicc, "--stub_file_name"), stub)):
        Path(path).write_text(text, encoding="latin-1")
    return others, variables


def _is_of_the_host(step: Sequence[str], compiler: str, output: str) -> bool:
    """Does a step leave devices alone, or only pack what there is for them?"""
    program = os.path.basename(step[0])
    return program in _PROGRAMS or step[0] == compiler or value(step, "-o") == output


def _identified(word: str, stand_in: str, source: Path) -> str:
    """Put the source's name into the option by which a program keeps it with its PTX."""
    return word.replace(stand_in, str(source)) if word.startswith("--ident=") else word
