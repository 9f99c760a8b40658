"""CUDA sources, through the whole front end with textual macros, the report and both rewrites."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import asdict
from zlib import crc32

from rich.console import Console

from cutune.cli.report.programs import (
    print_programs,
    print_suggestions,
    suggestions_of,
    to_json,
)
from cutune.core.diagnostics import CutuneError
from cutune.core.source import Source
from cutune.passes.instrument_launches import InstrumentLaunches
from cutune.passes.replace_launches import ReplaceLaunches
from cutune.proof.analysis.analyze import analyze
from cutune.source.program import Program
from cutune.source.rewrite.pipeline import TranslationUnit, run_passes
from cutune.source.syntax.parse import parse
from cutune.source.syntax.tokens import lex, word_set
from cutune.source.unit.unit_texts import UnitTexts
from tests.fuzzing.reader import ROOT, Reader, short

#: What CUDA sources are made of, and what may confuse whoever reads them.
PIECES = sorted(
    word_set(
        r"""
    <<< >>> << < >> > <<<1,1>>>(); ( ) { } [ ] ; , : ? . -> :: = == != && || ! ~ ++ -- += <<= # ##
    " ' R"( )" R"x( L' u8" /* */ // \\ #if #endif #else #elif #define #pragma cutune ignore region
    kernel block(x: data( __global__ __device__ __shared__ template template<typename <T> <int,4>
    __launch_bounds__( 128, dim3 const static extern typedef threadIdx.x
    blockIdx.x*blockDim.x+threadIdx.x gridDim blockDim.y __syncthreads(); if( if(i<n) else for(;;)
    while( do switch case default: return break; continue; goto namespace struct class enum union
    operator operator() lambda [=](int\ i){ auto asm volatile int unsigned long float size_t using
    sizeof( 0 1 0x 08 1.f 1e 99999999999999999999 -1 n i a[i] *p &p a.b a->b (int) {}
    static_cast<int>( alignas( decltype( constexpr if constexpr( __device__\ int
    """
    )
)
SPECIAL = (
    "\xef\xbb\xbf",
    "\xff",
    "\x00",
    "\x01",
    "\x7f",
    "\r",
    "\r\n",
    "\t",
    "\f",
    "\v",
    " ",
    "\n",
)
LINES = ("\n#", "\\\n", "\n#pragma cutune ", '\n#include "a.h"\n', "__global__ void k(int n) {")


_REPLACED_OF = 8


def check(data: bytes) -> None:
    """Put one source through the front end; a promise that is broken is an AssertionError."""
    text = data.decode("latin-1")
    assert "".join(token.text for token in lex(text)) == text, "tokens joined are not the text"
    try:
        _rewrite(read(Source("fuzz.cu", text)))
    except CutuneError as error:
        error.diagnostic.render()


def read(source: Source) -> Program:
    """Analyse a source, and write what is said of it.

    Raises:
        CutuneError: it cannot be analysed.
    """
    program = analyze(UnitTexts.read(parse(source)))
    for diagnostic in program.diagnostics:
        diagnostic.render()
    to_json([program])
    [asdict(one) for one in suggestions_of([program])]
    console = Console(file=io.StringIO(), force_terminal=False)
    print_programs([program], console)
    print_suggestions([program], console)
    return program


def _rewrite(program: Program) -> None:
    if any(diagnostic.is_error for diagnostic in program.diagnostics):
        return
    text = program.source.text
    sites = program.tunable_launches
    routines = tuple((site.id, "cutune_select_any") for site in sites)
    # Most of the time of the second goes into headers, which are the same for all.
    is_replaced = crc32(text.encode("latin-1")) % _REPLACED_OF == 0
    replacing = (ReplaceLaunches(routines=routines),) if is_replaced else ()
    for step in (InstrumentLaunches(), *replacing):
        unit = run_passes((step,), TranslationUnit(program))
        rewritten = unit.rewritten().text
        assert sites or rewritten == text, "nothing is tunable, but the text has changed"
        if rewritten != text:
            _, _, behind = rewritten.partition("#line 1 ")
            assert behind.count("\n") == text.count("\n") + 1, "lines were added or lost"


def seeds() -> Iterator[bytes]:
    """The samples, and the golden files."""
    for pattern in ("tests/golden/inspect/*.cu", "tests/golden/*/*.cu", "samples/**/*.cu"):
        yield from short(ROOT.glob(pattern), READER.most_bytes)


READER = Reader(check, seeds, (*PIECES, *SPECIAL, *LINES))
