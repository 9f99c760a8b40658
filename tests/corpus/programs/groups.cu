// Groups of threads that wait: all blocks of a launch, and blocks for asynchronous copies to shared
// memory, with barriers that are objects, groups and pipelines. One program, as headers take longest.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "check.h"

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int THREADS = 96;

// Every block waits for all others, several times.
__global__ void prefix_sums(int n, int *in, int *out) {
    cg::grid_group grid = cg::this_grid();
    const int i = grid.thread_rank();
    for (int step = 1; step < n; step *= 2) {
        out[i] = i >= step ? in[i] + in[i - step] : in[i];
        grid.sync();
        int *const swap = in;
        in = out;
        out = swap;
    }
}

// Three phases of one barrier; half of the threads leave it after the first.
__global__ void phases(const int *in, int *out) {
    __shared__ int tile[THREADS];
    __shared__ alignas(8) char storage[sizeof(Barrier)];
    Barrier &barrier = *reinterpret_cast<Barrier *>(storage);
    const int t = threadIdx.x;
    if (t == 0) init(&barrier, THREADS);
    __syncthreads();
    cuda::memcpy_async(&tile[t], &in[t], sizeof(int), barrier);
    barrier.arrive_and_wait();
    int sum = tile[THREADS - 1 - t];
    if (t >= THREADS / 2) {
        barrier.arrive_and_drop();
    } else {
        barrier.arrive_and_wait();
        auto token = barrier.arrive();
        tile[t] = 1000 + t;
        barrier.wait(std::move(token));
        barrier.arrive_and_wait();
        sum += tile[THREADS / 2 - 1 - t];
    }
    out[t] = sum;
}

__global__ void together(const int *in, int *out) {
    __shared__ alignas(16) int tile[THREADS];
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, tile, in, sizeof tile);
    cg::wait(block);
    out[threadIdx.x] = tile[THREADS - 1 - threadIdx.x];
}

__global__ void pipelined(const int *in, int *out, int tiles) {
    __shared__ int stage[2][THREADS];
    auto pipe = cuda::make_pipeline();
    const int t = threadIdx.x;
    int sum = 0;
    for (int load = 0, use = 0; use < tiles; ++use) {
        for (; load < tiles && load < use + 2; ++load) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[load % 2][t], &in[load * THREADS + t], sizeof(int), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += stage[use % 2][t];
        pipe.consumer_release();
    }
    out[t] = sum;
}

// The last bytes are zeros where the source has none.
__global__ void zero_filled(const int *in, int *out) {
    __shared__ alignas(16) int tile[4 * THREADS];
    const int t = threadIdx.x, bytes = t % 2 ? 16 : 0;
    const unsigned to = unsigned(__cvta_generic_to_shared(&tile[4 * t]));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\ncp.async.commit_group;\n"
                 "cp.async.wait_group 0;" ::"r"(to), "l"(in + 4 * t), "r"(bytes) : "memory");
    out[t] = tile[4 * t] + tile[4 * t + 3];
}

void wait_for_all_blocks() {
    int n = 4096, *a, *b;
    SUCCEED(cudaMallocManaged(&a, n * sizeof *a));
    SUCCEED(cudaMalloc(&b, n * sizeof *b));
    for (int i = 0; i < n; ++i) a[i] = i % 7;
    void *arguments[] = {&n, &a, &b};
    SUCCEED(cudaLaunchCooperativeKernel((void *)prefix_sums, n / 128, 128, arguments, 0, nullptr));
    SUCCEED(cudaDeviceSynchronize());
    int sum = 0;  // 12 steps: the result is in `a` again
    for (int i = 0; i < n; ++i) REQUIRE(a[i] == (sum += i % 7));

    // More blocks than fit on the device at once.
    const cudaError_t error =
        cudaLaunchCooperativeKernel((void *)prefix_sums, 1 << 20, 128, arguments, 0, nullptr);
    REQUIRE(error == cudaErrorCooperativeLaunchTooLarge);
    REQUIRE(cudaGetLastError() == error);
}

int main() {
    wait_for_all_blocks();
    int *in, *out, host[THREADS], numbers[4 * THREADS];
    for (int i = 0; i < 4 * THREADS; ++i) numbers[i] = i + 1;
    SUCCEED(cudaMalloc(&in, sizeof numbers));
    SUCCEED(cudaMalloc(&out, sizeof host));
    SUCCEED(cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    const auto got = [&] {
        SUCCEED(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
        return host;
    };
    phases<<<1, THREADS>>>(in, out);
    got();
    for (int t = 0; t < THREADS; ++t) {
        const int second = t < THREADS / 2 ? 1000 + THREADS / 2 - 1 - t : 0;
        REQUIRE(host[t] == THREADS - t + second);
    }
    together<<<1, THREADS>>>(in, out);
    got();
    for (int t = 0; t < THREADS; ++t) REQUIRE(host[t] == THREADS - t);
    pipelined<<<1, THREADS>>>(in, out, 4);
    got();
    for (int t = 0; t < THREADS; ++t) REQUIRE(host[t] == 4 * (t + 1) + 6 * THREADS);
    zero_filled<<<1, THREADS>>>(in, out);
    got();
    for (int t = 0; t < THREADS; ++t) REQUIRE(host[t] == (t % 2 ? 8 * t + 5 : 0));
    return pass();
}
