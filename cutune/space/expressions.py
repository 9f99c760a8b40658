"""Expressions of T1, a part of Python's. Takes text, gives values or a condition; runs nothing.

[1, 2] + list(range(4, 65, 4))      [2**i for i in range(5)]      32 <= x * y and x % 2 == 0
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any, NoReturn

from lark import Lark, Token, Transformer, Tree
from lark.exceptions import LarkError

from cutune.frontend.syntax.annotation import Expression
from cutune.space.condition import Value, subtree, value_of
from cutune.space.parameter import MOST_VALUES, shown

FUNCTIONS = ("ceil", "floor", "min", "max", "abs")
#: Functions of one argument.
_SINGLE = ("ceil", "floor", "abs")
#: Nodes that join operands; of a single one they are that operand.
_JOINING = ("condition", "conjunction", "expression", "term")


class ExpressionError(ValueError):
    """A text is no expression of the language; the message says why."""


def read_python_condition(text: str) -> Expression:
    """The tree of a condition, of the nodes of the annotation language.

    Raises:
        ExpressionError: it is none.
    """
    return _tree(text, "condition")


def read_python_values(text: str) -> list[Value]:
    """The values that a list of T1 stands for.

    Raises:
        ExpressionError: it is none, or stands for too many.
    """
    return [_plain(worth) for worth in _Sequence(_tree(text, "values"), {}).values()]


def _tree(text: str, start: str) -> Expression:
    try:
        tree = _Nodes().transform(_parser().parse(text, start=start))
    except LarkError as error:
        cause = getattr(error, "orig_exc", None)
        if isinstance(cause, ExpressionError):
            raise cause from None
        place = getattr(error, "pos_in_stream", None) or 0
        near = next(iter(text[place:].split()), "its end")
        raise ExpressionError(f"not understood at '{near}'") from None
    except RecursionError:
        raise ExpressionError("nested too deeply") from None
    assert isinstance(tree, Tree)
    return tree


@cache
def _parser() -> Lark:
    return Lark.open_from_package(
        "cutune",
        "interchange.lark",
        ("grammars",),
        parser="lalr",
        start=["condition", "values"],
        maybe_placeholders=False,
    )


def _compare(left: object, sign: str, right: object) -> Expression:
    return Tree("comparison", [left, Token("COMPARISON", sign), right])  # type: ignore[list-item]


class _Nodes(Transformer[Token, Any]):
    """Nodes of this grammar → those of the annotation language."""

    def path(self, names: Sequence[Token]) -> str:
        return ".".join(names)

    def name(self, names: Sequence[str]) -> Expression:
        return Tree("name", [Token("NAME", names[0])])

    def word(self, texts: Sequence[Token]) -> Expression:
        return Tree("word", [Token("WORD", texts[0][1:-1])])

    def truth(self, texts: Sequence[Token]) -> Expression:
        return Tree("number", [Token("NUMBER", str(int(texts[0] in ("True", "true"))))])

    def minus(self, operands: Sequence[Expression]) -> Expression:
        zero = Tree("number", [Token("NUMBER", "0")])
        return Tree("expression", [zero, Token("SUM", "-"), operands[0]])

    def call(self, parts: Sequence[Any]) -> Expression:
        name = str(parts[0]).removeprefix("math.")
        if name not in FUNCTIONS:
            raise ExpressionError(f"'{parts[0]}' may not be called; known: {', '.join(FUNCTIONS)}")
        if name in _SINGLE and len(parts) != 2:
            raise ExpressionError(f"'{name}' takes one argument")
        return Tree("call", [Token("FUNCTION", name), *parts[1:]])

    def chain(self, parts: Sequence[Any]) -> Expression:
        """`a < b < c` is `a < b && b < c`."""
        sides, signs = parts[::2], parts[1::2]
        pairs = zip(pairwise(sides), signs, strict=True)
        compared = [_compare(left, sign, right) for (left, right), sign in pairs]
        return compared[0] if len(compared) == 1 else Tree("conjunction", [*compared])

    def membership(self, parts: Sequence[Any]) -> Expression:
        """`a in [1, 2]` is `a == 1 || a == 2`."""
        left, members = parts
        if members.data != "literal" or not members.children:
            raise ExpressionError("'in' needs a list that is written out: a in [1, 2]")
        return Tree("condition", [_compare(left, "==", member) for member in members.children])

    def power(self, parts: Sequence[Any]) -> Expression:
        return Tree("term", list(parts)) if len(parts) > 1 else parts[0]

    def __default__(self, data: str, children: list[Any], meta: Any) -> Any:
        is_alone = data in _JOINING and len(children) == 1
        return children[0] if is_alone else Tree(data, children, meta)


class _Sequence:
    """A list, a range, a comprehension, or several of them."""

    def __init__(self, tree: Expression, bound: dict[str, Any]) -> None:
        self.tree, self.bound = tree, bound

    def values(self) -> list[Any]:
        """Exact numbers and words.

        Raises:
            ExpressionError: something has no value, or there are too many.
        """
        values = []
        for value in self._each():
            values.append(value)
            if len(values) > MOST_VALUES:
                raise ExpressionError(f"more than {MOST_VALUES} values")
        return values

    def _each(self) -> Iterator[Any]:
        children = self.tree.children
        match self.tree.data:
            case "literal":
                yield from (self._worth(child) for child in children)
            case "range":
                yield from _range([self._worth(child) for child in children])
            case "joined":
                for child in children:
                    yield from _Sequence(subtree(child), self.bound).values()
            case "comprehension":
                yield from self._comprehended()
            case data:
                raise ExpressionError(f"{data} is no list of values")

    def _comprehended(self) -> Iterator[Any]:
        inner, name, source, *condition = self.tree.children
        for value in _Sequence(subtree(source), self.bound).values():
            exact = value if isinstance(value, str) else Fraction(value)
            here = _Sequence(self.tree, {**self.bound, str(name): exact})
            if not condition or here._worth(condition[0]) not in (0, None):
                yield here._worth(inner)

    def _worth(self, child: object) -> Any:
        tree = subtree(child)
        names = {str(name.children[0]) for name in tree.find_data("name")} - self.bound.keys()
        if names:
            raise ExpressionError(f"'{min(names)}' is not known in a list of values")
        worth = value_of(tree, self.bound)
        if worth is None:
            raise ExpressionError("a value divides by zero, or computes with a word")
        return worth


def _range(limits: Sequence[Any]) -> Sequence[int]:
    if len(limits) > 3 or any(isinstance(n, str) or n.denominator > 1 for n in limits):
        _refuse_range()
    integers = [int(limit) for limit in limits]
    if len(integers) == 3 and integers[2] == 0:
        _refuse_range()
    return range(*integers)


def _refuse_range() -> NoReturn:
    raise ExpressionError("range takes one to three integers, the last one not 0")


def _plain(worth: Any) -> Value:
    """An integer where it is one."""
    if isinstance(worth, str) or worth.denominator > 1:
        return worth  # type: ignore[no-any-return]
    return int(worth)


# ---- writing


def python_text(tree: Expression, words: Collection[str], constants: dict[str, Value]) -> str:
    """A condition as Python writes it.

    Args:
        words: names that are words.
        constants: names that are written as their values.
    """
    return _Text(words, constants).text(tree)


class _Text:
    """Every operand of an operator stands in parentheses unless it is a name or a number."""

    def __init__(self, words: Collection[str], constants: dict[str, Value]) -> None:
        self.words, self.constants = words, constants

    def text(self, tree: Expression) -> str:
        """An expression without parentheses around it."""
        children = tree.children
        match tree.data:
            case "number":
                return str(children[0])
            case "word":
                return f"'{children[0]}'"
            case "name":
                return self._name(str(children[0]))
            case "negation":
                return f"not {self._operand(children[0])}"
            case "condition" | "conjunction":
                sign = " or " if tree.data == "condition" else " and "
                return sign.join(map(self._operand, children))
            case "call":
                return self._call(str(children[0]), children[1:])
        parts = (str(c) if i % 2 else self._operand(c) for i, c in enumerate(children))
        return " ".join(parts)

    def _name(self, name: str) -> str:
        if name in self.words:
            return f"'{name}'"
        return shown(self.constants[name]) if name in self.constants else name

    def _operand(self, child: object) -> str:
        tree = subtree(child)
        text = self.text(tree)
        return text if tree.data in ("number", "name", "word", "call") else f"({text})"

    def _call(self, name: str, operands: Sequence[object]) -> str:
        first = subtree(operands[0])
        if name in ("ceil", "floor") and [str(c) for c in first.children[1::2]] == ["/"]:
            above, below = map(self._operand, first.children[::2])
            # Python has neither function without its library.
            return f"(-(-{above} // {below}))" if name == "ceil" else f"({above} // {below})"
        return f"{name}({', '.join(self.text(subtree(o)) for o in operands)})"
