// COVAR: the covariance matrix of M variables, each observed N times. As in the benchmark, the
// sums of products are not divided by N.
// data is (N+1) x (M+1) and symmat (M+1) x (M+1): as in the benchmark, indices begin at 1, and row
// and column 0 lie idle. One thread per variable; reduce_kernel has one per observation.
// After PolyBench/GPU; kernels 14.1 (covar), 14.2 (mean), 14.3 (reduce) of Table 1.
//
//     nvcc -O2 -o covar covar.cu && ./covar 512

#include "polybench.h"

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

__global__ void covar_kernel(int M, int N, float *symmat, float *data) {
    int j1 = blockIdx.x * blockDim.x + threadIdx.x + 1;

    if (j1 <= M) {
        for (int j2 = j1; j2 <= M; j2++) {
            symmat[j1 * (M + 1) + j2] = 0.0f;
            for (int i = 1; i <= N; i++) {
                symmat[j1 * (M + 1) + j2] += data[i * (M + 1) + j1] * data[i * (M + 1) + j2];
            }
            symmat[j2 * (M + 1) + j1] = symmat[j1 * (M + 1) + j2];
        }
    }
}

void covar_on_device(int M, int N, const std::vector<float> &data, std::vector<float> &symmat) {
    float *device_data = upload(data);
    float *device_mean = upload(std::vector<float>(M + 1));
    float *device_symmat = upload(symmat);

    dim3 block(256);
    dim3 grid((M + block.x - 1) / block.x);
    dim3 reduce_block(32, 8);
    dim3 reduce_grid((M + reduce_block.x - 1) / reduce_block.x,
                     (N + reduce_block.y - 1) / reduce_block.y);
    mean_kernel<<<grid, block>>>(M, N, device_mean, device_data);
    CHECK(cudaGetLastError());
    reduce_kernel<<<reduce_grid, reduce_block>>>(M, N, device_mean, device_data);
    CHECK(cudaGetLastError());
    covar_kernel<<<grid, block>>>(M, N, device_symmat, device_data);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    download(symmat, device_symmat);
    CHECK(cudaFree(device_data));
    CHECK(cudaFree(device_mean));
    CHECK(cudaFree(device_symmat));
}

// The loops over variables are innermost for the cache's sake; each sum keeps its order.
void covar_on_host(int M, int N, std::vector<float> data, std::vector<float> &symmat) {
    std::vector<float> mean(M + 1);

    for (int i = 1; i <= N; i++) {
        for (int j = 1; j <= M; j++) mean[j] += data[i * (M + 1) + j];
    }
    for (int j = 1; j <= M; j++) mean[j] /= (float)N;

    for (int i = 1; i <= N; i++) {
        for (int j = 1; j <= M; j++) data[i * (M + 1) + j] -= mean[j];
    }

    for (int j1 = 1; j1 <= M; j1++) {
        float *row = &symmat[j1 * (M + 1)];
        for (int i = 1; i <= N; i++) {
            const float *observation = &data[i * (M + 1)];
            for (int j2 = j1; j2 <= M; j2++) row[j2] += observation[j1] * observation[j2];
        }
        for (int j2 = j1; j2 <= M; j2++) symmat[j2 * (M + 1) + j1] = row[j2];
    }
}

int main(int argc, char **argv) {
    const int N = size_argument(argc, argv, 128);

    const std::vector<float> data = fixed_values((size_t)(N + 1) * (N + 1), 1);
    std::vector<float> symmat((size_t)(N + 1) * (N + 1));
    std::vector<float> expected_symmat = symmat;

    covar_on_device(N, N, data, symmat);
    covar_on_host(N, N, data, expected_symmat);
    return verdict(relative_error(symmat, expected_symmat));
}
