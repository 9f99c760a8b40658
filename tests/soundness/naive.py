"""The claims of hostile programs about their tiles: takes a folder, tries what each head says.

    python -m tests.soundness.naive FOLDER [--only PATTERN] [--jobs 2]

    // NAIVE: TILE in multiply: 32 differs at 100
    // NAIVE: TILE in multiply: 4, 8, 32 same
    // NAIVE: TILE in multiply: 32 does not compile
    // NAIVE: TILE in multiply: 64 is caught at 100

A naive tool gives the named functions, and the configurations of their launches, another value of
the constant, and leaves the rest of the program alone. The program as it is runs twice at each of
its sizes, on the emulated device. What is caught is a race, or an access out of bounds, that
`cutune run --check` finds though nothing else may be printed; it finds none where all is the same.
Status 1 when a claim is not true.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from cutune.toolchain.nvcc import Nvcc, find_nvcc
from tests.soundness.batches import compiled
from tests.soundness.programs import HostileProgram, hostile_programs

SECONDS = 60
#: Where `--check` looks, as it is slow: no power of two divides it.
CHECKED = 37
#: Status and standard output by size.
Outputs = dict[int, tuple[int, bytes]]
_CLAIM = re.compile(
    r"^// NAIVE: (?P<name>\w+) in (?P<functions>[\w, ]+): (?P<values>\d+(?:, \d+)*) "
    r"(?P<effect>same|differs|is caught|does not compile)(?: at (?P<size>\d+))?$",
    re.MULTILINE,
)
_VALUE = re.compile(r"(?:const |constexpr |static )*(?:dim3|int|unsigned|size_t|auto) (?=\w)")


class Effect(Enum):
    """What another value does to a program."""

    SAME = "same"
    DIFFERS = "differs"
    CAUGHT = "is caught"
    REFUSED = "does not compile"


@dataclass(frozen=True)
class Claim:
    """Values of a constant in some functions, and what they do."""

    name: str
    functions: tuple[str, ...]
    values: tuple[int, ...]
    effect: Effect
    #: Where it is seen.
    size: int = 0


def claims_of(text: str) -> list[Claim]:
    """What the head of a program says; nothing where it could not be shown."""
    claims = []
    for found in _CLAIM.finditer(text):
        values = tuple(int(value) for value in found["values"].split(","))
        functions = tuple(found["functions"].replace(" ", "").split(","))
        effect, size = Effect(found["effect"]), int(found["size"] or 0)
        claims.append(Claim(found["name"], functions, values, effect, size))
    return claims


def replaced(text: str, claim: Claim, value: int) -> str:
    """The program with another value, where a naive tool would write it."""
    macro = re.search(rf"^#define {claim.name} .*$", text, re.MULTILINE)
    edits = []
    for function in claim.functions:
        for start, end in _definitions(text, function, claim.name):
            edits.append((start, end, text[start:end]))
        for found in re.finditer(rf"\b{function}\s*(<[^<>;]*>)?\s*<<<(.*?)>>>", text, re.DOTALL):
            configuration = _inlined(found[2], _before(text, found.start()))
            launch = f"{function}{found[1] or ''}<<<{configuration}>>>"
            edits.append((found.start(), found.end(), launch))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + _valued(new, claim.name, value, macro and macro[0]) + text[end:]
    return text


def _valued(text: str, name: str, value: int, macro: str | None) -> str:
    if macro is None:
        return re.sub(rf"(?:\b\w+::)*\b{name}\b", str(value), text)
    # What other macros make of it follows.
    other = f"\n#undef {name}\n#define {name} {value}\n"
    return f"{other}{text}\n#undef {name}\n{macro}\n"


def _definitions(text: str, function: str, name: str) -> Iterator[tuple[int, int]]:
    """Where functions stand that do not have the constant as a parameter of their template."""
    head = r"^(?:template <[^;{}]*>\s*)?(?:static )?__(?:global|device)__[^;{}]*?"
    for found in re.finditer(rf"{head}\b{function}\(", text, re.MULTILINE):
        brace = re.compile(r"[{;]").search(text, found.end())
        if brace and brace[0] == "{" and not re.search(rf"<[^>]*\b{name}\b", found[0]):
            yield found.start(), _closing(text, brace.start())


def _closing(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def _before(text: str, at: int) -> str:
    """The function that holds a place, up to there."""
    return text[text.rfind("\n}\n", 0, at) + 1 : at]


def _inlined(text: str, before: str) -> str:
    """An expression in whose place of host variables stands what they are."""
    for name in dict.fromkeys(re.findall(r"\b[a-z]\w*\b", text)):
        value = _value_of(name, before)
        if value is not None:
            text = re.sub(rf"\b{name}\b", _inlined(value, before), text)
    return text


def _value_of(name: str, before: str) -> str | None:
    for statement in reversed(re.split(r"[;{}]\s*", before)):
        kind = _VALUE.match(statement)
        if kind is None or "arg" in statement:
            continue
        for each in _parts(statement[kind.end() :]):
            found = re.fullmatch(rf"\s*{name}\s*(?:= (.*)|(\(.*\)))", each, re.DOTALL)
            if found:
                return f"({found[1]})" if found[1] else f"dim3{found[2]}"
    return None


def _parts(text: str) -> list[str]:
    """What commas divide, but for those in brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def tried(nvcc: Nvcc, program: HostileProgram) -> list[str]:
    """What is wrong with a program and its claim."""
    text = program.sources[0].read_text(encoding="ascii")
    sizes = [int(size) for size in program.sizes.split(",")]
    with tempfile.TemporaryDirectory(prefix="cutune-") as folder:
        own = Path(folder) / "own"
        messages = _built(nvcc, text, own)
        if messages is not None:
            return [f"does not compile: {messages}"]
        outputs: Outputs = {size: _output(own, size) for size in sizes}
        wrong = [f"fails at {size}" for size, (status, _) in outputs.items() if status != 0]
        wrong += [f"two outputs at {n}" for n in sizes if _output(own, n) != outputs[n]]
        claims = claims_of(text)
        if not claims and "// NAIVE: not shown" not in text:
            wrong.append("claims nothing")
        for claim in claims:
            for value in claim.values:
                changed, binary = replaced(text, claim, value), Path(folder) / f"v{value}"
                if changed == text:
                    wrong.append(f"{claim.name} was not found")
                if reason := _tested(nvcc, claim, changed, binary, outputs):
                    wrong.append(f"{value} {reason}")
    return wrong


def _tested(nvcc: Nvcc, claim: Claim, text: str, binary: Path, outputs: Outputs) -> str | None:
    """What is wrong with a claim about one value, whose program this is."""
    messages = _built(nvcc, text, binary)
    if messages is not None:
        return None if claim.effect is Effect.REFUSED else messages
    differing = [size for size, output in outputs.items() if _output(binary, size) != output]
    match claim.effect:
        case Effect.REFUSED:
            return "compiles"
        case Effect.DIFFERS:
            return None if claim.size in differing else f"differs at {differing}"
        case Effect.CAUGHT:
            return None if _is_caught(binary, claim.size) else "is not caught"
        case Effect.SAME if differing:
            return f"differs at {differing}"
        case Effect.SAME:
            return "is caught" if _is_caught(binary, CHECKED) else None


def _is_caught(binary: Path, size: int) -> bool:
    command = [sys.executable, "-m", "cutune", "run", "--check", str(binary), str(size)]
    done = subprocess.run(command, capture_output=True, check=False)
    return done.returncode != 0


def _built(nvcc: Nvcc, text: str, binary: Path) -> str | None:
    path = binary.with_suffix(".cu")
    path.write_text(text, encoding="ascii")
    return compiled(nvcc, path, binary)


def _output(binary: Path, size: int) -> tuple[int, bytes]:
    environment = {**os.environ, "CUTUNE_PYTHON": sys.executable, "CUTUNE_EMULATOR_THREADS": "1"}
    try:
        done = subprocess.run(
            [str(binary), str(size)],
            env=environment,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, b""
    return done.returncode, done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    options = argparse.ArgumentParser(
        prog="python -m tests.soundness.naive",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("folder", type=Path, metavar="FOLDER")
    options.add_argument("--only", default="", metavar="PATTERN", help="names that match alone")
    options.add_argument("--jobs", type=int, default=2, help="programs at a time (default: 2)")
    chosen = options.parse_args(arguments)
    nvcc, failed = find_nvcc(), 0
    programs = hostile_programs(chosen.folder, chosen.only)
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for program, wrong in zip(
            programs, pool.map(lambda each: tried(nvcc, each), programs), strict=True
        ):
            failed += bool(wrong)
            verdict = "wrong" if wrong else "as said"
            print(f"{verdict:8} {program.name} {'; '.join(wrong)}".rstrip(), flush=True)
    print(f"{len(programs)} programs: {failed} not as their heads say")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
