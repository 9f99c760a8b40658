"""models.json: what is written is read back, each row of features once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.model.fit.fitted_model import PublishedCounts, read_models, write_models
from cutune.model.rational.functions import constant_function

(ADD,) = read_models(Path(__file__).parents[2] / "recorded" / "add_models.json")


def document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_models_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    write_models(path, [ADD, replace(ADD, columns=ADD.columns[::-1], transactions=())])
    first, second = read_models(path)
    assert first == ADD
    assert second.columns == ADD.columns[::-1]


def test_what_only_some_models_have_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    names = ("n", "block_x", "block_y", "block_z")
    counts = [constant_function(names, number) for number in range(6)]
    variant = replace(ADD, kernel=replace(ADD.kernel, variant="x2"), variants=())
    model = replace(
        ADD,
        published=PublishedCounts(*counts),
        confirmed_on="NVIDIA H200",
        variants=(variant,),
        is_exact=not ADD.is_exact,
        looped=not ADD.looped,
        held_out_error=0.03,
    )
    write_models(path, [model])
    assert read_models(path) == [model]


def test_a_row_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    doubled = replace(ADD, columns=(*ADD.columns, *ADD.columns))
    write_models(path, [doubled])
    rows = document(path)["models"][0]["rows"]
    assert len({str(row) for row in rows}) == len(rows)
    count = len(ADD.blocks)
    columns = (*ADD.columns, *ADD.transactions)
    used = {c.values[i : i + count] for c in columns for i in range(0, len(c.values), count)}
    assert len(rows) == len(used)
    assert read_models(path) == [doubled]


@pytest.mark.parametrize("rows", [[], [[1.0]], None, ["x"]])
def test_damaged_rows_make_no_model(rows: object, tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    write_models(path, [ADD])
    damaged = document(path)
    damaged["models"][0]["rows"] = rows
    path.write_text(json.dumps(damaged))
    with pytest.raises(CutuneError) as error:
        read_models(path)
    assert error.value.diagnostic.code is Code.DAMAGED_FILE
