"""PTX: the reader, what prepares it for the emulated machine, and the proof of each entry."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cutune.core.diagnostics import CutuneError
from cutune.emulator.assemble import assemble
from cutune.proof.compiled import prove_entries
from cutune.ptx.types import PtxError
from cutune.source.syntax.tokens import word_set
from cutune.toolchain.nvcc import find_nvcc
from tests.fuzzing.reader import ROOT, Reader
from tests.support.program_texts import PTX_MODULE

PIECES = sorted(
    word_set(
        r"""
    .visible .entry .func .param .u64 .u32 .s32 .b32 .b64 .f32 .f64 .pred .reg .shared .global
    .const .local .align 4 8 16 .b8 a[128] = { } ( ) ; , [ ] %r1 %rd1 %f1 %p1 %r999 %rd<9>; @%p1
    @!%p1 bra $L_end: $L_end ret; exit; trap; bar.sync 0; mov.u32 %tid.x %ctaid.x %ntid.x
    %nctaid.x ld.global.f32 st.global.v4.f32 ld.param.u64 cvta.to.global.u64 add.s32 mul.wide.s32
    mad.lo.s32 setp.ge.s32 selp.b32 shfl.sync.down.b32 vote.sync.ballot.b32 atom.global.add.f32
    atom.shared.cas.b32 red cvt.rn.f32.s32 rcp.rn.f32 div.rn.f32 sqrt sin.approx.f32 bfe.u32
    prmt.b32 lop3.b32 popc brx.idx call.uni call ld.shared.u32 st.shared.u32 fma.rn.f32 membar.gl;
    0f3F800000 0d3FF0000000000000 0f -1 1e999 99999999999999999999 0x7fffffff 0 31 .version 8.0
    .target sm_80 .address_size 64 .loc 1 .file .extern .weak .maxntid .reqntid .minnctapersm
    .pragma tex.2d mma.sync wmma ldmatrix cp.async mbarrier match activemask nanosleep clock64
    %clock64 %laneid %warpid vprintf .alias
    """
    )
)
#: Kernels whose PTX is mutated.
SOURCES = ("tests/corpus/kernels/*.cu", "samples/polybench/gemm.cu")
_PARTS = re.compile(r"^(?=\.(?:visible|weak|entry|func|extern \.func))", re.MULTILINE)


def check(data: bytes) -> None:
    """Prepare the module, and prove its entries."""
    text = data.decode("latin-1")
    try:
        assemble(text)
    except PtxError as error:
        assert error.reason
    try:
        prove_entries([text], lambda _: True)
    except CutuneError as error:
        error.diagnostic.render()


def seeds() -> Iterator[bytes]:
    """A small module, and each function of compiled ones that is understood by itself."""
    yield PTX_MODULE.encode()
    try:
        nvcc = str(find_nvcc().path)
    except CutuneError:  # no compiler: the small one has to do
        return
    # One at a time: who takes a few seeds compiles no more than these need.
    for path in sorted(path for pattern in SOURCES for path in ROOT.glob(pattern)):
        yield from _parts(_compiled(nvcc, path))


def _compiled(nvcc: str, path: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "a.ptx"
        words = [nvcc, "-ptx", "-arch=compute_80", str(path), "-o", str(output)]
        subprocess.run(words, check=True, capture_output=True)
        return output.read_text("latin-1")


def _parts(text: str) -> Iterator[bytes]:
    head, *functions = _PARTS.split(text)
    for function in functions:
        part = f"{head}{function}"
        try:
            assemble(part)
        except PtxError:  # it calls another one
            continue
        if len(part) <= READER.most_bytes:
            yield part.encode("latin-1")


READER = Reader(check, seeds, PIECES)
