"""Instrumented and tuned programs: compiled by nvcc, run on the emulated device."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.reading import read_source
from cutune.core.source import Source
from cutune.emulator.launch_log import read_launches
from cutune.emulator.run import program_environment
from cutune.measure.resources import or_none, resources_of
from cutune.passes import InstrumentLaunches, ReplaceLaunches
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.compiled import KnownCode
from cutune.source.program import Program
from cutune.source.rewrite.pipeline import Pass, TranslationUnit, run_passes
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.kernel_names import base_name
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, Nvcc, find_nvcc
from cutune.toolchain.toolchain import Toolchain
from tests.support.analyzed import analyzed
from tests.support.cutune_runs import build_flags
from tests.support.short_headers import STANDARD

pytestmark = pytest.mark.nvcc

HERE = Path(__file__).parent
PROBED = HERE.parent / "corpus" / "programs" / "probed.cu"
GEMM = HERE.parents[1] / "samples" / "polybench" / "gemm.cu"
GOLDEN = sorted(
    path
    for path in (HERE.parent / "golden" / "instrument").glob("*.cu")
    if not path.name.endswith(".expected.cu")
)
#: Compilers do not know `#pragma cutune`.
WARNINGS = ("-Xcompiler", "-Wall,-Wextra,-Wconversion,-Wno-unknown-pragmas")

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def nvcc() -> Nvcc:
    return find_nvcc()


def program_of(nvcc: Nvcc, path: Path) -> Program:
    return analyzed(read_source(path))


def rewritten(nvcc: Nvcc, path: Path, step: Pass) -> Source:
    unit = run_passes([step], TranslationUnit(program_of(nvcc, path)))
    return unit.rewritten()


@pytest.fixture(scope="module")
def build(nvcc: Nvcc, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Rewrite a source, compile it for the emulated device, once for all tests."""

    @cache
    def built(path: Path, step: Pass | None = None) -> Path:
        source = read_source(path) if step is None else rewritten(nvcc, path, step)
        name = "original" if step is None else step.name
        folder = tmp_path_factory.mktemp("build")
        text, binary = folder / f"{name}.cu", folder / name
        text.write_bytes(source.encode())
        includes = (f"-I{INCLUDE_DIRECTORY}", f"-I{path.parent}")
        nvcc.check([str(text), *includes, STANDARD, *build_flags(), "-o", str(binary)])
        return binary

    return built


def execute(program: Path, *arguments: str, **settings: object) -> str:
    environment = {**program_environment(program), **{k: str(v) for k, v in settings.items()}}
    done = subprocess.run(
        [program, *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# ---- compilation


@pytest.mark.long
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_sources_compile_without_a_warning(nvcc: Nvcc, tmp_path: Path, path: Path) -> None:
    """What the probe does with a launch is compiled below, where it is the same."""
    assert messages(nvcc, tmp_path, path, 14, "-DCUTUNE_PROBE_LINKED") == ""


@pytest.mark.long
@pytest.mark.usefixtures("own_standard")
@pytest.mark.parametrize(("standard", "case"), [(11, "arguments"), (11, "places"), (20, "places")])
def test_every_standard(nvcc: Nvcc, tmp_path: Path, standard: int, case: str) -> None:
    path = HERE.parent / "golden" / "instrument" / f"{case}.cu"
    assert messages(nvcc, tmp_path, path, standard) == ""


def messages(nvcc: Nvcc, folder: Path, path: Path, standard: int, *flags: str) -> str:
    """What nvcc says of an instrumented file."""
    text = folder / "text.cu"
    text.write_bytes(rewritten(nvcc, path, InstrumentLaunches()).encode())
    wanted = [f"-std=c++{standard}", "-arch=sm_80", *WARNINGS, f"-I{INCLUDE_DIRECTORY}", "-c"]
    done = nvcc.check([*wanted, *flags, str(text), "-o", str(folder / "out.o")])
    return done.stderr + done.stdout


def test_messages_of_nvcc_name_the_users_file_and_line(nvcc: Nvcc, tmp_path: Path) -> None:
    path = tmp_path / "user.cu"
    path.write_text(
        "__global__ void fill(int n, float *x) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < n) x[i] = 1.0f;\n"
        "}\n"
        "void run(int n, float *x, int wrong) {\n"
        "    fill<<<n / 32,\n"
        "           32>>>(n, x);\n"
        "    n += wrong;\n"
        "}\n"
    )
    program = analyzed(read_source(path))
    unit = run_passes([InstrumentLaunches()], TranslationUnit(program))
    text = tmp_path / "other.cu"
    text.write_bytes(unit.rewritten().encode())
    flags = ["-arch=sm_80", f"-I{INCLUDE_DIRECTORY}", "-Dwrong=0x"]
    done = nvcc.run([*flags, "-c", str(text), "-o", "/dev/null"])
    assert f"{path}(8): error" in done.stdout + done.stderr


def test_two_instrumented_files_link(nvcc: Nvcc, tmp_path: Path) -> None:
    texts = []
    for name in ("first", "second"):
        path = tmp_path / f"{name}.cu"
        path.write_text(
            f"__global__ void {name}_kernel(int n, float *x) {{\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (i < n) x[i] = 1.0f;\n"
            "}\n"
            f"void {name}(int n, float *x) {{ {name}_kernel<<<n / 32, 32>>>(n, x); }}\n"
            + ("int main() { return 0; }\n" if name == "first" else "")
        )
        text = tmp_path / f"{name}.instrumented.cu"
        text.write_bytes(rewritten(nvcc, path, InstrumentLaunches()).encode())
        texts.append(str(text))
    program = tmp_path / "program"
    nvcc.check([*texts, f"-I{INCLUDE_DIRECTORY}", STANDARD, *build_flags(), "-o", str(program)])
    assert subprocess.run([program], check=False).returncode == 0


def test_the_compiler_says_what_a_kernel_needs(nvcc: Nvcc) -> None:
    found = resources_of(
        Toolchain(), KnownCode(), program_of(nvcc, GEMM), DeviceProfile.named("h200")
    )
    ((symbol, resources),) = found.items()
    assert base_name(symbol) == "gemm_kernel"
    assert resources.registers > 10


def test_what_was_read_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    analyzer = Analyzer(Toolchain(flags=("-x", "cu", STANDARD), architectures=("sm_80", "sm_90")))
    program, path = analyzer.load(str(GEMM), require_nvcc=True), str(GEMM)
    expected = analyzer.toolchain.nvcc.static_counters(
        path, analyzer.toolchain.compile_flags(path), "sm_90"
    )

    def fails(*_: object) -> None:
        raise AssertionError("the source is compiled again")

    monkeypatch.setattr(Nvcc, "check", fails)
    assert (
        resources_of(analyzer.toolchain, analyzer.code, program, DeviceProfile.named("h200"))
        == expected
    )


def test_a_source_that_does_not_compile_needs_nothing(nvcc: Nvcc, tmp_path: Path) -> None:
    broken = tmp_path / "broken.cu"
    broken.write_text("__global__ void k() { nothing; }")
    said: list[Diagnostic] = []
    ask = partial(nvcc.static_counters, broken)
    assert or_none(said.append, program_of(nvcc, GEMM), ask) == {}
    assert [diagnostic.code for diagnostic in said] == [Code.NO_STATIC_COUNTERS]


# ---- the probe at work


def test_no_mode_changes_what_a_program_does(build: Build, tmp_path: Path) -> None:
    expected = execute(build(PROBED))
    assert "cudaSuccess" in expected
    program = build(PROBED, InstrumentLaunches())
    candidates = tmp_path / "candidates"
    sites = range(20)
    blocks = (32, 96, 128, 512)
    candidates.write_text("".join(f"{site} {x} 1 1\n" for site in sites for x in blocks))
    for mode in ("", "off", "record", "sweep", "profile", "nonsense"):
        output = tmp_path / f"{mode}.jsonl"
        printed = execute(
            program, CUTUNE_MODE=mode, CUTUNE_OUTPUT=output, CUTUNE_CANDIDATES=candidates
        )
        assert printed == expected, mode
        assert output.exists() == (mode in ("record", "sweep", "profile"))
    errors = [line["error"] for line in lines(tmp_path / "sweep.jsonl") if "error" in line]
    assert any("not allowed" in error for error in errors)


def test_without_an_output_file_the_program_runs_all_the_same(build: Build) -> None:
    program = build(PROBED, InstrumentLaunches())
    expected = execute(program)
    assert execute(program, CUTUNE_MODE="sweep") == expected
    assert execute(program, CUTUNE_MODE="record", CUTUNE_OUTPUT="/nowhere/at/all") == expected


def test_record_of_gemm(build: Build, tmp_path: Path) -> None:
    output = tmp_path / "record.jsonl"
    program = build(GEMM, InstrumentLaunches())
    assert "PASS" in execute(program, "50", CUTUNE_MODE="record", CUTUNE_OUTPUT=output)
    (line,) = lines(output)
    assert line["schema"] == "cutune-record-1"
    assert line["kernel"] == "gemm_kernel"
    assert line["file"] == str(GEMM)
    assert (line["grid"], line["block"], line["extent"]) == ([2, 7, 1], [32, 8, 1], [50, 50, 1])
    integers, reals, pointers = (
        [a for a in line["arguments"] if a["kind"] == kind]
        for kind in ("integer", "real", "pointer")
    )
    assert [a["value"] for a in integers] == [50, 50, 50]
    assert [a["value"] for a in reals] == pytest.approx([1.5, 0.8])
    assert [a["size"] for a in pointers] == [10000] * 3
    assert all(a["address"] == a["base"] for a in pointers)


def test_sweep_of_gemm(build: Build, tmp_path: Path) -> None:
    output, candidates = tmp_path / "sweep.jsonl", tmp_path / "candidates"
    program = build(GEMM, InstrumentLaunches())
    (site,) = (site.id for site in program_of(find_nvcc(), GEMM).tunable_launches)
    shapes = [(64, 4, 1), (32, 8, 1), (16, 2, 1), (7, 3, 1), (64, 32, 1), (32, 4, 2)]
    candidates.write_text("".join(f"{site} {x} {y} {z}\n" for x, y, z in shapes))
    settings = {"CUTUNE_OUTPUT": output, "CUTUNE_CANDIDATES": candidates}
    assert "PASS" in execute(program, "50", CUTUNE_MODE="sweep", **settings)
    found = {tuple(line["block"]): line for line in lines(output)}
    assert set(found) == set(shapes)
    measured = {block for block, line in found.items() if "error" not in line}
    assert measured == {(64, 4, 1), (32, 8, 1), (16, 2, 1), (7, 3, 1)}
    for block in measured:
        line = found[block]
        assert line["schema"] == "cutune-timing-1"
        assert line["identical"] is True
        assert line["difference"] == 0
        assert line["modelled"] is True
        assert len(line["milliseconds"]) == 1
        assert line["original"] is (block == (32, 8, 1))
    assert found[7, 3, 1]["grid"] == [8, 17, 1]


@pytest.mark.parametrize(("step", "threads"), [(0, {256, 128}), (1, {64}), (2, {32})])
def test_in_its_place_each_launch_is_made_once(
    build: Build, tmp_path: Path, step: int, threads: set[int]
) -> None:
    """`in_place` and `copy` would show that they ran twice."""
    program = build(PROBED, InstrumentLaunches())
    output, candidates = tmp_path / "swept", tmp_path / "candidates"
    sites = [site.id for site in program_of(find_nvcc(), PROBED).tunable_launches]
    shapes = [(site, x) for site in sites for x in (64, 32)]
    candidates.write_text("".join(f"{site} {x} 1 1\n" for site, x in shapes))
    expected = execute(build(PROBED))
    settings = {"CUTUNE_OUTPUT": output, "CUTUNE_CANDIDATES": candidates, "CUTUNE_STEP": step}
    assert execute(program, CUTUNE_MODE="sweep", CUTUNE_CACHE="program", **settings) == expected
    found = [line for line in lines(output) if "error" not in line]
    assert {line["kernel"] for line in found} >= {"in_place", "copy"}
    assert len(found) == len({line["site"] for line in found})
    assert {line["block"][0] for line in found} == threads
    assert all(len(line["milliseconds"]) == 1 for line in found)


def test_behind_the_last_candidate_launches_stay(build: Build, tmp_path: Path) -> None:
    program = build(PROBED, InstrumentLaunches())
    output = tmp_path / "swept"
    settings = {"CUTUNE_MODE": "sweep", "CUTUNE_CACHE": "program", "CUTUNE_STEP": 1}
    assert execute(program, CUTUNE_OUTPUT=output, **settings) == execute(build(PROBED))
    assert not output.exists()


def test_the_limit_counts_launches_of_a_site(build: Build, tmp_path: Path) -> None:
    program = build(PROBED, InstrumentLaunches())
    for limit, expected in ((1, {0}), (2, {0, 1})):
        output = tmp_path / f"{limit}.jsonl"
        execute(program, CUTUNE_MODE="record", CUTUNE_OUTPUT=output, CUTUNE_LAUNCH_LIMIT=limit)
        loop = [line["launch"] for line in lines(output) if line["kernel"] == "copy"]
        assert set(loop) == expected


# ---- tuned programs

ROUTINE = """\
enum : unsigned long long { cutune_select_any_arguments = ~0ull };
static inline cutune_chosen
cutune_select_any(const cutune_request *request, cutune_shortlist *) {
    cutune_chosen answer = cutune_only_block(request->block);
    const cutune_device device = cutune_current_device();
    if (device.major == 9 && device.multiprocessors > 100) answer.block = dim3(64, 4);
    return answer;
}
"""


def tuned(nvcc: Nvcc, path: Path) -> ReplaceLaunches:
    sites = program_of(nvcc, path).tunable_launches
    return ReplaceLaunches(ROUTINE, tuple((site.id, "cutune_select_any") for site in sites))


def test_a_tuned_program_launches_what_was_chosen(nvcc: Nvcc, build: Build, tmp_path: Path) -> None:
    program = build(GEMM, tuned(nvcc, GEMM))
    for mode, block in (("", (64, 4, 1)), ("verbose", (64, 4, 1)), ("off", (32, 8, 1))):
        log = tmp_path / f"{mode}.jsonl"
        assert "PASS" in execute(program, "50", CUTUNE=mode, CUTUNE_LAUNCH_LOG=log)
        (launch,) = read_launches(log)
        assert launch.block == block


def test_a_tuned_program_behaves_as_the_original(nvcc: Nvcc, build: Build) -> None:
    expected = execute(build(PROBED))
    assert execute(build(PROBED, tuned(nvcc, PROBED))) == expected


@pytest.mark.long
@pytest.mark.usefixtures("own_standard")
@pytest.mark.parametrize("standard", [11, 17, 20])
def test_tuned_programs_need_no_header_of_cutune(nvcc: Nvcc, tmp_path: Path, standard: int) -> None:
    text = tmp_path / "tuned.cu"
    text.write_bytes(rewritten(nvcc, PROBED, tuned(nvcc, PROBED)).encode())
    flags = [f"-std=c++{standard}", "-arch=sm_80", *WARNINGS, "-c"]
    done = nvcc.check([*flags, str(text), "-o", str(tmp_path / "out.o")])
    assert done.stderr + done.stdout == ""


def test_sites_without_a_routine_stay_byte_for_byte(nvcc: Nvcc) -> None:
    unit = run_passes([ReplaceLaunches()], TranslationUnit(program_of(nvcc, GEMM)))
    assert unit.rewritten() == read_source(GEMM)


@pytest.mark.parametrize(
    ("since", "flags", "tunable"),
    [
        # The emulated device runs code for compute_80, whatever is asked for.
        (800, ("-arch=sm_75",), ["same"]),
        (900, ("-arch=sm_90",), ["same"]),
        (900, ("-arch=sm_80",), ["lane", "same"]),
    ],
)
def test_every_architecture_that_will_run_is_judged(
    tmp_path: Path, since: int, flags: tuple[str, ...], tunable: list[str]
) -> None:
    path = tmp_path / "passes.cu"
    index = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    path.write_text(
        f"#if __CUDA_ARCH__ >= {since}\n#define LANE threadIdx.x\n#else\n#define LANE 1\n#endif\n"
        f"__global__ void lane(int n, int *x) {{ {index} if (i < n) x[i] = LANE; }}\n"
        f"__global__ void same(int n, int *x) {{ {index} if (i < n) x[i] = 3; }}\n"
        "void f(int n, int *x) {\n"
        "    lane<<<n / 32, 32>>>(n, x);\n"
        "    same<<<n / 32, 32>>>(n, x);\n"
        "}\n"
    )
    program = Analyzer(Toolchain(flags=(*flags, STANDARD))).load(str(path))
    assert [site.kernel for site in program.tunable_launches] == tunable
