// Questions about the memory at an address, with the numbers and types of the driver's interface.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime_arena.h"

namespace cutune {

// The allocation that holds the address and was not freed, or nullptr.
const Block* live_block(const void* pointer);

// These give errors by their numbers. The first knows the allocations of the current device only.
int range_of_address(uint64_t* base, size_t* bytes, uint64_t address);
// One attribute; unlike the function for several, it is an error where no memory is known.
int attribute_of_address(void* value, int attribute, uint64_t address);
int attributes_of_address(unsigned count, const int* attributes, void** values, uint64_t address);

}  // namespace cutune
