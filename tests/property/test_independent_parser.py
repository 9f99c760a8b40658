"""The recogniser sees every launch and every kernel that a parser of the whole language sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.reading import read_source
from cutune.source.syntax.parse import parse

pytest.importorskip("tree_sitter")
pytest.importorskip("tree_sitter_cuda")
from tests.support.tree_sitter_counts import recognised, seen_by_tree_sitter

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("samples/**/*.cu"), *ROOT.glob("benchmarks/**/*.cu")])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_same_places(path: Path) -> None:
    launches, kernels = recognised(read_source(str(path)))
    assert kernels
    assert (launches, kernels) == seen_by_tree_sitter(path.read_bytes())


def test_goldens_have_none_that_is_missed() -> None:
    """Goldens hold what tree-sitter does not understand, so that it may see less there."""
    for path in sorted(ROOT.glob("tests/golden/**/*.cu")):
        source = read_source(str(path))
        if any(diagnostic.is_error for diagnostic in parse(source).diagnostics):
            continue
        launches, kernels = recognised(source)
        other_launches, other_kernels = seen_by_tree_sitter(path.read_bytes())
        assert not other_kernels - kernels, path
        assert not other_launches - launches, path
