"""Which texts copies are tried in, without a launch."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.source import Source
from cutune.measure import tile_trials
from tests.support.analyzed import analyzed

SOURCE = (
    "__global__ void k(int n, float *a) { a[threadIdx.x] = n; }\nvoid go() { k<<<1, 32>>>(0, 0); }"
)


def test_the_same_code_is_tried_for_one_architecture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tried: list[str] = []

    def noted(text: str, *_: object) -> tuple[list[object], dict[str, str]]:
        tried.append(text)
        return [], {"T_8": "said"}

    monkeypatch.setattr(tile_trials, "_tried", noted)
    (kernel,) = analyzed(Source("app.cu", SOURCE)).kernels
    text = ".version 9.0\n.target sm_75\n.address_size 64\n// code\n"
    others = text.replace("sm_75", "sm_90a"), text.replace("code", "other code")
    for one in (text, *others):
        assert tile_trials.copies_that_do_the_same(one, kernel, []) == ([], {"T_8": "said"})
    assert tried == [text, others[1]]
