// Templates on types, of which the program launches several instances. `right_…`: another tile does
// the same in each of them; `wrong_…`: in one of them it does not.
#include <cstdio>
#include <cstdlib>

// A number of a type that the template gives, launched in a template of the host.
template <typename T, int TILE>
__global__ void right_product(const T *a, const T *b, T *c, T factor, int n) {
    __shared__ T rows[TILE][TILE], columns[TILE][TILE];
    const int y = blockIdx.y * TILE + threadIdx.y, x = blockIdx.x * TILE + threadIdx.x;
    T sum = 0;
    for (int step = 0; step < n; step += TILE) {
        const int k = step + threadIdx.x, l = step + threadIdx.y;
        rows[threadIdx.y][threadIdx.x] = y < n && k < n ? a[y * n + k] : T(0);
        columns[threadIdx.y][threadIdx.x] = l < n && x < n ? b[l * n + x] : T(0);
        __syncthreads();
        for (int j = 0; j < TILE; j++) sum += rows[threadIdx.y][j] * columns[j][threadIdx.x];
        __syncthreads();
    }
    if (y < n && x < n) c[y * n + x] = factor * sum;
}

// Three launches, of elements of one, four and eight bytes.
constexpr int SIDE = 16;

template <typename T>
__global__ void right_transpose(T *to, const T *from, int n) {
    __shared__ T tile[SIDE][SIDE + 1];
    int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
    if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = from[y * n + x];
    __syncthreads();
    x = blockIdx.y * SIDE + threadIdx.x, y = blockIdx.x * SIDE + threadIdx.y;
    if (x < n && y < n) to[y * n + x] = tile[threadIdx.x][threadIdx.y];
}

// Types of indices, too.
template <typename T, typename I, int W>
__global__ void right_stencil(const T *from, T *to, I n, T factor) {
    __shared__ T part[W + 2];
    const I i = (I)blockIdx.x * W + threadIdx.x;
    part[threadIdx.x + 1] = i < n ? from[i] : T(0);
    if (threadIdx.x == 0) part[0] = i > 0 && i - 1 < n ? from[i - 1] : T(0);
    if (threadIdx.x == W - 1) part[W + 1] = i + 1 < n ? from[i + 1] : T(0);
    __syncthreads();
    if (i < n) to[i] = (part[threadIdx.x] + part[threadIdx.x + 1] + part[threadIdx.x + 2]) * factor;
}

// Launched with a number below zero, with which no copy was tried.
template <typename I, int STEPS>
__global__ void kept_rest(const int *from, int *to, I first, I n) {
    __shared__ int part[STEPS];
    const I i = (I)blockIdx.x * STEPS + threadIdx.x;
    part[threadIdx.x] = i < n ? from[i] : 0;
    __syncthreads();
    if (i < n && i >= first) to[i] = part[threadIdx.x];
}

// A number of data in one instance, and a size for all that is known in the other.
template <typename T, int COUNT>
__global__ void wrong_kinds(const T *from, T *to, T factor, int n) {
    __shared__ T part[COUNT];
    const int i = blockIdx.x * COUNT + threadIdx.x;
    part[threadIdx.x] = i < n ? from[i] : T(0);
    __syncthreads();
    if (i < n) to[i] = part[threadIdx.x] * factor;
}

// The tile is a number of what is computed, for `double` alone.
constexpr int WIDTH = 64;

template <typename T>
__global__ void wrong_for_one(T *to, const T *from, T added, int n) {
    __shared__ T part[WIDTH];
    const int i = blockIdx.x * WIDTH + threadIdx.x;
    part[threadIdx.x] = i < n ? from[i] : T(0);
    __syncthreads();
    const int own = sizeof(T) == 8 ? (threadIdx.x + 1) % WIDTH : threadIdx.x;
    if (i < n) to[i] = part[own] + added;
}

// Instances of other tiles have no tile in common.
template <typename T, int LANES>
__global__ void wrong_lanes(T *to, const T *from, int n) {
    __shared__ T part[LANES];
    const int i = blockIdx.x * LANES + threadIdx.x;
    part[threadIdx.x] = i < n ? from[i] : T(0);
    __syncthreads();
    if (i < n) to[i] = part[threadIdx.x] + T(LANES);
}

template <typename T> static T *made(int count) {
    T *const host = (T *)malloc(count * sizeof(T)), *device = nullptr;
    for (int i = 0; i < count; i++) host[i] = T(i * 7919 % 101);
    cudaMalloc(&device, count * sizeof(T));
    cudaMemcpy(device, host, count * sizeof(T), cudaMemcpyHostToDevice);
    free(host);
    return device;
}

template <typename T> static void show(const T *device, int count) {
    T *const host = (T *)malloc(count * sizeof(T));
    cudaMemcpy(host, device, count * sizeof(T), cudaMemcpyDeviceToHost);
    double sum = 0;
    for (int i = 0; i < count; i++) sum += double(host[i]) * (i % 17 + 1);
    printf("%.17g\n", sum);
    free(host);
}

template <typename T> static void multiply(int n) {
    constexpr int TILE = 16;
    T *const a = made<T>(n * n), *const b = made<T>(n * n), *const c = made<T>(n * n);
    const dim3 grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE), block(TILE, TILE);
    right_product<T, TILE><<<grid, block>>>(a, b, c, T(3), n);
    show(c, n * n);
}

template <typename T, typename I> static void smooth(I n) {
    constexpr int W = 128;
    T *const a = made<T>(n), *const b = made<T>(n);
    right_stencil<T, I, W><<<(n + W - 1) / W, W>>>(a, b, n, T(3));
    show(b, n);
}

template <typename I> static void move_rest(I n) {
    constexpr int STEPS = 64;
    int *const a = made<int>(n), *const b = made<int>(n);
    kept_rest<I, STEPS><<<(n + STEPS - 1) / STEPS, STEPS>>>(a, b, I(-1), n);
    show(b, n);
}

template <typename T> static void scale(int n) {
    constexpr int COUNT = 64;
    T *const a = made<T>(n), *const b = made<T>(n);
    wrong_kinds<T, COUNT><<<(n + COUNT - 1) / COUNT, COUNT>>>(a, b, T(3), n);
    show(b, n);
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 100;
    multiply<float>(n), multiply<double>(n);
    smooth<float, int>(n), smooth<double, size_t>(n), move_rest<int>(n), move_rest<long long>(n);
    scale<float>(n), scale<int>(n);
    const dim3 grid((n + SIDE - 1) / SIDE, (n + SIDE - 1) / SIDE), block(SIDE, SIDE);
    auto *const c = made<unsigned char>(n * n), *const d = made<unsigned char>(n * n);
    right_transpose<<<grid, block>>>(c, d, n);
    show(c, n * n);
    auto *const e = made<int>(n * n), *const f = made<int>(n * n);
    right_transpose<<<grid, block>>>(e, f, n);
    show(e, n * n);
    auto *const g = made<double>(n * n), *const h = made<double>(n * n);
    right_transpose<<<grid, block>>>(g, h, n);
    show(g, n * n);
    auto *const k = made<float>(n), *const l = made<float>(n);
    wrong_for_one<<<(n + WIDTH - 1) / WIDTH, WIDTH>>>(k, l, 2.5f, n);
    show(k, n);
    wrong_for_one<<<(n + WIDTH - 1) / WIDTH, WIDTH>>>(g, h, 0.5, n);
    show(g, n);
    wrong_lanes<int, 64><<<(n + 63) / 64, 64>>>(e, f, n);
    show(e, n);
    wrong_lanes<double, 32><<<(n + 31) / 32, 32>>>(g, h, n);
    show(g, n);
    return 0;
}
