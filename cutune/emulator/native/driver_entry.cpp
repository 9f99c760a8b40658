// How programs find functions of the driver's interface by name, and what is said of those that are
// not emulated.
#include <dlfcn.h>

#include <cstring>

#include "driver.h"

namespace cutune {

// Defined where the library is made (link.py): each version of each function in the headers, the
// older ones of a function first, with an empty name at the end.
struct DriverVersion {
    const char* name;
    int since;  // the version of CUDA
    const char* symbol;
};
extern const DriverVersion driver_versions[];

void* driver_symbol(const char* name) {
    static void* const own = [] {
        Dl_info about;
        const bool is_found = dladdr(driver_versions, &about) != 0;
        return is_found ? dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    }();
    return own ? dlsym(own, name) : nullptr;
}

void* driver_entry(const char* name, int version) {
    const char* symbol = nullptr;
    for (const DriverVersion* each = driver_versions; each->name; ++each)
        if (std::strcmp(each->name, name) == 0 && each->since <= version) symbol = each->symbol;
    return symbol ? driver_symbol(symbol) : nullptr;
}

CUresult not_emulated(const std::string& what) {
    say_not_emulated(what);
    return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace cutune

using namespace cutune;

extern "C" {

// Functions of the driver's headers that are not emulated end here (see link.py).
int cutune_unsupported_driver_call(const char* name) { return not_emulated(name); }

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t) {
    if (!name || !function) return CUDA_ERROR_INVALID_VALUE;
    *function = driver_entry(name, version);
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

#if CUDA_VERSION >= 12000
CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
    const CUresult result = cuGetProcAddress(name, function, version, flags);
    if (!status || result == CUDA_ERROR_INVALID_VALUE) return result;
    *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    // Since CUDA 12 the status alone says that there is no such function.
    return CUDA_SUCCESS;
}
#endif

// Tables of functions that no header names. NVIDIA's runtime asks for some where it is linked
// statically into a program or a library. NVRTC asks, too, but compiles without them.
CUresult cuGetExportTable(const void**, const CUuuid*) {
    Dl_info caller;
    const bool is_found = dladdr(__builtin_return_address(0), &caller) != 0;
    const std::string whose = is_found ? caller.dli_fname : "a library";
    if (whose.find("/libnvrtc.so") == std::string::npos) say_static_runtime(whose);
    return CUDA_ERROR_NOT_SUPPORTED;
}

}  // extern "C"
