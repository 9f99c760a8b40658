// Streams, events and graphs: handles are those of the runtime's interface.
#include "driver.h"

using namespace cutune;

extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
    return in_context([&] { return cudaStreamCreateWithFlags(stream, flags); });
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    return in_context([&] { return cudaStreamCreateWithPriority(stream, flags, priority); });
}

CUresult cuStreamDestroy_v2(CUstream stream) {
    return in_context([&] { return cudaStreamDestroy(stream); });
}

CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }

CUresult cuStreamSynchronize(CUstream stream) {
    return in_context([&] { return cudaStreamSynchronize(stream); });
}

CUresult cuStreamQuery(CUstream stream) {
    return in_context([&] { return cudaStreamQuery(stream); });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    return in_context([&] { return cudaStreamWaitEvent(stream, event, flags); });
}

CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t bytes,
                                unsigned flags) {
    return in_context(
        [&] { return cudaStreamAttachMemAsync(stream, pointer(address), bytes, flags); });
}

CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
    return in_context([&] { return cudaStreamGetFlags(stream, flags); });
}

CUresult cuStreamGetPriority(CUstream stream, int* priority) {
    return in_context([&] { return cudaStreamGetPriority(stream, priority); });
}

#if CUDA_VERSION >= 12000
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
    return in_context([&] { return cudaStreamGetId(stream, id); });
}
#endif

#if CUDA_VERSION >= 12080
CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
    return in_context([&] { return cudaStreamGetDevice(stream, device); });
}
#endif

// User code runs outside of every lock.
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
    return in_context([&] { return cudaLaunchHostFunc(stream, function, data); });
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback function, void* data,
                             unsigned flags) {
    // Both kinds of functions take a stream, an error that is 0 and the data.
    const auto same = reinterpret_cast<cudaStreamCallback_t>(function);
    return in_context([&] { return cudaStreamAddCallback(stream, same, data, flags); });
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
    return in_context([&] { return cudaEventCreateWithFlags(event, flags); });
}

CUresult cuEventDestroy_v2(CUevent event) {
    return in_context([&] { return cudaEventDestroy(event); });
}

CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }

CUresult cuEventRecord(CUevent event, CUstream stream) {
    return in_context([&] { return cudaEventRecord(event, stream); });
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    return in_context([&] { return cudaEventRecordWithFlags(event, stream, flags); });
}

CUresult cuEventSynchronize(CUevent event) {
    return in_context([&] { return cudaEventSynchronize(event); });
}

CUresult cuEventQuery(CUevent event) {
    return in_context([&] { return cudaEventQuery(event); });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    return in_context([&] { return cudaEventElapsedTime(milliseconds, start, end); });
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
    return cuEventElapsedTime(milliseconds, start, end);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    return in_context(
        [&] { return cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(mode)); });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    return in_context([&] { return cudaStreamEndCapture(stream, graph); });
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    return in_context([&] {
        cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
        const cudaError_t error = cudaStreamIsCapturing(stream, &found);
        if (status) *status = static_cast<CUstreamCaptureStatus>(found);
        return error;
    });
}

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
    return in_context([&] { return cudaGraphCreate(graph, flags); });
}

CUresult cuGraphDestroy(CUgraph graph) {
    return in_context([&] { return cudaGraphDestroy(graph); });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
    return in_context([&] { return cudaGraphGetNodes(graph, nodes, count); });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph,
                                     unsigned long long flags) {
    return in_context([&] { return cudaGraphInstantiateWithFlags(executable, graph, flags); });
}

CUresult cuGraphUpload(CUgraphExec executable, CUstream stream) {
    return in_context([&] { return cudaGraphUpload(executable, stream); });
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
    return in_context([&] { return cudaGraphLaunch(executable, stream); });
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
    return in_context([&] { return cudaGraphExecDestroy(executable); });
}

}  // extern "C"
