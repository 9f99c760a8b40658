// heat2d: explicit heat equation on a 2-D grid (5-point stencil, double buffer).
// Fixed boundary values. Usage: heat2d [nx] [ny] [steps]

#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <utility>

struct Config {
    static constexpr int BlockX = 32;
    static constexpr int BlockY = 8;
};

#define gpuErr(x) gpu_assert((x), __LINE__)
inline void gpu_assert(cudaError_t code, int line)
{
    if (code != cudaSuccess) {
        std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(code));
        std::exit(1);
    }
}

template <class Cfg>
__global__ void heat_step(const float *u, float *unew, int nx, int ny, float c)
{
    __shared__ float s[Cfg::BlockY + 2][Cfg::BlockX + 2];

    const int lx = threadIdx.x + 1;
    const int ly = threadIdx.y + 1;
    const int i = blockIdx.x * Cfg::BlockX + threadIdx.x;
    const int j = blockIdx.y * Cfg::BlockY + threadIdx.y;
    const bool inside = i < nx && j < ny;

    if (inside) {
        s[ly][lx] = u[j * nx + i];
        if (threadIdx.x == 0 && i > 0)
            s[ly][0] = u[j * nx + i - 1];
        if (threadIdx.x == Cfg::BlockX - 1 && i < nx - 1)
            s[ly][Cfg::BlockX + 1] = u[j * nx + i + 1];
        if (threadIdx.y == 0 && j > 0)
            s[0][lx] = u[(j - 1) * nx + i];
        if (threadIdx.y == Cfg::BlockY - 1 && j < ny - 1)
            s[Cfg::BlockY + 1][lx] = u[(j + 1) * nx + i];
    }
    __syncthreads();

    if (!inside)
        return;

    float v = s[ly][lx];
    if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1)
        v += c * (s[ly][lx - 1] + s[ly][lx + 1] + s[ly - 1][lx] + s[ly + 1][lx] - 4.0f * v);
    unew[j * nx + i] = v;
}

static void host_step(const std::vector<float> &u, std::vector<float> &unew, int nx, int ny, float c)
{
    for (int j = 0; j < ny; ++j)
        for (int i = 0; i < nx; ++i) {
            size_t at = (size_t)j * nx + i;
            float v = u[at];
            if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1)
                v += c * (u[at - 1] + u[at + 1] + u[at - nx] + u[at + nx] - 4.0f * v);
            unew[at] = v;
        }
}

int main(int argc, char **argv)
{
    const int nx = argc > 1 ? std::atoi(argv[1]) : 1024;
    const int ny = argc > 2 ? std::atoi(argv[2]) : nx;
    const int steps = argc > 3 ? std::atoi(argv[3]) : 10;
    const float c = 0.2f;
    const size_t n = (size_t)nx * ny;

    std::vector<float> u(n), ref(n), tmp(n);
    for (int j = 0; j < ny; ++j)
        for (int i = 0; i < nx; ++i)
            u[(size_t)j * nx + i] = (float)((i * 37 + j * 91 + (i * j) % 53) % 100);
    ref = u;

    float *d_u, *d_unew;
    gpuErr(cudaMalloc(&d_u, n * sizeof(float)));
    gpuErr(cudaMalloc(&d_unew, n * sizeof(float)));
    gpuErr(cudaMemcpy(d_u, u.data(), n * sizeof(float), cudaMemcpyHostToDevice));

    dim3 block(Config::BlockX, Config::BlockY);
    dim3 grid((nx - 1) / Config::BlockX + 1, (ny - 1) / Config::BlockY + 1);

    cudaEvent_t start, stop;
    gpuErr(cudaEventCreate(&start));
    gpuErr(cudaEventCreate(&stop));
    gpuErr(cudaEventRecord(start));
    for (int t = 0; t < steps; ++t) {
        heat_step<Config><<<grid, block>>>(d_u, d_unew, nx, ny, c);
        std::swap(d_u, d_unew);
    }
    gpuErr(cudaGetLastError());
    gpuErr(cudaEventRecord(stop));
    gpuErr(cudaEventSynchronize(stop));
    float ms = 0.0f;
    gpuErr(cudaEventElapsedTime(&ms, start, stop));
    gpuErr(cudaMemcpy(u.data(), d_u, n * sizeof(float), cudaMemcpyDeviceToHost));

    for (int t = 0; t < steps; ++t) {
        host_step(ref, tmp, nx, ny, c);
        std::swap(ref, tmp);
    }

    double sum = 0.0, err = 0.0;
    for (size_t k = 0; k < n; ++k) {
        sum += u[k];
        err = std::fmax(err, std::fabs((double)u[k] - ref[k]));
    }
    const bool good = err < 1e-2 && std::isfinite(sum);
    std::fprintf(stderr, "%d steps: %.3f ms\n", steps, ms);
    std::printf("checksum %.4f  max diff %.3g\n", sum, err);
    std::printf(good ? "PASS\n" : "FAIL\n");

    gpuErr(cudaEventDestroy(start));
    gpuErr(cudaEventDestroy(stop));
    gpuErr(cudaFree(d_u));
    gpuErr(cudaFree(d_unew));
    return good ? 0 : 1;
}
