// `run --check`: the checker of this process, and the file that its findings go to.
#pragma once
#include "machine.h"
#include "runtime_modules.h"

namespace cutune {

// nullptr unless CUTUNE_CHECK names a file.
Checker* checker();
// Whom to tell about every byte of device memory that the host or a copy writes; or nullptr.
Written* written();
// Append what a launch of this function was found to do: a line of JSON, if anything.
void log_findings(const Function& function, const Report& report);

}  // namespace cutune
