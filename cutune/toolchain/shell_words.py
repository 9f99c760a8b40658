"""Words that nvcc hands to a shell. Takes its arguments, finds one that would be executed there.

nvcc runs its tools through a shell, in which it puts words between double quotes as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Paths that neither a shell nor a list of options splits.
PLAIN = re.compile(r"[\w./+@%:-]+")
#: Commands within double quotes; `$ORIGIN` is none.
_COMMAND = re.compile(r"`|\$\(")
_ESCAPED = re.compile(r"\\.")
#: What ends the quotes, or the command. Values of macros may have it: nvcc escapes it there.
_END = re.compile(r'["\n]')
#: Options whose value nvcc hands on as their user has written it.
_HANDED_ON = re.compile(r"-(?:X|D|U|-(?:options|define-macro|compiler-options|linker-options))")


def executed_word(arguments: Sequence[str]) -> str | None:
    """Return the first argument that a shell would execute a part of; None: there is none."""
    before = ""
    for word in arguments:
        is_handed_on = _HANDED_ON.match(word) or _HANDED_ON.match(before)
        # There the user, or cutune, may have escaped it; nvcc escapes the escapes of other words.
        text = _ESCAPED.sub("", word) if is_handed_on else word
        if _COMMAND.search(text) or (not is_handed_on and _END.search(word)):
            return word
        before = word
    return None


def quote_folder(folder: str) -> str:
    """Return the -Xcompiler value by which `#include "…"` is looked for in a folder.

    nvcc hands such options to a shell as they are, and splits them at commas.
    """
    if not PLAIN.fullmatch(folder):
        folder = '"' + re.sub(r'(["\\$`])', r"\\\1", folder).replace(",", "\\,") + '"'
    return f"-iquote,{folder}"
