// Modules and libraries that a program loads by the driver's interface.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "runtime_fatbinary.h"
#include "runtime_modules.h"

namespace cutune {

struct LoadedModule {
    Module module;
    std::map<std::string, std::unique_ptr<Function>> functions;
    std::map<std::string, uint64_t> variables;  // that the arena knows
};

// Load what cuModuleLoadData takes: PTX, a fat binary, or the wrapper that nvcc makes around one.
// `device`: the only one that may use it, or -1. `bytes`: of a file, whose end is known.
cudaError_t add_module(const void* image, int device, LoadedModule** result,
                       size_t bytes = SIZE_MAX);
// The module of a handle that is in use, or nullptr.
LoadedModule* find_module(const void* handle);
void drop_module(LoadedModule* module);

cudaError_t function_of(LoadedModule* module, const char* name, Function** result);
cudaError_t variable_of(LoadedModule* module, const char* name, uint64_t* base, size_t* bytes);

// The PTX of an image; empty after it was said why there is none.
FatBinary read_image(const void* image, size_t bytes = SIZE_MAX);

}  // namespace cutune
