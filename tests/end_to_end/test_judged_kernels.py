"""`cutune check`: right kernels are the same as their reference, wrong ones are not, and why."""

from __future__ import annotations

import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from cutune.cli.main import main
from tests.support.json_documents import documented, paths
from tests.support.short_headers import with_all_headers

pytestmark = pytest.mark.nvcc

FOLDER = Path(__file__).parents[1] / "corpus" / "checked"
CASE = re.compile(r"^ +case (\d+):.*// (.+)$", re.MULTILINE)
#: How the kernels of the corpus are judged, by their numbers.
EXPECTED = dict(CASE.findall((FOLDER / "kernels.cu").read_text()))

SUMS = """\
#include <cuda_fp16.h>
// Right in blocks of 32 threads alone.
__global__ void sums(const __half *a, double *out, const int *of, float scale, int n) {
    double sum = 0;
    const __half *row = a + of[blockIdx.x] * 5;
    for (int i = threadIdx.x; i < 5; i += blockDim.x) sum += __half2float(row[i]);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (threadIdx.x == 0) out[blockIdx.x] = sum * scale * 32 / blockDim.x;
}
"""
REFERENCE = "def sums(a, of, scale): return a[of].astype(float).sum(axis=1) * scale"


def judged(capsys: pytest.CaptureFixture[str], status: int, *words: str) -> dict[str, Any]:
    assert main(["check", *words, "--json", "-q"]) == status
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["same"] == (status == 0)
    return document


@pytest.fixture(scope="module")
def reasons() -> dict[str, list[str]]:
    """What is said of each kernel of the corpus, at the sizes at which it is wrong."""
    words = [str(FOLDER / "kernels.cu"), "--against", str(FOLDER / "reference.cu"), "--json", "-q"]
    with with_all_headers(), redirect_stdout(StringIO()) as printed:
        assert main(["check", *words, "--vary", f"way={','.join(EXPECTED)}", "--vary", "n=33,300"])
    found: dict[str, list[str]] = {name: [] for name in EXPECTED}
    for one in json.loads(printed.getvalue())["sizes"]:
        codes = [finding["code"] for finding in one["findings"]]
        if one["result"] != "same":
            said = f"{one['result']} {one['reason']} {codes}"
            found[str(one["values"]["way"])].append(said)
    return found


@pytest.mark.long
@pytest.mark.parametrize(("kernel", "expected"), EXPECTED.items())
def test_kernels_are_judged(reasons: dict[str, list[str]], kernel: str, expected: str) -> None:
    if expected == "right":
        assert reasons[kernel] == []
    else:
        assert any(expected in one for one in reasons[kernel]), reasons[kernel]


def test_corpus_is_large() -> None:
    right = sum(expected == "right" for expected in EXPECTED.values())
    assert right >= 10 and len(EXPECTED) - right >= 20


@pytest.mark.long
@pytest.mark.usefixtures("all_headers")
def test_bare_kernel_in_blocks_against_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sums.cu").write_text(SUMS)
    (tmp_path / "sums.py").write_text(REFERENCE)
    files = (str(tmp_path / "sums.cu"), "--against", f"{tmp_path / 'sums.py'}:sums")
    launch = ("--grid", "n", "--block", "32", "--block", "64", "--vary", "n=1,7")
    arrays = ("--array", "a=n,5", "--array", "out=n", "--array", "of=n", "--values", "of=0..n-1")
    document = judged(capsys, 1, *files, *launch, *arrays)
    found = {(one["values"]["n"], one["block"][0]): one["result"] for one in document["sizes"]}
    assert found == {(1, 32): "same", (1, 64): "differs", (7, 32): "same", (7, 64): "differs"}
    listed = documented("check")
    # Findings are those of `run`.
    named = {path for path in paths(document, listed) if "findings[]" not in path}
    assert named == {path for path in listed if path in named or not path.endswith(".*")}


@pytest.mark.long
def test_a_reference_that_fails_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "counts.cu").write_text(
        "__global__ void count(const int *a, int *all) { atomicAdd(all + a[threadIdx.x], 1); }\n"
        'extern "C" void nothing(const int *a, int *found, int n) {}\n'
        'extern "C" void counts(const int *a, int *found, int n) { count<<<1, n>>>(a, found); }\n'
    )
    against = (str(tmp_path / "counts.cu"), "--against", str(tmp_path / "counts.cu"))
    files = (*against, "--function", "counts")
    assert main(["check", *files, "--vary", "n=8", "-q"]) == 1
    said = capsys.readouterr()
    assert "left out: the reference fails" in said.out and "--values" in said.err
    arrays = ("--values", "a=0..9", "--array", "found=10")
    assert main(["check", *files, "--vary", "n=8,64", "-q", *arrays]) == 0
    assert "n=64  same, bit for bit, 6 contents" in capsys.readouterr().out
    # Two that do nothing agree on nothing.
    assert main(["check", *against, "--function", "nothing", "--vary", "n=8", "-q"]) == 1
    assert "the reference writes to no array" in capsys.readouterr().out
