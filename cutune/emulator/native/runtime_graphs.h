// Graphs: work that is kept and done later, in an order that respects its dependencies.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <vector>

#include "runtime_device.h"

namespace cutune {

using Work = std::function<cudaError_t()>;

// What a kernel node was made of, with a copy of the arguments.
struct KernelNode {
    cudaKernelNodeParams given{};
    std::vector<uint8_t> parameters;
    std::vector<void*> pointers;  // into `parameters`, as given.kernelParams
};

struct Node {
    cudaGraphNodeType type;
    Work work;
    bool calls_user = false;  // host functions run outside of the runtime's lock
    std::vector<Node*> after;
    std::shared_ptr<KernelNode> kernel;
    int device = current_device();  // that was in use when it was made
};

struct Graph {
    std::vector<std::unique_ptr<Node>> nodes;
    Node* add(cudaGraphNodeType type, Work work, std::vector<Node*> after = {});
};

// Launches are prepared by runtime_launch.cpp: the kernel is looked up, the configuration checked
// and the arguments copied now, the kernel runs when the work is done.
cudaError_t prepare_launch(const void* stub, dim3 grid, dim3 block, void** arguments, size_t shared,
                           cudaStream_t stream, bool cooperative, Work* work,
                           std::shared_ptr<KernelNode>* node);

// The graph that a stream captures, or nullptr; where work of the stream goes meanwhile.
Graph* captured_graph(cudaStream_t stream);
Node* capture(cudaStream_t stream, cudaGraphNodeType type, Work work, bool calls_user = false);
// Work on `stream` that waits for an event recorded in a capture joins that capture.
unsigned long long capture_of(cudaStream_t stream);
void join_capture(cudaStream_t stream, unsigned long long capture);

}  // namespace cutune
