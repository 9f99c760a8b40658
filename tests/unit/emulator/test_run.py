"""What `cutune run` prints of kernels."""

from __future__ import annotations

import pytest

from cutune.emulator.run import LONGEST_NAME, shortened

LONG = "x" * LONGEST_NAME


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("sum<int, 4>", "sum<int, 4>"),
        (f"cub::sort<a<{LONG}>::b, c<1>>", "cub::sort<…>"),
        (f"a<{LONG}>::b<c>", "a<…>::b<…>"),
        (f"cudapy::add[abi:v1][abi:{LONG}]", "cudapy::add"),
        (f"{LONG}operator<", f"{LONG}operator<"),
        (LONG + "_1", LONG + "_1"),
    ],
)
def test_long_names_are_shortened(name: str, shown: str) -> None:
    assert shortened(name) == shown
