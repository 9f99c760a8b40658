// What the probe does with a launch on a GPU, of which nothing is here: memory of the device is the
// host's, a launch is a function, and its time is made up. Prints what the program computed, and how
// much was left behind.
#include <math.h>
#include <stdio.h>

#include "cutune_launch.h"
#include "cutune_experiment.h"

namespace {

enum { n = 1000, most_allocations = 64 };
struct {
    char *base;
    size_t size;
} allocations[most_allocations];
int events = 0, launches = 0;
double now = 0;
cudaError_t pending = cudaSuccess;

template <class T>
T *allocated(size_t count) {
    void *memory = nullptr;
    cudaMalloc(&memory, count * sizeof(T));
    return static_cast<T *>(memory);
}

int range(unsigned long long *base, size_t *size, unsigned long long address) {
    for (const auto &one : allocations) {
        const unsigned long long start = reinterpret_cast<unsigned long long>(one.base);
        if (start == 0 || address < start || address >= start + one.size) continue;
        *base = start;
        *size = one.size;
        return 0;
    }
    return 1;
}

// Half precision in `halves`. Blocks of 64, 96 and 128 compute something else; 160 is refused.
void kernel(unsigned block, float *floats, double *doubles, unsigned short *halves, int *whole) {
    now += 1 + 0.1 * (launches++ % 7);
    if (block == 160) pending = cudaErrorLaunchOutOfResources;
    for (int i = 0; i < n; ++i) {
        floats[i] = floats[i] * 1.5F + 1;
        doubles[i] += 0.1;
        halves[i] = static_cast<unsigned short>(halves[i] + 4);
        whole[i] += i;
        if (block == 64 && i % 3 == 0) floats[i] = nextafterf(floats[i], 1e9F);
        if (block == 96 && i % 5 == 0) halves[i] = static_cast<unsigned short>(halves[i] + 1);
    }
    if (block == 128) whole[7] = 0;
}

}  // namespace

int main() {
    float *const floats = allocated<float>(n);
    double *const doubles = allocated<double>(n);
    unsigned short *const halves = allocated<unsigned short>(n);
    int *const whole = allocated<int>(n);
    for (int i = 0; i < n; ++i) {
        floats[i] = static_cast<float>(i);
        doubles[i] = halves[i] = static_cast<unsigned short>(i);
        whole[i] = i;
    }
    const cutune_site site = {3, "a<\"b\">", "\xe9\\.cu", {cutune_divide, cutune_fixed, cutune_fixed},
                              {nullptr, nullptr, nullptr}, 0, 1024, nullptr, 0, nullptr,
                              false, 0, true, 1, nullptr, 0, false, nullptr, nullptr, false, nullptr, 0, false, 0, 0, nullptr};
    const struct {
        int *whole;
        char tag[8];
    } structure = {whole, "\xff tag"};
    const cutune_argument arguments[] = {
        cutune_describe<float *>::of(floats), cutune_describe<double *>::of(doubles),
        cutune_describe<__half *>::of(reinterpret_cast<__half *>(halves)),
        cutune_describe<decltype(structure)>::of(structure), cutune_describe<int>::of(-5),
        cutune_describe<double>::of(0.1), cutune_describe<double>::of(HUGE_VAL)};
    const long long integers[] = {0, 0, 0, 0, -5, 0, 0};
    const cutune_step own = {dim3(480), dim3(32), 0, 0};
    const cutune_asked_launch asked = {&site, &site, false, own, nullptr, 7, integers, 16, arguments,
                                       9};
    int count = 0;
    cutune_experiment *experiment = cutune_is_probing() ? cutune_begin(asked, &count) : nullptr;
    cutune_step step = own;
    while (experiment != nullptr && cutune_next(experiment, &step) == cutune_turn_candidate)
        kernel(step.block.x, floats, doubles, halves, whole);
    if (experiment != nullptr) cutune_end(experiment);
    kernel(own.block.x, floats, doubles, halves, whole);
    double sum = 0;
    for (int i = 0; i < n; ++i)
        sum += i * (static_cast<double>(floats[i]) + doubles[i] + halves[i] + whole[i]);
    int left = events;
    for (const auto &one : allocations) left += one.base != nullptr;
    printf("%.17g %d\n", sum, left);
}

extern "C" {
cudaError_t cudaMalloc(void **memory, size_t size) {
    *memory = malloc(size);
    for (auto &one : allocations) {
        if (one.base != nullptr) continue;
        one.base = static_cast<char *>(*memory);
        one.size = size;
        break;
    }
    return cudaSuccess;
}
cudaError_t cudaFree(void *memory) {
    for (auto &one : allocations)
        if (one.base == memory) one.base = nullptr;
    free(memory);
    return cudaSuccess;
}
cudaError_t cudaMallocHost(void **memory, size_t size) { return cudaMalloc(memory, size); }
cudaError_t cudaFreeHost(void *memory) { return cudaFree(memory); }
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind) {
    memcpy(to, from, size);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t) {
    return cudaMemcpy(to, from, size, kind);
}
cudaError_t cudaEventCreate(cudaEvent_t *event) {
    ++events;
    *event = static_cast<cudaEvent_t>(malloc(sizeof(double)));
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    --events;
    free(event);
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
    memcpy(static_cast<void *>(event), &now, sizeof now);
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    double times[2];
    memcpy(&times[0], static_cast<void *>(begin), sizeof times[0]);
    memcpy(&times[1], static_cast<void *>(end), sizeof times[1]);
    *milliseconds = static_cast<float>(times[1] - times[0]);
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime_v2(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    return cudaEventElapsedTime(milliseconds, begin, end);
}
cudaError_t cudaGetDevice(int *device) {
    *device = 1;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int device) {
    snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", device);
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return pending; }
cudaError_t cudaGetLastError() {
    const cudaError_t error = pending;
    pending = cudaSuccess;
    return error;
}
const char *cudaGetErrorString(cudaError_t) { return "too many \"resources\""; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *status) {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *) {
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = 1024;
    return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPoint(const char *, void **function, unsigned long long,
                                    cudaDriverEntryPointQueryResult *) {
    *function = reinterpret_cast<void *>(range);
    return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *, void **function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult *) {
    *function = reinterpret_cast<void *>(range);
    return cudaSuccess;
}
}
