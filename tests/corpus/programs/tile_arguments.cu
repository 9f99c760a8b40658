// Kernels whose tiles are arguments of templates: members of a structure, a structure itself, arguments
// of a class template, numbers that are written; and constants of a namespace. `right_…`: another value does the same; `wrong_…`: something else has it, too.
#include <cstdio>
#include <cstdlib>

struct Solver {
    static constexpr int lanes = 8, systems = 16;
};
struct Square {
    static constexpr int SIDE = 16;
};
struct Ring {
    static constexpr int LENGTH = 64;
};
#define ROWS 32
#define ROWS_SHIFT 5
constexpr int MASK = 63;

__constant__ int table[64];

// Some threads for each of many short rows, several rows in a block.
template <int LANES, int SYSTEMS>
__global__ void right_members(const int *a, int *b, int n) {
    __shared__ int rows[SYSTEMS][16];
    const int system = blockIdx.x * SYSTEMS + threadIdx.y;
    for (int k = threadIdx.x; k < 16; k += LANES)
        rows[threadIdx.y][k] = system < n ? a[system * 16 + k] : 0;
    __syncthreads();
    for (int k = threadIdx.x; k < 16; k += LANES)
        if (system < n) b[system * 16 + k] = rows[threadIdx.y][15 - k] + rows[threadIdx.y][k / 2];
}

template <typename Shape>
__global__ void right_shape(const int *a, int *b, int width, int height) {
    __shared__ int tile[Shape::SIDE][Shape::SIDE + 1];
    int x = blockIdx.x * Shape::SIDE + threadIdx.x, y = blockIdx.y * Shape::SIDE + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = a[y * width + x];
    __syncthreads();
    x = blockIdx.y * Shape::SIDE + threadIdx.x, y = blockIdx.x * Shape::SIDE + threadIdx.y;
    if (x < height && y < width) b[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

template <int T>
__global__ void right_number(const int *a, int *b, int n) {
    __shared__ int part[T];
    const int i = blockIdx.x * T + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    const int j = blockIdx.x * T + T - 1 - threadIdx.x;
    if (j < n) b[n - 1 - j] = part[T - 1 - threadIdx.x];
}

// The mask is a constant elsewhere.
template <int T>
__global__ void wrong_elsewhere(const int *a, int *b, int n) {
    __shared__ int part[T];
    const int i = blockIdx.x * T + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[(threadIdx.x + 1) & MASK];
}

// The table is as long as the tile.
template <typename Shape>
__global__ void wrong_table(const int *a, int *b, int n) {
    __shared__ int part[Shape::LENGTH];
    const int i = blockIdx.x * Shape::LENGTH + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] + table[threadIdx.x] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x];
}

// What is written has a head per block, which says how long it is.
template <int T>
__global__ void wrong_records(const int *a, int *b, int n) {
    __shared__ int part[T];
    const int i = blockIdx.x * T + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (threadIdx.x == 0) b[blockIdx.x * (T + 1)] = T;
    if (i < n) b[i + blockIdx.x + 1] = part[threadIdx.x];
}

// Two macros have to agree.
__global__ void wrong_macros(const int *a, int *b, int n) {
    __shared__ int part[ROWS];
    const int i = (blockIdx.x << ROWS_SHIFT) + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x];
}

// The arguments of a class template: its members tell the block, and the kernel what it does.
template <int ROW_LANES, int ROW_COUNT>
struct Rows {
    static constexpr int lanes = ROW_LANES, rows = ROW_COUNT, threads = lanes * rows;
    static int blocks(int n) { return (n + rows - 1) / ROW_COUNT; }
    static dim3 block() { return dim3(lanes, rows); }
};

#define ROW_LENGTH 40
template <class Config>
__global__ void right_class(const int *a, int *b, int n) {
    __shared__ int all[Config::rows][ROW_LENGTH];
    const int first = blockIdx.x * Config::rows, left = n - first;
    const int here = left < Config::rows ? left : Config::rows;
    const int thread = threadIdx.y * Config::lanes + threadIdx.x;
    for (int e = thread; e < here * ROW_LENGTH; e += Config::lanes * Config::rows)
        (&all[0][0])[e] = a[(size_t)first * ROW_LENGTH + e];
    __syncthreads();
    if (threadIdx.y < here)
        for (int e = threadIdx.x; e < ROW_LENGTH; e += Config::lanes)
            b[(size_t)(first + threadIdx.y) * ROW_LENGTH + e] = all[threadIdx.y][ROW_LENGTH - 1 - e];
}

// What is written tells how a block is made.
template <class Config>
__global__ void wrong_class(const int *a, int *b, int n) {
    __shared__ int part[Config::threads];
    const int i = blockIdx.x * Config::threads + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + 100 * Config::lanes + Config::rows;
}

// Only a size that is two larger than the number has an index above it; more, where it is moved.
template <class Config>
__global__ void wrong_late(const int *a, int *b, int n) {
    __shared__ int part[Config::threads];
    const int i = blockIdx.x * Config::threads + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + (i > 3900 ? 100 * Config::lanes + Config::rows : 0);
}

template <class Config>
__global__ void wrong_moved(const int *a, int *b, int n) {
    __shared__ int part[Config::threads];
    const int i = blockIdx.x * Config::threads + threadIdx.x, moved = i - 700;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + (moved > 900 ? 100 * Config::lanes + Config::rows : moved);
}

// A constant of a namespace, from which another one is computed.
namespace window {
constexpr int WINDOW = 64;
constexpr int REACH = 3;
constexpr int LOADED = WINDOW + 2 * REACH;

__global__ void right_window(const int *a, int *b, int n) {
    __shared__ int part[LOADED];
    const int first = blockIdx.x * WINDOW - REACH;
    for (int k = threadIdx.x; k < LOADED; k += WINDOW)
        part[k] = first + k >= 0 && first + k < n ? a[first + k] : 0;
    __syncthreads();
    const int i = blockIdx.x * WINDOW + threadIdx.x;
    if (i < n) b[i] = part[threadIdx.x] + 2 * part[threadIdx.x + REACH] + part[threadIdx.x + 2 * REACH];
}
} // namespace window

static int *a, *b, *host, count;

// Prints a sum of all that the kernel before has written.
static void show() {
    cudaMemcpy(host, b, count * sizeof(int), cudaMemcpyDeviceToHost);
    long sum = 0;
    for (int i = 0; i < count; i++) sum += (long)host[i] * (i % 17 + 1);
    printf("%ld\n", sum);
    cudaMemset(b, 0, count * sizeof(int));
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 100;
    count = 40 * n + n * n + 1024;
    host = (int *)malloc(count * sizeof(int));
    for (int i = 0; i < count; i++) host[i] = i * 7919 % 1009;
    cudaMalloc(&a, count * sizeof(int)), cudaMalloc(&b, count * sizeof(int));
    cudaMemcpy(a, host, count * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(b, 0, count * sizeof(int));
    const int systems = (n + Solver::systems - 1) / Solver::systems;
    right_members<Solver::lanes, Solver::systems>
        <<<systems, dim3(Solver::lanes, Solver::systems)>>>(a, b, n);
    show();
    const dim3 tiles((n + Square::SIDE - 1) / Square::SIDE, (n + Square::SIDE - 1) / Square::SIDE);
    right_shape<Square><<<tiles, dim3(Square::SIDE, Square::SIDE)>>>(a, b, n, n);
    show();
    right_number<128><<<(n + 127) / 128, 128>>>(a, b, n);
    show();
    using Own = Rows<8, 16>;
    right_class<Own><<<Own::blocks(n), Own::block()>>>(a, b, n);
    show();
    window::right_window<<<(n + window::WINDOW - 1) / window::WINDOW, window::WINDOW>>>(a, b, n);
    show();
    wrong_late<Own><<<(n + Own::threads - 1) / Own::threads, Own::threads>>>(a, b, n);
    wrong_moved<Own><<<(n + Own::threads - 1) / Own::threads, Own::threads>>>(a, b, n);
    wrong_class<Own><<<(n + Own::threads - 1) / Own::threads, Own::threads>>>(a, b, n);
    wrong_elsewhere<64><<<(n + 63) / 64, 64>>>(a, b, n);
    wrong_table<Ring><<<(n + Ring::LENGTH - 1) / Ring::LENGTH, Ring::LENGTH>>>(a, b, n);
    wrong_records<32><<<(n + 31) / 32, 32>>>(a, b, n);
    wrong_macros<<<(n + ROWS - 1) / ROWS, ROWS>>>(a, b, n);
    show();
    return 0;
}
