"""Annotations: each line of an input stands behind `#pragma` in a program with a kernel to tune."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cutune.core.diagnostics import CutuneError
from cutune.core.source import Source
from cutune.source.syntax.tokens import word_set
from tests.fuzzing.reader import ROOT, Reader
from tests.fuzzing.readers.cuda import read

BEFORE = """\
#define TILE 16
__global__ void add(int n, int m, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < m) x[j * n + i] += 1;
}
int main(int argc, char **argv) {
    int n = argc, m = 2 * argc, mode = 0, step = 4;
    float *x = nullptr;
"""
AFTER = """\
    int block = 32;
    add<<<dim3((n + block - 1) / block, (m + 7) / 8), dim3(block, 8)>>>(n, m, x);
}
"""
_PRAGMA = re.compile(rb"^[ \t]*#[ \t]*pragma (.*(?:\\\n.*)*)$", re.MULTILINE)
PIECES = sorted(
    word_set(
        r"""
    cutune kernel add block( x: y: z: 8..1024 32, 64 ) data( n m p->n p.n where( x * y <= 1024
    grid( ceil(n / x), ceil(m / y) tune( mode: step: block: 0, 1, 2 0..15 region begin end ignore
    shared( copies warps stride kernel_info_size_param_idx_add kernel_info_dim_add = 1 2 3 and or
    not == != <= >= < > + - * / % ( ) , : ; .. . "a" 'a' 1e999 1e-999 99999999999999999999 0x10 -1
    0 1/0 {} [ ] min( max( floor( pure assume( given( values( TILE macro( constant( T<int> ::a
    a::b
    """
    )
)


def check(data: bytes) -> None:
    """Analyse a program with these annotations."""
    lines = data.decode("latin-1").splitlines()
    pragmas = "".join(f"#pragma {line}\n" for line in lines)
    for text in (f"{BEFORE}{pragmas}{AFTER}", f"{pragmas}{BEFORE}{AFTER}"):
        try:
            read(Source("fuzz.cu", text))
        except CutuneError as error:
            error.diagnostic.render()


def seeds() -> Iterator[bytes]:
    """All annotations of the samples and golden files, each alone, and some together."""
    yield b"cutune tune(mode: 0, 1, 2, 3) data(n)\ncutune region begin\ncutune region end"
    texts = [
        path.read_bytes()
        for pattern in ("tests/golden/**/*.cu", "samples/**/*.cu", "tests/corpus/programs/*.cu")
        for path in sorted(ROOT.glob(pattern))
    ]
    found = dict.fromkeys(one for text in texts for one in _PRAGMA.findall(text))
    yield from found
    together = list(found)
    yield from (b"\n".join(together[i : i + 4]) for i in range(0, len(together), 4))


READER = Reader(check, seeds, PIECES, 1_000)
