"""Launches and kernels of a source, as the recogniser and as tree-sitter-cuda see them.

Places are byte offsets: of `<<<` for a launch, of the parameter list's `(` for a kernel.
"""

from __future__ import annotations

from functools import cache

import tree_sitter
import tree_sitter_cuda

from cutune.core.source import Source
from cutune.source.syntax.parse import parse

Places = tuple[set[int], set[int]]


def recognised(source: Source) -> Places:
    """Places that cutune's recogniser sees."""
    syntax = parse(source)
    tokens = syntax.tokens
    launches = {tokens[launch.callee[1] + 1].start for launch in syntax.launches}
    kernels = {tokens[kernel.parameters[0]].start for kernel in syntax.kernels}
    return launches, kernels


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def seen_by_tree_sitter(text: bytes) -> Places:
    """Places that an independent parser of the whole language sees."""
    launches: set[int] = set()
    kernels: set[int] = set()
    stack = [_parser().parse(text).root_node]
    while stack:
        node = stack.pop()
        stack += node.children
        if node.type == "kernel_call_syntax":
            launches.add(node.start_byte)
        elif node.type == "function_definition":
            declarator = node.child_by_field_name("declarator")
            while declarator and declarator.type != "function_declarator":
                declarator = declarator.child_by_field_name("declarator") or (
                    declarator.children[-1] if declarator.children else None
                )
            parameters = declarator and declarator.child_by_field_name("parameters")
            if parameters and b"__global__" in text[node.start_byte : parameters.start_byte]:
                kernels.add(parameters.start_byte)
    return launches, kernels
