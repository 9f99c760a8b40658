// Memory pools, by numbers that the memory which they gave keeps (Block::flags); 0 is none.
#pragma once

namespace cutune {

// The pool from which cudaMallocAsync takes memory of a device.
unsigned pool_of(int device);
// May kernels of `device` access the memory of a pool?
bool pool_gives_access(unsigned pool, int device);

}  // namespace cutune
