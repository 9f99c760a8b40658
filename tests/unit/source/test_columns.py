"""Launches that move a column which the program may see."""

from __future__ import annotations

import pytest

from cutune.core.source import Source
from cutune.source.launches.columns import LaunchColumns
from cutune.source.syntax.parse import parse
from cutune.source.unit.macros import MacroTable
from cutune.source.unit.unit import Unit, UnitPart

COL = "int col(std::source_location l = std::source_location::current());\n"
CLASS = "struct Trace { Trace(float *p, int at = __builtin_COLUMN()); operator float *(); };\n"


def seen(before: str, body: str, types: list[str]) -> str | None:
    syntax = parse(Source("/a.cu", f"{before}void f(int n, float *a) {{\n{body}\n}}\n"))
    unit = Unit((UnitPart(syntax, syntax.source),), MacroTable.of(()), is_expanded=True)
    found = (LaunchColumns(unit).seen(syntax, launch, types) for launch in syntax.launches)
    return next(filter(None, found), None)


@pytest.mark.parametrize(
    ("before", "body", "expected"),
    [
        (COL, "k<<<n, 32>>>(a, col());", "col"),
        (COL, "k<<<n, 32>>>(a, n); int c = col();", "col"),
        (COL, "k<<<n,\n32>>>(a,\ncol());", "col"),
        (COL, "k<<<n, 32>>>(a, __builtin_COLUMN());", "__builtin_COLUMN"),
        # On lines of its own nothing else moves.
        (COL, "k<<<n, 32>>>(a, n);\nint c = col();", None),
        (COL, "int c = col();\nk<<<n, 32>>>(a, c);", None),
        (COL, "for (int i = 0; i < n; ++i) {\nk<<<n, 32>>>(a, n);\n}\nn += col();", None),
        (COL, "if (n) {\nk<<<n, 32>>>(a, n);\n} else n = col();", "col"),
        (COL, "do {\nk<<<n, 32>>>(a, n);\n}\nwhile (col() < n);", "col"),
        # What goes on behind a lambda stands behind its launch.
        (COL, "run([&] {\nk<<<n, 32>>>(a, n);\n},\ncol());", "col"),
        (COL, "int c = [&] {\nk<<<n, 32>>>(a, n);\nreturn n; }()\n+ col();", "col"),
        # By other names.
        (CLASS, "k<<<n, 32>>>(Trace(a), n);", "Trace"),
        ("using Place = std::source_location;\nint f(Place p);\n", "k<<<n, 32>>>(a, f({}));", "f"),
        ("typedef std::source_location Place;\n", "k<<<n, 32>>>(a, Place());", "Place"),
        ("struct At { int at = __builtin_COLUMN(); };\n", "k<<<n, 32>>>(a, At{}.at);", "At"),
        (
            CLASS + "struct More : Trace { using Trace::Trace; };\n",
            "k<<<n, 32>>>(More(a));",
            "More",
        ),
        (COL + "int twice(int c = 2 * col());\n", "k<<<n, 32>>>(a, twice());", "twice"),
        (
            "struct Call { int operator()(int c = __builtin_COLUMN()); } call;\n",
            "k<<<n, 32>>>(a, call());",
            "operator",
        ),
        # A parameter of a template is no class with that in it.
        (
            "template <class T> void g(T *a, int n, int c = __builtin_COLUMN()) { g(a, n, c); }\n",
            "k<<<n, 32>>>(a, n);",
            None,
        ),
        (
            "template <class T> struct At { T at = __builtin_COLUMN(); };\n",
            "k<<<n, 32>>>(a, At<int>{}.at);",
            "At",
        ),
        # What is converted to a class.
        (CLASS + "Trace t = 0;\n", "k<<<n, 32>>>(a, n); t = a;", "t"),
        (CLASS + "std::vector<Trace> t;\n", "k<<<n, 32>>>(a, n); t.push_back(a);", "t"),
        (CLASS + "Trace t = 0;\n", "k<<<n, 32>>>(a, n);\nt = a;", None),
        (CLASS + "Trace made() {\nk<<<n, 32>>>(a, n); return 0; }\n", "n = 1;", "Trace"),
        (CLASS, "auto g = [=]() -> Trace {\nk<<<n, 32>>>(a, n); return 0; };", "Trace"),
        (CLASS + "Trace made() {\nk<<<n, 32>>>(a, n);\nreturn 0; }\n", "n = 1;", None),
        (CLASS + "void g(Trace a) { a = 0; }\n", "k<<<n, 32>>>(a, n);", None),
        (CLASS + "void g(Trace t, int n) {\nk<<<n, 32>>>(n); t = 0; }\n", "n = 1;", "t"),
        (CLASS, "for (Trace t : all) {\nk<<<n, 32>>>(a); t = a;\n}", "t"),
        ("", "auto at = [](int c = __builtin_COLUMN()) { return c; };\nk<<<1, 2>>>(at());", "at"),
        # In a body it is the column of another line.
        (
            "int own() { return std::source_location::current().column(); }\n",
            "k<<<1, 2>>>(own());",
            None,
        ),
        (COL + "int own() { return col(); }\n", "k<<<1, 2>>>(own());", None),
        (COL + "void check(int e, int c = col());\n", "k<<<n, 32>>>(a, n);\ncheck(n);", None),
        (COL, "int c = f(n, col());\nk<<<n, 32>>>(a, f(n, c));", None),
        ("", "k<<<n, 32>>>(a, n); int c = col();", None),
    ],
)
def test_columns_that_move(before: str, body: str, expected: str | None) -> None:
    assert seen(before, body, ["float *", "int"]) == expected


def test_an_argument_is_converted_to_a_class_that_sees_its_column() -> None:
    assert seen(CLASS, "k<<<n, 32>>>(a);", ["Trace"]) == "Trace"
    assert seen(CLASS, "k<<<n, 32>>>(a);", ["float *"]) is None
