"""A stand-in for Slurm: `sbatch`, `squeue` and `scancel` that run jobs on this machine, at once."""

from __future__ import annotations

from pathlib import Path

#: Keeps a folder per job, with its script, its process group, and what it printed.
SBATCH = """\
#!/bin/bash
jobs={jobs}
echo "$@" >> "$jobs/asked"
script="${{@: -1}}"
if grep -q -- '--partition=none' "$script"; then
    echo 'sbatch: error: invalid partition specified: none' >&2; exit 1
fi
case "$1" in --test-only) exit 0;; esac
id=17
until mkdir "$jobs/job.$id" 2> /dev/null; do id=$(( id + 1 )); done
cp "$script" "$jobs/job.$id/script"
setsid bash "$jobs/job.$id/script" < /dev/null > "$jobs/job.$id/output" 2>&1 &
echo $! > "$jobs/job.$id/pid"
echo "Submitted batch job $id"
"""
SQUEUE = """\
#!/bin/bash
for job in {jobs}/job.*; do
    grep -qs '^State:.[^Z]' "/proc/$(cat "$job/pid")/status" && echo "${{job##*.}}"
done
exit 0
"""
SCANCEL = """\
#!/bin/bash
for id in "$@"; do
    kill -KILL -- "-$(cat "{jobs}/job.$id/pid")" 2> /dev/null
done
exit 0
"""


def stand_in(folder: Path) -> Path:
    """Write the commands into a folder, which is to be on PATH; returns the folder of the jobs."""
    jobs = folder / "jobs"
    jobs.mkdir(parents=True)
    for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE), ("scancel", SCANCEL)):
        path = folder / name
        path.write_text(text.format(jobs=jobs))
        path.chmod(0o755)
    return jobs
