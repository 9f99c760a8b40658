"""What a source offers to be called: a function of the host, or a bare kernel. Gives libraries.

The text says names alone: of the function, and of its parameters. Their types are the compiler's:
a few lines behind the source describe them in the library, and call the function with arguments of
these types. A bare kernel is launched there, by expressions of its parameters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cutune.check.call_plan import Argument, NumberType
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.reading import read_source
from cutune.emulator.program_builds import build
from cutune.source.syntax.parse import SourceFunction, Syntax, parse
from cutune.source.unit.kernels import parameter_of
from cutune.source.unit.unit import split_commas
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY
from cutune.toolchain.toolchain import Toolchain


@dataclass(frozen=True)
class LaunchForm:
    """The launch of a bare kernel as C++ of its parameters, and of `block`: a `dim3`."""

    grid: str
    shared: str


@dataclass(frozen=True)
class Called:
    """A function of a source; `parameters`: their text, `names`: one each."""

    path: str
    name: str
    names: tuple[str, ...]
    parameters: str
    is_kernel: bool


def callable_in(path: str, name: str = "") -> list[Called]:
    """The functions of the host that a source defines, else its kernels; those of a name."""
    syntax = parse(read_source(path))
    known = [one for one in syntax.functions if one.body and one.name != "main" and _is_free(one)]
    if name:
        known = [one for one in known if one.name == name]
    hosts = [one for one in known if not one.is_device_code]
    plain = [one for one in hosts if _is_c(syntax, one)] or hosts
    return [_called(path, syntax, one) for one in plain or [o for o in known if o.is_kernel]]


def _is_free(function: SourceFunction) -> bool:
    return "::" not in function.name and "static_assert" not in function.qualifiers


def _is_c(syntax: Syntax, function: SourceFunction) -> bool:
    """Is it `extern "C"`, by itself or in a block?"""
    before = [syntax.tokens[at - 1].text for at in syntax.around(function.first) if at]
    return '"C"' in before or any(
        token.text == '"C"' for token in syntax.part((function.first, function.parameters[0]))
    )


def _called(path: str, syntax: Syntax, function: SourceFunction) -> Called:
    opener, closer = function.parameters
    each = [one for one in split_commas(syntax.tokens[opener + 1 : closer]) if one]
    named = [parameter_of(one).name or f"argument{n}" for n, one in enumerate(each, 1)]
    text = syntax.text((opener + 1, closer - 1)) if each else ""
    return Called(path, function.name, tuple(named), text, function.is_kernel)


def chosen(candidate: Sequence[Called], reference: Sequence[Called]) -> tuple[Called, Called]:
    """The function of each source that is compared; by its name if there are several. CT297."""
    names = {one.name for one in candidate} & {one.name for one in reference}
    pairs = [(c, r) for c in candidate for r in reference if c.name == r.name in names]
    if len(candidate) == len(reference) == 1:
        pairs = [(candidate[0], reference[0])]
    if len(pairs) != 1:
        known = " ".join(sorted({one.name for one in candidate})) or "none"
        wanted = "name one by --function" if pairs else "it needs one of the reference's name"
        raise not_called(candidate[0].path, f"which of its functions ({known})? {wanted}")
    return pairs[0]


def not_called(path: str, reason: str) -> CutuneError:
    """Return the error of a source whose function cannot be called (CT297)."""
    return CutuneError.at(Code.NOT_CALLED, path=path, reason=reason)


_DESCRIBED = re.compile(rb"cutune-called:([cpv]*)\|([a-z?]*)\|([0-9]*)\x00")
_FORMS = """
static dim3 cutune_check_grid(dim3 block{parameters}) {{ return dim3({grid}); }}
static size_t cutune_check_shared(dim3 block{parameters}) {{ return {shared}; }}
#define CUTUNE_GRID cutune_check_grid
#define CUTUNE_SHARED cutune_check_shared
"""


def library_source(called: Called, form: LaunchForm | None) -> str:
    """The text that is compiled: the source, and what calls its function."""
    forms = ""
    if form is not None:
        parameters = f", {called.parameters}" if called.parameters else ""
        forms = _FORMS.format(parameters=parameters, grid=form.grid, shared=form.shared)
    source, header = Path(called.path).resolve(), INCLUDE_DIRECTORY / "cutune_check_call.h"
    included = [f"#include {json.dumps(str(path))}\n" for path in (source, header)]
    return f"{included[0]}{forms}#define CUTUNE_CALLED {called.name}\n{included[1]}"


def build_library(
    toolchain: Toolchain, called: Called, form: LaunchForm | None, folder: Path
) -> tuple[Path, tuple[Argument, ...]]:
    """Compile a source to a library of the emulated device, with the types of its arguments.

    Raises CT297, CT701.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source, library = folder / "called.cu", folder / "called.so"
    source.write_text(library_source(called, form), encoding="latin-1")
    flags = [*toolchain.compile_flags(called.path), "-shared", "-Xcompiler", "-fPIC"]
    build(toolchain, source, flags, library)
    found = _DESCRIBED.search(library.read_bytes())
    assert found is not None, "the library describes its function"
    kinds, codes, sizes = (part.decode() for part in found.groups())
    described = zip(called.names, kinds, codes, sizes, strict=True)
    arguments = tuple(
        Argument(name, kind, NumberType(code, ord(size) - ord("0")))
        for name, kind, code, size in described
    )
    if strange := next((one.name for one in arguments if one.type.code == "?"), None):
        raise not_called(called.path, f"'{strange}' is neither a number nor an array of numbers")
    return library, arguments


def check_same(candidate: Called, one: Sequence[Argument], other: Sequence[Argument]) -> None:
    """Raise CT297 unless both take the same: arrays of the same types, and numbers."""
    mine, its = ([str(argument) for argument in each] for each in (one, other))
    if mine != its:
        reason = f"it takes {', '.join(mine)}; the reference {', '.join(its)}"
        raise not_called(candidate.path, reason)
