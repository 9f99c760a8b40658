"""Generated programs, built together and run: what each one gives, and which do not compile.

Takes programs, gives their lines of output by name. Compilers and runs are subprocesses; nothing
is kept between batches.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from cutune.core.codes import Code
from cutune.emulator.link import own_build_flags
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, Nvcc
from tests.soundness.generator import Generated, source

#: Writes the program `{source}` with random blocks, chosen by `CUTUNE_SEED`, to `{output}`.
#: Programs are read, rewritten and compiled as this.
_STANDARD = "c++17"
SHAKER = f"{{python}} -m cutune emit -q -std {_STANDARD} {{source}} --choose random:1 -o {{output}}"
SECONDS = 60
_ATTEMPTS = 6


@dataclass(frozen=True)
class Built:
    """Programs in one binary, and those that were left out because they do not compile."""

    programs: tuple[Generated, ...]
    source: Path
    binary: Path
    dropped: tuple[tuple[Generated, str], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a run printed: the lines of each program by its name; an abort has its own entry."""

    lines: Mapping[str, tuple[str, ...]]
    status: int

    def is_healthy(self, names: Iterable[str]) -> bool:
        """Did all programs run, without an error of the device that stays for those behind?

        Where the original fails, what is compared with it would fail alike, and seem the same.
        """
        told = all(name in self.lines for name in names)
        return self.status == 0 and told and self.lines.get("end") == ("end 0",)

    def differing(self, other: Outcome) -> list[str]:
        """Names of programs whose lines are not the same, in the order of the runs."""
        names = dict.fromkeys((*self.lines, *other.lines))
        return [name for name in names if self.lines.get(name) != other.lines.get(name)]


def build(nvcc: Nvcc, programs: Sequence[Generated], folder: Path) -> Built:
    """Compile programs for the emulated device, without those that nvcc refuses.

    Raises:
        RuntimeError: if what is refused belongs to no program.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path, binary = folder / "batch.cu", folder / "original"
    kept, dropped = list(programs), list[tuple[Generated, str]]()
    for _ in range(_ATTEMPTS):
        path.write_text(source(kept), encoding="ascii")
        messages = compiled(nvcc, path, binary)
        if messages is None:
            return Built(tuple(kept), path, binary, tuple(dropped))
        refused = _owners(messages, path)
        if not refused:
            break
        dropped += [(each, refused[each.name]) for each in kept if each.name in refused]
        kept = [each for each in kept if each.name not in refused]
    raise RuntimeError(f"{path} does not compile:\n{messages}")


def compiled(nvcc: Nvcc, path: Path, binary: Path) -> str | None:
    """Compile for the emulated device; the compiler's messages where it fails."""
    flags = [f"-std={_STANDARD}", "-w", f"-I{INCLUDE_DIRECTORY}", *own_build_flags(nvcc)]
    command = [str(nvcc.path), *flags, str(path), "-o", str(binary)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr + done.stdout


def _owners(messages: str, path: Path) -> dict[str, str]:
    """The first error of each program that has one."""
    spaces: list[tuple[int, str]] = []
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        found = re.match(r"namespace (p\d+) \{$", line)
        if found:
            spaces.append((number, found[1]))
    owners: dict[str, str] = {}
    pattern = r"^\S*batch\.cu[(:](\d+)\)?(?::\d+)?: (?:fatal )?error:? ?(.*)$"
    for found in re.finditer(pattern, messages, re.MULTILINE):
        names = [name for start, name in spaces if start <= int(found[1])]
        if names:
            owners.setdefault(names[-1], found[2])
    return owners


def run(binary: Path, size: int, environment: Mapping[str, str]) -> Outcome:
    """Run a batch with one size on the emulated device."""
    command = [str(binary), str(size)]
    variables = {**os.environ, "CUTUNE_PYTHON": sys.executable, **environment}
    try:
        done = subprocess.run(
            command, env=variables, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        return Outcome(_by_name(_lines(error.stdout)), 124)
    return Outcome(_by_name(_lines(done.stdout)), done.returncode)


def _lines(output: bytes | None) -> list[str]:
    return (output or b"").decode("latin-1").splitlines()


def _by_name(text: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in text:
        name = line.partition(" ")[0]
        found[name] = (*found.get(name, ()), line)
    return found


def shaken(nvcc: Nvcc, built: Built, shaker: str = SHAKER) -> tuple[Path | None, str]:
    """The binary with random blocks, and what went wrong; neither where no launch is tunable.

    The one place that knows how such a program is made.
    """
    output = built.source.with_name("batch.shaken.cu")
    words = {"python": sys.executable, "source": built.source, "output": output}
    command = [word.format(**words) for word in shlex.split(shaker)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if f"[{Code.NOTHING_TUNABLE.number}]" in done.stderr:
        return None, ""
    if done.returncode != 0 or not output.exists():
        return None, f"not written:\n{done.stderr}{done.stdout}"
    if changed_lines(built.source, output) == 0:
        return None, ""
    binary = built.binary.with_name("shaken")
    messages = compiled(nvcc, output, binary)
    return (binary, "") if messages is None else (None, f"does not compile:\n{messages}")


def changed_lines(before: Path, after: Path) -> int:
    """How many lines of the programs are others: launches that were rewritten, in whatever form.

    Lines that stand between them, copies of kernels, do not count.
    """
    texts = [_programs_of(path.read_text(encoding="latin-1")) for path in (before, after)]
    first, second = (text.splitlines() for text in texts)
    same = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return len(first) - sum(block.size for block in same)


def tuned(programs: Sequence[Generated], after: Path) -> tuple[Generated, ...]:
    """Return the programs all of whose launches are others in a text that was written."""
    text = after.read_text(encoding="latin-1")
    return tuple(each for each in programs if not _launches(each.text) & _launches(text, each.name))


def _launches(text: str, name: str = "") -> set[str]:
    """The lines with launches, of one program or of all."""
    behind = text.partition(f"namespace {name} {{\n")[2] if name else text
    own = behind.partition(f"}}  // {name}\n")[0] if name else behind
    return {line for line in own.splitlines() if "<<<" in line}


def _programs_of(text: str) -> str:
    """Behind what stands before the first program."""
    found = re.search(r"^namespace p\d+ \{$", text, re.MULTILINE)
    return text[found.start() :] if found else text
