// Micro-kernels of the calibration suite. Each stresses one or two resources of a GPU; all have the
// same parameters: three arrays, the number of threads that work, a stride or pitch, a trip count.
// Everything is unrolled by hand or not at all, so that what the emulated device counts is what runs.

#pragma nv_diag_suppress 177  // variables that only some instances of a macro use

#define PARAMETERS float *a, float *b, float *c, int n, int p, int q
#define COLUMN (blockIdx.x * blockDim.x + threadIdx.x)
#define ROW (blockIdx.y * blockDim.y + threadIdx.y)
#define LAYER (blockIdx.z * blockDim.z + threadIdx.z)
#define LOOP _Pragma("unroll 1") for (int k = 0; k < q; ++k)

__constant__ float table[512];

extern "C" {

// Keeps the GPU busy while the host queues what is timed.
__global__ void cutune_spin(long long cycles)
{
    const long long start = clock64();
    while (clock64() - start < cycles) { }
}

// ---- launching and dispatching

__global__ void empty(PARAMETERS)
{
    if (n < 0) c[0] = a[0] + b[0] + p + q;
}

// ---- streams without a loop

__global__ void copy(PARAMETERS)
{
    const int i = COLUMN;
    if (i < n) c[i] = a[i];
}

__global__ void combine(PARAMETERS)
{
    const int i = COLUMN;
    if (i < n) c[i] = a[i] + 3.0f * b[i];
}

__global__ void copy_bytes(PARAMETERS)
{
    const int i = COLUMN;
    if (i < n) ((char *)c)[i] = ((const char *)a)[i];
}

__global__ void copy_wide(PARAMETERS)
{
    const int i = COLUMN;
    if (i < n) ((float4 *)c)[i] = ((const float4 *)a)[i];
}

__global__ void many_arrays(PARAMETERS)
{
    const int i = COLUMN;
    if (i < n) c[i] = a[i] + a[i + p] + a[i + 2 * p] + b[i] + b[i + p] + b[i + 2 * p];
}

__global__ void combine_double(PARAMETERS)
{
    const int i = COLUMN;
    const double *x = (const double *)a, *y = (const double *)b;
    if (i < n) ((double *)c)[i] = x[i] + 3.0 * y[i];
}

__global__ void window(PARAMETERS)
{
    const int i = COLUMN;
    if (i < n)
        c[i] = a[i] + a[i + p] + a[i + 2 * p] + a[i + 3 * p] + a[i + 4 * p] + a[i + 5 * p] +
               a[i + 6 * p];
}

// Records of several words, of which each instruction touches one.
__global__ void records_read(PARAMETERS)
{
    const int i = COLUMN;
    if (i >= n) return;
    const float *r = a + p * i;
    c[i] = r[0] * r[1] + r[2];
}

__global__ void records_move(PARAMETERS)
{
    const int i = COLUMN;
    if (i >= n) return;
    float *r = c + p * i;
    const float speed = r[2];
    r[0] += speed * r[1];
    r[1] += speed;
}

__global__ void records_move_all(PARAMETERS)
{
    const int i = COLUMN;
    if (i >= n) return;
    float *r = c + p * i;
    const float speed = r[3];
    r[0] += speed * r[4];
    r[1] += speed * r[5];
    r[2] += speed * r[6];
    r[4] -= speed;
    r[5] -= speed;
    r[6] -= speed;
}

__global__ void plane_window(PARAMETERS)
{
    const int x = COLUMN, y = ROW;
    if (x >= n || y >= q) return;
    const float *m = a + y * p + x;
    c[y * p + x] = m[0] + m[1] + m[2] + m[p] + m[p + 1] + m[p + 2] + m[2 * p] + m[2 * p + 1];
}

__global__ void plane_bytes(PARAMETERS)
{
    const int x = COLUMN, y = ROW;
    if (x >= n || y >= q) return;
    const unsigned char *m = (const unsigned char *)a + y * p + x;
    ((unsigned char *)c)[y * p + x] =
        m[0] + 2 * m[1] + m[2] + 2 * m[p] + 4 * m[p + 1] + m[2 * p] + 2 * m[2 * p + 1];
}

__global__ void plane_update(PARAMETERS)
{
    const int x = COLUMN, y = ROW;
    if (x >= n || y >= q) return;
    c[y * p + x] -= 0.5f * (a[y * p + x + 1] - a[y * p + x] + b[(y + 1) * p + x] - b[y * p + x]);
}

__global__ void plane_copy(PARAMETERS)
{
    const int x = COLUMN, y = ROW;
    if (x < n && y < q) c[y * p + x] = a[y * p + x];
}

__global__ void plane_turn(PARAMETERS)
{
    const int x = COLUMN, y = ROW;
    if (x < n && y < q) c[x * p + y] = a[y * p + x];
}

__global__ void solid_window(PARAMETERS)
{
    const int x = COLUMN, y = ROW, z = LAYER;
    if (x >= n || y >= n || z >= q) return;
    const float *m = a + (z * p + y) * p + x;
    c[(z * p + y) * p + x] =
        m[0] + m[1] + m[2] + m[p] + m[2 * p] + m[p * p] + m[2 * p * p];
}

// ---- loops around memory

__global__ void store_loop(PARAMETERS)
{
    const int x = COLUMN, y = ROW;
    LOOP c[y * p + x + (k & 3) * n] = 1.0f;
}

__global__ void update_loop(PARAMETERS)
{
    const int x = COLUMN, y = ROW;
    LOOP c[y * p + x] += a[k * p + x];
}

__global__ void product_loop(PARAMETERS)
{
    const int x = COLUMN, y = ROW;
    float sum = 0.0f;
    LOOP sum += a[y * p + k] * b[k * p + x];
    c[y * p + x] = sum;
}

__global__ void rows_loop(PARAMETERS)
{
    const int x = COLUMN, y = ROW;
    float sum = 0.0f;
    LOOP sum += a[y * p + k] * a[x * p + k];
    c[y * p + x] = sum;
}

__global__ void stride_loop(PARAMETERS)
{
    const int i = COLUMN;
    float sum = 0.0f;
    LOOP sum += a[(threadIdx.x & 31) * p + (k & 7)];
    if (i < n) c[i] = sum;
}

// Each thread walks through a matrix by itself: down a column, which its neighbours do beside it, or
// along a row.
#define WALK(name, place)            \
    __global__ void name(PARAMETERS) \
    {                                \
        const int i = COLUMN;        \
        if (i >= n) return;          \
        float sum = 0.0f;            \
        LOOP sum += a[place];        \
        c[i] = sum;                  \
    }
WALK(column_walk, k * p + i)
WALK(row_walk, i * p + k)

// Four loads in flight, none of which L1 has.
__global__ void wide_walk(PARAMETERS)
{
    const int i = COLUMN;
    float s = 0.0f, t = 0.0f, u = 0.0f, v = 0.0f;
    LOOP {
        const int at = i + 4 * k * p;
        s += a[at & (n - 1)];
        t += a[(at + p) & (n - 1)];
        u += a[(at + 2 * p) & (n - 1)];
        v += a[(at + 3 * p) & (n - 1)];
    }
    c[i] = s + t + u + v;
}

__global__ void row_update(PARAMETERS)
{
    const int i = COLUMN;
    if (i >= n) return;
    LOOP c[i] += a[i * p + k] * b[k];
}

__global__ void chase(PARAMETERS)
{
    const int i = COLUMN;
    const int *next = (const int *)a;
    int at = i;
    LOOP at = next[at + k * p] + i;
    if (i < n) c[i] = at;
}

__global__ void uneven_loop(PARAMETERS)
{
    const int i = COLUMN;
    if (i >= n) return;
    float sum = 0.0f;
    const int trips = q + (i & 31) * p;
    _Pragma("unroll 1") for (int k = 0; k < trips; ++k) sum += a[k * 4096 + i];
    c[i] = sum;
}

// ---- arithmetic

#define ARITHMETIC(name, type, step)                                                   \
    __global__ void name(PARAMETERS)                                                   \
    {                                                                                  \
        const int i = COLUMN;                                                          \
        type r = (type)i, s = (type)p, t = (type)2, u = (type)(i + 1), v = (type)3;    \
        LOOP { step(r) step(s) step(t) step(u) }                                       \
        if (i < n) c[i] = (float)(r + s + t + u);                                      \
    }
#define STEP_FMA(x) x = x * v + v;
#define STEP_ROOT(x) x = rsqrtf(x);
#define STEP_QUOTIENT(x) x = v / x;
#define STEP_REMAINDER(x) x = (i + k) % (x | 1);
ARITHMETIC(fma_loop, float, STEP_FMA)
ARITHMETIC(double_loop, double, STEP_FMA)
ARITHMETIC(integer_loop, int, STEP_FMA)
ARITHMETIC(root_loop, float, STEP_ROOT)
ARITHMETIC(quotient_loop, float, STEP_QUOTIENT)
ARITHMETIC(double_quotient_loop, double, STEP_QUOTIENT)
ARITHMETIC(remainder_loop, int, STEP_REMAINDER)

// ---- within a block

__global__ void shared_loop(PARAMETERS)
{
    __shared__ float tile[2048];
    const int i = COLUMN, t = threadIdx.x;
    tile[t] = a[i];
    __syncthreads();
    float sum = 0.0f;
    LOOP sum += tile[(t * p + k) & 2047];
    if (i < n) c[i] = sum;
}

__global__ void barrier_loop(PARAMETERS)
{
    __shared__ float tile[1024];
    const int i = COLUMN, t = threadIdx.x;
    float sum = (float)i;
    LOOP {
        tile[t] = sum;
        __syncthreads();
        sum += tile[t ^ 1];
        __syncthreads();
    }
    if (i < n) c[i] = sum;
}

__global__ void block_sum(PARAMETERS)
{
    __shared__ float tile[1024];
    const int i = COLUMN, t = threadIdx.x;
    tile[t] = a[i];
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) tile[t] += tile[t + half];
        __syncthreads();
    }
    if (t == 0) atomicAdd(c, tile[0]);
}

__global__ void tile_turn(PARAMETERS)
{
    __shared__ float tile[32 * 33];
    const int x = COLUMN, y = ROW;
    tile[threadIdx.x * 33 + threadIdx.y] = a[y * p + x];
    __syncthreads();
    c[y * p + x] = tile[threadIdx.x * 33 + (threadIdx.y ^ 1)];
}

// Tiles of a matrix product: two loads, a barrier, a row by a column, a barrier.
__global__ void tile_loop(PARAMETERS)
{
    __shared__ float rows[1024], columns[1024];
    const int x = COLUMN, y = ROW;
    const int t = threadIdx.y * blockDim.x + threadIdx.x;
    const float *row = rows + (t & ~15), *column = columns + (threadIdx.x & 31);
    float sum = 0.0f;
    LOOP {
        rows[t] = a[y * p + 16 * k + (x & 15)];
        columns[t] = b[(16 * k + (y & 15)) * p + x];
        __syncthreads();
        _Pragma("unroll") for (int j = 0; j < 16; ++j) sum += row[j] * column[32 * j];
        __syncthreads();
    }
    c[y * p + x] = sum;
}

// ---- constants that all threads read in the same order

__global__ void constant_filter(PARAMETERS)
{
    const int i = COLUMN;
    float sum = 0.0f;
    LOOP sum += table[k] * a[i + k];
    if (i < n) c[i] = sum;
}

// ---- atomics

__global__ void atomic_apart(PARAMETERS)
{
    const int i = COLUMN;
    if (i < n) atomicAdd(c + i, 1.0f);
}

__global__ void atomic_few(PARAMETERS)
{
    const int i = COLUMN;
    if (i < n) atomicAdd(c + (i & (p - 1)), 1.0f);
}

__global__ void atomic_few_double(PARAMETERS)
{
    const int i = COLUMN;
    if (i < n) atomicAdd((double *)c + (i & (p - 1)), 1.0);
}

__global__ void atomic_few_integer(PARAMETERS)
{
    const int i = COLUMN;
    if (i < n) atomicMax((int *)c + (i & (p - 1)), i);
}

__global__ void atomic_loop(PARAMETERS)
{
    const int i = COLUMN;
    LOOP atomicAdd(c + ((i + k * 64) & (p - 1)), 1.0f);
}

}
