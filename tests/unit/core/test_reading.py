"""Sources have the lines that the compiler sees."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from cutune.core.diagnostics import CutuneError
from cutune.core.reading import read_source, spelled_plainly
from cutune.core.source import Edit, apply_edits
from cutune.source.syntax.parse import parse
from cutune.toolchain.nvcc import host_compiler

TEXT = (
    b"int a; // ends here\rint b = __LINE__;\r\r\n"
    b"int c = __LINE__;\r\n// \rk<<<1, 2>>>(__LINE__);\n"
)


def test_a_carriage_return_ends_a_line_as_it_does_for_the_preprocessor(tmp_path: Path) -> None:
    path = tmp_path / "returns.cu"
    path.write_bytes(TEXT)
    command = [host_compiler(), "-E", "-P", "-x", "c++", str(path)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    source = read_source(path)
    syntax = parse(source)
    (launch,) = syntax.launches
    places = [source.text.index("b ="), source.text.index("c ="), source.text.index("k<<<")]
    assert [source.location(place).line for place in places] == [
        int(number) for number in re.findall(r"\d+(?=[;)]+)", shown)
    ]
    assert syntax.tokens[launch.callee[0]].start == places[2]
    assert len(source.encode()) == len(TEXT)


LOOSE = rb"""// comment \ \
k<<<1, 1>>>(0);
int a\  
b = 0; /* " \  
*/ const char *c = "R\  \  \"( \  
 //", *d = R"(" \ 
)";
#define TWO \  
  __LINE__
int e = TWO, f = '"', g = 1'0; \ 
k<<<1, 2>>>(0);
""".replace(b"  \n", b" \t\r\n").replace(b"R\\  \\", b"R\\\\")


def test_blanks_behind_a_backslash_continue_a_line_as_for_the_preprocessor(tmp_path: Path) -> None:
    path = tmp_path / "loose.cu"
    path.write_bytes(LOOSE)
    source = read_source(path)
    tight = tmp_path / "tight.cu"
    tight.write_bytes(source.encode())
    command = [host_compiler(), "-w", "-E", "-P", "-x", "c++"]
    was, now = (
        subprocess.run([*command, str(one)], capture_output=True, text=True, check=True).stdout
        for one in (path, tight)
    )
    assert was == now
    (launch,) = parse(source).launches
    assert source.location(parse(source).tokens[launch.end].start).line == 11
    assert source.text.count("\n") == LOOSE.count(b"\n")
    # Within the raw string alone the blank is left.
    assert re.findall(r"\\[ \t]+\r?\n", source.text) == ["\\ \n"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a<%b%>", "a{ b} "),
        ('"<%" <%', '"<%" { '),
        ("v<::a::b>(1)", "v<::a::b>(1)"),
        ("v<:::a:>", "v[ ::a] "),
        ("k<<<::f(), 1>>>", "k<<<::f(), 1>>>"),
        ("//  <%\n<%", "//  <%\n{ "),
        ("/* <: */1'000<:0:>", "/* <: */1'000[ 0] "),
        ('R"(<%)"<%', 'R"(<%)"{ '),
        ("isn't <%\n <%", "isn't <%\n { "),
        ("%:define A(x) %:x %:%: y", "# define A(x) # x ##   y"),
        ("ad\\\nd(x)", "add\\\n(x)"),
        ("a\\\r\nb 25\\\n6", "ab\\\r\n 256\\\n"),
        ("a\\\n<%", "a\\\n{ "),
        ('u8\\\n"a"', 'u8\\\n"a"'),
        ("\\u00e4 '\\u00e4'", "\xc3\xa4     '\\u00e4'"),
        ("\xc3\xa4\\U000000e4 <:", "\xc3\xa4\xc3\xa4         [ "),
    ],
)
def test_other_spellings(text: str, plain: str) -> None:
    found, places = spelled_plainly(text)
    assert found == plain and len(text) == len(plain)
    assert bool(places) == (text != plain)


def test_what_cannot_be_read_twice_is_no_source(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.cu")
    (tmp_path / "link.cu").symlink_to("gone.cu")
    for name, said in (("pipe.cu", "no regular file"), ("link.cu", "a link to 'gone.cu' [")):
        with pytest.raises(CutuneError) as caught:
            read_source(tmp_path / name)
        assert said in caught.value.diagnostic.render()


def test_edits_keep_the_spelling_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text("void f() <% ad\\\nd(); %>")
    source = read_source(path)
    assert source.text == "void f() {  add\\\n(); } "
    opener, name, closer = (source.text.index(one) for one in ("{", "add", "}"))
    ends = (Edit.insert(at, "@") for at in (opener + 1, name, name + 3, closer, closer + 1))
    assert apply_edits(source, ends).text == "void f() <%@ @ad\\\nd@(); @%>@"
