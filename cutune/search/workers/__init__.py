"""Workers that run trials, on one GPU each: of this machine, of dask, or of Slurm."""
