// Stream capture: work submitted to a capturing stream becomes nodes of a graph, one after the
// other in the order of submission, which respects every dependency that the streams express.
#include <map>

#include "runtime.h"
#include "runtime_graphs.h"
#include "runtime_streams.h"

namespace cutune {

namespace {

struct Capture {
    cudaStream_t origin;
    unsigned long long id;
    std::unique_ptr<Graph> graph;
};

// By stream; streams that joined a capture share it.
std::map<cudaStream_t, std::shared_ptr<Capture>>& captures() {
    static auto* const all = new std::map<cudaStream_t, std::shared_ptr<Capture>>;
    return *all;
}

Capture* find_capture(cudaStream_t stream) {
    const auto found = captures().find(stream);
    return found == captures().end() ? nullptr : found->second.get();
}

cudaError_t describe(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                     cudaGraph_t* graph) {
    return call([&] {
        if (!known_stream(stream)) return cudaErrorInvalidResourceHandle;
        const Capture* const found = find_capture(stream);
        if (status)
            *status = found ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
        if (found && id) *id = found->id;
        if (found && graph) *graph = reinterpret_cast<cudaGraph_t>(found->graph.get());
        return cudaSuccess;
    });
}

}  // namespace

Graph* captured_graph(cudaStream_t stream) {
    Capture* const found = find_capture(stream);
    return found ? found->graph.get() : nullptr;
}

Node* capture(cudaStream_t stream, cudaGraphNodeType type, Work work, bool calls_user) {
    Graph& graph = *captured_graph(stream);
    std::vector<Node*> after;
    if (!graph.nodes.empty()) after.push_back(graph.nodes.back().get());
    Node* const node = graph.add(type, std::move(work), after);
    node->calls_user = calls_user;
    return node;
}

unsigned long long capture_of(cudaStream_t stream) {
    const Capture* const found = find_capture(stream);
    return found ? found->id : 0;
}

void join_capture(cudaStream_t stream, unsigned long long id) {
    if (id == 0 || find_capture(stream)) return;
    for (const auto& entry : captures())
        if (entry.second->id == id) {
            captures()[stream] = entry.second;
            return;
        }
}

cudaError_t submit(cudaStream_t stream, Work work) {
    return call([&] {
        if (!known_stream(stream)) return cudaErrorInvalidResourceHandle;
        if (!captured_graph(stream)) return work();
        capture(stream, cudaGraphNodeTypeMemcpy, work);
        return cudaSuccess;
    });
}

}  // namespace cutune

using namespace cutune;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    return call([&] {
        if (!known_stream(stream)) return cudaErrorInvalidResourceHandle;
        if (stream == nullptr || stream == cudaStreamLegacy)
            return cudaErrorStreamCaptureUnsupported;
        if (find_capture(stream)) return cudaErrorIllegalState;
        static unsigned long long made = 0;
        captures()[stream] =
            std::make_shared<Capture>(Capture{stream, ++made, std::make_unique<Graph>()});
        return cudaSuccess;
    });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    return call([&] {
        if (!graph) return cudaErrorInvalidValue;
        const auto found = captures().find(stream);
        if (found == captures().end()) return cudaErrorIllegalState;
        const std::shared_ptr<Capture> ended = found->second;
        if (ended->origin != stream) return cudaErrorStreamCaptureUnmatched;
        *graph = reinterpret_cast<cudaGraph_t>(ended->graph.release());
        for (auto each = captures().begin(); each != captures().end();)
            each = each->second == ended ? captures().erase(each) : std::next(each);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    return describe(stream, status, nullptr, nullptr);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
    if (!mode) return remember(cudaErrorInvalidValue);
    std::swap(*mode, current);
    return cudaSuccess;
}

#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
    if (dependencies || edges || count) return remember(cudaErrorNotSupported);
    return describe(stream, status, id, graph);
}
#else
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies, size_t* count) {
    if (dependencies || count) return remember(cudaErrorNotSupported);
    return describe(stream, status, id, graph);
}
#endif

}  // extern "C"
