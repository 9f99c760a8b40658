// Means of columns, which gain much; these are then subtracted, which gains a little; and a step of
// a field over them, which keeps its block. A normalisation of rows, whose threads reduce, and a
// product of matrices by tiles in shared memory follow.
//
// The kernels are those of polybench/covar.cu (mean_kernel, reduce_kernel), polybench/fdtd2d.cu
// (fdtd_step3_kernel), layernorm_forward.cu of benchmarks/judges/18 and matmul_tiled.cu of
// tests/corpus/tiles, word for word, so that what an H200 was measured to take for them holds.
//
//     nvcc -O2 -o demo demo.cu && ./demo 512

#include "polybench/polybench.h"

__global__ void mean_kernel(int M, int N, float *mean, float *data) {
    int j = blockIdx.x * blockDim.x + threadIdx.x + 1;

    if (j <= M) {
        mean[j] = 0.0f;
        for (int i = 1; i <= N; i++) {
            mean[j] += data[i * (M + 1) + j];
        }
        mean[j] /= (float)N;
    }
}

__global__ void reduce_kernel(int M, int N, float *mean, float *data) {
    int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int i = blockIdx.y * blockDim.y + threadIdx.y + 1;

    if (i <= N && j <= M) {
        data[i * (M + 1) + j] -= mean[j];
    }
}

__global__ void fdtd_step3_kernel(int NX, int NY, float *ex, float *ey, float *hz) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;

    if (i < NX && j < NY) {
        hz[i * NY + j] -= 0.7f * (ex[i * (NY + 1) + (j + 1)] - ex[i * (NY + 1) + j] +
                                  ey[(i + 1) * NY + j] - ey[i * NY + j]);
    }
}

#define CHANNELS 768
#define EPSILON 1e-5f

// The sum over the block, for all of its threads.
__device__ float block_sum(float value) {
    __shared__ float slots[32];
    __shared__ float total;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int offset = 16; offset > 0; offset >>= 1)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    if (lane == 0) slots[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = lane < (int)(blockDim.x >> 5) ? slots[lane] : 0.0f;
        for (int offset = 16; offset > 0; offset >>= 1)
            value += __shfl_down_sync(0xffffffffu, value, offset);
        if (lane == 0) total = value;
    }
    __syncthreads();
    return total;
}

// Sums of a row may be made in any order.
#pragma cutune kernel layernorm_forward associative
__global__ void layernorm_forward(float *__restrict__ out, float *__restrict__ means,
                                  float *__restrict__ rstds, const float *__restrict__ in,
                                  const float *__restrict__ weight,
                                  const float *__restrict__ bias, int channels) {
    const float *x = in + (size_t)blockIdx.x * channels;
    float *y = out + (size_t)blockIdx.x * channels;

    float sum = 0.0f;
    for (int c = threadIdx.x; c < channels; c += blockDim.x) sum += x[c];
    const float mean = block_sum(sum) / channels;

    float squares = 0.0f;
    for (int c = threadIdx.x; c < channels; c += blockDim.x) {
        const float difference = x[c] - mean;
        squares += difference * difference;
    }
    const float rstd = rsqrtf(block_sum(squares) / channels + EPSILON);

    if (threadIdx.x == 0) {
        means[blockIdx.x] = mean;
        rstds[blockIdx.x] = rstd;
    }
    for (int c = threadIdx.x; c < channels; c += blockDim.x)
        y[c] = (x[c] - mean) * rstd * weight[c] + bias[c];
}

#define TILE 8

__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int column = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int t = 0; t < (k + TILE - 1) / TILE; t++) {
        const int ka = t * TILE + tx, kb = t * TILE + ty;
        tile_a[ty][tx] = row < m && ka < k ? a[row * k + ka] : 0.0f;
        tile_b[ty][tx] = kb < k && column < n ? b[kb * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += tile_a[ty][i] * tile_b[i][tx];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

void on_device(int N, const std::vector<float> &data, std::vector<float> &field) {
    float *device_data = upload(data);
    float *device_other = upload(data);
    float *device_mean = upload(std::vector<float>(N + 1));
    float *device_field = upload(field);

    dim3 rows(256), cells(32, 8);
    dim3 row_grid((N + rows.x - 1) / rows.x);
    dim3 cell_grid((N + cells.x - 1) / cells.x, (N + cells.y - 1) / cells.y);
    mean_kernel<<<row_grid, rows>>>(N, N, device_mean, device_data);
    CHECK(cudaGetLastError());
    reduce_kernel<<<cell_grid, cells>>>(N, N, device_mean, device_data);
    CHECK(cudaGetLastError());
    fdtd_step3_kernel<<<cell_grid, cells>>>(N, N, device_data, device_other, device_field);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    download(field, device_field);
    CHECK(cudaFree(device_data));
    CHECK(cudaFree(device_other));
    CHECK(cudaFree(device_mean));
    CHECK(cudaFree(device_field));
}

void on_host(int N, std::vector<float> data, std::vector<float> &field) {
    const std::vector<float> other = data;
    std::vector<float> mean(N + 1);

    for (int i = 1; i <= N; i++) {
        for (int j = 1; j <= N; j++) mean[j] += data[i * (N + 1) + j];
    }
    for (int j = 1; j <= N; j++) mean[j] /= (float)N;
    for (int i = 1; i <= N; i++) {
        for (int j = 1; j <= N; j++) data[i * (N + 1) + j] -= mean[j];
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            field[i * N + j] -= 0.7f * (data[i * (N + 1) + (j + 1)] - data[i * (N + 1) + j] +
                                        other[(i + 1) * N + j] - other[i * N + j]);
        }
    }
}

// Rows of 768 channels, normalised: the largest error of a row in the middle.
double normalised(int N) {
    const std::vector<float> in = fixed_values((size_t)N * CHANNELS, 2);
    const std::vector<float> weight = fixed_values(CHANNELS, 3), bias = fixed_values(CHANNELS, 4);
    std::vector<float> out(in.size());
    float *device_in = upload(in), *device_out = upload(out);
    float *device_weight = upload(weight), *device_bias = upload(bias);
    float *device_means = upload(std::vector<float>(N)), *device_rstds = upload(std::vector<float>(N));

    layernorm_forward<<<N, 256>>>(device_out, device_means, device_rstds, device_in, device_weight,
                                  device_bias, CHANNELS);
    CHECK(cudaGetLastError());
    download(out, device_out);
    for (float *one : {device_in, device_out, device_weight, device_bias, device_means, device_rstds})
        CHECK(cudaFree(one));

    const size_t row = (size_t)(N / 2) * CHANNELS;
    double mean = 0.0, variance = 0.0;
    for (int c = 0; c < CHANNELS; c++) mean += in[row + c] / CHANNELS;
    for (int c = 0; c < CHANNELS; c++) variance += pow(in[row + c] - mean, 2) / CHANNELS;
    std::vector<float> expected(CHANNELS);
    for (int c = 0; c < CHANNELS; c++)
        expected[c] = (in[row + c] - mean) / sqrt(variance + EPSILON) * weight[c] + bias[c];
    return relative_error({out.begin() + row, out.begin() + row + CHANNELS}, expected);
}

// A product of square matrices: the largest error of a row in the middle.
double multiplied(int N) {
    const std::vector<float> a = fixed_values((size_t)N * N, 5), b = fixed_values((size_t)N * N, 6);
    std::vector<float> c(a.size());
    float *device_a = upload(a), *device_b = upload(b), *device_c = upload(c);

    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (N + TILE - 1) / TILE);
    matmul<<<grid, block>>>(device_a, device_b, device_c, N, N, N);
    CHECK(cudaGetLastError());
    download(c, device_c);
    for (float *one : {device_a, device_b, device_c}) CHECK(cudaFree(one));

    const size_t row = (size_t)(N / 2) * N;
    std::vector<float> expected(N);
    for (int k = 0; k < N; k++)
        for (int j = 0; j < N; j++) expected[j] += a[row + k] * b[(size_t)k * N + j];
    return relative_error({c.begin() + row, c.begin() + row + N}, expected);
}

int main(int argc, char **argv) {
    const int N = size_argument(argc, argv, 128);

    const std::vector<float> data = fixed_values((size_t)(N + 1) * (N + 1), 1);
    std::vector<float> field((size_t)N * N, 1.0f);
    std::vector<float> expected = field;

    on_device(N, data, field);
    on_host(N, data, expected);
    return verdict(fmax(relative_error(field, expected), fmax(normalised(N), multiplied(N))));
}
