// Costs of memory instructions: the numbers of the tracing that were chosen by timings. The tables
// of docs/model.md have the source of each.
#pragma once
#include "machine_types.h"

namespace cutune {

// The unit of costs is 1/20: for loads of a cycle of the load/store unit, for stores of the cost of
// a sector that is written whole.
constexpr u32 COST_UNITS = 20;

// Per 128-byte line of a load: a look-up of its tag. Wavefronts, a cycle each, go on beside that.
constexpr u32 LINE_LOOKUP = 7;

// Per line that a load brings from L2, where it reads several pieces of memory: ncu counts 1.2 to
// 1.3 wavefronts.
constexpr u32 BROUGHT_LINE = 24;

// Per line of which a store writes some sector in part, besides its bytes: as much as 48 bytes
// more.
constexpr u32 PARTIAL_LINE = 30;

// Per line of a store, at least.
constexpr u32 STORED_LINE = 33;

// log2 of the executions of an instruction in a window: what a block touched in the same window or
// the one before is still in L1.
constexpr u32 WINDOW = 3;

}  // namespace cutune
