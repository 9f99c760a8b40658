"""Files that outlive a stage. Takes a folder, gives JSON lines and documents, with their schemas.

Every file names its schema in its first entry; an unknown schema is a diagnostic. A torn last line,
which an interrupted run may leave in an append-only file, is skipped with a warning.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn
from cutune.core.progress import ignore
from cutune.core.typed import parsed, typed

COMMAND_SCHEMA = "cutune-command-1"
#: So many folders are named that have what is missing here.
MOST_BELOW = 3

Json = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Workspace:
    """The folder that holds everything cutune knows of one program."""

    folder: Path

    @property
    def measurements(self) -> Path:
        """Counts and features of replayed or real launches."""
        return self.folder / "measurements.jsonl"

    @property
    def models(self) -> Path:
        """Fitted models, one per kernel."""
        return self.folder / "models.json"

    @property
    def trials(self) -> Path:
        """Configurations that were tried, and the times of regions."""
        return self.folder / "trials.jsonl"

    @property
    def choices(self) -> Path:
        """What was chosen of them: classifiers of host tunables, values of constants and flags."""
        return self.folder / "choices.json"

    @property
    def commands(self) -> Path:
        """The commands that have written here."""
        return self.folder / "commands.jsonl"

    def create(self) -> Workspace:
        make_folder(self.folder)
        return self

    def note_command(
        self, words: Sequence[str], sources: Sequence[str] = (), flags: Sequence[str] = ()
    ) -> None:
        """Note a command that has written here, and how it compiled its sources. Raises CT002."""
        compiled = {"folder": os.getcwd(), "sources": list(sources), "flags": list(flags)}
        command = {"schema": COMMAND_SCHEMA, "command": shlex.join(["cutune", *words])}
        append_lines(self.commands, [{**command, **compiled}])

    def stale(self, path: str) -> CutuneError:
        """The error for a source that has changed, and the command that has tuned it here."""
        command = next(self._tuned_by(os.path.realpath(path)), "cutune tune")
        return CutuneError.at(Code.STALE_MODELS, path=path, command=command)

    def _tuned_by(self, path: str) -> Iterator[str]:
        """The commands that may have tuned a source, the last one first, as one would type them."""
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            for line in reversed(self.commands.read_bytes().splitlines()):
                entry = parsed(line)
                folder, command = Path(entry["folder"]), str(entry["command"])
                sources = [os.path.realpath(folder / source) for source in entry["sources"]]
                # Without sources it was a build.
                if command.startswith("cutune tune ") and path in (sources or [path]):
                    is_here = not folder.is_dir() or folder.samefile(os.curdir)
                    yield command if is_here else f"cd {shlex.quote(str(folder))} && {command}"

    @contextmanager
    def claimed(self, names: Iterable[str], warn: Warn) -> Iterator[None]:
        """Hold the locks on files of these names, which end with the process; may have to wait."""
        with ExitStack() as held:
            for name in sorted({*names}):
                path = self.folder / f"{name}.lock"
                busy = Diagnostic.at(Code.BUSY_WORKSPACE, name=name, folder=self.folder)
                held.enter_context(locked(path, partial(warn, busy)))
            yield

    def replacing_models(self) -> AbstractContextManager[None]:
        """Hold the lock on the models, from their being read to their being written."""
        return locked(self.folder / "models.lock")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the operating system's refusal to write `path` into a diagnostic (CT002)."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise CutuneError.at(Code.UNWRITABLE_FILE, path=path, reason=reason) from error


@contextmanager
def _reading(path: Path, command: str) -> Iterator[None]:
    """Turn a refusal to read into a diagnostic (CT001, CT009); `command` makes the file."""
    try:
        yield
    except FileNotFoundError as error:
        # Folders below may have a workspace of this name that has the file.
        beside, name = path.parent.parent, Path(path.parent.name) / path.name
        paths = (p for under in ("*", "*/*") for p in sorted(beside.glob(f"{under}/{name}")))
        for folder in (path.parent for path in islice(paths, MOST_BELOW)):
            words = f"give --workspace {shlex.quote(str(folder))}"
            command += f"; or, of what lies in '{folder.parent}', {words}"
        raise CutuneError.at(Code.MISSING_STAGE, path=path, command=command) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise CutuneError.at(Code.UNREADABLE_FILE, path=path, reason=reason) from error


def make_folder(path: Path) -> None:
    """Make a folder and those that it lies in. Raises CT002."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)


def write_text(path: Path, text: str) -> None:
    """Replace a file as `replace_file` does; text is encoded as latin-1, like a source."""
    replace_file(path, text.encode("latin-1", errors="xmlcharrefreplace"))


def refuse_existing(path: Path, is_replacing: bool) -> None:
    """Refuse to replace a file unless that was asked for. Raises CT825."""
    if path.is_file() and not is_replacing:
        raise CutuneError.at(Code.ALREADY_THERE, path=path)


def replace_file(path: Path, content: bytes) -> None:
    """Write beside the target, then rename, so that nobody ever sees half a file. Raises CT002."""
    with writing(path):
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # a pipe or device, such as /dev/stdout, is not replaced
            return
        with replacing(path) as temporary:
            temporary.write_bytes(content)
            # mkstemp gives 0600; a compiler's output has what the umask allows.
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A new file beside the target that takes its place, unless an error occurs."""
    handle, name = tempfile.mkstemp(target.suffix, f".{target.name}.", target.parent)
    os.close(handle)
    try:
        yield Path(name)
        os.replace(name, target)
    finally:
        Path(name).unlink(missing_ok=True)


def write_document(path: Path, schema: str, content: Json, indent: int | None = 1) -> None:
    """Save a document whose first entry is its schema; without indent in one line, much faster."""
    separators = (",", ":") if indent is None else None
    text = json.dumps({"schema": schema, **content}, indent=indent, separators=separators)
    replace_file(path, (text + "\n").encode())


def read_document(path: Path, schema: str, command: str) -> Json:
    """Read a document. `command` makes the file, as the message says where it is missing.

    Raises CT009 (missing), CT001 (unreadable), CT012 (of an older version), CT005 (something else).
    """
    data = _json_in(path, schema, command)
    found = data.get("schema") if isinstance(data, dict) else None
    if found == schema:
        document: Json = data
        return document
    if _is_older(str(found), schema):
        reason = f"{found}, not {schema}"
        raise CutuneError.at(Code.DAMAGED_FILE, path=path, reason=reason, command=command)
    raise CutuneError.at(Code.UNKNOWN_SCHEMA, path=path, wanted=schema, found=found)


def _json_in(path: Path, schema: str, command: str) -> Any:
    with _reading(path, command):
        content = path.read_bytes()
    with checking(path, command):
        try:
            return parsed(content.decode("utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            code, found = Code.UNKNOWN_SCHEMA, "no JSON"
            raise CutuneError.at(code, path=path, wanted=schema, found=found) from error


def _is_older(schema: str, current: str) -> bool:
    """Is it an earlier version of a schema, as `cutune-fit-1` is of `cutune-fit-2`?"""
    (kind, _, version), (current_kind, _, now) = schema.rpartition("-"), current.rpartition("-")
    are_versions = version.isdecimal() and now.isdecimal()
    return kind == current_kind and are_versions and int(version) < int(now)


def read_typed(path: Path, schema: str, kind: type[T], command: str) -> T:
    """Read a document as `read_document` does, and its entries. Raises CT012: one is wrong."""
    document = read_document(path, schema, command)
    with checking(path, command):
        return typed(kind, document)


@contextmanager
def checking(path: Path, command: str) -> Iterator[None]:
    """Turn what is wrong with the entries of a file into a diagnostic (CT012)."""
    try:
        yield
    except (KeyError, ValueError) as error:
        reason = f"without `{error.args[0]}`" if isinstance(error, KeyError) else str(error)
        code = Code.DAMAGED_FILE
        raise CutuneError.at(code, path=path, reason=reason, command=command) from error


@contextmanager
def locked(path: Path, waits: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Hold a lock between processes, after `waits()` if another holds it. Raises CT002."""
    with writing(path):
        file = path.open("w")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waits()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield  # closing the file gives the lock back


def append_text(path: Path, text: str) -> None:
    """Append to a file by one write, so that several processes do not mix. Raises CT002."""
    with writing(path), path.open("ab", buffering=0) as file:
        file.write(text.encode("utf-8", errors="surrogateescape"))


def append_lines(path: Path, entries: Iterable[Json]) -> None:
    """Append JSON lines. A torn last line of an earlier run is ended first."""
    lines = b"".join(json.dumps(e, separators=(",", ":")).encode() + b"\n" for e in entries)
    with writing(path), path.open("ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # nobody writes between our lines
        if file.seek(0, os.SEEK_END) > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(lines)


def entries_of(path: Path, schema: str) -> Iterator[Json]:
    """Yield what a program has logged with this schema, if anything; torn lines are left out."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            with suppress(ValueError):
                entry = parsed(line)
                if isinstance(entry, dict) and entry.get("schema") == schema:
                    yield entry


def read_lines(
    path: Path, schema: str, convert: Callable[[Json], T], command: str, warn: Warn
) -> Iterator[T]:
    """Yield the entries of an append-only file with this schema, converted; others are skipped.

    What `convert` cannot read counts as torn. `command` makes the file. Raises CT009, CT001.
    """
    # What nobody is told of lines of another schema need not be known.
    skipped, own = '{"schema":"' if warn is ignore else None, f'{{"schema":"{schema}"'
    with _reading(path, command):
        file = path.open(encoding="utf-8", errors="replace")
    with file:
        for number, line in enumerate(file, start=1):
            if skipped and line.startswith(skipped) and not line.startswith(own):
                continue
            try:
                entry = parsed(line)
                if entry["schema"] == schema:
                    yield convert(entry)
            except (ValueError, KeyError, TypeError):
                warn(Diagnostic.at(Code.TORN_LINE, line=number, path=path))
