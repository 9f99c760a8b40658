// FDTD-2D: the finite-difference time-domain method for Maxwell's equations in the plane.
// ex (NX x NY+1) and ey (NX+1 x NY) are the electric field, hz (NX x NY) the magnetic one; a source
// drives the first row of ey. Each time step launches three kernels, one thread per cell.
// After PolyBench/GPU; kernels 2.1 to 2.3 of Table 1.
//
//     nvcc -O2 -o fdtd2d fdtd2d.cu && ./fdtd2d 512

#include "polybench.h"

const int TMAX = 10;

__global__ void fdtd_step1_kernel(int NX, int NY, float *source, float *ey, float *hz, int t) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;

    if (i < NX && j < NY) {
        if (i == 0) {
            ey[i * NY + j] = source[t];
        } else {
            ey[i * NY + j] -= 0.5f * (hz[i * NY + j] - hz[(i - 1) * NY + j]);
        }
    }
}

__global__ void fdtd_step2_kernel(int NX, int NY, float *ex, float *hz) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;

    if (i < NX && j > 0 && j < NY) {
        ex[i * (NY + 1) + j] -= 0.5f * (hz[i * NY + j] - hz[i * NY + (j - 1)]);
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

void fdtd_on_device(int NX, int NY, const std::vector<float> &source, std::vector<float> &ex,
                    std::vector<float> &ey, std::vector<float> &hz) {
    float *device_source = upload(source);
    float *device_ex = upload(ex);
    float *device_ey = upload(ey);
    float *device_hz = upload(hz);

    dim3 block(32, 8);
    dim3 grid((NY + block.x - 1) / block.x, (NX + block.y - 1) / block.y);
    for (int t = 0; t < TMAX; t++) {
        fdtd_step1_kernel<<<grid, block>>>(NX, NY, device_source, device_ey, device_hz, t);
        CHECK(cudaGetLastError());
        fdtd_step2_kernel<<<grid, block>>>(NX, NY, device_ex, device_hz);
        CHECK(cudaGetLastError());
        fdtd_step3_kernel<<<grid, block>>>(NX, NY, device_ex, device_ey, device_hz);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());

    download(ex, device_ex);
    download(ey, device_ey);
    download(hz, device_hz);
    CHECK(cudaFree(device_source));
    CHECK(cudaFree(device_ex));
    CHECK(cudaFree(device_ey));
    CHECK(cudaFree(device_hz));
}

void fdtd_on_host(int NX, int NY, const std::vector<float> &source, std::vector<float> &ex,
                  std::vector<float> &ey, std::vector<float> &hz) {
    for (int t = 0; t < TMAX; t++) {
        for (int j = 0; j < NY; j++) ey[j] = source[t];
        for (int i = 1; i < NX; i++) {
            for (int j = 0; j < NY; j++) {
                ey[i * NY + j] -= 0.5f * (hz[i * NY + j] - hz[(i - 1) * NY + j]);
            }
        }
        for (int i = 0; i < NX; i++) {
            for (int j = 1; j < NY; j++) {
                ex[i * (NY + 1) + j] -= 0.5f * (hz[i * NY + j] - hz[i * NY + (j - 1)]);
            }
        }
        for (int i = 0; i < NX; i++) {
            for (int j = 0; j < NY; j++) {
                hz[i * NY + j] -= 0.7f * (ex[i * (NY + 1) + (j + 1)] - ex[i * (NY + 1) + j] +
                                          ey[(i + 1) * NY + j] - ey[i * NY + j]);
            }
        }
    }
}

int main(int argc, char **argv) {
    const int N = size_argument(argc, argv, 128);

    const std::vector<float> source = fixed_values(TMAX, 1);
    std::vector<float> ex = fixed_values((size_t)N * (N + 1), 2);
    std::vector<float> ey = fixed_values((size_t)(N + 1) * N, 3);
    std::vector<float> hz = fixed_values((size_t)N * N, 4);
    std::vector<float> expected_ex = ex, expected_ey = ey, expected_hz = hz;

    fdtd_on_device(N, N, source, ex, ey, hz);
    fdtd_on_host(N, N, source, expected_ex, expected_ey, expected_hz);

    double error = relative_error(ex, expected_ex);
    error = fmax(error, relative_error(ey, expected_ey));
    error = fmax(error, relative_error(hz, expected_hz));
    return verdict(error);
}
