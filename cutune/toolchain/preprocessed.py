"""Preprocessed text of a source. Takes nvcc, a source and its flags, gives text with line markers.

The one step is run that nvcc names by `--dryrun`. Where it names others, or that fails, nvcc does
it, and says what is wrong. Line markers in the text name the files that it was made of.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

from cutune.core.temporary import temporary_folder
from cutune.toolchain import dry_run
from cutune.toolchain.compiler_commands import Words, run_limited
from cutune.toolchain.dry_run import FrontEndFailed
from cutune.toolchain.nvcc import Nvcc, host_pass_flags, target_flags

#: A "#" that begins a line, in regular expressions. Texts of a megabyte are searched for it in half
#: the time that `^#` takes, which is tried at each character.
BEGIN = r"#(?<![^\n]#)"
_MARKER = re.compile(BEGIN + r'(?:line)? (\d+) "((?:[^"\\\n]|\\.)*)"')
#: What nobody closes is none: text such as `"R",f(` within a string. A pattern that begins with
#: text is sought in a tenth of the time.
_RAW = re.compile(r'R"(?:(?<!\wR")|(?<=\bu8R")|(?<=\b[uUL]R"))([^()\\\s]{0,16})\([\s\S]*?\)\1"')
#: Options that may define a macro, also by a file.
_DEFINES = re.compile(r"D|def|inc|macros|@|file")
#: A macro that is its own name stays. To define these makes compilers warn.
MARKING = ("-w", "-D__COUNTER__=__COUNTER__", "-D__LINE__=__LINE__")


def host_pass(nvcc: Nvcc, path: str, flags: Words = ()) -> str:
    """The text that the host compiler gets, `masked`."""
    return _pass(nvcc, path, flags, host_pass_flags(flags))


def marked_host_pass(nvcc: Nvcc, path: str, flags: Words = ()) -> str | None:
    """Return the host pass with `__COUNTER__` and `__LINE__` left as they are; None: not known."""
    return _expanded(nvcc, path, flags, host_pass_flags(flags), MARKING)


def definitions_before(nvcc: Nvcc, flags: Words = ()) -> str:
    """Return all that is defined before a source's first line, as text; empty: not known."""
    variables = (os.environ.get(name, "") for name in dry_run.VARIABLES)
    if not any(map(_DEFINES.search, (*flags, *variables))):
        return ""
    with temporary_folder() as folder:
        path = os.path.join(folder, "empty.cu")
        Path(path).touch()
        return _expanded(nvcc, path, flags, host_pass_flags(flags), ("-dD",)) or ""


def device_pass(nvcc: Nvcc, path: str, flags: Words, architecture: str) -> str:
    """The text that the compiler for an architecture gets, `masked`."""
    return _pass(nvcc, path, flags, [*target_flags(flags, architecture), "-E"])


def _pass(nvcc: Nvcc, path: str, flags: Words, options: Words) -> str:
    text = _expanded(nvcc, path, flags, options)
    return masked(nvcc.preprocess(path, flags, options)) if text is None else text


def _expanded(nvcc: Nvcc, path: str, flags: Words, options: Words, added: Words = ()) -> str | None:
    """Preprocess a source by nvcc's one step; None where nvcc has to do it."""
    stand_in = dry_run.stand_in_for(nvcc, path, flags)
    try:
        said = dry_run.dry_answer(nvcc, [*options, "--dryrun", stand_in])
        steps, variables = dry_run.commands(said)
        if len(steps) != 1 or "-E" not in steps[0] or "-o" in steps[0]:
            return None
        program, *rest = dry_run.with_source(steps[0], stand_in, path)
        done = run_limited([program, *added, *rest], {**os.environ, **variables}, path)
    except (FrontEndFailed, OSError):
        return None
    return masked(done.stdout) if done.returncode == 0 else None


def masked(text: str) -> str:
    """Return the text with another byte for each `#` that begins a line within a raw string.

    Programs hold the text of others, with `#line` in it, which no marker of their own is.
    """
    if 'R"' not in text:
        return text
    return _RAW.sub(lambda raw: raw[0].replace("\n#", "\n\1"), text)


#: Line markers; lines without text.
_NO_TEXT = re.compile(BEGIN + r'(?:line)? \d+ "(?:[^"\\\n]|\\.)*"[^\n]*\n|(?<=\n)[ \t]*\n')
#: Who asks the compiler for a line, or a file.
_ASKED = re.compile(r"__builtin_(?:FILE|LINE|COLUMN|source_location)\b")
#: An assertion of glibc, from 2.38 on, without the markers within it.
_ASSERTED = re.compile(
    r'__assert_fail\s*\(\s*"(?:[^"\\\n]|\\.)*"\s*,'
    r"\s*__builtin_FILE\s*\(\)\s*,\s*__builtin_LINE\s*\(\)"
)


def text_without_lines(text: str) -> str:
    """Return what is compiled of a text, wherever its lines come from; empty: that counts.

    Of assertions alone the lines stay.
    """
    text = _RAW.sub(lambda raw: raw[0].replace("\n", "\1"), text)
    if _ASKED.search(text):
        text = _with_asserted_lines(text)
    return _NO_TEXT.sub("", text)


def _with_asserted_lines(text: str) -> str:
    """The text with the places of assertions, and of what follows each; empty: others ask, too.

    Who has a line as the default of an argument gets that of the call.
    """
    if _ASKED.search(_ASSERTED.sub("", _NO_TEXT.sub("", text))):
        return ""
    written, file, number, had_asked = list[str](), "", 0, False
    for line in text.split("\n"):
        number += 1
        place = ""
        if (marker := _MARKER.match(line)) is not None:
            number, file = int(marker[1]) - 1, marker[2]
        elif line.strip():
            asks = _ASKED.search(line) is not None
            place = f" {file} {number}" if asks or had_asked else ""
            had_asked = asks
        written.append(line + place)
    return "\n".join(written)


@lru_cache(maxsize=4096)
def unescaped(path: str) -> str:
    """The path of a line marker; a text, decoded as latin-1, has thousands of a hundred files."""
    return os.fsdecode(path.replace("\\\\", "\\").replace('\\"', '"').encode("latin-1"))


def files_of(text: str) -> list[str]:
    """Return all files that were read, in one order everywhere."""
    names = {name for _, name in _MARKER.findall(masked(text))}
    return sorted(unescaped(name) for name in names if not name.startswith("<"))
