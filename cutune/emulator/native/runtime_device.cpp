// The device description and the calls that ask for it.
#include "runtime_device.h"

#include <cuda_runtime_api.h>

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "runtime.h"

namespace cutune {

namespace {

using Setter = std::function<void(Device&, const std::string&)>;

template <class Number>
Setter number(Number Device::* field) {
    return [field](Device& d, const std::string& text) { std::istringstream(text) >> d.*field; };
}

const std::map<std::string, Setter>& setters() {
    static const std::map<std::string, Setter> table = {
        {"name", [](Device& d, const std::string& text) { d.name = text; }},
        {"compute_capability",
         [](Device& d, const std::string& text) {
             std::sscanf(text.c_str(), "%d.%d", &d.major, &d.minor);
         }},
        {"multiprocessors", number(&Device::multiprocessors)},
        {"clock_khz", number(&Device::clock_khz)},
        {"memory_clock_khz", number(&Device::memory_clock_khz)},
        {"memory_bus_bits", number(&Device::memory_bus_bits)},
        {"memory_bytes", number(&Device::memory_bytes)},
        {"l2_bytes", number(&Device::l2_bytes)},
        {"threads_per_multiprocessor", number(&Device::threads_per_multiprocessor)},
        {"blocks_per_multiprocessor", number(&Device::blocks_per_multiprocessor)},
        {"registers_per_multiprocessor", number(&Device::registers_per_multiprocessor)},
        {"shared_per_multiprocessor", number(&Device::shared_per_multiprocessor)},
        {"shared_per_block", number(&Device::shared_per_block)},
        {"shared_per_block_optin", number(&Device::shared_per_block_optin)},
        {"shared_reserved", number(&Device::shared_reserved)},
        {"shared_granularity", number(&Device::shared_granularity)},
        {"registers_per_thread", number(&Device::registers_per_thread)},
        {"launch_floor_us", number(&Device::launch_floor_us)},
        {"dram_gbs", number(&Device::dram_gbs)},
        {"link_gbs", number(&Device::link_gbs)},
    };
    return table;
}

Device read_device() {
    Device d;
    const std::string path = environment("CUTUNE_DEVICE_FILE");
    if (path.empty()) return d;
    std::ifstream file(path);
    if (!file)
        say("cannot read the device description '%s'; using %s", path.c_str(), d.name.c_str());
    for (std::string line; std::getline(file, line);) {
        const size_t space = line.find(' ');
        if (line.empty() || line[0] == '#' || space == std::string::npos) continue;
        const auto setter = setters().find(line.substr(0, space));
        if (setter == setters().end())
            say("unknown key in '%s': %s", path.c_str(), line.c_str());
        else
            setter->second(d, line.substr(space + 1));
    }
    return d;
}

int attribute(const Device& d, cudaDeviceAttr name, int number) {
    switch (name) {
        case cudaDevAttrMaxThreadsPerBlock:
        case cudaDevAttrMaxBlockDimX:
        case cudaDevAttrMaxBlockDimY: return 1024;
        case cudaDevAttrMaxBlockDimZ: return 64;
        case cudaDevAttrMaxGridDimX: return 2147483647;
        case cudaDevAttrMaxGridDimY:
        case cudaDevAttrMaxGridDimZ: return 65535;
        case cudaDevAttrMaxSharedMemoryPerBlock: return d.shared_per_block;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: return d.shared_per_block_optin;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return d.shared_per_multiprocessor;
        case cudaDevAttrReservedSharedMemoryPerBlock: return d.shared_reserved;
        case cudaDevAttrTotalConstantMemory: return 65536;
        case cudaDevAttrWarpSize: return 32;
        case cudaDevAttrMaxPitch: return 2147483647;
        case cudaDevAttrMaxRegistersPerBlock:
        case cudaDevAttrMaxRegistersPerMultiprocessor: return d.registers_per_multiprocessor;
        case cudaDevAttrClockRate: return d.clock_khz;
        case cudaDevAttrMemoryClockRate: return d.memory_clock_khz;
        case cudaDevAttrGlobalMemoryBusWidth: return d.memory_bus_bits;
        case cudaDevAttrL2CacheSize: return d.l2_bytes;
        case cudaDevAttrTextureAlignment: return 512;
        case cudaDevAttrTexturePitchAlignment: return 32;
        case cudaDevAttrSurfaceAlignment: return 512;
        case cudaDevAttrMultiProcessorCount: return d.multiprocessors;
        case cudaDevAttrMaxThreadsPerMultiProcessor: return d.threads_per_multiprocessor;
        case cudaDevAttrMaxBlocksPerMultiprocessor: return d.blocks_per_multiprocessor;
        case cudaDevAttrComputeCapabilityMajor: return d.major;
        case cudaDevAttrComputeCapabilityMinor: return d.minor;
        case cudaDevAttrAsyncEngineCount: return 3;
        case cudaDevAttrSingleToDoublePrecisionPerfRatio: return 2;
        case cudaDevAttrGpuOverlap:
        case cudaDevAttrCanMapHostMemory:
        case cudaDevAttrConcurrentKernels:
        case cudaDevAttrEccEnabled:
        case cudaDevAttrUnifiedAddressing:
        case cudaDevAttrStreamPrioritiesSupported:
        case cudaDevAttrGlobalL1CacheSupported:
        case cudaDevAttrLocalL1CacheSupported:
        case cudaDevAttrManagedMemory:
        case cudaDevAttrConcurrentManagedAccess:
        case cudaDevAttrComputePreemptionSupported:
        case cudaDevAttrCanUseHostPointerForRegisteredMem:
        case cudaDevAttrCooperativeLaunch:
        case cudaDevAttrMemoryPoolsSupported:
        case cudaDevAttrHostRegisterSupported: return 1;
        case cudaDevAttrPciBusId: return number;
        case cudaDevAttrMaxTexture1DWidth:
        case cudaDevAttrMaxTexture2DWidth: return 131072;
        case cudaDevAttrMaxTexture1DLinearWidth: return 268435456;
        case cudaDevAttrMaxTexture2DHeight: return 65536;
        case cudaDevAttrMaxTexture2DLinearWidth: return 131072;
        case cudaDevAttrMaxTexture2DLinearHeight: return 65000;
        case cudaDevAttrMaxTexture2DLinearPitch: return 2097120;
        case cudaDevAttrMaxTexture3DWidth:
        case cudaDevAttrMaxTexture3DHeight:
        case cudaDevAttrMaxTexture3DDepth: return 16384;
        default: return 0;  // absent features: clusters
    }
}

void fill(const Device& d, int number, cudaDeviceProp* p) {
    std::memset(p, 0, sizeof *p);
    std::snprintf(p->name, sizeof p->name, "%s", d.name.c_str());
    p->pciBusID = number;
    p->uuid.bytes[sizeof p->uuid.bytes - 1] = static_cast<char>(number);
    p->totalGlobalMem = d.memory_bytes;
    p->sharedMemPerBlock = static_cast<size_t>(d.shared_per_block);
    p->sharedMemPerBlockOptin = static_cast<size_t>(d.shared_per_block_optin);
    p->sharedMemPerMultiprocessor = static_cast<size_t>(d.shared_per_multiprocessor);
    p->reservedSharedMemPerBlock = static_cast<size_t>(d.shared_reserved);
    p->regsPerBlock = p->regsPerMultiprocessor = d.registers_per_multiprocessor;
    p->warpSize = 32;
    p->memPitch = 2147483647;
    p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 2147483647;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->totalConstMem = 65536;
    p->major = d.major;
    p->minor = d.minor;
    p->textureAlignment = p->surfaceAlignment = 512;
    p->texturePitchAlignment = 32;
    p->multiProcessorCount = d.multiprocessors;
    p->canMapHostMemory = p->concurrentKernels = p->ECCEnabled = p->unifiedAddressing = 1;
    p->asyncEngineCount = 3;
    p->memoryBusWidth = d.memory_bus_bits;
    p->l2CacheSize = d.l2_bytes;
    p->maxThreadsPerMultiProcessor = d.threads_per_multiprocessor;
    p->maxBlocksPerMultiProcessor = d.blocks_per_multiprocessor;
    p->streamPrioritiesSupported = p->globalL1CacheSupported = p->localL1CacheSupported = 1;
    p->managedMemory = p->concurrentManagedAccess = p->computePreemptionSupported = 1;
    p->canUseHostPointerForRegisteredMem = p->cooperativeLaunch = 1;
    p->maxTexture1D = p->maxTexture2D[0] = p->maxTexture2DLinear[0] = 131072;
    p->maxTexture2D[1] = 65536;
    p->maxTexture2DLinear[1] = 65000;
    p->maxTexture2DLinear[2] = 2097120;
    p->maxTexture3D[0] = p->maxTexture3D[1] = p->maxTexture3D[2] = 16384;
#if CUDART_VERSION >= 12000
    p->hostRegisterSupported = p->memoryPoolsSupported = 1;
#endif
#if CUDART_VERSION < 13000
    p->clockRate = d.clock_khz;
    p->memoryClockRate = d.memory_clock_khz;
    p->deviceOverlap = 1;
    p->singleToDoublePrecisionPerfRatio = 2;
#endif
}

thread_local unsigned device_flags = 0;
thread_local int used_device = 0;

int read_count() {
    const std::string text = environment("CUTUNE_DEVICES", "1");
    char* end = nullptr;
    const long count = std::isdigit(text[0]) ? std::strtol(text.c_str(), &end, 10) : 0;
    if (count >= 1 && count <= kMostDevices && *end == '\0') return static_cast<int>(count);
    std::fflush(nullptr);
    say("CUTUNE_DEVICES=%s is no number of devices; write one from 1 to %d", text.c_str(),
        kMostDevices);
    _exit(1);
}

}  // namespace

const Device& device() {
    static const Device* const described = new Device(read_device());
    return *described;
}

int device_count() {
    static const int count = read_count();
    return count;
}

int current_device() { return used_device; }

void use_device(int number) { used_device = number; }

OnDevice::OnDevice(int number) : before_(used_device) { used_device = number; }

OnDevice::~OnDevice() { used_device = before_; }

}  // namespace cutune

using namespace cutune;

static cudaError_t checked(int number) {
    return is_device(number) ? cudaSuccess : remember(cudaErrorInvalidDevice);
}

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
    if (!count) return remember(cudaErrorInvalidValue);
    *count = device_count();
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int* number) {
    if (!number) return remember(cudaErrorInvalidValue);
    *number = current_device();
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int number) {
    if (checked(number) != cudaSuccess) return cudaErrorInvalidDevice;
    use_primary_context(number);
    return cudaSuccess;
}

cudaError_t cudaSetValidDevices(int* numbers, int count) {
    for (int i = 0; numbers && i < count; ++i)
        if (checked(numbers[i]) != cudaSuccess) return cudaErrorInvalidDevice;
    return cudaSuccess;
}

cudaError_t cudaInitDevice(int number, unsigned, unsigned) { return checked(number); }

// All are as good as the first.
cudaError_t cudaChooseDevice(int* number, const cudaDeviceProp*) {
    if (!number) return remember(cudaErrorInvalidValue);
    *number = 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int number) {
    if (!properties) return remember(cudaErrorInvalidValue);
    if (checked(number) != cudaSuccess) return cudaErrorInvalidDevice;
    fill(device(), number, properties);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr name, int number) {
    if (!value || name < 1 || name >= cudaDevAttrMax) return remember(cudaErrorInvalidValue);
    if (checked(number) != cudaSuccess) return cudaErrorInvalidDevice;
    *value = attribute(device(), name, number);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int number) {
    if (!text || length < 13) return remember(cudaErrorInvalidValue);
    if (checked(number) != cudaSuccess) return cudaErrorInvalidDevice;
    std::snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(number));
    return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int* number, const char* text) {
    unsigned domain = 0, bus = 0, slot = 0;
    if (!number || !text) return remember(cudaErrorInvalidValue);
    if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3 || domain != 0 || slot != 0)
        return remember(cudaErrorInvalidValue);
    if (checked(static_cast<int>(bus)) != cudaSuccess) return cudaErrorInvalidDevice;
    *number = static_cast<int>(bus);
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
    device_flags = flags;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    if (!flags) return remember(cudaErrorInvalidValue);
    *flags = device_flags;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

cudaError_t cudaRuntimeGetVersion(int* version) {
    if (!version) return remember(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

// Settings that change speed alone are accepted and have no effect.
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* preference) {
    if (preference) *preference = cudaFuncCachePreferNone;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }

cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* banks) {
    if (banks) *banks = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    if (!value) return remember(cudaErrorInvalidValue);
    switch (limit) {
        case cudaLimitStackSize: *value = 1024; return cudaSuccess;
        case cudaLimitPrintfFifoSize: *value = 8650752; return cudaSuccess;
        case cudaLimitMallocHeapSize: *value = 8388608; return cudaSuccess;
        case cudaLimitDevRuntimePendingLaunchCount: *value = 2048; return cudaSuccess;
        case cudaLimitMaxL2FetchGranularity: *value = 64; return cudaSuccess;
        default: return remember(cudaErrorUnsupportedLimit);
    }
}

cudaError_t cudaProfilerStart(void) { return cudaSuccess; }

cudaError_t cudaProfilerStop(void) { return cudaSuccess; }

}  // extern "C"
