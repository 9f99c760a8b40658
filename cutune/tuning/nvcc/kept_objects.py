"""Objects that still hold. Takes a command and its rewritten source, gives what was made of them.

An object is kept under a name made of all that it depends on: what the rewritten source was made by
(`Inputs.about`: cutune, the compilers, variables, models), the words of the command, the files that
are read, and the text that nvcc's preprocessor writes of the rewritten source, for the host and for
each GPU. Lines do not count where no option asks for them: so a comment changes no object. Only a
command is asked about whose options are known to write nothing but an object and its dependency
file, and that prints nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutune.core.diagnostics import CutuneError
from cutune.core.workspace import replace_file
from cutune.toolchain import dry_run
from cutune.toolchain.cache import cache_folder, keep_text, kept_text, key_of
from cutune.toolchain.compiler_commands import run_limited
from cutune.toolchain.nvcc import Nvcc
from cutune.toolchain.preprocessed import files_of, text_without_lines
from cutune.tuning.inputs import digest, file_clock, file_digest, is_untouched_since
from cutune.tuning.nvcc.command import DEPENDENCIES_TOO, IN_FILE, STOPS_AT_OBJECT, Command, names
from cutune.tuning.nvcc.shadows import ShadowSource, with_copies

#: All of them together. A project of 400 sources has about a quarter of this.
MOST_BYTES = 512 << 20
#: Options by which nvcc writes nothing else, and reads what the preprocessor reads.
_KNOWN = (
    STOPS_AT_OBJECT
    | DEPENDENCIES_TOO
    | names("""
    define-macro undefine-macro include-path system-include pre-include output-file
    dependency-output dependency-target-name generate-dependency-targets optimize std x machine m64
    gpu-architecture gpu-code generate-code relocatable-device-code debug device-debug
    generate-line-info no-exceptions expt-relaxed-constexpr extended-lambda expt-extended-lambda
    use_fast_math ftz prec-div prec-sqrt fmad maxrregcount restrict default-stream cudart
    compiler-bindir allow-unsupported-compiler disable-warnings Wno-deprecated-gpu-targets
    Wno-deprecated-declarations Wreorder Werror display-error-number no-display-error-number
    diag-error diag-suppress diag-warn ftemplate-depth compiler-options
""")
)
#: Those about what is written where.
_OF_OUTPUTS = DEPENDENCIES_TOO | names("""
    output-file dependency-output dependency-target-name generate-dependency-targets
""")
#: The host compiler's options of that kind.
_KNOWN_TO_HOST = re.compile(
    r"-(?:O\w*|g\d?|m[\w.=+-]+|std=[\w+]+|[DUI].*|w|pedantic|pthread|W[a-z][\w+=-]+"
    r"|f(?:PIC|pic|PIE|pie|openmp|permissive|exceptions|rtti|strict-aliasing|wrapv|fast-math"
    r"|no-[\w-]+|visibility=\w+|use-ld=\w+|stack-protector[\w-]*|omit-frame-pointer)"
    r"|(?:include|isystem|iquote) .*)"
)
_FOLLOWED = ("-include", "-isystem", "-iquote")
#: Options by which objects name lines.
_OF_LINES = names("debug device-debug generate-line-info")
_OF_LINES_TO_HOST = re.compile(r"-g\d?")


@dataclass(frozen=True)
class ObjectPlace:
    """Where the object of a command is kept, and what was read to tell that."""

    kept: Path
    command: Command
    files: frozenset[str]
    copies: Mapping[str, str]
    started: int

    def given(self) -> bool:
        """Give what is kept, the dependency file first; False: nvcc has to make it."""
        text = kept_text(self.kept)
        if text is None:
            return False
        head, _, rest = text.partition("\n")
        try:
            sizes, said = json.loads(head)
            outputs = self._outputs()
            if len(sizes) != len(outputs) or said != digest(rest.encode("latin-1")):
                return False
            for path, size in zip(outputs, sizes, strict=True):
                content, rest = rest[:size], rest[size:]
                replace_file(Path(path), content.encode("latin-1"))
        except (CutuneError, ValueError, TypeError):
            return False
        return True

    def keep(self) -> None:
        """Keep what nvcc has made, unless a file that it has read has changed since."""
        is_same = all(file_digest(path) == one for path, one in self.copies.items())
        if not is_same or not is_untouched_since(self.files - {*self.copies}, self.started):
            return
        try:
            made = [Path(path).read_bytes().decode("latin-1") for path in self._outputs()]
        except OSError:
            return
        whole = "".join(made)
        head = json.dumps([[len(text) for text in made], digest(whole.encode("latin-1"))])
        keep_text(self.kept, f"{head}\n{whole}", MOST_BYTES)

    def _outputs(self) -> list[str]:
        return [*self.command.dependency_files(), *self.command.outputs()]


@dataclass(frozen=True)
class ObjectQuestion:
    """Asks where the object of a command is kept. `started`: before anything was read for it."""

    nvcc: Nvcc
    command: Command
    source: str
    shadow: ShadowSource
    copies: Mapping[str, str]
    started: int

    @staticmethod
    def of(
        nvcc: Nvcc, command: Command, shadows: Mapping[str, ShadowSource]
    ) -> ObjectQuestion | None:
        """The question; None where what the object depends on is not known."""
        if not is_understood(command) or len(shadows) != 1:
            return None
        (source, shadow), started = *shadows.items(), file_clock()
        if not shadow.made_by:
            return None
        copies = {path: file_digest(path) for path in shadow.originals}
        return ObjectQuestion(nvcc, command, source, shadow, copies, started)

    def asked(self) -> ObjectPlace | None:
        """Preprocess the rewritten source to tell the place; None where that fails."""
        try:
            return self.place(_texts(self.nvcc, self.command, self.source, self.shadow))
        except (CutuneError, OSError):
            return None

    def told(self, folder: Path) -> ObjectPlace | None:
        """The place, from what nvcc has kept in a folder while it compiled."""
        texts = (path.read_text(encoding="latin-1") for path in folder.glob("*.ii"))
        return self.place([*texts])

    def place(self, texts: Sequence[str]) -> ObjectPlace | None:
        if not texts or any(".incbin" in text for text in texts):
            return None
        files = frozenset(file for text in texts for file in files_of(text))
        plain = [text if _names_lines(self.command) else text_without_lines(text) for text in texts]
        # Whoever asks for lines in its text has an empty one there.
        counted = sorted(short or text for short, text in zip(plain, texts, strict=True))
        about = self.shadow.made_by, json.dumps([self.command.words, sorted(files)])
        kept = cache_folder() / "built" / key_of(*about, *counted)
        return ObjectPlace(kept, self.command, files, self.copies, self.started)


def _names_lines(command: Command) -> bool:
    return command.has(_OF_LINES) or any(map(_OF_LINES_TO_HOST.fullmatch, _of_host(command)))


def is_understood(command: Command) -> bool:
    """Does it make an object of one source, perhaps with a dependency file, and nothing else?"""
    if len(command.inputs) != 1 or len(command.sources) != 1:
        return False
    is_known = all(
        item.first != IN_FILE
        and (not item.name or item.name in _KNOWN)
        and (item.first >= 0 or item.name not in _OF_OUTPUTS)
        for item in command.items
    )
    of_host = map(_KNOWN_TO_HOST.fullmatch, _of_host(command))
    return is_known and command.has(STOPS_AT_OBJECT) and all(of_host)


def _of_host(command: Command) -> Iterator[str]:
    """The host compiler's options; behind those that are followed by a name, that name."""
    words = iter(command.values("compiler-options"))
    for word in words:
        yield f"{word} {next(words, '')}" if word in _FOLLOWED else word


def _texts(nvcc: Nvcc, command: Command, source: str, shadow: ShadowSource) -> list[str]:
    """What the preprocessor writes of a rewritten source in each of nvcc's steps; none: not known.

    Raises CT708, CT711; OSError.
    """
    rewritten = Command.parse(with_copies(command, {source: shadow}))
    options = [item for item in rewritten.items if item.name and item.name not in _OF_OUTPUTS]
    flags = [word for item in options for word in rewritten.words_of(item)]
    stand_in = dry_run.stand_in_for(nvcc, shadow.path, flags)
    said = dry_run.dry_answer(nvcc, [*flags, "--dryrun", stand_in, "-o", os.devnull])
    steps, variables = dry_run.commands(said)
    environment, texts = {**os.environ, **variables}, []
    for step in (dry_run.with_source(one, stand_in, shadow.path) for one in steps if "-E" in one):
        at = step.index("-o") if "-o" in step else len(step)
        done = run_limited([*step[:at], *step[at + 2 :]], environment, shadow.path)
        if done.returncode != 0:
            return []
        texts.append(done.stdout)
    return texts
