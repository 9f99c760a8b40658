"""Reports, and their programs: the recorded one with its model and times, and a refused one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

from cutune.cli.page.gather import ReportSource, Timings, report_of
from cutune.cli.page.page_facts import PageFacts
from cutune.core.progress import silent
from cutune.core.source import Source
from cutune.core.workspace import Workspace
from cutune.model.fit.fitted_model import FittedModel, read_models
from cutune.model.measurement.measurement import Origin
from cutune.model.measurement.sweep import SweptLaunch
from cutune.model.selection.variants import VariantChooser
from cutune.source.program import Program
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.toolchain import Toolchain
from tests.support.analyzed import analyzed

RECORDED = Path(__file__).parents[1] / "recorded"
H200 = DeviceProfile.named("h200")
(ADD,) = read_models(RECORDED / "add_models.json")
#: Shared memory and a barrier: an annotation would settle it.
TILE = """
__global__ void tile(int n, float *a) {
    __shared__ float s[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = a[i];
    __syncthreads();
    a[i] = s[threadIdx.x];
}
"""
LAUNCH = "    tile<<<n / 128, 128>>>(n, b);\n"

#: Closes what it may stand in, then runs a script that leaves a trace.
HOSTILE = (
    "\"'></code></svg></script><script>pwned = 1</script><img src=x onerror='pwned = 1'>"
    "<!-- {{7*7}} {% x %} &\0\u202e\udcff"
)


def program(text: str, path: str = "add.cu") -> Program:
    return analyzed(Source(path, text))


def add_program() -> tuple[Program, FittedModel]:
    """The recorded program and its model, as if it had been made here."""
    path = RECORDED / "add.cu"
    found = program(path.read_text(), str(path))
    return found, replace(ADD, kernel=replace(ADD.kernel, origin=Origin.of(found.source)))


def with_times(size: int, slower: float = 2.0) -> SweptLaunch:
    """A launch whose times are its predictions, all multiplied."""
    ranked = VariantChooser(ADD, H200).choose({}, size).plain.ranked
    times = {p.block: 1e3 * slower * p.predicted_ms for p in ranked}
    return SweptLaunch("add", "add", size, {"n": size, "m": size}, None, (16, 16, 1), times)


def whole() -> PageFacts:
    """A report with everything that a page can have."""
    found, model = add_program()
    refused = program(f"{TILE}void f(int n, float *b) {{\n{LAUNCH}}}\n", "tile.cu")
    subjects = [
        ReportSource("add.cu", found, (model,), ("a note",)),
        ReportSource("tile.cu", refused, ()),
        ReportSource("gone.cu", None, (), ("it is gone",)),
    ]
    timed = tuple(map(with_times, (512, 1000, 2048)))
    timings = Timings(timed, notes=("a note on everything",))
    about = subjects, H200, Workspace(Path("nowhere")), timings
    return report_of(Toolchain(), silent, *about, made=datetime(2026, 1, 2, tzinfo=UTC))


def all_hostile(value: Any, key: str = "") -> Any:
    """The same with hostile text for every string that comes from outside."""
    # Anchors, and names of terms, are cutune's own.
    if isinstance(value, str) and not isinstance(value, Enum):
        is_own = key in ("key", "models", "judged") or not value
        return value if is_own else f"{value}{HOSTILE}"
    if is_dataclass(value) and not isinstance(value, type):
        named = {f.name: all_hostile(getattr(value, f.name), f.name) for f in fields(value)}
        return replace(value, **named)
    if isinstance(value, Mapping):
        return {k: all_hostile(v) for k, v in value.items()}
    if isinstance(value, tuple):
        parts = [all_hostile(part, key) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, frozenset):
        return frozenset(map(all_hostile, value))
    return value


def hostile(report: PageFacts) -> PageFacts:
    """The evaluation holds times by configuration, which stay what they are."""
    launches = replace(report, evaluation=None)
    found: PageFacts = all_hostile(launches)
    evaluation = report.evaluation
    assert evaluation is not None
    cases = tuple(
        replace(c, launch=replace(c.launch, program=HOSTILE, kernel=HOSTILE))
        for c in evaluation.cases
    )
    return replace(found, evaluation=replace(evaluation, cases=cases))
