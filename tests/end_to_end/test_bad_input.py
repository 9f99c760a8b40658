"""Bad input ends in one diagnostic and status 1 or 2, and leaves no half-written file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cutune.cli.main import sizes_to_show, varied_values
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.workspace import Workspace
from cutune.model.fit.fitted_model import SCHEMA
from tests.support.cutune_runs import QUICK, SAMPLES, cutune

GEMM = SAMPLES / "gemm.cu"


def refused(done: subprocess.CompletedProcess[str], code: str, status: int = 1) -> None:
    """Exactly one error, of that code, and no traceback."""
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    errors = re.findall(r"error: .*\[(CT\d+)\]", done.stderr)
    assert errors == [code], done.stderr


@pytest.mark.parametrize("verb", ["inspect", "instrument", "tune", "emit", "collect"])
def test_missing_file(verb: str, tmp_path: Path) -> None:
    refused(cutune(verb, "absent.cu", cwd=tmp_path), "CT001")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        *(["inspect", "{}"], ["run", "{}"], ["device", "{}"], ["fit", "--workspace", "{}"]),
        *(["select", "k", "--workspace", "{}"], ["verify", "{}", "{}", "--run", "{{program}}"]),
        *(["inspect", str(GEMM), "--space", "{}"], ["report", "--workspace", "{}"]),
    ],
    ids=" ".join,
)
def test_a_path_that_the_system_refuses(words: list[str], tmp_path: Path) -> None:
    """As it does one in a folder of another user, whichever step of a verb asks what lies there."""
    refused(cutune(*(word.format("x" * 300) for word in words), cwd=tmp_path), "CT001")


@pytest.mark.parametrize("encoding", ["utf-8:strict", "ascii:strict"])
def test_a_name_that_is_no_text(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"gr\xf6\xdfe \xc3\x9f.cu")
    path.write_text("__global__ void k(int n) {}\nvoid run() { k<<<1, 32>>>(1); }\n")
    words = [sys.executable, "-m", "cutune", "inspect", path.name, *QUICK]
    variables = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(words, cwd=tmp_path, env=variables, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    shown = os.fsencode(path) if "utf" in encoding else b"gr\\udcf6\\udcdfe \\xdf.cu"
    assert os.path.basename(shown) in done.stdout


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    refused(cutune("inspect", tmp_path), "CT028")
    refused(cutune("tune", tmp_path), "CT001")


def test_a_file_that_is_not_cuda(tmp_path: Path) -> None:
    text = tmp_path / "letter.txt"
    text.write_text("Dear all,\n\nthis is no program.\n")
    refused(cutune("inspect", text), "CT102")
    refused(cutune("tune", text, cwd=tmp_path), "CT102")
    assert list(tmp_path.iterdir()) == [text]


@pytest.mark.parametrize("content", [b"\x00\xff" * 300, b"", b"\n" * 1000])
def test_bytes_that_are_no_text(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bytes.cu"
    path.write_bytes(content)
    refused(cutune("inspect", path, *QUICK), "CT102")


@pytest.mark.parametrize("text", ["#include <cmath>\n", "int main() { return 0; }\r\n"])
def test_a_file_without_kernels_comes_back(text: str, tmp_path: Path) -> None:
    path = tmp_path / "host.cu"
    path.write_bytes(text.encode())
    done = cutune("instrument", path, *QUICK, "-o", tmp_path / "out.cu")
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "out.cu").read_bytes() == text.encode()
    done = cutune("inspect", path, path, *QUICK)
    assert (done.returncode, done.stdout) == (0, "0 launches, 0 tunable\n")
    assert done.stderr.count("note: no kernel and no launch here") == 1  # it is one file


def test_an_unbalanced_brace_is_shown_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "open.cu"
    path.write_text(GEMM.read_text().replace("if (i < NI && j < NJ) {", "if (i < NI && j < NJ) {{"))
    done = cutune("inspect", path, *QUICK)
    refused(done, "CT101")
    assert re.search(rf"^{re.escape(str(path))}:\d+:\d+: error: ", done.stderr, re.MULTILINE)


def test_nothing_to_tune(tmp_path: Path) -> None:
    path = tmp_path / "shared.cu"
    path.write_text(
        "__global__ void k(float *a) { __shared__ float s[32]; s[threadIdx.x] = a[threadIdx.x];"
        " __syncthreads(); a[threadIdx.x] = s[31 - threadIdx.x]; }\n"
        "int main() { float *a = 0; k<<<1, 32>>>(a); }\n"
    )
    refused(cutune("tune", path, *QUICK, cwd=tmp_path), "CT415")


def test_emit_says_what_to_run_before(tmp_path: Path) -> None:
    """Models of other sources are not its own."""
    path = tmp_path / "copy.cu"
    path.write_text(
        "__global__ void k(float *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < n) a[i] = i; }\nint main() { float *a = 0; k<<<1, 32>>>(a, 32); }\n"
    )
    folder = tmp_path / ".cutune"
    folder.mkdir()
    (folder / "models.json").write_text(json.dumps({"schema": SCHEMA, "models": []}))
    done = cutune("emit", path, *QUICK)
    refused(done, "CT503")
    assert f"run first: cutune tune {path} --run" in done.stderr
    assert not path.with_name("copy.tuned.cu").exists()


def test_options_of_an_earlier_command_are_named(tmp_path: Path) -> None:
    path = tmp_path / "app.cu"
    path.write_text("#ifndef WIDTH\n#error no width\n#endif\n")
    workspace = Workspace(tmp_path / ".cutune").create()
    workspace.note_command(["tune", str(path)], [str(path)], ["-DWIDTH=8"])
    done = cutune("emit", path, *QUICK)
    refused(done, "CT701")
    head, *_ = done.stderr.splitlines()
    assert head.endswith("; an earlier command compiled it with: -DWIDTH=8 [CT701]")
    workspace.commands.unlink()
    workspace.commands.mkdir()
    # What cannot be read does not hide what is wrong with the source.
    done = cutune("emit", path, *QUICK)
    refused(done, "CT701")
    assert "an earlier command" not in done.stderr


def test_fit_of_a_file_that_is_not_there(tmp_path: Path) -> None:
    refused(cutune("fit", "absent.cu", cwd=tmp_path), "CT001")


def test_verify_names_what_it_wants_instead_of_a_folder(tmp_path: Path) -> None:
    done = cutune("verify", GEMM, tmp_path)
    refused(done, "CT023", 2)
    assert "name the program in it" in done.stderr and "cutune verify --help" in done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--all-sizes", "many"], "CT008"),
        (["--all-sizes", "-3"], "CT008"),
        (["n=12.5"], "CT008"),
        (["1024"], "CT008"),
    ],
)
def test_a_size_that_is_no_number(words: list[str], code: str, tmp_path: Path) -> None:
    refused(cutune("select", "k", *words, cwd=tmp_path), code)


def test_a_stage_that_was_left_out(tmp_path: Path) -> None:
    done = cutune("select", "gemm_kernel", "--all-sizes", "1024", cwd=tmp_path)
    refused(done, "CT009")
    assert "run first: cutune tune" in done.stderr
    refused(cutune("fit", cwd=tmp_path), "CT009")


def test_a_kernel_that_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "models.json").write_text(f'{{"schema": "{SCHEMA}", "models": []}}')
    refused(cutune("select", "absent", "--workspace", tmp_path, "--all-sizes=8"), "CT510")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "cutune-models-99"}'])
def test_a_document_that_is_something_else(text: str, tmp_path: Path) -> None:
    (tmp_path / "models.json").write_text(text)
    refused(cutune("select", "k", "--workspace", tmp_path, "--all-sizes=8"), "CT005")


@pytest.mark.parametrize("models", ["[{}]", "[[]]", "3", '[{"facts": {"kernel": "k"}}]'])
def test_a_damaged_document(models: str, tmp_path: Path) -> None:
    text = f'{{"schema": "{SCHEMA}", "models": {models}}}'
    (tmp_path / "models.json").write_text(text)
    refused(cutune("select", "k", "--workspace", tmp_path, "--all-sizes=8"), "CT012")


def test_unknown_device(tmp_path: Path) -> None:
    done = cutune("tune", GEMM, *QUICK, "--device", "h9000", "--workspace", tmp_path / "w")
    refused(done, "CT004")
    assert "h200" in done.stderr
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    ("verb", "run"),
    [
        ("tune", "./{program} {m}"),
        ("tune", "./app {n}"),
        ("collect", "./{program}"),
        ("shake", "./app {n}"),
        ("verify", "./app {n}"),
    ],
)
def test_a_command_line_that_cannot_be_run_is_said_first(
    verb: str, run: str, tmp_path: Path
) -> None:
    source = tmp_path / "broken.cu"
    source.write_text("__global__ void k( { nvcc would refuse this")
    done = cutune(verb, *[source] * (1 + (verb == "verify")), "--run", run, "--vary", "n=1,2")
    refused(done, "CT410")
    assert not (tmp_path / ".cutune").exists()


def test_a_place_that_cannot_be_written_is_said_first(tmp_path: Path) -> None:
    source = tmp_path / "broken.cu"
    source.write_text("__global__ void k( { nvcc would refuse this")
    (tmp_path / "file").write_text("")
    for place in ("none/app.tuned.cu", "file/app.tuned.cu", "file/folder/"):
        refused(cutune("tune", source, "-o", f"{tmp_path}/{place}"), "CT002")


def test_missing_nvcc(tmp_path: Path) -> None:
    done = cutune("tune", GEMM, "--nvcc", tmp_path / "nvcc", "--workspace", tmp_path / "w")
    assert done.returncode == 1
    assert len(re.findall("error:", done.stderr)) == 1
    assert not (tmp_path / "w").exists()


def test_ranges_hold_both_ends_and_may_stand_in_lists() -> None:
    assert varied_values(["w=100..400:100", "n=8,10..14:3", "f=a..b"]) == {
        "w": ["100", "200", "300", "400"],
        "n": ["8", "10", "13"],
        "f": ["a..b"],
    }


@pytest.mark.parametrize(
    "text",
    ["n", "n=", "2n=1", "n=1,,2", "n=8,16,8", "n=1..4", "n=4..1:1", "n=1..4:0", "n=1..9999:1"],
)
def test_a_variation_that_is_none(text: str) -> None:
    with pytest.raises(CutuneError) as caught:
        varied_values([text])
    assert caught.value.diagnostic.code is Code.BAD_SIZE


@pytest.mark.parametrize("text", ["0", "-64", "many", "2147483648"])
def test_a_size_that_is_none(text: str) -> None:
    with pytest.raises(CutuneError) as caught:
        sizes_to_show(["64", text])
    assert caught.value.diagnostic.code is Code.BAD_SIZE


def test_sizes_that_are_none(tmp_path: Path) -> None:
    words = ("--workspace", tmp_path / "w")
    refused(cutune("tune", GEMM, *QUICK, *words, "--sizes=-64"), "CT008")
    refused(cutune("tune", GEMM, *QUICK, *words, "--vary", "n=64", "--vary", "n=128"), "CT008")
    assert not (tmp_path / "w").exists()


@pytest.mark.nvcc
def test_a_run_template_that_names_nothing(tmp_path: Path) -> None:
    done = cutune(
        "tune", GEMM, *QUICK, "--run", "./{program} {size}", "--workspace", tmp_path / "w"
    )
    refused(done, "CT410")


@pytest.mark.nvcc
def test_a_program_that_fails(tmp_path: Path) -> None:
    done = cutune("tune", GEMM, *QUICK, "--run", "./{program} never", "--workspace", tmp_path / "w")
    refused(done, "CT411")
    assert "usage" in done.stderr  # what the program itself said


@pytest.mark.nvcc
def test_a_source_that_nvcc_refuses(tmp_path: Path) -> None:
    path = tmp_path / "wrong.cu"
    path.write_text(GEMM.read_text().replace("alpha *", "alpha_that_is_not *", 1))
    done = cutune("tune", path, *QUICK, "-I", SAMPLES, "--workspace", tmp_path / "w")
    assert done.returncode == 1
    assert "wrong.cu(" in done.stderr  # nvcc's own message names the user's file
    assert "alpha_that_is_not" in done.stderr


@pytest.mark.long
@pytest.mark.nvcc
def test_a_kernel_that_fails_unnoticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program asks for no error, and ends well: what it launched then says nothing."""
    path = tmp_path / "beyond.cu"
    path.write_text(
        "__global__ void k(float *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 1; }\n"
        "int main() {\n    float *a;\n    cudaMalloc(&a, 4 * 100);\n    k<<<4, 64>>>(a);\n}\n"
    )
    words = ("tune", path, *QUICK, "--run", "./{program}")
    done = cutune(*words, cwd=tmp_path)
    refused(done, "CT411")
    assert "illegal address: kernel _Z1kPf" in done.stderr and "--check" in done.stderr
    assert "[CT411]" not in cutune(*words, "--status", "any", cwd=tmp_path).stderr
    monkeypatch.setenv("CUTUNE_OVERRUN", "620")
    refused(cutune(*words, cwd=tmp_path), "CT411")
    monkeypatch.setenv("CUTUNE_OVERRUN", "624")
    done = cutune(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # It has no size: a row for the launch that was seen.
    assert [line.split()[:4] for line in done.stdout.splitlines() if line[:3] == " k "] == [
        ["k", "as", "run", "64"]
    ]


@pytest.mark.nvcc
def test_a_function_that_cuda_has_no_more(tmp_path: Path) -> None:
    """`inspect`, like all others, ends in what nvcc says of it, and in what helps."""
    path = tmp_path / "old.cu"
    path.write_text(
        "__global__ void k(int n, float *a) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) a[i] = 1;\n}\n"
        "int main() { k<<<4, 64>>>(256, nullptr); return cudaThreadSynchronize(); }\n"
    )
    done = cutune("inspect", path)
    if done.returncode == 0:
        pytest.skip("this CUDA has the function")
    refused(done, "CT701")
    remedy = "-DcudaThreadSynchronize=cudaDeviceSynchronize"
    assert "old.cu(5): error" in done.stderr and f"try: {remedy}" in done.stderr
    assert "CT283" not in done.stderr + done.stdout
    done = cutune("inspect", path, remedy)
    assert done.returncode == 0 and "1 launch, 1 tunable" in done.stdout


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    obstacle = tmp_path / "file"
    obstacle.write_text("")
    refused(cutune("instrument", GEMM, *QUICK, "-o", obstacle / "out.cu"), "CT002")
    refused(cutune("instrument", GEMM, *QUICK, "-o", tmp_path / "absent" / "out.cu"), "CT002")
    assert list(tmp_path.iterdir()) == [obstacle]


def test_a_full_disk() -> None:
    done = cutune("instrument", GEMM, *QUICK, "-o", "/dev/full")
    refused(done, "CT002")
    assert "No space left on device" in done.stderr
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize(
    "arguments", [[], ["frobnicate"], ["inspect"], ["inspect", "--colour"], ["run"]]
)
def test_wrong_usage(arguments: list[str]) -> None:
    done = cutune(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("cutune: error: ") and "[CT02" in done.stderr
    assert "Traceback" not in done.stderr
