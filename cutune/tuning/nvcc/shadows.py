"""Rewritten sources on disk. Takes rewritten programs, gives `ShadowSource`s and words for nvcc.

A copy lies in the workspace, at a path that is a function of what is compiled, so that ccache finds
it again. `#line` gives messages, debugging information and `__FILE__` the user's names; the
compiler is told where quoted includes are and which prefix of paths to forget. Dependency files
name the user's own files: of what nvcc wrote, rules with the originals are made.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cutune.core.workspace import Json, make_folder, replace_file, write_text
from cutune.toolchain.compiler_commands import PLAIN, quote_folder
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY
from cutune.tuning.nvcc.command import IN_ENVIRONMENT, IN_FILE, Command, split_list

if TYPE_CHECKING:
    from cutune.core.source import Source
    from cutune.source.rewrite.output import ShadowTree
    from cutune.source.rewrite.pipeline import TranslationUnit
    from cutune.toolchain.built_code import BuiltCode
    from cutune.tuning.kept import Making


@dataclass(frozen=True)
class ShadowSource:
    """A rewritten source on disk: the copy at `path` takes its place.

    `host_options`: of the host compiler, which preprocesses for nvcc. `originals`: copy → the name
    by which the user knows it. `tree`: where all files of the user were copied, if headers are
    rewritten too. `code`: its device code, where that is known. `made_by`: a digest
    of all that it was made with, besides the source; empty: not known. `making`: what is kept once
    it is compiled.
    """

    path: str
    host_options: tuple[str, ...]
    originals: dict[str, str] = field(default_factory=dict)
    tree: ShadowTree | None = None
    code: BuiltCode | None = None
    made_by: str = ""
    making: Making | None = None

    def to_json(self) -> Json:
        tree = self.tree and [str(self.tree.root), str(self.tree.folder)]
        options, originals = list(self.host_options), self.originals
        return {"path": self.path, "host_options": options, "originals": originals, "tree": tree}

    @staticmethod
    def from_json(entry: Json) -> ShadowSource:
        from cutune.source.rewrite.output import ShadowTree

        tree = entry["tree"] and ShadowTree(*map(Path, entry["tree"]))
        return ShadowSource(entry["path"], tuple(entry["host_options"]), entry["originals"], tree)

    @staticmethod
    def write(unit: TranslationUnit, folder: Path) -> ShadowSource:
        """Write a rewritten program below a folder. Raises CT002."""
        # A call whose rewritten source is kept starts quicker without.
        from cutune.core.source import Source
        from cutune.source.rewrite.c_text import c_string
        from cutune.source.syntax.tokens import BYTE_ORDER_MARK

        source = unit.rewritten()
        # For the prelude the user has no line: it stands in cutune's header.
        mark = BYTE_ORDER_MARK if source.text.startswith(BYTE_ORDER_MARK) else ""
        header = c_string(str(INCLUDE_DIRECTORY / "cutune_tuned.h"))
        text = f"{mark}#line 1 {header}\n{source.text[len(mark) :]}"
        source = Source(source.path, text)
        if any(owned.path != source.path for owned in unit.edits):
            # Not beside the copy of a source alone, which would find old copies of headers there.
            return _write_tree(unit, source, folder.with_name(f"{folder.name}-tree"))
        make_folder(folder)
        path = folder / os.path.basename(source.path)
        write_text(path, source.text)
        spelled = os.path.dirname(source.path)
        options = _host_options([spelled or os.curdir], folder, spelled)
        return ShadowSource(str(path), options, {str(path): source.path})


def _write_tree(unit: TranslationUnit, source: Source, folder: Path) -> ShadowSource:
    from cutune.source.rewrite.output import ShadowTree

    program = unit.program
    tree = ShadowTree.of(program, folder)
    headers = [_renamed(header) for header in unit.rewritten_headers()]
    path = tree.write(source, headers, program.other_paths)
    files = [file.path for file in (source, *headers)]
    files += [other for other, own in program.other_paths if own in files]
    folders = list(dict.fromkeys(os.path.dirname(file) or os.curdir for file in files))
    root = str(tree.root) if os.path.isabs(source.path) else os.path.relpath(tree.root)
    spelled = "" if root == os.curdir else root
    # Copies first: a folder that -I names too is found here before it is found there.
    copied = [copy for one in folders if (copy := tree.copy_of(one)) is not None]
    options = _host_options([*copied, *folders], folder, spelled)
    originals = {copy: file for file in files if (copy := tree.copy_of(file)) is not None}
    return ShadowSource(str(path), options, originals, tree)


def _renamed(header: Source) -> Source:
    if re.match(r'(\xef\xbb\xbf)?#line 1 "', header.text):
        return header
    from cutune.core.source import apply_edits
    from cutune.source.rewrite.c_text import prelude_edit

    return apply_edits(header, [prelude_edit(header, "")])


def with_copies(
    command: Command, shadows: dict[str, ShadowSource], dependencies: str = "", made: str = ""
) -> list[str]:
    """The words of a command, its sources (by their path) replaced by their shadows.

    `dependencies`, `made`: other places for the dependency file and its object; empty: none.
    Response files are taken apart where what they hold is replaced.
    """
    tree = next((shadow.tree for shadow in shadows.values() if shadow.tree), None)
    in_files = {item.value for item in command.sources if item.first == IN_FILE}
    takes_apart = tree is not None or not in_files.isdisjoint(shadows)
    elsewhere = {"dependency-output": dependencies, "output-file": made}
    words: list[str] = []
    for item in command.items:
        is_file = item.name == "options-file" or (not item.name and item.value.startswith("@"))
        is_left_out = is_file if takes_apart else item.first == IN_FILE
        if is_left_out or item.first == IN_ENVIRONMENT or elsewhere.get(item.name):
            continue
        if not item.name and item.value in shadows:
            words.append(shadows[item.value].path)
        elif tree and item.name in ("include-path", "pre-include"):
            words += _redirected(item.name, item.value, tree)
        else:
            words += command.words_of(item)
    options = dict.fromkeys(o for shadow in shadows.values() for o in shadow.host_options)
    # One word each: ccache, which reads words, takes `-Xcompiler -iquote,src` apart.
    words += [f"-Xcompiler={option}" for option in options]
    words += ["-MF", dependencies] if dependencies else []
    target = command.last("output-file") or ""
    if made and dependencies and command.last("dependency-target-name") is None:
        words += ["-MT", target]
    return [*words, "-o", made] if made else words


def _redirected(name: str, value: str, tree: ShadowTree) -> list[str]:
    """The words of an include option that looks into the copy first."""
    words = []
    for path in split_list(value):
        copy = tree.copy_of(path)
        if name == "pre-include":
            is_copied = copy is not None and os.path.exists(copy)
            words += ["-include", copy if is_copied and copy else path]
        else:
            words += [*([f"-I{copy}"] if copy else []), f"-I{path}"]
    return words


def _host_options(includes: Sequence[str], copies: Path, spelled: str) -> tuple[str, ...]:
    """Options for `#include "…"`, also of cutune's headers, and for names in debuggers."""
    own = [*includes, str(INCLUDE_DIRECTORY)]
    options = [quote_folder(folder) for folder in own]
    prefix = f"{spelled}/" if spelled else ""
    if PLAIN.fullmatch(f"{copies}/{prefix}"):
        options.append(f"-ffile-prefix-map={copies}/={prefix}")
    return tuple(options)


_WORD = re.compile(r"(?:\\.|[^\s\\])+")


def restore_dependencies(
    written: str, path: str, original_of: Callable[[str], str | None], sources: Container[str]
) -> None:
    """Turn the dependency file that nvcc wrote into the user's, whole or not at all.

    `written` is removed, unless it is `path` itself. `original_of` gives the name that the user
    knows a file by; None for a file of cutune's. `sources`: the user's names that are no headers.
    """
    file = Path(written)
    if not file.is_file():
        return
    text = file.read_text(encoding="utf-8", errors="surrogateescape")
    restored = restored_dependencies(text, original_of, sources)
    if restored != text or written != path:
        replace_file(Path(path), restored.encode("utf-8", errors="surrogateescape"))
    if written != path:
        file.unlink(missing_ok=True)


def restored_dependencies(
    text: str, original_of: Callable[[str], str | None], sources: Container[str] = ()
) -> str:
    """Rules as make reads them, `target : file \\ …`, with other file names."""
    lines = re.sub(r"\\\r?\n", " ", text).splitlines()
    rules = [_rule(line, original_of, sources) for line in lines]
    text = "".join(f"{rule}\n" for rule in rules if rule is not None)
    return re.sub(r"\n\n\n+", "\n\n", text)


def _rule(
    line: str, original_of: Callable[[str], str | None], sources: Container[str]
) -> str | None:
    match = re.match(r"((?:\\.|[^\\:])*?)(\s*):(?=\s|$)", line)
    if match is None:
        return line
    files = [_unescaped(word) for word in _WORD.findall(line[match.end() :])]
    if not files:
        # What -MP adds, so that make does not mind when a header goes away.
        target = _unescaped(match[1])
        return line if original_of(target) == target and target not in sources else None
    known = (original_of(file) for file in files)
    paths = (file.replace("$", "$$") for file in known if file is not None)
    listed = dict.fromkeys(re.sub(r"([ \t#])", r"\\\1", path) for path in paths)
    return f"{match[1]}{match[2]}: " + " \\\n    ".join(listed)


def _unescaped(word: str) -> str:
    return re.sub(r"\\([ \t#])", r"\1", word).replace("$$", "$")
