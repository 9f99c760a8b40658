"""Every number of the models that is not a property of one GPU, with its source.

Properties of a GPU are in its profile (`device.profile.ModelConstants`). The costs that the
emulated device counts with are in `emulator/native/machine_costs.h`. `docs/model.md` has the
formulas around these numbers and a table of all of them, which a test compares with this module.

Sources:

- *published*: a paper, or a manual of the vendor.
- *derived*: follows from the model; no time was used.
- *calibrated on* a record: read off times of micro-kernels made for it.
- *read off* a record: chosen by looking at sweeps of whole programs.

Records lie in `tests/recorded`; all are of one H200.
"""

from __future__ import annotations

from fractions import Fraction

# ---- how resources are joined

#: Power of the p-norm that joins parallel resources of a warp or of an SM.
#: Read off polybench_h200.json: the form of the model was developed on these samples.
SIDE_BY_SIDE = 3
#: The same for what other blocks of an SM do and what one waits for, between barriers.
#: Read off judges/01_h200.json (tiled_matmul).
IN_PHASES = 2
#: The same where the result is nearly the maximum: dispatcher and SMs, launch floor and launch.
#: Read off polybench_h200.json.
NEARLY_MAXIMUM = 8

#: Cycles or counts that keep a division finite where a quantity may be 0. Derived.
NEARLY_NONE = Fraction(1, 1000)
#: Of what every thread executes at least, what counts may fall short of by rounding. Derived.
NEARLY_ALL = 1 - NEARLY_NONE

# ---- variants

#: Microseconds of the host's to ask which allocation a pointer leads to.
#: Calibrated on pointers_h200.txt: three attributes of one pointer.
ASKING_US = Fraction(15, 100)
#: A variant is chosen where its prediction is below this share of the kernel's own. Derived: below
#: it the model does not tell two kernels apart.
VARIANT_SHARE = Fraction(97, 100)
#: As many threads per multiprocessor as any GPU has at once. Published: CUDA's programming guide.
FILLING_THREADS = 2048
#: Another number of threads is chosen where the prediction is so many times lower. Derived: the
#: model does not tell two ways to share the same work apart by less.
OTHER_THREADS = Fraction(11, 10)
#: A candidate of a variant is emitted if somewhere it comes as near as this to the best of all.
#: Derived: what is further away is never chosen within the band.
NEAR_BEST = Fraction(11, 10)
#: Loads and stores of spilled registers, as a share of a warp's instructions, that a variant may
#: have more than its kernel: the model does not count them. Derived: well below what it can tell.
SPILLED_SHARE = Fraction(2, 100)

# ---- copies with other tiles, before one is chosen to be tried

#: Cycles that a block waits where its threads come together, for what they have loaded before; and
#: registers of a thread beside its sums. Read off tiles_h100.json (sgemm_register, acoustic3d): the
#: best of the first twelve copies is the same with 300 and with 1000 cycles.
SLICE_CYCLES, SLICE_REGISTERS = 1000, 48

# ---- warps of an SM

#: Coefficients of fill / (offset + slope * fill), a rational substitute for fill^0.79: the cost of
#: the warps of partly idle blocks, where `fill` is the share of warps with work. No unit.
#: Read off polybench_h200.json.
FILL_OFFSET, FILL_SLOPE = Fraction(73, 100), Fraction(27, 100)
#: Thread blocks that the busiest SM has more than the mean, if the launch takes more than one wave.
#: Derived: half a block.
LAST_BLOCK = Fraction(1, 2)

# ---- memory

#: Bytes of the L1 of an SM that can never be shared memory: 28 KiB, or 32 before Ampere.
#: Published: NVIDIA's tuning guides, "Unified Shared Memory/L1/Texture Cache".
L1_BESIDE_SHARED = 28 * 1024
#: What the blocks of an SM touch between two passes over their rows, by L1, where half of what is
#: read again hits: if blocks follow each other, and if all start together, in step.
#: Calibrated on rows_h200.txt.
ROWS_KEPT, ROWS_KEPT_IN_STEP = Fraction(68, 100), Fraction(95, 100)
#: What all blocks touch between two passes, by L2, up to which nothing that is read again comes
#: from DRAM, and from which on all does. Calibrated on rows_h200.txt.
L2_KEEPS, L2_KEEPS_NOTHING = Fraction(59, 100), Fraction(95, 100)
#: Sectors per warp: more than any kernel misses. Derived.
ENDLESS = 10**12
#: Cost of doubling the planes (z) of a block, relative to doubling its rows (y).
#: Read off the 3-D stencils of judges/01_h200.json to judges/06_h200.json.
PLANES_DOUBLED = 5 / 3

# ---- stores that write a sector in parts

#: 128-byte lines up to which the partial sectors of a warp's store all merge on the way to L2.
#: Calibrated on stores_h200.txt: structures of 1 to 16 words, blocks of 32 to 1024.
MERGING_LINES = 5
#: Warps of a thread block, which start together, up to which they merge. Calibrated on the same.
MERGING_WARPS = 4
#: Share of its cost that an unmerged store keeps if no other warp is resident.
#: Read off judges/07_h200.json (ssm_scan, rigid_bodies).
ALONE_UNMERGED = Fraction(1, 2)

# ---- tables in constant memory through which all threads of a warp walk together

#: Threads of a block whose warps stay in step through a table of any length, and the reads after
#: which half as many do. Calibrated on walks through tables of 32 to 10,000 elements, rounded;
#: docs/evaluation.md has some of their times under "Calibration", there is no record.
THREADS_IN_STEP, READS_IN_STEP = 700, 300
#: Warps of an SM that do not disturb each other; twice as many disturb each other fully.
#: Calibrated on the same.
UNDISTURBED_WARPS = 16

# ---- which block is chosen

#: Multiple of the launch floor below which the launch overhead dominates.
#: Read off polybench_h200.json.
LAUNCH_BOUND = Fraction(13, 10)
#: Predictions up to these multiples of the least are not distinguished: static ranks decide. If the
#: launch overhead dominates, and otherwise. Read off polybench_h200.json.
BOUND_BAND = Fraction(101, 100)
BAND = Fraction(1005, 1000)
#: The same of the published models, which leave many blocks equal. Read off polybench_h200.json and
#: judges/01_h200.json.
PUBLISHED_BAND = Fraction(102, 100)

#: Ranges of threads that kernels of one dimension prefer, if the launch overhead dominates and
#: otherwise. Read off polybench_h200.json; calibrated on calibration_h200.json (its walks are up to
#: 3 % faster).
BOUND_THREADS = (64, 128)
THREADS = (192, 256)
#: Threads, and threads along x, that other kernels prefer if the launch overhead dominates.
#: Read off polybench_h200.json.
BOUND_TILE_THREADS, BOUND_TILE_WIDTH = 256, 64
#: Threads that the published models prefer. Read off polybench_h200.json and judges/01_h200.json.
PUBLISHED_THREADS = 128

#: The program's own block stays up to these multiples of the least prediction. Of kernels without a
#: loop. Read off all sweeps over variants.
OWN_BAND_STRAIGHT = Fraction(103, 100)
#: Of kernels with a loop. Read off all sweeps over variants, and polybench_h200.json.
OWN_BAND_LOOPED = Fraction(101, 100)
#: Of kernels whose other blocks an annotation allows. Read off judges/01_h200.json to
#: judges/09_h200.json.
OWN_BAND_ASSERTED = Fraction(107, 100)
#: Of data-dependent kernels, if the best block has no more threads than the program's own: waiting
#: for the last warp of a block is predicted less well than hits in L1. Read off judges/01_h200.json
#: to judges/12_h200.json.
OWN_BAND_DATA_SMALLER = Fraction(105, 100)
#: Of the same, if it has more. Read off judges/01_h200.json to judges/06_h200.json.
OWN_BAND_DATA_LARGER = Fraction(102, 100)
#: Of kernels of whose launches parts were counted: some of a few blocks need not be as busy as all.
#: Read off docs/real-programs.md, where 5 % of two programs were predicted and not met.
OWN_BAND_SAMPLED = Fraction(110, 100)
#: Of kernels with atomic operations in shared memory: the model has no term for contention there.
#: Read off judges/06_h200.json (kmeans_update).
OWN_BAND_CONTENDED = Fraction(2)

# ---- how far a model may be asked

#: Sizes up to this multiple of the largest at which counts are known, and down to this part of the
#: least. Where all counts are exact, also where they were held out. Read off the counts of the
#: samples, judges/03 and judges/05: functions made of sizes up to 256 give those of all held-out
#: launches, up to 131072 times as large; docs/evaluation.md has the figures.
REACH_EXACT = 1 << 17
#: Where some counts were fitted numerically; more where what was held out is further away from the
#: samples. Read off tests/unit/model/test_held_out.py: functions of work that is no polynomial and
#: that meet what was held out are at most a quarter off there.
REACH_NUMERICAL = 4
#: Of kernels that are counted on data. Read off judges/03_h200.json and judges/05_h200.json, where
#: what is chosen at up to 312 times the sizes of the runs is as good as nearer to them. So it is
#: with counts of one run alone, in a size that says how many threads there are; docs/evaluation.md.
REACH_ON_DATA = 256

#: Weight (see `mechanistic._as_timed`) of the factor for all lengths of launches, beside those at
#: lengths that were timed (`tune --shortlist`): as much as of one whose launches take twice or half
#: as long. Derived: twice the time is 1.4 times the side of a plane, so that its tail is another.
WEIGHT_BEYOND = 4
#: The square of the distance in time (t / T + T / t - 2) at which another launch that was timed
#: counts half as much as at none: times 3 % apart. Derived: so much a measurement may be off.
NEAREST_TIMED = Fraction(1, 1_000_000)
#: Lengths of launches at which a candidate has a factor; more are joined, to decide within a
#: microsecond. Derived.
MOST_TIMED_LENGTHS = 6

# ---- what is reported about a choice

#: Multiple of the least prediction that is reported as "candidates within 2 %". Derived.
REPORTED_BAND = 1.02
#: Regret by kind of launch (`choose.expected_regret`), geometric mean and 90th percentile. Read off
#: all judge sets, tests/recorded/regrets_h200.json.
EXPECTED_REGRET: dict[str, tuple[float, float]] = {
    "launch-bound": (0.033, 0.079),
    "data-dependent": (0.033, 0.100),
    "grid kept": (0.022, 0.070),
    "barriers": (0.029, 0.085),
    "loop": (0.021, 0.053),
    "straight": (0.028, 0.073),
}

# ---- does the model suit a kernel that was timed?

#: Multiples of the launch floor: the preferred time of a launch that tests the model, the minimum
#: time of such a launch, and the minimum time of a block that is compared.
#: Read off polybench_h200.json and judges/01_h200.json, as all that follows.
PREFERRED_TIME, MINIMUM_TIME, INFORMATIVE_TIME = 3.0, 1.5, 1.3
#: A time up to this multiple of another counts as no longer.
NO_LONGER = 1.02
#: A rank correlation needs times that spread by this factor, over that many blocks.
LEAST_SPREAD, FEWEST_BLOCKS = 1.1, 5
#: Rank correlation of predicted and measured times below which the model is said not to suit.
LEAST_CORRELATION = 0.75
