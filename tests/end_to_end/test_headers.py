"""Programs whose launches stand in headers, with the options by which headers are found."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, find_nvcc
from tests.support.cutune_runs import ARCHITECTURE, build_flags, cutune, run
from tests.support.short_headers import STANDARD

pytestmark = pytest.mark.nvcc

FILES = {
    "src/main.cu": """#include <cstdio>
#include <cstdlib>
#include <launch.cuh>
int other(float *a, int n);
int main(int argc, char **argv) {
    const int n = atoi(argv[1]);
    float *a, *host = new float[n];
    for (int i = 0; i < n; ++i) host[i] = i;
    cudaMalloc(&a, n * sizeof(float));
    cudaMemcpy(a, host, n * sizeof(float), cudaMemcpyHostToDevice);
    for (int step = 0; step < STEPS; ++step) Scaler<float>().launch(n, a);
#ifdef HAS_OTHER
    other(a, n);
#endif
    shift<<<(n + 63) / 64, 64>>>(n, a);
    cudaMemcpy(host, a, n * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i) printf("%g\\n", host[i]);
    return cudaGetLastError() != cudaSuccess;
}
""",
    "src/other.cu": """#include <launch.cuh>
int other(float *a, int n) { Scaler<float>().launch(n, a); return 0; }
""",
    "include/launch.cuh": """#pragma once
#include "kernels/scale.cuh"
template <class T>
struct Scaler {
    void launch(int n, T *a) {
        if (n > 0)
            scale<<<(n + WIDTH - 1) / WIDTH,
                    WIDTH>>>(n, T(FACTOR), a);
    }
};
""",
    "include/kernels/scale.cuh": """#pragma once
template <class T>
__global__ void scale(int n, T factor, T *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= factor;
}
static __global__ void shift(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] += 1;
}
""",
    "options/forced.h": "#define WIDTH 32\n",
    "options/more": "-DSTEPS=3\n-std=c++14\n",
}
OPTIONS = (
    "-I",
    "include",
    "-DFACTOR=2",
    "-include",
    "options/forced.h",
    "@options/more",
    ARCHITECTURE,
)
#: The same for nvcc itself.
FLAGS = ("-Iinclude", "-DFACTOR=2", "-include", "options/forced.h", "-DSTEPS=3", STANDARD)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The program's files."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def built(folder: Path, *extra: str, sources: tuple[str, ...] = ("src/main.cu",)) -> Path:
    """Compile as the user would: in the folder, with the same options."""
    nvcc = find_nvcc()
    flags = [*FLAGS, *extra, *build_flags()]
    nvcc.check([*flags, *sources, "-o", "program"], cwd=folder)
    return folder / "program"


def output(done: subprocess.CompletedProcess[str]) -> str:
    """What a program that ended well printed."""
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_launches_of_headers_are_listed(project: Path) -> None:
    done = cutune("inspect", "--json", "src/main.cu", *OPTIONS, cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)["launches"]
    assert [(e["id"], e["file"], e["line"], e["kernel"], e["verdict"]) for e in found] == [
        (1, "src/main.cu", 15, "shift", "tunable"),
        (2, "include/launch.cuh", 7, "scale", "tunable"),
    ]


@pytest.mark.long
def test_a_program_is_tuned_in_a_folder(project: Path) -> None:
    running = ("--run", "./{program} {n}", "--vary", "n=64,100")
    one_file = cutune("tune", "src/main.cu", *OPTIONS, *running, "-o", "out.cu", cwd=project)
    assert one_file.returncode == 1
    assert "write: -o out/" in one_file.stderr
    assert not (project / "src" / ".cutune").exists()
    done = cutune("tune", "src/main.cu", *OPTIONS, *running, cwd=project)
    assert done.returncode == 0, done.stderr
    assert "tuned program: src/main.tuned/src/main.cu" in done.stdout
    assert "scale<float>" in done.stdout
    words = ("--workspace", "src/.cutune", "--all-sizes", "4096")
    chosen = cutune("select", "scale<float>", *words, cwd=project)
    assert chosen.returncode == 0 and chosen.stdout.startswith("scale<float>: block")
    before = output(run(built(project), "777"))
    tuned = run(built(project / "src" / "main.tuned"), "777", CUTUNE="verbose")
    assert output(tuned) == before
    assert "cutune: scale" in tuned.stderr
    assert "cutune: shift" in tuned.stderr


def test_changed_headers_make_models_stale(project: Path) -> None:
    running = ("--run", "./{program} {n}", "--vary", "n=64")
    for verb in ("collect", "fit"):
        words = ("src/main.cu", *OPTIONS, *running) if verb == "collect" else ()
        done = cutune(verb, *words, "--workspace", "work", cwd=project)
        assert done.returncode == 0, done.stderr
    header = project / "include" / "launch.cuh"
    header.write_text(header.read_text() + "#define MORE 1\n")
    done = cutune("emit", "src/main.cu", *OPTIONS, "--workspace", "work", cwd=project)
    assert "[CT513]" in done.stderr


@pytest.mark.long
def test_two_sources_share_a_header(project: Path) -> None:
    """Each has a tree of its own; ids that differ do no harm when the linker joins templates."""
    sources = ("src/main.cu", "src/other.cu")
    before = output(run(built(project, "-DHAS_OTHER", sources=sources), "333"))
    nvcc, objects = find_nvcc(), []
    for name in sources:
        tree = project / "trees" / Path(name).stem
        done = cutune("instrument", name, *OPTIONS, "-DHAS_OTHER", "-o", f"{tree}/", cwd=project)
        assert done.returncode == 0, done.stderr
        objects.append(f"{tree}.o")
        flags = [*FLAGS, "-DHAS_OTHER", f"-I{INCLUDE_DIRECTORY}", *build_flags()]
        nvcc.check([*flags, "-c", name, "-o", objects[-1]], cwd=tree)
    binary = project / "joined"
    nvcc.check([*objects, *build_flags(), "-o", str(binary)])
    assert output(run(binary, "333")) == before
    log = project / "log"
    assert output(run(binary, "333", CUTUNE_MODE="record", CUTUNE_OUTPUT=str(log))) == before
    kernels = [json.loads(line)["kernel"] for line in log.read_text().splitlines()]
    assert kernels == ["scale"] * 4 + ["shift"]


@pytest.mark.long
def test_a_program_of_several_sources(project: Path) -> None:
    """Sources are linked for the runs; each has launch sites that count from 1, or none."""
    sources = ("src/main.cu", "src/host.cu", "src/other.cu")
    (project / "src" / "host.cu").write_text("int triple(int n) { return 3 * n; }\n")
    header = project / "include" / "kernels" / "scale.cuh"
    (project / "src" / "other.cu").write_text(
        "#include <kernels/scale.cuh>\n"
        "int other(float *a, int n) { shift<<<n / 8, 8>>>(n, a); scale<<<n, 4>>>(n, 3.f, a); "
        "return 0; }\n"
    )
    assert header.exists()
    options = (*OPTIONS, "-DHAS_OTHER", "--run", "./{program} {n}", "--vary", "n=64,128")
    done = cutune("tune", *sources, *options, "--workspace", "work", "-o", "out", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "tuned program: out/main.tuned/src/main.cu" in done.stdout
    assert "tuned program: out/other.tuned.cu" in done.stdout
    untouched = (project / "out" / "host.tuned.cu").read_bytes()
    assert untouched == (project / "src" / "host.cu").read_bytes()
    assert done.stderr.count("[CT104]") == 1 and "warning" not in done.stderr
    before = output(run(built(project, "-DHAS_OTHER", sources=sources), "320"))
    tree = project / "out" / "main.tuned"
    for name in ("host", "other"):
        (tree / "src" / f"{name}.cu").write_bytes(
            (project / "out" / f"{name}.tuned.cu").read_bytes()
        )
    after = run(built(tree, "-DHAS_OTHER", sources=sources), "320", CUTUNE="verbose")
    assert output(after) == before
    decisions = [line.split(",")[0] for line in after.stderr.splitlines()]
    assert sorted(decisions) == ["cutune: scale"] * 2 + ["cutune: shift"] * 2
    alone = cutune(
        "emit", "src/other.cu", *OPTIONS, "--workspace", "work", "-o", "o.cu", cwd=project
    )
    assert alone.returncode == 0, alone.stderr
    assert (project / "o.cu").read_bytes() == (project / "out" / "other.tuned.cu").read_bytes()
