"""Keeps the answer of `tune` where that is allowed. Takes an answer, writes it to the cache.

It is where everything that it depends on is known: no input has changed while it was made, no
message came of the time that this machine had for it, and the program reads nothing but its command
line and its variables, as far as the names tell that it imports: known to be safe are functions
that compute, write, or tell the time.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.workspace import Json
from cutune.emulator.elf import read_imports, read_linkage
from cutune.emulator.program_builds import InstrumentedProgram
from cutune.measure.program_runs import needs_shell
from cutune.tuning.cache.digests import is_untouched_since, text_of
from cutune.tuning.cache.inputs import UNKNOWN, further_files
from cutune.tuning.cache.keeper import Keeper
from cutune.tuning.cache.kept import Kept, KeptMeasurements, digests_of, libraries_of, model_digests

#: Libraries whose names are looked at below; code of any other library could read anything.
_LIBRARIES = re.compile(
    r"libcutune_cudart\.so|libcudart\.so.*|libstdc\+\+\.so\.6|libm\.so\.6|libmvec\.so\.1|"
    r"libgcc_s\.so\.1|libc\.so\.6|libpthread\.so\.0|librt\.so\.1|libgomp\.so\.1|ld-linux.*"
)
_FORMATTED = re.compile(r"(__)?(v?[fd]?printf|v?sn?printf|v?asprintf)(_chk)?|(__isoc\d+_)?v?sscanf")
_OUTPUT = re.compile(
    r"puts|putchar|putc|f?puts(_unlocked)?|fputc|_IO_putc|fwrite(_unlocked)?|fflush|setv?buf|"
    r"setlinebuf|perror|stdout|stderr"
)
#: Standard input is empty, and nothing else is open.
_INPUT = re.compile(
    r"stdin|(__isoc\d+_)?v?f?scanf|fgets|fread|fgetc|getc|_IO_getc|getchar|ungetc|feof|ferror|clearerr"
)
_MEMORY = re.compile(
    r"malloc|calloc|realloc(array)?|free|(posix_)?memalign|aligned_alloc|valloc|"
    r"(__)?(mem|str|stp|wcs|wmem)\w*"
)
_TEXT = re.compile(
    r"(__isoc\d+_)?(strto|wcsto)\w+|ato[fil]+|to(upper|lower)|__ctype_\w+|bcmp|bcopy|bzero|"
    r"is(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit|nan|inf|finite)|"
    r"optarg|optind|opterr|optopt|getopt(_long(_only)?)?|getenv|secure_getenv|__errno_location"
)
_NUMBERS = re.compile(
    r"l?l?(abs|div)|imaxabs|s?rand(om)?(_r)?|[delmn]rand48|s?rand48|seed48|initstate|setstate|"
    r"qsort(_r)?|bsearch|__\w+_finite|__(finite|is(nan|inf)|signbit|fpclassify)[fl]?|"
    r"_ZGV\w+|(l?l?(rint|round)|a?(sin|cos|tan)h?|atan2|sincos|exp(2|10|m1)?|log(2|10|1p|b)?|pow|"
    r"sqrt|cbrt|hypot|erfc?|[lt]gamma|lgamma_r|j[01n]|y[01n]|f(abs|ma|max|min|mod|dim)|ceil|floor|"
    r"trunc|nearbyint|remainder|remquo|copysign|next(after|toward)|ldexp|frexp|modf|scalbl?n|ilogb|"
    r"nan|c?(real|imag|conj|arg|proj)|c(abs|exp|log|pow|sqrt|sin|cos|tan))[fl]?|__\w+[tds][fic]\d"
)
_TIME = re.compile(
    r"time|clock|clock_gettime|clock_getres|gettimeofday|difftime|u?sleep|nanosleep|clock_nanosleep"
)
_RUNNING = re.compile(
    r"exit|_exit|_Exit|quick_exit|abort|atexit|__assert_fail|_?_?(sig)?(set|long)jmp(_chk)?|"
    r"__cxa_\w+|__gxx_\w+|_Unwind_\w+|_ITM_\w+|__gmon_start__|__libc_start_main|__stack_chk_fail|"
    r"__(chk|fortify)_fail|__tls_get_addr|__dso_handle|__dynamic_cast|pthread_\w+|sched_yield|"
    r"sem_(init|wait|post|destroy)|GOMP_\w+|omp_(get_(wtime|thread_num|num_threads|max_threads|"
    r"num_procs)|set_num_threads)|signal|raise"
)
_CUDA = re.compile(r"cutune_\w+|__cuda\w+|cuda(?!\w*FromFile)\w+")
_KNOWN = (_FORMATTED, _OUTPUT, _INPUT, _MEMORY, _TEXT, _NUMBERS, _TIME, _RUNNING, _CUDA)
#: Names of the C++ library with which a program reads files or draws numbers by chance.
_READING = re.compile(
    r"filebuf|fstream|basic_file|random_device|filesystem|tzdb|leap_second|_byname|"
    r"St6localeC[12]E(PKc|RKNSt)"
)
_OF_CPP = re.compile(r"_Z(?!GV)\w+")


def unknown_input(program: Path) -> str:
    """Why it cannot be said what a program reads: a name, a library; empty where it can be."""
    try:
        linkage, names = read_linkage(program), read_imports(program)
    except OSError as error:
        return error.strerror or str(error)
    if linkage is None or not names or not linkage.needed:
        return "it is no program whose imports are known"
    for library in linkage.needed:
        if not _LIBRARIES.fullmatch(library):
            return library
    return next((name for name in sorted(names) if not _is_known(name)), "")


def _is_known(name: str) -> bool:
    if _OF_CPP.fullmatch(name):
        return _READING.search(name) is None
    return any(known.fullmatch(name) for known in _KNOWN)


#: Messages of results that another run, at another time, might not have.
_OF_TODAY = frozenset([Code.CUT_SHORT, Code.NOT_TRIED, Code.BUSY_WORKSPACE, Code.TORN_LINE])
#: Variables that put code of others into any program.
_LOADING = ("LD_PRELOAD", "LD_AUDIT")


@dataclass(frozen=True)
class Answer:
    """The answer of `tune`, and where it came from.

    Attributes:
        run: the template of the program's command lines.
        instrumented: the program that was run.
        kernels: names of all kernels that it launches.
        tuned: the files that were written. said: all messages. shown: what else was shown.
    """

    run: str
    instrumented: InstrumentedProgram
    kernels: Sequence[str]
    tuned: Sequence[Path]
    said: Sequence[Diagnostic]
    shown: Json


def keep(keeper: Keeper, answer: Answer) -> None:
    """Keep the answer if it may be."""
    if unkeepable(answer):
        return
    try:
        inputs = keeper.settled()
        if inputs is None:
            return
        further = further_files(keeper.request, answer.instrumented, inputs)
        if not is_untouched_since(further, keeper.started):
            return
        workspace, program = keeper.request.workspace, str(answer.instrumented.binary)
        kept = Kept(
            inputs.digests,
            digests_of(further),
            program,
            libraries_of(program),
            KeptMeasurements.of(workspace, answer.kernels),
            model_digests(workspace, keeper.request.sources),
            {str(path): text_of(path) for path in answer.tuned},
            [diagnostic.render() for diagnostic in answer.said],
            answer.shown,
        )
    except UNKNOWN:
        return  # It is made again then.
    kept.save(keeper.request)


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
