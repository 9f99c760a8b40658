"""One kernel that CuPy compiles, and its arrays, as the hostile scripts launch it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

TEXT = f'extern "C" {{\n{Path(sys.argv[1]).read_text()}\n}}\n'
BLOCK, GRID, N, TWO = (32,), (3125,), 100_000, np.float32(2)


def ones(count: int = N) -> Any:
    return cp.asarray(np.ones(count, np.float32))


def loaded(text: str = TEXT, **named: Any) -> Any:
    return cp.RawKernel(text, "saxpy", **named)


def called(
    kernel: Any, n: Any = N, a: Any = TWO, grid: Any = GRID, block: Any = BLOCK, **named: Any
) -> np.ndarray[Any, Any]:
    y, x = ones(), cp.asarray(np.arange(N, dtype=np.float32))
    kernel(grid, block, (n, a, x, y), **named)
    return np.asarray(y.get())
