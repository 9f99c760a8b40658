"""Kernels that are going to be measured: which are, which are not and why, what is said of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.source import Edit, Source, Span
from cutune.emulator.launch_log import LaunchRecord
from cutune.measure.replay.replay import compiled_kernel
from cutune.measure.replay.subjects import FEW_REGISTERS, Subject, subjects
from cutune.measure.resources import Resources
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import Program, SiteKey, SiteNumbers
from cutune.toolchain.ptxas import StaticCounters
from tests.support.analyzed import analyzed
from tests.support.replayed_kernels import PTX, loaded, recorded

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;"
TEXT = f"""
__global__ void copy(int n, const float *a, float *b) {{ {INDEX} b[i] = a[i]; }}
__global__ void gather(int n, const int *a, float *b) {{ {INDEX} b[i] = a[a[i]]; }}
void run(int n, float *a, int *c, float *b) {{
    copy<<<(n + 255) / 256, 256>>>(n, a, b);
    gather<<<(n + 255) / 256, 256>>>(n, c, b);
}}
"""


@pytest.fixture
def module(tmp_path: Path) -> str:
    path = tmp_path / "module.ptx"
    path.write_text(PTX, encoding="latin-1")
    return str(path)


@pytest.fixture(scope="module")
def program() -> Program:
    found = analyzed(Source("/project/app.cu", TEXT))
    assert [site.kernel for site in found.tunable_launches] == ["copy", "gather"]
    return found


def found_subjects(
    program: Program, records: Sequence[LaunchRecord], told: Resources | None = None
) -> tuple[list[Subject], list[Code]]:
    """The subjects, and what was said."""
    said: list[Diagnostic] = []
    found = subjects(program, records, SiteNumbers(), told or {}, "paper", said.append)
    return found, [diagnostic.code for diagnostic in said]


def test_a_kernel_is_described_by_its_launches_and_its_code(program: Program, module: str) -> None:
    records = [recorded("copy", n, module=module) for n in (500, 3000, 1000)]
    (found, *others), said = found_subjects(program, records)
    assert (others, said) == ([], [Code.NEVER_LAUNCHED])  # of `gather`
    kernel = found.kernel
    assert (kernel.name, kernel.entry, kernel.sites) == (
        "copy",
        "copy",
        (SiteKey("/project/app.cu", 1),),
    )
    assert (kernel.parameters, kernel.positions, kernel.guards[0]) == (("n",), (0,), "n")
    assert kernel.free == (True, False, False)
    assert kernel.original == (256, 1, 1)
    assert [sizes for sizes, _ in kernel.recorded] == [(500,), (3000,), (1000,)]
    assert kernel.recorded[1][1] == (3072, 1, 1)
    # The launch with most work stands for all.
    assert found.record == records[1]
    assert (kernel.asserted, kernel.on_data, kernel.compiled.static.registers) == (False, False, 32)


def test_what_the_compiler_said_is_part_of_it(program: Program, module: str) -> None:
    counters = StaticCounters(registers=FEW_REGISTERS + 8)
    (found,), _ = found_subjects(program, [recorded("copy", module=module)], {"copy": counters})
    assert found.kernel.compiled.static == counters


@pytest.mark.parametrize(("spilled", "is_measured"), [(0, True), (8, False)])
def test_a_variant_that_spills_more_registers_is_not_measured(
    spilled: int, is_measured: bool, program: Program, tmp_path: Path
) -> None:
    kernel = program.kernels[0]
    edit = Edit(Span(0, 0), "")
    variant = KernelVariant("restrict", "copy__restrict", program.source, edit, "restrict")
    kernels = (replace(kernel, variants=(variant,)), *program.kernels[1:])
    program = replace(program, kernels=kernels, has_checked_variants=True)
    copy = PTX[: PTX.index(".visible .entry columns")]
    ptx = copy + copy[copy.index(".visible") :].replace("entry copy", f"entry {variant.kernel}")
    path = tmp_path / "module.ptx"
    path.write_text(ptx, encoding="latin-1")
    told = {"copy": StaticCounters(40), variant.kernel: StaticCounters(40, spilled_bytes=spilled)}
    found, _ = found_subjects(program, [recorded("copy", module=str(path))], told)
    variants = ["", "restrict"] if is_measured else [""]
    assert [one.kernel.variant for one in found] == variants


def test_kernels_of_one_module_share_it(program: Program, module: str) -> None:
    records = [recorded("copy", module=module), replace(recorded("gather", module=module), site=2)]
    found, said = found_subjects(program, records)
    assert said == [Code.COUNTED_ON_DATA]
    copy, gather = found
    assert copy.module is gather.module
    assert copy.made is gather.made
    assert copy.kernel.code == gather.kernel.code
    assert (copy.kernel.on_data, gather.kernel.on_data) == (False, True)


def test_launches_that_were_only_recorded_have_no_data(program: Program, module: str) -> None:
    record = replace(recorded("gather", module=module), site=2, warp_instructions=0)
    found, said = found_subjects(program, [record])
    assert found == []
    assert said == [Code.NEVER_LAUNCHED, Code.DATA_DEPENDENT]


def test_a_site_that_launches_something_else_is_left_alone(program: Program, module: str) -> None:
    both = [recorded("copy", module=module), recorded("columns", module=module)]
    found, said = found_subjects(program, both)
    assert found == []
    assert said == [Code.MANY_INSTANCES, Code.NEVER_LAUNCHED]


def test_instances_that_the_types_of_arguments_tell_apart_are_measured_each(
    program: Program, module: str
) -> None:
    of_floats = replace(recorded("copy", module=module), signature=5)
    of_doubles = replace(recorded("columns", module=module), signature=7)
    found, said = found_subjects(program, [of_floats, of_doubles])
    assert said == [Code.NEVER_LAUNCHED]  # of `gather`
    assert [one.kernel.entry for one in found] == ["copy", "columns"]
    assert [one.kernel.signatures for one in found] == [(5,), (7,)]
    assert found[0].is_launch(of_floats) and not found[0].is_launch(of_doubles)
    # With one instance nothing has to be told apart.
    (alone,), _ = found_subjects(program, [of_floats])
    assert alone.kernel.signatures == () and alone.is_launch(of_doubles)


def test_accesses_are_those_to_memory_that_costs_something() -> None:
    code = loaded()[0].kernels["columns"]
    compiled = compiled_kernel(code, StaticCounters(32))
    blocks, (load, store) = compiled.code_blocks, compiled.memory
    assert (load.kind, load.bytes, store.kind, store.bytes) == ("load", 4, "store", 4)
    assert blocks[load.block].loop >= 0 > blocks[store.block].loop
    assert blocks[load.block].load_phases == 1
    assert not load.shared
