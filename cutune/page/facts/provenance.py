"""Where the numbers of a report come from: versions, device, commands, hashes. Gives lines."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256

from cutune import __version__
from cutune.analysis.session import Session
from cutune.core.diagnostics import CutuneError, shown
from cutune.core.workspace import COMMAND_SCHEMA, Json, Workspace, read_lines
from cutune.device.profile import DeviceProfile
from cutune.fit.fitted_model import FittedModel
from cutune.page.facts.report import ProvenanceLine, TimingSource

#: Commands that are shown, the last ones.
MOST_COMMANDS = 10


def provenance(
    session: Session,
    device: DeviceProfile,
    workspace: Workspace,
    models: Sequence[FittedModel],
    sweeps: Sequence[TimingSource],
    made: datetime,
) -> tuple[ProvenanceLine, ...]:
    """The lines in the order of the page."""
    return (
        ProvenanceLine("made", made.strftime("%Y-%m-%d %H:%M %Z").strip()),
        ProvenanceLine("cutune", f"{__version__}, Python {platform.python_version()}"),
        ProvenanceLine("compiler", _compiler(session)),
        *_device(device),
        ProvenanceLine("workspace", str(workspace.folder)),
        *_commands(workspace),
        *(_model(model) for model in models),
        *(_sweep(sweep) for sweep in sweeps),
    )


def _compiler(session: Session) -> str:
    try:
        flags = " ".join(session.flags)
        return f"nvcc {session.nvcc.version} {flags}".strip()
    except CutuneError:
        return "none found: verdicts are by the text of the sources"


def _device(device: DeviceProfile) -> Iterator[ProvenanceLine]:
    content = sha256(json.dumps(device.to_json(), sort_keys=True).encode()).hexdigest()[:16]
    calibrated = "calibrated on it" if device.is_calibrated else "from data sheets"
    rates = (
        f"{device.sm_count} SMs, {float(device.clock_ghz):g} GHz, {float(device.dram_gbs):g} GB/s"
    )
    yield ProvenanceLine("device profile", f"{device.name}, {rates}, {calibrated}; {content}")


def _commands(workspace: Workspace) -> Iterator[ProvenanceLine]:
    if not workspace.commands.exists():
        return
    lines = read_lines(workspace.commands, COMMAND_SCHEMA, _command, "cutune tune", lambda _: None)
    for command in [*dict.fromkeys(lines)][-MOST_COMMANDS:]:
        yield ProvenanceLine("command", shown(command))


def _command(entry: Json) -> str:
    return str(entry["command"])


def _model(model: FittedModel) -> ProvenanceLine:
    kernel = model.kernel
    sizes = ", ".join(" x ".join(map(str, values)) for values, _ in kernel.recorded[:4])
    runs = f"; launches that were seen: {sizes}" if kernel.parameters and sizes else ""
    text = f"code {kernel.code}, source {kernel.origin.content}{runs}"
    return ProvenanceLine(f"model of {kernel.name}", text)


def _sweep(sweep: TimingSource) -> ProvenanceLine:
    text = f"{sweep.origin}: {sweep.launches} launches on {sweep.device}"
    return ProvenanceLine("timings", "; ".join(filter(None, [text, sweep.driver, sweep.method])))
