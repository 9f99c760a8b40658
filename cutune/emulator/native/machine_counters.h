// The one table of the counters of a static memory instruction: `struct Site`, the launch log and
// Python (emulator/launch_log.py) are made from it. Costs are explained in docs/model.md.
//
//   COUNTER(name, kind, unit, what)
//
// kind: `counted` in all executions, `traced` in traced executions only, `range` of addresses.
#pragma once

// clang-format off
#define CUTUNE_SITE_COUNTERS(COUNTER)                                                              \
    COUNTER(executions, counted, "warps", "in all executed blocks")                                \
    COUNTER(lanes, counted, "threads", "active lanes in these")                                    \
    COUNTER(busiest, counted, "warps", "executions by the warp with most, summed over traced blocks") \
    COUNTER(traced, traced, "warps", "executions that the following counters stand for")           \
    COUNTER(sectors, traced, "32 bytes", "distinct per execution")                                 \
    COUNTER(full_sectors, traced, "32 bytes", "sectors of which all bytes were touched")           \
    COUNTER(lines, traced, "128 bytes", "distinct per execution")                                  \
    COUNTER(wavefronts, traced, "cycles", "distinct 4-byte words in the busiest of 32 banks")      \
    COUNTER(load_cost_x20, traced, "cycles / 20", "sum of max(20 wavefronts, 7 or 24 per line)")   \
    COUNTER(store_cost_x20, traced, "cycles / 20", "sum of max(5/8 bytes + 30 partial lines, 33 lines), fresh ones") \
    COUNTER(rewritten_sectors, traced, "32 bytes", "other parts of sectors that the warp's store just before touched") \
    COUNTER(new_sectors, traced, "32 bytes", "first touched by the block in a window of 8 executions") \
    COUNTER(missing, traced, "steps", "of the block, warps side by side, with such a sector")      \
    COUNTER(lowest, range, "address", "the lowest one that was touched")                           \
    COUNTER(highest, range, "address", "one past the highest that was touched")
// clang-format on
