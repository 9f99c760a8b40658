"""What a launch does besides computing stays the same, whatever block it gets.

Every launch of these programs that may be tuned takes a block at random.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cutune.core.codes import Code
from cutune.emulator.launch_log import read_launches
from cutune.emulator.program_builds import build, build_emulated
from cutune.model.emit.programs import WIDTHS, random_blocks, random_program
from cutune.passes import ReplaceLaunches
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import DistinctPlaces, Kernel, Program
from cutune.source.rewrite.output import Target
from cutune.source.rewrite.pipeline import TranslationUnit, run_passes
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK, QUICK_FLAGS, cutune, run
from tests.support.short_headers import STANDARD

pytestmark = pytest.mark.nvcc

PROGRAMS = Path(__file__).parents[1] / "corpus" / "programs"
SEEDS = ("1", "2", "3", "4")


def shaken(analyzer: Analyzer, program: Program, folder: Path) -> Path:
    """The program with blocks at random, compiled."""
    source = random_program(analyzer, program, 1, Target(folder / "random.cu"))
    return build(
        analyzer.toolchain,
        source,
        analyzer.toolchain.compile_flags(program.source.path),
        folder / "random",
    )


def changed(said: str) -> list[str]:
    """The blocks that launches got instead of their own, in their order."""
    return [
        found[2] for found in re.finditer(r"block (\S+) -> (\S+)", said) if found[1] != found[2]
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "standard"), [("arguments", "-std=c++17"), ("staying", STANDARD)], ids=lambda one: one
)
def test_the_same_is_printed(name: str, standard: str, tmp_path: Path) -> None:
    path = PROGRAMS / f"{name}.cu"
    # Names that cutune's own code has, too.
    analyzer = Analyzer(Toolchain(flags=(standard, QUICK_FLAGS[1], "-Drow=3 +", "-Dchosen=int")))
    program = analyzer.load(str(path), require_nvcc=True)
    expected = run(build_emulated(analyzer.toolchain, str(path), tmp_path))
    assert expected.returncode == 0 and expected.stdout.count("cudaSuccess") >= 5
    assert "otherwise" not in expected.stdout
    binary = shaken(analyzer, program, tmp_path)
    blocks: list[str] = []
    for seed in SEEDS:
        found = run(binary, CUTUNE_SEED=seed, CUTUNE="verbose")
        assert found.stdout == expected.stdout
        blocks += changed(found.stderr)
    assert len(blocks) > 5


def test_how_launches_are_rewritten() -> None:
    program = Analyzer(Toolchain(flags=("-std=c++17", QUICK_FLAGS[1]))).load(
        str(PROGRAMS / "arguments.cu")
    )
    refused = [site for site in program.launches if site.code is not None]
    # Where arguments that are no numbers are left out the call is repeated, if it is harmless.
    # Lines become one.
    assert [site.reason.split()[0] for site in refused] == ["'__LINE__'", *["'NEXT'"] * 2]
    assert [site.kernel for site in refused] == ["add", "defaulted", "twice"]
    called = [site for site in program.tunable_launches if site.called is not None]
    repeated = [site.kernel for site in program.tunable_launches if site.called is None]
    assert repeated == ["defaulted"]
    assert all(site.is_global == ("::" not in site.callee) for site in called)
    assert [len(site.deduced) for site in called if site.kernel == "twice"] == [0, 1]
    assert {site.filled for site in called} == {(), ("7", "-0x1")}


HIDDEN = r"""
#include <cstdio>
#define SHOW(...) do { puts(#__VA_ARGS__); __VA_ARGS__; } while (0)
#define BOTH(...) __VA_ARGS__ __VA_ARGS__
#define ONCE(...) __VA_ARGS__
__global__ void fill(int n, int *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = n;
}
template <class F> void call(F function) { function(); }
void run(int n, int *x) {
    SHOW({ fill<<<1, n>>>(n, x); });
    SHOW({
        fill<<<1, n>>>(n, x);
    });
    BOTH({ fill<<<1, n>>>(n, x); })
    ONCE(call([=] { fill<<<1, n>>>(n, x); });)
    call([=] { fill<<<1, n>>>(n, x); });
#ifdef NEVER
    fill<<<1, n>>>(n, x);
#endif
    { fill<<<1, n>>>(n, x); }
#line 1 "another.cu"
    fill<<<1, n>>>(n, x);
}
"""


def test_launches_that_the_compiler_sees_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "hidden.cu"
    path.write_text(HIDDEN)
    launches = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True).launches
    hidden = Code.HIDDEN_LAUNCH
    # `#line` gives others the same numbers: of those that are shown it is not told which is which.
    untold = Code.UNRESOLVED_LAUNCH
    shown = [*[untold] * 3, Code.UNCOMPILED_LAUNCH, untold]
    assert [site.code for site in launches] == [*[hidden] * 2, *shown, hidden]


#: A macro names the namespace, as in headers that are included once for each of several models.
NAMED_BY_MACRO = r"""
struct Stream { int asked; cudaStream_t get() { return asked++, nullptr; } };
#define MODEL one
namespace MODEL {
__global__ void fill(int n, int *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = n;
}
void run(int n, int *x, Stream &s) { fill<<<n / 32, 32, 0, s.get()>>>(n, x); }
}
#undef MODEL
#define MODEL two
namespace others {}
using namespace others;
using namespace one;
namespace MODEL {
void run(int n, int *x, Stream &s) { fill<<<n / 32, 32, 0, s.get()>>>(n, x); }
}
"""


def test_a_namespace_that_a_macro_names(tmp_path: Path) -> None:
    path = tmp_path / "named.cu"
    path.write_text(NAMED_BY_MACRO)
    launches = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True).launches
    # The second is written like the first, and stands in another namespace.
    assert [site.code for site in launches] == [None, Code.SIDE_EFFECT]
    assert launches[0].called is not None


#: Macros around launches: (expected verdict, the statement).
IN_MACROS = r"""
#include <cstdio>
#define BY_TYPE(type, ...)                                                  \
    [&] {                                                                   \
        switch (type) {                                                     \
            case 0: { using scalar = int; return __VA_ARGS__(); }           \
            default: { using scalar = float; return __VA_ARGS__(); }        \
        }                                                                   \
    }()
#define CHECKED(...) do { __VA_ARGS__; if (cudaGetLastError()) puts("bad"); } while (0)
#define GROUPED(...) do { (__VA_ARGS__); } while (0)
#define NAMED(name, ...) do { puts(name); __VA_ARGS__ } while (0)
#define SHOWN(...) do { puts(#__VA_ARGS__); __VA_ARGS__; } while (0)
#define SHADOWING(...) do { const int width = 64; __VA_ARGS__; } while (0)
#define NEVER(...) do { } while (0)
#define CHANGED(...) do { __VA_ARGS__ + 0; } while (0)
#define TWICE(call, times) do { call; for (int k = 1; k < times; ++k) { call; } } while (0)
#define WIDTH 64
#define BLOCKS(n, width) (((n) + (width) - 1) / (width))
#define VARIABLE width
#define VARIED 32
#undef VARIED
#define VARIED 64
template <typename T> __global__ void add(int n, T *x, T value) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += value;
}
template <typename T> __global__ void take(int n, T *x, T value) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] -= value;
}
#define take add
void all(int n, int *x, int type) {
    const int width = 32, blocks = (n + width - 1) / width;
    BY_TYPE(type, ([&] { add<scalar><<<blocks, width>>>(n, (scalar *)x, scalar(1)); }));  // tunable
    BY_TYPE(type, [&] {
        const int threads = 64;
        add<scalar><<<(n + threads - 1) / threads, threads>>>(n, (scalar *)x, 2);  // tunable
    });
    CHECKED(add<int><<<blocks, width>>>(n, x, 4));  // tunable
    CHECKED((add<int><<<blocks, width>>>(n, x, 4)));  // tunable
    GROUPED(add<int><<<blocks, width>>>(n, x, 4));  // tunable
    ((add<int><<<blocks, width>>>(n, x, 4)));  // tunable
    GROUPED((void)add<int><<<blocks, width>>>(n, x, 4));  // CT205
    NAMED("named", { add<int><<<blocks, width>>>(n, x, 8); });  // tunable
    SHOWN(add<int><<<blocks, width>>>(n, x, 16));  // CT244
    SHADOWING(add<int><<<(n + width - 1) / width, width>>>(n, x, 32));  // CT244
    SHADOWING({ add<int><<<(n + width - 1) / width, width>>>(n, x, 64); });  // CT244
    NEVER({ add<int><<<blocks, width>>>(n, x, 128); });  // CT244
    TWICE((add<int><<<BLOCKS(n, WIDTH), WIDTH>>>(n, x, 256)), 3);  // tunable
    CHECKED(add<int><<<(n + WIDTH - 1) / WIDTH, WIDTH>>>(n, x, 512));  // tunable
    SHADOWING(add<int><<<BLOCKS(n, VARIABLE), VARIABLE>>>(n, x, 1024));  // CT244
    CHECKED(add<int><<<BLOCKS(n, VARIED), VARIED>>>(n, x, 2048));  // CT244
    CHECKED(take<int><<<blocks, WIDTH>>>(n, x, 4096));  // CT244
    SHOWN(add<int><<<blocks, WIDTH>>>(n, x, 8192));  // CT244
}
int main() {
    const int n = 1000;
    int *x, host[n];
    cudaMalloc(&x, n * 4);
    cudaMemset(x, 0, n * 4);
    all(n, x, 0);
    all(n, x, 1);
    cudaMemcpy(host, x, n * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i += 99) printf("%d ", host[i]);
}
"""


@pytest.mark.long
def test_launches_in_arguments_of_macros(tmp_path: Path) -> None:
    path = tmp_path / "macros.cu"
    path.write_text(IN_MACROS)
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    program = analyzer.load(str(path), require_nvcc=True)
    verdicts = [site.code.number if site.code else "tunable" for site in program.launches]
    assert verdicts == re.findall(r">>>.*// (\w+)", IN_MACROS)
    first = program.launches[0]
    assert [("If" in entry, "Ii" in entry) for entry in first.entries] == [(1, 0), (0, 1)]
    expected = run(build_emulated(analyzer.toolchain, str(path), tmp_path))
    assert expected.returncode == 0 and expected.stdout.startswith("named")
    binary = shaken(analyzer, program, tmp_path)
    for seed in SEEDS[:2]:
        found = run(binary, CUTUNE_SEED=seed, CUTUNE="verbose")
        assert found.stdout == expected.stdout
        assert len(changed(found.stderr)) >= 4


MEETING = r"""
#include <cstdlib>
__global__ void copy(int n, int *to, const int *from) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}
int main(int, char **words) {
    const int n = 960;
    int *one, *other;
    cudaMalloc(&one, 2 * n * sizeof(int));
    cudaMalloc(&other, 2 * n * sizeof(int));
    int *const from = atoi(words[1]) == 0 ? one + n : other;
    for (int step = 0; step < 20; ++step) copy<<<30, 32>>>(n, one, from);
    copy<<<30, 32>>>(0, one, other);
    copy<<<30, 32>>>(n, one, one + n);
    return 0;
}
"""
#: Always the same block, which warps do not survive.
ROUTINE = """
static cutune_chosen cutune_select_any(const cutune_request *, cutune_shortlist *) {
    return cutune_only_block(dim3(48));
}
enum : unsigned long long { cutune_select_any_arguments = 0 };
"""


def with_kernel(program: Program, **changes: object) -> Program:
    """The program with something more that is known of its kernels."""
    kernels: Iterable[Kernel] = (replace(k, **changes) for k in program.kernels)  # type: ignore[arg-type]
    return replace(program, kernels=tuple(kernels))


def tuned(analyzer: Analyzer, program: Program, folder: Path, routine: str = ROUTINE) -> Path:
    """The program with a routine for each launch, compiled."""
    routines = tuple((site.id, "cutune_select_any") for site in program.tunable_launches)
    unit = run_passes([ReplaceLaunches(routine, routines)], TranslationUnit(program))
    source = Target(folder / "tuned.cu").write(unit)
    return build(
        analyzer.toolchain,
        source,
        analyzer.toolchain.compile_flags(program.source.path),
        folder / "tuned",
    )


def widths(binary: Path, log: Path, *arguments: str) -> list[int]:
    """The widths of the blocks that were launched."""
    done = run(binary, *arguments, CUTUNE_LAUNCH_LOG=str(log))
    assert done.returncode == 0, done.stderr
    return [launch.block[0] for launch in read_launches(log)]


def test_pointers_decide_whether_warps_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "meeting.cu"
    path.write_text(MEETING)
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    program = with_kernel(analyzer.load(str(path), require_nvcc=True), may_meet=((1, 2),))
    binary = tuned(analyzer, program, tmp_path)
    log = tmp_path / "log"
    # One allocation, then two of them; the last two launches have other pointers.
    assert widths(binary, log, "0") == [32] * 20 + [48, 32]
    log.unlink()
    assert widths(binary, log, "1") == [48] * 20 + [48, 32]


IDLE = r"""
__global__ void guarded(int n, int *to) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = i;
}
__global__ void every(int *to) { to[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void lanes(int n, int *to) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] += __shfl_xor_sync(~0u, i, 1);
}
__global__ void strided(int n, int *to) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int own[4];
        for (int k = 0; k < 4; ++k) own[(i + k) & 3] = to[i] + k;
        to[i] = own[to[i] & 3];
    }
}
int main() {
    int *to;
    cudaMalloc(&to, 6000 * 32 * sizeof(int));
    cudaMemset(to, 0, 6000 * 32 * sizeof(int));
    for (int blocks : {40, 1000, 2129, 6000}) guarded<<<blocks, 32>>>(1280, to);
    for (int blocks : {10, 40, 1000, 2129, 6000}) strided<<<blocks, 32>>>(1280, to);
    every<<<6000, 32>>>(to);
    lanes<<<6000, 32>>>(1280, to);
    return 0;
}
"""


def test_blocks_without_work_are_left_out_where_they_are_most(tmp_path: Path) -> None:
    path = tmp_path / "idle.cu"
    path.write_text(IDLE)
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    routine = ROUTINE.replace("request *,", "request *asked,").replace("dim3(48)", "asked->block")
    binary = tuned(analyzer, analyzer.load(str(path), require_nvcc=True), tmp_path, routine)
    assert run(binary, CUTUNE_LAUNCH_LOG=str(tmp_path / "log")).returncode == 0
    grids = [launch.grid[0] for launch in read_launches(tmp_path / "log")]
    # Threads that exchange values keep their launch.
    assert grids == [40, 1000, 40, 40, 10, 40, 1000, 40, 40, 6000, 6000]


#: Per name of a kernel the condition that is put to it, and how wide its block is then.
STEPS = {
    "whole": (DistinctPlaces("4 * n", "4", 0), 48),
    "too_short": (DistinctPlaces("4 * n - 4", "4", 0), 32),
    "negative": (DistinctPlaces("-4 * n", "4", 0), 48),
    "too_large_to_know": (DistinctPlaces("n * n * n * n * n * n * n * n", "1", 0), 32),
    "no_parameter": (DistinctPlaces("4 * m", "4", 0), 32),
}


Known = Mapping[str, Mapping[str, Any]]
"""Name of a kernel → what is known of it besides."""


def several(names: Sequence[str]) -> str:
    """The same program; a kernel of each name is launched in the place of one."""
    begin, kernel, rest = re.split(r"(?=__global__|int main)", MEETING)
    launch = "copy<<<30, 32>>>(n, one, from);"
    assert launch in rest
    launches = "".join(launch.replace("copy", name) for name in names)
    kernels = "".join(kernel.replace("copy", name) for name in ("copy", *names))
    return begin + kernels + rest.replace(launch, f"{{ {launches} }}")


def widths_of(analyzer: Analyzer, program: Program, known: Known, folder: Path) -> dict[str, int]:
    """The width of the first launch of each kernel, of which something more is known."""
    kernels = (replace(k, **known.get(k.name, {})) for k in program.kernels)
    binary = tuned(analyzer, replace(program, kernels=tuple(kernels)), folder)
    return dict(zip(known, widths(binary, folder / "log", "1"), strict=False))


def test_steps_decide_whether_warps_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "steps.cu"
    path.write_text(several([*STEPS]))
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    program = analyzer.load(str(path), require_nvcc=True)
    known: Known = {name: {"distinct_places": (place,)} for name, (place, _) in STEPS.items()}
    expected = {name: width for name, (_, width) in STEPS.items()}
    assert widths_of(analyzer, program, known, tmp_path) == expected


@pytest.mark.parametrize("is_called", [True, False])
def test_what_was_not_proven_for_this_code_stays(is_called: bool, tmp_path: Path) -> None:
    path = tmp_path / "proven.cu"
    known: Known = {"for_all": {"proven_for": (80, 90)}, "for_other": {"proven_for": (90,)}}
    overloads = [f"__global__ void {name}(int, float *, const int *);" for name in known]
    path.write_text("".join([] if is_called else overloads) + several([*known]))
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    program = analyzer.load(str(path), require_nvcc=True)
    sites = [site for site in program.tunable_launches if site.kernel in known]
    assert [site.called is not None for site in sites] == [is_called] * 2
    assert widths_of(analyzer, program, known, tmp_path) == {"for_all": 48, "for_other": 32}


ANNOTATED = r"""
#pragma cutune kernel fill data(n) block(x: 64, 96)
__global__ void fill(int n, int *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = n;
}
__global__ void plane(int n, int *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) x[j * n + i] = n;
}
int main() {
    int *x;
    cudaMalloc(&x, 10000 * sizeof(int));
    for (int step = 0; step < 50; ++step) fill<<<100, 32>>>(3200, x);
    for (int step = 0; step < 50; ++step) plane<<<dim3(4, 13), dim3(32, 8)>>>(100, x);
    return cudaDeviceSynchronize() != cudaSuccess;
}
"""


def test_blocks_follow_from_the_seed(tmp_path: Path) -> None:
    path, output = tmp_path / "annotated.cu", tmp_path / "random.cu"
    path.write_text(ANNOTATED)
    done = cutune("emit", path, "--choose", "random:5", "-o", output, *QUICK)
    assert done.returncode == 0, done.stderr
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    binary = build(analyzer.toolchain, output, [STANDARD], tmp_path / "random")
    first = run(binary, CUTUNE="verbose").stderr
    assert first.count("-> 64x1x1") > 5 and first.count("-> 96x1x1") > 5
    assert {block for block in changed(first) if block.endswith("x1x1")} >= {"64x1x1", "96x1x1"}
    wide = {block for block in changed(first)[:-1] if not block.endswith("x1x1")}
    assert len(wide) > 20
    assert run(binary, CUTUNE="verbose", CUTUNE_SEED="5").stderr == first
    assert run(binary, CUTUNE="verbose", CUTUNE_SEED="6").stderr != first
    assert "->" not in run(binary, CUTUNE="verbose,off", CUTUNE_SEED="6").stderr


def test_which_blocks_are_drawn_from() -> None:
    path = str(PROGRAMS / "staying.cu")
    kernels = {
        kernel.name: kernel for kernel in Analyzer(Toolchain(flags=QUICK_FLAGS)).load(path).kernels
    }
    assert random_blocks(kernels["count"]) == tuple((width, 0, 0) for width in WIDTHS)
    assert max(random_blocks(kernels["few"]))[0] == 128
    assert max(random_blocks(kernels["deep"])) == (0, 0, 64)


@pytest.mark.parametrize("text", ["random", "random:", "random:x", "model:1", "random:-1"])
def test_misuse(text: str, tmp_path: Path) -> None:
    path = tmp_path / "nothing.cu"
    path.write_text("int main() {}")
    done = cutune("emit", path, "--choose", text, *QUICK)
    assert done.returncode == 2 and "random:SEED" in done.stderr
    done = cutune("emit", path, "--choose", "random:1", "-o", tmp_path / "out.cu", *QUICK)
    assert done.returncode == 1 and "[CT415]" in done.stderr
