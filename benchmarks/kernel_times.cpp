// Records the GPU time of every kernel that a program runs, by CUPTI, whatever it is linked to.
//
//     g++ -O2 -shared -fPIC -I$CUDA/include kernel_times.cpp -o kernel_times.so -L$CUDA/lib -lcupti
//     KERNEL_TIMES=times.txt CUDA_INJECTION64_PATH=$PWD/kernel_times.so ./program
//
// The driver loads the library when the program first calls it, and asks for InitializeInjection.
// A line per kernel and block, written when the program ends: how many launches, their nanoseconds
// together, the block, and the name as it is mangled.
#include <cupti.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

namespace {

struct Total {
    uint64_t launches = 0, nanoseconds = 0;
};

constexpr size_t BUFFER_BYTES = size_t(4) << 20, ALIGNMENT = 8;

// Never destroyed: what is registered by atexit first runs last.
std::map<std::string, Total> &totals() {
    static auto *const found = new std::map<std::string, Total>;
    return *found;
}

std::mutex guard;

void CUPTIAPI requested(uint8_t **buffer, size_t *bytes, size_t *records) {
    *buffer = static_cast<uint8_t *>(aligned_alloc(ALIGNMENT, BUFFER_BYTES));
    *bytes = BUFFER_BYTES;
    *records = 0;
}

void CUPTIAPI completed(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid) {
    const std::lock_guard<std::mutex> held(guard);
    CUpti_Activity *record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
        const auto *kernel = reinterpret_cast<const CUpti_ActivityKernel10 *>(record);
        const std::string key = std::to_string(kernel->blockX) + "x" +
                                std::to_string(kernel->blockY) + "x" +
                                std::to_string(kernel->blockZ) + " " + kernel->name;
        Total &total = totals()[key];
        total.launches += 1;
        total.nanoseconds += kernel->end - kernel->start;
    }
    free(buffer);
}

void write() {
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    FILE *const file = fopen(getenv("KERNEL_TIMES"), "w");
    if (file == nullptr) return;
    const std::lock_guard<std::mutex> held(guard);
    for (const auto &[key, total] : totals())
        fprintf(file, "%llu %llu %s\n", static_cast<unsigned long long>(total.launches),
                static_cast<unsigned long long>(total.nanoseconds), key.c_str());
    fclose(file);
}

}  // namespace

extern "C" int InitializeInjection() {
    if (getenv("KERNEL_TIMES") == nullptr) return 1;
    cuptiActivityRegisterCallbacks(requested, completed);
    const bool works =
        cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS;
    if (!works) fprintf(stderr, "kernel_times: CUPTI records no kernels here\n");
    atexit(write);
    return 1;
}
