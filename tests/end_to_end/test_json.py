"""Documents that verbs print have the keys that docs/json.md lists, and no others."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cutune.cli.options import parser
from tests.support import guide_commands
from tests.support.cutune_runs import QUICK, cutune
from tests.support.json_documents import PAGE, documented, paths
from tests.support.shell_programs import script

pytestmark = pytest.mark.nvcc
HEAD = "#include <cstdio>\n#include <cstdlib>\n"
#: One kernel is tuned, one is refused, and one has a true reason to be, which is denied.
PROGRAM = f"""{HEAD}
template <typename T> __global__ void scale(int n, T *a, T x)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] *= x;
}}
__global__ void tile(int n, float *a)
{{
    __shared__ float all[64];
    all[threadIdx.x] = a[threadIdx.x];
    a[threadIdx.x] = all[63 - threadIdx.x] + n;
}}
#pragma cutune kernel shaped block(x: 32, 64, 128) grid(ceil(n / x))
__global__ void shaped(int n, float *a)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] += threadIdx.x;
}}
int main(int, char **words)
{{
    int n = atoi(words[1]);
    float *a, last;
    cudaMalloc(&a, n * sizeof(float));
    cudaMemset(a, 0, n * sizeof(float));
    scale<<<(n + 63) / 64, 64>>>(n, a, 2.0f);
    tile<<<1, 64>>>(n, a);
    shaped<<<(n + 63) / 64, 64>>>(n, a);
    cudaMemcpy(&last, a + n - 1, sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g\\n", last);
}}
"""
#: It reads what nobody wrote.
CHECKED = f"""{HEAD}
__global__ void copy(float *a, float *b) {{ b[threadIdx.x] = a[threadIdx.x + 1]; }}
int main()
{{
    float *a;
    cudaMalloc(&a, 64 * sizeof(float));
    copy<<<1, 32>>>(a, a + 32);
    return cudaDeviceSynchronize();
}}
"""
RUN = ("--run", "{program} {n}", "--vary", "n=200,300")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("json")
    (folder / "app.cu").write_text(PROGRAM)
    (folder / "checked.cu").write_text(CHECKED)
    parameters = next(
        b for b in guide_commands.blocks(guide_commands.DOCS / "guide/parameters.md") if b.title
    )
    (folder / "parameters.cu").write_text(parameters.text)
    script(folder / "one", "echo 1")
    script(folder / "two", "echo 2")
    return folder


def printed(folder: Path, status: int, *words: str) -> dict[str, Any]:
    """The one document that is printed."""
    done = cutune(*words, cwd=folder, keeps=True)
    assert done.returncode == status, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def has_the_keys(verb: str, *documents: dict[str, Any]) -> None:
    listed = documented(verb)
    found = {path for document in documents for path in paths(document, listed)}
    # A program need not have all that is named by names of its own.
    assert found == {path for path in listed if path in found or not path.endswith(".*")}
    (schema,) = {document["schema"] for document in documents}
    assert f"`{schema}`" in PAGE.read_text(encoding="utf-8")


def test_inspect(folder: Path) -> None:
    words = ("inspect", "app.cu", "parameters.cu", "--json", "--suggest")
    document = printed(folder, 0, *words)
    has_the_keys("inspect", document)
    verdicts = [(one["kernel"], one["verdict"]) for one in document["launches"]]
    assert ("tile", "refused") in verdicts and ("scale", "tunable") in verdicts


def test_tune_fit_and_select(folder: Path) -> None:
    tuned = printed(folder, 0, "tune", "app.cu", *RUN, *QUICK, "--json", "-q")
    has_the_keys("tune", tuned)
    outcomes = {one["kernel"]: (one["outcome"], one["code"]) for one in tuned["launches"]}
    assert outcomes["tile"] == ("refused", "CT211")
    assert tuned["written"] == ["app.tuned.cu"]
    again = printed(folder, 0, "tune", "app.cu", *RUN, *QUICK, "--json", "-q")
    assert again == tuned
    has_the_keys("fit", printed(folder, 0, "fit", "--json", "-q"))
    has_the_keys("select", printed(folder, 0, "select", "scale", "--all-sizes", "4096", "--json"))


@pytest.mark.long
def test_nothing_tuned_is_a_document_too(folder: Path) -> None:
    (folder / "refused.cu").write_text(PROGRAM.replace("int i =", "a[threadIdx.x] = n; int i ="))
    text = (folder / "refused.cu").read_text().replace("#pragma cutune", "// ")
    (folder / "refused.cu").write_text(text)
    words = ("tune", "refused.cu", *RUN, *QUICK, "--workspace", "of refused", "--json", "-q")
    document = printed(folder, 1, *words)
    assert {one["outcome"] for one in document["launches"]} == {"refused"}
    assert document["choices"] == document["written"] == []


def test_verify(folder: Path) -> None:
    run = ("--run", "./{program} {n}", "--vary", "n=1,2", "--json")
    same = printed(folder, 0, "verify", "./one", "./one", *run)
    different = printed(folder, 1, "verify", "./one", "./two", *run)
    has_the_keys("verify", same, different)
    assert [one["same"] for one in different["runs"]] == [False, False]
    assert same["runs"][1] == {"values": {"n": "2"}, "same": True, "reason": None}


def test_shake(folder: Path) -> None:
    words = ("--run", "{program} {n}", "--vary", "n=300", "--json", "-q", *QUICK)
    different = printed(folder, 1, "shake", "app.cu", "--seeds", "3", *words)
    has_the_keys("shake", different)
    assert (different["launches"], different["tunable"]) == (3, 2)
    assert "cutune shake app.cu" in different["difference"]["again"]


def test_run(folder: Path) -> None:
    checked = printed(folder, 1, "run", "--json", "--check", "--trace", "checked.cu")
    has_the_keys("run", checked)


def test_doctor_and_device(folder: Path) -> None:
    has_the_keys("doctor", printed(folder, 0, "doctor", "--json"))
    has_the_keys("device", printed(folder, 0, "device", "h200", "--json"))


def test_every_verb_that_has_the_option_is_on_the_page() -> None:
    """`evaluate --json FILE` writes a file, whose form belongs to `evaluate --from`."""
    having = {name for name, verb in parser().verbs().items() if "--json" in verb.options}
    listed = {*re.findall(r"^## (\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)}
    assert having - {"evaluate"} == listed
