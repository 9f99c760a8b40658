"""PTX of a source. Takes nvcc, a source and its flags, gives text: made now, or kept from before.

nvcc says by `--dryrun` what it would run: the preprocessor, then cicc. The former runs each time.
What cicc has made of a text is kept in the user's cache, and given again for the same text and
options, wherever the source lies: what one verb has compiled the next one need not.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.temporary import temporary_folder
from cutune.toolchain.cache import cache_folder
from cutune.toolchain.dry_run import (
    ended,
    front_end_failed,
    read_dry_run,
    stand_in_for,
    value,
    with_source,
    words,
)
from cutune.toolchain.line_markers import BEGIN
from cutune.toolchain.nvcc import Nvcc, ptx_flags

#: The oldest texts go where all of them are larger.
MOST_BYTES = 64 << 20
#: Options of cicc that name files. What these are called is in no code but that of `_OF_A_PLACE`.
_NAMING = frozenset(
    [
        *("--orig_src_file_name", "--orig_src_path_name", "--include_file_name"),
        *("--module_id_file_name", "-o"),
    ]
)
#: Where lines come from changes no code, unless it asks; of which kind their header is may.
_ASKED = re.compile(r"__builtin_(?:FILE|LINE|COLUMN|source_location)\b")
_MARKER = re.compile(BEGIN + r' \d+ "(?:[^"\\]|\\.)*"')
#: What a compiler says of a text that is none; of anything else that is wrong nvcc tells itself.
_ERROR = re.compile(r": (?:fatal |catastrophic )?error:")
#: Lines of sources, and names that are made of a source's path: of unnamed namespaces, for example.
_OF_A_PLACE = re.compile(r"^\s*\.(?:file|loc)\s|_GLOBAL__N_|INTERNAL_|__nv_static_", re.MULTILINE)


@dataclass(frozen=True)
class Steps:
    """What nvcc runs for the PTX of a source; `variables`: what it sets for that."""

    preprocess: tuple[str, ...]
    compile: tuple[str, ...]
    variables: Mapping[str, str]

    @property
    def expanded(self) -> Path:
        """What the preprocessor writes."""
        return Path(value(self.preprocess, "-o"))


def ptx(nvcc: Nvcc, path: str, flags: Sequence[str] = (), architecture: str = "80") -> str:
    """As `Nvcc.ptx`.

    Raises:
        CutuneError: CT701 with nvcc's own messages.
    """
    with temporary_folder() as folder:
        try:
            return _ptx(nvcc, path, flags, architecture, Path(folder))
        except CutuneError as error:
            if error.diagnostic.code is not Code.FRONT_END_FAILED:
                raise
    return nvcc.ptx(path, flags, architecture)


def _ptx(nvcc: Nvcc, path: str, flags: Sequence[str], architecture: str, folder: Path) -> str:
    output, stand_in = folder / "module.ptx", stand_in_for(nvcc, path, flags)
    files = ["--keep", "--keep-dir", str(folder), "-o", str(output)]
    asked = ptx_flags(flags, architecture)
    answer = nvcc.run([*asked, "--dryrun", *files, stand_in])
    steps = read_steps(answer.stderr + answer.stdout)
    environment = {**os.environ, **steps.variables}

    def run(step: Sequence[str]) -> None:
        done = ended(with_source(step, stand_in, path), environment)
        if done.returncode > 0 and _ERROR.search(done.stderr):
            # nvcc would run the same, end with its status, and say no more.
            nvcc.checked([*asked, *nvcc.source_words(path, flags), "-o", str(output)], done)
        if done.returncode != 0:
            raise front_end_failed(f"'{step[0]}' failed")

    run(steps.preprocess)
    text = steps.expanded.read_text(encoding="latin-1")
    kept = cache_folder() / "ptx" / f"{_key(steps, text, environment)}.ptx"
    found = _read(kept)
    if found is None:
        run(steps.compile)
        found = output.read_text(encoding="latin-1")
        if not _OF_A_PLACE.search(found):
            _keep(kept, found)
    return found


def read_steps(said: str) -> Steps:
    """The steps among what `nvcc -ptx --dryrun` says.

    Raises:
        CutuneError: CT703 when they are not found, as for a source of the host alone.
    """
    lines, variables = read_dry_run(said)
    place = variables.get("CICC_PATH", "")
    lines = [line.replace("$CICC_PATH", place) for line in lines]
    preprocess = [words(line) for line in lines if " -E " in line]
    compile_ = [words(line) for line in lines if re.match(r'"?[^"\s]*\bcicc"? ', line)]
    if len(preprocess) != 1 or len(compile_) != 1:
        raise front_end_failed("nvcc does not name the steps to PTX")
    steps = Steps(preprocess[0], compile_[0], variables)
    if str(steps.expanded) not in steps.compile:
        raise front_end_failed("nvcc does not name the steps to PTX")
    return steps


def _key(steps: Steps, text: str, environment: Mapping[str, str]) -> str:
    """The same for the same text, options and compiler."""
    named = {steps.compile.index(option) + 1 for option in _NAMING if option in steps.compile}
    options = [
        word
        for at, word in enumerate(steps.compile[1:], 1)
        if at not in named and word != str(steps.expanded)
    ]
    cicc = shutil.which(steps.compile[0], path=environment.get("PATH"))
    library = environment.get("NVVMIR_LIBRARY_DIR")
    files = [Path(cicc)] if cicc else []
    files += sorted(Path(library).glob("*")) if library else []
    digest = hashlib.sha256()
    lines = text if _ASKED.search(text) else _MARKER.sub("#", text)
    for part in (*options, *map(_state, files), lines):
        data = part.encode("utf-8", "surrogateescape")
        digest.update(b"%d\0" % len(data))
        digest.update(data)
    return digest.hexdigest()[:40]


def _state(path: Path) -> str:
    """What changes whenever a file is written or replaced."""
    about = os.stat(path)
    return f"{path} {about.st_dev} {about.st_ino} {about.st_size} {about.st_mtime_ns}"


def _read(path: Path) -> str | None:
    """What is kept there; it stays for longer."""
    with suppress(OSError):
        text = path.read_text(encoding="latin-1")
        os.utime(path)
        return text
    return None


def _keep(path: Path, text: str) -> None:
    """Keep it, and the newest of the others. Where the cache cannot be written nothing is."""
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile("wb", dir=path.parent, delete=False) as file:
            file.write(text.encode("latin-1"))
        os.replace(file.name, path)
        left = MOST_BYTES
        for one, size in _newest_first(path.parent):
            left -= size
            if left < 0:
                one.unlink(missing_ok=True)


def _newest_first(folder: Path) -> list[tuple[Path, int]]:
    """All files, with their sizes."""
    found = []
    for entry in os.scandir(folder):
        with suppress(OSError):
            about = entry.stat()
            found.append((about.st_mtime_ns, Path(entry.path), about.st_size))
    return [(path, size) for _, path, size in sorted(found, reverse=True)]
