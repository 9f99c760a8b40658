// The blocks of a launch, on one thread of the host or on several.
#pragma once
#include "machine_core.h"

namespace cutune {

// Run the first `count` blocks that the launch asks for. Counters and memory are the same however
// many threads work; of several faults the one of the first block is thrown.
void run_blocks(Execution& x, u64 count);

}  // namespace cutune
