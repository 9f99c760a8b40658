"""Every number of the models that is no property of one GPU, and where it comes from.

What a GPU's property is stands in its profile (`device.profile.ModelConstants`). The costs that the
emulated device counts with are in `emulator/native/machine_costs.h`. `docs/model.md` has the
formulas around these numbers and a table of all of them, which a test compares with this module.

Sources:

- *published*: a paper, or a manual of the vendor.
- *derived*: follows from what the model says; nobody looked at a time.
- *calibrated on* a record: read off times of micro-kernels made for it.
- *read off* a record: chosen by looking at sweeps of whole programs.

Records lie in `tests/recorded`; all are of one H200.
"""

from __future__ import annotations

from fractions import Fraction

# ---- how resources are joined

#: Powers of the p-norms that join resources that work side by side: those of a warp, and of an SM.
#: Read off polybench_h200.json: the samples are what the form of the model was developed on.
SIDE_BY_SIDE = 3
#: The same for throughput and waiting of an SM, where barriers keep the warps of a block together.
#: Read off judges/01_h200.json (tiled_matmul).
IN_PHASES = 2
#: Nearly the maximum: the dispatcher beside the SMs, the launch floor beside the launch.
#: Read off polybench_h200.json.
NEARLY_MAXIMUM = 8

#: Cycles or counts that keep a division finite where a quantity may be 0. Derived.
NEARLY_NONE = Fraction(1, 1000)

# ---- variants

#: Microseconds of the host's to ask which allocation a pointer leads to.
#: Calibrated on pointers_h100.txt: three attributes of one pointer, 110 to 160 ns.
ASKING_US = Fraction(15, 100)
#: A variant is chosen where its prediction is below this share of the kernel's own. Derived: below
#: it the model does not tell two kernels apart.
VARIANT_SHARE = Fraction(97, 100)
#: A candidate of a variant is emitted if somewhere it comes as near as this to the best of all.
#: Derived: what is further away is never chosen within the band.
NEAR_BEST = Fraction(11, 10)

# ---- warps of an SM

#: Coefficients of fill / (offset + slope * fill), a rational substitute for fill^0.79: what warps
#: of partly idle blocks cost, by the share of them that have work. No unit.
#: Read off polybench_h200.json.
FILL_OFFSET, FILL_SLOPE = Fraction(73, 100), Fraction(27, 100)
#: Thread blocks by which the SM that has most is ahead of the mean one, where they take more than
#: one wave. Derived: half of one.
LAST_BLOCK = Fraction(1, 2)

# ---- memory

#: Bytes of the L1 of an SM that can never be shared memory: 28 KiB, or 32 before Ampere.
#: Published: NVIDIA's tuning guides, "Unified Shared Memory/L1/Texture Cache".
L1_BESIDE_SHARED = 28 * 1024
#: Sectors per warp: more than any misses. Derived.
ENDLESS = 10**12
#: What doubling the planes (z) of a block costs, by what doubling its rows (y) costs.
#: Read off the 3-D stencils of judges/01_h200.json to judges/06_h200.json.
PLANES_DOUBLED = 5 / 3

# ---- stores that write a sector in parts

#: 128-byte lines to which a store of a warp may go so that all its parts of sectors meet on their
#: way to L2. Calibrated on stores_h200.txt: structures of 1 to 16 words, blocks of 32 to 1024.
MERGING_LINES = 5
#: Warps of a thread block, which start together, up to which they do. Calibrated on the same.
MERGING_WARPS = 4
#: Part of its cost that a store which does not meet has where no other warp is resident.
#: Read off judges/07_h200.json (ssm_scan, rigid_bodies).
ALONE_UNMERGED = Fraction(1, 2)

# ---- tables in constant memory through which all threads of a warp walk together

#: Threads of a block that keep its warps in step through a table of any length, and the reads after
#: which half as many do. Calibrated on walks through tables of 32 to 10,000 elements, rounded;
#: docs/evaluation.md has some of their times under "Calibration", there is no record.
THREADS_IN_STEP, READS_IN_STEP = 700, 300
#: Warps of an SM up to which they do not disturb each other; twice as many do fully.
#: Calibrated on the same.
UNDISTURBED_WARPS = 16

# ---- which block is chosen

#: Multiple of the launch floor below which the choice hardly matters.
#: Read off polybench_h200.json.
LAUNCH_BOUND = Fraction(13, 10)
#: Predictions up to these multiples of the least are not told apart: static ranks decide. Where
#: launching dominates, and otherwise. Read off polybench_h200.json.
BOUND_BAND = Fraction(101, 100)
BAND = Fraction(1005, 1000)
#: The same of the published models, which leave many blocks equal. Read off polybench_h200.json and
#: judges/01_h200.json.
PUBLISHED_BAND = Fraction(102, 100)

#: Threads of the blocks that kernels of one dimension lean to, where launching dominates and
#: otherwise. Read off polybench_h200.json; calibrated on calibration_h200.json (its walks are up to
#: 3 % faster so).
BOUND_THREADS = (64, 128)
THREADS = (192, 256)
#: Threads, and threads along x, of the blocks that the others lean to where launching dominates.
#: Read off polybench_h200.json.
BOUND_TILE_THREADS, BOUND_TILE_WIDTH = 256, 64
#: Threads to which the published models lean. Read off polybench_h200.json and judges/01_h200.json.
PUBLISHED_THREADS = 128

#: The program's own block stays up to these multiples of the least prediction. Of kernels without a
#: loop. Read off polybench_h200.json and judges/01_h200.json to judges/04_h200.json.
OWN_BAND_STRAIGHT = Fraction(102, 100)
#: Of kernels with a loop.
#: Read off polybench_h200.json and judges/01_h200.json to judges/09_h200.json.
OWN_BAND_LOOPED = Fraction(401, 400)
#: Where an annotation speaks for the kernel. Read off judges/01_h200.json to judges/09_h200.json.
OWN_BAND_ASSERTED = Fraction(107, 100)
#: Of data-dependent kernels, where the best block has no more threads than the program's own: how
#: long the warps of a block wait for the last of them is predicted less well than what they find in
#: L1. Read off judges/01_h200.json to judges/12_h200.json.
OWN_BAND_DATA_SMALLER = Fraction(105, 100)
#: Of the same, where it has more. Read off judges/01_h200.json to judges/06_h200.json.
OWN_BAND_DATA_LARGER = Fraction(102, 100)
#: Where atomic operations meet in shared memory: no term of the model knows how often.
#: Read off judges/06_h200.json (kmeans_update).
OWN_BAND_CONTENDED = Fraction(2)

# ---- what is said about a choice

#: Multiple of the least prediction of what is reported as "candidates within 2 %". Derived.
REPORTED_BAND = 1.02
#: Regret, geometric mean and 90th percentile, where launching dominates and otherwise.
#: Read off the scores in docs/evaluation.md.
EXPECTED_REGRET = (0.02, 0.05)
EXPECTED_REGRET_BOUND = (0.02, 0.07)

# ---- does the model suit a kernel that was timed?

#: Multiples of the launch floor: times that a launch had better take to count, that it has to take,
#: and that a block has to take to be compared.
#: Read off polybench_h200.json and judges/01_h200.json, as all that follows.
PREFERRED_TIME, MINIMUM_TIME, INFORMATIVE_TIME = 3.0, 1.5, 1.3
#: Times up to this multiple of another are no longer than it.
NO_LONGER = 1.02
#: A rank correlation is told where times spread by this factor, over that many blocks.
LEAST_SPREAD, FEWEST_BLOCKS = 1.1, 5
#: Rank correlation of predicted and measured times below which the model is said not to suit.
LEAST_CORRELATION = 0.75
