"""Line markers: what begins a line within a raw string is none."""

from __future__ import annotations

import pytest

from cutune.toolchain.preprocessed import files_of, masked

MARKER = '\n# 1 "inner"\n'


@pytest.mark.parametrize("prefix", ["", "(", "u8", "u", "U", "L", "a = L"])
def test_raw_strings_hold_no_markers(prefix: str) -> None:
    text = f'# 1 "outer"\n{prefix}R"x({MARKER})" )x";{MARKER}'
    assert masked(text) == text.replace("\n#", "\n\1", 1)
    assert files_of(text.removesuffix(MARKER)) == ["outer"]


@pytest.mark.parametrize("prefix", ["f", "u9", "xu8", "1L", "_"])
def test_a_name_that_ends_with_r_begins_none(prefix: str) -> None:
    text = f'{prefix}R"({MARKER})"'
    assert masked(text) == text
    assert files_of(text) == ["inner"]
