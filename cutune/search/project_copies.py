"""Copies a project, once per build. Takes the folder that is copied, gives a copy elsewhere.

The sources of a copy are newer than all else in it: else a build would take what was made of the
originals for up to date.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.source import Source
from cutune.core.workspace import make_folder, write_text, writing
from cutune.search.builds import BUILDS

#: Begins the word of a trial that says which sources a project had.
STATE = "project="
#: A project of more is probably none: cutune was called in a folder above it.
MOST_BYTES, MOST_FILES = 1 << 30, 50_000
#: Folders that no build reads.
_ASIDE = frozenset({".git", ".hg", ".svn", ".cutune"})
#: CMake writes it into a folder that it builds in, which must not be moved.
_CMAKE_CACHE = "CMakeCache.txt"
#: What a build makes something of.
_SOURCES = frozenset(
    [
        *(".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".inl"),
        *(".inc", ".ipp", ".tpp", ".ptx", ".f", ".f90", ".s", ".S", ".in", ".mk", ".cmake"),
    ]
)
_BUILD_FILES = frozenset({"makefile", "gnumakefile", "cmakelists.txt", "build.ninja"})


@dataclass(frozen=True)
class ProjectFolder:
    """The folder that is copied, as a real path, and the folder within that is left out."""

    root: Path
    aside: Path

    @staticmethod
    def here(workspace: Path) -> ProjectFolder:
        """Return the current folder without a workspace. Raises CT847 where it holds too much."""
        root, aside = Path.cwd().resolve(), workspace.resolve()
        # A workspace may hold the project: then only its builds are left out.
        is_within = aside != root and aside.is_relative_to(root)
        project = ProjectFolder(root, aside if is_within else aside / BUILDS)
        size = 0
        for count, path in enumerate(project._paths()):
            size += path.lstat().st_size
            if count >= MOST_FILES or size > MOST_BYTES:
                most = f"{MOST_FILES:,} files" if size <= MOST_BYTES else "1 GiB"
                code, what = Code.LARGE_PROJECT, f"more than {most}"
                raise CutuneError.at(code, folder=root, what=what)
        return project

    @property
    def state(self) -> str:
        """A hash of all sources."""
        content = sha256()
        for path in self._paths():
            if _is_source(path) and path.is_file():
                content.update(f"{path.relative_to(self.root)}\0".encode(errors="surrogateescape"))
                content.update(sha256(path.read_bytes()).digest())
        return content.hexdigest()[:16]

    def place(self, path: str) -> Path | None:
        """Return the place of a file in a copy; None for one that is not copied."""
        real = Path(os.path.realpath(path))
        is_copied = real.is_relative_to(self.root) and not real.is_relative_to(self.aside)
        return real.relative_to(self.root) if is_copied else None

    def copy(self, folder: Path, rewritten: Mapping[Path, Source]) -> None:
        """Copy the project, with other sources at some places. Raises CT002."""
        with writing(folder):
            if folder.exists():
                shutil.rmtree(folder)
        make_folder(folder)
        now = time.time()
        for path in self._paths():
            target = folder / path.relative_to(self.root)
            make_folder(target.parent)
            if path.is_symlink():
                # A link leads into the copy, or to what lies elsewhere.
                place = self.place(str(path))
                with writing(target):
                    target.symlink_to(os.path.realpath(path) if place is None else folder / place)
                continue
            _copy(path, target)
            if _is_source(path):
                os.utime(target, (now, now))
        for place, source in rewritten.items():
            target = folder / place
            mode = target.stat().st_mode
            write_text(target, source.text)
            target.chmod(mode)

    def _paths(self) -> Iterator[Path]:
        """Yield files and links, in order; not what cutune wrote: it would be a second `main`."""
        for name, folders, files in os.walk(self.root):
            parent = Path(name)
            links = [one for one in folders if (parent / one).is_symlink()]
            folders[:] = sorted(one for one in folders if self._is_copied(parent / one))
            for one in sorted([*files, *links]):
                path = parent / one
                if ".tuned." not in one and (path.is_symlink() or path.is_file()):
                    yield path

    def _is_copied(self, folder: Path) -> bool:
        """Is a folder below it a part of the project?"""
        is_aside = folder.name in _ASIDE or folder == self.aside or folder.suffix == ".tuned"
        return not (is_aside or folder.is_symlink() or (folder / _CMAKE_CACHE).exists())


def _copy(path: Path, target: Path) -> None:
    """Copy a file with its age. Raises CT001, CT002."""
    try:
        with writing(target):
            shutil.copy2(path, target)
    except CutuneError as error:
        cause = error.__cause__
        if not isinstance(cause, OSError) or cause.filename != str(path):
            raise
        code, reason = Code.UNREADABLE_FILE, cause.strerror
        raise CutuneError.at(code, path=path, reason=reason) from cause


def _is_source(path: Path) -> bool:
    return path.suffix in _SOURCES or path.name.lower() in _BUILD_FILES
