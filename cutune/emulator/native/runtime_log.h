// The launch log: one line of JSON for each launch (schema cutune-launch-1).
#pragma once
#include <cstdint>
#include <vector>

#include "machine.h"
#include "runtime_modules.h"

namespace cutune {

// An integer within an argument that is a structure; arguments and members are counted together.
struct Member {
    int position, argument, offset, bytes, is_signed;
};

struct LaunchRecord {
    int site;  // as the instrumented program named it, or -1
    uint64_t signature;  // of its arguments, or 0
    const std::vector<Member>& members;
    const Function* function;
    const Launch* launch;
    const Report* report;
};

// Write it to CUTUNE_LAUNCH_LOG unless CUTUNE_LOG_LIMIT lines of this kernel and site are there.
void log_launch(const LaunchRecord& record);

// Were all launches tried that the program is run for (CUTUNE_EXPERIMENTS)?
bool experiments_are_made();

// Is this launch one of an experiment, which makes a launch in several ways on the memory that it
// began with, or are as many experiments made as are wanted?
bool is_for_experiments();

// Say there that kernels are not executed from now on.
void log_cut();

}  // namespace cutune
