"""nvcc's front end for the host, run by itself. Takes a source and flags, gives C++ and assembly.

nvcc says by `--dryrun` which commands it would run: the preprocessor, cudafe++ (which takes the
kernels out and writes launches as calls), the host compiler. They are run here one by one, without
a shell and in a folder of their own; the device is left out, and nothing is assembled.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.temporary import temporary_folder
from cutune.toolchain.nvcc import Nvcc, without_output_flags

#: Name of the source in the question to nvcc: its own name may be special to a shell.
_STAND_IN = "cutune_source"
#: Options that keep each call as written, and ask for the assembly alone.
_AS_WRITTEN = ("-S", "-O0", "-g0", "-w", "-fno-lto")
_SAID = re.compile(r"^#\$ (.*)$", re.MULTILINE)
_VARIABLE = re.compile(r"(PATH|LD_LIBRARY_PATH)=(.*)")
_STUB = re.compile(r'^#include "[^"\n]*\.stub\.c"$', re.MULTILINE)
#: Pieces of a word: plain, with a backslash, in double or single quotes.
_PIECE = re.compile(
    r"""(?P<plain>[^\s"'\\$`;|&<>()*?\[]+)|\\(?P<escaped>.)"""
    r"""|"(?P<double>(?:[^"\\$`]|\\.)*)"|'(?P<single>[^']*)'"""
)


@dataclass(frozen=True)
class Steps:
    """What nvcc runs for the host, as words; `environment`: what it sets for that."""

    preprocess: tuple[str, ...]
    cudafe: tuple[str, ...]
    compile: tuple[str, ...]
    environment: Mapping[str, str]

    @property
    def host_file(self) -> str:
        """What cudafe++ writes: the program as the host compiler gets it."""
        return _value(self.cudafe, "--gen_c_file_name")


def host_assembly(nvcc: Nvcc, path: str, flags: Sequence[str], change: Callable[[str], str]) -> str:
    """The unoptimized assembly of the host code, after `change` has edited the C++ text.

    Kernels that are not templates are called there, but not defined.

    Args:
        nvcc: the compiler. path, flags: what it would compile, and how.
        change: gets the C++ text that cudafe++ wrote; a text without launches may be "".

    Raises:
        CutuneError: CT703 when a step fails or nvcc's answer is not understood.
    """
    with temporary_folder() as folder:
        *language, _ = nvcc.source_words(path, flags)
        stand_in = _STAND_IN + (".cu" if language else Path(path).suffix)
        asked = ["-c", "--dryrun", "--keep", "--keep-dir", folder, *_host_flags(flags), stand_in]
        answer = nvcc.run(asked)
        steps = read_steps(answer.stderr + answer.stdout)
        environment = {**os.environ, **steps.environment}
        _run(_with_source(steps.preprocess, stand_in, path), environment)
        _run(_with_source(steps.cudafe, stand_in, path), environment)
        host_file, assembly = Path(steps.host_file), Path(folder) / "host.s"
        text = _STUB.sub("", host_file.read_text(encoding="latin-1"))
        changed = change(text)
        if not changed:
            return ""
        host_file.write_text(changed, encoding="latin-1")
        _run([*_without_object(steps.compile), *_AS_WRITTEN, "-o", str(assembly)], environment)
        return assembly.read_text(encoding="latin-1")


def read_steps(said: str) -> Steps:
    """The steps of the host among what `nvcc -c --dryrun` says.

    Raises:
        CutuneError: CT703 when they are not found.
    """
    lines = _SAID.findall(said)
    environment = {v[1]: v[2] for line in lines if (v := _VARIABLE.fullmatch(line))}
    cudafe = next((_words(line) for line in lines if line.startswith("cudafe++ ")), None)
    if cudafe is None:
        raise front_end_failed(_first_line(said) or "nvcc does not name the steps of its front end")
    host_file = _value(cudafe, "--gen_c_file_name")
    preprocess = compile_ = None
    for line in lines:
        if cudafe[-1] in line and " -E " in line:
            preprocess = _words(line)
        elif host_file in line and not line.startswith("cudafe++ "):
            compile_ = _words(line)
    if not host_file or preprocess is None or compile_ is None:
        raise front_end_failed("nvcc does not name the steps of its front end")
    return Steps(preprocess, cudafe, compile_, environment)


def front_end_failed(reason: str) -> CutuneError:
    """The front end could not be asked, for this reason."""
    return CutuneError(Diagnostic.at(Code.FRONT_END_FAILED, None, reason=reason))


def _host_flags(flags: Sequence[str]) -> list[str]:
    """Flags without output and phase; what a phase says of the names of kernels stays."""
    relocatable = {"-dc", "-dw", "--device-c", "--device-w"} & set(flags)
    return [*without_output_flags(flags), *(["-rdc=true"] if relocatable else [])]


def _words(line: str) -> tuple[str, ...]:
    """The words of a command line, as a shell that substitutes nothing takes them.

    Raises:
        CutuneError: CT703 where a shell would do more than that.
    """
    words, at, line = [], 0, line.strip()
    while at < len(line):
        word = ""
        while at < len(line) and not line[at].isspace():
            piece = _PIECE.match(line, at)
            if piece is None:
                raise front_end_failed(
                    f"an option holds '{line[at]}', which means something to a shell"
                )
            word += _unquoted(piece)
            at = piece.end()
        words.append(word)
        while at < len(line) and line[at].isspace():
            at += 1
    return tuple(words)


def _unquoted(piece: re.Match[str]) -> str:
    if piece["double"] is not None:
        return re.sub(r'\\(["\\$`])', r"\1", piece["double"])
    return next(text for text in piece.groups() if text is not None)


def _value(words: Sequence[str], option: str) -> str:
    at = words.index(option) if option in words else len(words)
    return words[at + 1] if at + 1 < len(words) else ""


def _with_source(words: Iterable[str], stand_in: str, path: str) -> list[str]:
    """The same for the source itself. cudafe++ makes the module's number of its absolute path."""
    absolute = os.path.abspath(stand_in)
    places = {stand_in: path, absolute: os.path.abspath(path)}
    return [places.get(word, word) for word in words]


def _without_object(words: Sequence[str]) -> list[str]:
    at = words.index("-o") if "-o" in words else len(words)
    return [word for word in (*words[:at], *words[at + 2 :]) if word != "-c"]


def _run(words: Sequence[str], environment: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(
            words,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="latin-1",
            check=False,
        )
    except OSError as error:
        raise front_end_failed(f"'{words[0]}' cannot be run: {error.strerror or error}") from error
    if done.returncode != 0:
        raise front_end_failed(_first_line(done.stderr or done.stdout) or f"'{words[0]}' failed")


def _first_line(said: str) -> str:
    """The first line with an error, else the first line."""
    lines = [line.strip() for line in said.splitlines() if not line.startswith("#$")]
    return next((line for line in lines if "error" in line or "fatal" in line), "") or next(
        iter(lines), ""
    )
