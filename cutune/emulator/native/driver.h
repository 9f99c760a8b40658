// What the files of the replacement libcuda share. It is the same library as the replacement
// libcudart: a function of the driver's interface finds the current context, calls what the runtime's
// interface calls, and gives the error in the driver's numbers.
#pragma once
#include "runtime.h"

// Every version of a function has a name of its own; without this, macros give one to the newest.
// The runtime's header, which stands above, knows the word, too.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#undef __CUDA_API_VERSION_INTERNAL

namespace cutune {

// An error of the runtime's interface as the driver's. Most have one number.
CUresult result_of(cudaError_t error);

// May this thread make a call that needs a context? If not, why.
CUresult ready();
// May it make one that needs cuInit alone, about this device?
CUresult ready_for(CUdevice device);

// Do it without a trace in cudaGetLastError, which the driver knows nothing of.
template <class Body>
CUresult forward(Body body) {
    const cudaError_t before = cudaPeekAtLastError();
    const CUresult result = result_of(body());
    remember(before);
    return result;
}

template <class Body>
CUresult in_context(Body body) {
    const CUresult problem = ready();
    return problem == CUDA_SUCCESS ? forward(body) : problem;
}

inline void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
inline CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// The address of a function of the driver's interface by its name with the version, or nullptr.
void* driver_symbol(const char* name);

// Say once that this function, or what it was asked for, is not emulated.
CUresult not_emulated(const std::string& what);

}  // namespace cutune
