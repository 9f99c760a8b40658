"""Launches of kernels that another source of the program defines."""

from __future__ import annotations

import json
import subprocess
from hashlib import sha256
from pathlib import Path
from shutil import copyfile

import pytest

from cutune.core.codes import Code
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import LaunchSite, Program
from cutune.toolchain.nvcc import find_nvcc
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK, QUICK_FLAGS, build_flags, cutune, run
from tests.support.short_headers import STANDARD

pytestmark = pytest.mark.nvcc

HEADER = """\
#ifndef KERNELS_H
#define KERNELS_H
struct Size { long long tag; int rows; };
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
#define PURE { int i = ID; if (i < n) a[i] = i; }
#define BAD { int i = threadIdx.x; if (i < n) a[i] = blockDim.x; }
#endif
"""
MAIN = """\
#include "kernels.h"
struct Other { int rows; int columns; };
__global__ void plain(int *a, int m);
__global__ void bad(int *a, int n);
extern "C" __global__ void in_c(int *a, int n);
namespace ns { __global__ void spaced(int *a, int n); __global__ void unspaced(int *a, int n); }
__global__ void in_static(int *a, int n);
__global__ void in_unnamed(int *a, int n);
__global__ void twice(int *a, int n);
__global__ void hidden_by_static(int *a, int n);
__global__ void retyped(int *a, long n);
__global__ void overloaded(int *a, int n);
__global__ void overloaded(float *a, int n);
__global__ void chosen(int *a, int n);
__global__ void completed(int *a, int n = 3);
__global__ void computed(int *a, int n = 3 * 1);
__global__ void referring(int *a, const int &n);
__global__ void of_size(int *a, Size size);
__global__ void of_other(int *a, Other other);
__global__ void by_macro(int *a, int n);
__global__ void nowhere(int *a, int n);
template <class T> __global__ void of_type(T *a, int n);
static __global__ void own(int *a, int n) { PURE }
void launch(int *a, int n, Size size, Other other) {
    plain<<<n / 64, 64>>>(a, n);
    bad<<<n / 64, 64>>>(a, n);
    in_c<<<n / 64, 64>>>(a, n);
    ns::spaced<<<n / 64, 64>>>(a, n);
    ns::unspaced<<<n / 64, 64>>>(a, n);
    in_static<<<n / 64, 64>>>(a, n);
    in_unnamed<<<n / 64, 64>>>(a, n);
    twice<<<n / 64, 64>>>(a, n);
    hidden_by_static<<<n / 64, 64>>>(a, n);
    retyped<<<n / 64, 64>>>(a, n);
    overloaded<<<n / 64, 64>>>(a, n);
    chosen<<<n / 64, 64>>>(a, n);
    completed<<<n / 64, 64>>>(a);
    computed<<<n / 64, 64>>>(a);
    referring<<<n / 64, 64>>>(a, n);
    of_size<<<n / 64, 64>>>(a, size);
    of_other<<<n / 64, 64>>>(a, other);
    by_macro<<<n / 64, 64>>>(a, n);
    nowhere<<<n / 64, 64>>>(a, n);
    of_type<<<n / 64, 64>>>(a, n);
    own<<<n / 64, 64>>>(a, n);
}
"""
FIRST = """\
#include "kernels.h"
struct Other { int columns; int rows; };
__global__ void plain(int *a, int n) PURE
__global__ void bad(int *a, int n) BAD
extern "C" __global__ void in_c(int *a, int n) PURE
namespace ns { __global__ void spaced(int *a, int n) PURE }
__global__ void unspaced(int *a, int n) PURE
static __global__ void in_static(int *a, int n) PURE
namespace { __global__ void in_unnamed(int *a, int n) PURE }
__global__ void twice(int *a, int n) PURE
static __global__ void hidden_by_static(int *a, int n) BAD
__global__ void retyped(int *a, int n) PURE
__global__ void overloaded(int *a, int n) PURE
__global__ void chosen(int *a, int n) PURE
__global__ void chosen(float *a, int n) BAD
__global__ void completed(int *a, int n) PURE
__global__ void computed(int *a, int n) PURE
__global__ void referring(int *a, const int &n) PURE
__global__ void of_size(int *a, Size size) { int i = ID; if (i < size.rows) a[i] = i; }
__global__ void of_other(int *a, Other other) { int i = ID; if (i < other.rows) a[i] = i; }
#ifdef WITH_BAD
__global__ void by_macro(int *a, int n) BAD
#else
__global__ void by_macro(int *a, int n) PURE
#endif
template <class T> __global__ void of_type(T *a, int n) PURE
template __global__ void of_type<int>(int *a, int n);
__global__ void own(int *a, int n) BAD
void use() {
    in_static<<<1, 1>>>(nullptr, 1);
    in_unnamed<<<1, 1>>>(nullptr, 1);
    hidden_by_static<<<1, 1>>>(nullptr, 1);
}
"""
SECOND = """\
#include "kernels.h"
__global__ void twice(int *a, int n) PURE
__global__ void hidden_by_static(int *a, int n) PURE
"""
#: None: it is tunable.
EXPECTED = {
    "plain": None,
    "bad": Code.BLOCK_DEPENDENT,
    "in_c": None,
    "spaced": None,
    "unspaced": Code.MISSING_KERNEL,
    "in_static": Code.MISSING_KERNEL,
    "in_unnamed": Code.MISSING_KERNEL,
    "twice": Code.MISSING_KERNEL,
    "hidden_by_static": None,
    "retyped": Code.MISSING_KERNEL,
    "overloaded": Code.UNCERTAIN_ADDRESS,
    "chosen": None,
    "completed": None,
    "computed": Code.UNCERTAIN_ADDRESS,
    "referring": Code.UNCERTAIN_ADDRESS,
    "of_size": None,
    "of_other": Code.MISSING_KERNEL,
    "by_macro": Code.BLOCK_DEPENDENT,
    "nowhere": Code.MISSING_KERNEL,
    "of_type": Code.MISSING_KERNEL,
    "own": None,
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[Program]:
    """All of them, read together."""
    folder = tmp_path_factory.mktemp("linked")
    (folder / "kernels.h").write_text(HEADER)
    for name, text in (("main", MAIN), ("first", FIRST), ("second", SECOND)):
        (folder / f"{name}.cu").write_text(text)
    paths = [str(folder / f"{name}.cu") for name in ("main", "first", "second")]
    return Analyzer(Toolchain(flags=("-DWITH_BAD", *QUICK_FLAGS))).load_all(paths)


def sites(program: Program) -> dict[str, LaunchSite]:
    """The launches by the name of their kernel."""
    return {site.kernel: site for site in program.launches}


def test_which_kernels_are_found(programs: list[Program]) -> None:
    assert {name: site.code for name, site in sites(programs[0]).items()} == EXPECTED


def test_the_sources_with_the_name_are_said(programs: list[Program]) -> None:
    found = {site.kernel: site.reason or "" for site in programs[0].launches}
    assert "name that source too" in found["nowhere"]
    assert "first.cu' has one of that name, which is static," in found["in_static"]
    assert "first.cu' has one of that name, which is of a template" in found["of_type"]
    assert "first.cu' and '" in found["twice"] and found["twice"].endswith("define it once")
    said = {one.message for one in programs[0].diagnostics}
    assert {found["nowhere"], found["in_static"], found["twice"]} <= said


def test_facts_are_those_of_the_definition(programs: list[Program]) -> None:
    main, first, second = programs
    found = {kernel.name: kernel for kernel in main.kernels}
    plain, own, of_size = found["plain"], found["own"], found["of_size"]
    # The definition's names, and its file.
    assert plain.dimensions[0].guard == "n" and plain.source.path.endswith("first.cu")
    assert plain.elsewhere == first.code and first.is_lent
    assert sites(main)["plain"].entries == plain.entries == ("_Z5plainPii",)
    assert sites(main)["in_c"].entries == ("in_c",)
    assert of_size.dimensions[0].guard == "size.rows" and of_size.members
    assert own.elsewhere is None and own.source is main.source
    assert found["hidden_by_static"].elsewhere == second.code and second.is_lent
    assert not main.is_lent and not first.borrowed


def test_the_reason_is_shown_where_the_kernel_is(programs: list[Program]) -> None:
    said = next(d for d in programs[0].diagnostics if d.code is Code.BLOCK_DEPENDENT)
    (note,) = said.notes
    assert note.source is not None and note.source.path.endswith("first.cu")


SCALE_H = "__global__ void scale(float *a, const float *b, int n);\n"
SCALE = """\
#include "scale.h"
__global__ void scale(float *a, const float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 2 * b[i] + i % 7;
}
"""
#: It is right for the program's own block alone.
CHANGED = SCALE.replace("i % 7", "threadIdx.x + 1000 * blockDim.x")
PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include "scale.h"
int main(int, char **arguments) {
    const int n = atoi(arguments[1]);
    float *a, *b, *result = (float *)malloc(n * sizeof(float));
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMemset(b, 0, n * sizeof(float));
    scale<<<(n + 31) / 32, 32>>>(a, b, n);
    cudaMemcpy(result, a, n * sizeof(float), cudaMemcpyDeviceToHost);
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += result[i] * (i % 13);
    printf("%.3f\\n", sum);
    return 0;
}
"""


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program of two sources, tuned."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "scale.h").write_text(SCALE_H)
    (folder / "scale.cu").write_text(SCALE)
    (folder / "main.cu").write_text(PROGRAM)
    runs = ("--run", "./{program} {n}", "--vary", "n=100,1000", "--device", "h200", *QUICK)
    done = cutune("tune", "main.cu", "scale.cu", *runs, cwd=folder)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
    return folder


def compiled(folder: Path, name: str) -> Path:
    """The object file of a source, compiled when its text is new."""
    text = (folder / name).read_bytes()
    target = folder / f"{name}.{sha256(text).hexdigest()}.o"
    if not target.exists():
        flags = ["-O2", STANDARD, *build_flags()]
        find_nvcc().check([*flags, "-c", str(folder / name), "-o", str(target)])
    return target


def built(folder: Path, *sources: str) -> Path:
    """Compiled one by one, as build systems do, and linked."""
    binary = folder / f"{'_'.join(sources)}.out"
    objects = [str(compiled(folder, name)) for name in sources]
    find_nvcc().check([*objects, *build_flags(), "-o", str(binary)])
    return binary


@pytest.mark.long
def test_it_is_tuned(tuned: Path) -> None:
    before = run(built(tuned, "main.cu", "scale.cu"), "100000")
    after = run(built(tuned, "main.tuned.cu", "scale.tuned.cu"), "100000", CUTUNE="verbose")
    assert before.returncode == after.returncode == 0
    assert before.stdout == after.stdout
    assert "cutune: scale, 100000 x 1 x 1 threads: block 32x1x1 -> " in after.stderr
    assert "-> 32x1x1" not in after.stderr


@pytest.mark.parametrize("text", [SCALE, CHANGED])
def test_other_code_than_was_proven_keeps_its_launch(text: str, tuned: Path) -> None:
    """What is linked need not be what was proven: the source may have been changed since."""
    (tuned / "other.cu").write_text(text)
    before = run(built(tuned, "main.cu", "other.cu"), "100000")
    after = run(built(tuned, "main.tuned.cu", "other.cu"), "100000", CUTUNE="verbose")
    assert before.stdout == after.stdout and after.returncode == 0
    assert "cutune: scale" not in after.stderr


def test_an_archive_lends_its_kernels(tuned: Path) -> None:
    main, scale = (compiled(tuned, f"{name}.tuned.cu") for name in ("main", "scale"))
    binary, archive = tuned / "archived", tuned / "scale.a"
    subprocess.run(["ar", "rc", archive, scale], check=True)
    find_nvcc().check([str(main), str(archive), *build_flags(), "-o", str(binary)])
    assert "cutune: scale" in run(binary, "100000", CUTUNE="verbose").stderr


def test_emit_takes_the_same_sources(tuned: Path) -> None:
    options = ("--device", "h200", "-o", "again", *QUICK)
    done = cutune("emit", "main.cu", "scale.cu", *options, cwd=tuned)
    assert done.returncode == 0, done.stderr
    for name in ("main", "scale"):
        again = tuned / "again" / f"{name}.tuned" / f"{name}.cu"
        assert again.read_bytes() == (tuned / f"{name}.tuned.cu").read_bytes()


def test_the_rest_is_part_of_what_was_measured(tuned: Path) -> None:
    """Where the kernel has changed, or is not given, there is no model of it."""
    original, options = (tuned / "scale.cu").read_bytes(), ("--device", "h200", *QUICK)
    try:
        (tuned / "scale.cu").write_text(SCALE.replace("% 7", "% 9"))
        done = cutune("emit", "main.cu", "scale.cu", *options, cwd=tuned)
    finally:
        (tuned / "scale.cu").write_bytes(original)
    assert done.returncode == 1 and "[CT513]" in done.stderr
    done = cutune("emit", "main.cu", *options, cwd=tuned)
    assert done.returncode == 1 and "[CT201]" in done.stderr and "[CT513]" in done.stderr


def test_inspect_reads_sources_together(tuned: Path) -> None:
    done = cutune("inspect", *QUICK, "--json", "main.cu", "scale.cu", cwd=tuned)
    found = json.loads(done.stdout)
    (launch,) = found["launches"]
    assert (done.returncode, launch["verdict"], launch["guards"]) == (0, "tunable", {"x": "n"})
    # Variants are known where the kernel is.
    reasons = [{one["code"] for one in k["variant_reasons"]} for k in found["kernels"]]
    assert reasons == [{"CT279"}, set()]
    alone = cutune("inspect", *QUICK, "main.cu", cwd=tuned)
    assert "name that source too [CT201]" in alone.stderr
    # One that cannot be read keeps nobody from looking at the others.
    some = cutune("inspect", *QUICK, "--json", "main.cu", "nowhere.cu", "scale.cu", cwd=tuned)
    assert some.returncode == 1 and json.loads(some.stdout)["launches"] == [launch]


def test_a_source_for_the_host_compiler_alone(tuned: Path) -> None:
    """It has no device code, and may launch nothing; the others are read as without it."""
    (tuned / "host.cpp").write_text("#define __global__\nint answer() { return 42; }\n")
    paths = [str(tuned / name) for name in ("main.cu", "scale.cu", "host.cpp")]
    main, _, host = Analyzer(Toolchain(flags=QUICK_FLAGS)).load_all(paths)
    assert sites(main)["scale"].code is None
    assert not host.launches and [one.code for one in host.diagnostics] == [Code.HOST_ONLY]


def test_what_was_tuned_is_not_tuned_again(tuned: Path) -> None:
    done = cutune("inspect", "scale.tuned.cu", cwd=tuned)
    assert done.returncode == 1 and "[CT104]" not in done.stderr and "tuned" in done.stderr


def test_shake_runs_several_sources(tuned: Path) -> None:
    options = ("--run", "./{program} {n}", "--vary", "n=100", "--seeds", "4", *QUICK)
    done = cutune("shake", "main.cu", "scale.cu", *options, cwd=tuned)
    assert done.returncode == 0 and "same: 4 seeds, 1 tunable launch" in done.stdout, done.stderr


#: How the Makefile compiles.
WORDS = ("-Iinclude", "-O2", STANDARD, "-arch=compute_80")
MAKEFILE = """\
NVCC ?= nvcc
app: main.o scale.o
\t$(NVCC) $^ -o $@
%.o: src/%.cu include/scale.h
\t$(NVCC) -Iinclude -O2 -std=c++14 -arch=compute_80 -c $< -o $@
clean:
\trm -f app *.o
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a project with a Makefile, tuned."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "src").mkdir()
    (folder / "include").mkdir()
    (folder / "include" / "scale.h").write_text(SCALE_H)
    (folder / "src" / "scale.cu").write_text(SCALE)
    (folder / "src" / "main.cu").write_text(PROGRAM)
    (folder / "Makefile").write_text(MAKEFILE)
    making = ("--make", "make", "--clean", "make clean")
    done = cutune(
        "tune", *making, "--run", "./app {n}", "--vary", "n=100,1000", "--variants=none", cwd=folder
    )
    assert done.returncode == 0 and "scale" in done.stdout, done.stderr
    return folder


def made(project: Path, mode: str, *names: str) -> None:
    """Compile sources of the project for the emulated device, and link what is there."""
    for name in names:
        kept, target = kept_object(project, mode, name), project / f"{name}.o"
        if not kept.exists():
            words = (*WORDS, "-c", f"src/{name}.cu", "-o", target.name)
            done = cutune("nvcc", *words, f"--cutune-mode={mode}", cwd=project)
            assert done.returncode == 0 and done.stderr.count("[CT") == done.stderr.count("[CT513]")
            copyfile(target, kept)
        copyfile(kept, target)
    linking = ("main.o", "scale.o", "-o", "app", "--cutune-mode=emulated")
    assert cutune("nvcc", *linking, cwd=project).returncode == 0


def kept_object(project: Path, mode: str, name: str) -> Path:
    """Where the object stays that is made of a source in a mode, beside the sources as they are."""
    digest = sha256()
    for path in sorted((project / "src").glob("*.cu")):
        digest.update(path.name.encode() + path.read_bytes())
    return project / f"{name}-{mode}-{digest.hexdigest()}.o"


@pytest.mark.long
def test_a_project_is_tuned(project: Path) -> None:
    made(project, "emulated", "main", "scale")
    before = run(project / "app", "100000", CUTUNE="verbose")
    assert before.returncode == 0 and "cutune: scale" not in before.stderr
    made(project, "tuned,emulated", "scale", "main")
    after = run(project / "app", "100000", CUTUNE="verbose")
    assert after.stdout == before.stdout
    assert "cutune: scale, 100000 x 1 x 1 threads: block 32x1x1 -> " in after.stderr


@pytest.mark.long
def test_a_kernel_that_is_compiled_anew_is_another_one(project: Path) -> None:
    """The object with the launch does not know it: its launches stay as they are."""
    source = project / "src" / "scale.cu"
    try:
        for text, mode in ((CHANGED, "tuned,emulated"), (SCALE, "emulated")):
            made(project, "tuned,emulated", "main", "scale")
            assert "cutune: scale" in run(project / "app", "100000", CUTUNE="verbose").stderr
            source.write_text(text)
            made(project, mode, "scale")
            after = run(project / "app", "100000", CUTUNE="verbose")
            assert after.returncode == 0 and "cutune: scale" not in after.stderr
            made(project, "emulated", "main", "scale")
            assert after.stdout == run(project / "app", "100000").stdout
            source.write_text(SCALE)
    finally:
        source.write_text(SCALE)


def test_other_flags_make_another_kernel(project: Path) -> None:
    made(project, "tuned,emulated", "main", "scale")
    words = (*WORDS, "-fmad=false", "-c", "src/scale.cu", "-o", "scale.o")
    done = cutune("nvcc", *words, "--cutune-mode=tuned,emulated", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    made(project, "emulated")
    after = run(project / "app", "100000", CUTUNE="verbose")
    assert after.returncode == 0 and "cutune: scale" not in after.stderr


def test_without_the_lender_the_launch_stays(project: Path) -> None:
    """The file is gone, and the program compiles as before."""
    made(project, "tuned,emulated", "main", "scale")
    source = project / "src" / "scale.cu"
    source.rename(project / "scale.away")
    try:
        made(project, "tuned,emulated", "main")
        after = run(project / "app", "100000", CUTUNE="verbose")
    finally:
        (project / "scale.away").rename(source)
    assert after.returncode == 0 and "cutune: scale" not in after.stderr
