"""One of each document that cutune writes, with all that it may hold. Nothing was measured."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from cutune.core.workspace import COMMAND_SCHEMA
from cutune.lab.interchange.convert import FORMATS
from cutune.lab.interchange.results import Metric, Result, Results
from cutune.model.measurement.measurement import Measurement, Origin, SiteCounters
from cutune.model.measurement.sweep import RecordedSweep, SweptLaunch, swept_line, write_sweep
from cutune.proof.analysis.recorded_launches import Helped, SeenLaunch
from cutune.search.regions import HostMeasurement
from cutune.search.trials import EndedTrial, Status, Trial
from cutune.source.program import SiteKey
from cutune.toolchain.device.profile import DeviceProfile
from cutune.tuning.nvcc.units import LAUNCHES_SCHEMA, LENDING_SCHEMA, CompiledSource
from cutune.tuning.nvcc.units import SCHEMA as UNIT_SCHEMA
from tests.support.full_documents import choices_document, models_document
from tests.support.measured_kernel import KERNEL

ORIGIN = Origin("/app.cu", "hash")
UNIT = CompiledSource("app.cu", "/none", ("-O3",), "k", 0, (("k", ("k_2",)),), (1,))
_DEVICE = "NVIDIA H200"


def seeds() -> Iterator[bytes]:
    """The documents."""
    yield from _of_workspaces()
    yield _json(models_document())
    yield _json(choices_document())
    yield _json(DeviceProfile.named("h200").to_json())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sweep.json"
        write_sweep(path, RecordedSweep(_DEVICE, "580", "each thrice", (_swept(), _swept())))
        yield path.read_bytes()
    yield from (one.write(_results()).encode() for one in FORMATS if one.name != "csv")
    command = {"directory": "/none", "file": "a.cu", "command": "nvcc -O3 -Iinclude -c a.cu"}
    yield _json([command, {**command, "arguments": ["nvcc", "-DN=2", "@a.rsp", "a.cu"]}])
    yield _lines(*({"n": 100 + n, "block": [32, 4], "ms": 0.5} for n in range(2)))


def _of_workspaces() -> Iterator[bytes]:
    unit = asdict(UNIT)
    yield _lines(KERNEL.to_json(), _measurement().to_json())
    yield _lines({"device": _DEVICE, **swept_line(_swept())})
    yield _trials()
    sources = {"command": "cutune tune a.cu", "folder": "/none", "sources": ["a.cu"], "flags": []}
    yield _lines({"schema": COMMAND_SCHEMA, **sources})
    yield _json({"schema": UNIT_SCHEMA, **unit})
    helped = Helped(("/app.cu",), ("-O2",), "/")
    seen = SeenLaunch(SiteKey("/app.cu", 1), "k", "app.cu", 3, False, "why", "CT201", 0, helped)
    yield _json({"schema": LAUNCHES_SCHEMA, "launches": [seen.to_json()]})
    yield _json({"schema": LENDING_SCHEMA, "unit": unit, "has": ["k"], "lacks": ["m"]})
    yield _json({"schema": LENDING_SCHEMA, "lenders": [unit]})


def _measurement() -> Measurement:
    site = SiteCounters(*(1,) * 9, 0, 0, 400, 1, 1)
    counters = {"executed_blocks": 4, "working_threads": 100, "lanes": (100,), "executions": (4,)}
    return Measurement(
        *("_Z1k", "code", "counts", "emulation", (("n", 100),), (4, 1, 1), (32, 1, 1)),
        **counters,  # type: ignore[arg-type]
        sites=(site,),
    )


def _swept() -> SweptLaunch:
    times = {(32, 1, 1): 4.0, (256, 1, 1): 2.5}
    return SweptLaunch("app", "k", 512, {"n": 512}, (2, 1, 1), (256, 1, 1), times, 32, 0)


def _trials() -> bytes:
    first, second = (Trial(ORIGIN, "./a", {"n": "100"}, {"tile": tile}) for tile in (1, 2))
    one = HostMeasurement(ORIGIN, "GPU A", {"tile": 1}, {"tile": {"n": 100}}, 0.5)
    ended = EndedTrial(Status.OK, "", (one,), (2.0, 3.0), "abc", True)
    stopped = {**second.to_json(), "event": "stop"}
    return _lines(first.to_json(), first.ended_json(ended), second.to_json(), stopped)


def _results() -> Results:
    whole = Result(
        {"tile": 4, "mode": "fast"},
        {"x": 4096},
        *(Status.OK, 0.125, (0.125, 0.25), _DEVICE, "", "abc", 1.5, "2026-01-02 03:04:05+00:00"),
        phases={"compile": 900.0},
        measurements={"GFLOP/s": Metric(12.5)},
    )
    failed = Result({"tile": 8, "mode": "slow"}, {"x": 4096}, Status.LIMITS, device=_DEVICE)
    return Results((whole, failed), "blur", {"tile": (4, 8), "mode": ("fast", "slow")})


def _json(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _lines(*entries: object) -> bytes:
    return "".join(json.dumps(entry) + "\n" for entry in entries).encode()
