// Stencil2D: steps of a 9-point stencil on a square, on one or several GPUs: the number of GPUs is
// the one parameter that it has in the benchmark suite BAT.
//
//   stencil2d N [GPUS [STEPS]]           points per side, steps in the region
//   stencil2d -s CLASS [GPUS [STEPS]]    1 to 4: 512, 1024, 2048, 4096 points per side
//
// Prints the rate in GFLOPS where time passes, and checks each point. Exit status: 0 right, 1
// wrong, 2 misuse.
//
//   cutune inspect stencil2d.cu --tune GPUS=1..4 --run './{program} {n} {GPUS}'
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "bat.h"

typedef float Real;

// Of a point, its neighbours in rows and columns, and its neighbours in diagonals. Their sum is 1.
constexpr Real CENTRE = 0.5f, CARDINAL = 0.1f, DIAGONAL = 0.025f;
// A sum of products of three sums.
constexpr int OPERATIONS = 11;
constexpr int BLOCK_WIDTH = 32, BLOCK_HEIGHT = 8, TILE_WIDTH = BLOCK_WIDTH + 2;

// One step. Arrays have a border of one point: that of the square never changes, that between GPUs
// is the last row of the other one.
__global__ void step_of_stencil(const Real *from, Real *to, int width, int height) {
    extern __shared__ Real tile[];
    const int x = blockIdx.x * BLOCK_WIDTH + threadIdx.x,
              y = blockIdx.y * BLOCK_HEIGHT + threadIdx.y;
    const size_t row = width + 2;
    // Tiles overlap by the border: some threads load two points.
    for (int b = threadIdx.y; b < BLOCK_HEIGHT + 2; b += BLOCK_HEIGHT)
        for (int a = threadIdx.x; a < TILE_WIDTH; a += BLOCK_WIDTH) {
            const int left = blockIdx.x * BLOCK_WIDTH + a, above = blockIdx.y * BLOCK_HEIGHT + b;
            if (left < width + 2 && above < height + 2)
                tile[b * TILE_WIDTH + a] = from[above * row + left];
        }
    __syncthreads();
    if (x >= width || y >= height) return;
    const Real *own = tile + (threadIdx.y + 1) * TILE_WIDTH + threadIdx.x + 1;
    const Real *above = own - TILE_WIDTH, *below = own + TILE_WIDTH;
    const Real cardinal = above[0] + below[0] + own[-1] + own[1];
    const Real diagonal = above[-1] + above[1] + below[-1] + below[1];
    to[(y + 1) * row + x + 1] = CENTRE * own[0] + CARDINAL * cardinal + DIAGONAL * diagonal;
}

// One GPU: some rows of the square, twice, and the borders above and below them.
struct Device {
    int number = 0, first = 0, height = 0;
    DeviceArray<Real> rows[2];
    cudaStream_t stream = nullptr;
    // Of even and odd steps: its own rows are computed, and the neighbours have their borders.
    cudaEvent_t is_done[2] = {};

    ~Device() {
        if (stream == nullptr) return;
        cudaSetDevice(number);
        for (cudaEvent_t event : is_done)
            if (event != nullptr) cudaEventDestroy(event);
        cudaStreamDestroy(stream);
    }

    // The point (0, 0) of the array is the border's.
    int prepare(const std::vector<Real> &square, int width) {
        const size_t row = width + 2, count = (height + 2) * row;
        CHECK(cudaSetDevice(number));
        CHECK(cudaStreamCreate(&stream));
        for (cudaEvent_t &event : is_done)
            CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        for (DeviceArray<Real> &array : rows)
            CHECK(array.copy_from(square.data() + first * row, count));
        // Copies of other devices do not wait for this one's.
        CHECK(cudaDeviceSynchronize());
        return 0;
    }
};

// Steps from a number on. A device waits for the borders that its neighbours have sent in the step
// before. Behind that it may overwrite theirs, which they have read in that step, before they sent.
static int make_steps(std::vector<Device> &devices, int width, int first_step, int steps) {
    const size_t row = width + 2, row_bytes = row * sizeof(Real);
    const int last = (int)devices.size() - 1;
    for (int step = first_step; step < first_step + steps; ++step) {
        const int from = step % 2, to = 1 - from;
        for (int g = 0; g <= last; ++g) {
            Device &own = devices[g];
            CHECK(cudaSetDevice(own.number));
            if (step > first_step)
                for (int other : {g - 1, g + 1})
                    if (other >= 0 && other <= last)
                        CHECK(cudaStreamWaitEvent(own.stream, devices[other].is_done[to], 0));
            const dim3 block(BLOCK_WIDTH, BLOCK_HEIGHT);
            const dim3 grid((width + BLOCK_WIDTH - 1) / BLOCK_WIDTH,
                            (own.height + BLOCK_HEIGHT - 1) / BLOCK_HEIGHT);
            constexpr size_t tile_bytes = TILE_WIDTH * (BLOCK_HEIGHT + 2) * sizeof(Real);
            step_of_stencil<<<grid, block, tile_bytes, own.stream>>>(
                own.rows[from].data, own.rows[to].data, width, own.height);
            CHECK(cudaGetLastError());
            const Real *rows = own.rows[to].data;
            if (g > 0) {
                const Device &above = devices[g - 1];
                CHECK(cudaMemcpyPeerAsync(above.rows[to].data + (above.height + 1) * row,
                                          above.number, rows + row, own.number, row_bytes,
                                          own.stream));
            }
            if (g < last) {
                const Device &below = devices[g + 1];
                CHECK(cudaMemcpyPeerAsync(below.rows[to].data, below.number,
                                          rows + own.height * row, own.number, row_bytes,
                                          own.stream));
            }
            CHECK(cudaEventRecord(own.is_done[from], own.stream));
        }
    }
    for (Device &device : devices) {
        CHECK(cudaSetDevice(device.number));
        CHECK(cudaStreamSynchronize(device.stream));
    }
    return cudaSetDevice(devices[0].number) != cudaSuccess;
}

// The same on the host. nvcc does not optimise host code unless it is asked to.
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("O3")))
#endif
static void make_steps_on_host(std::vector<Real> &square, int n, int steps) {
    std::vector<Real> next = square;
    const size_t row = n + 2;
    for (int step = 0; step < steps; ++step) {
        for (int y = 1; y <= n; ++y) {
            const Real *own = square.data() + y * row, *above = own - row, *below = own + row;
            Real *to = next.data() + y * row;
            for (int x = 1; x <= n; ++x)
                to[x] = CENTRE * own[x] +
                        CARDINAL * (above[x] + below[x] + own[x - 1] + own[x + 1]) +
                        DIAGONAL * (above[x - 1] + above[x + 1] + below[x - 1] + below[x + 1]);
        }
        square.swap(next);
    }
}

int main(int argc, char **argv) {
    int numbers[] = {0, 1, 20};
    if (!read_arguments(argc, argv, {512, 1024, 2048, 4096}, numbers, 3) || numbers[0] > 30000) {
        fprintf(stderr, "stencil2d N [GPUS [STEPS]], or stencil2d -s CLASS …, CLASS 1 to 4\n");
        return 2;
    }
    const int n = numbers[0], gpus = numbers[1], steps = numbers[2];
    int present = 0;
    CHECK(cudaGetDeviceCount(&present));
    if (gpus > present || gpus > n) {
        fprintf(stderr, "%d GPUs are too many: there are %d\n", gpus, present);
        return 2;
    }
    const size_t row = n + 2;
    std::vector<Real> square(row * row);
    for (size_t i = 0; i < square.size(); ++i)
        square[i] = mixed((unsigned int)i) % 1024 / (Real)1024;
    if (allow_peer_access(gpus)) return 1;
    std::vector<Device> devices(gpus);
    for (int g = 0; g < gpus; ++g) {
        devices[g].number = g;
        devices[g].first = (int)((long long)n * g / gpus);
        devices[g].height = (int)((long long)n * (g + 1) / gpus) - devices[g].first;
        if (devices[g].prepare(square, n)) return 1;
    }
    // What is loaded late is not part of the work.
    if (make_steps(devices, n, 0, 1)) return 1;

    Clock clock;
    CHECK(clock.start());
#pragma cutune region begin
    if (make_steps(devices, n, 1, steps)) return 1;
#pragma cutune region end
    float milliseconds = 0;
    CHECK(clock.stop(&milliseconds));

    make_steps_on_host(square, n, steps + 1);
    // All weights are positive, so that a value is an average: in a step it is rounded at most
    // eleven times, and the host does so, too.
    const double bound = 2.0 * OPERATIONS * (steps + 1) * FLT_EPSILON;
    for (const Device &device : devices) {
        std::vector<Real> rows((device.height + 2) * row);
        CHECK(cudaSetDevice(device.number));
        CHECK(cudaMemcpy(rows.data(), device.rows[(steps + 1) % 2].data, rows.size() * sizeof(Real),
                         cudaMemcpyDeviceToHost));
        for (int y = 1; y <= device.height; ++y)
            for (int x = 1; x <= n; ++x) {
                const Real own = rows[y * row + x], wanted = square[(device.first + y) * row + x];
                if (!(std::abs(own - wanted) <= bound)) {
                    printf("FAILED: point (%d, %d) is %g, not %g\n", x, device.first + y, own,
                           wanted);
                    return 1;
                }
            }
    }
    CHECK(cudaSetDevice(0));
    printf("PASSED: %d x %d points, %d GPUs\n", n, n, gpus);
    if (milliseconds > 0)
        fprintf(stderr, "%.3f GFLOPS\n", (double)OPERATIONS * n * n * steps / milliseconds / 1e6);
    return 0;
}
