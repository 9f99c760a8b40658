"""Whether a program may read more than its command line and its variables, by its imports.

Takes a program, gives the first name that may bring anything in from outside. Known to be safe are
functions that compute, write, or tell the time; any other name counts as one that reads.
"""

from __future__ import annotations

import re
from pathlib import Path

from cutune.emulator.elf import read_imports, read_linkage

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
