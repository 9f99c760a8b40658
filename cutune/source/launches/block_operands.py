"""Which operands of a kernel may stand for the size of its block. Takes a definition.

`blockIdx.x * 256`, a name that an index is multiplied by elsewhere, or a step from one index to the
next (`i += THREADS`). What is found is only a guess: `block_copies` has it proven.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise

from cutune.source.program import DIMENSIONS
from cutune.source.syntax.parse import SourceFunction, Syntax
from cutune.source.syntax.tokens import Token
from cutune.source.unit.unit import template_parameters, until_semicolon
from cutune.toolchain.device.thread_block import LARGEST, Block

_INDICES = frozenset({"threadIdx", "blockIdx"})
_OPERATORS = frozenset({"*", "/", "%", "+", "-", "<", ">", "<=", ">=", "==", "!="})
#: Behind what a name is no operand: a member, a qualified name, an address.
_BEFORE_OTHERS = frozenset({".", "->", "::", "&", "~", "++", "--"})
_AFTER_OTHERS = frozenset({".", "->", "::", "(", "[", "=", "++", "--", "+=", "-=", "*=", "/="})
#: A block whose sizes are not all known.
BlockSizes = tuple[int | None, int | None, int | None]
_STEP = "+="
#: What ends the product that an operand stands in.
_ENDS = frozenset(";,{}?:=<>+-") | {"<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "return"}
_INTEGER = re.compile(r"(?:0[xX][0-9a-fA-F']+|[1-9][0-9']*)[uUlL]*")


@dataclass(frozen=True)
class KernelOperands:
    """The operands of a kernel, and the indices of threads and blocks that they stand beside.

    `constants`: names that stand for one value throughout; the value, if it is known.
    """

    syntax: Syntax
    function: SourceFunction
    constants: Mapping[str, int | None]

    @property
    def tokens(self) -> Sequence[Token]:
        return self.syntax.tokens

    @property
    def places(self) -> range:
        """The tokens between the braces of the body."""
        first, last = self.function.braces
        return range(first + 1, last)

    def meant_block(self, sizes: BlockSizes) -> Block:
        """The sizes; where a launch does not tell one, the number that its index is multiplied by.

        A launch in another block than that runs the kernel itself.
        """
        x, y, z = (
            self._only_factor(axis) if size is None else size
            for axis, size in zip(DIMENSIONS, sizes, strict=True)
        )
        return (x, y, z)

    def _only_factor(self, axis: str) -> int:
        """The one constant that an index of this dimension is multiplied by, or 0."""
        operands = (i for i in self.places if self.is_operand(i) and self.product(i) == {axis})
        values = {self.value(index) for index in operands}
        value = values.pop() if len(values) == 1 else None
        return value if value is not None and 1 < value <= LARGEST else 0

    def is_read(self, index: int) -> bool:
        before, after = self.tokens[index - 1].text, self.tokens[index + 1].text
        return before not in _BEFORE_OTHERS and after not in _AFTER_OTHERS

    def is_operand(self, index: int) -> bool:
        """Is it a literal, or a name from outside of the kernel, beside an operator?"""
        token = self.tokens[index]
        beside = {self.tokens[index - 1].text, self.tokens[index + 1].text}
        is_computed = not beside.isdisjoint(_OPERATORS) or self.stepping(index)
        if not self.is_read(index) or not is_computed or index in self._shared:
            return False
        if token.kind == "IDENTIFIER":
            return token.text in self._names
        # What an index is divided by is a warp, or a row, rather than the block.
        is_number = token.kind == "NUMBER" and self.tokens[index - 1].text not in ("/", "%")
        return is_number and _INTEGER.fullmatch(token.text) is not None

    @cached_property
    def _shared(self) -> frozenset[int]:
        """Tokens of declarations of shared memory, whose sizes have to be constants."""
        begins = (index for index in self.places if self.tokens[index].text == "__shared__")
        return frozenset(
            index
            for begin in begins
            for index in range(begin, begin + len([*until_semicolon(self.tokens, begin)]))
        )

    @cached_property
    def _names(self) -> frozenset[str]:
        """Constants, and template parameters; whatever the kernel declares itself is none."""
        first, (opener, closer) = self.function.first, self.function.parameters
        head = template_parameters(self.tokens[first:opener])
        values = {name for name, is_type in head if not is_type}
        own = {t.text for t in self.tokens[opener:closer]}
        for before, token in pairwise(self.tokens[self.places.start - 1 : self.places.stop]):
            # Behind a type stands what it is the type of; what is assigned to is no constant.
            if before.kind == "IDENTIFIER" and before.text != "return":
                own.add(token.text)
            if token.text == "=":
                own.add(before.text)
        return frozenset({*self.constants, *values} - own)

    def stepping(self, index: int) -> frozenset[str]:
        if self.tokens[index - 1].text != _STEP:
            return frozenset()
        name = self.tokens[index - 2].text
        return self._aliases.get(name) or self._begun.get(name, frozenset())

    def value(self, index: int) -> int | None:
        """The value of a literal or a constant; None where it is not known."""
        token = self.tokens[index]
        if token.kind == "NUMBER":
            return int(token.text.replace("'", "").rstrip("uUlL"), 0)
        return self.constants.get(token.text)

    def product(self, index: int) -> frozenset[str]:
        """The dimensions whose index is a factor beside this operand."""
        found = set(self._dimensions_at(index))
        for step in (-1, 1):
            at = index + step
            while at in self.places and self.tokens[at].text not in _ENDS:
                partner = self.syntax.brackets.partner[at]
                is_opened = partner >= 0 and (partner - at) * step > 0
                if partner >= 0 and not is_opened:
                    break
                for inner in range(min(at, partner), max(at, partner)) if is_opened else (at,):
                    found |= self._dimensions_at(inner)
                at = (partner if is_opened else at) + step
        return frozenset(found)

    def _dimensions_at(self, index: int) -> frozenset[str]:
        index_of = self._index_at(index)
        return index_of or self._aliases.get(self.tokens[index].text, frozenset())

    def _index_at(self, index: int) -> frozenset[str]:
        """The dimension of `threadIdx.x`, if that is what begins there."""
        texts = [token.text for token in self.tokens[index : index + 3]]
        is_index = len(texts) == 3 and texts[0] in _INDICES and texts[1] == "."
        return frozenset(texts[2:]) & frozenset(DIMENSIONS) if is_index else frozenset()

    @cached_property
    def _aliases(self) -> dict[str, frozenset[str]]:
        """Names of variables that begin as an index: `int bx = blockIdx.x;`, `i = bx`."""
        found: dict[str, frozenset[str]] = {}
        tokens = self.tokens
        for index in self.places[:-5]:
            if tokens[index].kind != "IDENTIFIER" or tokens[index + 1].text != "=":
                continue
            meant, end = self._index_at(index + 2), index + 5
            if not meant:
                meant, end = found.get(tokens[index + 2].text, meant), index + 3
            if meant and tokens[end].text in (";", ",", "/"):
                found[tokens[index].text] = meant
        return found

    @cached_property
    def _begun(self) -> dict[str, frozenset[str]]:
        """Names of variables that begin as a sum with an index: `int j = ends[row] + tid;`."""
        found: dict[str, frozenset[str]] = {}
        for index in self.places[:-3]:
            if self.tokens[index].kind != "IDENTIFIER" or self.tokens[index + 1].text != "=":
                continue
            place, summed = index + 2, set[str]()
            while place in self.places and self.tokens[place].text not in (";", ",", ")"):
                if self.tokens[place - 1].text in ("=", "+"):
                    summed |= self._dimensions_at(place)
                partner = self.syntax.brackets.partner[place]
                place = max(partner, place) + 1
            if len(summed) == 1:
                found[self.tokens[index].text] = frozenset(summed)
        return found


@dataclass(frozen=True)
class BlockOperands:
    """The operands of a kernel that may stand for the sizes of a block (0: not known)."""

    kernel: KernelOperands
    block: Block
    #: Parameters that are the width of the block.
    widths: frozenset[str]

    @property
    def _tokens(self) -> Sequence[Token]:
        return self.kernel.tokens

    def wrapped(self) -> Iterator[tuple[Token, str]]:
        """Operands to wrap, each with the dimensions that it may stand for: `x`, `xy`.

        Those that an index is multiplied by, and names among them elsewhere; where no index
        is multiplied by anything (`i += THREADS`), all names of constants. So are numbers of which
        a part is taken (`256 / 2`).
        """
        operands = [index for index in self.kernel.places if self.kernel.is_operand(index)]
        factors = {index: axis for index in operands if (axis := self._multiplied(index))}
        names = {self._tokens[index].text for index in factors}
        for index in operands:
            token = self._tokens[index]
            is_name = token.kind == "IDENTIFIER" and (not factors or token.text in names)
            is_part = token.kind == "NUMBER" and self._tokens[index + 1].text in ("/", ">>")
            axes = factors.get(index) or (self._possible(index) if is_name or is_part else "")
            if axes:
                yield token, axes

    def _multiplied(self, index: int) -> str:
        """The dimension whose index is a factor beside this operand, or begins what it steps."""
        meant = self.kernel.product(index) | self.kernel.stepping(index)
        return "".join(meant) if len(meant) == 1 and meant <= self._sized(index) else ""

    def _possible(self, index: int) -> str:
        """The dimensions that a name may stand for; none where its value leaves that open."""
        axes = sorted(self._sized(index))
        sizes = {self.block[DIMENSIONS.index(axis)] for axis in axes}
        return "".join(axes) if len(sizes) == len(axes) else ""

    def _sized(self, index: int) -> frozenset[str]:
        """Dimensions in which the block is known, and as large as a literal."""
        known = {d: size for d, size in zip(DIMENSIONS, self.block, strict=True) if size > 0}
        value = self.kernel.value(index)
        return frozenset(d for d, size in known.items() if value in (None, size))

    def read_widths(self) -> Iterator[Token]:
        """Where the kernel reads an argument that is the width of its block, and stays that."""
        uses = [index for index in self.kernel.places if self._tokens[index].text in self.widths]
        # Behind a type stands what it is the type of.
        declared = (i for i in uses if self._tokens[i - 1].kind == "IDENTIFIER")
        changed = {self._tokens[i].text for i in declared if self._tokens[i - 1].text != "return"}
        changed |= {self._tokens[index].text for index in uses if not self.kernel.is_read(index)}
        return (self._tokens[i] for i in uses if self._tokens[i].text not in changed)

    def loops_over_rows(self) -> list[int]:
        """Where loops begin in which a variable that begins as an index steps by an `int`."""
        along = (
            index
            for index in filter(self.kernel.stepping, self.kernel.places)
            if self._tokens[index].text in self._steps
            or (self.kernel.is_operand(index) and self._sized(index))
        )
        steps = chain(along, filter(self._steps_by_threads, self.kernel.places))
        return sorted({begin for i in steps if (begin := self._loop_with(i)) is not None})

    def _loop_with(self, index: int) -> int | None:
        for opener in range(index, self.kernel.places.start, -1):
            if self._tokens[opener].text in ("{", "}"):
                return None
            is_around = self.kernel.syntax.brackets.partner[opener] > index
            if is_around and self._tokens[opener - 1].text == "for":
                return self._tokens[opener - 1].start
        return None

    @cached_property
    def _steps(self) -> set[str]:
        """Names of variables that begin as a block's size, or a part: `n = blockDim.x / 32;`."""
        texts = ([t.text for t in self._tokens[i : i + 6]] for i in self.kernel.places[:-5])
        sizes = (words for words in texts if words[1:4] == ["=", "blockDim", "."])
        return {*self.widths, *(words[0] for words in sizes if words[5] in (";", ",", "/"))}

    def _steps_by_threads(self, index: int) -> bool:
        """`j += threads`, where j begins as the number of a thread in a block of x and y."""
        numbers, threads = self._flat
        name, sign, step = (token.text for token in self._tokens[index - 2 : index + 1])
        return sign == _STEP and name in numbers and step in threads

    @cached_property
    def _flat(self) -> tuple[set[str], set[str]]:
        """Names of variables that begin as the number of a thread in its block, and of all."""
        numbers, threads = set[str](), set[str]()
        for index in self.kernel.places:
            if self._tokens[index].kind != "IDENTIFIER" or self._tokens[index + 1].text != "=":
                continue
            words = [token.text for token in until_semicolon(self._tokens, index + 2)]
            named = {word for word in words if word in ("blockIdx", "blockDim", "threadIdx")}
            if named == {"blockDim", "threadIdx"} or (len(words) == 1 and words[0] in numbers):
                numbers.add(self._tokens[index].text)
            elif named == {"blockDim"} and words.count("blockDim") > 1:
                threads.add(self._tokens[index].text)
        return numbers, threads
