"""Macros that lead to `__COUNTER__` or `__LINE__`, wherever they are defined."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cutune.core.reading import read_source
from cutune.source.syntax.parse import Syntax, parse
from cutune.source.unit.macros import Seen, Unsteady
from cutune.source.unit.preprocess import expanded_parts
from cutune.toolchain.nvcc import host_compiler
from cutune.toolchain.preprocessed import MARKING, masked

SYSTEM = "#pragma GCC system_header\n#define OF_SYSTEM (__COUNTER__ + 1)\n#define PLACE __LINE__\n"
LAUNCH = "void f() {{ k<<<1,\n2>>>({}); }}\n"


def seen(path: Path, syntax: Syntax, flags: list[str]) -> Seen:
    command = [host_compiler(), "-E", "-x", "c++", *flags, str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return tuple((part.source, part.syntax) for part in expanded_parts(masked(text), syntax))


def unsteady(
    path: Path, text: str, flags: list[str], *, is_asked: bool = True
) -> tuple[str | None, str | None]:
    """What in the last launch counts, and what would change by moving it."""
    (path.parent / "system.h").write_text(SYSTEM)
    path.write_text(f'#include "system.h"\n{text}')
    syntax = parse(read_source(path))
    expanded = seen(path, syntax, flags) if is_asked else ()
    found = Unsteady(
        (syntax.source,),
        expanded,
        lambda: seen(path, syntax, [*flags, *MARKING]) if is_asked else None,
    )
    launch = syntax.launches[-1]
    whole = launch.callee[0], launch.end
    return found.counted(syntax, whole), found.moved(syntax, whole)


@pytest.mark.parametrize(
    ("before", "argument", "expected"),
    [
        ("", "__COUNTER__", ("__COUNTER__", None)),
        ("", "n, __LINE__", (None, "__LINE__")),
        ("", "OF_SYSTEM", ("OF_SYSTEM", None)),
        ("", "PLACE * 2", (None, "PLACE")),
        ("", "OPTION", ("OPTION", None)),
        ("%:define A __COUNTER__\n", "A", ("A", None)),
        ("#/* */define \\\n A __COUN\\\nTER__\n", "A", ("A", None)),
        ("#define C(a, b) a##b\n#define A C(__COUN, TER__)\n", "A", None),
        ("#define A() __COUNTER__\nint A;\n", "A()", ("A", None)),
        ("#define A() __COUNTER__\nint A;\n", "A", (None, None)),
        ("#ifndef OPTION\n#define OPTION 3\n#endif\n", "OPTION", ("OPTION", None)),
        ("#define A __COUNTER__\n#undef A\n#define A 3\n", "A", (None, None)),
        ("#define A 3\nint other = __COUNTER__ + __LINE__;\n", "A", (None, None)),
        ("#define A 3\n", "A + n + NULL", (None, None)),
        # A macro that stands for its own name, too.
        ("int n;\n#define n n + __COUNTER__\n", "n", ("__COUNTER__", None)),
        ("int n;\n#define n n + 1\n", "n", (None, None)),
        ('const char *s = R"(\n# 9 "a.cl"\n)";\n#define A __COUNTER__\n', "A", ("A", None)),
    ],
)
def test_unsteady_macros(
    before: str, argument: str, expected: tuple[str | None, str | None] | None, tmp_path: Path
) -> None:
    text = before + LAUNCH.format(argument)
    found = unsteady(tmp_path / "a.cu", text, ["-DOPTION=__COUNTER__"])
    assert found == (expected or ("A", None))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define A __COUNTER__\n#define B (A + 1)\n" + LAUNCH.format("B"), ("B", None)),
        ("#define A __LINE__\n" + LAUNCH.format("A"), (None, "A")),
        ("#define A __LINE__\nvoid f() { k<<<1, 2>>>(A); }\n", (None, None)),
        ("#define A 3\n" + LAUNCH.format("A"), (None, None)),
    ],
)
def test_where_nobody_can_be_asked_the_text_says_it(
    text: str, expected: tuple[str | None, str | None], tmp_path: Path
) -> None:
    assert unsteady(tmp_path / "a.cu", text, [], is_asked=False) == expected
