// Launches: the execution configuration is checked as CUDA checks it, the machine runs the kernel
// at once, and what went wrong becomes the error that CUDA would report.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "runtime.h"
#include "runtime_check.h"
#include "runtime_graphs.h"
#include "runtime_log.h"
#include "runtime_modules.h"
#include "runtime_peers.h"
#include "runtime_streams.h"
#include "thread_own.h"

namespace cutune {

namespace {

struct Configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    bool cooperative = false;
};

// What <<<…>>> left for the stub that follows; nested launches in arguments make it a stack.
std::vector<Configuration>& pending() { return own_of_thread<std::vector<Configuration>>(); }
thread_local int next_site = -1;
thread_local uint64_t next_signature = 0;
std::vector<Member>& next_members() { return own_of_thread<std::vector<Member>>(); }

enum class Counting { off, counters, trace };

Counting counting() {
    static const Counting mode = [] {
        const std::string text = environment("CUTUNE_COUNT", "0");
        return text == "0" ? Counting::off : text == "trace" ? Counting::trace : Counting::counters;
    }();
    return mode;
}

uint64_t number_from(const char* name, uint64_t fallback) {
    const std::string text = environment(name);
    return text.empty() ? fallback : std::strtoull(text.c_str(), nullptr, 10);
}

// CUDA 13 changed what a launch of an impossible shape returns (seen on an H200, driver 580).
constexpr cudaError_t kBadShape =
    CUDART_VERSION >= 13000 ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;

cudaError_t check_shape(const dim3& grid, const dim3& block) {
    const uint64_t threads = uint64_t{block.x} * block.y * block.z;
    if (threads == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024)
        return kBadShape;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return kBadShape;
    if (grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535) return kBadShape;
    return cudaSuccess;
}

cudaError_t check_kernel(const Function& function, const dim3& block, size_t shared) {
    const KernelCode& code = *function.here().code;
    if (uint64_t{block.x} * block.y * block.z > code.max_threads) return cudaErrorInvalidValue;
    const Device& d = device();
    const size_t limit =
        function.here().max_dynamic_shared > 0
            ? static_cast<size_t>(function.here().max_dynamic_shared) + code.static_shared_bytes
            : static_cast<size_t>(d.shared_per_block);
    return code.static_shared_bytes + shared > limit ? cudaErrorInvalidValue : cudaSuccess;
}

struct Ending {
    cudaError_t error;
    const char* what;
};

Ending ending_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::ok: return {cudaSuccess, ""};
        case Outcome::illegal_address: return {cudaErrorIllegalAddress, "illegal address"};
        case Outcome::misaligned_address: return {cudaErrorMisalignedAddress, "misaligned address"};
        case Outcome::trap: return {cudaErrorLaunchFailure, "trap"};
        case Outcome::assertion: return {cudaErrorAssert, "failed assertion"};
        case Outcome::deadlock: return {cudaErrorLaunchTimeout, "deadlock"};
        case Outcome::instruction_limit: return {cudaErrorLaunchTimeout, "CUTUNE_INSTRUCTION_LIMIT reached"};
        case Outcome::unsupported: return {cudaErrorNotSupported, "not supported"};
        case Outcome::out_of_time: return {cudaErrorLaunchTimeout, "out of time"};
    }
    return {cudaErrorUnknown, "unknown outcome"};
}

std::vector<uint8_t> pack_parameters(const KernelCode& code, void** arguments) {
    std::vector<uint8_t> buffer(std::max<size_t>(code.parameter_bytes, 1));
    for (size_t i = 0; i < code.parameter_offsets.size(); ++i)
        std::memcpy(&buffer[code.parameter_offsets[i]], arguments[i], code.parameter_sizes[i]);
    return buffer;
}

// The watchdog: about ten minutes of one core in a single launch.
constexpr uint64_t kInstructionLimit = 100000000000;

Launch describe(const Configuration& configuration, const std::vector<uint8_t>& parameters) {
    static const uint64_t trace_every = number_from("CUTUNE_TRACE_EVERY", 1);
    static const uint64_t instruction_limit =
        number_from("CUTUNE_INSTRUCTION_LIMIT", kInstructionLimit);
    static const uint64_t threads =
        number_from("CUTUNE_EMULATOR_THREADS", std::thread::hardware_concurrency());
    const dim3& grid = configuration.grid;
    const dim3& block = configuration.block;
    Launch launch{};
    std::copy_n(&grid.x, 3, launch.grid);
    std::copy_n(&block.x, 3, launch.block);
    launch.dynamic_shared_bytes = static_cast<uint32_t>(configuration.shared);
    launch.parameters = parameters.data();
    launch.count = counting() != Counting::off;
    launch.trace = counting() == Counting::trace;
    launch.trace_every = static_cast<uint32_t>(trace_every);
    launch.instruction_limit = instruction_limit;
    launch.threads = static_cast<uint32_t>(threads);
    launch.checker = checker();
    launch.cooperative = configuration.cooperative;
    return launch;
}

// Where $CUTUNE_SAMPLED_THREADS says so, launches of an experiment execute only some blocks, which
// have so many threads together: the first, the last, and one in each part of the grid between.
// Linear indices; empty: all blocks.
std::vector<uint64_t> sampled_blocks(const Launch& launch) {
    static const uint64_t wanted = number_from("CUTUNE_SAMPLED_THREADS", 0);
    const uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
    const uint64_t most = std::max<uint64_t>(wanted / threads, 3);
    const uint64_t all = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    if (wanted == 0 || !is_for_experiments() || all <= most || launch.cooperative) return {};
    std::vector<uint64_t> chosen{0};
    const uint64_t part = (all - 2) / (most - 2);
    std::minstd_rand random;
    for (uint64_t k = 0; k < most - 2; k++) chosen.push_back(1 + part * k + random() % part);
    chosen.push_back(all - 1);
    return chosen;
}

// An error in a kernel is found later on a GPU: the launch itself succeeds, and every call that
// follows returns the error.
cudaError_t settle(const Report& report) {
    const Ending ending = ending_of(report.outcome);
    if (ending.error == cudaSuccess) return cudaSuccess;
    say("%s: %s", ending.what, report.message.c_str());
    // What the machine refused changed nothing on the device: an ordinary error of this launch.
    if (report.outcome == Outcome::unsupported) return ending.error;
    runtime().sticky[current_device()] = ending.error;
    return cudaSuccess;
}

cudaError_t check_launch(const Function& function, const Configuration& configuration) {
    if (!known_stream(configuration.stream) || device_of(configuration.stream) != current_device())
        return cudaErrorInvalidResourceHandle;
    const cudaError_t error = check_shape(configuration.grid, configuration.block);
    if (error != cudaSuccess) return error;
    return check_kernel(function, configuration.block, configuration.shared);
}

// A program that does not ask for the error of a launch would not know why it computes nothing.
void say_refused(const Function& function, const Configuration& asked, cudaError_t error) {
    if (is_for_experiments()) return;
    const auto extents = [](const dim3& of) {
        return std::to_string(of.x) + "x" + std::to_string(of.y) + "x" + std::to_string(of.z);
    };
    const std::string text = "kernel '" + function.name + "' is not launched: " +
                             cudaGetErrorString(error) + " (grid " + extents(asked.grid) +
                             ", block " + extents(asked.block) + ", " +
                             std::to_string(asked.shared) + " bytes of dynamic shared memory)";
    say_once(text, "launch " + function.name + std::to_string(error));
}

// Warp instructions that the whole program may still execute, and until when. Behind that, launches
// are only logged: what the program does with their results does not matter then.
class Budget {
  public:
    uint64_t left() {
        if (left_ > 0 && has_deadline() && clock::now() > deadline_) end();
        return left_;
    }

    void limit(Launch* launch) const {
        const uint64_t own = launch->instruction_limit ? launch->instruction_limit : UINT64_MAX;
        if (left_ < own) launch->instruction_limit = left_;
        if (has_deadline())
            launch->deadline = std::chrono::nanoseconds(deadline_.time_since_epoch()).count();
    }

    // Was this launch ended because nothing is left?
    bool spend(const Launch& launch, const Report& report) {
        if (left_ == UINT64_MAX && !has_deadline()) return false;
        const bool is_cut =
            report.outcome == Outcome::out_of_time ||
            (report.outcome == Outcome::instruction_limit && launch.instruction_limit == left_);
        left_ -= std::min(left_, report.warp_instructions);
        if (is_cut || left_ == 0) end();
        return is_cut;
    }

  private:
    using clock = std::chrono::steady_clock;
    const uint64_t seconds_ = number_from("CUTUNE_EXECUTE_SECONDS", 0);
    const clock::time_point deadline_ = clock::now() + std::chrono::seconds(seconds_);
    const bool stops_ = environment("CUTUNE_BEYOND_LIMIT") == "stop";
    uint64_t left_ = environment("CUTUNE_SKIP_KERNELS") == "1"
                         ? 0
                         : number_from("CUTUNE_EXECUTE_LIMIT", UINT64_MAX);

    bool has_deadline() const { return seconds_ > 0; }

    // Where each result counts the program ends here: all lines that were logged are right.
    void end() {
        if (stops_) _exit(0);
        left_ = 0;
        log_cut();
    }
};

Budget& budget() {
    static Budget shared;
    return shared;
}

Report execute(Function* function, Launch* launch) {
    if (budget().left() == 0) return Report();
    budget().limit(launch);
    DeviceMemory memory(current_device());
    const Report report =
        run(function->module->here().image, function->here().code, *launch, &memory);
    return budget().spend(*launch, report) ? Report() : report;
}

// The process that has loaded this, not one that was forked since.
const pid_t first_process = getpid();

cudaError_t launch_function(Function* function, const Configuration& configuration,
                            const std::vector<uint8_t>& parameters, int site, uint64_t signature,
                            const std::vector<Member>& members) {
    Launch launch = describe(configuration, parameters);
    const std::vector<uint64_t> sampled = sampled_blocks(launch);
    if (!sampled.empty()) {
        launch.blocks = sampled.data();
        launch.block_count = sampled.size();
    }
    const Report report = execute(function, &launch);
    advance_clock_by_launch(report.warp_instructions,
                            uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2]);
    log_launch({site, signature, members, function, &launch, &report});
    log_findings(*function, report);
    // The launch as it was asked for, behind the last experiment. Whoever waits for a process that
    // the program has forked waits for what that does.
    if (experiments_are_made() && getpid() == first_process) _exit(0);
    if (configuration.cooperative && written())
        runtime().arena.each_live([](const Block& b) { written()->write(b.base, b.size); });
    return settle(report);
}

// A launch with its arguments copied; it may happen later and more than once.
struct Prepared {
    Function* function = nullptr;
    Configuration configuration;
    std::vector<uint8_t> parameters;
    Work work;
};

cudaError_t prepare(const void* stub, const Configuration& configuration, void** arguments,
                    Prepared* result) {
    const int site = next_site;
    const std::vector<Member> members = std::exchange(next_members(), {});
    next_site = -1;
    const uint64_t signature = std::exchange(next_signature, 0);
    cudaError_t error = find_function(stub, &result->function);
    if (error != cudaSuccess) return error;
    error = check_launch(*result->function, configuration);
    if (error != cudaSuccess) {
        say_refused(*result->function, configuration, error);
        return error;
    }
    result->configuration = configuration;
    result->parameters = pack_parameters(*result->function->here().code, arguments);
    result->work = [stub, configuration, site, signature, members,
                    parameters = result->parameters, device = current_device()] {
        const OnDevice on(device);
        // A graph may be launched after its module was unloaded.
        Function* function = nullptr;
        const cudaError_t error = find_function(stub, &function);
        if (error != cudaSuccess) return error;
        return launch_function(function, configuration, parameters, site, signature, members);
    };
    return cudaSuccess;
}

// What a program can ask of a kernel node, and give back changed.
std::shared_ptr<KernelNode> node_of(const Prepared& launch) {
    const auto node = std::make_shared<KernelNode>();
    node->parameters = launch.parameters;
    for (const uint32_t offset : launch.function->here().code->parameter_offsets)
        node->pointers.push_back(&node->parameters[offset]);
    // A launch names it by a handle that stubs keep.
    node->given.func = const_cast<void*>(launch.function->stub);
    node->given.gridDim = launch.configuration.grid;
    node->given.blockDim = launch.configuration.block;
    node->given.sharedMemBytes = static_cast<unsigned>(launch.configuration.shared);
    node->given.kernelParams = node->pointers.data();
    return node;
}

cudaError_t launch_stub(const void* stub, const Configuration& configuration, void** arguments) {
    return call([&] {
        Prepared launch;
        const cudaError_t error = prepare(stub, configuration, arguments, &launch);
        if (error != cudaSuccess) return error;
        if (!captured_graph(configuration.stream)) return launch.work();
        capture(configuration.stream, cudaGraphNodeTypeKernel, launch.work)->kernel =
            node_of(launch);
        return cudaSuccess;
    });
}

}  // namespace

cudaError_t prepare_launch(const void* stub, dim3 grid, dim3 block, void** arguments, size_t shared,
                           cudaStream_t stream, bool cooperative, Work* work,
                           std::shared_ptr<KernelNode>* node) {
    Prepared launch;
    const cudaError_t error =
        prepare(stub, {grid, block, shared, stream, cooperative}, arguments, &launch);
    if (error != cudaSuccess) return error;
    *work = launch.work;
    if (node) *node = node_of(launch);
    return cudaSuccess;
}

}  // namespace cutune

using namespace cutune;

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
    pending().push_back({grid, block, shared, stream});
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    if (pending().empty()) return remember(cudaErrorMissingConfiguration);
    const Configuration top = pending().back();
    pending().pop_back();
    *grid = top.grid;
    *block = top.block;
    *shared = top.shared;
    std::memcpy(stream, &top.stream, sizeof top.stream);
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* stub, dim3 grid, dim3 block, void** arguments,
                             size_t shared, cudaStream_t stream) {
    return launch_stub(stub, {grid, block, shared, stream}, arguments);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared, cudaStream_t stream) {
    return launch_stub(kernel, {grid, block, shared, stream}, arguments);
}

cudaError_t cudaLaunchCooperativeKernel(const void* stub, dim3 grid, dim3 block, void** arguments,
                                        size_t shared, cudaStream_t stream) {
    int resident = 0;
    const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &resident, stub, static_cast<int>(block.x * block.y * block.z), shared);
    if (error != cudaSuccess) return error;
    const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
    if (blocks > static_cast<uint64_t>(resident) * static_cast<uint64_t>(device().multiprocessors))
        return remember(cudaErrorCooperativeLaunchTooLarge);
    return launch_stub(stub, {grid, block, shared, stream, true}, arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* stub,
                                void** arguments) {
    if (!config) return remember(cudaErrorInvalidValue);
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        const cudaLaunchAttribute& attribute = config->attrs[i];
        const auto& cluster = attribute.val.clusterDim;
        if (attribute.id == cudaLaunchAttributeClusterDimension &&
            (cluster.x > 1 || cluster.y > 1 || cluster.z > 1)) {
            say_once("thread block clusters are not supported by the emulated device");
            return remember(cudaErrorNotSupported);
        }
        if (attribute.id == cudaLaunchAttributeCooperative && attribute.val.cooperative)
            return cudaLaunchCooperativeKernel(stub, config->gridDim, config->blockDim, arguments,
                                               config->dynamicSmemBytes, config->stream);
    }
    return cudaLaunchKernel(stub, config->gridDim, config->blockDim, arguments,
                            config->dynamicSmemBytes, config->stream);
}

// Called by instrumented programs through a weak symbol: the next launch of this thread comes from
// launch site `site`.
void cutune_emulated_site(int site) {
    next_site = site;
    next_members().clear();
}

// Likewise: the types of its arguments, as a number.
void cutune_emulated_signature(unsigned long long signature) { next_signature = signature; }

// Likewise: behind the arguments of that launch, at `position`, stands an integer within one.
void cutune_emulated_member(int position, int argument, int offset, int bytes, int is_signed) {
    next_members().push_back({position, argument, offset, bytes, is_signed});
}

}  // extern "C"
