"""Writes regret_models.json.gz: fitted models of some swept programs, for a floor under the choice.

`python -m tests.recorded.record_models` tunes them on the emulated device; needs nvcc, no GPU. To
be repeated where what models hold, or how they are written, has changed.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from cutune.model.fit.fitted_model import FittedModel, read_models, write_models
from cutune.model.measurement.measurement import Origin
from cutune.toolchain.device.profile import DeviceProfile
from tests.support.swept_programs import SAMPLES, SMALL, tuned

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).with_name("regret_models.json.gz")
#: Of each kind a few: products, sums of rows and of columns, stencils; a kept grid, work that
#: depends on data, a kernel that nothing but its stores keeps busy.
PROGRAMS = (
    "2dconv",
    "atax",
    "fdtd2d",
    "gemm",
    "gesummv",
    "gather",
    "scan_step",
    "spmv_csr",
    "stencil3d",
    "triad",
    "transpose_naive",
    "softmax_rows",
    "gauss_blur",
    "cosine_rows",
    "histogram_shared",
)


def main() -> None:
    """Tune the programs, as the benchmark of regret does; keep the models, without the place."""
    with ProcessPoolExecutor() as pool:
        models = [model for found in pool.map(_models, sorted(PROGRAMS)) for model in found]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "models.json"
        write_models(path, models)
        # Without a time in it: the same models are the same bytes.
        STORED.write_bytes(gzip.compress(path.read_bytes(), mtime=0))


def stored_models(folder: Path) -> list[FittedModel]:
    """The models as they were stored; `folder` is one to write to."""
    path = folder / "models.json"
    path.write_bytes(gzip.decompress(STORED.read_bytes()))
    return read_models(path)


def _models(stem: str) -> list[FittedModel]:
    (path,) = (*SAMPLES.glob(f"{stem}.cu"), *ROOT.glob(f"benchmarks/**/{stem}.cu"))
    plan = path.with_name("sizes.json")
    sizes = json.loads(plan.read_text())[stem]["emulated"] if plan.exists() else SMALL
    sizes = [str(n) for n in sizes]
    found = tuned(path, sizes, DeviceProfile.named("h200"), with_variants=False)
    return [_placed(model, stem) for model in found]


def _placed(model: FittedModel, stem: str) -> FittedModel:
    origin = Origin(f"/project/{stem}.cu", model.kernel.origin.content)
    # Variants have sweeps of their own.
    return replace(model, kernel=replace(model.kernel, origin=origin), variants=())


if __name__ == "__main__":
    main()
