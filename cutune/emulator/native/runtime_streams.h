// Streams and events as handles: work on every stream is done at once, in program order.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>

namespace cutune {

// Is it one of the default streams, or made and not destroyed?
bool known_stream(cudaStream_t stream);
// The number of the device of a known stream; of default streams there is one per device.
int device_of(cudaStream_t stream);
// Those of the current device.
void forget_streams();

// Do `work` now, or keep it for the graph that the stream is capturing.
cudaError_t submit(cudaStream_t stream, std::function<cudaError_t()> work);

}  // namespace cutune
