"""Pieces of the launch edit; whole files are in tests/golden/instrument."""

from __future__ import annotations

import pytest

from cutune.core.codes import Code
from cutune.core.source import Source, Span, apply_edits
from cutune.source.program import DimensionProof, Impurity, Kernel, KernelParameter
from cutune.source.rewrite.c_text import (
    c_path,
    c_string,
    guarded,
    line_structure,
    one_line,
    prelude_edit,
)
from cutune.source.rewrite.edits import hiding_macro
from cutune.source.rewrite.site_table import Rule, dimension_rule, guard_parameters


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n", "n"),
        ("a +  b", "a + b"),
        ("a // why\n + b", "a + b"),
        ("a /* one\n two */ + b", "a + b"),
        ("a + \\\n b", "a + b"),
        ("a +\r\n b // end\r\n", "a + b"),
        ('f("a  // b")', 'f("a  // b")'),
        ("'/' /* c */ + '\"'", "'/' + '\"'"),
        ("1'000'000 // x", "1'000'000"),
        ("a // continued \\\n comment\n + b", "a + b"),
        ("25\\\n6", "256"),
        ('sizeof(R"(a"b  //c)") * 2', 'sizeof(R"(a"b  //c)") * 2'),
        ('u8R"x(a\\\n"?\r\n)x"_k', r'u8"a\\\n\"\?\n"_k'),
        ('"a\\\nb"', '"ab"'),
        ("""u8'"' + /* c */ '//'""", """u8'"' + '//'"""),
    ],
)
def test_one_line(text: str, expected: str) -> None:
    assert one_line(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n", ""),
        ("a\n+ b", "\n"),
        ("a // why\n + b", " // why\n"),
        ("a /* one\n two */ + b", " /* one\n two */"),
        ("a + \\\n b", " \\\n"),
        ("a // why\r\n + b\r\n", " // why\r\n\r\n"),
        ('"// no"', ""),
        ('R"(a"b//c\n)" + 1', "\n"),
        ('"a\\\nb"', " \\\n"),
    ],
)
def test_line_structure(text: str, expected: str) -> None:
    assert line_structure(text) == expected
    assert line_structure(text).count("\n") == text.count("\n")


def kernel(*dimensions: DimensionProof) -> Kernel:
    rest = (DimensionProof(indexed=False),) * (3 - len(dimensions))
    parameters = (
        KernelParameter("n", "int"),
        KernelParameter("m", "unsigned"),
        KernelParameter("x", "float *"),
    )
    source = Source("k.cu", "")
    return Kernel("k", source, Span(0, 0), parameters, (), (*dimensions, *rest))  # type: ignore[arg-type]


def test_rules() -> None:
    impurity = Impurity(Code.NOT_CUDA, "", Span(0, 0))
    guarded = DimensionProof(indexed=True, guard="n - m")
    assert dimension_rule(kernel(guarded), 0) is Rule.GUARD
    assert dimension_rule(kernel(guarded), 1) is Rule.FIXED
    assert dimension_rule(kernel(DimensionProof(indexed=True)), 0) is Rule.DIVIDE
    strided = DimensionProof(indexed=True, guard="n", grid_stride=True)
    assert dimension_rule(kernel(strided), 0) is Rule.DIVIDE
    assert dimension_rule(kernel(DimensionProof(True, guard="LIMIT")), 0) is Rule.DIVIDE
    assert dimension_rule(kernel(DimensionProof(True, impurity, "n")), 0) is Rule.FIXED


@pytest.mark.parametrize(
    ("guard", "expected"),
    [("n", (0,)), ("m * (n - 1)", (0, 1)), ("1000", ()), ("1000u", ()), ("LIMIT", None)],
)
def test_guard_parameters(guard: str, expected: tuple[int, ...] | None) -> None:
    assert guard_parameters(kernel(), guard) == expected


def test_prelude_stands_behind_a_mark_and_keeps_line_ends() -> None:
    source = Source('dir\\a "b".cu', "\xef\xbb\xbfint a;\r\nint b;\r\n")
    text = apply_edits(source, [prelude_edit(source, "first\nsecond\n")]).text
    line = '#line 1 "dir\\\\a \\"b\\".cu"\r\n'
    assert text == "\xef\xbb\xbffirst\r\nsecond\r\n" + line + "int a;\r\nint b;\r\n"


def test_bytes_of_letters_end_no_line_of_a_prelude() -> None:
    text = prelude_edit(Source("a.cu", "int a;\n"), "// \xe5\x85\xa5\nint b;\n").text
    assert text == '// \xe5\x85\xa5\nint b;\n#line 1 "a.cu"\n'
    assert prelude_edit(Source("a.cu", "int a;\n"), "").text == '#line 1 "a.cu"\n'


def test_strings_of_any_bytes() -> None:
    assert c_string('a"\\\xe9\n1') == '"a\\"\\\\\\351\\0121"'
    assert c_path("é文") == '"\\303\\251\\346\\226\\207"'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define block 256\n", "block"),
        ("  #  define next(x) x\n", "next"),
        ("#define grids 3\n", None),
        ("// #define grid 3\n", None),
        ("%:define smem 3\n", "smem"),
        ("/* */ # /* */ define/* */\\\n stream 3\n", "stream"),
        ("#define grid(n) ((n) / 2)\n", None),
        ("#define cutune_x\n", "cutune_x"),
    ],
)
def test_hiding_macros(text: str, expected: str | None) -> None:
    assert hiding_macro(Source("a.cu", text)) == expected


def test_macros_of_the_user_do_not_expand_in_a_prelude() -> None:
    text = "int row, __row;\n#ifdef NDEBUG\n#endif\n"
    assert guarded(text, {"other", "NDEBUG", "__row"}) == text
    begin = '#pragma push_macro("row")\n#undef row\n'
    assert guarded(text, {"row", "NDEBUG"}) == f'{begin}{text}#pragma pop_macro("row")\n'
    includes = '#include "cutune_argument.h"\n'
    assert guarded(includes, {"block"}).splitlines()[1:3] == ["#undef block", includes.strip()]
