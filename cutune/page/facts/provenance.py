"""Where the numbers of a report come from: versions, device, commands, hashes. Gives `Fact`s."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256

from cutune import __version__
from cutune.core.diagnostics import CutuneError, shown
from cutune.core.workspace import COMMAND_SCHEMA, Json, Workspace, read_lines
from cutune.device.profile import DeviceProfile
from cutune.fit.fitted_model import FittedModel
from cutune.page.facts.report import Fact, Sweep
from cutune.toolchain.steps.toolchain import Toolchain

#: Commands that are shown, the last ones.
MOST_COMMANDS = 10


def provenance(
    toolchain: Toolchain,
    device: DeviceProfile,
    workspace: Workspace,
    models: Sequence[FittedModel],
    sweeps: Sequence[Sweep],
    made: datetime,
) -> tuple[Fact, ...]:
    """The lines in the order of the page."""
    return (
        Fact("made", made.strftime("%Y-%m-%d %H:%M %Z").strip()),
        Fact("cutune", f"{__version__}, Python {platform.python_version()}"),
        Fact("compiler", _compiler(toolchain)),
        *_device(device),
        Fact("workspace", str(workspace.folder)),
        *_commands(workspace),
        *(_model(model) for model in models),
        *(_sweep(sweep) for sweep in sweeps),
    )


def _compiler(toolchain: Toolchain) -> str:
    try:
        flags = " ".join(toolchain.flags)
        return f"nvcc {toolchain.nvcc.version} {flags}".strip()
    except CutuneError:
        return "none found: verdicts are by the text of the sources"


def _device(device: DeviceProfile) -> Iterator[Fact]:
    content = sha256(json.dumps(device.to_json(), sort_keys=True).encode()).hexdigest()[:16]
    calibrated = "calibrated on it" if device.is_calibrated else "from data sheets"
    rates = (
        f"{device.sm_count} SMs, {float(device.clock_ghz):g} GHz, {float(device.dram_gbs):g} GB/s"
    )
    yield Fact("device profile", f"{device.name}, {rates}, {calibrated}; {content}")


def _commands(workspace: Workspace) -> Iterator[Fact]:
    if not workspace.commands.exists():
        return
    lines = read_lines(workspace.commands, COMMAND_SCHEMA, _command, "cutune tune", lambda _: None)
    for command in [*dict.fromkeys(lines)][-MOST_COMMANDS:]:
        yield Fact("command", shown(command))


def _command(entry: Json) -> str:
    return str(entry["command"])


def _model(model: FittedModel) -> Fact:
    kernel = model.kernel
    sizes = ", ".join(" x ".join(map(str, values)) for values, _ in kernel.recorded[:4])
    runs = f"; launches that were seen: {sizes}" if kernel.parameters and sizes else ""
    text = f"code {kernel.code}, source {kernel.origin.content}{runs}"
    return Fact(f"model of {kernel.name}", text)


def _sweep(sweep: Sweep) -> Fact:
    text = f"{sweep.origin}: {sweep.launches} launches on {sweep.device}"
    return Fact("timings", "; ".join(filter(None, [text, sweep.driver, sweep.method])))
