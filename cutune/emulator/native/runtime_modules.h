// Kernels and variables of the program: registered by nvcc's code before main, assembled when one
// of them is first used.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

#include "machine.h"
#include "runtime_device.h"

#if CUDART_VERSION < 12000
typedef struct CUkern_st* cudaKernel_t;
#endif

namespace cutune {

struct Module {
    const void* container = nullptr;  // the fat binary
    const void* const* linked = nullptr;  // after separate compilation: those of all objects
    std::string text;            // its PTX, where the driver's interface has loaded it
    int only_device = -1;        // that may use it; -1: all
    std::vector<uint8_t> bytes;  // of the images, which may refer to them
    std::string ptx_path;        // the copy in the cache
    unsigned architecture = 0;   // 80 for compute_80

    // Each device has its own code and variables.
    struct Loaded {
        ModuleImage* image = nullptr;
        bool tried = false;
        cudaError_t error = cudaSuccess;  // why there is no image
    };
    Loaded on[kMostDevices];
    Loaded& here() { return on[current_device()]; }
};

struct Function {
    Module* module = nullptr;
    std::string name;            // mangled
    const void* stub = nullptr;  // what the host calls it

    struct Loaded {
        const KernelCode* code = nullptr;
        int max_dynamic_shared = 0;  // raised by cudaFuncSetAttribute; 0: not set
        int carveout = -1;
    };
    Loaded on[kMostDevices];
    Loaded& here() { return on[current_device()]; }
    const Loaded& here() const { return on[current_device()]; }
};

struct Variable {
    Module* module = nullptr;
    std::string name;
    uint64_t size = 0;
    void** managed_slot = nullptr;  // where nvcc's code reads the address of a managed variable
    uint64_t on[kMostDevices] = {};  // its addresses; 0 until the module is loaded there
    uint64_t address() const { return on[current_device()]; }
};

// All of these are about the current device.
// Assemble and load the module unless that was tried before. Says once what went wrong.
cudaError_t load(Module* module);

// The function behind a host stub or a cudaKernel_t, with its code. The error when there is none.
cudaError_t find_function(const void* stub, Function** function);
// The variable behind its host shadow, with its address.
cudaError_t find_variable(const void* shadow, Variable** variable);

// A function that the program did not register: its address is its handle.
void keep_function(Function* function);
void forget_function(Function* function);

// Forget all images (cudaDeviceReset): the next use starts from the initial values.
void unload_modules();
// Modules that the driver's interface has loaded for the current device.
void drop_loaded_modules();
// Managed variables that other devices go on using: after their memory was forgotten.
void keep_managed_variables();

// The .ptx and .image files of this PTX in the user's cache, made by the assembler if need be.
// Returns the path of the image, or "" after the assembler complained.
std::string assembled_image(const std::string& ptx, std::string* ptx_path);

}  // namespace cutune
