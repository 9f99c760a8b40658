"""Sources with what nvcc's code of them proves. Takes a source, gives its `Program`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.reading import read_source
from cutune.core.source import Source
from cutune.core.temporary import temporary_folder
from cutune.proof.analysis.analyze import analyze
from cutune.proof.compiled import Compilation
from cutune.source.program import Kernel, Program
from cutune.source.syntax.parse import parse
from cutune.source.unit.unit_texts import UnitTexts
from cutune.toolchain.device_code import DeviceCode, compiled
from cutune.toolchain.nvcc import find_nvcc
from tests.support.short_headers import as_users_do, with_short_headers

#: What nvcc says of kernels that launch others: they are compiled to be linked.
_TO_LINK = "separate compilation mode"
#: Libraries that want a later standard than other programs are compiled with.
_LIBRARY = re.compile(r"^\s*#\s*include\s*<(?:cub|cuda|thrust)/", re.MULTILINE)
_LATER: Final = ((as_users_do, ()),)
#: Few sources need all headers, or a later standard.
_WAYS: Final = ((with_short_headers, ()), *_LATER, (as_users_do, ("-rdc=true",)))


def analyzed(
    source: Source, headers: Iterable[Source] = (), early: Collection[str] = ()
) -> Program:
    """What is proven of a source, whose file need not exist, as far as later stages are tested.

    Macros are expanded by its text. A source that does not compile is judged by its text alone.
    Of the compiled code the program itself knows nothing: there are no variants, and launches ask
    for no version of it. `early`: see `UnitTexts`.
    """
    headers = tuple(headers)
    names = tuple(str(Path(path).resolve()) for path in early if Path(path).exists())
    if Path(source.path).exists():
        paths = (source.path, *(one.path for one in headers))
        folders = dict.fromkeys(str(Path(path).resolve().parent) for path in paths)
        text = _compiled(source.path, names, folders)
    else:
        written = tuple((Path(one.path).name, one.text) for one in headers)
        text = _ptx(source.text, written, tuple(Path(path).name for path in early))
    texts = UnitTexts.read(parse(source), None, headers, early)
    if text is None:
        return analyze(texts)
    code: Future[DeviceCode] = Future()
    code.set_result(DeviceCode(text))
    program = analyze(texts, Compilation({"80": code}))
    return replace(
        program,
        kernels=tuple(map(_without_code, program.kernels)),
        unlaunched=tuple(map(_without_code, program.unlaunched)),
        launches=tuple(replace(site, entries=()) for site in program.launches),
        code=None,
    )


def _without_code(kernel: Kernel) -> Kernel:
    return replace(
        kernel,
        variants=(),
        variant_reasons=(),
        proven_for=(),
        entries=(),
        layouts=(),
        selector=None,
    )


@cache
def _ptx(text: str, headers: tuple[tuple[str, str], ...], early: tuple[str, ...]) -> str | None:
    """The PTX of a source that nobody has written to a file.

    No option names its folder: nvcc is asked once how it would compile all such sources.
    """
    with temporary_folder() as name:
        for place, written in (("source.cu", text), *headers):
            (Path(name) / place).write_text(written, encoding="latin-1")
        return _compiled(str(Path(name) / "source.cu"), [str(Path(name) / one) for one in early])


def _compiled(path: str, early: Iterable[str], folders: Iterable[str] = ()) -> str | None:
    """The PTX of a file; None where it does not compile."""
    flags = [f"-I{folder}" for folder in folders]
    flags += [word for one in early for word in ("-include", one)]
    said = ""
    for headers, more in _LATER if _LIBRARY.search(read_source(path).text) else _WAYS:
        if more and _TO_LINK not in said:
            continue
        try:
            with headers():
                return compiled(find_nvcc(), path, [*flags, *more]).ptx
        except CutuneError as error:
            if error.diagnostic.code is not Code.NVCC_FAILED:
                raise
            said = str(error)
    return None
