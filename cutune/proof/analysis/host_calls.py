"""The kernel that each launch calls, from the compiler. Takes a source, gives `HostLaunch`es.

cudafe++ writes `k<<<grid, block>>>(a)` as

    (__cudaPushCallConfiguration(grid, block)) ? (void)0 : k(a);

A call of a marker function is put behind each such call: `(k(a), cutune_launched_7())`. In the
host compiler's unoptimized assembly the call before that is the launch, whatever happens in the
arguments: names, overloads and templates are resolved there, once per instantiation. Only a launch
can call a kernel directly; another call than that goes through a pointer.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import msgspec

from cutune.core.typed import parsed, typed
from cutune.toolchain.cache import state_of
from cutune.toolchain.cudafe import HostText, kept_answer
from cutune.toolchain.dry_run import FrontEndFailed
from cutune.toolchain.kernel_names import entry_name
from cutune.toolchain.nvcc import Nvcc
from cutune.toolchain.preprocessed import masked, unescaped

_PUSH = "(__cudaPushCallConfiguration("
_MARK = "cutune_launched_"
_MARKER = re.compile(r'^# (\d+)(?: "((?:[^"\\\n]|\\.)*)")?[^\n]*\n', re.MULTILINE)
#: What a piece of C++ is read by: numbers (quotes separate digits), literals, brackets, ends.
_PIECE = re.compile(
    r"""(?<!\w)\d(?:[\w.]|'\w)*|R"(?P<mark>[^()\s\\"]{0,16})\(.*?\)(?P=mark)\""""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|::|[][(){};:]""",
    re.DOTALL,
)
_NO_LAUNCH = re.compile(r"\)\s*\?\s*\(void\)\s*0\s*:\s*")
#: A kernel that is no template is declared only; its body follows where nobody compiles it.
_KERNEL_BODY = re.compile(r";(?=\s*\n#if 0\n(?:# \d+[^\n]*\n)?\{)")
_CALL = re.compile(r"(?:callq?|blr?)\s+([^#\s]+)")
_BY_TABLE = re.compile(r"\*([\w$.]+)@GOTPCREL\(%rip\)")
_JUMP = re.compile(r"(?:j\w+|b(?:\.\w+)?|cbn?z|tbn?z|ret\w*)\b\s*(\S*)")
_SYMBOL = re.compile(r"[A-Za-z_$][\w$.]*")
_LABEL = re.compile(r"^([A-Za-z_$.][\w$.]*):", re.MULTILINE)
_EXPORTED = re.compile(r"^\s*\.glob[a]?l\s+([\w$.]+)", re.MULTILINE)
_WEAK = re.compile(r"^\s*\.weak\s+([\w$.]+)", re.MULTILINE)
#: Of instances of templates and inline functions all definitions are alike.
_ALIKE = re.compile(r",([\w$.]+),comdat")
#: Labels of tables of exceptions: nobody jumps there.
_TABLE_LABEL = re.compile(r"\.L(?:EH[BE]|tmp)\d+")


@dataclass(frozen=True)
class HostLaunch:
    """One `<<<…>>>` of the preprocessed program, after its names were resolved.

    `path`, `line`: where its statement begins, as line markers say; `path` is absolute, links
    followed; launches of one line stand in its order. `entries`: mangled names as PTX has them, one
    per instantiation of the host function around it; none where that is never instantiated.
    `declared`: those of them that are, or may be, defined in another translation unit; `weak`:
    those of these that have a definition here, which another one may replace. `indirect`: some
    instantiation calls through a pointer, or its call was not understood.
    """

    path: str
    line: int
    entries: frozenset[str]
    declared: frozenset[str] = frozenset()
    indirect: bool = False
    weak: frozenset[str] = frozenset()


def launches_by_place(
    launches: Iterable[HostLaunch],
) -> defaultdict[tuple[str, int], list[HostLaunch]]:
    """Return the launches that begin at each place: a path, without links, and a line."""
    places: defaultdict[tuple[str, int], list[HostLaunch]] = defaultdict(list)
    for launch in launches:
        places[launch.path, launch.line].append(launch)
    return places


def host_launches(nvcc: Nvcc, path: str, flags: Sequence[str]) -> tuple[HostLaunch, ...]:
    """All launches of a translation unit and its headers; raises CT708 with the reason."""
    places: list[tuple[str, int]] = []

    def change(text: str) -> str:
        marked, found = mark_launches(text)
        places[:] = found
        return marked if found else ""

    def concluded(text: HostText) -> str:
        assembly = text.assembly(change)
        return msgspec.json.encode([*read_launches(assembly, places)]).decode()

    answer = kept_answer(nvcc, path, flags, ["launches", state_of(Path(__file__))], concluded)
    return typed(tuple[HostLaunch, ...], parsed(answer))


def exported_kernels(nvcc: Nvcc, path: str, flags: Sequence[str]) -> frozenset[str]:
    """Mangled names of the functions, kernels among them, that other sources can link with.

    Without those that several sources may define. Raises CT708 where nvcc cannot be asked.
    """

    def concluded(text: HostText) -> str:
        assembly = text.assembly(lambda written: _KERNEL_BODY.sub(" {}", written))
        names = {*_EXPORTED.findall(assembly)} & {*_LABEL.findall(assembly)}
        return "\n".join(sorted(names))

    about = ["exported", state_of(Path(__file__))]
    return frozenset(kept_answer(nvcc, path, flags, about, concluded).split())


def mark_launches(text: str) -> tuple[str, list[tuple[str, int]]]:
    """The text of cudafe++ with a call of `cutune_launched_N` after the N-th launch.

    Also path and line of each launch. Kernels get bodies, so that the assembly shows which are
    defined here. Raises CT708 where a launch is not written as expected.
    """
    lines, inserted = _LineMarkers(text), list[tuple[int, str]]()
    places: list[tuple[str, int]] = []
    for start in _pushes(text, lines):
        begin, end = _call(text, start)
        # Nested launches: the inner one ends first.
        inserted += [(begin, "("), (end, f", {_MARK}{len(places)}())")]
        places.append(lines.place(start))
    names = (f"void {_MARK}{n}() __attribute__((nothrow));" for n in range(len(places)))
    pieces, at = [f'extern "C" {{ {" ".join(names)} }}\n'], 0
    for position, piece in sorted(inserted, key=lambda item: item[0]):
        pieces += [text[at:position], piece]
        at = position
    return _KERNEL_BODY.sub(" {}", "".join([*pieces, text[at:]])), places


def read_launches(assembly: str, places: Sequence[tuple[str, int]]) -> Iterator[HostLaunch]:
    """The call before each marker call. `places`: path and line of the N-th launch."""
    callees: defaultdict[int, set[str | None]] = defaultdict(set)
    lines = assembly.splitlines()
    for at, line in enumerate(lines):
        target = _called(line)
        if target is not None and target.startswith(_MARK):
            callees[int(target.removeprefix(_MARK))].add(_callee_before(lines, at))
    replaceable = set(_WEAK.findall(assembly)) - set(_ALIKE.findall(assembly))
    labels = set(_LABEL.findall(assembly))
    defined = labels - replaceable
    for number, place in enumerate(places):
        symbols = {symbol for symbol in callees[number] if symbol is not None}
        yield HostLaunch(
            *place,
            frozenset(map(entry_name, symbols)),
            frozenset(map(entry_name, symbols - defined)),
            None in callees[number],
            frozenset(map(entry_name, symbols & labels & replaceable)),
        )


class _LineMarkers:
    def __init__(self, text: str) -> None:
        self.text = text
        self.markers = list(_MARKER.finditer(masked(text)))
        self.starts = [marker.start() for marker in self.markers]
        named = (marker[2] for marker in self.markers)
        # One that names no path goes on in that of the one before.
        paths = accumulate(named, lambda path, new: path if new is None else new, initial="")
        self.paths = [*paths][1:]

    def place(self, offset: int) -> tuple[str, int]:
        index = bisect_right(self.starts, offset) - 1
        if index < 0:
            raise FrontEndFailed("a launch has no line")
        marker = self.markers[index]
        line = int(marker[1]) + self.text.count("\n", marker.end(), offset)
        return os.path.realpath(unescaped(self.paths[index])), line

    def line_start(self, offset: int) -> int:
        """Where the text behind the last marker begins: no literal goes on over a marker."""
        index = bisect_right(self.starts, offset) - 1
        return self.markers[index].end() if index >= 0 else 0


def _pushes(text: str, lines: _LineMarkers) -> Iterator[int]:
    at = text.find(_PUSH)
    while at >= 0:
        pieces = _PIECE.finditer(text, lines.line_start(at))
        if next(piece.start() for piece in pieces if piece.end() > at) == at:
            yield at
        at = text.find(_PUSH, at + 1)


def _call(text: str, start: int) -> tuple[int, int]:
    """The first byte of `k(a)`, and that behind it: it ends before ";", ":" or a bracket's end."""
    no_launch = _NO_LAUNCH.match(text, _end(text, start + 1))
    end = len(text[: _end(text, no_launch.end())].rstrip()) if no_launch is not None else 0
    if no_launch is None or text[end - 1] != ")":
        raise FrontEndFailed("cudafe++ writes launches in another way")
    return no_launch.end(), end


def _end(text: str, start: int) -> int:
    depth = 0
    for piece in _PIECE.finditer(text, start):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(piece[0], 0)
        if depth < 0 or (depth == 0 and piece[0] in (";", ":")):
            return piece.start()
    raise FrontEndFailed("cudafe++ writes launches in another way")


def _callee_before(lines: Sequence[str], at: int) -> str | None:
    label = None
    for line in reversed(lines[:at]):
        text = line.strip()
        if (found := _LABEL.match(text)) is not None:
            if label is not None:
                return None
            label = None if _TABLE_LABEL.fullmatch(found[1]) else found[1]
        elif (jump := _JUMP.match(text)) is not None and jump[1] == label:
            label = None
        elif jump is not None:
            return None
        elif _CALL.match(text) is not None:
            return _called(line) if label is None else None
    return None


def _called(line: str) -> str | None:
    call = _CALL.match(line.strip())
    if call is None:
        return None
    by_table = _BY_TABLE.fullmatch(call[1])
    target = by_table[1] if by_table else call[1].removesuffix("@PLT")
    is_register = line.strip().startswith("blr")
    return target if _SYMBOL.fullmatch(target) and not is_register else None
