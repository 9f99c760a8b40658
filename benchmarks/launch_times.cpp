// Times every kernel launch of a program, from outside: LD_PRELOAD in front of a shared libcudart.
//
//     g++ -O2 -shared -fPIC -I/usr/local/cuda/include launch_times.cpp -o launch_times.so -ldl
//     LAUNCH_TIMES=times.txt LD_PRELOAD=./launch_times.so ./program
//
// A line per launch: the kernel's name and microseconds between two events around it. The stream is
// held until all three are queued, so that the host's part of a launch is not in them. What the
// program prints on its standard error is left out: results of millions of elements, which take
// longer than all the rest.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace {

using Launch = cudaError_t (*)(const void *, dim3, dim3, void **, size_t, cudaStream_t);

template <class F> F next(const char *name) {
    return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

using Allocation = cudaError_t (*)(void **, size_t);

// A GPU that was idle takes its time to reach its clocks.
void wake() {
    const size_t bytes = size_t(256) << 20;
    void *scratch = nullptr;
    if (next<Allocation>("cudaMalloc")(&scratch, bytes) != cudaSuccess) return;
    for (int i = 0; i < 200; ++i) cudaMemsetAsync(scratch, i, bytes, nullptr);
    cudaDeviceSynchronize();
    cudaFree(scratch);
}

// Holds a stream until all is queued, or for so long that something must be waiting for the stream.
void hold(void *queued) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::milliseconds(20);
    while (!static_cast<std::atomic<bool> *>(queued)->load() && Clock::now() < end) {
    }
}

cudaError_t timed(const char *entry, const void *kernel, dim3 grid, dim3 block, void **arguments,
                  size_t shared, cudaStream_t stream) {
    static FILE *const file = fopen(getenv("LAUNCH_TIMES"), "w");
    static const long most = atol(getenv("LAUNCH_LIMIT") ? getenv("LAUNCH_LIMIT") : "1000");
    static long launched = 0;
    const Launch launch = next<Launch>(entry);
    if (launched++ >= most) return launch(kernel, grid, block, arguments, shared, stream);
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaStreamSynchronize(stream);
    std::atomic<bool> queued{false};
    cudaLaunchHostFunc(stream, hold, &queued);
    cudaEventRecord(start, stream);
    const cudaError_t result = launch(kernel, grid, block, arguments, shared, stream);
    cudaEventRecord(stop, stream);
    queued = true;
    cudaEventSynchronize(stop);
    float elapsed = 0;
    cudaEventElapsedTime(&elapsed, start, stop);
    const char *name = "?";
    cudaFuncGetName(&name, kernel);
    if (file) fprintf(file, "%s %u %u %.3f\n", name, block.x, block.y, 1e3 * elapsed);
    if (file) fflush(file);
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return result;
}

}  // namespace

extern "C" int fprintf(FILE *file, const char *format, ...) {
    if (file == stderr) return 0;
    va_list values;
    va_start(values, format);
    const int written = vfprintf(file, format, values);
    va_end(values);
    return written;
}

// Before the program copies anything to the GPU, which then lies in its caches.
extern "C" cudaError_t cudaMalloc(void **pointer, size_t bytes) {
    static const bool awake = (wake(), true);
    return awake ? next<Allocation>("cudaMalloc")(pointer, bytes) : cudaErrorUnknown;
}

extern "C" cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block,
                                        void **arguments, size_t shared, cudaStream_t stream) {
    return timed("cudaLaunchKernel", kernel, grid, block, arguments, shared, stream);
}

extern "C" cudaError_t __cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block,
                                          void **arguments, size_t shared, cudaStream_t stream) {
    return timed("__cudaLaunchKernel", kernel, grid, block, arguments, shared, stream);
}
