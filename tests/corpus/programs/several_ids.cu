// Kernels whose threads may do several ids, some that may not, and one that keeps many values.
//
//     ./several_ids N

#include <cstdio>
#include <cstdlib>
#include <vector>

#define BLOCK_X blockIdx.x
#define GLOBAL_ID (BLOCK_X * blockDim.x + threadIdx.x)

// Early returns, a switch, shadowed names and a lambda.
template <class T>
__global__ void early(int n, const T *in, T *out)
{
    const int i = GLOBAL_ID;
    if (i >= n) return;
    T first = in[i];
    if (i % 7 == 3) {
        const int n = 5;
        out[i] = static_cast<T>(n);
        return;
    }
    auto shifted = [=](int by) { return first + static_cast<T>(blockIdx.x * 0 + by); };
    switch (i % 3) {
    case 0: out[i] = shifted(i); return;
    case 1: first += 1; break;
    default: out[i] = shifted(2); return;
    }
    out[i] = first;
}

// Two dimensions, borders; nothing is written there.
__global__ void interior(int nx, int ny, const float *in, float *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= 1 && y >= 1 && x < nx - 1 && y < ny - 1)
        out[y * nx + x] = in[y * nx + x - 1] + in[y * nx + x + 1] + in[(y - 1) * nx + x] +
                          in[(y + 1) * nx + x];
}

__global__ void planes(int nx, int ny, int nz, const short *in, int *out, int *count)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    out[(z * ny + y) * nx + x] = 3 * in[(z * ny + y) * nx + x] + z;
    if ((x + y + z) % 5 == 0) atomicAdd(count, 1);
}

__device__ int own_id() { return blockIdx.x * blockDim.x + threadIdx.x; }

// A function that it calls reads the block's place.
__global__ void by_function(int n, const float *in, float *out)
{
    int i = own_id();
    if (i < n) out[i] = in[i] + 1;
}

// A thread ends in the midst of it.
__global__ void ending(int n, const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) asm volatile("exit;");
    if (i < n) out[i] = in[i] + 2;
}

__global__ void looping(int n, const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += in[k] * in[i];
    out[i] = sum;
}

// Nothing says how many ids there are.
__global__ void without_guard(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + 3;
}

// Many values are in registers at once. T is deduced.
template <class T>
__global__ void crowded(int n, const T *in, T *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T value[24], sum = 0;
#pragma unroll
    for (int k = 0; k < 24; ++k) {
        value[k] = in[k * n + i];
        sum += value[k];
    }
#pragma unroll
    for (int k = 0; k < 24; ++k) out[k * n + i] = sum * value[k];
}

template <class T>
T *uploaded(const std::vector<T> &values)
{
    T *memory;
    cudaMalloc(&memory, values.size() * sizeof(T));
    cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
    return memory;
}

template <class T>
void print(const char *name, const T *memory, size_t count)
{
    std::vector<T> values(count);
    cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost);
    unsigned long long sum = 0;
    for (size_t i = 0; i < count; ++i)
        sum = sum * 1000003 + static_cast<unsigned long long>(static_cast<double>(values[i]) * 8);
    printf("%s %016llx\n", name, sum);
}

int main(int, char **arguments)
{
    const int n = atoi(arguments[1]), nz = 9, size = n * n;
    std::vector<float> reals(size);
    std::vector<short> shorts(size * nz);
    for (int i = 0; i < size; ++i) reals[i] = static_cast<float>(i % 251) / 4;
    for (int i = 0; i < size * nz; ++i) shorts[i] = static_cast<short>(i % 777);
    float *in = uploaded(reals), *out = uploaded(std::vector<float>(size + 64));
    double *wide_in = uploaded(std::vector<double>(reals.begin(), reals.end()));
    double *wide = uploaded(std::vector<double>(size));
    short *small = uploaded(shorts);
    int *numbers = uploaded(std::vector<int>(size * nz)), *count = uploaded(std::vector<int>(1));

    early<float><<<(size + 127) / 128, 128>>>(size, in, out);
    print("early", out, size);
    early<double><<<(n + 63) / 64, 64>>>(n, wide_in, wide);
    print("early", wide, size);
    interior<<<dim3((n + 31) / 32, (n + 3) / 4), dim3(32, 4)>>>(n, n, in, out);
    print("interior", out, size);
    planes<<<dim3((n + 15) / 16, (n + 3) / 4, (nz + 1) / 2), dim3(16, 4, 2)>>>(n, n, nz, small,
                                                                               numbers, count);
    print("planes", numbers, size * nz);
    print("count", count, 1);
    by_function<<<(size + 127) / 128, 128>>>(size, in, out);
    print("by_function", out, size);
    ending<<<(size + 127) / 128, 128>>>(size, in, out);
    print("ending", out, size);
    looping<<<(n + 127) / 128, 128>>>(n, in, out);
    print("looping", out, size);
    without_guard<<<size / 64, 64>>>(in, out);
    print("without_guard", out, size);
    crowded<<<(n + 511) / 512, 512>>>(n, wide_in, wide);
    print("crowded", wide, size);
    return cudaDeviceSynchronize() != cudaSuccess;
}
