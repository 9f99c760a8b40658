"""What the blocks of a grid share out, by the formula that the host has for it."""

from __future__ import annotations

import pytest

from cutune.proof.variants.tile_grids import share_of
from cutune.source.host_formula import basic_size, formula_of
from cutune.source.syntax.tokens import lex_significant


@pytest.mark.parametrize(
    ("grid", "arguments", "share"),
    [
        ("(n + 15) / 16", {"n": "width"}, ("width", 16)),
        ("n / 16", {"n": "width"}, ("width", 16)),
        ("(n - 1) / 16 + 1", {"n": "width"}, ("width", 16)),
        ("(n + 3 + 15) / 16", {"n": "width", "n + 3": "height"}, ("height", 16)),
        ("(3 + n + 16 - 1) / 16", {"n + 3": "height"}, ("height", 16)),
        ("(n + m + 15) / 16", {"m + n": "all"}, ("all", 16)),
        ("(n - m + 15) / 16", {"n - m": "left"}, ("left", 16)),
        ("(n - m + 15) / 16", {"n + m": "all"}, None),
        # Twice a size is not the size: what is known is the number of blocks.
        ("(n + n + 15) / 16", {"n": "width"}, ("(((width + width) + 15) / 16)", 1)),
        ("(n + n + 15) / 16", {"n + n": "twice"}, ("twice", 16)),
        ("(n + 4 + 15) / 16", {"n + 3": "height"}, None),
        ("64", {"64": "width"}, ("64", 1)),
    ],
)
def test_what_blocks_share_out(
    grid: str, arguments: dict[str, str], share: tuple[str, int] | None
) -> None:
    assert share_of(formula_of(lex_significant(grid), basic_size), arguments) == share
