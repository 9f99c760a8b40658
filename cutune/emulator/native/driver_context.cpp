// Contexts. All of a device share its memory, streams and modules, which are forgotten when the last
// context of the device goes. The runtime's interface uses the primary context of its device.
#include <vector>

#include "driver.h"
#include "thread_own.h"

namespace cutune {

namespace {

struct Context {
    int device;
    bool is_primary;
    unsigned flags = 0;
    unsigned users = 0;  // that retained it, where it is a primary one, or made and attached it
    bool is_live = false;
    bool is_of_runtime = false;  // cudaSetDevice and others have retained it
    unsigned long long id = 0;
};

bool is_initialised = false;

// The current one is the last. Contexts are never deleted: another thread may hold a handle.
std::vector<Context*>& stack() { return own_of_thread<std::vector<Context*>>(); }

std::vector<Context*>& others() {
    static auto* const all = new std::vector<Context*>;
    return *all;
}

Context* primary(int device) {
    static auto* const all = [] {
        auto* const made = new std::vector<Context>;
        for (int number = 0; number < device_count(); ++number)
            made->push_back({number, true, 0, 0, false, false, static_cast<unsigned>(number) + 1});
        return made;
    }();
    return &(*all)[static_cast<size_t>(device)];
}

CUcontext handle_of(Context* context) { return reinterpret_cast<CUcontext>(context); }

// The context of a handle that is in use, or nullptr.
Context* find(CUcontext handle) {
    Context* const wanted = reinterpret_cast<Context*>(handle);
    for (int number = 0; number < device_count(); ++number)
        if (primary(number) == wanted) return wanted->is_live ? wanted : nullptr;
    for (Context* const each : others())
        if (each == wanted) return each->is_live ? each : nullptr;
    return nullptr;
}

void use_top() {
    if (!stack().empty()) use_device(stack().back()->device);
}

void set_top(Context* context) {
    if (!stack().empty()) stack().pop_back();
    if (context) stack().push_back(context);
    use_top();
}

bool is_used(int device) {
    if (primary(device)->is_live) return true;
    for (const Context* const each : others())
        if (each->is_live && each->device == device) return true;
    return false;
}

// What was made in contexts of the device goes with the last of them.
CUresult end(Context* context) {
    context->is_live = false;
    if (is_used(context->device)) return CUDA_SUCCESS;
    const OnDevice on(context->device);
    return forward([] { return cudaDeviceReset(); });
}

std::lock_guard<std::recursive_mutex> locked() {
    return std::lock_guard<std::recursive_mutex>(runtime().mutex);
}

CUresult create(CUcontext* result, unsigned flags, CUdevice device) {
    const CUresult problem = ready_for(device);
    if (problem != CUDA_SUCCESS) return problem;
    if (!result) return CUDA_ERROR_INVALID_VALUE;
    const auto lock = locked();
    const unsigned long long id = 1000 + others().size();
    others().push_back(new Context{device, false, flags, 1, true, false, id});
    stack().push_back(others().back());
    use_top();
    *result = handle_of(stack().back());
    return CUDA_SUCCESS;
}

CUresult release(CUdevice device) {
    const CUresult problem = ready_for(device);
    if (problem != CUDA_SUCCESS) return problem;
    const auto lock = locked();
    Context* const context = primary(device);
    if (context->users == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--context->users > 0 || context->is_of_runtime) return CUDA_SUCCESS;
    return end(context);
}

// The current context, or the error that there is none.
CUresult current(Context** context) {
    const CUresult problem = ready();
    if (problem == CUDA_SUCCESS) *context = stack().back();
    return problem;
}

}  // namespace

CUresult ready() {
    if (!is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
    if (stack().empty()) return CUDA_ERROR_INVALID_CONTEXT;
    return stack().back()->is_live ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult ready_for(CUdevice device) {
    if (!is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
    return is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

void use_primary_context(int device) {
    is_initialised = true;
    Context* const context = primary(device);
    context->is_live = context->is_of_runtime = true;
    set_top(context);
}

void need_context() {
    if (stack().empty()) use_primary_context(current_device());
}

}  // namespace cutune

using namespace cutune;

extern "C" {

CUresult cuInit(unsigned flags) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    runtime();
    is_initialised = true;
    return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
    return create(context, flags, device);
}

// As programs of before CUDA 3.2 call it.
CUresult cuCtxCreate(CUcontext* context, unsigned flags, CUdevice device) {
    return create(context, flags, device);
}

#if CUDA_VERSION >= 11040
CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int count, unsigned flags,
                        CUdevice device) {
    if (count != 0) return not_emulated("cuCtxCreate_v3 with execution affinity");
    return create(context, flags, device);
}
#endif

#if CUDA_VERSION < 12050
typedef struct CUctxCreateParams_st CUctxCreateParams;
#endif
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters, unsigned flags,
                        CUdevice device) {
    if (parameters) return not_emulated("cuCtxCreate_v4 with parameters");
    return create(context, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
    if (!is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
    const auto lock = locked();
    Context* const context = find(handle);
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->is_primary) return CUDA_ERROR_INVALID_CONTEXT;
    if (!stack().empty() && stack().back() == context) {
        stack().pop_back();
        use_top();
    }
    return end(context);
}

CUresult cuCtxDestroy(CUcontext handle) { return cuCtxDestroy_v2(handle); }

CUresult cuCtxAttach(CUcontext* context, unsigned flags) {
    if (flags != 0 || !context) return CUDA_ERROR_INVALID_VALUE;
    const CUresult problem = ready();
    if (problem != CUDA_SUCCESS) return problem;
    const auto lock = locked();
    ++stack().back()->users;
    *context = handle_of(stack().back());
    return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext handle) {
    if (!is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
    const auto lock = locked();
    Context* const context = find(handle);
    if (!context || context->users == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->is_primary) return release(context->device);
    return --context->users > 0 ? CUDA_SUCCESS : cuCtxDestroy_v2(handle);
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
    if (!is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
    const auto lock = locked();
    Context* const context = find(handle);
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    stack().push_back(context);
    use_top();
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext handle) { return cuCtxPushCurrent_v2(handle); }

CUresult cuCtxPopCurrent_v2(CUcontext* handle) {
    if (!is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
    if (stack().empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (handle) *handle = handle_of(stack().back());
    stack().pop_back();
    use_top();
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext* handle) { return cuCtxPopCurrent_v2(handle); }

CUresult cuCtxSetCurrent(CUcontext handle) {
    if (!is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
    const auto lock = locked();
    Context* const context = handle ? find(handle) : nullptr;
    if (handle && !context) return CUDA_ERROR_INVALID_CONTEXT;
    set_top(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* handle) {
    if (!is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    *handle = stack().empty() ? nullptr : handle_of(stack().back());
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
    Context* context = nullptr;
    const CUresult problem = current(&context);
    if (problem != CUDA_SUCCESS) return problem;
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = context->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned* flags) {
    Context* context = nullptr;
    const CUresult problem = current(&context);
    if (problem != CUDA_SUCCESS) return problem;
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = context->flags;
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12010
CUresult cuCtxSetFlags(unsigned flags) {
    Context* context = nullptr;
    const CUresult problem = current(&context);
    if (problem == CUDA_SUCCESS) context->flags = flags;
    return problem;
}
#endif

#if CUDA_VERSION >= 12000
CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
    Context* context = nullptr;
    const CUresult problem = handle ? CUDA_SUCCESS : current(&context);
    if (problem != CUDA_SUCCESS) return problem;
    const auto lock = locked();
    if (handle) context = find(handle);
    if (!context) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    *id = context->id;
    return CUDA_SUCCESS;
}
#endif

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
    if (!is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
    const auto lock = locked();
    if (handle && !find(handle)) return CUDA_ERROR_INVALID_CONTEXT;
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = 3020;  // what every driver since CUDA 3.2 says
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void) {
    return in_context([] { return cudaDeviceSynchronize(); });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    return in_context([&] { return cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value); });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
    return in_context([&] { return cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit)); });
}

// Settings that change speed alone are accepted and have no effect.
CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
    if (config) *config = CU_FUNC_CACHE_PREFER_NONE;
    return ready();
}

CUresult cuCtxSetCacheConfig(CUfunc_cache) { return ready(); }

CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
    if (config) *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return ready();
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig) { return ready(); }

CUresult cuCtxResetPersistingL2Cache(void) { return ready(); }

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    return in_context([&] { return cudaDeviceGetStreamPriorityRange(least, greatest); });
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
    const auto lock = locked();
    const Context* const peer = find(handle);
    if (!peer) return CUDA_ERROR_INVALID_CONTEXT;
    return in_context([&] { return cudaDeviceEnablePeerAccess(peer->device, flags); });
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
    const auto lock = locked();
    const Context* const peer = find(handle);
    if (!peer) return CUDA_ERROR_INVALID_CONTEXT;
    return in_context([&] { return cudaDeviceDisablePeerAccess(peer->device); });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device) {
    const CUresult problem = ready_for(device);
    if (problem != CUDA_SUCCESS) return problem;
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    const auto lock = locked();
    Context* const context = primary(device);
    context->is_live = true;
    ++context->users;
    *handle = handle_of(context);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { return release(device); }

CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return release(device); }

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    const CUresult problem = ready_for(device);
    if (problem != CUDA_SUCCESS) return problem;
    const OnDevice on(device);
    return forward([] { return cudaDeviceReset(); });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) { return cuDevicePrimaryCtxReset_v2(device); }

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
    const CUresult problem = ready_for(device);
    if (problem == CUDA_SUCCESS) primary(device)->flags = flags;
    return problem;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
    const CUresult problem = ready_for(device);
    if (problem != CUDA_SUCCESS) return problem;
    if (flags) *flags = primary(device)->flags;
    if (active) *active = primary(device)->is_live;
    return CUDA_SUCCESS;
}

}  // extern "C"
