"""Grids of tiles of which the launch does not tell what they follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.measure.tile_trials import copies_that_do_the_same
from cutune.model.fit.fitted_model import read_models
from tests.support.cutune_runs import cutune
from tests.support.told_variants import with_proven_variants

pytestmark = [pytest.mark.nvcc, pytest.mark.long]

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "tile_grids.cu"


def test_the_code_tells_which_size_each_dimension_follows() -> None:
    program = with_proven_variants(PROGRAM, copies_that_do_the_same)
    found = {
        kernel.name: {one.tile.extents for one in kernel.tiles if one.tile is not None}
        for kernel in program.kernels
    }
    assert found == {
        "turned": {("columns", "rows", "1")},
        "product": {("n", "m", "1")},
        "sums_of_pages": {("gridDim.x", "1", "1")},
    }


def test_all_kernels_are_modelled(tmp_path: Path) -> None:
    source = tmp_path / PROGRAM.name
    source.write_text(PROGRAM.read_text())
    done = cutune(
        "tune", source.name, "--run", "./{program} {n}", "--vary", "n=40,100", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    models = read_models(tmp_path / ".cutune" / "models.json")
    assert {one.kernel.name for one in models} == {"turned", "product", "sums_of_pages"}
