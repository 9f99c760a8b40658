// Graphs made node by node, and their launches.
#include "runtime_graphs.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime.h"
#include "runtime_copy.h"
#include "runtime_streams.h"

namespace cutune {

Node* Graph::add(cudaGraphNodeType type, Work work, std::vector<Node*> after) {
    nodes.emplace_back(new Node{type, std::move(work), false, std::move(after), nullptr});
    return nodes.back().get();
}

namespace {

// A graph as it was when it was instantiated, in an order in which it can be executed.
struct Executable {
    std::vector<Node> steps;
    std::map<const Node*, size_t> step_of;
};

Graph* as_graph(cudaGraph_t handle) { return reinterpret_cast<Graph*>(handle); }
Node* as_node(cudaGraphNode_t handle) { return reinterpret_cast<Node*>(handle); }
Executable* as_executable(cudaGraphExec_t handle) { return reinterpret_cast<Executable*>(handle); }

void arrange(const Node* node, std::set<const Node*>* done, Executable* executable) {
    if (!done->insert(node).second) return;
    for (const Node* earlier : node->after) arrange(earlier, done, executable);
    executable->step_of[node] = executable->steps.size();
    executable->steps.push_back(*node);
}

Executable arranged(const Graph& graph) {
    Executable result;
    std::set<const Node*> done;
    for (const auto& node : graph.nodes) arrange(node.get(), &done, &result);
    return result;
}

cudaError_t execute(const Executable& executable) {
    for (const Node& step : executable.steps) {
        if (!step.work) continue;
        const OnDevice on(step.device);
        const cudaError_t error = step.calls_user ? step.work() : call(step.work);
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

std::vector<Node*> nodes_of(const cudaGraphNode_t* handles, size_t count) {
    std::vector<Node*> found;
    for (size_t k = 0; k < count; k++) found.push_back(as_node(handles[k]));
    return found;
}

cudaError_t add(cudaGraphNode_t* result, cudaGraph_t graph, const cudaGraphNode_t* after,
                size_t count, cudaGraphNodeType type, Work work, bool calls_user = false) {
    return call([&] {
        if (!result || !graph || (count && !after)) return cudaErrorInvalidValue;
        Node* const node = as_graph(graph)->add(type, std::move(work), nodes_of(after, count));
        node->calls_user = calls_user;
        *result = reinterpret_cast<cudaGraphNode_t>(node);
        return cudaSuccess;
    });
}

// The same, with the description of the work; a null pointer is an error.
template <class Given>
cudaError_t add(cudaGraphNode_t* result, cudaGraph_t graph, const cudaGraphNode_t* after,
                size_t count, cudaGraphNodeType type, const Given* given,
                Work (*work)(const Given&), bool calls_user) {
    if (!given) return remember(cudaErrorInvalidValue);
    return add(result, graph, after, count, type, work(*given), calls_user);
}

cudaError_t kernel_work(const cudaKernelNodeParams& given, Work* work,
                        std::shared_ptr<KernelNode>* node) {
    if (given.extra) return cudaErrorNotSupported;
    return prepare_launch(given.func, given.gridDim, given.blockDim, given.kernelParams,
                          given.sharedMemBytes, nullptr, false, work, node);
}

Work memset_work(const cudaMemsetParams& given) {
    return [given]() -> cudaError_t {
        char* const start = static_cast<char*>(given.dst);
        const size_t width = given.width * given.elementSize;
        const Rows rows{width, std::max<size_t>(given.height, 1), 1};
        return fill({start, given.pitch, 0}, given.value, given.elementSize, rows);
    };
}

Work host_work(const cudaHostNodeParams& given) {
    return [given] {
        given.fn(given.userData);
        return cudaSuccess;
    };
}

Work line_work(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return [=] { return copy(place(to), place(from), {bytes, 1, 1}, kind); };
}

Work request_work(const cudaMemcpy3DParms& request) {
    return [request] { return copy_request(request); };
}

cudaError_t replace(cudaGraphExec_t handle, cudaGraphNode_t node, Work work) {
    return call([&] {
        if (!handle) return cudaErrorInvalidValue;
        Executable& executable = *as_executable(handle);
        const auto found = executable.step_of.find(as_node(node));
        if (found == executable.step_of.end()) return cudaErrorInvalidValue;
        executable.steps[found->second].work = std::move(work);
        return cudaSuccess;
    });
}

template <class Given>
cudaError_t replace(cudaGraphExec_t handle, cudaGraphNode_t node, const Given* given,
                    Work (*work)(const Given&)) {
    return given ? replace(handle, node, work(*given)) : remember(cudaErrorInvalidValue);
}

cudaError_t instantiate(cudaGraphExec_t* result, cudaGraph_t graph) {
    return call([&] {
        if (!result || !graph) return cudaErrorInvalidValue;
        *result = reinterpret_cast<cudaGraphExec_t>(new Executable(arranged(*as_graph(graph))));
        return cudaSuccess;
    });
}

// The same kinds of nodes in the same order: then the new ones take the old ones' places.
cudaError_t update(cudaGraphExec_t handle, cudaGraph_t graph) {
    Executable& old = *as_executable(handle);
    Executable fresh = arranged(*as_graph(graph));
    const auto same = [](const Node& a, const Node& b) { return a.type == b.type; };
    if (!std::equal(old.steps.begin(), old.steps.end(), fresh.steps.begin(), fresh.steps.end(),
                    same))
        return cudaErrorGraphExecUpdateFailure;
    old.steps = std::move(fresh.steps);
    return cudaSuccess;
}

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
    return call([&] {
        if (!graph) return cudaErrorInvalidValue;
        *graph = reinterpret_cast<cudaGraph_t>(new Graph);
        return cudaSuccess;
    });
}

// The clone's nodes are new ones that depend on each other as the originals do.
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
    return call([&] {
        if (!clone || !graph) return cudaErrorInvalidValue;
        Graph* const fresh = new Graph;
        std::map<const Node*, Node*> copies;
        for (const auto& node : as_graph(graph)->nodes) {
            fresh->nodes.emplace_back(new Node(*node));
            copies[node.get()] = fresh->nodes.back().get();
        }
        for (const auto& node : fresh->nodes)
            for (Node*& earlier : node->after) earlier = copies[earlier];
        *clone = reinterpret_cast<cudaGraph_t>(fresh);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    return call([&] {
        if (!graph) return cudaErrorInvalidValue;
        delete as_graph(graph);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* after, size_t count) {
    return add(node, graph, after, count, cudaGraphNodeTypeEmpty, nullptr);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, size_t count,
                                   const cudaKernelNodeParams* given) {
    if (!given) return remember(cudaErrorInvalidValue);
    return call([&] {
        Work work;
        std::shared_ptr<KernelNode> kernel;
        cudaError_t error = kernel_work(*given, &work, &kernel);
        if (error != cudaSuccess) return error;
        error = add(node, graph, after, count, cudaGraphNodeTypeKernel, std::move(work));
        if (error == cudaSuccess) as_node(*node)->kernel = std::move(kernel);
        return error;
    });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* result) {
    return call([&] {
        if (!node || !result || !as_node(node)->kernel) return cudaErrorInvalidValue;
        *result = as_node(node)->kernel->given;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* given) {
    return call([&] {
        if (!node || !given || !as_node(node)->kernel) return cudaErrorInvalidValue;
        return kernel_work(*given, &as_node(node)->work, &as_node(node)->kernel);
    });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* given) {
    if (!given) return remember(cudaErrorInvalidValue);
    return call([&] {
        Work work;
        const cudaError_t error = kernel_work(*given, &work, nullptr);
        return error == cudaSuccess ? replace(executable, node, std::move(work)) : error;
    });
}

// Both functions of a kind of node that one structure describes, for instance
// `cudaGraphAddMemsetNode` and `cudaGraphExecMemsetNodeSetParams`.
#define NODE_BY_DESCRIPTION(KIND, GIVEN, WORK, CALLS_USER) \
    cudaError_t cudaGraphAdd##KIND##Node(cudaGraphNode_t* node, cudaGraph_t graph, \
                                         const cudaGraphNode_t* after, size_t count, \
                                         const GIVEN* given) { \
        return add(node, graph, after, count, cudaGraphNodeType##KIND, given, WORK, CALLS_USER); \
    } \
    cudaError_t cudaGraphExec##KIND##NodeSetParams(cudaGraphExec_t executable, \
                                                   cudaGraphNode_t node, const GIVEN* given) { \
        return replace(executable, node, given, WORK); \
    }
NODE_BY_DESCRIPTION(Memcpy, cudaMemcpy3DParms, request_work, false)
NODE_BY_DESCRIPTION(Memset, cudaMemsetParams, memset_work, false)
NODE_BY_DESCRIPTION(Host, cudaHostNodeParams, host_work, true)

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* after, size_t count, void* to,
                                     const void* from, size_t bytes, cudaMemcpyKind kind) {
    return add(node, graph, after, count, cudaGraphNodeTypeMemcpy,
               line_work(to, from, bytes, kind));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node,
                                               void* to, const void* from, size_t bytes,
                                               cudaMemcpyKind kind) {
    return replace(executable, node, line_work(to, from, bytes, kind));
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* after, size_t count,
                                       cudaGraph_t child) {
    if (!child) return remember(cudaErrorInvalidValue);
    const auto copy_of_child = std::make_shared<Executable>(arranged(*as_graph(child)));
    return add(node, graph, after, count, cudaGraphNodeTypeGraph,
               [=] { return execute(*copy_of_child); }, true);
}

#if CUDART_VERSION >= 13000
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData*,
                                     size_t count) {
#else
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, size_t count) {
#endif
    return call([&] {
        if (!graph || (count && (!from || !to))) return cudaErrorInvalidValue;
        for (size_t k = 0; k < count; k++) as_node(to[k])->after.push_back(as_node(from[k]));
        return cudaSuccess;
    });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    return call([&] {
        if (!graph || !count) return cudaErrorInvalidValue;
        const auto& all = as_graph(graph)->nodes;
        if (!nodes) *count = all.size();
        for (size_t k = 0; nodes && k < *count; k++)
            nodes[k] = k < all.size() ? reinterpret_cast<cudaGraphNode_t>(all[k].get()) : nullptr;
        *count = std::min(*count, all.size());
        return cudaSuccess;
    });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
    if (!node || !type) return remember(cudaErrorInvalidValue);
    *type = as_node(node)->type;
    return cudaSuccess;
}

#if CUDART_VERSION >= 12000
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
    return instantiate(executable, graph);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
    return call([&] {
        if (!executable || !graph || !result) return cudaErrorInvalidValue;
        const cudaError_t error = update(executable, graph);
        *result = {};
        result->result = error == cudaSuccess ? cudaGraphExecUpdateSuccess
                                              : cudaGraphExecUpdateErrorTopologyChanged;
        return error;
    });
}
#else
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 cudaGraphNode_t* node, char*, size_t) {
    if (node) *node = nullptr;
    return instantiate(executable, graph);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphNode_t* node, cudaGraphExecUpdateResult* result) {
    return call([&] {
        if (!executable || !graph || !result) return cudaErrorInvalidValue;
        if (node) *node = nullptr;
        const cudaError_t error = update(executable, graph);
        *result = error == cudaSuccess ? cudaGraphExecUpdateSuccess
                                       : cudaGraphExecUpdateErrorTopologyChanged;
        return error;
    });
}
#endif

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long) {
    return instantiate(executable, graph);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    return call([&] {
        if (!executable) return cudaErrorInvalidValue;
        delete as_executable(executable);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
    return call([&] {
        return executable && known_stream(stream) ? cudaSuccess : cudaErrorInvalidValue;
    });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    const cudaError_t error = cudaGraphUpload(executable, stream);
    if (error != cudaSuccess) return error;
    if (!captured_graph(stream)) return execute(*as_executable(executable));
    const auto inner = std::make_shared<Executable>(*as_executable(executable));
    capture(stream, cudaGraphNodeTypeGraph, [=] { return execute(*inner); }, true);
    return cudaSuccess;
}

}  // extern "C"
