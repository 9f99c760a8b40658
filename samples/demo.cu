// Three kernels of which one gains much, one a little, and one keeps its block: means of columns,
// which are then subtracted, and a step of a field over them.
//
// The kernels are those of polybench/covar.cu (mean_kernel, reduce_kernel) and polybench/fdtd2d.cu
// (fdtd_step3_kernel), word for word, so that what an H200 was measured to take for them holds.
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

int main(int argc, char **argv) {
    const int N = size_argument(argc, argv, 128);

    const std::vector<float> data = fixed_values((size_t)(N + 1) * (N + 1), 1);
    std::vector<float> field((size_t)N * N, 1.0f);
    std::vector<float> expected = field;

    on_device(N, data, field);
    on_host(N, data, expected);
    return verdict(relative_error(field, expected));
}
