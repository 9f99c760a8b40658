"""The command that `tune` names where a launch is refused: followed, it has a line that helps."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.support.cutune_runs import QUICK, QUICK_FLAGS, cutune
from tests.support.program_texts import SUM_OF_ROW

pytestmark = pytest.mark.nvcc

#: The launch stands in a header, its kernel in another source; neither compiles without options.
FILES = {
    "inc/go.h": "inline void go(int n, float *a) { total<<<n, SIZE>>>(n, a); }\n",
    "src/total.cu": SUM_OF_ROW.replace("NAME", "total"),
    "src/main.cu": """
__global__ void total(int n, float *a);
#include "go.h"
int main() {
    int n = 128;
    float *a;
    cudaMalloc(&a, n * n * sizeof(float));
    cudaMemset(a, 0, n * n * sizeof(float));
    go(n, a);
    return cudaDeviceSynchronize() != cudaSuccess;
}
""",
    "src/Makefile": f"""NVCC ?= nvcc
app: main.o total.o
\t$(NVCC) {QUICK_FLAGS[1]} $^ -o $@
%.o: %.cu
\t$(NVCC) {" ".join(QUICK_FLAGS)} -DSIZE=256 -I ../inc -c $< -o $@
""",
}


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ("src/main.cu", "src/total.cu", "-DSIZE=256", "-Iinc", "--run", "./{program}", *QUICK),
        ("--make", "make -C src", "--run", "src/app", "--variants=none"),
    ],
    ids=["sources", "project"],
)
def test_the_command_that_is_named_has_a_line_that_helps(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    done = cutune("tune", *words)
    assert done.returncode == 1
    (command,) = re.findall(r"^what would help.*?: (.*)", done.stdout + done.stderr, re.MULTILINE)
    moved, _, asked = command.rpartition(" && ")
    monkeypatch.chdir(Path(*shlex.split(moved)[1:]))
    followed = cutune(*shlex.split(asked)[1:])
    assert followed.returncode == 0, followed.stderr
    assert "#pragma cutune kernel total associative" in followed.stdout


@pytest.mark.long
def test_sources_of_a_project_are_not_said_to_be_tried(tmp_path: Path) -> None:
    """They are those of a kernel and its launch: no program need come of these alone."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    place = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    kernel = f"__global__ void twice(int n, float *a) {{ {place} if (i < n) a[i] *= 2; }}\n"
    main = tmp_path / "src" / "main.cu"
    text, head = main.read_text(), "int main("
    assert text.count(head) == 1 and text.count("cudaMalloc") >= 1
    launch = "float *own; cudaMalloc(&own, 4096); twice<<<8, 128>>>(1000, own);\n"
    before, after = text.split(head)
    at = after.index("{") + 1
    main.write_text(f"{before}{kernel}{head}{after[:at]}{launch}{after[at:]}")
    words = ("tune", "--make", "make -C src", "--run", "src/app", "--variants=none", "-q")
    done = cutune(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\nwhat would help: cd " in done.stdout
