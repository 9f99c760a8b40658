// What the samples of the suite BAT share: arguments, errors, memory, a clock, and numbers.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#define CHECK(call) \
    do { \
        const cudaError_t called = (call); \
        if (called != cudaSuccess) { \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(called)); \
            return 1; \
        } \
    } while (0)

// The numbers of a command line: `N …`, or `-s CLASS …` with one of four sizes in place of N. Those
// that are left out keep their values. False where it is not understood.
static bool read_arguments(int argc, char **argv, const int (&classes)[4], int *numbers,
                           int count) {
    const bool is_class = argc > 2 && strcmp(argv[1], "-s") == 0;
    const int first = is_class ? 2 : 1;
    if (argc <= first || argc - first > count) return false;
    for (int i = 0; i < argc - first; ++i) {
        char *end;
        const long number = strtol(argv[first + i], &end, 10);
        if (*end != '\0' || number < 1 || number > 1 << 30) return false;
        numbers[i] = (int)number;
    }
    if (is_class && numbers[0] > 4) return false;
    if (is_class) numbers[0] = classes[numbers[0] - 1];
    return true;
}

// Memory of the current device, freed with its owner.
template <class T>
struct DeviceArray {
    T *data = nullptr;

    DeviceArray() = default;
    DeviceArray(const DeviceArray &) = delete;
    DeviceArray &operator=(const DeviceArray &) = delete;
    ~DeviceArray() { cudaFree(data); }

    cudaError_t allocate(size_t count) { return cudaMalloc((void **)&data, count * sizeof(T)); }

    cudaError_t copy_from(const T *host, size_t count) {
        const cudaError_t status = allocate(count);
        if (status != cudaSuccess) return status;
        return cudaMemcpy(data, host, count * sizeof(T), cudaMemcpyHostToDevice);
    }
};

// Lets each of the first GPUs use the memory of the others, where the machine can do so: copies
// then need no host.
static inline int allow_peer_access(int gpus) {
    for (int device = 0; device < gpus; ++device) {
        CHECK(cudaSetDevice(device));
        for (int peer = 0; peer < gpus; ++peer) {
            int can_access = 0;
            if (peer == device) continue;
            CHECK(cudaDeviceCanAccessPeer(&can_access, device, peer));
            if (!can_access) continue;
            const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
            // A process that does the work twice has it.
            if (status == cudaErrorPeerAccessAlreadyEnabled)
                cudaGetLastError();
            else
                CHECK(status);
        }
    }
    return 0;
}

// The time between two points of the current device's default stream.
struct Clock {
    cudaEvent_t begin = nullptr, end = nullptr;

    ~Clock() {
        if (begin != nullptr) cudaEventDestroy(begin);
        if (end != nullptr) cudaEventDestroy(end);
    }

    cudaError_t start() {
        cudaError_t status = cudaEventCreate(&begin);
        if (status == cudaSuccess) status = cudaEventCreate(&end);
        return status == cudaSuccess ? cudaEventRecord(begin) : status;
    }

    cudaError_t stop(float *milliseconds) {
        cudaError_t status = cudaEventRecord(end);
        if (status == cudaSuccess) status = cudaEventSynchronize(end);
        return status == cudaSuccess ? cudaEventElapsedTime(milliseconds, begin, end) : status;
    }
};

// A number that looks random, the same for the same i (a bijective mix of its bits).
static inline unsigned int mixed(unsigned int i) {
    i = (i ^ (i >> 16)) * 0x7feb352du;
    i = (i ^ (i >> 15)) * 0x846ca68bu;
    return i ^ (i >> 16);
}
