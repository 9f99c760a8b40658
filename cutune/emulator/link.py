"""The replacement of libcudart and libcuda, built for an nvcc, and the flags to link against it.

One library has both interfaces, since a program may use both, and those of cuBLAS, cuFFT, cuRAND,
cuSOLVER and cuSPARSE. Takes an `Nvcc`; gives the library, the options for our own builds
(`own_build_flags`) and those for anybody's build system (`append_flags`, an `NVCC_APPEND_FLAGS`
that needs no Makefile edit). The library is compiled with the headers of that nvcc, so that
structures look as programs expect. Programs with a static runtime are redirected to it by another
library, which the dynamic linker loads beside them.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import cutune
from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.progress import Progress, silent
from cutune.emulator import build
from cutune.toolchain.cache import cache_folder, kept_file
from cutune.toolchain.nvcc import COMPATIBILITY_FLAGS, Nvcc, host_compiler

#: The soname: never to be confused with NVIDIA's library.
LIBRARY = "cutune_cudart"
#: Redirects NVIDIA's static runtime, and NVRTC, to the emulated device (native/redirect.cpp).
REDIRECTION = "cutune_redirect"
#: It writes instructions of this processor.
PROCESSOR = "x86_64"
#: It lies beside every program that the user's starts, and brings no C++ library into them.
_LEAN, _STAYING = ("-fno-exceptions", "-fno-rtti"), ("-Wl,--as-needed,-z,nodelete",)
#: The name by which programs ask for NVIDIA's driver.
DRIVER = "libcuda.so.1"
#: What the device executes, whatever GPU is modelled (docs/system.md). Line numbers let an error in
#: a kernel name its source; they do not change the code.
TARGET_FLAGS = ("-gencode", "arch=compute_80,code=compute_80", "-lineinfo")
#: Plain PTX needs no libzstd where the program runs.
_PLAIN_FLAGS = ("-no-compress", "-cudart", "shared", *TARGET_FLAGS)

_DECLARED = re.compile(r"\bextern\b[^;{}]*?\b(cuda[A-Z]\w*)\s*\(")
_DRIVER_DECLARED = re.compile(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(")
#: The type of a function, with the version of CUDA since which it is so.
_DRIVER_TYPE = re.compile(r"\bPFN_(cu[A-Z]\w*?)_v(\d{4,5})\b")
#: Else macros give the name of a function to its newest version.
_ALL_VERSIONS = "#define __CUDA_API_VERSION_INTERNAL\n"
_VERSIONED = re.compile(r"^(cu[A-Z]\w*?)(?:_v(\d+))?$")
_PER_THREAD = re.compile(r"^(\w+)_pt[ds][sz]$")
#: All functions of cuBLAS and its like, with those of their first interfaces.
_LIBRARY_NAMES = build.NATIVE / "library_names.txt"
#: Entry points of nvcc's start-up code, in no public header.
_HIDDEN_PER_THREAD = ("__cudaLaunchKernel_ptsz",)
#: Libraries in caches. Their sources and compilers are read once: they are those of now.
_BUILT: dict[tuple[Nvcc, Path], Path] = {}


def runtime_library(nvcc: Nvcc, progress: Progress = silent) -> Path:
    """The library that stands in for libcudart, built unless it is kept. Raises CT007, CT450."""
    if (library := build.built_in_library(LIBRARY, nvcc.version)) is not None:
        return library
    key = nvcc, cache_folder()
    if key not in _BUILT:
        machine = build.machine_library(progress).parent
        root = str(Path(cutune.__file__).resolve().parent.parent)
        _BUILT[key] = build_runtime_library(
            nvcc, machine, str(machine), sys.executable, root, progress=progress
        )
    return _BUILT[key]


def build_runtime_library(
    nvcc: Nvcc,
    machine: Path,
    searched: str,
    python: str,
    root: str,
    processor: Sequence[str] = build.MACHINE_FLAGS,
    progress: Progress = silent,
) -> Path:
    """Build the replacement libcudart, which looks for the machine in the folder `searched`.

    `python` and `root` assemble PTX: the interpreter, and the folder of the package. Where they are
    empty, the library looks in the folder that it lies in.
    """
    names, driver_names = _declared_names(nvcc), _driver_names(nvcc)
    generated = (
        _missing_functions(names, driver_names),
        _driver_versions(nvcc, driver_names),
        _texts(),
        _python_of_the_library(python, root),
    )
    kinds = ("runtime", "driver", "library")
    paths = [path for kind in kinds for path in sorted(build.NATIVE.glob(f"{kind}*.cpp"))]
    sources = build.joined_units(paths)
    every = (*names, *driver_names)
    flags = [*(f"-I{path}" for path in nvcc.include_directories), "-Wno-deprecated-declarations"]
    linking = [
        "-Wl,-Bsymbolic,--no-undefined",
        f"-Wl,-soname,lib{LIBRARY}.so",
        f"-Wl,--version-script={_version_script(nvcc)}",
        # Per-thread default streams need no code of their own: every stream is synchronous.
        *(f"-Wl,--defsym={n}={found[1]}" for n in every if (found := _PER_THREAD.match(n))),
        *(f"-L{machine}", f"-l{build.MACHINE}", "-ldl", f"-Wl,-rpath,{searched}"),
    ]
    units = (*sources, *generated)
    return build.build_library(LIBRARY, units, flags, linking, processor, progress)


def own_build_flags(nvcc: Nvcc) -> tuple[str, ...]:
    """Options with which nvcc makes a program that runs on the emulated device and nowhere else."""
    folder = str(runtime_library(nvcc).parent)
    # Not `-cudart none`, with which nvcc leaves out the device link of -rdc=true: NVIDIA's library
    # stands behind ours, and the linker drops what nothing is needed from.
    linker = ("-Xlinker", "--as-needed", "-Xlinker", f"-rpath={folder}")
    # The library holds what the probe does, so that it need not be compiled with every program.
    probe = "-DCUTUNE_PROBE_LINKED"
    return ("-cudart", "shared", *TARGET_FLAGS, probe, f"-L{folder}", f"-l{LIBRARY}", *linker)


def first_build_flags(nvcc: Nvcc) -> tuple[str, ...]:
    """Options before all others: cuBLAS and its like are ours, wherever it looks for them."""
    return (f"-L{alias_folder(nvcc)}",)


def append_flags(nvcc: Nvcc, is_linked: bool = True) -> str:
    """The value of NVCC_APPEND_FLAGS for builds that know nothing of cutune.

    The program then asks for `libcudart.so.N`: run it with `alias_folder` in LD_LIBRARY_PATH.
    `is_linked`: does what is called link?
    """
    flags = (*_PLAIN_FLAGS, *COMPATIBILITY_FLAGS)
    # nvcc splits the variable at spaces, so that only a path without any can be given.
    return " ".join([*flags, *(nvcc.extra_flags if is_linked else ())])


def alias_folder(nvcc: Nvcc) -> Path:
    """A folder that holds the library under NVIDIA's names, for LD_LIBRARY_PATH."""
    library = runtime_library(nvcc)
    # Not beside the library: one that came with the package may lie where nobody may write.
    folder = cache_folder() / "alias" / hashlib.sha256(str(library).encode()).hexdigest()[:24]
    folder.mkdir(parents=True, exist_ok=True)
    beside = library.parent / f"lib{build.MACHINE}.so"
    own = (_versioned_name(nvcc), DRIVER, *closed_libraries(nvcc))
    names = [*((name, library) for name in own), (beside.name, beside)]
    for alias, target in names:
        if target.exists() and not (folder / alias).exists():
            with tempfile.TemporaryDirectory(dir=folder) as temporary:
                link = Path(temporary) / alias
                link.symlink_to(target)
                os.replace(link, folder / alias)
    return folder


def searched_libraries(nvcc: Nvcc, progress: Progress = silent) -> dict[str, str]:
    """The variable by which what others have built finds the library."""
    library = runtime_library(nvcc, progress)
    return searched_folders([alias_folder(nvcc), library.parent])


def searched_folders(folders: Iterable[Path]) -> dict[str, str]:
    """The variable by which libraries are looked for in these folders first."""
    before = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": ":".join([*map(str, folders), *filter(None, [before])])}


def redirecting_environment(nvcc: Nvcc, progress: Progress = silent) -> dict[str, str]:
    """Variables by which static runtimes of NVIDIA's are redirected. Raises CT007, CT450."""
    if platform.machine() != PROCESSOR:
        return {}
    library = build.built_in_library(REDIRECTION, nvcc.version)
    if library is None:
        library = build_redirect_library(nvcc, progress=progress)
    audited = [str(library), *filter(None, [os.environ.get("LD_AUDIT")])]
    runtime = runtime_library(nvcc, progress)
    libraries = str(alias_folder(nvcc))
    return {
        "LD_AUDIT": ":".join(audited),
        "CUTUNE_CUDART": str(runtime),
        "CUTUNE_LIBRARIES": libraries,
    }


def build_redirect_library(
    nvcc: Nvcc, processor: Sequence[str] = build.MACHINE_FLAGS, progress: Progress = silent
) -> Path:
    """Build it for runtimes of this nvcc's CUDA."""
    major = nvcc.version.split(".")[0]
    found, offered = "the runtime of CUDA %d", f"that of CUDA {major}"
    said = Diagnostic.at(Code.OTHER_CUDART, path="%s", found=found, offered=offered)
    texts = {"other_runtime_text": said.render().removeprefix("cutune: ")}
    sources = (build.NATIVE / "redirect.cpp", constants("redirect_texts.cpp", texts))
    flags = (*_LEAN, f"-DCUTUNE_CUDA={major}")
    return build.build_library(REDIRECTION, sources, flags, _STAYING, processor, progress)


def _versioned_name(nvcc: Nvcc) -> str:
    """The soname of NVIDIA's library of this toolkit, which also is its symbols' version."""
    major = nvcc.version.split(".")[0]
    return f"libcudart.so.{'11.0' if major == '11' else major}"


def closed_libraries(nvcc: Nvcc) -> tuple[str, ...]:
    """The names of NVIDIA's libraries of machine code that it stands in for, too."""
    versioned = tuple(_closed(nvcc))
    return (*versioned, *(name.rpartition(".so.")[0] + ".so" for name in versioned))


def _closed(nvcc: Nvcc) -> dict[str, str]:
    """By the soname of each, which also is its symbols' version, how their names begin."""
    major = nvcc.version.split(".")[0]
    return {
        f"libcublas.so.{major}": "cublas[A-KM-Z]*; cublasLog*",
        f"libcublasLt.so.{major}": "cublasLt*",
        "libcurand.so.10": "curand*",  # since CUDA 10
        f"libcufft.so.{int(major) - 1}": "cufft*",  # since CUDA 11
        f"libcusolver.so.{12 if int(major) > 12 else 11}": "cusolver*",
        f"libcusparse.so.{min(int(major), 12)}": "cusparse*",
    }


def _declared_names(nvcc: Nvcc) -> tuple[str, ...]:
    text = "#include <cuda_runtime_api.h>\n#include <cuda_profiler_api.h>\n"
    plain = _preprocessed(nvcc, text)
    per_thread = _preprocessed(nvcc, "#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1\n" + text)
    names = {*_DECLARED.findall(plain), *_DECLARED.findall(per_thread), *_HIDDEN_PER_THREAD}
    return tuple(sorted(names))


def _preprocessed(nvcc: Nvcc, text: str) -> str:
    includes = [f"-I{path}" for path in nvcc.include_directories]
    command = [host_compiler(), "-x", "c++", "-E", "-P", *includes, "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = [*done.stderr.strip().splitlines(), "no output"][0]
        raise build.build_failed(LIBRARY, shlex.join(command), reason)
    return done.stdout


def _driver_names(nvcc: Nvcc) -> tuple[str, ...]:
    """Every version of every function that the driver's headers declare, by its symbol."""
    text = "#include <cuda.h>\n"
    every = _preprocessed(nvcc, _ALL_VERSIONS + text)
    per_thread = _preprocessed(nvcc, "#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1\n" + text)
    names = {*_DRIVER_DECLARED.findall(every), *_DRIVER_DECLARED.findall(per_thread)}
    return tuple(sorted(names))


def _driver_versions(nvcc: Nvcc, names: Sequence[str]) -> Path:
    """The table by which functions are found by name: symbols, and since which CUDA they are meant.

    The n-th oldest type of a function in NVIDIA's header is that of its n-th oldest symbol.
    """
    types: dict[str, list[int]] = {}
    text = _preprocessed(nvcc, _ALL_VERSIONS + "#include <cudaTypedefs.h>\n")
    for name, since in set(_DRIVER_TYPE.findall(text)):
        types.setdefault(name, []).append(int(since))
    symbols: dict[str, list[tuple[int, str]]] = {}
    for symbol in names:
        if not _PER_THREAD.match(symbol) and (found := _VERSIONED.match(symbol)):
            symbols.setdefault(found[1], []).append((int(found[2] or 1), symbol))
    rows = []
    for name, known in symbols.items():
        versions, in_order = sorted(types.get(name, ())), [each for _, each in sorted(known)]
        if len(versions) != len(in_order):  # the newest, for all
            versions, in_order = [0], in_order[-1:]
        rows += [(name, *row) for row in zip(versions, in_order, strict=True)]
    lines = [f'    {{"{name}", {since}, "{symbol}"}},' for name, since, symbol in rows]
    source = [
        "namespace cutune {",
        "struct DriverVersion { const char* name; int since; const char* symbol; };",
        "extern const DriverVersion driver_versions[];",
        "const DriverVersion driver_versions[] = {",
        *lines,
        "    {nullptr, 0, nullptr}};",
        "}",
        "",
    ]
    return kept_file("driver_versions.cpp", "\n".join(source))


def _missing_functions(names: Iterable[str], driver_names: Iterable[str]) -> Path:
    """Weak definitions of all functions: those that the library lacks say so when called."""
    lines = []
    of_libraries = _LIBRARY_NAMES.read_text(encoding="utf-8").split()
    for saying, missing in (
        ("cutune_unsupported_call", names),
        ("cutune_unsupported_driver_call", driver_names),
        ("cutune_unsupported_blas_call", [n for n in of_libraries if n.startswith("cublas")]),
        ("cutune_unsupported_rand_call", [n for n in of_libraries if n.startswith("curand")]),
        ("cutune_unsupported_fft_call", [n for n in of_libraries if n.startswith("cufft")]),
        ("cutune_unsupported_solver_call", [n for n in of_libraries if n.startswith("cusolver")]),
        ("cutune_unsupported_sparse_call", [n for n in of_libraries if n.startswith("cusparse")]),
    ):
        lines.append(f'extern "C" int {saying}(const char*);')
        for name in missing:
            if not _PER_THREAD.match(name):
                body = f'return {saying}("{name}");'
                lines.append(f'extern "C" __attribute__((weak)) int {name}() {{ {body} }}')
    return kept_file("runtime_missing.cpp", "\n".join([*lines, ""]))


def _texts() -> Path:
    """Messages of the library, with %s for a name."""
    flags = " ".join(_PLAIN_FLAGS)
    texts = {
        "not_emulated_text": Diagnostic.at(Code.NOT_EMULATED, function="%s"),
        "static_runtime_text": Diagnostic.at(Code.STATIC_CUDART, path="%s", flags=flags),
    }
    said = {name: text.render().removeprefix("cutune: ") for name, text in texts.items()}
    return constants("runtime_texts.cpp", said)


def _python_of_the_library(python: str, root: str) -> Path:
    """Define the interpreter and the package root, which alone differ between environments."""
    return constants("runtime_python.cpp", {"default_python": python, "package_root": root})


def constants(file: str, texts: dict[str, str]) -> Path:
    """A source that defines these texts for the C++ of the device."""
    lines = ["namespace cutune {"]
    for name, text in texts.items():
        literal = json.dumps(text, ensure_ascii=False)
        lines.append(f"extern const char {name}[];\nconst char {name}[] = {literal};")
    return kept_file(file, "\n".join([*lines, "}", ""]))


def _version_script(nvcc: Nvcc) -> Path:
    """NVIDIA's symbols carry a version; a program linked to them warns when ours have none."""
    exported = "global: cuda*; __cuda*; cutune_*; local: *;"
    driver = f"{DRIVER} {{ global: cu[A-Z]*; }};"
    closed = _closed(nvcc).items()
    libraries = "".join(f"{name} {{ global: {its}; }};\n" for name, its in closed)
    text = f"{_versioned_name(nvcc)} {{ {exported} }};\n{driver}\n{libraries}"
    return kept_file("runtime.version", text)
