"""The notebook of the guide: what its cells show is what they give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.notebook import code_cells, outputs, shown_by

NOTEBOOK = Path(__file__).parents[2] / "docs" / "guide" / "notebook.ipynb"


@pytest.mark.long
@pytest.mark.nvcc
def test_the_cells_show_what_they_give() -> None:
    cells = code_cells(json.loads(NOTEBOOK.read_text()))
    given = [outputs(shown, number) for number, shown in enumerate(shown_by(NOTEBOOK), start=1)]
    # Written anew by `python -m tests.support.notebook`.
    assert [cell["outputs"] for cell in cells] == given
