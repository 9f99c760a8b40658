"""How far stored models choose from the best blocks of sweeps that were recorded on an H200.

Neither a compiler nor a GPU is asked. A change of the performance model that lowers a figure lowers
its bound; of one that raises it, `python -m benchmarks.regret` tells what it costs elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cutune.check.evaluate import OWN, Evaluation, evaluate_sweep, model_of
from cutune.model.measurement.sweep import SweptLaunch, read_sweep
from cutune.model.selection.chooser import DEFAULT
from cutune.toolchain.device.profile import DeviceProfile
from tests.recorded.record_models import stored_models
from tests.support.swept_programs import JUDGES, SAMPLES, recorded_sweep

H200 = DeviceProfile.named("h200")
#: Of the samples, launches up to here mostly cost what launching costs.
SMALL = 512
LAUNCHES = 73
#: Geometric mean of the regret over all launches, 0.0170 today, and the worst, 0.2 (a launch of 5.4
#: us, triad at 1,000,000): rounded up.
MEAN, WORST = 0.017, 0.2


def swept() -> Iterator[SweptLaunch]:
    """All launches of the recorded sweeps over blocks that are large enough."""
    for folder in (*JUDGES, SAMPLES):
        path, is_of_samples = recorded_sweep(folder), folder == SAMPLES
        launches = read_sweep(path).launches if path.exists() else ()
        yield from (one for one in launches if not is_of_samples or (one.size or 0) > SMALL)


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    models = stored_models(tmp_path_factory.mktemp("models"))
    launches = [one for one in swept() if model_of(one, models) is not None]
    return evaluate_sweep(launches, models, H200)


def test_every_swept_launch_of_the_models_is_judged(evaluation: Evaluation) -> None:
    assert len(evaluation.cases) == evaluation.score(DEFAULT).answered == LAUNCHES


def test_chosen_blocks_are_no_further_from_the_best_than_they_were(evaluation: Evaluation) -> None:
    score = evaluation.score(DEFAULT)
    assert score.mean <= MEAN
    assert score.worst <= WORST


def test_no_chosen_block_is_slower_than_the_program_s_own(evaluation: Evaluation) -> None:
    score = evaluation.score(DEFAULT)
    assert score.no_loss == 1
    assert score.mean < evaluation.score(OWN).mean / 5
