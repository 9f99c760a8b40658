// Errors: what each thread last got, and their names and texts as CUDA gives them.
#include "runtime.h"

namespace cutune {

namespace {

thread_local cudaError_t last_error = cudaSuccess;

struct Entry {
    cudaError_t code;
    const char* name;
    const char* text;
};

#define ENTRY(code, text) {code, #code, text}
const Entry kEntries[] = {
    ENTRY(cudaSuccess, "no error"),
    ENTRY(cudaErrorInvalidValue, "invalid argument"),
    ENTRY(cudaErrorMemoryAllocation, "out of memory"),
    ENTRY(cudaErrorInitializationError, "initialization error"),
    ENTRY(cudaErrorCudartUnloading, "driver shutting down"),
    ENTRY(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ENTRY(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    ENTRY(cudaErrorInvalidSymbol, "invalid device symbol"),
    ENTRY(cudaErrorInvalidHostPointer, "invalid host pointer"),
    ENTRY(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    ENTRY(cudaErrorInvalidTexture, "invalid texture reference"),
    ENTRY(cudaErrorInvalidChannelDescriptor, "invalid channel descriptor"),
    ENTRY(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ENTRY(cudaErrorStubLibrary, "CUDA driver is a stub library"),
    ENTRY(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    ENTRY(cudaErrorInvalidSurface, "invalid surface reference"),
    ENTRY(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    ENTRY(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    ENTRY(cudaErrorLaunchMaxDepthExceeded, "launch would exceed maximum depth of nested launches"),
    ENTRY(cudaErrorInvalidDeviceFunction, "invalid device function"),
    ENTRY(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ENTRY(cudaErrorInvalidDevice, "invalid device ordinal"),
    ENTRY(cudaErrorStartupFailure, "startup failure in cuda runtime"),
    ENTRY(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    ENTRY(cudaErrorDeviceUninitialized, "invalid device context"),
    ENTRY(cudaErrorMapBufferObjectFailed, "mapping of buffer object failed"),
    ENTRY(cudaErrorUnmapBufferObjectFailed, "unmapping of buffer object failed"),
    ENTRY(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    ENTRY(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    ENTRY(cudaErrorUnsupportedLimit, "limit is not supported on this architecture"),
    ENTRY(cudaErrorDeviceAlreadyInUse, "exclusive-thread device already in use by a different thread"),
    ENTRY(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    ENTRY(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    ENTRY(cudaErrorJitCompilerNotFound, "PTX JIT compiler library not found"),
    ENTRY(cudaErrorUnsupportedPtxVersion,
          "the provided PTX was compiled with an unsupported toolchain."),
    ENTRY(cudaErrorInvalidSource, "device kernel image is invalid"),
    ENTRY(cudaErrorFileNotFound, "file not found"),
    ENTRY(cudaErrorSharedObjectSymbolNotFound, "shared object symbol not found"),
    ENTRY(cudaErrorSharedObjectInitFailed, "shared object initialization failed"),
    ENTRY(cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    ENTRY(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ENTRY(cudaErrorIllegalState,
          "the operation cannot be performed in the present state"),
    ENTRY(cudaErrorSymbolNotFound, "named symbol not found"),
    ENTRY(cudaErrorNotReady, "device not ready"),
    ENTRY(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ENTRY(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    ENTRY(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    ENTRY(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    ENTRY(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    ENTRY(cudaErrorSetOnActiveProcess,
          "cannot set while device is active in this process"),
    ENTRY(cudaErrorContextIsDestroyed, "context is destroyed"),
    ENTRY(cudaErrorAssert, "device-side assert triggered"),
    ENTRY(cudaErrorTooManyPeers, "peer mapping resources exhausted"),
    ENTRY(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    ENTRY(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    ENTRY(cudaErrorHardwareStackError, "hardware stack error"),
    ENTRY(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    ENTRY(cudaErrorMisalignedAddress, "misaligned address"),
    ENTRY(cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space"),
    ENTRY(cudaErrorInvalidPc, "invalid program counter"),
    ENTRY(cudaErrorLaunchFailure, "unspecified launch failure"),
    ENTRY(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    ENTRY(cudaErrorNotPermitted, "operation not permitted"),
    ENTRY(cudaErrorNotSupported, "operation not supported"),
    ENTRY(cudaErrorSystemNotReady, "system not yet initialized"),
    ENTRY(cudaErrorSystemDriverMismatch, "system has unsupported display driver / cuda driver combination"),
    ENTRY(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    ENTRY(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    ENTRY(cudaErrorGraphExecUpdateFailure, "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"),
    ENTRY(cudaErrorUnknown, "unknown error"),
};
#undef ENTRY

const Entry* find_entry(cudaError_t code) {
    for (const Entry& entry : kEntries)
        if (entry.code == code) return &entry;
    return nullptr;
}

}  // namespace

cudaError_t remember(cudaError_t error) { return last_error = error; }

}  // namespace cutune

using namespace cutune;

extern "C" {

cudaError_t cudaPeekAtLastError(void) {
    const cudaError_t sticky = runtime().sticky;
    return sticky != cudaSuccess ? sticky : last_error;
}

cudaError_t cudaGetLastError(void) {
    const cudaError_t error = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return error;
}

const char* cudaGetErrorName(cudaError_t error) {
    const Entry* const entry = find_entry(error);
    return entry ? entry->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
    const Entry* const entry = find_entry(error);
    return entry ? entry->text : "unrecognized error code";
}

// Every function of the toolkit's headers that is not emulated ends here (see link.py).
int cutune_unsupported_call(const char* name) {
    say_once(std::string(name) + " is not supported by the emulated device");
    return remember(cudaErrorNotSupported);
}

}  // extern "C"
