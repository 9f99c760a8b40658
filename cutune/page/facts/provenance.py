"""The origin of a report's numbers: versions, device, commands, hashes. Gives names and values."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from typing import TypeVar

from cutune import __version__
from cutune.core.diagnostics import CutuneError, shown
from cutune.core.workspace import COMMAND_SCHEMA, Json, Workspace, read_lines
from cutune.device.profile import DeviceProfile
from cutune.fit.fitted_model import FittedModel
from cutune.toolchain.steps.toolchain import Toolchain

T = TypeVar("T")
#: Commands that are shown, the last ones.
MOST_COMMANDS = 10


def provenance(
    toolchain: Toolchain,
    device: DeviceProfile,
    workspace: Workspace,
    models: Sequence[FittedModel],
    timings: Sequence[str],
    made: datetime,
) -> Iterator[tuple[str, str]]:
    """The lines in the order of the page; `timings` says where times come from."""
    yield "made", made.strftime("%Y-%m-%d %H:%M %Z").strip()
    yield "cutune", f"{__version__}, Python {platform.python_version()}"
    yield "compiler", _compiler(toolchain)
    yield "device profile", _device(device)
    yield "workspace", str(workspace.folder)
    commands = noted_commands(workspace, lambda entry: str(entry["command"]))
    for command in [*dict.fromkeys(commands)][-MOST_COMMANDS:]:
        yield "command", shown(command)
    yield from ((f"model of {model.kernel.name}", _model(model)) for model in models)
    yield from (("timings", timed) for timed in timings)


def _compiler(toolchain: Toolchain) -> str:
    try:
        flags = " ".join(toolchain.flags)
        return f"nvcc {toolchain.nvcc.version} {flags}".strip()
    except CutuneError:
        return "none found: verdicts are by the text of the sources"


def _device(device: DeviceProfile) -> str:
    content = sha256(json.dumps(device.to_json(), sort_keys=True).encode()).hexdigest()[:16]
    calibrated = "calibrated on it" if device.is_calibrated else "from data sheets"
    rates = (
        f"{device.sm_count} SMs, {float(device.clock_ghz):g} GHz, {float(device.dram_gbs):g} GB/s"
    )
    return f"{device.name}, {rates}, {calibrated}; {content}"


def noted_commands(workspace: Workspace, convert: Callable[[Json], T]) -> list[T]:
    """The commands that made a workspace, as `convert` reads them; none where none was noted."""
    path = workspace.commands
    if not path.exists():
        return []
    return list(read_lines(path, COMMAND_SCHEMA, convert, "cutune tune", lambda _: None))


def _model(model: FittedModel) -> str:
    kernel = model.kernel
    sizes = ", ".join(" x ".join(map(str, values)) for values, _ in kernel.recorded[:4])
    runs = f"; launches that were seen: {sizes}" if kernel.parameters and sizes else ""
    return f"code {kernel.code}, source {kernel.origin.content}{runs}"
