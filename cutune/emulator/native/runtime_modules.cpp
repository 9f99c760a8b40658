// Registration as nvcc's start-up code calls it (CUDA 11.8 to 13), and loading on first use.
#include "runtime_modules.h"

#include <algorithm>
#include <deque>
#include <fstream>
#include <iterator>
#include <unordered_map>

#include "runtime.h"
#include "runtime_fatbinary.h"

namespace cutune {

namespace {

// What __cudaRegisterFatBinary gets. Version 2 marks relocatable device code (nvcc -rdc=true): then
// `linked` is a list of the containers of all objects that were linked, with a null at its end.
struct Wrapper {
    int magic;
    int version;
    const void* container;
    const void* const* linked;
};

struct Registry {
    std::deque<Module> modules;  // a deque: handles are addresses of elements
    std::deque<Function> functions;
    std::deque<Variable> variables;
    std::unordered_map<const void*, Function*> by_stub;
    std::unordered_map<const void*, Variable*> by_shadow;
};

Registry& registry() {
    static Registry* const shared = new Registry;
    return *shared;
}

constexpr const char* kRebuild =
    "rebuild it for the emulated device: cutune nvcc --cutune-mode=emulated, or nvcc with "
    "-gencode arch=compute_80,code=compute_80";

// What an address that is no kernel's stub gives: CUDA 13 looks for a handle, older ones for a
// function.
constexpr cudaError_t kNoFunction =
    CUDART_VERSION >= 13000 ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction;

cudaError_t refuse(Module* module, cudaError_t error) { return module->here().error = error; }

// Give every variable of the module its address, and managed ones to the program.
void place_variables(Module* module) {
    for (Variable& variable : registry().variables) {
        if (variable.module != module) continue;
        uint64_t size = 0;
        const uint64_t address = module_variable(module->here().image, variable.name, &size);
        variable.on[current_device()] = address;
        if (address == 0) continue;
        const bool managed = variable.managed_slot != nullptr;
        if (managed) *variable.managed_slot = reinterpret_cast<void*>(address);
        runtime().arena.adopt(address, size, MemoryKind::variable, managed, current_device());
    }
}

// Managed variables are the same on all devices: where they were placed before.
Addresses managed_variables(const Module* module) {
    Addresses found;
    for (const Variable& variable : registry().variables)
        for (const uint64_t address : variable.on)
            if (variable.module == module && variable.managed_slot && address)
                found[variable.name] = address;
    return found;
}

Module* as_module(void** handle) { return reinterpret_cast<Module*>(handle); }

}  // namespace

namespace {

// The PTX of a module: of its container, or of all objects that were linked, one behind another.
FatBinary read_module(const Module& module) {
    if (!module.text.empty()) return {module.text, module.architecture, {}, ""};
    if (!module.linked) return read_fat_binary(module.container);
    FatBinary all;
    for (const void* const* each = module.linked; *each; ++each) {
        const FatBinary one = read_fat_binary(*each);
        all.ptx += one.ptx;
        if (!one.ptx.empty()) all.ptx += '\n';
        // Objects of a library may be newer than those of the program.
        const bool is_older = one.architecture != 0 && one.architecture < all.architecture;
        if (all.architecture == 0 || is_older) all.architecture = one.architecture;
        if (all.problem.empty()) all.problem = one.problem;
    }
    return all;
}

// The image of the current device, from the module's bytes.
cudaError_t load_image(Module* module) {
    std::string problem;
    ModuleImage*& image = module->here().image;
    image = load_module(module->bytes.data(), module->bytes.size(), &problem,
                        managed_variables(module));
    if (!image) {
        const std::string& path = module->ptx_path;
        say("cannot load '%s': %s; was the program linked by another version of cutune? Then link "
            "it again",
            path.c_str(), problem.c_str());
        return refuse(module, cudaErrorInvalidKernelImage);
    }
    place_variables(module);
    return module->here().error = cudaSuccess;
}

}  // namespace

cudaError_t load(Module* module) {
    Module::Loaded& here = module->here();
    if (here.tried) return here.error;
    here.tried = true;
    if (!module->bytes.empty()) return load_image(module);
    const FatBinary binary = read_module(*module);
    if (binary.ptx.empty()) {
        say("this program cannot run on the emulated device: %s; %s", binary.problem.c_str(),
            kRebuild);
        return refuse(module, cudaErrorNoKernelImageForDevice);
    }
    module->architecture = binary.architecture;
    const std::string path = assembled_image(binary.ptx, &module->ptx_path);
    if (path.empty()) return refuse(module, cudaErrorInvalidPtx);
    std::ifstream file(path, std::ios::binary);
    module->bytes.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    return load_image(module);
}

cudaError_t find_function(const void* stub, Function** function) {
    const auto entry = registry().by_stub.find(stub);
    if (entry == registry().by_stub.end()) return kNoFunction;
    *function = entry->second;
    const int only_device = (*function)->module->only_device;
    if (only_device >= 0 && only_device != current_device()) return cudaErrorInvalidResourceHandle;
    const cudaError_t error = load((*function)->module);
    if (error != cudaSuccess) return error;
    const KernelCode*& code = (*function)->here().code;
    if (!code) code = find_kernel((*function)->module->here().image, (*function)->name);
    if (code) return cudaSuccess;
    say_once("kernel '" + (*function)->name + "' is not in the program's PTX");
    return cudaErrorInvalidDeviceFunction;
}

cudaError_t find_variable(const void* shadow, Variable** variable) {
    const auto entry = registry().by_shadow.find(shadow);
    if (entry == registry().by_shadow.end()) return cudaErrorInvalidSymbol;
    *variable = entry->second;
    const cudaError_t error = load((*variable)->module);
    if (error != cudaSuccess) return error;
    return (*variable)->address() ? cudaSuccess : cudaErrorInvalidSymbol;
}

void keep_function(Function* function) {
    function->stub = function;
    registry().by_stub.emplace(function, function);
}

void forget_function(Function* function) { registry().by_stub.erase(function); }

void keep_managed_variables() {
    for (const Variable& variable : registry().variables)
        for (int device = 0; device < device_count(); ++device)
            if (variable.managed_slot && variable.on[device])
                runtime().arena.adopt(variable.on[device], variable.size, MemoryKind::variable,
                                      true, device);
}

void unload_modules() {
    for (Function& function : registry().functions) function.here().code = nullptr;
    for (Variable& variable : registry().variables) variable.on[current_device()] = 0;
    // The images stay in memory: the machine has no call to drop one, and resets are rare.
    for (Module& module : registry().modules) {
        module.here() = {};
    }
}

}  // namespace cutune

using namespace cutune;

extern "C" {

void** __cudaRegisterFatBinary(void* data) {
    const Wrapper* const wrapper = static_cast<const Wrapper*>(data);
    Registry& all = registry();
    all.modules.emplace_back();
    all.modules.back().container = wrapper->container;
    if (wrapper->version != 1) all.modules.back().linked = wrapper->linked;
    return reinterpret_cast<void**>(&all.modules.back());
}

void __cudaRegisterFatBinaryEnd(void**) {}

// At exit: destructors of the program's global objects may still call us, so nothing is dropped.
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void** handle, const char* stub, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
    Registry& all = registry();
    Function function;
    function.module = as_module(handle);
    function.name = name;
    function.stub = stub;
    all.functions.push_back(function);
    // An inline template has one stub in several modules; the first is as good as the others.
    all.by_stub.emplace(stub, &all.functions.back());
    all.by_stub.emplace(&all.functions.back(), &all.functions.back());
}

void __cudaRegisterVar(void** handle, char* shadow, char*, const char* name, int, size_t size, int,
                       int) {
    Registry& all = registry();
    Variable variable;
    variable.module = as_module(handle);
    variable.name = name;
    variable.size = size;
    all.variables.push_back(variable);
    all.by_shadow.emplace(shadow, &all.variables.back());
}

void __cudaRegisterManagedVar(void** handle, void** slot, char*, const char* name, int extern_,
                              size_t size, int constant, int global) {
    __cudaRegisterVar(handle, reinterpret_cast<char*>(slot), nullptr, name, extern_, size, constant,
                      global);
    registry().variables.back().managed_slot = slot;
}

void __cudaRegisterTexture(void**, const void*, const void**, const char* name, int, int, int) {
    say_once(std::string("texture reference '") + name + "' is not supported");
}

void __cudaRegisterSurface(void**, const void*, const void**, const char* name, int, int) {
    say_once(std::string("surface reference '") + name + "' is not supported");
}

// Host code calls this before it touches a managed variable.
char __cudaInitModule(void** handle) {
    std::lock_guard<std::recursive_mutex> lock(runtime().mutex);
    return load(as_module(handle)) == cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
    // The program keeps the result for ever, so trouble with the module must wait for the launch.
    const auto entry = registry().by_stub.find(stub);
    if (entry == registry().by_stub.end()) return remember(kNoFunction);
    *kernel = reinterpret_cast<cudaKernel_t>(entry->second);
    return cudaSuccess;
}

#if CUDART_VERSION >= 12010
cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
    return __cudaGetKernel(kernel, stub);
}
#endif

cudaError_t cudaGetSymbolAddress(void** address, const void* shadow) {
    return call([&] {
        if (!address) return cudaErrorInvalidValue;
        Variable* variable = nullptr;
        const cudaError_t error = find_variable(shadow, &variable);
        if (error == cudaSuccess) *address = reinterpret_cast<void*>(variable->address());
        return error;
    });
}

cudaError_t cudaGetSymbolSize(size_t* size, const void* shadow) {
    return call([&] {
        if (!size) return cudaErrorInvalidValue;
        Variable* variable = nullptr;
        const cudaError_t error = find_variable(shadow, &variable);
        if (error == cudaSuccess) *size = variable->size;
        return error;
    });
}

}  // extern "C"
