"""Whatever the text: nothing is lost, nothing hangs, nothing is raised."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark

from cutune.core.reading import read_source
from cutune.core.source import Edit, Source, Span, apply_edits
from cutune.proof.analysis.analyze import analyze
from cutune.source.syntax.parse import parse
from cutune.source.syntax.tokens import TRIVIA, Token, lex
from cutune.source.unit.unit_texts import UnitTexts

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("samples/**/*.cu"), *ROOT.glob("tests/golden/**/*.cu")])
PIECES = """
<<< >>> ( ) { } [ ] < > ; , # \\ " ' R"( )" /* */ // #if #else #endif #define K __global__ void k
int i = blockIdx.x * blockDim.x + threadIdx.x if (i < n) a[i] return for template <class T> :: . ->
? : && || ! ++ += 1 0x 1.f n float & __shared__ struct S
"""
SOUP = st.lists(st.sampled_from([*PIECES.split(), "\n", "\r\n"]), max_size=60).map(" ".join)


def joined(text: str) -> str:
    return "".join(token.text for token in lex(text))


@cache
def grammar() -> re.Pattern[str]:
    """The terminals of the grammar in their order, and nothing else."""
    read = Lark.open(str(ROOT / "grammars" / "cuda.lark"), parser="lalr", keep_all_tokens=True)
    terminals = sorted(read.terminals, key=lambda terminal: -terminal.priority)
    return re.compile("|".join(f"(?P<{t.name}>{t.pattern.to_regexp()})" for t in terminals))


def check(text: str) -> None:
    """The quick ways give the tokens that the grammar gives, piece by piece."""
    expected, start = [], 0
    while start < len(text):
        match = grammar().match(text, start)
        assert match is not None
        expected.append(Token(match.lastgroup or "", match[0], start))
        start = match.end()
    assert list(lex(text)) == expected
    assert joined(text) == text
    for dropped in (TRIVIA, frozenset({"SPACE"}), TRIVIA | {"DIRECTIVE"}):
        assert list(lex(text, dropped)) == [t for t in expected if t.kind not in dropped]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files(path: Path) -> None:
    check(read_source(path).text)


@given(st.text("\n\r \t\f\v\\#/*ab\"'uRL8(){};.0\xef\xbb\xbf<>", max_size=40))
def test_letters(text: str) -> None:
    check(text)


@given(st.binary(max_size=300))
def test_bytes(data: bytes) -> None:
    text = data.decode("latin-1")
    check(text)
    assert Source("a.cu", text).encode() == data


@settings(deadline=None)
@given(SOUP)
def test_soup(text: str) -> None:
    check(text)
    analyze(UnitTexts.read(parse(Source("soup.cu", text))))


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(FILES), st.data())
def test_mutated_files(path: Path, data: st.DataObject) -> None:
    """A file with a piece removed, doubled or put elsewhere ends in a program or a diagnostic."""
    text = read_source(path).text
    first, second = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    second = min(second, first + 200)
    place = data.draw(st.integers(0, len(text)))
    kind = data.draw(st.sampled_from(["remove", "insert", "replace"]))
    if kind == "remove":
        mutated = text[:first] + text[second:]
    elif kind == "insert":
        mutated = text[:place] + text[first:second] + text[place:]
    else:
        mutated = text[:first] + data.draw(SOUP) + text[second:]
    check(mutated)
    program = analyze(UnitTexts.read(parse(Source("mutated.cu", mutated))))
    for diagnostic in program.diagnostics:
        diagnostic.render()


@given(SOUP.filter(bool), st.data())
def test_edits_can_be_undone(text: str, data: st.DataObject) -> None:
    source = Source("a.cu", text)
    assert apply_edits(source, ()) == source
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=8)))
    spans = [Span(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    edits = [Edit(span, data.draw(st.text("ab\n", max_size=4))) for span in spans]
    changed = apply_edits(source, edits)
    assert apply_edits(source, reversed(edits)) == changed
    shift, back = 0, []
    for edit in edits:
        start = edit.span.start + shift
        back.append(Edit(Span(start, start + len(edit.text)), source[edit.span]))
        shift += len(edit.text) - (edit.span.end - edit.span.start)
    assert apply_edits(changed, back) == source
