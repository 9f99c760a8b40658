"""How operations_h200.npz was made.

python -m tests.recorded.record_operations prepare FOLDER    # needs ptxas and nvcc
FOLDER/record FOLDER/operations.cubin FOLDER/inputs FOLDER/outputs     # on the GPU
python -m tests.recorded.record_operations save FOLDER
"""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.support.emulated_operations import THREADS, approximate_operations, inputs, operations
from tests.support.ptx_statements import HEADER

HERE = Path(__file__).parent


def prepare(folder: Path) -> None:
    """Write the kernels as a cubin, their inputs, and the program that runs them."""
    chosen = operations() + approximate_operations()
    text = HEADER.replace("sm_80", "sm_90")
    text += "".join(each.kernel(f"operation_{i}") for i, each in enumerate(chosen))
    (folder / "operations.ptx").write_text(text, encoding="utf-8")
    words = [inputs(i, each).tobytes() for i, each in enumerate(chosen)]
    (folder / "inputs").write_bytes(struct.pack("<II", len(chosen), THREADS) + b"".join(words))
    ptx, cubin = folder / "operations.ptx", folder / "operations.cubin"
    subprocess.run(["ptxas", "-arch=sm_90", ptx, "-o", cubin], check=True)
    source = HERE / "record_operations.cu"
    subprocess.run(["nvcc", "-arch=sm_90", source, "-o", folder / "record"], check=True)


def save(folder: Path) -> None:
    """Store the outputs with the statements that gave them."""
    chosen = operations() + approximate_operations()
    outputs = np.fromfile(folder / "outputs", np.uint64).reshape(len(chosen), THREADS)
    statements = np.array([each.statements for each in chosen])
    np.savez_compressed(HERE / "operations_h200.npz", statements=statements, outputs=outputs)


if __name__ == "__main__":
    {"prepare": prepare, "save": save}[sys.argv[1]](Path(sys.argv[2]))
