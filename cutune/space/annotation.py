"""Annotations and conditions. Takes the text of a pragma or an option, gives what it says.

    #pragma cutune kernel gemm data(NI, NJ, NK) block(x: 8..1024) where(x * y <= 1024) grid(…)
    #pragma cutune kernel sums block(x: 64, 128, 256) shared(4 * x)
    #pragma cutune kernel softmax data(n) block(x: 64..1024) grid(keep)
    #pragma cutune tune(m: 4, 8, 16) data(N)
    #pragma cutune tune(STORE: cached, streamed, WPT: 1..10) where(WPT < 4 || STORE == cached)
    #pragma cutune region begin repeat
    #pragma cutune ignore
    #pragma kernel_info_size_param_idx_gemm = 2

The language is `grammars/annotation.lark`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property

from lark import Lark, Token, Transformer, Tree, UnexpectedInput, UnexpectedToken

from cutune.core.source import Source, Span
from cutune.core.typed import Integer, Name

#: A longer range within a list is too long in any case.
MOST_WRITTEN_OUT = 1 << 17

#: A value of a parameter: an exact number, or a word.
Value = int | Fraction | str

Expression = Tree[Token]
"""A tree of `condition`, `conjunction`, `comparison`, `expression`, `term`, `call`, `name` and
`number`.

`keep` stands for a number of blocks, or of bytes, that does not follow the block.
"""


@dataclass(frozen=True)
class Values:
    """Values that something may have: integers or words that are listed, or an interval."""

    listed: tuple[Integer | Name, ...]
    interval: tuple[Integer, Integer] | None = None

    def __contains__(self, value: int) -> bool:
        if self.interval is not None:
            return self.interval[0] <= value <= self.interval[1]
        return value in self.listed


@dataclass(frozen=True)
class KernelAnnotation:
    """Clauses about a kernel; None where there is none. `where` is text: see `read_condition`."""

    kernel: str
    data: tuple[str, ...] | None = None
    block: Mapping[str, Values] | None = None
    where: str | None = None
    grid: tuple[Expression, ...] | None = None
    shared: Expression | None = None
    associative: bool | None = None


@dataclass(frozen=True)
class TuneAnnotation:
    """Host integers that may be chosen, the sizes that decide the choice, and what must hold."""

    choices: Mapping[str, Values]
    data: tuple[str, ...]
    where: str | None = None


@dataclass(frozen=True)
class RegionAnnotation:
    """Begin or end of a timed region, which may run again where it `is_repeated`."""

    is_begin: bool
    is_repeated: bool = False


@dataclass(frozen=True)
class IgnoreAnnotation:
    """The next launch is left alone."""


@dataclass(frozen=True)
class SizeIndexAnnotation:
    """KLARAPTOR: which parameter of a kernel, counted from 0, is its size."""

    kernel: str
    index: int


@dataclass(frozen=True)
class DimensionAnnotation:
    """KLARAPTOR: the number of dimensions of a kernel's thread blocks, 1 to 3."""

    kernel: str
    dimensions: int


Annotation = (
    KernelAnnotation
    | TuneAnnotation
    | RegionAnnotation
    | IgnoreAnnotation
    | SizeIndexAnnotation
    | DimensionAnnotation
)


class AnnotationError(ValueError):
    """The text is not an annotation; `offset` is where it stops being one."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


def read_annotation(text: str) -> Annotation:
    """Read what stands behind `#pragma`. Raises AnnotationError."""
    try:
        tree = _parser().parse(text, start="start")
    except UnexpectedInput as error:
        ends = isinstance(error, UnexpectedToken) and error.token.type == "$END"
        offset = len(text) if ends else error.pos_in_stream or 0
        found = next(iter(text[offset:].split()), "its end")
        raise AnnotationError(f"not understood at '{found}'", offset) from error
    except RecursionError:
        raise AnnotationError("nested too deeply", 0) from None
    return _annotation(_Values().transform(tree), text)


class _Values(Transformer[Token, Expression]):
    """Paths become dotted names, values become `Values`."""

    def path(self, names: Sequence[Token]) -> str:
        return ".".join(names)

    def interval(self, limits: Sequence[Token | int]) -> Values:
        return Values((), (int(limits[0]), int(limits[1])))

    def stepped(self, numbers: Sequence[Token | int]) -> Values:
        first, last, step = map(int, numbers)
        most = first + step * MOST_WRITTEN_OUT
        return Values(tuple(range(first, min(last, most) + 1, step)))

    def listed(self, values: Sequence[Token]) -> Values:
        return Values(tuple(map(int, values)))

    def positive(self, digits: Sequence[Token]) -> int:
        return int(digits[0])

    def negative(self, digits: Sequence[Token]) -> int:
        return -int(digits[0])

    def value(self, values: Sequence[int]) -> Values:
        return Values((values[0],))

    def word(self, names: Sequence[Token]) -> Values:
        return Values((str(names[0]),))

    def values(self, parts: Sequence[Values]) -> Values:
        """One range stays a range; beside others it is written out."""
        if len(parts) == 1:
            return parts[0]
        return Values(tuple(value for part in parts for value in _written_out(part)))


def _written_out(values: Values) -> Sequence[int | str]:
    if values.interval is None:
        return values.listed
    first, last = values.interval
    return range(first, min(last, first + MOST_WRITTEN_OUT) + 1)


def read_choice(text: str) -> Values:
    """Read the values of an option: `none, 20, 40..48`. Raises UnexpectedInput."""
    values = _Values().transform(_parser().parse(text, start="values"))
    assert isinstance(values, Values)
    return values


def read_condition(text: str) -> Expression:
    """The tree of a `where` clause that `read_annotation` has understood."""
    return _expression(_Values().transform(_parser().parse(text, start="condition")))


def names_in(tree: Expression) -> frozenset[str]:
    return frozenset(str(name.children[0]) for name in tree.find_data("name"))


@dataclass(frozen=True)
class Condition:
    """A condition on the values of a configuration, with its place, if it has one.

    `tree` has the nodes of the annotation language; `negation`, `word`, `//` and `**` besides.
    """

    text: str
    tree: Expression
    source: Source | None = field(default=None, compare=False)
    span: Span | None = field(default=None, compare=False)

    @staticmethod
    def read(text: str, source: Source | None = None, span: Span | None = None) -> Condition:
        """Return a condition of the annotation language. Raises lark.UnexpectedInput."""
        return Condition(text, read_condition(text), source, span)

    @cached_property
    def names(self) -> frozenset[str]:
        """All names in it: parameters, sizes, and words."""
        return names_in(self.tree)

    @property
    def possible_words(self) -> set[str]:
        """Names that are compared with something for equality."""
        return {
            str(side.children[0])
            for comparison in self.tree.find_data("comparison")
            if str(comparison.children[1]) in ("==", "!=")
            for side in map(subtree, comparison.children[::2])
            if side.data == "name"
        }

    def conjuncts(self) -> Iterator[Condition]:
        """The conditions of which all must hold; they may be asked one by one."""
        if self.tree.data != "conjunction":
            yield self
            return
        for child in self.tree.children:
            yield from replace(self, tree=subtree(child)).conjuncts()


def _annotation(tree: Expression, text: str) -> Annotation:
    match tree.data:
        case "kernel":
            return _kernel(tree, text)
        case "tune":
            choices = {str(c.children[0]): _values(c) for c in tree.find_data("choice")}
            names = [str(name) for data in tree.find_data("data") for name in data.children]
            where = next(tree.find_data("where"), None)
            return TuneAnnotation(choices, tuple(names), _inner_text(text, where))
        case "region":
            return RegionAnnotation(tree.children[0] == "begin", len(tree.children) > 1)
        case "size_index":
            name, value = map(str, tree.children)
            return SizeIndexAnnotation(name.removeprefix("kernel_info_size_param_idx_"), int(value))
        case "dimension_count":
            name, value = map(str, tree.children)
            return DimensionAnnotation(name.removeprefix("kernel_info_dim_"), int(value))
        case _:
            return IgnoreAnnotation()


def _kernel(tree: Expression, text: str) -> KernelAnnotation:
    clauses = {child.data: child for child in tree.children if isinstance(child, Tree)}
    data, block = clauses.get("data"), clauses.get("block")
    where, grid, shared = (clauses.get(name) for name in ("where", "grid", "shared"))
    return KernelAnnotation(
        str(tree.children[0]),
        tuple(map(str, data.children)) if data else None,
        {str(d.children[0]): _values(d) for d in block.find_data("dimension")} if block else None,
        _inner_text(text, where),
        tuple(map(_expression, grid.children)) if grid else None,
        _expression(shared.children[0]) if shared else None,
        True if "associative" in clauses else None,
    )


def _inner_text(text: str, clause: Expression | None) -> str | None:
    if clause is None:
        return None
    return text[clause.meta.start_pos : clause.meta.end_pos - 1].partition("(")[2].strip()


def _values(tree: Expression) -> Values:
    values = tree.children[1]
    assert isinstance(values, Values)
    return values


def subtree(child: object) -> Expression:
    assert isinstance(child, Tree)
    return child


def _expression(child: Expression | Token) -> Expression:
    return child if isinstance(child, Tree) else Tree("name", [child])


@cache
def _parser() -> Lark:
    return Lark.open_from_package(
        "cutune",
        "annotation.lark",
        ("grammars",),
        parser="lalr",
        start=["start", "condition", "values"],
        maybe_placeholders=False,
        propagate_positions=True,
    )
