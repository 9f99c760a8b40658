// The tasks of reference.cu in other ways. Each `case` says how it is judged at one size at least.
#include <cuda_fp16.h>

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

// ---- 1: sums of elements

__global__ void add_strided(const float *a, const float *b, float *c, int n) {
    for (int i = INDEX; i < n; i += gridDim.x * blockDim.x) c[i] = b[i] + a[i];
}

template <bool has_tail>
__global__ void add_fours(const float *a, const float *b, float *c, int n) {
    int i = INDEX;
    if (i < n / 4) {
        float4 x = ((const float4 *)a)[i], y = ((const float4 *)b)[i];
        ((float4 *)c)[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
    if (has_tail && i < n % 4) c[n - 1 - i] = a[n - 1 - i] + b[n - 1 - i];
}

__global__ void add_unguarded(const float *a, const float *b, float *c, int) {
    c[INDEX] = a[INDEX] + b[INDEX];
}

__global__ void add_one_too_many(const float *a, const float *b, float *c, int n) {
    if (INDEX <= n) c[INDEX] = a[INDEX] + b[INDEX];
}

__global__ void add_lucky(const float *a, const float *b, float *c, int n) {
    if (INDEX < n) c[INDEX] = a[INDEX] + b[INDEX] + fminf(0, fabsf(a[INDEX + 1]));
}

__global__ void add_halves(const float *a, const float *b, float *c, int n) {
    if (INDEX < n) c[INDEX] = __half2float(__float2half(a[INDEX])) + b[INDEX];
}

__global__ void add_some(const float *a, const float *b, float *c, int n) {
    if (INDEX < n && a[INDEX] != 0) c[INDEX] = a[INDEX] + b[INDEX];
}

__global__ void add_and_clear(float *a, const float *b, float *c, int n) {
    if (INDEX >= n) return;
    c[INDEX] = a[INDEX] + b[INDEX];
    a[INDEX] = 0;
}

__global__ void add_within(float *a, const float *b, float *c, int n) {
    if (INDEX >= n) return;
    float before = a[INDEX];
    ((volatile float *)a)[INDEX] += b[INDEX];
    c[INDEX] = ((volatile float *)a)[INDEX];
    a[INDEX] = before;
}

__global__ void add_few_bits(const float *a, const float *b, float *c, int n) {
    unsigned char i = INDEX;
    if (i < n) c[i] = a[i] + b[i];
}

// What was computed for arrays of that place and length, and, if asked for, of that first number.
static void add_kept(const float *a, const float *b, float *c, int n, bool looks) {
    static const float *of = nullptr;
    static float *kept = nullptr, first = 0;
    static int length = -1;
    float now = 0;
    if (looks) cudaMemcpy(&now, a, 4, cudaMemcpyDeviceToHost);
    if (of != a || length != n || first != now) {
        if (kept) cudaFree(kept);
        cudaMalloc(&kept, n * sizeof(float));
        add_strided<<<(n + 127) / 128, 128>>>(a, b, kept, n);
    }
    of = a, length = n, first = now;
    cudaMemcpy(c, kept, n * sizeof(float), cudaMemcpyDeviceToDevice);
}

// ---- 2: the sum of products

template <bool is_clear, bool waits>
__global__ void dot_tree(const float *a, const float *b, float *c, int n) {
    __shared__ float sums[128];
    int i = INDEX, lane = threadIdx.x;
    if (is_clear || i < n) sums[lane] = i < n ? a[i] * b[i] : 0;
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (lane < step) sums[lane] += sums[lane + step];
        if (waits) __syncthreads();
    }
    if (lane == 0) atomicAdd(c, sums[0]);
}

__global__ void dot_warps(const float *a, const float *b, float *c, int n) {
    float sum = 0;
    for (int i = INDEX; i < n; i += gridDim.x * blockDim.x) sum += a[i] * b[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0) atomicAdd(c, sum);
}

__global__ void dot_backwards(const float *a, const float *b, float *c, int n) {
    double sum = 0;
    for (int i = n - 1; i >= 0; i--) sum += a[i] * b[i];
    c[0] = sum;
}

__global__ void dot_raced(const float *a, const float *b, float *c, int n) {
    if (INDEX < n) c[0] += a[INDEX] * b[INDEX];
}

__global__ void dot_whole(const float *a, const float *b, float *c, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    c[0] = sum;
}

__global__ void dot_blocks(const float *a, const float *b, float *parts, int n) {
    float sum = 0;
    for (int i = threadIdx.x; i < 128; i += 1)
        if (threadIdx.x == 0 && blockIdx.x * 128 + i < n)
            sum += a[blockIdx.x * 128 + i] * b[blockIdx.x * 128 + i];
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

__global__ void add_up(const float *parts, float *c, int count) {
    float sum = 0;
    for (int i = 0; i < count; i++) sum += parts[i];
    c[0] = sum;
}

static void dot_by_parts(const float *a, const float *b, float *c, int n, int further) {
    int blocks = (n + 127) / 128;
    float *parts;
    cudaMalloc(&parts, (blocks + 1) * sizeof(float));
    dot_blocks<<<blocks, 32>>>(a, b, parts, n);
    add_up<<<1, 1>>>(parts, c, blocks + further);
    cudaFree(parts);
}

// ---- 3: products of matrices

template <bool is_guarded, bool waits, bool is_transposed>
__global__ void multiply_tiles(const float *a, const float *b, float *c, int n) {
    __shared__ float x[8][8], y[8][9];
    int i = blockIdx.x * 8 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int k = (n + 7) / 8 * 8 - 8; k >= 0; k -= 8) {
        int across = k + threadIdx.x, down = k + threadIdx.y;
        x[threadIdx.y][threadIdx.x] = !is_guarded || (j < n && across < n) ? a[j * n + across] : 0;
        y[threadIdx.y][threadIdx.x] =
            !is_guarded || (i < n && down < n) ? b[is_transposed ? i * n + down : down * n + i] : 0;
        __syncthreads();
        for (int l = 0; l < 8; l++) sum += x[threadIdx.y][l] * y[l][threadIdx.x];
        if (waits) __syncthreads();
    }
    if (i < n && j < n) c[j * n + i] = sum;
}

__global__ void multiply_rows(const float *a, const float *b, float *c, int n) {
    extern __shared__ float row[];
    for (int k = threadIdx.x; k < n; k += blockDim.x) row[k] = a[blockIdx.x * n + k];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float even = 0, odd = 0;
        for (int k = 0; k + 1 < n; k += 2) even += row[k] * b[k * n + i], odd += row[k + 1] * b[k * n + n + i];
        if (n % 2) even += row[n - 1] * b[(n - 1) * n + i];
        c[blockIdx.x * n + i] = even + odd;
    }
}

// ---- 4: neighbours

template <bool waits>
__global__ void smooth_shared(const float *a, float *c, int n) {
    __shared__ float part[130];
    int i = INDEX, at = threadIdx.x + 1;
    part[at] = i < n ? a[i] : 0;
    if (threadIdx.x == 0) part[0] = i > 0 && i <= n ? a[i - 1] : 0;
    if (threadIdx.x == 127) part[129] = i + 1 < n ? a[i + 1] : 0;
    if (waits) __syncthreads();
    if (i < n) c[i] = (part[at - 1] + 2 * part[at] + part[at + 1]) / 4;
}

__global__ void smooth_within(const float *a, float *c, int n) {
    int i = INDEX;
    if (i < n) c[i] = a[i];
    __syncthreads();
    float sum = i < n ? (i > 0 ? c[i - 1] : 0) + 2 * c[i] + (i + 1 < n ? c[i + 1] : 0) : 0;
    __syncthreads();
    if (i < n) c[i] = sum / 4;
}

__global__ void smooth_blocks(const float *a, float *c, int n) {
    int i = INDEX;
    bool is_first = threadIdx.x == 0, is_last = threadIdx.x == 127 || i + 1 >= n;
    if (i < n) c[i] = ((is_first ? 0 : a[i - 1]) + 2 * a[i] + (is_last ? 0 : a[i + 1])) / 4;
}

// ---- 5: softmax of rows

template <bool is_shifted>
__global__ void softmax_warps(const float *a, float *c, int n) {
    int row = blockIdx.x, lane = threadIdx.x;
    float x = lane < 24 ? a[row * 24 + lane] : -INFINITY, largest = x;
    for (int step = 16; step > 0; step /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));
    float part = exp2f((x - (is_shifted ? largest : 0)) * 1.44269504f), sum = part;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (lane < 24) c[row * 24 + lane] = part / sum;
}

extern "C" void solve(const float *a, const float *b, float *c, int n, int way) {
    int blocks = (n + 127) / 128, side = n % 64, tiles = (side + 7) / 8;
    dim3 tile(8, 8), grid(tiles, tiles);
    if (way / 100 == 2 && way != 213) cudaMemset(c, 0, sizeof(float));
    switch (way) {
    case 100: add_strided<<<2, 96>>>(a, b, c, n); break;  // right
    case 101: add_fours<true><<<blocks, 128>>>(a, b, c, n); break;  // right
    case 110: add_unguarded<<<blocks, 128>>>(a, b, c, n); break;  // CT470
    case 111: add_one_too_many<<<blocks, 128>>>(a, b, c, n); break;  // CT470
    case 112: add_lucky<<<blocks, 128>>>(a, b, c, n); break;  // CT470
    case 113: add_fours<false><<<blocks, 128>>>(a, b, c, n); break;  // differs
    case 114: if (n / 128) add_unguarded<<<n / 128, 128>>>(a, b, c, n); break;  // differs
    case 115: add_halves<<<blocks, 128>>>(a, b, c, n); break;  // differs
    case 116: add_some<<<blocks, 128>>>(a, b, c, n); break;  // differs
    case 117: add_and_clear<<<blocks, 128>>>((float *)a, b, c, n); break;  // differs
    case 118: add_within<<<blocks, 128>>>((float *)a, b, c, n); break;  // puts back
    case 119: add_few_bits<<<blocks, 128>>>(a, b, c, n); break;  // differs
    case 120: add_kept(a, b, c, n, false); break;  // differs
    case 121: add_kept(a, b, c, n, true); break;  // differs
    case 122: add_strided<<<1, n + 900>>>(a, b, c, n); break;  // invalid argument
    case 200: dot_tree<true, true><<<blocks, 128>>>(a, b, c, n); break;  // right
    case 201: dot_warps<<<3, 64>>>(a, b, c, n); break;  // right
    case 202: dot_backwards<<<1, 1>>>(a, b, c, n); break;  // right
    case 203: dot_by_parts(a, b, c, n, 0); break;  // right
    case 210: dot_tree<false, true><<<blocks, 128>>>(a, b, c, n); break;  // CT473
    case 211: dot_tree<true, false><<<blocks, 128>>>(a, b, c, n); break;  // CT475
    case 212: dot_raced<<<blocks, 128>>>(a, b, c, n); break;  // CT476
    case 213: dot_warps<<<3, 64>>>(a, b, c, n); break;  // differs
    case 214: dot_whole<<<1, 1>>>(a, b, c, n); break;  // differs
    case 215: dot_by_parts(a, b, c, n, 1); break;  // CT474
    case 216: dot_tree<true, true><<<1, 128>>>(a, b, c, n); break;  // differs
    case 300: multiply_tiles<true, true, false><<<grid, tile>>>(a, b, c, side); break;  // right
    case 301: multiply_rows<<<side, 64, side * sizeof(float)>>>(a, b, c, side); break;  // right
    case 310: multiply_tiles<false, true, false><<<grid, tile>>>(a, b, c, side); break;  // CT470
    case 311: multiply_tiles<true, false, false><<<grid, tile>>>(a, b, c, side); break;  // CT475
    case 312: multiply_tiles<true, true, true><<<grid, tile>>>(a, b, c, side); break;  // differs
    case 313: multiply_rows<<<side, 64, side * sizeof(float) / 2>>>(a, b, c, side); break;  // CT470
    case 400: smooth_shared<true><<<blocks, 128>>>(a, c, n); break;  // right
    case 410: smooth_shared<false><<<blocks, 128>>>(a, c, n); break;  // CT475
    case 411: smooth_within<<<blocks, 128>>>(a, c, n); break;  // CT477
    case 412: smooth_blocks<<<blocks, 128>>>(a, c, n); break;  // differs
    case 500: softmax_warps<true><<<n, 32>>>(a, c, n); break;  // right
    case 510: softmax_warps<false><<<n, 32>>>(a, c, n); break;  // differs
    case 511: softmax_warps<true><<<n - n / 300, 32>>>(a, c, n); break;  // differs
    }
    cudaDeviceSynchronize();
}
