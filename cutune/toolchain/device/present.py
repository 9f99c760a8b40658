"""Default devices. Takes the driver's files, gives profiles of this machine's GPUs, if known.

These GPUs are modelled unless others are named. No program is started to find them: a compiler
wrapper asks for every source.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutune.toolchain.device.profile import DeviceProfile

#: Names the GPUs in place of those of this machine, as `--device` does.
VARIABLE = "CUTUNE_DEVICE"
#: Where there is no GPU: the profile that is calibrated.
FALLBACK = "h200"
#: A folder for each GPU (README of the Linux driver, "The /proc File System Interface").
GPUS = Path("/proc/driver/nvidia/gpus")
#: Stands for all shipped profiles.
ALL = "all"
_MODEL = re.compile(r"^Model:\s*(\S.*?)\s*$", re.MULTILINE)


def default_device() -> str:
    """`$CUTUNE_DEVICE`, else the profiles of this machine's GPUs, else an H200's."""
    return os.environ.get(VARIABLE) or ",".join(present_profiles()) or FALLBACK


def named_devices(names: Iterable[str]) -> list[DeviceProfile]:
    """Profiles by name or path, each once; `all`: this machine's first. Raises as `named`."""
    from cutune.toolchain.device.profile import DeviceProfile, profile_names  # noqa: PLC0415

    wanted: dict[str, None] = {}
    for name in names:
        every = name.lower() == ALL
        mine = [*(present_profiles() or [FALLBACK]), *profile_names()] if every else [name]
        wanted.update(dict.fromkeys(mine))
    return [DeviceProfile.named(name) for name in wanted]


def present_profiles() -> list[str]:
    """The shipped profiles of the GPUs in this machine, each once."""
    present = dict.fromkeys(_present())
    return [name for gpu in present for name in [profile_of(gpu)] if name]


def profile_of(gpu: str) -> str | None:
    """The shipped profile of a GPU, by the name that the driver gives it."""
    # Asked where there is a GPU only: a wrapper of a compiler starts quickly elsewhere.
    from cutune.toolchain.device.profile import DeviceProfile, profile_names  # noqa: PLC0415

    return next((name for name in profile_names() if DeviceProfile.named(name).name == gpu), None)


def _present() -> Iterator[str]:
    for path in sorted(GPUS.glob("*/information")):
        with suppress(OSError):
            if model := _MODEL.search(path.read_text(encoding="utf-8", errors="replace")):
                yield model[1]
