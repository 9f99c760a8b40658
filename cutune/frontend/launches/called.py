"""Launches by a call of CUDA's runtime: `cudaLaunchKernelEx(&config, k, n)`. They stay as they are.

Takes a syntax and the names of kernels, gives a note per kernel and function.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.frontend.syntax.parse import Syntax

_PLAINLY = "written as '{kernel}<<<grid, block>>>(…)', without attributes, it can be judged"
_TOGETHER = "its blocks wait for one another, so no other grid would do"
#: Functions that launch a kernel → what is to be said of such a launch of `{kernel}`.
_FUNCTIONS = {
    "cudaLaunchKernel": _PLAINLY,
    "cudaLaunchKernelEx": _PLAINLY,
    "cudaLaunchKernelExC": _PLAINLY,
    "cudaLaunchCooperativeKernel": _TOGETHER,
}


def called_launches(syntax: Syntax, kernels: Container[str]) -> Iterator[Diagnostic]:
    """What is said of kernels that such a call names, once for each."""
    tokens, told = syntax.tokens, set()
    for index, token in enumerate(tokens[:-1]):
        if token.text not in _FUNCTIONS or tokens[index + 1].text != "(":
            continue
        end = syntax.brackets.partner[index + 1]
        named = (t.text for t in tokens[index + 2 : end] if t.text in kernels)
        kernel = next(named, None)
        if kernel is None or (token.text, kernel) in told:
            continue
        told.add((token.text, kernel))
        advice = _FUNCTIONS[token.text].format(kernel=kernel)
        yield Diagnostic.at(
            Code.LAUNCHED_BY_CALL,
            syntax.source,
            syntax.span((index, end)),
            kernel=kernel,
            function=token.text,
            advice=advice,
        )
