"""Copies of kernels that read their block where these have a constant. Takes a `Program`.

`blockIdx.x * 256 + threadIdx.x` is a global id in blocks of 256 threads, and in no others. In a
copy of the kernel that has `cutune_block_x(256)` in place of 256 it is one in all blocks:

    template <class T> T cutune_block_x(T own) { return own == 256 ? (T)blockDim.x : own; }

Whatever is wrapped, the copy does in blocks of 256 threads what the kernel does: the function
returns its argument. Where that cannot be a value (a template argument, a label, something that is
assigned to), the copy does not compile and is not used. Whether a call means the same as a name (to
overloads, say) is shown by the compiler, too: with a function that gives back what it gets, and no
more, the copy must become the kernel's own code. So what is wrapped is only guessed here; whether
it was enough is proven on the compiled copy. An argument that is the width of the block at each
launch (`k<<<n, width>>>(x, width)`) is one, too: the copy has `(T)blockDim.x` in its place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, pairwise

from cutune.core.codes import Code
from cutune.core.source import Edit, Source, Span
from cutune.source.host_formula import Name, constant
from cutune.source.launches.kernel_copies import (
    CopyCandidate,
    declared,
    inserted,
    launched_alone,
    only_definition,
)
from cutune.source.program import DIMENSIONS, Configuration, Kernel, KernelCopy, LaunchSite, Program
from cutune.source.syntax.parse import SourceFunction, Syntax
from cutune.source.syntax.tokens import Token
from cutune.source.unit.kernel_texts import KernelTexts
from cutune.source.unit.macros import Unsteady
from cutune.source.unit.unit import template_parameters, until_semicolon
from cutune.toolchain.device.thread_block import LARGEST, Block

#: Why the kernel itself is refused, where a copy may help.
_HELPED = frozenset({Code.BLOCK_DEPENDENT, Code.UNPROVEN_CODE, Code.SHARED_MEMORY, Code.BARRIER})
_INDICES = frozenset({"threadIdx", "blockIdx"})
_OPERATORS = frozenset({"*", "/", "%", "+", "-", "<", ">", "<=", ">=", "==", "!="})
#: Behind what a name is no operand: a member, a qualified name, an address.
_BEFORE_OTHERS = frozenset({".", "->", "::", "&", "~", "++", "--"})
_AFTER_OTHERS = frozenset({".", "->", "::", "(", "[", "=", "++", "--", "+=", "-=", "*=", "/="})
#: The helper for arguments that are the width of the block.
_WIDTH = "width"
#: A block whose sizes are not all known.
_Sizes = tuple[int | None, int | None, int | None]
#: What ends the product that an operand stands in.
_STEP = "+="
_ENDS = frozenset(";,{}?:=<>+-") | {"<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "return"}
_INTEGER = re.compile(r"(?:0[xX][0-9a-fA-F']+|[1-9][0-9']*)[uUlL]*")
#: `#define NAME value`, `const int NAME = value`, and what an enumeration lists: `{NAME = value`.
_CONSTANT = re.compile(
    r"(?:^[ \t]*#[ \t]*define[ \t]+(?P<macro>\w+)[ \t]"
    r"|(?:\bconst(?:expr)?\b[\w:\s]*\s|[{,]\s*)(?P<name>\w+)\s*[={])"
    r"[ \t]*\(?(?P<value>\d+)?",
    re.MULTILINE,
)
_END = re.compile(r"[uUlL]*\)?[ \t]*(?:[;,}\r\n]|/[/*]|$)")


def block_copies(program: Program, unsteady: Unsteady) -> dict[str, CopyCandidate]:
    """A copy for each kernel that is refused for its constants, perhaps, by the kernel's name."""
    texts, found = KernelTexts((program.source, *program.headers), unsteady=unsteady), {}
    refused = [
        (kernel, sites)
        for kernel, sites in launched_alone(program)
        if any(site.code in _HELPED for site in sites)
    ]
    constants = _constants(texts.files) if refused else {}
    for kernel, sites in refused:
        launched = [(site.configuration, site.arguments, site.resolved) for site in sites]
        places = range(len(kernel.parameters))
        widths = [i for i in places if all(_is_width(i, *one) for one in launched)]
        copy = _copy_with_block(texts, constants, kernel, _usual_block(sites), widths)
        if copy is not None:
            found[kernel.name] = copy
    return found


def may_stand_in(
    copy: KernelCopy,
    resolved: Configuration | None,
    written: Sequence[str],
    arguments: Sequence[str],
) -> bool:
    """May a copy be used at a launch that is written so? The source may give it another block."""
    sizes = _known_block(resolved)
    are_widths = all(_is_width(i, written, arguments, resolved) for i in copy.widths)
    return are_widths and all(
        meant == 0 or size in (None, meant) for meant, size in zip(copy.block, sizes, strict=True)
    )


def _is_width(
    position: int,
    written: Sequence[str],
    arguments: Sequence[str],
    resolved: Configuration | None,
) -> bool:
    """Is an argument the width of the block, which has one thread in y and z?"""
    if position >= len(arguments) or len(written) < 2 or resolved is None:
        return False
    argument, (x, y, z) = arguments[position], map(constant, resolved.block)
    # A macro may be another number at its next use.
    is_variable = isinstance(resolved.block[0], Name) and resolved.block[0].text == argument
    is_name = argument == written[1] and (is_variable or x is not None)
    is_number = argument.isdigit() and x is not None and x > 1 and int(argument) == x
    return y == 1 and z == 1 and (is_name or is_number)


def _known_block(resolved: Configuration | None) -> tuple[Fraction | None, ...]:
    return (None,) * 3 if resolved is None else tuple(map(constant, resolved.block))


def _usual_block(sites: Sequence[LaunchSite]) -> _Sizes:
    """The block of most launches: 0 for 1, which no constant stands for; None: not known."""
    blocks = Counter(_known_block(site.resolved) for site in sites)
    sizes, _ = blocks.most_common(1)[0]
    x, y, z = (size if size is None else int(size) if size > 1 else 0 for size in sizes)
    return (x, y, z)


def _copy_with_block(
    texts: KernelTexts,
    constants: Mapping[str, int | None],
    kernel: Kernel,
    sizes: _Sizes,
    widths: Sequence[int],
) -> CopyCandidate | None:
    """`sizes`: of the block. `widths`: positions of arguments that are its width."""
    definition = only_definition(texts, kernel)
    if definition is None or kernel.reason is None:
        return None
    syntax, function = definition
    names = frozenset(kernel.parameters[i].name for i in widths)
    wrapping = _Wrapping(syntax, function, (0, 0, 0), constants, names)
    block = wrapping.meant_block(sizes)
    wrapping = replace(wrapping, block=block)
    edits = list(wrapping.edits())
    read = list(wrapping.read_widths())
    loops = wrapping.loops_over_rows()
    if not (loops or read or edits):
        return None
    block = block if edits else (0, 0, 0)
    edits += [(token, _WIDTH) for token in read]
    namespace = f"cutune_copy_{kernel.name}_{'_'.join(map(str, block))}"

    def edit(sizes: Block | None, loops: Iterable[int]) -> Edit:
        helpers = " ".join(_helper(axes, sizes) for axes in sorted({axes for _, axes in edits}))
        calls = [Edit(Span(t.start, t.end), f"cutune_block_{d}({t.text})") for t, d in edits]
        # In a loop that is unrolled, which of its bodies does an element depends on the block, and
        # the bodies may round differently.
        calls += [Edit.insert(begin, '_Pragma("unroll 1") ') for begin in loops]
        return inserted(syntax, function, namespace, helpers, calls)

    copy = KernelCopy(
        block,
        namespace,
        syntax.source,
        edit(block, loops),
        declaration=declared(syntax, function, namespace),
        instead_of=kernel.reason,
        widths=tuple(widths) if read else (),
    )
    return CopyCandidate(copy, edit(None, ()))


def _constants(files: Iterable[Source]) -> Mapping[str, int | None]:
    found: dict[str, int | None] = {}
    for file in files:
        for match in _CONSTANT.finditer(file.text):
            is_number = match["value"] and _END.match(file.text, match.end())
            value = int(match["value"]) if is_number else None
            name = match["macro"] or match["name"]
            found[name] = value if found.get(name, value) == value else None
    return found


def _helper(axes: str, block: Block | None) -> str:
    """The wrapping function, for numbers only: hidden code of a class would run once more.

    Without a block it gives back what it gets.
    """
    value = "own"
    if block is not None and axes == _WIDTH:
        value = "static_cast<T>(blockDim.x)"
    elif block is not None:
        sizes = ((axis, block[DIMENSIONS.index(axis)]) for axis in axes)
        tests = (f"own == {size} ? (T)blockDim.{axis} : " for axis, size in sizes)
        value = f"{''.join(tests)}own"
    return (
        f"template <class T> static __device__ __forceinline__ T cutune_block_{axes}(T own) "
        f'{{ static_assert(!__is_class(T) && !__is_union(T), ""); return {value}; }}'
    )


@dataclass(frozen=True)
class _Wrapping:
    syntax: Syntax
    function: SourceFunction
    block: Block
    #: Names that stand for one value throughout; the value, if it is known.
    constants: Mapping[str, int | None]
    #: Parameters that are the width of the block.
    widths: frozenset[str] = frozenset()

    def read_widths(self) -> Iterator[Token]:
        """Where the kernel reads an argument that is the width of its block, and stays that."""
        uses = [index for index in self._places if self.tokens[index].text in self.widths]
        # Behind a type stands what it is the type of.
        declared = (i for i in uses if self.tokens[i - 1].kind == "IDENTIFIER")
        changed = {self.tokens[i].text for i in declared if self.tokens[i - 1].text != "return"}
        changed |= {self.tokens[index].text for index in uses if not self._is_read(index)}
        return (self.tokens[i] for i in uses if self.tokens[i].text not in changed)

    def _is_read(self, index: int) -> bool:
        before, after = self.tokens[index - 1].text, self.tokens[index + 1].text
        return before not in _BEFORE_OTHERS and after not in _AFTER_OTHERS

    def edits(self) -> Iterator[tuple[Token, str]]:
        """Operands to wrap, each with the dimensions that it may stand for: `x`, `xy`.

        Those that an index is multiplied by, and names among them elsewhere; where no index
        is multiplied by anything (`i += THREADS`), all names of constants. So are numbers of which
        a part is taken (`256 / 2`).
        """
        operands = [index for index in self._places if self._is_operand(index)]
        factors = {index: axis for index in operands if (axis := self._multiplied(index))}
        names = {self.tokens[index].text for index in factors}
        for index in operands:
            token = self.tokens[index]
            is_name = token.kind == "IDENTIFIER" and (not factors or token.text in names)
            is_part = token.kind == "NUMBER" and self.tokens[index + 1].text in ("/", ">>")
            axes = factors.get(index) or (self._possible(index) if is_name or is_part else "")
            if axes:
                yield token, axes

    def meant_block(self, sizes: _Sizes) -> Block:
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
        operands = (i for i in self._places if self._is_operand(i) and self._product(i) == {axis})
        values = {self._value(index) for index in operands}
        value = values.pop() if len(values) == 1 else None
        return value if value is not None and 1 < value <= LARGEST else 0

    @property
    def tokens(self) -> Sequence[Token]:
        return self.syntax.tokens

    @property
    def _places(self) -> range:
        """The tokens between the braces of the body."""
        first, last = self.function.braces
        return range(first + 1, last)

    def _is_operand(self, index: int) -> bool:
        """Is it a literal, or a name from outside of the kernel, beside an operator?"""
        token = self.tokens[index]
        beside = {self.tokens[index - 1].text, self.tokens[index + 1].text}
        is_computed = not beside.isdisjoint(_OPERATORS) or self._stepping(index)
        if not self._is_read(index) or not is_computed or index in self._shared:
            return False
        if token.kind == "IDENTIFIER":
            return token.text in self._names
        # What an index is divided by is a warp, or a row, rather than the block.
        is_number = token.kind == "NUMBER" and self.tokens[index - 1].text not in ("/", "%")
        return is_number and _INTEGER.fullmatch(token.text) is not None

    @cached_property
    def _shared(self) -> frozenset[int]:
        """Tokens of declarations of shared memory, whose sizes have to be constants."""
        begins = (index for index in self._places if self.tokens[index].text == "__shared__")
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
        for before, token in pairwise(self.tokens[self._places.start - 1 : self._places.stop]):
            # Behind a type stands what it is the type of; what is assigned to is no constant.
            if before.kind == "IDENTIFIER" and before.text != "return":
                own.add(token.text)
            if token.text == "=":
                own.add(before.text)
        return frozenset({*self.constants, *values} - own)

    def loops_over_rows(self) -> list[int]:
        """Where loops begin in which a variable that begins as an index steps by an `int`."""
        along = (
            index
            for index in filter(self._stepping, self._places)
            if self.tokens[index].text in self._steps
            or (self._is_operand(index) and self._sized(index))
        )
        steps = chain(along, filter(self._steps_by_threads, self._places))
        return sorted({begin for i in steps if (begin := self._loop_with(i)) is not None})

    def _loop_with(self, index: int) -> int | None:
        for opener in range(index, self._places.start, -1):
            if self.tokens[opener].text in ("{", "}"):
                return None
            is_around = self.syntax.brackets.partner[opener] > index
            if is_around and self.tokens[opener - 1].text == "for":
                return self.tokens[opener - 1].start
        return None

    @cached_property
    def _steps(self) -> set[str]:
        """Names of variables that begin as a block's size, or a part: `n = blockDim.x / 32;`."""
        texts = ([t.text for t in self.tokens[i : i + 6]] for i in self._places[:-5])
        sizes = (words for words in texts if words[1:4] == ["=", "blockDim", "."])
        return {*self.widths, *(words[0] for words in sizes if words[5] in (";", ",", "/"))}

    def _steps_by_threads(self, index: int) -> bool:
        """`j += threads`, where j begins as the number of a thread in a block of x and y."""
        numbers, threads = self._flat
        name, sign, step = (token.text for token in self.tokens[index - 2 : index + 1])
        return sign == _STEP and name in numbers and step in threads

    @cached_property
    def _flat(self) -> tuple[set[str], set[str]]:
        """Names of variables that begin as the number of a thread in its block, and of all."""
        numbers, threads = set[str](), set[str]()
        for index in self._places:
            if self.tokens[index].kind != "IDENTIFIER" or self.tokens[index + 1].text != "=":
                continue
            words = [token.text for token in until_semicolon(self.tokens, index + 2)]
            named = {word for word in words if word in ("blockIdx", "blockDim", "threadIdx")}
            if named == {"blockDim", "threadIdx"} or (len(words) == 1 and words[0] in numbers):
                numbers.add(self.tokens[index].text)
            elif named == {"blockDim"} and words.count("blockDim") > 1:
                threads.add(self.tokens[index].text)
        return numbers, threads

    def _stepping(self, index: int) -> frozenset[str]:
        if self.tokens[index - 1].text != _STEP:
            return frozenset()
        name = self.tokens[index - 2].text
        return self._aliases.get(name) or self._begun.get(name, frozenset())

    def _multiplied(self, index: int) -> str:
        """The dimension whose index is a factor beside this operand, or begins what it steps."""
        meant = self._product(index) | self._stepping(index)
        return "".join(meant) if len(meant) == 1 and meant <= self._sized(index) else ""

    def _possible(self, index: int) -> str:
        """The dimensions that a name may stand for; none where its value leaves that open."""
        axes = sorted(self._sized(index))
        sizes = {self.block[DIMENSIONS.index(axis)] for axis in axes}
        return "".join(axes) if len(sizes) == len(axes) else ""

    def _sized(self, index: int) -> frozenset[str]:
        """Dimensions in which the block is known, and as large as a literal."""
        known = {d: size for d, size in zip(DIMENSIONS, self.block, strict=True) if size > 0}
        value = self._value(index)
        return frozenset(d for d, size in known.items() if value in (None, size))

    def _value(self, index: int) -> int | None:
        """The value of a literal or a constant; None where it is not known."""
        token = self.tokens[index]
        if token.kind == "NUMBER":
            return int(token.text.replace("'", "").rstrip("uUlL"), 0)
        return self.constants.get(token.text)

    def _product(self, index: int) -> frozenset[str]:
        """The dimensions whose index is a factor beside this operand."""
        found = set(self._dimensions_at(index))
        for step in (-1, 1):
            at = index + step
            while at in self._places and self.tokens[at].text not in _ENDS:
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
        for index in self._places[:-5]:
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
        for index in self._places[:-3]:
            if self.tokens[index].kind != "IDENTIFIER" or self.tokens[index + 1].text != "=":
                continue
            place, summed = index + 2, set[str]()
            while place in self._places and self.tokens[place].text not in (";", ",", ")"):
                if self.tokens[place - 1].text in ("=", "+"):
                    summed |= self._dimensions_at(place)
                partner = self.syntax.brackets.partner[place]
                place = max(partner, place) + 1
            if len(summed) == 1:
                found[self.tokens[index].text] = frozenset(summed)
        return found
