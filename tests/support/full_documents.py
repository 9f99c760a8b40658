"""A models.json and a choices.json with all that they may hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parents[1] / "recorded"


def models_document() -> Any:
    """A model with all that is emitted: arguments of one value, a size that follows, times."""
    document = json.loads((RECORDED / "add_models.json").read_text())
    (model,) = document["models"]
    for one in (model, *model["variants"]):
        _keep_some_blocks(one)
        one["timed"] = _timed(one)
    facts = model["facts"]
    facts["held"] = [[4, 12]]
    facts["tied"] = [["half", 5, f"({facts['parameters'][0]} + 1) / 2"]]
    facts["kept"] = [["steps", 12]]
    return document


def _keep_some_blocks(model: Any) -> None:
    """Six, the original among them: the same is made of each."""
    kept = range(0, len(model["blocks"]), 9)
    model["blocks"] = [model["blocks"][i] for i in kept]
    model["rows"] = [
        [row[i] for i in kept] if isinstance(row, list) else row for row in model["rows"]
    ]


def _timed(model: Any) -> Any:
    """Times of two launches, at the last of which one candidate was not timed."""
    count = len(model["blocks"])
    launch = {"sizes": [1 << 20] * len(model["facts"]["parameters"]), "extents": [1 << 20, 1, 1]}
    return {
        "device": "NVIDIA H200",
        "predicted_us": [[20.0 + n for n in range(count)], [300.0 + n for n in range(count)]],
        "factors": [[0.9 + n / 8 for n in range(count)], [1.25 - n / 16 for n in range(count)]],
        "beyond": [0.97, *[1.1] * (count - 1)],
        "launches": [{**launch, "microseconds": [*(25.0 + n for n in range(count - 1)), None]}],
    }


def choices_document() -> Any:
    """Classifiers of two host integers, and of the blocks of `add`."""
    entry = {"given": [], "measured": 3, "lowest": [8], "highest": [5000]}
    blocks = [[32, 4, 1], [256, 1, 1]]
    intervals = {**entry, "limits": [100], "configurations": blocks}
    sizes = {"tunables": ["m", "p->k"], "sizes": ["grid.n", "q"], "given": [], "limit": 0.05}
    points = {"points": [[8, 8], [5000, 8]], "configurations": [[4, 1], [8, 2]]}
    ranges = {"lowest": [8, 8], "highest": [5000, 8]}
    model = {"tunables": ["x", "y", "z"], "sizes": ["n"], "given": [], "limit": 0.05}
    launches = {
        "kernel": "add",
        "device": "NVIDIA H200",
        "columns": ["n", "m", "T.x", "T.y", "T.z"],
        "lowest": [8, 8, 8, 8, 1],
        "highest": [5000, 5000, 5000, 5000, 1],
        "links": [{"column": 1, "source": 0, "factor": 2, "offset": -3, "divisor": 1}],
        "model": {**model, "choices": [intervals]},
    }
    origin = {"path": str(RECORDED / "add.cu"), "content": "0"}
    return {
        "schema": "cutune-choices/1",
        "origin": origin,
        "models": [{**sizes, "choices": [{**entry, **ranges, **points}]}],
        "fixed": {"TILE": "none"},
        "launches": {"origin": origin, "blocks": [launches]},
    }
