// Loads modules of the driver's interface and finds their kernels and variables.
#include "driver_modules.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "driver.h"

namespace cutune {

namespace {

constexpr uint32_t kFatBinary = 0xBA55ED50, kWrapper = 0x466243B1, kElf = 0x464C457F;

std::set<LoadedModule*>& loaded() {
    static auto* const all = new std::set<LoadedModule*>;
    return *all;
}

unsigned architecture_of(const std::string& ptx) {
    const size_t found = ptx.find(".target sm_");
    return found == std::string::npos
               ? 0
               : static_cast<unsigned>(std::strtoul(&ptx[found + 11], nullptr, 10));
}

}  // namespace

FatBinary read_image(const void* image, size_t bytes) {
    uint32_t magic = 0;
    std::memcpy(&magic, image, sizeof magic);
    if (magic == kFatBinary) return read_fat_binary(image, bytes);
    if (magic == kWrapper && bytes == SIZE_MAX) {  // a pointer, which no file holds
        const void* container = nullptr;
        std::memcpy(&container, static_cast<const char*>(image) + 8, sizeof container);
        return read_fat_binary(container);
    }
    FatBinary found;
    if (magic == kElf) {
        found.problem = "it is a cubin, which holds machine code alone";
        return found;
    }
    found.ptx = static_cast<const char*>(image);
    found.architecture = architecture_of(found.ptx);
    if (found.architecture == 0) {
        found.ptx.clear();
        found.problem = "it is neither PTX nor a fat binary";
    }
    return found;
}

cudaError_t add_module(const void* image, int device, LoadedModule** result, size_t bytes) {
    return call([&] {
        if (!image || !result) return cudaErrorInvalidValue;
        auto fresh = std::make_unique<LoadedModule>();
        const FatBinary binary = read_image(image, bytes);
        if (binary.ptx.empty()) {
            say("this module cannot be loaded on the emulated device: %s; compile it to PTX (nvcc "
                "-ptx), or let the program compile it under 'cutune run', where nvcc gives PTX",
                binary.problem.c_str());
            return cudaErrorNoKernelImageForDevice;
        }
        fresh->module.text = binary.ptx;
        fresh->module.architecture = binary.architecture;
        fresh->module.only_device = device;
        const cudaError_t error = load(&fresh->module);
        if (error != cudaSuccess) return error;
        *result = fresh.release();
        loaded().insert(*result);
        return cudaSuccess;
    });
}

LoadedModule* find_module(const void* handle) {
    const auto found = loaded().find(static_cast<LoadedModule*>(const_cast<void*>(handle)));
    return found == loaded().end() ? nullptr : *found;
}

void drop_module(LoadedModule* module) {
    for (const auto& entry : module->variables) runtime().arena.forget(entry.second);
    // Handles are never used twice: a graph may still hold one.
    for (auto& entry : module->functions) forget_function(entry.second.release());
    for (Module::Loaded& each : module->module.on)
        if (each.image) unload_module(each.image);
    loaded().erase(module);
    delete module;
}

void drop_loaded_modules() {
    const std::set<LoadedModule*> all = loaded();
    for (LoadedModule* const each : all)
        if (each->module.only_device == current_device()) drop_module(each);
}

cudaError_t function_of(LoadedModule* module, const char* name, Function** result) {
    return call([&] {
        if (!name || !result) return cudaErrorInvalidValue;
        const cudaError_t error = load(&module->module);
        if (error != cudaSuccess) return error;
        if (!find_kernel(module->module.here().image, name)) return cudaErrorSymbolNotFound;
        std::unique_ptr<Function>& function = module->functions[name];
        if (!function) {
            function = std::make_unique<Function>();
            function->module = &module->module;
            function->name = name;
            keep_function(function.get());
        }
        *result = function.get();
        return cudaSuccess;
    });
}

cudaError_t variable_of(LoadedModule* module, const char* name, uint64_t* base, size_t* bytes) {
    return call([&] {
        if (!name) return cudaErrorInvalidValue;
        const cudaError_t error = load(&module->module);
        if (error != cudaSuccess) return error;
        uint64_t size = 0;
        const uint64_t address = module_variable(module->module.here().image, name, &size);
        if (address == 0) return cudaErrorSymbolNotFound;
        runtime().arena.adopt(address, size, MemoryKind::variable, 0, current_device());
        module->variables[name] = address;
        if (base) *base = address;
        if (bytes) *bytes = size;
        return cudaSuccess;
    });
}

namespace {

std::string content_of(const char* path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return "";
    // A zero behind it: PTX is a text.
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()) +
           '\0';
}

// The logs that a program asks for stay empty: what goes wrong is said on stderr.
void clear_logs(unsigned count, const CUjit_option* options, void** values) {
    for (unsigned i = 0; i < count && options && values; ++i) {
        const CUjit_option each = options[i];
        if (each == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES || each == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            values[i] = nullptr;
        const bool is_log = each == CU_JIT_INFO_LOG_BUFFER || each == CU_JIT_ERROR_LOG_BUFFER;
        if (is_log && values[i]) *static_cast<char*>(values[i]) = '\0';
    }
}

template <class Body>
CUresult with_module(const void* handle, Body body) {
    return in_context([&] {
        return call([&] {
            LoadedModule* const module = find_module(handle);
            return module ? body(module) : cudaErrorInvalidResourceHandle;
        });
    });
}

template <class Handle>
CUresult load_for(const void* image, int device, Handle* result, size_t bytes = SIZE_MAX) {
    return in_context([&] {
        if (!result) return cudaErrorInvalidValue;
        LoadedModule* module = nullptr;
        const cudaError_t error = add_module(image, device, &module, bytes);
        if (error == cudaSuccess) *result = reinterpret_cast<Handle>(module);
        return error;
    });
}

// What was given to a linker: PTX, one text behind another.
struct Linked {
    std::string ptx;
};

Linked* linked(CUlinkState state) { return reinterpret_cast<Linked*>(state); }

CUresult add_to(CUlinkState state, const void* data, size_t bytes) {
    return in_context([&] {
        if (!state || !data) return cudaErrorInvalidValue;
        const std::string whole = std::string(static_cast<const char*>(data), bytes) + '\0';
        const FatBinary binary =
            bytes < 4 ? FatBinary{"", 0, {}, "it is empty"} : read_image(whole.data(), bytes);
        if (binary.ptx.empty()) {
            say("this cannot be linked on the emulated device: %s; give PTX to the linker",
                binary.problem.c_str());
            return cudaErrorNoKernelImageForDevice;
        }
        linked(state)->ptx += binary.ptx + '\n';
        return cudaSuccess;
    });
}

}  // namespace

}  // namespace cutune

using namespace cutune;

extern "C" {

CUresult cuModuleLoadData(CUmodule* result, const void* image) {
    return load_for(image, current_device(), result);
}

CUresult cuModuleLoadDataEx(CUmodule* result, const void* image, unsigned count,
                            CUjit_option* options, void** values) {
    clear_logs(count, options, values);
    return cuModuleLoadData(result, image);
}

CUresult cuModuleLoadFatBinary(CUmodule* result, const void* image) {
    return cuModuleLoadData(result, image);
}

CUresult cuModuleLoad(CUmodule* result, const char* path) {
    if (!path) return CUDA_ERROR_INVALID_VALUE;
    const std::string content = content_of(path);
    return content.size() < 4
               ? CUDA_ERROR_FILE_NOT_FOUND
               : load_for(content.data(), current_device(), result, content.size());
}

CUresult cuModuleUnload(CUmodule handle) {
    return with_module(handle, [](LoadedModule* module) {
        drop_module(module);
        return cudaSuccess;
    });
}

CUresult cuModuleGetFunction(CUfunction* result, CUmodule handle, const char* name) {
    if (!result) return CUDA_ERROR_INVALID_VALUE;
    return with_module(handle, [&](LoadedModule* module) {
        Function* function = nullptr;
        const cudaError_t error = function_of(module, name, &function);
        if (error == cudaSuccess) *result = reinterpret_cast<CUfunction>(function);
        return error;
    });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* base, size_t* bytes, CUmodule handle,
                              const char* name) {
    return with_module(handle, [&](LoadedModule* module) {
        uint64_t address = 0;
        const cudaError_t error = variable_of(module, name, &address, bytes);
        if (error == cudaSuccess && base) *base = address;
        return error;
    });
}

#if CUDA_VERSION >= 11070
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    if (!mode) return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}
#endif

CUresult cuLinkCreate_v2(unsigned count, CUjit_option* options, void** values,
                         CUlinkState* result) {
    clear_logs(count, options, values);
    return in_context([&] {
        if (!result) return cudaErrorInvalidValue;
        *result = reinterpret_cast<CUlinkState>(new Linked);
        return cudaSuccess;
    });
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType, void* data, size_t bytes, const char*,
                          unsigned, CUjit_option*, void**) {
    return add_to(state, data, bytes);
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType, const char* path, unsigned,
                          CUjit_option*, void**) {
    if (!path) return CUDA_ERROR_INVALID_VALUE;
    const std::string content = content_of(path);
    return content.empty() ? CUDA_ERROR_FILE_NOT_FOUND
                           : add_to(state, content.data(), content.size() - 1);
}

// The result, which is PTX, goes to cuModuleLoadData.
CUresult cuLinkComplete(CUlinkState state, void** result, size_t* bytes) {
    return in_context([&] {
        if (!state || !result) return cudaErrorInvalidValue;
        std::string& ptx = linked(state)->ptx;
        *result = &ptx[0];
        if (bytes) *bytes = ptx.size() + 1;
        return cudaSuccess;
    });
}

CUresult cuLinkDestroy(CUlinkState state) {
    delete linked(state);
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12000
CUresult cuLibraryLoadData(CUlibrary* result, const void* code, CUjit_option* options,
                           void** values, unsigned count, CUlibraryOption*, void**, unsigned) {
    clear_logs(count, options, values);
    return load_for(code, -1, result);
}

CUresult cuLibraryLoadFromFile(CUlibrary* result, const char* path, CUjit_option* options,
                               void** values, unsigned count, CUlibraryOption*, void**,
                               unsigned) {
    if (!path) return CUDA_ERROR_INVALID_VALUE;
    clear_logs(count, options, values);
    const std::string content = content_of(path);
    return content.size() < 4 ? CUDA_ERROR_FILE_NOT_FOUND
                              : load_for(content.data(), -1, result, content.size());
}

CUresult cuLibraryUnload(CUlibrary library) {
    return cuModuleUnload(reinterpret_cast<CUmodule>(library));
}

CUresult cuLibraryGetKernel(CUkernel* result, CUlibrary library, const char* name) {
    return cuModuleGetFunction(reinterpret_cast<CUfunction*>(result),
                               reinterpret_cast<CUmodule>(library), name);
}

CUresult cuLibraryGetModule(CUmodule* result, CUlibrary library) {
    return with_module(library, [&](LoadedModule* module) {
        if (!result) return cudaErrorInvalidValue;
        *result = reinterpret_cast<CUmodule>(module);
        return cudaSuccess;
    });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* base, size_t* bytes, CUlibrary library,
                            const char* name) {
    return cuModuleGetGlobal_v2(base, bytes, reinterpret_cast<CUmodule>(library), name);
}

// A kernel and the function of it on the current device have one handle.
CUresult cuKernelGetFunction(CUfunction* result, CUkernel kernel) {
    return in_context([&] {
        return call([&] {
            if (!result) return cudaErrorInvalidValue;
            Function* function = nullptr;
            const cudaError_t error = find_function(kernel, &function);
            if (error == cudaSuccess) *result = reinterpret_cast<CUfunction>(kernel);
            return error;
        });
    });
}
#endif

}  // extern "C"
