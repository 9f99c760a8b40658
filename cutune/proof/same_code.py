"""Is a compiled entry the same code as another one? Takes modules, gives what can be compared.

Instruction by instruction, as for copies that change a number or a name. Where a copy may be other
code, and only has to round alike, `rounding` decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from cutune.ptx.types import Instruction, Module

#: Numbers of labels and local memory count the functions of a module.
_COUNTED = re.compile(r"(\$L__BB|__local_depot)\d+")
_NAME = re.compile(r"[\w$]+")
#: Texts, and the names of functions as assertions have them.
_UNNAMED = re.compile(r"(?:\$str|__unnamed_)[\w$]*")


def code_of(
    module: Module,
    name: str,
    with_limits: bool = True,
    in_texts: Callable[[str], str] = lambda text: text,
) -> object:
    """Text that is equal for entries with the same code. `with_limits`: and launch bounds.

    `in_texts`: what a string of an assertion says in the other code.
    """
    function = module.functions[name]
    texts = {variable.name: in_texts(_text(variable.initial)) for variable in module.variables}
    # Named by the function that they stand in; the frame has what they are.
    shared = {
        variable.name: f"@{index}"
        for index, variable in enumerate(function.variables)
        if variable.space == "shared"
    }
    # All arrays whose size the launch gives begin at one place, whatever their names are.
    shared |= {
        variable.name: f"@dynamic {variable.content}"
        for variable in module.variables
        if variable.space == "shared" and variable.size == 0
    }

    def plain(text: str) -> str:
        text = _NAME.sub(lambda found: shared.get(found[0], found[0]), text)
        text = _COUNTED.sub(r"\1", text.replace(name, "@"))
        return _UNNAMED.sub(lambda found: f'"{texts.get(found[0], found[0])}"', text)

    body = tuple(
        (item.opcode, item.modifiers, tuple(map(plain, item.operands)), item.guard, item.negated)
        if isinstance(item, Instruction)
        else (plain(item.name), plain(item.table))
        for item in function.body or ()
    )
    registers = tuple(sorted(function.registers.items()))
    limits = tuple(sorted(function.directives.items())) if with_limits else ()
    frame = [tuple(v.content for v in each) for each in (function.parameters, function.variables)]
    return tuple(frame), limits, registers, body


def _text(initial: str) -> str:
    """The string whose bytes are listed, `{72, 105, 0}`; anything else as it is."""
    numbers = initial.removeprefix("{").removesuffix("}").split(",")
    are_bytes = all(one.strip().isdigit() and int(one) < 256 for one in numbers)
    return bytes(map(int, numbers)).decode("latin-1") if are_bytes else initial
