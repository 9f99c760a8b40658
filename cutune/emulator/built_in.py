"""Libraries of the emulated device that came with the package, so that nothing is compiled for it.

`build_device.py` makes them for a wheel; a source install has none. Takes the name of a library,
gives the library if it is there, of these sources, and for this processor.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from functools import cache
from pathlib import Path

NATIVE = Path(__file__).parent / "native"
FOLDER = Path(__file__).parent / "built"
ABOUT = "about.json"
#: x86-64-v3, which processors have since 2013 to 2015: as /proc/cpuinfo names what is used of it.
NEEDED = {"x86_64": ("avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")}


def built_in_library(name: str, toolkit: str | None = None) -> Path | None:
    """`lib<name>.so` of the package; `toolkit` is the version of CUDA that it must be made for."""
    about = _about()
    if about is None or (toolkit is not None and about["toolkit"] != minor_version(toolkit)):
        return None
    library = FOLDER / f"lib{name}.so"
    return library if library.exists() else None


def minor_version(version: str) -> str:
    """`13.0` of `13.0.88`: within it CUDA's headers declare the same."""
    return ".".join(version.split(".")[:2])


def digest_of_sources() -> str:
    """Hash the sources of the emulated device."""
    digest = hashlib.sha256()
    for path in sorted(NATIVE.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def _about() -> dict[str, str] | None:
    """The notes made with the libraries, if these may be used here."""
    path = FOLDER / ABOUT
    if not path.exists():
        return None
    about: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    here = about["processor"] == platform.machine() and _has({*NEEDED.get(about["processor"], ())})
    return about if here and about["sources"] == digest_of_sources() else None


def _has(features: set[str]) -> bool:
    if not features:
        return True
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    found = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return found is not None and features <= {*found[1].split()}
