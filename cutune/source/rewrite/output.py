"""A rewritten copy of a source and its headers. Takes sources, gives a tree of files.

A quoted include is looked for beside the including file first, so that all of the user's files are
copied, with the same places relative to each other, under each path that leads to them. Each
translation unit has a tree of its own: launch sites of a header are numbered per unit.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.source import Source
from cutune.core.workspace import make_folder, write_text
from cutune.source.syntax.headers import redirected

if TYPE_CHECKING:
    from cutune.source.program import Program
    from cutune.source.rewrite.pipeline import TranslationUnit


@dataclass(frozen=True)
class Target:
    """The place of a rewritten program: one file, or a folder for a tree of files."""

    path: Path
    is_folder: bool = False

    @staticmethod
    def of(program: Program, output: str | None, word: str) -> Target:
        """The target that `-o` names, or one beside the source: `NAME.WORD.cu`, `NAME.WORD/`.

        Raises CT010 when it is the source, CT013 when one file is not enough.
        """
        source, headers = Path(program.source.path), program.rewritten_headers
        if output is None:
            suffix = "" if headers else source.suffix
            return Target(source.with_name(f"{source.stem}.{word}{suffix}"), bool(headers))
        path = Path(output)
        is_folder = output.endswith(("/", os.sep)) or path.is_dir()
        if headers and not is_folder:
            raise needs_folder(headers[0], path.with_suffix(""))
        if path.is_file() and path.samefile(source):
            raise CutuneError.at(Code.OUTPUT_IS_INPUT, path=source)
        return Target(path, is_folder)

    @staticmethod
    def within(program: Program, folder: Path, word: str) -> Target:
        """The target of `of` without `-o`, in another folder."""
        beside = Target.of(program, None, word)
        return Target(folder / beside.path.name, beside.is_folder)

    @staticmethod
    def complete(program: Program, folder: Path) -> Target:
        """Where a tuned program goes in a folder, with its headers if some lie beside it."""
        beside = os.path.dirname(os.path.abspath(program.source.path))
        paths = (Path(os.path.abspath(header.path)) for header in program.headers)
        if any(path.is_relative_to(beside) for path in paths):
            return Target(folder / f"{Path(program.source.path).stem}.tuned", True)
        return Target.within(program, folder, "tuned")

    def write(self, unit: TranslationUnit) -> Path:
        """Write a program as its passes left it; the path of its source.

        Raises:
            CutuneError: CT010 when a file would replace one that was read, CT002.
        """
        if self.is_folder:
            tree = ShadowTree.of(unit.program, self.path)
            files = unit.rewritten(), unit.rewritten_headers()
            return tree.write(*files, unit.program.other_paths)
        write_text(self.path, unit.rewritten().text)
        return self.path

    def files_of(self, program: Program) -> list[Path]:
        """All files that are written, the source first."""
        if not self.is_folder:
            return [self.path]
        tree = ShadowTree.of(program, self.path)
        return [tree.place(file) for file in (program.source, *program.headers)]


def needs_folder(header: Source, folder: Path) -> CutuneError:
    """The error for a program with rewritten headers, which needs more than one file."""
    return CutuneError.at(Code.NEEDS_FOLDER, header=header.path, folder=f"{folder}/")


@dataclass(frozen=True)
class ShadowTree:
    """The places of copies of a program's files: those below `root` go below `folder`."""

    root: Path
    folder: Path

    @staticmethod
    def of(program: Program, folder: Path) -> ShadowTree:
        """The tree of a program; its root is the innermost folder that holds all files."""
        files = [file.path for file in (program.source, *program.headers)]
        folders = _folders([*files, *(other for other, _ in program.other_paths)])
        return ShadowTree(Path(os.path.commonpath(folders)), folder)

    def copy_of(self, path: str) -> str | None:
        """The place of a file's or a folder's copy; None for one outside of the root."""
        place = Path(os.path.abspath(path))
        if not place.is_relative_to(self.root):
            return None
        return str(self.folder / place.relative_to(self.root))

    def write(
        self,
        source: Source,
        headers: Sequence[Source],
        other_paths: Sequence[tuple[str, str]] = (),
    ) -> Path:
        """Write all files, headers under their other paths, too; the path of the source's copy.

        Raises:
            CutuneError: CT010 when a copy would replace an original, CT002.
        """
        by_path = {file.path: file for file in headers}
        further = [(path, by_path[own]) for path, own in other_paths if own in by_path]
        files = [*((file.path, file) for file in (*headers, source)), *further]
        copies = {self._place(path): file for path, file in reversed(files)}
        for target, file in copies.items():
            if target.exists() and any(target.samefile(one.path) for one in copies.values()):
                raise CutuneError.at(Code.OUTPUT_IS_INPUT, path=file.path)
        for target, file in copies.items():
            make_folder(target.parent)
            write_text(target, file.text)
        for folder in _folders([source.path, *(path for path, _ in files)]):
            make_folder(self._place(folder))
        for path, file in further:
            # By its text and time is a file known that `#pragma once` leaves out.
            time = self.place(file).stat().st_mtime_ns
            os.utime(self._place(path), ns=(time, time))
        return self.place(source)

    def place(self, file: Source) -> Path:
        return self._place(file.path)

    def _place(self, path: str) -> Path:
        copy = self.copy_of(path)
        assert copy is not None, "the root holds all files of the program"
        return Path(copy)


def _folders(paths: Sequence[str]) -> list[str]:
    """The folders of files, and those that an include goes through to come back by `..`.

    `paths`: that of the source first.
    """
    whole = [path for path in paths[1:] if os.pardir not in path.split(os.sep)]
    starts = {os.path.join(os.path.dirname(path), "") for path in (paths[0], *whole)}
    found = [os.path.dirname(os.path.abspath(path)) for path in paths]
    for path in paths[1:]:
        start = max((one for one in starts if path.startswith(one)), key=len, default=path)
        parts = os.path.dirname(path[len(start) :]).split(os.sep)
        ways = (start + os.sep.join(parts[:end]) for end in range(len(parts)))
        found += map(os.path.abspath, ways if os.pardir in parts else ())
    return list(dict.fromkeys(found))


def flags_at(flags: list[str], program: Program, target: Target) -> list[str]:
    """The flags of a program's source, for its rewritten form where that is written to."""
    tree = ShadowTree.of(program, target.path)
    return redirected(flags, tree.copy_of) if target.is_folder else flags


def write_unit(
    unit: TranslationUnit, flags: list[str], folder: Path, word: str
) -> tuple[Path, list[str]]:
    """Write a rewritten program into a folder; its source, and the flags to compile that with."""
    make_folder(folder)
    target = Target.within(unit.program, folder, word)
    return target.write(unit), flags_at(flags, unit.program, target)
