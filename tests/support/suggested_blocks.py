"""Kernels of one program, and what is suggested of each."""

from __future__ import annotations

from collections.abc import Mapping

from cutune.core.source import Source
from cutune.proof.analysis.suggestions import Suggestion, suggestions
from cutune.source.program import Verdict
from tests.support.analyzed import analyzed

Kernels = Mapping[str, tuple[str, str, str]]
"""By name: grid and block of the launch, the body, and what is expected to be said."""


def program_of(kernels: Kernels, before: str = "", more: str = "") -> Source:
    """All kernels, each with `a`, `b` and `n`, and their launches.

    `before`: text in front. `more`: further parameters of the function that launches them.
    """
    text = before
    for name, (_, body, _) in kernels.items():
        text += f"__global__ void {name}(const float *a, float *b, int n) {{ {body} }}\n"
    launches = (f"{name}<<<{launch}>>>(a, b, n);" for name, (launch, _, _) in kernels.items())
    text += f"void run(const float *a, float *b, int n{more}) {{ {' '.join(launches)} }}\n"
    return Source("a.cu", text)


def suggested(source: Source) -> dict[str, Suggestion]:
    """What is suggested, by the name of the kernel."""
    return {one.kernel: one for one in suggestions(analyzed(source))}


def check(found: Suggestion, expected: str) -> None:
    """Hold a suggestion against the end of its pragma, or against a part of its text."""
    if expected.startswith("block("):
        assert found.pragma is not None, found.text
        assert found.pragma.endswith(expected), found.pragma
    else:
        assert found.pragma is None
        assert expected in found.text


def check_pragmas(kernels: Kernels, said: Mapping[str, Suggestion], more: str = "") -> None:
    """With all pragmas that were suggested, the launches of these kernels are tunable alone."""
    pragmas = {name: one.pragma for name, one in said.items() if one.pragma is not None}
    launches = analyzed(program_of(kernels, "\n".join(pragmas.values()) + "\n", more)).launches
    tunable = {one.kernel for one in launches if one.verdict is not Verdict.REFUSED}
    assert tunable == pragmas.keys()
