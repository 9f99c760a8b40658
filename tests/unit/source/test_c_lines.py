"""Text of one token per line gives pycparser's own tree."""

from __future__ import annotations

import pytest
from pycparser import CParser, c_ast
from pycparser.c_parser import ParseError

from cutune.source.function.c_lines import parse_lines

TEXT = """
typedef int T ;
void f ( int T , float *a )
{
for ( int i = 0x1fu ; i < T ; i += 2 ) { a [ i ] = 1.5e3f ; { typedef long T ; T x = ( T ) i ; } }
g ( "a b" , 'c' , & a [ 0 ] , a -> b . c ) ; if ( T ) goto end ; else ; end : ;
}
"""


def shape(node: c_ast.Node) -> object:
    """A tree with the places of its nodes."""
    own = [getattr(node, name) for name in node.attr_names]
    children = [(name, shape(child)) for name, child in node.children()]
    return type(node).__name__, str(node.coord), own, children


def test_trees_and_places_are_the_same() -> None:
    text = TEXT.replace(" ", "\n").replace('"a\nb"', '"a b"')
    assert shape(parse_lines(text)) == shape(CParser().parse(text))
    assert shape(parse_lines(TEXT)) == shape(CParser().parse(TEXT))
    # What is remembered of a line does not change: a type here is none there.
    assert shape(parse_lines("void\nf ( int T )\n{ T\n; }")) == shape(
        CParser().parse("void\nf ( int T )\n{ T\n; }")
    )


@pytest.mark.parametrize("text", ["int\na\n=\n`\n;", "int\na\n=\n'\n;", "int\na\n(\n;\n"])
def test_errors_are_at_the_same_place(text: str) -> None:
    with pytest.raises(ParseError) as here:
        parse_lines(text)
    with pytest.raises(ParseError) as there:
        CParser().parse(text)
    assert str(here.value) == str(there.value)


def test_an_error_that_pycparser_does_not_place() -> None:
    with pytest.raises(ParseError, match=r"^:6:1: Invalid expression"):
        parse_lines("typedef int T;\nint a\n=\n(\nT\n-\n1\n)\n;")
