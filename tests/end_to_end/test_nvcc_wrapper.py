"""`cutune nvcc` in front of the real compiler: rewritten programs, the user's own names."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cutune.toolchain.nvcc import find_nvcc
from tests.support.cutune_runs import cutune, run
from tests.support.short_headers import STANDARD

pytestmark = pytest.mark.nvcc

APP = """#include "names.h"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    float *a, *sums;
    cudaMalloc(&a, n * sizeof(float)); cudaMalloc(&sums, n * sizeof(float));
    cudaMemset(a, 0, n * sizeof(float)); cudaMemset(sums, 0, n * sizeof(float));
    add_all<<<(n + 31) / 32, 32>>>(n, 2.0f, a, sums);
    printf("%s %s %s:%d %d\\n", __FILE__, __BASE_FILE__, header_name(), __LINE__, twice(4));
    return cudaDeviceSynchronize() != cudaSuccess;
}
"""
#: A kernel in a header without a launch, which is rewritten for its variant.
HEADER = """#pragma once
static __global__ void add_all(int n, float f, const float *a, float *sums) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (int k = 0; k < n; ++k) sums[i] += f * a[k];
}
static inline const char *header_name() { return __FILE__; }
int twice(int);
"""
TWICE = """#include "names.h"
int twice(int n) { return 2 * n; }
"""
MAKEFILE = """NVCC ?= nvcc
app: app.o twice.o
\t$(NVCC) $^ -o $@
%.o: src/%.cu
\t$(NVCC) -std=c++14 -DUNUSED='"a b"' -MMD -lineinfo -c $< -o $@
clean:
\trm -f app *.o *.d
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of two sources and a Makefile, tuned by `cutune tune --make`."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "src").mkdir()
    (folder / "src" / "app.cu").write_text(APP)
    (folder / "src" / "names.h").write_text(HEADER)
    (folder / "src" / "twice.cu").write_text(
        '#include "names.h"\nint twice(int n) { return 2 * n; }\n'
    )
    (folder / "Makefile").write_text(MAKEFILE)
    return folder


def nvcc(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`cutune nvcc WORDS` in a folder."""
    return cutune("nvcc", *words, STANDARD, cwd=folder)


@pytest.mark.long
def test_an_instrumented_program_keeps_its_names(project: Path) -> None:
    words = ("-g", "-MD", "-MP", "src/app.cu", "src/twice.cu")
    done = nvcc(project, *words, "-c", "--cutune-mode=instrument,emulated")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(list((project / "src" / ".cutune" / "units").glob("*/unit.json"))) == 1
    for name in ("app", "twice"):
        rules = (project / f"{name}.d").read_text()
        assert rules.startswith(f"{name}.o : src/{name}.cu \\\n")
        assert "cutune" not in rules
        assert "    src/names.h" in rules
    done = nvcc(project, "app.o", "twice.o", "-o", "instrumented", "--cutune-mode=emulated")
    assert (done.returncode, done.stderr) == (0, "")
    ran = run(project / "instrumented")
    assert (ran.returncode, ran.stdout) == (0, "src/app.cu src/app.cu src/names.h:10 8\n")


def test_debugging_information_names_the_users_files(project: Path) -> None:
    words = ("-g", "-Xcompiler", "--coverage", "-c", "src/app.cu", "-o", "debug.o")
    done = nvcc(project, *words, "--cutune-mode=instrument")
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("debug.o", "debug.gcno"):
        content = (project / name).read_bytes()
        assert b"src/app.cu" in content
        assert b".cutune" not in content


def test_messages_and_status_are_of_the_users_file(project: Path) -> None:
    wrong = project / "src" / "wrong.cu"
    wrong.write_text(APP.replace("return cuda", "oops; return cuda"))
    words = ("-c", "src/wrong.cu", "-o", "wrong.o")
    plain = nvcc(project, *words, "--cutune-mode=off")
    ours = nvcc(project, *words, "--cutune-mode=instrument")
    assert plain.returncode == ours.returncode != 0
    assert "src/wrong.cu(11)" in plain.stderr
    assert (ours.stdout, ours.stderr) == (plain.stdout, plain.stderr)
    wrong.unlink()


def test_a_failure_of_cutunes_own_leaves_the_program_as_it_is(project: Path) -> None:
    file = project / "no-folder"
    file.write_text("")
    words = ("-c", "src/app.cu", "-o", "kept.o", f"--cutune-workspace={file}/below")
    done = nvcc(project, *words, "--cutune-mode=instrument")
    assert done.returncode == 0
    assert done.stderr.count("[CT002]") == 1
    assert (project / "kept.o").exists()
    (project / "kept.o").unlink()
    done = nvcc(project, *words, "--cutune-mode=instrument", "--cutune-strict")
    assert (done.returncode, (project / "kept.o").exists()) == (1, False)


def test_a_compiler_that_is_killed_fails(project: Path, tmp_path: Path) -> None:
    """Else make takes the original, compiled in its place, for the rewritten program."""
    words = ("-c", "src/app.cu", "-o", "killed.o", "--cutune-mode=instrument")
    for kills, killed in (('"-E"', "the first look at the source"), ("killed.o", "the last step")):
        stand_in = tmp_path / "nvcc"
        stand_in.write_text(
            f'#!/bin/sh\nfor word; do case "$word" in {kills}) kill -9 $$;; esac; done\n'
            f'exec {find_nvcc().path} "$@"\n'
        )
        stand_in.chmod(0o755)
        done = nvcc(project, *words, f"--cutune-nvcc={stand_in}")
        assert done.returncode == 128 + 9, killed
        assert not (project / "killed.o").exists(), killed


ONE = """#include <cstdio>
__global__ void twice(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= 2;
}
int main() {
    const int n = 1000;
    float *a;
    cudaMallocManaged(&a, n * sizeof(float));
    a[n - 1] = 21;
    twice<<<(n + 31) / 32, 32>>>(n, a);
    cudaDeviceSynchronize();
    printf("%g\\n", a[n - 1]);
}
"""


def noting(folder: Path) -> tuple[Path, Path]:
    """A file of calls, and an nvcc that adds its words to it."""
    calls, stand_in = folder / "calls", folder / "nvcc"
    stand_in.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexec {find_nvcc().path} "$@"\n')
    stand_in.chmod(0o755)
    return calls, stand_in


def test_where_nothing_is_rewritten_nothing_is_analyzed(tmp_path: Path) -> None:
    (tmp_path / "one.cu").write_text(ONE)
    calls, stand_in = noting(tmp_path)
    options = ("--cutune-mode=emulated", f"--cutune-nvcc={stand_in}")
    assert nvcc(tmp_path, "-c", "one.cu", "-o", "one.o", *options).returncode == 0
    (compiling,) = calls.read_text().splitlines()
    assert "-c one.cu -o one.o" in compiling and "compute_80" in compiling


@pytest.mark.long
@pytest.mark.parametrize(
    ("further", "options", "is_built_by_nvcc"),
    [
        ("", ["-c"], False),
        ("", [], False),
        ("", ["-c", "-MD"], True),
        ("", ["-c", "-arch=sm_80", "-G"], True),
        ("int f() { int unused; return 0; }\n", ["-c", "-Xcompiler", "-Wall"], True),
        ("__global__ void g() { int unused; }\n", ["-c"], True),
    ],
)
def test_known_code_is_compiled_again_where_nvcc_does_more_or_speaks(
    further: str, options: list[str], is_built_by_nvcc: bool, tmp_path: Path
) -> None:
    (tmp_path / "one.cu").write_text(ONE + further)
    calls, stand_in = noting(tmp_path)
    words = ("one.cu", "-O1", *options, "-o", "one.o" if "-c" in options else "program")
    done = nvcc(tmp_path, *words, "--cutune-mode=instrument,emulated", f"--cutune-nvcc={stand_in}")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.count("warning #177-D") == further.count("unused")
    building = [line for line in calls.read_text().splitlines() if "-instrument/" in line]
    assert any("--dryrun" not in line for line in building) == is_built_by_nvcc
    if "-c" in options:
        done = nvcc(tmp_path, "one.o", "-o", "program", "--cutune-mode=emulated")
        assert done.returncode == 0, done.stderr
    assert run(tmp_path / "program").stdout == "42\n"


def test_a_project_is_tuned_by_its_own_makefile(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = cutune(
        *("tune", "--make", "make -j2", "--clean", "make clean", "-q"),
        *("--run", "./app {n}", "--vary", "n=1000,3000", "--sizes", "10000"),
        cwd=project,
    )
    assert done.returncode == 0, done.stderr
    assert "add_all" in done.stdout
    assert done.stdout.splitlines()[-1] == (
        "tuned build: what 'make -j2' has made; from now on: make -j2 NVCC=\"cutune nvcc\""
    )
    asked = cutune("select", "add_all", "--all-sizes", "10000", cwd=project)
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.startswith("add_all: variant restrict, block ")
    # What is left is the tuned build, for a real GPU; the same with `make`, `ccache` or `cmake`.
    assert b"cutune_select_add_all" in (project / "app.o").read_bytes()
    assert (project / "app.d").read_text().startswith("app.o : src/app.cu ")
    words = ("src/app.cu", "src/twice.cu", '-DUNUSED="a b"', "-o", "emulated")
    linking = ("-rdc=true", "-dlto", "-arch=sm_90")  # optimised when linked, for a real GPU
    done = nvcc(project, *words, *linking, "--cutune-mode=tuned,emulated")
    assert (done.returncode, done.stderr) == (0, "")
    ran = run(project / "emulated", "10000", CUTUNE="verbose")
    assert "block 32x1x1 -> " in ran.stderr
    assert "add_all: variant restrict" in ran.stderr
    assert ran.stdout == "src/app.cu src/app.cu src/names.h:10 8\n"
    done = nvcc(
        project,
        "-c",
        "src/app.cu",
        '-DUNUSED="a b"',
        *linking,
        "-o",
        "lto.o",
        "--cutune-variants=none",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert b"cutune_select_add_all" in (project / "lto.o").read_bytes()
    assert b"add_all__restrict" not in (project / "lto.o").read_bytes()
    # Other macros make another program, of which nothing is known.
    done = nvcc(project, "-DUNUSED=1", "-c", "src/app.cu", "-o", "other.o")
    assert (done.returncode, done.stderr) == (0, "")
    assert b"cutune_select_add_all" not in (project / "other.o").read_bytes()
    if shutil.which("ccache"):
        monkeypatch.setenv("CCACHE_DIR", str(project / "ccache"))
        assert compiled_by_ccache(project) == ["0", "1"]
        assert b"cutune_select_add_all" in (project / "cached.o").read_bytes()


def compiled_by_ccache(project: Path) -> list[str]:
    """Compile twice with ccache behind us: how many were found each time."""
    found = []
    words = ("ccache", "nvcc", "-c", "-MMD", "src/app.cu", '-DUNUSED="a b"', "-o", "cached.o")
    for _ in range(2):
        done = nvcc(project, *words)
        assert (done.returncode, done.stderr) == (0, "")
        assert re.match(r"cached\.o ?: src/app\.cu ", (project / "cached.d").read_text())
        said = subprocess.run(
            ["ccache", "--print-stats"], capture_output=True, text=True, check=True
        )
        found.append(re.findall(r"^direct_cache_hit\t(\d+)", said.stdout, re.MULTILINE)[0])
    return found


@pytest.mark.long
def test_a_function_that_cuda_has_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulated device has it; who builds for a GPU is told what helps, and that does."""
    launch = "add_all<<<4, 64>>>(256, 2.0f, nullptr, nullptr)"
    text = f"{HEADER}int main() {{ {launch}; return cudaThreadSynchronize(); }}\n"
    (tmp_path / "old.cu").write_text(text.removeprefix("#pragma once"))
    done = nvcc(tmp_path, "-c", "old.cu", "--cutune-mode=instrument,emulated")
    assert (done.returncode, done.stderr) == (0, "")
    done = nvcc(tmp_path, "-c", "old.cu", "--cutune-mode=instrument")
    if done.returncode == 0:
        pytest.skip("this CUDA has the function")
    assert "is undefined" in done.stderr
    (advice,) = re.findall(r"try: export (\w+)=(\S+) \[CT716\]", done.stderr)
    monkeypatch.setenv(*advice)
    assert nvcc(tmp_path, "-c", "old.cu", "--cutune-mode=instrument").returncode == 0


def test_a_program_that_launches_nothing_is_told_from_one_that_is_not_seen(tmp_path: Path) -> None:
    """It is compiled and linked at once, and names a driver that need not be there."""
    (tmp_path / "app.cu").write_text("int main() {}\n")
    make = "nvcc app.cu -o app -lcuda"
    done = cutune("tune", "--make", make, "--run", "./app", cwd=tmp_path)
    assert done.returncode == 1 and "compiled app.cu through cutune" in done.stderr, done.stderr
    assert "[CT713]" in done.stderr


def test_a_build_that_compiles_nothing_is_reported(tmp_path: Path) -> None:
    done = cutune("tune", "--make", "true", "--run", "./app", cwd=tmp_path)
    assert (done.returncode, "[CT707]" in done.stderr) == (1, True)
    done = cutune("tune", "--make", "exit 3", "--run", "./app", cwd=tmp_path)
    assert (done.returncode, "[CT706]" in done.stderr) == (1, True)
