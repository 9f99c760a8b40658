// Launches as before CUDA 4: block, shared memory and arguments are settings of the function.
#include <cstring>
#include <unordered_map>
#include <vector>

#include "driver.h"
#include "runtime_modules.h"

namespace cutune {

namespace {

struct Settings {
    dim3 block{1, 1, 1};
    unsigned shared = 0;
    std::vector<char> arguments;
};

std::unordered_map<CUfunction, Settings>& all_settings() {
    static auto* const all = new std::unordered_map<CUfunction, Settings>;
    return *all;
}

template <class Body>
CUresult with_settings(CUfunction handle, Body body) {
    return in_context([&] {
        return call([&] {
            Function* function = nullptr;
            const cudaError_t error = find_function(handle, &function);
            return error == cudaSuccess ? body(all_settings()[handle]) : error;
        });
    });
}

CUresult set_argument(CUfunction function, int offset, const void* value, size_t bytes) {
    return with_settings(function, [&](Settings& settings) {
        if (offset < 0 || !value) return cudaErrorInvalidValue;
        const size_t end = static_cast<size_t>(offset) + bytes;
        if (settings.arguments.size() < end) settings.arguments.resize(end);
        std::memcpy(&settings.arguments[static_cast<size_t>(offset)], value, bytes);
        return cudaSuccess;
    });
}

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
    if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
    return with_settings(function, [&](Settings& settings) {
        settings.block = dim3(static_cast<unsigned>(x), static_cast<unsigned>(y),
                              static_cast<unsigned>(z));
        return cudaSuccess;
    });
}

CUresult cuFuncSetSharedSize(CUfunction function, unsigned bytes) {
    return with_settings(function, [&](Settings& settings) {
        settings.shared = bytes;
        return cudaSuccess;
    });
}

CUresult cuParamSetSize(CUfunction function, unsigned bytes) {
    return with_settings(function, [&](Settings& settings) {
        settings.arguments.resize(bytes);
        return cudaSuccess;
    });
}

CUresult cuParamSeti(CUfunction function, int offset, unsigned value) {
    return set_argument(function, offset, &value, sizeof value);
}

CUresult cuParamSetf(CUfunction function, int offset, float value) {
    return set_argument(function, offset, &value, sizeof value);
}

CUresult cuParamSetv(CUfunction function, int offset, void* value, unsigned bytes) {
    return set_argument(function, offset, value, bytes);
}

CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
    if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
    Settings settings;
    const CUresult problem = with_settings(function, [&](const Settings& found) {
        settings = found;
        return cudaSuccess;
    });
    if (problem != CUDA_SUCCESS) return problem;
    size_t bytes = settings.arguments.size();
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, settings.arguments.data(),
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    const dim3& block = settings.block;
    return cuLaunchKernel(function, static_cast<unsigned>(width), static_cast<unsigned>(height), 1,
                          block.x, block.y, block.z, settings.shared, stream, nullptr, extra);
}

CUresult cuLaunchGrid(CUfunction function, int width, int height) {
    return cuLaunchGridAsync(function, width, height, nullptr);
}

CUresult cuLaunch(CUfunction function) { return cuLaunchGridAsync(function, 1, 1, nullptr); }

}  // extern "C"
