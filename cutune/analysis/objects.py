"""Objects and the parts of them. Takes lvalues, says whether touching them is an access of memory.

What a variable of the thread holds is none. The object that hidden code runs on has been counted
by whoever uses it, and so has what a reference is bound to.
"""

from __future__ import annotations

from collections.abc import Container

from pycparser import c_ast

from cutune.analysis.bindings import Bindings, own_memory
from cutune.analysis.values import Role


def is_counted(
    bindings: Bindings, lvalue: c_ast.Node, role: Role, device_variables: Container[str]
) -> bool:
    """Is reading the lvalue no access, or one that has been counted?"""
    if own_memory(bindings, lvalue) is not None:
        return not has_subscript(lvalue)
    root = _root(lvalue)
    variable = bindings.of(root) if root is not None else None
    if variable is not None:
        return variable.is_reference
    return role.is_hidden and _is_member(root, device_variables)


def may_change(
    bindings: Bindings, lvalue: c_ast.Node, role: Role, device_variables: Container[str]
) -> bool:
    """Is writing the lvalue no access, or one that has been counted?"""
    if own_memory(bindings, lvalue) is not None:
        return not has_subscript(lvalue)
    if not role.may_change_object:
        return False
    root = _root(lvalue)
    variable = bindings.of(root) if root is not None else None
    if variable is not None:
        return variable.is_parameter and variable.is_reference and variable.name == role.operand
    return not role.operand and _is_member(root, device_variables)


def is_parameter_member(bindings: Bindings, lvalue: c_ast.Node) -> bool:
    """Is it a part of a parameter that no one changes?"""
    variable = own_memory(bindings, lvalue)
    return variable is not None and variable.is_parameter and not variable.escapes


def has_subscript(lvalue: c_ast.Node) -> bool:
    """Does a subscript lead to the lvalue?"""
    while isinstance(lvalue, c_ast.StructRef | c_ast.ArrayRef):
        if isinstance(lvalue, c_ast.ArrayRef):
            return True
        lvalue = lvalue.name
    return False


def _root(lvalue: c_ast.Node) -> c_ast.ID | None:
    """The name that members are taken of, `this` where it is the object; None behind a pointer."""
    node = lvalue
    while isinstance(node, c_ast.StructRef):
        is_this = isinstance(node.name, c_ast.ID) and node.name.name == "this"
        if node.type != "." and not is_this:
            return None
        node = node.name
    if isinstance(node, c_ast.UnaryOp) and node.op == "*":
        node = node.expr
        return node if isinstance(node, c_ast.ID) and node.name == "this" else None
    return node if isinstance(node, c_ast.ID) else None


def _is_member(root: c_ast.ID | None, device_variables: Container[str]) -> bool:
    return root is not None and root.name not in device_variables
