"""Words that nvcc must not be given. Takes its arguments, finds one that a shell would execute.

nvcc runs its tools through a shell, in which it puts words between double quotes as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Commands within double quotes; `$ORIGIN` is none.
_COMMAND = re.compile(r"`|\$\(")
_ESCAPED = re.compile(r"\\.")
#: What ends the quotes, or the command. Values of macros may have it: nvcc escapes it there.
_END = re.compile(r'["\n]')
#: Options whose value nvcc hands on as their user has written it.
_HANDED_ON = re.compile(r"-(?:X|D|U|-(?:options|define-macro|compiler-options|linker-options))")


def executed_word(arguments: Sequence[str]) -> str | None:
    """The first argument that a shell would execute a part of; None: there is none."""
    before = ""
    for word in arguments:
        is_handed_on = _HANDED_ON.match(word) or _HANDED_ON.match(before)
        # There the user, or cutune, may have escaped it; nvcc escapes the escapes of other words.
        text = _ESCAPED.sub("", word) if is_handed_on else word
        if _COMMAND.search(text) or (not is_handed_on and _END.search(word)):
            return word
        before = word
    return None
