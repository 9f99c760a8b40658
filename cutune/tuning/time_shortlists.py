"""Times the first configurations of the models on a GPU. Takes models, gives those that know more.

The program is built once more, for the GPU, with the variants that are timed and no others, and
runs as it did on the emulated device: of each launch site the first launch is made with each
configuration, on equal memory, and the results are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.workspace import Workspace
from cutune.measure.gpu_sweep import GpuBuild, gpu_name, require_gpu, sweep_on_gpu
from cutune.measure.program_runs import RunPlan
from cutune.model.fit.fitted_model import FittedModel, read_models, write_models
from cutune.model.performance import constants
from cutune.model.selection.shortlist import shortlist, with_times
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.variants.registry import with_only
from cutune.source.program import Program
from cutune.toolchain.device.present import profile_of
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import configuration_text

#: Why no times correct a model.
_SHARED_NAME = "kernels or instances share its name, and their times are not told apart"
_TOO_SHORT = (
    "its launches take less than {:.3g} us at these sizes, where launching hides what "
    "configurations cost; time larger ones (--vary, which with --launches-only may be large)"
)


def require_gpu_like(device: DeviceProfile) -> None:
    """Check that there is a GPU, and that it is the modelled one. Raises CT015."""
    require_gpu()
    name, _ = gpu_name()
    if name != device.name and profile_of(name) is not None:
        reason = f"this is an {name}, and what is timed is to correct a model of an {device.name}"
        raise CutuneError.at(Code.NO_GPU, reason=f"{reason}; leave out --device")


def time_shortlists(
    analyzer: Analyzer,
    programs: Sequence[Program],
    plan: RunPlan,
    device: DeviceProfile,
    workspace: Workspace,
    models: Sequence[FittedModel],
    count: int,
) -> list[FittedModel]:
    """The models, with what the first `count` configurations of each take; saved as well.

    `programs`: the sources of one program. Raises as `sweep_on_gpu`.
    """
    paths = {str(Path(program.source.path).resolve()) for program in programs}
    own = [model for model in models if model.kernel.origin.path in paths]
    alike = Counter(model.kernel.name for model in own)
    told = [m for m in own if alike[m.kernel.name] == 1 and not m.kernel.signatures]
    for name in sorted({*alike} - {model.kernel.name for model in told}):
        _warn(analyzer, Code.SHORTLIST_UNTIMED, name, reason=_SHARED_NAME)
    every = {model.kernel.name: shortlist(model, device, count) for model in told}
    listed = {name: found for name, found in every.items() if found}
    if not listed:
        return [*models]
    variants = {name: {one.variant for one in found} for name, found in listed.items()}
    built = [with_only(analyzer.with_checked_variants(one), variants) for one in programs]
    swept = [*sweep_on_gpu(GpuBuild.of(analyzer, built, plan, device, workspace, listed))]
    timed: dict[object, FittedModel] = {}
    for model in told:
        name = model.kernel.name
        found = with_times(model, device, [one for one in swept if one.kernel == name])
        timed[model.kernel.place] = found.model
        if found.failed:
            what = ", ".join(configuration_text(*one) for one in found.failed)
            _warn(analyzer, Code.SHORTLIST_FAILED, name, what=what)
        elif name in listed and not found.is_informed:
            least = constants.MINIMUM_TIME * float(device.model.floor_us)
            _warn(analyzer, Code.SHORTLIST_UNTIMED, name, reason=_TOO_SHORT.format(least))
    with workspace.replacing_models():
        saved = read_models(workspace.models)
        write_models(workspace.models, [timed.get(one.kernel.place, one) for one in saved])
    return [timed.get(model.kernel.place, model) for model in models]


def _warn(analyzer: Analyzer, code: Code, kernel: str, **about: Any) -> None:
    analyzer.reporter.warn(Diagnostic.at(code, kernel=kernel, **about))
