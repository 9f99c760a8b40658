"""What launches of a source call is kept: asked again of the same text, no compiler says it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from cutune.core.temporary import temporary_folder
from cutune.proof.analysis.host_calls import exported_kernels, host_launches
from cutune.toolchain import cudafe
from cutune.toolchain.cache import cache_folder
from cutune.toolchain.nvcc import find_nvcc
from tests.support.noted_steps import noted_steps
from tests.support.program_texts import THREE_LAUNCHES

pytestmark = [pytest.mark.nvcc, pytest.mark.usefixtures("short_headers")]


@pytest.fixture
def steps_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return noted_steps(cudafe, "run", tmp_path, monkeypatch)


def test_the_same_text_is_not_asked_about_again(tmp_path: Path, steps_run: list[str]) -> None:
    source, header = tmp_path / "a.cu", tmp_path / "a.h"
    source.write_text(f'#include "a.h"\n{THREE_LAUNCHES}')
    header.write_text("template <typename T> __global__ void other(T *a) {}\n")
    ask = partial(host_launches, find_nvcc(), str(source))
    first = ask(["-std=c++14"])
    assert [launch.line for launch in first] == [5, 6, 6] and steps_run == [
        "gcc",
        "cudafe++",
        "gcc",
    ]
    assert ask(["-std=c++14"]) == first and steps_run[3:] == ["gcc"]
    kept = exported_kernels(find_nvcc(), str(source), ["-std=c++14"])
    assert exported_kernels(find_nvcc(), str(source), ["-std=c++14"]) == kept
    assert kept and steps_run[4:] == ["gcc", "cudafe++", "gcc", "gcc"]
    del steps_run[:]
    ask(["-std=c++17"])
    header.write_text("inline int other() { return 1; }\n")
    ask(["-std=c++14"])
    for file in (cache_folder() / "host").iterdir():
        file.write_text(file.read_text()[:-9])
    assert [launch.line for launch in ask(["-std=c++14"])] == [5, 6, 6]
    assert steps_run == ["gcc", "cudafe++", "gcc"] * 3


def test_of_what_is_temporary_nothing_is_kept(steps_run: list[str]) -> None:
    with temporary_folder() as folder:
        source = Path(folder) / "a.cu"
        source.write_text(THREE_LAUNCHES)
        for _ in range(2):
            assert len(host_launches(find_nvcc(), str(source), ["-std=c++14"])) == 3
    assert steps_run.count("cudafe++") == 2
