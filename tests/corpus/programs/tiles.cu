// Kernels with tiles in shared memory: the block follows a constant. `right_…`: another value does the
// same at any size; `even_…`: at multiples of both tiles; `wrong_…`: it does not, or nobody can tell.
#include <cstdio>
#include <cstdlib>
#include <cmath>

#define TILE 16
#define TILE_MASK 15
#ifndef WIDTH
#define WIDTH 32
#endif
constexpr int SIDE = 16;
constexpr int PADDED = SIDE + 1;
constexpr int BLOCK = 128;
constexpr int SIGNED = 64;
constexpr int REACH = 64;
constexpr int INNER = 14;
constexpr int OUTER = INNER + 2;
#define MIDDLE 14
#define AROUND (MIDDLE + 2)
#define CEIL(a, b) (((a) + (b) - 1) / (b))
typedef float real;
typedef unsigned int count_t;

__global__ void right_product(const float *a, const float *b, float *c, int n) {
    __shared__ float s[TILE][TILE], t[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; k += TILE) {
        s[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : 0.0f;
        t[threadIdx.y][threadIdx.x] =
            column < n && k + threadIdx.y < n ? b[(k + threadIdx.y) * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += s[threadIdx.y][i] * t[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

__global__ void right_transpose(const int *a, int *b, int width, int height) {
    __shared__ int tile[SIDE][PADDED];
    int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = a[y * width + x];
    __syncthreads();
    x = blockIdx.y * SIDE + threadIdx.x, y = blockIdx.x * SIDE + threadIdx.y;
    if (x < height && y < width) b[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

// The block is computed from the constant that a block covers.
__global__ void right_stencil(const float *a, float *b, int n) {
    __shared__ float s[OUTER][OUTER];
    const int x = blockIdx.x * INNER + threadIdx.x - 1, y = blockIdx.y * INNER + threadIdx.y - 1;
    const bool is_inside = x >= 0 && x < n && y >= 0 && y < n;
    s[threadIdx.y][threadIdx.x] = is_inside ? a[y * n + x] : 0.0f;
    __syncthreads();
    const bool is_edge = threadIdx.x % (OUTER - 1) == 0 || threadIdx.y % (OUTER - 1) == 0;
    if (is_inside && !is_edge)
        b[y * n + x] = s[threadIdx.y - 1][threadIdx.x] + s[threadIdx.y + 1][threadIdx.x] +
                       s[threadIdx.y][threadIdx.x - 1] + s[threadIdx.y][threadIdx.x + 1];
}

__global__ void right_around(const int *a, int *b, int n) {
    __shared__ int s[AROUND];
    const int i = blockIdx.x * MIDDLE + threadIdx.x - 1;
    if (threadIdx.y == 0) s[threadIdx.x] = i >= 0 && i < n ? a[i] : 0;
    __syncthreads();
    if (threadIdx.y == 1 && i < n && threadIdx.x > 0 && threadIdx.x < AROUND - 1)
        b[i] = s[threadIdx.x - 1] - s[threadIdx.x + 1];
}

// As many threads as the constant are taken for those of the block.
__global__ void wrong_around(const int *a, int *b, int n) {
    __shared__ int s[AROUND];
    const int i = blockIdx.x * MIDDLE + threadIdx.x - 1;
    if (threadIdx.y == 0) s[threadIdx.x] = i >= 0 && i < n ? a[i] : 0;
    __syncthreads();
    if (threadIdx.y == 1 && i < n && threadIdx.x > 0 && threadIdx.x < 15)
        b[i] = s[threadIdx.x - 1] - s[threadIdx.x + 1];
}

template <int T>
__global__ void right_reverse(const int *a, int *b, int n) {
    __shared__ int part[T];
    const int i = blockIdx.x * T + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    const int j = blockIdx.x * T + T - 1 - threadIdx.x;
    if (j < n) b[n - 1 - j] = part[T - 1 - threadIdx.x];
}

__global__ void even_rows(const float *a, float *b, int n) {
    __shared__ float row[WIDTH];
    row[threadIdx.x] = a[blockIdx.y * n + blockIdx.x * WIDTH + threadIdx.x];
    __syncthreads();
    b[blockIdx.y * n + blockIdx.x * WIDTH + threadIdx.x] = 2.0f * row[threadIdx.x ^ 1];
}

// The tile is written in numbers.
__global__ void right_numbers(const int *a, const int *b, int *c, int n) {
    __shared__ int s[16][16], t[16][16];
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    int sum = 0;
    for (int part = 0; part < (n + 15) / 16; part++) {
        const int x = part * 16 + threadIdx.x, y = part * 16 + threadIdx.y;
        s[threadIdx.y][threadIdx.x] = row < n && x < n ? a[row * n + x] : 0;
        t[threadIdx.y][threadIdx.x] = column < n && y < n ? b[y * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += s[threadIdx.y][i] * t[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

// It reads its block, and the launch gives it as much memory as that needs.
__global__ void right_memory(const float *a, float *b, int n) {
    extern __shared__ float part[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x + 1] = i < n ? a[i] : 0.0f;
    if (threadIdx.x == 0) part[0] = i > 0 && i <= n ? a[i - 1] : 0.0f;
    if (threadIdx.x == blockDim.x - 1) part[threadIdx.x + 2] = i + 1 < n ? a[i + 1] : 0.0f;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + 2.0f * part[threadIdx.x + 1] + part[threadIdx.x + 2];
}

// The mask is a number of its own.
__global__ void wrong_numbers(const int *a, int *b, int n) {
    __shared__ int part[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[(threadIdx.x + 1) & 63];
}

// What it compares wraps around at sizes that are not tried.
__global__ void wrong_product(const int *a, int *b, int n) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + ((unsigned)n * n < (unsigned)n ? BLOCK : 0);
}

// The mask stays.
__global__ void wrong_mask(const int *a, int *b, int n) {
    __shared__ int part[TILE];
    const int i = blockIdx.x * TILE + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[(threadIdx.x + 1) & TILE_MASK];
}

// Sums of rounded numbers, in the order of the tiles.
__global__ void wrong_sums(const float *a, float *b, int n) {
    __shared__ float part[BLOCK];
    float sum = 0.0f;
    for (int k = 0; k < n; k += BLOCK) {
        part[threadIdx.x] = k + threadIdx.x < n ? a[k + threadIdx.x] : 0.0f;
        __syncthreads();
        float of_part = 0.0f;
        for (int i = 0; i < BLOCK; i++) of_part += part[i];
        sum += of_part;
        __syncthreads();
    }
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) b[i] = sum;
}

// A result of each block.
__global__ void wrong_blocks(const int *a, int *b, int n) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int k = 0; k < BLOCK; k++) b[blockIdx.x] += part[k];
}

// The first threads load what lies beside the tile: there have to be as many as the radius.
__global__ void wrong_halo(const float *a, float *b, int n, int radius) {
    __shared__ float part[BLOCK + 2 * 96];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[radius + threadIdx.x] = i < n ? a[i] : 0.0f;
    if (threadIdx.x < radius) {
        const int left = i - radius, right = i + BLOCK;
        part[threadIdx.x] = left >= 0 && left < n ? a[left] : 0.0f;
        part[radius + BLOCK + threadIdx.x] = right < n ? a[right] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k <= 2 * radius; k++) sum += part[threadIdx.x + k];
    if (i < n) b[i] = sum;
}

// Two rows of the halo, by the first threads: each block has more of them.
__global__ void right_names(const real *a, real *b, count_t n, real scale) {
    __shared__ real part[BLOCK];
    const count_t i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0.0f;
    __syncthreads();
    if (i < n) b[i] = scale * part[threadIdx.x ^ 1];
}

__global__ void right_halo(const float *a, float *b, int n) {
    __shared__ float part[REACH + 4];
    const int id = blockDim.x * blockIdx.x + threadIdx.x, at = threadIdx.x + 2;
    part[at] = id < n ? a[id] : 0.0f;
    if (threadIdx.x < 2) {
        part[threadIdx.x] = id >= 2 ? a[id - 2] : 0.0f;
        part[at + REACH] = id + REACH < n ? a[id + REACH] : 0.0f;
    }
    __syncthreads();
    if (id < n) b[id] = part[at - 2] + part[at - 1] + part[at] + part[at + 1] + part[at + 2];
}

// Another sum where there are many blocks, and no trial has them.
__global__ void wrong_late(const int *a, int *b, int n) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + (i > 100000 ? BLOCK : 0);
}

// The same, where a block is not counted by its threads.
__global__ void wrong_height(const int *a, int *b, int n) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + (blockIdx.x * blockDim.y > 500 ? BLOCK : 0);
}

// No barrier: right as long as a tile is a warp.
__global__ void wrong_barrier(const int *a, int *b, int n) {
    __shared__ int part[WIDTH];
    const int i = blockIdx.x * WIDTH + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    if (i < n) b[i] = part[WIDTH - 1 - threadIdx.x];
}

// What it does depends on data.
__global__ void wrong_data(const int *a, int *b, int n) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n && part[threadIdx.x] > 3) b[part[0] & 7] = 1;
}

// Another sum where n is large, and no trial is.
__global__ void wrong_beyond(const int *a, int *b, int n) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + (n > 1000000 ? BLOCK : 0);
}

// The same tile wherever what is written is not rounded: ties go to the last of the tile.
__global__ void wrong_ties(const float *a, int *b, int n) {
    __shared__ float part[BLOCK];
    float most = -1e30f;
    int place = 0;
    for (int k = 0; k < n; k += BLOCK) {
        part[threadIdx.x] = k + threadIdx.x < n ? a[k + threadIdx.x] : -1e30f;
        __syncthreads();
        float of_part = -1e30f;
        int in_part = 0;
        for (int i = 0; i < BLOCK; i++)
            in_part = part[i] >= of_part ? i : in_part, of_part = fmaxf(part[i], of_part);
        place = of_part > most ? k + in_part : place, most = fmaxf(most, of_part);
        __syncthreads();
    }
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) b[i] = place;
}

// What blocks do where an integer is below zero, and none was in a trial.
__global__ void right_unless_reversed(const int *a, int *b, int n, int step) {
    __shared__ int part[SIGNED];
    const int i = blockIdx.x * SIGNED + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[step < 0 ? SIGNED - 1 - threadIdx.x : threadIdx.x];
}

// Thresholds by other means than a comparison with a large number.
__global__ void wrong_shift(const int *a, int *b, int n) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + (n >> 20) * BLOCK;
}

__global__ void wrong_bit(const int *a, int *b, int n) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + (n & 8192 ? BLOCK : 0);
}

__global__ void wrong_zeros(const int *a, int *b, int n) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + (__clz(n) < 8 ? BLOCK : 0);
}

__global__ void wrong_rounds(const int *a, int *b, int n) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    int more = 0;
    for (int k = 0; k < n; k++) more += k == 100000 ? BLOCK : 0;
    if (i < n) b[i] = part[threadIdx.x] + more;
}

__global__ void wrong_places(const int *a, int *b, int n) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    const int j = (unsigned char)blockIdx.x * BLOCK + threadIdx.x;
    if (j < n) b[j] = part[threadIdx.x];
}

// Places of blocks in 24 bits: smaller blocks are more.
__global__ void wrong_24_bits(const int *a, int *b, int n) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    const int j = __mul24(blockIdx.x, BLOCK) + threadIdx.x;
    if (j < n) b[j] = part[threadIdx.x];
}

// The grid is what the program asks for, and a number of the launch has two outcomes.
__global__ void right_beta(const float *a, float *b, int n, float alpha, float beta) {
    __shared__ float part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = beta == 0.0f ? alpha * part[threadIdx.x] : alpha * part[threadIdx.x] + beta * b[i];
}

enum { STRIDE = 128 };
__global__ void right_strides(const int *a, int *b, int n) {
    __shared__ int part[STRIDE];
    for (int first = blockIdx.x * STRIDE; first < n; first += gridDim.x * STRIDE) {
        const int i = first + threadIdx.x;
        part[threadIdx.x] = i < n ? a[i] : 0;
        __syncthreads();
        if (i < n) b[i] = part[threadIdx.x] + 1;
        __syncthreads();
    }
}

struct shape {
    static constexpr int side = 16;
};
__global__ void right_planes(const int *a, int *b, int n) {
    __shared__ int part[shape::side][shape::side + 1];
    const int y = blockIdx.y * shape::side + threadIdx.y, x = blockIdx.x * shape::side + threadIdx.x;
    const int at = blockIdx.z * n * n;
    if (x < n && y < n) part[threadIdx.y][threadIdx.x] = a[at + y * n + x];
    __syncthreads();
    if (x < n && y < n) b[at + y * n + x] = part[threadIdx.y][threadIdx.x];
}

// Without a loop: no more blocks may come than threads of the program.
__global__ void shorter_strides(const int *a, int *b, int n) {
    __shared__ int part[STRIDE];
    const int i = blockIdx.x * STRIDE + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + 2;
}

// Something else in a plane that no trial has.
__global__ void wrong_planes(const int *a, int *b, int n) {
    __shared__ int part[SIDE][PADDED];
    const int y = blockIdx.y * SIDE + threadIdx.y, x = blockIdx.x * SIDE + threadIdx.x;
    const int at = blockIdx.z * n * n;
    if (x < n && y < n) part[threadIdx.y][threadIdx.x] = a[at + y * n + x];
    __syncthreads();
    if (x < n && y < n) b[at + y * n + x] = part[threadIdx.y][threadIdx.x] + (blockIdx.z > 40 ? SIDE : 0);
}

// Something else where a large multiple of a size is less than another one, where a term that
// grows slowly decides, or where two sizes are certain ones.
__global__ void wrong_multiple(const int *a, int *b, int n, int m) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + (n * 5000 < m ? BLOCK : 0);
}

__global__ void wrong_term(const int *a, int *b, int n, int m) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + ((n & 1) + (m >> 20) > 1 ? BLOCK : 0);
}

__global__ void wrong_pair(const int *a, int *b, int n, int m) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + (n == 70 && m == 13 ? BLOCK : 0);
}

__global__ void wrong_rounded(const float *a, float *b, int n, float alpha) {
    __shared__ float part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + (2.0f * alpha == 3.0f ? BLOCK : 0);
}

__global__ void wrong_magnitude(const float *a, float *b, int n, float alpha) {
    __shared__ float part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + (fabsf(alpha) - alpha) * BLOCK;
}

// What a number of the launch makes of data is data.
__global__ void right_scaled(const float *a, float *b, int n, float alpha) {
    __shared__ float part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? alpha * a[i] : 0;
    __syncthreads();
    const float other = part[threadIdx.x ^ 1];
    if (i < n) b[i] = expf(part[threadIdx.x] - fmaxf(part[threadIdx.x], other));
}

// Where it is added, or kept in memory, no data change its sign.
__global__ void wrong_added(const float *a, float *b, int n, float alpha) {
    __shared__ float part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    const float sum = part[threadIdx.x] * 1e-9f + alpha;
    if (i < n) b[i] = part[threadIdx.x] + (fabsf(sum) - sum) * BLOCK;
}

__global__ void wrong_kept(const float *a, float *b, int n, float alpha) {
    __shared__ float part[BLOCK];
    __shared__ float kept[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    kept[threadIdx.x] = alpha;
    __syncthreads();
    const float square = alpha * kept[BLOCK - 1 - threadIdx.x];
    if (i < n) b[i] = part[threadIdx.x] + (square > 1.0f ? BLOCK : 0);
}

// Something else that simple numbers hide.
__global__ void wrong_scale(const float *a, float *b, int n, float alpha) {
    __shared__ float part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + alpha * BLOCK / BLOCK;
}

__global__ void wrong_tiny(const float *a, float *b, int n) {
    __shared__ float part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    const float x = part[threadIdx.x];
    if (i < n) b[i] = x * x * (BLOCK * 1e-30f) + 2.5f + x;
}

__global__ void wrong_bytes(const unsigned char *a, float *b, int n) {
    __shared__ unsigned char part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < n; first += BLOCK) {
        part[threadIdx.x] = first + threadIdx.x < n ? a[first + threadIdx.x] : 0;
        __syncthreads();
        float some = 0;
        for (int k = 0; k < BLOCK && first + k < n; k++) some += part[k];
        sum = sum + some;
        __syncthreads();
    }
    if (i < n) b[i] = sum;
}

__global__ void wrong_cut(const float *a, int *b, int n) {
    __shared__ float part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < n; first += BLOCK) {
        part[threadIdx.x] = first + threadIdx.x < n ? a[first + threadIdx.x] : 0;
        __syncthreads();
        float some = 0;
        for (int k = 0; k < BLOCK && first + k < n; k++) some += part[k] * 0.1f;
        sum = sum + some;
        __syncthreads();
    }
    if (i < n) b[i] = sum;
}

__global__ void wrong_bells(const float *a, float *b, int n) {
    __shared__ float part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < n; first += BLOCK) {
        part[threadIdx.x] = first + threadIdx.x < n ? a[first + threadIdx.x] : 0;
        __syncthreads();
        float some = 0;
        for (int k = 0; k < BLOCK && first + k < n; k++) some += expf(-part[k] * part[k] * 1e14f);
        sum = sum + some;
        __syncthreads();
    }
    if (i < n) b[i] = sum;
}

__global__ void wrong_fields(const int *a, int *b, int n) {
    __shared__ unsigned fields;
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (threadIdx.x == 0) fields = 0;
    __syncthreads();
    if (i < n) atomicAdd(&fields, 1u << 8 * (a[i] & 3));
    __syncthreads();
    if (threadIdx.x < 4) atomicAdd(&b[threadIdx.x], fields >> 8 * threadIdx.x & 255);
}

// Something else where both ends of a part mirror each other, and what is between them is not 0.
__global__ void wrong_mirrors(const unsigned *a, unsigned *b, int n) {
    __shared__ unsigned part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    unsigned hash = 7;
    for (int first = 0; first < n; first += BLOCK) {
        part[threadIdx.x] = first + threadIdx.x < n ? a[first + threadIdx.x] : 0;
        __syncthreads();
        for (int k = 0; k < BLOCK && first + k < n; k++) hash = hash * 5 + part[k];
        hash ^= (part[0] == part[BLOCK - 1]) * (part[1] == part[BLOCK - 2]) * part[0] * part[2];
        __syncthreads();
    }
    if (i < n) b[i] = hash;
}

// Something else where a number of the launch, data, or a pointer is what no trial has.
__global__ void wrong_number(const float *a, float *b, int n, float alpha) {
    __shared__ float part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + (alpha == 0.0f ? BLOCK : 0);
}

__global__ void wrong_value(const int *a, int *b, int n) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + (a[0] == 123456 ? BLOCK : 0);
}

// Of numbers at random nearly none is asked for.
__global__ void wrong_rare(const int *a, int *b, int n) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    const int left = threadIdx.x > 0 ? part[threadIdx.x - 1] : 0;
    const unsigned mixed = part[threadIdx.x] * 2654435761u + 98765u;
    if (i < n) b[i] = part[threadIdx.x] + (mixed < 1024 ? left : 0);
}

// Both answers are given.
__global__ void right_threshold(const float *a, float *b, int n) {
    __shared__ float part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x, j = blockIdx.x * BLOCK + BLOCK - 1 - threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    const float half = 0.5f * part[BLOCK - 1 - threadIdx.x];
    if (j < n) b[j] = half > 0.4f ? half : -1.0f;
}

__global__ void wrong_below(const float *a, float *b, int n) {
    __shared__ float part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + (part[threadIdx.x] < -1000.0f ? BLOCK : 0);
}

__global__ void wrong_pointer(const int *a, int *b, int n) {
    __shared__ int part[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = part[threadIdx.x] + ((unsigned long long)a & 256 ? BLOCK : 0);
}

// It is defined behind its launch.
__global__ void right_late(const int *a, int *b, int n);

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 100;
    const size_t bytes = 4 * (size_t)(n + 64) * (n + 64);
    float *a, *b, *c;
    cudaMalloc(&a, bytes);
    cudaMalloc(&b, bytes);
    cudaMalloc(&c, bytes);
    int *const host = (int *)malloc(bytes);
    for (size_t i = 0; i < bytes / 4; i++) host[i] = 0x3f800000 + (int)(i * 2654435761u >> 10);
    cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(b, host, bytes, cudaMemcpyHostToDevice);
    cudaMemset(c, 0, bytes);
    int *const x = (int *)a, *const y = (int *)c;
    const int planes = n > 100 ? 1 : 2;
    dim3 block(TILE, TILE), grid(CEIL(n, TILE), (n + TILE - 1) / TILE);
    right_product<<<grid, block>>>(a, b, c, n);
    // As many blocks for several sizes: each is to have its own launch of a copy.
    for (int m = n; m < n + 6; m += 5)
        right_transpose<<<dim3(CEIL(m, SIDE), CEIL(m, SIDE)), dim3(SIDE, SIDE)>>>(x, y, m, m);
    constexpr int T = 64;
    right_reverse<T><<<CEIL(n, T), T>>>(x, y, n);
    even_rows<<<dim3(n / WIDTH, n), WIDTH>>>(a, c, n);
    dim3 threads(16, 16), blocks((n + 15) / 16, (n + threads.y - 1) / threads.y);
    right_numbers<<<blocks, threads>>>(x, (int *)b, y, n);
    const int width = 256;
    right_memory<<<(n + width - 1) / width, width, (width + 2) * sizeof(float)>>>(a, c, n);
    const count_t few = 30;
    right_names<<<CEIL(few, BLOCK), BLOCK>>>(a, c, few, 2.0f);
    wrong_numbers<<<(n + 63) / 64, 64>>>(x, y, n);
    wrong_product<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    wrong_mask<<<CEIL(n, TILE), TILE>>>(x, y, n);
    wrong_sums<<<CEIL(n, BLOCK), BLOCK>>>(a, c, n);
    wrong_blocks<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    wrong_halo<<<CEIL(n, BLOCK), BLOCK>>>(a, c, n, 5);
    right_halo<<<CEIL(n, REACH), REACH>>>(a, c, n);
    right_stencil<<<dim3(CEIL(n, INNER), CEIL(n, INNER)), dim3(OUTER, OUTER)>>>(a, c, n);
    right_around<<<CEIL(n, MIDDLE), dim3(AROUND, 2)>>>(x, y, n);
    wrong_around<<<CEIL(n, MIDDLE), dim3(AROUND, 2)>>>(x, y, n);
    right_late<<<dim3(CEIL(n, SIDE), CEIL(n, SIDE)), dim3(SIDE, SIDE)>>>(x, y, n);
    wrong_late<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    wrong_height<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    wrong_barrier<<<CEIL(n, WIDTH), WIDTH>>>(x, y, n);
    wrong_data<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    wrong_beyond<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    wrong_ties<<<CEIL(n, BLOCK), BLOCK>>>(a, y, n);
    right_unless_reversed<<<CEIL(n, SIGNED), SIGNED>>>(x, y, n, -1);
    wrong_shift<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    wrong_bit<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    wrong_zeros<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    wrong_rounds<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    wrong_places<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    wrong_24_bits<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    wrong_scale<<<CEIL(n, BLOCK), BLOCK>>>(a, c, n, 0.5f);
    wrong_tiny<<<CEIL(n, BLOCK), BLOCK>>>(a, c, n);
    wrong_bytes<<<CEIL(n, BLOCK), BLOCK>>>((const unsigned char *)x, c, n);
    wrong_cut<<<CEIL(n, BLOCK), BLOCK>>>(a, y, n);
    wrong_bells<<<CEIL(n, BLOCK), BLOCK>>>(a, c, n);
    wrong_fields<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    wrong_mirrors<<<CEIL(n, BLOCK), BLOCK>>>((const unsigned *)x, (unsigned *)y, n);
    wrong_number<<<CEIL(n, BLOCK), BLOCK>>>(a, c, n, 0.0f);
    right_beta<<<CEIL(n, BLOCK), BLOCK>>>(a, c, n, 2.0f, 0.0f);
    right_strides<<<n > 100 ? 3 : 1, STRIDE>>>(x, y, n);
    right_planes<<<dim3(CEIL(n, shape::side), CEIL(n, shape::side), planes), dim3(shape::side, shape::side)>>>(x, y, n);
    wrong_planes<<<dim3(CEIL(n, SIDE), CEIL(n, SIDE), planes), dim3(SIDE, SIDE)>>>(x, y, n);
    shorter_strides<<<n > 100 ? 3 : 1, STRIDE>>>(x, y, n);
    wrong_multiple<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n, n);
    wrong_term<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n, n);
    wrong_pair<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n, n);
    wrong_rounded<<<CEIL(n, BLOCK), BLOCK>>>(a, c, n, 0.0f);
    wrong_magnitude<<<CEIL(n, BLOCK), BLOCK>>>(a, c, n, 0.0f);
    right_scaled<<<CEIL(n, BLOCK), BLOCK>>>(a, c, n, 0.5f);
    wrong_added<<<CEIL(n, BLOCK), BLOCK>>>(a, c, n, 0.0f);
    wrong_kept<<<CEIL(n, BLOCK), BLOCK>>>(a, c, n, 0.0f);
    wrong_value<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    wrong_rare<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    right_threshold<<<CEIL(n, BLOCK), BLOCK>>>(a, c, n);
    wrong_below<<<CEIL(n, BLOCK), BLOCK>>>(a, c, n);
    wrong_pointer<<<CEIL(n, BLOCK), BLOCK>>>(x, y, n);
    cudaMemcpy(host, c, bytes, cudaMemcpyDeviceToHost);
    unsigned long long sum = 0;
    for (size_t i = 0; i < bytes / 4; i++) sum = sum * 31 + (unsigned)host[i];
    printf("%llu\n", sum);
}

__global__ void right_late(const int *a, int *b, int n) {
    __shared__ int part[SIDE][SIDE + 1];
    const int x = blockIdx.x * SIDE, y = blockIdx.y * SIDE;
    if (x + threadIdx.x < n && y + threadIdx.y < n)
        part[threadIdx.y][threadIdx.x] = a[(y + threadIdx.y) * n + x + threadIdx.x];
    __syncthreads();
    if (y + threadIdx.x < n && x + threadIdx.y < n)
        b[(x + threadIdx.y) * n + y + threadIdx.x] = part[threadIdx.x][threadIdx.y];
}
