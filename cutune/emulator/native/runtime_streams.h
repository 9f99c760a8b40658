// Streams and events as handles: work on every stream is done at once, in program order.
#pragma once
#include <cuda_runtime_api.h>

namespace cutune {

// Is it one of the default streams, or made and not destroyed?
bool known_stream(cudaStream_t stream);
void forget_streams();

}  // namespace cutune
