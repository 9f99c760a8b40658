"""Ways out: does a statement always leave its block? Takes AST nodes."""

from __future__ import annotations

from collections.abc import Iterator

from pycparser import c_ast

_WAYS_OUT = (c_ast.Return, c_ast.Break, c_ast.Continue)


def leaves(node: c_ast.Node) -> bool:
    """Is the code after the statement never reached from it?"""
    if isinstance(node, c_ast.Compound):
        return any(leaves(item) for item in node.block_items or ())
    if isinstance(node, c_ast.If):
        return node.iffalse is not None and leaves(node.iftrue) and leaves(node.iffalse)
    return isinstance(node, _WAYS_OUT)


def only_leaves(node: c_ast.Node | None) -> bool:
    """Does the statement do nothing else?"""
    if isinstance(node, c_ast.Compound):
        return all(only_leaves(item) for item in node.block_items or ())
    return node is None or isinstance(node, (*_WAYS_OUT, c_ast.EmptyStatement))


def ends_loop(node: c_ast.Node, in_loop: bool, breaks_loop: bool) -> bool:
    """Does the statement always leave, and may that end the loop around it?

    Args:
        in_loop: is there a loop around it?
        breaks_loop: is a `break` that of a loop, not of a `switch`?
    """
    return leaves(node) and any(
        (isinstance(way, c_ast.Return) and in_loop)
        or (isinstance(way, c_ast.Break) and breaks_loop)
        for way in _ways_out(node)
    )


def _ways_out(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """`return`, `break` and `continue` that leave the statement."""
    if isinstance(node, _WAYS_OUT):
        yield node
    elif isinstance(node, c_ast.Compound):
        for item in node.block_items or ():
            yield from _ways_out(item)
    elif isinstance(node, c_ast.If):
        yield from _ways_out(node.iftrue)
        if node.iffalse is not None:
            yield from _ways_out(node.iffalse)
