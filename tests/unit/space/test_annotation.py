"""The annotation language."""

from __future__ import annotations

import pytest

from cutune.core.source import Source
from cutune.source.syntax.parse import parse
from cutune.space.annotation import (
    Annotation,
    AnnotationError,
    DimensionAnnotation,
    IgnoreAnnotation,
    KernelAnnotation,
    RegionAnnotation,
    SizeIndexAnnotation,
    TuneAnnotation,
    Values,
    read_annotation,
    read_condition,
)


def read(text: str) -> Annotation:
    return read_annotation(text)


@pytest.mark.parametrize(
    ("text", "annotation"),
    [
        ("cutune ignore", IgnoreAnnotation()),
        ("cutune ignore // why", IgnoreAnnotation()),
        ("cutune region begin", RegionAnnotation(True)),
        ("cutune region begin repeat // so often", RegionAnnotation(True, True)),
        ("cutune region end", RegionAnnotation(False)),
        ("cutune kernel k", KernelAnnotation("k")),
        ("cutune kernel a::b::k data(n)", KernelAnnotation("a::b::k", ("n",))),
        ("cutune kernel ::k", KernelAnnotation("::k")),
        ("cutune kernel k data(n, p.m)", KernelAnnotation("k", ("n", "p.m"))),
        (
            "cutune kernel k block(x: 8..1024, y: 1, 2, 4)",
            KernelAnnotation("k", block={"x": Values((), (8, 1024)), "y": Values((1, 2, 4))}),
        ),
        (
            "cutune tune(m: 4, 8, s.b: 16..32) data(N)",
            TuneAnnotation({"m": Values((4, 8)), "s.b": Values((), (16, 32))}, ("N",)),
        ),
        (
            "cutune kernel k block(x: 64..200:64, y: 1..4)",
            KernelAnnotation("k", block={"x": Values((64, 128, 192)), "y": Values((), (1, 4))}),
        ),
        (
            "cutune tune(m: 4..12:4, s.b: -4..4:8) data(N)",
            TuneAnnotation({"m": Values((4, 8, 12)), "s.b": Values((-4, 4))}, ("N",)),
        ),
        (
            "cutune tune(m: 4) data(N) where(N >= 2 * m)",
            TuneAnnotation({"m": Values((4,))}, ("N",), "N >= 2 * m"),
        ),
        ("kernel_info_size_param_idx_gemm = 2;", SizeIndexAnnotation("gemm", 2)),
        ("kernel_info_dim_gemm=2", DimensionAnnotation("gemm", 2)),
    ],
)
def test_read(text: str, annotation: Annotation) -> None:
    assert read(text) == annotation


def test_expressions() -> None:
    annotation = read("cutune kernel k where(x * y <= 1024 && x > y) grid(ceil(NJ / x), NI + 1, 1)")
    assert isinstance(annotation, KernelAnnotation)
    assert annotation.where == "x * y <= 1024 && x > y"
    assert read_condition(annotation.where).data == "conjunction"
    assert annotation.grid is not None
    assert [tree.data for tree in annotation.grid] == ["call", "expression", "number"]


@pytest.mark.parametrize(
    ("text", "offset"),
    [("cutune kernel", 13), ("cutune nonsense", 7), ("cutune kernel k data(1)", 21), ("cutune", 6)],
)
def test_not_an_annotation(text: str, offset: int) -> None:
    with pytest.raises(AnnotationError) as caught:
        read(text)
    assert caught.value.offset == offset


def test_values() -> None:
    assert 3 in Values((1, 3)) and 2 not in Values((1, 3))
    assert 9 in Values((), (8, 10)) and 11 not in Values((), (8, 10))


def test_pragmas_of_a_source() -> None:
    text = "#pragma once\n#pragma cutune tune(m: 1, \\\n 2)\n#  pragma kernel_info_dim_k = 1\n"
    assert len(parse(Source("a.cu", text)).pragmas) == 2
