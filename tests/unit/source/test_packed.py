"""What tuned programs hold of cutune: the same tokens in less space, and only what is needed."""

from __future__ import annotations

import gzip
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.core.reading import read_source
from cutune.model.emit.emitter import Tables, literal
from cutune.model.emit.selection import emit_selection
from cutune.model.fit.fitted_model import read_models
from cutune.passes import ReplaceLaunches
from cutune.source.rewrite.compact_cpp import (
    WIDTH,
    cpp_tokens,
    packed_text,
    short_names,
    with_joined_declarations,
    with_names,
    with_short_casts,
    without_unused,
)
from cutune.source.rewrite.pipeline import TranslationUnit, run_passes
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, host_compiler
from tests.support.analyzed import analyzed

HEADERS = sorted(INCLUDE_DIRECTORY.glob("*.h"))

#: What a careless search for comments and blanks would break; it prints what it should.
HOSTILE = r"""
#include <stdio.h>
#define TEXT "not // a comment" /* but this
   is one */
#define TWICE(a)   \
    ((a)  +  /* in a macro */ \
     (a))  // and here
#define JOINED(a, b) a##b
#define SHOWN(a) #a
#if defined(TEXT) && \
    !defined(NOTHING)  // spliced
static const char *const kept = TEXT;
#endif
static const char *const raw = R"x(// no comment
    two   blanks, a \
splice, )" and /* */)x";
static const char quote = '"', slash = '\'', *const both = "\"//\\";  // "not a string
static const char *const spliced = "a \
b"; // a comment \
   that goes on /* here
static const int in\
t_name = 1;
/* // */ static const int after = 3 /**// 1;
static int plus(int a, int b) { return a + +b - -a - (- -b); }
static int shift(int a) { return a >> 1 > 2 ? a < ::after ? 1 : 2 : - 1; }
static int address(const int *a, int b) { return b / *a & ~b; }
static const double number = 1.5e+3 + .5, hexadecimal = 0x1e + 2;
int main() {
    const int values[] = {8, 4};
    const auto least = [ ] (const int *a) { return a [ 1 ] ; };
    printf("%s|%s|%c%c|%s|%s|", kept, raw, quote, slash, both, spliced);
    printf("%d %d %d %d %d ", TWICE(2), JOINED(int, _name), after, plus(1, 2), shift(7));
    printf("%d %g %g %d %s\n", address(values, 64), number, hexadecimal, least(values),
           SHOWN(a   //  b
           ));
}
"""


def output(text: str, folder: Path, *flags: str) -> str:
    """What a program prints; the compiler has nothing to say."""
    source, binary = folder / "program.cpp", folder / "program"
    source.write_text(text)
    command = [host_compiler(), "-w", "-std=c++17", *flags, str(source), "-o", str(binary)]
    subprocess.run(command, check=True)
    return subprocess.run([binary], capture_output=True, text=True, check=True).stdout


def test_a_packed_program_prints_the_same(tmp_path: Path) -> None:
    text = packed_text(cpp_tokens(HOSTILE))
    assert output(text, tmp_path) == output(HOSTILE, tmp_path)
    assert packed_text(cpp_tokens(text)) == text
    assert "this" not in text
    assert "goes on" not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int  a ; // b\n int c;", "int a;int c;"),
        ('a = "//" /* x */ "/*";', 'a="//""/*";'),
        ("x = a - -b + ++c & &d;", "x=a- -b+ ++c& &d;"),
        ("x = 0x1e + 2 - 1e5 + 3;", "x=0x1e +2-1e5+3;"),
        ("a / *b; c / /**/ d;", "a/ *b;c/d;"),
        ("p < ::q; r[ [=] { return 1'000; }()];", "p< ::q;r[ [=]{return 1'000;}()];"),
        ('return "a"; L "b"; "c" d;', 'return "a";L "b";"c" d;'),
        ('L"b" u8R"(//)" \'c\';', 'L"b" u8R"(//)"\'c\';'),
        ("fo\\\no = 1;", "foo=1;"),
        ("#define F (x)   1 // y\n#define G(x) 2\n  a;", "#define F (x) 1\n#define G(x) 2\na;"),
        ("a;\n#define M b; \\\n  c\nd;", "a;\n#define M b; c\nd;"),
        ("x = a ? ? b;", "x=a? ?b;"),
    ],
)
def test_blanks_stay_where_tokens_would_be_others(text: str, expected: str) -> None:
    assert packed_text(cpp_tokens(text)) == f"{expected}\n"
    assert cpp_tokens(packed_text(cpp_tokens(text))) == cpp_tokens(text)


@pytest.mark.parametrize(
    "text",
    [
        # Of a file a constant is its own; one that is a number may be a size.
        "const int a=f();",
        "void f(){const int a=1;char b[a];}",
        "struct A{const int a=f();};",
        "template<>inline int f<1>(){return 1;}",
        "inline void f(){}",
    ],
)
def test_words_that_something_needs_stay(text: str) -> None:
    assert packed_text(with_joined_declarations(cpp_tokens(text))) == f"{text}\n"


def test_attributes_keep_their_words() -> None:
    text = "__attribute__((noinline,cold))inline void f(int width){g(width);}"
    assert packed_text(with_names(cpp_tokens(text), short_names(cpp_tokens(text), ()))) == (
        "__attribute__((noinline,cold))inline void f(int a_){g(a_);}\n"
    )


def test_words_that_nothing_needs_go() -> None:
    text = "template<class...T>inline int f(T...a){const int b=g(a...);const int c=b;return c;}"
    expected = "template<class...T>int f(T...a){int b=g(a...),c=b;return c;}\n"
    assert packed_text(with_joined_declarations(cpp_tokens(text))) == expected


def test_a_raw_string_is_kept_as_it_is() -> None:
    raw = 'R"--(a  // b\n#define c \\\n)" )--"'
    assert packed_text(cpp_tokens(f"x  =  {raw} ;")) == f"x={raw};\n"


@pytest.mark.parametrize("path", HEADERS, ids=lambda path: path.stem)
def test_headers_keep_their_tokens(path: Path) -> None:
    text = path.read_text(encoding="ascii")
    short = packed_text(cpp_tokens(text))
    assert cpp_tokens(short) == cpp_tokens(text)
    assert len(short) < 0.8 * len(text)
    assert max(map(len, short.splitlines())) <= WIDTH
    assert not re.search(r"(^|[^:\"])//", short)


def test_constants_of_one_type_are_declared_together() -> None:
    others = "const int*c;const double d=2;d;const double e=3;}"
    text = f"{{const int a=1;const int b[2]={{a,f<1,2>()}};{others}"
    expected = f"{{const int a=1,b[2]={{a,f<1,2>()}};{others}\n"
    assert packed_text(with_joined_declarations(cpp_tokens(text))) == expected


def test_casts_to_numbers_are_short() -> None:
    text = "static_cast<int>(a)+static_cast<long long>(b)+static_cast<T>(c),d!=nullptr,f(nullptr);"
    expected = "int(a)+cutune_long(b)+static_cast<T>(c),d!=0,f(nullptr);\n"
    assert packed_text(with_short_casts(cpp_tokens(text))) == expected


DECLARED = """
struct cutune_a { int x; };
struct cutune_b;
struct cutune_b { cutune_a a; };
inline int cutune_f(cutune_a a) { return a.x; }
inline int cutune_g(int x) { return x; }
inline int cutune_g(cutune_b b) { return cutune_f(b.a); }
namespace { template <class T> inline T cutune_h(T t) { return t; } }
static const int cutune_table[] = {1, 2};
"""


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ([], ""),
        (["cutune_h"], "h"),
        (["cutune_g"], "g"),
        # Nobody else has one.
        (["cutune_f"], ""),
        (["cutune_f", "cutune_a"], "af"),
        (["cutune_g", "cutune_b"], "abfg"),
    ],
)
def test_only_what_is_used_stays(wanted: list[str], expected: str) -> None:
    text = packed_text(without_unused(cpp_tokens(DECLARED), wanted))
    found = {name for name in "abfgh" if re.search(rf"\bcutune_{name}\b", text)}
    assert (found, "cutune_table" in text) == (set(expected), True)
    assert text.count("cutune_g") == len([name for name in wanted if name == "cutune_g"]) + (
        "b" in expected
    )


def test_only_variables_that_are_linked_nowhere_get_short_names() -> None:
    text = (
        "inline int cutune_f(int count){static int known;return count+known+std::count+now(count);}"
        "struct cutune_s{int member,kept;int method()const;};\n#define MACRO(a) a.word\nint word;"
    )
    names = short_names(cpp_tokens(text), {"kept"})
    assert names == {"member": "a_"}
    assert "member" not in packed_text(with_names(cpp_tokens(text), names))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(5.599999904632568, "5.6f"), (0.5, ".5"), (16.0, "16"), (0.1, ".1"), (-0.0, "-.0"),
     (3e10, "30000000000.0"), (1e10, "1e+10f"), (2147483647.0, "2147483647"),
     (-2147483648.0, "-2147483648.0"), (0.030303031206130981, ".030303031f"), (1e-20, "1e-20")],
)  # fmt: skip
def test_literals_are_the_shortest_that_read_back(value: float, expected: str) -> None:
    assert literal(value) == expected


def test_equal_tables_are_written_once() -> None:
    tables = Tables()
    rows = [[1.0, 2.5], [2.5, 0.5]]
    first = tables.rows("cutune_a", rows, 2)
    assert tables.rows("cutune_b", rows, 2) == first
    assert tables.rows("cutune_a", rows[:1], 2) != first
    assert str(tables).count("cutune_table<") == 2


def test_a_tuned_program_is_small(tmp_path: Path) -> None:
    stored = Path(__file__).parents[2] / "recorded" / "syrk_models.json.gz"
    (tmp_path / "models.json").write_bytes(gzip.decompress(stored.read_bytes()))
    models = read_models(tmp_path / "models.json")
    selection = emit_selection(models, [DeviceProfile.named("h200")])
    sample = Path(__file__).parents[3] / "samples" / "polybench" / "syrk.cu"
    program = analyzed(read_source(sample))
    # What the compiler says besides, where it is asked.
    kernels = tuple(
        replace(kernel, may_meet=((4, 5),), proven_for=(75, 80, 90)) for kernel in program.kernels
    )
    routines = tuple((site.id, routine) for site, routine in selection.routines)
    step = ReplaceLaunches(selection=selection.text, routines=routines)
    unit = run_passes((step,), TranslationUnit(replace(program, kernels=kernels)))
    text = unit.rewritten().text
    assert "are_apart" in text
    # Where the repository lies is no matter of the program.
    assert len(text.replace(str(sample), sample.name)) < 60_000
    assert text.count("\n") < 700
    head, *_ = text.split("\n", 1)
    assert head == (
        "// Emitted by cutune for NVIDIA H200. In readable form: cutune/include, docs/model.md."
    )
