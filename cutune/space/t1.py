"""T1, the JSON in which tuners exchange spaces: `--space FILE` reads it, and `inspect` writes it.

Takes a file, gives parameters and conditions, and back.

The parts that describe a space are read, leniently: keys in any case, lists as text or as JSON. Its
expressions are a part of Python's, and are never run:

    [1, 2] + list(range(4, 65, 4))      [2**i for i in range(5)]      32 <= x * y and x % 2 == 0
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, TypeVar

from lark import Lark, Token, Transformer, Tree
from lark.exceptions import LarkError

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.reading import read_file
from cutune.core.source import Source, Span
from cutune.core.typed import parsed
from cutune.space.annotation import Condition, Expression, Value, names_in, subtree
from cutune.space.columns import Column, evaluate
from cutune.space.parameter import MOST_VALUES, Parameter, ParameterOptions, checked, is_run, shown
from cutune.space.space import Space

T = TypeVar("T")
FUNCTIONS = ("ceil", "floor", "min", "max", "abs")
#: Functions of one argument.
_SINGLE = ("ceil", "floor", "abs")
#: Nodes that join operands; of a single one they are that operand.
_JOINING = ("condition", "conjunction", "expression", "term")


class ExpressionError(ValueError):
    """A text is no expression of the language; the message says why."""


def read_python_condition(text: str) -> Expression:
    """Return a condition in nodes of the annotation language. Raises ExpressionError."""
    return _tree(text, "condition")


def read_python_values(text: str) -> list[Value]:
    """Return the values of a list of T1. Raises ExpressionError where there are too many."""
    worths = _values(_tree(text, "values"))
    return [w if isinstance(w, str) or w.denominator > 1 else int(w) for w in worths]


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


def _values(tree: Expression) -> list[Value]:
    children, values = tree.children, list[Value]()
    match tree.data:
        case "literal":
            values = [_worths(child)[0] for child in children]
        case "range":
            limits = [_worths(child)[0] for child in children]
            values = list(islice(_range(limits), MOST_VALUES + 1))
        case "joined":
            values = [value for child in children for value in _values(subtree(child))]
        case "comprehension":
            inner, name, source, *condition = children
            given = _values(subtree(source))
            for test in condition:
                worths = zip(given, _worths(test, str(name), given), strict=True)
                given = [value for value, worth in worths if worth != 0]
            values = _worths(inner, str(name), given)
        case data:
            raise ExpressionError(f"{data} is no list of values")
    if len(values) > MOST_VALUES:
        raise ExpressionError(f"more than {MOST_VALUES} values")
    return values


def _worths(child: object, name: str = "", given: Sequence[Value] = (0,)) -> list[Value]:
    """The worths of an expression for the values of the name that a comprehension binds."""
    if not given:
        return []
    tree = subtree(child)
    unknown = names_in(tree) - {name}
    if unknown:
        raise ExpressionError(f"'{min(unknown)}' is not known in a list of values")
    worths = evaluate(tree, {name: Column.of(given)}).values()
    known = [worth for worth in worths if worth is not None]
    if len(known) < len(worths):
        raise ExpressionError("a value divides by zero, or computes with a word")
    return known if len(known) == len(given) else known * len(given)


def _range(limits: Sequence[Any]) -> Sequence[int]:
    is_other = len(limits) > 3 or any(isinstance(n, str) or n.denominator > 1 for n in limits)
    if is_other or (len(limits) == 3 and limits[2] == 0):
        raise ExpressionError("range takes one to three integers, the last one not 0")
    return range(*map(int, limits))


# ---- writing


@dataclass(frozen=True)
class _Text:
    """Conditions as Python writes them: operands are in parentheses unless they are one token.

    Names that are `words` are in quotes; `constants` are written as their values.
    """

    words: Collection[str]
    constants: Mapping[str, Value]

    def text(self, tree: Expression) -> str:
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


Json = dict[str, Any]
VERSION = "1.0.0"


def read_t1(path: str | Path) -> ParameterOptions:
    """Read the parameters and conditions of a T1 file.

    Raises CT001, CT806 for another file, CT807 for an expression, CT800.
    """
    source = read_file(path)
    try:
        document = parsed(source.encode())
    except ValueError as error:
        raise _no_t1(source, f"no JSON: {error}") from error
    space = _member(document, "ConfigurationSpace")
    entries, conditions = _member(space, "TuningParameters"), _member(space, "Conditions") or []
    if not isinstance(entries, list):
        raise _no_t1(source, "no list ConfigurationSpace.TuningParameters")
    if not isinstance(conditions, list):
        raise _no_t1(source, "Conditions is no list")
    parameters = tuple(_parameter(source, entry) for entry in entries)
    return ParameterOptions(parameters, tuple(_condition(source, entry) for entry in conditions))


def _parameter(source: Source, entry: object) -> Parameter:
    name, values = _member(entry, "Name"), _member(entry, "Values")
    if not isinstance(name, str) or not name.isidentifier() or values is None:
        raise _no_t1(source, "a parameter without Name or Values")
    text = json.dumps(values) if isinstance(values, list) else values
    if not isinstance(text, str):
        raise _no_t1(source, "Values is no list")
    return checked(name, _read(source, text, read_python_values), source, _span(source, name))


def _condition(source: Source, entry: object) -> Condition:
    text = _member(entry, "Expression")
    if not isinstance(text, str):
        raise _no_t1(source, "a condition without Expression")
    tree = _read(source, text, read_python_condition)
    return Condition(text, tree, source, _span(source, text))


def _read(source: Source, text: str, read: Callable[[str], T]) -> T:
    try:
        return read(text)
    except ExpressionError as error:
        code, span = Code.BAD_EXPRESSION, _span(source, text)
        raise CutuneError.at(code, source, span, text=text, reason=error) from None


def _span(source: Source, text: str) -> Span | None:
    start = source.text.find(json.dumps(text))
    return Span(start, start + len(json.dumps(text))) if start >= 0 else None


def _no_t1(source: Source, reason: str) -> CutuneError:
    return CutuneError.at(Code.NOT_T1, path=source.path, reason=reason)


def _member(entry: object, key: str) -> Any:
    if not isinstance(entry, dict):
        return None
    return next((value for k, value in entry.items() if k.lower() == key.lower()), None)


def to_t1(space: Space, defaults: Mapping[str, Value], kernel: Mapping[str, str]) -> Json:
    """Return a space as T1, with the program's own values and `KernelName`, `KernelFile`."""
    known = {*space.names, *space.known}
    device = {name: value for name, value in space.known.items() if "." in name}
    return {
        "General": {"FormatVersion": VERSION},
        "ConfigurationSpace": {
            "TuningParameters": [_parameter_json(p, defaults) for p in space.parameters],
            "Conditions": [
                {
                    "Parameters": [name for name in space.names if name in c.names],
                    "Expression": _Text(c.names - known & space.words, device).text(c.tree),
                }
                for c in space.conditions
            ],
        },
        "KernelSpecification": {"Language": "CUDA", **kernel},
    }


def _parameter_json(parameter: Parameter, defaults: Mapping[str, Value]) -> Json:
    default, values = defaults.get(parameter.name), parameter.values
    number = float(default) if isinstance(default, Fraction) else default
    kinds = {type(value) for value in values}
    quoted = (f"'{value}'" if isinstance(value, str) else shown(value) for value in values)
    return {
        "Name": parameter.name,
        "Type": "string" if str in kinds else "float" if Fraction in kinds else "int",
        "Values": f"list(range({values[0]}, {values[-1]} + 1))"
        if is_run(values)
        else f"[{', '.join(quoted)}]",
        **({} if default is None else {"Default": number}),
    }
