"""Results that still hold. Takes a request, gives what an earlier call has made for it.

Results of `tune` and of rewriting are kept in the user's cache, not in the workspace:
`~/.cache/cutune/tuned/NAME.json` and `rewritten/NAME.json`, the newest of each kind. An answer is
kept only if everything that it depends on is known: no input changed meanwhile, no message depends
on the speed of this machine, and the program reads nothing but its command line and its variables.
That is told from the names that it imports: functions that compute, write, or tell the time are
known to be safe.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from zlib import compress, decompress
from zlib import error as UnpackError

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.typed import parsed, typed
from cutune.core.workspace import (
    Json,
    Workspace,
    make_folder,
    read_typed,
    write_document,
    write_text,
)
from cutune.emulator.elf import read_imports, read_linkage
from cutune.measure.program_runs import needs_shell
from cutune.toolchain.built_code import ptx_without_lines, without_asserted_lines
from cutune.toolchain.cache import cache_folder, keep_whole, kept_whole
from cutune.toolchain.device_code import EarlierCode
from cutune.toolchain.preprocessed import text_without_lines
from cutune.tuning.inputs import (
    UNKNOWN,
    Inputs,
    Request,
    WatchedRequest,
    digest,
    file_digest,
    further_files,
    inputs_of,
    is_untouched_since,
    state,
    text_of,
)

if TYPE_CHECKING:
    from cutune.emulator.program_builds import InstrumentedProgram

SCHEMA = "cutune-kept-1"
TUNED, MOST_TUNED = "tuned", 64
#: More than a project has sources: builds go through all of them in turn.
REWRITTEN, MOST_REWRITTEN = "rewritten", 4096
_LOADED = re.compile(r"=> (/.+) \(0x[0-9a-f]+\)\s*$|^\s*(/\S+) \(0x[0-9a-f]+\)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class KeptMeasurements:
    """The measurements of a workspace when a result was kept.

    `length`, `content`: of measurements.jsonl. `about`: names of kernels, which lines that are
    added later must not hold.
    """

    length: int
    content: str
    about: list[str]

    def hold(self, workspace: Workspace) -> bool:
        """Were only measurements of other kernels added?"""
        try:
            data = workspace.measurements.read_bytes()
        except OSError:
            return False
        added = data[self.length :]
        words = (json.dumps(word)[1:-1].encode() for word in self.about)
        return digest(data[: self.length]) == self.content and not any(w in added for w in words)


@dataclass(frozen=True)
class KeptAnswer:
    """A result, and what it depends on.

    Attributes:
        inputs: see `Inputs`.
        further: digests of files that the compiler read for the instrumented program alone.
        program: the instrumented program. libraries: states of those that it runs with.
        models: digests of the models of its kernels in models.json.
        tuned: the texts of the tuned program's files by their paths.
        said: messages. shown: what else was shown.
    """

    inputs: dict[str, str]
    further: dict[str, str]
    program: str
    libraries: dict[str, str]
    measured: KeptMeasurements
    models: list[str]
    tuned: dict[str, str]
    said: list[str]
    shown: Json

    def holds(self, request: Request) -> bool:
        return (
            not any(map(os.path.isdir, self.tuned))
            and self.measured.hold(request.workspace)
            and self.models == model_digests(request.workspace, request.sources)
            and self.inputs == inputs_of(request).digests
            and self.further == digests_of(self.further)
            and self.libraries == libraries_of(self.program)
        )


@dataclass(frozen=True)
class KeptRewriting:
    """A source as it was rewritten.

    `inputs`: see `Inputs`. `shadow`: a `ShadowSource`; None where it is compiled as it is. `texts`:
    those of all files that were written.
    """

    inputs: dict[str, str]
    shadow: Json | None
    texts: dict[str, str]


T = TypeVar("T", KeptAnswer, KeptRewriting)


def kept_answer(request: Request) -> KeptAnswer | None:
    """What `tune` answered to an equal request, if that still holds."""
    try:
        found = None if request.unknown else _newest(TUNED, request, KeptAnswer)
        return found if found is not None and found.holds(request) else None
    except UNKNOWN:
        return None


def kept_rewriting(request: Request) -> KeptRewriting | None:
    """What an equal source was last rewritten to; it holds for its inputs."""
    try:
        return _newest(REWRITTEN, request, KeptRewriting)
    except UNKNOWN:
        return None


def _newest(kind: str, request: Request, form: type[T]) -> T | None:
    path = _place(kind, request.name)
    return read_typed(path, SCHEMA, form, "cutune tune") if path.exists() else None


def _save(kind: str, name: str, document: Json, most: int) -> None:
    """Write a document; only the newest of its kind stay. An unwritable cache is no error."""
    try:
        path = _place(kind, name)
        make_folder(path.parent)
        write_document(path, SCHEMA, document, indent=None)
        found = sorted(path.parent.glob("*.json"), key=lambda one: one.stat().st_mtime_ns)
        for old in found[:-most]:
            old.unlink(missing_ok=True)
    except (CutuneError, OSError):
        return


def _place(kind: str, name: str) -> Path:
    return cache_folder() / kind / f"{name}.json"


def write_texts(texts: Mapping[str, str]) -> None:
    """Write kept files anew: builds go by the times of files. Raises CT002."""
    for path, text in texts.items():
        make_folder(Path(path).parent)
        write_text(Path(path), text)


def keep_rewriting(watched: WatchedRequest, shadow: Json | None, files: Iterable[str]) -> bool:
    """Keep a rewriting that was just made, unless an input has changed since; was it kept?"""
    try:
        inputs = watched.settled()
        if inputs is None:
            return False
        kept = KeptRewriting(inputs.digests, shadow, {path: text_of(path) for path in files})
    except UNKNOWN:
        return False  # It is made again then.
    _save(REWRITTEN, watched.request.name, asdict(kept), MOST_REWRITTEN)
    return True


def digests_of(paths: Iterable[str]) -> dict[str, str]:
    return {path: file_digest(path) for path in paths}


def libraries_of(program: str) -> dict[str, str]:
    """The states of the libraries that a program would now be run with, by their paths."""
    variables = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
    try:
        done = subprocess.run([program], env=variables, capture_output=True, text=True, check=False)
    except OSError:
        return {}
    paths = sorted(first or second for first, second in _LOADED.findall(done.stdout))
    return {path: state(os.path.realpath(path)) for path in paths}


def model_digests(workspace: Workspace, sources: Sequence[str]) -> list[str]:
    """The models of a program's kernels in models.json; none where there are none."""
    own = {str(Path(path).resolve()) for path in sources}
    try:
        entries = parsed(workspace.models.read_bytes())["models"]
        found = [entry for entry in entries if entry["facts"]["origin"]["path"] in own]
        return [digest(json.dumps(entry, sort_keys=True)) for entry in found]
    except (OSError, ValueError, KeyError, TypeError):
        return []


#: Libraries whose names are looked at below; code of any other library could read anything.
_LIBRARIES = re.compile(
    r"libcutune_cudart\.so|libcudart\.so.*|libstdc\+\+\.so\.6|libm\.so\.6|libmvec\.so\.1|"
    r"libgcc_s\.so\.1|libc\.so\.6|libpthread\.so\.0|librt\.so\.1|libgomp\.so\.1|ld-linux.*"
)
#: Functions that read nothing but what the program was given.
_KNOWN = re.compile(
    # Formatted text.
    r"(__)?(v?[fd]?printf|v?sn?printf|v?asprintf)(_chk)?|(__isoc\d+_)?v?sscanf|"
    # Output.
    r"puts|putchar|putc|f?puts(_unlocked)?|fputc|_IO_putc|fwrite(_unlocked)?|fflush|setv?buf|"
    r"setlinebuf|perror|stdout|stderr|"
    # Standard input is empty, and nothing else is open.
    r"stdin|(__isoc\d+_)?v?f?scanf|fgets|fread|fgetc|getc|_IO_getc|getchar|ungetc|feof|ferror|clearerr|"
    # Memory.
    r"malloc|calloc|realloc(array)?|free|(posix_)?memalign|aligned_alloc|valloc|"
    r"(__)?(mem|str|stp|wcs|wmem)\w*|"
    # Text, options, variables.
    r"(__isoc\d+_)?(strto|wcsto)\w+|ato[fil]+|to(upper|lower)|__ctype_\w+|bcmp|bcopy|bzero|"
    r"is(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit|nan|inf|finite)|"
    r"optarg|optind|opterr|optopt|getopt(_long(_only)?)?|getenv|secure_getenv|__errno_location|"
    # Numbers.
    r"l?l?(abs|div)|imaxabs|s?rand(om)?(_r)?|[delmn]rand48|s?rand48|seed48|initstate|setstate|"
    r"qsort(_r)?|bsearch|__\w+_finite|__(finite|is(nan|inf)|signbit|fpclassify)[fl]?|"
    r"_ZGV\w+|(l?l?(rint|round)|a?(sin|cos|tan)h?|atan2|sincos|exp(2|10|m1)?|log(2|10|1p|b)?|pow|"
    r"sqrt|cbrt|hypot|erfc?|[lt]gamma|lgamma_r|j[01n]|y[01n]|f(abs|ma|max|min|mod|dim)|ceil|floor|"
    r"trunc|nearbyint|remainder|remquo|copysign|next(after|toward)|ldexp|frexp|modf|scalbl?n|ilogb|"
    r"nan|c?(real|imag|conj|arg|proj)|c(abs|exp|log|pow|sqrt|sin|cos|tan))[fl]?|__\w+[tds][fic]\d|"
    # Time.
    r"time|clock|clock_gettime|clock_getres|gettimeofday|difftime|u?sleep|nanosleep|clock_nanosleep|"
    # The program and its threads.
    r"exit|_exit|_Exit|quick_exit|abort|atexit|__assert_fail|_?_?(sig)?(set|long)jmp(_chk)?|"
    r"__cxa_\w+|__gxx_\w+|_Unwind_\w+|_ITM_\w+|__gmon_start__|__libc_start_main|__stack_chk_fail|"
    r"__(chk|fortify)_fail|__tls_get_addr|__dso_handle|__dynamic_cast|pthread_\w+|sched_yield|"
    r"sem_(init|wait|post|destroy)|GOMP_\w+|omp_(get_(wtime|thread_num|num_threads|max_threads|"
    r"num_procs)|set_num_threads)|signal|raise|"
    # CUDA.
    r"cutune_\w+|__cuda\w+|cuda(?!\w*FromFile)\w+"
)
#: Names of the C++ library with which a program reads files or draws numbers by chance.
_READING = re.compile(
    r"filebuf|fstream|basic_file|random_device|filesystem|tzdb|leap_second|_byname|"
    r"St6localeC[12]E(PKc|RKNSt)"
)
_OF_CPP = re.compile(r"_Z(?!GV)\w+")


def unknown_input(program: Path) -> str:
    """The import or library that may read what is not known; empty where there is none."""
    try:
        linkage, names = read_linkage(program), read_imports(program)
    except OSError as error:
        return error.strerror or str(error)
    if linkage is None or not names or not linkage.needed:
        return "it is no program whose imports are known"
    for library in linkage.needed:
        if not _LIBRARIES.fullmatch(library):
            return library
    of_cpp = {name for name in names if _OF_CPP.fullmatch(name)}
    unknown = {name for name in of_cpp if _READING.search(name)}
    unknown |= {name for name in names - of_cpp if not _KNOWN.fullmatch(name)}
    return min(unknown, default="")


#: Messages of results that another run, at another time, might not have.
_OF_TODAY = frozenset([Code.CUT_SHORT, Code.NOT_TRIED, Code.BUSY_WORKSPACE, Code.TORN_LINE])
#: Variables that put code of others into any program.
_LOADING = ("LD_PRELOAD", "LD_AUDIT")


@dataclass(frozen=True)
class Answer:
    """The answer of `tune`, and where it came from.

    `run`: the template of the program's command lines. `kernels`: names of all that it launches.
    `tuned`: the files that were written.
    """

    run: str
    instrumented: InstrumentedProgram
    kernels: Sequence[str]
    tuned: Sequence[Path]
    said: Sequence[Diagnostic]
    shown: Json


def keep_answer(watched: WatchedRequest, answer: Answer) -> None:
    """Keep the answer if it may be."""
    if unkeepable(answer):
        return
    try:
        inputs = watched.settled()
        further = further_files(watched.request, answer.instrumented, inputs) if inputs else []
        if inputs is None or not is_untouched_since(further, watched.started):
            return
        workspace, program = watched.request.workspace, str(answer.instrumented.binary)
        measured = workspace.measurements.read_bytes()
        kept = KeptAnswer(
            inputs.digests,
            digests_of(further),
            program,
            libraries_of(program),
            KeptMeasurements(len(measured), digest(measured), sorted({*answer.kernels})),
            model_digests(workspace, watched.request.sources),
            {str(path): text_of(path) for path in answer.tuned},
            [diagnostic.render() for diagnostic in answer.said],
            answer.shown,
        )
    except UNKNOWN:
        return  # It is made again then.
    _save(TUNED, watched.request.name, asdict(kept), MOST_TUNED)


def unkeepable(answer: Answer) -> str:
    """Why an answer must not be kept; empty if it may be."""
    passing = next((one.code.number for one in answer.said if one.code in _OF_TODAY), "")
    loaded = next((name for name in _LOADING if os.environ.get(name)), "")
    return passing or loaded or _other_program(answer) or unknown_input(answer.instrumented.binary)


def _other_program(answer: Answer) -> str:
    """The command line, where it starts another program: a shell, a script, a launcher."""
    words = shlex.split(answer.run)
    program = os.path.relpath(answer.instrumented.binary)
    first = words[0].format(program=program) if words else ""
    is_program = first and os.path.abspath(first) == os.path.abspath(program)
    return "" if is_program and not needs_shell(answer.run) else answer.run


# ---- builds of changed sources
#
# Most changes are of host code, and leave the device code as it is. Whether they do, is known when
# nvcc has compiled the rewritten source: it holds all kernels and copies that are launched. So that
# source is made as if the device code were that of the earlier build, and compiled. If the PTX that
# nvcc writes then is that of the earlier rewritten source, all holds that was proven of it, and
# nothing was compiled for proofs. If not, all is made anew, without the earlier code.
#
# What follows from the text is found each time. An earlier build counts only if cutune, compilers,
# options, variables and models were the same.

EARLIER = "earlier"


@dataclass(frozen=True)
class EarlierBuild:
    """The code of a build. `about`: see `Inputs.about`. `plain`: see `plain_digest`.

    `compiled`: what proofs were made of, see `EarlierCode`. `built`: digests of the PTX that nvcc
    wrote for the rewritten source, by the names of its files.
    """

    about: str
    plain: str
    compiled: dict[str, str | None]
    built: dict[str, str]


def earlier_build(name: str, inputs: Inputs) -> EarlierBuild | None:
    """The newest build of an equal request (`Request.name`), if what is assumed may still hold."""
    packed = kept_whole(_place_of_build(name))
    if packed is None:
        return None
    try:
        text = decompress(packed.encode("latin-1"))
        found = typed(EarlierBuild, parsed(text))
    except (ValueError, UnpackError):
        return None
    return found if found.about == inputs.about and found.built else None


def plain_digest(inputs: Inputs) -> str:
    """A digest of what is compiled, without comments and lines; empty where these count."""
    plain = [text_without_lines(text) for text in inputs.texts]
    return digest(*plain) if plain and all(plain) else ""


@dataclass(frozen=True)
class Making:
    """A rewriting that was made now, of which more is kept once nvcc has compiled it.

    `assumed`: the build whose code it was made with; None: with its own. `keep`: keeps what was
    assumed, unless an input has changed meanwhile; was it kept?
    """

    name: str
    inputs: Inputs
    code: EarlierCode
    assumed: EarlierBuild | None
    keep: Callable[[], bool]

    @cached_property
    def _plain(self) -> str:
        return plain_digest(self.inputs)

    @property
    def is_alike(self) -> bool:
        """Do only comments and lines differ from what the assumed build compiled?"""
        return self.assumed is not None and self.assumed.plain == self._plain != ""

    def was_given(self) -> None:
        """Keep it: an object of the same text is known, so that what was assumed holds."""
        if self.assumed is not None and self.keep():
            self._keep_code(self.assumed.built)

    def was_compiled(self, folder: Path) -> bool:
        """Keep it if what was assumed holds; does it? `folder`: where nvcc has written PTX."""
        built = _digests(folder)
        if self.assumed is not None and built != self.assumed.built:
            return False
        if self.keep() and built is not None:
            self._keep_code(built)
        return True

    def _keep_code(self, built: Mapping[str, str]) -> None:
        code = self.code.found()
        build = EarlierBuild(self.inputs.about, self._plain, code, dict(built))
        # PTX is long, and the same for most architectures.
        packed = compress(json.dumps(asdict(build)).encode(), level=1).decode("latin-1")
        keep_whole(_place_of_build(self.name), packed)


def _digests(folder: Path) -> dict[str, str] | None:
    """Digests of the PTX in a folder, without lines; None where some is not known."""
    found = {}
    for file in sorted(folder.glob("*.ptx")):
        text = ptx_without_lines(file.read_text(encoding="latin-1"))
        if text is None:
            return None
        found[file.name] = digest(without_asserted_lines(text))
    return found or None


def _place_of_build(name: str) -> Path:
    return cache_folder() / EARLIER / f"{name}.json"
