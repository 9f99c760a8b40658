// Times the launches of a program of tests/corpus/tiles, which is compiled with -Dmain=tiles_main
// and linked to this with --wrap for the functions below. One process runs all sizes.
//
//   program REPETITIONS FOLDER write|compare float|exact SIZE ARGUMENT … [-- SIZE ARGUMENT …] …
//
// Each launch runs in place of the one that was asked for until the GPU is awake, then REPETITIONS
// times between events; a brief one several times in a row between two events. The buffers are put
// back, and the launch is made once more, so that the program's results are its own. What it copies
// to the host is kept in FOLDER, or compared with what is there. Lines that begin with @ are ours.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

int tiles_main(int, char **);

extern "C" {
cudaError_t __real_cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
#if CUDART_VERSION >= 13000
cudaError_t __real___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t);
cudaError_t __real___cudaGetKernel(cudaKernel_t *, const void *);
#endif
cudaError_t __real_cudaMalloc(void **, size_t);
cudaError_t __real_cudaFree(void *);
cudaError_t __real_cudaMemcpy(void *, const void *, size_t, cudaMemcpyKind);
}

static int repetitions;
static bool writes, is_float;
static std::string prefix;
static int copies;

// ---- buffers

struct Buffer {
    size_t bytes;
    void *shadow;
};
static std::map<void *, Buffer> buffers;

static void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    printf("@failed %s\n", cudaGetErrorString(error));
    fflush(stdout);
    _Exit(3);
}

extern "C" cudaError_t __wrap_cudaMalloc(void **pointer, size_t bytes) {
    const cudaError_t error = __real_cudaMalloc(pointer, bytes);
    if (error == cudaSuccess && bytes > 0) {
        Buffer &buffer = buffers[*pointer] = {bytes, nullptr};
        must(__real_cudaMalloc(&buffer.shadow, bytes));
    }
    return error;
}

extern "C" cudaError_t __wrap_cudaFree(void *pointer) {
    const auto found = buffers.find(pointer);
    if (found != buffers.end()) {
        must(__real_cudaFree(found->second.shadow));
        buffers.erase(found);
    }
    return __real_cudaFree(pointer);
}

static void keep_buffers(bool is_restored) {
    for (auto &[pointer, buffer] : buffers)
        must(__real_cudaMemcpy(is_restored ? pointer : buffer.shadow,
                               is_restored ? buffer.shadow : pointer, buffer.bytes,
                               cudaMemcpyDeviceToDevice));
}

// ---- launches

static const int MOST_IN_A_ROW = 50;
static const double AWAKE_MS = 10.0, BETWEEN_EVENTS_MS = 0.2;

static double now_ms() {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

// Milliseconds per launch, of `repetitions` times `in_a_row` launches.
template <class Launch>
static std::vector<double> timed(Launch launch, int count, int in_a_row, cudaStream_t stream) {
    std::vector<cudaEvent_t> events(2 * count);
    for (cudaEvent_t &event : events) must(cudaEventCreate(&event));
    for (int i = 0; i < count; i++) {
        must(cudaEventRecord(events[2 * i], stream));
        for (int j = 0; j < in_a_row; j++) must(launch());
        must(cudaEventRecord(events[2 * i + 1], stream));
    }
    must(cudaDeviceSynchronize());
    std::vector<double> times(count);
    for (int i = 0; i < count; i++) {
        float milliseconds;
        must(cudaEventElapsedTime(&milliseconds, events[2 * i], events[2 * i + 1]));
        times[i] = milliseconds / in_a_row;
    }
    for (cudaEvent_t event : events) must(cudaEventDestroy(event));
    std::sort(times.begin(), times.end());
    return times;
}

template <class Launch>
static cudaError_t measured(Launch launch, const void *kernel, dim3 grid, dim3 block, size_t shared,
                            cudaStream_t stream) {
    must(cudaDeviceSynchronize());
    keep_buffers(false);
    if (const cudaError_t error = launch(); error != cudaSuccess) return error;
    must(cudaDeviceSynchronize());

    double once = 0.0;
    const double start = now_ms();
    do once = timed(launch, 3, 1, stream)[1];
    while (now_ms() - start < AWAKE_MS);
    const int in_a_row =
        (int)std::min((double)MOST_IN_A_ROW, std::max(1.0, ceil(BETWEEN_EVENTS_MS / (once + 1e-6))));
    const std::vector<double> times = timed(launch, repetitions, in_a_row, stream);

    cudaFuncAttributes attributes;
    must(cudaFuncGetAttributes(&attributes, kernel));
    const char *name = "";
    must(cudaFuncGetName(&name, kernel));
    printf("@launch {\"kernel\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], "
           "\"registers\": %d, \"shared_bytes\": %zu, \"local_bytes\": %zu, "
           "\"milliseconds\": %.6g, \"least\": %.6g, \"in_a_row\": %d}\n",
           name, grid.x, grid.y, grid.z, block.x, block.y, block.z, attributes.numRegs,
           attributes.sharedSizeBytes + shared, attributes.localSizeBytes, times[times.size() / 2],
           times[0], in_a_row);
    keep_buffers(true);
    return launch();
}

extern "C" cudaError_t __wrap_cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block,
                                               void **arguments, size_t shared,
                                               cudaStream_t stream) {
    const auto launch = [&] {
        return __real_cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
    };
    return measured(launch, kernel, grid, block, shared, stream);
}

#if CUDART_VERSION >= 13000
// What <<<>>> calls there. Its handles do not say which function they are of.
static std::map<cudaKernel_t, const void *> functions;

extern "C" cudaError_t __wrap___cudaGetKernel(cudaKernel_t *handle, const void *function) {
    const cudaError_t error = __real___cudaGetKernel(handle, function);
    if (error == cudaSuccess) functions[*handle] = function;
    return error;
}

extern "C" cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t handle, dim3 grid, dim3 block,
                                                 void **arguments, size_t shared,
                                                 cudaStream_t stream) {
    const auto launch = [&] {
        return __real___cudaLaunchKernel(handle, grid, block, arguments, shared, stream);
    };
    return measured(launch, functions[handle], grid, block, shared, stream);
}
#endif

// ---- results

// A file, as memory.
struct Content {
    const void *data = nullptr;
    size_t bytes = 0;

    explicit Content(const std::string &path) {
        const int file = open(path.c_str(), O_RDONLY);
        struct stat about;
        if (file < 0 || fstat(file, &about) != 0) return;
        void *mapped = mmap(nullptr, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        close(file);
        if (mapped == MAP_FAILED) return;
        data = mapped;
        bytes = (size_t)about.st_size;
    }
    ~Content() {
        if (data) munmap(const_cast<void *>(data), bytes);
    }
};

// The largest difference, relative to the largest magnitude; infinite where sizes or bits must not
// differ and do.
static double difference(const void *found, const Content &wanted, size_t bytes) {
    if (wanted.bytes != bytes) return INFINITY;
    if (memcmp(found, wanted.data, bytes) == 0) return 0.0;
    if (!is_float) return INFINITY;
    const float *a = (const float *)found, *b = (const float *)wanted.data;
    double most = 0.0, magnitude = 0.0;
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        if (!std::isfinite(a[i])) return INFINITY;
        most = std::max(most, (double)fabsf(a[i] - b[i]));
        magnitude = std::max(magnitude, (double)fabsf(b[i]));
    }
    return magnitude > 0.0 ? most / magnitude : INFINITY;
}

extern "C" cudaError_t __wrap_cudaMemcpy(void *to, const void *from, size_t bytes,
                                         cudaMemcpyKind kind) {
    const cudaError_t error = __real_cudaMemcpy(to, from, bytes, kind);
    if (error != cudaSuccess || kind != cudaMemcpyDeviceToHost) return error;
    const std::string path = prefix + std::to_string(copies++);
    if (writes) {
        FILE *file = fopen(path.c_str(), "wb");
        const bool is_kept = file && fwrite(to, 1, bytes, file) == bytes;
        if (!file || fclose(file) != 0 || !is_kept) must(cudaErrorUnknown);
    }
    // JSON has no infinity.
    const double error_of_it = std::min(difference(to, Content(path), bytes), 1e30);
    printf("@output {\"bytes\": %zu, \"error\": %.3g}\n", bytes, error_of_it);
    return error;
}

int main(int argc, char **argv) {
    if (argc < 6) return 2;
    repetitions = atoi(argv[1]);
    writes = strcmp(argv[3], "write") == 0;
    is_float = strcmp(argv[4], "float") == 0;
    for (int first = 5; first < argc;) {
        int end = first;
        while (end < argc && strcmp(argv[end], "--") != 0) end++;
        // The program's name is the size's.
        std::vector<char *> words(argv + first, argv + end);
        words.push_back(nullptr);
        prefix = std::string(argv[2]) + "/" + argv[first] + "-";
        copies = 0;
        printf("@size %s\n", argv[first]);
        fflush(stdout);
        const int status = tiles_main(end - first, words.data());
        printf("@status %d\n", status);
        fflush(stdout);
        first = end + 1;
    }
    return 0;
}
