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
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from cutune.core.codes import Code
from cutune.core.source import Edit, Source, Span
from cutune.source.host_formula import Name, constant
from cutune.source.launches.block_operands import BlockOperands, BlockSizes, KernelOperands
from cutune.source.launches.kernel_copies import (
    CopyCandidate,
    declared,
    inserted,
    launched_alone,
    only_definition,
)
from cutune.source.program import DIMENSIONS, Configuration, Kernel, KernelCopy, LaunchSite, Program
from cutune.source.unit.kernel_texts import KernelTexts
from cutune.source.unit.macros import Unsteady
from cutune.toolchain.device.thread_block import Block

#: Why the kernel itself is refused, where a copy may help.
_HELPED = frozenset({Code.BLOCK_DEPENDENT, Code.UNPROVEN_CODE, Code.SHARED_MEMORY, Code.BARRIER})
#: The helper for arguments that are the width of the block.
_WIDTH = "width"
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
        widths = [
            position
            for position, _ in enumerate(kernel.parameters)
            if all(_is_width(position, s.configuration, s.arguments, s.resolved) for s in sites)
        ]
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
    position: int, written: Sequence[str], arguments: Sequence[str], resolved: Configuration | None
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


def _usual_block(sites: Sequence[LaunchSite]) -> BlockSizes:
    """The block of most launches: 0 for 1, which no constant stands for; None: not known."""
    blocks = Counter(_known_block(site.resolved) for site in sites)
    sizes, _ = blocks.most_common(1)[0]
    x, y, z = (size if size is None else int(size) if size > 1 else 0 for size in sizes)
    return (x, y, z)


def _copy_with_block(
    texts: KernelTexts,
    constants: Mapping[str, int | None],
    kernel: Kernel,
    sizes: BlockSizes,
    widths: Sequence[int],
) -> CopyCandidate | None:
    """`sizes`: of the block. `widths`: positions of arguments that are its width."""
    definition = only_definition(texts, kernel)
    if definition is None or kernel.reason is None:
        return None
    syntax, function = definition
    operands = KernelOperands(syntax, function, constants)
    block = operands.meant_block(sizes)
    names = frozenset(kernel.parameters[i].name for i in widths)
    found = BlockOperands(operands, block, names)
    wrapped, read, loops = [*found.wrapped()], [*found.read_widths()], found.loops_over_rows()
    if not (wrapped or read or loops):
        return None
    block = block if wrapped else (0, 0, 0)
    wrapped += [(token, _WIDTH) for token in read]
    namespace = f"cutune_copy_{kernel.name}_{'_'.join(map(str, block))}"

    def edit(sizes: Block | None, loops: Iterable[int]) -> Edit:
        helpers = " ".join(_helper(axes, sizes) for axes in sorted({axes for _, axes in wrapped}))
        calls = [Edit(Span(t.start, t.end), f"cutune_block_{d}({t.text})") for t, d in wrapped]
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
