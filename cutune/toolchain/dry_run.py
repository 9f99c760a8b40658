"""Steps of nvcc. Takes what it says by `--dryrun`, gives steps as words, and runs them.

Steps are run one by one and without a shell. nvcc is asked about a stand-in for the source, whose
own name may be special to a shell, and about stand-ins for the places of files: questions that
differ in nothing else are equal, and asked once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.toolchain.cache import state_of
from cutune.toolchain.compiler_commands import PLAIN, Finished, Words, run_command
from cutune.toolchain.nvcc import Nvcc

_SAID = re.compile(r"^#\$ (.*)$", re.MULTILINE)
_VARIABLE = re.compile(r"(PATH|LD_LIBRARY_PATH|CICC_PATH|NVVMIR_LIBRARY_DIR)=(.*)")
#: Variables, and what is removed if it is there.
_NO_STEP = re.compile(r"\w+=|rm |\s*$")
#: nvcc has only the name of a file that is not there.
_REAL_PATH = "--orig_src_path_name"
#: Pieces of a word: plain, with a backslash, in double or single quotes.
_PIECE = re.compile(
    r"""(?P<plain>[^\s"'\\$`;|&<>()*?\[]+)|\\(?P<escaped>.)"""
    r"""|"(?P<double>(?:[^"\\$`]|\\.)*)"|'(?P<single>[^']*)'"""
)


def stand_in_for(nvcc: Nvcc, path: str, flags: Words) -> str:
    """Return a name of the same kind as the source's."""
    *language, _ = nvcc.source_words(path, flags)
    return "cutune_source" + (".cu" if language else Path(path).suffix)


def read_dry_run(said: str) -> tuple[list[str], dict[str, str]]:
    """Return the steps as nvcc would hand them to a shell, and the variables that it would set."""
    lines = _SAID.findall(said)
    return lines, {v[1]: v[2] for line in lines if (v := _VARIABLE.fullmatch(line))}


def commands(said: str) -> tuple[list[tuple[str, ...]], dict[str, str]]:
    """The words of the steps, without those that remove files, and the variables. Raises CT708."""
    lines, variables = read_dry_run(said)
    place = variables.get("CICC_PATH", "")
    steps = [line for line in lines if not _NO_STEP.match(line)]
    return [words(line.replace("$CICC_PATH", place)) for line in steps], variables


def warnings(said: str) -> list[str]:
    """Return the lines of nvcc's output that name no step."""
    return [line for line in said.splitlines() if line.strip() and not line.startswith("#$")]


def is_cicc(step: Words) -> bool:
    """Is it the compiler for devices?"""
    return os.path.basename(step[0]) == "cicc"


class FrontEndFailed(CutuneError):
    """nvcc's front end could not be asked, for this reason (CT708)."""

    def __init__(self, reason: str) -> None:
        super().__init__(Diagnostic.at(Code.FRONT_END_FAILED, reason=reason))


def words(line: str) -> tuple[str, ...]:
    """Split a command line as a shell does that substitutes nothing. Raises CT708 for any other."""
    parts, at, line = [], 0, line.strip()
    while at < len(line):
        word = ""
        while at < len(line) and not line[at].isspace():
            piece = _PIECE.match(line, at)
            if piece is None:
                reason = f"an option holds '{line[at]}', which means something to a shell"
                raise FrontEndFailed(reason)
            text = next(text for text in piece.groups() if text is not None)
            is_double = piece["double"] is not None
            word += re.sub(r'\\(["\\$`])', r"\1", text) if is_double else text
            at = piece.end()
        parts.append(word)
        while at < len(line) and line[at].isspace():
            at += 1
    return tuple(parts)


def value(command: Words, option: str) -> str:
    """Return the word behind an option; empty where the option is not given."""
    at = command.index(option) if option in command else len(command)
    return command[at + 1] if at + 1 < len(command) else ""


def with_source(command: Iterable[str], stand_in: str, path: str) -> list[str]:
    """Return a step for the source itself. The module's number is made of its real path."""
    named = [path if word == stand_in else word for word in command]
    for at, word in enumerate(named[:-1]):
        if word == _REAL_PATH:
            named[at + 1] = os.path.realpath(path)
    return named


def run(command: Words, environment: Mapping[str, str]) -> str:
    """Run a step and return its output. Raises CT708 when it fails."""
    done = run_any(command, environment)
    if done.returncode != 0:
        raise FrontEndFailed(first_line(done.stderr or done.stdout) or f"'{command[0]}' failed")
    return done.stdout + done.stderr


def run_any(command: Words, environment: Mapping[str, str]) -> Finished:
    """Run a step, whatever its status. Raises CT708 when it cannot be run."""
    try:
        return run_command(command, environment)
    except OSError as error:
        reason = error.strerror or str(error)
        raise FrontEndFailed(f"'{command[0]}' cannot be run: {reason}") from error


def first_line(said: str) -> str:
    """Return the first line with an error, else the first line."""
    lines = [line.strip() for line in said.splitlines() if not line.startswith("#$")]
    errors = (line for line in lines if "error" in line or "fatal" in line)
    return next(errors, lines[0] if lines else "")


def first_error(message: str) -> str:
    """Return the first line of nvcc's output with an error."""
    said = [line.strip() for line in message.splitlines()]
    errors = (line for line in said[1:] if "error" in line or line.startswith("nvcc fatal"))
    return next(errors, said[0])


#: What nvcc reads further options from.
VARIABLES = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
#: Files with options: their names do not tell what is asked.
_READ = re.compile(r"(^|\s)(@|--?(optf|options-file)\b)")
#: The host compiler's option that names the folder of a source.
_QUOTED = "-iquote,"
#: No path of anybody's begins like this.
_STAND_IN = "/cutune-stands-in"
#: Variables that differ from one shell, or test, to the next, and that no compiler reads.
_UNREAD = frozenset(["PYTEST_CURRENT_TEST", "PWD", "OLDPWD", "SHLVL", "_"])
#: Answers by questions, and how many are kept.
_KNOWN: dict[tuple[object, ...], str] = {}
_MOST = 1000


def dry_answer(nvcc: Nvcc, words: Words, folder: str = "", output: str = "") -> str:
    """Return nvcc's answer to these words, `--dryrun` among them.

    `folder`: where it would write, which changes no step. `output`: what else, whose name may.
    """
    stand_ins = _stand_ins(words, folder, output)
    arguments = [_with_stand_in(word, stand_ins) for word in words]
    question = _question(nvcc, arguments)
    said = _KNOWN.get(question) if question is not None else None
    if said is None:
        answer = nvcc.dry_run(arguments)
        said = answer.stderr + answer.stdout
        if question is not None and answer.returncode == 0 and len(_KNOWN) < _MOST:
            _KNOWN[question] = said
    for place, stand_in in stand_ins.items():
        said = said.replace(stand_in, place)
    return said


def _question(nvcc: Nvcc, words: Words) -> tuple[object, ...] | None:
    """Return all that the answer depends on; None where that is not known."""
    further = (os.environ.get(name, "") for name in VARIABLES)
    if any(map(_READ.search, (*words, *further))):
        return None
    try:
        state = state_of(nvcc.path)
    except OSError:
        return None
    return state, frozenset((k, v) for k, v in os.environ.items() if k not in _UNREAD), *words


def _stand_ins(words: Words, folder: str, output: str) -> Mapping[str, str]:
    """Return the stand-in of each place that a shell takes as it is."""
    stand_ins = {folder: f"{_STAND_IN}-folder"}
    quoted = (word.removeprefix(_QUOTED) for word in words if word.startswith(_QUOTED))
    for number, place in enumerate(dict.fromkeys(quoted)):
        stand_ins.setdefault(place, f"{_STAND_IN}-{number}-quoted")
    stand_ins.setdefault(output, f"{_STAND_IN}-output/{os.path.basename(output)}")
    return {k: v for k, v in stand_ins.items() if PLAIN.fullmatch(k) and os.path.isabs(k)}


def _with_stand_in(word: str, stand_ins: Mapping[str, str]) -> str:
    if word.startswith(_QUOTED):
        place = word.removeprefix(_QUOTED)
        return _QUOTED + stand_ins.get(place, place)
    for place in (word, os.path.dirname(word)):
        if place in stand_ins:
            return stand_ins[place] + word[len(place) :]
    return word
