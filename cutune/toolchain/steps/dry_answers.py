"""Answers of `nvcc --dryrun`. Takes nvcc's words, gives its answer; equal questions are asked once.

Questions that differ in nothing but the places of files are equal: nvcc repeats these names, and
looks at none of the files. It is asked about stand-ins, which its answer is freed of again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from cutune.toolchain.cache import state_of
from cutune.toolchain.nvcc import Nvcc
from cutune.toolchain.shell_words import PLAIN

#: What nvcc reads further options from.
VARIABLES = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
#: Files with options: their names do not tell what is asked.
_READ = re.compile(r"(^|\s)(@|--?(optf|options-file)\b)")
#: The host compiler's option that names the folder of a source.
_QUOTED = "-iquote,"
#: No path of anybody's begins like this.
_STAND_IN = "/cutune-stands-in"
#: Variables that differ from one shell, or test, to the next, and that no compiler reads.
_UNREAD = frozenset(["PYTEST_CURRENT_TEST", "PWD", "OLDPWD", "SHLVL", "_"])
#: Answers by questions, and how many are kept.
_KNOWN: dict[tuple[object, ...], str] = {}
_MOST = 1000


def dry_answer(nvcc: Nvcc, words: Sequence[str], folder: str = "", output: str = "") -> str:
    """Return nvcc's answer to these words, `--dryrun` among them.

    Args:
        folder: where it would write files; of no matter for what it does.
        output: what it would write besides; what that is called may matter.
    """
    stand_ins = _stand_ins(words, folder, output)
    arguments = [_with_stand_in(word, stand_ins) for word in words]
    question = _question(nvcc, arguments)
    said = _KNOWN.get(question) if question is not None else None
    if said is None:
        answer = nvcc.dry_run(arguments)
        said = answer.stderr + answer.stdout
        if question is not None and answer.returncode == 0 and len(_KNOWN) < _MOST:
            _KNOWN[question] = said
    for place, stand_in in stand_ins.items():
        said = said.replace(stand_in, place)
    return said


def _question(nvcc: Nvcc, words: Sequence[str]) -> tuple[object, ...] | None:
    """Return all that the answer depends on; None where that is not known."""
    further = (os.environ.get(name, "") for name in VARIABLES)
    if any(map(_READ.search, (*words, *further))):
        return None
    try:
        state = state_of(nvcc.path)
    except OSError:
        return None
    variables = frozenset((k, v) for k, v in os.environ.items() if k not in _UNREAD)
    return state, variables, *words


def _stand_ins(words: Sequence[str], folder: str, output: str) -> Mapping[str, str]:
    """Return the stand-in of each place that a shell takes as it is."""
    stand_ins = {folder: f"{_STAND_IN}-folder"}
    quoted = (word.removeprefix(_QUOTED) for word in words if word.startswith(_QUOTED))
    for number, place in enumerate(dict.fromkeys(quoted)):
        stand_ins.setdefault(place, f"{_STAND_IN}-{number}-quoted")
    stand_ins.setdefault(output, f"{_STAND_IN}-output/{os.path.basename(output)}")
    return {k: v for k, v in stand_ins.items() if PLAIN.fullmatch(k) and os.path.isabs(k)}


def _with_stand_in(word: str, stand_ins: Mapping[str, str]) -> str:
    if word.startswith(_QUOTED):
        place = word.removeprefix(_QUOTED)
        return _QUOTED + stand_ins.get(place, place)
    for place in (word, os.path.dirname(word)):
        if place in stand_ins:
            return stand_ins[place] + word[len(place) :]
    return word
