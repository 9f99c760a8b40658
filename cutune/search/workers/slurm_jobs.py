"""Workers in jobs of Slurm. Takes a number of jobs and options of sbatch, gives `Workers`.

Each job has one GPU and one worker of dask, whose scheduler is in this process. A job that ends is
submitted again.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import dask
import dask_jobqueue
import distributed

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.temporary import temporary_folder
from cutune.search.workers.dask_workers import DaskWorkers

#: The resources of a job, unless an option or a setting of dask-jobqueue says otherwise.
ONE_GPU = "--gres=gpu:1"
MEMORY = "16GB"
#: Options of a GPU: `--gres=gpu:h200:1`, `--gpus=1`, `--gpus-per-node 1`, `-G 1`.
_OF_GPUS = re.compile(r"--gres\b.*gpu|--gpus|-G")
#: An option of sbatch → what dask-jobqueue would write for it.
_IN_ITS_PLACE = {"--time": "-t ", "-t": "-t ", "--mem": "--mem=", "--partition": "-p ", "-p": "-p "}
#: The period in which Slurm is asked for its jobs.
_ASK_SECONDS = 5.0
#: So long there may be neither a worker nor a job: a job that has ended is missed after a while.
_NONE_SECONDS = 60.0
_SQUEUE_SECONDS = 30.0


def slurm_workers(count: int, options: Sequence[str], is_on_gpu: bool, logs: Path) -> DaskWorkers:
    """Submit jobs; their workers are waited for as long as Slurm lets the jobs wait.

    What jobs print goes to `logs`. Raises CT845 where Slurm takes no such job.
    """
    if shutil.which("sbatch") is None:
        raise CutuneError.at(Code.NO_SLURM, reason="there is no sbatch")
    settings = _settings(options, is_on_gpu)
    settings |= {"log_directory": str(logs), "scheduler_options": {"dashboard": False}}
    cluster = dask_jobqueue.SLURMCluster(cores=1, processes=1, **settings)
    try:
        _check(cluster.job_script())
        cluster.scale(count)
        client = distributed.Client(cluster, set_as_default=False)
    except BaseException:
        cluster.close()
        raise
    return DaskWorkers(client, count, cluster, inf, _Jobs(cluster, count, logs).look)


def _settings(options: Sequence[str], is_on_gpu: bool) -> dict[str, Any]:
    own = dask.config.get("jobqueue.slurm", {})
    directives = [*(own.get("job-extra-directives") or []), *options]
    if is_on_gpu and not any(map(_OF_GPUS.match, directives)):
        directives.append(ONE_GPU)
    given = {re.split("[= ]", one)[0] for one in options}
    skipped = [*(own.get("job-directives-skip") or [])]
    skipped += [line for option, line in _IN_ITS_PLACE.items() if option in given]
    settings = {"job_extra_directives": directives, "job_directives_skip": skipped}
    return {"memory": own.get("memory") or MEMORY, **settings}


def _check(script: str) -> None:
    """Raise CT845 for a job that Slurm would not take."""
    with temporary_folder() as folder:
        path = Path(folder) / "job.sh"
        path.write_text(script)
        command = ["sbatch", "--test-only", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        reason = said[0] if said else f"sbatch ends with status {done.returncode}"
        raise CutuneError.at(Code.NO_SLURM, reason=reason)


@dataclass
class _Jobs:
    """The jobs of a cluster; since `none_since` there has been neither a worker nor a job."""

    cluster: Any
    count: int
    logs: Path
    none_since: float = inf
    looked_at: float = 0.0

    def look(self) -> None:
        """Submit jobs again that have ended. Raises CT839 where none stays."""
        now = time.monotonic()
        if now - self.looked_at < _ASK_SECONDS:
            return
        self.looked_at = now
        self.cluster.scale(self.count)
        ids = [job.job_id for job in self.cluster.workers.values()]
        submitted = [str(one) for one in ids if one is not None]
        if self.cluster.scheduler_info["workers"] or _are_there(submitted):
            self.none_since = inf
            return
        self.none_since = min(self.none_since, now)
        if now - self.none_since > _NONE_SECONDS:
            reason = f"in a job that ended at once; what it said is in {self.logs}"
            raise CutuneError.at(Code.NO_WORKER_LEFT, reason=reason)


def _are_there(jobs: Sequence[str]) -> bool:
    """Does Slurm have one of them? Also true where it does not answer."""
    if not jobs:
        return False
    command = ["squeue", "--noheader", "--format=%i"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SQUEUE_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return True
    return done.returncode != 0 or not {*jobs}.isdisjoint(done.stdout.split())
