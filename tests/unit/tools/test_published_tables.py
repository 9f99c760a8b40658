"""The model against published tables: a table of two configurations, counted and looked up."""

from __future__ import annotations

import gzip
import json
import warnings
from math import inf
from pathlib import Path

import pytest

from benchmarks import published_tables
from benchmarks.published_tables import (
    Counting,
    Key,
    Published,
    designed,
    random_best,
    said_of_alike,
    space_of,
)
from cutune.space.space import Configuration
from cutune.toolchain.device.profile import DeviceProfile

# One point per thread; the wider block reads whole lines.
SOURCE = """
extern "C" __global__ void copied(float *to, const float *from) {
    int x = blockIdx.x * block_size_x + threadIdx.x, y = blockIdx.y * block_size_y + threadIdx.y;
    to[x + 4096 * y] = from[x + 4096 * y];
}
"""
VALUES = {"block_size_x": [1, 32], "block_size_y": [1, 32], "tile_size_x": [1], "tile_size_y": [1]}
TIMES = {"1,32": 2.0, "32,1": 1.0, "32,32": 4.0}


def test_the_best_of_random_draws_is_that_of_their_order_statistics() -> None:
    # Of two of (1, 2, 3): 1 in two of three pairs, else 2.
    assert random_best([1.0, 2.0, 3.0], 2) == pytest.approx(4 / 3, abs=0.05)


def test_configurations_of_nearly_one_code_say_how_far_a_table_is_of_one_mind() -> None:
    times = {(2, 0): 8.0, (2, 1): 2.0, (4, 0): 5.0, (4, 1): 5.0, (8, 0): 9.0}
    known: dict[Key, float] = {
        (("loads", loads), ("width", width)): time for (width, loads), time in times.items()
    }
    said = said_of_alike("loads", known)
    assert said.startswith("2 times configurations differ in loads alone")
    assert "at most by 4.00; the least mean is 100.0 % off the best" in said


class _Limited(Counting):
    """Blocks that are one thread wide need more than the device has."""

    def microseconds(self, one: Configuration, device: DeviceProfile) -> float:
        x, y = int(one["block_size_x"]), int(one["block_size_y"])
        return inf if x == 1 else float(x + y)


def test_what_no_device_can_run_tells_the_search_no_time(tmp_path: Path) -> None:
    kernel = Published("copied", "copied.cu", "copied", (4096, 4096), 2)
    (tmp_path / "kernels").mkdir()
    parameters = [{"Name": name, "Values": values} for name, values in VALUES.items()]
    t1 = {"ConfigurationSpace": {"TuningParameters": parameters, "Conditions": []}}
    (tmp_path / "kernels" / "copied.json").write_text(json.dumps(t1))
    counting = _Limited(kernel, tmp_path, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        count, first = designed(
            counting, space_of(kernel, tmp_path), DeviceProfile.named("a100"), 4
        )
    assert count == 4
    assert [one["block_size_x"] for one in first] == [32, 32]


@pytest.mark.nvcc
def test_a_table_is_counted_and_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("kernels", "cachefiles/copied"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "kernels" / "copied.cu").write_text(SOURCE)
    parameters = [{"Name": name, "Values": values} for name, values in VALUES.items()]
    condition = {"Expression": "block_size_x * block_size_y >= 32"}
    space = {"TuningParameters": parameters, "Conditions": [condition]}
    t1 = {"ConfigurationSpace": space}
    (tmp_path / "kernels" / "copied.json").write_text(json.dumps(t1))
    records = {f"{key},1,1": _record(key, time) for key, time in TIMES.items()}
    # One that failed where it was timed is none that the model could have tried.
    records["1,1,1,1"] = {**_record("1,1", 0.0), "time": "RuntimeFailedConfig"}
    table = {"tune_params_keys": [*VALUES], "cache": records}
    path = tmp_path / "cachefiles" / "copied" / "A100.json.gz"
    path.write_bytes(gzip.compress(json.dumps(table).encode()))
    kernel = Published("copied", "copied.cu", "copied", (4096, 4096), 2)
    monkeypatch.setattr(published_tables, "KERNELS", (kernel,))
    monkeypatch.setattr(published_tables, "DEVICES", {"A100": "a100"})
    monkeypatch.setattr(published_tables, "SHORTLIST", 2)
    published_tables.main(tmp_path, tmp_path, most=3)
    said = capsys.readouterr().out
    assert said.startswith("copied A100: first choice ")
    assert "3 of 3 compiled and counted" in said
    assert "first choice 100.0 %" not in said


def _record(key: str, time: float) -> dict[str, object]:
    values = [*map(int, key.split(",")), 1, 1]
    return {**dict(zip(VALUES, values, strict=True)), "time": time}
